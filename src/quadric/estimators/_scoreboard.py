"""Cross-validated scores as they come in, cell by cell: which cells to score next, and what the folds fitted there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from quadric.estimators._choosing import (
    Choice,
    Rule,
    cells_worth_scoring,
    chosen_among,
    coarse_rows,
    end_of_grid,
    suitable_rule,
)
from quadric.samples.units import Units
from quadric.search.path import PathCell
from quadric.search.quick import Row
from quadric.types import BoolArray, FloatArray, IntArray

Plan: TypeAlias = Mapping[str, Sequence[Row]]
"""Rows to score, for each loss."""


@dataclass(frozen=True)
class Cell:
    """A loss with values of its parameters."""

    loss: str
    C: float
    k: int


@dataclass(frozen=True, eq=False)
class ScoredCell:
    """What one fold found at a cell: a score, and a surface for each class."""

    score: float
    surfaces: tuple[PathCell, ...]


@dataclass(frozen=True, eq=False)
class FoldResult:
    """What one fold found.

    Attributes
    ----------
    number : int
        Of the fold.
    units : Units or None
        In which its surfaces are; None: there was no time.
    cells : dict of ScoredCell
    """

    number: int
    units: Units | None = None
    cells: dict[Cell, ScoredCell] = field(default_factory=dict)


class Scoreboard:
    """Scores of all folds.

    Parameters
    ----------
    Cs : mapping from losses to arrays
        Grids, increasing.
    ks : array
    n_folds : int
    """

    def __init__(self, Cs: Mapping[str, FloatArray], ks: IntArray, n_folds: int) -> None:
        self.Cs, self.ks, self.n_folds = dict(Cs), ks, n_folds
        self._found: list[dict[Cell, ScoredCell]] = [{} for _ in range(n_folds)]
        self._units: list[Units | None] = [None] * n_folds

    def take(self, result: FoldResult) -> None:
        """Enter what a fold found."""
        self._found[result.number] |= result.cells
        self._units[result.number] = self._units[result.number] or result.units

    def found(self, number: int) -> FoldResult:
        """What was entered for a fold."""
        return FoldResult(number, self._units[number], self._found[number])

    def scores(self) -> dict[str, FloatArray]:
        """One array of shape (n_folds, n_Cs, n_ks) for each loss; NaN: not scored."""
        tables = {}
        for loss, Cs in self.Cs.items():
            cells = [[Cell(loss, float(C), int(k)) for k in self.ks] for C in Cs]
            found = [[[fold[cell].score if cell in fold else np.nan for cell in row] for row in cells] for fold in self._found]
            tables[loss] = np.array(found)
        return tables

    def coarse(self) -> Plan:
        """A part of the grids to begin with."""
        every_k = np.ones(len(self.ks), dtype=bool)
        return {loss: [self._row(Cs[i], every_k) for i in coarse_rows(len(Cs))] for loss, Cs in self.Cs.items()}

    def worth_scoring(self, rule: Rule) -> Plan:
        """What could still be chosen."""
        scores = self.scores()
        worth = cells_worth_scoring(scores, suitable_rule(rule, scores))
        plan = {loss: self._rows(self.Cs[loss], cells) for loss, cells in worth.items()}
        return {loss: rows for loss, rows in plan.items() if rows}

    def extended(self) -> Plan:
        """One more C for the loss of the best cell, if that is at an end of its grid; the grid grows by it."""
        end = end_of_grid(self.scores())
        if end is None:
            return {}
        loss, side = end
        Cs = self.Cs[loss]
        further = Cs[-1] ** 2 / Cs[-2] if side == 1 else Cs[0] ** 2 / Cs[1]
        self.Cs[loss] = np.append(Cs, further) if side == 1 else np.append(further, Cs)
        return {loss: [self._row(further, np.ones(len(self.ks), dtype=bool))]}

    def choice(self, rule: Rule) -> Choice:
        """The cell that a rule takes."""
        scores = self.scores()
        return chosen_among(scores, suitable_rule(rule, scores))

    def at(self, choice: Choice) -> Cell:
        """Loss, C and k of a choice."""
        return Cell(choice.loss, float(self.Cs[choice.loss][choice.C_index]), int(self.ks[choice.k_index]))

    def surfaces(self, cell: Cell) -> dict[int, tuple[Units, tuple[PathCell, ...]]]:
        """What the folds fitted at a cell, by number of the fold, with the units; folds that did not come to it are missing."""
        return {
            number: (units, found[cell].surfaces)
            for number, (units, found) in enumerate(zip(self._units, self._found, strict=True))
            if units is not None and cell in found
        }

    def _row(self, C: float, wanted: BoolArray) -> Row:
        return Row(float(C), tuple(self.ks[wanted].tolist()))

    def _rows(self, Cs: FloatArray, wanted: BoolArray) -> list[Row]:
        return [self._row(C, cells) for C, cells in zip(Cs, wanted, strict=True) if cells.any()]
