"""The squared loss's part of a certificate: v_i = 2C o_i (y_i - f_i) (docs/mathematics.md, eq. 5.2)."""

from __future__ import annotations

import numpy as np

from quadric.geometry.residuals import Residuals


class LeastSquaresJudge:
    """All multipliers are known, and one gradient serves every set of terms."""

    def __init__(self, residuals: Residuals, scores: np.ndarray, y: np.ndarray, loss_weight: np.ndarray, C: float) -> None:
        self._residuals = residuals
        misfit = y - scores
        self._v = 2.0 * C * loss_weight * misfit
        self._value = float(C * loss_weight @ misfit**2)
        self._gradient = residuals.gradient(self._v)

    def loss_value(self) -> float:
        return self._value

    def gradient(self, terms: np.ndarray) -> np.ndarray:
        return self._gradient

    def residual(self, terms: np.ndarray) -> float:
        return self._residuals.largest(self._gradient[terms], self._v)

    def decrease(self, terms: np.ndarray) -> float:
        return 0.0 if self.residual(terms) <= 1e-8 else np.inf
