"""The work of a cross-validation: every fold fits and scores the cells of a plan."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from sklearn.utils.parallel import delayed

from quadric.blas import one_blas_thread
from quadric.estimators._fold_scores import FittedCell, FittedFold
from quadric.estimators._scoreboard import Scoreboard, ScoringPlan
from quadric.estimators._scoring import Scoring, StackedSurfaces, chances
from quadric.estimators._sigmoids import BinnedDecisions, Sigmoids, of_other_folds
from quadric.estimators.base import ClassWeight
from quadric.estimators.choosing import GridCell
from quadric.estimators.shape_rules import ShapeDemands
from quadric.geometry.products import has_many_terms
from quadric.geometry.terms import term_count
from quadric.losses import loss_named
from quadric.progress import counted, writer_for
from quadric.samples.folds import Fold
from quadric.samples.labelled import LabelledSamples
from quadric.samples.random_rows import drawn_rows, sample_size
from quadric.samples.recoding import Coding
from quadric.samples.source import Sums
from quadric.samples.sums import SummedSamples
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
    is_shared : bool
        Whether classes share their terms.
    deadline : float or None
        When to stop, by time.monotonic().
    verbose : int
    demands : ShapeDemands or None
        Rules on coefficients, which are kept in the units of each fit.
    """

    dictionaries: Mapping[str, Dictionary]
    class_weight: ClassWeight
    units: dict[str, Any]
    by_decomposition: bool
    is_shared: bool
    deadline: float | None
    verbose: int
    demands: ShapeDemands | None

    @property
    def limits(self) -> SupportLimits:
        """Those of the dictionary that has all terms of the others."""
        return list(self.dictionaries.values())[-1].limits

    def on(self, data: LabelledSamples | SummedSamples) -> dict[str, Dictionary]:
        """The dictionaries with rules on coefficients, by data in the units of a fit."""
        if self.demands is None:
            return dict(self.dictionaries)
        shapes = self.demands.on(data)
        return {terms: replace(own, limits=replace(own.limits, shapes=shapes)) for terms, own in self.dictionaries.items()}

    def out_of_time(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline


@dataclass(frozen=True, eq=False)
class TrainingPart:
    """What a fold fits to.

    Attributes
    ----------
    units : Units
        Those of the surfaces.
    data : LabelledSamples or SummedSamples
        In these units.
    thin : integer array
        Terms with too few rows to learn from, beside those that are excluded everywhere.
    """

    units: Units
    data: LabelledSamples | SummedSamples
    thin: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    @property
    def samples(self) -> LabelledSamples:
        """The rows; where the fit is to sums, a random part of those behind them."""
        rows = self.data.sample if isinstance(self.data, SummedSamples) else self.data
        assert rows is not None
        return rows

    def search(self, task: FoldTask, number: int) -> QuickSearch:
        """Searches of a fold, without thin terms as long as there are enough others."""
        own = {name: replace(each, limits=self._limits(each)) for name, each in task.on(self.data).items()}
        write, how = writer_for(task.verbose), {"by_decomposition": task.by_decomposition, "is_shared": task.is_shared}
        return QuickSearch(self.data, own, report=lambda line: write(f"fold {number}, {line}"), **how)

    def _limits(self, own: Dictionary) -> SupportLimits:
        exclude = np.union1d(own.limits.exclude, np.setdiff1d(self.thin, own.limits.include))
        is_enough = term_count(self.data.n_features) - len(exclude) >= own.ks[-1]
        return replace(own.limits, exclude=exclude) if is_enough else own.limits


@dataclass(frozen=True, eq=False)
class SampledParts:
    """The parts of samples in memory: units by the training rows of each fold.

    Attributes
    ----------
    samples : LabelledSamples
        In the user's units, with gaps where a coding has them.
    is_drawn : boolean array of shape (m,) or None
        Which samples are in the random sample, where there are more rows than that; None: all of them.
    coding : Coding or None
        Where the samples are a coded table: imputed values and levels are also those of the training rows.
    """

    samples: LabelledSamples
    is_drawn: BoolArray | None
    coding: Coding | None = None

    @staticmethod
    def of(samples: LabelledSamples, coding: Coding | None = None) -> SampledParts:
        """Draw the random sample by the number of the row, from 1, if there are more: the same rows as in a file."""
        size = sample_size(samples.n_features)
        if len(samples.target) <= size or has_many_terms(samples.X):
            return SampledParts(samples, None, coding)
        is_drawn = np.zeros(len(samples.target), dtype=bool)
        is_drawn[drawn_rows(np.arange(1, len(samples.target) + 1), size, 0)] = True
        return SampledParts(samples, is_drawn, coding)

    @staticmethod
    def coded(samples: LabelledSamples, coding: Coding | None) -> SampledParts:
        """Those of a coded table: each fold imputes values and groups levels as its own training rows say."""
        if coding is None or not coding.learns:
            return SampledParts.of(samples)
        return SampledParts.of(replace(samples, X=coding.with_gaps(samples.X)), replace(coding, gaps=None))  # X has them

    def part(self, task: FoldTask, fold: Fold) -> TrainingPart:
        train = self.samples.part(fold.train)
        if self.coding is None:
            return self.fitted_to(task, train, fold.train)
        recoding = self.coding.learned(train.X, train.sample_weight, task.limits.demanded_features(train.n_features))
        recoded = replace(train, X=recoding(train.X))
        part = self.fitted_to(task, recoded, fold.train)
        return replace(part, units=replace(part.units, recoding=recoding), thin=self.coding.thin_terms(recoded.X))

    def drawn(self, rows: IntArray) -> IntArray:
        some = rows if self.is_drawn is None else rows[self.is_drawn[rows]]
        return some if len(some) else rows

    def fitted_to(self, task: FoldTask, train: LabelledSamples, rows: IntArray) -> TrainingPart:
        """What is fitted to the samples ``rows``: sums over all of them, and those in the random sample."""
        units = Units.of(train.X, train.sample_weight, **task.units)
        target = train.target.weighted(task.class_weight, train.sample_weight)
        train = replace(train, X=units(train.X), target=target)
        if self.is_drawn is None:
            return TrainingPart(units, train)
        with one_blas_thread():
            moments = target.moments(train.X, train.sample_weight)
        drawn = train.part(np.flatnonzero(self.is_drawn[rows]))
        return TrainingPart(units, SummedSamples(moments, len(rows), units, drawn))


@dataclass(frozen=True, eq=False)
class SummedParts:
    """The training part of a fold as the sum of the moments of the others.

    Attributes
    ----------
    samples : LabelledSamples
        The random sample, in the user's units.
    sums : Sums of Moments, by fold
    """

    samples: LabelledSamples
    sums: Sums

    def part(self, task: FoldTask, fold: Fold) -> TrainingPart:
        """Units by all training rows; the samples that go with them are those of the random sample."""
        moments = self.sums.whole(without=fold.number)
        absent = [label for label, weight in zip(moments.classes, moments.class_weights, strict=True) if weight == 0.0]
        if absent:
            raise ValueError(f"fold {fold.number} has no training sample of class {absent[0]!r}; use fewer folds")
        sample, standardize = self.samples.part(fold.train), task.units["standardize"]
        data = SummedSamples.of(moments, task.class_weight, standardize=standardize, sample=sample)
        return TrainingPart(data.units, data)

    def drawn(self, rows: IntArray) -> IntArray:
        return rows  # nothing else is in memory


# The training part of a fold and its searches, prepared once for all plans.
Prepared: TypeAlias = tuple[TrainingPart, QuickSearch]


class FoldRunner:
    """Samples with folds and a scorer.

    Parameters
    ----------
    task : FoldTask
    parts : SampledParts or SummedParts
        What the folds fit to.
    scoring : Scoring
    folds : sequence of Fold
    processes : int
        Folds that run at the same time.
    """

    def __init__(
        self, task: FoldTask, parts: SampledParts | SummedParts, scoring: Scoring, folds: Sequence[Fold], processes: int
    ) -> None:
        self.task, self.parts, self.scoring, self.folds, self.processes = task, parts, scoring, folds, processes
        self._prepared: list[Prepared | None] = [None] * len(folds)

    def prepare(self, parts: Sequence[TrainingPart]) -> None:
        """Take over what the folds fit to from an earlier runner."""
        self._prepared = [(part, part.search(self.task, number)) for number, part in enumerate(parts)]

    def score(self, plan: ScoringPlan, board: Scoreboard, what: str) -> None:
        if not plan:
            return
        alone = len(self.folds) == 1
        jobs = (delayed(fit_fold)(self.task, self.parts, fold, self._prepared[fold.number], plan, alone) for fold in self.folds)
        results = workers(self.processes, return_as="generator")(jobs)
        fitted = []
        for found, prepared in counted(results, len(self.folds), what):
            # many terms take too much memory to keep the searches of all folds
            self._prepared[found.number] = None if has_many_terms(self.parts.samples.X) else prepared
            fitted.append(found)
        for fold, found in zip(self.folds, with_sigmoids(fitted), strict=True):
            # here: little work beside that of the fits
            board.take(found.scored(self.scoring, self.parts.samples.part(fold.test)))

    def out_of_fold(self, board: Scoreboard, cell: GridCell) -> tuple[FloatArray, FloatArray]:
        """What the folds say of the samples that they left out, on average over these; NaN where none did.

        Returns
        -------
        decision : array of shape (m,) or (m, n_classes)
        probability : array of shape (m, n_classes)
            By the loss, or by the sigmoids of the other folds.
        """
        samples = self.parts.samples
        n_samples, n_surfaces, n_classes = len(samples.target), len(samples.surfaces), samples.target.n_classes
        total, count = np.zeros((n_samples, n_surfaces + n_classes)), np.zeros((n_samples, 1))
        for number, (units, found) in board.at(cell).items():
            rows = self.folds[number].test
            decision = StackedSurfaces.of([found.surfaces])(units(samples.X[rows]))
            total[rows] += np.hstack([decision, chances(found.sigmoids.log_odds(decision))])
            count[rows] += 1
        mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
        return mean[:, 0] if n_surfaces == 1 else mean[:, :n_surfaces], mean[:, n_surfaces:]


@one_blas_thread()
def fit_fold(
    task: FoldTask, parts: SampledParts | SummedParts, fold: Fold, prepared: Prepared | None, plan: ScoringPlan, alone: bool
) -> tuple[FittedFold, Prepared | None]:
    """Fit the cells of a plan to one part of the samples; as many as there is time for.

    The first fold always fits the first row, so that there is something to choose. What was prepared serves the next plan. A
    fold that is alone has no others that could tell it a sigmoid: that is fitted on its training part.
    """
    samples, surfaces = parts.samples, parts.samples.surfaces
    if task.out_of_time() and fold.number > 0:
        return FittedFold(fold.number), prepared
    if prepared is None:
        part = parts.part(task, fold)
        prepared = part, part.search(task, fold.number)
    part, search = prepared
    result = FittedFold(fold.number, part.units)
    drawn = part.samples if alone else samples.part(parts.drawn(fold.test))
    X, plain = drawn.X if alone else part.units(drawn.X), Sigmoids.none(len(surfaces))
    for family, grid in plan.items():
        by_surface = [search.rows(family.terms, family.loss, surface, grid) for surface in surfaces]
        for (C, ks), *cells_of in zip(grid.items(), *by_surface, strict=False):
            cells = [GridCell(family.terms, family.loss, C, k) for k in ks]
            found = list(zip(*cells_of, strict=True))
            result.cells.update(zip(cells, (FittedCell(own, plain) for own in found), strict=True))
            if not loss_named(family.loss).has_probabilities:
                result.binned.update(zip(cells, _binned(found, X, drawn), strict=True))
            if task.out_of_time():
                return result, prepared
    return result, prepared


def _binned(cells: Sequence[tuple[PathCell, ...]], X: FloatArray, samples: LabelledSamples) -> list[BinnedDecisions]:
    """Decision values of samples, X in the units of the surfaces, by each cell."""
    is_event = np.column_stack([samples.target.y(surface) > 0.0 for surface in samples.surfaces])
    of_cells = np.tile(is_event, len(cells))
    binned = BinnedDecisions.of(StackedSurfaces.of(cells)(X), of_cells, samples.loss_weight)
    return [binned.part(slice(first, first + len(is_event.T))) for first in range(0, len(of_cells.T), len(is_event.T))]


def with_sigmoids(fitted: Sequence[FittedFold]) -> list[FittedFold]:
    """The folds with sigmoids from decision values to log-odds: those of the other folds, if the loss has no probabilities."""
    out = [dict(fold.cells) for fold in fitted]
    folds_with: dict[GridCell, list[int]] = {}
    for place, fold in enumerate(fitted):
        for cell in fold.binned:
            folds_with.setdefault(cell, []).append(place)
    for places in {tuple(found) for found in folds_with.values()}:  # a time limit may have kept some folds from the end
        cells = [cell for cell, found in folds_with.items() if tuple(found) == places]
        curves = of_other_folds([BinnedDecisions.stacked([fitted[place].binned[cell] for cell in cells]) for place in places])
        for place, curve in zip(places, curves, strict=True):
            first = 0
            for cell in cells:
                end = first + len(out[place][cell].surfaces)
                out[place][cell] = replace(out[place][cell], sigmoids=curve.part(slice(first, end)))
                first = end
    return [replace(fold, cells=cells) for fold, cells in zip(fitted, out, strict=True)]
