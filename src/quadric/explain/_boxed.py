"""Lower bounds and candidates for the nearest point of a quadric inside a box.

    minimise 1/2 |e|^2  subject to  1/2 e'Ae + a'e >= r,  low <= e <= high

First bound: for any sigma above 0 and above every eigenvalue of A, the Lagrangian with multiplier 1 / sigma is convex, and
its minimum over the box is a lower bound. The larger sigma is, the less its minimiser reaches; where it reaches exactly r,
the bound is the answer itself. Second bound, for small boxes: sum_j rho_j / 2 (e_j - low_j)(high_j - e_j) is never negative
in the box; added to what is reached, with rho so large that A - diag(rho) has no positive eigenvalue, it makes the
constraint concave, and any sigma above 0 will do.
Candidates: with some coordinates held at their bounds, the rest is the problem of _nearest.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quadric.explain._nearest import nearest
from quadric.types import BoolArray, FloatArray

EPSILON, TINY = float(np.finfo(float).eps), float(np.finfo(float).tiny)
# The multiplier is sought this many powers of ten around its natural size.
DECADES = 8.0
# The search for a multiplier ends when no other can raise the bound by more than this fraction.
GAIN = 1e-9
# Limits of loops that end earlier; a bound is a bound wherever they stop.
STEPS, EXCHANGES = 60, 20


@dataclass(frozen=True)
class Goal:
    """Reach r, for a batch of problems that share A.

    Attributes
    ----------
    A : symmetric array of shape (n, n)
    a : array of shape (m, n)
    r : array of shape (m,)
        Positive, unless no change is outside the box.
    size : array of shape (m,)
        Magnitude of the sums that ``a`` was computed from.
    """

    A: FloatArray
    a: FloatArray
    r: FloatArray
    size: FloatArray

    def take(self, rows: np.ndarray) -> Goal:
        return Goal(self.A, self.a[rows], self.r[rows], self.size[rows])

    def reach(self, e: FloatArray) -> FloatArray:
        """1/2 e'Ae + a'e."""
        return np.asarray(np.sum((0.5 * (e @ self.A) + self.a) * e, axis=1))

    def rounding(self, e: FloatArray) -> FloatArray:
        """What rounding can do to the comparison of reach and r."""
        terms = np.sum((0.5 * (np.abs(e) @ np.abs(self.A)) + np.abs(self.a)) * np.abs(e), axis=1)
        return np.asarray(4.0 * len(self.A) * EPSILON * (terms + np.abs(self.r)))

    def met(self, e: FloatArray) -> BoolArray:
        return np.asarray(self.reach(e) >= self.r - self.rounding(e))


def lower_bounds(goal: Goal, low: FloatArray, high: FloatArray, enough: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The better of the two bounds on 1/2 |e|^2 of each problem, and the points that minimise the Lagrangian there.

    A bound of ``enough`` is not improved further.
    """
    free = high > low  # coordinates with one value left cannot bend the Lagrangian
    values, vectors = np.linalg.eigh(np.where(free[:, :, None] & free[:, None, :], goal.A, 0.0))
    top = np.maximum(values[:, -1], 0.0)
    point = np.clip(0.0, low, high)
    value = 0.5 * np.sum(point**2, axis=1)
    _Dual(goal, low, high, top, np.zeros_like(low)).maximise(value, point, enough)
    bulge = _dominating((vectors * np.maximum(values, 0.0)[:, None, :]) @ np.swapaxes(vectors, 1, 2))
    bounded = ((bulge == 0.0) | (np.isfinite(low) & np.isfinite(high))).all(axis=1)
    small = np.flatnonzero(bounded & (top > 0.0) & (value < enough))
    better = value[small], point[small]
    _Dual(goal.take(small), low[small], high[small], np.zeros(len(small)), bulge[small]).maximise(*better, enough[small])
    value[small], point[small] = better
    farthest = 0.5 * np.sum(np.maximum(low**2, high**2), axis=1)
    value[value > farthest * (1.0 + 1e-9)] = np.inf
    return value, point


def _dominating(P: FloatArray) -> FloatArray:
    """Numbers rho with diag(rho) - P positive semidefinite for positive semidefinite P: c sqrt(P_jj) with the smallest c."""
    size = np.sqrt(np.maximum(np.diagonal(P, axis1=1, axis2=2), 0.0))
    root = np.sqrt(size)
    scale = root[:, :, None] * root[:, None, :]
    ratio = np.divide(P, scale, out=np.zeros_like(P), where=scale > 0.0)
    return size * np.linalg.eigvalsh(ratio)[:, -1:] * (1.0 + 1e-12)


@dataclass(frozen=True)
class _Dual:
    """The dual function of each problem for sigma above ``pole``, with ``bulge`` as rho in what is reached."""

    goal: Goal
    low: FloatArray
    high: FloatArray
    pole: FloatArray
    bulge: FloatArray

    def take(self, rows: np.ndarray) -> _Dual:
        return _Dual(self.goal.take(rows), self.low[rows], self.high[rows], self.pole[rows], self.bulge[rows])

    def maximise(self, bound: FloatArray, point: FloatArray, enough: FloatArray) -> None:
        """Improve bounds and points in place: the dual is concave in 1 / sigma, and its slope there is what is missing to r."""
        rows = np.arange(len(self.pole))
        short = np.where(self.goal.r > 0.0, self.goal.r, np.maximum(np.abs(self.goal.r), self.goal.size))
        natural = np.maximum(np.sum(self.goal.a**2, axis=1) / short, max(float(np.abs(self.goal.A).max()), TINY))
        near, far = natural * 10.0**-DECADES, natural * 10.0**DECADES
        excess_near, excess_far = (self._improve(t, rows, bound, point) for t in (near, far))
        for step in range(STEPS):
            part = self.pole[rows]
            gain = np.abs(excess_far) * (1.0 / (part + near) - 1.0 / (part + far))
            keep = (bound[rows] < enough[rows]) & (gain > GAIN * bound[rows]) & (excess_near > 0.0) & (excess_far < 0.0)
            rows, near, far = rows[keep], near[keep], far[keep]
            excess_near, excess_far = excess_near[keep], excess_far[keep]
            if len(rows) == 0:
                break
            share = excess_near / (excess_near - excess_far) if step % 2 else 0.5
            t = near * (far / near) ** share
            excess = self._improve(t, rows, bound, point)
            beyond = excess >= 0.0
            near, excess_near = np.where(beyond, t, near), np.where(beyond, excess, excess_near)
            far, excess_far = np.where(beyond, far, t), np.where(beyond, excess_far, excess)

    def _improve(self, t: FloatArray, rows: np.ndarray, bound: FloatArray, point: FloatArray) -> FloatArray:
        """What is reached beyond r at the minimiser for sigma = pole + t; the bounds of these rows are improved on the way.

        A point that is not quite the minimiser bounds it too: the Lagrangian's curvature is at least t.
        """
        self = self.take(rows)
        sigma = self.pole + t
        low, high = (np.where(self.bulge > 0.0, end, 0.0) for end in (self.low, self.high))
        a = self.goal.a + 0.5 * self.bulge * (low + high)
        e, slope = minimise_in_box(self.goal.A, sigma[:, None] + self.bulge, a, self.low, self.high, point[rows])
        excess = self.goal.reach(e) - self.goal.r + 0.5 * np.sum(self.bulge * (e - low) * (high - e), axis=1)
        unsettled = 0.5 * np.sum(slope**2, axis=1) / t
        value = 0.5 * np.sum(e**2, axis=1) - (excess + self.goal.rounding(e) + unsettled) / sigma
        better = value > bound[rows]
        bound[rows[better]], point[rows[better]] = value[better], e[better]
        return excess


def minimise_in_box(
    A: FloatArray, diagonal: FloatArray, a: FloatArray, low: FloatArray, high: FloatArray, start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The minimum of 1/2 e'(diag(diagonal) - A)e - a'e over a box, and the slope left in free directions.

    Primal-dual active sets: hold the coordinates guessed to be at bounds, solve for the others, exchange those of the wrong
    sign. Where the exchanges settle, which is almost always, the point is exact.
    """
    identity = np.eye(len(A))
    e = np.clip(start, low, high)
    below, above = e <= low, e >= high
    rows = np.arange(len(e))
    for _ in range(EXCHANGES):
        under, over = below[rows], above[rows]
        held = under | over
        fixed = np.where(under, low[rows], np.where(over, high[rows], 0.0))
        hessian = diagonal[rows, :, None] * identity - A
        system = np.where(held[:, :, None] | held[:, None, :], identity, hessian)
        x = np.linalg.solve(system, np.where(held, fixed, a[rows] + fixed @ A)[..., None])[..., 0]
        slope = diagonal[rows] * x - x @ A - a[rows]
        below[rows] = np.where(held, under & (slope > 0.0), x < low[rows]) | (low[rows] >= high[rows])
        above[rows] = np.where(held, over & (slope < 0.0), x > high[rows])
        e[rows] = x
        rows = rows[((below[rows] != under) | (above[rows] != over)).any(axis=1)]
        if len(rows) == 0:
            break
    e = np.clip(e, low, high)
    slope = diagonal * e - e @ A - a
    at_rest = ((e <= low) & (slope >= 0.0)) | ((e >= high) & (slope <= 0.0))
    return e, np.where(at_rest, 0.0, slope)


def face_candidates(
    goal: Goal, low: FloatArray, high: FloatArray, point: FloatArray, fixed: BoolArray
) -> tuple[FloatArray, BoolArray]:
    """Points of the box on the wanted side, from points near it, and whether one was found.

    Coordinates that are fixed or at a bound are held; the others take their nearest answer; those that leave the box with it
    are held at the bound they crossed, and again.
    """
    point = np.clip(point, low, high)
    held = fixed | (point <= low) | (point >= high)
    found = np.zeros(len(point), dtype=bool)
    answer = point.copy()
    active = np.arange(len(point))
    for _ in range(point.shape[1] + 1):
        part = goal.take(active)
        lo, hi = low[active], high[active]
        trial, reached = _on_face(part, np.where(held[active], point[active], 0.0), ~held[active])
        outside = (trial < lo) | (trial > hi)
        inside = reached & ~outside.any(axis=1)
        answer[active[inside]] = trial[inside]
        found[active[inside]] = part.met(trial)[inside]
        again = reached & ~inside
        point[active] = np.clip(trial, lo, hi)
        held[active] |= outside
        active = active[again]
        if len(active) == 0:
            break
    return answer, found


def first_along(goal: Goal, low: FloatArray, high: FloatArray, direction: FloatArray) -> FloatArray:
    """The first point of each box on the wanted side along a direction from its nearest point; that point where there is none.

    The parts of the direction that leave the box at once are left out.
    """
    start = np.clip(0.0, low, high)
    blocked = ((direction > 0.0) & (start >= high)) | ((direction < 0.0) & (start <= low))
    v = np.where(blocked, 0.0, direction)
    bend, slope = 0.5 * np.sum((v @ goal.A) * v, axis=1), np.sum((start @ goal.A + goal.a) * v, axis=1)
    missing = np.maximum(goal.r - goal.reach(start), 0.0)
    t = first_root(bend, slope, missing)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(v > 0.0, (high - start) / v, np.where(v < 0.0, (low - start) / v, np.inf)).min(axis=1)
    t = np.where((t >= 0.0) & (t <= room) & np.isfinite(t), t, 0.0) * (1.0 + 4.0 * EPSILON)
    return np.clip(start + t[:, None] * v, low, high)


def first_root(bend: FloatArray, slope: FloatArray, missing: FloatArray) -> FloatArray:
    """The smaller positive root of bend t^2 + slope t = missing; NaN or negative where there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(2.0 * missing / (slope + np.sqrt(slope**2 + 4.0 * bend * missing)))


def _on_face(goal: Goal, held: FloatArray, free: BoolArray) -> tuple[FloatArray, BoolArray]:
    """The nearest point with some coordinates held, and whether there is one."""
    missing = goal.r - goal.reach(held)
    needed = missing > 0.0
    A = np.where(free[:, :, None] & free[:, None, :], goal.A, 0.0)
    a = np.where(free, held @ goal.A + goal.a, 0.0)
    size = goal.size + np.abs(held) @ np.abs(goal.A).max(axis=0, initial=0.0)
    answer = nearest(A, a, np.where(needed, missing, 1.0), size)
    return held + np.where(free & needed[:, None], answer.point, 0.0), answer.reached | ~needed
