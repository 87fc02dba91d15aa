"""One table of measures for the development, test and out-of-time samples of a model."""

from __future__ import annotations

import io
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from quadric.credit.intervals import BOOTSTRAPS, Estimate
from quadric.credit.measuring import MEASURES, ScoredSample, sample_measures
from quadric.credit.metrics import labelled_scores
from quadric.credit.stability import BINS, Drift, column_drifts, contribution_drifts, population_stability_index
from quadric.defaults import MOST_BOOTSTRAPS
from quadric.errors import quoted
from quadric.estimators.cutoffs import EVEN
from quadric.estimators.validation import check_values, integer_from
from quadric.fitted import fitted_model
from quadric.safe_csv import CsvWriter
from quadric.types import FloatArray

# Digits after the point in texts, where there are not four
WHOLE = {"samples": "{:.10g}"}


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
    low, high : arrays of shape (n_measures, n_samples)
        95 % intervals; NaN where there is none.
    columns, terms : mappings
        For each sample but the first, how far its columns, and what the terms add to the score, differ from the first one's.
        There are no terms of models that :func:`quadric.fitted.fitted_model` does not take.
    """

    measures: tuple[str, ...]
    samples: tuple[str, ...]
    values: FloatArray
    cutoff: float
    event: Any
    low: FloatArray
    high: FloatArray
    columns: Mapping[str, tuple[Drift, ...]] = field(default_factory=dict)
    terms: Mapping[str, tuple[Drift, ...]] = field(default_factory=dict)

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

    def with_sample(self, sample: str, estimates: Mapping[str, Estimate]) -> ValidationTable:
        """The table with figures of one sample that are known from elsewhere.

        Parameters
        ----------
        sample : str
        estimates : mapping
            By measure; others stay.

        Returns
        -------
        ValidationTable
        """
        place, parts = self.samples.index(sample), {name: getattr(self, name).copy() for name in ("values", "low", "high")}
        for measure, known in estimates.items():
            for part, value in zip(parts.values(), astuple(known), strict=True):
                part[self.measures.index(measure), place] = value
        return replace(self, **parts)

    def rows(self) -> list[tuple[str, list[float]]]:
        """Each measure with its values.

        Returns
        -------
        list of (str, list of float)
        """
        return list(zip(self.measures, self.values.tolist(), strict=True))

    def to_text(self, measures: Sequence[str] = ()) -> str:
        """Aligned columns, with four decimals; blank where there is no value.

        Parameters
        ----------
        measures : sequence of str
            Some of the rows; by default all.

        Returns
        -------
        str
        """
        cells = self._shown(measures)
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
        """Comma-separated values, with all digits; intervals and drift are rows of their own.

        Returns
        -------
        str
        """
        text = io.StringIO()
        body = [[name, *("" if np.isnan(value) else repr(value) for value in values)] for name, values in self._all_rows()]
        CsvWriter(text).writerows([["measure", *self.samples], *body])
        return text.getvalue()

    def _all_rows(self) -> Iterator[tuple[str, list[float]]]:
        yield from self.rows()
        for name, low, high in zip(self.measures, self.low.tolist(), self.high.tolist(), strict=True):
            if not np.isnan(low).all():
                yield f"{name}, 95 % from", low
                yield f"{name}, 95 % to", high
        for kind, found in {
            "PSI of column": self.columns,
            "PSI of term": self.terms,
            "mean change by term": self.terms,
        }.items():
            by_sample = [{each.name: each for each in found.get(sample, ())} for sample in self.samples]
            for name in dict.fromkeys(name for own in by_sample for name in own):
                drifts = [own.get(name) for own in by_sample]
                yield f"{kind} {name}", [np.nan if each is None else _figure(kind, each) for each in drifts]

    def recorded(self) -> dict[str, Any]:
        """As plain values; None where there is no value.

        Returns
        -------
        dict
        """
        numbers = {name: _plain(getattr(self, name)) for name in ("values", "low", "high")}
        drifts = {
            kind: {name: [_without_nan(asdict(each)) for each in drifts] for name, drifts in found.items()}
            for kind, found in (("columns", self.columns), ("terms", self.terms))
        }
        return {"measures": list(self.measures), "samples": list(self.samples), **numbers, **drifts}

    def _shown(self, measures: Sequence[str] = ()) -> list[list[str]]:
        lines = [["", *self.samples]]
        for (measure, values), *ends in zip(self.rows(), self.low.tolist(), self.high.tolist(), strict=True):
            if measures and measure not in measures:
                continue
            form = WHOLE.get(measure, "{:.4f}")
            lines.append([measure, *("" if np.isnan(value) else form.format(value) for value in values)])
            intervals = ["" if np.isnan(low) else f"{low:.3f} to {high:.3f}" for low, high in zip(*ends, strict=True)]
            if any(intervals):
                lines.append(["  95 %", *intervals])
        return lines


def _plain(values: FloatArray) -> list[list[float | None]]:
    return [[None if np.isnan(value) else value for value in row] for row in values.tolist()]


def _without_nan(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: None if value != value else value for name, value in facts.items()}


def _figure(kind: str, drift: Drift) -> float:
    return drift.mean_now - drift.mean_before if kind.startswith("mean") else drift.psi


def validation_table(
    model: BaseEstimator,
    samples: Mapping[str, Sequence[Any]],
    *,
    cutoff: float | None = None,
    event: Hashable | None = None,
    bins: int | ArrayLike = BINS,
    n_boot: int = BOOTSTRAPS,
    random_state: int = 0,
) -> ValidationTable:
    """Measure a fitted two-class model on several samples.

    The score is the probability of the event where the model has probabilities, else its decision value, turned towards the
    event; measures of probabilities are then blank. The calibration intercept and slope are those of a logistic regression of
    the event on the log-odds: 0 and 1 are right, a slope below 1 means probabilities too far from the middle. They are blank
    where they do not exist: the samples are separated, or some probability is 0 or 1. Intervals of the AUC are those of DeLong,
    other ones those of bootstrap samples.

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
    n_boot : int
        Bootstrap samples behind the intervals; 0 for none.
    random_state : int
        Seed of these.

    Returns
    -------
    ValidationTable
    """
    check_values({"n_boot": n_boot}, {"n_boot": integer_from(0, MOST_BOOTSTRAPS)})
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
    cutoff = float(cutoff)
    scored = {name: _scored(model, classes, position, name, sample, cutoff) for name, sample in samples.items()}
    first, *others = samples
    drifts = {
        name: _drifts(model, samples[first], samples[name], None if event is None else classes[position]) for name in others
    }
    return side_by_side(scored, cutoff, classes[position], drifts, bins=bins, n_boot=n_boot, seed=random_state)


# How far the columns and the terms of a sample differ from those of the first one
SampleDrifts: TypeAlias = tuple[tuple[Drift, ...], tuple[Drift, ...]]


def side_by_side(
    samples: Mapping[str, ScoredSample],
    cutoff: float,
    event: Any,
    drifts: Mapping[str, SampleDrifts],
    *,
    bins: int | ArrayLike = BINS,
    n_boot: int = BOOTSTRAPS,
    seed: int = 0,
) -> ValidationTable:
    """A table of samples that are scored already.

    Parameters
    ----------
    samples : mapping of names to ScoredSample
        The first is the one that the others are compared with.
    cutoff : float
    event : label
    drifts : mapping
        Of the columns and of the terms, for each sample but the first.
    bins, n_boot, seed :
        As in :func:`validation_table`.

    Returns
    -------
    ValidationTable
    """
    first, *_ = samples.values()
    columns = []
    for sample in samples.values():
        found = sample_measures(sample, n_boot, seed)
        expected, actual = first.fitted_score, sample.fitted_score
        if expected is not None and actual is not None:
            weights = {"expected_weight": first.weight, "actual_weight": sample.weight}
            found["PSI"] = Estimate(population_stability_index(expected, actual, bins, **weights))
        columns.append([found.get(measure, Estimate(np.nan)) for measure in MEASURES])
    values, low, high = np.array([[astuple(cell) for cell in column] for column in columns]).transpose(2, 1, 0)
    own = [{name: pair[place] for name, pair in drifts.items() if pair[place]} for place in (0, 1)]
    return ValidationTable(MEASURES, tuple(samples), values, cutoff, event, low, high, *own)


def _scored(model: Any, classes: Sequence[Any], position: int, name: str, sample: Sequence[Any], cutoff: float) -> ScoredSample:
    if len(sample) not in (2, 3):
        raise ValueError(f"sample {quoted(name)} must be (X, y) or (X, y, sample_weight), got {len(sample)} parts")
    X, y, weight = (*sample, None)[:3]
    unknown = [label for label in np.unique(y).tolist() if label not in classes]
    if unknown:
        raise ValueError(f"sample {quoted(name)} has labels that the model does not know: {unknown[:5]}")
    has_chances = hasattr(model, "predict_proba")
    score = model.predict_proba(X)[:, position] if has_chances else model.decision_function(X) * (2.0 * position - 1.0)
    try:
        is_event, score, weight = labelled_scores(y, score, weight, classes[position])
    except ValueError as error:
        raise ValueError(f"sample {quoted(name)}: {error}") from error
    chances = np.column_stack([1.0 - score, score]) if has_chances else None
    return ScoredSample(is_event.astype(np.intp), (score > cutoff).astype(np.intp), score, chances, weight)


def _drifts(model: Any, before: Sequence[Any], now: Sequence[Any], target: Any) -> SampleDrifts:
    (first, _, one), (second, _, two) = ((*sample, None)[:3] for sample in (before, now))
    if issparse(first) or issparse(second):
        return (), ()
    weights = {"before_weight": one, "now_weight": two}
    columns = column_drifts(first, second, **weights)
    try:
        view = fitted_model(model)
    except TypeError:  # another library's
        return columns, ()
    return columns, contribution_drifts(view, first, second, target=target, **weights)


def _turn(model: Any) -> float:
    """The probability of the second class above which ``predict`` gives it."""
    return _turn(model[-1]) if isinstance(model, Pipeline) else getattr(model, "cutoff_", EVEN)
