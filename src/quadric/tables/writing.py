"""Write tables piece by piece, in the format that the ending of a file names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from quadric.errors import quoted
from quadric.extras import require
from quadric.files import replacing

CSV = ".csv"
# Endings of files of Arrow columns, and the names of their formats
ARROW = {".parquet": "Parquet", ".feather": "Feather", ".arrow": "Feather"}


def check_ending(path: str | os.PathLike[str]) -> str:
    """The ending that names the format of a file, by default that of CSV; an error for others.

    Parameters
    ----------
    path : path

    Returns
    -------
    str
        In lower case, with its point.
    """
    ending = Path(path).suffix.lower() or CSV
    if ending != CSV and ending not in ARROW:
        raise ValueError(
            f"the ending of {quoted(Path(path).name)} names no format of tables: use {CSV} (CSV), .parquet (Parquet), .feather "
            "or .arrow (Feather)"
        )
    return ending


class ArrowWriter:
    """Writes a Parquet or Feather file, whose columns have the types of the first piece.

    Parameters
    ----------
    file : binary file
    is_parquet : bool
    """

    def __init__(self, file: IO[bytes], is_parquet: bool) -> None:
        self._file, self._is_parquet = file, is_parquet
        self._writer: Any = None
        self._schema: Any = None

    def write(self, columns: Mapping[str, Any]) -> None:
        """Write some rows.

        Parameters
        ----------
        columns : mapping of arrays of numpy or Arrow, or of lists
            Of the same length.
        """
        pa = require("pyarrow", "cli")
        table = pa.table({name: _plain(pa, column) for name, column in columns.items()})
        if self._writer is None:
            self._writer = self._opened(pa, table.schema)
        self._writer.write_table(table.cast(self._schema))

    def _opened(self, pa: Any, schema: Any) -> Any:
        self._schema = schema
        if self._is_parquet:
            return require("pyarrow.parquet", "cli").ParquetWriter(self._file, schema)
        return pa.ipc.new_file(self._file, schema)

    def close(self) -> None:
        """Write the end of the file."""
        if self._writer is not None:
            self._writer.close()


def _plain(pa: Any, column: Any) -> Any:
    """Texts are texts in all pieces, also where a piece has few different ones."""
    column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([pa.array(column)])
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


@contextmanager
def arrow_file(path: str | os.PathLike[str]) -> Iterator[ArrowWriter]:
    """A new Parquet or Feather file, which is there when all of it is written.

    Parameters
    ----------
    path : path
        With an ending of such a file.

    Yields
    ------
    ArrowWriter
    """
    with replacing(path) as file:
        writer = ArrowWriter(file.buffer, ARROW[check_ending(path)] == "Parquet")
        try:
            yield writer
        except BaseException:
            with suppress(Exception):  # Arrow would write the end of the file when it is closed already
                writer.close()
            raise
        writer.close()
