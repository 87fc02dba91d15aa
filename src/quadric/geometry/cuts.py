"""Linear conditions on the coefficients of a surface (docs/mathematics.md, section 12)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from quadric.geometry.compensated import exact_dot
from quadric.types import FloatArray

EPS = float(np.finfo(float).eps)
MOST_STEPS = 100  # of a non-negative least-squares fit, for each cut
ROUNDING = 64.0 * EPS  # how far, beside its terms, a cut may be missed by rounding


@dataclass(frozen=True, eq=False)
class Cuts:
    """Conditions A z >= b on the coefficients of a support.

    Attributes
    ----------
    A : array of shape (n_cuts, n_terms)
        One column for each term of the support, in its order.
    b : array of shape (n_cuts,)
    """

    A: FloatArray
    b: FloatArray

    def __len__(self) -> int:
        return len(self.b)

    def slack(self, z: FloatArray) -> FloatArray:
        """How far each cut is from being missed: A z - b."""
        return self.A @ z - self.b

    def with_level(self) -> Cuts:
        """The same for [z, c]."""
        return Cuts(np.column_stack([self.A, np.zeros(len(self.b))]), self.b)

    def are_met(self, z: FloatArray) -> bool:
        """Whether no cut is missed by more than rounding."""
        return bool(np.all(self.slack(z) >= -ROUNDING * (np.abs(self.A) @ np.abs(z) + np.abs(self.b))))


@dataclass(frozen=True, eq=False)
class WeighedCuts:
    """Cuts with multipliers: F - multipliers'(A z - b) bounds F from below where the cuts are met (12.3).

    Attributes
    ----------
    cuts : Cuts
    multipliers : array of shape (n_cuts,)
        None negative.
    """

    cuts: Cuts
    multipliers: FloatArray

    @staticmethod
    def fitting(cuts: Cuts, gradient: FloatArray, root: FloatArray) -> WeighedCuts:
        """The multipliers that cancel most of a gradient of F, in units in which the curvature of F is one.

        Parameters
        ----------
        cuts : Cuts
        gradient : array of shape (n_terms,)
        root : array of shape (n_terms, n_terms)
            T with T T' about the inverse of the curvature.
        """
        try:
            weights = nnls((cuts.A @ root).T, gradient @ root, maxiter=MOST_STEPS * max(len(cuts), 1))[0]
        except RuntimeError:  # it has not ended: none at all are safe, too
            weights = np.zeros(len(cuts))
        return WeighedCuts(cuts, weights)

    @property
    def pull(self) -> FloatArray:
        """A'multipliers."""
        return self.multipliers @ self.cuts.A

    @property
    def pull_error(self) -> FloatArray:
        """What rounding does to that, at most."""
        return (EPS * (2.0 + len(self.cuts))) * (self.multipliers @ np.abs(self.cuts.A))

    @property
    def constant(self) -> float:
        """multipliers'b, rounded down."""
        total = exact_dot(self.multipliers, self.cuts.b)
        return total - 2.0 * EPS * abs(total)

    def idle(self, z: FloatArray) -> float:
        """multipliers'(A z - b), rounded up: nothing where only cuts that bind have multipliers."""
        used = np.flatnonzero(self.multipliers)
        slack = np.array([exact_dot(self.cuts.A[i], z, -self.cuts.b[i]) for i in used])
        each = self.multipliers[used] * slack
        return float(each.sum() + EPS * (2.0 + len(used)) * np.abs(each).sum())
