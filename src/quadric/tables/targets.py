"""A target column as class codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from quadric.errors import quoted, unknown_names
from quadric.tables.table import is_number_text, label_texts
from quadric.types import BoolArray, IntArray

# Classes whose sense is plain, the positive one last; upper and lower case are the same
KNOWN_PAIRS = (
    ("0", "1"),
    ("-1", "1"),
    ("no", "yes"),
    ("n", "y"),
    ("false", "true"),
    ("f", "t"),
    ("off", "on"),
    ("absent", "present"),
    ("negative", "positive"),
    ("neg", "pos"),
    ("good", "bad"),
    ("paid", "default"),
    ("nondefault", "default"),
    ("no default", "default"),
    ("healthy", "sick"),
    ("healthy", "diseased"),
    ("control", "case"),
    ("benign", "malignant"),
    ("normal", "abnormal"),
    ("legit", "fraud"),
    ("legitimate", "fraud"),
    ("ham", "spam"),
    ("stayed", "left"),
    ("stayed", "churned"),
)
MOST_CLASSES = 50
# A target with more distinct values, or with more fractions, is continuous
MOST_FRACTIONS = 20


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


def labelled_rows(labels: Sequence[str | None], places: IntArray) -> BoolArray:
    """Which rows have a label, by the different labels and the position of each row's."""
    return np.array([label is not None for label in labels], dtype=bool)[places]


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
    rows = np.flatnonzero(~labelled_rows(labels, places))
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
        Of two classes, the one with positive scores; by default the one that is positive in a pair of plain sense (1 and 0, yes
        and no, bad and good, ...), else the rarer one, else the last in sorted order.

    Returns
    -------
    codes : array of shape (m,)
        Positions in the names.
    names : tuple of str
        Labels as in the column; of two, the positive one is last.
    """
    texts = label_texts("the target", values).tolist()
    refuse_missing_labels(texts, np.arange(len(texts)))
    names = ordered_classes(Counter(text for text in texts if text is not None), positive)
    position = {name: code for code, name in enumerate(names)}
    return np.array([position[text] for text in texts if text is not None], dtype=np.intp), names


def sorted_classes(names: Iterable[str], n_unlabelled: int = 0) -> tuple[str, ...]:
    """Classes in sorted order, as scikit-learn has them; numbers are sorted as numbers.

    Parameters
    ----------
    names : iterable of str
        Different ones. Fewer than two, or too many, are refused.
    n_unlabelled : int
        Rows without a label that were left out.

    Returns
    -------
    tuple of str
    """
    found = _sorted_names(set(names))
    if len(found) < 2:
        rest = f" that has a label ({n_unlabelled} without one left out)" if n_unlabelled else ""
        absent = "is missing in every row" if n_unlabelled else "has no rows"
        problem = f"is {quoted(found[0])} in every row{rest}" if found else absent
        raise ValueError(f"the target {problem}: at least two classes are needed")
    fractions = sum(number is not None and not number.is_integer() for number in map(_number, found))
    if len(found) > MOST_CLASSES or fractions > MOST_FRACTIONS:
        raise ValueError(
            f"the target has {len(found)} different values ({quoted(found[0])} to {quoted(found[-1])}) and looks continuous: "
            "a classifier needs classes, so divide it into a few first"
        )
    return tuple(found)


def ordered_classes(counts: Mapping[str, int], positive: str | float | None = None) -> tuple[str, ...]:
    """Classes in sorted order, except that the positive one of two is the last.

    Parameters
    ----------
    counts : mapping
        Rows of each class, by its name.
    positive : str or number, optional
        As in :func:`target_labels`.

    Returns
    -------
    tuple of str
    """
    names = sorted_classes(counts)
    if positive is None and len(names) > 2:
        return names
    last = positive_class(counts) if positive is None else label_texts("positive", [positive])[0]
    position = class_position(last, names)
    if position is None:
        raise ValueError(unknown_names([last], names, "the target", "value"))
    if len(names) > 2:
        raise ValueError(f"a positive value is for two classes, and the target has {len(names)} classes: leave it out")
    return (*names[:position], *names[position + 1 :], names[position])


def positive_class(counts: Mapping[str, int]) -> str:
    """The one of two classes that a score is for, where nobody says which.

    Parameters
    ----------
    counts : mapping
        Rows of each class, by its name.

    Returns
    -------
    str
    """
    first, second = _sorted_names(set(counts))
    for negative, positive in KNOWN_PAIRS:
        for pair in ((first, second), (second, first)):
            if _means(pair[0], negative) and _means(pair[1], positive):
                return pair[1]
    return first if counts[first] < counts[second] else second


def _means(name: str, word: str) -> bool:
    """Whether a class is a word or a number, however it is written."""
    number = _number(name)
    return number == _number(word) if number is not None else name.strip().lower().replace("_", " ").replace("-", "") == word


def class_position(label: str, names: Sequence[str]) -> int | None:
    """Position of a class that a label names: the one of that text or, if there is none, the only one of the same value.

    Numbers are the same however they are written, and so are truth values, which are 1 and 0 as well.

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
    value = _value(label)
    same = [position for position, name in enumerate(names) if value is not None and _value(name) == value]
    return same[0] if len(same) == 1 else None


def _value(label: str) -> float | None:
    return {"true": 1.0, "false": 0.0}.get(label.lower(), _number(label))


def _number(text: str) -> float | None:
    number = float(text) if is_number_text(text) else np.nan
    return number if np.isfinite(number) else None


def _sorted_names(names: set[str]) -> list[str]:
    numbers = {name: _number(name) for name in names}
    if any(number is None for number in numbers.values()):
        return sorted(names)
    return sorted(names, key=lambda name: (numbers[name], name))
