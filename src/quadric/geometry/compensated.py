"""Scores with twice the digits of doubles, where large terms cancel: error-free sums and products (Dekker 1971, Knuth).

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
    high = scaled - (scaled - a)
    return high, a - high


def exact_dot(a: FloatArray, b: FloatArray, *more: float) -> float:
    """sum_j a_j b_j and more, rounded once."""
    product, error = two_product(a, b)
    return math.fsum([*product.tolist(), *error.tolist(), *more])
