"""Write tables piece by piece, in the format that the ending of a file names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

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


@contextmanager
def arrow_file(path: str | os.PathLike[str]) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """A new Parquet or Feather file, which is there when all of it is written.

    Parameters
    ----------
    path : path
        With an ending of such a file.

    Yields
    ------
    function of a mapping
        Writes some rows, given as arrays of numpy or Arrow, or as lists, of the same length. Columns have the types of the
        first rows.
    """
    pa, is_parquet = require("pyarrow", "cli"), ARROW[check_ending(path)] == "Parquet"
    with replacing(path) as file:
        opened: list[tuple[Any, Any]] = []  # the writer, once the types are known, and these

        def write(columns: Mapping[str, Any]) -> None:
            table = pa.table({name: _plain(pa, column) for name, column in columns.items()})
            if not opened:
                make = require("pyarrow.parquet", "cli").ParquetWriter if is_parquet else pa.ipc.new_file
                opened.append((make(file.buffer, table.schema), table.schema))
            writer, schema = opened[0]
            writer.write_table(table.cast(schema))

        try:
            yield write
        except BaseException:
            with suppress(Exception):  # Arrow would write the end of the file when it is closed already
                for writer, _ in opened:
                    writer.close()
            raise
        for writer, _ in opened:
            writer.close()


def _plain(pa: Any, column: Any) -> Any:
    """Texts are texts in all pieces, also where a piece has few different ones."""
    column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([pa.array(column)])
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
