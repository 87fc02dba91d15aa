"""Sigmoids between decision values and probabilities, for many surfaces at a time, fitted on rows that others score.

A loss without probabilities is scored by those of Platt's sigmoid. One that is fitted on the scored rows, or on the training
rows, would favour or punish such a loss, so each fold takes the sigmoids of the other folds. These are fitted to decision
values in bins, which are quick to send, to keep and to fit, whatever the number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
from scipy.special import expit, logit

from quadric.types import BoolArray, FloatArray

# Bins of the decision values of one surface and class: the log-loss of a sigmoid changes by about 1e-5.
BINS = 128
MOST_STEPS, MOST_HALVINGS = 50, 20
# Decrease per weight, by one more Newton step, that counts as zero.
SETTLED = 1e-10


@dataclass(frozen=True, eq=False)
class BinnedDecisions:
    """Decision values of rows by several surfaces, put together in bins; ``+`` adds other rows.

    Attributes
    ----------
    value : array of shape (n_surfaces, n_bins)
        Mean decision value of the rows of a bin; 0 where there are none.
    weight : array of shape (n_surfaces, n_bins)
        What these rows weigh.
    is_event : boolean array of shape (n_bins,)
        Whether they are of the class that the surface is positive for: no bin has rows of both sides.
    """

    value: FloatArray
    weight: FloatArray
    is_event: BoolArray

    @staticmethod
    def of(decision: FloatArray, is_event: BoolArray, weight: FloatArray) -> BinnedDecisions:
        """Put rows together.

        Parameters
        ----------
        decision, is_event : arrays of shape (m, n_surfaces)
        weight : array of shape (m,)
        """
        n_surfaces = decision.shape[1]
        size = np.abs(decision)
        middle = (weight @ size) / weight.sum()
        # half of the bins lie within the mean size of f on either side, and the others reach to infinity
        place = decision / (np.where(middle > 0.0, middle, 1.0) + size)
        bins = np.minimum(((place + 1.0) * (0.5 * BINS)).astype(np.intp), BINS - 1)
        bins += np.where(is_event, BINS, 0) + 2 * BINS * np.arange(n_surfaces)
        weights = np.broadcast_to(weight[:, None], decision.shape).ravel()
        total, sums = (
            np.bincount(bins.ravel(), of_rows, 2 * BINS * n_surfaces).astype(float)
            for of_rows in (weights, weights * decision.ravel())
        )
        value = np.divide(sums, total, out=np.zeros_like(sums), where=total > 0.0)
        shape = n_surfaces, 2 * BINS
        return BinnedDecisions(value.reshape(shape), total.reshape(shape), np.arange(2 * BINS) >= BINS)

    @staticmethod
    def stacked(binned: Sequence[BinnedDecisions]) -> BinnedDecisions:
        """Those of several sets of surfaces, of the same rows."""
        values, weights = (np.concatenate(each) for each in zip(*((one.value, one.weight) for one in binned), strict=True))
        return BinnedDecisions(values, weights, binned[0].is_event)

    def __add__(self, other: BinnedDecisions) -> BinnedDecisions:
        return BinnedDecisions(
            np.concatenate([self.value, other.value], axis=1),
            np.concatenate([self.weight, other.weight], axis=1),
            np.concatenate([self.is_event, other.is_event]),
        )

    def part(self, surfaces: slice) -> BinnedDecisions:
        return BinnedDecisions(self.value[surfaces], self.weight[surfaces], self.is_event)


@dataclass(frozen=True, eq=False)
class Sigmoids:
    """The log-odds slope * f + offset of several surfaces.

    Attributes
    ----------
    slope, offset : arrays of shape (n_surfaces,)
    """

    slope: FloatArray
    offset: FloatArray

    @staticmethod
    def none(n_surfaces: int) -> Sigmoids:
        """Those of decision values that are log-odds as they are."""
        return Sigmoids(np.ones(n_surfaces), np.zeros(n_surfaces))

    @staticmethod
    def fitted(binned: BinnedDecisions) -> Sigmoids:
        """Platt's: the likeliest ones, of targets a little inside 0 and 1; constant where they would fall.

        Parameters
        ----------
        binned : BinnedDecisions
        """
        weight = binned.weight
        whole = weight.sum(axis=1, keepdims=True)
        target = _targets(weight, binned.is_event)
        middle = (weight * binned.value).sum(axis=1, keepdims=True) / whole
        spread = np.sqrt((weight * (binned.value - middle) ** 2).sum(axis=1, keepdims=True) / whole)
        spread[spread == 0.0] = 1.0
        constant = logit((weight * target).sum(axis=1) / whole[:, 0])
        first = np.argsort(weight == 0.0, axis=1, kind="stable")[:, : np.count_nonzero(weight, axis=1).max()]
        x, target, weight = (np.take_along_axis(each, first, axis=1) for each in (binned.value, target, weight))
        slope, offset = _likeliest((x - middle) / spread, target, weight / whole, constant)
        falls = slope < 0.0
        slope[falls], offset[falls] = 0.0, constant[falls]
        slope /= spread[:, 0]
        return Sigmoids(slope, offset - slope * middle[:, 0])

    def part(self, surfaces: slice) -> Sigmoids:
        return Sigmoids(self.slope[surfaces], self.offset[surfaces])

    def log_odds(self, decision: FloatArray) -> FloatArray:
        """Of decision values of shape (m, n_surfaces)."""
        return self.slope * decision + self.offset


def joined(sigmoids: Sequence[Sigmoids]) -> Sigmoids:
    """Those of several sets of surfaces, side by side."""
    return Sigmoids(np.concatenate([each.slope for each in sigmoids]), np.concatenate([each.offset for each in sigmoids]))


def of_other_folds(binned: Sequence[BinnedDecisions]) -> list[Sigmoids]:
    """For each fold the sigmoids of the same surfaces that are fitted to the others; a single one has to take its own.

    Parameters
    ----------
    binned : sequence of BinnedDecisions
        One per fold.
    """
    if len(binned) == 1:
        return [Sigmoids.fitted(binned[0])]
    return [Sigmoids.fitted(reduce(add, [*binned[:fold], *binned[fold + 1 :]])) for fold in range(len(binned))]


def _targets(weight: FloatArray, is_event: BoolArray) -> FloatArray:
    """Platt's: (events + 1) / (events + 2) for an event, 1 / (others + 2) for another row."""
    events, others = (weight[:, mine].sum(axis=1, keepdims=True) for mine in (is_event, ~is_event))
    return np.where(is_event, (events + 1.0) / (events + 2.0), 1.0 / (others + 2.0))


def _likeliest(x: FloatArray, target: FloatArray, weight: FloatArray, start: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Slopes and offsets of the likeliest sigmoids, by Newton's method on all of them together; x is standardised."""
    slope, offset = np.zeros_like(start), start.copy()
    misfit = _misfit(x, target, weight, slope, offset)
    for _ in range(MOST_STEPS):
        p = expit(slope[:, None] * x + offset[:, None])
        residual, curvature = weight * (p - target), weight * p * (1.0 - p)
        g1, g2 = (residual * x).sum(axis=1), residual.sum(axis=1)
        bent = curvature * x
        h11, h12, h22 = (bent * x).sum(axis=1), bent.sum(axis=1), curvature.sum(axis=1)
        h11, h22 = (h * (1.0 + 1e-12) + 1e-300 for h in (h11, h22))  # where all decision values are equal
        det = h11 * h22 - h12**2
        step1, step2 = (h22 * g1 - h12 * g2) / det, (h11 * g2 - h12 * g1) / det
        open_ = g1 * step1 + g2 * step2 > SETTLED
        if not open_.any():
            break
        share = open_.astype(float)
        for _ in range(MOST_HALVINGS):
            offer = slope - share * step1, offset - share * step2
            value = _misfit(x, target, weight, *offer)
            worse = value > misfit
            if not worse.any():
                break
            share[worse] *= 0.5
        share[worse] = 0.0
        slope, offset = slope - share * step1, offset - share * step2
        misfit = np.minimum(value, misfit)
        if not share.any():
            break
    return slope, offset


def _misfit(x: FloatArray, target: FloatArray, weight: FloatArray, slope: FloatArray, offset: FloatArray) -> FloatArray:
    log_odds = slope[:, None] * x + offset[:, None]
    out: FloatArray = (weight * (np.logaddexp(0.0, log_odds) - target * log_odds)).sum(axis=1)
    return out
