"""Measures and curves, on the training data and out of fold."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.metrics import brier_score_loss, confusion_matrix, roc_curve
from sklearn.model_selection import check_cv
from sklearn.pipeline import make_pipeline
from sklearn.utils.parallel import delayed

from quadric.credit import auc, gains_table, gini, ks_statistic
from quadric.errors import quoted
from quadric.estimators import ScaleWarning
from quadric.fitted import FittedModel
from quadric.fitted.steps import without_name_warnings
from quadric.geometry.lifting import lift
from quadric.losses.footprint import check_memory
from quadric.progress import counted
from quadric.report.numbers import short
from quadric.report.subject import Subject
from quadric.report.values import CrossValidation, Parts
from quadric.resources import processes_of
from quadric.samples.extent import Extent
from quadric.types import BoolArray, FloatArray, IntArray
from quadric.workers import workers
from quadric.workflow.scoring import RecordedFigures, Scores

# Points of a curve that are kept, about.
CURVE_POINTS = 200
HISTOGRAM_BINS = 30
BINS = 10
# Share of scores at either end that the histogram shows in its outer bins.
TRIM = 0.005
MEANINGS = {
    "Accuracy": "share of correct predictions{cutoff}",
    "AUC": "chance that a random {event} row scores above a random {other} row",
    "Gini": "2 AUC \N{MINUS SIGN} 1",
    "KS": "largest distance between the score distributions of the two classes",
    "Sensitivity": "share of {event} rows that are predicted {event}",
    "Specificity": "share of {other} rows that are predicted {other}",
    "Brier score": "mean squared error of the probability; lower is better",
    "Log-loss": "mean of \N{MINUS SIGN}log(probability of the actual class); lower is better",
}


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """What fits to the other folds make of the rows.

    Attributes
    ----------
    curve : CrossValidation
    rows : array
        Positions of the rows that were in some test fold.
    scores : Scores
        Of these rows, with the model's own number of terms; the mean over the folds that tested a row.
    folds : list of pairs (train, test)
    decisions : list of arrays of shape (n_ks, rows of the test), for two classes
        Decision values for each number of terms.
    """

    curve: CrossValidation
    rows: IntArray
    scores: Scores
    folds: list[tuple[IntArray, IntArray]]
    decisions: list[FloatArray]


def out_of_fold(subject: Subject, ks: Sequence[int], cv: Any, n_jobs: int | None) -> OutOfFold:
    """Fit every fold for every number of terms, and score its test rows.

    Each fold fits the scalers before the classifier to its training rows. Codes of categories, imputed values and scalers
    inside a ColumnTransformer stay as fitted. The model's own number of terms is fitted as the model was, with all its
    parameters except the proof of method "exact"; other numbers, of two classes, come from the path.

    Parameters
    ----------
    subject : Subject
    ks : increasing sequence of int
        The model's own among them.
    cv : int, splitter or iterable
        Folds.
    n_jobs : int or None

    Returns
    -------
    OutOfFold
    """
    folds = list(check_cv(cv, subject.codes, classifier=True).split(subject.V, subject.codes))
    absent = [(i, code) for i, (train, _) in enumerate(folds) for code in np.setdiff1d(subject.codes, subject.codes[train])]
    if absent:
        fold, code = absent[0]
        raise ValueError(f"fold {fold} has no training row of class {quoted(subject.class_names[code])}; use fewer folds")
    V, scalers = _before_scalers(subject.fitted, subject.X)
    jobs = (delayed(_decisions)(subject, V, scalers, ks, *fold) for fold in folds)
    processes = processes_of(n_jobs, len(folds))
    extent = Extent(subject.V.shape, len(subject.class_names), len(subject.limits.exclude), (1, len(ks)))
    check_memory(subject.procedure.loss, extent, processes)
    right = []
    total, times = np.zeros_like(subject.scores.decision), np.zeros(len(subject.V))
    fitted = list(counted(workers(processes, return_as="generator")(jobs), len(folds), "cross-validation"))
    for (_, test), decisions in zip(folds, fitted, strict=True):
        right.append([np.sum(subject.fitted.decided(values)[0] == subject.codes[test]) for values in decisions])
        total[test] += decisions[list(ks).index(subject.k)]
        times[test] += 1.0
    rows = np.flatnonzero(times)
    decision = (total[rows].T / times[rows]).T
    curve = _curve(ks, np.array(right), np.array([len(test) for _, test in folds]))
    return OutOfFold(curve, rows, Scores(decision, *subject.fitted.decided(decision)), folds, fitted)


def _before_scalers(fitted: FittedModel, X: Any) -> tuple[FloatArray, list[Any]]:
    """Rows as they reach the scalers that come last before the classifier, and these scalers, not fitted."""
    steps = [step for _, step in fitted.steps]
    scalers = list(takewhile(lambda step: hasattr(step, "scale_"), reversed(steps)))[::-1]
    coded = fitted.native(X)
    with without_name_warnings():
        for step in steps[: len(steps) - len(scalers)]:
            coded = step.transform(coded)
    return np.asarray(coded, dtype=np.float64), [clone(scaler).set_output(transform="default") for scaler in scalers]


def _decisions(
    subject: Subject, V: FloatArray, scalers: Sequence[Any], ks: Sequence[int], train: IntArray, test: IntArray
) -> FloatArray:
    """Decision values of the test rows, for each number of terms: the model's own by its own procedure, others by the path."""
    scaler = make_pipeline(*map(clone, scalers), "passthrough").fit(V[train])  # clones: threads share the scalers
    U, U_test = (np.ascontiguousarray(scaler.transform(V[rows])) for rows in (train, test))
    codes = subject.codes[train]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)  # fitting the model has said so
        own = clone(subject.procedure).fit(U, codes)
    decisions = own.decision_function(U_test)[None]
    if not subject.is_binary:
        return decisions
    path = subject.path(own._prepared(U), codes, ks)
    along = path.coef[0] @ lift(own._prepared(U_test)).T + path.intercept[0][:, None]
    along[list(ks).index(subject.k)] = decisions[0]
    return along


def with_figures(curve: CrossValidation, k: int, figures: RecordedFigures) -> CrossValidation:
    """The curve with the accuracy that the fit measured at the model's own number of terms.

    Parameters
    ----------
    curve : CrossValidation
    k : int
        The model's own.
    figures : RecordedFigures
    """
    mean, error, at = np.array(curve.mean), np.array(curve.error), curve.ks.index(k)
    mean[at], error[at] = figures.accuracy, figures.error
    return _described(curve.ks, mean, error, figures.folds)


def _curve(ks: Sequence[int], right: IntArray, sizes: IntArray) -> CrossValidation:
    """Of all tested rows, the share that each number of terms puts right, with its standard error over the folds."""
    mean, scores, n_folds = right.sum(axis=0) / sizes.sum(), right / sizes[:, None], len(sizes)
    error = scores.std(axis=0, ddof=1) / np.sqrt(n_folds) if n_folds > 1 else np.zeros(len(ks))
    return _described(ks, mean, error, n_folds)


def _described(ks: Sequence[int], mean: FloatArray, error: FloatArray, n_folds: int) -> CrossValidation:
    best = int(np.argmax(mean))
    return CrossValidation(
        ks=tuple(ks),
        mean=tuple(mean.tolist()),
        error=tuple(error.tolist()),
        folds=n_folds,
        best_k=ks[best],
        simplest_k=ks[int(np.argmax(mean >= mean[best] - error[best]))],
        threshold=mean[best] - error[best],
    )


def measures(subject: Subject, rows: IntArray, scores: Scores, figures: RecordedFigures | None = None) -> tuple[Parts, ...]:
    """Measures on the training data and out of fold; accuracy and log-loss alone for more than two classes.

    Parameters
    ----------
    subject : Subject
    rows, scores :
        Out of fold.
    figures : RecordedFigures or None
        What the fit has measured already: measured once, it is the same everywhere.
    """
    other, event = subject.class_names[:2]
    cutoff = f", at the cut-off {short(subject.cutoff, 3)}" if subject.is_binary and subject.cutoff else ""
    fitted_values = _measured(subject.codes, subject.scores)
    unseen_values = _measured(subject.codes[rows], scores) | ({} if figures is None else figures.measures)
    return tuple(
        {
            "name": name,
            "meaning": MEANINGS[name].format(event=event, other=other, cutoff=cutoff),
            "fitted": value,
            "out_of_fold": unseen_values[name],
        }
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
            "Sensitivity": float(np.mean(right[event])),
            "Specificity": float(np.mean(right[~event])),
        }
        if scores.probabilities is not None:
            out["Brier score"] = float(brier_score_loss(event, scores.probabilities[:, 1]))
    if scores.probabilities is not None:
        own = scores.probabilities[np.arange(len(codes)), codes]
        out["Log-loss"] = float(-np.mean(np.log(np.maximum(own, np.finfo(float).eps))))
    return out


def confusion(subject: Subject, rows: IntArray, scores: Scores) -> tuple[tuple[int, ...], ...]:
    """Out-of-fold rows, by actual and by predicted class."""
    counts = confusion_matrix(subject.codes[rows], scores.codes, labels=np.arange(len(subject.class_names)))
    return tuple(tuple(row) for row in counts.tolist())


def performance(subject: Subject, rows: IntArray, scores: Scores) -> Parts:
    """Curves and tables of a model of two classes, out of fold unless said otherwise.

    Parameters
    ----------
    subject : Subject
    rows, scores :
        Out of fold.

    Returns
    -------
    mapping
        ``cutoff``, the score above which the positive class is predicted, None if the model has none; ``fitted_roc``, on the
        training data, and ``roc``, pairs (false positive rate, true positive rate); ``levels``, ``event_shares`` and
        ``other_shares``, scores with the shares of both classes up to each of them; ``ks_score`` and ``ks``, the score at which
        these are farthest apart, and the KS statistic, their distance there; ``bins``, rows with similar scores, from low
        scores to high: mean ``predicted`` probability (mean score if the model has no probabilities), ``observed`` share of
        events with its 95 % interval (Wilson) from ``low`` to ``high``, and ``count``; ``gains``, rows of
        ``quadric.credit.GainsTable``; and the bars of a histogram: ``edges``, of which the outer ones also hold what lies
        beyond them, ``event_counts`` and ``other_counts``.
    """
    is_event, score = subject.codes[rows] == 1, scores.decision
    levels = np.unique(score)
    events, others = (
        np.searchsorted(np.sort(score[mine]), levels, side="right") / mine.sum() for mine in (is_event, ~is_event)
    )
    distance = np.abs(events - others)
    widest = int(np.argmax(distance))
    kept = _thinned(len(levels), widest)
    low, high = np.quantile(score, [TRIM, 1.0 - TRIM])
    edges = np.linspace(low, high, HISTOGRAM_BINS + 1) if high > low else np.array([low - 0.5, low + 0.5])
    counts = [np.histogram(np.clip(score[mine], edges[0], edges[-1]), edges)[0] for mine in (is_event, ~is_event)]
    return {
        "cutoff": subject.cutoff,
        "fitted_roc": _roc(subject.codes == 1, subject.scores.decision),
        "roc": _roc(is_event, score),
        "levels": tuple(levels[kept]),
        "event_shares": tuple(events[kept]),
        "other_shares": tuple(others[kept]),
        "ks_score": levels[widest],
        "ks": distance[widest],
        "bins": _bins(is_event, score if scores.probabilities is None else scores.probabilities[:, 1]),
        "gains": tuple(gains_table(is_event, score, BINS).rows()),
        "edges": tuple(edges),
        "event_counts": tuple(counts[0]),
        "other_counts": tuple(counts[1]),
    }


def _roc(is_event: BoolArray, score: FloatArray) -> tuple[tuple[float, float], ...]:
    false, true, _ = roc_curve(is_event, score)
    kept = _thinned(len(false))
    return tuple(zip(false[kept].tolist(), true[kept].tolist(), strict=True))


def _thinned(length: int, *wanted: int) -> IntArray:
    """Positions spread over a curve, both ends and the wanted ones among them."""
    spread = np.linspace(0, length - 1, min(length, CURVE_POINTS)).round().astype(np.intp)
    return np.unique(np.concatenate([spread, np.array(wanted, dtype=np.intp)]))


def _bins(is_event: BoolArray, value: FloatArray) -> tuple[dict[str, float], ...]:
    table, bins = gains_table(is_event, value, BINS), []
    for low, high in zip(table.lowest[::-1], table.highest[::-1], strict=True):
        rows = (value >= low) & (value <= high)
        count, events = int(rows.sum()), int(is_event[rows].sum())
        interval = binomtest(events, count).proportion_ci(method="wilson")
        predicted, observed = float(value[rows].mean()), float(is_event[rows].mean())
        bins.append({"predicted": predicted, "observed": observed, "low": interval.low, "high": interval.high, "count": count})
    return tuple(bins)
