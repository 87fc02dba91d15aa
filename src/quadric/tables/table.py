"""Named columns of numbers or texts, as an immutable value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from numbers import Real
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from quadric.geometry.terms import default_names
from quadric.types import FloatArray

EXACT_INTEGERS = 2.0**53
"""Floats below this limit represent integers exactly."""
TURN_OR_IGNORE = "convert it to numbers or texts, or leave it out"


Rows: TypeAlias = "Table | Mapping[str, ArrayLike] | ArrayLike"
"""Rows of raw data: a Table, a frame of pandas or polars, a mapping of columns, or an array."""


@dataclass(frozen=True, eq=False)
class UnusableColumn:
    """Values that no model can use, such as dates. Reading them raises an error; most such columns are never read.

    Attributes
    ----------
    n_rows : int
    reason : str, or function that returns it
        What is wrong with the values; a function if that takes time to find out.
    """

    n_rows: int
    reason: str | Callable[[], str]

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, rows: Any) -> UnusableColumn:
        return UnusableColumn(len(np.empty(self.n_rows)[rows]), self.reason)

    @property
    def dtype(self) -> NoReturn:
        """Raises the error."""
        raise self._error()

    def tolist(self) -> None:
        """Raises the error."""
        raise self._error()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise self._error()

    def _error(self) -> ValueError:
        return ValueError(self.reason if isinstance(self.reason, str) else self.reason())


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns of numbers (float64, NaN if missing) or texts (object, None if missing).

    ``table["age"]`` is a column and ``table[rows]`` a table of these rows, so scikit-learn can split it into folds.

    Attributes
    ----------
    names : tuple of str
        Unique and not empty.
    columns : tuple of arrays of shape (n_rows,)
        A column of another type, or with infinite values, is an UnusableColumn: reading it raises an error.
    sha256 : str or None
        Checksum of the file that the whole table was read from.
    first_row : int
        Number of the first row in its file, for messages; rows are counted from 1.
    """

    names: tuple[str, ...]
    columns: tuple[np.ndarray, ...]
    sha256: str | None = None
    first_row: int = 1

    def __post_init__(self) -> None:
        check_names(self.names)
        lengths = {len(column) for column in self.columns}
        if len(self.names) != len(self.columns) or len(lengths) > 1:
            raise ValueError("a table needs one column per name, all of the same length")

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0]) if self.columns else 0

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns."""
        return self.n_rows, len(self.names)

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self.names:
                raise KeyError(key)
            return self.columns[self.names.index(key)]
        rows = key[0] if isinstance(key, tuple) else key  # scikit-learn asks for [rows, ...]
        return Table(self.names, tuple(column[rows] for column in self.columns))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def drop(self, names: Collection[str]) -> Table:
        """The table without some columns.

        Parameters
        ----------
        names : collection of str
            Names that the table does not have are ignored.

        Returns
        -------
        Table
        """
        places = [i for i, name in enumerate(self.names) if name not in names]
        return Table(tuple(self.names[i] for i in places), tuple(self.columns[i] for i in places), self.sha256, self.first_row)


def check_names(names: Sequence[str]) -> None:
    """Raise an error for column names that are empty or appear twice."""
    for position, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise TypeError(f"column names must be texts, but column {position} is named {name!r}")
        if not name.strip():
            hint = "; is it an index? write the file without it" if position == 1 else ""
            raise ValueError(f"column {position} has no name{hint}")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        places = [position for position, name in enumerate(names, start=1) if name == twice[0]]
        raise ValueError(f"column name {twice[0]!r} appears {len(places)} times (columns {', '.join(map(str, places))})")


def as_table(data: Rows, names: Sequence[str] | None = None) -> Table:
    """Convert any form of columns to a Table.

    Parameters
    ----------
    data : Table, pandas or polars frame, mapping of columns, or array-like of shape (m, n)
        Types are kept: texts that look like numbers stay texts. Mixed columns become texts. An empty text is a missing value.
    names : sequence of str, optional
        Names for the columns of an array; by default x0, x1, ...

    Returns
    -------
    Table
    """
    if isinstance(data, Table):
        return data
    if isinstance(data, Mapping):
        return Table(tuple(data), tuple(as_column(name, values) for name, values in data.items()))
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):
        frame_names = tuple(str(name) for name in data.columns)
        check_names(frame_names)
        return Table(frame_names, tuple(as_column(str(name), data[name]) for name in data.columns))
    array = data if isinstance(data, np.ndarray) else _array_of_rows(data)
    if array.ndim != 2:
        raise ValueError(f"a table must have two dimensions, got {array.ndim}: pass a frame, a mapping of columns or rows")
    names = default_names(array.shape[1]) if names is None else names
    if len(names) != array.shape[1]:
        raise ValueError(f"the table has {array.shape[1]} columns instead of {len(names)}")
    return Table(tuple(names), tuple(as_column(name, column) for name, column in zip(names, array.T, strict=True)))


def as_column(name: str, values: Any) -> Any:
    """Values as an array of numbers or of texts, or an UnusableColumn if they are neither."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"column {name!r} must have one dimension, got {array.ndim}")
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    if array.dtype.kind == "M":
        return array.astype("datetime64[us]")
    if array.dtype.kind not in "OUT":
        return UnusableColumn(len(array), f"column {name!r} is of type {array.dtype}: {TURN_OR_IGNORE}")
    items = [None if is_missing(value) or value == "" else value for value in array.tolist()]
    present = [value for value in items if value is not None]
    if all(isinstance(value, Real) for value in present):
        return np.array([np.nan if value is None else float(value) for value in items])
    if all(isinstance(value, date) for value in present):
        return np.array(items, dtype="datetime64[us]")
    if not all(isinstance(value, str | Real) for value in present):
        other = next(value for value in present if not isinstance(value, str | Real))
        return UnusableColumn(len(array), f"column {name!r} holds a {type(other).__name__}: {TURN_OR_IGNORE}")
    return text_column([value if value is None or isinstance(value, str) else number_text(float(value)) for value in items])


def text_column(values: Sequence[str | None]) -> np.ndarray:
    """Texts as an array of objects."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def is_missing(value: Any) -> bool:
    """None, NaN, pandas' NA and NaT."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, Real) and bool(value != value)


def holds_whole_numbers(column: FloatArray) -> bool:
    """Whether all values of a numeric column that are not missing are whole numbers."""
    present = column[~np.isnan(column)]
    return bool((np.rint(present) == present).all())


def number_text(value: float) -> str:
    """A number as people write it: 3, not 3.0."""
    value = float(value)
    return str(int(value)) if value.is_integer() and abs(value) < EXACT_INTEGERS else repr(value)


def is_number_text(text: str) -> bool:
    """Whether a text is a number. float() also accepts "1_000", which is hardly meant as a number in a file."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _array_of_rows(data: Any) -> np.ndarray:
    """Rows as an array of objects, because numpy would convert numbers next to texts to texts."""
    try:
        return np.array(data, dtype=object)
    except ValueError as error:
        raise ValueError(f"cannot read a {type(data).__name__} as a table: {error}") from None
