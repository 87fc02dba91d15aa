"""The logistic loss on lifted samples (docs/mathematics.md, section 10)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import entr, expit, logit

from quadric.losses.rows import RowsData, RowsProblem
from quadric.types import FloatArray

STEEPNESS = 8.0
"""K = 8C: at f = 0 the loss is then as curved as the squared loss, and one grid of C serves both (10.1)."""
EPS = float(np.finfo(float).eps)
SPARE = 1.0
"""How far beyond its bounds the level is looked for: they may be wrong by rounding."""


@dataclass(frozen=True, kw_only=True)
class LogisticProblem(RowsProblem):
    """The logistic loss of each sample is as steep as 8C o; the rows are stored by terms, of which few are used at a time."""

    loss_name: ClassVar[str] = "logistic"
    order: ClassVar[Literal["C", "F"]] = "F"

    @cached_property
    def upper(self) -> FloatArray:
        return (STEEPNESS * self.C) * self.loss_weight

    def loss_at(self, margins: FloatArray) -> float:
        return loss_of(self.upper, margins)

    def level(self, z: FloatArray) -> float:
        """Where the expected and the observed weight of the positive class agree (10.5)."""
        scores, o = self.A[:, :-1] @ z, self.loss_weight
        share = float(o[self.y > 0].sum() / o.sum())

        def excess(level: float) -> float:
            return float(o @ expit(scores + level)) / float(o.sum()) - share

        middle = float(logit(share))
        low, high = middle - float(scores.max()), middle - float(scores.min())
        return middle if low == high else float(brentq(excess, low - SPARE, high + SPARE, xtol=EPS, rtol=4.0 * EPS))

    def dual_constant(self, alpha: FloatArray) -> float:
        """The entropies (10.4), less what rounding may have added to them."""
        t = alpha / self.upper
        return float(self.upper @ (entr(t) + entr(1.0 - t))) - EPS * (8.0 + len(t) ** 0.5) * float(self.upper.sum())


class LogisticData(RowsData[LogisticProblem]):
    """Training data of the logistic loss."""

    problem = LogisticProblem


def loss_of(upper: FloatArray, margins: FloatArray) -> float:
    """sum_i upper_i log(1 + exp(-margin_i)), for any margins."""
    # vectorised, unlike log_expit, and as exact: both summands are positive
    return float(upper @ (np.log1p(np.exp(-np.abs(margins))) + np.maximum(-margins, 0.0)))
