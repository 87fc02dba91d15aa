"""Training data of the hinge loss: all lifted samples."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from quadric.blas import one_blas_thread
from quadric.geometry.moments import TermStatistics
from quadric.losses.base import LabelledSamples, Limits, TrainingData
from quadric.losses.hinge.lifted import LiftedSamples
from quadric.losses.hinge.problem import HingeProblem, SampleSpread
from quadric.types import FloatArray


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
        self._feature_count = X.shape[1]
        statistics = TermStatistics.of(X, self._loss_weight)
        self._terms = limits.candidates(statistics.constant_terms())
        self._rule = limits.rule(self._terms)
        self._scatter_trace = float(statistics.scatter[self._terms].sum())
        self._samples = LiftedSamples.of(X, self._terms, samples.energy)
        self._A = self._samples.rows()
        self._spread = SampleSpread(self._A, self._loss_weight)

    @classmethod
    def from_samples(cls, samples: LabelledSamples, limits: Limits) -> HingeData:
        with one_blas_thread():
            return cls(samples, limits)

    @cached_property
    def _G(self) -> FloatArray:
        return self._samples.energy.gram()[np.ix_(self._terms, self._terms)]

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
            center=self._samples.center(),
            y=np.where(self._codes == positive, 1.0, -1.0),
            loss_weight=self._loss_weight,
            spread=self._spread,
            samples=self._samples,
        )
