"""z-step of the logistic loss: Newton's method from the last answer."""

from __future__ import annotations

import numpy as np

from quadric.losses.base import StepSolution
from quadric.losses.dual import DualStep
from quadric.losses.logistic.newton import ON_ALL_TERMS, ON_FEW_TERMS, LogisticQP, LogisticSolution, minimise
from quadric.losses.logistic.problem import LogisticProblem
from quadric.types import FloatArray, IntArray


class LogisticStep(DualStep):
    """Remembers its last answer, and the last curvature on all terms, which is dear and often still good."""

    def __init__(self, problem: LogisticProblem) -> None:
        self.problem: LogisticProblem = problem
        self._rows = problem.A.T
        self._level = problem.level(np.zeros(problem.n_terms))
        self._at_zero = problem.loss_at(problem.y * self._level)
        self._w = np.append(np.zeros(problem.n_terms), self._level)
        self._alpha: FloatArray | None = None
        self._spread: FloatArray | None = None

    @property
    def multipliers(self) -> FloatArray:
        assert self._alpha is not None
        return self._alpha

    def sweep(self, u: FloatArray, rho: float) -> StepSolution:
        return self._penalised(np.full(self.problem.n_terms, rho), u)

    def fixed_point(self, support: IntArray, rho: float) -> StepSolution:
        penalty = np.full(self.problem.n_terms, rho)
        penalty[support] = 0.0
        return self._penalised(penalty, np.zeros(self.problem.n_terms))

    def refit(self, support: IntArray) -> StepSolution:
        problem, columns = self.problem, np.append(support, self.problem.n_terms)
        P = problem.G[support[:, None], support]
        qp = LogisticQP(self._rows[columns], problem.y, problem.upper, P, np.zeros(len(columns)))
        solution = minimise(qp, self._start(qp, self._w[columns]), ON_FEW_TERMS)
        w = np.zeros(problem.n_terms + 1)
        w[columns] = solution.w
        return self._remembered(w, solution)

    def weighted(self, penalty: FloatArray) -> StepSolution:
        return self._penalised(penalty, np.zeros(self.problem.n_terms))

    def _penalised(self, penalty: FloatArray, u: FloatArray) -> StepSolution:
        problem = self.problem
        P = problem.G.copy()
        P.flat[:: len(P) + 1] += penalty
        g, offset = np.append(penalty * u, 0.0), 0.5 * float(penalty @ u**2)
        qp = LogisticQP(self._rows, problem.y, problem.upper, P, g, offset)
        solution = minimise(qp, self._start(qp, self._w), ON_ALL_TERMS, self._spread)
        self._spread = solution.spread
        return self._remembered(solution.w, solution)

    def _start(self, qp: LogisticQP, w: FloatArray) -> FloatArray:
        """The last answer, unless no terms at all are better: what it has lost may have been what kept its scores small."""
        if qp.value(w, qp.margins(w)) < self._at_zero + qp.offset:
            return w
        return np.append(np.zeros(len(w) - 1), self._level)

    def _remembered(self, w: FloatArray, solution: LogisticSolution) -> StepSolution:
        """Keeps the answer; from the level, with which the solver works, to the intercept."""
        self._w, self._alpha = w, solution.alpha
        c = self.problem.intercept_at_level(w[:-1], float(w[-1]))
        return StepSolution(w[:-1], c, solution.value, solution.decrement)
