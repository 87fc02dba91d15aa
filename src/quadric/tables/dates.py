"""Dates as numbers of days: what counts as a date, where the days begin, and in which other forms dates are written."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime
from itertools import islice
from typing import Any

import numpy as np

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


_REST = r"(?P<time>[T ].*)?"
# 2024/1/31 and 2024.01.31, 31/1/2024 and 31.01.2024, 1/31/2024, 20240131; a time may follow all but the last.
# 2024-01-31T18:30:00Z, and with +00:00
FORMS = {
    "year first": re.compile(r"(?P<year>\d{4})([-/.])(?P<month>\d{1,2})\2(?P<day>\d{1,2})" + _REST, re.ASCII),
    "day first": re.compile(r"(?P<day>\d{1,2})([-/.])(?P<month>\d{1,2})\2(?P<year>\d{4})" + _REST, re.ASCII),
    "month first": re.compile(r"(?P<month>\d{1,2})([-/.])(?P<day>\d{1,2})\2(?P<year>\d{4})" + _REST, re.ASCII),
    "UTC": re.compile(r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)(?P<time>[T ]\d\d:\d\d.*)(Z|[+]00:00)", re.ASCII),
    "eight digits": re.compile(r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)(?P<time>)", re.ASCII),
}
TEXT_FORMS, NUMBER_FORM = ("year first", "day first", "month first", "UTC"), "eight digits"
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
