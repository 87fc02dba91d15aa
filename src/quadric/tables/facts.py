"""What an encoder has to know of a column: facts that merge, so that a table can be read in pieces."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from quadric.errors import ParameterError, quoted
from quadric.tables.dates import days_since, first_day
from quadric.tables.inputs import missing_cells, truth_numbers

# Different texts of a column that are counted; a column with more has no levels anyway
MOST_COUNTED = 100_000


class MixedColumnError(ValueError):
    """A column holds numbers in one part of a table and texts or dates in another."""

    def __init__(self, name: str) -> None:
        super().__init__(f"column {name!r} holds numbers in one part of the table and texts or dates in another")
        self.name = name


@dataclass(frozen=True, eq=False)
class ColumnFacts:
    """Facts about the values of one column.

    Attributes
    ----------
    name : str
    kind : "f", "M", "O" or ""
        Numbers, dates or texts; "": there are no values.
    n_present, n_missing : int
    first_missing : int or None
        The number of the first row without a value.
    mean : float
        Of numbers, or of the days since ``origin``.
    origin : str or None
        The day of the earliest date.
    levels : Counter
        Texts, and how often each of them appears.
    values : tuple of float
        The first three different numbers.
    first_infinite : int or None
        The number of the first row with an infinite number.
    """

    name: str
    kind: str = ""
    n_present: int = 0
    n_missing: int = 0
    first_missing: int | None = None
    mean: float = 0.0
    origin: str | None = None
    levels: Counter[str] = field(default_factory=Counter)
    values: tuple[float, ...] = ()
    first_infinite: int | None = None

    @staticmethod
    def of(name: str, column: np.ndarray, first_row: int) -> ColumnFacts:
        """Of cleaned values, the first of which is in row ``first_row``."""
        absent = missing_cells(column)
        present = column[~absent] if absent.any() else column
        facts = ColumnFacts(
            name,
            column.dtype.kind if len(present) else "",
            len(present),
            len(column) - len(present),
            first_row + int(np.argmax(absent)) if absent.any() else None,
        )
        if len(present) == 0:
            return facts
        if facts.kind == "O":
            return replace(facts, levels=Counter(present.tolist()))
        if facts.kind == "M":
            origin = first_day(present)
            days = days_since(present, origin)
            return replace(facts, origin=origin, mean=float(days.mean()), values=_first_different(days))
        infinite = np.flatnonzero(np.isinf(column))
        return replace(
            facts,
            mean=float(present.mean()) if len(infinite) == 0 else 0.0,
            values=_first_different(present),
            first_infinite=first_row + int(infinite[0]) if len(infinite) else None,
        )

    def __add__(self, other: ColumnFacts) -> ColumnFacts:
        if self.kind and other.kind and self.kind != other.kind:
            raise MixedColumnError(self.name)
        if not self.kind:
            n_missing, first = self.n_missing + other.n_missing, _first(self.first_missing, other.first_missing)
            return replace(other, n_missing=n_missing, first_missing=first)
        origin, shift_self, shift_other = self.origin, 0.0, 0.0
        if self.origin is not None and other.origin is not None:  # days count from the earlier of both
            origin = min(self.origin, other.origin)
            shift_self, shift_other = (_days_between(origin, one.origin) for one in (self, other))
        n_present = self.n_present + other.n_present
        mean, other_mean = self.mean + shift_self, other.mean + shift_other
        values = (*(v + shift_self for v in self.values), *(v + shift_other for v in other.values))
        return ColumnFacts(
            self.name,
            self.kind,
            n_present,
            self.n_missing + other.n_missing,
            _first(self.first_missing, other.first_missing),
            mean + (other.n_present / n_present) * (other_mean - mean),
            origin,
            self.levels if len(self.levels) > MOST_COUNTED else self.levels + other.levels,
            _first_different(np.array(values)),
            _first(self.first_infinite, other.first_infinite),
        )

    def without_truths(self) -> ColumnFacts:
        """Truth values as the numbers that fits to numbers take; other columns as they are."""
        numbers = truth_numbers(np.array([*self.levels], dtype=object))
        if numbers.dtype.kind != "f":
            return self
        mean = float(numbers @ np.array([*self.levels.values()])) / self.n_present
        return replace(self, kind="f", mean=mean, levels=Counter(), values=_first_different(numbers))

    def is_constant(self, *, imputed: bool) -> bool:
        """Whether every row has the same value; a missing one is another unless it is imputed."""
        return len(self.levels if self.kind == "O" else self.values) <= 1 and (imputed or not self.n_missing)

    def refuse_infinite(self) -> None:
        """Raise an error where a number is infinite."""
        if self.first_infinite is not None:
            raise ValueError(
                f"column {quoted(self.name)} is infinite in row {self.first_infinite}: replace or remove such values"
            )

    def refuse_missing(self, **remedies: str) -> None:
        """Raise an error where a value is missing.

        Parameters
        ----------
        **remedies : str
            Parameters that would mend it, where something is fitted.
        """
        if self.n_missing:
            raise ParameterError(
                f"column {quoted(self.name)} is missing in {self.n_missing} row(s), the first is row {self.first_missing} "
                "(empty or NaN): fill it in, drop the rows, or fit with missing='impute' or 'indicator'",
                **remedies,
            )


def _days_between(first: str, second: str | None) -> float:
    return float((np.datetime64(second, "D") - np.datetime64(first, "D")) / np.timedelta64(1, "D"))


def _first(one: int | None, two: int | None) -> int | None:
    return min((row for row in (one, two) if row is not None), default=None)


def _first_different(numbers: np.ndarray) -> tuple[float, ...]:
    values: list[float] = []
    while len(numbers) and len(values) < 3:
        values.append(float(numbers[0]))
        numbers = numbers[numbers != numbers[0]]
    return tuple(values)
