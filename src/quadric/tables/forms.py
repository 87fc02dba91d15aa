"""Columns of texts that hold numbers or dates in a form of their own: one form for a whole column, found in all its rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from quadric.defaults import MISSING
from quadric.tables.dates import AMBIGUOUS, ISO, NUMBER_FORM, chosen_form, iso_text, possible_forms
from quadric.tables.inputs import in_our_form, is_missing_text, without_missing_texts
from quadric.tables.numbers import number_forms, number_in
from quadric.tables.table import BLANKS, Table

if TYPE_CHECKING:
    from quadric.tables.parts import TableParts


@dataclass(frozen=True)
class _Forms:
    """What is possible for each column, None for everything; ``+`` takes further rows into account."""

    possible: tuple[tuple[str, ...] | None, ...]

    def __add__(self, other: _Forms) -> _Forms:
        pairs = zip(self.possible, other.possible, strict=True)
        return _Forms(tuple(two if one is None else one if two is None else _both(one, two) for one, two in pairs))


def _both(one: tuple[str, ...], two: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(form for form in one if form in two)


def _forms_in(table: Table, wanted: Mapping[str, Sequence[str]], dates: Collection[str], missing: Collection[str]) -> _Forms:
    texts = {name: _texts(table, name, missing) for name in wanted}
    return _Forms(tuple(_possible(table[name], texts[name], forms, name in dates) for name, forms in wanted.items()))


def _possible(column: np.ndarray, texts: Sequence[str], numbers: Sequence[str], is_date: bool) -> tuple[str, ...] | None:
    if not texts:  # of a part of the table, of which nothing follows
        return None
    if is_date and all(iso_text(text, NUMBER_FORM) is not None for text in texts):
        return (NUMBER_FORM,)
    fitting = tuple(form for form in numbers if all(number_in(text, form) is not None for text in texts))
    return (*fitting, *sorted(possible_forms(texts))) if column.dtype == object else fitting


def _texts(table: Table, name: str, missing: Collection[str]) -> list[str]:
    if table[name].dtype.kind == "M":
        return []
    texts = table.distinct_labels(name)[0]
    return [text.strip(BLANKS) for text in texts if text is not None and not is_missing_text(text, missing)]


def _kind(table: Table, name: str) -> str:
    """O for texts, f for numbers, M for dates; nothing for what others refuse, if it is needed."""
    try:
        return str(table[name].dtype.kind)
    except ValueError:
        return ""


def find_forms(
    sample: Table,
    parts: TableParts,
    names: Collection[str],
    dates: Collection[str] = (),
    missing: Collection[str] = MISSING,
) -> dict[str, str]:
    """Columns of texts that are dates in other forms than ours, or numbers, by all rows of a table.

    Parameters
    ----------
    sample : Table
        Some of the rows.
    parts : TableParts
        All rows, looked at only if a column may hold such texts by the sample.
    names : collection of str
        Columns to look at.
    dates : collection of str
        Columns that are dates for certain, so that 20240131 is one too.
    missing : collection of str
        Texts that mean a missing value.

    Returns
    -------
    dict
        Names of columns, and forms. Columns whose days and months cannot be told apart are not among them.
    """
    kinds = {name: _kind(sample, name) for name in sample.names if name in names}
    texts = [name for name, kind in kinds.items() if kind == "O" or (kind == "f" and name in dates)]
    written = {name: _texts(sample, name, missing) for name in texts}
    numbers = {name: number_forms(written[name]) if kinds[name] == "O" and name not in dates else () for name in texts}
    at_first = _forms_in(sample, numbers, dates, missing).possible
    suspects = {name: numbers[name] for name, forms in zip(texts, at_first, strict=True) if forms and ISO not in forms}
    found = parts.total(partial(_forms_in, wanted=suspects, dates=tuple(dates), missing=tuple(missing))) if suspects else None
    chosen = {}
    for name, forms in zip(suspects, () if found is None else found.possible, strict=True):
        possible = forms or ()
        date = chosen_form(set(possible).difference(suspects[name]))
        chosen[name] = date or next((form for form in suspects[name] if form in possible), None)
    return {name: form for name, form in chosen.items() if form is not None and form != AMBIGUOUS}


def with_forms(table: Table, forms: Mapping[str, str], missing: Collection[str] = MISSING) -> Table:
    """A table with the texts of some columns as numbers, or as dates of our form.

    Parameters
    ----------
    table : Table
    forms : mapping
        Names of columns, and forms.
    missing : collection of str
        Texts that mean a missing value.

    Returns
    -------
    Table
    """
    columns = [
        in_our_form(without_missing_texts(table[name], missing), forms[name]) if name in forms else column
        for name, column in zip(table.names, table.columns, strict=True)
    ]
    return Table(table.names, tuple(columns), table.sha256, table.first_row)
