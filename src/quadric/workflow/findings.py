"""What there is to say about the columns of a table and its classes, one sentence each."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from quadric.errors import MOST_LISTED, ParameterError, listed
from quadric.tables import Table, target_labels
from quadric.tables.dates import AMBIGUOUS, chosen_form, parsed_date, possible_forms
from quadric.tables.marked import Marked
from quadric.tables.suspects import suspect_texts
from quadric.tables.targets import sorted_classes
from quadric.types import FloatArray, IntArray
from quadric.workflow.options import TrainingOptions
from quadric.workflow.profiles import (
    DENSE,
    FEWEST_ROWS,
    ColumnProfile,
    column_auc,
    identifier_words,
    is_disguise,
    is_named_so,
    repeats_an_identifier,
    telling_gap,
)

# AUC from which on one column alone is suspicious
LEAK = 0.995
NEARLY_EMPTY = 0.95
RARE_CLASS, FEW_ROWS = 0.05, 10
# Difference, in units of the bulk of a column, that rounding explains: minutes, and what they cost in cents
ROUNDED = 0.01
# Where a missing value lies, which no value does
MISSING_PLACE = -9.0
# Levels of a column whose products with others are counted
MOST_LEVELS = 100
LONGEST_NAME = 40
# Severities: somebody should look at it, or know of it
LOOK, KNOW = "look", "know"
REPEATED = "repeated identifier"
# What two columns say
EQUAL = {"equal": "the same", "nearly equal": "almost the same"}


@dataclass(frozen=True)
class Finding:
    """One thing about a table.

    Attributes
    ----------
    kind : str
        "identifier", "repeated identifier", "empty", "leak", "disguise", "constant", "nearly empty", "rare levels", "equal",
        "nearly equal", "date", "notation", "ambiguous dates", "unreadable", "target", "imbalance" or "order".
    columns : tuple of str
    words : str
        One sentence with what to do.
    severity : "look" or "know"
    left_out : bool
        Whether ``quadric fit`` leaves the columns out.
    remedies : mapping
        Options that help, with values to try.
    """

    kind: str
    columns: tuple[str, ...]
    words: str
    severity: str = LOOK
    left_out: bool = False
    remedies: Mapping[str, str | tuple[str, ...] | None] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.words

    def recorded(self) -> dict[str, Any]:
        """As plain values.

        Returns
        -------
        dict
        """
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()} | {
            "remedies": {name: list(value) if isinstance(value, tuple) else value for name, value in self.remedies.items()}
        }


@dataclass(frozen=True, eq=False)
class TableView:
    """Columns and classes of the rows that are looked at: those with a class, which a fit would use.

    Attributes
    ----------
    columns : tuple of ColumnProfile
    target : str
    y : array of shape (m,) or None
        Codes of classes; None where the target cannot be used, and all rows are looked at.
    names : tuple of str
        Of the classes.
    n_rows : int
    scale : float
        How many rows of the table each of them stands for.
    options : TrainingOptions
    """

    columns: tuple[ColumnProfile, ...]
    target: str
    y: IntArray | None
    names: tuple[str, ...]
    n_rows: int
    scale: float
    options: TrainingOptions

    @property
    def is_whole(self) -> bool:
        """Whether all rows are looked at."""
        return self.scale == 1.0

    @cached_property
    def identifiers(self) -> dict[str, str]:
        """Names of identifiers, and why they are ones."""
        known = {*self.named, *self.dates, *self.ambiguous, *(name for name in self.suspicions if not is_named_so(name))}
        found = {column.name: identifier_words(column) for column in self.columns if column.name not in known}
        are_ranks = list(found.values()).count(DENSE) > 1
        return {name: words for name, words in found.items() if words is not None and not (are_ranks and words == DENSE)}

    @cached_property
    def ambiguous(self) -> dict[str, str]:
        """Columns of dates whose days and months cannot be told apart, each with one of them."""
        return {
            column.name: min(column.values)
            for column in self._texts(self.named)
            if chosen_form(possible_forms(column.values)) == AMBIGUOUS
        }

    def _texts(self, apart: Collection[str]) -> list[ColumnProfile]:
        return [column for column in self.columns if column.kind == "text" and column.n_values and column.name not in apart]

    @cached_property
    def suspicions(self) -> dict[str, ParameterError]:
        """Columns of texts that most likely are numbers or dates, and what is to be done."""
        texts = self._texts({*self.named, *self.dates, *self.ambiguous})
        found = {column.name: suspect_texts(column.name, column.level_counts) for column in texts}
        return {name: error for name, error in found.items() if error is not None}

    @property
    def named(self) -> set[str]:
        """Columns of which the user has said what they are."""
        return {*self.options.texts, *self.options.dates}

    @cached_property
    def dates(self) -> list[str]:
        """Columns of dates that the user has not named."""
        return [column.name for column in self.columns if column.name not in self.named and _is_date(column)]

    def used(self) -> Iterator[ColumnProfile]:
        """Columns that a fit would use."""
        apart = {name for name in self.identifiers if name not in self.options.keep}
        return (column for column in self.columns if column.name not in apart and column.n_values)


def known_classes(table: Table, target: str, findings: list[Finding]) -> tuple[IntArray | None, tuple[str, ...], Table]:
    """Codes of classes, their names, and the rows that have one; all rows where the target cannot be used."""
    labels = table.labels(target)
    rows = np.flatnonzero([label is not None for label in labels.tolist()])
    n = len(labels) - len(rows)
    if n:
        findings.append(Finding("target", (target,), without_label(target, n)))
    try:
        sorted_classes({*labels[rows].tolist()}, n)
        codes, names = target_labels(labels[rows])
    except ValueError as error:
        findings.append(Finding("target", (target,), str(error)))
        return None, (), table
    return codes, names, table[rows] if n else table


def without_label(target: str, n: int) -> str:
    """What a fit does with so many rows that have no label."""
    return f"the target {quoted(target)} is missing in {n:,} {_rows(n)}, which {'is' if n == 1 else 'are'} left out"


def _identifiers(view: TableView) -> Iterator[Finding]:
    for name, why in view.identifiers.items():
        says = f"column {quoted(name)} {why}, and says nothing about new rows"
        yield Finding("identifier", (name,), says, KNOW, left_out=True, remedies={"keep": name})


def _repeated_identifiers(view: TableView) -> Iterator[Finding]:
    for column in view.used():
        if repeats_an_identifier(column) and column.name not in {*view.options.keep, *view.named, *view.identifiers}:
            words = (
                f"column {quoted(column.name)} is named like an identifier, and its values repeat: rows of one may be alike, "
                "and as a number it says nothing; keep such rows together in the folds, or leave it out"
            )
            yield Finding(REPEATED, (column.name,), words, remedies={"groups": column.name, "ignore": column.name})


def _of_classes(view: TableView) -> Iterator[Finding]:
    if view.y is None:
        return
    y, n_classes, target = view.y, len(view.names), quoted(view.target)
    gaps: dict[tuple[bool, int], list[str]] = {}
    for column in view.used():
        name, remedies = quoted(column.name), {"ignore": column.name}
        if is_disguise(column, y, n_classes):
            words = f"column {name} is the target {target} in other words: leave it out, or the model only repeats it"
            yield Finding("disguise", (column.name,), words, remedies=remedies)
        elif (auc := column_auc(column, y, n_classes)) >= LEAK:
            words = (
                f"column {name} alone predicts the target almost perfectly (AUC {_auc_text(auc)}): "
                f"is it known before {target} is? if not, leave it out"
            )
            yield Finding("leak", (column.name,), words, remedies=remedies)
        elif column.n_missing and (gap := telling_gap(column, y, n_classes)) is not None:
            gaps.setdefault(gap, []).append(column.name)
    for (is_missing, label), names in gaps.items():
        one = len(names) == 1
        columns = f"column {quoted(names[0])}" if one else f"columns {listed([*map(quoted, names)])}"
        state = ("is missing" if one else "are missing") if is_missing else ("has a value" if one else "have values")
        question = (
            f"{'is it' if one else 'are they'} filled in before {target} is known? if not, leave {'it' if one else 'them'} out"
        )
        words = f"{columns} {state} almost only where {target} is {quoted(view.names[label])}: {question}"
        yield Finding("leak", tuple(names), words, remedies={"ignore": names[0] if one else tuple(names[:MOST_LISTED])})


def _auc_text(auc: float) -> str:
    return "1.000" if auc == 1.0 else f"{min(auc, 0.9999):.4f}"


def _empty(view: TableView) -> Iterator[Finding]:
    for column in view.columns:
        name, m = quoted(column.name), len(column.codes)
        if column.n_values == 0:
            words, remedies = f"column {name} has no values: fill it in if it matters", {"ignore": column.name}
            yield Finding("empty", (column.name,), words, LOOK, view.is_whole, {} if view.is_whole else remedies)
        elif column.n_missing > NEARLY_EMPTY * m:
            share = _share(column.n_missing, m)
            words = f"column {name} is missing in {share} of the rows: leave it out unless that says something"
            yield Finding("nearly empty", (column.name,), words, KNOW, remedies={"ignore": column.name})
    constant = tuple(c.name for c in view.columns if c.n_values == 1 and len(c.codes) > 1 and not c.n_missing)
    if constant:
        have = f"column {quoted(constant[0])} has" if len(constant) == 1 else f"columns {listed([*map(quoted, constant)])} have"
        words = f"{have} the same value in every row and cannot help: leave {'it' if len(constant) == 1 else 'them'} out"
        yield Finding("constant", constant, words, KNOW, remedies={"ignore": constant[:MOST_LISTED]})


def _dates_and_notations(view: TableView) -> Iterator[Finding]:
    for name in view.dates:
        words = (
            f"column {quoted(name)} holds dates, which count as days since the first one: leave it out if time must not count"
        )
        yield Finding("date", (name,), words, KNOW, remedies={"ignore": name})
    for name, example in view.ambiguous.items():
        words = (
            f"column {quoted(name)} holds dates such as {quoted(example)}, whose days and months cannot be told apart: "
            "they count as texts unless you write them as 2020-01-31"
        )
        yield Finding("ambiguous dates", (name,), words, remedies={"ignore": name})
    for name, error in view.suspicions.items():
        if name not in view.identifiers:
            words = str(error).replace(repr(name), quoted(name), 1)
            yield Finding("notation", (name,), words, left_out=True, remedies=error.remedies)


def _is_date(column: ColumnProfile) -> bool:
    if column.kind != "text":
        return column.kind == "date" and column.n_values > 0
    return column.n_values > 0 and all(parsed_date(text) is not None for text in column.values)


def _equal(view: TableView) -> Iterator[Finding]:
    first_of: dict[object, ColumnProfile] = {}
    numbers = _NumberCopies(view.n_rows)
    for column in (column for column in view.used() if column.n_values > 1):
        earlier, kind = numbers.earlier(column) if column.kind == "number" else (None, "")
        if earlier is None and (column.kind == "text" or column.n_values <= FEWEST_ROWS):
            earlier, kind = first_of.setdefault(column.marks(), column), "equal"
        if earlier is not None and earlier is not column:
            words = f"columns {quoted(earlier.name)} and {quoted(column.name)} say {EQUAL[kind]}: leave one of them out"
            yield Finding(kind, (earlier.name, column.name), words, KNOW, remedies={"ignore": column.name})


# Value of each row, column
_Seen: TypeAlias = Marked[tuple[FloatArray, ColumnProfile]]


class _NumberCopies:
    """Columns of numbers seen so far, by where they lie between their smallest and largest value, and within their bulk."""

    def __init__(self, n_rows: int) -> None:
        self._seen, self._bulks = _Seen(n_rows), _Seen(n_rows)

    def earlier(self, column: ColumnProfile) -> tuple[ColumnProfile | None, str]:
        """The first column of which this is a multiple plus a constant, exactly or but for rounding, and which of the two."""
        if not np.isfinite(column.values).all():
            return None, ""
        low, span = column.values[0], column.values[-1] - column.values[0]
        shares = (column.values - low) / span if np.isfinite(span) else np.zeros(column.n_values)
        if (found := _first_equal(column, (shares, 1.0 - shares), self._seen, 1e-10)) is not None:
            return found, "equal"
        bulk = _within_bulk(column)
        if bulk is not None and (found := _first_equal(column, (bulk, -bulk), self._bulks, ROUNDED)) is not None:
            return found, "nearly equal"
        return None, ""


def _first_equal(
    column: ColumnProfile, ways: tuple[FloatArray, FloatArray], seen: _Seen, tolerance: float
) -> ColumnProfile | None:
    """The first of the columns seen that has the values of this one, upright or turned; otherwise this one is seen now."""
    upright, turned = (_by_row(column, each) for each in ways)
    for rows in (upright, turned):
        for theirs, earlier in seen.near(rows, tolerance):
            if (np.abs(rows - theirs) <= tolerance).all():
                return earlier
    seen.add(upright, (upright, column))
    return None


def _by_row(column: ColumnProfile, values: FloatArray) -> FloatArray:
    return np.asarray(np.append(values, MISSING_PLACE)[column.codes])


def _within_bulk(column: ColumnProfile) -> FloatArray | None:
    """Values in units of the span of the middle 80 % of the rows, which an outlier does not stretch; cut far outside."""
    low, middle, high = np.quantile(column.values[column.codes[~column.absent]], [0.1, 0.5, 0.9])
    if column.n_values <= FEWEST_ROWS or not 0.0 < high - low < np.inf:
        return None
    return np.asarray(np.clip((column.values - middle) / (high - low), -5.0, 5.0))


def _rare_levels(view: TableView) -> Iterator[Finding]:
    meant = {*view.dates, *view.suspicions}
    texts = [column for column in view.used() if column.kind == "text" and column.name not in meant]
    rare = {column.name: int((column.counts * view.scale < FEW_ROWS).sum()) for column in texts}
    few = {name: count for name, count in rare.items() if count}
    products = sum(_few_products(a, b, view.scale) for a, b in combinations([c for c in texts if c.n_values <= MOST_LEVELS], 2))
    if few or products:
        places = listed([f"{count} in {quoted(name)}" for name, count in few.items()])
        n_levels = sum(few.values())
        levels = f"{n_levels:,} level{'s' * (n_levels != 1)} ({places})" if few else ""
        pairs = f"{products:,} product{'s' * (products != 1)} of two levels" if products else ""
        have = "has" if n_levels + products == 1 else "have"
        what = " and ".join(filter(None, (levels, pairs)))
        words = f"{what} {have} fewer than {FEW_ROWS} rows: do not trust terms of so few rows, or merge levels"
        yield Finding("rare levels", tuple(few), words, KNOW)


def _few_products(first: ColumnProfile, second: ColumnProfile, scale: float) -> int:
    present = (first.codes >= 0) & (second.codes >= 0)
    counts = np.bincount(first.codes[present] * second.n_values + second.codes[present])
    return int(((counts > 0) & (counts * scale < FEW_ROWS)).sum())


def _class_sizes(view: TableView) -> Iterator[Finding]:
    if view.y is None:
        return
    counts = np.bincount(view.y, minlength=len(view.names))
    rarest, m = int(counts.argmin()), int(counts.sum())
    rows = round(int(counts[rarest]) * view.scale)
    if rows < FEW_ROWS or counts[rarest] < RARE_CLASS * m:
        size = f"{rows:,} {_rows(rows)}, {_share(int(counts[rarest]), m)}"
        words = (
            f"class {quoted(view.names[rarest])} of {quoted(view.target)} is rare ({size}): "
            "judge the model by AUC or by costs, not by accuracy"
        )
        severity = LOOK if rows < FEW_ROWS else KNOW
        yield Finding("imbalance", (view.target,), words, severity, remedies={"scoring": "roc_auc", "cutoff": "balanced"})


def _order(view: TableView) -> Iterator[Finding]:
    if view.n_rows < FEWEST_ROWS:
        return
    if view.y is not None and np.count_nonzero(np.diff(view.y)) == len(view.names) - 1:
        words = (
            f"the rows are sorted by the target {quoted(view.target)}: folds are drawn at random all the same, "
            "but leave out columns that follow the order of the rows"
        )
        yield Finding("order", (view.target,), words, KNOW)
    for column in view.columns:
        if column.name in view.dates and column.n_missing == 0 and _in_time_order(column):
            order = f"the rows are in the order of the dates in {quoted(column.name)}"
            words = f"{order}: fit without the latest rows, and judge the model on them"
            yield Finding("order", (column.name,), words, KNOW)


def _in_time_order(column: ColumnProfile) -> bool:
    if column.kind == "text":
        moments = np.array([parsed_date(text) for text in column.values], dtype="datetime64[us]")
        column = replace(column, codes=np.argsort(np.argsort(moments))[column.codes])
    return column.is_sorted()


def quoted(name: str) -> str:
    """A name in quotes, printable and not too long."""
    return repr(name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 3]}...")


def _share(count: int, total: int) -> str:
    return f"{100 * count / total:.3g} %"


def _rows(n: int) -> str:
    return "row" if n == 1 else "rows"


# Each takes a view of a table and yields findings
LOOKS = (
    _identifiers,
    _repeated_identifiers,
    _of_classes,
    _empty,
    _dates_and_notations,
    _equal,
    _rare_levels,
    _class_sizes,
    _order,
)
