"""The work of a cross-validation: every fold fits and scores the cells of a plan."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, Protocol

import numpy as np
from sklearn.utils.parallel import delayed

from quadric.blas import one_blas_thread
from quadric.estimators._base import ClassWeight
from quadric.estimators._scoreboard import Cell, FoldResult, Plan, Scoreboard, ScoredCell
from quadric.estimators._scoring import (
    Chances,
    Scoring,
    StackedSurfaces,
    decision_values,
    own_chances,
    sigmoid_chances,
)
from quadric.geometry.moments import LabelledMoments
from quadric.geometry.products import has_many_terms
from quadric.geometry.terms import LINEAR, term_count, term_factors
from quadric.labels import class_weights
from quadric.losses import loss_named
from quadric.progress import counted, writer_for
from quadric.samples.folds import Fold
from quadric.samples.labelled import Samples
from quadric.samples.moments import Moments
from quadric.samples.random_rows import drawn_rows, sample_size
from quadric.samples.recoding import Coding
from quadric.samples.sums import FoldMoments, SummedSamples
from quadric.samples.units import Units
from quadric.search.path import PathCell
from quadric.search.quick import QuickSearch, Row
from quadric.search.rules import SupportLimits
from quadric.types import BoolArray, FloatArray, IntArray
from quadric.workers import workers


@dataclass(frozen=True, eq=False)
class FoldTask:
    """What every fold does.

    Attributes
    ----------
    limits : SupportLimits
    ks : array
    class_weight : dict, "balanced" or None
    units : dict
        Parameters of ``Units.of``.
    by_decomposition : bool
    deadline : float or None
        When to stop, by time.monotonic().
    verbose : int
    """

    limits: SupportLimits
    ks: IntArray
    class_weight: ClassWeight
    units: dict[str, Any]
    by_decomposition: bool
    deadline: float | None
    verbose: int

    def out_of_time(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline


@dataclass(frozen=True, eq=False)
class TrainingPart:
    """What a fold fits to.

    Attributes
    ----------
    units : Units
        Those of the surfaces.
    samples : Samples
        In these units; where the fit is to sums, a random part of the rows behind them.
    data : Samples or SummedSamples
    thin : integer array
        Terms with too few rows to learn from, beside those that are excluded everywhere.
    """

    units: Units
    samples: Samples
    data: Samples | SummedSamples
    thin: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    def limits(self, task: FoldTask) -> SupportLimits:
        """The limits of the task without thin terms, as long as there are enough others."""
        exclude = np.union1d(task.limits.exclude, np.setdiff1d(self.thin, task.limits.include))
        is_enough = term_count(self.samples.n_features) - len(exclude) >= task.ks[-1]
        return replace(task.limits, exclude=exclude) if is_enough else task.limits


class TrainingParts(Protocol):
    """Gives each fold its part."""

    def part(self, task: FoldTask, samples: Samples, fold: Fold) -> TrainingPart: ...


@dataclass(frozen=True, eq=False)
class SampledParts:
    """The parts of samples in memory: units by the training rows of each fold.

    Attributes
    ----------
    is_drawn : boolean array of shape (m,) or None
        Which samples are in the random sample, where there are more rows than that; None: all of them.
    coding : Coding or None
        Where the samples are a coded table: imputed values and levels are also those of the training rows.
    """

    is_drawn: BoolArray | None
    coding: Coding | None = None

    @staticmethod
    def of(samples: Samples, coding: Coding | None = None) -> SampledParts:
        """Draw the random sample by the number of the row, if there are more."""
        size = sample_size(samples.n_features)
        if len(samples.codes) <= size or has_many_terms(samples.X):
            return SampledParts(None, coding)
        is_drawn = np.zeros(len(samples.codes), dtype=bool)
        is_drawn[drawn_rows(np.arange(len(samples.codes)), size, 0)] = True
        return SampledParts(is_drawn, coding)

    def part(self, task: FoldTask, samples: Samples, fold: Fold) -> TrainingPart:
        if self.coding is None:
            return self.of_rows(task, samples, fold.train)
        train = samples.part(fold.train)
        recoding = self.coding.learned(train.X, train.sample_weight, demanded_features(task.limits, samples.n_features))
        recoded = replace(train, X=recoding(train.X))
        part = self._fitted_to(task, recoded, fold.train)
        return replace(part, units=replace(part.units, recoding=recoding), thin=self.coding.thin_terms(recoded.X))

    def of_rows(self, task: FoldTask, samples: Samples, rows: IntArray) -> TrainingPart:
        """What is fitted to some of the samples: sums over all of them, and those in the random sample."""
        return self._fitted_to(task, samples.part(rows), rows)

    def _fitted_to(self, task: FoldTask, train: Samples, rows: IntArray) -> TrainingPart:
        units = Units.of(train.X, train.sample_weight, **task.units)
        weight = class_weights(task.class_weight, train.classes, train.codes, train.sample_weight)
        train = replace(train, X=units(train.X), class_weight=weight)
        if self.is_drawn is None:
            return TrainingPart(units, train, train)
        with one_blas_thread():
            moments = LabelledMoments.of(train.X, train.codes, train.sample_weight, weight)
        drawn = train.part(np.flatnonzero(self.is_drawn[rows]))
        return TrainingPart(units, drawn, SummedSamples(moments, len(rows), drawn))


def demanded_features(limits: SupportLimits, n_features: int) -> IntArray:
    """Features of terms that must be used."""
    factors = term_factors(n_features)
    both = np.concatenate([factors.left[limits.include], factors.right[limits.include]])
    return np.unique(both[both != LINEAR])


def summed_part(moments: Moments, sample: Samples, task: FoldTask) -> TrainingPart:
    """What is fitted to: sums of all rows and a random sample of them, in the units that the sums tell.

    Parameters
    ----------
    moments : Moments
    sample : Samples
        In the user's units.
    task : FoldTask
    """
    fitted, classes = moments.standardized(task.units["standardize"]), sample.classes
    weight = class_weights(task.class_weight, classes, np.arange(len(classes)), moments.class_weights)
    rows = replace(sample, X=fitted.units(sample.X), class_weight=weight)
    return TrainingPart(fitted.units, rows, SummedSamples(fitted.labelled(weight), moments.n_rows, rows))


@dataclass(frozen=True, eq=False)
class SummedParts:
    """The training part of a fold as the sum of the moments of the others.

    Attributes
    ----------
    sums : FoldMoments
    """

    sums: FoldMoments

    def part(self, task: FoldTask, samples: Samples, fold: Fold) -> TrainingPart:
        """Units by all training rows; the samples that go with them are those of the random sample."""
        moments = self.sums.without(fold.number)
        check_fold(moments, fold.number)
        return summed_part(moments, samples.part(fold.train), task)


def check_fold(moments: Moments, number: int) -> None:
    """Refuse a training part without rows of some class."""
    absent = [label for label, weight in zip(moments.classes, moments.class_weights, strict=True) if weight == 0.0]
    if absent:
        raise ValueError(f"fold {number} has no training sample of class {absent[0]!r}; use fewer folds")


@dataclass(frozen=True, eq=False)
class FoldWork:
    """What the folds work on, and how.

    Attributes
    ----------
    task : FoldTask
    samples : Samples
        In the user's units.
    scoring : Scoring
    parts : TrainingParts
        What the folds fit to.
    """

    task: FoldTask
    samples: Samples
    scoring: Scoring
    parts: TrainingParts


class FoldSearch:
    """The surfaces of one fold: its training part is prepared once, for all plans."""

    def __init__(self, work: FoldWork, fold: Fold) -> None:
        task, report = work.task, writer_for(work.task.verbose)
        self.part = work.parts.part(task, work.samples, fold)
        self.quick = QuickSearch(
            self.part.data,
            self.part.limits(task),
            task.ks,
            by_decomposition=task.by_decomposition,
            report=lambda line: report(f"fold {fold.number}, {line}"),
        )


class CrossValidation:
    """Samples with folds and a scorer.

    Parameters
    ----------
    work : FoldWork
    folds : sequence of Fold
    processes : int
        Folds that run at the same time.
    """

    def __init__(self, work: FoldWork, folds: Sequence[Fold], processes: int) -> None:
        self.work, self.task, self.folds, self.processes = work, work.task, folds, processes
        self._searches: list[FoldSearch | None] = [None] * len(folds)

    def score(self, plan: Plan, board: Scoreboard, what: str) -> None:
        """Score the cells of a plan in all folds, and enter them."""
        if not plan:
            return
        jobs = (delayed(score_fold)(self.work, fold, self._searches[fold.number], plan) for fold in self.folds)
        results = workers(self.processes, return_as="generator")(jobs)
        for result, search in counted(results, len(self.folds), what):
            self._searches[result.number] = None if has_many_terms(self.work.samples.X) else search  # many terms, much memory
            board.take(result)

    def out_of_fold(self, board: Scoreboard, cell: Cell) -> FloatArray:
        """Decision values of each sample by the folds that left it out; NaN where none did."""
        samples = self.work.samples
        n_surfaces = len(samples.positives())
        total, count = np.zeros((len(samples.codes), n_surfaces)), np.zeros((len(samples.codes), 1))
        for number, (units, surfaces) in board.surfaces(cell).items():
            rows = self.folds[number].test
            total[rows] += decision_values(units(samples.X[rows]), surfaces).reshape(len(rows), -1)
            count[rows] += 1
        decision = np.where(count > 0, total / np.maximum(count, 1), np.nan)
        return decision[:, 0] if n_surfaces == 1 else decision


@one_blas_thread()
def score_fold(work: FoldWork, fold: Fold, search: FoldSearch | None, plan: Plan) -> tuple[FoldResult, FoldSearch | None]:
    """Fit the cells of a plan to one part of the samples and score them on the other; as many as there is time for.

    The first fold always scores the first row, so that there is something to choose. The search serves the next plan.
    """
    task = work.task
    if task.out_of_time() and fold.number > 0:
        return FoldResult(fold.number), search
    search = FoldSearch(work, fold) if search is None else search
    scorer = _FoldScorer(work.scoring, work.samples.part(fold.test), search.part, f"fold {fold.number}")
    result = FoldResult(fold.number, search.part.units)
    for loss, rows in plan.items():
        by_class = [search.quick.rows(loss, positive, rows) for positive in work.samples.positives()]
        for row, *surfaces in zip(rows, *by_class, strict=False):
            result.cells.update(scorer.scored(loss, row, list(zip(*surfaces, strict=True))))
            if task.out_of_time():
                return result, search
    return result, search


class _FoldScorer:
    """Scores of surfaces on the samples that a fold leaves out."""

    def __init__(self, scoring: Scoring, left_out: Samples, part: TrainingPart, where: str) -> None:
        self._scoring, self._left_out, self._where = scoring, left_out, where
        self._train, self._X = part.samples, part.units(left_out.X)

    def scored(self, loss: str, row: Row, surfaces: Sequence[tuple[PathCell, ...]]) -> dict[Cell, ScoredCell]:
        """The cells of a row, with the surfaces of all classes at each."""
        n_surfaces = len(surfaces[0])
        stacked = StackedSurfaces.of([surface for cells in surfaces for surface in cells])
        decisions = _by_cell(stacked(self._X), n_surfaces)
        chances: Callable[[int], Chances]
        if loss_named(loss).has_probabilities:
            chances = lambda _: own_chances  # noqa: E731 - one of two
        else:
            training = cache(lambda: _by_cell(stacked(self._train.X), n_surfaces))  # most scorers do not ask for it
            chances = lambda at: sigmoid_chances(training()[at], self._train)  # noqa: E731
        scores = [
            self._scoring.score(self._left_out, decision, partial(chances, at), self._where)
            for at, decision in enumerate(decisions)
        ]
        return {
            Cell(loss, row.C, k): ScoredCell(score, cells) for k, score, cells in zip(row.ks, scores, surfaces, strict=True)
        }


def _by_cell(decisions: FloatArray, n_surfaces: int) -> list[FloatArray]:
    """Columns of decision values, cell by cell: (m,) for two classes, (m, n_classes) otherwise."""
    if n_surfaces == 1:
        return list(np.ascontiguousarray(decisions.T))
    return np.split(decisions, decisions.shape[1] // n_surfaces, axis=1)
