"""The hinge loss's part of a certificate: multipliers that satisfy the conditions as well as any can.

v_i = lambda_i y_i with 0 <= lambda_i <= C o_i, at the upper bound below the margin and at zero above it (docs/mathematics.md,
eq. 5.3). On the margin lambda is free, and bounded least squares choose it.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import lsq_linear

from quadric.geometry.lifting import lift
from quadric.geometry.residuals import Residuals

MARGIN_BANDS = (1e-9, 1e-6)
"""|1 - y f| up to which a sample's multiplier may lie between its bounds; the band with the smaller residual counts."""


class HingeJudge:
    """Any admissible multipliers are a proof, so the best that two bands find count."""

    def __init__(self, residuals: Residuals, scores: np.ndarray, y: np.ndarray, loss_weight: np.ndarray, C: float) -> None:
        self._residuals = residuals
        self._y = y
        self._shortfall = 1.0 - y * scores
        self._upper = C * loss_weight

    def loss_value(self) -> float:
        return float(self._upper @ np.maximum(self._shortfall, 0.0))

    def gradient(self, terms: np.ndarray) -> np.ndarray:
        return self._residuals.gradient(self._multipliers(terms, MARGIN_BANDS[-1]) * self._y)

    def residual(self, terms: np.ndarray) -> float:
        return min(self._residual_in_band(terms, band) for band in MARGIN_BANDS)

    def decrease(self, terms: np.ndarray) -> float:
        return 0.0 if self.residual(terms) <= 1e-8 else np.inf

    def _residual_in_band(self, terms: np.ndarray, band: float) -> float:
        multipliers = self._multipliers(terms, band)
        v = multipliers * self._y
        between = (multipliers > 0.0) & (multipliers < self._upper)
        off_margin = float(np.max(np.abs(self._shortfall[between]), initial=0.0))
        return max(self._residuals.largest(self._residuals.gradient(v)[terms], v), off_margin)

    def _multipliers(self, terms: np.ndarray, band: float) -> np.ndarray:
        """lambda: at its bound where the margin decides, by bounded least squares on the equations of ``terms`` elsewhere."""
        multipliers = np.where(self._shortfall > 0.0, self._upper, 0.0)
        near = np.flatnonzero(np.abs(self._shortfall) <= band)
        if len(near) == 0:
            return multipliers
        residuals, y = self._residuals, self._y
        multipliers[near] = 0.0
        v = multipliers * y
        # Unknowns lambda / upper in [0, 1]; equal samples make equal columns and are taken together
        rows, group = np.unique(np.column_stack([residuals.X[near], y[near]]), axis=0, return_inverse=True)
        group = group.ravel()
        weight = np.bincount(group, weights=self._upper[near])
        equations = np.empty((len(terms) + 1, len(rows)))
        equations[:-1] = lift(rows[:, :-1], terms).T / residuals.scale[terms, None]
        equations[-1] = 1.0 / residuals.total_scale
        equations *= rows[:, -1] * weight
        target = np.append(residuals.gradient(v)[terms], -v.sum() / residuals.total_scale)
        multipliers[near] = _bounded_least_squares(equations, target)[group] * self._upper[near]
        return multipliers


def _bounded_least_squares(A: np.ndarray, target: np.ndarray) -> np.ndarray:
    """argmin ||A s - target|| over 0 <= s <= 1, where bounds that are met are met exactly; A is scaled in place."""
    scale = np.abs(A).max(initial=0.0) or 1.0
    A /= scale
    result = lsq_linear(A, target / scale, bounds=(0.0, 1.0), method="bvls", tol=1e-15, max_iter=10 * A.shape[1] + 100)
    return np.clip(result.x, 0.0, 1.0)
