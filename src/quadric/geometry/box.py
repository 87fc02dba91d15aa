"""The values that rows can take, and the smallest slope of a surface over all of them (docs/mathematics.md, section 11).

A column is anywhere between two limits, whatever the others are, except for two kinds of columns that are made from one column
of a table: levels exclude each other, and the flag of a missing value is off while the column that it belongs to moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse

from quadric.geometry.compensated import exact_dot
from quadric.geometry.lifting import column_ends
from quadric.geometry.terms import term_index, term_indices
from quadric.types import BoolArray, FloatArray, IntArray

# Bounds the relative error of a sum of four products, each of them rounded.
ROUNDING = 8.0 * float(np.finfo(float).eps)

# Slopes that differ by less, relative to what they are the sum of, count as equally low; and how many such rows are listed.
BINDING, MOST_ROWS = 1e-11, 64
# Share of the largest possible sum that rounding may leave of one that is zero.
NOTHING = 1e-10


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
        Finite.
    two_valued : boolean array of shape (n,)
        Features that are at one limit or at the other, never between.
    levels : tuple of arrays
        Two-valued features of which at most one is at its upper limit: levels of one text column. All of them at their lower
        limits stand for the level that has no feature.
    flags : mapping of int to int
        Two-valued features that tell that a value is missing, and the feature whose value it is.
    fills : mapping of int to float
        The value that a feature has while its flag is at the upper limit, by feature; without it, any value of its range, which
        is safe but may demand more than the rows can do.
    """

    low: FloatArray
    high: FloatArray
    two_valued: BoolArray
    levels: tuple[IntArray, ...] = ()
    flags: Mapping[int, int] = field(default_factory=dict)
    fills: Mapping[int, float] = field(default_factory=dict)

    @staticmethod
    def of_rows(X: FloatArray, groups: Sequence[IntArray] = (), ends: tuple[FloatArray, FloatArray] | None = None) -> Box:
        """What rows say.

        Parameters
        ----------
        X : array or sparse matrix of shape (m, n)
            In the units of a surface.
        groups : sequence of arrays
            Features that are made from one column: levels of it, where these are two-valued and exclude each other in X; or a
            number and the flag of its gaps, where it has a value in all rows with the flag that
            it has in no other.
        ends : pair of arrays of shape (n,), optional
            Limits of the features that are known without these rows; others are infinite.
        """
        low, high = column_ends(X)
        if ends is not None:
            low, high = (np.where(np.isfinite(own), own, seen) for own, seen in zip(ends, (low, high), strict=True))
        two_valued = np.zeros(len(low), dtype=bool)
        if not issparse(X):  # a feature that is not said to have two values is asked for more, never for less
            two_valued = ((low == X) | (high == X)).all(axis=0) & (low < high)
        levels = [_levels(X, members[two_valued[members]], high) for members in groups]
        flags, fills = dict[int, int](), dict[int, float]()
        for members in groups:
            values = members[~two_valued[members]].tolist()
            for flag in members[two_valued[members]].tolist() if len(values) == 1 else ():
                is_up = X[:, flag] == high[flag]
                imputed, others = X[is_up, values[0]], X[~is_up, values[0]]
                # one row, or a value that other rows have, may be chance
                if len(imputed) > 1 and (imputed == imputed[0]).all() and not (others == imputed[0]).any():
                    flags[flag], fills[values[0]] = values[0], float(imputed[0])
        return Box(low, high, two_valued, tuple(members for members in levels if len(members) > 1), flags, fills)

    @staticmethod
    def of_sums(
        ends: tuple[FloatArray, FloatArray],
        weight: float,
        mean: FloatArray,
        scatter: FloatArray,
        groups: Sequence[IntArray] = (),
    ) -> Box:
        """What sums over rows say.

        Parameters
        ----------
        ends : pair of arrays of shape (n,)
            Limits of the features.
        weight, mean, scatter : float, array of shape (n,), array of shape (n, n)
            Of the features.
        groups :
            As in ``of_rows``.
        """
        low, high = ends
        above, below, width = mean - low, high - mean, high - low
        # a sum of (x - low)(high - x) is zero if and only if every x is at a limit, and one of (x - low)(x' - low') if and only
        # if no two features are at their upper limits together
        two_valued = (weight * above * below - np.diag(scatter) <= NOTHING * weight * width**2) & (width > 0.0)
        together = weight * np.outer(above, above) + scatter > NOTHING * weight * np.outer(width, width)
        levels = [members[two_valued[members]] for members in groups]
        exclusive = [own for own in levels if len(own) > 1 and not np.triu(together[np.ix_(own, own)], 1).any()]
        return Box(low, high, two_valued, tuple(exclusive))

    def with_steps(self, steps: BoolArray) -> Box:
        """The same with any value between its limits for each feature but some."""
        return replace(
            self,
            two_valued=self.two_valued & steps,
            levels=tuple(members for members in self.levels if steps[members].all()),
            flags={flag: feature for flag, feature in self.flags.items() if steps[flag]},
        )

    def held(self, moving: int) -> list[int]:
        """Features that stay at their lower limits while one moves: its flag, and the other levels of its column."""
        flags = [flag for flag, feature in self.flags.items() if feature == moving]
        return flags + [int(j) for members in self.levels if moving in members for j in members if j != moving]


def _levels(X: FloatArray, members: IntArray, high: FloatArray) -> IntArray:
    """Two-valued features as levels of one column, unless rows have several of them."""
    are_levels = len(members) > 0 and (np.sum(X[:, members] == high[members], axis=1) <= 1).all()
    return members if are_levels else members[:0]


class CoefficientBound(NamedTuple):
    """A coefficient of z stays between two limits, which may be infinite."""

    term: int
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class ShapeRules:
    """Rules on the coefficients of one surface, in the units in which its terms are counted.

    Attributes
    ----------
    slopes : tuple of SlopeRule
    bounds : tuple of CoefficientBound
        By the position in the full z.
    box : Box
        What rules on slopes speak of.
    """

    slopes: tuple[SlopeRule, ...]
    bounds: tuple[CoefficientBound, ...]
    box: Box


class LowestSlope(NamedTuple):
    """The smallest s df/dx_c over a box.

    Attributes
    ----------
    slope : float
        Of a two-valued feature: the rise of its step, per unit.
    at : array of shape (n,)
        A row where it is reached: slope = s (W_c'at + b_c). A two-valued c stands at the middle of its step.
    margin : float
        How much lower the true minimum may be, for rounding.
    """

    slope: float
    at: FloatArray
    margin: float

    @property
    def is_proved(self) -> bool:
        """Whether the slope has the demanded sign in the whole box, rounding included."""
        return self.slope >= self.margin


def lowest_slope(rule: SlopeRule, box: Box, row: FloatArray, constant: float) -> LowestSlope:
    """Where the slope along a feature has the wrong sign most, or is nearest to it.

    Parameters
    ----------
    rule : SlopeRule
    box : Box
    row : array of shape (n,)
        Row of the ruled feature in W.
    constant : float
        Its entry in b.

    Returns
    -------
    LowestSlope
    """
    c, low, high = rule.feature, box.low, box.high
    weights = rule.sign * row
    at = np.where(weights > 0.0, low, high)  # the slope is linear in x: each feature takes its worse end (11.1)
    margin = 0.0
    held = box.held(rule.feature)
    at[held] = low[held]
    if box.two_valued[c]:
        at[c] = 0.5 * (low[c] + high[c])  # f(high) - f(low) has W_cc (high + low) / 2 per unit, without half width (11.2)
        margin += ROUNDING * abs(weights[c]) * max(abs(low[c]), abs(high[c]))
    for members in box.levels:
        if c in members:
            continue
        at[members] = low[members]
        rises = weights[members] * (high[members] - low[members])
        best = int(np.argmin(rises))
        if rises[best] < 0.0:
            at[members[best]] = high[members[best]]
            margin += ROUNDING * abs(rises[best])
    for flag, feature in box.flags.items():
        if feature == c or flag == c or feature not in box.fills or not (weights[flag] or weights[feature]):
            continue
        # jointly: off with the worse end of the value, or on with what is imputed (11.3)
        fill = box.fills[feature]
        off, on = np.array([low[flag], at[feature]]), np.array([high[flag], fill])
        pair = weights[[flag, feature]]
        at[[flag, feature]] = on if exact_dot(np.append(pair, -pair), np.append(on, off)) < 0.0 else off
    return LowestSlope(exact_dot(weights, at, rule.sign * constant), at, margin)


def binding_rows(rule: SlopeRule, box: Box, row: FloatArray, constant: float) -> list[FloatArray]:
    """Rows of the box where the slope along a feature is as low as anywhere, up to rounding: some of them, if they are many.

    Parameters
    ----------
    rule, box, row, constant :
        As in ``lowest_slope``.
    """
    lowest = lowest_slope(rule, box, row, constant)
    size = np.abs(row) @ np.maximum(np.abs(box.low), np.abs(box.high)) + abs(constant)
    near, found = lowest.slope + BINDING * size, [lowest.at]
    for base in found:  # grows while it is gone through
        for other in _neighbours(rule, box, row, base):
            is_known = any(np.array_equal(other, each) for each in found)
            if len(found) < MOST_ROWS and not is_known and exact_dot(rule.sign * row, other, rule.sign * constant) <= near:
                found.append(other)
    return found


def _neighbours(rule: SlopeRule, box: Box, row: FloatArray, at: FloatArray) -> Iterator[FloatArray]:
    """Rows of the box that differ from one in a value that the slope depends on, in a level, or in a flag and its value."""
    fixed = {rule.feature} if box.two_valued[rule.feature] else set()
    fixed.update(box.held(rule.feature))
    of_level = {int(j): members for members in box.levels for j in members}
    for feature in set(np.flatnonzero(row).tolist()) - fixed:
        for end in (box.low[feature], box.high[feature]):
            other = at.copy()
            other[of_level.get(feature, [])] = box.low[of_level.get(feature, [])]
            other[feature] = end
            for flag, owner in box.flags.items():  # a flag that is on goes with what is imputed
                if owner in box.fills and owner != rule.feature and feature in (flag, owner):
                    other[flag] = box.high[flag] if feature == flag and end == box.high[flag] else box.low[flag]
                    other[owner] = box.fills[owner] if other[flag] == box.high[flag] else other[owner]
            yield other


def slope_form(feature: int, at: FloatArray) -> tuple[IntArray, FloatArray]:
    """The slope along a feature at a row as a linear form in z: its terms and their factors.

    Parameters
    ----------
    feature : int
    at : array of shape (n,)

    Returns
    -------
    arrays of shape (n + 1,)
        Positions in z of the products of the feature and of its linear term; df/dx_c = sum of factor times coefficient.
    """
    n = len(at)
    terms = np.append(term_indices(feature, np.arange(n), n), term_index(feature, None, n))
    return terms, np.append(at, 1.0)
