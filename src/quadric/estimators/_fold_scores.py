"""What folds fitted, and its scores on the rows that they leave out: by sums over rows wherever the score allows it.

Rows in memory and rows of a pass are scored alike. A pass looks at all rows, where the folds had scored a random sample.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add

import numpy as np

from quadric.blas import one_blas_thread
from quadric.estimators._scoring import Scoring, StackedSurfaces, tally
from quadric.estimators._sigmoids import BinnedDecisions, Sigmoids, joined
from quadric.estimators.choosing import GridCell
from quadric.geometry.lifting import row_chunks
from quadric.samples.folds import folds_by_key
from quadric.samples.labelled import LabelledSamples
from quadric.samples.source import SampleBatch, Sums
from quadric.samples.units import Units
from quadric.search.path import PathCell
from quadric.types import FloatArray

# Cells whose decision values are kept at the same time, for scores that are not sums over rows.
CELLS_TOGETHER = 16


@dataclass(frozen=True, eq=False)
class FittedCell:
    """What one fold found at a cell.

    Attributes
    ----------
    surfaces : tuple of PathCell
        One surface for two classes, otherwise one for each class.
    sigmoids : Sigmoids
        From their decision values to log-odds.
    score : float
        NaN: not scored yet.
    """

    surfaces: tuple[PathCell, ...]
    sigmoids: Sigmoids
    score: float = np.nan


@dataclass(frozen=True, eq=False)
class FittedFold:
    """What one fold found.

    Attributes
    ----------
    number : int
        Of the fold.
    units : Units or None
        In which its surfaces are; None: there was no time.
    cells : dict of FittedCell
    binned : dict of BinnedDecisions
        Decision values of rows left out, where the loss has no probabilities and sigmoids are still to be fitted.
    """

    number: int
    units: Units | None = None
    cells: dict[GridCell, FittedCell] = field(default_factory=dict)
    binned: dict[GridCell, BinnedDecisions] = field(default_factory=dict)

    @one_blas_thread()
    def scored(self, scoring: Scoring, left_out: LabelledSamples) -> FittedFold:
        """With the score of each cell on samples in memory, in the user's units."""
        if not self.cells or self.units is None:
            return self
        if scoring.is_additive:
            return self.scored_by(scoring, self.tallies(left_out, log_loss=scoring.is_log_loss))
        scores, cells, X = [], list(self.cells.values()), self.units(left_out.X)
        for first in range(0, len(cells), CELLS_TOGETHER):
            some = cells[first : first + CELLS_TOGETHER]
            decisions = np.split(StackedSurfaces.of([cell.surfaces for cell in some])(X), len(some), axis=1)
            pairs = zip(decisions, some, strict=True)
            scores += [scoring.score(left_out, decision, cell.sigmoids, f"fold {self.number}") for decision, cell in pairs]
        return self._with_scores(scores)

    def tallies(self, rows: LabelledSamples, *, log_loss: bool) -> FloatArray:
        stacked = StackedSurfaces.of([cell.surfaces for cell in self.cells.values()])
        sigmoids, units = joined([cell.sigmoids for cell in self.cells.values()]), self.units
        assert units is not None
        chunks = row_chunks(len(rows.target), len(stacked.terms) + 3 * len(stacked.intercept))
        parts = map(rows.part, chunks)
        return reduce(add, (tally(stacked(units(part.X)), sigmoids, part, log_loss=log_loss) for part in parts))

    def scored_by(self, scoring: Scoring, tallies: FloatArray) -> FittedFold:
        return self._with_scores(scoring.of_tally(each, f"fold {self.number}") for each in tallies)

    def _with_scores(self, scores: Iterable[float]) -> FittedFold:
        pairs = zip(self.cells.items(), scores, strict=True)
        return FittedFold(self.number, self.units, {cell: replace(found, score=score) for (cell, found), score in pairs})


@dataclass(frozen=True, eq=False)
class TalliedRows:
    """The pass that scores each row by the surfaces of the fold that leaves it out.

    Attributes
    ----------
    folds : tuple of FittedFold
    log_loss : bool
        Whether the log-loss is wanted, otherwise counts of labels.
    class_weight : array of shape (n_classes,)
        Factors on the losses of the classes.
    seed : int
        Of the folds.
    """

    folds: tuple[FittedFold, ...]
    log_loss: bool
    class_weight: FloatArray
    seed: int

    @one_blas_thread()
    def __call__(self, batch: SampleBatch) -> Sums:
        number = folds_by_key(batch, len(self.folds), self.seed)
        batch = replace(batch, target=batch.target.with_factors(self.class_weight))
        rows = [np.flatnonzero(number == fold) for fold in range(len(self.folds))]
        return Sums(
            tuple(
                fold.tallies(batch.part(mine), log_loss=self.log_loss) if fold.cells and len(mine) else None
                for fold, mine in zip(self.folds, rows, strict=True)
            )
        )
