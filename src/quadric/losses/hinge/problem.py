"""The hinge loss on lifted samples (docs/mathematics.md, section 3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from quadric.losses.hinge.qp import hinge_intercept
from quadric.losses.rows import RowsProblem
from quadric.types import FloatArray

BAND = 0.25  # share of the samples, those nearest to their margin, whose loss the model of exchanges takes as curved


@dataclass(frozen=True, kw_only=True)
class HingeProblem(RowsProblem):
    """The hinge loss of each sample is as steep as C o."""

    loss_name: ClassVar[str] = "hinge"

    @cached_property
    def upper(self) -> FloatArray:
        return self.C * self.loss_weight

    def level(self, z: FloatArray) -> float:
        return hinge_intercept(self.A[:, :-1] @ z, self.y, self.loss_weight)

    def loss_at(self, margins: FloatArray) -> float:
        return self.C * float(self.loss_weight @ np.maximum(0.0, 1.0 - margins))

    def curvature(self, z: FloatArray, alpha: FloatArray) -> FloatArray:
        """The hinge has no curvature; a parabola around the kink, wide enough for a share of the samples, stands in for it."""
        shortfall = np.abs(1.0 - self.y * (self.A @ np.append(z, self.level(z))))
        width = max(_quantile(shortfall, self.loss_weight, BAND), 1e-8)
        return np.where(shortfall <= width, self.upper / (2.0 * width), 0.0)

    def dual_constant(self, alpha: FloatArray) -> float:
        return math.fsum(alpha.tolist())


def _quantile(values: FloatArray, weight: FloatArray, share: float) -> float:
    """The quantile of values repeated as often as their weights say, linear between neighbours as in numpy."""
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(weight[order])
    place = share * max(upto[-1] - 1.0, 0.0)
    low, high = (
        values[order[min(np.searchsorted(upto, at, side="right"), len(order) - 1)]]
        for at in (np.floor(place), np.floor(place) + 1.0)
    )
    return float(low + (high - low) * (place - np.floor(place)))
