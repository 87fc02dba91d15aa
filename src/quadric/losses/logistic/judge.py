"""The logistic loss's part of a certificate: v_i = y_i a_i, a_i = 8C o_i / (1 + exp(y_i f_i)) (docs/mathematics.md, eq. 10.2).

Any a between 0 and 8C o with sum_i y_i a_i = 0 exactly bounds F on the terms from below. With t = a / (8C o), e = R'(y a) - Gz
and the margins m_i = y_i f_i of the surface, F is above that bound by (10.6)

    sum_i 8C o_i [log(1 + exp(-m_i)) + t_i m_i + t_i log t_i + (1 - t_i) log(1 - t_i)] + 1/2 e'G^-1 e.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import entr, expit

from quadric.geometry.compensated import balanced
from quadric.geometry.duality import EnergyGap, Margins, Residuals

STEEPNESS = 8.0
"""The slope of the loss is at most 8C o."""
SETTLED = 1e-9
"""Share of F: no better multipliers are looked for where the gap is below."""
ROUNDING = 64.0 * np.finfo(float).eps
"""Error of a sample's part of the gap, relative to what it is the sum of: of logarithms near zero, and of t near 1."""


class LogisticJudge:
    """The multipliers of the surface itself, or those of a Newton step from it where they are nearer to the optimum's."""

    def __init__(self, residuals: Residuals, scores: np.ndarray, y: np.ndarray, loss_weight: np.ndarray, C: float) -> None:
        self._residuals = residuals
        self._y, self._upper = y, STEEPNESS * C * loss_weight
        at = Margins(residuals, scores, y)
        self._margins, self._doubt = 1.0 - at.shortfall, at.doubt
        self._shares = expit(-self._margins)
        self._v = y * self._upper * self._shares
        self._gradient = residuals.gradient(self._v)

    def loss_value(self) -> float:
        return float(self._upper @ np.logaddexp(0.0, -self._margins))

    def gradient(self, terms: np.ndarray) -> np.ndarray:
        return self._gradient

    def residual(self, terms: np.ndarray) -> float:
        return self._residuals.largest(self._gradient[terms], self._v)

    def decrease(self, terms: np.ndarray) -> float:
        """The duality gap (10.6) at the better of two choices of multipliers."""
        at = self._residuals
        gap = EnergyGap.of(at, terms, self._y)
        if gap is None:
            return np.inf
        settled = SETTLED * (at.energy.value(at.z) + self.loss_value())
        best = np.inf
        for shares in self._attempts(gap):
            multipliers = balanced(self._upper * shares, self._y)
            best = min(best, gap.at(multipliers, self._divergence(multipliers)))
            if best <= settled:
                break
        return best

    def _divergence(self, multipliers: np.ndarray) -> float:
        """The samples' part of the gap, with room for the errors of the margins and of the sum itself."""
        t, margins, doubt = multipliers / self._upper, self._margins, self._doubt
        loss, entropy = np.logaddexp(0.0, -margins), entr(t) + entr(1.0 - t)
        rounding = ROUNDING * (loss + t * (1.0 + np.abs(margins)) + entropy)
        each = np.maximum(loss + t * margins - entropy, 0.0) + np.abs(t - self._shares) * doubt + doubt**2 + rounding
        return float(self._upper @ each)

    def _attempts(self, gap: EnergyGap) -> Iterator[np.ndarray]:
        """Shares of the upper bounds: at the surface, then after Newton steps in units in which the curvature of G is one."""
        yield self._shares
        rho = gap.norm.coordinates(gap.R) / np.sqrt(2.0)
        rows = np.column_stack([rho, np.ones(len(rho))])
        pull = gap.norm.coordinates(gap.missing(self._upper * self._shares)) / np.sqrt(2.0)
        gradient = -np.append(pull, self._v.sum())
        theta = self._upper * self._shares * (1.0 - self._shares)
        curvature = (rows.T * theta) @ rows + np.diag(np.append(np.ones(rho.shape[1]), 0.0))
        step = np.linalg.lstsq(curvature, -gradient, rcond=None)[0]
        yield expit(-(self._margins + self._y * (rows @ step)))
