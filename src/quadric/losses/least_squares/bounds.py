"""Bounds for the squared loss: F with the intercept eliminated is a quadratic."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from quadric.losses.base import Bounded, Bounds, NoBound, Relaxation, Step
from quadric.losses.least_squares.problem import LeastSquaresProblem
from quadric.losses.perspective import CHILD_STEPS, ROOT_STEPS, Linear, PerspectiveRelaxation
from quadric.losses.relaxation import DenseRelaxation, masked, safe_margin
from quadric.types import BoolArray, FloatArray, IntArray

BATCH = 64
MOST_ENTRIES = 2_000_000  # of matrices that are inverted together


class LeastSquaresBounds(Bounds):
    """The quadratic is F itself."""

    tolerance = 1e-9
    cheap_nodes = 4000

    def __init__(self, problem: LeastSquaresProblem, step: Step) -> None:
        self.problem = problem
        self.step = step
        try:
            margin = safe_margin(problem.M, problem.swelling, problem.k, problem.unit_roundoff)
        except NoBound:
            margin = np.inf
        self.rounding = margin * problem.at_zero()

    def relaxations(self) -> list[Relaxation]:
        found: list[Relaxation] = []
        with suppress(NoBound):
            found.append(LeastSquaresPerspective(self.problem))
        if self.rounding < np.inf:
            found.append(LeastSquaresDense(self.problem, self.rounding))
        return found

    def minimum(self, support: IntArray) -> tuple[float, float]:
        M, q = self.problem.M[support[:, None], support], self.problem.q[support]
        # a tenth of the price of the step's own refit, which matters at ten thousand nodes per second
        value = self.problem.constant - 0.5 * float(q @ np.linalg.solve(M, q))
        return value + self.rounding, value - self.rounding

    def examined(self, support: IntArray) -> tuple[float, float]:
        try:
            return self.step.bracket(support)
        except NoBound:
            return self.minimum(support)


class LeastSquaresDense(DenseRelaxation):
    """The minimum on the allowed terms in closed form."""

    batch = BATCH

    def __init__(self, problem: LeastSquaresProblem, rounding: float) -> None:
        super().__init__(problem.M, problem.k, rounding)
        self._constant, self._scale = problem.constant, 1.0 / np.sqrt(np.diag(problem.M))
        self._unit, self._q = problem.M * np.outer(self._scale, self._scale), problem.q * self._scale

    def solved(self, allowed: BoolArray) -> tuple[FloatArray, FloatArray]:
        parts = np.array_split(allowed, np.ceil(allowed.size * allowed.shape[1] / MOST_ENTRIES))
        f, costs = zip(*map(self._solved, parts), strict=True)
        return np.concatenate(f), np.concatenate(costs)

    def _solved(self, allowed: BoolArray) -> tuple[FloatArray, FloatArray]:
        B = np.linalg.inv(masked(self._unit, allowed))
        q = np.where(allowed, self._q, 0.0)
        z = np.einsum("nij,nj->ni", B, q)
        costs = 0.5 * z**2 / np.einsum("nii->ni", B)
        f = self._constant - 0.5 * np.einsum("ni,ni->n", q, z)
        return f, np.hstack([costs, 0.5 * self.diagonal * (self._scale * z) ** 2])


class LeastSquaresPerspective(PerspectiveRelaxation):
    """The linear part is that of F, at every node."""

    batch = BATCH

    def __init__(self, problem: LeastSquaresProblem) -> None:
        gamma, swollen = problem.unit_roundoff, problem.swelling * np.diag(problem.M)
        super().__init__(problem.pairs.split, problem.k, 2.0 * gamma * swollen, problem.at_zero())
        # (7.8) term by term: errors of M, of q and of the constant
        reach = float(np.sqrt(8.0 * problem.C * problem.total_weight))
        doubt, constant = gamma * np.sqrt(swollen) * reach, problem.constant - 0.5 * gamma * reach**2
        self.rounding = gamma * reach**2
        self.linear = Linear(problem.q[None], doubt[None], np.array([constant]))

    def root(self, fixed: BoolArray, allowed: BoolArray, cutoff: float) -> Bounded:
        state = self.relaxed.start(self.relaxed.penalised(self.linear.q), fixed, allowed)
        return self.bounded(fixed, allowed, state, self.linear, ROOT_STEPS, cutoff)

    def children(self, fixed: BoolArray, allowed: BoolArray, state: FloatArray, cutoff: float) -> Bounded:
        return self.bounded(fixed, allowed, state, self.linear, CHILD_STEPS, cutoff)
