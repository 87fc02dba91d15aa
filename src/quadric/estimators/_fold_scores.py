"""Scores of the surfaces of folds on the rows that these leave out: by sums over rows wherever the score allows it.

Rows in memory and rows of a pass are scored alike. A pass looks at all rows, where the folds had scored a random sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from quadric.blas import one_blas_thread
from quadric.estimators._scoreboard import FoldResult, Scoreboard
from quadric.estimators._scoring import Scoring, StackedSurfaces, tally
from quadric.estimators._sigmoids import Sigmoids, joined
from quadric.geometry.lifting import row_chunks
from quadric.samples.folds import folds_by_key
from quadric.samples.labelled import LabelledSamples, Samples
from quadric.samples.source import SampleBatch, SampleSource
from quadric.samples.units import Units
from quadric.search.path import PathCell
from quadric.types import FloatArray

CELLS_TOGETHER = 16
"""Cells whose decision values are kept at the same time, for scores that are not sums over rows."""


@dataclass(frozen=True, eq=False)
class FoldSurfaces:
    """The surfaces of several cells of a fold.

    Attributes
    ----------
    units : Units
    cells : sequence of tuples of PathCell
        One surface for two classes, otherwise one for each class.
    sigmoids : sequence of Sigmoids
        From decision values to log-odds, for each cell.
    where : str
        What an error names.
    """

    units: Units
    cells: Sequence[tuple[PathCell, ...]]
    sigmoids: Sequence[Sigmoids]
    where: str

    def scores(self, scoring: Scoring, left_out: Samples) -> list[float]:
        """The score of each cell on samples at hand, in the user's units."""
        if scoring.is_additive:
            return self.of_tallies(scoring, self.tallies(left_out, log_loss=scoring.is_log_loss))
        out, X = [], self.units(left_out.X)
        for first in range(0, len(self.cells), CELLS_TOGETHER):
            some = slice(first, first + CELLS_TOGETHER)
            decisions = np.split(StackedSurfaces.of_cells(self.cells[some])(X), len(self.cells[some]), axis=1)
            pairs = zip(decisions, self.sigmoids[some], strict=True)
            out += [scoring.score(left_out, decision, sigmoids, self.where) for decision, sigmoids in pairs]
        return out

    def tallies(self, rows: LabelledSamples, *, log_loss: bool) -> FloatArray:
        """What rows add to the score of each cell."""
        stacked, sigmoids = StackedSurfaces.of_cells(self.cells), joined(self.sigmoids)
        total: FloatArray | None = None
        for some in row_chunks(len(rows.codes), len(stacked.terms) + 3 * len(stacked.intercept)):
            part = LabelledSamples(rows.X[some], rows.codes[some], rows.sample_weight[some], rows.class_weight)
            more = tally(stacked(self.units(part.X)), sigmoids, part, log_loss=log_loss)
            total = more if total is None else total + more
        assert total is not None
        return total

    def of_tallies(self, scoring: Scoring, tallies: FloatArray) -> list[float]:
        """The scores that sums over all rows tell."""
        return [scoring.of_tally(each, self.where) for each in tallies]


def score_all_rows(board: Scoreboard, scoring: Scoring, source: SampleSource, class_weight: FloatArray, seed: int) -> None:
    """Replace the scores of a board, which are of some rows, by those of all rows.

    Parameters
    ----------
    board : Scoreboard
    scoring : Scoring
        An additive one.
    source : SampleSource
        In the user's units.
    class_weight : array of shape (n_classes,)
        Factors on the losses of the classes.
    seed : int
        Of the folds.
    """
    found = [board.found(number) for number in range(board.n_folds)]
    folds = tuple(
        None
        if fold.units is None
        else FoldSurfaces(
            fold.units,
            [cell.surfaces for cell in fold.cells.values()],
            [cell.sigmoids for cell in fold.cells.values()],
            f"fold {fold.number}",
        )
        for fold in found
    )
    sums = source.total(TalliedRows(folds, scoring.is_log_loss, class_weight, seed))
    for fold, surfaces, tallies in zip(found, folds, sums.folds, strict=True):
        if surfaces is None or tallies is None:
            continue
        pairs = zip(fold.cells.items(), surfaces.of_tallies(scoring, tallies), strict=True)
        board.take(FoldResult(fold.number, fold.units, {cell: replace(old, score=score) for (cell, old), score in pairs}))


@dataclass(frozen=True, eq=False)
class FoldTallies:
    """What the rows of each fold add to the scores of its cells; None: it has no cells, or there is none of its rows yet."""

    folds: tuple[FloatArray | None, ...]

    def __add__(self, other: FoldTallies) -> FoldTallies:
        both = zip(self.folds, other.folds, strict=True)
        return FoldTallies(tuple(two if one is None else one if two is None else one + two for one, two in both))


@dataclass(frozen=True, eq=False)
class TalliedRows:
    """The pass that scores each row by the surfaces of the fold that leaves it out.

    Attributes
    ----------
    folds : tuple of FoldSurfaces
        None for a fold without any.
    log_loss : bool
        Whether the log-loss is wanted, otherwise counts of labels.
    class_weight : array of shape (n_classes,)
    seed : int
    """

    folds: tuple[FoldSurfaces | None, ...]
    log_loss: bool
    class_weight: FloatArray
    seed: int

    @one_blas_thread()
    def __call__(self, batch: SampleBatch) -> FoldTallies:
        number, batch = folds_by_key(batch, len(self.folds), self.seed), replace(batch, class_weight=self.class_weight)
        rows = [np.flatnonzero(number == fold) for fold in range(len(self.folds))]
        return FoldTallies(
            tuple(
                None if surfaces is None or not len(mine) else surfaces.tallies(batch.part(mine), log_loss=self.log_loss)
                for surfaces, mine in zip(self.folds, rows, strict=True)
            )
        )
