"""Weights of samples and classes, what no sample may have, and labels as texts, in one place for fitting and for judging."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from quadric.defaults import LARGEST_WEIGHT, SMALLEST_WEIGHT
from quadric.errors import ParameterError, quoted, unknown_names
from quadric.types import FloatArray, IntArray

# Floats below this limit represent integers exactly.
EXACT_INTEGERS = 2.0**53


def refuse_masked(**data: Any) -> None:
    """Refuse masked values: they are missing ones, and conversions would lose the mask and use what is behind it.

    Parameters
    ----------
    **data : array-likes
        By the name of the parameter.
    """
    for name, values in data.items():
        parts = values if isinstance(values, list | tuple) else [values]
        count = sum(int(np.ma.getmaskarray(part).sum()) for part in parts if isinstance(part, np.ma.MaskedArray))
        if count:
            raise ValueError(f"Input {name} contains NaN: {count} value(s) are masked; fill them in or drop their rows")


def class_weights(
    class_weight: Mapping[Any, float] | str | None, classes: np.ndarray, codes: IntArray, sample_weight: FloatArray
) -> FloatArray:
    """Factor on the loss of each class.

    Parameters
    ----------
    class_weight : mapping, "balanced" or None
        Classes that a mapping does not name weigh 1. "balanced": inversely to the classes' shares of the sample weight.
    classes : array
    codes : array of shape (m,)
        Position of each sample's class in ``classes``.
    sample_weight : array of shape (m,)
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(f"class_weight must be a dict, 'balanced' or None, not {quoted(class_weight)}")
        totals = np.bincount(codes, weights=sample_weight, minlength=len(classes))
        present = totals > 0.0  # judging may see fewer classes than fitting did
        return np.where(present, totals.sum() / (present.sum() * np.where(present, totals, 1.0)), 1.0)
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight must be a dict, 'balanced' or None, not {quoted(class_weight)}")
    weights = np.array([class_weight.get(label, 1.0) for label in classes.tolist()], dtype=float)
    unknown = [label for label in class_weight if label not in classes.tolist()]
    if unknown:
        known = [str(label) for label in classes.tolist()]
        raise ValueError(f"class_weight: {unknown_names(map(str, unknown), known, 'y', 'class')}")
    if not ((weights >= SMALLEST_WEIGHT) & (weights <= LARGEST_WEIGHT)).all():
        raise ParameterError(
            f"class_weight must hold numbers from {SMALLEST_WEIGHT:g} to {LARGEST_WEIGHT:g}", class_weight=None
        )
    return weights


def number_text(value: float) -> str:
    """A number as people write it: 3, not 3.0."""
    if isinstance(value, int):
        return str(int(value))
    value = float(value)
    return str(int(value)) if value.is_integer() and abs(value) < EXACT_INTEGERS else repr(value)


def class_texts(classes: np.ndarray) -> tuple[str, ...]:
    """The labels of classes as texts."""
    return tuple(number_text(label) if type(label) in (int, float) else str(label) for label in classes.tolist())


def typed_labels(names: Sequence[str]) -> np.ndarray:
    """Labels as pandas reads them: whole numbers or truth values where all names are, else texts."""
    labels = np.array(names)
    if set(names) == {"True", "False"}:
        return labels == "True"
    try:
        numbers = labels.astype(np.int64)
    except (ValueError, OverflowError):
        return labels
    return numbers if np.array_equal(numbers.astype(labels.dtype), labels) else labels


def positions_in(classes: np.ndarray, labels: np.ndarray) -> IntArray:
    """Positions of labels among classes that may be in any order: the positive one of two is the last."""
    order = np.argsort(classes, kind="stable")
    return order[np.searchsorted(classes, labels, sorter=order)]
