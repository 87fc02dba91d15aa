"""The work of a cross-validation: every fold fits and scores the cells of a plan."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from sklearn.utils.parallel import delayed

from quadric.blas import one_blas_thread
from quadric.estimators._base import ClassWeight
from quadric.estimators._fold_scores import FoldSurfaces
from quadric.estimators._scoreboard import Cell, FoldResult, Plan, Scoreboard, ScoredCell
from quadric.estimators._scoring import Scoring, StackedSurfaces, chances
from quadric.estimators._sigmoids import BinnedDecisions, Sigmoids, of_other_folds
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
from quadric.search.quick import Dictionary, QuickSearch
from quadric.search.rules import SupportLimits
from quadric.types import BoolArray, FloatArray, IntArray
from quadric.workers import workers


@dataclass(frozen=True, eq=False)
class FoldTask:
    """What every fold does.

    Attributes
    ----------
    dictionaries : mapping from names to Dictionary
    class_weight : dict, "balanced" or None
    units : dict
        Parameters of ``Units.of``.
    by_decomposition : bool
    deadline : float or None
        When to stop, by time.monotonic().
    verbose : int
    """

    dictionaries: Mapping[str, Dictionary]
    class_weight: ClassWeight
    units: dict[str, Any]
    by_decomposition: bool
    deadline: float | None
    verbose: int

    @property
    def limits(self) -> SupportLimits:
        """Those of the dictionary that has all terms of the others."""
        return list(self.dictionaries.values())[-1].limits

    def only(self, terms: str) -> dict[str, Dictionary]:
        """One of the dictionaries alone."""
        return {terms: self.dictionaries[terms]}

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

    def dictionaries(self, task: FoldTask) -> dict[str, Dictionary]:
        """Those of the task without thin terms, as long as there are enough others."""
        return {name: replace(own, limits=self._limits(own)) for name, own in task.dictionaries.items()}

    def _limits(self, own: Dictionary) -> SupportLimits:
        exclude = np.union1d(own.limits.exclude, np.setdiff1d(self.thin, own.limits.include))
        is_enough = term_count(self.samples.n_features) - len(exclude) >= own.ks[-1]
        return replace(own.limits, exclude=exclude) if is_enough else own.limits


class TrainingParts(Protocol):
    """Gives each fold its part."""

    def part(self, task: FoldTask, samples: Samples, fold: Fold) -> TrainingPart: ...

    def drawn(self, rows: IntArray) -> IntArray:
        """Those of some samples that are in the random sample; all where none of them are."""


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
        """Draw the random sample by the number of the row, from 1, if there are more: the same rows as in a file."""
        size = sample_size(samples.n_features)
        if len(samples.codes) <= size or has_many_terms(samples.X):
            return SampledParts(None, coding)
        is_drawn = np.zeros(len(samples.codes), dtype=bool)
        is_drawn[drawn_rows(np.arange(1, len(samples.codes) + 1), size, 0)] = True
        return SampledParts(is_drawn, coding)

    def part(self, task: FoldTask, samples: Samples, fold: Fold) -> TrainingPart:
        if self.coding is None:
            return self.of_rows(task, samples, fold.train)
        train = samples.part(fold.train)
        recoding = self.coding.learned(train.X, train.sample_weight, demanded_features(task.limits, samples.n_features))
        recoded = replace(train, X=recoding(train.X))
        part = self._fitted_to(task, recoded, fold.train)
        return replace(part, units=replace(part.units, recoding=recoding), thin=self.coding.thin_terms(recoded.X))

    def drawn(self, rows: IntArray) -> IntArray:
        some = rows if self.is_drawn is None else rows[self.is_drawn[rows]]
        return some if len(some) else rows

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

    def drawn(self, rows: IntArray) -> IntArray:
        return rows  # nothing else is at hand


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
            self.part.dictionaries(task),
            by_decomposition=task.by_decomposition,
            report=lambda line: report(f"fold {fold.number}, {line}"),
        )


@dataclass(frozen=True, eq=False)
class FittedFold:
    """What one fold fitted.

    Attributes
    ----------
    number : int
        Of the fold.
    units : Units or None
        In which its surfaces are; None: there was no time.
    cells : dict of tuples of PathCell
        The surfaces of each cell.
    binned : dict of BinnedDecisions
        Their decision values of rows left out, where the loss has no probabilities.
    """

    number: int
    units: Units | None = None
    cells: dict[Cell, tuple[PathCell, ...]] = field(default_factory=dict)
    binned: dict[Cell, BinnedDecisions] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """What the folds say of the samples that they left out; NaN where none did.

    Attributes
    ----------
    decision : array of shape (m,) or (m, n_classes)
    probability : array of shape (m, n_classes)
        By the loss, or by the sigmoids of the other folds.
    """

    decision: FloatArray
    probability: FloatArray


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
        alone = len(self.folds) == 1
        jobs = (delayed(fit_fold)(self.work, fold, self._searches[fold.number], plan, alone) for fold in self.folds)
        results = workers(self.processes, return_as="generator")(jobs)
        fitted = []
        for found, search in counted(results, len(self.folds), what):
            self._searches[found.number] = None if has_many_terms(self.work.samples.X) else search  # many terms, much memory
            fitted.append(found)
        sigmoids = sigmoids_of_folds(fitted, len(self.work.samples.positives()))
        for fold, found, curves in zip(self.folds, fitted, sigmoids, strict=True):
            board.take(score_fold(self.work, fold, found, curves))  # here: little work beside that of the fits

    def out_of_fold(self, board: Scoreboard, cell: Cell) -> OutOfFold:
        """Decision values and probabilities of each sample by the folds that left it out, on average over these."""
        samples = self.work.samples
        n_samples, n_surfaces, n_classes = len(samples.codes), len(samples.positives()), len(samples.classes)
        total, count = np.zeros((n_samples, n_surfaces + n_classes)), np.zeros((n_samples, 1))
        for number, (units, found) in board.at(cell).items():
            rows = self.folds[number].test
            decision = StackedSurfaces.of(found.surfaces)(units(samples.X[rows]))
            total[rows] += np.hstack([decision, chances(found.sigmoids.log_odds(decision))])
            count[rows] += 1
        mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
        return OutOfFold(mean[:, 0] if n_surfaces == 1 else mean[:, :n_surfaces], mean[:, n_surfaces:])


@one_blas_thread()
def fit_fold(
    work: FoldWork, fold: Fold, search: FoldSearch | None, plan: Plan, alone: bool
) -> tuple[FittedFold, FoldSearch | None]:
    """Fit the cells of a plan to one part of the samples; as many as there is time for.

    The first fold always fits the first row, so that there is something to choose. The search serves the next plan. A fold that
    is alone has no others that could tell it a sigmoid: that is fitted on its training part.
    """
    task = work.task
    if task.out_of_time() and fold.number > 0:
        return FittedFold(fold.number), search
    search = FoldSearch(work, fold) if search is None else search
    result = FittedFold(fold.number, search.part.units)
    drawn = search.part.samples if alone else work.samples.part(work.parts.drawn(fold.test))
    X = drawn.X if alone else search.part.units(drawn.X)
    for family, rows in plan.items():
        by_class = [search.quick.rows(family.terms, family.loss, positive, rows) for positive in work.samples.positives()]
        for row, *surfaces in zip(rows, *by_class, strict=False):
            cells = [Cell(family.terms, family.loss, row.C, k) for k in row.ks]
            found = list(zip(*surfaces, strict=True))
            result.cells.update(zip(cells, found, strict=True))
            if not loss_named(family.loss).has_probabilities:
                result.binned.update(zip(cells, _binned(found, X, drawn), strict=True))
            if task.out_of_time():
                return result, search
    return result, search


def _binned(cells: Sequence[tuple[PathCell, ...]], X: FloatArray, samples: Samples) -> list[BinnedDecisions]:
    """Decision values of samples, X in the units of the surfaces, by each cell."""
    positives = samples.positives()
    is_event = samples.codes[:, None] == np.tile(positives, len(cells))
    binned = BinnedDecisions.of(StackedSurfaces.of_cells(cells)(X), is_event, samples.loss_weight)
    return [
        binned.part(slice(first, first + len(positives))) for first in range(0, len(cells) * len(positives), len(positives))
    ]


def sigmoids_of_folds(fitted: Sequence[FittedFold], n_surfaces: int) -> list[dict[Cell, Sigmoids]]:
    """From decision values to log-odds, for each fold: by the other folds where the loss has no probabilities.

    Parameters
    ----------
    fitted : sequence of FittedFold
    n_surfaces : int
        Per cell.
    """
    out: list[dict[Cell, Sigmoids]] = [dict.fromkeys(fold.cells, Sigmoids.none(n_surfaces)) for fold in fitted]
    folds_with: dict[Cell, list[int]] = {}
    for place, fold in enumerate(fitted):
        for cell in fold.binned:
            folds_with.setdefault(cell, []).append(place)
    for places in {tuple(found) for found in folds_with.values()}:  # a time limit may have kept some folds from the end
        cells = [cell for cell, found in folds_with.items() if tuple(found) == places]
        curves = of_other_folds([BinnedDecisions.stacked([fitted[place].binned[cell] for cell in cells]) for place in places])
        for place, curve in zip(places, curves, strict=True):
            each = (curve.part(slice(i * n_surfaces, (i + 1) * n_surfaces)) for i in range(len(cells)))
            out[place].update(zip(cells, each, strict=True))
    return out


@one_blas_thread()
def score_fold(work: FoldWork, fold: Fold, fitted: FittedFold, sigmoids: dict[Cell, Sigmoids]) -> FoldResult:
    """Score what a fold fitted on the samples that it leaves out."""
    if not fitted.cells or fitted.units is None:
        return FoldResult(fold.number)
    curves = [sigmoids[cell] for cell in fitted.cells]
    surfaces = FoldSurfaces(fitted.units, list(fitted.cells.values()), curves, f"fold {fold.number}")
    scores = surfaces.scores(work.scoring, work.samples.part(fold.test))
    found = zip(fitted.cells.items(), scores, curves, strict=True)
    return FoldResult(fold.number, fitted.units, {cell: ScoredCell(score, own, curve) for (cell, own), score, curve in found})
