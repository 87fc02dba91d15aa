"""Named columns of numbers or texts, as an immutable value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from quadric.errors import ParameterError, quoted
from quadric.geometry.terms import default_names
from quadric.labels import number_text as number_text
from quadric.types import FloatArray, IntArray

# Characters that count for nothing before and after a text
BLANKS = " \t\n\r\x0b\x0c"
CONVERT_OR_IGNORE = "convert it to numbers, texts or dates, or leave it out"


# Rows of raw data: a Table, a frame, an object with the Arrow C stream interface, a mapping of columns, or an array
Rows: TypeAlias = "Table | Mapping[str, ArrayLike] | ArrayLike"


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns of numbers, texts or dates.

    ``table["age"]`` is a column as an array: float64 (NaN if missing), objects (texts, None if missing) or datetime64[us] (NaT
    if missing). Truth values are texts, "True" and "False", as they are in files. A column of another type is an error only
    when it is looked at. ``table[rows]`` is a table of these rows, so scikit-learn can split it into folds.

    Attributes
    ----------
    names : tuple of str
        Unique and not empty.
    columns : tuple of arrays of shape (n_rows,)
        As they came, of numpy or of Arrow; those of files are Arrow's.
    sha256 : str or None
        Checksum of the file that the whole table was read from.
    first_row : int
        Number of the first row in its file, for messages; rows are counted from 1.
    """

    names: tuple[str, ...]
    columns: tuple[Any, ...]
    sha256: str | None = None
    first_row: int = 1
    _values: dict[str, np.ndarray] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        check_names(self.names)
        if len(self.names) != len(self.columns) or len({len(column) for column in self.columns}) > 1:
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
        if not isinstance(key, str):
            rows = np.arange(self.n_rows)[key[0] if isinstance(key, tuple) else key]  # scikit-learn asks for [rows, ...]
            return Table(self.names, tuple(column.take(rows) for column in self.columns))
        if key not in self._values:
            self._values[key] = as_column(key, self._column(key))
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def _column(self, name: str) -> Any:
        if name not in self.names:
            raise KeyError(name)
        return self.columns[self.names.index(name)]

    def labels(self, name: str) -> np.ndarray:
        """A column as class labels: texts as they are, whole numbers with all digits.

        Parameters
        ----------
        name : str

        Returns
        -------
        array of str, None if missing
        """
        return label_texts(name, self._column(name))

    def distinct_labels(self, name: str) -> tuple[list[str | None], IntArray]:
        """The different class labels of a column, None if missing, and the position of each row's.

        Parameters
        ----------
        name : str

        Returns
        -------
        list of str or None, and array of shape (n_rows,)
        """
        return _distinct_labels(name, self._column(name))

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
        kept = {name: column for name, column in zip(self.names, self.columns, strict=True) if name not in names}
        return Table(tuple(kept), tuple(kept.values()), self.sha256, self.first_row)


def check_names(names: Sequence[str]) -> None:
    """Raise an error for column names that are empty or appear twice."""
    hints = {len(names): "; do all lines end with a delimiter? remove it", 1: "; is it an index? write the file without it"}
    for position, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise TypeError(f"column names must be texts, but column {position} is named {quoted(name)}")
        if not name.strip():
            raise ParameterError(f"column {position} has no name{hints.get(position, '')}", ignore="")
    name, count = Counter(names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        places = [str(position) for position, other in enumerate(names, start=1) if other == name]
        raise ValueError(f"column name {quoted(name)} appears {count} times (columns {', '.join(places)})")


def as_table(data: Rows, names: Sequence[str] | None = None) -> Table:
    """Convert any form of columns to a Table.

    Parameters
    ----------
    data : Table, frame, object with the Arrow C stream interface, mapping of columns, or array-like of shape (m, n)
        A frame is one of pandas or polars (a LazyFrame is collected); Arrow objects are tables, readers and datasets of
        pyarrow, relations of DuckDB, and others. Types are kept: texts that look like numbers stay texts. Mixed columns become
        texts. A blank text and a masked value of numpy are missing values.
    names : sequence of str, optional
        Names for the columns of an array; by default x0, x1, ...

    Returns
    -------
    Table
    """
    if isinstance(data, Table):
        return data
    if isinstance(data, Mapping):
        return Table(tuple(data), tuple(_one_dimension(name, values) for name, values in data.items()))
    if hasattr(data, "iloc"):  # pandas' own conversion to Arrow refuses mixed columns and adds the index
        frame: Any = data
        columns = (  # texts that Arrow holds stay with it: it tells the different ones much faster
            each.array.__arrow_array__() if getattr(each.dtype, "storage", None) == "pyarrow" else _one_dimension(name, each)
            for name, each in frame.items()
        )
        return Table(tuple(map(str, frame.columns)), tuple(columns))
    if holds_arrow(data):
        from quadric.tables._arrow import stream_of, without_views

        found = without_views(stream_of(data).read_all())
        return Table(tuple(found.column_names), tuple(found.columns))
    try:  # objects, because numpy would convert numbers next to texts to texts
        array = data if isinstance(data, np.ndarray) else np.array(data, dtype=object)
    except ValueError as error:
        raise ValueError(f"cannot read a {type(data).__name__} as a table: {error}") from None
    if array.ndim != 2:
        raise ValueError(f"a table must have two dimensions, got {array.ndim}: pass a frame, a mapping of columns or rows")
    names = default_names(array.shape[1]) if names is None else names
    if len(names) != array.shape[1]:
        raise ValueError(f"the table has {array.shape[1]} columns instead of {len(names)}")
    return Table(tuple(names), tuple(array.T))


def holds_arrow(data: Any) -> bool:
    """Whether an object has the Arrow C stream interface, or is a dataset of pyarrow or a LazyFrame of polars."""
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "scanner") or type(data).__name__ == "LazyFrame"


def as_column(name: str, values: Any) -> np.ndarray:
    """Values as an array of float64, of texts or of datetime64[us]; an error if they are of another type."""
    if _is_arrow_column(values):
        from quadric.tables._arrow import values_of

        return values_of(name, values)
    array = _one_dimension(name, values)
    if array.dtype.kind == "b":
        array = array.astype(object)
    if array.dtype.kind in "iuf":
        return np.ma.filled(array.astype(np.float64, copy=False), np.nan)
    if array.dtype.kind == "M":
        return np.ma.filled(array.astype("datetime64[us]", copy=False), np.datetime64("NaT"))
    if array.dtype.kind not in "OUT":
        raise ValueError(f"column {quoted(name)} is of type {array.dtype}: {CONVERT_OR_IGNORE}")
    values, places = _distinct_objects(array)
    return _typed_column(name, values, array.dtype)[places]


def _typed_column(name: str, values: list[Any], dtype: np.dtype) -> np.ndarray:
    items = [None if is_missing(value) or _is_blank(value) else _without_truth(value) for value in values]
    present = [value for value in items if value is not None]
    if dtype.kind == "O" and not present:
        return text_column(items)  # of a part of a table: what the whole column holds is not known
    if all(isinstance(value, Real) for value in present):
        return np.array([np.nan if value is None else float(value) for value in items])
    if all(isinstance(value, date) for value in present):
        return np.array([_without_zone(value) for value in items], dtype="datetime64[us]")
    other = next((value for value in present if not isinstance(value, str | Real)), None)
    if other is not None:
        raise ValueError(f"column {quoted(name)} holds a {type(other).__name__}: {CONVERT_OR_IGNORE}")
    return text_column([value if value is None or isinstance(value, str) else number_text(float(value)) for value in items])


def _distinct_objects(array: np.ndarray) -> tuple[list[Any], IntArray]:
    """Different values, and the position of each row's: most columns of texts have few. Equal numbers of two types differ."""
    items = array.tolist()
    try:
        pairs = list(zip(map(type, items), items, strict=True))
        position = {pair: place for place, pair in enumerate(dict.fromkeys(pairs))}
        return [value for _, value in position], np.array([position[pair] for pair in pairs], dtype=np.intp)
    except TypeError:  # such as lists, which have no hash
        return items, np.arange(len(items))


def label_texts(name: str, values: Any) -> np.ndarray:
    """Values as class labels: texts as they are, whole numbers with all digits; None if missing.

    Parameters
    ----------
    name : str
        For messages.
    values : array of numpy or Arrow, or sequence

    Returns
    -------
    array of str or None
    """
    names, places = _distinct_labels(name, values)
    return text_column(names)[places]


def _distinct_labels(name: str, values: Any) -> tuple[list[str | None], IntArray]:
    if _is_arrow_column(values):
        from quadric.tables._arrow import distinct_values, exact_values

        distinct, places = distinct_values(values)
        items = exact_values(distinct)
    else:
        distinct, places = _distinct_values(_one_dimension(name, values))
        items = distinct.tolist() if distinct.dtype.kind in "iuO" else []  # whole numbers that float64 need not hold
    column = as_column(name, distinct)
    if column.dtype.kind == "M":
        raise ValueError(f"column {quoted(name)} holds dates: a classifier needs classes")
    items = [None if is_missing(value) or _is_blank(value) else _without_truth(value) for value in items or column.tolist()]
    texts = [item if item is None or isinstance(item, str) else number_text(item) for item in items]
    position = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    return list(position), np.array([position[text] for text in texts], dtype=np.intp)[places]


def _distinct_values(array: np.ndarray) -> tuple[np.ndarray, IntArray]:
    if array.dtype.kind == "O":
        distinct, places = _distinct_objects(array)
        return text_column(distinct), places
    if np.ma.isMaskedArray(array) or array.dtype.kind == "T":
        return array, np.arange(len(array))
    return np.unique(array, return_inverse=True)


def _is_blank(value: Any) -> bool:
    return isinstance(value, str) and not value.strip(BLANKS)


def _without_truth(value: Any) -> Any:
    return str(value) if isinstance(value, bool | np.bool_) else value


def _without_zone(value: Any) -> Any:
    """A date or a moment of another zone in UTC, as numpy wants it."""
    return value.astimezone(UTC).replace(tzinfo=None) if getattr(value, "tzinfo", None) is not None else value


def _is_arrow_column(values: Any) -> bool:
    return type(values).__module__.partition(".")[0] == "pyarrow"


def _one_dimension(name: object, values: Any) -> np.ndarray:
    array = values if isinstance(values, np.ndarray) else np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"column {quoted(name)} must have one dimension, got {array.ndim}")
    return array


def text_column(values: Sequence[Any]) -> np.ndarray:
    """Texts, or any other values, as an array of objects of one dimension."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def is_missing(value: Any) -> bool:
    """None, NaN, pandas' NA and NaT."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, Real | np.datetime64) and bool(value != value)


def holds_whole_numbers(column: FloatArray) -> bool:
    """Whether all values of a numeric column that are not missing are whole numbers."""
    present = column[~np.isnan(column)]
    return bool((np.rint(present) == present).all())


def is_number_text(text: str) -> bool:
    """Whether a text is a number. float() also accepts "1_000" and digits of other scripts, which no export reads."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text and text.isascii()
