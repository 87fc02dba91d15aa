"""The regulariser 1/2 z'Gz = sum_i w_i ||W x_i + b||^2, from the first two moments of x (docs/mathematics.md, eq. 1.5)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import qr
from scipy.linalg.lapack import dtrtri

from quadric.geometry.lifting import as_dense, row_chunks
from quadric.geometry.terms import LINEAR, term_count, term_factors, term_index, term_indices, to_matrix, to_vector
from quadric.types import FloatArray, IntArray

# Smallest eigenvalue of the unit-diagonal moment matrix of [x 1] under which G counts as singular.
SINGULAR_BELOW = 1e-10
# What is then added to G, as a fraction of its own diagonal.
RIDGE = 1e-8
# Singular value of [x 1], columns scaled to length one, below which columns are dependent up to rounding.
DEPENDENT_BELOW = 1e-12
# Smallest eigenvalue of that matrix from which on its own factor has digits enough; below, the rows are asked.
ACCURATE_FROM = 1e-3


EPS = float(np.finfo(float).eps)
# Relative error of the factor of an EnergyNorm that is allowed for; beyond it nothing is claimed.
TRUSTED = 0.1


@dataclass(frozen=True)
class Energy:
    """The regulariser of a sample: its moments of order 0, 1 and 2, and the ridge that a singular G needs.

    Attributes
    ----------
    weight : float
        Sum of the sample weights.
    s : array of shape (n,)
        Weighted sum of x.
    S : array of shape (n, n)
        Weighted sum of xx'.
    smallest : float
        Smallest eigenvalue of the second moments of [x 1], scaled to a unit diagonal.
    factor : array of shape (n + 1, n + 1)
        U with U'U the second moments of [x 1].
    graded : bool
        Whether U comes from the rows; otherwise it has the errors of the sums.
    """

    weight: float
    s: FloatArray
    S: FloatArray
    smallest: float
    factor: FloatArray
    graded: bool = False

    @staticmethod
    def of_moments(weight: float, s: FloatArray, S: FloatArray) -> Energy:
        moment = _moment_matrix(weight, s, S)
        scale = np.sqrt(np.diag(moment))
        scale[scale == 0.0] = 1.0  # a feature that is zero throughout: its row is zero and makes the matrix singular
        e, V = np.linalg.eigh(moment / np.outer(scale, scale))
        return Energy(weight, s, S, float(e[0]), (np.sqrt(np.maximum(e, 0.0)) * V).T * scale)

    @staticmethod
    def of_samples(X: FloatArray, sample_weight: FloatArray) -> Energy:
        root = np.sqrt(sample_weight)[:, None]
        weighted = X * root
        energy = Energy.of_moments(float(sample_weight.sum()), sample_weight @ X, as_dense(weighted.T @ weighted))
        if energy.smallest >= ACCURATE_FROM:
            return energy
        blocks = (np.column_stack([as_dense(weighted[rows]), root[rows]]) for rows in row_chunks(*X.shape))
        return replace(energy, factor=graded_factor(blocks), graded=True)

    @property
    def ridge(self) -> float:
        """0.0, or RIDGE where [x 1] has linearly dependent columns (constant, duplicate or one-hot features)."""
        return RIDGE if self.smallest < SINGULAR_BELOW else 0.0

    @property
    def is_nearly_singular(self) -> bool:
        """Whether the ridge changes more than which of several equal surfaces is taken.

        Where columns are exactly dependent it does not, or hardly. Where they are nearly so, as columns far from zero are, a
        surface may lean on the small difference, and the ridge forbids it. Sums alone cannot tell the two apart.
        """
        if not self.ridge:
            return False
        lengths = np.sqrt(np.sum(self.factor**2, axis=0))
        sizes = np.linalg.svd(self.factor / np.where(lengths > 0.0, lengths, 1.0), compute_uv=False)
        return not self.graded or bool(((sizes > DEPENDENT_BELOW) & (sizes < SINGULAR_BELOW**0.5)).any())

    def gram(self) -> FloatArray:
        """G as a dense p x p matrix.

        Row a of [W b] meets the moment matrix of [x 1]; its entries stand in z at the positions ``index[a]``. G is the sum
        over a of twice that matrix, scattered to index[a] x index[a].
        """
        n_features = len(self.s)
        moment = 2.0 * _moment_matrix(self.weight, self.s, self.S)
        rows, columns = np.triu_indices(n_features)
        index = np.empty((n_features, n_features + 1), dtype=np.intp)
        index[rows, columns] = index[columns, rows] = np.arange(len(rows))
        index[:, n_features] = len(rows) + np.arange(n_features)
        G = np.zeros((term_count(n_features),) * 2)
        for places in index:
            G[np.ix_(places, places)] += moment
        G[np.diag_indices_from(G)] *= 1.0 + self.ridge  # (1.9)
        return G

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """The entries of G for some terms and others, without the rest of it (1.5)."""
        moment = 2.0 * _moment_matrix(self.weight, self.s, self.S)
        factors = term_factors(len(self.s))
        (a, b), (c, d) = ((factors.left[terms], factors.right[terms]) for terms in (rows[:, None], columns))
        # W_ab stands in rows a and b of W, a square and a linear term in one row only; LINEAR is -1: the column of ones
        twice, also = (b != a) & (b != LINEAR), (d != c) & (d != LINEAR)
        G = np.where(a == c, moment[b, d], 0.0)
        G += np.where((a == d) & also, moment[b, c], 0.0)
        G += np.where((b == c) & twice, moment[a, d], 0.0)
        G += np.where((b == d) & twice & also, moment[a, c], 0.0)
        G[rows[:, None] == columns] *= 1.0 + self.ridge  # (1.9)
        return G

    def row(self, term: int) -> tuple[IntArray, FloatArray]:
        """Where the row of G of one term is not zero, and its entries there: terms that share a feature with it."""
        n_features = len(self.s)
        both = {int(factors[term]) for factors in term_factors(n_features)} - {LINEAR}
        partners = np.arange(n_features)
        places = [term_indices(feature, partners, n_features) for feature in both]
        places += [np.array([term_index(feature, None, n_features) for feature in both])]
        positions = np.unique(np.concatenate(places))
        return positions, self.block(np.array([term]), positions)[0]

    def diagonal(self) -> FloatArray:
        return (1.0 + self.ridge) * self._diagonal()

    def gradient(self, z: FloatArray) -> FloatArray:
        """Gz in O(n^3), without G: docs/mathematics.md, eq. (1.6)."""
        W, b = to_matrix(z)
        # W_ab stands twice in W but once in z: its two partial derivatives add up, that of W_aa does not
        T = 2.0 * (W @ self.S + np.outer(b, self.s))
        quadratic = T + T.T
        quadratic[np.diag_indices_from(T)] = np.diag(T)
        gradient = to_vector(quadratic, 2.0 * (W @ self.s + self.weight * b))
        return gradient + self.ridge * self._diagonal() * z if self.ridge else gradient

    def rows(self, terms: IntArray) -> FloatArray:
        """H with 1/2 z'Gz = ||H z||^2 for z on ``terms``: nothing cancels in it, whatever the scales (1.10).

        Row a of [W b] times U'; W_ab is in the rows of a and of b. Rows without entries are left out.
        """
        left, right = (factors[terms] for factors in term_factors(len(self.s)))
        touched, place = np.unique(np.concatenate([left, right[right != LINEAR]]), return_inverse=True)
        n_terms = len(terms)
        H = np.zeros((len(touched), len(self.factor), n_terms))
        columns, quadratic = np.arange(n_terms), np.flatnonzero((right != LINEAR) & (right != left))
        H[place[:n_terms], :, columns] = self.factor.T[right]  # LINEAR is -1: the column of ones
        H[np.searchsorted(touched, right[quadratic]), :, quadratic] = self.factor.T[left[quadratic]]
        rows = H.reshape(len(touched) * len(self.factor), n_terms)
        return np.vstack([rows, np.diag(np.sqrt(0.5 * self.ridge * self._diagonal()[terms]))]) if self.ridge else rows

    def value(self, z: FloatArray) -> float:
        """1/2 z'Gz, as a sum of squares."""
        W, b = to_matrix(z)
        squares = float(np.sum((np.column_stack([W, b]) @ self.factor.T) ** 2))
        return squares + 0.5 * self.ridge * float(self._diagonal() @ z**2) if self.ridge else squares

    def _diagonal(self) -> FloatArray:
        squares = np.diag(self.S)
        quadratic = 2.0 * (squares[:, None] + squares[None, :])
        quadratic[np.diag_indices_from(quadratic)] = 2.0 * squares
        return to_vector(quadratic, np.full(len(self.s), 2.0 * self.weight))


def _moment_matrix(weight: float, s: FloatArray, S: FloatArray) -> FloatArray:
    """[[S, s], [s', weight]]: second moments of [x 1]."""
    return np.block([[S, s[:, None]], [s[None, :], np.full((1, 1), weight)]])


def graded_factor(blocks: Iterable[FloatArray]) -> FloatArray:
    """U with U'U = A'A, for A given as blocks of rows; no product of columns is ever formed.

    Columns are scaled to length one and pivoted, rows are sorted by size: Householder's method then keeps every row to its own
    accuracy, however small beside the others (Cox and Higham 1998). More than one block: their factors are stacked.
    """
    factors = [_of_block(block) for block in blocks]
    return factors[0] if len(factors) == 1 else _of_block(np.vstack(factors))


def _of_block(A: FloatArray) -> FloatArray:
    scale = np.sqrt(np.sum(A * A, axis=0))
    scale[scale == 0.0] = 1.0
    scaled = A / scale
    largest = np.abs(scaled).max(axis=1, initial=0.0)
    triangle, order = qr(scaled[np.argsort(-largest, kind="stable")], mode="r", pivoting=True, check_finite=False)
    factor = np.empty((min(A.shape), A.shape[1]))
    factor[:, order] = triangle[: len(factor)]
    return factor * scale


@dataclass(frozen=True)
class EnergyNorm:
    """The norm that the regulariser gives to gradients on a support, 1/2 h'G^-1 h, with a bound on what rounding does to it.

    With H of ``Energy.rows``, G = 2 H'H, and with H = Q T D, D the lengths of its columns, the norm is 1/4 ||T^-T D^-1 h||^2.
    No product of columns is formed, so the condition of G counts once and not squared.

    Attributes
    ----------
    lengths : array of shape (k,)
        Of the columns of H.
    inverse : array of shape (k, k)
        T^-1.
    error : float
        Relative error of the norm.
    """

    lengths: FloatArray
    inverse: FloatArray
    error: float

    @staticmethod
    def of(energy: Energy, terms: IntArray, n_rows: int) -> EnergyNorm | None:
        """The norm on some terms; None where rounding leaves nothing of it."""
        if len(terms) == 0:
            return EnergyNorm(np.zeros(0), np.zeros((0, 0)), 0.0)
        H = energy.rows(terms)
        lengths = np.sqrt(np.sum(H * H, axis=0))
        k = len(terms)
        triangle = np.linalg.qr(H / lengths, mode="r")
        if len(triangle) < k:
            return None
        inverse, failed = dtrtri(triangle)
        if failed:
            return None
        swelling = float(np.sqrt(np.sum(inverse**2)))
        # of what H was made of: from sums over all samples, where their errors are magnified twice, or from the samples
        condition = swelling if energy.graded else swelling**2
        error = rounding_of_sum(n_rows) * k * condition
        return EnergyNorm(lengths, inverse, error) if error <= TRUSTED else None

    def coordinates(self, h: FloatArray) -> FloatArray:
        """x with 1/2 h'G^-1 h = 1/4 ||x||^2; also for the rows of a matrix."""
        return (h / self.lengths) @ self.inverse

    def halved_square(self, h: FloatArray, doubt: FloatArray) -> float:
        """1/2 h'G^-1 h, at most: for all that h could be, given a bound on the error of each entry."""
        x = self.coordinates(h)
        z = np.abs(self.inverse @ x) / self.lengths
        blurred = (doubt / self.lengths) @ np.abs(self.inverse)
        return float(
            (0.25 * x @ x + 0.5 * z @ doubt + 0.25 * blurred @ blurred) * (1.0 + 2.0 * self.error / (1.0 - self.error))
        )


def rounding_of_sum(n: float) -> float:
    """Rounding error of a sum of n numbers, relative to the sum of their absolute values; errors have two signs."""
    return EPS * (8.0 + float(np.sqrt(n)))
