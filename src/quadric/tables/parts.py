"""Tables that are read again on each pass, in pieces, from memory, files or what was kept on disk of the first pass."""

from __future__ import annotations

import os
import threading
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from quadric.defaults import MISSING
from quadric.errors import quoted
from quadric.extras import require
from quadric.samples.source import State
from quadric.samples.spool import Spool
from quadric.tables.inputs import cells_like
from quadric.tables.reading import digest_of, read_chunks
from quadric.tables.table import Table, as_table, holds_arrow, text_column
from quadric.tables.targets import MissingLabelsError
from quadric.types import BoolArray, IntArray

# Rows that are read together
CHUNK_ROWS = 32_768


class TableParts(ABC):
    """A table in parts, wherever they are, over all of which a function can be summed again and again."""

    # Columns that are texts whatever they look like
    text: tuple[str, ...]
    # Whether this machine reads them
    is_local: bool = True
    # Where it is, if it is a file or a folder
    path: Path | None = None
    # Texts that mean a missing value
    missing: Collection[str] = ()

    def digest(self) -> str | None:
        """The checksum of its files, if it has any."""
        return None

    def check_unchanged(self) -> None:  # noqa: B027 - most tables cannot tell
        """Refuse a table that is not what it was, as far as that can be told without a pass."""

    def with_text(self, name: str) -> TableParts | None:
        """The same with one more column as texts; None where the types of columns do not follow from their values."""
        return None

    @abstractmethod
    def head(self) -> Table:
        """A table with the names of all columns, and rows or not."""

    @abstractmethod
    def total(self, of: Callable[[Table], State | None]) -> State | None:
        """The sum of a function over all parts, in their order; None if it is None for all of them.

        Parameters
        ----------
        of : function of a Table
            Not a closure, so that it can travel. Tables have rows, and know the number of the first.
        """

    def count_rows(self) -> int:
        """The number of rows.

        Returns
        -------
        int
        """
        return self.total(len) or 0

    def only(self, rows: BoolArray) -> TableParts:
        """Some rows of the table, as if there were no others.

        Parameters
        ----------
        rows : array of bool
            Of all rows of the table, which to take.

        Returns
        -------
        TableParts
        """
        return ChosenParts(self, rows)


class ChosenParts(TableParts):
    """Some rows of a table in parts, which stay where they are: who has a part is told which of its rows count.

    Parameters
    ----------
    parts : TableParts
    rows : array of bool
        Of all rows of these, which to take.
    """

    def __init__(self, parts: TableParts, rows: BoolArray) -> None:
        self._parts, self._rows = parts, rows
        self.text, self.is_local, self.missing = parts.text, parts.is_local, parts.missing

    def digest(self) -> str | None:
        return self._parts.digest()

    def check_unchanged(self) -> None:
        self._parts.check_unchanged()

    def with_text(self, name: str) -> TableParts | None:
        again = self._parts.with_text(name)
        return None if again is None else ChosenParts(again, self._rows)

    def head(self) -> Table:
        return self._parts.head()

    def total(self, of: Callable[[Table], State | None]) -> State | None:
        return self._parts.total(_OfChosen(of, np.packbits(self._rows)))

    def count_rows(self) -> int:
        return int(self._rows.sum())


@dataclass(frozen=True, eq=False)
class _OfChosen:
    """A function of the chosen rows of a part, numbered as if there were no others; one bit per row travels with it."""

    of: Callable[[Table], Any]
    bits: np.ndarray

    def __call__(self, table: Table) -> Any:
        first = table.first_row - 1
        wanted = np.unpackbits(self.bits[: (first + table.n_rows + 7) // 8], count=first + table.n_rows).astype(bool)
        kept = np.flatnonzero(wanted[first:])
        if not len(kept):
            return None
        part = table[kept]
        return self.of(Table(part.names, part.columns, first_row=int(wanted[:first].sum()) + 1))


def summed(of: Callable[[Any], State | None], items: Iterable[Any]) -> State | None:
    """The sum of a function, where it is not None; where labels are missing, the error that counts all of them."""
    total: State | None = None
    missing: MissingLabelsError | None = None
    for item in items:
        try:
            state = of(item)
        except MissingLabelsError as error:
            missing = error if missing is None else missing + error
            continue
        if state is not None:
            total = state if total is None else total + state
    if missing is not None:
        raise missing
    return total


class TableStream(TableParts):
    """A table in chunks, as often as it is asked for them.

    Parameters
    ----------
    data : path, Arrow object, frame, mapping, iterable of record batches, or function that returns one
        A CSV, Parquet or Feather file, a folder of Parquet files; or what ``as_table`` takes, whole or in parts. An iterator
        can be read only once.
    rows : int
        Rows per chunk of files.
    text : collection of str
        Columns to read as texts.
    keeps : bool
        Whether what was parsed of a CSV file is kept on disk, for further passes.
    **how : Any
        How a CSV file is written, as in ``read_table``.
    """

    def __init__(
        self, data: Any, *, rows: int = CHUNK_ROWS, text: Collection[str] = (), keeps: bool = True, **how: Any
    ) -> None:
        self._data, self._rows, self.text, self._keeps, self._how = data, rows, tuple(text), keeps, how
        if isinstance(data, str | os.PathLike):
            self.path, self.missing = Path(data), how.get("missing", MISSING)
        self._kept: Spool | None = None
        self._is_spent = False
        self._begun: tuple[Table, Iterator[Table]] | None = None
        self._files: tuple[Any, ...] | None = None
        self._content: tuple[int, int] | None = None
        self._only: BoolArray | None = None
        self._digest: Future[str | None] | None = None

    def __iter__(self) -> Iterator[Table]:
        if self._begun is not None:
            (first, rest), self._begun = self._begun, None
            return chain([first], rest)
        if self._kept is not None:
            return iter(self._kept)
        return self._watched(self._chunks())

    def head(self) -> Table:
        """The first chunk; the next pass begins with it.

        Returns
        -------
        Table
        """
        if self._begun is None:
            chunks = iter(self)
            self._begun = next(chunks), chunks
        return self._begun[0]

    def total(self, of: Callable[[Table], State | None]) -> State | None:
        """The sum of a function over all chunks.

        Parameters
        ----------
        of : function of a Table

        Returns
        -------
        what the function returns, or None
        """
        return summed(of, self)

    def _arrow_files(self) -> tuple[Path, ...]:
        """The Parquet or Feather files that hold the table; none if it is in a CSV file or in memory."""
        if self.path is None:  # tables in memory do without pyarrow
            return ()
        from quadric.tables._arrow import arrow_files

        return arrow_files(self.path)

    @property
    def _is_csv(self) -> bool:
        return self.path is not None and not self._arrow_files()

    def digest(self) -> str | None:
        """The checksum of the files, as ``read_table`` has it; begun with the first pass, which reads the same bytes.

        Returns
        -------
        str or None
            None for tables that are not in files.
        """
        if self.path is None:
            return self._data.sha256 if isinstance(self._data, Table) else None
        found = self._begin_digest(self.path).result()
        self.check_unchanged()
        return found

    def _begin_digest(self, path: Path) -> Future[str | None]:
        """Computes the checksum while the files are read: hashing leaves the interpreter free."""
        if self._digest is None:
            self._digest = Future()
            # a daemon, unlike the threads of an executor: an interrupt does not wait for it
            threading.Thread(target=_digest, args=(path, self._digest), daemon=True).start()
        return self._digest

    def count_rows(self) -> int:
        """The number of rows, by what the files say of themselves or else by a pass.

        Returns
        -------
        int
        """
        if self._only is not None:
            return int(self._only.sum())
        if files := self._arrow_files():
            from quadric.tables._arrow import shape_of

            known = [shape[0] for shape in map(shape_of, files) if shape is not None]
            if len(known) == len(files):
                return sum(known)
        return super().count_rows()

    def with_text(self, name: str) -> TableStream | None:
        """The same with one more column as texts.

        Parameters
        ----------
        name : str

        Returns
        -------
        TableStream or None
            None unless it is a CSV file that has the column as something else.
        """
        if not self._is_csv or name in self.text:
            return None
        return self._again((*self.text, name))

    def only(self, rows: BoolArray) -> TableStream:
        """Some rows of the table, as if there were no others: these do not even decide which columns of a file are texts.

        Parameters
        ----------
        rows : array of bool
            Of all rows of the table, which to read.

        Returns
        -------
        TableStream
        """
        again = self._again(self.text)
        again._only = rows
        return again

    def _again(self, text: tuple[str, ...]) -> TableStream:
        again = TableStream(self._data, rows=self._rows, text=text, keeps=self._keeps, **self._how)
        again._files, again._digest, again._only = self._files, self._digest, self._only
        return again

    def _chunks(self) -> Iterator[Table]:
        names: tuple[str, ...] | None = None
        n_rows = 0
        how = {**self._how, "text": self.text, "only": self._only}
        for table in self._parts() if self.path is None else read_chunks(self.path, self._rows, **how):
            names = names or table.names
            table = numbered(table, names, n_rows + 1)
            if table.n_rows:
                yield table
                n_rows += table.n_rows
        if n_rows == 0:
            raise ValueError("there are no record batches" if names is None else "the table has no rows")

    def _parts(self) -> Iterator[Table]:
        data = self._data() if callable(self._data) else self._data
        if isinstance(data, Iterator):
            if self._is_spent:
                raise ValueError(
                    "the batches are an iterator, which can be read only once: give a list of them, a file, or a function "
                    "that returns a new iterator each time"
                )
            self._is_spent = not callable(self._data)
        if isinstance(data, Iterable) and not isinstance(data, Table) and _is_parts(data):
            tables: Iterator[Table] = (as_table(part) for part in data)
        else:
            tables = _cut(as_table(data), self._rows)
        return tables if self._only is None else _chosen(tables, self._only)

    def check_unchanged(self) -> None:
        """Refuse files that are not those of the first pass."""
        if self.path is None:
            return
        stats = [(file, file.stat()) for file in self._arrow_files() or (self.path,)]
        files = tuple((str(file), stat.st_size, stat.st_mtime_ns, stat.st_ino) for file, stat in stats)
        if self._files is not None and files != self._files:
            raise ValueError(f"{self.path.name} changed while it was read: start again once nothing writes to it")
        self._files = files

    def _watched(self, tables: Iterator[Table]) -> Iterator[Table]:
        """The chunks of one pass; an error where the table is not that of the pass before."""
        self.check_unchanged()
        if self.path is not None:
            self._begin_digest(self.path)
        # a CSV file takes much longer to parse than what was parsed takes to read
        spool = Spool(_write, _read) if self._keeps and self._is_csv else None
        n_rows = content = 0
        for table in tables:
            n_rows += table.n_rows
            content = checksum(table, content) if callable(self._data) else 0  # others cannot change, or their files tell
            if spool is not None:
                spool.add(table, table.n_rows)
            yield table
        self.check_unchanged()
        if self._content is not None and self._content != (n_rows, content):
            raise ValueError(
                "the batches are not those of the pass before: give a function that returns the same rows each time"
            )
        self._content = n_rows, content
        self._kept = spool if spool is not None and spool.is_whole else None


def _write(file: Any, table: Table) -> None:
    pa = require("pyarrow", "cli")
    rows = pa.table(dict(zip(table.names, table.columns, strict=True))).combine_chunks()
    rows = rows.replace_schema_metadata({"first_row": str(table.first_row)})
    with pa.ipc.new_stream(file, rows.schema) as stream:  # one for each piece: types may differ
        stream.write_table(rows)


def _read(file: Any) -> Table:
    rows = require("pyarrow", "cli").ipc.open_stream(file).read_all()
    return Table(tuple(rows.column_names), tuple(rows.columns), first_row=int(rows.schema.metadata[b"first_row"]))


def _digest(path: Path, found: Future[str | None]) -> None:
    try:
        found.set_result(digest_of(path))
    except Exception as error:  # whoever waits would wait forever
        found.set_exception(error)


def numbered(table: Table, names: Sequence[str], first_row: int) -> Table:
    """A part of a table, which knows the number of its first row; an error where it has other columns."""
    if set(table.names) != set(names):
        odd = min(set(table.names).symmetric_difference(names))
        raise ValueError(f"the parts of the table have different columns: only some of them have {quoted(odd)}")
    return Table(table.names, table.columns, first_row=first_row)


def _columns_of(table: Table, names: Sequence[str], rows: IntArray | None) -> list[tuple[np.ndarray, ...]]:
    if rows is not None:
        places = rows - (table.first_row - 1)
        table = table[places[(places >= 0) & (places < table.n_rows)]]
    return [tuple(table[name] for name in names)]


def gathered(parts: TableParts, rows: IntArray | None = None, names: Sequence[str] | None = None) -> Table:
    """All rows of a table in parts, or those at some positions, in memory and in their order; all columns, or some."""
    names = parts.head().names if names is None else tuple(names)
    found = parts.total(partial(_columns_of, names=names, rows=rows))
    assert found is not None
    return Table(names, tuple(map(_concatenated, zip(*found, strict=True))))


def _concatenated(pieces: Sequence[np.ndarray]) -> np.ndarray:
    """A column of which some pieces may be numbers and others texts."""
    if len({piece.dtype.kind for piece in pieces}) > 1:
        return np.concatenate([text_column(cells_like(piece, [""])) for piece in pieces])
    return np.concatenate(pieces)


def checksum(table: Table, start: int) -> int:
    """A number that other values would change, from that of the tables before."""
    for name, column in zip(table.names, table.columns, strict=True):
        start = zlib.crc32(name.encode(), start)
        if isinstance(column, np.ndarray) and column.dtype != object:
            start = zlib.crc32(np.ascontiguousarray(column).tobytes(), start)
        else:
            start = zlib.crc32("\0".join(map(str, np.asarray(column).tolist())).encode(), start)
    return start


def as_parts(data: Any, **how: Any) -> TableParts:
    """Data as a table in parts; what is one already stays as it is."""
    return data if isinstance(data, TableParts) else TableStream(data, **how)


def _is_parts(data: Any) -> bool:
    """Whether an iterable holds parts of a table rather than rows or columns."""
    if holds_arrow(data) or hasattr(data, "iloc") or hasattr(data, "keys") or isinstance(data, np.ndarray):
        return False
    if isinstance(data, Sequence):
        return bool(len(data)) and (holds_arrow(data[0]) or hasattr(data[0], "iloc") or hasattr(data[0], "names"))
    return True


def _chosen(tables: Iterable[Table], only: BoolArray) -> Iterator[Table]:
    n_read = 0
    for table in tables:
        kept = only[n_read : n_read + table.n_rows]
        n_read += table.n_rows
        yield table[kept]


def _cut(table: Table, n_rows: int) -> Iterator[Table]:
    for first in range(0, max(table.n_rows, 1), n_rows):
        columns = tuple(column[first : first + n_rows] for column in table.columns)
        yield table if table.n_rows <= n_rows else Table(table.names, columns)
