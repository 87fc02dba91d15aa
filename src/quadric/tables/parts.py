"""Tables that are read again on each pass, in pieces, from memory, files or what was kept on disk of the first pass."""

from __future__ import annotations

import os
import tempfile
import threading
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from quadric.defaults import MISSING
from quadric.errors import ParameterError, quoted, refuse_unknown
from quadric.extras import require
from quadric.progress import RowsRead, advance
from quadric.samples.folds import key_of
from quadric.samples.source import SampleBatch, SampleSource, State
from quadric.tables.encoder import TableEncoder
from quadric.tables.facts import ColumnFacts, MixedColumnError
from quadric.tables.forms import with_forms
from quadric.tables.inputs import missing_cells
from quadric.tables.reading import digest_of, read_chunks
from quadric.tables.table import Table, as_table, check_names, holds_arrow
from quadric.tables.targets import MissingLabelsError, labelled_rows, refuse_missing_labels, sorted_classes
from quadric.types import BoolArray, FloatArray, IntArray

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


def summed(states: Iterable[State | None]) -> State | None:
    """The sum of those that are not None; where labels are missing, the error that counts all of them."""
    total: State | None = None
    missing: MissingLabelsError | None = None
    each = iter(states)
    while True:
        try:
            state = next(each)
        except StopIteration:
            break
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
        self._digest: Future[str | None] | None = None

    def __iter__(self) -> Iterator[Table]:
        if self._begun is not None:
            (first, rest), self._begun = self._begun, None
            return chain([first], rest)
        if self._kept is not None:
            return iter(self._kept)
        chunks = self._watched(self._chunks())
        return self._keeping(chunks) if self._keeps and self._is_csv else chunks

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
        return summed(map(of, self))

    @property
    def _is_csv(self) -> bool:
        if self.path is None:  # tables in memory do without pyarrow
            return False
        from quadric.tables._arrow import arrow_files

        return not arrow_files(self.path)

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
        if self.path is None:
            return sum(table.n_rows for table in self)
        from quadric.tables._arrow import arrow_files, shape_of

        files = arrow_files(self.path)
        known = [shape[0] for shape in map(shape_of, files) if shape is not None]
        return sum(known) if known and len(known) == len(files) else sum(table.n_rows for table in self)

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
        return self._again((*self.text, name), self._how)

    def with_dates(self, forms: Mapping[str, str]) -> TableStream:
        """The same with the dates of some columns in our form.

        Parameters
        ----------
        forms : mapping
            Names of columns, and the forms in which their dates are written.

        Returns
        -------
        TableStream
        """
        return self._again(self.text, {**self._how, "date_forms": forms}) if forms else self

    def _again(self, text: tuple[str, ...], how: Mapping[str, Any]) -> TableStream:
        again = TableStream(self._data, rows=self._rows, text=text, keeps=self._keeps, **how)
        again._files, again._digest = self._files, self._digest
        return again

    def _chunks(self) -> Iterator[Table]:
        names: tuple[str, ...] | None = None
        n_rows = 0
        for table in self._parts() if self.path is None else read_chunks(self.path, self._rows, text=self.text, **self._how):
            names = names or table.names
            if set(table.names) != set(names):
                odd = min(set(table.names).symmetric_difference(names))
                raise ValueError(f"the parts of the table have different columns: only some of them have {quoted(odd)}")
            if table.n_rows:
                yield Table(table.names, table.columns, first_row=n_rows + 1)
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
        forms = self._how.get("date_forms", {})
        return (with_forms(table, forms) for table in tables)

    def check_unchanged(self) -> None:
        """Refuse files that are not those of the first pass."""
        if self.path is None:
            return
        from quadric.tables._arrow import arrow_files

        stats = [(file, file.stat()) for file in arrow_files(self.path) or (self.path,)]
        files = tuple((str(file), stat.st_size, stat.st_mtime_ns, stat.st_ino) for file, stat in stats)
        if self._files is not None and files != self._files:
            raise ValueError(f"{self.path.name} changed while it was read: start again once nothing writes to it")
        self._files = files

    def _watched(self, tables: Iterator[Table]) -> Iterator[Table]:
        """The chunks of one pass; an error where the table is not that of the pass before."""
        self.check_unchanged()
        if self.path is not None:
            self._begin_digest(self.path)
        n_rows = content = 0
        for table in tables:
            n_rows += table.n_rows
            content = checksum(table, content) if callable(self._data) else 0  # others cannot change, or their files tell
            yield table
        self.check_unchanged()
        if self._content is not None and self._content != (n_rows, content):
            raise ValueError(
                "the batches are not those of the pass before: give a function that returns the same rows each time"
            )
        self._content = n_rows, content

    def _keeping(self, tables: Iterator[Table]) -> Iterator[Table]:
        """The chunks of a CSV file, which takes much longer to parse than to read what was parsed."""
        spool = Spool()
        for table in tables:
            spool.add(table)
            yield table
        self._kept = spool if spool.is_whole() else None


def _digest(path: Path, found: Future[str | None]) -> None:
    try:
        found.set_result(digest_of(path))
    except Exception as error:  # whoever waits would wait forever
        found.set_exception(error)


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
    return Table(names, tuple(map(np.concatenate, zip(*found, strict=True))))


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


def _cut(table: Table, n_rows: int) -> Iterator[Table]:
    for first in range(0, max(table.n_rows, 1), n_rows):
        columns = tuple(column[first : first + n_rows] for column in table.columns)
        yield table if table.n_rows <= n_rows else Table(table.names, columns)


@dataclass(frozen=True, eq=False)
class Labels:
    """Class labels of rows.

    Attributes
    ----------
    names : tuple of str
        Those that appear.
    places : array of shape (m,)
        The position of each row's.
    """

    names: tuple[str, ...]
    places: IntArray

    def counts(self, rows: BoolArray) -> dict[str, int]:
        """How many of some rows have each label."""
        return dict(zip(self.names, np.bincount(self.places[rows], minlength=len(self.names)).tolist(), strict=True))

    def codes(self, classes: Sequence[str]) -> IntArray:
        """Positions among known classes; an error for a label that is none of them."""
        unknown = set(self.names).difference(classes)
        if unknown:
            raise ValueError(f"the target has the class {quoted(min(unknown))}, which is not one of {', '.join(classes)}")
        return np.array([list(classes).index(name) for name in self.names], dtype=np.intp)[self.places]


@dataclass(frozen=True, eq=False)
class LabelledColumns:
    """Which columns of a stream are the labels, the weights, the groups and the inputs.

    Attributes
    ----------
    target : str
    inputs : tuple of str
    sample_weight, groups : str or None
    needs_labels : bool
        Whether a row without a label is an error; otherwise it is left out.
    """

    target: str
    inputs: tuple[str, ...]
    sample_weight: str | None = None
    groups: str | None = None
    needs_labels: bool = True

    @staticmethod
    def of(
        names: Sequence[str],
        target: str,
        columns: Sequence[str] | None = None,
        sample_weight: str | None = None,
        groups: str | None = None,
    ) -> LabelledColumns:
        """Checked against the names of a table; by default all other columns are inputs."""
        special = [name for name in (target, sample_weight, groups) if name is not None]
        refuse_unknown([*special, *(columns or ())], names, "the table")
        inputs = tuple(name for name in names if name not in special) if columns is None else tuple(columns)
        check_names(inputs)
        twice = [name for name in inputs if name in special]
        if twice or not inputs:
            raise ValueError(
                f"{quoted(twice[0])} cannot be a feature as well" if twice else "the table has no columns to learn from"
            )
        return LabelledColumns(target, inputs, sample_weight, groups)

    def weights(self, table: Table) -> FloatArray:
        """Of the rows of a table; at least zero, and finite."""
        if self.sample_weight is None:
            return np.ones(table.n_rows)
        weight = table[self.sample_weight]
        if weight.dtype.kind != "f" or not (np.isfinite(weight) & (weight >= 0.0)).all():
            raise ValueError(f"the weights {quoted(self.sample_weight)} must be finite numbers of at least 0, in every row")
        return weight

    def labelled(self, table: Table) -> BoolArray:
        """Which rows of a table have a label; an error where all need one."""
        names, places = table.distinct_labels(self.target)
        if self.needs_labels:
            refuse_missing_labels(names, places, table.first_row)
        return labelled_rows(names, places)

    def labels(self, table: Table) -> Labels:
        """Of the rows of a table; none is missing."""
        names, places = table.distinct_labels(self.target)
        refuse_missing_labels(names, places, table.first_row)
        used = np.flatnonzero(np.bincount(places, minlength=len(names)))
        return Labels(tuple(str(names[place]) for place in used), np.searchsorted(used, places))

    def cleaned(self, table: Table, encoder: TableEncoder) -> Table:
        """The inputs of a table, in their own order, without what stands for missing values."""
        columns = dict(zip(table.names, table.columns, strict=True))
        return encoder.cleaned(Table(self.inputs, tuple(columns[name] for name in self.inputs), first_row=table.first_row))

    def keys(self, table: Table) -> IntArray | None:
        """Numbers for the groups of the rows, the same for the same text everywhere."""
        if self.groups is None:
            return None
        if (column := table[self.groups]).dtype.kind == "M":
            days, places = np.unique(column, return_inverse=True)
            names = [None if np.isnat(day) else str(day) for day in days]
        else:
            names, places = table.distinct_labels(self.groups)
        missing = np.flatnonzero(np.array([name is None for name in names], dtype=bool)[places])
        if len(missing):
            row = table.first_row + int(missing[0])
            raise ParameterError(f"the column {quoted(self.groups)} of groups has no value in row {row}", groups=None)
        return np.array([key_of(str(name)) for name in names], dtype=np.int64)[places]


@dataclass(frozen=True, eq=False)
class LearnedTable:
    """What a first pass tells of a table; ``+`` adds other rows.

    Attributes
    ----------
    facts : tuple of ColumnFacts
        Of the inputs, in the rows that are used.
    all_facts : tuple of ColumnFacts
        Of the inputs, in all rows.
    class_counts : dict
        Rows of each label that are used, in the order in which labels appear; 0 where all of them are left out.
    missing : dict
        Missing values by column, where there are any, in all rows.
    n_dropped : int
        Rows that are left out because values are missing.
    n_unlabelled : int
        Rows that are left out because they have no label; nothing else counts them.
    """

    facts: tuple[ColumnFacts, ...]
    all_facts: tuple[ColumnFacts, ...]
    class_counts: dict[str, int]
    missing: dict[str, int]
    n_dropped: int
    n_unlabelled: int = 0

    def __add__(self, other: LearnedTable) -> LearnedTable:
        return LearnedTable(
            tuple(one + two for one, two in zip(self.facts, other.facts, strict=True)),
            tuple(one + two for one, two in zip(self.all_facts, other.all_facts, strict=True)),
            _counts_of_both(self.class_counts, other.class_counts),
            _counts_of_both(self.missing, other.missing),
            self.n_dropped + other.n_dropped,
            self.n_unlabelled + other.n_unlabelled,
        )

    def two_valued(self, encoder: TableEncoder) -> list[bool]:
        """Which features of an encoder that was fitted to the facts have at most two values."""
        found = []
        for feature in encoder.features_:
            facts = self.facts[feature.input]
            filled = (encoder.inputs_[feature.input].fill,) if facts.n_missing else ()
            values = facts.levels if facts.kind == "O" else {*facts.values, *filled}
            found.append(feature.kind in ("level", "missing") or len(values) <= 2)
        return found


def _counts_of_both(one: dict[str, int], two: dict[str, int]) -> dict[str, int]:
    """In the order in which names appear; counts of zero stay, unlike those of a Counter."""
    return {name: one.get(name, 0) + two.get(name, 0) for name in {**one, **two}}


def learn_table(
    parts: TableParts, columns: LabelledColumns, encoder: TableEncoder, *, drops: bool = False
) -> tuple[TableParts, LearnedTable]:
    """Look once at all rows; again where a column of a CSV file is numbers in some of its parts only, and texts in all then.

    Parameters
    ----------
    parts : TableParts
    columns : LabelledColumns
    encoder : TableEncoder
        Need not be fitted: it says how columns are cleaned, and which of them cannot be used.
    drops : bool
        Whether rows with missing values are left out.

    Returns
    -------
    TableParts and LearnedTable
        The table as it is to be read from now on, and what is in it.
    """
    try:
        found = parts.total(partial(_learned, columns=columns, encoder=encoder, drops=drops))
    except MixedColumnError as error:
        again = parts.with_text(error.name)
        if again is None:
            raise
        return learn_table(again, columns, encoder, drops=drops)
    assert found is not None
    if not found.class_counts:  # no column has values then, which would be told instead
        sorted_classes((), found.n_unlabelled)
    encoder.check_facts(found.all_facts)  # of all rows: a column without values is not the same as no row without gaps
    return parts, replace(found, missing={name: count for name, count in found.missing.items() if count})


def _learned(table: Table, columns: LabelledColumns, encoder: TableEncoder, drops: bool) -> LearnedTable:
    cleaned, labelled = columns.cleaned(table, encoder), columns.labelled(table)
    if not labelled.all():
        table, cleaned = table[labelled], cleaned[labelled]
    kept = complete(cleaned) if drops else np.ones(table.n_rows, dtype=bool)
    facts = encoder.facts(cleaned)
    return LearnedTable(
        facts if kept.all() else encoder.facts(cleaned[kept]),
        facts,
        columns.labels(table).counts(kept),
        {name: int(missing_cells(cleaned[name]).sum()) for name in cleaned},
        int((~kept).sum()),
        int((~labelled).sum()),
    )


def complete(table: Table) -> BoolArray:
    """Rows without missing values."""
    return ~np.logical_or.reduce([missing_cells(table[name]) for name in table])


class TableSource(SampleSource):
    """Samples made of the parts of a table.

    Parameters
    ----------
    parts : TableParts
    rows : function of a Table
        Makes samples of its rows, of which there may be none; not a closure, like passes.
    n_features, n_classes : int
    class_rows : array of shape (n_classes,), optional
    """

    def __init__(
        self,
        parts: TableParts,
        rows: Callable[[Table], SampleBatch],
        n_features: int,
        n_classes: int,
        class_rows: IntArray | None = None,
    ) -> None:
        self._parts, self._samples_of, self.is_local, self.is_read = parts, rows, parts.is_local, parts.is_local
        self.n_features, self.n_classes, self.class_rows = n_features, n_classes, class_rows

    def total(self, of: Callable[[SampleBatch], State]) -> State:
        total = self._parts.total(partial(_of_samples, of=of, rows=self._samples_of))
        if total is None:
            raise ValueError("the table has no rows that can be used")
        return total

    def check_unchanged(self) -> None:
        """Refuse files that are not those of the first pass."""
        self._parts.check_unchanged()


def _of_samples(table: Table, of: Callable[[SampleBatch], Any], rows: Callable[[Table], SampleBatch]) -> Any:
    batch = rows(table)
    return of(batch) if len(batch.ids) else None


@dataclass(frozen=True, eq=False)
class CodedRows:
    """What makes coded samples of the rows of a table; rows without weight are gone.

    Attributes
    ----------
    columns : LabelledColumns
    encoder : fitted TableEncoder
    class_names : tuple of str
        Labels in the order of their codes.
    drops : bool
        Whether rows with missing values are left out.
    """

    columns: LabelledColumns
    encoder: TableEncoder
    class_names: tuple[str, ...]
    drops: bool = False

    def __call__(self, table: Table) -> SampleBatch:
        columns, n_features = self.columns, len(self.encoder.features_)
        weight, ids, keys = columns.weights(table), np.arange(table.n_rows) + table.first_row, columns.keys(table)
        kept = (weight > 0.0) & columns.labelled(table)
        if self.drops:
            kept &= complete(columns.cleaned(table, self.encoder))
        if not kept.all():
            table = Table(table.names, table[kept].columns, first_row=table.first_row)
            weight, ids, keys = weight[kept], ids[kept], None if keys is None else keys[kept]
        codes = columns.labels(table).codes(self.class_names)
        X = self.encoder.transform_by_column(table) if table.n_rows else np.empty((0, n_features))
        return SampleBatch(X, codes, weight, np.ones(len(self.class_names)), ids, keys)

    def of(self, parts: TableParts, class_counts: Mapping[str, int]) -> TableSource:
        """All samples of a table with so many rows of each class."""
        class_rows = np.array([class_counts[name] for name in self.class_names])
        return TableSource(parts, self, len(self.encoder.features_), len(class_rows), class_rows)


class Spool:
    """A temporary file that nobody else sees and that is gone with this object; none where the disk is full."""

    def __init__(self) -> None:
        self._file: Any = None
        self._writer: Any = None
        self._first_rows: list[int] = []
        with self._unless_full():
            self._file = tempfile.TemporaryFile(prefix="quadric-")  # noqa: SIM115 - closed with the object

    @contextmanager
    def _unless_full(self) -> Iterator[None]:
        """Give up where something cannot be written: the disk is full, or columns have other types than before."""
        pa = require("pyarrow", "cli")
        try:
            yield
        except (OSError, pa.ArrowException):
            self._file, file = None, self._file
            with suppress(OSError):  # closing writes what is left
                if file is not None:
                    file.close()

    def add(self, table: Table) -> None:
        """Write one more chunk."""
        pa = require("pyarrow", "cli")
        if self._file is None:
            return
        chunk = pa.table(dict(zip(table.names, table.columns, strict=True))).combine_chunks()
        with self._unless_full():
            if self._writer is None:
                self._writer = pa.ipc.new_stream(self._file, chunk.schema)
            self._writer.write_table(chunk)
            self._first_rows.append(table.first_row)

    def is_whole(self) -> bool:
        """Whether all chunks are there, after the last one."""
        with self._unless_full():
            if self._file is not None:
                self._file.flush()
        return self._file is not None

    def __iter__(self) -> Iterator[Table]:
        pa = require("pyarrow", "cli")
        self._file.seek(0)
        n_chunks = len(self._first_rows)
        with pa.ipc.open_stream(self._file) as reader:
            for done, (first_row, batch) in enumerate(zip(self._first_rows, reader, strict=False), start=1):
                n_rows = first_row - 1 + batch.num_rows
                advance(done / n_chunks, RowsRead(f"{n_rows} rows", n_rows))
                columns = tuple(pa.chunked_array([column]) for column in batch.columns)
                yield Table(tuple(batch.schema.names), columns, first_row=first_row)
