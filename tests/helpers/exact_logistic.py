"""The logistic loss in 50 digits: F by its definition, and minima on supports by Newton's method."""

from __future__ import annotations

import mpmath
import numpy as np

from helpers.ill_scaled import DIGITS, ExactProblem

STEEPNESS = 8
ENOUGH = mpmath.mpf(10) ** -25
"""Decrement, as a share of F, that is left."""


class LogisticReference:
    """F = 1/2 z'Gz + 8C sum_i log(1 + exp(-y_i f_i)) of an exact problem."""

    def __init__(self, exact: ExactProblem) -> None:
        self.exact = exact
        self.y = [int(label) for label in exact.dirty.y]
        self.upper = STEEPNESS * mpmath.mpf(exact.dirty.C)

    def objective(self, z: np.ndarray, c: float) -> mpmath.mpf:
        """F at a surface; z runs over the candidate terms."""
        with mpmath.workdps(DIGITS):
            scores = self.exact.scores(z, c)
            loss = sum(mpmath.log1p(mpmath.exp(-y * f)) for y, f in zip(self.y, scores, strict=True))
            return self.exact.energy(z) + self.upper * loss

    def minimum(self, support: tuple[int, ...], z: np.ndarray, c: float) -> mpmath.mpf:
        """Minimum of F on a support, from a surface nearby."""
        with mpmath.workdps(2 * DIGITS):  # of normal equations
            w = mpmath.matrix([mpmath.mpf(float(z[j])) for j in support] + [mpmath.mpf(float(c))])
            rows = [[row[j] for j in support] + [mpmath.mpf(1)] for row in self.exact.R]
            value, gradient, curvature = self._expanded(support, rows, w)
            for _ in range(200):
                step = mpmath.lu_solve(curvature, -gradient)
                decrement = -(gradient.T * step)[0]
                length = mpmath.mpf(1)
                while self._value(support, rows, w + length * step) > value - decrement * length / 4 and length > 1e-12:
                    length /= 2
                w = w + length * step
                value, gradient, curvature = self._expanded(support, rows, w)
                if decrement <= ENOUGH * value:
                    return value
            raise AssertionError("Newton's method has not converged")

    def _value(self, support, rows, w):
        margins = [y * mpmath.fdot(row, w) for y, row in zip(self.y, rows, strict=True)]
        return self._energy(support, w)[0] + self.upper * sum(mpmath.log1p(mpmath.exp(-m)) for m in margins)

    def _energy(self, support, w):
        G = self.exact.G
        pull = [mpmath.fdot([G[s][t] for t in support], list(w)[:-1]) for s in support]
        return mpmath.fdot(pull, list(w)[:-1]) / 2, pull

    def _expanded(self, support, rows, w):
        """F, its gradient and its second derivatives."""
        size = len(w)
        energy, pull = self._energy(support, w)
        value, gradient, curvature = energy, mpmath.matrix([*pull, mpmath.mpf(0)]), mpmath.matrix(size, size)
        for a, s in enumerate(support):
            for b, t in enumerate(support):
                curvature[a, b] = self.exact.G[s][t]
        for y, row in zip(self.y, rows, strict=True):
            margin = y * mpmath.fdot(row, w)
            t = 1 / (1 + mpmath.exp(margin))
            value += self.upper * mpmath.log1p(mpmath.exp(-margin))
            for a in range(size):
                gradient[a] -= self.upper * t * y * row[a]
                for b in range(size):
                    curvature[a, b] += self.upper * t * (1 - t) * row[a] * row[b]
        return value, gradient, curvature
