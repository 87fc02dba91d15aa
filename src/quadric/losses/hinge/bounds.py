"""Bounds for the hinge loss, by duality (docs/mathematics.md, eq. 6.5 with section 7)."""

from __future__ import annotations

import numpy as np

from quadric.losses.base import Relaxation
from quadric.losses.hinge.problem import HingeProblem
from quadric.losses.hinge.step import HingeStep
from quadric.losses.relaxation import QuadraticBounds, left_out
from quadric.types import FloatArray, IntArray


class HingeBounds(QuadraticBounds):
    """The quadratic is the dual at the multipliers of the best fit on the allowed terms; its matrix is G."""

    tolerance = 1e-7

    def __init__(self, problem: HingeProblem, step: HingeStep) -> None:
        super().__init__(problem, problem.G, np.finfo(float).eps * (8.0 + np.sqrt(len(problem.y))))
        self.problem = problem
        self.step = step

    def root(self) -> Relaxation:
        return self._solved(np.arange(self.problem.n_terms), self.inverse)

    def without(self, parent: Relaxation, position: int) -> Relaxation:
        return self._solved(*left_out(parent, position))

    def minimum(self, support: IntArray) -> tuple[float, float]:
        value = self.step.refit(support).value
        alpha = self._balanced(self.step.multipliers)
        q = ((self.problem.y * alpha) @ self.problem.A[:, :-1])[support]
        dual = float(alpha.sum() - 0.5 * q @ np.linalg.solve(self.problem.G[np.ix_(support, support)], q))
        return value, min(value, dual)

    def _solved(self, terms: IntArray, B: FloatArray) -> Relaxation:
        self.step.refit(terms)
        alpha = self._balanced(self.step.multipliers)
        q = ((self.problem.y * alpha) @ self.problem.A[:, :-1])[terms]
        z = B @ q
        return Relaxation(terms, float(alpha.sum() - 0.5 * q @ z), z, B)

    def _balanced(self, alpha: FloatArray) -> FloatArray:
        """Multipliers that meet sum y alpha = 0 to the last digit: the bound holds for no others."""
        positive = self.problem.y > 0
        above, below = float(alpha[positive].sum()), float(alpha[~positive].sum())
        if min(above, below) <= 0.0:
            return np.zeros_like(alpha)
        # Shrinking the heavier side keeps every multiplier in its box, so (3.2) holds exactly afterwards
        shrunk = alpha.copy()
        shrunk[positive] *= min(1.0, below / above)
        shrunk[~positive] *= min(1.0, above / below)
        return shrunk
