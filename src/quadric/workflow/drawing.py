"""Which rows of a table a fit learns from, and which are set aside before anything looks at them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quadric.errors import quoted, refuse_unknown, warn_user
from quadric.samples.folds import key_of
from quadric.samples.source import scattered
from quadric.tables import Table, TableStream
from quadric.tables.dates import days_since
from quadric.tables.forms import find_forms, with_forms
from quadric.tables.inputs import as_dates
from quadric.tables.parts import TableParts, as_parts, gathered
from quadric.types import BoolArray, FloatArray, IntArray
from quadric.workflow.options import OptionError, TrainingOptions, end_of_day

DEVELOPMENT, TEST, LATER = "development", "test", "later"
# Added to the seed of the folds, so that the rows that are set aside have nothing to do with these
SALT = 7919


@dataclass(frozen=True)
class Drawing:
    """How rows are set aside. The same rows in the same order always give the same samples.

    Attributes
    ----------
    target : str
    holdout : float or None
        Share of the rows of each class, or of the groups, in the test sample.
    time_column, after : str or None
        Rows with a date after that day are the later sample.
    groups : str or None
        Column whose equal values stay in the same sample.
    seed : int
    """

    target: str
    holdout: float | None
    time_column: str | None
    after: str | None
    groups: str | None
    seed: int

    @staticmethod
    def of(target: str, options: TrainingOptions) -> Drawing | None:
        """As the options want it; None where no row is set aside.

        Parameters
        ----------
        target : str
        options : TrainingOptions
        """
        if options.holdout is None and options.time_column is None:
            return None
        return Drawing(target, options.holdout, options.time_column, options.after, options.groups, options.seed)

    @staticmethod
    def from_record(target: str | None, options: Mapping[str, Any]) -> Drawing | None:
        """From what a model file says of its options; None where no row was set aside, or where it makes no sense.

        Parameters
        ----------
        target : str or None
        options : mapping
            Anything: anybody can write a file.
        """
        names = ("holdout", "time_column", "after", "groups", "seed")
        try:
            recorded = TrainingOptions(**{name: options[name] for name in names if options.get(name) is not None})
            texts = (target, recorded.time_column, recorded.groups)
            return Drawing.of(str(target), recorded) if all(isinstance(text, str | None) for text in texts) and target else None
        except (ValueError, TypeError):
            return None

    @property
    def columns(self) -> tuple[str, ...]:
        """Those that decide where a row goes."""
        return tuple(name for name in (self.target, self.groups, self.time_column) if name is not None)

    def split(self, table: Table | TableParts) -> dict[str, BoolArray]:
        """Which rows are in which sample; the first is the one to learn from.

        Parameters
        ----------
        table : Table or TableParts

        Returns
        -------
        dict
            Rows without a date are in none.
        """
        parts = as_parts(table)
        names = parts.head().names
        refuse_unknown(self.columns, names, "the table", error=lambda text: OptionError(text, **self._roles))
        if self.time_column is not None and self.time_column in (self.target, self.groups):
            raise OptionError(f"the column {quoted(self.time_column)} cannot be the time as well", time_column=None)
        days = None if self.time_column is None else days_in(parts, self.time_column)
        rows = gathered(parts, names=[name for name in self.columns if name != self.time_column])
        is_later, is_dated = np.zeros(rows.n_rows, dtype=bool), np.ones(rows.n_rows, dtype=bool)
        if days is not None:
            is_later, is_dated = days >= _midnight_after(str(self.after)), ~np.isnan(days)
            _warn_of_undated(str(self.time_column), int((~is_dated).sum()))
        is_test = np.zeros(rows.n_rows, dtype=bool)
        if self.holdout is not None:
            earlier = np.flatnonzero(is_dated & ~is_later)
            is_test[earlier[self._drawn(rows, earlier)]] = True
        found = {DEVELOPMENT: is_dated & ~is_later & ~is_test}
        found |= {TEST: is_test} if self.holdout is not None else {}
        found |= {LATER: is_later} if days is not None else {}
        self._check(found, days)
        return found

    def samples(self, parts: TableParts) -> dict[str, TableParts]:
        """The samples as tables of their own, each as if there were no others.

        Parameters
        ----------
        parts : TableParts
        """
        found = self.split(parts)
        return {name: parts.only(rows) for name, rows in found.items()}

    @property
    def _roles(self) -> dict[str, None]:
        roles = {"target": self.target, "groups": self.groups, "time_column": self.time_column}
        return {role: None for role, name in roles.items() if name is not None}

    def _drawn(self, rows: Table, among: IntArray) -> IntArray:
        """Positions of the test sample: the lowest random numbers, of each class by itself or of whole groups."""
        assert self.holdout is not None
        if self.groups is None:
            numbers, (_, places) = scattered(among + 1, self.seed + SALT), rows.distinct_labels(self.target)
            of_classes = [np.flatnonzero(places[among] == place) for place in np.unique(places[among])]
            return np.concatenate([own[np.argsort(numbers[own])][: round(self.holdout * len(own))] for own in of_classes])
        names, places = rows.distinct_labels(self.groups)
        keys = np.array([key_of(str(name)) for name in names], dtype=np.int64)[places[among]]
        groups, group, sizes = np.unique(keys, return_inverse=True, return_counts=True)
        order = np.argsort(scattered(groups, self.seed + SALT))
        reached = np.cumsum(sizes[order])
        n_drawn = int(np.argmin(np.abs(reached - self.holdout * len(among)))) + 1
        return np.flatnonzero(np.isin(group, order[:n_drawn]))

    def _check(self, found: Mapping[str, BoolArray], days: FloatArray | None) -> None:
        empty = [name for name, rows in found.items() if not rows.any()]
        if not empty:
            return
        if days is None or empty == [TEST]:
            raise OptionError(f"no row is left for the {empty[0]} sample: choose another share", holdout=None)
        first, last = (_date(day) for day in (np.nanmin(days), np.nanmax(days)))
        raise OptionError(f"no row is left for the {empty[0]} sample: the dates are from {first} to {last}", after=None)


def days_in(parts: TableParts, name: str) -> FloatArray:
    """Days since 1970, NaN where there is no date; an error for what is no date.

    Parameters
    ----------
    parts : TableParts
    name : str
        Column of dates.
    """
    dates = gathered(parts, names=[name])
    forms = find_forms(dates, TableStream(dates), [name], [name])
    try:
        days = _since_1970(as_dates(name, with_forms(dates, forms)[name], 1))
    except ValueError as error:
        raise OptionError(str(error), time_column=None) from None
    if np.isnan(days).all():
        raise OptionError(f"the column {quoted(name)} holds no dates", time_column=None)
    return days


def _since_1970(moments: np.ndarray) -> FloatArray:
    return days_since(moments, "1970-01-01")


def _midnight_after(text: str) -> float:
    """The first moment that is after a day, or after a moment of one."""
    return float(_since_1970(np.array([end_of_day(text)], dtype="datetime64[us]"))[0])


def _date(day: float) -> str:
    return str(np.datetime64("1970-01-01") + int(day // 1))


def _warn_of_undated(name: str, count: int) -> None:
    if count:
        rows = "row has" if count == 1 else "rows have"
        warn_user(f"{count:,} {rows} no date in {quoted(name)} and {'is' if count == 1 else 'are'} in no sample")


def set_aside(
    table: Table | TableParts, target: str, options: TrainingOptions, tests: Mapping[str, TableStream]
) -> tuple[Table | TableParts, TrainingOptions, Mapping[str, TableParts]]:
    """The rows to learn from, the options for these, and all other samples.

    Parameters
    ----------
    table : Table or TableParts
    target : str
    options : TrainingOptions
    tests : mapping of names to TableStream
        Tables that are samples of their own.
    """
    drawing = Drawing.of(target, options)
    if drawing is None:
        return table, options, tests
    samples = drawing.samples(as_parts(table))
    ignore = dict.fromkeys([*options.ignore, *([] if drawing.time_column is None else [drawing.time_column])])
    return samples.pop(DEVELOPMENT), replace(options, ignore=tuple(ignore)), {**samples, **tests}
