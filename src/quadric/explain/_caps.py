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
) -> Answers:
    """Rows after the smallest allowed change that makes every surface of the capped rows at least ``level``."""
    parts = _Parts.of(start, rules, np.any([surface.live_features for surface in surfaces], axis=0))
    best, length = Answers.none(start.V), np.full(len(start.V), np.inf)
    combinations, unexamined = parts.combinations()
    for combination, rows in combinations:
        problem = parts.problem(combination, rows)
        if len(surfaces) == 1:
            found = smallest_change(surfaces[0], problem.start, level[rows], problem.rules, max_nodes)
        else:
            found = smallest_common_change(surfaces, problem.start, level[rows], problem.rules, max_nodes)
        x = problem.moved(found.point)
        own = np.where(found.reached, rules.distance((x - start.V[rows]) / start.scale), np.inf)
        shorter = np.flatnonzero(own < length[rows])
        kept = rows[shorter]
        length[kept], best.point[kept], best.reached[kept] = own[shorter], x[shorter], True
        best.multiplier[kept] = np.where(problem.is_plain[shorter], found.multiplier[shorter], np.nan)
        best.proved[rows] &= found.proved
        best.bound[rows] = np.minimum(best.bound[rows], np.hypot(found.bound, problem.cost))
    best.proved[unexamined], best.bound[unexamined] = False, 0.0
    best.proved[:] |= best.reached & (length <= best.bound * (1.0 + TOLERANCE))
    return best


@dataclass(frozen=True)
class _Problem:
    """Rows that keep to one combination of parts: where they start between the caps, and what is fixed beyond them."""

    start: Start
    rules: Actions
    beyond: IntArray
    fixed: FloatArray
    is_plain: BoolArray

    @property
    def cost(self) -> FloatArray:
        """Length of the change that is fixed."""
        change = (self.fixed - self.start.V[:, self.beyond]) / self.start.scale[self.beyond]
        return self.rules.take(self.beyond).distance(change)

    def moved(self, change: FloatArray) -> FloatArray:
        """The rows after a change in fitted units."""
        x = self.rules.obeyed(self.start.V, change * self.start.scale)
        x[:, self.beyond] = self.fixed
        return x


@dataclass(frozen=True)
class _Parts:
    """The values allowed to the capped features of each row.

    Attributes
    ----------
    start : Start
    between : Actions
        The rules for values between the caps.
    capped : array of int of shape (n',)
        Features with caps that may change and that matter.
    below, above : arrays of shape (m, n')
        Allowed values beyond a cap that can be part of an answer; NaN where there is none.
    is_open : array of bool of shape (m, n')
        Whether values between the caps are allowed.
    """

    start: Start
    between: Actions
    capped: IntArray
    below: FloatArray
    above: FloatArray
    is_open: BoolArray

    @staticmethod
    def of(start: Start, rules: Actions, live: BoolArray) -> _Parts:
        low, high = start.caps
        between = replace(rules, lower=np.maximum(rules.lower, low), upper=np.minimum(rules.upper, high))
        capped = np.flatnonzero(rules.free & live & (np.isfinite(low) | np.isfinite(high)))
        V, low, high, integer = start.V[:, capped], low[capped], high[capped], rules.integer[capped]
        (lowest, highest), inner = rules.take(capped).ends(V), between.take(capped).ends(V)

        def beyond(first: FloatArray, last: FloatArray, cap: FloatArray) -> FloatArray:
            first, last = (np.where(integer, how(end), end) for how, end in ((np.ceil, first), (np.floor, last)))
            nearest = np.clip(np.where(integer, np.rint(V), V), first, last)
            is_inner = (nearest >= inner[0]) & (nearest <= inner[1])
            return np.where(np.isfinite(cap) & (first <= last) & ~is_inner, nearest, np.nan)

        below, above = beyond(lowest, np.minimum(highest, low), low), beyond(np.maximum(lowest, high), highest, high)
        return _Parts(start, between, capped, below, above, inner[0] <= inner[1])

    def combinations(self) -> tuple[list[tuple[IntArray, IntArray]], list[int]]:
        """Combinations of parts with their rows, in order, and the rows that have more combinations than are examined."""
        options = {BELOW: ~np.isnan(self.below), ABOVE: ~np.isnan(self.above)}
        options[BETWEEN] = self.is_open | ~(options[BELOW] | options[ABOVE])
        unusual = (options[BELOW] | options[ABOVE]).any(axis=1)
        members = {(BETWEEN,) * len(self.capped): np.flatnonzero(~unusual).tolist()}
        unexamined = []
        for row in np.flatnonzero(unusual).tolist():
            every = product(*([part for part in options if options[part][row, j]] for j in range(len(self.capped))))
            for combination in islice(every, MOST_COMBINATIONS):
                members.setdefault(combination, []).append(row)
            if next(every, None) is not None:
                unexamined.append(row)
        return [(np.array(parts, dtype=int), np.sort(rows)) for parts, rows in members.items() if rows], unexamined

    def problem(self, combination: IntArray, rows: IntArray) -> _Problem:
        part, capped, away = self.start.take(rows), self.capped, combination != BETWEEN
        low, high = (cap[capped] for cap in self.start.caps)
        V = part.V[:, capped]
        inside = np.clip(V, low, high)
        # where the surfaces see the row: at a cap, or, of what moves between the caps, where it is
        seen = np.select([combination == BELOW, combination == ABOVE], [low, high], V)
        U, free = part.U.copy(), self.between.free.copy()
        U[:, capped] += (seen - inside) / part.scale[capped]
        free[capped[away]] = False
        return _Problem(
            start=replace(part, U=U),
            rules=replace(self.between, free=free),
            beyond=capped[away],
            fixed=np.where(combination == BELOW, self.below[rows], self.above[rows])[:, away],
            is_plain=(inside == V).all(axis=1) & (not away.any()),
        )
