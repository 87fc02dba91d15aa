"""Read files as tables: CSV with the standard library, Parquet with pyarrow."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Sequence
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
        names, columns = _whole_parquet(ParquetFile(path), text, report)
    else:
        names, columns = _whole_csv(CsvFile.open(path, delimiter, encoding), missing, text, report)
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
    if is_parquet(path):
        parquet = ParquetFile(path)
        for block in parquet.blocks(rows):
            columns = tuple(_typed(path, name, part, name in text) for name, part in zip(parquet.names, block, strict=True))
            yield Table(parquet.names, columns, first_row=first_row)
            first_row += len(columns[0])
        return
    file = CsvFile.open(path, delimiter, encoding)
    for texts in file.blocks(rows):
        columns = tuple(
            _parsed(file, name, ColumnParser(missing), part, name in text, first_row)
            for name, part in zip(file.names, texts, strict=True)
        )
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


def _whole_parquet(file: ParquetFile, text: Collection[str], report: Report) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    parts: list[list[Any]] = [[] for _ in file.names]
    n_rows = 0
    for block in file.blocks(BLOCK_ROWS):
        for name, column, part in zip(file.names, parts, block, strict=True):
            column.append(_typed(file.path, name, part, name in text))
        n_rows += len(block[0])
        report(f"{file.path.name}: {n_rows} rows read")
    return file.names, tuple(map(_joined, parts))


def _typed(path: Path, name: str, values: Any, is_text: bool) -> Any:
    if isinstance(values, UnusableColumn) or values.dtype == object:
        return values
    if is_text:
        return text_column([None if np.isnan(value) else number_text(value) for value in values.tolist()])
    if np.isinf(values).any():
        return UnusableColumn(len(values), f"{path.name}: column {name!r} holds infinite values: replace or remove them")
    return values


def _joined(parts: Sequence[Any]) -> Any:
    unusable = next((part for part in parts if isinstance(part, UnusableColumn)), None)
    return np.concatenate(parts) if unusable is None else UnusableColumn(sum(map(len, parts)), unusable.reason)


def _whole_csv(
    file: CsvFile, missing: Collection[str], text: Collection[str], report: Report
) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """Read the file; read it again if a column that began with numbers turned out to be text."""
    texts = set(text).intersection(file.names)
    while True:
        reading = _Reading(file, missing, texts)
        reading.run(report)
        if not reading.turned:
            return file.names, reading.columns()
        texts |= reading.turned


class _Reading:
    """One pass over a CSV file."""

    def __init__(self, file: CsvFile, missing: Collection[str], texts: Collection[str]) -> None:
        self.file = file
        self.parsers = {name: ColumnParser(missing) for name in file.names}
        self.texts = set(texts)
        self.parts: dict[str, list[np.ndarray]] = {name: [] for name in file.names}
        self.turned: set[str] = set()

    def run(self, report: Report) -> None:
        n_rows = 0
        for block in self.file.blocks(BLOCK_ROWS):
            for name, values in zip(self.file.names, block, strict=True):
                self._take(name, values)
            n_rows += len(block[0])
            report(f"{self.file.path.name}: {n_rows} rows read")

    def _take(self, name: str, values: tuple[str, ...]) -> None:
        if name in self.turned:
            return
        parser, parts = self.parsers[name], self.parts[name]
        numbers = None if name in self.texts else parser.numbers(values)
        if numbers is None and name not in self.texts and parts:
            self.turned.add(name)
            parts.clear()
        elif numbers is None:
            self.texts.add(name)
            parts.append(parser.texts(values))
        else:
            parts.append(numbers)

    def columns(self) -> tuple[Any, ...]:
        columns = []
        for name in self.file.names:
            column = np.concatenate(self.parts.pop(name))  # frees the pieces, one column at a time
            columns.append(column if column.dtype == object else _finite(self.file, name, column, 1))
        return tuple(columns)


def _parsed(file: CsvFile, name: str, parser: ColumnParser, values: tuple[str, ...], is_text: bool, first_row: int) -> Any:
    numbers = None if is_text else parser.numbers(values)
    return parser.texts(values) if numbers is None else _finite(file, name, numbers, first_row)


def _finite(file: CsvFile, name: str, numbers: np.ndarray, first_row: int) -> Any:
    """The numbers, unless one of them is infinite."""
    infinite = np.flatnonzero(np.isinf(numbers))
    if len(infinite) == 0:
        return numbers
    return UnusableColumn(len(numbers), partial(_infinite, file, name, first_row + int(infinite[0])))


def _infinite(file: CsvFile, name: str, row: int) -> str:
    line = file.line_of_row(row)
    return f"{file.path.name}: column {name!r} is infinite on line {line}: replace or remove such values"
