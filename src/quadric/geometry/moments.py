"""Sums over samples that the regulariser and the squared loss need: nothing else of the data matters to them.

Symbols: r(x) the lifting of lifting.py, w the sample weights, W = sum w_i, mean = sum w_i r_i / W,
scatter = sum w_i (r_i - mean)(r_i - mean)'. The second moments of x are entries of W * mean, so that G comes from it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
from scipy.linalg.blas import dsyrk

from quadric.geometry.energy import Energy
from quadric.geometry.lifting import CHUNK_BYTES, lift, lift_adjoint, lift_columns, row_chunks
from quadric.geometry.products import LiftedSums
from quadric.geometry.terms import LINEAR, term_count, term_factors, to_matrix
from quadric.types import BoolArray, FloatArray, IntArray

# A term counts as constant when its standard deviation is below this fraction of its root mean square.
CONSTANT_TOLERANCE = 1e-10

# Samples per rank-k update, at least: shorter ones read and write the p x p matrix too often.
BLOCK_ROWS = 512


# Share of the squares of a term below which the difference of sums that its scatter is has lost too many digits.
BLURRED = 1e-4


@dataclass(frozen=True)
class LiftedMoments:
    """Weight, mean and scatter of lifted samples; ``+`` merges disjoint samples.

    Attributes
    ----------
    weight : float
        Sum of the sample weights.
    mean : array of shape (p,)
        Weighted mean of r(x).
    scatter : array of shape (p, p)
        Weighted sum of (r - mean)(r - mean)'.
    """

    weight: float
    mean: FloatArray
    scatter: FloatArray

    @staticmethod
    def empty(n_features: int) -> LiftedMoments:
        p = term_count(n_features)
        return LiftedMoments(0.0, np.zeros(p), np.zeros((p, p)))

    @staticmethod
    def of(X: FloatArray, sample_weight: FloatArray | None = None) -> LiftedMoments:
        """Moments of the rows of X, block by block: the lifted matrix never exists as a whole."""
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        return LabelledMoments.of(X, np.zeros(len(X), dtype=np.intp), weight, np.ones(1)).loss

    def __add__(self, other: LiftedMoments) -> LiftedMoments:
        weight = self.weight + other.weight
        if weight <= 0.0:
            return self
        # (2.4), Chan's update: exact for disjoint samples and free of the cancellation that raw sums of squares suffer
        shift = other.mean - self.mean
        scatter = self.scatter + other.scatter
        scatter += (self.weight * other.weight / weight) * np.outer(shift, shift)
        return LiftedMoments(weight, self.mean + (other.weight / weight) * shift, scatter)

    def scaled(self, factor: float) -> LiftedMoments:
        return LiftedMoments(factor * self.weight, self.mean, factor * self.scatter)

    def energy(self) -> Energy:
        return energy_of_sums(self.weight, self.weight * self.mean)

    def mapped(self, center: FloatArray, scale: FloatArray) -> LiftedMoments:
        """Moments of (x - center) / scale in place of x."""
        change = AffineChange(center, scale)
        return LiftedMoments(self.weight, change.of_point(self.mean), change.of_scatter(self.scatter))

    def constant_terms(self) -> BoolArray:
        """Terms with one and the same value on all samples."""
        return is_constant(self.weight, self.mean, np.diag(self.scatter))


def moments_by_class(X: FloatArray, codes: IntArray, sample_weight: FloatArray, n_classes: int) -> list[LiftedMoments]:
    """Moments of the rows of each class."""
    return [LiftedMoments.of(X[mine], sample_weight[mine]) for mine in (codes == code for code in range(n_classes))]


@dataclass(frozen=True)
class ColumnMoments:
    """What the squared loss needs of a column of y: its mean, its scatter, and sums of its products with r - mean.

    Attributes
    ----------
    mean, scatter : float
    cross : array of shape (p,)
        R~'y~.
    """

    mean: float
    scatter: float
    cross: FloatArray


@dataclass(frozen=True)
class LabelledMoments:
    """What the squared loss needs of samples of several classes, whose losses may have different weights.

    Attributes
    ----------
    loss : LiftedMoments
        Of all samples, with the weights of their losses: sample weight times class weight.
    class_weights : array of shape (n_classes,)
        Sums of the sample weights of each class.
    class_means : array of shape (n_classes, p)
        Weighted means of r(x) in each class.
    factors : array of shape (n_classes,)
        On the losses of the classes.
    """

    loss: LiftedMoments
    class_weights: FloatArray
    class_means: FloatArray
    factors: FloatArray

    @staticmethod
    def of(X: FloatArray, codes: IntArray, sample_weight: FloatArray, factors: FloatArray) -> LabelledMoments:
        """From samples: one p x p matrix for any number of classes."""
        by_class = np.where(codes == np.arange(len(factors))[:, None], sample_weight, 0.0)
        weights, loss_weight = by_class.sum(axis=1), sample_weight * factors[codes]
        total = float(loss_weight.sum())
        if total <= 0.0:
            nothing = np.zeros((len(weights), term_count(X.shape[1])))
            return LabelledMoments(LiftedMoments.empty(X.shape[1]), weights, nothing, factors)
        middle = lift_adjoint(X, loss_weight) / total  # sums of squares about it cancel nothing
        sums, scatter = _sums_about(middle, X, by_class, loss_weight)
        means = np.divide(sums, weights[:, None], out=np.zeros_like(sums), where=weights[:, None] > 0.0)
        means[weights > 0.0] += middle
        shift = (factors @ sums) / total  # what rounding has left of the mean
        scatter -= total * np.outer(shift, shift)
        return LabelledMoments(LiftedMoments(total, middle + shift, scatter), weights, means, factors)

    @staticmethod
    def merged(moments: Sequence[LiftedMoments], factors: FloatArray) -> LabelledMoments:
        weighted = [part.scaled(float(factor)) for part, factor in zip(moments, factors, strict=True)]
        weights, means = np.array([part.weight for part in moments]), np.array([part.mean for part in moments])
        return LabelledMoments(reduce(add, weighted), weights, means, factors)

    def __add__(self, other: LabelledMoments) -> LabelledMoments:
        weights = self.class_weights + other.class_weights
        share = np.divide(other.class_weights, weights, out=np.zeros_like(weights), where=weights > 0.0)
        means = self.class_means + share[:, None] * (other.class_means - self.class_means)
        return replace(self, loss=self.loss + other.loss, class_weights=weights, class_means=means)

    def mapped(self, center: FloatArray, scale: FloatArray) -> LabelledMoments:
        """Moments of (x - center) / scale in place of x."""
        means = AffineChange(center, scale).of_point(self.class_means)
        return replace(self, loss=self.loss.mapped(center, scale), class_means=means)

    def energy(self) -> Energy:
        return energy_of_sums(float(self.class_weights.sum()), self.class_weights @ self.class_means)

    def columns(self) -> list[ColumnMoments]:
        """Of the y of each class: 1 for its samples, -1 for the rest."""
        total, columns = self.loss.weight, []
        for inside, mean in zip((self.class_weights * self.factors).tolist(), self.class_means, strict=True):
            share = inside / total
            # the mean of y is 2 share - 1, and R~'y~ = 2 sum over the class of (r - mean)
            cross = 2.0 * inside * (mean - self.loss.mean)
            columns.append(ColumnMoments(2.0 * share - 1.0, 4.0 * total * share * (1.0 - share), cross))
        return columns


class AffineChange:
    """The map from r(x) to r((x - center) / scale), which is affine: a square or product loses multiples of linear terms.

    Parameters
    ----------
    center, scale : arrays of shape (n,)
    """

    def __init__(self, center: FloatArray, scale: FloatArray) -> None:
        n = len(center)
        left, right = term_factors(n)
        self._quadratic = np.flatnonzero(right != LINEAR)
        left, right = left[self._quadratic], right[self._quadratic]
        halved = np.where(left == right, 0.5, 1.0)
        first_linear = len(self._quadratic)
        # x_a x_b - (c_b x_a + c_a x_b) + c_a c_b, all of it halved for squares
        self._factors = halved * center[right], halved * center[left]
        self._linear = first_linear + left, first_linear + right
        self._constant = np.concatenate([halved * center[left] * center[right], -center])
        self._scale = np.concatenate([scale[left] * scale[right], scale])

    def of_point(self, r: FloatArray) -> FloatArray:
        """r(x), or an average of several, in its last axis."""
        return (self._without_linear(r) + self._constant) / self._scale

    def of_scatter(self, scatter: FloatArray) -> FloatArray:
        """A sum of products of differences of r(x)."""
        changed = self._without_linear(self._without_linear(scatter).T)
        changed /= self._scale
        changed /= self._scale[:, None]
        return 0.5 * (changed + changed.T)

    def _without_linear(self, values: FloatArray) -> FloatArray:
        out = values.copy()
        for factor, linear in zip(self._factors, self._linear, strict=True):
            out[..., self._quadratic] -= factor * values[..., linear]
        return out


@dataclass(frozen=True)
class TermStatistics:
    """Weighted mean, scatter and absolute sum of each term: what is needed without the p x p matrix.

    Attributes
    ----------
    weight : float
    mean, scatter, absolute : arrays of shape (p,)
        Weighted mean, sum of squares about it, and sum of absolute values.
    """

    weight: float
    mean: FloatArray
    scatter: FloatArray
    absolute: FloatArray

    @staticmethod
    def of(X: FloatArray, sample_weight: FloatArray) -> TermStatistics:
        """By a few products X' diag(.) X (8.2), for any number of terms; those of which these leave few digits are lifted."""
        sums = LiftedSums(X, sample_weight)
        off, scatter = spread_about(sums, sample_weight)
        mean = off + lift(sums.shift[None])[0]
        return TermStatistics(float(sample_weight.sum()), mean, scatter, sums.absolute(sample_weight))

    def constant_terms(self) -> BoolArray:
        """Terms with one and the same value on all samples."""
        return is_constant(self.weight, self.mean, self.scatter)


def spread_about(sums: LiftedSums, sample_weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weighted mean of r(x) - r(shift) and sum of squares about it, for all terms; where sums leave few digits, by lifting."""
    total = float(sample_weight.sum())
    off = sums.sums(sample_weight) / total
    squares, size = sums.squares(sample_weight)
    scatter = squares - total * off**2
    blurred = np.flatnonzero(~(scatter > BLURRED * size) & (size > 0.0))
    width = max(1, CHUNK_BYTES // (8 * len(sample_weight)))
    for first in range(0, len(blurred), width):
        few = blurred[first : first + width]
        R = np.vstack([rows for _, rows in sums.lifted(few)])
        off[few] = (sample_weight @ R) / total
        scatter[few] = sample_weight @ (R - off[few]) ** 2
    return off, scatter


def is_constant(weight: float, mean: FloatArray, scatter: FloatArray) -> BoolArray:
    """Which terms have one and the same value on all samples, by their weight, mean and scatter."""
    return scatter <= CONSTANT_TOLERANCE**2 * (scatter + weight * mean**2)


def energy_of_sums(weight: float, sums: FloatArray) -> Energy:
    """The regulariser of samples, from their weight and the weighted sum of r(x)."""
    S, s = to_matrix(sums)
    S[np.diag_indices_from(S)] *= 2.0  # r holds half of each square
    return Energy.of_moments(weight, s, S)


def _sums_about(middle: FloatArray, X: FloatArray, by_class: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sums of r - middle with the weights of each class, and of its products with the weights of the losses.

    Blocks are laid out term by term, so that each is filled by a few long products and added by one rank-k update.
    """
    p, are_equal = len(middle), bool((weight == 1.0).all())
    sums, upper = np.zeros((len(by_class), p)), np.zeros((p, p), order="F")
    blocks = list(row_chunks(len(X), p, at_least=BLOCK_ROWS))
    room = np.empty(p * (blocks[0].stop if blocks else 0))
    for rows in blocks:
        R = lift_columns(X[rows].T, middle, room)
        sums += by_class[:, rows] @ R.T
        if not are_equal:
            R *= np.sqrt(weight[rows])
        upper = dsyrk(1.0, R.T, beta=1.0, c=upper, trans=1, overwrite_c=1)
    return sums, _both_triangles(upper)


def gram(A: FloatArray) -> FloatArray:
    """A'A by one symmetric rank-k update: half the work of a product, and exactly symmetric."""
    return _both_triangles(dsyrk(1.0, A.T))


def _both_triangles(upper: FloatArray) -> FloatArray:
    both = upper + upper.T  # zero below the diagonal
    both[np.diag_indices_from(both)] = np.diag(upper)
    return both
