"""Dates as numbers of days: the one definition of what counts as a date, and of where the days begin."""

from __future__ import annotations

import re
from datetime import datetime
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
