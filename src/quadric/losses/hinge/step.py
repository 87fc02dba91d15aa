"""z-step of the hinge loss: equal samples become one, then a warm active set, an interior point on part of them, and on all.

The warm attempt costs a few small systems and fails when many samples change place at once. The interior point then
starts from the old surface and hands over to the active set as soon as that can finish. Large problems begin with only the
samples nearest to their margin (the others held at their bounds); the active set also checks the samples left out. Should even
the last stage not settle exactly, the interior point's own answer is returned with the violation it has. On discrete data that
is common: many samples share the margin, so that their multipliers are far from unique, while the value is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dtrtrs

from quadric.geometry.cuts import Cuts
from quadric.losses.base import RuledSolution, StepSolution
from quadric.losses.dual import DualStep
from quadric.losses.hinge.active_set import ACCEPTED, solve_active_set, with_exact_margins
from quadric.losses.hinge.interior_point import InteriorPoint
from quadric.losses.hinge.merging import MergedRows, distinct_rows
from quadric.losses.hinge.priced_cuts import solve_under
from quadric.losses.hinge.problem import HingeProblem
from quadric.losses.hinge.qp import DistinctRows, HingeQP, HingeSolution, hinge_intercept
from quadric.types import BoolArray, FloatArray, IntArray

# Relative gaps at which the interior point offers its partition to the active set
HANDOVER_GAPS = (1e-2, 1e-4, 1e-6, 1e-9, 1e-12)
WORKING_GAPS = HANDOVER_GAPS[:4]  # the same on a working set: what is not settled by then is the fault of the samples left out
BOUND_GAPS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6)  # the same where a bound may be enough
DEPENDENT_GAP = 1e-8  # from this accuracy on, what still looks free is, though there are more rows than can be independent
WARM_SPREAD, COLD_SPREAD = 0.05, 1.0
LARGE = 50_000  # entries of A from which on it pays to try a part of the samples first
EXACT = 1e-9  # violation above which an answer is worth another attempt
EXACT_VALUE = 1e-11  # relative gap from which on a value counts as exact
NEGLIGIBLE = 1e-10  # a refitted term that moves no margin by more than this is dropped if it is also ROUNDING
ROUNDING = 1e-13  # a coefficient below this fraction of what the multipliers could make it is rounding noise around zero
WIDE = 1e8  # width of a box from which on a narrower one is tried first, in units of what moves a typical margin by one
STRETCH = 1e-11  # share by which a surface grows for the rounding of its margins
WORKING_SHARE = 4  # the interior point's first try keeps a quarter of the samples, at least twice the number of terms


class HingeStep(DualStep):
    """Remembers its answers and starts from near ones: the last fixed point on the same support, or the last answer.

    The very first sweep of a decomposition, from u = 0, is the same for every k, so its answer is kept too.
    """

    problem: HingeProblem

    def __init__(self, problem: HingeProblem) -> None:
        self.problem = problem
        self._upper = problem.upper
        self._last: tuple[FloatArray, FloatArray] | None = None  # a surface with its level, and its multipliers
        self._distinct: DistinctRows | None = None  # the samples, on all terms
        self._settled: dict[bytes, FloatArray] = {}
        self._from_zero: dict[float, tuple[StepSolution, tuple[FloatArray, FloatArray]]] = {}

    def at(self, C: float) -> HingeStep:
        """The solver of the same problem at another C, which starts from the last answer of this one."""
        step = HingeStep(replace(self.problem, C=C))
        step._distinct = self._distinct
        if self._last is not None:
            step._remember(self._last[0], self._last[1] * (C / self.problem.C))
        return step

    def sweep(self, u: FloatArray, rho: float) -> StepSolution:
        if u.any():
            return super().sweep(u, rho)
        if rho not in self._from_zero:
            solution = super().sweep(u, rho)
            assert self._last is not None
            self._from_zero = {rho: (solution, self._last)}
        solution, last = self._from_zero[rho]
        self._remember(*last)
        return solution

    def fixed_point(self, support: IntArray, rho: float) -> StepSolution:
        penalty = np.full(self.problem.n_terms, rho)
        penalty[support] = 0.0
        key = support.tobytes()
        solution = self.penalised(penalty, np.zeros(self.problem.n_terms), self._settled.get(key))
        self._settled = {key: self.multipliers}
        return solution

    def refit(self, support: IntArray) -> StepSolution:
        problem = self.problem
        if len(support) == 0:
            return self._without_terms()
        qp, columns = self._on(support)
        solution = self._solved(qp, *self._start(columns))
        w = np.zeros(problem.n_terms + 1)
        w[support] = np.where(_is_noise(solution, qp), 0.0, solution.w[:-1])
        w[-1] = problem.level(w[:-1])
        value = problem.objective_at_level(w[:-1], w[-1])
        if self._narrow is not None:
            longer = _lengthened(problem, w)
            stretched = problem.objective_at_level(longer[:-1], longer[-1])
            if stretched <= value * (1.0 + EXACT):
                w, value = longer, stretched
        self._remember(w, solution.alpha)
        self._settled = {support.tobytes(): solution.alpha}  # the fixed point of an infinite rho
        return self._solution(w, value, solution.violation)

    def confined(self, support: IntArray, cuts: Cuts, free: StepSolution) -> RuledSolution:
        problem, (qp, _) = self.problem, self._on(support)
        found = solve_under(qp, cuts, free.z[support], self.multipliers, self._solved)
        z = np.zeros(problem.n_terms)
        z[support] = found.z
        level = problem.level(z)
        self._remember(np.append(z, level), found.alpha)
        solution = self._solution(np.append(z, level), problem.objective_at_level(z, level), found.violation)
        return RuledSolution.of(solution, found.multipliers)

    def exceeds(self, support: IntArray, ceiling: float) -> bool:
        """By an interior point, until its bound reaches the ceiling or its value is below; a refit would start from there."""
        if len(support) == 0 or self._last is None or self._narrow is not None:
            return False
        qp, columns = self._on(support)
        merged = MergedRows.of(qp)
        interior = InteriorPoint(qp if merged is None else merged.qp, self._start(columns)[0], WARM_SPREAD)
        for gap in BOUND_GAPS:
            advancing = interior.advance(gap)
            if interior.qp.lower_bound(interior.alpha) >= ceiling:
                return True
            if not advancing or interior.qp.value(interior.w, interior.margins) < ceiling:
                break
        w, alpha = np.zeros(self.problem.n_terms + 1), interior.crossover()
        w[columns] = interior.w
        self._remember(w, alpha if merged is None else merged.shared(alpha))
        return False

    def _on(self, support: IntArray) -> tuple[HingeQP, IntArray]:
        """The problem of a refit, and its columns of A."""
        problem, columns = self.problem, np.append(support, self.problem.n_terms)
        G = problem.G[np.ix_(support, support)]
        return HingeQP(problem.A[:, columns], problem.y, self._upper, G, np.zeros(len(columns))), columns

    def penalised(self, penalty: FloatArray, u: FloatArray, likely: FloatArray | None = None) -> StepSolution:
        problem = self.problem
        P = problem.G.copy()
        P[np.diag_indices_from(P)] += penalty
        qp = HingeQP(problem.A, problem.y, self._upper, P, np.append(penalty * u, 0.0), 0.5 * float(penalty @ u**2))
        self._distinct = self._distinct or distinct_rows(qp)
        solution = self._solved(replace(qp, distinct=self._distinct), *self._start(slice(None)), likely)
        z = solution.w[:-1]
        scores = problem.A[:, :-1] @ z
        level = hinge_intercept(scores, problem.y, problem.loss_weight)
        w = np.append(z, level)
        self._remember(w, solution.alpha)
        return self._solution(w, qp.value(w, problem.y * (scores + level)), solution.violation)

    @cached_property
    def _narrow(self) -> FloatArray | None:
        """Boxes in which multipliers have digits enough; None where the boxes are no wider."""
        reach = float(np.median((self.problem.A[:, :-1] ** 2) @ (1.0 / np.diag(self.problem.G))))
        return None if reach * self._upper.max() <= WIDE else np.minimum(self._upper, WIDE / reach)

    def _solved(self, qp: HingeQP, w: FloatArray, alpha: FloatArray | None, likely: FloatArray | None = None) -> HingeSolution:
        """The minimum of q; multipliers that do not fill narrow boxes need no wider ones."""
        if self._narrow is not None:
            narrow = np.append(self._narrow, qp.upper[len(self._narrow) :])  # rows that are no samples keep their boxes
            starts = (None if start is None else np.minimum(start, narrow) for start in (alpha, likely))
            solution = solve_hinge(replace(qp, upper=narrow), w, *starts)
            inside = (solution.alpha < narrow) | (narrow == qp.upper)
            if inside.all():
                return solution
            w, alpha = solution.w, np.where(inside, solution.alpha, qp.upper)
        return solve_hinge(qp, w, alpha, likely)

    def _solution(self, w: FloatArray, value: float, violation: float) -> StepSolution:
        """From the level, with which the solvers work, to the intercept."""
        z = w[:-1]
        return StepSolution(z, self.problem.intercept_at_level(z, float(w[-1])), value, violation)

    def _without_terms(self) -> StepSolution:
        """z = 0: only c is fitted, and the samples at its kink share what balances the multipliers."""
        problem = self.problem
        z = np.zeros(problem.n_terms)
        c = problem.level(z)
        shortfall = 1.0 - c * problem.y
        alpha = np.where(shortfall > EXACT, self._upper, 0.0)
        at_kink = np.abs(shortfall) <= EXACT
        weight = float((problem.y * self._upper)[at_kink].sum())
        if weight:
            alpha[at_kink] = self._upper[at_kink] * np.clip(-(problem.y @ alpha) / weight, 0.0, 1.0)
        self._remember(np.append(z, c), alpha)
        return StepSolution(z, c, problem.objective(z, c), 0.0)

    def _start(self, columns: IntArray | slice) -> tuple[FloatArray, FloatArray | None]:
        if self._last is None:
            return np.zeros(self.problem.n_terms + 1)[columns], None
        return self._last[0][columns], self._last[1]

    def _remember(self, w: FloatArray, alpha: FloatArray) -> None:
        self._last, self.multipliers = (w, alpha), alpha


def _is_noise(solution: HingeSolution, qp: HingeQP) -> BoolArray:
    """Coefficients that are zero up to rounding: z_j is roughly a sum of alpha_i y_i r_ij over P_jj, which may cancel."""
    size, R = np.abs(solution.w[:-1]), np.abs(qp.A[:, :-1])
    return (size <= ROUNDING * (solution.alpha @ R) / np.diag(qp.P)) & (size * R.max(axis=0) <= NEGLIGIBLE)


def _lengthened(problem: HingeProblem, w: FloatArray) -> FloatArray:
    """A surface that meets the margins which ``w`` meets up to rounding: C times that may be more than all the rest."""
    shortfall = 1.0 - problem.y * (problem.A @ w)
    return w * (1.0 + STRETCH + float(np.max(shortfall, where=shortfall <= ACCEPTED, initial=0.0)))


def solve_hinge(qp: HingeQP, w: FloatArray, alpha: FloatArray | None, likely: FloatArray | None = None) -> HingeSolution:
    """Minimise q, from an old answer (w, alpha) or from scratch (alpha None); see the module's head.

    ``likely`` are multipliers that may be nearer; a failed attempt costs little beside the interior point it may save.
    """
    merged = MergedRows.of(qp)
    if merged is None:
        return _solved_distinct(qp, w, alpha, likely)
    return merged.apart(_solved_distinct(merged.qp, w, merged.together(alpha), merged.together(likely)))


def _solved_distinct(qp: HingeQP, w: FloatArray, alpha: FloatArray | None, likely: FloatArray | None) -> HingeSolution:
    if alpha is not None:
        for start in (likely, alpha):
            solution = None if start is None else solve_active_set(qp, start)
            if solution is not None:
                return solution
        solution = None if _is_crowded(qp, alpha) or qp.A.size < LARGE else _on_working_set(qp, w)
        solution = solution or _on_all(qp, w, WARM_SPREAD)
        if _is_settled(qp, solution):
            return solution
    solution = _on_all(qp, w, COLD_SPREAD)
    if not _is_settled(qp, solution):
        other = _equilibrated(qp, w)
        solution = other if other.violation < solution.violation else solution
    return solution


def _is_crowded(qp: HingeQP, alpha: FloatArray) -> bool:
    """Whether more rows are on their margin than can be independent."""
    return bool(np.count_nonzero((alpha > 0.0) & (alpha < qp.upper)) > qp.n_terms + 1)


def _is_settled(qp: HingeQP, solution: HingeSolution) -> bool:
    """Whether another attempt is not worth it: the conditions of optimality hold, or the value is exact and the margin crowded,
    so that many multipliers are as good.
    """
    w, alpha = solution.w, solution.alpha
    if solution.violation <= EXACT or not _is_crowded(qp, alpha):
        return solution.violation <= EXACT
    return qp.relative_gap(w, alpha, qp.margins(w)) <= EXACT_VALUE


def _on_all(qp: HingeQP, w: FloatArray, spread: float) -> HingeSolution:
    """Interior point on all samples, finished by the active set where that can."""
    interior = InteriorPoint(qp, w, spread)
    for partition in _partitions(interior, HANDOVER_GAPS):
        solution = _finished(qp, partition, interior)
        if solution is not None:
            return solution
    return with_exact_margins(qp, interior.solution())


def _equilibrated(qp: HingeQP, w: FloatArray) -> HingeSolution:
    """The same problem in other units: no row is longer than one, and a surface of length one has margins of about one.

    With P = L L' and l the typical length of L^-1 r_i, v = l L'z takes the place of z, longer rows are shortened with their
    targets, and the objective is multiplied by l^2.
    """
    R = dtrtrs(qp.factor, qp.A[:, :-1].T, lower=1)[0].T
    lengths = np.linalg.norm(R, axis=1)
    typical = float(np.median(lengths)) or 1.0
    unit = np.maximum(lengths / typical, 1.0)
    stretch = typical**2 * unit
    A = np.column_stack([R / typical, qp.A[:, -1]]) / unit[:, None]
    g = np.append(dtrtrs(qp.factor, qp.g[:-1], lower=1)[0] * typical, qp.g[-1] * typical**2)
    scaled = HingeQP(A, qp.y, qp.upper * stretch, np.eye(qp.n_terms), g, qp.offset * typical**2, qp.target / unit)
    solution = _on_all(scaled, np.append(typical * (np.tril(qp.factor).T @ w[:-1]), w[-1]), COLD_SPREAD)
    alpha = solution.alpha / stretch
    z = dtrtrs(qp.factor, solution.w[:-1] / typical, lower=1, trans=1)[0]
    return solve_active_set(qp, alpha) or replace(solution, w=np.append(z, solution.w[-1]), alpha=alpha)


def _on_working_set(qp: HingeQP, w: FloatArray) -> HingeSolution | None:
    """Interior point on the samples nearest to their margin; None when the others contradict its answer."""
    size = max(len(qp.y) // WORKING_SHARE, 2 * qp.n_terms)
    if size >= len(qp.y):
        return None
    excess = qp.margins(w) - qp.target
    working = np.sort(np.argpartition(np.abs(excess), size)[:size])
    at_bound = np.where(excess < 0.0, qp.upper, 0.0)
    at_bound[working] = 0.0
    interior = InteriorPoint(qp.restricted(working, at_bound), w, WARM_SPREAD)
    for partition in _partitions(interior, WORKING_GAPS):
        alpha = at_bound.copy()
        alpha[working] = partition
        solution = _finished(qp, alpha, interior)
        if solution is not None:
            return solution
    return None


def _finished(qp: HingeQP, alpha: FloatArray, interior: InteriorPoint) -> HingeSolution | None:
    """The active set's answer from a partition of the interior point, if it is accurate enough to be worth the attempt."""
    if _is_crowded(qp, alpha) and interior.relative_gap() > DEPENDENT_GAP:
        return None
    return solve_active_set(qp, alpha)


def _partitions(interior: InteriorPoint, gaps: Sequence[float]) -> Iterator[FloatArray]:
    """Multipliers snapped to their bounds, at one accuracy after another."""
    for gap in gaps:
        advancing = interior.advance(gap)
        yield interior.crossover()
        if not advancing:
            return
