"""Chunks of a table on disk, in the form in which Arrow has them in memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Any

from quadric.extras import require
from quadric.progress import advance
from quadric.tables.table import Table


class Spool:
    """A temporary file that nobody else sees and that is gone with this object."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="quadric-")  # noqa: SIM115 - closed with the object
        self._writer: Any = None
        self._first_rows: list[int] = []

    def add(self, table: Table) -> bool:
        """Write one more chunk; False if that is not possible: the disk is full, or columns have other types than before."""
        pa = require("pyarrow", "cli")
        chunk = pa.table(dict(zip(table.names, table.columns, strict=True))).combine_chunks()
        try:
            if self._writer is None:
                self._writer = pa.ipc.new_stream(self._file, chunk.schema)
            self._writer.write_table(chunk)
        except (OSError, pa.ArrowException):
            self._file.close()
            return False
        self._first_rows.append(table.first_row)
        return True

    def __iter__(self) -> Iterator[Table]:
        pa = require("pyarrow", "cli")
        self._file.flush()
        self._file.seek(0)
        n_chunks = len(self._first_rows)
        with pa.ipc.open_stream(self._file) as reader:
            for done, (first_row, batch) in enumerate(zip(self._first_rows, reader, strict=False), start=1):
                advance(done / n_chunks, f"{first_row - 1 + batch.num_rows:,} rows")
                columns = tuple(pa.chunked_array([column]) for column in batch.columns)
                yield Table(tuple(batch.schema.names), columns, first_row=first_row)
