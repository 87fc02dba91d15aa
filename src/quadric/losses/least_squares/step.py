"""z-step of the squared loss: one eigendecomposition serves every rho, every u and every k.

F(z) = 1/2 z'Mz - q'z + constant with c eliminated (docs/mathematics.md, eq. 2.2). With M = V diag(e) V':
    sweep        z = V ((V'q + rho V'u) / (e + rho))                                                                  (2.6)
    fixed point  (4.5): its u solves  [V diag(e/(e+rho)) V']_SS u_S = [V (V'q / (e+rho))]_S, and z is the sweep from that u
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from quadric.losses.base import Step, StepSolution
from quadric.losses.least_squares.problem import LeastSquaresProblem
from quadric.types import FloatArray, IntArray

Solver: TypeAlias = Callable[[FloatArray], FloatArray]


class LeastSquaresStep(Step):
    """Closed-form z-steps in the eigenbasis of M; O(p^2) each."""

    def __init__(self, problem: LeastSquaresProblem) -> None:
        self.problem = problem

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
        u[support] = _solve_positive(N, rows @ (self._Vq / (e + rho)))
        return self.sweep(u, rho)

    def refit(self, support: IntArray) -> StepSolution:
        M, q = self.problem.M, self.problem.q
        z = np.zeros(self.problem.n_terms)
        if len(support):
            z[support] = _solve_positive(M[np.ix_(support, support)], q[support])
        return self._solution(z, self.problem.objective(z, self.problem.intercept(z)))

    def _solution(self, z: FloatArray, value: float) -> StepSolution:
        return StepSolution(z, self.problem.intercept(z), value, 0.0)


def _solve_positive(matrix: FloatArray, rhs: FloatArray) -> FloatArray:
    """Solve with a positive definite matrix, scaled to a unit diagonal, with one step of refinement.

    Where the matrix is singular to working precision (a huge C on dependent columns), the solution of least norm.
    """
    scale = 1.0 / np.sqrt(np.diag(matrix))
    scaled, target = matrix * np.outer(scale, scale), rhs * scale
    solve = _cholesky_solver(scaled) or _least_norm_solver(scaled)
    solution = solve(target)
    solution += solve(target - scaled @ solution)
    return solution * scale


def _cholesky_solver(matrix: FloatArray) -> Solver | None:
    try:
        factor = cho_factor(matrix, lower=True, check_finite=False)
    except LinAlgError:
        return None
    return lambda rhs: cho_solve(factor, rhs, check_finite=False)


def _least_norm_solver(matrix: FloatArray) -> Solver:
    e, V = eigh(matrix, driver="evd", check_finite=False)
    usable = e > len(e) * np.finfo(float).eps * e[-1]
    e, V = e[usable], V[:, usable]
    return lambda rhs: V @ ((rhs @ V) / e)
