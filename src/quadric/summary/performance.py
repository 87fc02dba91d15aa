"""Measures and curves, on the data as fitted and on samples left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import brier_score_loss, confusion_matrix, roc_curve

from quadric.credit import auc, gains_table, gini, ks_statistic
from quadric.estimators._base import predicted
from quadric.summary.folds import LeftOut
from quadric.summary.subject import Subject
from quadric.summary.values import Bin, Calibration, Curve, GainsRow, Histogram, Measure, Performance, Separation
from quadric.types import BoolArray, FloatArray, IntArray

CURVE_POINTS = 200
"""Points of a curve that are kept, about."""
HISTOGRAM_BINS = 30
BINS = 10
TRIM = 0.005
"""Share of scores at either end that the histogram shows in its outer bins."""
WILSON = 1.959963984540054
"""Standard normal quantile of a two-sided 95 % interval."""
MEANINGS = {
    "Accuracy": "share of right decisions{cutoff}",
    "AUC": "chance that a random {event} scores above a random {other}",
    "Gini": "2 AUC - 1",
    "KS": "largest distance between the score distributions of the two classes",
    "Sensitivity": "share of {event} that is decided as {event}",
    "Specificity": "share of {other} that is decided as {other}",
    "Brier score": "mean squared error of the probability; smaller is better",
}


@dataclass(frozen=True)
class _Scored:
    """Labels, scores and decisions of samples."""

    is_event: BoolArray
    score: FloatArray
    decided: BoolArray
    probability: FloatArray | None

    @staticmethod
    def of(subject: Subject, score: FloatArray, rows: IntArray) -> _Scored:
        score = score[rows]
        if subject.known.probability is None:
            return _Scored(subject.is_event[rows], score, score > 0.0, None)
        chance = subject.known.probability(score)
        return _Scored(subject.is_event[rows], score, chance > 0.5, chance)

    def measures(self) -> dict[str, float | None]:
        event, decided = self.is_event, self.decided
        return {
            "Accuracy": float(np.mean(event == decided)),
            "AUC": auc(event, self.score),
            "Gini": gini(event, self.score),
            "KS": ks_statistic(event, self.score),
            "Sensitivity": float(np.mean(decided[event])),
            "Specificity": float(np.mean(~decided[~event])),
            "Brier score": None if self.probability is None else float(brier_score_loss(event, self.probability)),
        }


def measures(subject: Subject, left_out: LeftOut) -> tuple[Measure, ...]:
    """Measures as fitted and left out; accuracy alone for more than two classes."""
    if not subject.is_binary:
        codes, rows = np.arange(len(subject.class_names)), left_out.rows
        fitted = float(np.mean(subject.predicted == subject.codes))
        unseen = float(np.mean(predicted(left_out.decision[rows], codes) == subject.codes[rows]))
        return (Measure("Accuracy", MEANINGS["Accuracy"].format(cutoff=""), fitted, unseen),)
    other, event = subject.class_names
    cutoff = f", at the cut-off {subject.cutoff:.3g}" if subject.cutoff else ""
    everyone = np.arange(len(subject.V))
    fitted_values = _Scored.of(subject, subject.decision, everyone).measures()
    unseen_values = _Scored.of(subject, left_out.decision, left_out.rows).measures()
    return tuple(
        Measure(name, meaning.format(event=event, other=other, cutoff=cutoff), fitted_values[name], unseen_values[name])
        for name, meaning in MEANINGS.items()
        if fitted_values[name] is not None
    )


def confusion(subject: Subject, left_out: LeftOut) -> tuple[tuple[int, ...], ...]:
    """Samples left out, by class and by decision."""
    rows, codes = left_out.rows, np.arange(len(subject.class_names))
    if subject.is_binary:
        decided = _Scored.of(subject, left_out.decision, rows).decided.astype(int)
    else:
        decided = predicted(left_out.decision[rows], codes)
    return tuple(tuple(row) for row in confusion_matrix(subject.codes[rows], decided, labels=codes).tolist())


def performance(subject: Subject, left_out: LeftOut) -> Performance:
    """Curves and tables of a model of two classes.

    Parameters
    ----------
    subject : Subject
    left_out : LeftOut
    """
    unseen = _Scored.of(subject, left_out.decision, left_out.rows)
    return Performance(
        cutoff=subject.cutoff,
        roc=(_roc("as fitted", subject.is_event, subject.decision), _roc("left out", unseen.is_event, unseen.score)),
        separation=_separation(unseen),
        calibration=_calibration(unseen),
        gains=_gains(unseen),
        histogram=_histogram(unseen),
    )


def _roc(name: str, is_event: BoolArray, score: FloatArray) -> Curve:
    false, true, _ = roc_curve(is_event, score)
    kept = _thinned(len(false))
    return Curve(name, tuple(false[kept].tolist()), tuple(true[kept].tolist()))


def _thinned(length: int, *wanted: int) -> IntArray:
    """Positions spread over a curve, both ends and the wanted ones among them."""
    spread = np.linspace(0, length - 1, min(length, CURVE_POINTS)).round().astype(np.intp)
    return np.unique(np.concatenate([spread, np.array(wanted, dtype=np.intp)]))


def _separation(samples: _Scored) -> Separation:
    score = np.unique(samples.score)
    events, others = (
        np.searchsorted(np.sort(samples.score[mine]), score, side="right") / mine.sum()
        for mine in (samples.is_event, ~samples.is_event)
    )
    widest = int(np.argmax(np.abs(events - others)))
    kept = _thinned(len(score), widest)
    return Separation(
        score=tuple(score[kept].tolist()),
        events=tuple(events[kept].tolist()),
        others=tuple(others[kept].tolist()),
        at=float(score[widest]),
        distance=float(abs(events[widest] - others[widest])),
    )


def _calibration(samples: _Scored) -> Calibration:
    value = samples.score if samples.probability is None else samples.probability
    table = gains_table(samples.is_event, value, BINS)
    bins = []
    for low, high in zip(table.lowest[::-1], table.highest[::-1], strict=True):
        inside = (value >= low) & (value <= high)
        bins.append(_bin(float(value[inside].mean()), int(samples.is_event[inside].sum()), int(inside.sum())))
    return Calibration(samples.probability is not None, tuple(bins))


def _bin(predicted_value: float, events: int, count: int) -> Bin:
    """With Wilson's interval of the share of events."""
    share, spread = events / count, WILSON**2 / count
    middle = (share + 0.5 * spread) / (1.0 + spread)
    half = WILSON / (1.0 + spread) * float(np.sqrt(share * (1.0 - share) / count + 0.25 * spread / count))
    return Bin(predicted_value, share, max(0.0, middle - half), min(1.0, middle + half), count)


def _gains(samples: _Scored) -> tuple[GainsRow, ...]:
    rows = gains_table(samples.is_event, samples.score, BINS).rows()
    return tuple(
        GainsRow(**{name: round(value) if name in ("count", "events") else value for name, value in row.items()})  # type: ignore[arg-type]
        for row in rows
    )


def _histogram(samples: _Scored) -> Histogram:
    low, high = np.quantile(samples.score, [TRIM, 1.0 - TRIM])
    edges = np.linspace(low, high, HISTOGRAM_BINS + 1) if high > low else np.array([low - 0.5, low + 0.5])
    inside = np.clip(samples.score, edges[0], edges[-1])
    events, others = (np.histogram(inside[mine], edges)[0] for mine in (samples.is_event, ~samples.is_event))
    return Histogram(tuple(edges.tolist()), tuple(events.tolist()), tuple(others.tolist()))
