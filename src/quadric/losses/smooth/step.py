"""z-step of a smooth loss: Newton's method from the last answer."""

from __future__ import annotations

import numpy as np

from quadric.geometry.cuts import Cuts
from quadric.losses.base import RuledSolution, StepSolution
from quadric.losses.dual import DualStep
from quadric.losses.smooth.newton import ON_ALL_TERMS, ON_FEW_TERMS, Newton, NewtonUnder, SmoothQP
from quadric.losses.smooth.problem import SmoothProblem
from quadric.types import FloatArray, IntArray


class SmoothStep(DualStep):
    """Remembers its last answer, and the last curvature on all terms, which is expensive and often still good."""

    problem: SmoothProblem

    def __init__(self, problem: SmoothProblem) -> None:
        self.problem = problem
        self._rows = problem.A.T
        self._level = problem.level(np.zeros(problem.n_terms))
        self._at_zero = problem.loss_at(problem.y * self._level)
        self._w = np.append(np.zeros(problem.n_terms), self._level)
        self._spread: FloatArray | None = None

    def refit(self, support: IntArray) -> StepSolution:
        qp, columns = self._on(support)
        return self._spread_out(columns, Newton(qp, self._start(qp, self._w[columns])).run(ON_FEW_TERMS))

    def confined(self, support: IntArray, cuts: Cuts, free: StepSolution) -> RuledSolution:
        qp, columns = self._on(support)
        solution = NewtonUnder(qp, self._start(qp, self._w[columns]), cuts).run(ON_FEW_TERMS)
        return RuledSolution.of(self._spread_out(columns, solution), solution.multipliers)

    def _on(self, support: IntArray) -> tuple[SmoothQP, IntArray]:
        """The problem of a refit, and its rows of A'."""
        columns = np.append(support, self.problem.n_terms)
        G = self.problem.G[support[:, None], support]
        return self._qp(self._rows[columns], G, np.zeros(len(columns)), 0.0), columns

    def _spread_out(self, columns: IntArray, solution: Newton) -> StepSolution:
        w = np.zeros(self.problem.n_terms + 1)
        w[columns] = solution.w
        return self._remembered(w, solution)

    def penalised(self, penalty: FloatArray, u: FloatArray) -> StepSolution:
        # (10.3) with P = G + diag(penalty) and g = penalty * u
        P = self.problem.G.copy()
        P.flat[:: len(P) + 1] += penalty
        qp = self._qp(self._rows, P, np.append(penalty * u, 0.0), 0.5 * float(penalty @ u**2))
        solution = Newton(qp, self._start(qp, self._w), self._spread).run(ON_ALL_TERMS)
        self._spread = solution.spread
        return self._remembered(solution.w, solution)

    def _qp(self, rows: FloatArray, P: FloatArray, g: FloatArray, offset: float) -> SmoothQP:
        return SmoothQP(self.problem.formulas, rows, self.problem.y, self.problem.weight, P, g, offset)

    def _start(self, qp: SmoothQP, w: FloatArray) -> FloatArray:
        """The last answer, unless no terms at all are better: what it has lost may have been what kept its scores small."""
        if qp.value(w, qp.margins(w)) < self._at_zero + qp.offset:
            return w
        return np.append(np.zeros(len(w) - 1), self._level)

    def _remembered(self, w: FloatArray, solution: Newton) -> StepSolution:
        self._w, self.multipliers = w, solution.alpha
        # the solver works with the level in place of the intercept
        c = self.problem.intercept_at_level(w[:-1], float(w[-1]))
        return StepSolution(w[:-1], c, solution.value, solution.decrement)
