"""Penalty decomposition (the paper's Algorithm 1), with plain sweeps or with jumps to their fixed points.

For each rho, block coordinate descent on q(z, c, u) = F(z, c) + rho/2 ||z - u||^2 over ||u||_0 <= k; then rho grows, until z
and u agree. Symbols as in the paper: z, c, u, rho; Upsilon is ``ceiling``. What comes back is refitted on the final support,
so that it is stationary to the solver's accuracy and not only to outer_tol.
Equation numbers are those of docs/mathematics.md.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from quadric.blas import one_blas_thread
from quadric.losses.base import SparseProblem, Step, StepSolution
from quadric.progress import Report, silent
from quadric.search.rules import keep
from quadric.types import FloatArray, IntArray

# The first rho, as a share of the mean curvature of the problem.
RHO_SHARE = 1e-3
# Penalty, in the same unit, beyond which z cannot come closer to u: what is left of it is rounding.
LARGEST_SHARE = 1e60
# The choice of terms counts as final when those left out are no larger than this share of those kept, now and after the refit.
# That is a guess, which benchmarks/engine.py puts to the test; nothing about the result depends on it but the choice of terms.
STAY_SHARE = 0.5
# Relative decrease below which the inner loop counts as standing still: ties must not make it run in circles.
DESCENT_TOLERANCE = 1e-13


class Status(StrEnum):
    """How a search ended: "optimal" with a proof, "converged" without, or at one of its limits."""

    CONVERGED = "converged"
    OPTIMAL = "optimal"
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    PRECISION_LIMIT = "precision limit"


@dataclass(frozen=True)
class Schedule:
    """Parameters of Algorithm 1.

    Attributes
    ----------
    rho : float or None
        First penalty; None: a thousandth of the problem's mean curvature.
    growth : float
        Factor from one penalty to the next.
    inner_tol : float
        Relative change of z, c and u at which the sweeps of one penalty stop.
    outer_tol : float
        Largest |z_j - u_j| at which the whole stops.
    max_iter : int
        Largest number of z-steps.
    time_limit : float or None
        Seconds after which the search stops where it is.
    accelerated : bool
        Jump to the fixed point of each support that a sweep chooses, instead of sweeping towards it, and from a support that
        looks final to the last penalty.
    """

    rho: float | None = None
    growth: float = 10**0.5
    inner_tol: float = 1e-4
    outer_tol: float = 1e-4
    max_iter: int = 10_000
    time_limit: float | None = None
    accelerated: bool = True

    def until(self, deadline: float | None) -> Schedule:
        """The same with no more time than there is now to a deadline, by time.monotonic()."""
        if deadline is None:
            return self
        left = max(deadline - time.monotonic(), 0.0)
        return replace(self, time_limit=left if self.time_limit is None else min(left, self.time_limit))


@dataclass(frozen=True)
class TraceRow:
    """One penalty of a decomposition: where its inner loop ended.

    Attributes
    ----------
    rho : float
    n_steps : int
        z-steps up to and including this penalty.
    value : float
        q at the end of the inner loop.
    distance : float
        Largest |z_j - u_j|.
    support : array
        Terms that u keeps.
    restarted : bool
        Whether the sweep before exceeded Upsilon and the inner loop started again from the feasible point.
    """

    rho: float
    n_steps: int
    value: float
    distance: float
    support: IntArray
    restarted: bool


@dataclass(frozen=True)
class SearchResult:
    """A surface, fitted exactly on its support, and how it was found; vectors run over the candidate terms of the problem.

    Attributes
    ----------
    z, c : array of shape (p,), float
        The refitted surface.
    support : array
        Terms of z.
    objective : float
        F(z, c).
    n_iter : int
        z-steps, the refit not counted.
    status : Status
    distance : float
        Largest |z_j - u_j| before the refit, to compare with ``outer_tol``.
    trace : tuple of TraceRow
    swap_optimal : bool or None
        Whether no exchange of one term helps; None: not examined.
    lower_bound : float or None
        On the objective of any k terms; None: not computed.
    """

    z: FloatArray
    c: float
    support: IntArray
    objective: float
    n_iter: int
    status: Status
    distance: float
    trace: tuple[TraceRow, ...]
    swap_optimal: bool | None = None
    lower_bound: float | None = None


@one_blas_thread()
def decompose(
    problem: SparseProblem, schedule: Schedule | None = None, *, step: Step | None = None, report: Report = silent
) -> SearchResult:
    """Run Algorithm 1 on a problem.

    Parameters
    ----------
    problem : SparseProblem
    schedule : Schedule
    step : Step, optional
        z-step solver to reuse, from a problem that differs in k only.
    report : callable
        Told one line per penalty.
    """
    return _Run(problem, schedule or Schedule(), step or problem.step(), report).result()


class _Run:
    """State of one decomposition."""

    def __init__(self, problem: SparseProblem, schedule: Schedule, step: Step, report: Report) -> None:
        self.problem, self.schedule, self.step, self.report = problem, schedule, step, report
        self.n_steps = 0
        self.started = time.monotonic()
        self.u = np.zeros(problem.z_shape)  # also z_feas, the feasible point of step 12
        self.trace: list[TraceRow] = []
        self._last_refit: tuple[IntArray, StepSolution] | None = None

    def result(self) -> SearchResult:
        status, last = self._outer_loop(), self.trace[-1]
        refit = self._refit(last.support)
        return SearchResult(refit.z, refit.c, last.support, refit.value, self.n_steps, status, last.distance, tuple(self.trace))

    def _outer_loop(self) -> Status:
        schedule = self.schedule
        ceiling = self.problem.at_zero()  # (4.3), Upsilon: F at the feasible point is also >= min q for rho_0 and u = 0
        rho = RHO_SHARE * self.problem.mean_curvature if schedule.rho is None else schedule.rho
        # block coordinate descent for one rho, from its first sweep; leaves u behind
        inner_loop = self._jumps if schedule.accelerated else self._plain_sweeps
        solution = inner_loop(self._sweep(rho), rho)
        restarted = False
        while True:
            self._record(solution, rho, restarted)
            if self.trace[-1].distance <= schedule.outer_tol:  # (4.2)
                return Status.CONVERGED
            if (limit := self._limit()) is not None:
                return limit
            if rho > LARGEST_SHARE * self.problem.mean_curvature:
                return Status.PRECISION_LIMIT
            if schedule.accelerated and self._looks_final(solution):
                # z - u is of the order 1/rho on the terms left out, so this rho is where (4.2) should hold
                rho *= schedule.growth * self.trace[-1].distance / schedule.outer_tol
                solution, restarted = self._fixed_point(self.trace[-1].support, rho), False
                self.u = self._projected(solution)
                continue
            rho *= schedule.growth
            solution = self._sweep(rho)
            restarted = solution.value > ceiling * (1.0 + DESCENT_TOLERANCE) and self._limit() is None
            if restarted:
                self.u = np.zeros(self.problem.z_shape)
                solution = self._sweep(rho)
            solution = inner_loop(solution, rho)

    def _looks_final(self, solution: StepSolution) -> bool:
        """Whether no larger rho is likely to make other terms the largest.

        With rho the terms left out shrink, and those kept go to their refit: if they are large at both ends they stay large
        (4.6).
        """
        support = self.trace[-1].support
        chosen = np.setdiff1d(support, self.problem.rule.required)  # required terms are kept whatever their size
        largest_left_out = float(np.max(np.delete(sizes(solution.z), support), initial=0.0))
        now = solution.z[chosen]
        if largest_left_out > STAY_SHARE * np.min(sizes(now), initial=np.inf):
            return False
        then = self._refit(support).z[chosen]
        agrees = np.all(np.sum(np.atleast_2d((now * then).T), axis=0) > 0.0)
        return bool(agrees and largest_left_out <= STAY_SHARE * np.min(sizes(then), initial=np.inf))

    def _plain_sweeps(self, solution: StepSolution, rho: float) -> StepSolution:
        """Sweep until z, c and u change by no more than inner_tol, relatively: the paper's rule."""
        self.u = self._projected(solution)
        while self._limit() is None:
            before, u_before = solution, self.u
            solution = self._sweep(rho)
            self.u = self._projected(solution)
            change = max(
                _relative_change(before.z, solution.z),
                _relative_change(np.atleast_1d(before.c), np.atleast_1d(solution.c)),
                _relative_change(u_before, self.u),
            )
            if change <= self.schedule.inner_tol:
                break
        return solution

    def _jumps(self, solution: StepSolution, rho: float) -> StepSolution:
        """Follow each sweep by the fixed point of the support it chose, until that chooses itself."""
        value = np.inf
        while True:
            support = self._support(solution)
            self.u = keep(solution.z, support)
            if self._limit() is not None:
                return solution
            solution = self._fixed_point(support, rho)
            self.u = self._projected(solution)
            # A fixed point whose own largest terms are its support would come back unchanged from the next sweep.
            settled = np.array_equal(self._support(solution), support)
            descends = solution.value < value * (1.0 - DESCENT_TOLERANCE)
            if settled or not descends or self._limit() is not None:
                return solution
            value = solution.value
            solution = self._sweep(rho)

    def _projected(self, solution: StepSolution) -> FloatArray:
        return keep(solution.z, self._support(solution))

    def _support(self, solution: StepSolution) -> IntArray:
        return self.problem.rule.project(sizes(solution.z), self.problem.k)

    def _sweep(self, rho: float) -> StepSolution:
        self.n_steps += 1
        return self.step.sweep(self.u, rho)

    def _fixed_point(self, support: IntArray, rho: float) -> StepSolution:
        self.n_steps += 1
        return self.step.fixed_point(support, rho)

    def _refit(self, support: IntArray) -> StepSolution:
        if self._last_refit is None or not np.array_equal(self._last_refit[0], support):
            self._last_refit = support, self.step.refit(support)
        return self._last_refit[1]

    def _limit(self) -> Status | None:
        if self.n_steps >= self.schedule.max_iter:
            return Status.ITERATION_LIMIT
        limit = self.schedule.time_limit
        if limit is not None and time.monotonic() - self.started >= limit:
            return Status.TIME_LIMIT
        return None

    def _record(self, solution: StepSolution, rho: float, restarted: bool) -> None:
        support = self._support(solution)
        distance = float(np.max(np.abs(solution.z - self.u), initial=0.0))
        self.trace.append(TraceRow(rho, self.n_steps, solution.value, distance, support, restarted))
        self.report(
            f"penalty {rho:.3g}: {self.n_steps} z-steps, value {solution.value:.6g}, "
            f"distance {distance:.2g} (to reach: {self.schedule.outer_tol:g})"
        )


def sizes(z: FloatArray) -> FloatArray:
    """|z_j|, or its length where several classes have a coefficient each: what (4.1) keeps the largest of."""
    return np.abs(z) if z.ndim == 1 else np.linalg.norm(z, axis=1)


def _relative_change(before: FloatArray, after: FloatArray) -> float:
    return float(np.max(np.abs(after - before), initial=0.0) / max(np.max(np.abs(after), initial=0.0), 1.0))
