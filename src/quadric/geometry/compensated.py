"""What rounding must not touch: scores where large terms cancel, by error-free sums and products (Dekker 1971, Knuth), and
multipliers that balance to the last digit.

No wider type is needed: numpy's longdouble is a plain double on some systems.
"""

from __future__ import annotations

import math

import numpy as np

from quadric.geometry.lifting import dense_columns, live_features
from quadric.geometry.terms import LINEAR
from quadric.types import FloatArray, IntArray

SPLITTER = 2.0**27 + 1.0


def misfits(X: FloatArray, terms: IntArray, x: FloatArray, y: FloatArray) -> FloatArray:
    """y - f with f = r'z + c for x = [z, c] on ``terms``, each correct to about the last digit of itself or of eps |r|'|z|."""
    features, (left, right) = live_features(X.shape[1], terms)
    X = dense_columns(X, features)
    high, low = _sum(y, np.full(len(y), -x[-1]))
    ones = np.ones(len(y))
    for a, b, z in zip(left, right, np.where(left == right, 0.5, 1.0) * x[:-1], strict=True):
        # each term as four parts whose sum is exact: the two products and the errors of both
        product, rest = two_product(X[:, a], ones if b == LINEAR else X[:, b])
        main, small = two_product(product, -z * ones)
        high, carried = _sum(high, main)
        low += carried + (small - rest * z)
    return high + low


def _sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """a + b as a rounded sum and its rounding error."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """a * b as a rounded product and its rounding error."""
    product = a * b
    a_high, a_low = split(a)
    b_high, b_low = split(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def split(a: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Upper and lower half of the digits."""
    scaled = SPLITTER * a
    high = scaled - (scaled - a)  # 26 bits each: products of halves are exact (Dekker 1971)
    return high, a - high


def exact_dot(a: FloatArray, b: FloatArray, *more: float) -> float:
    """sum_j a_j b_j and more, rounded once."""
    product, error = two_product(a, b)
    # fsum rounds once, whatever the order: nothing is lost to cancellation before
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
