"""Cross-validated scores as they come in, cell by cell: which cells to score next, and what the folds fitted there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import numpy as np

from quadric.estimators._fold_scores import FittedCell, FittedFold, TalliedRows
from quadric.estimators._scoring import Scoring
from quadric.estimators.choosing import (
    ChoiceRule,
    Family,
    GridCell,
    cells_worth_scoring,
    chosen_among,
    coarse_rows,
    end_of_grid,
    margin,
    suitable_rule,
)
from quadric.samples.source import SampleSource
from quadric.samples.units import Units
from quadric.search.quick import Grid
from quadric.types import BoolArray, FloatArray, IntArray

# Rows to score, for each family.
ScoringPlan: TypeAlias = Mapping[Family, Grid]


class Scoreboard:
    """Scores of all folds.

    Parameters
    ----------
    Cs : mapping from families to arrays
        Grids, increasing.
    ks : mapping from dictionaries to arrays
    n_folds : int
    """

    def __init__(self, Cs: Mapping[Family, FloatArray], ks: Mapping[str, IntArray], n_folds: int) -> None:
        self.Cs, self.ks = dict(Cs), ks
        self._folds = [FittedFold(number) for number in range(n_folds)]

    def take(self, found: FittedFold) -> None:
        before = self._folds[found.number]
        self._folds[found.number] = FittedFold(found.number, before.units or found.units, before.cells | found.cells)

    def score_all_rows(self, scoring: Scoring, source: SampleSource, class_weight: FloatArray, seed: int) -> None:
        """Replace the scores, which are of some rows, by those of all rows.

        Parameters
        ----------
        scoring : Scoring
            An additive one.
        source : SampleSource
            In the user's units.
        class_weight : array of shape (n_classes,)
        seed : int
            Of the folds.
        """
        folds = tuple(self._folds)
        sums = source.total(TalliedRows(folds, scoring.is_log_loss, class_weight, seed))
        for fold, tallies in zip(folds, sums.parts, strict=True):
            if tallies is not None:
                self.take(fold.scored_by(scoring, tallies))

    def scores(self) -> dict[Family, FloatArray]:
        """One array of shape (n_folds, n_Cs, n_ks) for each family; NaN: not scored."""
        tables = {}
        for family, Cs in self.Cs.items():
            cells = [[self._cell(family, C, k) for k in self.ks[family.terms]] for C in Cs]
            folds = (fold.cells for fold in self._folds)
            found = [[[fold[cell].score if cell in fold else np.nan for cell in row] for row in cells] for fold in folds]
            tables[family] = np.array(found)
        return tables

    def coarse(self, *, first: bool) -> ScoringPlan:
        """A part of the grids to begin with: of the first loss, then of the others where they could still be chosen.

        The first dictionary, of linear terms, is cheap, and can be as good with another loss: it is never given up.
        """
        losses = list(dict.fromkeys(family.loss for family in self.Cs))
        given_up = None if first else self._far_behind()
        given_up = None if given_up == next(iter(self.ks)) else given_up
        return {
            family: self._grid(family, (Cs[i] for i in coarse_rows(len(Cs))))
            for family, Cs in self.Cs.items()
            if (family.loss == losses[0]) == first and family.terms != given_up
        }

    def worth_scoring(self, rule: ChoiceRule) -> ScoringPlan:
        scores = self.scores()
        worth = cells_worth_scoring(scores, suitable_rule(rule, scores))
        plan = {family: self._worth(family, cells) for family, cells in worth.items()}
        return {family: grid for family, grid in plan.items() if grid}

    def extended(self) -> ScoringPlan:
        """One more C for the best family of each dictionary whose best cell is at an end of its grid; the grids grow by it.

        Dictionaries are compared at what is best for each of them, but for one that is far behind.
        """
        scores, far_behind, plan = self.scores(), self._far_behind(), {}
        for terms in self.ks:
            end = end_of_grid({family: table for family, table in scores.items() if family.terms == terms})
            if end is not None and terms != far_behind:
                family, side = end
                Cs = self.Cs[family]
                further = Cs[-1] ** 2 / Cs[-2] if side == 1 else Cs[0] ** 2 / Cs[1]
                self.Cs[family] = np.append(Cs, further) if side == 1 else np.append(further, Cs)
                plan[family] = self._grid(family, [further])
        return plan

    def _far_behind(self) -> str | None:
        """The dictionary that is clearly worse than the other one, as far as both are scored."""
        behind = margin(self.scores())
        return behind.other if behind is not None and behind.is_clear else None

    def choice(self, rule: ChoiceRule) -> GridCell:
        scores = self.scores()
        family, (C_index, k_index) = chosen_among(scores, suitable_rule(rule, scores))
        return self._cell(family, self.Cs[family][C_index], self.ks[family.terms][k_index])

    def at(self, cell: GridCell) -> dict[int, tuple[Units, FittedCell]]:
        """What the folds found at a cell, by number of the fold, with the units; folds that did not come to it are missing."""
        return {
            fold.number: (fold.units, fold.cells[cell]) for fold in self._folds if fold.units is not None and cell in fold.cells
        }

    @staticmethod
    def _cell(family: Family, C: float, k: int) -> GridCell:
        return GridCell(family.terms, family.loss, float(C), int(k))

    def _grid(self, family: Family, Cs: Iterable[float]) -> Grid:
        return {float(C): self.ks[family.terms].tolist() for C in Cs}

    def _worth(self, family: Family, wanted: BoolArray) -> Grid:
        ks, both = self.ks[family.terms], zip(self.Cs[family], wanted, strict=True)
        return {float(C): ks[cells].tolist() for C, cells in both if cells.any()}
