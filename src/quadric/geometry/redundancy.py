"""Products that are redundant: affine functions of their own factors on the samples.

(x_a - u)(x_b - v) = const on all samples makes x_a x_b an affine function of x_a and x_b, whatever the units: the squares of
two-valued features, products of two levels of one category, and of an imputed feature with its flag. What x_a x_b is beyond the
best affine function is a residual of second moments:

    V = var(z),  c = cov(z, (x_a, x_b)),  S = cov(x_a, x_b):   residual = V - c'S^-1 c,   z = (x_a - mean_a)(x_b - mean_b).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quadric.geometry.moments import LiftedMoments
from quadric.geometry.terms import feature_count, term_count, term_factors, term_indices
from quadric.types import BoolArray, FloatArray, IntArray

# Share of the mean square of z up to which a residual is rounding; one odd row of a million leaves about 1e-6.
RESIDUAL = 1e-11
# Share of what was subtracted from each other that may be left of a residual.
ROUNDING = 1e-14
# Features whose products with all others are looked at together.
FEATURE_BLOCK = 128


def redundant_of_moments(moments: LiftedMoments) -> BoolArray:
    """Which terms are redundant, by the mean and scatter of lifted samples.

    Parameters
    ----------
    moments : LiftedMoments

    Returns
    -------
    boolean array of shape (p,)
    """
    p = len(moments.mean)
    n = feature_count(p)
    first_linear = p - n
    left, right = term_factors(n)
    left, right = left[:first_linear], right[:first_linear]
    half = np.where(left == right, 0.5, 1.0)  # r holds half of each square
    scatter = moments.scatter / moments.weight if moments.weight else moments.scatter
    S = scatter[first_linear:, first_linear:]
    mean = moments.mean[first_linear:]
    a, b, ab = S[left, left], S[right, right], S[left, right]
    # r about the means is r - to_a x_a - to_b x_b, up to a constant
    to_a, to_b = half * mean[right], half * mean[left]
    of_a, of_b = (scatter[np.arange(first_linear), first_linear + side] for side in (left, right))
    size = np.diag(scatter)[:first_linear] + to_a**2 * a + to_b**2 * b
    V = size + 2.0 * (to_a * to_b * ab - to_a * of_a - to_b * of_b)
    rounding = RESIDUAL * (V + (half * ab) ** 2) + ROUNDING * size
    found = _residual(V, of_a - to_a * a - to_b * ab, of_b - to_a * ab - to_b * b, (a, b, ab)) <= rounding
    return np.concatenate([found, np.zeros(n, dtype=bool)])


def redundant_of_samples(X: FloatArray, weight: FloatArray) -> BoolArray:
    """The same by the samples themselves, for any number of features.

    If (x_a - u)(x_b - v) is 0 on all samples, one of the two factors is 0 on half of them: only features of which half of the
    samples have one value are looked at, each with all others.

    Parameters
    ----------
    X : array of shape (m, n)
    weight : array of shape (m,)
        Positive.

    Returns
    -------
    boolean array of shape (p,)
    """
    n = X.shape[1]
    found = np.zeros(term_count(n), dtype=bool)
    heavy = _half_alike(X)
    if not len(heavy):
        return found
    share = weight / weight.sum()
    D = X - share @ X
    D -= share @ D  # what rounding has left of the mean
    weighted = share[:, None] * D
    for first in range(0, len(heavy), FEATURE_BLOCK):
        block = heavy[first : first + FEATURE_BLOCK]
        E = D[:, block]
        ab, of_a = E.T @ weighted, (E**2).T @ weighted
        V, of_b = (E**2).T @ (weighted * D) - ab**2, E.T @ (weighted * D)
        b = np.einsum("ij,ij->j", weighted, D)
        a = np.broadcast_to(b[block, None], ab.shape)
        affine = _residual(V, of_a, of_b, (a, np.broadcast_to(b, ab.shape), ab)) <= RESIDUAL * (V + ab**2)
        for row, feature in enumerate(block):
            found[term_indices(int(feature), np.flatnonzero(affine[row]), n)] = True
    return found


def _half_alike(X: FloatArray) -> IntArray:
    """Features that have one and the same value, a median, in half of the samples."""
    middles: Any = (np.quantile(X, 0.5, axis=0, method=side) for side in ("lower", "higher"))
    return np.flatnonzero(np.logical_or.reduce([2 * (middle == X).sum(axis=0) >= len(X) for middle in middles]))


def _residual(V: FloatArray, of_a: FloatArray, of_b: FloatArray, S: tuple[FloatArray, ...]) -> FloatArray:
    """V - c'S^-1 c, for variances and covariances of x_a and x_b in S = (a, b, ab)."""
    a, b, ab = S
    with np.errstate(divide="ignore", invalid="ignore"):
        residual = V - np.where(a > 0.0, of_a**2 / a, 0.0)
        rest, of_rest = b - ab**2 / a, of_b - ab * of_a / a
        return np.asarray(residual - np.where(rest > RESIDUAL * b, of_rest**2 / rest, 0.0))  # x_b beyond what x_a tells
