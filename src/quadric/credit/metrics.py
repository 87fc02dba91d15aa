"""How well a score separates events from the rest, and where to cut.

A score is anything that grows with the risk of the event: a probability, a decision value, or points with their sign turned.
Labels are any two; the event is the second in sorted order unless named. Sample weights are repetitions.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from quadric._sklearn import check_sample_weight
from quadric.defaults import MOST_BINS
from quadric.errors import quoted
from quadric.estimators.cutoffs import CutoffCurve, by_score
from quadric.estimators.validation import Rule, check_values, integer_from, number_from
from quadric.labels import refuse_masked
from quadric.types import BoolArray, FloatArray

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
    return area_and_distance(*labelled_scores(y, score, sample_weight, event))[0]


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
    return area_and_distance(*labelled_scores(y, score, sample_weight, event))[1]


def area_and_distance(is_event: BoolArray, score: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """AUC and Kolmogorov-Smirnov statistic by sorting once, of what ``labelled_scores`` has checked: pages wait for both.

    Parameters
    ----------
    is_event : boolean array of shape (m,)
    score, weight : arrays of shape (m,)

    Returns
    -------
    tuple of two floats
    """
    order = np.argsort(score, kind="stable")
    values = score[order]
    last = np.flatnonzero(np.append(values[1:] != values[:-1], True))  # ties count half
    both = (np.cumsum(np.where(side, weight, 0.0)[order])[last] for side in (is_event, ~is_event))
    true, false = (np.append(0.0, sums / sums[-1]) for sums in both)
    return float(np.diff(true) @ (false[1:] + false[:-1]) / 2.0), float(np.abs(true - false).max())


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
