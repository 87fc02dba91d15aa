"""CSV files as record batches of texts, read by pyarrow; what it lets pass or cannot place is looked at with the csv module."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from quadric.errors import ParameterError
from quadric.extras import require
from quadric.tables._notation import Notation
from quadric.tables.table import check_names

pa: Any = require("pyarrow", "cli")
arrow_csv: Any = require("pyarrow.csv", "cli")

DELIMITERS = (",", ";", "\t", "|")
SNIFFED = 1 << 16
"""Characters that are read to find the delimiter."""
BLOCK_SIZES = (1 << 20, 1 << 23, 1 << 27)
"""Bytes that are parsed at a time: more where a row is longer, to a limit."""
UTF_8 = "utf-8-sig"
"""UTF-8 with or without a byte order mark."""
MOST_BYTES = 4
"""Of a character in UTF-8."""
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
    notation : Notation
    names : tuple of str
    """

    path: Path
    delimiter: str
    encoding: str
    notation: Notation
    names: tuple[str, ...]

    @staticmethod
    def open(path: Path, delimiter: str | None, encoding: str, notation: Notation) -> CsvFile:
        encoding = usable_encoding(encoding)
        with _one_line_errors(path, encoding):
            _refuse_other_formats(path, encoding)
            if delimiter is None:
                delimiter = _sniffed(path, encoding)
            check_delimiter(delimiter)
            with _strict_rows(path, encoding, delimiter) as rows:
                header = next(rows, None)
            if not header:
                raise ValueError("the file is empty" if header is None else "the first line is blank: column names are needed")
            names = tuple(name.strip() for name in header)
            _suspect_delimiter(names, delimiter)
            check_names(names)
        return CsvFile(path, delimiter, encoding, notation, names)

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def paths(self) -> tuple[Path, ...]:
        return (self.path,)

    def typed(self, column: Any, as_text: bool) -> Any:
        """A column of a batch as numbers, or as cleaned texts if one of them is not a number."""
        return self.notation.typed(column, as_text)

    def batches(self, n_rows: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Record batches of texts, as they stand in the file; their sizes follow from BLOCK_SIZES."""
        n_rows = 0
        with _one_line_errors(self.path, self.encoding):
            for size in BLOCK_SIZES:
                try:
                    n_again = n_rows  # rows of blocks that were large enough
                    for batch in self._parsed(size, columns or self.names):
                        fresh = batch.slice(min(n_again, batch.num_rows))
                        n_again -= batch.num_rows - fresh.num_rows
                        n_rows += fresh.num_rows
                        if fresh.num_rows:
                            yield fresh
                    break
                except pa.ArrowInvalid as error:
                    is_long = "straddling" in str(error)
                    if not is_long or size == BLOCK_SIZES[-1]:
                        self.refuse_malformed()
                        words = f"a row is longer than {size >> 20} MB" if is_long else str(error).splitlines()[0]
                        raise ValueError(f"not a readable CSV file ({words})") from None
            if n_rows == 0:
                raise ValueError("the file has column names but no rows")

    def _parsed(self, size: int, columns: Sequence[str]) -> Iterator[Any]:
        read = arrow_csv.ReadOptions(column_names=self.names, skip_rows_after_names=1, block_size=size)
        parse = arrow_csv.ParseOptions(
            delimiter=self.delimiter,
            newlines_in_values=True,
            ignore_empty_lines=len(self.names) > 1,  # else a missing value
        )
        # all texts: types that are found in the first block need not suit the others
        convert = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(columns, pa.string()),
            include_columns=columns,
            null_values=self.notation.null_values,
            strings_can_be_null=True,
        )
        with self.path.open("rb") as file:
            stream = pa.PythonFile(CheckedStream(self, file), "r")
            with arrow_csv.open_csv(stream, read, parse, convert) as reader:
                yield from reader

    def refuse_malformed(self) -> None:
        """Read all rows with the strict csv module, slowly, and raise an error that names the line of the first bad one."""
        with _strict_rows(self.path, self.encoding, self.delimiter) as rows:
            begin = 1
            try:
                for row in rows:
                    if row and len(row) != len(self.names):
                        n_columns = len(self.names)
                        raise ValueError(f"line {rows.line_num} has {len(row)} values, the header has {n_columns} columns")
                    begin = rows.line_num + 1
            except csv.Error as error:
                raise csv.Error(f"{error}, in the row that begins on line {begin}") from None


class CheckedStream:
    """The bytes of a CSV file as UTF-8, with a line end after the last line.

    pyarrow reads a quote that is not closed, or that ends before its value does, without a word, and takes several rows for
    one. So all places of quotes are checked here; where one is unusual the csv module has the last word on the whole file.

    Parameters
    ----------
    source : CsvFile
    file : binary file
    """

    closed = False

    def __init__(self, source: CsvFile, file: BinaryIO) -> None:
        self._source, self._file = source, file
        self._decoder = None
        if source.encoding != UTF_8:
            self._decoder = codecs.getincrementaldecoder(source.encoding)()
        elif file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
            file.seek(0)
        self._borders = np.frombuffer(f'{source.delimiter}\r\n"'.encode(), np.uint8)
        self._last, self._n_quotes = b"\n", 0
        self._ended = self._is_strict = False

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        """The file is closed by who opened it."""

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes."""
        data = b""
        while not data and not self._ended:
            raw = self._file.read(size if self._decoder is None else size // MOST_BYTES)
            self._ended = not raw
            data = raw if self._decoder is None else self._decoder.decode(raw, final=self._ended).encode()
        if self._ended and (self._last + data)[-1:] not in b"\r\n":
            data += b"\n"
        if not self._is_strict and not self._quotes_are_usual(data):
            self._source.refuse_malformed()
            self._is_strict = True
        self._last = data[-1:] or self._last
        return data

    def _quotes_are_usual(self, data: bytes) -> bool:
        """Whether each value in quotes, or part of it between doubled quotes, is between delimiters, line ends or quotes."""
        seam = self._last + data
        if b'"' not in seam:
            return not (self._ended and self._n_quotes % 2)
        codes = np.frombuffer(seam, np.uint8)
        places = np.flatnonzero(codes == ord('"'))
        counts = np.arange(len(places)) + self._n_quotes - (places[0] == 0)
        opening, closing = places[counts % 2 == 0], places[counts % 2 == 1]
        self._n_quotes = int(counts[-1]) + 1
        neighbours = np.concatenate([codes[opening[opening > 0] - 1], codes[closing[closing < len(codes) - 1] + 1]])
        return bool(np.isin(neighbours, self._borders).all()) and not (self._ended and self._n_quotes % 2)


@contextmanager
def _strict_rows(path: Path, encoding: str, delimiter: str) -> Iterator[Any]:
    """The rows of a file as the csv module sees them."""
    limit = csv.field_size_limit(BLOCK_SIZES[-1])
    try:
        with path.open(encoding=encoding, newline="") as text:
            yield csv.reader(text, delimiter=delimiter, strict=True)
    finally:
        csv.field_size_limit(limit)


def check_delimiter(delimiter: str) -> None:
    """Raise an error for a delimiter that no parser can use."""
    if len(delimiter) != 1 or delimiter in '"\r\n\0' or not delimiter.isascii():
        raise ValueError(f"the delimiter must be one ASCII character, but not a quote or a line end, got {delimiter!r}")


def usable_encoding(encoding: str) -> str:
    """The name of an encoding for opening files; an error if there is no such text encoding."""
    try:
        "".encode(encoding)  # some registered codecs convert bytes to bytes
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise ValueError(f"there is no encoding {encoding!r}; try utf-8 or latin-1") from None
    return UTF_8 if name == "utf-8" else name  # so that a byte order mark is not part of the first column name


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
                lines += _line_ends(chunk[: max(error.start - pending, 0)])
                return f"byte {position} (line {lines}) is not {name}"
            position += len(chunk)
            lines += _line_ends(chunk)
    return f"the file ends in the middle of a character of {name}"


def _line_ends(chunk: bytes) -> int:
    return chunk.count(b"\n") or chunk.count(b"\r")
