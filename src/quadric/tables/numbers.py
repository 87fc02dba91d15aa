"""Texts that are numbers: with marks between digits, or with the sign of a unit."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from typing import NamedTuple

# Marks of numbers as ``read_table`` takes them, the likelier ones first
NOTATIONS: tuple[dict[str, str], ...] = (
    {"thousands": ","},
    {"decimal": ","},
    {"decimal": ",", "thousands": "."},
    *({**decimal, "thousands": mark} for mark in " '’\u00a0\u202f_" for decimal in ({}, {"decimal": ","})),
)
SIGNS = "%$€£¥"
# A number whose groups of three digits have points between them; a plain number too, if there are two groups
GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")
MARKS = " ,.'’_\u00a0\u202f"
UNIT = re.compile(rf"[{SIGNS}]|\b[A-Z]{{3}}\b")
# A form shows how the number 1234.5 is written, such as "1,234.5" or "$1 234,5". It goes into formulas of exports, so that
# nothing but what is known is one.
_UNIT = f"[{SIGNS}]|[A-Z]{{3}}"
FORM = re.compile(rf"(?:(?P<before>{_UNIT}) ?)?1(?P<thousands>[{MARKS}]?)234(?P<decimal>[.,])5(?: ?(?P<after>{_UNIT}))?")
# Of fewer different texts, three letters before or after a number may be a name: BMW 320
MANY_NUMBERS = 20


def number_pattern(decimal: str = ".", thousands: str | None = None) -> str:
    """Regular expression of a number.

    Parameters
    ----------
    decimal : str
        Decimal mark.
    thousands : str, optional
        Mark between groups of three digits.
    """
    point, whole = re.escape(decimal), "[0-9]+"
    if thousands is not None:
        whole = f"(?:[1-9][0-9]{{0,2}}(?:{re.escape(thousands)}[0-9]{{3}})+|[0-9]+)"
    return f"[+-]?(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?"


def marks_of(text: str) -> dict[str, str]:
    """The marks with which a text is a number, as ``read_table`` takes them; none if there are none.

    Parameters
    ----------
    text : str
    """
    return next((marks for marks in NOTATIONS if re.fullmatch(number_pattern(**marks), text)), {})


def number_forms(texts: Collection[str]) -> tuple[str, ...]:
    """Forms in which all texts are numbers, the likelier ones first; none where texts with leading zeros may be codes.

    Parameters
    ----------
    texts : collection of str
        Of which few may be names, so that plain ones count from many on.
    """
    plain = re.compile(number_pattern())
    marked = next((text for text in texts if not plain.fullmatch(text)), None)
    is_few = len(texts) <= MANY_NUMBERS
    if (marked is None and (is_few or are_grouped(texts))) or any(re.match(r"[+-]?0\d", text) for text in texts):
        return ()
    unit = UNIT.search(marked or "")
    before = after = ""
    if unit is not None and not (is_few and unit[0].isalpha()):
        sign, text = unit[0], unit.string
        if any(map(str.isdigit, text[: unit.start()])):
            after = f" {sign}" if f" {sign}" in text else sign
        else:
            before = f"{sign} " if f"{sign} " in text else sign
    notations = ({},) if marked is None else [marks for marks in NOTATIONS if "thousands" in marks]  # and plain ones
    forms = (f"{before}1{n.get('thousands', '')}234{n.get('decimal', '.')}5{after}" for n in notations)
    return tuple(form for form in forms if all(number_in(text, form) is not None for text in texts))


def are_grouped(texts: Collection[str]) -> bool:
    """Whether the points of plain numbers, if any, may all be marks of thousands.

    Parameters
    ----------
    texts : collection of str
    """
    pointed = [text for text in texts if "." in text]
    return bool(pointed) and all(GROUPED.fullmatch(text) for text in pointed)


def number_in(text: str, form: str) -> float | None:
    """A number that is written in a form, with its unit or without; None if it is not one.

    Parameters
    ----------
    text : str
    form : str
    """
    marks = number_marks(form)
    found = re.fullmatch(marks.pattern, text)
    return None if found is None else float(found[1] + found[2].replace(marks.thousands, "").replace(marks.decimal, "."))


def is_number_form(form: str) -> bool:
    """Whether a text is the form of a number."""
    found = FORM.fullmatch(form)
    return found is not None and found["thousands"] != found["decimal"]


class NumberMarks(NamedTuple):
    """What is written in numbers of a form beside digits; empty where there is nothing.

    Attributes
    ----------
    before, after : str
        A unit.
    thousands, decimal : str
    """

    before: str
    thousands: str
    decimal: str
    after: str

    @property
    def pattern(self) -> str:
        """Regular expression of such a number; its groups are the sign and the rest without the unit."""
        before, after = (f"(?:{re.escape(unit)})?" for unit in (self.before, self.after))
        number = number_pattern(self.decimal, self.thousands or None).removeprefix("[+-]?")
        return rf"([+-]?){before}\s*({number})\s*{after}"


@cache
def number_marks(form: str) -> NumberMarks:
    """The marks of a form."""
    found = FORM.fullmatch(form)
    assert found is not None
    return NumberMarks(**{name: text or "" for name, text in found.groupdict().items()})
