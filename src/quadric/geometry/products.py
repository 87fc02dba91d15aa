"""Sums over lifted samples without lifting them: one product X' diag(v) X holds sum_i v_i r(x_i) for all terms.

Where there are thousands of features neither the p x p matrix of all pairs of terms nor the lifted rows can exist, but vectors
of length p can. Samples are lifted about a ``shift``, so that little cancels where features are far from zero: with
d = x - shift,

    r_ab(x) - r_ab(shift) = d_a d_b + shift_a d_b + shift_b d_a,   half of that for a = b,   and d_a for the linear term.

X may be dense or in compressed sparse rows; sparse rows stay sparse, and are not shifted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse

from quadric.geometry.lifting import lift_about, row_chunks
from quadric.geometry.terms import term_count, to_vector
from quadric.types import FloatArray, IntArray

# More terms than this are never paired in one matrix: at about this number, searches without it become the faster ones.
MANY_TERMS = 1_000
# Samples per product, at least.
PRODUCT_ROWS = 1024
# Features per product: of a symmetric matrix little more than one half is computed.
FEATURE_BLOCK = 128


def are_many(n_terms: int, *, sparse: bool = False) -> bool:
    """Whether terms are better served by sums of one number each than of pairs; those of sparse samples always are."""
    return sparse or n_terms > MANY_TERMS


def has_many_terms(X: Any) -> bool:
    """The same of samples."""
    return are_many(term_count(X.shape[1]), sparse=issparse(X))


class LiftedSums:
    """Sums over the samples of X, lifted about a point.

    Parameters
    ----------
    X : array or sparse array of shape (m, n)
    weight : array of shape (m,)
        Positive; says where the middle of the samples is.

    Attributes
    ----------
    shift : array of shape (n,)
        The mean of the features that are farther from zero than they are wide, zero for others.
    n_products : int
        Products X' diag(.) X so far.
    """

    def __init__(self, X: Any, weight: FloatArray) -> None:
        self.X = X
        self.shift = np.zeros(X.shape[1]) if issparse(X) else _far_means(X, weight)
        self.n_products = 0

    @property
    def n_features(self) -> int:
        return len(self.shift)

    def sums(self, v: FloatArray) -> FloatArray:
        """sum_i v_i (r(x_i) - r(shift)), all terms: R'v where v sums to zero."""
        second, first = self._second(v), self._total(lambda rows: v[rows] @ self._shifted(rows))
        if self.shift.any():
            second += np.outer(self.shift, first)
            second += np.outer(first, self.shift)
        second[np.diag_indices_from(second)] *= 0.5
        return to_vector(second, first)

    def squares(self, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """sum_i v_i (r(x_i) - r(shift))^2 of each term, and a bound on what was added up for it, without signs."""
        total = size = self._second(v, _squared)
        linear = self._total(lambda rows: v[rows] @ _squared(self._shifted(rows)))
        if self.shift.any():
            s = self.shift
            parts = np.outer(s**2, linear)
            parts += parts.T
            across = s[:, None] * self._third(v)
            size = 3.0 * (total + parts)  # (a + b + c)^2 <= 3 (a^2 + b^2 + c^2)
            total = total + parts + 2.0 * (across + across.T + np.outer(s, s) * self._second(v))
            size[np.diag_indices_from(size)] *= 0.25
        total[np.diag_indices_from(total)] *= 0.25
        return to_vector(total, linear), to_vector(size, linear)

    def absolute(self, v: FloatArray) -> FloatArray:
        """sum_i v_i |r(x_i)|, not shifted."""
        second = self._second(v, abs, shifted=False)
        second[np.diag_indices_from(second)] *= 0.5
        return to_vector(second, self._total(lambda rows: v[rows] @ abs(self.X[rows])))

    def scores(self, W: FloatArray, b: FloatArray) -> FloatArray:
        """(r(x_i) - r(shift))'z for z = [hvec(W); b], however many terms it has."""
        slope = W @ self.shift + b
        out = np.empty(self.X.shape[0])
        for rows in self._chunks():
            D = self._shifted(rows)
            out[rows] = 0.5 * np.asarray((D * (D @ W)).sum(axis=1)).ravel() + D @ slope
        return out

    def lifted(self, terms: IntArray) -> Iterator[tuple[slice, FloatArray]]:
        """r(x) - r(shift) on a few terms, block by block."""
        for rows in row_chunks(self.X.shape[0], len(terms), at_least=PRODUCT_ROWS):
            yield rows, lift_about(self.X[rows], self.shift, terms)

    def _chunks(self) -> Iterator[slice]:
        return row_chunks(self.X.shape[0], self.n_features, at_least=PRODUCT_ROWS)

    def _total(self, of: Callable[[slice], Any]) -> FloatArray:
        return np.asarray(sum(of(rows) for rows in self._chunks()))

    def _shifted(self, rows: slice) -> Any:
        return self.X[rows] - self.shift if self.shift.any() else self.X[rows]

    def _second(self, v: FloatArray, of: Callable[[Any], Any] | None = None, *, shifted: bool = True) -> FloatArray:
        """sum_i v_i d_i d_i', or of a function of the entries of d; only the upper triangle is computed."""
        self.n_products += 1
        total = np.zeros((self.n_features, self.n_features))
        for rows in self._chunks():
            D, weight = self._shifted(rows) if shifted else self.X[rows], v[rows]
            live = np.flatnonzero(weight)
            if 2 * len(live) < len(weight):  # multipliers are often zero
                D, weight = D[live], weight[live]
            D = D if of is None else of(D)
            weighted = D * weight[:, None]
            if issparse(D):
                total += (D.T @ weighted.tocsr()).toarray()
                continue
            for first in range(0, self.n_features, FEATURE_BLOCK):
                block = slice(first, first + FEATURE_BLOCK)
                total[block, first:] += D[:, block].T @ weighted[:, first:]
        return total

    def _third(self, v: FloatArray) -> FloatArray:
        """sum_i v_i d_ia d_ib^2."""
        self.n_products += 1
        return self._total(lambda rows: (D := self._shifted(rows)).T @ (_squared(D) * v[rows, None]))


def _squared(D: Any) -> Any:
    return D * D


def _far_means(X: FloatArray, weight: FloatArray) -> FloatArray:
    """Weighted means of the features whose mean is beyond their standard deviation; zero for others."""
    total = float(weight.sum())
    mean = (weight @ X) / total
    spread = np.zeros_like(mean)
    for rows in row_chunks(len(X), len(mean), at_least=PRODUCT_ROWS):
        spread += weight[rows] @ (X[rows] - mean) ** 2
    return np.asarray(np.where(mean**2 * total > spread, mean, 0.0))
