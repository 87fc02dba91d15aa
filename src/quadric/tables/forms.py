"""Columns of texts that hold numbers or dates in a form of their own: one form for a whole column, found in all its rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from quadric.defaults import MISSING
from quadric.tables.dates import AMBIGUOUS, FORMS, ISO, NUMBER_FORM, chosen_form, iso_text, possible_forms
from quadric.tables.numbers import is_number_form, number_forms, number_in
from quadric.tables.table import Table, number_text, text_column

if TYPE_CHECKING:
    from quadric.tables.parts import TableParts

# Texts that mean a missing value, as those of files do that were read
ABSENT = frozenset(text.lower() for text in MISSING)


@dataclass(frozen=True)
class _Forms:
    """What is possible for each column, None for everything; ``+`` takes further rows into account."""

    possible: tuple[frozenset[str] | None, ...]

    def __add__(self, other: _Forms) -> _Forms:
        pairs = zip(self.possible, other.possible, strict=True)
        return _Forms(tuple(two if one is None else one if two is None else one & two for one, two in pairs))


def _forms_in(table: Table, wanted: Mapping[str, Sequence[str]], dates: Collection[str]) -> _Forms:
    return _Forms(tuple(_possible(name, table, forms, name in dates) for name, forms in wanted.items()))


def _possible(name: str, table: Table, numbers: Sequence[str], is_date: bool) -> frozenset[str] | None:
    texts = _texts(table, name)
    if not texts:  # of a part of the table, of which nothing follows
        return None
    if is_date and all(iso_text(text, NUMBER_FORM) is not None for text in texts):
        return frozenset([NUMBER_FORM])
    fitting = frozenset(form for form in numbers if all(number_in(text, form) is not None for text in texts))
    return fitting | possible_forms(texts) if table[name].dtype == object else fitting


def _texts(table: Table, name: str) -> list[str]:
    if table[name].dtype.kind == "M":
        return []
    bare = (text.strip() for text in table.distinct_labels(name)[0] if text is not None)
    return [text for text in bare if text.lower() not in ABSENT]


def _kind(table: Table, name: str) -> str:
    """O for texts, f for numbers, M for dates; nothing for what others refuse, if it is needed."""
    try:
        return str(table[name].dtype.kind)
    except ValueError:
        return ""


def find_forms(parts: TableParts, names: Collection[str], dates: Collection[str] = ()) -> dict[str, str]:
    """Columns of texts that are dates in other forms than ours, or numbers, by all rows of a table.

    Parameters
    ----------
    parts : TableParts
        Looked at as a whole only if a column may hold such texts by its first rows.
    names : collection of str
        Columns to look at.
    dates : collection of str
        Columns that are dates for certain, so that 20240131 is one too.

    Returns
    -------
    dict
        Names of columns, and forms. Columns whose days and months cannot be told apart are not among them.
    """
    head = parts.head()
    kinds = {name: _kind(head, name) for name in head.names if name in names}
    texts = [name for name, kind in kinds.items() if kind == "O" or (kind == "f" and name in dates)]
    numbers = {name: number_forms(_texts(head, name)) if kinds[name] == "O" and name not in dates else () for name in texts}
    at_first = _forms_in(head, numbers, dates).possible
    suspects = {name: numbers[name] for name, forms in zip(texts, at_first, strict=True) if forms and ISO not in forms}
    found = parts.total(partial(_forms_in, wanted=suspects, dates=tuple(dates))) if suspects else None
    chosen = {}
    for name, forms in zip(suspects, () if found is None else found.possible, strict=True):
        possible = forms or frozenset()
        date = chosen_form(possible.difference(suspects[name]))
        chosen[name] = date or next((form for form in suspects[name] if form in possible), None)
    return {name: form for name, form in chosen.items() if form is not None and form != AMBIGUOUS}


def with_forms(table: Table, forms: Mapping[str, str]) -> Table:
    """A table with the texts of some columns as numbers, or as dates of our form; what does not suit the form stays a text.

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
        if form in FORMS:
            columns[name] = text_column([text and (iso_text(text.strip(), form) or text) for text in texts])[places]
        elif _kind(table, name) == "O":
            columns[name] = _as_numbers(texts, form)[places]
    return Table(table.names, tuple(columns.values()), table.sha256, table.first_row)


def _as_numbers(texts: Sequence[str | None], form: str) -> np.ndarray:
    bare = [None if text is None or text.strip().lower() in ABSENT else text.strip() for text in texts]
    values = [None if text is None else number_in(text, form) for text in bare]
    wrong = any(value is None and text is not None for value, text in zip(values, bare, strict=True))
    if not wrong:
        return np.array(values, dtype=float)
    return text_column([text if value is None else number_text(value) for value, text in zip(values, bare, strict=True)])


def is_form(form: str) -> bool:
    """Whether a text is the form of dates or of numbers."""
    return form in FORMS or is_number_form(form)
