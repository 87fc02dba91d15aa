"""Bounds for the squared loss: F with the intercept eliminated is a quadratic."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from quadric.losses.base import Bounded, Bounds, NoBound, Relaxation, SparseProblem, Step
from quadric.losses.least_squares.problem import LeastSquaresProblem, summed_quadratic
from quadric.losses.perspective import CHILD_STEPS, ROOT_STEPS, Linear, PerspectiveRelaxation
from quadric.losses.relaxation import DenseRelaxation, masked, safe_margin
from quadric.types import BoolArray, FloatArray, IntArray

BATCH = 64
MOST_ENTRIES = 2_000_000  # of matrices that are inverted together


class LeastSquaresBounds(Bounds):
    """The quadratic is F itself."""

    tolerance = 1e-9
    cheap_nodes = 4000

    def __init__(self, problem: SparseProblem, step: Step) -> None:
        self.problem = problem
        self.step = step
        self.M, self.q, self.constant = summed_quadratic(problem)
        first = problem.parts[0]
        assert isinstance(first, LeastSquaresProblem)
        try:
            margin = safe_margin(self.M, first.swelling, problem.k, first.unit_roundoff)
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
        M, q = self.M[support[:, None], support], self.q[support]
        # a tenth of the price of the step's own refit, which matters at ten thousand nodes per second
        value = self.constant - 0.5 * float(np.sum(q * np.linalg.solve(M, q)))
        return value + self.rounding, value - self.rounding

    def examined(self, support: IntArray) -> tuple[float, float]:
        try:
            return self.step.bracket(support)
        except NoBound:
            return self.minimum(support)


class LeastSquaresDense(DenseRelaxation):
    """The minimum on the allowed terms in closed form."""

    batch = BATCH

    def __init__(self, problem: SparseProblem, rounding: float) -> None:
        M, q, self._constant = summed_quadratic(problem)
        super().__init__(M, problem.k, rounding)
        self._scale = 1.0 / np.sqrt(np.diag(M))
        self._unit, self._q = M * np.outer(self._scale, self._scale), q * self._scale[:, None]

    def solved(self, allowed: BoolArray) -> tuple[FloatArray, FloatArray]:
        parts = np.array_split(allowed, np.ceil(allowed.size * allowed.shape[1] / MOST_ENTRIES))
        f, costs = zip(*map(self._solved, parts), strict=True)
        return np.concatenate(f), np.concatenate(costs)

    def _solved(self, allowed: BoolArray) -> tuple[FloatArray, FloatArray]:
        B = np.linalg.inv(masked(self._unit, allowed))
        q = np.where(allowed[:, :, None], self._q, 0.0)
        z = B @ q
        squares = np.sum(z**2, axis=2)
        costs = 0.5 * squares / np.einsum("nii->ni", B)
        f = self._constant - 0.5 * np.einsum("nic,nic->n", q, z)
        return f, np.hstack([costs, 0.5 * self.diagonal * self._scale**2 * squares])


class LeastSquaresPerspective(PerspectiveRelaxation):
    """The linear part is that of F, at every node."""

    batch = BATCH

    def __init__(self, problem: SparseProblem) -> None:
        (M, q, constant), first = summed_quadratic(problem), problem.parts[0]
        assert isinstance(first, LeastSquaresProblem)
        gamma, swollen = first.unit_roundoff, first.swelling * np.diag(M)
        super().__init__(first.pairs.split, problem.k, 2.0 * gamma * swollen, problem.at_zero())
        # (7.8) term by term: errors of M, of q and of the constant
        reach = float(np.sqrt(8.0 * problem.C * first.total_weight))
        doubt = np.broadcast_to(gamma * np.sqrt(swollen) * reach, (1, *q.T.shape))
        self.rounding = gamma * reach**2 * len(problem.parts)
        self.linear = Linear(q.T[None], doubt, np.array([constant - 0.5 * self.rounding]))

    def root(self, fixed: BoolArray, allowed: BoolArray, cutoff: float) -> Bounded:
        state = self.relaxed.start(self.relaxed.penalised(self.linear.q), fixed, allowed)
        return self.bounded(fixed, allowed, state, self.linear, ROOT_STEPS, cutoff)

    def children(self, fixed: BoolArray, allowed: BoolArray, state: FloatArray, cutoff: float) -> Bounded:
        return self.bounded(fixed, allowed, state, self.linear, CHILD_STEPS, cutoff)
