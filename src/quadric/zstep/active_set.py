"""Primal-dual active set for the hinge z-step: exact, and a few linear systems when started near the answer.

Every sample is at zero (margin above 1), at its upper bound (margin below 1) or free (margin 1). For a given partition the
free multipliers and c solve one linear system with the matrix K = R_E P^-1 R_E' of the free rows E; those that leave their
box, and the samples whose margin contradicts their place, change place, until none does.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

from quadric.intercept import hinge_intercept
from quadric.types import FloatArray, IntArray
from quadric.zstep.hinge_qp import HingeQP, HingeSolution

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


def _move(qp: HingeQP, place: Places, candidate: _Candidate) -> Places:
    """The partition that the candidate asks for."""
    alpha, reach = candidate.alpha, candidate.reach
    shortfall = 1.0 - qp.margins(candidate.w)
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
    if np.array_equal(moved, place) and not (place == FREE).any() and not _balanced(qp, alpha):
        moved[np.argmin(np.abs(shortfall))] = FREE  # the equation of c needs somebody to give way: the sample at the kink
    return moved


def _checked(qp: HingeQP, free: IntArray, candidate: _Candidate, n_iter: int) -> HingeSolution | None:
    """The candidate as a solution, if its free margins are 1 and its multipliers balance: rounding may have spoilt them."""
    alpha = np.clip(candidate.alpha, 0.0, qp.upper)
    shortfall = 1.0 - qp.margins(candidate.w)
    at_bound = np.where(alpha > 0.0, np.maximum(-shortfall, 0.0), np.maximum(shortfall, 0.0))
    at_bound[free] = np.abs(shortfall[free])
    balance = abs(qp.g[-1] + qp.y @ alpha) / qp.upper.max()
    violation = max(float(at_bound.max()), float(balance), qp.relative_gap(candidate.w, alpha))
    return HingeSolution(candidate.w, alpha, n_iter, violation) if violation <= ACCEPTED else None


def _balanced(qp: HingeQP, alpha: FloatArray) -> bool:
    return bool(abs(qp.g[-1] + qp.y @ alpha) <= TOLERANCE * qp.upper.max())


class _FreeRows:
    """Solves for the free multipliers, keeping L^-1 r_i of every row that was ever free (P = L L')."""

    def __init__(self, qp: HingeQP) -> None:
        self.qp = qp
        self.columns = np.empty((qp.n_terms, 0), order="F")
        self.position = np.full(len(qp.y), -1)

    def solve(self, place: Places, free: IntArray, alpha: FloatArray) -> _Candidate | None:
        qp = self.qp
        R = qp.A[:, :-1]
        at_bound = np.where(place == AT_UPPER, qp.upper, 0.0)
        h = qp.g + (qp.y * at_bound) @ qp.A
        z = qp.solve_P(h[:-1])
        if len(free) == 0:
            c = hinge_intercept(R @ z, qp.y, qp.upper)
            return _Candidate(np.append(z, c), at_bound, np.full(len(at_bound), np.inf))
        B = self._columns_of(free)
        K = B.T @ B
        curvature = float(np.trace(K)) / len(free)
        shift = PROXIMAL * curvature
        # With k + 1 free rows K alone is singular and only the balance 1's = -h_c determines s. Adding curvature * 1 1' to K,
        # and its value under the balance to the right-hand side, changes nothing but the conditioning.
        K += curvature
        K[np.diag_indices(len(free))] += shift
        factor, failed = dpotrf(K, lower=1, clean=0, overwrite_a=1)
        if failed:
            return None
        # With signed multipliers s = y alpha of the free rows:  K s + c 1 = y - R z,  1's = -h_c
        target = qp.y[free] - R[free] @ z - curvature * h[-1]
        ones = dpotrs(factor, np.ones(len(free)), lower=1)[0]
        signed = qp.y[free] * np.clip(alpha[free], 0.0, qp.upper[free])
        for _ in range(REFINEMENTS):
            partial = dpotrs(factor, target + shift * signed, lower=1)[0]
            c = (partial.sum() + h[-1]) / ones.sum()
            signed = partial - c * ones
        z = z + dtrtrs(qp.factor, B @ signed, lower=1, trans=1)[0]
        at_bound[free] = qp.y[free] * signed
        return _Candidate(np.append(z, c), at_bound, qp.upper * curvature)

    def _columns_of(self, free: IntArray) -> FloatArray:
        new = free[self.position[free] < 0]
        if len(new):
            self.position[new] = self.columns.shape[1] + np.arange(len(new))
            fresh = dtrtrs(self.qp.factor, self.qp.A[new, :-1].T, lower=1)[0]
            self.columns = np.concatenate([self.columns, fresh], axis=1)
        return self.columns[:, self.position[free]]
