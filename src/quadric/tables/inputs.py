"""What is known of the columns of a table, and the features that follow from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class InputColumn:
    """What the encoder knows of a column.

    Attributes
    ----------
    name : str
    type : "number" or "category"
    categories : tuple of str
        Known levels, sorted; empty for numbers.
    dropped : str or None
        The level without a feature of its own, where levels are one-hot.
    fill : float, str or None
        What a missing value counts as; None: it is refused.
    indicator : bool
        Whether a feature says that the value is missing.
    """

    name: str
    type: str
    categories: tuple[str, ...] = ()
    dropped: str | None = None
    fill: float | str | None = None
    indicator: bool = False


@dataclass(frozen=True)
class CodedFeature:
    """How a feature comes from a column.

    Attributes
    ----------
    name : str
    input : int
        Position of the column among the inputs.
    kind : "number", "level", "rank" or "missing"
        The number itself; 1 for one level and 0 for the others; the position of the level; 1 where the value is missing.
    level : str or None
        The level of kind "level".
    """

    name: str
    input: int
    kind: str
    level: str | None = None


def coded_features(inputs: Sequence[InputColumn], coding: str) -> tuple[CodedFeature, ...]:
    """The features of columns, in order.

    Parameters
    ----------
    inputs : sequence of InputColumn
    coding : "onehot" or "ordinal"
    """
    return _unique(feature for i, column in enumerate(inputs) for feature in _features(i, column, coding))


def _features(position: int, column: InputColumn, coding: str) -> list[CodedFeature]:
    if column.type == "number":
        features = [CodedFeature(column.name, position, "number")]
    elif coding == "ordinal":
        features = [CodedFeature(column.name, position, "rank")]
    else:
        levels = [level for level in column.categories if level != column.dropped]
        features = [CodedFeature(f"{column.name}={level}", position, "level", level) for level in levels]
    if column.indicator:
        features.append(CodedFeature(f"{column.name} is missing", position, "missing"))
    return features


def _unique(features: Iterable[CodedFeature]) -> tuple[CodedFeature, ...]:
    """The features, numbered where a name would come twice (a column can be called "home=own" too)."""
    taken: set[str] = set()
    out = []
    for feature in features:
        name, number = feature.name, 1
        while name in taken:
            number += 1
            name = f"{feature.name} ({number})"
        taken.add(name)
        out.append(replace(feature, name=name))
    return tuple(out)
