"""Sums without rounding: what cancels in them is still right in the last digit.

A product of two doubles is the sum of two doubles, and ``math.fsum`` adds doubles as if with unlimited precision. That costs a
hundred times what a dot product costs: for the few numbers that decide something.
"""

from __future__ import annotations

import math

import numpy as np

from quadric.types import FloatArray

SPLITTER = 2.0**27 + 1.0


def leading_half(a: FloatArray) -> FloatArray:
    """The first 26 of the 53 bits: products of two such numbers are exact (Veltkamp)."""
    scaled = SPLITTER * a
    return scaled - (scaled - a)


def two_product(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """a * b as it is rounded, and what rounding took away (Dekker)."""
    product = a * b
    a1, b1 = leading_half(a), leading_half(b)
    a2, b2 = a - a1, b - b1
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def exact_dot(a: FloatArray, b: FloatArray, *more: float) -> float:
    """sum_j a_j b_j and more, rounded once."""
    product, error = two_product(a, b)
    return math.fsum([*product.tolist(), *error.tolist(), *more])


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
