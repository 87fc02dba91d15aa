"""z-step of the squared loss: one eigendecomposition serves every rho, every u and every k.

F(z) = 1/2 z'Mz - q'z + constant with c eliminated (docs/mathematics.md, eq. 2.2). With M = V diag(e) V':
    sweep        z = V ((V'q + rho V'u) / (e + rho))                                                                  (2.6)
    fixed point  (4.5): its u solves  [V diag(e/(e+rho)) V']_SS u_S = [V (V'q / (e+rho))]_S, and z is the sweep from that u
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf, dpotrs

from quadric.losses.base import NoBound, Step, StepSolution
from quadric.losses.least_squares.problem import LeastSquaresProblem, QuadraticProblem, SampleRows
from quadric.types import FloatArray, IntArray

MOST_WORK = 2e10
"""Operations that a bound from the rows may take: some seconds."""
Solver: TypeAlias = Callable[[FloatArray], FloatArray]
ACCURATE = 1e-8
"""Share of the minimum that rounding in M and q may change before a refit goes back to the rows."""
SURELY_REGULAR = 1e-2
"""Relative error of the inverse of M_SS up to which (7.8) holds."""


class RefittingStep(Step):
    """Refits on few terms, by M where its digits are enough, else by the rows."""

    def __init__(self, problem: QuadraticProblem) -> None:
        self.problem = problem

    def refit(self, support: IntArray) -> StepSolution:
        problem, z = self.problem, np.zeros(self.problem.n_terms)
        if len(support) == 0:
            return self._solution(z, problem.constant)
        factor = self._factor(support)
        z[support] = factor.solve(problem.q[support])
        value = problem.objective(z, problem.intercept(z))
        error = self._rounding(support, z[support], factor)
        if error <= ACCURATE * value:
            return self._solution(z, value)
        if problem.rows is None:
            return replace(self._solution(z, value), residual=error)
        return self._from_rows(problem.rows, support, z[support])

    def _rounding(self, support: IntArray, z: FloatArray, factor: UnitFactor) -> float:
        """What rounding in M and q does to the minimum on a support (7.8); inf where M_SS may be singular."""
        problem, swelling = self.problem, self.problem.swelling[support]
        gamma = problem.unit_roundoff
        if not gamma * float(swelling.sum()) * factor.amplification <= SURELY_REGULAR:
            return np.inf
        reach = float(np.sqrt(swelling) @ np.abs(z / factor.scale)) + np.sqrt(8.0 * problem.C * problem.total_weight)
        return gamma * float(reach**2)

    def bracket(self, support: IntArray) -> tuple[float, float]:
        if self.problem.rows is None:
            return self._bracket_of_sums(support)
        if len(self.problem.rows) * len(support) ** 2 > MOST_WORK:
            raise NoBound("there are too many rows to be asked")
        rows = self.problem.rows.stacked(self.problem.C, self.problem.terms[support])
        z = self._factor(support).solve(self.problem.q[support])
        return rows.refitted_near(self._with_intercept(support, z))[1]

    def _bracket_of_sums(self, support: IntArray) -> tuple[float, float]:
        """The minimum as the sums have it, with room for their rounding on both sides."""
        factor, z = self._factor(support), np.zeros(self.problem.n_terms)
        z[support] = factor.solve(self.problem.q[support])
        value, error = self.problem.objective(z, self.problem.intercept(z)), self._rounding(support, z[support], factor)
        if not np.isfinite(error):
            raise NoBound("the sums have lost the digits that a bound would need")
        return value, value - 2.0 * error

    def _factor(self, support: IntArray) -> UnitFactor:
        return UnitFactor(self.problem.block(support))

    def _with_intercept(self, support: IntArray, z: FloatArray) -> FloatArray:
        return np.append(z, self.problem.mean_y - self.problem.mean[support] @ z)

    def _from_rows(self, samples: SampleRows, support: IntArray, start: FloatArray) -> StepSolution:
        rows = samples.stacked(self.problem.C, self.problem.terms[support])
        x, (value, bound) = rows.refitted_near(self._with_intercept(support, start), ACCURATE / 10.0)
        z = np.zeros(self.problem.n_terms)
        z[support] = x[:-1]
        return StepSolution(z, float(x[-1]), value, value - bound)

    def _solution(self, z: FloatArray, value: float) -> StepSolution:
        return StepSolution(z, self.problem.intercept(z), value, 0.0)


class LeastSquaresStep(RefittingStep):
    """Closed-form z-steps in the eigenbasis of M; O(p^2) each."""

    problem: LeastSquaresProblem

    def __init__(self, problem: LeastSquaresProblem) -> None:
        super().__init__(problem)

    @cached_property
    def _Vq(self) -> FloatArray:
        return self.problem.q @ self.problem.curvature.spectrum[1]

    def sweep(self, u: FloatArray, rho: float) -> StepSolution:
        e, V = self.problem.curvature.spectrum
        support = np.flatnonzero(u)
        # (2.6) in the eigenbasis; u has few entries, so V'u needs only the rows of V on its support
        coordinates = (self._Vq + rho * (u[support] @ V[support])) / (e + rho)
        z = V @ coordinates
        fit = 0.5 * coordinates @ (e * coordinates) - self._Vq @ coordinates + self.problem.constant
        return self._solution(z, float(fit + 0.5 * rho * np.sum((z - u) ** 2)))

    def fixed_point(self, support: IntArray, rho: float) -> StepSolution:
        e, V = self.problem.curvature.spectrum
        rows = V[support]
        N = (rows * (e / (e + rho))) @ rows.T  # (4.5): the limit of all sweeps that keep choosing this support
        u = np.zeros(self.problem.n_terms)
        u[support] = UnitFactor(N).solve(rows @ (self._Vq / (e + rho)))
        return self.sweep(u, rho)


class UnitFactor:
    """Solves with a positive semidefinite matrix, scaled to a unit diagonal, with one step of refinement.

    Where the matrix is singular to working precision (a huge C on dependent columns), the solution of least norm.
    """

    def __init__(self, matrix: FloatArray) -> None:
        self.scale = 1.0 / np.sqrt(np.diag(matrix))
        self._matrix = matrix * np.outer(self.scale, self.scale)
        self._factor, failed = dpotrf(self._matrix, lower=1, clean=0)
        if failed:
            self._solve, self.amplification = _least_norm_solver(self._matrix), np.inf
        else:
            self._solve = lambda rhs: dpotrs(self._factor, rhs, lower=1)[0]

    @cached_property
    def amplification(self) -> float:
        """Largest eigenvalue of the inverse, or a little more."""
        return float(np.trace(dpotrs(self._factor, np.eye(len(self._matrix)), lower=1)[0]))

    def solve(self, rhs: FloatArray) -> FloatArray:
        if len(rhs) == 0:
            return rhs
        target = rhs * self.scale
        solution = self._solve(target)
        solution += self._solve(target - self._matrix @ solution)
        return solution * self.scale


def _least_norm_solver(matrix: FloatArray) -> Solver:
    e, V = eigh(matrix, driver="evd", check_finite=False)
    usable = e > len(e) * np.finfo(float).eps * e[-1]
    e, V = e[usable], V[:, usable]
    return lambda rhs: V @ ((rhs @ V) / e)
