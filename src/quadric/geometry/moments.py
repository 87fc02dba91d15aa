"""Sums over samples that the regulariser and the squared loss need: nothing else of the data matters to them.

Symbols: r(x) the lifting of lifting.py, w the sample weights, W = sum w_i, mean = sum w_i r_i / W,
scatter = sum w_i (r_i - mean)(r_i - mean)'. The second moments of x are entries of W * mean, so that G comes from it too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsyrk

from quadric.geometry.energy import Energy
from quadric.geometry.lifting import CHUNK_BYTES, lift, row_chunks
from quadric.geometry.terms import feature_count, term_count, to_matrix
from quadric.types import BoolArray, FloatArray, IntArray

CONSTANT_TOLERANCE = 1e-10
"""A term counts as constant when its standard deviation is below this fraction of its root mean square."""


@dataclass(frozen=True)
class Moments:
    """Weight, mean and scatter of lifted samples; ``+`` merges disjoint samples, ``-`` takes a part away again.

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
    def empty(n_features: int) -> Moments:
        """Moments of no samples."""
        p = term_count(n_features)
        return Moments(0.0, np.zeros(p), np.zeros((p, p)))

    @staticmethod
    def of(X: FloatArray, sample_weight: FloatArray | None = None) -> Moments:
        """Moments of the rows of X, block by block: the lifted matrix never exists as a whole."""
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        return moments_by_class(X, np.zeros(len(X), dtype=np.intp), weight, 1)[0]

    def __add__(self, other: Moments) -> Moments:
        return self._combine(other, 1.0)

    def __sub__(self, other: Moments) -> Moments:
        return self._combine(other, -1.0)

    def scaled(self, factor: float) -> Moments:
        """Moments of the same samples with every weight multiplied by ``factor``."""
        return Moments(factor * self.weight, self.mean, factor * self.scatter)

    def _combine(self, other: Moments, sign: float) -> Moments:
        weight = self.weight + sign * other.weight
        if weight <= 0.0:
            return Moments.empty(feature_count(len(self.mean)))
        # (2.4), Chan's update: exact for disjoint samples and free of the cancellation that raw sums of squares suffer
        shift = other.mean - self.mean
        mean = self.mean + sign * (other.weight / weight) * shift
        scatter = self.scatter + sign * other.scatter
        scatter += (sign * self.weight * other.weight / weight) * np.outer(shift, shift)
        return Moments(weight, mean, scatter)

    def energy(self) -> Energy:
        """The regulariser of these samples."""
        S, s = to_matrix(self.weight * self.mean)
        S[np.diag_indices_from(S)] *= 2.0  # r holds half of each square
        return Energy.of_moments(self.weight, s, S)

    def constant_terms(self) -> BoolArray:
        """Terms with one and the same value on all samples."""
        return _is_constant(self.weight, self.mean, np.diag(self.scatter))


def moments_by_class(X: FloatArray, codes: IntArray, sample_weight: FloatArray, n_classes: int) -> list[Moments]:
    """Moments of the rows of each class, in one pass over X; rows of weight zero do not count."""
    totals = [Moments.empty(X.shape[1]) for _ in range(n_classes)]
    n_terms = term_count(X.shape[1])
    # merging costs O(p^2) per block and class, as much as some p/4 rows: blocks must not be shorter
    for rows in row_chunks(len(X), min(n_terms, CHUNK_BYTES // (4 * n_terms))):
        R = lift(X[rows])
        for code in range(n_classes):
            mine = np.flatnonzero((codes[rows] == code) & (sample_weight[rows] > 0.0))
            if len(mine):
                block = R if len(mine) == len(R) else R[mine]
                totals[code] = totals[code] + _moments_of_block(block, sample_weight[rows][mine])
    return totals


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
        p = term_count(X.shape[1])
        total, mean, scatter, absolute = 0.0, np.zeros(p), np.zeros(p), np.zeros(p)
        for rows in row_chunks(len(X), p):
            R, weight = lift(X[rows]), sample_weight[rows]
            absolute += weight @ np.abs(R)
            block_total = float(weight.sum())
            block_mean = (weight @ R) / block_total
            R -= block_mean
            shift = block_mean - mean
            share = block_total / (total + block_total)
            scatter += weight @ (R * R) + total * share * shift**2
            mean += share * shift
            total += block_total
        return TermStatistics(total, mean, scatter, absolute)

    def constant_terms(self) -> BoolArray:
        """Terms with one and the same value on all samples."""
        return _is_constant(self.weight, self.mean, self.scatter)


def _is_constant(weight: float, mean: FloatArray, scatter: FloatArray) -> BoolArray:
    return scatter <= CONSTANT_TOLERANCE**2 * (scatter + weight * mean**2)


def _moments_of_block(R: FloatArray, weight: FloatArray) -> Moments:
    total = float(weight.sum())
    mean = (weight @ R) / total
    R -= mean
    R *= np.sqrt(weight)[:, None]
    return Moments(total, mean, gram(R))


def gram(A: FloatArray) -> FloatArray:
    """A'A by one symmetric rank-k update: half the work of a product, and exactly symmetric."""
    upper = dsyrk(1.0, A.T)  # zero below the diagonal
    both = upper + upper.T
    both[np.diag_indices_from(both)] = np.diag(upper)
    return both
