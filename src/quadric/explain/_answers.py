"""Smallest changes in fitted units: one surface exactly, rules by branch and bound, several surfaces by their relaxations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from quadric.explain._boxed import Goal
from quadric.explain._branch import TOLERANCE, Answers, nearest_in_box
from quadric.explain._nearest import nearest
from quadric.explain._request import ROUNDING, Actions
from quadric.geometry.surface import QuadraticSurface
from quadric.tables import Table
from quadric.types import BoolArray, FloatArray, IntArray

SHORT = 1e-10
"""Fraction of the absolute terms by which a general solver may miss a constraint."""


@dataclass(frozen=True)
class Start:
    """Rows to change, in reported and in fitted units with the scale and the caps between the two, and as they came."""

    V: FloatArray
    U: FloatArray
    scale: FloatArray
    caps: tuple[FloatArray, FloatArray]
    cases: Table | FloatArray
    missing: BoolArray

    def take(self, rows: IntArray) -> Start:
        if len(rows) == len(self.V):  # rows come in increasing order: all of them
            return self
        V = self.V[rows]
        cases = V if self.cases is self.V else self.cases[rows]
        return Start(V, self.U[rows], self.scale, self.caps, cases, self.missing[rows])


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
    unit = np.sqrt(rules.weight[moving])
    part = start.take(rows)
    goal = Goal(
        A=surface.W[np.ix_(moving, moving)] / np.outer(unit, unit),
        a=surface.gradient(part.U)[:, moving] / unit,
        r=missing[rows],
        size=((np.abs(part.U) @ np.abs(surface.W) + np.abs(surface.b))[:, moving] / unit).max(axis=1),
    )
    if (rules.bounded & moving).any():
        found = nearest_in_box(goal, rules.box(part.V, part.scale, moving), max_nodes)
    else:
        exact = nearest(goal.A, goal.a, goal.r, goal.size)
        length = np.where(exact.reached, np.linalg.norm(exact.e, axis=1), np.inf)
        found = Answers(exact.e, exact.reached, np.ones_like(exact.reached), length, exact.multiplier)
    change = np.zeros_like(part.U)
    change[:, moving] = found.point / unit
    answers.put(rows, replace(found, point=change))
    for row in np.flatnonzero(answers.reached & ~answers.proved):
        case = _Case((surface,), start.V[row], start.U[row], start.scale, float(level[row]), rules)
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
        case = _Case(tuple(surfaces), start.V[row], start.U[row], start.scale, float(level[row]), rules)
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

    surfaces: tuple[QuadraticSurface, ...]
    v: FloatArray
    u: FloatArray
    scale: FloatArray
    level: float
    rules: Actions

    def length(self, change: FloatArray) -> float:
        return float(self.rules.distance(change[None])[0])

    def served_by(self, change: FloatArray) -> bool:
        moved = (self.u + change)[None]
        return all(surface(moved)[0] >= self.level - ROUNDING * surface.magnitude(moved)[0] for surface in self.surfaces)

    def shortest(self, changes: Sequence[FloatArray]) -> FloatArray:
        """The shortest change that serves; the first if none does."""
        return min([change for change in changes if self.served_by(change)] or changes[:1], key=self.length)

    def local_optimum(self, change: FloatArray) -> FloatArray:
        """Where a general solver gets to from a change; integers stay as they are."""
        moving = self.rules.free & ~self.rules.integer & np.any([surface.live_features for surface in self.surfaces], axis=0)
        ends = [(end[0] - self.v) / self.scale for end in self.rules.ends(self.v[None])]
        low, high = (np.where(moving, end, change) for end in ends)
        # a little more than needed: the solver may stop that much short
        level = self.level + SHORT * max(surface.magnitude(self.u[None])[0] for surface in self.surfaces)
        constraints = [
            {
                "type": "ineq",
                "fun": lambda d, surface=surface: surface((self.u + d)[None])[0] - level,
                "jac": lambda d, surface=surface: surface.gradient((self.u + d)[None])[0],
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
