"""CSV files as tables of texts, read by pyarrow; what it lets pass or cannot place is looked at with the csv module."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from quadric.errors import ParameterError, quoted, warn_user
from quadric.extras import require
from quadric.progress import RowsRead, advance
from quadric.tables.numbers import number_pattern
from quadric.tables.table import BLANKS, check_names, is_number_text

pa: Any = require("pyarrow", "cli")
arrow_csv: Any = require("pyarrow.csv", "cli")
compute: Any = require("pyarrow.compute", "cli")

DELIMITERS = (",", ";", "\t", "|")
# Characters that are read to find the delimiter
SNIFFED = 1 << 16
# Characters that are parsed at a time, and that rows may have which pyarrow parses
BLOCK, LONGEST = 1 << 20, 1 << 27
SLOW_ROWS = 10_000
NOT_CSV = {
    b"PK\x03\x04": "a zip or Excel file: save it as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel file: save it as CSV",
    b"\x1f\x8b": "compressed: unpack it first",
    b"FEA1": "a Feather file of version 1: write it again, in version 2",
}
# Rows that are looked at to tell an index from other columns without a name
INDEX_ROWS = 1_000
WHOLE = re.compile(r"-?\d+", re.ASCII)
QUOTE = ord('"')
# With or without a byte order mark, which is not part of the first column name
UTF_8 = "utf-8-sig"
# Byte order marks; one of UTF-32 begins with one of UTF-16
MARKS = {"utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE), "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)}


@dataclass(frozen=True)
class Notation:
    """How a CSV file, its numbers and its missing values are written.

    Attributes
    ----------
    delimiter : str or None
        None: to be found.
    encoding : str
    missing : collection of str
        Texts that mean a missing value, in upper or lower case; the empty text always does.
    decimal : str
    thousands : str or None
    drop_unnamed : bool
        Whether columns without a name are left out, whatever they hold; otherwise only an index is, see :class:`CsvFile`.
    """

    delimiter: str | None
    encoding: str
    missing: Collection[str]
    decimal: str
    thousands: str | None
    drop_unnamed: bool = False

    def __post_init__(self) -> None:
        try:
            "".encode(self.encoding)  # some registered codecs convert bytes to bytes
        except (LookupError, ValueError):
            raise ParameterError(f"there is no encoding {quoted(self.encoding)}; try utf-8 or latin-1", encoding=None) from None
        character = "," if self.delimiter is None else self.delimiter
        if len(character) != 1 or character in '"\r\n\0' or not character.isascii():
            raise ParameterError(
                f"the delimiter must be one ASCII character, but not a quote or a line end, got {quoted(character)}",
                delimiter=None,
            )
        for what, mark in (("decimal", self.decimal), ("thousands", self.thousands)):
            if mark is not None and (len(mark) != 1 or mark.isalnum() or mark in '+-"\r\n'):
                raise ParameterError(
                    f"the {what} mark must be one character, but no digit, letter, sign or quote, got {quoted(mark)}",
                    **{what: None},
                )
        if self.decimal == self.thousands:
            raise ParameterError(
                f"the decimal and the thousands mark must differ, got {quoted(self.decimal)} for both",
                decimal=None,
                thousands=None,
            )

    @property
    def codec(self) -> str:
        """The name of the encoding for opening files."""
        name = codecs.lookup(self.encoding).name
        return UTF_8 if name == "utf-8" else name

    @cached_property
    def null_values(self) -> list[str]:
        """Usual spellings of missing values, which pyarrow is told to look for; :meth:`typed` finds all."""
        return sorted({spelt for text in ("", *self.missing) for spelt in (text, text.lower(), text.upper())})

    def typed(self, column: Any, as_text: bool) -> Any:
        """The texts as float64, NaN where a value is missing; or as texts without spaces around them, if one is no number."""
        if column.type == pa.float64():
            return compute.fill_null(column, np.nan) if column.null_count else column
        values = None if as_text else self._numbers(column)
        if values is None:  # spaces and unusual spellings take time to look for, so each distinct text is looked at once
            distinct = column.combine_chunks().dictionary_encode()
            cleaned = self._cleaned(distinct.dictionary)
            numbers = None if as_text else self._numbers(cleaned)
            values = pa.chunked_array([(cleaned if numbers is None else numbers).take(distinct.indices)])
        return values.dictionary_encode() if values.type == pa.string() else compute.fill_null(values, np.nan)

    def _numbers(self, column: Any) -> Any:
        try:
            self._pointed(column.slice(0, 10)).cast(pa.float64())  # a cast that fails takes longer than one that does not
            return self._pointed(column).cast(pa.float64())
        except pa.ArrowInvalid:
            return None

    def _cleaned(self, column: Any) -> Any:
        trimmed = compute.utf8_trim(column, characters=BLANKS)
        absent = compute.is_in(compute.utf8_lower(trimmed), pa.array([text.lower() for text in ("", *self.missing)]))
        return compute.if_else(absent, pa.scalar(None, pa.string()), trimmed)

    def _pointed(self, column: Any) -> Any:
        """Numbers with a decimal point and nothing else; an error where a text is no number in this notation."""
        if (self.decimal, self.thousands) == (".", None):
            return column
        pattern = f"^(?:{number_pattern(self.decimal, self.thousands)}|[+-]?(?:nan|inf|infinity))$"
        if not compute.all(compute.match_substring_regex(column, pattern, ignore_case=True)).as_py():
            raise pa.ArrowInvalid("not a number")
        if self.thousands is not None:
            column = compute.replace_substring(column, self.thousands, "")
        return compute.replace_substring(column, self.decimal, ".")


class CsvFile:
    """A CSV file.

    Parameters
    ----------
    path : Path
    notation : Notation
        Without a delimiter, it is found.

    Attributes
    ----------
    names : tuple of str
        Of all columns of the file; those without a name are numbered.
    used : list of str
        Of those that are not left out.
    """

    def __init__(self, path: Path, notation: Notation) -> None:
        self.path = path
        with _one_line_errors(path, notation.codec):
            _refuse_other_formats(path, notation.codec)
            self.notation = replace(notation, delimiter=notation.delimiter or _sniffed(path, notation.codec))
            with _opened(path, self.notation) as (_, rows):
                header = next(rows, None)
                further = islice(rows, INDEX_ROWS if header and not header[0].strip() else 0)
                starts = [row[0].strip() for row in further if row]
            if not header:
                raise ValueError("the file is empty" if header is None else "the first line is blank: column names are needed")
            names = [name.strip() for name in header]
            first_line = str(self.notation.delimiter).join(names)
            if re.fullmatch("sep=.", first_line, re.IGNORECASE):
                raise ValueError(f"the first line, {quoted(first_line)}, is a hint for Excel: remove it")
            others = [other for other in DELIMITERS if other != self.notation.delimiter and other in names[0]]
            if len(names) == 1 and others:
                raise ValueError(
                    f"there is only one column, {quoted(names[0])}: wrong delimiter? the header has {quoted(others[0])}"
                )
            unnamed = _unnamed(names, starts, notation.drop_unnamed)
            self.names = tuple(f"\0{place}" if place in unnamed else name for place, name in enumerate(names))
            check_names(self.names)
            self.used = [name for place, name in enumerate(self.names) if place not in unnamed]

    def tables(self, n_rows: int, columns: Sequence[str] | None, text: Collection[str]) -> Iterator[Any]:
        """Tables of texts, as they stand in the file, or of numbers where pyarrow finds any; their sizes follow from BLOCK."""
        with _one_line_errors(self.path, self.notation.codec):
            try:
                yield from self._tables(columns or self.used, text)
            except pa.ArrowInvalid as error:
                for _ in self._rows():  # slower, but its errors name the line
                    pass
                raise ValueError(f"not a readable CSV file ({str(error).splitlines()[0]})") from None

    def _tables(self, columns: Sequence[str], text: Collection[str]) -> Iterator[Any]:
        n_read = 0
        numeric: frozenset[str] = frozenset()
        with _opened(self.path, self.notation) as (file, rows):
            next(rows)  # the header
            for block in _blocks(file):
                if not _is_usual(block, str(self.notation.delimiter)):  # pyarrow could take several rows for one
                    yield from self._slow_tables(n_read, columns)
                    return
                if n_read == 0:
                    numeric = self._numeric(block, [name for name in columns if name not in text])
                table = self._read(block, columns, numeric)
                n_read += len(table)
                if len(table):  # there may be nothing but blank lines
                    self._tell(file, n_read)
                    yield table
        if n_read == 0:
            raise ValueError("the file has column names but no rows")

    def _tell(self, file: TextIO, n_rows: int) -> None:
        share = file.buffer.tell() / max(self.path.stat().st_size, 1)
        advance(share, RowsRead(f"{self.path.name}: {n_rows} rows", n_rows))

    def _numeric(self, block: bytes, columns: Sequence[str]) -> frozenset[str]:
        """Columns that pyarrow can be told to read as numbers, which is faster: those that are numbers in the first block."""
        how = self.notation
        absent = [float(text) for text in how.missing if is_number_text(text)]
        # " -999" is a number for pyarrow even where that is a missing value
        if (how.decimal, how.thousands) != (".", None) or any(number == number for number in absent):
            return frozenset()
        texts = self._read(block, columns, frozenset())
        return frozenset(name for name in columns if how.typed(texts[name], False).type == pa.float64())

    def _read(self, block: bytes, columns: Sequence[str], numeric: frozenset[str]) -> Any:
        parse = arrow_csv.ParseOptions(
            delimiter=self.notation.delimiter,
            newlines_in_values=False,  # matters only where pyarrow looks for the ends of blocks
            ignore_empty_lines=len(self.names) > 1,
        )
        # texts where types that suit one block need not suit the others
        convert = arrow_csv.ConvertOptions(
            column_types={name: pa.float64() if name in numeric else pa.string() for name in columns},
            include_columns=columns,
            null_values=self.notation.null_values,
            strings_can_be_null=True,
            check_utf8=False,
        )
        read = arrow_csv.ReadOptions(column_names=self.names, block_size=len(block) + 8, use_threads=False)
        # pyarrow leaves out a byte order mark at the beginning; another one is part of a value
        try:
            return arrow_csv.read_csv(pa.BufferReader(codecs.BOM_UTF8 + block), read, parse, convert)
        except pa.ArrowInvalid:
            if not numeric:
                raise
            return self._read(block, columns, frozenset())

    def _slow_tables(self, start: int, columns: Sequence[str]) -> Iterator[Any]:
        """What the csv module makes of the rows from ``start`` on: it knows quotes that are part of a value."""
        rows, nulls = islice(self._rows(), start, None), set(self.notation.null_values)
        while part := list(islice(rows, SLOW_ROWS)):
            texts = dict(zip(self.names, zip(*part, strict=True), strict=True))
            yield pa.table({n: pa.array([None if t in nulls else t for t in texts[n]], pa.string()) for n in columns})

    def _rows(self) -> Iterator[list[str]]:
        n_columns = len(self.names)
        with _opened(self.path, self.notation) as (text, rows):
            next(rows)
            begin = rows.line_num + 1
            try:
                for row in rows:
                    if row and len(row) != n_columns:
                        raise ValueError(f"line {rows.line_num} has {len(row)} values, the header has {n_columns} columns")
                    if row or n_columns == 1:
                        yield row or [""]
                    if rows.line_num % SLOW_ROWS == 0:
                        self._tell(text, rows.line_num)
                    begin = rows.line_num + 1
            except csv.Error as error:
                raise csv.Error(f"{error}, in the row that begins on line {begin}") from None


def _unnamed(names: Sequence[str], starts: Sequence[str], every: bool) -> list[int]:
    """Positions of columns to be left out: all without a name, or a first one of different whole numbers, as of pandas."""
    places = [place for place, name in enumerate(names) if not name]
    if every and len(places) < len(names):
        return places
    are_different = 0 < len(starts) == len(set(starts))  # rows may be sorted, drawn or left out
    if places == [0] and len(names) > 1 and are_different and all(WHOLE.fullmatch(text) for text in starts):
        warn_user("column 1 has no name and numbers the rows: it is left out as an index")
        return places
    return []


@contextmanager
def _opened(path: Path, notation: Notation) -> Iterator[tuple[TextIO, Any]]:
    limit = csv.field_size_limit(LONGEST)
    try:
        with path.open(encoding=notation.codec, newline="") as text:
            yield text, csv.reader(text, delimiter=str(notation.delimiter), strict=True)
    finally:
        csv.field_size_limit(limit)


def _blocks(file: TextIO) -> Iterator[bytes]:
    """The rest of a file in UTF-8, in pieces of whole rows: they end where a line ends outside quotes."""
    while text := file.read(BLOCK) + file.readline(LONGEST):
        lines, size, is_open = [text], len(text), text.count('"') % 2
        while is_open and size <= LONGEST and (line := file.readline(LONGEST)):
            lines.append(line)
            size, is_open = size + len(line), (is_open + line.count('"')) % 2
        yield "".join(lines).encode()


def _is_usual(block: bytes, delimiter: str) -> bool:
    """Whether a piece has whole rows, and all quotes are doubled, or between a value and a delimiter or line end."""
    codes = np.frombuffer(block, np.uint8)
    quotes = np.flatnonzero(codes == QUOTE)
    opening, closing = quotes[::2], quotes[1::2]
    neighbours = np.append(codes[opening[opening > 0] - 1], codes[closing[closing < len(block) - 1] + 1])
    is_usual = np.zeros(256, dtype=bool)
    is_usual[list(f'{delimiter}\r\n"'.encode())] = True
    return len(block) <= LONGEST and len(quotes) % 2 == 0 and bool(is_usual[neighbours].all())


def _refuse_other_formats(path: Path, encoding: str) -> None:
    with path.open("rb") as file:
        start = file.read(4)
    for magic, words in NOT_CSV.items():
        if start.startswith(magic):
            raise ValueError(f"the file is {words}")
    own = next((name for name, marks in MARKS.items() if start.startswith(marks)), None)
    if own is not None and not encoding.startswith(own):
        raise ParameterError(f"the file is {own.upper()}: read it with that encoding", encoding=own)


def _sniffed(path: Path, encoding: str) -> str:
    """The delimiter that splits the first rows into the most columns, equally many in each row."""
    with path.open(encoding=encoding, newline="") as text:
        sample, complete = text.read(SNIFFED), not text.read(1)

    def quality(delimiter: str) -> tuple[bool, int]:
        rows = list(islice(csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter), 200))
        rows = rows if complete or len(rows) < 2 else rows[:-1]  # the last row may be cut off
        widths = [len(row) for row in rows if row]
        return len(set(widths)) == 1 and widths[0] > 1, widths[0] if widths else 0

    return max(DELIMITERS, key=quality)


@contextmanager
def _one_line_errors(path: Path, encoding: str) -> Iterator[None]:
    """Name the file in every error, and give advice for errors of the csv module and the decoder."""
    try:
        yield
    except UnicodeError as error:
        where = _undecodable(path, encoding) or error
        raise ParameterError(f"{path.name}: {where}; try latin-1", encoding="latin-1") from None
    except csv.Error as error:
        raise ValueError(f"{path.name}: not a well-formed CSV file ({error}); look for a quote that is not closed") from None
    except ValueError as error:
        raise ParameterError(f"{path.name}: {error}", **getattr(error, "remedies", {})) from None


def _undecodable(path: Path, encoding: str) -> str | None:
    """Where the first byte is that the encoding cannot read; None if it is not a byte that is wrong."""
    decoder = codecs.getincrementaldecoder(encoding)()
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                decoder.decode(line)
            except UnicodeDecodeError as error:  # of this line, and of bytes before it that were not yet a character
                position = file.tell() - len(error.object) + error.start
                return f"byte {position} (line {number}) is not {encoding.removesuffix('-sig')}"
            except UnicodeError:
                return None
    return f"the file ends in the middle of a character of {encoding.removesuffix('-sig')}"
