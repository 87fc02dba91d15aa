"""The work of a cross-validation: every fold fits and scores the cells of a plan."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.utils.parallel import delayed

from quadric.estimators._base import ClassWeight
from quadric.estimators._folds import Fold
from quadric.estimators._scoreboard import Cell, FoldResult, Plan, Scoreboard, ScoredCell
from quadric.estimators._scoring import Chances, Scoring, decision_values, own_chances, sigmoid_chances
from quadric.estimators._units import Units
from quadric.estimators._validation import Samples, validate_samples
from quadric.losses import loss_named
from quadric.progress import counted, writer_for
from quadric.search.path import PathCell
from quadric.search.quick import Digester, QuickSearch, Row
from quadric.search.rules import SupportLimits
from quadric.types import FloatArray, IntArray
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
    digester : Digester
    """

    units: Units
    samples: Samples
    digester: Digester


class TrainingParts(Protocol):
    """Gives each fold its part."""

    def part(self, task: FoldTask, samples: Samples, fold: Fold) -> TrainingPart: ...


class SampledParts:
    """The parts of samples in memory: units by the training rows of each fold."""

    def part(self, task: FoldTask, samples: Samples, fold: Fold) -> TrainingPart:
        weight = samples.sample_weight[fold.train]
        units = Units.of(samples.X[fold.train], weight, **task.units)
        labels = samples.classes[samples.codes[fold.train]]
        train = validate_samples(units(samples.X[fold.train]), labels, weight, task.class_weight, samples.classes)
        return TrainingPart(units, train, train)


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Samples with folds and a scorer.

    Attributes
    ----------
    task : FoldTask
    samples : Samples
        In the user's units.
    folds : sequence of Fold
    scoring : Scoring
    processes : int
        Folds that run at the same time.
    parts : TrainingParts
        What the folds fit to.
    """

    task: FoldTask
    samples: Samples
    folds: Sequence[Fold]
    scoring: Scoring
    processes: int
    parts: TrainingParts = SampledParts()  # noqa: RUF009 - has no state

    def score(self, plan: Plan, board: Scoreboard, what: str) -> None:
        """Score the cells of a plan in all folds, and enter them."""
        if not plan:
            return
        jobs = (delayed(score_fold)(self, fold, plan) for fold in self.folds)
        results = workers(self.processes, return_as="generator")(jobs)
        for result in counted(results, len(self.folds), what):
            board.take(result)

    def out_of_fold(self, board: Scoreboard, cell: Cell) -> FloatArray:
        """Decision values of each sample by the folds that left it out; NaN where none did."""
        n_surfaces = len(self.samples.positives())
        total, count = np.zeros((len(self.samples.codes), n_surfaces)), np.zeros((len(self.samples.codes), 1))
        for number, (units, surfaces) in board.surfaces(cell).items():
            rows = self.folds[number].test
            total[rows] += decision_values(units(self.samples.X[rows]), surfaces).reshape(len(rows), -1)
            count[rows] += 1
        decision = np.where(count > 0, total / np.maximum(count, 1), np.nan)
        return decision[:, 0] if n_surfaces == 1 else decision


def score_fold(work: CrossValidation, fold: Fold, plan: Plan) -> FoldResult:
    """Fit the cells of a plan to one part of the samples and score them on the other; as many as there is time for.

    The first fold always scores the first row, so that there is something to choose.
    """
    task = work.task
    if task.out_of_time() and fold.number > 0:
        return FoldResult(fold.number)
    part = work.parts.part(task, work.samples, fold)
    units, train = part.units, part.samples
    report = writer_for(task.verbose)
    quick = QuickSearch(
        part.digester,
        task.limits,
        task.ks,
        by_decomposition=task.by_decomposition,
        report=lambda line: report(f"fold {fold.number}, {line}"),
    )
    scorer = _FoldScorer(work.scoring, work.samples, fold, units, train)
    cells: dict[Cell, ScoredCell] = {}
    for loss, rows in plan.items():
        by_class = [quick.rows(loss, positive, rows) for positive in train.positives()]
        for row, *surfaces in zip(rows, *by_class, strict=False):
            cells |= scorer.scored(loss, row, list(zip(*surfaces, strict=True)))
            if task.out_of_time():
                return FoldResult(fold.number, units, cells)
    return FoldResult(fold.number, units, cells)


class _FoldScorer:
    """Scores of surfaces on the samples that a fold leaves out."""

    def __init__(self, scoring: Scoring, samples: Samples, fold: Fold, units: Units, train: Samples) -> None:
        self._scoring, self._train = scoring, train
        self._left_out = samples.part(fold.test)
        self._X = units(self._left_out.X)
        self._where = f"fold {fold.number}"

    def scored(self, loss: str, row: Row, surfaces: Sequence[tuple[PathCell, ...]]) -> dict[Cell, ScoredCell]:
        """The cells of a row, with the surfaces of all classes at each."""
        has_chances = loss_named(loss).has_probabilities
        return {
            Cell(loss, row.C, k): ScoredCell(self._score(cells, has_chances), cells)
            for k, cells in zip(row.ks, surfaces, strict=True)
        }

    def _score(self, cells: tuple[PathCell, ...], has_chances: bool) -> float:
        def chances() -> Chances:
            return own_chances if has_chances else sigmoid_chances(decision_values(self._train.X, cells), self._train)

        return self._scoring.score(self._left_out, decision_values(self._X, cells), chances, self._where)
