"""Smallest changes under caps: a surface does not see how far beyond its cap a value lies.

The values that a feature may take lie below its lower cap, between its caps or above its upper cap. Between them the surfaces
are quadratic, and distance is measured from the row's own value, wherever that is. Beyond a cap they are constant, and only
the allowed value nearest to the row's own can be an answer, at a cost that depends on nothing else: none, where the row stays
what it is. The smallest change is the best over all combinations of these parts. A part beyond a cap counts only where the
cap itself would cost more or is not allowed, so a row between all caps has one combination.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice, product

import numpy as np

from quadric.explain._answers import Start, smallest_change, smallest_common_change
from quadric.explain._branch import TOLERANCE, Answers
from quadric.explain._request import Actions
from quadric.geometry.surface import QuadraticSurface
from quadric.types import BoolArray, FloatArray, IntArray

MOST_COMBINATIONS = 64
"""Of a row; one with more is not proved."""
BELOW, BETWEEN, ABOVE = -1, 0, 1


def smallest_capped_change(
    surfaces: Sequence[QuadraticSurface], start: Start, level: FloatArray, rules: Actions, max_nodes: int
) -> tuple[Answers, FloatArray]:
    """The smallest allowed change after which every surface of the capped rows is at least ``level``, and the changed rows."""
    parts = _Parts.of(start, rules, np.any([surface.live_features for surface in surfaces], axis=0))
    best, moved = Answers.none(*start.V.shape), start.V.copy()
    length = np.full(len(moved), np.inf)
    combinations, unexamined = parts.combinations()
    for combination, rows in combinations:
        problem = parts.problem(combination, rows)
        if len(surfaces) == 1:
            found = smallest_change(surfaces[0], problem.start, level[rows], problem.rules, max_nodes)
        else:
            found = smallest_common_change(surfaces, problem.start, level[rows], problem.rules, max_nodes)
        x = problem.moved(found.change)
        own = np.where(found.reached, rules.distance((x - start.V[rows]) / start.scale), np.inf)
        shorter = np.flatnonzero(own < length[rows])
        kept = rows[shorter]
        length[kept], moved[kept], best.reached[kept] = own[shorter], x[shorter], True
        best.multiplier[kept] = np.where(problem.is_plain[shorter], found.multiplier[shorter], np.nan)
        best.proved[rows] &= found.proved
        best.bound[rows] = np.minimum(best.bound[rows], np.hypot(found.bound, problem.cost))
    best.proved[unexamined], best.bound[unexamined] = False, 0.0
    best.proved[:] |= best.reached & (length <= best.bound * (1.0 + TOLERANCE))
    best.change[:] = (moved - start.V) / start.scale
    return best, moved


@dataclass(frozen=True)
class _Problem:
    """Rows that keep to one combination of parts: where they start between the caps, and what is fixed beyond them."""

    start: Start
    rules: Actions
    fixed: FloatArray
    cost: FloatArray
    is_plain: BoolArray

    def moved(self, change: FloatArray) -> FloatArray:
        """The rows after a change in fitted units."""
        return np.where(np.isnan(self.fixed), self.rules.obeyed(self.start.V, change * self.start.scale), self.fixed)


@dataclass(frozen=True)
class _Parts:
    """The values allowed to the features of each row.

    Attributes
    ----------
    start : Start
    rules : Actions
    between : Actions
        The rules for values between the caps.
    moving : array of bool of shape (n,)
        Features that may change and that matter.
    below, above : arrays of shape (m, n)
        Allowed values beyond a cap that can be part of an answer; NaN where there is none.
    """

    start: Start
    rules: Actions
    between: Actions
    moving: BoolArray
    below: FloatArray
    above: FloatArray

    @staticmethod
    def of(start: Start, rules: Actions, live: BoolArray) -> _Parts:
        low, high = start.caps
        between = replace(rules, lower=np.maximum(rules.lower, low), upper=np.minimum(rules.upper, high))
        moving, (lowest, highest), inner = rules.free & live, rules.ends(start.V), between.ends(start.V)

        def beyond(first: FloatArray, last: FloatArray, cap: FloatArray) -> FloatArray:
            first, last = (np.where(rules.integer, how(end), end) for how, end in ((np.ceil, first), (np.floor, last)))
            nearest = np.clip(np.where(rules.integer, np.rint(start.V), start.V), first, last)
            is_inner = (nearest >= inner[0]) & (nearest <= inner[1])
            return np.where(moving & np.isfinite(cap) & (first <= last) & ~is_inner, nearest, np.nan)

        below = beyond(lowest, np.minimum(highest, low), low)
        return _Parts(start, rules, between, moving, below, beyond(np.maximum(lowest, high), highest, high))

    def combinations(self) -> tuple[list[tuple[IntArray, IntArray]], list[int]]:
        """Combinations of parts with their rows, in order, and the rows that have more combinations than are examined."""
        low, high = self.between.ends(self.start.V)
        options = {BELOW: ~np.isnan(self.below), ABOVE: ~np.isnan(self.above)}
        options[BETWEEN] = (low <= high) | ~(options[BELOW] | options[ABOVE])
        unusual = (options[BELOW] | options[ABOVE]).any(axis=1)
        members = {(BETWEEN,) * low.shape[1]: np.flatnonzero(~unusual).tolist()}
        unexamined = []
        for row in np.flatnonzero(unusual).tolist():
            every = product(*([part for part in options if options[part][row, j]] for j in range(low.shape[1])))
            for combination in islice(every, MOST_COMBINATIONS):
                members.setdefault(combination, []).append(row)
            if next(every, None) is not None:
                unexamined.append(row)
        return [(np.array(parts), np.sort(rows)) for parts, rows in members.items() if rows], unexamined

    def problem(self, combination: IntArray, rows: IntArray) -> _Problem:
        part, caps = self.start.take(rows), self.start.caps
        inside = np.clip(part.V, *caps)
        fixed = np.select([combination == BELOW, combination == ABOVE], [self.below[rows], self.above[rows]], np.nan)
        # where the surfaces see the row: at a cap, or, of what moves between the caps, where it is
        seen = np.select([combination == BELOW, combination == ABOVE, self.moving], [*caps, part.V], inside)
        change = np.where(np.isnan(fixed), 0.0, fixed - part.V)
        return _Problem(
            start=replace(part, U=part.U + (seen - inside) / part.scale),
            rules=replace(self.between, free=self.rules.free & (combination == BETWEEN)),
            fixed=fixed,
            cost=self.rules.distance(change / part.scale),
            is_plain=(inside == part.V)[:, self.moving].all(axis=1) & (combination == BETWEEN).all(),
        )
