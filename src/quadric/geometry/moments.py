"""Sums over samples that the regulariser and the squared loss need: nothing else of the data matters to them.

Symbols: r(x) the lifting of lifting.py, w the sample weights, W = sum w_i, mean = sum w_i r_i / W,
scatter = sum w_i (r_i - mean)(r_i - mean)'. The second moments of x are entries of W * mean, so that G comes from it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
from scipy.linalg.blas import dsyrk

from quadric.geometry.energy import Energy
from quadric.geometry.lifting import lift_adjoint, lift_columns, row_chunks
from quadric.geometry.terms import feature_count, term_count, to_matrix
from quadric.types import BoolArray, FloatArray, IntArray

CONSTANT_TOLERANCE = 1e-10
"""A term counts as constant when its standard deviation is below this fraction of its root mean square."""

BLOCK_ROWS = 512
"""Samples per rank-k update, at least: shorter ones read and write the p x p matrix too often."""


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
        total = float(weight.sum())
        if total <= 0.0:
            return Moments.empty(X.shape[1])
        middle = lift_adjoint(X, weight) / total  # sums of squares about it cancel nothing
        off, scatter = _sums_about(middle, X, weight)
        shift = off / total  # what rounding has left of the mean
        scatter -= total * np.outer(shift, shift)
        return Moments(total, middle + shift, scatter)

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
        return energy_of_sums(self.weight, self.weight * self.mean)

    def constant_terms(self) -> BoolArray:
        """Terms with one and the same value on all samples."""
        return _is_constant(self.weight, self.mean, np.diag(self.scatter))


def moments_by_class(X: FloatArray, codes: IntArray, sample_weight: FloatArray, n_classes: int) -> list[Moments]:
    """Moments of the rows of each class."""
    return [Moments.of(X[mine], sample_weight[mine]) for mine in (codes == code for code in range(n_classes))]


@dataclass(frozen=True)
class LabelledMoments:
    """What the squared loss needs of samples of several classes, whose losses may have different weights.

    Attributes
    ----------
    loss : Moments
        Of all samples, with the weights of their losses: sample weight times class weight.
    class_weights : array of shape (n_classes,)
        Sums of the sample weights of each class.
    class_means : array of shape (n_classes, p)
        Weighted means of r(x) in each class.
    """

    loss: Moments
    class_weights: FloatArray
    class_means: FloatArray

    @staticmethod
    def of(X: FloatArray, codes: IntArray, sample_weight: FloatArray, class_weight: FloatArray) -> LabelledMoments:
        """From samples: one p x p matrix for any number of classes."""
        classes = [codes == code for code in range(len(class_weight))]
        weights = np.array([sample_weight[mine].sum() for mine in classes])
        sums = np.array([lift_adjoint(X[mine], sample_weight[mine]) for mine in classes])
        means = np.divide(sums, weights[:, None], out=np.zeros_like(sums), where=weights[:, None] > 0.0)
        return LabelledMoments(Moments.of(X, sample_weight * class_weight[codes]), weights, means)

    @staticmethod
    def merged(moments: Sequence[Moments], class_weight: FloatArray) -> LabelledMoments:
        """From the moments of each class."""
        weighted = [part.scaled(float(factor)) for part, factor in zip(moments, class_weight, strict=True)]
        weights, means = np.array([part.weight for part in moments]), np.array([part.mean for part in moments])
        return LabelledMoments(reduce(add, weighted), weights, means)

    def energy(self) -> Energy:
        """The regulariser of the samples, whatever their losses weigh."""
        return energy_of_sums(float(self.class_weights.sum()), self.class_weights @ self.class_means)


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
            R, weight = lift_columns(X[rows].T), sample_weight[rows]
            absolute += np.abs(R) @ weight
            block_total = float(weight.sum())
            block_mean = (R @ weight) / block_total
            R -= block_mean[:, None]
            shift = block_mean - mean
            share = block_total / (total + block_total)
            scatter += (R * R) @ weight + total * share * shift**2
            mean += share * shift
            total += block_total
        return TermStatistics(total, mean, scatter, absolute)

    def constant_terms(self) -> BoolArray:
        """Terms with one and the same value on all samples."""
        return _is_constant(self.weight, self.mean, self.scatter)


def _is_constant(weight: float, mean: FloatArray, scatter: FloatArray) -> BoolArray:
    return scatter <= CONSTANT_TOLERANCE**2 * (scatter + weight * mean**2)


def energy_of_sums(weight: float, sums: FloatArray) -> Energy:
    """The regulariser of samples, from their weight and the weighted sum of r(x)."""
    S, s = to_matrix(sums)
    S[np.diag_indices_from(S)] *= 2.0  # r holds half of each square
    return Energy.of_moments(weight, s, S)


def _sums_about(middle: FloatArray, X: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weighted sums of r - middle, and of its products.

    Blocks are laid out term by term, so that each is filled by a few long products and added by one rank-k update.
    """
    p = len(middle)
    sums, upper = np.zeros(p), np.zeros((p, p), order="F")
    for rows in row_chunks(len(X), p, at_least=BLOCK_ROWS):
        R = lift_columns(X[rows].T)
        R -= middle[:, None]
        sums += R @ weight[rows]
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
