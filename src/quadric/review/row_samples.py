"""Rows of tables that are read in chunks: some by their positions, some at random."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quadric.samples.random_rows import sample_size
from quadric.samples.source import scattered
from quadric.tables import Table, TableStream
from quadric.types import IntArray
from quadric.workflow.scoring import TableModel


def random_rows(model: TableModel, stream: TableStream, size: int | None = None, seed: int = 0) -> tuple[Table, int]:
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
    Table and int
        The columns that a model needs, and how many rows of the table were read.
    """
    size = sample_size(len(model.view.inputs)) if size is None else size
    keys: list[IntArray] = []
    tables: list[Table] = []
    highest, n_read = np.uint64(2**64 - 1), 0
    for table in stream:
        own = scattered(np.arange(table.n_rows) + table.first_row, seed)  # as fits number rows: it is their sample
        drawn = np.flatnonzero(own <= highest)
        keys.append(own[drawn])
        tables.append(model.inputs(table[drawn] if len(drawn) < len(own) else table, only_needed=True))
        n_read += table.n_rows
        if sum(map(len, keys)) > 2 * size:  # seldom, as it looks at all of them again
            keys, tables, highest = _lowest(keys, tables, size)
    return _joined(_lowest(keys, tables, size)[1]), n_read


def _lowest(keys: list[IntArray], tables: list[Table], size: int) -> tuple[list[IntArray], list[Table], np.uint64]:
    """The rows with the lowest keys, and the highest of these."""
    every = np.concatenate(keys)
    highest = np.uint64(2**64 - 1) if len(every) <= size else np.partition(every, size - 1)[size - 1]
    rows = [np.flatnonzero(own <= highest) for own in keys]
    return (
        [own[each] for own, each in zip(keys, rows, strict=True)],
        [t[each] for t, each in zip(tables, rows, strict=True)],
        highest,
    )


def rows_at(model: TableModel, stream: TableStream, rows: Sequence[int]) -> tuple[Table, int]:
    """The rows at some positions; what comes after the last of them is not read.

    Parameters
    ----------
    model : TableModel
    stream : TableStream
    rows : sequence of int
        Positions from 0, in any order. Those behind the end of the table are left out.

    Returns
    -------
    Table and int
        The columns that a model needs, in the order of the positions, and how many rows of the table were read.
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
    return found, n_read


def _joined(parts: Sequence[Table]) -> Table:
    names = parts[0].names
    return Table(names, tuple(np.concatenate([part[name] for part in parts]) for name in names))
