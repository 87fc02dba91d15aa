"""Newton's method for a logistic z-step (docs/mathematics.md, eq. 10.2 and 10.3).

minimise over w = [z; c]   q(w) = 1/2 z'Pz - g'w + offset + sum_i upper_i log(1 + exp(-y_i a_i'w))

A factorised curvature serves as long as it makes the decrement fall fast; only then is it made anew, at the present point. On
many terms it is nearly all of the work.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.special import expit

from quadric.geometry.lifting import row_chunks
from quadric.losses.logistic.problem import loss_of
from quadric.types import FloatArray

MAX_ITERATIONS = 200
ROUNDING = 1e-12
"""Decrement, as a share of q, below which one that does not fall any more is rounding."""
SUFFICIENT = 1e-4
"""Share of the predicted decrease that a step must bring."""
SHORTEST_STEP = 1e-9
NOISE = 1e-14
"""Relative increase of q that is rounding."""
FLAT = 1e-12
"""Curvature of c, as a share of the largest possible, below which it is rounding: all samples are far from the surface."""
LIFTS = (0.0, 1e-14, 1e-11, 1e-8)
"""What is added to the curvature's unit diagonal where it is not positive definite."""


@dataclass(frozen=True)
class Effort:
    """How far to go, and how.

    Attributes
    ----------
    settled : float
        Decrement, as a share of q, whose step is the last.
    fast : float
        Factor by which the decrement must fall from step to step for the old curvature to stay.
    """

    settled: float
    fast: float


ON_FEW_TERMS = Effort(settled=1e-18, fast=1e-3)
ON_ALL_TERMS = Effort(settled=1e-12, fast=0.05)


@dataclass(frozen=True)
class LogisticQP:
    """Data of one z-step; ``rows`` is A', one row per term and a last one of ones."""

    rows: FloatArray
    y: FloatArray
    upper: FloatArray
    P: FloatArray
    g: FloatArray
    offset: float = 0.0

    def margins(self, w: FloatArray) -> FloatArray:
        return self.y * (w @ self.rows)

    def smooth(self, w: FloatArray) -> float:
        """The part of q that is not the loss."""
        z = w[:-1]
        return float(0.5 * z @ (self.P @ z) - self.g @ w + self.offset)

    def value(self, w: FloatArray, margins: FloatArray) -> float:
        return self.smooth(w) + loss_of(self.upper, margins)

    def gradient(self, w: FloatArray, alpha: FloatArray) -> FloatArray:
        """Of q, with alpha_i = upper_i / (1 + exp(margin_i))."""
        gradient = -(self.rows @ (self.y * alpha)) - self.g
        gradient[:-1] += self.P @ w[:-1]
        return gradient

    @property
    def flattest(self) -> float:
        """A curvature of c that is as good as none."""
        return FLAT * float(self.upper.sum())

    def spread(self, theta: FloatArray) -> FloatArray:
        """A' diag(theta) A."""
        size, total = len(self.rows), None
        for part in row_chunks(len(theta), size):
            block = self.rows[:, part] * np.sqrt(theta[part])
            total = block @ block.T if total is None else total + block @ block.T
        assert total is not None
        return total


@dataclass(frozen=True)
class Factor:
    """Cholesky factor of the curvature P + A' diag(theta) A, scaled to a unit diagonal: no outlying row drowns the others."""

    lower: FloatArray
    scale: FloatArray

    @staticmethod
    def of(P: FloatArray, spread: FloatArray, flattest: float) -> Factor:
        """``flattest`` is the least curvature that is allowed for c, which G does not bend."""
        H = spread.copy()
        H[:-1, :-1] += P
        H[-1, -1] = max(H[-1, -1], flattest)
        scale = 1.0 / np.sqrt(np.diag(H))
        H *= scale[:, None] * scale
        for lift in LIFTS:
            H.flat[:: len(H) + 1] = 1.0 + lift
            lower, failed = dpotrf(H.T, lower=1, clean=0)  # the same matrix, in LAPACK's order
            if not failed:
                break
        return Factor(lower, scale)

    def solve(self, rhs: FloatArray) -> FloatArray:
        return dpotrs(self.lower, rhs * self.scale, lower=1)[0] * self.scale


@dataclass(frozen=True)
class LogisticSolution:
    """A solved z-step.

    Attributes
    ----------
    w : array of shape (p + 1,)
        z, then c.
    alpha : array of shape (m,)
        Multipliers.
    value : float
        q.
    decrement : float
        Square of the last Newton decrement, relative to q: twice what q could still lose, about.
    spread : array of shape (p + 1, p + 1)
        A' diag(theta) A of the last curvature.
    """

    w: FloatArray
    alpha: FloatArray
    value: float
    decrement: float
    spread: FloatArray


def minimise(qp: LogisticQP, w: FloatArray, effort: Effort, spread: FloatArray | None = None) -> LogisticSolution:
    """Minimise q from w; ``spread`` is that of an earlier solution nearby."""
    newton = _Newton(qp, w, spread)
    before = np.inf
    for _ in range(MAX_ITERATIONS):
        newton.aim(effort.fast * before)
        small = ROUNDING * abs(newton.value)
        if small >= newton.decrement > 0.5 * before or not newton.go():
            break
        before = newton.decrement
        if before <= effort.settled * abs(newton.value):
            break
    return newton.solution()


class _Newton:
    """A point, and a step from it by the last curvature or by that of the point."""

    def __init__(self, qp: LogisticQP, w: FloatArray, spread: FloatArray | None) -> None:
        self.qp, self.w = qp, w
        self.margins = qp.margins(w)
        self.smooth = qp.smooth(w)
        self.value = self.smooth + loss_of(qp.upper, self.margins)
        self.spread, self.is_fresh = spread, False
        self.factor = None if spread is None else Factor.of(qp.P, spread, qp.flattest)
        self.t = self.gradient = self.step = w
        self.decrement = np.inf

    def aim(self, wanted: float) -> None:
        """A step; where the last curvature does not make the decrement as small as is wanted, by a new one."""
        self.t = expit(-self.margins)
        self.gradient = self.qp.gradient(self.w, self.qp.upper * self.t)
        self.is_fresh = False
        if self.factor is not None:
            self._solve(self.factor)
        if self.factor is None or self.decrement > wanted:
            self._renew()

    def go(self) -> bool:
        """Along the step as far as that helps; False: it does not, nor does one by a new curvature."""
        if self._moves():
            return True
        if self.is_fresh:
            return False
        self._renew()
        return self._moves()

    def solution(self) -> LogisticSolution:
        """The point with its values computed afresh: sums of steps have lost a digit or two."""
        assert self.spread is not None
        margins = self.qp.margins(self.w)
        value = self.qp.value(self.w, margins)
        alpha = self.qp.upper * expit(-margins)
        return LogisticSolution(self.w, alpha, value, self.decrement / max(abs(value), np.finfo(float).tiny), self.spread)

    def _renew(self) -> None:
        self.spread = self.qp.spread(self.qp.upper * self.t * (1.0 - self.t))
        self.factor, self.is_fresh = Factor.of(self.qp.P, self.spread, self.qp.flattest), True
        self._solve(self.factor)

    def _solve(self, factor: Factor) -> None:
        self.step = -factor.solve(self.gradient)
        self.decrement = -float(self.gradient @ self.step)

    def _moves(self) -> bool:
        """Backtracking, which needs the margins of the step but no other products with the rows."""
        qp, along, z, dz = self.qp, self.qp.margins(self.step), self.w[:-1], self.step[:-1]
        Pdz = qp.P @ dz
        slope, bend = float(z @ Pdz - qp.g @ self.step), 0.5 * float(dz @ Pdz)
        length, noise = 1.0, NOISE * abs(self.value)
        while length > SHORTEST_STEP:
            margins = self.margins + length * along
            smooth = self.smooth + length * (slope + length * bend)
            value = smooth + loss_of(qp.upper, margins)
            if value <= self.value - SUFFICIENT * length * self.decrement + noise:
                self.w, self.margins, self.smooth, self.value = self.w + length * self.step, margins, smooth, value
                return True
            length *= 0.5
        return False
