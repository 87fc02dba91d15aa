"""Columns as codes of their different values, and what tells identifiers from measurements."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from quadric.tables import Table
from quadric.tables.inputs import is_missing_text, without_missing_texts
from quadric.types import BoolArray, IntArray

# Rows from which on different texts are more than chance
FEWEST_ROWS = 20
# Share of texts that differ from which on they tell rows apart, not groups of rows
MOSTLY_DIFFERENT = 0.95
# Pairs of rows that would share a value if whole numbers were spread at random: none does by chance with exp(-pairs)
CERTAIN, LIKELY = 12.0, 3.0
# What is said of whole numbers in no order. Ranks are like that, too: where there are several such columns, they are ranks
DENSE = "has a different whole number in every row, out of few, as identifiers have"
# Words that make a name that of an identifier, wherever they stand
ID_WORDS = frozenset(["id", "ids", "uuid", "guid", "rowid", "rownames", "rownum", "identifier", "unnamed"])
# The same as the last word: customer_no, but not no_of_children
LAST_WORDS = frozenset(["key", "no", "nr", "nro", "num", "number", "nummer", "serial"])
# Words of which a name of nothing else is one of rows: index, row, record_index
ROW_WORDS = frozenset(["row", "rows", "record", "obs", "observation", "case", "index", "idx"])
# One word that is two: custid, Kundennummer
JOINED = re.compile(
    r"(acc(oun)?t|case|client|cust(omer)?|emp(loyee)?|loan|member|order|passenger|patient|person|policy|record|row|student|"
    r"subject|trans(action)?|user)(id|key|no|nr|num)|.*n(umber|ummer)"
)
# Words of names of times and ranks, which count up like row numbers but mean something
COUNTING_WORDS = frozenset(
    ["year", "month", "week", "day", "date", "time", "hour", "quarter", "period", "age", "t", "jahr", "tag", "rank", "ranking"]
)
WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@dataclass(frozen=True, eq=False)
class ColumnProfile:
    """One column of a table.

    Attributes
    ----------
    name : str
    kind : "number", "text" or "date"
    values : sequence
        The different values that are not missing; sorted, but for texts.
    codes : array of shape (m,)
        The position of each row's value; -1 where it is missing.
    """

    name: str
    kind: str
    values: Any
    codes: IntArray

    @staticmethod
    def of(name: str, table: Table, missing_texts: Collection[str] = ()) -> ColumnProfile:
        """Of a column of a table; an error if it is of a type that cannot be used.

        Parameters
        ----------
        name : str
        table : Table
        missing_texts : collection of str
            Texts that mean a missing value.

        Returns
        -------
        ColumnProfile
        """
        column = table[name]
        if column.dtype == object:
            levels, places = table.distinct_labels(name)
            bare = [None if level is None or is_missing_text(level, missing_texts) else level.strip() for level in levels]
            position = {text: code for code, text in enumerate(dict.fromkeys(text for text in bare if text is not None))}
            codes = np.array([-1 if text is None else position[text] for text in bare], dtype=np.intp)[places]
            return ColumnProfile(name, "text", list(position), codes)
        column = without_missing_texts(column, missing_texts)
        absent = np.isnan(column)
        values, inverse = np.unique(column[~absent], return_inverse=True)
        codes = np.full(len(column), -1)
        codes[~absent] = inverse
        return ColumnProfile(name, "date" if column.dtype.kind == "M" else "number", values, codes)

    @cached_property
    def absent(self) -> BoolArray:
        """Rows without a value."""
        return self.codes < 0

    @cached_property
    def n_missing(self) -> int:
        """Their number."""
        return int(self.absent.sum())

    @property
    def n_present(self) -> int:
        """Number of rows with a value."""
        return len(self.codes) - self.n_missing

    @property
    def n_values(self) -> int:
        """Number of different values."""
        return len(self.values)

    @cached_property
    def counts(self) -> IntArray:
        """Rows of each value."""
        return np.bincount(self.codes[~self.absent], minlength=self.n_values)

    @property
    def level_counts(self) -> Counter[str]:
        """Texts, and how often each of them appears."""
        return Counter(dict(zip(self.values, self.counts.tolist(), strict=True)))

    def is_sorted(self) -> bool:
        """Whether numbers or dates only rise, or only fall, from row to row."""
        steps = np.diff(self.codes[~self.absent])
        return self.n_values > 1 and bool((steps >= 0).all() or (steps <= 0).all())

    def marks(self) -> bytes:
        """The same for columns that are equal up to the names of their values."""
        first = np.full(self.n_values + 1, len(self.codes))
        np.minimum.at(first, self.codes, np.arange(len(self.codes)))
        return np.argsort(np.argsort(first))[self.codes].tobytes() + self.absent.tobytes()


def identifier_words(column: ColumnProfile) -> str | None:
    """Why a column tells rows apart and nothing else; None if it may be a measurement.

    Parameters
    ----------
    column : ColumnProfile

    Returns
    -------
    str or None
        The end of a sentence that begins with the column.
    """
    n, different = column.n_present, column.n_values
    if column.kind == "text":
        if n < FEWEST_ROWS or different < MOSTLY_DIFFERENT * n:
            return None
        every = "in every row" if different == n else f"in {different:,} of {n:,} rows"
        return f"has a different text {every}: it is an identifier or free text"
    if column.kind != "number" or n < 3 or different < n:
        return None
    if not np.isfinite(column.values).all() or (np.rint(column.values) != column.values).any():
        return None
    if is_named_so(column.name):
        return "has a different value in every row and is named like an identifier"
    if not COUNTING_WORDS.isdisjoint(_words(column.name)) or column.n_missing:
        return None
    span = float(column.values[-1] - column.values[0])
    expected, in_order = n * (n - 1) / (2 * (span + 1)), column.is_sorted()
    if in_order and len(set(np.diff(column.values).tolist())) == 1 and n >= 5:
        return "counts the rows"
    if in_order and expected >= LIKELY and n >= FEWEST_ROWS:
        return "rises or falls with every row, as identifiers do"
    return DENSE if expected >= CERTAIN else None


def is_named_so(name: str) -> bool:
    """Whether a name is one of an identifier: id, PassengerId, customer_no, Unnamed: 0.

    Parameters
    ----------
    name : str

    Returns
    -------
    bool
    """
    words = _words(name)
    return bool(words) and (
        not ID_WORDS.isdisjoint(words)
        or words[-1] in LAST_WORDS
        or JOINED.fullmatch(words[-1]) is not None
        or ROW_WORDS.issuperset(words)
    )


def _words(name: str) -> list[str]:
    return [word.lower() for word in WORDS.findall(name)]
