"""The hinge loss's part of a certificate: multipliers that satisfy the conditions as well as any can.

v_i = lambda_i y_i with 0 <= lambda_i <= C o_i, at the upper bound below the margin and at zero above it (docs/mathematics.md,
eq. 5.3). On the margin lambda is free, and bounded least squares choose it.

Any lambda in its box with sum_i y_i lambda_i = 0 exactly bounds F on the terms from below. With e = R'(y lambda) - Gz and the
shortfall t_i = 1 - y_i f(x_i) of the surface, F is above that bound by a sum of terms that are all at least zero (eq. 5.8):

    sum_i [(C o_i - lambda_i) max(t_i, 0) + lambda_i max(-t_i, 0)] + 1/2 e'G^-1 e.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import TypeAlias

import numpy as np
from scipy.optimize import lsq_linear

from quadric.geometry.cuts import Cuts
from quadric.geometry.duality import CLOSE, EnergyGap, LossJudge, Margins, Residuals, smallest_gap
from quadric.geometry.lifting import as_dense, lift

# |1 - y f| up to which a sample's multiplier may lie between its bounds; the band with the smaller residual counts
MARGIN_BANDS = (1e-9, CLOSE)
ROUNDING = 1e-12  # a residual that no other band could make much smaller
SETTLED = 1e-8  # share of F: no better multipliers are looked for where the gap is below

# From equations, one per row with that of c last, to comparable numbers
Weighing: TypeAlias = Callable[[np.ndarray], np.ndarray]


class HingeJudge(LossJudge):
    """Any admissible multipliers are a proof, so the best that a few bands find count."""

    def __init__(self, residuals: Residuals, scores: np.ndarray, y: np.ndarray, loss_weight: np.ndarray, C: float) -> None:
        self._residuals = residuals
        self._y = y
        self._margins = Margins(residuals, scores, y)
        self._shortfall = self._margins.shortfall
        self._upper = C * loss_weight
        self._in_band = lru_cache(len(MARGIN_BANDS))(self._multipliers_in_band)

    def loss_value(self) -> float:
        return float(self._upper @ np.maximum(self._shortfall, 0.0))

    def gradient(self, terms: np.ndarray) -> np.ndarray:
        return self._residuals.gradient(self._in_band(tuple(terms), MARGIN_BANDS[-1], None) * self._y)

    def residual(self, terms: np.ndarray, cuts: Cuts | None = None) -> float:
        residual = np.inf
        for band in MARGIN_BANDS:
            residual = min(residual, self._residual_in_band(terms, band, cuts))
            if residual <= ROUNDING:
                break
        return residual

    def decrease(self, terms: np.ndarray, cuts: Cuts | None = None) -> float:
        """The duality gap (5.8) at the best multipliers that a few attempts find."""
        at = self._residuals
        settled = SETTLED * (at.energy.value(at.z) + self.loss_value())
        return smallest_gap(at, terms, self._y, partial(self._attempts, terms, cuts), self._slack, settled, cuts)

    def _slack(self, multipliers: np.ndarray) -> float:
        """The samples' part of the gap, with room for the errors of the margins."""
        shortfall, doubt = self._margins.shortfall, self._margins.doubt
        below, above = np.maximum(shortfall + doubt, 0.0), np.maximum(doubt - shortfall, 0.0)
        return float((self._upper - multipliers) @ below + multipliers @ above)

    def _attempts(self, terms: np.ndarray, cuts: Cuts | None, gap: EnergyGap) -> Iterator[np.ndarray]:
        """Multipliers by the scaled equations, then by those in the norm of the gap, with a band for what rounding hides."""
        for band in MARGIN_BANDS:
            yield self._in_band(tuple(terms), band, cuts)
        for band in (0.0, *MARGIN_BANDS):
            near = np.flatnonzero(np.abs(self._shortfall) <= np.maximum(band, self._margins.noise))
            yield self._multipliers(gap.R, self._residuals.energy_gradient[terms], near, gap.weighed, cuts)

    def _residual_in_band(self, terms: np.ndarray, band: float, cuts: Cuts | None) -> float:
        multipliers = self._in_band(tuple(terms), band, cuts)
        v = multipliers * self._y
        between = (multipliers > 0.0) & (multipliers < self._upper)
        off_margin = float(np.max(np.abs(self._shortfall[between]), initial=0.0))
        return max(self._residuals.largest(self._residuals.gradient(v), terms, v, cuts), off_margin)

    def _multipliers_in_band(self, terms: tuple[int, ...], band: float, cuts: Cuts | None) -> np.ndarray:
        chosen, at = np.array(terms, dtype=np.intp), self._residuals
        near = np.flatnonzero(np.abs(self._shortfall) <= band)
        scale = np.append(at.scale[chosen] / at.total_scale, 1.0)  # C cancels: no square leaves the range of floating point
        R = lift(at.X, chosen)
        return self._multipliers(R, at.energy_gradient[chosen], near, lambda equations: equations / scale, cuts)

    def _multipliers(
        self, R: np.ndarray, pull: np.ndarray, near: np.ndarray, weighed: Weighing, cuts: Cuts | None
    ) -> np.ndarray:
        """lambda: at its bound where the margin decides, elsewhere by bounded least squares on R'(y lambda) = pull and on the
        equation of c, as they are weighed. Cuts may pull, too (12.4).
        """
        multipliers = np.where(self._shortfall > 0.0, self._upper, 0.0)
        if len(near) == 0:
            return multipliers
        y = self._y
        multipliers[near] = 0.0
        v = multipliers * y
        missing = weighed(np.append(pull - v @ R, -v.sum())[None])[0]
        # Equal samples make equal equations and are taken together
        samples = np.column_stack([as_dense(self._residuals.X[near]), y[near]])
        _, first, group = np.unique(samples, axis=0, return_index=True, return_inverse=True)
        group, first = group.ravel(), near[first]
        weight = np.bincount(group, weights=self._upper[near])
        equations, upper = weighed(np.column_stack([R[first], np.ones(len(first))])) * y[first, None], weight
        if cuts is not None:
            equations = np.vstack([equations, weighed(cuts.with_level().A)])
            upper = np.append(weight, np.full(len(cuts), np.inf))
        share = _bounded_least_squares(equations, missing, upper)[: len(first)] / weight
        multipliers[near] = np.minimum(share[group], 1.0) * self._upper[near]
        return multipliers


def _bounded_least_squares(rows: np.ndarray, target: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """argmin ||s @ rows - target|| over 0 <= s <= upper, where bounds that are met are met exactly."""
    size = np.linalg.norm(rows, axis=1)
    size[size == 0.0] = 1.0
    bound = size * upper
    unit = float(bound.max(where=np.isfinite(bound), initial=0.0))
    A = (rows / size[:, None]).T
    result = lsq_linear(A, target / unit, bounds=(0.0, bound / unit), method="bvls", tol=1e-15, max_iter=10 * A.shape[1] + 100)
    return np.clip(result.x * unit / size, 0.0, upper)
