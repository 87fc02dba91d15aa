"""Exchanges for the hinge loss: ranked by a smoothed model."""

from __future__ import annotations

import numpy as np

from quadric.losses.ranked import RankedExplorer
from quadric.types import FloatArray

BAND = 0.25
"""Share of the samples, those nearest to their margin, whose loss the model takes as curved."""


class HingeExplorer(RankedExplorer):
    """The loss counts as curved near the margin."""

    def curvature(self, z: FloatArray, alpha: FloatArray) -> FloatArray:
        problem = self.problem
        shortfall = np.abs(1.0 - problem.y * (problem.A @ np.append(z, problem.level(z))))
        width = max(_quantile(shortfall, problem.loss_weight, BAND), 1e-8)
        # The hinge has no curvature; a parabola of this width around the kink stands in for it
        return np.where(shortfall <= width, problem.upper / (2.0 * width), 0.0)


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
