"""Training data of the hinge loss: all lifted samples."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from quadric.blas import one_blas_thread
from quadric.geometry.energy import Energy
from quadric.geometry.exact_sums import leading_half
from quadric.geometry.lifting import lift, row_chunks
from quadric.geometry.moments import TermStatistics
from quadric.geometry.terms import term_factors
from quadric.losses.base import LabelledSamples, Limits, TrainingData
from quadric.losses.hinge.problem import HingeProblem, SampleSpread
from quadric.types import FloatArray, IntArray


class HingeData(TrainingData):
    """The lifted samples, once, in one block that all classes share.

    Parameters
    ----------
    samples : LabelledSamples
    limits : Limits
    """

    def __init__(self, samples: LabelledSamples, limits: Limits) -> None:
        X = samples.X
        self._codes = samples.codes
        self._loss_weight = samples.loss_weight
        self._energy = Energy.of_samples(X, samples.sample_weight)
        self._feature_count = X.shape[1]
        statistics = TermStatistics.of(X, self._loss_weight)
        self._terms = limits.candidates(statistics.constant_terms())
        self._rule = limits.rule(self._terms)
        self._scatter_trace = float(statistics.scatter[self._terms].sum())
        middle = leading_half(np.median(X, axis=0))  # no outlying row can move it, and its products are exact
        self._center = lift(middle[None], self._terms)[0]
        self._A = np.empty((len(X), len(self._terms) + 1))
        for rows in row_chunks(len(X), self._A.shape[1]):
            self._A[rows, :-1] = lift_about(X[rows], middle, self._terms)
        self._A[:, -1] = 1.0
        self._spread = SampleSpread(self._A, self._loss_weight)

    @classmethod
    def from_samples(cls, samples: LabelledSamples, limits: Limits) -> HingeData:
        with one_blas_thread():
            return cls(samples, limits)

    @cached_property
    def _G(self) -> FloatArray:
        return self._energy.gram()[np.ix_(self._terms, self._terms)]

    def one_against_rest(self, positive: int, C: float, k: int) -> HingeProblem:
        return HingeProblem(
            C=C,
            k=min(k, len(self._terms)),
            n_features=self._feature_count,
            terms=self._terms,
            G=self._G,
            scatter_trace=self._scatter_trace,
            rule=self._rule,
            A=self._A,
            center=self._center,
            y=np.where(self._codes == positive, 1.0, -1.0),
            loss_weight=self._loss_weight,
            spread=self._spread,
        )


def lift_about(X: FloatArray, middle: FloatArray, terms: IntArray) -> FloatArray:
    """r(x) - r(middle) on some terms, from x - middle: nothing cancels where the features are far from zero."""
    left, right = (factors[terms] for factors in term_factors(X.shape[1]))
    halved = np.where(left == right, 0.5, 1.0)
    # LINEAR is -1 and picks the last column: ones for x, zeros for the difference
    difference = np.column_stack([X - middle, np.zeros(len(X))])
    R = difference[:, left] * np.column_stack([X, np.ones(len(X))])[:, right]
    R += middle[left] * difference[:, right]
    R *= halved
    return R
