"""The convex problem of a hinge z-step, as the interior point and the active set see it.

minimise over w = [z; c]   q(w) = 1/2 z'Pz - g'w + offset + sum_i upper_i max(0, target_i - y_i a_i'w)

with a_i' = [r_i' 1] the rows of A, P = G + diag(penalty), g = [penalty * u; 0], offset = 1/2 sum_j penalty_j u_j^2,
upper = C o and target = 1 (docs/mathematics.md, eq. 3.1). Its dual has one multiplier 0 <= alpha_i <= upper_i per sample, and
with h = g + A'(y alpha) the equations h_c = 0 and P z = h_z. A is m x (p+1) with p << m: nothing here is ever m x m.

A row may also stand for a kink in z alone: its last entry and its target are then 0, and c does not move its margin. With
the row s e_j', upper 2 mu / s and g_j lowered by mu it adds the penalty mu |z_j|.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotrs

from quadric.types import BoolArray, FloatArray, IntArray

BALANCE_TOLERANCE = 1e-12  # slopes below this fraction of the total weight count as flat
ROUNDING = 8 * np.finfo(float).eps  # rounding error of a margin in units of the terms that add up to it


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The rows of a problem without repetitions.

    Attributes
    ----------
    A, y, target : arrays
        As in the problem.
    group : array or None
        Which of these each row of the problem is; None where all of its rows differ.
    """

    A: FloatArray
    y: FloatArray
    target: FloatArray
    group: IntArray | None


@dataclass(frozen=True)
class HingeQP:
    """Data of one z-step; see the module's head for the symbols."""

    A: FloatArray
    y: FloatArray
    upper: FloatArray
    P: FloatArray
    g: FloatArray
    offset: float = 0.0
    targets: FloatArray | None = None
    distinct: DistinctRows | None = None  # where they are known, from a problem with the same A, y and targets

    @property
    def n_terms(self) -> int:
        return len(self.P)

    @cached_property
    def target(self) -> FloatArray:
        """The margin from which on a row costs nothing; 1 where no ``targets`` are given."""
        return np.ones(len(self.y)) if self.targets is None else self.targets

    @cached_property
    def sees_level(self) -> BoolArray:
        """Rows whose margin c moves."""
        return self.A[:, -1] != 0.0

    @cached_property
    def factor(self) -> FloatArray:
        """Lower Cholesky factor of P."""
        factor, failed = dpotrf(self.P, lower=1, clean=0)
        if failed:
            raise LinAlgError("P is not positive definite")
        return factor

    def solve_P(self, rhs: FloatArray) -> FloatArray:
        return dpotrs(self.factor, rhs, lower=1)[0]

    def value(self, w: FloatArray, margins: FloatArray) -> float:
        """q(w), given the margins y_i a_i'w."""
        z = w[:-1]
        smooth = 0.5 * z @ (self.P @ z) - self.g @ w + self.offset
        return float(smooth + self.upper @ np.maximum(0.0, self.target - margins))

    def margins(self, w: FloatArray) -> FloatArray:
        return self.y * (self.A @ w)

    def margin_rounding(self, w: FloatArray, rows: IntArray) -> FloatArray:
        """What rounding can do to the margins of some rows: much where a row is huge and its terms cancel."""
        return ROUNDING * (np.abs(self.A[rows]) @ np.abs(w))

    def least_reach(self, rows: IntArray) -> FloatArray:
        """A lower bound of r'P^-1 r for some rows: how far a multiplier of one moves the row's own margin."""
        R = self.A[rows, :-1]
        return (R * R) @ (1.0 / (np.diag(self.P) * self.n_terms))

    def relative_gap(self, w: FloatArray, alpha: FloatArray, margins: FloatArray) -> float:
        """Distance between q at w (with its margins) and the dual at alpha (whose z it takes from alpha), relative to q."""
        h = self.g + (self.y * alpha) @ self.A  # (3.2): P z = h_z for the z that belongs to alpha
        dual = float((self.target * alpha).sum()) + self.offset - 0.5 * float(h[:-1] @ self.solve_P(h[:-1]))
        primal = self.value(w, margins)
        return abs(primal - dual) / max(abs(primal), 1e-300)

    def lower_bound(self, alpha: FloatArray) -> float:
        """The dual at multipliers near ``alpha`` that balance: q is not below it (g_c = 0, and all rows see the level)."""
        alpha = evenly_balanced(np.clip(alpha, 0.0, self.upper), self.y)
        h = self.g[:-1] + (self.y * alpha) @ self.A[:, :-1]
        return float(self.target @ alpha) + self.offset - 0.5 * float(h @ self.solve_P(h))

    def imbalance(self, alpha: FloatArray) -> float:
        """Residual of the equation of c, in units of the largest upper bound among the rows that c moves."""
        return float(abs(self.g[-1] + (self.y * self.A[:, -1]) @ alpha) / self.upper[self.sees_level].max())

    def best_level(self, z: FloatArray) -> float:
        """The c that minimises q for given z (and g_c = 0)."""
        rows, e = self.sees_level, self.A[:, -1]
        missing = self.y * (e - self.target)  # a row of target t has its kink where one of target e and this score has it
        return hinge_intercept((self.A[:, :-1] @ z + missing)[rows] / e[rows], self.y[rows], (self.upper * e)[rows])

    def restricted(self, rows: IntArray, at_bound: FloatArray) -> HingeQP:
        """The problem of the samples ``rows``, all others held at the bounds ``at_bound`` (entries of rows are zero)."""
        g = self.g + (self.y * at_bound) @ self.A
        offset = self.offset + float((self.target * at_bound).sum())
        return HingeQP(self.A[rows], self.y[rows], self.upper[rows], self.P, g, offset, self.target[rows])


def evenly_balanced(alpha: FloatArray, y: FloatArray) -> FloatArray:
    """Multipliers of which the heavier label gives way until both balance."""
    positive = y > 0.0
    heavy, light = float(alpha[positive].sum()), float(alpha[~positive].sum())
    if heavy < light:
        heavy, light, positive = light, heavy, ~positive
    return np.where(positive, alpha * (light / heavy), alpha) if heavy else alpha


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


def hinge_intercept(scores: FloatArray, y: FloatArray, weight: FloatArray) -> float:
    """Minimiser of the convex, piecewise linear loss in c; the middle of the interval where it is flat.

    Each sample has one kink, at c = y_i - s_i (docs/mathematics.md, eq. 3.5), where the slope grows by o_i. To the left of all
    kinks the slope is minus the weight of the positive class. This needs no multiplier between its bounds (the paper's formula
    does).
    """
    left, right = lowest_interval(y - scores, weight, -float(weight[y > 0].sum()), float(weight.sum()))
    return 0.5 * (left + right) if np.isfinite(left) and np.isfinite(right) else left if np.isfinite(left) else right


def lowest_interval(kinks: FloatArray, weight: FloatArray, slope: float, total: float) -> tuple[float, float]:
    """Where a convex, piecewise linear function is lowest, often in one point; infinite where it is not between the kinks.

    Parameters
    ----------
    kinks, weight : arrays of the same length
        Where the slope grows, and by how much.
    slope : float
        To the left of the kinks.
    total : float
        Weight that slopes are made of.
    """
    order, flat = np.argsort(kinks), BALANCE_TOLERANCE * total
    slopes = slope + np.append(0.0, np.cumsum(weight[order]))
    ends = np.concatenate([[-np.inf], kinks[order], [np.inf]])
    return float(ends[np.searchsorted(slopes, -flat)]), float(ends[np.searchsorted(slopes, flat, side="right")])
