"""Read files as tables: CSV with the standard library, Parquet with pyarrow."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from quadric.progress import Report, silent
from quadric.tables._csv import ColumnParser, CsvFile, check_delimiter, usable_encoding
from quadric.tables._parquet import ParquetFile, is_parquet
from quadric.tables.table import Table, UnusableColumn, number_text, text_column

MISSING = ("", "NA", "NaN", "null", "?")
BLOCK_ROWS = 50_000


def read_table(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    missing: Collection[str] = MISSING,
    text: Collection[str] = (),
    report: Report = silent,
) -> Table:
    """Read a whole CSV or Parquet file.

    A column of a CSV file is numeric if every value that is not missing is a finite number. Spaces around names and values are
    ignored. The table needs 8 bytes per value, and the distinct texts once. A column that no model can use (infinite values,
    dates) is an error only when it is read.

    Parameters
    ----------
    path : path
        A Parquet file, recognised by its first bytes; or a CSV file with column names in the first line.
    delimiter : str, optional
        Delimiter of a CSV file; by default found among comma, semicolon, tab and bar.
    encoding : str
        Encoding of a CSV file; a byte order mark is allowed.
    missing : collection of str
        Texts in a CSV file that mean a missing value.
    text : collection of str
        Columns to read as texts even if all values are numbers, such as codes.
    report : callable
        Receives lines of progress.

    Returns
    -------
    Table
    """
    path = Path(path)
    if is_parquet(path):
        parts = _gathered(ParquetFile(path), partial(_typed, path, text), report)
    else:
        parts = _whole_csv(CsvFile.open(path, delimiter, encoding), missing, text, report)
    names = tuple(parts)
    columns = tuple(_joined(parts.pop(name)) for name in names)  # frees the pieces, one column at a time
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Table(names, columns, digest)


def read_chunks(
    path: str | os.PathLike[str],
    rows: int = 100_000,
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    missing: Collection[str] = MISSING,
    text: Collection[str] = (),
) -> Iterator[Table]:
    """Read a file in chunks, to score files larger than memory.

    Parameters
    ----------
    path : path
        A CSV or Parquet file.
    rows : int
        Rows per chunk.
    delimiter, encoding, missing :
        As in :func:`read_table`.
    text : collection of str
        Columns to read as texts. The types of other columns are found again for each chunk, so name all columns that a model
        takes as categories (``TableEncoder.text_names``).

    Yields
    ------
    Table
    """
    path = Path(path)
    if rows < 1:
        raise ValueError(f"rows must be at least 1, got {rows}")
    first_row = 1
    file = ParquetFile(path) if is_parquet(path) else CsvFile.open(path, delimiter, encoding)
    for block in file.blocks(rows):
        pairs = zip(file.names, block, strict=True)
        if isinstance(file, ParquetFile):
            columns = tuple(_typed(path, text, name, values, first_row) for name, values in pairs)
        else:
            parser = ColumnParser(missing)
            columns = tuple(_column(file, parser, name in text, name, values, first_row) for name, values in pairs)
        yield Table(file.names, columns, first_row=first_row)
        first_row += len(columns[0])


def check_format(delimiter: str | None, encoding: str) -> None:
    """Raise an error for an impossible delimiter or encoding, before a file is opened.

    Parameters
    ----------
    delimiter : str or None
    encoding : str
    """
    usable_encoding(encoding)
    if delimiter is not None:
        check_delimiter(delimiter)


def _gathered(file: ParquetFile | CsvFile, typed: Callable[[str, Any, int], Any], report: Report) -> dict[str, list[Any]]:
    """The pieces of all columns; ``typed`` makes them of a name, raw values and the number of their first row."""
    parts: dict[str, list[Any]] = {name: [] for name in file.names}
    n_rows = 0
    for block in file.blocks(BLOCK_ROWS):
        for name, values in zip(file.names, block, strict=True):
            parts[name].append(typed(name, values, n_rows + 1))
        n_rows += len(block[0])
        report(f"{file.path.name}: {n_rows} rows read")
    return parts


def _typed(path: Path, text: Collection[str], name: str, values: Any, first_row: int) -> Any:
    """A column of a Parquet file."""
    if isinstance(values, UnusableColumn) or values.dtype == object:
        return values
    if name in text:
        return text_column([None if np.isnan(value) else number_text(value) for value in values.tolist()])
    if np.isinf(values).any():
        return UnusableColumn(len(values), f"{path.name}: column {name!r} holds infinite values: replace or remove them")
    return values


def _joined(parts: Sequence[Any]) -> Any:
    unusable = next((part for part in parts if isinstance(part, UnusableColumn)), None)
    return np.concatenate(parts) if unusable is None else UnusableColumn(sum(map(len, parts)), unusable.reason)


def _whole_csv(file: CsvFile, missing: Collection[str], text: Collection[str], report: Report) -> dict[str, list[Any]]:
    """Read the file; read it again if a column that began with numbers turned out to be text."""
    texts = set(text).intersection(file.names)
    while True:
        began = set(texts)
        parts = _gathered(file, partial(_take, file, ColumnParser(missing), texts), report)
        turned = [name for name in texts - began if not all(map(_is_text, parts[name]))]
        if not turned:
            return parts
        del parts  # before the same columns are read again


def _take(file: CsvFile, parser: ColumnParser, texts: set[str], name: str, values: Any, first_row: int) -> Any:
    """A piece of a column, whose name is added to ``texts`` if it holds texts: then the pieces that follow are texts too."""
    column = _column(file, parser, name in texts, name, values, first_row)
    if _is_text(column):
        texts.add(name)
    return column


def _is_text(column: Any) -> bool:
    return not isinstance(column, UnusableColumn) and column.dtype == object


def _column(file: CsvFile, parser: ColumnParser, is_text: bool, name: str, values: tuple[str, ...], first_row: int) -> Any:
    """A column of a CSV file."""
    numbers = None if is_text else parser.numbers(values)
    if numbers is None:
        return parser.texts(values)
    infinite = np.flatnonzero(np.isinf(numbers))
    if len(infinite) == 0:
        return numbers
    return UnusableColumn(len(numbers), partial(_infinite, file, name, first_row + int(infinite[0])))


def _infinite(file: CsvFile, name: str, row: int) -> str:
    line = file.line_of_row(row)
    return f"{file.path.name}: column {name!r} is infinite on line {line}: replace or remove such values"
