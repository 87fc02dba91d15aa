"""Columns as codes of their different values: which are identifiers, and how well each alone tells the classes apart."""

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
from quadric.types import BoolArray, FloatArray, IntArray

# Rows from which on different texts are more than chance
FEWEST_ROWS = 20
# Share of texts that differ from which on they tell rows apart, not groups of rows
MOSTLY_DIFFERENT = 0.95
# Pairs of rows that would share a value if whole numbers were spread at random: none does by chance with exp(-pairs)
CERTAIN, LIKELY = 12.0, 3.0
# What is said of whole numbers in no order. Ranks are like that, too: where there are several such columns, they are ranks
DENSE = "has a different whole number in every row, out of few, as identifiers have"
# Words that make a name that of an identifier, wherever they stand
ID_WORDS = frozenset(["id", "ids", "pid", "uid", "uuid", "guid", "rowid", "rownames", "rownum", "identifier", "unnamed"])
# Those of them that name a person or a thing, which may have several rows
PERSON_WORDS = frozenset(["id", "ids", "pid", "uid", "identifier"])
# The same as the last word: customer_no, but not no_of_children
LAST_WORDS = frozenset(["key", "no", "nr", "nro", "num", "number", "nummer", "serial"])
# Words of which a name of nothing else is one of rows: index, row, record_index
ROW_WORDS = frozenset(["row", "rows", "record", "obs", "observation", "case", "index", "idx"])
# One word that is two: custid, Kundennummer
JOINED = re.compile(
    r"(acc(oun)?t|case|client|cust(omer)?|emp(loyee)?|loan|member|order|passenger|patient|person|policy|record|row|student|"
    r"subject|trans(action)?|user)(id|key|no|nr|num)|.*n(umber|ummer)|[pu]?id(no|nr|num)"
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


def repeats_an_identifier(column: ColumnProfile) -> bool:
    """Whether a column has whole numbers that stand for persons or things, of which there are many, some in several rows.

    Parameters
    ----------
    column : ColumnProfile

    Returns
    -------
    bool
    """
    words = _words(column.name)
    is_joined = bool(words) and words[-1].endswith("id") and JOINED.fullmatch(words[-1]) is not None
    if (
        (PERSON_WORDS.isdisjoint(words) and not is_joined)
        or column.kind != "number"
        or not FEWEST_ROWS <= column.n_values < column.n_present
    ):
        return False
    return bool(np.isfinite(column.values).all() and (np.rint(column.values) == column.values).all())


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


# Numbers are put into so many bins where not their order but their classes are looked at
MOST_BINS = 64
# Rows of each class without which one column proves nothing
FEWEST_OF_CLASS = 5
# Share of rows with a value without which a column does not tell the class of most rows
SMALLEST_SHARE = 0.2
# Logarithm of a likelihood ratio that is no chance
EVIDENCE = 12.0


def column_auc(column: ColumnProfile, y: IntArray, n_classes: int) -> float:
    """The AUC of the best score that is made of one column; of more than two classes, that of the class told worst.

    By the order of numbers and dates; and by the class shares of values, estimated on one half of the rows and judged on the
    other, so that many levels with few rows each prove nothing.

    Parameters
    ----------
    column : ColumnProfile
    y : array of shape (m,)
        Codes of classes.
    n_classes : int

    Returns
    -------
    float
        0.5 where too few rows have a value.
    """
    present = ~column.absent
    in_class = np.bincount(y[present], minlength=n_classes)
    if in_class.min() < FEWEST_OF_CLASS or column.n_present < SMALLEST_SHARE * len(y):
        return 0.5
    codes, labels = column.codes[present], y[present]
    best = 0.5
    if n_classes == 2 and column.kind != "text":
        by_value = _counts(codes, labels, column.n_values, 2).astype(float)
        ordered = _area(by_value[:, 1], by_value[:, 0])
        best = max(ordered, 1.0 - ordered)
    levels, n_levels = codes, column.n_values
    if column.kind != "text" and n_levels > MOST_BINS:
        below = np.cumsum(column.counts) - column.counts
        levels, n_levels = (below * MOST_BINS // column.n_present)[codes], MOST_BINS
    return max(best, _by_shares(levels, labels, n_levels, n_classes))


def _by_shares(levels: IntArray, labels: IntArray, n_levels: int, n_classes: int) -> float:
    """The mean of both halves' AUC, of the class told worst."""
    half = np.random.default_rng(0).permutation(len(levels)) % 2 == 0
    counts = [_counts(levels[rows], labels[rows], n_levels, n_classes).astype(float) for rows in (half, ~half)]
    if min(count.sum(axis=0).min() for count in counts) == 0:
        return 0.5
    return float(np.mean([_areas(*counts), _areas(*counts[::-1])], axis=0).min())


def _areas(learned: FloatArray, judged: FloatArray) -> list[float]:
    """One AUC per class, of the shares that other rows have."""
    base = learned.sum(axis=0) / learned.sum()
    shares = (learned + base) / (learned.sum(axis=1, keepdims=True) + 1.0)
    total, areas = judged.sum(axis=1), []
    for positives, share in zip(judged.T, shares.T, strict=True):
        values, places = np.unique(share, return_inverse=True)
        inside, every = (np.bincount(places, weights=each, minlength=len(values)).astype(float) for each in (positives, total))
        areas.append(_area(inside, every - inside))
    return areas


def _counts(codes: IntArray, labels: IntArray, n_codes: int, n_classes: int) -> IntArray:
    cells: IntArray = np.bincount(codes * n_classes + labels, minlength=n_codes * n_classes)
    return cells.reshape(n_codes, n_classes)


def _area(positives: FloatArray, negatives: FloatArray) -> float:
    """Chance that a positive row has the larger value, from counts by rising values; ties count half."""
    below = np.cumsum(negatives) - negatives
    return float(positives @ (below + negatives / 2.0) / (positives.sum() * negatives.sum()))


def is_disguise(column: ColumnProfile, y: IntArray, n_classes: int) -> bool:
    """Whether each value of a column stands for one class, and each class for one value.

    Parameters
    ----------
    column : ColumnProfile
    y : array of shape (m,)
    n_classes : int

    Returns
    -------
    bool
    """
    if column.n_values != n_classes or column.n_missing > len(y) // 20:
        return False
    present = ~column.absent
    cells = _counts(column.codes[present], y[present], n_classes, n_classes) > 0
    return bool((cells.sum(axis=0) == 1).all() and (cells.sum(axis=1) == 1).all())


def telling_gap(column: ColumnProfile, y: IntArray, n_classes: int) -> tuple[bool, int] | None:
    """What the gaps of a column say of the class.

    Parameters
    ----------
    column : ColumnProfile
    y : array of shape (m,)
    n_classes : int

    Returns
    -------
    tuple (is_missing, class) or None
        Almost all rows in which the value is missing, or in which it is there, are of one class.
    """
    base = np.bincount(y, minlength=n_classes) / len(y)
    for is_missing, rows in ((True, column.absent), (False, ~column.absent)):
        counts = np.bincount(y[rows], minlength=n_classes)
        label, n = int(counts.argmax()), int(counts.sum())
        if n in (0, len(y)):
            continue
        share = counts[label] / n
        if 1.0 - share <= (1.0 - base[label]) / 10.0 and n * np.log(share / base[label]) >= EVIDENCE:
            return is_missing, label
    return None
