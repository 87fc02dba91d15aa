"""Rows of tables that are read in chunks: some by their positions, some at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quadric.samples.random_rows import sample_size
from quadric.samples.source import scattered
from quadric.tables import Table, TableStream
from quadric.types import IntArray
from quadric.workflow.scoring import TableModel


@dataclass(frozen=True, eq=False)
class Picked:
    """Some rows of a table.

    Attributes
    ----------
    rows : Table
        The columns that a model needs.
    n_read : int
        How many rows of the table were looked at.
    """

    rows: Table
    n_read: int


def random_rows(model: TableModel, stream: TableStream, size: int | None = None, seed: int = 0) -> Picked:
    """A random sample without replacement, by a pass over all rows; all of them if there are not more.

    Parameters
    ----------
    model : TableModel
    stream : TableStream
    size : int, optional
        Rows of the sample; by default what a fit in passes draws.
    seed : int

    Returns
    -------
    Picked
    """
    size = sample_size(len(model.view.inputs)) if size is None else size
    parts: list[_Drawn] = []
    highest, n_read = np.uint64(2**64 - 1), 0
    for table in stream:
        numbers = scattered(np.arange(table.n_rows) + table.first_row, seed)  # as fits number rows: it is their sample
        drawn = _Drawn(numbers, table).up_to(highest)
        parts.append(_Drawn(drawn.numbers, model.inputs(drawn.table, only_needed=True)))
        n_read += table.n_rows
        if sum(len(part.numbers) for part in parts) > 2 * size:  # seldom, as it looks at all of them again
            highest = _highest(parts, size)
            parts = [part.up_to(highest) for part in parts]
    highest = _highest(parts, size)
    return Picked(_joined([part.up_to(highest).table for part in parts]), n_read)


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Rows with a random number each, of which the lowest are drawn."""

    numbers: IntArray
    table: Table

    def up_to(self, highest: np.uint64) -> _Drawn:
        if (self.numbers <= highest).all():
            return self
        rows = np.flatnonzero(self.numbers <= highest)
        return _Drawn(self.numbers[rows], self.table[rows])


def _highest(parts: Sequence[_Drawn], size: int) -> np.uint64:
    numbers = np.concatenate([part.numbers for part in parts])
    return np.uint64(2**64 - 1) if len(numbers) <= size else np.partition(numbers, size - 1)[size - 1]


def rows_at(model: TableModel, stream: TableStream, rows: Sequence[int]) -> Picked:
    """The rows at some positions; what comes after the last of them is not read.

    Parameters
    ----------
    model : TableModel
    stream : TableStream
    rows : sequence of int
        Positions from 0, in any order. Those behind the end of the table are left out.

    Returns
    -------
    Picked
        Whose ``rows`` have the order of the positions.
    """
    wanted, n_read = np.unique(rows), 0
    parts = []
    for table in stream:
        inside = wanted[(wanted >= n_read) & (wanted < n_read + table.n_rows)] - n_read
        if len(inside):
            parts.append(model.inputs(table[inside], only_needed=True))
        n_read += table.n_rows
        if n_read > wanted[-1]:
            break
    found = _joined(parts)[np.searchsorted(wanted, [row for row in rows if row < n_read])] if parts else Table((), ())
    return Picked(found, n_read)


def _joined(parts: Sequence[Table]) -> Table:
    names = parts[0].names
    return Table(names, tuple(np.concatenate([part[name] for part in parts]) for name in names))
