"""Primal-dual active set for the hinge z-step: exact, and a few linear systems when started near the answer.

Every sample is at zero (margin above its target, 1), at its upper bound (margin below it) or free (margin on it). For a
given partition the free multipliers and c solve one linear system with the matrix K = R_E P^-1 R_E' of the free rows E
(docs/mathematics.md, eq. 3.4); those that leave their box, and the samples whose margin contradicts their place, change place,
until none does.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

from quadric.losses.hinge.qp import HingeQP, HingeSolution
from quadric.types import FloatArray, IntArray

Places: TypeAlias = npt.NDArray[np.int8]
AT_ZERO, FREE, AT_UPPER = 0, 1, 2
TOLERANCE = 1e-9
"""Allowed violation: of a margin in its own unit, of a multiplier in units of its upper bound."""
ACCEPTED = 1e-8
"""Largest measured violation of an answer."""
PROXIMAL = 1e-12
"""Relative shift of K, whose effect the proximal refinement takes out again: free rows may be linearly dependent."""
REFINEMENTS = 3
MAX_DEPENDENT = 1000
MAX_ITERATIONS = 20
FEW = 4
"""Changes of place are added up one by one where they concern fewer than one sample in so many."""
SETTLING = 10
"""So few moves may come in any order; a larger number that exceeds an earlier one by a tenth means divergence."""


def solve_active_set(qp: HingeQP, alpha: FloatArray, *, dependent_rows: bool = False) -> HingeSolution | None:
    """Solve from the partition that ``alpha`` suggests; None when the partitions diverge, cycle or grow too large.

    ``dependent_rows`` allows more free rows than can be independent: equal rows share a margin, and a surface near zero puts
    a whole class on it. The undetermined part of the multipliers then stays where ``alpha`` has it.
    """
    max_free = max(qp.n_terms + 1, MAX_DEPENDENT if dependent_rows else 0)
    place = np.full(len(alpha), FREE, dtype=np.int8)
    place[alpha <= TOLERANCE * qp.upper] = AT_ZERO
    place[alpha >= qp.upper * (1.0 - TOLERANCE)] = AT_UPPER
    rows = _FreeRows(qp)
    seen: set[bytes] = set()
    fewest_moves = len(alpha)
    for iteration in range(1, MAX_ITERATIONS + 1):
        free = np.flatnonzero(place == FREE)
        if len(free) > max_free or place.tobytes() in seen:
            return None
        seen.add(place.tobytes())
        candidate = rows.solve(place, free, alpha)
        if candidate is None:
            return None
        moved = _move(qp, place, candidate)
        n_moves = int(np.count_nonzero(moved != place))
        if n_moves == 0:
            return _checked(qp, free, candidate, iteration)
        if n_moves > max(SETTLING, 1.1 * fewest_moves):
            return None
        fewest_moves = min(fewest_moves, n_moves)
        place, alpha = moved, candidate.alpha
    return None


class _Candidate(NamedTuple):
    """Solution for one partition; ``reach`` is how far a sample's whole multiplier could move its own margin."""

    w: FloatArray
    alpha: FloatArray
    reach: FloatArray
    margins: FloatArray

    @staticmethod
    def of(qp: HingeQP, z: FloatArray, c: float, alpha: FloatArray, reach: FloatArray) -> _Candidate:
        w = np.append(z, c)
        return _Candidate(w, alpha, reach, qp.margins(w))


def _move(qp: HingeQP, place: Places, candidate: _Candidate) -> Places:
    """The partition that the candidate asks for."""
    alpha, reach = candidate.alpha, candidate.reach
    shortfall = qp.target - candidate.margins
    slack = TOLERANCE * qp.upper
    moved = place.copy()
    moved[(place == FREE) & (alpha < -slack)] = AT_ZERO
    moved[(place == FREE) & (alpha > qp.upper + slack)] = AT_UPPER
    # A sample that must leave its bound goes straight to the other one when its whole multiplier could not mend its margin
    # alone; otherwise the free set would swell.
    rises = (place == AT_ZERO) & (shortfall > TOLERANCE)
    falls = (place == AT_UPPER) & (shortfall < -TOLERANCE)
    moved[rises] = np.where(shortfall[rises] > reach[rises], AT_UPPER, FREE)
    moved[falls] = np.where(-shortfall[falls] > reach[falls], AT_ZERO, FREE)
    if np.array_equal(moved, place) and not (place == FREE)[qp.sees_level].any() and qp.imbalance(alpha) > TOLERANCE:
        # The equation of c needs somebody to give way: the sample at the kink
        moved[np.argmin(np.where(qp.sees_level, np.abs(shortfall), np.inf))] = FREE
    return moved


def _checked(qp: HingeQP, free: IntArray, candidate: _Candidate, n_iter: int) -> HingeSolution | None:
    """The candidate as a solution, if its free margins are on target and its multipliers balance despite rounding."""
    alpha = np.clip(candidate.alpha, 0.0, qp.upper)
    shortfall = qp.target - candidate.margins
    at_bound = np.where(alpha > 0.0, np.maximum(-shortfall, 0.0), np.maximum(shortfall, 0.0))
    at_bound[free] = np.abs(shortfall[free])
    violation = max(float(at_bound.max()), qp.imbalance(alpha), qp.relative_gap(candidate.w, alpha, candidate.margins))
    return HingeSolution(candidate.w, alpha, n_iter, violation) if violation <= ACCEPTED else None


class _FreeRows:
    """Solves for the free multipliers, keeping L^-1 r_i of every row that was ever free (P = L L') and their products."""

    def __init__(self, qp: HingeQP) -> None:
        self.qp = qp
        self.count = 0
        self.columns = np.empty((qp.n_terms, 0), order="F")
        self.products = np.empty((0, 0))
        self.position = np.full(len(qp.y), -1)
        self.at_bound = np.zeros(len(qp.y))
        self.h = qp.g

    def solve(self, place: Places, free: IntArray, alpha: FloatArray) -> _Candidate | None:
        qp = self.qp
        h = self._pull_of(np.where(place == AT_UPPER, qp.upper, 0.0))
        z = qp.solve_P(h[:-1])
        if len(free) == 0:
            return _Candidate.of(qp, z, qp.best_level(z), self.at_bound, np.full(len(qp.y), np.inf))
        mine = self._positions_of(free)
        K = self.products[np.ix_(mine, mine)]
        curvature = float(np.trace(K)) / len(free)
        shift = PROXIMAL * curvature
        # With k + 1 free rows K alone is singular and only the balance e's = -h_c determines s (e: the rows' entries of c, all
        # 1 for samples). Adding curvature * e e' to K, and its value under the balance to the right-hand side, changes nothing
        # but the conditioning.
        e = qp.A[free, -1]
        K += curvature * np.outer(e, e)
        K[np.diag_indices(len(free))] += shift
        factor, failed = dpotrf(K.T, lower=1, clean=0, overwrite_a=1)
        if failed:
            return None
        # With signed multipliers s = y alpha of the free rows:  K s + c e = y target - R z,  e's = -h_c
        y = qp.y[free]
        rhs = y * qp.target[free] - qp.A[free, :-1] @ z - curvature * h[-1] * e
        along_c = dpotrs(factor, e, lower=1)[0]
        balance = float((e * along_c).sum())
        signed = y * np.clip(alpha[free], 0.0, qp.upper[free])
        for _ in range(REFINEMENTS):
            partial = dpotrs(factor, rhs + shift * signed, lower=1)[0]
            c = (float((e * partial).sum()) + h[-1]) / balance if balance else 0.0
            signed = partial - c * along_c
        weights = np.zeros(self.count)
        weights[mine] = signed
        z = z + dtrtrs(qp.factor, self.columns[:, : self.count] @ weights, lower=1, trans=1)[0]
        multipliers = self.at_bound.copy()
        multipliers[free] = y * signed
        return _Candidate.of(qp, z, c if balance else qp.best_level(z), multipliers, qp.upper * curvature)

    def _pull_of(self, at_bound: FloatArray) -> FloatArray:
        """h = g + A'(y alpha) with the free multipliers left out; from the one before where few samples changed place."""
        changed = np.flatnonzero(at_bound != self.at_bound)
        change = self.qp.y * (at_bound - self.at_bound)
        if len(changed) * FEW < len(change):
            self.h = self.h + change[changed] @ self.qp.A[changed]
        else:
            self.h = self.qp.g + (self.qp.y * at_bound) @ self.qp.A
        self.at_bound = at_bound
        return self.h

    def _positions_of(self, free: IntArray) -> IntArray:
        """Where the free rows stand among the columns; rows that were never free before are added."""
        new = free[self.position[free] < 0]
        if len(new):
            old, self.count = self.count, self.count + len(new)
            self.position[new] = np.arange(old, self.count)
            self._make_room()
            fresh = dtrtrs(self.qp.factor, self.qp.A[new, :-1].T, lower=1)[0]
            across = self.columns[:, :old].T @ fresh
            self.columns[:, old : self.count] = fresh
            self.products[:old, old : self.count] = across
            self.products[old : self.count, :old] = across.T
            self.products[old : self.count, old : self.count] = fresh.T @ fresh
        return self.position[free]

    def _make_room(self) -> None:
        """Arrays that hold ``count`` rows, and some more, so that they need not grow every time."""
        have = self.columns.shape[1]
        if self.count > have:
            room = self.count + self.count // 2
            columns, products = np.empty((self.qp.n_terms, room), order="F"), np.empty((room, room))
            columns[:, :have], products[:have, :have] = self.columns, self.products
            self.columns, self.products = columns, products
