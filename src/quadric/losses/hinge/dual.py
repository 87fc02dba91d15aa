"""Lower bounds of F from multipliers, safe against rounding (docs/mathematics.md, eq. 6.5)."""

from __future__ import annotations

import math

import numpy as np

from quadric.geometry.balance import balanced
from quadric.geometry.energy_norm import EnergyNorm, rounding_of_sum
from quadric.losses.base import NoBound
from quadric.losses.hinge.problem import HingeProblem
from quadric.types import FloatArray, IntArray


def feasible(problem: HingeProblem, alpha: FloatArray) -> FloatArray:
    """Multipliers inside their boxes that balance to the last digit."""
    return balanced(np.clip(alpha, 0.0, problem.C * problem.loss_weight), problem.y)


def safe_dual(problem: HingeProblem, alpha: FloatArray, support: IntArray) -> float:
    """What F on a support is not below, by feasible multipliers: sum alpha - 1/2 h'G^-1 h, rounded down."""
    if problem.samples is None:
        raise NoBound("there are no samples to be asked")
    norm = EnergyNorm.of(problem.samples.energy, problem.terms[support], len(alpha))
    if norm is None:
        raise NoBound("the regulariser is singular but for rounding")
    h = (problem.y * alpha) @ problem.A[:, support]
    doubt = rounding_of_sum(len(alpha)) * (alpha @ problem.samples.sizes(support))
    return math.fsum(alpha.tolist()) - norm.halved_square(h, doubt)
