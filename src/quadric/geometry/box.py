"""The values that rows can take: what rules on slopes, and the proofs that they hold, speak of.

A column is somewhere between two limits, whatever the others are, but for two kinds of columns that are made from one column of
a table: levels exclude each other, and the flag of a missing value is off while the column that it belongs to moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from quadric.types import BoolArray, FloatArray, IntArray


class SlopeRule(NamedTuple):
    """f never falls (``sign`` 1) or never rises (-1) along a feature, whatever the values of the others."""

    feature: int
    sign: int


@dataclass(frozen=True, eq=False)
class Box:
    """Values of rows in the units of a surface.

    Attributes
    ----------
    low, high : arrays of shape (n,)
    two_valued : boolean array of shape (n,)
        Features that are at one limit or at the other, never between.
    levels : tuple of arrays
        Two-valued features of which at most one is at its upper limit: levels of one text column. All of them at their lower
        limits stand for the level that has no feature.
    flags : mapping of int to int
        Two-valued features that tell that a value is missing, and the feature whose value it is.
    """

    low: FloatArray
    high: FloatArray
    two_valued: BoolArray
    levels: tuple[IntArray, ...] = ()
    flags: Mapping[int, int] = field(default_factory=dict)
