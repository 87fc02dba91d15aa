"""Columns of a table, and the features that are made of them: every feature is a function of one column."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, count
from typing import Any, TypeAlias

import numpy as np

from quadric.errors import ParameterError, quoted
from quadric.tables.dates import FORMS, LIKE_THIS, date_text, days_since, iso_text, parsed_date
from quadric.tables.numbers import is_number_form, marks_of, number_in
from quadric.tables.table import BLANKS, is_missing, is_number_text, number_text, text_column
from quadric.types import BoolArray, FloatArray, IntArray

Level: TypeAlias = str | float
# The level that rare and new levels count as: the first that is no level of the column already
OTHERS = ("other", "rare or new")
# Truth values, and how files, databases and spreadsheets write them
TRUTHS = {"true": ("true", "1", "1.0"), "false": ("false", "0", "0.0")}


def is_missing_text(text: str, others: Collection[str] = (), blanks: str = BLANKS) -> bool:
    """Whether a text means a missing value, for encoders and for everything that is exported.

    Parameters
    ----------
    text : str
        Nothing but blanks is always a missing value.
    others : collection of str
        Other texts that mean one, whatever the case of their letters and the blanks around them.
    blanks : str
        Characters that count for nothing before and after a text.

    Returns
    -------
    bool
    """
    bare = text.strip(blanks).lower()
    return not bare or any(bare == other.strip(blanks).lower() for other in others)


@dataclass(frozen=True)
class InputColumn:
    """A column of raw data.

    Attributes
    ----------
    name : str
    type : "number", "category", "date" or "unused"
        "unused": no feature depends on the column.
    categories : tuple of str or float
        Known levels, sorted; empty for a column that is only used as a number.
    dropped : str or None
        The level without a feature of its own, where an encoder made the other levels one-hot; what new levels count as, where
        they are not refused and there is no level ``other``.
    fill : float, str or None
        What the encoder takes in place of a missing value; None: it refuses missing values.
    indicator : bool
        Whether the encoder adds a feature that is 1 where the value is missing.
    origin : str or None
        The day from which the days of a date are counted, such as "2019-03-01".
    missing_texts : tuple of str or None
        Texts that mean a missing value, besides an empty one; blanks around texts then count for nothing. None: texts are
        compared just as they are, as scikit-learn's encoders do, and only the empty one is missing.
    other : str or None
        Name of the level that rare and new levels count as; None: they count as the dropped one.
    grouped : tuple of str
        Rare levels among the categories, which have no features of their own; none where new levels are not refused, since
        rare ones are treated like these.
    form : str or None
        How texts are written that are dates or numbers, where not as we do: one of ``quadric.tables.dates.FORMS``, or the way
        in which 1234.5 is written, such as "$1,234.5".
    """

    name: str
    type: str
    categories: tuple[Level, ...] = ()
    dropped: str | None = None
    fill: Level | None = None
    indicator: bool = False
    origin: str | None = None
    missing_texts: tuple[str, ...] | None = ()
    other: str | None = None
    grouped: tuple[str, ...] = ()
    form: str | None = None

    @property
    def is_written(self) -> bool:
        """Whether values are written as texts: categories and dates."""
        return self.type in ("category", "date")

    @property
    def truths(self) -> dict[str, str]:
        """The level of each spelling of a truth value in lower case; nothing for a column that has other levels."""
        own = {level.lower(): level for level in self.categories if isinstance(level, str)}
        if not own.keys() <= TRUTHS.keys() or len(own) != len(self.categories):
            return {}
        return {spelling: level for truth, level in own.items() for spelling in TRUTHS[truth]}

    @property
    def blanks(self) -> str:
        """Characters that count for nothing before and after a text."""
        return "" if self.missing_texts is None else BLANKS

    def cleaned(self, values: np.ndarray, first_row: int = 1) -> np.ndarray:
        """The values with one form of missing ones (NaN, None or NaT), texts without blanks around them, and dates as such.

        Truth values are spelled as when fitted. An error for a column of another type than then.

        Parameters
        ----------
        values : array of shape (m,)
            A column of a Table.
        first_row : int
            Its number, for messages.

        Returns
        -------
        array of shape (m,)
        """
        values = without_missing_texts(values, self.missing_texts or (), self.blanks)
        if self.form is not None:
            values = without_missing_texts(in_our_form(values, self.form), self.missing_texts or ())
        if self.type == "date":
            return as_dates(self.name, values, first_row)
        if self.type == "number" or not isinstance(next(iter(self.categories), ""), str):
            values = truth_numbers(values)
        elif truths := self.truths:
            values = text_column(
                [None if cell is None else truths.get(cell.lower(), cell) for cell in cells_like(values, truths)]
            )
        if self.missing_texts is None or self.type == "unused":
            return values
        if values.dtype.kind == "M":
            kind = "numbers" if self.type == "number" else "texts"
            raise ValueError(f"column {quoted(self.name)} must hold {kind}, and it holds dates")
        return _as_numbers(self.name, values, first_row) if self.type == "number" else values

    def numbers(self, values: np.ndarray) -> np.ndarray:
        """Cleaned values, of dates the number of days since the origin.

        Parameters
        ----------
        values : array of shape (m,)

        Returns
        -------
        array of shape (m,)
        """
        return values if self.origin is None else days_since(values, self.origin)

    def stand_in(self, n_rows: int) -> np.ndarray:
        """A column of values that every step of the model takes, where the decision does not depend on them.

        Parameters
        ----------
        n_rows : int

        Returns
        -------
        array of shape (n_rows,)
        """
        if self.origin is not None:
            return np.full(n_rows, np.datetime64(self.origin, "us"))
        if self.categories:
            level = self.categories[0]
            return np.full(n_rows, level, dtype=object if isinstance(level, str) else float)
        codes = missing_numbers(self.missing_texts or ())
        return np.full(n_rows, next(float(number) for number in count() if number not in codes))


@dataclass(frozen=True)
class CodedFeature:
    """A feature as a function of one column.

    Attributes
    ----------
    name : str
    input : int
        Position of the column among the inputs.
    kind : "number", "level", "rank" or "missing"
        The number itself; 1 for one level (or several) and 0 for the others; a number per level; 1 where the value is missing.
    level : str, float or None
        The level of kind "level"; None where several count as one.
    codes : tuple of (level, value)
        Value of each known level; not used for kind "number".
    missing : float, str or None
        Value where the column is missing; None: such rows are refused.
    unseen : float or None
        Value of all other levels; None: such rows are refused.
    """

    name: str
    input: int
    kind: str
    level: Level | None = None
    codes: tuple[tuple[Level, float], ...] = ()
    missing: Level | None = None
    unseen: float | None = None


def coded_features(inputs: Sequence[InputColumn], coding: str, unseen: str) -> tuple[CodedFeature, ...]:
    """The features that an encoder makes of columns, in order.

    Parameters
    ----------
    inputs : sequence of InputColumn
    coding : "onehot" or "ordinal"
    unseen : "refuse" or "other"
    """
    return with_unique_names(f for i, column in enumerate(inputs) for f in _features(i, column, coding, unseen != "refuse"))


def _features(position: int, column: InputColumn, coding: str, takes_new: bool) -> list[CodedFeature]:
    levels, fill, unseen = column.categories, column.fill, 0.0 if takes_new else None
    if column.type in ("number", "date"):
        features = [CodedFeature(column.name, position, "number", missing=fill)]
    elif coding == "ordinal":
        ranks = {level: float(rank) for rank, level in enumerate(levels)}
        missing, new = (None if level is None else ranks[level] for level in (fill, column.dropped if takes_new else None))
        features = [CodedFeature(column.name, position, "rank", None, tuple(ranks.items()), missing, new)]
    else:
        features = [
            CodedFeature(
                f"{column.name}={level}",
                position,
                "level",
                level,
                codes=tuple((other, float(other == level)) for other in levels),
                missing=None if fill is None else float(fill == level),
                unseen=unseen,
            )
            for level in levels
            if level != column.dropped and level not in column.grouped
        ]
        if column.other not in (None, column.dropped):
            features.append(
                CodedFeature(
                    f"{column.name}={column.other}",
                    position,
                    "level",
                    codes=tuple((level, float(level in column.grouped)) for level in levels),
                    missing=None if fill is None else float(fill == column.other),
                    unseen=1.0 if takes_new else None,
                )
            )
    if column.indicator:
        present = unseen if column.type == "category" else 0.0
        codes = tuple((level, 0.0) for level in levels)
        features.append(CodedFeature(f"{column.name} is missing", position, "missing", None, codes, 1.0, present))
    return features


def with_unique_names(features: Iterable[CodedFeature]) -> tuple[CodedFeature, ...]:
    """The features, numbered where a name would appear twice (a column can be called "home=own" too)."""
    named: dict[str, CodedFeature] = {}
    for feature in features:
        numbered = chain([feature.name], (f"{feature.name} ({number})" for number in count(2)))
        name = next(name for name in numbered if name not in named)
        named[name] = replace(feature, name=name)
    return tuple(named.values())


def cell_text(value: Any) -> str:
    """A cell of a table as a person writes it.

    Parameters
    ----------
    value : str, number, date or missing value
    """
    if is_missing(value):
        return "missing"
    if isinstance(value, datetime):
        return date_text(value)
    return number_text(float(f"{value:.6g}")) if isinstance(value, float) else str(value)


def missing_cells(column: np.ndarray) -> BoolArray:
    """Where a column of numbers, texts or dates has no value."""
    if column.dtype == object:
        return np.array([value is None or value != value for value in column.tolist()], dtype=bool)
    return np.isnan(column)


def is_form(form: str) -> bool:
    """Whether a text is the form of dates or of numbers."""
    return form in FORMS or is_number_form(form)


def in_our_form(column: np.ndarray, form: str) -> np.ndarray:
    """Texts that are dates of a form as 2024-01-31, or numbers as such; what does not suit the form stays a text.

    Parameters
    ----------
    column : array of shape (m,)
        Of a Table, missing values None, and texts without blanks around them. Numbers that are dates (20240131) become texts,
        dates stay as they are.
    form : str

    Returns
    -------
    array of shape (m,)
    """
    if column.dtype.kind == "M" or (column.dtype.kind == "f" and form not in FORMS):
        return column
    cells = cells_like(column, [""])
    texts = set(cells).difference([None])
    if form in FORMS:
        dates: dict[Any, Any] = {text: iso_text(text, form) or text for text in texts}
        return text_column([dates.get(text) for text in cells])
    numbers: dict[Any, float | None] = {text: number_in(text, form) for text in texts}
    if None in numbers.values():
        written = {text: text if number is None else number_text(number) for text, number in numbers.items()}
        return text_column([written.get(text) for text in cells])
    return np.array([numbers.get(text) for text in cells], dtype=float)


def without_missing_texts(column: np.ndarray, others: Collection[str], blanks: str = BLANKS) -> np.ndarray:
    """A column in which what means a missing value is one, and texts have no blanks around them.

    Parameters
    ----------
    column : array of shape (m,)
        Numbers, texts as objects, or dates.
    others : collection of str
        Texts that mean a missing value; those that are numbers also stand for these numbers.
    blanks : str
        Characters that count for nothing before and after a text.

    Returns
    -------
    array of shape (m,)
    """
    if column.dtype == object:
        values = column.tolist()
        texts = {text for text in values if isinstance(text, str)}  # a Table has None besides them
        bare = {text: text.strip(blanks) for text in texts if not is_missing_text(text, others, blanks)}
        return text_column([bare.get(text) for text in values])
    codes = [] if column.dtype.kind != "f" else missing_numbers(others)
    return np.where(np.isin(column, codes), np.nan, column) if codes else column


def truth_numbers(column: np.ndarray) -> np.ndarray:
    """A column of truth values as 1 and 0; others as they are.

    Parameters
    ----------
    column : array of shape (m,)
        Of a Table, which holds truth values as texts.

    Returns
    -------
    array of shape (m,)
    """
    if column.dtype != object:
        return column
    values = column.tolist()
    numbers = {text: None if text is None else str(text).lower() for text in set(values)}
    if not {None, *TRUTHS}.issuperset(numbers.values()) or set(numbers) == {None}:
        return column
    return np.array([np.nan if numbers[text] is None else float(numbers[text] == "true") for text in values])


def missing_numbers(texts: Collection[str]) -> list[float]:
    """The finite numbers among texts that mean a missing value, such as -999.

    Parameters
    ----------
    texts : collection of str

    Returns
    -------
    list of float
    """
    return [number for number in map(float, filter(is_number_text, texts)) if np.isfinite(number)]


def _as_numbers(name: str, column: np.ndarray, first_row: int) -> np.ndarray:
    """A column of numbers as it is; an error for texts, unless all of them are missing."""
    if column.dtype != object:
        return column
    present = np.flatnonzero(~missing_cells(column)).tolist()
    if present:  # the first text that is no number; where all are numbers, as in a frame of texts, the first
        row = next((row for row in present if not is_number_text(column[row])), present[0])
        words = f"column {quoted(name)} must hold numbers; row {first_row + row} has {quoted(column[row])}"
        if is_number_text(column[row]):
            raise ValueError(f"{words}, a text: convert the column to numbers")
        raise ParameterError(words, **marks_of(column[row]))
    return np.full(len(column), np.nan)


def as_dates(name: str, column: np.ndarray, first_row: int) -> np.ndarray:
    """A column of texts or dates as dates; an error for anything else."""
    if column.dtype.kind == "M":
        return column.astype("datetime64[us]")
    cells = cells_like(column, [""])
    moments = {text: None if text is None else parsed_date(str(text)) for text in set(cells)}
    wrong = [row for row, text in enumerate(cells) if text is not None and moments[text] is None]
    refuse_cells(name, cells, wrong, first_row, "is no date", f"dates are written as {LIKE_THIS}")
    return np.array([moments[text] for text in cells], dtype="datetime64[us]")


def refuse_cells(name: str, cells: Sequence[object], rows: Sequence[int], first_row: int, what: str, advice: str) -> None:
    """Raise an error that shows the first of the cells that are wrong, if there are any."""
    if rows:
        many = f" ({len(rows)} such rows)" if len(rows) > 1 else ""
        raise ValueError(f"column {quoted(name)}, row {first_row + rows[0]}: {quoted(cells[rows[0]])} {what}{many}; {advice}")


def coded_values(column: np.ndarray, features: Sequence[CodedFeature]) -> FloatArray:
    """Features of one column, of shape (m, n_features); NaN where a value is refused.

    Parameters
    ----------
    column : array of shape (m,)
        Numbers, or texts as objects.
    features : sequence of CodedFeature
    """
    position: dict[Level | None, int] = {
        level: i for i, level in enumerate(dict.fromkeys(level for f in features for level, _ in f.codes))
    }
    absent = missing_cells(column)
    is_number = all(feature.kind == "number" for feature in features)  # which needs no look at each cell
    if is_number and len(features) == 1 and not absent.any():
        return column[:, None]
    codes = np.empty(0, dtype=np.intp) if is_number else _level_codes(column, absent, position)
    out = np.empty((len(column), len(features)))
    for j, feature in enumerate(features):
        if feature.kind == "number":
            out[:, j] = np.where(absent, np.nan if feature.missing is None else feature.missing, column)
        else:
            by_level: dict[Level | None, float] = dict(feature.codes)
            values = [*(by_level.get(level, feature.unseen) for level in position), feature.missing, feature.unseen]
            out[:, j] = np.array(values, dtype=float)[codes]  # None becomes NaN
    return out


def _level_codes(column: np.ndarray, absent: BoolArray, position: Mapping[Level | None, int]) -> IntArray:
    """The position of each value, the next number where it is missing, and the one after that for all others."""
    n_levels = len(position)
    codes = np.full(len(column), n_levels + 1)
    if position:  # looked up once, however many features the column has
        codes[:] = [position.get(value, n_levels + 1) for value in cells_like(column, position)]
    codes[absent] = n_levels
    return codes


def cells_like(column: np.ndarray, levels: Iterable[Level | None]) -> list[Any]:
    """The values of a column; numbers and dates are written as texts where the levels are texts."""
    values = column.tolist()
    if column.dtype == object or not any(isinstance(level, str) for level in levels):
        return values
    written = date_text if column.dtype.kind == "M" else number_text
    return [None if value is None or value != value else written(value) for value in values]
