"""Measures of a model on one sample, each with its interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from quadric.blas import one_blas_thread
from quadric.credit.intervals import AreaEstimate, Estimate, bootstrap_counts, bootstrap_intervals
from quadric.types import BoolArray, FloatArray, IntArray

MEASURES = (
    "samples",
    "event rate",
    "mean probability",
    "accuracy",
    "AUC",
    "Gini",
    "KS",
    "Brier score",
    "log loss",
    "calibration intercept",
    "calibration slope",
    "PSI",
)
# Of rows that folds left out these are means over the folds; the others are of all rows together
FOLD_MEANS = ("accuracy", "Brier score", "log loss")
SMALLEST = float(np.finfo(float).eps)
MOST_STEPS = 25


@dataclass(frozen=True, eq=False)
class ScoredSample:
    """What a model makes of the rows of a sample, and what they are.

    Attributes
    ----------
    codes : array of shape (m,)
        Positions of the rows' classes; of two, the event is 1.
    predicted : array of shape (m,)
        Those that the model says.
    score : array of shape (m,) or None
        Larger means more likely the event; None for more than two classes.
    chances : array of shape (m, n_classes) or None
        Probabilities, if the model has any.
    weight : array of shape (m,)
        Repetitions, above zero.
    folds : array of shape (m,) or None
        Of rows that were scored by fits to the other folds.
    whole : array of shape (m,) or None
        What the model itself says of these rows, where ``score`` is from the folds; what others are compared with.
    """

    codes: IntArray
    predicted: IntArray
    score: FloatArray | None
    chances: FloatArray | None
    weight: FloatArray
    folds: IntArray | None = None
    whole: FloatArray | None = None

    @property
    def is_event(self) -> BoolArray:
        """Of two classes."""
        return np.asarray(self.codes == 1)

    @property
    def fitted_score(self) -> FloatArray | None:
        """The model's own scores, whose distribution is compared."""
        return self.score if self.whole is None else self.whole

    @property
    def has_both(self) -> bool:
        """Whether it has scores of both of two classes."""
        return self.score is not None and bool(self.is_event.any()) and not bool(self.is_event.all())


@one_blas_thread()
def sample_measures(sample: ScoredSample, n_boot: int, seed: int = 0) -> dict[str, Estimate]:
    """All measures that exist, except for comparisons with other samples.

    Areas under the ROC curve have DeLong's interval, other measures that of bootstrap samples.

    Parameters
    ----------
    sample : ScoredSample
    n_boot : int
        Number of bootstrap samples; 0: only areas have an interval.
    seed : int

    Returns
    -------
    dict
    """
    rows = _RowMeasures.of(sample)
    values = dict(zip(rows.names, rows(np.ones(len(sample.codes))).tolist(), strict=True))
    found = {"samples": Estimate(float(sample.weight.sum())), **{name: Estimate(value) for name, value in values.items()}}
    if n_boot:
        ends = bootstrap_intervals(rows, bootstrap_counts(len(sample.codes), sample.folds, n_boot, seed))
        found |= {name: Estimate(values[name], *pair) for name, pair in zip(rows.names, ends.tolist(), strict=True)}
    if sample.has_both and (area := _area(sample)) is not None:
        own = area.interval()
        found |= {"AUC": own, "Gini": Estimate(*(2.0 * end - 1.0 for end in (own.value, own.low, own.high)))}
    return {name: found[name] for name in MEASURES if name in found}


def _area(sample: ScoredSample) -> AreaEstimate | None:
    """Of rows that folds left out, the mean over the folds that have rows of both classes."""
    folds = np.zeros(len(sample.codes), dtype=np.intp) if sample.folds is None else sample.folds
    score, is_event = sample.score, sample.is_event
    assert score is not None
    parts = [
        AreaEstimate.of(is_event[mine], score[mine], sample.weight[mine])
        for mine in (folds == fold for fold in np.unique(folds))
        if 0 < is_event[mine].sum() < mine.sum()
    ]
    return AreaEstimate.mean(parts) if parts else None


@dataclass(frozen=True, eq=False)
class _RowMeasures:
    """Measures of a sample from how often each of its rows counts."""

    sample: ScoredSample
    means: Mapping[str, FloatArray]
    line: tuple[float, float] | None

    @staticmethod
    def of(sample: ScoredSample) -> _RowMeasures:
        means: dict[str, FloatArray] = {"accuracy": (sample.codes == sample.predicted).astype(float)}
        line = None
        if sample.chances is not None:
            own = sample.chances[np.arange(len(sample.codes)), sample.codes]
            means["log loss"] = -np.log(np.maximum(own, SMALLEST))
        if sample.score is not None:
            means["event rate"] = sample.is_event.astype(float)
            if sample.chances is not None:
                event_chance = sample.chances[:, 1]
                means |= {"mean probability": event_chance, "Brier score": (event_chance - sample.is_event) ** 2}
                line = calibration_line(sample.is_event, event_chance, sample.weight) if sample.has_both else None
        return _RowMeasures(sample, means, None if line is None or np.isnan(line).any() else line)

    @property
    def names(self) -> list[str]:
        more = ["KS"] * self.sample.has_both + ["calibration intercept", "calibration slope"] * (self.line is not None)
        return [*self.means, *more]

    def __call__(self, counts: FloatArray) -> FloatArray:
        weight = counts * self.sample.weight
        values = [self._mean(name, each, weight) for name, each in self.means.items()]
        if self.sample.has_both:
            values.append(self._distance(weight))
        if self.line is not None:  # which is known of the sample itself, in which every row counts once
            is_itself = bool((counts == 1.0).all())
            values += self.line if is_itself else refitted_line(self._log_odds, self.sample.is_event, weight, self.line)
        return np.array(values)

    @cached_property
    def _log_odds(self) -> FloatArray:
        assert self.sample.chances is not None
        return np.asarray(logit(self.sample.chances[:, 1]))

    def _mean(self, name: str, values: FloatArray, weight: FloatArray) -> float:
        folds = self.sample.folds
        if folds is None or name not in FOLD_MEANS:
            return float(weight @ values / weight.sum())
        totals, sums = np.bincount(folds, weights=weight), np.bincount(folds, weights=weight * values)
        return float(np.mean(sums[totals > 0.0] / totals[totals > 0.0]))

    def _distance(self, weight: FloatArray) -> float:
        """The Kolmogorov-Smirnov statistic."""
        order, ends, sides = self._levels
        reached = np.cumsum(sides * weight[order], axis=1)
        totals = reached[:, -1:]
        return float(np.abs(np.subtract(*(reached[:, ends] / totals))).max()) if totals.all() else np.nan

    @cached_property
    def _levels(self) -> tuple[IntArray, IntArray, FloatArray]:
        """The rows by rising score, the last of each run of equal scores, and 1 for each row in its own class."""
        assert self.sample.score is not None
        order = np.argsort(self.sample.score, kind="stable")
        is_event = self.sample.is_event[order]
        ends = np.flatnonzero(np.append(np.diff(self.sample.score[order]) > 0.0, True))
        return order, ends, np.array([~is_event, is_event], dtype=float)


def calibration_line(is_event: BoolArray, chances: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """Intercept and slope of the events' log-odds on those predicted, NaN where no finite ones are the most likely.

    Parameters
    ----------
    is_event, chances, weight : arrays of shape (m,)
    """
    log_odds = logit(chances)
    events, others = log_odds[is_event], log_odds[~is_event]
    overlap = others.max() > events.min() and events.max() > others.min()
    if not (overlap and np.isfinite(log_odds).all()):
        return np.nan, np.nan
    line: Any = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10, max_iter=1000)
    line.fit(log_odds[:, None], is_event, sample_weight=weight)
    return float(line.intercept_[0]), float(line.coef_[0, 0])


def refitted_line(
    log_odds: FloatArray, is_event: BoolArray, weight: FloatArray, start: tuple[float, float]
) -> tuple[float, float]:
    """The same of other weights, by Newton's method from a line that is near; NaN where that does not settle.

    Parameters
    ----------
    log_odds, is_event, weight : arrays of shape (m,)
    start : pair of float
    """
    intercept, slope = start
    for _ in range(MOST_STEPS):
        chance = expit(intercept + slope * log_odds)
        left, spread = weight * (is_event - chance), weight * chance * (1.0 - chance)
        a, b, c = spread.sum(), spread @ log_odds, spread @ log_odds**2
        down, along, determinant = left.sum(), left @ log_odds, a * c - b * b
        if not determinant > 0.0:
            break
        steps = (c * down - b * along) / determinant, (a * along - b * down) / determinant
        intercept, slope = intercept + steps[0], slope + steps[1]
        if max(map(abs, steps)) < 1e-10:
            return float(intercept), float(slope)
    return np.nan, np.nan
