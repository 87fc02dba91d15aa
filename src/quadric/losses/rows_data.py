"""Training data of losses of margins: samples lifted on all candidates or, where these are many, on working sets only."""

from __future__ import annotations

from functools import cached_property
from typing import Generic, TypeVar

from quadric.blas import one_blas_thread
from quadric.geometry.moments import TermStatistics
from quadric.geometry.redundancy import redundant_of_samples
from quadric.losses.base import Limits, TrainingData
from quadric.losses.least_squares.wide import WideData
from quadric.losses.lifted_rows import LiftedRows
from quadric.losses.rows import RowsProblem
from quadric.losses.wide_rows import WideRowsProblem
from quadric.losses.working_set import needs_working_set
from quadric.samples.labelled import LabelledSamples
from quadric.types import FloatArray

AnyRowsProblem = TypeVar("AnyRowsProblem", bound=RowsProblem)


class RowsData(TrainingData, Generic[AnyRowsProblem]):
    """The lifted samples, in one block that all classes share; subclasses name their ``problem``.

    Parameters
    ----------
    samples : LabelledSamples
    limits : Limits
    """

    problem: type[AnyRowsProblem]

    def __init__(self, samples: LabelledSamples, limits: Limits) -> None:
        self._samples, weight = samples, samples.loss_weight
        statistics = TermStatistics.of(samples.X, weight)
        self._terms = limits.candidates(
            statistics.constant_terms(), lambda: redundant_of_samples(samples.X, samples.sample_weight)
        )
        self._rule = limits.rule(self._terms)
        self._scatter_trace = float(statistics.scatter[self._terms].sum())
        self._rows = LiftedRows.about_medians(samples.X, self._terms, weight, self.problem.order, samples.energy)

    @classmethod
    def from_samples(cls, samples: LabelledSamples, limits: Limits) -> TrainingData:
        """Lifted on all candidates, unless these are so many that only a working set of them can be."""
        with one_blas_thread():
            if needs_working_set(samples.X, limits, pairs_all_terms=False):
                return _WideRowsData(cls.problem, samples, limits)
            return cls(samples, limits)

    @cached_property
    def _G(self) -> FloatArray:
        return self._samples.energy.block(self._terms, self._terms)

    def problem_for(self, surface: int, C: float, k: int) -> AnyRowsProblem:
        return self.problem(
            C=C,
            k=min(k, len(self._terms)),
            n_features=self._samples.X.shape[1],
            terms=self._terms,
            scatter_trace=self._scatter_trace,
            rule=self._rule,
            G=self._G,
            rows=self._rows,
            y=self._samples.target.y(surface),
            labelled=self._samples,
            surface=surface,
        )


class _WideRowsData(WideData):
    """The digest of the squared loss, from which working sets are chosen and priced."""

    def __init__(self, problem: type[RowsProblem], samples: LabelledSamples, limits: Limits) -> None:
        super().__init__(samples, limits)
        self._problem = problem

    @one_blas_thread()
    def problem_for(self, surface: int, C: float, k: int) -> WideRowsProblem:  # type: ignore[override]
        return WideRowsProblem.of(super().problem_for(surface, C, k), self._problem)
