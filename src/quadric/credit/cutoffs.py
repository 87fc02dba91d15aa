"""What follows from a cut-off in points: who is approved, how many of them turn out bad, and what that costs."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quadric.credit.metrics import COSTS, BinTable, labelled_scores
from quadric.estimators.validation import check_values, number_above
from quadric.types import FloatArray

# Bands of a table that people still read
MOST_BANDS = 24
# Bands begin and end at these quantiles; those at the ends hold what lies beyond
TAILS = (0.01, 0.99)


@dataclass(frozen=True, eq=False)
class CutoffTable(BinTable):
    """Bands of points, the highest first; every attribute is an array with one entry per band.

    Attributes
    ----------
    lowest : points from which the band begins, of the last one -inf; the cut-off that the last four attributes speak of
    count, events : sample weight in the band, and that of the events
    event_rate : events / count; NaN in an empty band
    approved : share of the samples with at least that many points
    approved_event_rate : share of the events among these
    missed : share of all events among these
    cost : expected cost per sample of approving these and declining the others; NaN without costs
    """

    lowest: FloatArray
    count: FloatArray
    events: FloatArray
    event_rate: FloatArray
    approved: FloatArray
    approved_event_rate: FloatArray
    missed: FloatArray
    cost: FloatArray


def cutoff_table(
    y: ArrayLike,
    points: ArrayLike,
    width: float = 20.0,
    costs: tuple[float, float] | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    event: Hashable | None = None,
) -> CutoffTable:
    """Approval rate, bad rate and expected cost for cut-offs at the ends of bands of points.

    Parameters
    ----------
    y : array-like of shape (m,)
        Labels of two classes.
    points : array-like of shape (m,)
        More points mean that the event is less likely.
    width : float
        Of a band, in points; doubled until there are at most 24 of them. Bands begin at its multiples.
    costs : pair of float, optional
        Of approving an event, and of declining another sample.
    sample_weight : array-like of shape (m,), optional
        Repetitions.
    event : label, optional
        By default the second in sorted order.

    Returns
    -------
    CutoffTable
    """
    check_values({"width": width}, {"width": number_above(0.0)})
    is_event, values, weight = labelled_scores(y, points, sample_weight, event)
    ends = np.quantile(values, TAILS)
    while np.ptp(ends // width) >= MOST_BANDS:
        width *= 2.0
    band = np.clip(values // width, *(ends // width)).astype(np.intp)
    first = int(band.min())
    place = band - first
    count, events = (np.bincount(place, weights=each)[::-1].astype(float) for each in (weight, weight * is_event))
    above, events_above = np.cumsum(count), np.cumsum(events)
    n, n_events = float(above[-1]), float(events_above[-1])
    cost = np.full(len(count), np.nan)
    if costs is not None:
        check_values(dict(zip(COSTS, costs, strict=True)), COSTS)
        cost = (costs[0] * events_above + costs[1] * (n - n_events - (above - events_above))) / n
    with np.errstate(invalid="ignore"):
        return CutoffTable(
            lowest=np.append(width * np.arange(first + 1, first + len(count))[::-1], -np.inf),
            count=count,
            events=events,
            event_rate=events / count,
            approved=above / n,
            approved_event_rate=events_above / above,
            missed=events_above / n_events,
            cost=cost,
        )
