"""Primal-dual interior point for the hinge z-step, on (p+1) x (p+1) normal equations.

Variables: w = [z; c]; margins f = y * (A w); excess t >= 0 and slack x >= 0 with t - x = f - target; multipliers
0 <= alpha <= upper, beta = upper - alpha. Central path: alpha t = beta x = mu. Eliminating everything but w leaves

    (diag(P, 0) + A' diag(theta) A) dw = rhs,   theta = 1 / (t/alpha + x/beta)        (docs/mathematics.md, eq. 3.3);

the labels square to one and drop out of the matrix.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs

from quadric.geometry.lifting import row_chunks
from quadric.losses.hinge.qp import HingeQP, HingeSolution
from quadric.types import FloatArray

MAX_ITERATIONS = 100
BOUNDARY_FRACTION = 0.995
SHORTEST_STEP = 1e-10
# Relative lift of the diagonal of the normal matrix: keeps its factorisation alive when theta vanishes for c
DIAGONAL_LIFT = 1e-14


class _Direction(NamedTuple):
    w: FloatArray
    margins: FloatArray
    alpha: FloatArray
    t: FloatArray
    x: FloatArray


class InteriorPoint:
    """Iterates that can be advanced to one accuracy after another.

    Parameters
    ----------
    qp : HingeQP
    w : array of shape (p + 1,)
        Where to start; any point will do.
    spread : float
        Distance from the path's end at the start: mu = spread * mean(upper). One for a cold start.
    """

    def __init__(self, qp: HingeQP, w: FloatArray, spread: float) -> None:
        self.qp = qp
        self.w = w
        self.n_iter = 0
        self.margins = qp.margins(w)
        # For given margins and mu the point of the central path is known in closed form, so only the dual equation
        # starts with a residual; it shrinks by (1 - step) each time.
        mu = spread * float(qp.upper.mean())
        half = mu / qp.upper
        s = self.margins - qp.target
        root = np.hypot(s, 2.0 * half)
        large, small = 0.5 * (root + np.abs(s)), 2.0 * half**2 / (root + np.abs(s))
        self.t = np.where(s > 0, large, small) + half
        self.x = np.where(s > 0, small, large) + half
        self.alpha = mu / self.t
        self.beta = mu / self.x
        self.dual_residual = self._gradient(self.alpha)
        self.dual_remaining = 1.0

    def advance(self, tolerance: float) -> bool:
        """Iterate until the complementarity gap is below ``tolerance`` times the objective; False if that fails."""
        with np.errstate(all="ignore"):  # at the end of its accuracy an iterate may hit a bound; the step is then refused
            while self.n_iter < MAX_ITERATIONS:
                if self.relative_gap() <= tolerance and self.dual_remaining <= min(1e-3, tolerance):
                    return True
                self.n_iter += 1
                if not self._step():
                    return False
        return False

    def relative_gap(self) -> float:
        return self._gap() / max(abs(self.qp.value(self.w, self.margins)), 1e-200)

    def _gap(self) -> float:
        return float(self.alpha @ self.t + self.beta @ self.x)

    @property
    def mu(self) -> float:
        """Where the iterate is on the central path."""
        return self._gap() / (2 * len(self.t))

    def _gradient(self, alpha: FloatArray) -> FloatArray:
        gradient = -self.qp.g - (self.qp.y * alpha) @ self.qp.A
        gradient[:-1] += self.qp.P @ self.w[:-1]
        return gradient

    @cached_property
    def _reach(self) -> FloatArray:
        """r'P^-1 r, taken with the diagonal of P."""
        return self.qp.A[:, :-1] ** 2 @ (1.0 / np.diag(self.qp.P))

    def _step(self) -> bool:
        """One Mehrotra predictor-corrector step."""
        alpha, beta, t, x = self.alpha, self.beta, self.t, self.x
        theta = 1.0 / (t / alpha + x / beta)
        factor, failed = dpotrf(self._normal_matrix(theta), lower=0, clean=0, overwrite_a=1)
        if failed:
            return False
        mu = self.mu
        predictor = self._direction(factor, theta, alpha * t, beta * x)
        length = self._max_step(predictor)
        after = (alpha + length * predictor.alpha) @ (t + length * predictor.t)
        after += (beta - length * predictor.alpha) @ (x + length * predictor.x)
        # Mehrotra's rule: aim the nearer to the end of the path the more the predictor alone has gained
        target = (after / (2 * len(t)) / mu) ** 3 * mu
        second_order_t = predictor.alpha * predictor.t
        second_order_x = -predictor.alpha * predictor.x
        step = self._direction(factor, theta, alpha * t - target + second_order_t, beta * x - target + second_order_x)
        length = self._max_step(step)
        if not np.isfinite(length * step.w).all() or length <= SHORTEST_STEP:
            return False
        if length < 1.0:  # stay off the boundary, where theta would lose its digits
            length *= BOUNDARY_FRACTION
        self.w = self.w + length * step.w
        self.margins = self.margins + length * step.margins
        self.alpha = alpha + length * step.alpha
        self.beta = beta - length * step.alpha  # not upper - alpha: the difference would lose all digits near the bound
        self.t = t + length * step.t
        self.x = x + length * step.x
        self.dual_residual = (1.0 - length) * self.dual_residual
        self.dual_remaining *= 1.0 - length
        return True

    def _normal_matrix(self, theta: FloatArray) -> FloatArray:
        A, p = self.qp.A, self.qp.n_terms
        H = np.zeros((p + 1, p + 1), order="F")
        H[:p, :p] = self.qp.P
        root = np.sqrt(theta)[:, None]
        for rows in row_chunks(len(A), p + 1):
            H = dsyrk(1.0, (A[rows] * root[rows]).T, beta=1.0, c=H, overwrite_c=1)
        H.flat[:: p + 2] *= 1.0 + DIAGONAL_LIFT
        return H

    def _direction(self, factor: FloatArray, theta: FloatArray, r_t: FloatArray, r_x: FloatArray) -> _Direction:
        """Newton direction towards alpha t -> alpha t - r_t and beta x -> beta x - r_x."""
        kappa = r_t / self.alpha - r_x / self.beta
        dw = dpotrs(factor, -self.dual_residual - (self.qp.y * theta * kappa) @ self.qp.A, lower=0)[0]
        df = self.qp.margins(dw)
        d_alpha = -theta * (df + kappa)
        d_t = (-r_t - self.t * d_alpha) / self.alpha
        return _Direction(dw, df, d_alpha, d_t, (-r_x + self.x * d_alpha) / self.beta)

    def _max_step(self, step: _Direction) -> float:
        """Largest step in [0, 1] that keeps every positive variable positive."""
        fastest = max(
            -float((step.alpha / self.alpha).min()),
            float((step.alpha / self.beta).max()),
            -float((step.t / self.t).min()),
            -float((step.x / self.x).min()),
        )
        return 1.0 if fastest <= 1.0 else 1.0 / fastest

    def crossover(self) -> FloatArray:
        """Multipliers with all those that are heading for a bound put on it.

        Each is compared with its partner in the unit of margins. A multiplier alpha moves its own margin by alpha r'P^-1 r,
        here taken with the diagonal of P; where the whole box could move it by more than 1, the box is the unit.
        """
        reach = np.minimum(self._reach, 1.0 / self.qp.upper)
        at_zero = (self.t > reach * self.alpha) & (self.t > self.x)
        at_upper = (self.x > reach * self.beta) & (self.x >= self.t)
        return np.where(at_zero, 0.0, np.where(at_upper, self.qp.upper, self.alpha))

    def solution(self) -> HingeSolution:
        """The present iterate, with the exact intercept of its z and the violation that is left."""
        qp = self.qp
        z = self.w[:-1]
        w = np.append(z, qp.best_level(z))
        off_path = np.minimum(self.alpha / qp.upper, self.t) + np.minimum(self.beta / qp.upper, self.x)
        violation = max(float(off_path.max()), qp.relative_gap(w, self.alpha, qp.margins(w)))
        return HingeSolution(w, self.alpha, self.n_iter, violation)
