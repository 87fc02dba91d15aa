"""Smallest changes in fitted units: one surface exactly, rules by branch and bound, several surfaces by their relaxations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from quadric.explain._actions import Actions
from quadric.explain._boxed import Goal
from quadric.explain._branch import TOLERANCE, nearest_in_box
from quadric.explain._nearest import nearest
from quadric.explain._wanted import magnitude
from quadric.geometry.surface import QuadraticSurface
from quadric.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Start:
    """Rows to change, in reported and in fitted units, with the scale between the two."""

    V: FloatArray
    U: FloatArray
    scale: FloatArray

    def take(self, rows: IntArray) -> Start:
        return Start(self.V[rows], self.U[rows], self.scale)


@dataclass(frozen=True)
class Answers:
    """Changes in fitted units, a row a case.

    Attributes
    ----------
    change : array of shape (m, n)
        Zero where no answer was found.
    reached : array of bool
    proved : array of bool
        Whether no smaller change would do; without an answer, whether there is none.
    bound : array of shape (m,)
        No answer is nearer than this.
    multiplier : array of shape (m,)
        weight * change = multiplier * gradient on the free features; NaN where rules other than freezing took part.
    """

    change: FloatArray
    reached: BoolArray
    proved: BoolArray
    bound: FloatArray
    multiplier: FloatArray

    def put(self, rows: IntArray, other: Answers) -> None:
        """Replace some rows in place."""
        for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True):
            mine[rows] = theirs


def smallest_change(surface: QuadraticSurface, start: Start, level: FloatArray, rules: Actions, max_nodes: int) -> Answers:
    """The smallest allowed change after which the surface is at least ``level``."""
    U, m = start.U, len(start.U)
    live = (surface.W != 0.0).any(axis=0) | (surface.b != 0.0)
    moving = rules.free & live
    bounded = bool((rules.bounded & live).any())
    unit = np.sqrt(rules.weight[moving])
    missing = level - surface(U)
    needed = missing > 0.0
    size = ((np.abs(U) @ np.abs(surface.W) + np.abs(surface.b))[:, moving] / unit).max(axis=1, initial=0.0)
    goal = Goal(
        A=surface.W[np.ix_(moving, moving)] / np.outer(unit, unit),
        a=surface.gradient(U)[:, moving] / unit,
        r=np.where(needed, missing, 1.0),
        size=size,
    )
    answers = Answers(np.zeros_like(U), ~needed, np.ones(m, dtype=bool), np.where(needed, np.inf, 0.0), np.full(m, np.nan))
    rows = np.flatnonzero(needed)
    if len(rows) and moving.any():
        part = goal.take(rows)
        found = _with_rules(part, start.take(rows), rules, moving, max_nodes) if bounded else _exact(part)
        change = np.zeros((len(rows), U.shape[1]))
        change[:, moving] = found.change / unit
        answers.put(rows, Answers(change, found.reached, found.proved, found.bound, found.multiplier))
    return answers


def _exact(goal: Goal) -> Answers:
    found = nearest(goal.A, goal.a, goal.r, goal.size)
    length = np.where(found.reached, np.linalg.norm(found.e, axis=1), np.inf)
    return Answers(found.e, found.reached, np.ones_like(found.reached), length, found.multiplier)


def _with_rules(goal: Goal, start: Start, rules: Actions, moving: BoolArray, max_nodes: int) -> Answers:
    found = nearest_in_box(goal, rules.box(start.V, start.scale, moving), max_nodes)
    return Answers(found.e, found.reached, found.proved, found.bound, np.full(len(goal.r), np.nan))


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
        here = start.take(np.array([row]))
        simple = [answers.change[row] for answers in alone if answers.reached[row]]
        change = _shortest(surfaces, here, level[row], rules, simple)
        if change is None or rules.distance(change[None])[0] > bound[row] * (1.0 + TOLERANCE):
            local = [_local(surfaces, here, level[row], rules, change) for change in simple]
            change = _shortest(surfaces, here, level[row], rules, [*simple, *local])
        if change is not None:
            best.change[row], best.reached[row] = change, True
            best.proved[row] = rules.distance(change[None])[0] <= bound[row] * (1.0 + TOLERANCE)
    return best


def _shortest(
    surfaces: Sequence[QuadraticSurface], here: Start, level: float, rules: Actions, changes: Sequence[FloatArray]
) -> FloatArray | None:
    """The shortest change that serves all surfaces."""
    good = [change for change in changes if _serves(surfaces, here.U[0] + change, level)]
    return min(good, key=lambda change: float(rules.distance(change[None])[0])) if good else None


def _serves(surfaces: Sequence[QuadraticSurface], u: FloatArray, level: float) -> bool:
    return all(surface(u[None])[0] >= level - 1e-9 * (level + magnitude(surface, u[None])[0]) for surface in surfaces)


def _local(surfaces: Sequence[QuadraticSurface], here: Start, level: float, rules: Actions, change: FloatArray) -> FloatArray:
    """A local optimum from a change, its integers kept."""
    u = here.U[0]
    ends = [(end[0] - here.V[0]) / here.scale for end in rules.ends(here.V)]
    low, high = (np.where(rules.integer, change, end) for end in ends)
    constraints = [
        {
            "type": "ineq",
            "fun": lambda d, surface=surface: surface((u + d)[None])[0] - level,
            "jac": lambda d, surface=surface: surface.gradient((u + d)[None])[0],
        }
        for surface in surfaces
    ]
    found = minimize(
        lambda d: 0.5 * rules.weight @ d**2,
        np.clip(change, low, high),
        jac=lambda d: rules.weight * d,
        bounds=np.column_stack([low, high]),
        constraints=constraints,
        method="SLSQP",
        options={"maxiter": 200, "ftol": 1e-14},
    )
    return np.clip(found.x, low, high)
