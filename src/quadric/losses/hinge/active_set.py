"""Primal-dual active set for the hinge z-step: exact, and a few linear systems when started near the answer.

Every sample is at zero (margin above its target, 1), at its upper bound (margin below it) or free (margin on it). For a
given partition the free multipliers and c solve one linear system with the matrix K = R_E P^-1 R_E' of the free rows E
(docs/mathematics.md, eq. 3.4); those that leave their box, and the samples whose margin contradicts their place, change place,
until none does.

On discrete data far more samples are on their margin than can be independent. A basis of them determines the surface. Their
multipliers are then not unique, and those nearest to where they were are taken.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dgeqp3, dpotrf, dpotrs, dtrtrs

from quadric.losses.hinge.qp import HingeQP, HingeSolution
from quadric.types import FloatArray, IntArray

Places: TypeAlias = npt.NDArray[np.int8]
AT_ZERO, FREE, AT_UPPER = 0, 1, 2
TOLERANCE = 1e-9  # allowed violation: of a margin in its own unit, of a multiplier in units of its upper bound
ACCEPTED = 1e-8  # largest measured violation of an answer
REFINE_ABOVE = 1e-11  # largest error of a free margin that is left as it is
CANCELLED = 1e-4  # a sum that shrinks to less than this by small changes is made anew: rounding is all that it would keep
# Relative shift of K, whose effect the proximal refinement takes out again: free rows may be linearly dependent
PROXIMAL = 1e-12
REFINEMENTS = 3
NEARLY_DEPENDENT = 4e-6  # distance of a row of length one from the others below which a basis of them is looked for
DEPENDENT = 1e-5  # distance of a row of length one from a basis below which it counts as dependent on it
# Weight of a multiplier at a bound beside a typical one, where the change of dependent multipliers is spread
LEAST_WEIGHT = 0.1
MAX_ITERATIONS = 20
FEW = 4  # changes of place are added up one by one where fewer than one sample in FEW changes
SETTLING = 10  # up to this many moves may come in any order; more, and a tenth more than before, mean divergence
CROWDED = 5  # where more rows are free than can be independent, moves of more than a fifth of them lead nowhere


def solve_active_set(qp: HingeQP, alpha: FloatArray) -> HingeSolution | None:
    """Solve from the partition that ``alpha`` suggests; None when the partitions diverge or cycle."""
    place = _places(qp, alpha)
    rows = _FreeRows(qp)
    seen: set[bytes] = set()
    fewest_moves = len(alpha)
    for iteration in range(1, MAX_ITERATIONS + 1):
        free = np.flatnonzero(place == FREE)
        if place.tobytes() in seen:
            return None
        seen.add(place.tobytes())
        candidate = rows.solve(place, free, alpha)
        moved = _move(qp, place, candidate)
        n_moves = int(np.count_nonzero(moved != place))
        if n_moves == 0:
            return _checked(qp, free, candidate, iteration)
        most_moves = len(free) // CROWDED if len(free) > qp.n_terms + 1 else fewest_moves
        if n_moves > max(SETTLING, 1.1 * min(fewest_moves, most_moves)):
            return None
        fewest_moves = min(fewest_moves, n_moves)
        place, alpha = moved, candidate.alpha
    return None


def with_exact_margins(qp: HingeQP, solution: HingeSolution) -> HingeSolution:
    """The solution with the surface that puts its free rows on their margins, if that is nearer to the minimum.

    Where many dependent rows share the margin, an active set seldom finds multipliers that all stay in their boxes. The surface
    does not depend on which of them are taken.
    """
    place = _places(qp, solution.alpha)
    free = np.flatnonzero(place == FREE)
    if len(free) == 0:
        return solution
    candidate = _FreeRows(qp).solve(place, free, solution.alpha)
    alpha = np.where(place == FREE, solution.alpha, np.where(place == AT_UPPER, qp.upper, 0.0))
    exact = _checked(qp, free, candidate._replace(alpha=alpha), solution.n_iter)
    return exact if exact is not None and exact.violation < solution.violation else solution


def _places(qp: HingeQP, alpha: FloatArray) -> Places:
    """Where multipliers are, those at a bound up to rounding on it."""
    place = np.where(alpha > 0.0, FREE, AT_ZERO).astype(np.int8)
    place[alpha >= qp.upper * (1.0 - TOLERANCE)] = AT_UPPER
    tiny = np.flatnonzero((place == FREE) & (alpha <= TOLERANCE * qp.upper))
    if len(tiny):
        place[tiny[alpha[tiny] <= _slack(qp.upper[tiny], qp.least_reach(tiny))]] = AT_ZERO
    return place


def _slack(upper: FloatArray, reach: FloatArray | float) -> FloatArray:
    """What rounding may do to multipliers: little of their boxes, and little to their own margins where the boxes are wide."""
    return TOLERANCE * upper / np.maximum(1.0, upper * reach)


class _Candidate(NamedTuple):
    """Solution for one partition; ``curvature`` is how far a typical multiplier of one moves its own margin."""

    w: FloatArray
    alpha: FloatArray
    curvature: float
    margins: FloatArray


def _move(qp: HingeQP, place: Places, candidate: _Candidate) -> Places:
    """The partition that the candidate asks for."""
    alpha = candidate.alpha
    shortfall = qp.target - candidate.margins
    moved = place.copy()
    free = np.flatnonzero(place == FREE)
    slack = _slack(qp.upper[free], candidate.curvature)
    moved[free[alpha[free] < -slack]] = AT_ZERO
    moved[free[alpha[free] > qp.upper[free] + slack]] = AT_UPPER
    off = free[np.abs(shortfall[free]) > TOLERANCE]
    if len(off):  # rows that depend on others and contradict them
        off = off[np.abs(shortfall[off]) > TOLERANCE + qp.margin_rounding(candidate.w, off)]
        moved[off] = np.where(shortfall[off] > 0.0, AT_UPPER, AT_ZERO)
    leaving = np.flatnonzero(((place == AT_ZERO) & (shortfall > TOLERANCE)) | ((place == AT_UPPER) & (shortfall < -TOLERANCE)))
    # A sample that must leave its bound goes straight to the other one when its whole multiplier could not mend its margin
    # alone; otherwise the free set would swell.
    moved[leaving] = FREE
    far = leaving[np.abs(shortfall[leaving]) > qp.upper[leaving] * candidate.curvature]
    if len(far):
        far = far[np.abs(shortfall[far]) > qp.upper[far] * qp.least_reach(far)]
        moved[far] = AT_ZERO + AT_UPPER - place[far]
    if np.array_equal(moved, place) and not qp.sees_level[free].any() and qp.imbalance(alpha) > TOLERANCE:
        # The equation of c needs somebody to give way: the sample at the kink
        moved[np.argmin(np.where(qp.sees_level, np.abs(shortfall), np.inf))] = FREE
    return moved


def _checked(qp: HingeQP, free: IntArray, candidate: _Candidate, n_iter: int) -> HingeSolution | None:
    """The candidate as a solution, if its free margins are on target and its multipliers balance despite rounding."""
    alpha = np.clip(candidate.alpha, 0.0, qp.upper)
    shortfall = qp.target - candidate.margins
    at_bound = np.where(alpha > 0.0, np.maximum(-shortfall, 0.0), np.maximum(shortfall, 0.0))
    at_bound[free] = np.abs(shortfall[free])
    if len(free) and at_bound[free].max() > TOLERANCE:
        at_bound[free] -= qp.margin_rounding(candidate.w, free)
    violation = max(float(at_bound.max()), qp.imbalance(alpha), qp.relative_gap(candidate.w, alpha, candidate.margins))
    return HingeSolution(candidate.w, alpha, n_iter, violation) if violation <= ACCEPTED else None


class _FreeSystem(NamedTuple):
    """K s + c e = rhs, e's = total, for the free rows.

    With k + 1 free rows K alone is singular and only the balance determines s (e: the rows' entries of c, all 1 for samples).
    Adding curvature * e e' to K, and its value under the balance to the right-hand side, changes nothing but the conditioning.
    In ``unit`` the diagonal is one, which keeps a huge row from drowning the others.
    """

    factor: FloatArray
    e: FloatArray
    unit: FloatArray
    curvature: float
    along_c: FloatArray
    balance: float
    shift: float

    @staticmethod
    def of(V: FloatArray, e: FloatArray) -> _FreeSystem | None:
        """For the columns L^-1 r_i of the free rows; None where they are dependent."""
        K = V.T @ V
        curvature = _typical(K.diagonal())
        if curvature == 0.0:
            return None
        K += (curvature * e)[:, None] * e
        unit = np.sqrt(K.diagonal())
        K /= unit[:, None] * unit
        K.flat[:: len(e) + 1] += PROXIMAL
        factor, failed = dpotrf(K.T, lower=1, clean=0, overwrite_a=1)
        if failed or factor.diagonal().min() < NEARLY_DEPENDENT:
            return None
        return _FreeSystem.factored(factor, e, unit, curvature, PROXIMAL)

    @staticmethod
    def factored(factor: FloatArray, e: FloatArray, unit: FloatArray, curvature: float, shift: float) -> _FreeSystem:
        """``factor``: of K in its unit with curvature and shift."""
        e = e / unit
        along_c = dpotrs(factor, e, lower=1)[0]
        return _FreeSystem(factor, e, unit, curvature, along_c, float((e * along_c).sum()), shift)

    def solve(self, rhs: FloatArray, total: float, signed: FloatArray) -> tuple[FloatArray, float]:
        """s and c; what the equations leave undetermined of s stays where ``signed`` has it."""
        rhs, signed, c = rhs / self.unit + self.curvature * total * self.e, signed * self.unit, 0.0
        for _ in range(REFINEMENTS if self.shift else 1):
            partial = dpotrs(self.factor, rhs + self.shift * signed, lower=1)[0]
            c = (float((self.e * partial).sum()) - total) / self.balance if self.balance else 0.0
            signed = partial - c * self.along_c
        return signed / self.unit, c


def _typical(reaches: FloatArray) -> float:
    """The median, which no huge row can move; the mean where most rows are zero."""
    middle = float(np.partition(reaches, len(reaches) // 2)[len(reaches) // 2])
    return middle or float(reaches.mean())


class _Basis(NamedTuple):
    """Free rows that determine all others, and how a change of their multipliers is spread over all.

    Let B hold the rows as columns, the entry of c among them, times their weights, and B = Q R with R = [R_b R_o], R_b a
    triangle. Changes d of all multipliers do to the surface what the change d_b of the basis alone does where
    R (d / weights) = R_b (d_b / weights). The shortest of them moves those little that have little room in their boxes.
    """

    rows: IntArray
    order: IntArray
    triangle: FloatArray
    weight: FloatArray
    system: _FreeSystem

    @staticmethod
    def of(V: FloatArray, e: FloatArray, room: FloatArray) -> _Basis:
        """``room``: how far the multipliers are from their bounds; those with more of it are preferred."""
        curvature = _typical(np.einsum("ij,ij->j", V, V)) or 1.0
        B = np.asfortranarray(np.vstack([V, np.sqrt(curvature) * e]))
        length = np.sqrt(np.einsum("ij,ij->j", B, B))
        length[length == 0.0] = 1.0
        reach = room * length
        weight = np.clip(reach / (_typical(reach) or 1.0), LEAST_WEIGHT, 1.0) / length
        B *= weight
        factors, order, *_ = dgeqp3(B, lwork=64 * B.shape[1], overwrite_a=1)
        diagonal, order = np.abs(factors.diagonal()), order - 1
        rank = int(np.count_nonzero(diagonal > DEPENDENT * diagonal[0]))
        rows, R = order[:rank], np.triu(factors[:rank])
        # R_b is the factor of the basis's K: no square of it loses digits
        system = _FreeSystem.factored(R[:, :rank].T, e[rows], 1.0 / weight[rows], curvature, 0.0)
        return _Basis(rows, order, R, weight[order], system)

    def spread(self, change: FloatArray) -> FloatArray:
        """The change of all multipliers, for one of the basis."""
        R, rank = self.triangle, len(self.rows)
        spread = np.zeros(len(self.order))
        factor, failed = dpotrf(R @ R.T, lower=1, clean=0)
        if failed:
            spread[self.rows] = change
        else:
            shortest = dpotrs(factor, R[:, :rank] @ (change / self.weight[:rank]), lower=1)[0] @ R
            spread[self.order] = self.weight * shortest
        return spread


class _FreeRows:
    """Solves for the free multipliers, keeping L^-1 r_i of every row that was ever free (P = L L')."""

    def __init__(self, qp: HingeQP) -> None:
        self.qp = qp
        self.count = 0
        self.columns = np.empty((qp.n_terms, 0), order="F")
        self.position = np.full(len(qp.y), -1)
        self.at_bound = np.zeros(len(qp.y))
        self.h = qp.g

    def solve(self, place: Places, free: IntArray, alpha: FloatArray) -> _Candidate:
        qp = self.qp
        h = self._pull_of(np.where(place == AT_UPPER, qp.upper, 0.0))
        z = qp.solve_P(h[:-1])
        if len(free) == 0:
            w = np.append(z, qp.best_level(z))
            return _Candidate(w, self.at_bound, np.inf, qp.margins(w))
        V, A, y = self._columns_of(free), qp.A[free], qp.y[free]
        alpha = np.clip(alpha[free], 0.0, qp.upper[free])
        equations = _Equations(qp, V, A, y * qp.target[free], z, float(h[-1]))
        system = _FreeSystem.of(V, A[:, -1]) if len(free) <= qp.n_terms + 1 else None
        if system is not None:
            signed, z, c = equations.solved(system, slice(None), y * alpha)
        else:
            basis = _Basis.of(V, A[:, -1], np.minimum(alpha, qp.upper[free] - alpha))
            system = basis.system
            signed, _, _ = equations.solved(system, basis.rows, y * alpha)
            signed = y * alpha + basis.spread((signed - y * alpha)[basis.rows])
            signed, z, c = equations.solved(system, basis.rows, signed)
        multipliers = self.at_bound.copy()
        multipliers[free] = y * signed
        w = np.append(z, c if system.balance else qp.best_level(z))
        return _Candidate(w, multipliers, system.curvature, qp.margins(w))

    def _pull_of(self, at_bound: FloatArray) -> FloatArray:
        """h = g + A'(y alpha) with the free multipliers left out; from the one before where few samples changed place."""
        changed = np.flatnonzero(at_bound != self.at_bound)
        change = self.qp.y * (at_bound - self.at_bound)
        h = self.h
        if len(changed) * FEW < len(change):
            self.h = h + change[changed] @ self.qp.A[changed]
        if len(changed) * FEW >= len(change) or (np.abs(self.h) < CANCELLED * np.abs(h)).any():
            self.h = self.qp.g + (self.qp.y * at_bound) @ self.qp.A
        self.at_bound = at_bound
        return self.h

    def _columns_of(self, free: IntArray) -> FloatArray:
        """L^-1 r_i of the free rows; of those that were never free before they are made."""
        new = free[self.position[free] < 0]
        if len(new):
            self.position[new] = np.arange(self.count, self.count + len(new))
            self.count += len(new)
            fresh = dtrtrs(self.qp.factor, self.qp.A[new, :-1].T, lower=1)[0]
            self.columns = np.asfortranarray(np.hstack([self.columns, fresh]))
        return self.columns[:, self.position[free]]


class _Equations(NamedTuple):
    """What the multipliers of free rows have to do: put their margins on target, and balance.

    Attributes
    ----------
    V : array of shape (p, n)
        L^-1 r_i of the free rows.
    A, wanted : arrays of shape (n, p + 1) and (n,)
        The rows and y target.
    z, h_c : array of shape (p,), float
        Surface and imbalance without them.
    """

    qp: HingeQP
    V: FloatArray
    A: FloatArray
    wanted: FloatArray
    z: FloatArray
    h_c: float

    def solved(self, system: _FreeSystem, rows: IntArray | slice, signed: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Signed multipliers, z and c; only those of ``rows`` change, which are those of the system.

        With s = y alpha:  K s + c e = y target - R z,  e's = -h_c.
        """
        A, wanted, e = self.A[rows], self.wanted[rows], self.A[:, -1]
        start, signed = signed[rows], signed.copy()
        signed[rows] = 0.0
        z = self._moved(self.z, signed)
        signed[rows], c = system.solve(wanted - A[:, :-1] @ z, -self.h_c - float(e @ signed), start)
        z = self._moved(self.z, signed)
        off = wanted - A @ np.append(z, c)
        if np.abs(off).max() > REFINE_ABOVE:  # cancellation among large terms: once more, for what is left of the margins
            more, shift = system.solve(off, -self.h_c - float(e @ signed), np.zeros(len(off)))
            signed[rows] += more
            z, c = self._moved(self.z, signed), c + shift
        return signed, z, c

    def _moved(self, z: FloatArray, signed: FloatArray) -> FloatArray:
        """z + P^-1 R's."""
        return z + dtrtrs(self.qp.factor, self.V @ signed, lower=1, trans=1)[0] if signed.any() else z
