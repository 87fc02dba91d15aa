"""The squared loss's part of a certificate: v_i = 2C o_i (y_i - f_i) (docs/mathematics.md, eq. 5.2)."""

from __future__ import annotations

import numpy as np

from quadric.geometry.compensated import misfits
from quadric.geometry.cuts import Cuts
from quadric.geometry.duality import LossJudge, Residuals
from quadric.geometry.lifting import column_ends, lift
from quadric.geometry.stacked import StackedRows

CANCELLED = 1e3  # size of a term, beside a margin of one, from which on the scores are computed with more digits


class LeastSquaresJudge(LossJudge):
    """The decrease comes from the rows themselves, without multipliers (5.5)."""

    def __init__(self, residuals: Residuals, scores: np.ndarray, y: np.ndarray, loss_weight: np.ndarray, C: float) -> None:
        self._residuals = residuals
        self._y, self._weight = y, C * loss_weight
        misfit = y - scores
        if _cancels(residuals):
            live = np.flatnonzero(residuals.z)
            misfit = misfits(residuals.X, live, np.append(residuals.z[live], residuals.c), y)
        self._v = 2.0 * C * loss_weight * misfit
        self._value = float(C * loss_weight @ misfit**2)

    def loss_value(self) -> float:
        return self._value

    def decrease(self, terms: np.ndarray, cuts: Cuts | None = None) -> float:
        at = self._residuals
        return StackedRows(at.X, at.energy, self._weight, self._y, terms).decrease(np.append(at.z[terms], at.c), cuts)


def _cancels(residuals: Residuals) -> bool:
    """Whether some term may be so large on some sample that scores near one would lose digits to it."""
    z, (low, high) = np.abs(residuals.z), column_ends(residuals.X)
    largest = max(float(high.max()), -float(low.min()))
    if z.sum() * max(largest, largest**2) + abs(residuals.c) <= CANCELLED:
        return False
    return bool(lift(np.maximum(high, -low)[None])[0] @ z + abs(residuals.c) > CANCELLED)
