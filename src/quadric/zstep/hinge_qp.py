"""The convex problem of a hinge z-step, as the interior point and the active set see it.

minimise over w = [z; c]   q(w) = 1/2 z'Pz - g'w + offset + sum_i upper_i max(0, 1 - y_i a_i'w)

with a_i' = [r_i' 1] the rows of A, P = G + diag(penalty), g = [penalty * u; 0], offset = 1/2 sum_j penalty_j u_j^2 and
upper = C o (docs/mathematics.md, section 3). Its dual has one multiplier 0 <= alpha_i <= upper_i a sample, and with
h = g + A'(y alpha) the equations h_c = 0 and P z = h_z. A is m x (p+1) with p << m: nothing here is ever m x m.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from quadric.types import FloatArray, IntArray


@dataclass(frozen=True)
class HingeQP:
    """Data of one z-step; see the module's head for the symbols."""

    A: FloatArray
    y: FloatArray
    upper: FloatArray
    P: FloatArray
    g: FloatArray
    offset: float = 0.0

    @property
    def n_terms(self) -> int:
        return len(self.P)

    @cached_property
    def factor(self) -> FloatArray:
        """Lower Cholesky factor of P."""
        return cho_factor(self.P, lower=True, check_finite=False)[0]

    def solve_P(self, rhs: FloatArray) -> FloatArray:
        return cho_solve((self.factor, True), rhs, check_finite=False)

    def value(self, w: FloatArray, margins: FloatArray) -> float:
        """q(w), given the margins y_i a_i'w."""
        z = w[:-1]
        smooth = 0.5 * z @ (self.P @ z) - self.g @ w + self.offset
        return float(smooth + self.upper @ np.maximum(0.0, 1.0 - margins))

    def margins(self, w: FloatArray) -> FloatArray:
        return self.y * (self.A @ w)

    def relative_gap(self, w: FloatArray, alpha: FloatArray) -> float:
        """Distance between q at w and the dual at alpha (whose z it takes from alpha), relative to q."""
        h = self.g + (self.y * alpha) @ self.A
        dual = float(alpha.sum()) + self.offset - 0.5 * float(h[:-1] @ self.solve_P(h[:-1]))
        primal = self.value(w, self.margins(w))
        return abs(primal - dual) / max(abs(primal), 1e-300)

    def restricted(self, rows: IntArray, at_bound: FloatArray) -> HingeQP:
        """The problem of the samples ``rows``, all others held at the bounds ``at_bound`` (entries of rows are zero)."""
        g = self.g + (self.y * at_bound) @ self.A
        offset = self.offset + float(at_bound.sum())
        return HingeQP(self.A[rows], self.y[rows], self.upper[rows], self.P, g, offset)


@dataclass(frozen=True)
class HingeSolution:
    """A solved z-step.

    Attributes
    ----------
    w : array of shape (p + 1,)
        z, then c.
    alpha : array of shape (m,)
        Multipliers.
    n_iter : int
        Linear systems solved.
    violation : float
        Largest of: violation of the margins, in their own unit; of the multipliers, in units of their upper bounds; relative
        duality gap.
    """

    w: FloatArray
    alpha: FloatArray
    n_iter: int
    violation: float
