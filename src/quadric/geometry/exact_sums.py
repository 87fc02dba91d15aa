"""Sums without rounding: what cancels in them is still right in the last digit.

A product of two doubles is the sum of two doubles, and ``math.fsum`` adds doubles as if with unlimited precision. That costs a
hundred times what a dot product costs: for the few numbers that decide something.
"""

from __future__ import annotations

import math

import numpy as np

from quadric.types import FloatArray

SPLITTER = 2.0**27 + 1.0
MAX_STEPS = 100


def leading_half(a: FloatArray) -> FloatArray:
    """The first 26 of the 53 bits: products of two such numbers are exact (Dekker, Veltkamp)."""
    scaled = SPLITTER * a
    return scaled - (scaled - a)


def two_product(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """a * b, rounded, and what rounding took away."""
    product = a * b
    a1, b1 = leading_half(a), leading_half(b)
    a2, b2 = a - a1, b - b1
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def exact_dot(a: FloatArray, b: FloatArray, *more: float) -> float:
    """sum_j a_j b_j and more, rounded once."""
    product, error = two_product(a, b)
    return math.fsum([*product.tolist(), *error.tolist(), *more])
