"""z-steps of the squared loss with very many terms: conjugate gradients, since no matrix of M + rho I can be formed.

Mz is a product XW and a product X' diag(.) X. The steps are preconditioned by the exact inverse of G + rho D, where D counts
products twice: in the entries of the symmetric matrix W that is a Lyapunov equation (docs/mathematics.md, eq. 8.4),

    W K + K W + rho W = Gamma - (g s' + s g') / (2 w + rho),   K = S - s s' / (w + rho/2),   b = (g - 2 W s) / (2 w + rho)

for a right-hand side with the matrix Gamma (products halved) and the linear part g; w, s, S are the moments of x.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.linalg import eigh

from quadric.geometry.energy import Energy
from quadric.geometry.terms import to_matrix, to_vector
from quadric.losses.base import StepSolution
from quadric.losses.least_squares.curvature import WideCurvature
from quadric.losses.least_squares.problem import LeastSquaresProblem
from quadric.losses.least_squares.step import RefittingStep, UnitFactor
from quadric.types import FloatArray, IntArray

SETTLED = 1e-8  # residual, in the norm of the preconditioner and relative to the right-hand side, at which a step is solved
MOST_ITERATIONS = 500


class Lyapunov:
    """The inverse of G + rho D, the ridge left out.

    Parameters
    ----------
    energy : Energy
    rho : float
    """

    def __init__(self, energy: Energy, rho: float) -> None:
        self._s, self._denominator = energy.s, 2.0 * energy.weight + rho
        e, self._Q = eigh(energy.S - (2.0 / self._denominator) * np.outer(energy.s, energy.s), driver="evd", check_finite=False)
        e = np.maximum(e, 0.0)
        self._sums = e[:, None] + e + rho

    def solve(self, v: FloatArray) -> FloatArray:
        """(G + rho D)^-1 v, all terms."""
        Gamma, g = to_matrix(v)
        squares = np.diag(Gamma).copy()
        Gamma *= 0.5
        Gamma[np.diag_indices_from(Gamma)] = squares
        across = np.outer(g, self._s) / self._denominator
        Gamma -= across
        Gamma -= across.T
        W = self._Q @ ((self._Q.T @ Gamma @ self._Q) / self._sums) @ self._Q.T
        return to_vector(W, (g - 2.0 * (W @ self._s)) / self._denominator)


class WideStep(RefittingStep):
    """Remembers its last answer and starts from there."""

    def __init__(self, problem: LeastSquaresProblem) -> None:
        super().__init__(problem)
        assert isinstance(problem.curvature, WideCurvature)
        self._curvature, self._last = problem.curvature, np.zeros(problem.n_terms)
        self._inverse = lru_cache(1)(lambda rho: Lyapunov(self._curvature.rows.energy, rho))

    def sweep(self, u: FloatArray, rho: float) -> StepSolution:
        return self._solved(np.full(self.problem.n_terms, rho), u, self._preconditioner(rho))

    def fixed_point(self, support: IntArray, rho: float) -> StepSolution:
        penalty = np.full(self.problem.n_terms, rho)
        penalty[support] = 0.0
        inside, elsewhere = UnitFactor(self._curvature.block(support)), self._preconditioner(rho)

        def preconditioned(r: FloatArray) -> FloatArray:
            z = elsewhere(r)
            z[support] += inside.solve(r[support])  # rho is no part of the curvature there
            return z

        return self._solved(penalty, np.zeros(self.problem.n_terms), preconditioned)

    def _preconditioner(self, rho: float) -> Callable[[FloatArray], FloatArray]:
        inverse, problem = self._inverse(rho), self.problem
        return lambda r: inverse.solve(problem.embed(r))[problem.terms]

    def _solved(self, penalty: FloatArray, u: FloatArray, preconditioned: Callable[[FloatArray], FloatArray]) -> StepSolution:
        """argmin of F + 1/2 sum penalty_j (z_j - u_j)^2."""
        problem, target = self.problem, self.problem.q + penalty * u

        def times(z: FloatArray) -> FloatArray:
            return self._curvature.times(problem.embed(z)) + penalty * z

        z = self._last
        r = target - times(z) if z.any() else target.copy()
        enough = SETTLED**2 * float(target @ preconditioned(target))
        direction, before = np.zeros_like(z), 1.0
        for _ in range(MOST_ITERATIONS):
            y = preconditioned(r)
            length = float(r @ y)
            if length <= enough:
                break
            direction = y + (length / before) * direction
            curved = times(direction)
            share = length / float(direction @ curved)
            z = z + share * direction
            r -= share * curved
            before = length
        self._last = z
        # z'(M + P)z = z'(target - r), so that the value needs no further product
        fit = 0.5 * float(z @ (target - r)) - float(problem.q @ z) - float((penalty * u) @ z)
        value = fit + 0.5 * float(penalty @ u**2) + problem.constant
        return StepSolution(z, problem.intercept(z), value, float(np.sqrt(max(float(r @ preconditioned(r)), 0.0))))
