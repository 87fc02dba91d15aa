"""A scorecard on paper: the points of a model as tables of single columns and of pairs of columns, whose sum is the score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from quadric.credit.stability import Distribution
from quadric.export.scoring import as_column
from quadric.fitted import Variable
from quadric.fitted.points import PointsLine
from quadric.geometry.terms import LINEAR, term_factors
from quadric.tables import InputColumn, Table
from quadric.tables.dates import date_text
from quadric.tables.table import number_text
from quadric.types import FloatArray
from quadric.workflow.scoring import TableModel

# Values of a column of numbers that are listed, and scales from the center where a model file knows none
MOST_VALUES = 6
STEPS = (-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5)
MISSING = "no value"
# Below and above the caps of a column its points stay the same
ENDS = {"<": "\N{LESS-THAN OR EQUAL TO}", ">": "\N{GREATER-THAN OR EQUAL TO}"}


@dataclass(frozen=True, eq=False)
class CardTable:
    """Points by the values of one column, or of two.

    Attributes
    ----------
    columns : tuple of str
        Names of one column or two.
    values : tuple of tuple of str
        Of each column.
    points : array of shape (n_values,) or (n_first, n_second)
    """

    columns: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    points: FloatArray


@dataclass(frozen=True, eq=False)
class Card:
    """A scorecard: the constant plus one entry of each table, and more points speak for ``line.good``.

    Attributes
    ----------
    line : PointsLine
    constant : float
    tables : tuple of CardTable
        Those of single columns first.
    cutoff : float or None
        Points from which ``line.good`` is decided; None where always the same is.
    """

    line: PointsLine
    constant: float
    tables: tuple[CardTable, ...]
    cutoff: float | None


def scorecard(model: TableModel, line: PointsLine) -> Card:
    """The points of a model in tables.

    Parameters
    ----------
    model : TableModel
        Of two classes.
    line : PointsLine
        From its scores to points.

    Returns
    -------
    Card
    """
    view, (surface,) = model.view, model.view.surfaces
    left, right = term_factors(view.n_features)
    live = np.flatnonzero(surface.coordinates())
    groups: dict[tuple[int, ...], list[int]] = {}
    for place, t in enumerate(live):
        used = {int(view.blocks[left[t]]), int(view.blocks[left[t] if right[t] == LINEAR else right[t]])}
        groups.setdefault(tuple(sorted(used)), []).append(place)
    cells = {i: _cells(model, i) for group in groups for i in group}
    tables = [_table(model, line, group, groups[group], cells) for group in sorted(groups, key=lambda each: (len(each), each))]
    border = view.border
    cutoff = None if border is None else float(line.points(np.array(border)))
    return Card(line, line.constant + line.slope * surface.c, tuple(tables), cutoff)


def _table(
    model: TableModel, line: PointsLine, group: tuple[int, ...], terms: Sequence[int], cells: dict[int, dict[str, Any]]
) -> CardTable:
    view = model.view
    rows = list(product(*(cells[i].values() for i in group)))
    columns = [column.stand_in(len(rows)) for column in view.inputs]
    for place, i in enumerate(group):
        columns[i] = as_column([row[place] for row in rows], view.inputs[i])
    values = view.surfaces[0].term_values(view.fitted(Table(tuple(view.input_names), tuple(columns))))
    points = line.slope * values[:, terms].sum(axis=1)
    names, texts = tuple(view.input_names[i] for i in group), tuple(tuple(cells[i]) for i in group)
    return CardTable(names, texts, points.reshape([len(each) for each in texts]))


def _cells(model: TableModel, position: int) -> dict[str, Any]:
    """Values by their texts: levels, or the caps and a few numbers of the training rows; and none, if it is scored."""
    view, column = model.view, model.view.inputs[position]
    features = [view.features[j] for j in np.flatnonzero(view.blocks == position)]
    takes_missing = all(feature.missing is not None for feature in features)
    if column.type == "category":
        other = [column.other] if column.other is not None and column.other not in column.categories else []
        return {**{str(level): level for level in (*column.categories, *other)}, **({MISSING: None} if takes_missing else {})}
    variable = view.variables[int(np.argmax(view.blocks == position))]
    inside = [number for number in _numbers(model, column, variable) if variable.low < number < variable.high]
    found = {_text(number, column): number for number in inside}
    ends = {sign: {f"{ENDS[sign]} {_text(end, column)}": end} for sign, end in variable.limits.items()}
    return {**ends.get("<", {}), **found, **ends.get(">", {}), **({MISSING: np.nan} if takes_missing else {})}


def _numbers(model: TableModel, column: InputColumn, variable: Variable) -> list[float]:
    """A few round numbers; of dates, days since their origin."""
    columns = model.reference.get("columns")
    known = Distribution.from_record(columns.get(column.name) if isinstance(columns, dict) else None)
    if known is None or known.levels is not None or len(known.edges) == 0:
        numbers = np.array([variable.center + step * variable.scale for step in STEPS])
    else:  # of dates, distributions count from 1970
        first = 0.0 if column.origin is None else (np.datetime64(column.origin) - np.datetime64("1970-01-01")).astype(float)
        numbers = known.edges - first
    places = np.unique(np.linspace(0, len(numbers) - 1, MOST_VALUES).round().astype(np.intp))
    return [float(f"{number:.3g}") if column.origin is None else float(round(number)) for number in numbers[places].tolist()]


def _text(number: float, column: InputColumn) -> str:
    return number_text(number) if column.origin is None else date_text(as_column([number], column)[0].item())
