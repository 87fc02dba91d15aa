"""Read files and Arrow objects as tables, whole or in chunks."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from quadric.defaults import MISSING
from quadric.extras import require
from quadric.tables.table import Rows, Table, check_names, holds_arrow
from quadric.types import BoolArray

BLOCK_ROWS = 50_000
# Bytes of a CSV file from which its number of values is estimated
SNIFFED = 1 << 16


def read_table(
    path: str | os.PathLike[str] | Rows,
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    missing: Collection[str] = MISSING,
    decimal: str = ".",
    thousands: str | None = None,
    drop_unnamed: bool = False,
    text: Collection[str] = (),
) -> Table:
    """Read a whole CSV, Parquet or Feather file, or a folder of Parquet files.

    A column of a CSV file is numeric if every value that is not missing is a number; else all its values are texts, as they
    stand in the file. Spaces around names and values are ignored. Every line end, but for those in quotes, ends a row; what
    follows the last one is a row if it is not empty. A blank line is a row with a missing value if there is only one column,
    and no row otherwise. The table needs 8 bytes per number, and 4 bytes per text plus the distinct texts.

    Parameters
    ----------
    path : path, or object with the Arrow C stream interface
        A Parquet or Feather file, recognised by its first bytes, or by the ending ``.parquet``; a folder of ``.parquet`` files
        with the same columns, read in alphabetical order; or a CSV file with column names in the first line.
    delimiter : str, optional
        Delimiter of a CSV file; by default found among comma, semicolon, tab and bar.
    encoding : str
        Encoding of a CSV file; a byte order mark is allowed.
    missing : collection of str
        Texts in a CSV file that mean a missing value, in upper or lower case; an empty text always does.
    decimal : str
        Decimal mark in a CSV file.
    thousands : str, optional
        Mark between groups of three digits in a CSV file.
    drop_unnamed : bool
        Whether columns of a CSV file without a name are left out. Otherwise they are an error, but for a first column that
        has a different whole number in every row, as pandas writes its index, which is left out with a warning.
    text : collection of str
        Columns to read as texts even if all values are numbers, such as codes, or a target whose labels keep their spelling:
        "01" and "1" are two classes then.

    Returns
    -------
    Table
    """
    source = _source(path, (delimiter, encoding, missing, decimal, thousands, drop_unnamed))
    pieces = _pieces(source, text, None)
    if not pieces:
        raise ValueError("the table has no rows")
    names = tuple(pieces)
    columns = tuple(_joined(pieces.pop(name)) for name in names)  # frees the pieces, one column at a time
    return Table(names, columns, _digest(source[0]))


def read_chunks(
    path: str | os.PathLike[str] | Rows,
    rows: int = 100_000,
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    missing: Collection[str] = MISSING,
    decimal: str = ".",
    thousands: str | None = None,
    drop_unnamed: bool = False,
    text: Collection[str] = (),
    only: BoolArray | None = None,
) -> Iterator[Table]:
    """Read a table in chunks, to score tables larger than memory.

    Parameters
    ----------
    path : path, or object with the Arrow C stream interface
        As in :func:`read_table`.
    rows : int
        Rows per chunk.
    delimiter, encoding, missing, decimal, thousands, drop_unnamed :
        As in :func:`read_table`.
    text : collection of str
        Columns to read as texts. The types of other columns of a CSV file are found again for each chunk, so name all columns
        that a model takes as categories (``TableEncoder.text_names``).
    only : array of bool, optional
        Which rows of the table to read. Others do not decide on types of columns; their chunks are shorter.

    Yields
    ------
    Table
    """
    if rows < 1:
        raise ValueError(f"rows must be at least 1, got {rows}")
    _, tables, typed = _source(path, (delimiter, encoding, missing, decimal, thousands, drop_unnamed))
    n_read = 0
    for chunk in regrouped(tables(rows, None, text), rows):
        first_row, n_read = n_read + 1, n_read + len(chunk)
        chunk = chunk if only is None else chunk.filter(only[first_row - 1 : n_read])
        columns = (typed(column, name in text) for name, column in zip(chunk.column_names, chunk.columns, strict=True))
        yield Table(tuple(chunk.column_names), tuple(columns), first_row=first_row)


# Files, if any; a function that gives tables of pyarrow of about so many rows, with all columns or with some, of which some are
# to be texts; and one that gives a column of theirs as it is meant, or as texts
_Source: TypeAlias = tuple[
    tuple[Path, ...], Callable[[int, Sequence[str] | None, Collection[str]], Iterator[Any]], Callable[[Any, bool], Any]
]


def _source(data: Any, how: tuple[Any, ...]) -> _Source:
    from quadric.tables import _arrow, _csv

    if holds_arrow(data):
        return (), partial(_arrow.tables_of_object, data), _arrow.typed
    path, notation = Path(data), _csv.Notation(*how)
    if files := _arrow.arrow_files(path):
        return files, partial(_arrow.tables_of_files, files), _arrow.typed
    return (path,), _csv.CsvFile(path, notation).tables, notation.typed


def _pieces(source: _Source, text: Collection[str], columns: Sequence[str] | None) -> dict[str, list[Any]]:
    """The pieces of all columns; a column of which only some pieces are numbers is read once more, as texts."""
    pieces: dict[str, list[Any]] = {}
    _, tables, typed = source
    for table in tables(BLOCK_ROWS, columns, text):
        check_names(table.column_names)
        for name, column in zip(table.column_names, table.columns, strict=True):
            pieces.setdefault(name, []).append(typed(column, name in text))
    mixed = [name for name, parts in pieces.items() if len({part.type for part in parts}) > 1]
    return {**pieces, **_pieces(source, mixed, mixed)} if mixed else pieces


def _joined(pieces: list[Any]) -> Any:
    pa = require("pyarrow", "cli")
    chunks = [chunk for piece in pieces for chunk in piece.chunks]
    return pa.chunked_array(chunks, pieces[0].type).unify_dictionaries().combine_chunks()


def regrouped(tables: Iterable[Any], n_rows: int) -> Iterator[Any]:
    """Tables of exactly ``n_rows`` rows, but for the last, and those before columns of other types."""
    pa = require("pyarrow", "cli")
    waiting: list[Any] = []
    for rest in tables:
        if waiting and waiting[0].schema != rest.schema:
            yield pa.concat_tables(waiting).combine_chunks()
            waiting = []
        while (n_missing := n_rows - sum(map(len, waiting))) <= len(rest):
            yield pa.concat_tables([*waiting, rest.slice(0, n_missing)]).combine_chunks()
            waiting, rest = [], rest.slice(n_missing)
        waiting += [rest] if len(rest) else []
    if waiting:
        yield pa.concat_tables(waiting).combine_chunks()


def digest_of(path: Path) -> str | None:
    """SHA-256 of a table, as ``read_table`` has it.

    Parameters
    ----------
    path : Path
        A file or a folder.

    Returns
    -------
    str or None
    """
    from quadric.tables import _arrow

    return _digest(_arrow.arrow_files(path) or (path,))


def estimated_values(path: Path) -> int:
    """About how many values a table has, rows times columns; files are hardly looked at.

    Parameters
    ----------
    path : Path
        A file or a folder.

    Returns
    -------
    int
    """
    from quadric.tables import _arrow

    if files := _arrow.arrow_files(path):
        shapes = {file: _arrow.shape_of(file) for file in files}
        return sum(file.stat().st_size // 8 if shape is None else shape[0] * shape[1] for file, shape in shapes.items())
    with path.open("rb") as file:
        start = file.read(SNIFFED)
    marks = max(start.count(mark) for mark in (b",", b";", b"\t", b"|")) + start.count(b"\n") + start.count(b"\r")
    return int(path.stat().st_size * marks / max(len(start), 1))


def _digest(paths: Sequence[Path]) -> str | None:
    digests = []
    for path in paths:
        with path.open("rb") as file:
            digests.append(hashlib.file_digest(file, "sha256"))
    if len(digests) > 1:
        return hashlib.sha256(b"".join(digest.digest() for digest in digests)).hexdigest()
    return digests[0].hexdigest() if digests else None
