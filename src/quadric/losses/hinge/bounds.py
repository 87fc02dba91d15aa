"""Bounds for the hinge loss, by duality (docs/mathematics.md, eq. 6.5 with section 7)."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from quadric.geometry.energy_norm import rounding_of_sum
from quadric.losses.base import NoBound, Relaxation
from quadric.losses.hinge.dual import feasible
from quadric.losses.hinge.problem import HingeProblem
from quadric.losses.hinge.step import HingeStep
from quadric.losses.relaxation import QuadraticBounds, left_out
from quadric.types import FloatArray, IntArray


class HingeBounds(QuadraticBounds):
    """The quadratic is the dual at the multipliers of the best fit on the allowed terms; its matrix is G.

    ``rounding`` covers the errors of G and its inverses; those of the dual's linear part are different at each node, whose f
    is lower by them.
    """

    tolerance = 1e-7

    def __init__(self, problem: HingeProblem, step: HingeStep) -> None:
        if problem.samples is None:
            raise NoBound("there are no samples to be asked")
        self._unit = rounding_of_sum(len(problem.y))
        super().__init__(problem, problem.G, self._unit)
        self.problem = problem
        self.step = step
        self._sizes = problem.samples.sizes(np.arange(problem.n_terms))
        self._minimum = lru_cache(1)(self._bracket)

    def root(self) -> Relaxation:
        self.step = HingeStep(self.problem)  # an answer on few terms is no place to start from
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
        return Relaxation(terms, math.fsum(alpha.tolist()) - (value**0.5 + blurred**0.5) ** 2, z, B)
