"""A target column as class codes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from quadric.errors import quoted, unknown_names
from quadric.tables.table import is_number_text, label_texts
from quadric.types import IntArray

MOST_CLASSES = 50
MOST_FRACTIONS = 20
"""A target with more distinct values, or with more fractions, is continuous."""


class MissingLabelsError(ValueError):
    """Rows have no label. Errors of the parts of a table add up to that of the table.

    Parameters
    ----------
    count : int
        How many rows.
    first : int
        The number of the first of them.
    """

    def __init__(self, count: int, first: int) -> None:
        super().__init__(f"the target is missing in {count} row(s), the first is row {first}: drop them or fill them in")
        self.count, self.first = count, first

    def __add__(self, other: MissingLabelsError) -> MissingLabelsError:
        return MissingLabelsError(self.count + other.count, min(self.first, other.first))


def refuse_missing_labels(labels: Sequence[str | None], places: IntArray, first_row: int = 1) -> None:
    """Raise an error where a row has no label.

    Parameters
    ----------
    labels : sequence of str or None
        The different ones.
    places : array of shape (m,)
        The position of each row's.
    first_row : int
        The number of the first row.
    """
    rows = np.flatnonzero(np.array([label is None for label in labels], dtype=bool)[places])
    if len(rows):
        raise MissingLabelsError(len(rows), first_row + int(rows[0]))


def target_labels(values: ArrayLike, positive: str | float | None = None) -> tuple[IntArray, tuple[str, ...]]:
    """Encode a target column as class codes.

    Parameters
    ----------
    values : array-like of shape (m,)
        Numbers or texts. Every text is a class of its own: "1", "01" and "1.0" are three. If all texts are numbers, they are
        sorted as numbers. Whole numbers keep all their digits.
    positive : str or number, optional
        Of two classes, the one with positive scores; by default the last in sorted order.

    Returns
    -------
    codes : array of shape (m,)
        Positions in the names.
    names : tuple of str
        Labels as in the column; of two, the positive one is last.
    """
    texts = label_texts("the target", values).tolist()
    refuse_missing_labels(texts, np.arange(len(texts)))
    names = _sorted_names({text for text in texts if text is not None})
    if len(names) < 2:
        problem = f"is {quoted(names[0])} in every row" if names else "has no rows"
        raise ValueError(f"the target {problem}: at least two classes are needed")
    _refuse_continuous(names)
    names = _positive_last(names, None if positive is None else label_texts("positive", [positive])[0])
    position = {name: code for code, name in enumerate(names)}
    return np.array([position[text] for text in texts if text is not None], dtype=np.intp), tuple(names)


def class_position(label: str, names: Sequence[str]) -> int | None:
    """Position of a class that a label names: the one of that text or, if there is none, the only one that is the same number.

    Parameters
    ----------
    label : str
    names : sequence of str

    Returns
    -------
    int or None
    """
    if label in names:
        return names.index(label)
    number = _number(label)
    same = [position for position, name in enumerate(names) if number is not None and _number(name) == number]
    return same[0] if len(same) == 1 else None


def _number(text: str) -> float | None:
    number = float(text) if is_number_text(text) else np.nan
    return number if np.isfinite(number) else None


def _sorted_names(names: set[str]) -> list[str]:
    numbers = {name: _number(name) for name in names}
    if any(number is None for number in numbers.values()):
        return sorted(names)
    return sorted(names, key=lambda name: (numbers[name], name))


def _refuse_continuous(names: list[str]) -> None:
    numbers = [_number(name) for name in names]
    fractions = sum(number is not None and not number.is_integer() for number in numbers)
    if len(names) > MOST_CLASSES or fractions > MOST_FRACTIONS:
        raise ValueError(
            f"the target has {len(names)} different values ({quoted(names[0])} to {quoted(names[-1])}) and looks continuous: "
            "a classifier needs classes, so divide it into a few first"
        )


def _positive_last(names: list[str], positive: str | None) -> list[str]:
    if positive is None:
        return names
    position = class_position(positive, names)
    if position is None:
        raise ValueError(unknown_names([positive], names, "the target", "value"))
    if len(names) > 2:
        raise ValueError(f"a positive value is for two classes, and the target has {len(names)} classes: leave it out")
    return [*names[:position], *names[position + 1 :], names[position]]
