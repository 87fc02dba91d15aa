"""The nearest point of a quadric inside a box, some coordinates on a lattice: branch and bound for a batch of problems.

All open boxes of all problems are treated together, one generation after the other. Each gets its lower bound and
candidates (see _boxed.py). It is dropped when the bound shows that it holds nothing nearer than the best answer known, and
cut in two otherwise: between two lattice points where the relaxed answer is off the lattice, else in the middle of its most
curved side. A problem that runs out of boxes is proved; one that exceeds its number of boxes keeps its best answer and the
smallest bound left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from quadric.explain._boxed import Goal, face_candidates, first_along, lower_bounds
from quadric.explain._nearest import Answers, nearest
from quadric.types import BoolArray, FloatArray, IntArray

# A distance is proved smallest when no point is nearer by more than this fraction.
TOLERANCE = 1e-6
# Boxes treated together; each needs a few matrices of the size of A.
AT_ONCE = 2048
# Distance from an integer, in raw units, below which a value counts as one.
OFF_LATTICE = 1e-7
SLACK: dict[np.ufunc, float] = {np.rint: 0.0, np.ceil: -OFF_LATTICE, np.floor: OFF_LATTICE}


@dataclass(frozen=True)
class Box:
    """Where answers may lie, one row per problem: between low and high, and on a lattice where ``integer``.

    Coordinate j of a problem stands for the raw value raw_j + e_j / step_j, which is to be an integer.
    """

    low: FloatArray
    high: FloatArray
    integer: BoolArray
    raw: FloatArray
    step: FloatArray

    def take(self, rows: np.ndarray) -> Box:
        return replace(self, low=self.low[rows], high=self.high[rows], raw=self.raw[rows])

    def on_lattice(self) -> Box:
        """The box with its integer sides drawn in to the lattice."""
        return replace(self, low=self._rounded(self.low, np.ceil), high=self._rounded(self.high, np.floor))

    def rounded(self, e: FloatArray, away: FloatArray | None = None) -> FloatArray:
        """The nearest lattice point of the box, or the next one in the direction of the signs of ``away``."""
        if away is None:
            return np.clip(self._rounded(e, np.rint), self.low, self.high)
        return np.clip(np.where(away > 0.0, self._rounded(e, np.ceil), self._rounded(e, np.floor)), self.low, self.high)

    def offsets(self, e: FloatArray) -> FloatArray:
        """Distance from the lattice in raw units; zero where any value will do."""
        value = self.raw + e / self.step
        return np.where(self.integer, np.abs(value - np.rint(value)), 0.0)

    def holds(self, e: FloatArray) -> BoolArray:
        inside = (e >= self.low) & (e <= self.high)
        return np.asarray((inside & (self.offsets(e) <= OFF_LATTICE)).all(axis=1))

    def _rounded(self, e: FloatArray, how: np.ufunc) -> FloatArray:
        value = how(self.raw + e / self.step + SLACK[how])
        return np.where(self.integer & np.isfinite(e), (value - self.raw) * self.step, e)


def nearest_in_box(goal: Goal, box: Box, max_nodes: int) -> Answers:
    """Solve a batch of problems, each with at most ``max_nodes`` boxes."""
    box = box.on_lattice()
    met = goal.r <= 0.0  # without a change, which the box does not hold
    relaxed = nearest(goal.A, goal.a, np.where(met, 1.0, goal.r), goal.size)
    reached, e = relaxed.reached | met, np.where(met[:, None], 0.0, relaxed.point)
    search = _Search(goal, box, max_nodes, np.where(reached, 0.5 * np.sum(e**2, axis=1), np.inf))
    answers = np.flatnonzero(reached & box.holds(e))
    search.offer(answers, e[answers], np.ones(len(answers), dtype=bool))
    found = search.run()
    found.multiplier[answers] = relaxed.multiplier[answers]
    return found


@dataclass(frozen=True)
class _Nodes:
    """Open boxes: the problem that each belongs to, its sides, and a bound on what it holds."""

    problem: IntArray
    low: FloatArray
    high: FloatArray
    bound: FloatArray

    def take(self, which: np.ndarray) -> _Nodes:
        return _Nodes(self.problem[which], self.low[which], self.high[which], self.bound[which])

    @staticmethod
    def joined(parts: Sequence[_Nodes]) -> _Nodes:
        return _Nodes(*(np.concatenate(arrays) for arrays in zip(*(vars(part).values() for part in parts), strict=True)))


class _Search:
    def __init__(self, goal: Goal, box: Box, max_nodes: int, relaxed: FloatArray) -> None:
        self.goal, self.box, self.max_nodes, self.relaxed = goal, box, max_nodes, relaxed
        m = len(goal.r)
        self.best = np.full(m, np.inf)
        self.answer = np.zeros_like(goal.a)
        self.left = np.full(m, np.inf)  # the smallest bound among boxes given up
        self.spent = np.zeros(m, dtype=np.intp)
        bends_at = np.linalg.norm(goal.a, axis=1) / (float(np.abs(goal.A).max()) or np.inf)
        begins_at = np.linalg.norm(np.clip(0.0, box.low, box.high), axis=1)
        self.typical = np.max([np.sqrt(2.0 * relaxed), bends_at, begins_at], axis=0)  # distances at which something happens
        values, self.axes = np.linalg.eigh(goal.A)
        curved = np.sqrt(np.sum(self.axes**2 * np.maximum(values, 0.0), axis=1))
        self.curved = np.maximum(curved, 1e-6 * curved.max() or 1.0)  # never zero: flat sides are cut in the end too

    def offer(self, problem: IntArray, e: FloatArray, valid: BoolArray) -> None:
        """Keep the valid points that are better than what is known."""
        length = np.where(valid, 0.5 * np.sum(e**2, axis=1), np.inf)
        for i in np.flatnonzero(length < self.best[problem]):
            if length[i] < self.best[problem[i]]:  # not if the loop has met a better one
                self.best[problem[i]], self.answer[problem[i]] = length[i], e[i]

    def run(self) -> Answers:
        nodes = self._worthwhile(_Nodes(np.arange(len(self.best)), self.box.low, self.box.high, self.relaxed))
        self._shoot(nodes)
        nodes = self._worthwhile(nodes)
        while len(nodes.problem):
            nodes = self._within_budget(nodes)
            blocks = np.split(np.arange(len(nodes.problem)), range(AT_ONCE, len(nodes.problem), AT_ONCE))
            nodes = _Nodes.joined([self._children(nodes.take(block)) for block in blocks])
        bound, proved = np.minimum(self.best, self.left), self.left >= self.best * (1.0 - 2.0 * TOLERANCE)
        return Answers(self.answer, np.isfinite(self.best), proved, np.sqrt(2.0 * bound), np.full_like(bound, np.nan))

    def _children(self, nodes: _Nodes) -> _Nodes:
        """What is left to examine of boxes after their bounds; candidates are offered on the way."""
        enough = self.best[nodes.problem] * (1.0 - 2.0 * TOLERANCE)
        value, point = lower_bounds(self.goal.take(nodes.problem), nodes.low, nodes.high, enough)
        nodes = replace(nodes, bound=np.maximum(value, nodes.bound))
        self._offer_candidates(nodes, point)
        keep = np.flatnonzero(self._open(nodes))
        return self._worthwhile(self._split(nodes.take(keep), point[keep]))

    def _shoot(self, nodes: _Nodes) -> None:
        """First answers, however long, along a few directions: with one, boxes have ends and bounds can work."""
        goal, box = self.goal.take(nodes.problem), self._box_of(nodes)
        fixed = np.vstack([self.axes.T, np.eye(len(self.axes))])
        for direction in (goal.a, *fixed, *-fixed):
            aim = np.broadcast_to(direction, goal.a.shape)
            e = box.rounded(first_along(goal, nodes.low, nodes.high, aim), aim)
            self.offer(nodes.problem, e, goal.met(e) & box.holds(e))

    def _offer_candidates(self, nodes: _Nodes, point: FloatArray) -> None:
        which = np.flatnonzero(self._open(nodes))
        nodes, point = nodes.take(which), point[which]
        goal, box = self.goal.take(nodes.problem), self._box_of(nodes)
        uphill, fixed = point @ goal.A + goal.a, np.broadcast_to(self.box.integer, point.shape)
        for start in [box.rounded(point), box.rounded(point, uphill)] if self.box.integer.any() else [point]:
            e, found = face_candidates(goal, nodes.low, nodes.high, start, fixed)
            self.offer(nodes.problem, e, found & box.holds(e))

    def _box_of(self, nodes: _Nodes) -> Box:
        return replace(self.box.take(nodes.problem), low=nodes.low, high=nodes.high)

    def _open(self, nodes: _Nodes) -> BoolArray:
        return np.asarray(nodes.bound < self.best[nodes.problem] * (1.0 - 2.0 * TOLERANCE))

    def _worthwhile(self, nodes: _Nodes) -> _Nodes:
        """Boxes that may hold something better, cut to the ball in which that must lie."""
        nodes = nodes.take(np.flatnonzero(self._open(nodes)))
        radius = np.sqrt(2.0 * self.best[nodes.problem])[:, None]
        nodes = replace(nodes, low=np.maximum(nodes.low, -radius), high=np.minimum(nodes.high, radius))
        box = self._box_of(nodes).on_lattice()
        nodes = replace(nodes, low=box.low, high=box.high)
        return nodes.take(np.flatnonzero((box.low <= box.high).all(axis=1)))

    def _within_budget(self, nodes: _Nodes) -> _Nodes:
        """Count the boxes; give up problems that have had too many."""
        self.spent += np.bincount(nodes.problem, minlength=len(self.spent))
        over = self.spent[nodes.problem] > self.max_nodes
        np.minimum.at(self.left, nodes.problem[over], nodes.bound[over])
        return nodes.take(np.flatnonzero(~over))

    def _split(self, nodes: _Nodes, point: FloatArray) -> _Nodes:
        box = self._box_of(nodes)
        rows = np.arange(len(nodes.problem))
        width = nodes.high - nodes.low
        offsets = np.where(width > 0.0, box.offsets(point), 0.0)
        fractional = offsets.max(axis=1, initial=0.0) > OFF_LATTICE
        side = np.where(fractional, offsets.argmax(axis=1), np.argmax(width**2 * self.curved, axis=1))
        middle = _middle(nodes.low[rows, side], nodes.high[rows, side], self.typical[nodes.problem])
        cut = np.where(fractional, point[rows, side], middle)
        below, above = nodes.high.copy(), nodes.low.copy()
        below[rows, side] = above[rows, side] = cut
        splits = np.flatnonzero(width[rows, side] > 0.0)  # a single point that was no candidate holds no answer
        return _Nodes.joined([replace(nodes, high=below).take(splits), replace(nodes, low=above).take(splits)])


def _middle(low: FloatArray, high: FloatArray, far: FloatArray) -> FloatArray:
    """Where to cut a side; one without an end is cut first at a typical distance, then ever farther out."""
    with np.errstate(invalid="ignore"):
        middle = 0.5 * (low + high)
    middle = np.where(np.isinf(high), np.maximum(2.0 * low, far), middle)
    middle = np.where(np.isinf(low), np.minimum(2.0 * high, -far), middle)
    return np.where(np.isinf(low) & np.isinf(high), 0.0, middle)
