"""Smallest changes: one surface exactly, rules by branch and bound, several surfaces by their relaxations.

A surface does not see how far beyond its cap a value lies: the values that a feature may take lie below its lower cap,
between its caps or above its upper cap. Between them the surfaces are quadratic, and distance is measured from the row's own
value, wherever that is. Beyond a cap they are constant, and only the allowed value nearest to the row's own can be an answer,
at a cost that depends on nothing else: none, where the row stays what it is. The smallest change is the best over all
combinations of these parts. A part beyond a cap counts only where the cap itself would cost more or is not allowed, so a row
between all caps has one combination.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice, product

import numpy as np
from scipy.optimize import minimize

from quadric.explain._boxed import Goal
from quadric.explain._branch import TOLERANCE, nearest_in_box
from quadric.explain._nearest import Answers, nearest
from quadric.explain._request import ROUNDING, Actions
from quadric.geometry.surface import QuadraticSurface
from quadric.samples.units import Units
from quadric.tables import Table
from quadric.types import BoolArray, FloatArray, IntArray

# Fraction of the absolute terms by which a general solver may miss a constraint.
SHORT = 1e-10
# Of a row; one with more is not proved.
MOST_COMBINATIONS = 64
BELOW, BETWEEN, ABOVE = -1, 0, 1


@dataclass(frozen=True)
class Start:
    """Rows to change, in reported and in fitted units, what is between the two, and the rows as they came."""

    V: FloatArray
    U: FloatArray
    units: Units
    cases: Table | FloatArray
    missing: BoolArray

    def take(self, rows: IntArray) -> Start:
        if len(rows) == len(self.V):  # rows come in increasing order: all of them
            return self
        V = self.V[rows]
        cases = V if self.cases is self.V else self.cases[rows]
        return Start(V, self.U[rows], self.units, cases, self.missing[rows])


def smallest_change(surface: QuadraticSurface, start: Start, level: FloatArray, rules: Actions, max_nodes: int) -> Answers:
    """The smallest allowed change after which the surface is at least ``level``; a local optimum where it is not proved."""
    U, m = start.U, len(start.U)
    moving = rules.free & surface.live_features
    missing = level - surface(U)
    needed = (missing > 0.0) | rules.broken(start.V, moving)
    answers = Answers(np.zeros_like(U), ~needed, np.ones(m, dtype=bool), np.where(needed, np.inf, 0.0), np.full(m, np.nan))
    rows = np.flatnonzero(needed)
    if len(rows) == 0 or not moving.any():
        return answers
    unit, part = np.sqrt(rules.weight[moving]), start.take(rows)
    goal = Goal(
        A=surface.W[np.ix_(moving, moving)] / np.outer(unit, unit),
        a=surface.gradient(part.U)[:, moving] / unit,
        r=missing[rows],
        size=((np.abs(part.U) @ np.abs(surface.W) + np.abs(surface.b))[:, moving] / unit).max(axis=1),
    )
    if (rules.bounded & moving).any():
        found = nearest_in_box(goal, rules.box(part.V, part.units.scale, moving), max_nodes)
    else:
        found = nearest(goal.A, goal.a, goal.r, goal.size)
    change = np.zeros_like(part.U)
    change[:, moving] = found.point / unit
    answers.put(rows, replace(found, point=change))
    for row in np.flatnonzero(answers.reached & ~answers.proved):
        case = _Case((surface,), start.take(np.array([row])), float(level[row]), rules)
        answers.point[row] = case.shortest([answers.point[row], case.local_optimum(answers.point[row])])
    return answers


def smallest_common_change(
    surfaces: Sequence[QuadraticSurface], start: Start, level: FloatArray, rules: Actions, max_nodes: int
) -> Answers:
    """A small allowed change after which every surface is at least ``level``.

    Each surface alone gives a lower bound; the answer to the one with the largest bound is proved smallest where it serves the
    others too. Elsewhere the best local optimum from these answers is taken, and is proved only if it meets the bound.
    """
    alone = [smallest_change(surface, start, level, rules, max_nodes) for surface in surfaces]
    bound = np.max([answers.bound for answers in alone], axis=0)
    hopeless = np.any([~answers.reached & answers.proved for answers in alone], axis=0)
    best = Answers(np.zeros_like(start.U), np.zeros_like(hopeless), hopeless.copy(), bound, np.full(len(bound), np.nan))
    for row in np.flatnonzero(~hopeless):
        case = _Case(surfaces, start.take(np.array([row])), float(level[row]), rules)
        near_enough = bound[row] * (1.0 + TOLERANCE)
        changes = [answers.point[row] for answers in alone if answers.reached[row]]
        if not any(case.served_by(change) and case.length(change) <= near_enough for change in changes):
            changes += [case.local_optimum(change) for change in changes]
        changes = [change for change in changes if case.served_by(change)]
        if changes:
            best.point[row], best.reached[row] = case.shortest(changes), True
            best.proved[row] = case.length(best.point[row]) <= near_enough
    return best


@dataclass(frozen=True)
class _Case:
    """One row that all surfaces are to lift to a level."""

    surfaces: Sequence[QuadraticSurface]
    start: Start
    level: float
    rules: Actions

    def length(self, change: FloatArray) -> float:
        return float(self.rules.distance(change[None])[0])

    def served_by(self, change: FloatArray) -> bool:
        moved = self.start.U + change
        return all(surface(moved)[0] >= self.level - ROUNDING * surface.magnitude(moved)[0] for surface in self.surfaces)

    def shortest(self, changes: Sequence[FloatArray]) -> FloatArray:
        """The shortest change that serves; the first if none does."""
        return min([change for change in changes if self.served_by(change)] or changes[:1], key=self.length)

    def local_optimum(self, change: FloatArray) -> FloatArray:
        """Where a general solver gets to from a change; integers stay as they are."""
        moving = self.rules.free & ~self.rules.integer & np.any([surface.live_features for surface in self.surfaces], axis=0)
        V, U, scale = self.start.V, self.start.U, self.start.units.scale
        low, high = (np.where(moving, (end - V)[0] / scale, change) for end in self.rules.ends(V))
        # a little more than needed: the solver may stop that much short
        level = self.level + SHORT * max(surface.magnitude(U)[0] for surface in self.surfaces)
        constraints = [
            {
                "type": "ineq",
                "fun": lambda d, surface=surface: surface(U + d)[0] - level,
                "jac": lambda d, surface=surface: surface.gradient(U + d)[0],
            }
            for surface in self.surfaces
        ]
        found = minimize(
            lambda d: 0.5 * self.rules.weight @ d**2,
            np.clip(change, low, high),
            jac=lambda d: self.rules.weight * d,
            bounds=np.column_stack([low, high]),
            constraints=constraints,
            method="SLSQP",
            options={"maxiter": 200, "ftol": 1e-14},
        )
        return np.clip(found.x, low, high)


def smallest_capped_change(
    surfaces: Sequence[QuadraticSurface], start: Start, level: FloatArray, rules: Actions, max_nodes: int
) -> Answers:
    """Rows after the smallest allowed change that makes every surface of the capped rows at least ``level``."""
    parts = _Parts.of(start, rules, np.any([surface.live_features for surface in surfaces], axis=0))
    best, length = Answers.none(start.V), np.full(len(start.V), np.inf)
    combinations, unexamined = parts.combinations()
    for combination, rows in combinations:
        found = parts.solved(combination, rows, surfaces, level[rows], max_nodes)
        own = np.where(found.reached, rules.distance((found.point - start.V[rows]) / start.units.scale), np.inf)
        shorter = np.flatnonzero(own < length[rows])
        kept = rows[shorter]
        length[kept], best.point[kept], best.reached[kept] = own[shorter], found.point[shorter], True
        best.multiplier[kept] = found.multiplier[shorter]
        best.proved[rows] &= found.proved
        best.bound[rows] = np.minimum(best.bound[rows], found.bound)
    best.proved[unexamined], best.bound[unexamined] = False, 0.0
    best.proved[:] |= best.reached & (length <= best.bound * (1.0 + TOLERANCE))
    return best


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
        low, high = start.units.low, start.units.high
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

    def solved(
        self, combination: IntArray, rows: IntArray, surfaces: Sequence[QuadraticSurface], level: FloatArray, max_nodes: int
    ) -> Answers:
        """Rows after the smallest change that keeps to one combination of parts."""
        part, capped, away = self.start.take(rows), self.capped, combination != BETWEEN
        low, high, scale = (values[capped] for values in (part.units.low, part.units.high, part.units.scale))
        V = part.V[:, capped]
        inside = np.clip(V, low, high)
        # where the surfaces see the row: at a cap, or, of what moves between the caps, where it is
        seen = np.select([combination == BELOW, combination == ABOVE], [low, high], V)
        U, free = part.U.copy(), self.between.free.copy()
        U[:, capped] += (seen - inside) / scale
        free[capped[away]] = False
        beyond, fixed = capped[away], np.where(combination == BELOW, self.below[rows], self.above[rows])[:, away]
        seen_start, rules = replace(part, U=U), replace(self.between, free=free)
        if len(surfaces) == 1:
            found = smallest_change(surfaces[0], seen_start, level, rules, max_nodes)
        else:
            found = smallest_common_change(surfaces, seen_start, level, rules, max_nodes)
        x = rules.obeyed(part.V, found.point * part.units.scale)
        x[:, beyond] = fixed
        cost = rules.take(beyond).distance((fixed - part.V[:, beyond]) / scale[away])
        is_plain = (inside == V).all(axis=1) & (not away.any())
        multiplier = np.where(is_plain, found.multiplier, np.nan)
        return replace(found, point=x, bound=np.hypot(found.bound, cost), multiplier=multiplier)
