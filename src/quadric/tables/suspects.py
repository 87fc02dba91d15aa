"""Text columns that hold numbers or dates in a notation that was not asked for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from quadric.defaults import MISSING
from quadric.errors import ParameterError, quoted
from quadric.tables.dates import parsed_date
from quadric.tables.numbers import MANY_NUMBERS, NOTATIONS, SIGNS, are_grouped, number_pattern

# A column is meant as numbers, or as dates, if more than this share of its values can be read so
MOSTLY = 0.9
# Numbers in base 16, 8 and 2, in the digits of any script, such as ١٢, and with a minus sign of typography
UNREAD = re.compile(r"[+\u2212-]?(0x[0-9a-f]+|0o[0-7]+|0b[01]+|\d+(\u066c\d{3})*([.,\u066b]\d*)?(e[+-]?\d+)?)", re.IGNORECASE)
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
OTHER_DATE = re.compile(
    r"\d{4}([/.-])\d{1,2}\1\d{1,2}([T ].*)?|\d{1,2}([/.-])\d{1,2}\3\d{4}( .*)?|\d{1,2}([/.-])\d{1,2}\5\d\d|\d{4}[-/]\d\d"
    rf"|\d{{1,2}}[ -]{_MONTH}[ -]\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}}",
    re.IGNORECASE,
)


_NUMBER = rf"(?:{number_pattern('.', ',')}|{number_pattern(',', '.')})"
SIGNED = re.compile(
    rf"[{SIGNS}]\s*{_NUMBER}|{_NUMBER}\s*[{SIGNS}]|[A-Z]{{3}}\s{_NUMBER}|{_NUMBER}\s[A-Z]{{3}}|\({_NUMBER}\)|\u2212?{_NUMBER}"
)


def suspect_texts(name: str, counts: Counter[str]) -> ParameterError | None:
    """The error for a column of texts that most likely are numbers or dates, with the parameters that mend it; else None.

    Parameters
    ----------
    name : str
    counts : Counter
        The texts, and how often each of them appears.
    """
    found = _date_error(counts, name) or _number_error(counts)
    return None if found is None else ParameterError(f"column {quoted(name)} {found}", **found.remedies, texts=name)


def _number_error(counts: Counter[str]) -> ParameterError | None:
    plain = re.compile(number_pattern())
    others = [text for text in counts if not plain.fullmatch(text)]
    if not others:
        return _unread_numbers(counts) if len(counts) > MANY_NUMBERS else None  # a few may be names on purpose
    for marks in NOTATIONS:
        reading = re.compile(number_pattern(**marks))
        read = (text for text in others if reading.fullmatch(text))
        marked = next((text for text in read if "thousands" not in marks or "e" not in text.lower()), None)
        if marked is not None and _mostly(reading.fullmatch, counts):
            words = " and ".join(f"{name}={quoted(mark)}" for name, mark in marks.items())
            wrong = next((text for text in counts if not reading.fullmatch(text)), None)
            # no marks make a number of the other one
            such = quoted(marked) if wrong is None else f"{quoted(marked)}, but also {quoted(wrong)}"
            return ParameterError(f"holds numbers such as {such}, read as texts: read the table with {words}", **marks)
    other = max(others, key=lambda text: counts[text])
    if UNREAD.fullmatch(other) and _mostly(UNREAD.fullmatch, counts):
        return ParameterError(
            f"holds numbers such as {quoted(other)}, read as texts: write them with the digits 0 to 9 in base ten, "
            "such as -12.5"
        )
    if len(counts) <= MANY_NUMBERS:
        return None
    if _mostly(plain.fullmatch, counts):
        return ParameterError(
            f"holds numbers but for texts such as {quoted(other)}: count them as missing values", na=",".join([*MISSING, other])
        )
    if _mostly(SIGNED.fullmatch, counts):
        return ParameterError(f"holds numbers with a sign or a unit, such as {quoted(min(others))}: write them without it")
    return None


def _unread_numbers(counts: Counter[str]) -> ParameterError:
    """For plain numbers among many: the table was read with other marks, or they were texts before."""
    marks = {"thousands" if are_grouped(counts) else "decimal": "."}
    return ParameterError(
        f"holds numbers such as {quoted(min(counts))}, which are texts here: convert them to numbers", **marks
    )


def _date_error(counts: Counter[str], name: str) -> ParameterError | None:
    words = f"holds dates such as {quoted(min(counts, default=None))}"
    if _mostly(parsed_date, counts):
        return ParameterError(f"{words}: turn them into days, or leave the column out", dates=name, ignore=name)
    if _mostly(OTHER_DATE.fullmatch, counts):
        return ParameterError(f"{words}: write them as 2020-01-31, or leave the column out", ignore=name)
    return None


def _mostly(is_meant: Callable[[str], object], counts: Counter[str]) -> bool:
    return sum(count for text, count in counts.items() if is_meant(text)) > MOSTLY * counts.total()
