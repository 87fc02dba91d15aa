"""A smooth loss on lifted samples (docs/mathematics.md, section 10)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from scipy.optimize import brentq

from quadric.losses.rows import RowsProblem
from quadric.losses.smooth.formulas import SmoothLoss
from quadric.types import FloatArray

EPS = float(np.finfo(float).eps)
SPARE = 1.0  # how far beyond its bounds the level is looked for: they may be wrong by rounding


@dataclass(frozen=True, kw_only=True)
class SmoothProblem(RowsProblem):
    """Formulas on samples; the rows are stored by terms, of which few are used at a time."""

    formulas: ClassVar[SmoothLoss]
    order: ClassVar[Literal["C", "F"]] = "F"

    @cached_property
    def weight(self) -> FloatArray:
        """K_i: the loss of sample i in units of H."""
        return (self.formulas.scale * self.C) * self.loss_weight

    @cached_property
    def upper(self) -> FloatArray:
        return self.formulas.steepest * self.weight

    def loss_at(self, margins: FloatArray) -> float:
        return float(self.weight @ self.formulas.value(margins))

    def curvature(self, z: FloatArray, alpha: FloatArray) -> FloatArray:
        """theta of (10.2), by the multipliers of the fit."""
        return self.weight * self.formulas.bend(alpha / self.weight)

    def level(self, z: FloatArray) -> float:
        """Where the multipliers balance (10.5)."""
        scores, o, y = self.A[:, :-1] @ z, self.loss_weight, self.y

        def imbalance(level: float) -> float:
            return float((o * y) @ self.formulas.slope(y * (scores + level))) / float(o.sum())

        # scores that were all at one end of their range would need this level less that end
        middle = self.formulas.constant_score(float(o[y > 0].sum() / o.sum()))
        low, high = middle - float(scores.max()), middle - float(scores.min())
        return middle if low == high else float(brentq(imbalance, low - SPARE, high + SPARE, xtol=EPS, rtol=4.0 * EPS))

    def dual_constant(self, alpha: FloatArray) -> float:
        """The conjugates (10.4), less what rounding may have added to them."""
        t = alpha / self.weight
        doubt = EPS * (8.0 + len(t) ** 0.5) * float(self.weight @ np.maximum(t * t, 1.0))
        return float(self.weight @ self.formulas.conjugate(t)) - doubt
