"""Newton's method for a z-step of a smooth loss (docs/mathematics.md, eq. 10.2 and 10.3).

minimise over w = [z; c]   q(w) = 1/2 z'Pz - g'w + offset + sum_i K_i H(y_i a_i'w)

A factorised curvature serves as long as it makes the decrement fall fast; only then is it made anew, at the present point. On
many terms it is nearly all of the work.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from quadric.geometry.cuts import Cuts
from quadric.geometry.lifting import row_chunks
from quadric.losses.cuts import inverse_root, newton_step, without_noise
from quadric.losses.smooth.formulas import SmoothLoss
from quadric.types import FloatArray

MAX_ITERATIONS = 200
ROUNDING = 1e-12  # decrement, as a share of q, below which one that does not fall any more is rounding
SUFFICIENT = 1e-4  # share of the predicted decrease that a step must bring
SHORTEST_STEP = 1e-9
NOISE = 1e-14  # relative increase of q that is rounding
FLAT = 1e-12  # curvature of c, as a share of the largest possible, that is rounding: all samples are far from the surface
LIFTS = (0.0, 1e-14, 1e-11, 1e-8)  # what is added to the curvature's unit diagonal where it is not positive definite

# Decrement, as a share of q, whose step is the last; factor by which it must fall at each step for the old curvature to stay
ON_FEW_TERMS = (1e-18, 1e-3)
ON_ALL_TERMS = (1e-12, 0.05)


@dataclass(frozen=True)
class SmoothQP:
    """Data of one z-step; ``rows`` is A', one row per term and a last one of ones, ``weight`` is K."""

    loss: SmoothLoss
    rows: FloatArray
    y: FloatArray
    weight: FloatArray
    P: FloatArray
    g: FloatArray
    offset: float = 0.0

    def margins(self, w: FloatArray) -> FloatArray:
        return self.y * (w @ self.rows)

    def quadratic(self, w: FloatArray) -> float:
        """The part of q that is not the loss."""
        z = w[:-1]
        return float(0.5 * z @ (self.P @ z) - self.g @ w + self.offset)

    def losses(self, margins: FloatArray) -> float:
        return float(self.weight @ self.loss.value(margins))

    def value(self, w: FloatArray, margins: FloatArray) -> float:
        return self.quadratic(w) + self.losses(margins)

    def gradient(self, w: FloatArray, alpha: FloatArray) -> FloatArray:
        """Of q, with alpha_i = K_i t_i."""
        gradient = -(self.rows @ (self.y * alpha)) - self.g
        gradient[:-1] += self.P @ w[:-1]
        return gradient

    def spread(self, theta: FloatArray) -> FloatArray:
        """A' diag(theta) A."""
        total = np.zeros((len(self.rows),) * 2)
        for part in row_chunks(len(theta), len(self.rows)):
            block = self.rows[:, part] * np.sqrt(theta[part])
            total += block @ block.T
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

    @cached_property
    def root(self) -> FloatArray:
        """T with T T' the inverse."""
        return inverse_root(self.lower, self.scale)

    def length(self, w: FloatArray) -> float:
        """In coordinates in which the curvature is the identity."""
        return float(np.linalg.norm((w / self.scale) @ np.tril(self.lower)))


class Newton:
    """A point that steps by the last curvature, or by its own; after ``run`` it is the minimum.

    Parameters
    ----------
    qp : SmoothQP
    w : array of shape (p + 1,)
        Where to start: z, then c.
    spread : array of shape (p + 1, p + 1), optional
        A' diag(theta) A somewhere near, from which the first curvature is made.

    Attributes
    ----------
    w, value, alpha : array, float, array of shape (m,)
        The point, q there, and multipliers.
    decrement : float
        Square of the last Newton decrement, in the end relative to q: twice what q could still lose, about.
    """

    def __init__(self, qp: SmoothQP, w: FloatArray, spread: FloatArray | None = None) -> None:
        self.qp, self.w, self.spread = qp, w, spread
        self._margins, self._quadratic = qp.margins(w), qp.quadratic(w)
        self.value = self._quadratic + qp.losses(self._margins)
        self._flattest, self._is_fresh = FLAT * float(qp.weight.sum()), False
        self._factor = None if spread is None else Factor.of(qp.P, spread, self._flattest)
        self._t = self._gradient = self._step = self.alpha = w
        self.decrement = np.inf

    def run(self, effort: tuple[float, float]) -> Self:
        """To the minimum; ``effort`` is ON_FEW_TERMS or ON_ALL_TERMS."""
        settled, fast = effort
        before = np.inf
        for _ in range(MAX_ITERATIONS):
            self._aim(fast * before)
            small = ROUNDING * abs(self.value)
            if small >= self.decrement > 0.5 * before or not self._go():
                break
            before = self.decrement
            if before <= settled * abs(self.value):
                break
        # computed afresh: sums of steps have lost a digit or two
        margins = self.qp.margins(self.w)
        self.value, self.alpha = self.qp.value(self.w, margins), self.qp.weight * self.qp.loss.slope(margins)
        self.decrement /= max(abs(self.value), np.finfo(float).tiny)
        return self

    def _aim(self, wanted: float) -> None:
        """A step; where the last curvature does not make the decrement as small as is wanted, by a new one."""
        self._t = self.qp.loss.slope(self._margins)
        self._gradient = self.qp.gradient(self.w, self.qp.weight * self._t)
        self._is_fresh = False
        if self._factor is not None:
            self._solve(self._factor)
        if self._factor is None or self.decrement > wanted:
            self._renew()

    def _go(self) -> bool:
        """Along the step as far as that helps; False: it does not, nor does one by a new curvature."""
        if self._moves():
            return True
        if self._is_fresh:
            return False
        self._renew()
        return self._moves()

    def _renew(self) -> None:
        self.spread = self.qp.spread(self.qp.weight * self.qp.loss.bend(self._t))
        self._factor, self._is_fresh = Factor.of(self.qp.P, self.spread, self._flattest), True
        self._solve(self._factor)

    def _solve(self, factor: Factor) -> None:
        self._step = -factor.solve(self._gradient)
        self.decrement = -float(self._gradient @ self._step)

    def _moves(self) -> bool:
        """Backtracking, which needs the margins of the step but no other products with the rows."""
        qp, along, z, dz = self.qp, self.qp.margins(self._step), self.w[:-1], self._step[:-1]
        Pdz = qp.P @ dz
        slope, bend = float(z @ Pdz - qp.g @ self._step), 0.5 * float(dz @ Pdz)
        length, noise = 1.0, NOISE * abs(self.value)
        while length > SHORTEST_STEP:
            margins = self._margins + length * along
            quadratic = self._quadratic + length * (slope + length * bend)
            value = quadratic + qp.losses(margins)
            if value <= self.value - SUFFICIENT * length * self.decrement + noise:
                self.w, self._margins, self._quadratic, self.value = self.w + length * self._step, margins, quadratic, value
                return True
            length *= 0.5
        return False


class NewtonUnder(Newton):
    """The same over A z >= b of cuts: each step goes to the minimum of the quadratic around a point that meets them.

    Parameters
    ----------
    qp : SmoothQP
    w : array of shape (p + 1,)
        Near the minimum; it need not meet the cuts.
    cuts : Cuts

    Attributes
    ----------
    multipliers : array of shape (n_cuts,)
    """

    def __init__(self, qp: SmoothQP, w: FloatArray, cuts: Cuts) -> None:
        super().__init__(qp, w)
        self._cuts, self.multipliers, self._size = cuts.with_level(), np.zeros(len(cuts)), np.abs(w)
        self._aim(np.inf)
        self._jump(w + self._step)  # into the cuts, whatever that costs: no later step leaves them

    def run(self, effort: tuple[float, float]) -> Self:
        super().run(effort)
        assert self._factor is not None
        self._jump(without_noise(self._factor.root, self.w, self._factor.length(np.maximum(self._size, np.abs(self.w)))))
        self.alpha, self.decrement = self.qp.weight * self.qp.loss.slope(self._margins), abs(self.decrement)
        return self

    def _jump(self, w: FloatArray) -> None:
        self.w, self._margins, self._quadratic = w, self.qp.margins(w), self.qp.quadratic(w)
        self.value = self._quadratic + self.qp.losses(self._margins)

    def _solve(self, factor: Factor) -> None:
        likely = np.flatnonzero(self.multipliers)
        self._step, self.multipliers = newton_step(factor.root, self._gradient, self._cuts, self.w, likely, self._size)
        self.decrement = -float(self._gradient @ self._step)
