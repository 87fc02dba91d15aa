"""Make the cells of the result tables from the rows of a store, next to the paper's figures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from quadric.datasets import DatasetInfo
from quadric.paper.experiments import Plan
from quadric.paper.models import BEST_OF, Cell
from quadric.paper.protocol import N_FOLDS, OUTER_SPLITS, GridScores, Reported, Split, nested_reading, paper_reading
from quadric.paper.store import Store
from quadric.paper.tasks import Task, curve_cells, grid_cells
from quadric.types import FloatArray

ROUNDING = 1e-9
"""Tolerance for differences that are a whole number of deviations up to rounding."""


@cache
def _tables() -> Mapping[str, Any]:
    return json.loads(files("quadric.paper").joinpath("published.json").read_text())


def published(table: str, model: str, dataset: str) -> Reported | None:
    """The paper's figures; a variant has those of its model. None: the paper has no such cell."""
    base = next((key for key, variant in BEST_OF.items() if variant == model), model)
    numbers = _tables()[table].get(base, {}).get(dataset)
    return None if numbers is None else Reported(**numbers)


@dataclass(frozen=True)
class TableCell:
    """One cell of a result table.

    Attributes
    ----------
    model : str
    dataset : DatasetInfo
    paper : Reported or None
    ours : Reported or None
        Our figures in the paper's reading; None: not computed.
    nested : Reported or None
        Our figures in the nested reading.
    chosen : tuple of Cell
        Parameters of ``ours``.
    """

    model: str
    dataset: DatasetInfo
    paper: Reported | None
    ours: Reported | None
    nested: Reported | None
    chosen: Cell | None

    @property
    def deviations(self) -> dict[str, float]:
        """Our mean accuracy and F1 minus the paper's, in units of the paper's standard deviations; empty if one is missing."""
        if self.paper is None or self.ours is None:
            return {}
        pairs = {figure: (self.ours.spread(figure), self.paper.spread(figure)) for figure in ("accuracy", "F1")}
        return {figure: (ours[0] - paper[0]) / paper[1] for figure, (ours, paper) in pairs.items()}


def is_within(deviation: float, limit: float) -> bool:
    """Whether a difference is at most ``limit`` deviations."""
    return abs(deviation) <= limit + ROUNDING


def table_cells(plan: Plan, store: Store, table: str) -> list[list[TableCell]]:
    """The cells of a result table, one list per model."""
    return [[_cell(store, table, model, info) for info in plan.columns_of_table(table)] for model in plan.rows_of_tables()]


def _cell(store: Store, table: str, model: str, info: DatasetInfo) -> TableCell:
    outer = split_scores(store, info.name, model)
    ours = paper_reading(outer) if outer else None
    inner = [split_scores(store, info.name, model, [Split(i, j) for j in range(N_FOLDS)]) for i in range(N_FOLDS)]
    nested = nested_reading(outer, [scores for scores in inner if scores]) if outer and all(inner) else None
    chosen = grid_cells(model, info.name)[ours.cells[0]] if ours else None
    return TableCell(model, info, published(table, model, info.name), ours, nested, chosen)


def split_scores(
    store: Store, dataset: str, model: str, splits: Sequence[Split] = OUTER_SPLITS, kind: str = "grid"
) -> list[GridScores] | None:
    """Scores of a grid on some splits; None if one of them is missing."""
    keys = [Task(kind, dataset, model, split).key for split in splits]
    if any(key not in store for key in keys):
        return None
    return [GridScores(np.array(store[key]["accuracy"]), np.array(store[key]["f1"])) for key in keys]


@dataclass(frozen=True)
class Trend:
    """Mean accuracy over the folds against one parameter.

    Attributes
    ----------
    label : str
    x, accuracy : arrays
    """

    label: str
    x: FloatArray
    accuracy: FloatArray


def trend(
    store: Store, dataset: str, model: str, label: str, *, along: str, kind: str = "grid", **fixed: float
) -> Trend | None:
    """Accuracy along one parameter of a grid, with the other fixed."""
    scores = split_scores(store, dataset, model, kind=kind)
    if scores is None:
        return None
    cells = grid_cells(model, dataset) if kind == "grid" else curve_cells(dataset)
    mean = np.mean([score.accuracy for score in scores], axis=0)
    points = [
        (cell[along], mean[i]) for i, cell in enumerate(cells) if all(cell[name] == value for name, value in fixed.items())
    ]
    x, accuracy = zip(*sorted(points), strict=True)
    return Trend(label, np.array(x), np.array(accuracy))
