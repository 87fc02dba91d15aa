"""Chunks of a table on disk, in the form in which Arrow has them in memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from quadric.extras import require
from quadric.progress import RowsRead, advance
from quadric.tables.table import Table


class Spool:
    """A temporary file that nobody else sees and that is gone with this object; none where the disk is full."""

    def __init__(self) -> None:
        self._file: Any = None
        self._writer: Any = None
        self._first_rows: list[int] = []
        with self._unless_full():
            self._file = tempfile.TemporaryFile(prefix="quadric-")  # noqa: SIM115 - closed with the object

    @contextmanager
    def _unless_full(self) -> Iterator[None]:
        """Give up where something cannot be written: the disk is full, or columns have other types than before."""
        pa = require("pyarrow", "cli")
        try:
            yield
        except (OSError, pa.ArrowException):
            self._file, file = None, self._file
            with suppress(OSError):  # closing writes what is left
                if file is not None:
                    file.close()

    def add(self, table: Table) -> None:
        """Write one more chunk."""
        pa = require("pyarrow", "cli")
        if self._file is None:
            return
        chunk = pa.table(dict(zip(table.names, table.columns, strict=True))).combine_chunks()
        with self._unless_full():
            if self._writer is None:
                self._writer = pa.ipc.new_stream(self._file, chunk.schema)
            self._writer.write_table(chunk)
            self._first_rows.append(table.first_row)

    def is_whole(self) -> bool:
        """Whether all chunks are there, after the last one."""
        with self._unless_full():
            if self._file is not None:
                self._file.flush()
        return self._file is not None

    def __iter__(self) -> Iterator[Table]:
        pa = require("pyarrow", "cli")
        self._file.seek(0)
        n_chunks = len(self._first_rows)
        with pa.ipc.open_stream(self._file) as reader:
            for done, (first_row, batch) in enumerate(zip(self._first_rows, reader, strict=False), start=1):
                n_rows = first_row - 1 + batch.num_rows
                advance(done / n_chunks, RowsRead(f"{n_rows} rows", n_rows))
                columns = tuple(pa.chunked_array([column]) for column in batch.columns)
                yield Table(tuple(batch.schema.names), columns, first_row=first_row)
