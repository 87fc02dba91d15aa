"""Measures and curves, on the training data and out of fold."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import brier_score_loss, confusion_matrix, roc_curve

from quadric.credit import auc, gains_table, gini, ks_statistic
from quadric.report.folds import OutOfFold
from quadric.report.numbers import short
from quadric.report.subject import Subject
from quadric.report.values import Bin, Histogram, Measure, Performance, Separation
from quadric.types import BoolArray, FloatArray, IntArray
from quadric.workflow.scoring import Scores

CURVE_POINTS = 200
"""Points of a curve that are kept, about."""
HISTOGRAM_BINS = 30
BINS = 10
TRIM = 0.005
"""Share of scores at either end that the histogram shows in its outer bins."""
WILSON = 1.959963984540054
"""Standard normal quantile of a two-sided 95 % interval."""
MEANINGS = {
    "Accuracy": "share of correct predictions{cutoff}",
    "AUC": "chance that a random {event} row scores above a random {other} row",
    "Gini": "2 AUC \N{MINUS SIGN} 1",
    "KS": "largest distance between the score distributions of the two classes",
    "Sensitivity": "share of {event} rows that are predicted {event}",
    "Specificity": "share of {other} rows that are predicted {other}",
    "Brier score": "mean squared error of the probability; lower is better",
}


def measures(subject: Subject, unseen: OutOfFold) -> tuple[Measure, ...]:
    """Measures on the training data and out of fold; accuracy alone for more than two classes."""
    other, event = subject.class_names[:2]
    cutoff = f", at the cut-off {short(subject.cutoff, 3)}" if subject.is_binary and subject.cutoff else ""
    fitted_values = _measured(subject.codes, subject.scores)
    unseen_values = _measured(subject.codes[unseen.rows], unseen.scores)
    return tuple(
        Measure(name, MEANINGS[name].format(event=event, other=other, cutoff=cutoff), value, unseen_values[name])
        for name, value in fitted_values.items()
    )


def _measured(codes: IntArray, scores: Scores) -> dict[str, float]:
    event, right = codes == 1, codes == scores.codes
    out = {"Accuracy": float(np.mean(right))}
    if scores.decision.ndim == 1:
        out |= {
            "AUC": auc(event, scores.decision),
            "Gini": gini(event, scores.decision),
            "KS": ks_statistic(event, scores.decision),
        }
        out |= {"Sensitivity": float(np.mean(right[event])), "Specificity": float(np.mean(right[~event]))}
        if scores.probabilities is not None:
            out["Brier score"] = float(brier_score_loss(event, scores.probabilities[:, 1]))
    return out


def confusion(subject: Subject, unseen: OutOfFold) -> tuple[tuple[int, ...], ...]:
    """Out-of-fold rows, by actual and by predicted class."""
    counts = confusion_matrix(subject.codes[unseen.rows], unseen.scores.codes, labels=np.arange(len(subject.class_names)))
    return tuple(tuple(row) for row in counts.tolist())


def performance(subject: Subject, unseen: OutOfFold) -> Performance:
    """Curves and tables of a model of two classes.

    Parameters
    ----------
    subject : Subject
    unseen : OutOfFold
    """
    is_event, score, probabilities = subject.codes[unseen.rows] == 1, unseen.scores.decision, unseen.scores.probabilities
    return Performance(
        cutoff=subject.cutoff,
        has_probabilities=probabilities is not None,
        fitted_roc=_roc(subject.codes == 1, subject.scores.decision),
        roc=_roc(is_event, score),
        separation=_separation(is_event, score),
        bins=_bins(is_event, score if probabilities is None else probabilities[:, 1]),
        gains=tuple(gains_table(is_event, score, BINS).rows()),
        histogram=_histogram(is_event, score),
    )


def _roc(is_event: BoolArray, score: FloatArray) -> tuple[tuple[float, float], ...]:
    false, true, _ = roc_curve(is_event, score)
    kept = _thinned(len(false))
    return tuple(zip(false[kept].tolist(), true[kept].tolist(), strict=True))


def _thinned(length: int, *wanted: int) -> IntArray:
    """Positions spread over a curve, both ends and the wanted ones among them."""
    spread = np.linspace(0, length - 1, min(length, CURVE_POINTS)).round().astype(np.intp)
    return np.unique(np.concatenate([spread, np.array(wanted, dtype=np.intp)]))


def _separation(is_event: BoolArray, scores: FloatArray) -> Separation:
    levels = np.unique(scores)
    events, others = (
        np.searchsorted(np.sort(scores[mine]), levels, side="right") / mine.sum() for mine in (is_event, ~is_event)
    )
    distance = np.abs(events - others)
    widest = int(np.argmax(distance))
    kept = _thinned(len(levels), widest)
    score, event_shares, other_shares = (tuple(values[kept].tolist()) for values in (levels, events, others))
    return Separation(score, event_shares, other_shares, at=levels[widest], distance=distance[widest])


def _bins(is_event: BoolArray, value: FloatArray) -> tuple[Bin, ...]:
    table = gains_table(is_event, value, BINS)
    inside = ((value >= low) & (value <= high) for low, high in zip(table.lowest[::-1], table.highest[::-1], strict=True))
    return tuple(_bin(value[rows].mean(), int(is_event[rows].sum()), int(rows.sum())) for rows in inside)


def _bin(predicted: float, events: int, count: int) -> Bin:
    """With Wilson's interval of the share of events."""
    share, spread = events / count, WILSON**2 / count
    middle = (share + 0.5 * spread) / (1.0 + spread)
    half = WILSON / (1.0 + spread) * float(np.sqrt(share * (1.0 - share) / count + 0.25 * spread / count))
    return Bin(predicted, share, max(0.0, middle - half), min(1.0, middle + half), count)


def _histogram(is_event: BoolArray, score: FloatArray) -> Histogram:
    low, high = np.quantile(score, [TRIM, 1.0 - TRIM])
    edges = np.linspace(low, high, HISTOGRAM_BINS + 1) if high > low else np.array([low - 0.5, low + 0.5])
    inside = np.clip(score, edges[0], edges[-1])
    events, others = (np.histogram(inside[mine], edges)[0] for mine in (is_event, ~is_event))
    return Histogram(tuple(edges.tolist()), tuple(events.tolist()), tuple(others.tolist()))
