"""Training data of losses of margins: samples lifted on all candidates or, where these are many, on working sets only."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Generic, TypeVar

from quadric.blas import one_blas_thread
from quadric.geometry.moments import TermStatistics
from quadric.geometry.redundancy import redundant_of_samples
from quadric.losses.base import TrainingData
from quadric.losses.least_squares.wide import WideData
from quadric.losses.lifted_rows import LiftedRows
from quadric.losses.rows import RowsProblem
from quadric.losses.supports import Limits
from quadric.losses.wide_rows import WideRowsProblem
from quadric.losses.working_set import needs_working_set
from quadric.samples.labelled import LabelledSamples
from quadric.samples.sums import SummedSamples
from quadric.types import FloatArray

AnyRowsProblem = TypeVar("AnyRowsProblem", bound=RowsProblem)


@one_blas_thread()
def rows_data(problem: type[RowsProblem], samples: LabelledSamples | SummedSamples, limits: Limits) -> TrainingData:
    """Samples lifted on all candidates, unless these are so many that only a working set of them can be."""
    if isinstance(samples, SummedSamples):
        assert samples.sample is not None  # sums are not enough: the loss needs each margin (1.8)
        samples = samples.sample
    if needs_working_set(samples.X, limits, pairs_all_terms=False):
        return WideData(samples, limits, partial(WideRowsProblem.of, problem))
    return RowsData(problem, samples, limits)


class RowsData(TrainingData, Generic[AnyRowsProblem]):
    """The lifted samples, in one block that all classes share.

    Parameters
    ----------
    problem : class of RowsProblem
    samples : LabelledSamples
    limits : Limits
    """

    def __init__(self, problem: type[AnyRowsProblem], samples: LabelledSamples, limits: Limits) -> None:
        self._problem, self._samples, weight = problem, samples, samples.loss_weight
        statistics = TermStatistics.of(samples.X, weight)
        found = limits.candidates(statistics.constant_terms(), lambda: redundant_of_samples(samples.X, samples.sample_weight))
        self._terms, self._rule = found.terms, found.rule
        self._scatter_trace = float(statistics.scatter[self._terms].sum())
        self._rows = LiftedRows.about_medians(samples.X, self._terms, weight, problem.order, samples.energy)

    @cached_property
    def _G(self) -> FloatArray:
        # (1.5) entry by entry: with few candidates of many terms the whole G may not fit
        return self._samples.energy.block(self._terms, self._terms)

    def problem_for(self, surface: int, C: float, k: int) -> AnyRowsProblem:
        return self._problem(
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
