"""One table of measures for the development, test and out-of-time samples of a model."""

from __future__ import annotations

import io
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logit
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from quadric.credit.metrics import LabelledScores, auc, ks_statistic, labelled_scores
from quadric.credit.stability import population_stability_index
from quadric.errors import quoted
from quadric.estimators.cutoffs import EVEN
from quadric.safe_csv import CsvWriter
from quadric.types import BoolArray, FloatArray

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


@dataclass(frozen=True, eq=False)
class ValidationTable:
    """Measures of a model on several samples.

    Attributes
    ----------
    measures : tuple of str
        Rows.
    samples : tuple of str
        Columns.
    values : array of shape (n_measures, n_samples)
        NaN where a measure does not exist.
    cutoff : float
        Above it a sample was counted as an event.
    event : label
        The class called event.
    """

    measures: tuple[str, ...]
    samples: tuple[str, ...]
    values: FloatArray
    cutoff: float
    event: Any

    def value(self, measure: str, sample: str) -> float:
        """One cell by its names.

        Parameters
        ----------
        measure, sample : str

        Returns
        -------
        float
        """
        for name, known in ((measure, self.measures), (sample, self.samples)):
            if name not in known:
                raise KeyError(f"the table has no {quoted(name)}, only {', '.join(known)}")
        return float(self.values[self.measures.index(measure), self.samples.index(sample)])

    def rows(self) -> list[tuple[str, list[float]]]:
        """Each measure with its values.

        Returns
        -------
        list of (str, list of float)
        """
        return list(zip(self.measures, self.values.tolist(), strict=True))

    def to_text(self) -> str:
        """Aligned columns, with four decimals; blank where there is no value.

        Returns
        -------
        str
        """
        cells = self._shown()
        widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
        lines = [
            "  ".join(
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in cells
        ]
        return "\n".join(line.rstrip() for line in lines)

    def to_markdown(self) -> str:
        """A table in Markdown, with four decimals.

        Returns
        -------
        str
        """
        header, *body = [[cell.replace("|", "\\|") for cell in row] for row in self._shown()]
        rule = ["---", *["---:"] * len(self.samples)]
        return "\n".join("| " + " | ".join(row) + " |" for row in (header, rule, *body))

    def to_csv(self) -> str:
        """Comma-separated values, with all digits.

        Returns
        -------
        str
        """
        text = io.StringIO()
        body = ([measure, *("" if np.isnan(value) else repr(value) for value in values)] for measure, values in self.rows())
        CsvWriter(text).writerows([["measure", *self.samples], *body])
        return text.getvalue()

    def _shown(self) -> list[list[str]]:
        forms = {"samples": "{:.10g}"}
        body = [
            [measure, *("" if np.isnan(value) else forms.get(measure, "{:.4f}").format(value) for value in values)]
            for measure, values in self.rows()
        ]
        return [["", *self.samples], *body]


def validation_table(
    model: BaseEstimator,
    samples: Mapping[str, Sequence[Any]],
    *,
    cutoff: float | None = None,
    event: Hashable | None = None,
    bins: int | ArrayLike = 10,
) -> ValidationTable:
    """Measure a fitted two-class model on several samples.

    The score is the probability of the event where the model has probabilities, else its decision value, turned towards the
    event; measures of probabilities are then blank. The calibration intercept and slope are those of a logistic regression of
    the event on the log-odds: 0 and 1 are right, a slope below 1 means probabilities too far from the middle. They are blank
    where they do not exist: the samples are separated, or some probability is 0 or 1.

    Parameters
    ----------
    model : fitted classifier or Pipeline
        CalibratedModel or another with ``predict_proba``, or one with ``decision_function`` only.
    samples : mapping of names to (X, y) or (X, y, sample_weight)
        For example "development", "test" and "out of time"; labels as the model knows them. The first is the one that the
        population stability index compares the others' scores with.
    cutoff : float, optional
        A sample counts as an event when its score is above; by default where ``predict`` turns: the cut-off of a
        CalibratedModel, else 0.5 for probabilities and 0 for decision values.
    event : label, optional
        By default ``classes_[1]``.
    bins : int or sequence of float
        Bins of the population stability index.

    Returns
    -------
    ValidationTable
    """
    if not isinstance(samples, Mapping) or not samples:
        raise ValueError("samples must map at least one name to (X, y) or (X, y, sample_weight)")
    check_is_fitted(model)
    classes = np.asarray(model.classes_).tolist()
    if len(classes) != 2:
        raise ValueError(f"a validation table needs a model of two classes, and this one has {len(classes)}")
    if event is not None and event not in classes:
        raise ValueError(f"event must be one of {classes}, got {quoted(event)}")
    if cutoff is not None and not np.isfinite(cutoff):
        raise ValueError(f"cutoff must be a finite number, got {cutoff}")
    has_probabilities = hasattr(model, "predict_proba")
    position = 1 if event is None else classes.index(event)
    if cutoff is None:
        cutoff = (_turn(model) if position == 1 else 1.0 - _turn(model)) if has_probabilities else 0.0
    scored = {name: _scored(model, classes, position, name, sample) for name, sample in samples.items()}
    first, *_ = scored.values()
    columns = [_measures(sample, first, float(cutoff), bins, has_probabilities) for sample in scored.values()]
    values = np.array([[column.get(measure, np.nan) for column in columns] for measure in MEASURES])
    return ValidationTable(MEASURES, tuple(scored), values, float(cutoff), classes[position])


def _scored(model: Any, classes: Sequence[Any], position: int, name: str, sample: Sequence[Any]) -> LabelledScores:
    if len(sample) not in (2, 3):
        raise ValueError(f"sample {quoted(name)} must be (X, y) or (X, y, sample_weight), got {len(sample)} parts")
    X, y, weight = (*sample, None)[:3]
    unknown = [label for label in np.unique(y).tolist() if label not in classes]
    if unknown:
        raise ValueError(f"sample {quoted(name)} has labels that the model does not know: {unknown[:5]}")
    if hasattr(model, "predict_proba"):
        score = model.predict_proba(X)[:, position]
    else:
        score = model.decision_function(X) * (1.0 if position == 1 else -1.0)
    try:
        return labelled_scores(y, score, weight, classes[position])
    except ValueError as error:
        raise ValueError(f"sample {quoted(name)}: {error}") from error


def _measures(
    sample: LabelledScores, first: LabelledScores, cutoff: float, bins: Any, has_probabilities: bool
) -> dict[str, float]:
    """All measures that exist; the first sample is the one that others are compared with."""
    (event, score, weight), (_, expected, expected_weight) = sample, first
    area, weights = auc(event, score, weight), {"expected_weight": expected_weight, "actual_weight": weight}
    out = {
        "samples": float(weight.sum()),
        "event rate": float(np.average(event, weights=weight)),
        "accuracy": float(np.average((score > cutoff) == event, weights=weight)),
        "AUC": area,
        "Gini": 2.0 * area - 1.0,
        "KS": ks_statistic(event, score, weight),
        "PSI": population_stability_index(expected, score, bins, **weights),
    }
    if has_probabilities:
        intercept, slope = _calibration_line(*sample)
        out |= {
            "mean probability": float(np.average(score, weights=weight)),
            "Brier score": float(brier_score_loss(event, score, sample_weight=weight)),
            "log loss": float(log_loss(event, score, sample_weight=weight)),
            "calibration intercept": intercept,
            "calibration slope": slope,
        }
    return out


def _turn(model: Any) -> float:
    """The probability of the second class above which ``predict`` gives it."""
    return _turn(model[-1]) if isinstance(model, Pipeline) else getattr(model, "cutoff_", EVEN)


def _calibration_line(is_event: BoolArray, score: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """Intercept and slope of the events' log-odds on those predicted, NaN where no finite ones are the most likely."""
    log_odds = logit(score)
    events, others = log_odds[is_event], log_odds[~is_event]
    overlap = others.max() > events.min() and events.max() > others.min()
    if not (overlap and np.isfinite(log_odds).all()):
        return np.nan, np.nan
    line = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10, max_iter=1000)
    line.fit(log_odds[:, None], is_event, sample_weight=weight)
    return float(line.intercept_[0]), float(line.coef_[0, 0])
