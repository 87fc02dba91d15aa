"""The l1-penalised quadratic surface: min 1/2 z'Gz + C1 sum_(quadratic terms) |z_j| + C2 sum_i o_i max(0, 1 - y_i f(x_i)).

C1 |z_j| = 2 C1 max(0, -z_j) + C1 z_j: a hinge with target 0 on a row that sees z_j alone, and a linear part. So the engine's
hinge solver takes the penalty as one more row per quadratic term (losses/hinge/qp.py). If the multiplier of that row is
strictly inside its box, z_j is exactly zero. Most terms are zero unless C1 is small, and the solver need not see them: it gets
the linear terms and a working set of quadratic ones, which grows by the terms whose gradient exceeds C1.
"""

from __future__ import annotations

import numpy as np

from quadric.geometry.terms import LINEAR, term_factors
from quadric.losses.hinge.active_set import TOLERANCE
from quadric.losses.hinge.problem import HingeProblem
from quadric.losses.hinge.qp import HingeQP, HingeSolution
from quadric.losses.hinge.step import solve_hinge
from quadric.types import BoolArray, FloatArray, IntArray

# Relative excess over C1 at which a gradient still counts as C1; its effect on the objective is of second order.
GRADIENT_TOLERANCE = 1e-8
# This many terms may always enter at once; later, as many as the working set has.
FEWEST_NEW = 10
# A term whose multiplier is inside its box is zero; the solver may miss zero by this much, in units of margins.
ZERO_MARGIN = 1e-7


class L1Path:
    """Fits of one surface for several C1, each warm-started from the one before; use decreasing C1.

    Parameters
    ----------
    problem : HingeProblem
        Its C is C2.
    """

    def __init__(self, problem: HingeProblem) -> None:
        self.problem = problem
        self.quadratic: BoolArray = term_factors(problem.n_features).right[problem.terms] != LINEAR
        # A penalty row measures its term in this unit: the effect of the term on the margin of a typical sample
        self._scale = np.sqrt(np.mean(problem.A[:, :-1] ** 2, axis=0))
        self._z = np.zeros(problem.n_terms)
        self._level = 0.0
        self._alpha: FloatArray | None = None
        self._gradient = np.zeros(problem.n_terms)

    def fit(self, C1: float) -> tuple[FloatArray, float, float]:
        """The full z, the intercept and the remaining violation at one C1."""
        working = np.flatnonzero(~self.quadratic | (self._z != 0.0))
        entering = self._entering(working, C1)
        while True:
            working = np.union1d(working, entering)
            solution = self._solve_on(working, C1)
            entering = self._entering(working, C1)
            if len(entering) == 0:
                break
        return self.problem.embed(self._z), self.problem.intercept(self._z), solution.violation

    def _entering(self, working: IntArray, C1: float) -> IntArray:
        """Terms outside the working set that would not stay at zero; if there are many, those with the largest gradients."""
        size = np.where(self.quadratic, np.abs(self._gradient), 0.0)
        size[working] = 0.0
        outside = np.flatnonzero(size > C1 * (1.0 + GRADIENT_TOLERANCE))
        return outside[np.argsort(-size[outside], kind="stable")[: max(FEWEST_NEW, len(working))]]

    def _solve_on(self, working: IntArray, C1: float) -> HingeSolution:
        """Solve with all terms outside the working set at zero, and store the solution and the gradient of all terms."""
        problem, penalised = self.problem, working[self.quadratic[working]]
        qp = self._program(working, penalised, C1)
        n_samples = len(problem.y)
        solution = solve_hinge(qp, np.append(self._z[working], self._level), self._start(penalised, C1))
        alpha, share = solution.alpha[:n_samples], solution.alpha[n_samples:] / qp.upper[n_samples:]
        z = np.zeros(problem.n_terms)
        z[working] = solution.w[:-1]
        inside = np.minimum(share, 1.0 - share) > TOLERANCE
        z[penalised[inside & (np.abs(z[penalised]) * self._scale[penalised] <= ZERO_MARGIN)]] = 0.0
        self._z, self._level, self._alpha = z, float(solution.w[-1]), alpha
        self._gradient = problem.G @ z - (problem.y * alpha) @ problem.A[:, :-1]
        return solution

    def _program(self, working: IntArray, penalised: IntArray, C1: float) -> HingeQP:
        problem, n_samples = self.problem, len(self.problem.y)
        A = np.zeros((n_samples + len(penalised), len(working) + 1))
        A[:n_samples, :-1] = problem.A[:, working]
        A[:n_samples, -1] = 1.0
        A[n_samples + np.arange(len(penalised)), np.searchsorted(working, penalised)] = self._scale[penalised]
        return HingeQP(
            A,
            y=np.append(problem.y, np.ones(len(penalised))),
            upper=np.append(problem.C * problem.loss_weight, 2.0 * C1 / self._scale[penalised]),
            P=problem.G[np.ix_(working, working)],
            g=np.append(np.where(self.quadratic[working], -C1, 0.0), 0.0),
            targets=np.append(np.ones(n_samples), np.zeros(len(penalised))),
        )

    def _start(self, penalised: IntArray, C1: float) -> FloatArray | None:
        """Previous multipliers; those of penalty rows from the equation of their terms, gradient + C1 = scale * multiplier."""
        if self._alpha is None:
            return None
        rows = np.clip(self._gradient[penalised] + C1, 0.0, 2.0 * C1) / self._scale[penalised]
        return np.append(self._alpha, rows)
