"""The exact intercept of a hinge fit: minimise sum_i o_i max(0, 1 - y_i (s_i + c)) over c alone."""

from __future__ import annotations

import numpy as np

from quadric.types import FloatArray

BALANCE_TOLERANCE = 1e-12
"""Slopes below this fraction of the total weight count as flat."""


def hinge_intercept(scores: FloatArray, y: FloatArray, weight: FloatArray) -> float:
    """Minimiser of the convex, piecewise linear loss in c; the middle of the interval where it is flat.

    Each sample has one kink, at c = y_i - s_i (docs/mathematics.md, eq. 3.5), where the slope grows by o_i. To the left of all
    kinks the slope is minus the weight of the positive class. This needs no multiplier between its bounds (the paper's formula
    does).
    """
    left, right = lowest_interval(y - scores, weight, -float(weight[y > 0].sum()), float(weight.sum()))
    return 0.5 * (left + right) if np.isfinite(left) and np.isfinite(right) else left if np.isfinite(left) else right


def lowest_interval(kinks: FloatArray, weight: FloatArray, slope: float, total: float) -> tuple[float, float]:
    """Where a convex, piecewise linear function is lowest, often in one point; infinite where it is not between the kinks.

    Parameters
    ----------
    kinks, weight : arrays of the same length
        Where the slope grows, and by how much.
    slope : float
        To the left of the kinks.
    total : float
        Weight that slopes are made of.
    """
    order, flat = np.argsort(kinks, kind="stable"), BALANCE_TOLERANCE * total
    slopes = slope + np.append(0.0, np.cumsum(weight[order]))
    ends = np.concatenate([[-np.inf], kinks[order], [np.inf]])
    return float(ends[np.searchsorted(slopes, -flat)]), float(ends[np.searchsorted(slopes, flat, side="right")])
