"""Text columns that hold numbers or dates in a notation that was not asked for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from quadric.errors import ParameterError

MISSING = ("", "NA", "NaN", "null", "?")
"""Texts that mean a missing value, unless others are named; upper and lower case are the same."""
MOSTLY = 0.9
"""A column is meant as numbers, or as dates, if more than this share of its values can be read so."""
MANY_NUMBERS = 20
"""With fewer distinct numbers, texts among them may be meant: "1", "2", "other"."""
NOTATIONS = ((".", ","), (",", None), (",", "."), *((decimal, mark) for mark in " '’\u00a0\u202f" for decimal in ".,"))
"""Pairs of a decimal and a thousands mark, the likelier ones first."""
SIGNS = "%$€£¥"
GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")
"""A number whose groups of three digits have points between them; a plain number too, if there are two groups."""
ISO_DATE = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?")
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
OTHER_DATE = re.compile(
    r"\d{4}([/.-])\d{1,2}\1\d{1,2}([T ].*)?|\d{1,2}([/.-])\d{1,2}\3\d{4}( .*)?|\d{1,2}([/.-])\d{1,2}\5\d\d|\d{4}[-/]\d\d"
    rf"|\d{{1,2}}[ -]{_MONTH}[ -]\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}}",
    re.IGNORECASE,
)


def number_pattern(decimal: str = ".", thousands: str | None = None) -> str:
    """Regular expression of a number.

    Parameters
    ----------
    decimal : str
        Decimal mark.
    thousands : str, optional
        Mark between groups of three digits.
    """
    point, whole = re.escape(decimal), r"\d+"
    if thousands is not None:
        whole = rf"(?:[1-9]\d{{0,2}}(?:{re.escape(thousands)}\d{{3}})+|\d+)"
    return rf"[+-]?(?:{whole}(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?"


def suspect_texts(name: str, column: Iterable[str | None]) -> ParameterError | None:
    """The error for a column of texts that most likely are numbers or dates, with the parameters that mend it; else None.

    Parameters
    ----------
    name : str
    column : array of str or None
    """
    found = _date_error(column, name) or _number_error(column)
    return None if found is None else ParameterError(f"column {name!r} {found}", **found.remedies, texts=name)


def _number_error(column: Iterable[str | None]) -> ParameterError | None:
    counts = Counter(text for text in column if text is not None)
    plain = re.compile(number_pattern())
    others = {text for text in counts if not plain.fullmatch(text)}
    if not others:
        return _unread_numbers(counts) if len(counts) > MANY_NUMBERS else None  # a few may be names on purpose
    for decimal, thousands in NOTATIONS:
        reading = re.compile(number_pattern(decimal, thousands))
        read = (text for text in counts if text in others and reading.fullmatch(text))
        marked = next((text for text in read if thousands is None or "e" not in text.lower()), None)
        if marked is not None and _mostly(reading, counts):
            return _wrong_marks(marked, decimal, thousands)
    if len(counts) <= MANY_NUMBERS:
        return None
    if _mostly(plain, counts):
        other = max(others, key=lambda text: counts[text])
        words = f"holds numbers but for texts such as {other!r}: count them as missing values"
        return ParameterError(words, na=",".join([*MISSING, other]))
    if _mostly(_signed(), counts):
        return ParameterError(f"holds numbers with a sign or a unit, such as {min(others)!r}: write them without it")
    return None


def _signed() -> re.Pattern:
    number = rf"(?:{number_pattern('.', ',')}|{number_pattern(',', '.')})"
    return re.compile(
        rf"[{SIGNS}]\s*{number}|{number}\s*[{SIGNS}]|[A-Z]{{3}}\s{number}|{number}\s[A-Z]{{3}}|\({number}\)|\u2212?{number}"
    )


def _unread_numbers(counts: Counter[str]) -> ParameterError:
    """For plain numbers among many: the table was read with other marks, or they were texts before."""
    pointed = [text for text in counts if "." in text]
    grouped = bool(pointed) and all(GROUPED.fullmatch(text) for text in pointed)
    marks = {"thousands": "."} if grouped else {"decimal": "."}
    return ParameterError(f"holds numbers such as {min(counts)!r}, which are texts here: convert them to numbers", **marks)


def _wrong_marks(example: str, decimal: str, thousands: str | None) -> ParameterError:
    marks = {"decimal": decimal if decimal != "." else None, "thousands": thousands}
    named = {name: mark for name, mark in marks.items() if mark is not None}
    words = " and ".join(f"{name}={mark!r}" for name, mark in named.items())
    return ParameterError(f"holds numbers such as {example!r}, read as texts: read the table with {words}", **named)


def _date_error(column: Iterable[str | None], name: str) -> ParameterError | None:
    counts = Counter(text for text in column if text is not None)
    example = min(counts, default=None)
    if _mostly(ISO_DATE, counts):
        return ParameterError(
            f"holds dates such as {example!r}: turn them into days, or leave the column out", dates=name, ignore=name
        )
    if _mostly(OTHER_DATE, counts):
        advice = "write them as 2020-01-31, or leave the column out"
        return ParameterError(f"holds dates such as {example!r}: {advice}", ignore=name)
    return None


def _mostly(pattern: re.Pattern, counts: Counter[str]) -> bool:
    return sum(count for text, count in counts.items() if pattern.fullmatch(text)) > MOSTLY * counts.total()
