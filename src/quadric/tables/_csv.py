"""CSV files as blocks of checked rows, and columns of text as numbers."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from quadric.errors import ParameterError
from quadric.tables.table import check_names, text_column
from quadric.types import FloatArray

DELIMITERS = (",", ";", "\t", "|")
SNIFFED = 1 << 16
"""Characters that are read to find the delimiter."""
NOT_CSV = {
    b"PK\x03\x04": "a zip or Excel file: save it as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel file: save it as CSV",
    b"\x1f\x8b": "compressed: unpack it first",
}
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True)
class CsvFile:
    """How to read a CSV file, and the names of its columns.

    Attributes
    ----------
    path : Path
    delimiter, encoding : str
    names : tuple of str
    """

    path: Path
    delimiter: str
    encoding: str
    names: tuple[str, ...]

    @staticmethod
    def open(path: Path, delimiter: str | None, encoding: str) -> CsvFile:
        encoding = usable_encoding(encoding)
        with _one_line_errors(path, encoding):
            _refuse_other_formats(path, encoding)
            if delimiter is None:
                delimiter = _sniffed(path, encoding)
            check_delimiter(delimiter)
            with path.open(encoding=encoding, newline="") as text:
                header = next(csv.reader(text, delimiter=delimiter, strict=True), None)
            if not header:
                raise ValueError("the file is empty" if header is None else "the first line is blank: column names are needed")
            names = tuple(name.strip() for name in header)
            _suspect_delimiter(names, delimiter)
            check_names(names)
        return CsvFile(path, delimiter, encoding, names)

    def blocks(self, n_rows: int) -> Iterator[list[tuple[str, ...]]]:
        """Columns of up to ``n_rows`` rows at a time, as texts; blank lines are skipped."""
        with _one_line_errors(self.path, self.encoding), self.path.open(encoding=self.encoding, newline="") as text:
            reader = self._reader(text)
            n_read = 0
            while rows := list(islice(reader, n_rows)):
                if set(map(len, rows)) != {len(self.names)}:
                    self._refuse_ragged(rows, n_read)
                    rows = [row for row in rows if row]
                n_read += len(rows)
                if rows:
                    yield list(zip(*rows, strict=True))
            if n_read == 0:
                raise ValueError("the file has column names but no rows")

    def line_of_row(self, row: int) -> int:
        """Line on which a row ends. Rows are counted from 1, without blank lines. Only messages need it."""
        with self.path.open(encoding=self.encoding, newline="") as text:
            reader = self._reader(text)
            next(islice(filter(None, reader), row - 1, None))
            return reader.line_num

    def _reader(self, text: io.TextIOBase) -> Any:
        reader = csv.reader(text, delimiter=self.delimiter, strict=True)
        next(reader)
        return reader

    def _refuse_ragged(self, rows: list[list[str]], n_before: int) -> None:
        for number, row in enumerate(filter(None, rows), start=n_before + 1):
            if len(row) != len(self.names):
                line = self.line_of_row(number)
                raise ValueError(f"line {line} has {len(row)} values, the header has {len(self.names)} columns")


@dataclass
class ColumnParser:
    """Converts the texts of columns to numbers or to cleaned texts.

    Attributes
    ----------
    missing : collection of str
        Texts that mean a missing value.
    """

    missing: Collection[str]
    _cleaned: dict[str, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # A code such as -999 parses as a number, so every value has to be compared with it
        self._codes_are_numbers = any(_is_number(code) for code in self.missing)

    def numbers(self, values: Sequence[str]) -> FloatArray | None:
        """The values as numbers, NaN if missing; None if one of them is not a number."""
        numbers = None if self._codes_are_numbers else _numbers(values, float)
        if numbers is None:
            numbers = _numbers(values, self._number)
        # float() accepts "1_000", which is hardly meant as a number; one search in all values is cheap
        if numbers is not None and "_" in "".join(values) and any("_" in v for v in values if v.strip() not in self.missing):
            return None
        return numbers

    def texts(self, values: Sequence[str]) -> np.ndarray:
        """The values without spaces around them, None if missing; equal values share one object."""
        cleaned = self._cleaned
        for value in set(values).difference(cleaned):
            text = value.strip()
            cleaned[value] = None if text in self.missing else text
        return text_column([cleaned[value] for value in values])

    def _number(self, text: str) -> float:
        return np.nan if text.strip() in self.missing else float(text)


def _numbers(values: Sequence[str], convert: Callable[[str], float]) -> FloatArray | None:
    try:
        return np.fromiter(map(convert, values), np.float64, len(values))
    except ValueError:
        return None


def _is_number(text: str) -> bool:
    numbers = _numbers([text], float)
    return numbers is not None and not np.isnan(numbers[0])


def check_delimiter(delimiter: str) -> None:
    """Raise an error for a delimiter that the csv module cannot use."""
    if len(delimiter) != 1 or delimiter in '"\r\n\0':
        raise ValueError(f"the delimiter must be one character, but not a quote or a line end, got {delimiter!r}")


def usable_encoding(encoding: str) -> str:
    """The name of an encoding for opening files; an error if there is no such text encoding."""
    try:
        "".encode(encoding)  # some registered codecs convert bytes to bytes
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise ValueError(f"there is no encoding {encoding!r}; try utf-8 or latin-1") from None
    return "utf-8-sig" if name == "utf-8" else name  # so that a byte order mark is not part of the first column name


def _refuse_other_formats(path: Path, encoding: str) -> None:
    with path.open("rb") as file:
        start = file.read(4)
    for magic, words in NOT_CSV.items():
        if start.startswith(magic):
            raise ValueError(f"the file is {words}")
    if start.startswith(UTF_16) and not encoding.startswith("utf-16"):
        raise ParameterError("the file is UTF-16: read it with that encoding", encoding="utf-16")


def _sniffed(path: Path, encoding: str) -> str:
    """The delimiter that splits the first rows into the most columns, equally many in each row."""
    with path.open(encoding=encoding, newline="") as text:
        sample = text.read(SNIFFED)
        complete = not text.read(1)

    def quality(delimiter: str) -> tuple[bool, int]:
        rows = list(islice(csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter), 200))
        rows = rows if complete or len(rows) < 2 else rows[:-1]  # the last row may be cut off
        widths = [len(row) for row in rows if row]
        return len(set(widths)) == 1 and widths[0] > 1, widths[0] if widths else 0

    return max(DELIMITERS, key=quality)


def _suspect_delimiter(names: Sequence[str], delimiter: str) -> None:
    others = [other for other in DELIMITERS if other != delimiter and other in names[0]]
    if len(names) == 1 and others:
        raise ValueError(f"there is only one column, {names[0]!r}: wrong delimiter? the header has {others[0]!r}")


@contextmanager
def _one_line_errors(path: Path, encoding: str) -> Iterator[None]:
    """Name the file in every error, and give advice for errors of the csv module and the decoder."""
    try:
        yield
    except UnicodeError:
        text = f"{path.name}: {_undecodable(path, encoding)}; try latin-1"
        raise ParameterError(text, encoding="latin-1") from None
    except csv.Error as error:
        raise ValueError(f"{path.name}: not a well-formed CSV file ({error}); look for a quote that is not closed") from None
    except ValueError as error:
        raise ParameterError(f"{path.name}: {error}", **getattr(error, "remedies", {})) from None


def _undecodable(path: Path, encoding: str) -> str:
    """Describe the first byte that the encoding cannot read."""
    decoder = codecs.getincrementaldecoder(encoding)()
    position, lines = 0, 1
    name = encoding.removesuffix("-sig")
    with path.open("rb") as file:
        for chunk in iter(lambda: file.read(1 << 20), b""):
            pending = len(decoder.getstate()[0])
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as error:
                position += error.start - pending
                lines += chunk[: max(error.start - pending, 0)].count(b"\n")
                return f"byte {position} (line {lines}) is not {name}"
            position += len(chunk)
            lines += chunk.count(b"\n")
    return f"the file ends in the middle of a character of {name}"
