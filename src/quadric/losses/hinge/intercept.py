"""The exact intercept of a hinge fit: minimise sum_i o_i max(0, 1 - y_i (s_i + c)) over c alone."""

from __future__ import annotations

import numpy as np

from quadric.types import FloatArray

BALANCE_TOLERANCE = 1e-12
"""Slopes below this fraction of the total weight count as flat."""


def hinge_intercept(scores: FloatArray, y: FloatArray, weight: FloatArray) -> float:
    """Minimiser of the convex, piecewise linear loss in c; the middle of the interval where it is flat.

    Each sample has one kink, at c = y_i - s_i (docs/mathematics.md, eq. 3.5), where the slope grows by o_i. To the left of all
    kinks the slope is minus the weight of the positive class, so the minimum is at the first kink after which the slope is not
    negative. This needs no multiplier between its bounds (the paper's formula does).
    """
    kinks = y - scores
    order = np.argsort(kinks, kind="stable")
    slope = np.cumsum(weight[order]) - weight[y > 0].sum()
    flat = BALANCE_TOLERANCE * weight.sum()
    first = int(np.searchsorted(slope, -flat))
    left = kinks[order[first]]
    if abs(slope[first]) <= flat and first + 1 < len(kinks):
        return float(0.5 * (left + kinks[order[first + 1]]))
    return float(left)
