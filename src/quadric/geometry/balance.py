"""Multipliers that balance to the last digit."""

from __future__ import annotations

import math

import numpy as np

from quadric.types import FloatArray


def balanced(multipliers: FloatArray, y: FloatArray) -> FloatArray:
    """Multipliers >= 0 with sum y_i multiplier_i = 0 to the last digit: a dual bound holds for no others.

    None grows, so boxes stay met: all become multiples of one power of two, small enough beside their sum and large enough for
    exact sums, and the largest of the heavier side pay for what is left.
    """
    unit = 2.0 ** (math.frexp(float(multipliers.sum()))[1] - 52)
    counts = np.floor(multipliers / unit)
    excess = float(y @ counts)
    heavier = np.where(y * excess > 0.0, counts, 0.0)
    while excess:
        i = int(np.argmax(heavier))
        paid = min(heavier[i], abs(excess))
        counts[i] -= paid
        heavier[i] = 0.0
        excess -= math.copysign(paid, excess)
    return counts * unit
