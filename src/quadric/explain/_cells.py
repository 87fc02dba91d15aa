"""Rows of a population sorted into cells, column by column: bins of numbers, and levels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from quadric.fitted import FittedModel
from quadric.tables.inputs import cell_text, missing_cells
from quadric.types import FloatArray, IntArray

# Points of a curve, and bins of a column of numbers; one bin per value where it has no more values than that.
GRID, BINS = 101, 20
# Share of the rows at either end of a column of numbers that lies beyond the curve; the outer bins count them too.
TRIM = 0.005


@dataclass(frozen=True)
class ColumnValues:
    """The values of a column in the population, in cells: bins of its numbers, followed by levels.

    Attributes
    ----------
    name : str
    edges : array
        Of the bins, increasing; empty for a column without numbers. The outer bins also count what lies beyond them.
    numbers : array
        What stands for each bin: its value where it holds a single one, otherwise its middle.
    levels : tuple of str
        Of a category, in the order of their effects or, for ranks, their own; for numbers "missing", if any is. Levels that
        the model does not tell apart are one.
    counts : array of int
        Rows in each bin, and then rows of each level.
    origin : str or None
        For dates, whose numbers are days: the day from which they are counted.
    """

    name: str
    edges: FloatArray
    numbers: FloatArray
    levels: tuple[str, ...]
    counts: IntArray
    origin: str | None = None


class Population:
    """Rows in raw cells, in reported units V and in fitted units U, with their mean and the deviations D of U from it."""

    def __init__(self, view: FittedModel, X: Any) -> None:
        self.view, self.table = view, view.rows(X)
        self.V, self.U = view.reported(X), view.fitted(X)
        self.mean = self.U.mean(axis=0)
        self.D = self.U - self.mean

    def block(self, column: int) -> IntArray:
        """The features of a column."""
        return np.flatnonzero(self.view.blocks == column)


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins of the numbers of a column: their ``edges``, what stands for each, and both ends of the curve over them."""

    edges: FloatArray
    numbers: FloatArray
    ends: tuple[float, float]

    @staticmethod
    def of(values: FloatArray) -> Bins:
        """One bin per number, or else bins of equal width."""
        distinct = np.unique(values)
        if len(distinct) <= BINS:
            room = 0.5 * np.diff(distinct).min() if len(distinct) > 1 else 0.5
            inner = 0.5 * (distinct[1:] + distinct[:-1])
            return Bins(np.array([distinct[0] - room, *inner, distinct[-1] + room]), distinct, (distinct[0], distinct[-1]))
        low, high = np.quantile(values, [TRIM, 1.0 - TRIM])
        if low == high:
            low, high = distinct[0], distinct[-1]
        edges = np.linspace(low, high, BINS + 1)
        return Bins(edges, 0.5 * (edges[1:] + edges[:-1]), (low, high))

    def places(self, values: FloatArray) -> IntArray:
        """The bin of each value."""
        return np.clip(np.searchsorted(self.edges, values, side="right") - 1, 0, len(self.numbers) - 1)

    def grid(self, caps: Iterable[float]) -> FloatArray:
        """Points of a curve over the bins, among them the caps, at which it bends."""
        low, high = self.ends
        return np.unique([*np.linspace(low, high, GRID), *(cap for cap in caps if low < cap < high)])


@dataclass(frozen=True, eq=False)
class Cells:
    """A column of a population.

    Attributes
    ----------
    features : array of int
        Those that code the column.
    values : ColumnValues
    cell : array of shape (m,)
        In which cell each row is.
    deviations : array of shape (cells, features)
        Of each cell from the mean, in fitted units.
    grid : array
        Numbers from one end of the column to the other; empty if it has none.
    along : array of shape (points of the grid, features)
        Their deviations.
    """

    features: IntArray
    values: ColumnValues
    cell: IntArray
    deviations: FloatArray
    grid: FloatArray
    along: FloatArray

    @property
    def n_bins(self) -> int:
        """Cells that are bins; the others are levels."""
        return len(self.values.numbers)


def cells_of(rows: Population, column: int, height: Callable[[FloatArray], FloatArray]) -> Cells:
    """Sort the rows into the cells of a column.

    Parameters
    ----------
    rows : Population
    column : int
        Position among the inputs.
    height : callable
        Average effects of deviations of its features, by which levels are ordered.
    """
    view, own, raw = rows.view, rows.block(column), rows.table.columns[column]
    number = next((int(j) for j in own if view.numeric[j]), None)
    has_number = np.zeros(len(raw), dtype=bool) if number is None else ~missing_cells(raw)
    cell = np.zeros(len(raw), dtype=np.intp)
    edges = numbers = grid = np.zeros(0)
    between = along = np.zeros((0, len(own)))
    if number is not None and has_number.any():
        bins = Bins.of(rows.V[has_number, number])
        edges, numbers, grid = bins.edges, bins.numbers, bins.grid(view.variables[number].limits.values())
        cell[has_number] = bins.places(rows.V[has_number, number])
        typical = rows.V[np.argmax(has_number)]  # what else the column has is whether its number is missing
        between, along = (_moved(rows, typical, number, points)[:, own] for points in (numbers, grid))
    others = np.flatnonzero(~has_number)
    codes, firsts, which = np.unique(rows.V[np.ix_(others, own)], axis=0, return_index=True, return_inverse=True)
    at_levels = rows.D[np.ix_(others[firsts], own)]
    is_ranked = any(view.features[j].kind == "rank" for j in own)
    order = np.arange(len(codes)) if is_ranked else np.argsort(height(at_levels), kind="stable")
    cell[others] = len(numbers) + np.argsort(order)[which.ravel()]
    cells = range(len(numbers), len(numbers) + len(order))
    values = ColumnValues(
        name=view.input_names[column],
        edges=edges,
        numbers=numbers,
        levels=tuple(_level_name(raw[cell == place].tolist(), view.inputs[column].other) for place in cells),
        counts=np.bincount(cell, minlength=cells.stop),
        origin=view.inputs[column].origin,
    )
    return Cells(own, values, cell, np.vstack([between, at_levels[order]]), grid, along)


def _moved(rows: Population, row: FloatArray, feature: int, numbers: FloatArray) -> FloatArray:
    """Deviations of a row from the mean, if one of its features had these numbers."""
    V = np.repeat(row[None], len(numbers), axis=0)
    V[:, feature] = numbers
    return np.asarray(rows.view.units(V) - rows.mean)


def _level_name(raw: list[Any], group: str | None) -> str:
    texts = sorted({cell_text(value) for value in raw})
    if len(texts) == 1:
        return texts[0]
    return group or f"{texts[0]} and {len(texts) - 1} more"
