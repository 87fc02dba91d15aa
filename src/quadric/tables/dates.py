"""Dates as numbers of days: what counts as a date, where the days begin, and which forms of dates are turned into ours."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from quadric.tables.table import Table, text_column
from quadric.types import FloatArray

# Texts that are dates: 2024-01-31, 2024-01-31 18:30, 2024-01-31T18:30:15.25; without a time zone
ISO_DATE = r"(\d{4})-(\d\d)-(\d\d)(?:[T ]([01]\d|2[0-3]):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?)?"
LIKE_THIS = "2024-01-31 or 2024-01-31 18:30"
DAY = np.timedelta64(86_400_000_000, "us")
# The first and the last moment that a text of this form can name, to the second
WRITTEN = np.array(["0001-01-01", "9999-12-31T23:59:59"], dtype="datetime64[us]")
_ISO_DATE = re.compile(ISO_DATE, re.ASCII)


def parsed_date(text: str) -> datetime | None:
    """The moment that a text names; None if it is no date.

    Parameters
    ----------
    text : str
    """
    try:  # a day that the month does not have, or a 25th hour, is an error
        return datetime.fromisoformat(text) if _ISO_DATE.fullmatch(text) else None
    except ValueError:
        return None


def date_text(moment: Any) -> str:
    """A moment as it is written: the date, and the time where it is not midnight.

    Parameters
    ----------
    moment : datetime or datetime64
    """
    text = str(np.datetime64(moment, "us"))
    date, _, time = text.partition("T")
    return date if time == "00:00:00.000000" else text.removesuffix(".000000")


def first_day(dates: np.ndarray) -> str:
    """The day of the earliest date that is not missing.

    Parameters
    ----------
    dates : array of datetime64
    """
    return str(dates[~np.isnat(dates)].min().astype("datetime64[D]"))


def days_since(dates: np.ndarray, origin: str) -> FloatArray:
    """Days and fractions of days since midnight of a day; NaN where the date is missing.

    Parameters
    ----------
    dates : array of datetime64
    origin : str
        The day.
    """
    return np.asarray((dates.astype("datetime64[us]") - np.datetime64(origin, "us")) / DAY)


def dates_after(days: FloatArray, origin: str) -> np.ndarray:
    """The dates that are so many days after a day, to the microsecond; the first or last that can be written for those beyond.

    Parameters
    ----------
    days : array
    origin : str
    """
    written = np.clip(days, *days_since(WRITTEN, origin))
    steps = np.rint(np.where(np.isnan(days), 0.0, written) * (DAY / np.timedelta64(1, "us"))).astype("timedelta64[us]")
    return np.where(np.isnan(days), np.datetime64("NaT", "us"), np.datetime64(origin, "us") + steps)


if TYPE_CHECKING:
    from quadric.tables.parts import TableParts

_REST = r"(?P<time>[T ].*)?"
# 2024/1/31 and 2024.01.31, 31/1/2024 and 31.01.2024, 1/31/2024, 20240131; a time may follow all but the last
FORMS = {
    "year first": re.compile(r"(?P<year>\d{4})([-/.])(?P<month>\d{1,2})\2(?P<day>\d{1,2})" + _REST, re.ASCII),
    "day first": re.compile(r"(?P<day>\d{1,2})([-/.])(?P<month>\d{1,2})\2(?P<year>\d{4})" + _REST, re.ASCII),
    "month first": re.compile(r"(?P<month>\d{1,2})([-/.])(?P<day>\d{1,2})\2(?P<year>\d{4})" + _REST, re.ASCII),
    "eight digits": re.compile(r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)(?P<time>)", re.ASCII),
}
TEXT_FORMS, NUMBER_FORM = ("year first", "day first", "month first"), "eight digits"
ISO, AMBIGUOUS = "iso", "ambiguous"
_ONE_DIGIT_HOUR = re.compile(r"[T ]\d:")


def iso_text(text: str, form: str) -> str | None:
    """A date of a form as 2024-01-31 or 2024-01-31 18:30; None if it is none.

    Parameters
    ----------
    text : str
    form : str
        One of FORMS.

    Returns
    -------
    str or None
    """
    found = FORMS[form].fullmatch(text)
    if found is None:
        return None
    time = found["time"] or ""
    time = f"{time[0]}0{time[1:]}" if _ONE_DIGIT_HOUR.match(time) else time
    written = f"{found['year']}-{found['month']:0>2}-{found['day']:0>2}{time}"
    return written if parsed_date(written) is not None else None


def possible_forms(texts: Collection[str]) -> frozenset[str]:
    """Forms in which all texts are dates; every form takes dates of ours as well.

    Parameters
    ----------
    texts : collection of str

    Returns
    -------
    frozenset of str
        With "iso" where all are written as we read them; everything for no texts.
    """
    few = islice(texts, 5)  # which tell that most columns hold no dates
    if not all(parsed_date(text) is not None or any(iso_text(text, form) for form in TEXT_FORMS) for text in few):
        return frozenset()
    others = [text for text in texts if parsed_date(text) is None]
    fitting = {form for form in TEXT_FORMS if all(iso_text(text, form) is not None for text in others)}
    return frozenset(fitting if others else {*fitting, ISO})


def chosen_form(possible: Collection[str]) -> str | None:
    """The form that a column has.

    Parameters
    ----------
    possible : collection of str
        Forms in which all of its texts are dates.

    Returns
    -------
    str or None
        "ambiguous" where days and months cannot be told apart; None where there is nothing to convert.
    """
    if ISO in possible or not possible:
        return None
    return AMBIGUOUS if len(possible) > 1 else next(iter(possible))


@dataclass(frozen=True)
class _Forms:
    """What is possible for each column; ``+`` takes further rows into account."""

    possible: tuple[frozenset[str], ...]

    def __add__(self, other: _Forms) -> _Forms:
        return _Forms(tuple(one & two for one, two in zip(self.possible, other.possible, strict=True)))


def _forms_in(table: Table, names: Sequence[str], numbers: Collection[str]) -> _Forms:
    return _Forms(tuple(_possible(name, table, name in numbers) for name in names))


def _possible(name: str, table: Table, may_be_number: bool) -> frozenset[str]:
    if table[name].dtype.kind == "M":
        return frozenset()
    texts = [text.strip() for text in table.distinct_labels(name)[0] if text is not None]
    if not texts:  # of a part of the table, of which nothing follows
        return frozenset([ISO, *FORMS])
    if may_be_number and all(iso_text(text, NUMBER_FORM) is not None for text in texts):
        return frozenset([NUMBER_FORM])
    return possible_forms(texts) if table[name].dtype == object else frozenset()


def _kind(table: Table, name: str) -> str:
    """O for texts, f for numbers, M for dates; nothing for what others refuse, if it is needed."""
    try:
        return str(table[name].dtype.kind)
    except ValueError:
        return ""


def find_date_forms(parts: TableParts, names: Collection[str], dates: Collection[str] = ()) -> dict[str, str]:
    """Columns of dates in other forms than ours, by all rows of a table.

    Parameters
    ----------
    parts : TableParts
        Looked at as a whole only if a column may hold such dates by its first rows.
    names : collection of str
        Columns to look at.
    dates : collection of str
        Columns that are dates for certain, so that 20240131 is one too.

    Returns
    -------
    dict
        Names of columns, and forms. Columns whose days and months cannot be told apart are not among them.
    """
    head, known = parts.head(), tuple(dates)
    texts = [name for name in head.names if name in names and _kind(head, name) in ({"O", "f"} if name in known else {"O"})]
    at_first = _forms_in(head, texts, known).possible if head.n_rows else ()
    suspects = tuple(name for name, forms in zip(texts, at_first, strict=False) if forms and forms != {ISO, *TEXT_FORMS})
    found = parts.total(partial(_forms_in, names=suspects, numbers=known)) if suspects else None
    chosen = zip(suspects, map(chosen_form, found.possible), strict=True) if found is not None else ()
    return {name: form for name, form in chosen if form is not None and form != AMBIGUOUS}


def with_iso_dates(table: Table, forms: Mapping[str, str]) -> Table:
    """A table with the dates of some columns as texts of our form; what is no date of the column's form stays as it is.

    Parameters
    ----------
    table : Table
    forms : mapping
        Names of columns, which the table need not have, and forms.

    Returns
    -------
    Table
    """
    named = {name: form for name, form in forms.items() if name in table.names and _kind(table, name) in {"O", "f"}}
    if not named:
        return table
    columns = dict(zip(table.names, table.columns, strict=True))
    for name, form in named.items():
        texts, places = table.distinct_labels(name)
        columns[name] = text_column([text and (iso_text(text.strip(), form) or text) for text in texts])[places]
    return Table(table.names, tuple(columns.values()), table.sha256, table.first_row)
