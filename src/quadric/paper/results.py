"""Make the cells of the result tables from the rows of a store, next to the paper's figures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

import numpy as np

from quadric.datasets import DatasetInfo
from quadric.paper.experiments import FAULT_DATASET, TABLE_DATASETS, Plan
from quadric.paper.models import BEST_OF, Cell
from quadric.paper.protocol import N_FOLDS, OUTER_SPLITS, Reported, Split, nested_reading, paper_reading
from quadric.paper.store import Store
from quadric.paper.tasks import Task, curve_cells, grid_cells
from quadric.types import FloatArray

Trend: TypeAlias = tuple[FloatArray, FloatArray]
# A cell, what differs ("accuracy", "F1", or both), and why.
Outlier: TypeAlias = "tuple[TableCell, tuple[str, ...], str]"
# Tolerance for differences that are a whole number of deviations up to rounding.
ROUNDING = 1e-9
# Data sets on which LS-SVM agrees with the paper in every digit, so rows, labels and folds are the same.
SAME_FOLDS = ("iris", "ecoli", "glass", "immunotherapy", "credit_small")

# A mean F1 below this, in per cent, means that the cell hardly ever predicts the positive class.
FEW_POSITIVES = 5.0


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


def all_cells(plan: Plan, store: Store) -> list[TableCell]:
    """The cells of both result tables."""
    return [cell for table in TABLE_DATASETS for row in table_cells(plan, store, table) for cell in row]


def _cell(store: Store, table: str, model: str, info: DatasetInfo) -> TableCell:
    outer = split_scores(store, info.name, model)
    ours = paper_reading(outer) if outer else None
    inner = [split_scores(store, info.name, model, [Split(i, j) for j in range(N_FOLDS)]) for i in range(N_FOLDS)]
    nested = nested_reading(outer, [scores for scores in inner if scores]) if outer and all(inner) else None
    chosen = grid_cells(model, info.name)[ours.cells[0]] if ours else None
    return TableCell(model, info, published(table, model, info.name), ours, nested, chosen)


def split_scores(
    store: Store, dataset: str, model: str, splits: Sequence[Split] = OUTER_SPLITS, kind: str = "grid"
) -> list[FloatArray] | None:
    """Accuracy and F1 of every cell of a grid, on each of some splits; None if one of them is missing."""
    keys = [Task(kind, dataset, model, split).key for split in splits]
    if any(key not in store for key in keys):
        return None
    return [np.array([store[key]["accuracy"], store[key]["f1"]]) for key in keys]


def trend(store: Store, dataset: str, model: str, *, along: str, kind: str = "grid", **fixed: float) -> Trend | None:
    """Values of one parameter of a grid, and the mean accuracy over the folds at each of them, with the other fixed."""
    scores = split_scores(store, dataset, model, kind=kind)
    if scores is None:
        return None
    cells = grid_cells(model, dataset) if kind == "grid" else curve_cells(dataset)
    mean = np.mean(scores, axis=0)[0]
    points = [
        (cell[along], mean[i]) for i, cell in enumerate(cells) if all(cell[name] == value for name, value in fixed.items())
    ]
    x, accuracy = zip(*sorted(points), strict=True)
    return np.array(x), np.array(accuracy)


def outliers(plan: Plan, store: Store) -> list[Outlier]:
    """All cells of the two result tables that differ by more than one standard deviation of the paper."""
    far = [
        (cell, tuple(figure for figure, deviation in cell.deviations.items() if not is_within(deviation, 1.0)))
        for cell in all_cells(plan, store)
    ]
    return [(cell, figures, _reason(cell, figures)) for cell, figures in far if figures]


def _reason(cell: TableCell, figures: tuple[str, ...]) -> str:
    if figures == ("F1",) and (reason := _reason_of_f1(cell)):
        return reason
    if cell.dataset.name == FAULT_DATASET and cell.model.startswith("ls-l0-qsvm"):
        return "see the claim on CTG below, where each error of the paper is reproduced"
    if cell.dataset.name == "abalone" and cell.model == "l1-qsvm":
        return "see the claim on C2 below: the best cell is at the end of the grid"
    exact = "every subproblem is solved exactly, and the support is refitted"
    folds = (
        "the paper codes sex differently (see the claim below)"
        if cell.dataset.name == "abalone"
        else "the folds are the paper's, so the solver or the grid must differ"
        if cell.dataset.name in SAME_FOLDS
        else "the row order or coding of the paper's file is unknown, so the folds differ"
    )
    reasons = {
        "the model is a reconstruction, because its source was not available": cell.model == "ls-l0-svm",
        "the paper does not state coef0; it is 1 here": cell.model == "svm-q2",
        exact if cell.deviations["accuracy"] > 0.0 else "the search is the paper's, which finds a local optimum": (
            cell.model.endswith(("l0-qsvm", "-best"))
        ),
        folds: True,
    }
    return "; ".join(reason for reason, applies in reasons.items() if applies)


def _reason_of_f1(cell: TableCell) -> str:
    if cell.ours is None or cell.ours.f1_mean > FEW_POSITIVES:
        return ""
    share = "everything" if cell.ours.f1_mean == 0.0 else "nearly everything"
    return f"cells are chosen by accuracy, and the most accurate cell predicts {share} negative"
