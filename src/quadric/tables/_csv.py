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
from typing import Any

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
BLOCK, LONGEST = 1 << 20, 1 << 27
"""Bytes that are parsed at a time, and of the longest row."""
SLOW_ROWS = 10_000
UTF_8 = "utf-8-sig"
"""UTF-8 with or without a byte order mark."""
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
    header_size : int
        Bytes of the header in UTF-8.
    """

    path: Path
    delimiter: str
    encoding: str
    notation: Notation
    names: tuple[str, ...]
    header_size: int

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
            with path.open(encoding=encoding, newline="") as text:
                size = sum(len(line.encode()) for line in islice(text, rows.line_num))
            if not header:
                raise ValueError("the file is empty" if header is None else "the first line is blank: column names are needed")
            names = tuple(name.strip() for name in header)
            _suspect_delimiter(names, delimiter)
            check_names(names)
        return CsvFile(path, delimiter, encoding, notation, names, size)

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
        """Tables of texts, as they stand in the file; their sizes follow from BLOCK."""
        columns, n_read = columns or self.names, 0
        with _one_line_errors(self.path, self.encoding):
            for table in self._tables(columns):
                n_read += len(table)
                yield table
            if n_read == 0:
                raise ValueError("the file has column names but no rows")

    def _tables(self, columns: Sequence[str]) -> Iterator[Any]:
        n_read = 0
        for block in self._blocks():
            if not _quotes_are_usual(block, self.delimiter):  # pyarrow could take several rows for one
                yield from self._slow_tables(n_read, columns)
                return
            table = self._parsed(block, columns)
            n_read += len(table)
            yield table

    def _blocks(self) -> Iterator[bytes]:
        """The file in UTF-8 without its header, in pieces of whole rows."""
        pending, n_header = b"", self.header_size
        for data in self._utf8():
            pending += data[n_header:]
            n_header = max(n_header - len(data), 0)
            cut = _end_of_rows(pending)
            if cut:
                yield pending[:cut]
                pending = pending[cut:]
            elif len(pending) > LONGEST:
                self._refuse_malformed()
                raise ValueError(f"a row is longer than {LONGEST >> 20} MB")
        if pending:
            yield pending

    def _utf8(self) -> Iterator[bytes]:
        with self.path.open("rb") as file:
            decoder = None if self.encoding == UTF_8 else codecs.getincrementaldecoder(self.encoding)()
            if decoder is None and file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
                file.seek(0)
            while data := file.read(BLOCK):
                yield data if decoder is None else decoder.decode(data).encode()
            if decoder is not None:
                yield decoder.decode(b"", final=True).encode()

    def _parsed(self, block: bytes, columns: Sequence[str]) -> Any:
        parse = arrow_csv.ParseOptions(
            delimiter=self.delimiter,
            newlines_in_values=b'"' in block,
            ignore_empty_lines=len(self.names) > 1,  # else they are missing values
        )
        # all texts: types that suit one block need not suit the others
        convert = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(columns, pa.string()),
            include_columns=columns,
            null_values=self.notation.null_values,
            strings_can_be_null=True,
        )
        read = arrow_csv.ReadOptions(column_names=self.names, block_size=len(block) + 8, use_threads=False)
        try:
            # pyarrow leaves out a byte order mark at the beginning, which here is part of a value
            mark = codecs.BOM_UTF8 if block.startswith(codecs.BOM_UTF8) else b""
            return arrow_csv.read_csv(pa.BufferReader(mark + block), read, parse, convert)
        except pa.ArrowInvalid as error:
            if "Empty CSV" in str(error):  # nothing but blank lines
                return pa.table({name: pa.array([], pa.string()) for name in columns})
            self._refuse_malformed()
            raise ValueError(f"not a readable CSV file ({str(error).splitlines()[0]})") from None

    def _slow_tables(self, start: int, columns: Sequence[str]) -> Iterator[Any]:
        """What the csv module makes of the rows from ``start`` on: it knows quotes that are part of a value."""
        rows, nulls = islice(self._rows(), start, None), set(self.notation.null_values)
        while part := list(islice(rows, SLOW_ROWS)):
            texts = dict(zip(self.names, zip(*part, strict=True), strict=True))
            yield pa.table({n: pa.array([None if t in nulls else t for t in texts[n]], pa.string()) for n in columns})

    def _refuse_malformed(self) -> None:
        """Look for the first bad row, slowly, and raise an error that names its line."""
        for _ in self._rows():
            pass

    def _rows(self) -> Iterator[list[str]]:
        """Rows by the strict csv module, without the header."""
        n_columns, begin = len(self.names), 1
        with _strict_rows(self.path, self.encoding, self.delimiter) as rows:
            try:
                for row in rows:
                    if row and len(row) != n_columns:
                        raise ValueError(f"line {rows.line_num} has {len(row)} values, the header has {n_columns} columns")
                    if begin > 1 and (row or n_columns == 1):
                        yield row or [""]
                    begin = rows.line_num + 1
            except csv.Error as error:
                raise csv.Error(f"{error}, in the row that begins on line {begin}") from None


def _end_of_rows(data: bytes) -> int:
    """Position after the last line end outside quotes, where the data begin with a row; 0 if there is none."""
    data = data.removesuffix(b"\r")  # a line feed may follow
    last = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
    if data.count(b'"', 0, last) % 2 == 0:
        return last
    codes = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero((codes == ord("\n")) | (codes == ord("\r")))
    outside = np.searchsorted(np.flatnonzero(codes == ord('"')), ends) % 2 == 0
    return int(ends[outside][-1]) + 1 if outside.any() else 0


def _quotes_are_usual(block: bytes, delimiter: str) -> bool:
    """Whether all quotes are doubled, or between a value and a delimiter or line end."""
    if b'"' not in block:
        return True
    codes = np.frombuffer(b"\n" + block + b"\n", np.uint8)
    places = np.flatnonzero(codes == ord('"'))
    neighbours = np.concatenate([codes[places[::2] - 1], codes[places[1::2] + 1]])  # before opening, after closing ones
    return len(places) % 2 == 0 and bool(np.isin(neighbours, np.frombuffer(f'{delimiter}\r\n"'.encode(), np.uint8)).all())


@contextmanager
def _strict_rows(path: Path, encoding: str, delimiter: str) -> Iterator[Any]:
    """The rows of a file as the csv module sees them."""
    limit = csv.field_size_limit(LONGEST)
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
            except UnicodeError as error:
                if not isinstance(error, UnicodeDecodeError):
                    return str(error)
                position += error.start - pending
                lines += _line_ends(chunk[: max(error.start - pending, 0)])
                return f"byte {position} (line {lines}) is not {name}"
            position += len(chunk)
            lines += _line_ends(chunk)
    return f"the file ends in the middle of a character of {name}"


def _line_ends(chunk: bytes) -> int:
    return chunk.count(b"\n") or chunk.count(b"\r")
