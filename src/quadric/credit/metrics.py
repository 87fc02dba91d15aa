"""How well a score separates events from the rest, how far two samples differ, and where to cut.

A score is anything that grows with the risk of the event: a probability, a decision value, or points with their sign turned.
Labels are any two; the event is the second in sorted order unless named. Sample weights are repetitions.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from quadric._sklearn import check_sample_weight
from quadric.defaults import MOST_BINS
from quadric.errors import quoted
from quadric.estimators.cutoffs import CutoffCurve, by_score
from quadric.estimators.validation import Rule, check_values, integer_from, number_from
from quadric.labels import refuse_masked
from quadric.types import BoolArray, FloatArray, IntArray

# Shares of a bin below this count as this much in the stability index, which would be infinite for an empty bin.
SMALLEST_SHARE = 1e-4
# Relative error allowed to sums of weights where they decide on which side of an edge a value lies.
ROUNDING = 1e-12
N_BINS: Mapping[str, Rule] = {"n_bins": integer_from(2, MOST_BINS)}
COSTS: Mapping[str, Rule] = {"cost_false_negative": number_from(0.0), "cost_false_positive": number_from(0.0)}


def auc(y: ArrayLike, score: ArrayLike, sample_weight: ArrayLike | None = None, *, event: Hashable | None = None) -> float:
    """Area under the ROC curve: the chance that an event scores above a non-event, ties counting half.

    Parameters
    ----------
    y : array-like of shape (m,)
        Labels of two classes.
    score : array-like of shape (m,)
        Larger means more likely the event.
    sample_weight : array-like of shape (m,), optional
        Repetitions.
    event : label, optional
        The class called event; by default the second in sorted order.

    Returns
    -------
    float
    """
    is_event, values, weight = labelled_scores(y, score, sample_weight, event)
    return float(roc_auc_score(is_event, values, sample_weight=weight))


def gini(y: ArrayLike, score: ArrayLike, sample_weight: ArrayLike | None = None, *, event: Hashable | None = None) -> float:
    """Gini coefficient (accuracy ratio): 2 AUC - 1.

    Parameters
    ----------
    y, score, sample_weight, event :
        As in :func:`auc`.

    Returns
    -------
    float
    """
    return 2.0 * auc(y, score, sample_weight, event=event) - 1.0


def ks_statistic(
    y: ArrayLike, score: ArrayLike, sample_weight: ArrayLike | None = None, *, event: Hashable | None = None
) -> float:
    """Kolmogorov-Smirnov statistic: the largest distance between the score's distributions of events and non-events.

    Parameters
    ----------
    y, score, sample_weight, event :
        As in :func:`auc`. The statistic is the same for a score that falls with the risk.

    Returns
    -------
    float
    """
    is_event, values, weight = labelled_scores(y, score, sample_weight, event)
    false, true, _ = roc_curve(is_event, values, sample_weight=weight, drop_intermediate=False)
    return float(np.max(np.abs(true - false)))


class BinTable:
    """Arrays with one entry per bin."""

    def rows(self) -> list[dict[str, float]]:
        """The bins, in the order of the arrays.

        Returns
        -------
        list of dict
            One per bin.
        """
        columns = {name: values.tolist() for name, values in vars(self).items()}
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


@dataclass(frozen=True, eq=False)
class GainsTable(BinTable):
    """Samples in bins of falling score; every attribute is an array with one entry per bin.

    Attributes
    ----------
    lowest, highest : scores at the ends of the bin
    count, events : sample weight in the bin, and that of the events
    event_rate : events / count
    lift : event_rate over that of the whole sample
    population : share of the samples in this bin and those above
    capture : share of the events in this bin and those above
    ks : distance between the shares of events and of non-events so far
    """

    lowest: FloatArray
    highest: FloatArray
    count: FloatArray
    events: FloatArray
    event_rate: FloatArray
    lift: FloatArray
    population: FloatArray
    capture: FloatArray
    ks: FloatArray


def gains_table(
    y: ArrayLike, score: ArrayLike, n_bins: int = 10, sample_weight: ArrayLike | None = None, *, event: Hashable | None = None
) -> GainsTable:
    """Events caught when samples are taken in order of falling score.

    Bins hold equal shares of the samples, but equal scores are never split: all of them go where the middle one belongs, and
    bins that are left empty are dropped.

    Parameters
    ----------
    y, score : array-likes of shape (m,)
        As in :func:`auc`.
    n_bins : int
        Number of bins, 10 for deciles.
    sample_weight, event :
        As in :func:`auc`.

    Returns
    -------
    GainsTable
    """
    check_values({"n_bins": n_bins}, N_BINS)
    scores, events, others = by_score(*labelled_scores(y, score, sample_weight, event))
    total = events + others
    middle = np.cumsum(total) - 0.5 * total
    wanted = np.minimum(np.floor(n_bins * middle / total.sum()), n_bins - 1)
    first = np.flatnonzero(np.diff(wanted, prepend=-1))
    last = np.append(first[1:], len(wanted)) - 1
    count, events, others = (np.add.reduceat(values, first) for values in (total, events, others))
    overall = events.sum() / count.sum()
    capture = np.cumsum(events) / events.sum()
    return GainsTable(
        lowest=scores[last],
        highest=scores[first],
        count=count,
        events=events,
        event_rate=events / count,
        lift=events / count / overall,
        population=np.cumsum(count) / count.sum(),
        capture=capture,
        ks=np.abs(capture - np.cumsum(others) / others.sum()),
    )


@dataclass(frozen=True, eq=False)
class StabilityTable(BinTable):
    """Shares of two samples in the same bins; arrays with one entry per bin, from small values to large.

    Attributes
    ----------
    above, upto : the bin holds values x with above < x <= upto
    expected, actual : shares of the two samples
    contribution : (actual - expected) log(actual / expected), shares below 0.0001 counting as that much
    """

    above: FloatArray
    upto: FloatArray
    expected: FloatArray
    actual: FloatArray
    contribution: FloatArray

    @property
    def index(self) -> float:
        """The population stability index."""
        return float(self.contribution.sum())


def stability_table(
    expected: ArrayLike,
    actual: ArrayLike,
    bins: int | ArrayLike = 10,
    *,
    expected_weight: ArrayLike | None = None,
    actual_weight: ArrayLike | None = None,
) -> StabilityTable:
    """Where a sample lies differently from another: the bins behind the population stability index.

    Parameters
    ----------
    expected : array-like of shape (m,)
        Values, of a score or of one feature, in the sample compared with (the development sample).
    actual : array-like of shape (l,)
        Values in the other sample.
    bins : int or increasing sequence of float
        Number of bins, cut at quantiles of ``expected`` (ties may leave fewer), or the inner edges themselves.
    expected_weight, actual_weight : array-likes, optional
        Repetitions.

    Returns
    -------
    StabilityTable
    """
    reference, reference_weight = _checked_values(expected, expected_weight, "expected")
    other, other_weight = _checked_values(actual, actual_weight, "actual")
    edges = _edges(bins, reference, reference_weight)
    shares = [_shares(edges, reference, reference_weight), _shares(edges, other, other_weight)]
    before, after = (np.maximum(share, SMALLEST_SHARE) for share in shares)
    return StabilityTable(
        above=np.concatenate([[-np.inf], edges]),
        upto=np.concatenate([edges, [np.inf]]),
        expected=shares[0],
        actual=shares[1],
        contribution=(after - before) * np.log(after / before),
    )


def population_stability_index(
    expected: ArrayLike,
    actual: ArrayLike,
    bins: int | ArrayLike = 10,
    *,
    expected_weight: ArrayLike | None = None,
    actual_weight: ArrayLike | None = None,
) -> float:
    """PSI: the sum over bins of (actual - expected) log(actual / expected), in shares of the two samples.

    By custom less than 0.1 is called stable and more than 0.25 a shift. Shares below 0.0001, empty bins among them, count as
    0.0001.

    Parameters
    ----------
    expected, actual, bins, expected_weight, actual_weight :
        As in :func:`stability_table`.

    Returns
    -------
    float
    """
    return stability_table(expected, actual, bins, expected_weight=expected_weight, actual_weight=actual_weight).index


@dataclass(frozen=True, eq=False)
class CutoffChoice:
    """The cheapest cut-off and the costs of all others; a sample is declined when its score is above the cut-off.

    Attributes
    ----------
    cutoff : float
        Half-way between two neighbouring scores; infinite where declining nobody, or everybody, is cheapest.
    cost : float
        Total cost there.
    false_negatives, false_positives : float
        Sample weight of accepted events and of declined non-events there.
    break_even : float
        The cut-off that a perfectly calibrated probability would have: cost_false_positive over the sum of both costs.
    cutoffs, costs : arrays
        The curve, from declining nobody to declining everybody.
    """

    cutoff: float
    cost: float
    false_negatives: float
    false_positives: float
    break_even: float
    cutoffs: FloatArray
    costs: FloatArray


def cutoff_by_cost(
    y: ArrayLike,
    score: ArrayLike,
    cost_false_negative: float,
    cost_false_positive: float,
    sample_weight: ArrayLike | None = None,
    *,
    event: Hashable | None = None,
) -> CutoffChoice:
    """The cut-off with the smallest total cost on a sample; among equal ones the largest, which declines fewest.

    Parameters
    ----------
    y, score : array-likes of shape (m,)
        As in :func:`auc`; a probability or any other score.
    cost_false_negative : float
        Cost of accepting one event (a defaulted loan).
    cost_false_positive : float
        Cost of declining one non-event (business lost).
    sample_weight, event :
        As in :func:`auc`.

    Returns
    -------
    CutoffChoice
    """
    check_values({"cost_false_negative": cost_false_negative, "cost_false_positive": cost_false_positive}, COSTS)
    if cost_false_negative == cost_false_positive == 0:
        raise ValueError("cost_false_negative and cost_false_positive are both zero: every cut-off would be the best")
    curve = CutoffCurve.of(*labelled_scores(y, score, sample_weight, event))
    costs = curve.costs(cost_false_negative, cost_false_positive)
    best = int(np.argmin(costs))
    return CutoffChoice(
        cutoff=float(curve.cutoffs[best]),
        cost=float(costs[best]),
        false_negatives=float(curve.missed[best]),
        false_positives=float(curve.alarms[best]),
        break_even=float(cost_false_positive / (cost_false_negative + cost_false_positive)),
        cutoffs=curve.cutoffs,
        costs=costs,
    )


# Checked labels (whether a sample is an event), scores and weights of equal length; both classes have weight.
LabelledScores: TypeAlias = tuple[BoolArray, FloatArray, FloatArray]


def labelled_scores(y: Any, score: Any, sample_weight: Any, event: Any) -> LabelledScores:
    """Check what every measure takes; samples of weight zero are left out."""
    check_classification_targets(y)
    refuse_masked(y=y, score=score)
    y, values = column_or_1d(y), np.asarray(score, dtype=float)
    if values.ndim != 1:
        raise ValueError(f"score must have one dimension, got shape {values.shape}; of probabilities, pass one column")
    if not np.isfinite(values).all():
        raise ValueError("score must be finite, but has NaN or infinite values")
    check_consistent_length(y, values, sample_weight)
    weight = check_sample_weight(sample_weight, values)
    present = weight > 0.0
    classes = np.unique(y[present]).tolist()
    if len(classes) != 2:
        raise ValueError(f"y must have samples of exactly two classes, but has {len(classes)}: {classes[:5]}")
    if event is not None and event not in classes:
        raise ValueError(f"event must be one of {classes}, got {quoted(event)}")
    return y[present] == (classes[1] if event is None else event), values[present], weight[present]


def _checked_values(values: Any, sample_weight: Any, name: str) -> tuple[FloatArray, FloatArray]:
    refuse_masked(**{name: values})
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or len(values) == 0 or np.isnan(values).any():
        raise ValueError(f"{name} must have one dimension, at least one value and no NaN")
    weight = check_sample_weight(sample_weight, values)
    present = weight > 0.0
    if not present.any():
        raise ValueError(f"the weights of {name} are zero for every sample")
    return values[present], np.asarray(weight[present])


def _edges(bins: Any, values: FloatArray, weight: FloatArray) -> FloatArray:
    """Inner edges: given, or the smallest values up to which lie 1/n, 2/n, ... of the weight.

    The largest value is no edge, as nothing lies above it: where it holds more than 1/n of the weight, the edge is the next
    smaller value, and for a sample of one value there is an edge on both sides of it.
    """
    if np.ndim(bins) == 1:
        edges = np.asarray(bins, dtype=float)
        if len(edges) == 0 or not (np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
            raise ValueError("bins must be a number of bins or an increasing sequence of finite inner edges")
        return edges
    check_values({"bins": bins}, {"bins": integer_from(2, MOST_BINS)})
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    targets = np.arange(1, bins) * reached[-1] / bins
    edges = np.unique(values[order][np.searchsorted(reached, targets * (1.0 - ROUNDING))])
    largest = values.max()
    if edges[-1] < largest:
        return edges
    smaller = values[values < largest]
    if len(smaller) == 0:
        return np.array([np.nextafter(largest, -np.inf), largest])
    return np.union1d(edges[:-1], smaller.max())


def _shares(edges: FloatArray, values: FloatArray, weight: FloatArray) -> FloatArray:
    where: IntArray = np.searchsorted(edges, values)
    totals = np.bincount(where, weights=weight, minlength=len(edges) + 1)
    return np.asarray(totals / totals.sum())
