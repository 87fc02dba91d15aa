"""A smooth loss's part of a certificate: v_i = y_i a_i, a_i = K_i t_i (docs/mathematics.md, eq. 10.2).

Any a within its bounds with sum_i y_i a_i = 0 exactly bounds F on the terms from below. With t = a / K, e = R'(y a) - Gz and
the margins m_i = y_i f_i of the surface, F is above that bound by (10.6)

    sum_i K_i [H(m_i) + t_i m_i - h(t_i)] + 1/2 e'G^-1 e.

Only the formulas of the loss are shared with its solvers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from quadric.geometry.cuts import Cuts
from quadric.geometry.duality import EnergyGap, LossJudge, Margins, Residuals, smallest_gap
from quadric.losses.smooth.formulas import SmoothLoss

SETTLED = 1e-9  # share of F: no better multipliers are looked for where the gap is below
# Error of a sample's part of the gap, relative to what it is the sum of: of logarithms near zero, and of t near 1
ROUNDING = 64.0 * np.finfo(float).eps


class SmoothJudge(LossJudge):
    """The multipliers of the surface itself, or those of a Newton step from it where they are nearer to the optimum's."""

    def __init__(
        self,
        loss: SmoothLoss,
        residuals: Residuals,
        scores: np.ndarray,
        y: np.ndarray,
        loss_weight: np.ndarray,
        C: float,
    ) -> None:
        self._loss, self._residuals = loss, residuals
        self._y, self._weight = y, loss.scale * C * loss_weight
        at = Margins(residuals, scores, y)
        self._margins, self._doubt = 1.0 - at.shortfall, at.doubt
        self._slopes = loss.slope(self._margins)
        self._v = y * self._weight * self._slopes

    def loss_value(self) -> float:
        return float(self._weight @ self._loss.value(self._margins))

    def decrease(self, terms: np.ndarray, cuts: Cuts | None = None) -> float:
        """The duality gap (10.6) at the better of two choices of multipliers."""
        at = self._residuals
        settled = SETTLED * (at.energy.value(at.z) + self.loss_value())
        return smallest_gap(at, terms, self._y, self._attempts, self._divergence, settled, cuts)

    def _divergence(self, multipliers: np.ndarray) -> float:
        """The samples' part of the gap, with room for the errors of the margins and of the sum itself."""
        t, margins, doubt = multipliers / self._weight, self._margins, self._doubt
        loss, conjugate = self._loss.value(margins), self._loss.conjugate(t)
        rounding = ROUNDING * (loss + t * (1.0 + t + np.abs(margins)) + np.abs(conjugate))
        each = np.maximum(loss + t * margins - conjugate, 0.0) + rounding
        # an error d of a margin changes its part by (t - slope) d and by at most most_bent d^2 / 2 more
        each += np.abs(t - self._slopes) * doubt + 4.0 * self._loss.most_bent * doubt**2
        return float(self._weight @ each)

    def _attempts(self, gap: EnergyGap) -> Iterator[np.ndarray]:
        """Multipliers by the slopes at the surface, then after a Newton step in units in which the curvature of G is one."""
        yield self._weight * self._slopes
        rho = gap.norm.coordinates(gap.R) / np.sqrt(2.0)
        rows = np.column_stack([rho, np.ones(len(rho))])
        pull = gap.norm.coordinates(gap.missing(self._weight * self._slopes)) / np.sqrt(2.0)
        theta = self._weight * self._loss.bend(self._slopes)
        curvature = (rows.T * theta) @ rows + np.diag(np.append(np.ones(rho.shape[1]), 0.0))
        step = np.linalg.lstsq(curvature, np.append(pull, self._v.sum()), rcond=None)[0]
        yield self._weight * self._loss.slope(self._margins + self._y * (rows @ step))
