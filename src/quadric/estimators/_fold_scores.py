"""Scores of the surfaces of all folds on all rows, by one pass: which classes get which labels."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from quadric.blas import one_blas_thread
from quadric.estimators._scoreboard import FoldResult, Scoreboard, ScoredCell
from quadric.estimators._scoring import Scoring, StackedSurfaces
from quadric.geometry.lifting import row_chunks
from quadric.samples.folds import folds_by_key
from quadric.samples.source import SampleBatch, SampleSource
from quadric.samples.units import Units
from quadric.types import FloatArray, IntArray


def score_all_rows(board: Scoreboard, scoring: Scoring, source: SampleSource, seed: int) -> None:
    """Replace the scores of a board, which are of some rows, by those of all rows.

    Parameters
    ----------
    board : Scoreboard
    scoring : Scoring
        One that counts labels.
    source : SampleSource
        In the user's units.
    seed : int
        Of the folds.
    """
    found = [board.found(number) for number in range(board.n_folds)]
    surfaces = tuple(None if fold.units is None else SurfacesOfFold.of(fold.units, fold.cells.values()) for fold in found)
    counts = source.total(CountedLabels(surfaces, seed))
    for fold, of_cells in zip(found, counts.folds, strict=True):
        pairs = zip(fold.cells.items(), of_cells, strict=True)
        where = f"fold {fold.number}"
        cells = {cell: replace(scored, score=scoring.score_counts(of_cell, where)) for (cell, scored), of_cell in pairs}
        board.take(FoldResult(fold.number, fold.units, cells))


@dataclass(frozen=True, eq=False)
class SurfacesOfFold:
    """The surfaces of all cells of a fold.

    Attributes
    ----------
    units : Units
    stacked : StackedSurfaces
        Those of one cell after the other.
    n_surfaces : int
        Per cell: one for two classes, otherwise one for each class.
    """

    units: Units
    stacked: StackedSurfaces
    n_surfaces: int

    @staticmethod
    def of(units: Units, cells: Collection[ScoredCell]) -> SurfacesOfFold:
        """Of what a fold found."""
        surfaces = [surface for cell in cells for surface in cell.surfaces]
        return SurfacesOfFold(units, StackedSurfaces.of(surfaces), len(surfaces) // len(cells))

    @property
    def n_cells(self) -> int:
        """How many cells there are."""
        return len(self.stacked.intercept) // self.n_surfaces

    def labels(self, X: FloatArray) -> IntArray:
        """The code of the label of each row by each cell, (m, n_cells)."""
        decision = self.stacked(self.units(X))
        if self.n_surfaces == 1:
            return (decision > 0.0).astype(np.intp)
        return decision.reshape(len(X), -1, self.n_surfaces).argmax(axis=2)


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """Weight of the rows of each class with each label, an array of shape (n_cells, n_classes, n_classes) per fold."""

    folds: tuple[FloatArray, ...]

    def __add__(self, other: LabelCounts) -> LabelCounts:
        return LabelCounts(tuple(mine + yours for mine, yours in zip(self.folds, other.folds, strict=True)))


@dataclass(frozen=True, eq=False)
class CountedLabels:
    """The pass that labels each row by the surfaces of the fold that leaves it out.

    Attributes
    ----------
    folds : tuple of SurfacesOfFold
        None for a fold without any.
    seed : int
    """

    folds: tuple[SurfacesOfFold | None, ...]
    seed: int

    @one_blas_thread()
    def __call__(self, batch: SampleBatch) -> LabelCounts:
        number = folds_by_key(batch, len(self.folds), self.seed)
        left_out = [batch.part(np.flatnonzero(number == fold)) for fold in range(len(self.folds))]
        return LabelCounts(tuple(_counted(fold, rows) for fold, rows in zip(self.folds, left_out, strict=True)))


def _counted(surfaces: SurfacesOfFold | None, rows: SampleBatch) -> FloatArray:
    n_classes = len(rows.class_weight)
    if surfaces is None:
        return np.zeros((0, n_classes, n_classes))
    counts = np.zeros((surfaces.n_cells, n_classes, n_classes))
    for some in row_chunks(len(rows.X), len(surfaces.stacked.terms) + 2 * len(surfaces.stacked.intercept)):
        labels = surfaces.labels(rows.X[some])
        weight = np.where(rows.codes[some] == np.arange(n_classes)[:, None], rows.sample_weight[some], 0.0)
        for label in range(n_classes):
            counts[:, :, label] += (weight @ (labels == label)).T
    return counts
