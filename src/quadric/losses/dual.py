"""Lower bounds of F from multipliers, safe against rounding (docs/mathematics.md, eq. 6.5 with section 7)."""

from __future__ import annotations

from abc import abstractmethod
from functools import lru_cache

import numpy as np

from quadric.geometry.balance import balanced
from quadric.geometry.energy_norm import EnergyNorm, rounding_of_sum
from quadric.losses.base import NoBound, Relaxation, Step
from quadric.losses.relaxation import QuadraticBounds, left_out
from quadric.losses.rows import RowsProblem
from quadric.types import FloatArray, IntArray


class DualStep(Step):
    """A solver whose answers come with multipliers, one per sample."""

    problem: RowsProblem

    @property
    @abstractmethod
    def multipliers(self) -> FloatArray:
        """The alpha of the last solution."""

    def bracket(self, support: IntArray) -> tuple[float, float]:
        value = self.refit(support).value
        return value, safe_dual(self.problem, feasible(self.problem, self.multipliers), support)


def feasible(problem: RowsProblem, alpha: FloatArray) -> FloatArray:
    """Multipliers inside their boxes that balance to the last digit."""
    return balanced(np.clip(alpha, 0.0, problem.upper), problem.y)


def safe_dual(problem: RowsProblem, alpha: FloatArray, support: IntArray) -> float:
    """What F on a support is not below, by feasible multipliers: their constant less 1/2 h'G^-1 h, rounded down."""
    if problem.samples is None:
        raise NoBound("there are no samples to be asked")
    norm = EnergyNorm.of(problem.samples.energy, problem.terms[support], len(alpha))
    if norm is None:
        raise NoBound("the regulariser is singular but for rounding")
    h = (problem.y * alpha) @ problem.A[:, support]
    doubt = rounding_of_sum(len(alpha)) * (alpha @ problem.samples.sizes(support))
    return problem.dual_constant(alpha) - norm.halved_square(h, doubt)


class DualBounds(QuadraticBounds):
    """The quadratic is the dual at the multipliers of the best fit on the allowed terms; its matrix is G.

    ``rounding`` covers the errors of G and its inverses; those of the dual's linear part are different at each node, whose f
    is lower by them.
    """

    tolerance = 1e-7

    def __init__(self, problem: RowsProblem, step: DualStep) -> None:
        if problem.samples is None:
            raise NoBound("there are no samples to be asked")
        self._unit = rounding_of_sum(len(problem.y))
        super().__init__(problem, problem.G, self._unit)
        self.problem = problem
        self.step = step
        self._sizes = problem.samples.sizes(np.arange(problem.n_terms))
        self._minimum = lru_cache(1)(self._bracket)

    def root(self) -> Relaxation:
        step = self.problem.step()  # an answer on few terms is no place to start from
        assert isinstance(step, DualStep)
        self.step = step
        return self._solved(np.arange(self.problem.n_terms), self.inverse)

    def without(self, parent: Relaxation, position: int) -> Relaxation:
        return self._solved(*left_out(parent, position))

    def minimum(self, support: IntArray) -> tuple[float, float]:
        return self._minimum(tuple(support.tolist()))

    def _bracket(self, support: tuple[int, ...]) -> tuple[float, float]:
        return self.step.bracket(np.array(support, dtype=np.intp))

    def _solved(self, terms: IntArray, B: FloatArray) -> Relaxation:
        self.step.refit(terms)
        alpha = feasible(self.problem, self.step.multipliers)
        q = ((self.problem.y * alpha) @ self.problem.A[:, :-1])[terms]
        doubt = self._unit * (alpha @ self._sizes)[terms]
        z = B @ q
        value, blurred = 0.5 * float(q @ z), 0.5 * float(doubt @ np.abs(B) @ doubt)
        # 1/2 (q + d)'B(q + d) <= (sqrt(value) + sqrt(blurred))^2 for every error d of q, and for every smaller support
        return Relaxation(terms, self.problem.dual_constant(alpha) - (value**0.5 + blurred**0.5) ** 2, z, B)
