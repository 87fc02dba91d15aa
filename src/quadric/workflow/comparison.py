"""The sparse surface next to the usual classifiers, tuned inside the same folds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, astuple, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score

from quadric.baselines.rivals import Rival, Tuned, installed_rivals
from quadric.blas import one_thread
from quadric.credit import CalibratedModel, Estimate
from quadric.credit.intervals import BOOTSTRAPS
from quadric.credit.measuring import ScoredSample, sample_measures
from quadric.errors import quoted
from quadric.labels import positions_in
from quadric.progress import advance, part
from quadric.tables import Table, TableStream
from quadric.tables.parts import TableParts
from quadric.types import FloatArray, IntArray
from quadric.workflow.cv_summary import CLEAR, standard_error
from quadric.workflow.drawing import set_aside
from quadric.workflow.options import OptionError, TrainingOptions
from quadric.workflow.preparation import PreparedData, prepare, recoded
from quadric.workflow.samples import NewSample, coded_sample
from quadric.workflow.training import choose, fitted_classifier, folds_of, scales_as_prepared

SURFACE = "sparse quadratic"
MEASURES = ("accuracy", "auc", "log_loss")


@dataclass(frozen=True, eq=False)
class Result:
    """How one classifier did on each fold.

    Attributes
    ----------
    name : str
    accuracy, auc, log_loss, size, seconds : arrays of shape (n_folds,)
        ``auc`` is NaN for more than two classes, and where a fold has rows of one class only; ``size`` counts the parts that
        decisions depend on; ``seconds`` is the time to fit, choices and calibration included.
    unit : str
        What ``size`` counts.
    chosen : list of dict
        The parameters that were chosen inside each fold.
    """

    name: str
    accuracy: FloatArray
    auc: FloatArray
    log_loss: FloatArray
    size: FloatArray
    seconds: FloatArray
    unit: str
    chosen: list[dict[str, Any]]


@dataclass(frozen=True)
class Difference:
    """What a classifier has more, or less, of a measure than the sparse surface, paired over the folds.

    Attributes
    ----------
    name, measure : str
    mean, standard_error : float
    """

    name: str
    measure: str
    mean: float
    standard_error: float

    @property
    def is_clear(self) -> bool:
        """Whether it is more than two standard errors."""
        return abs(self.mean) > CLEAR * self.standard_error


@dataclass(frozen=True, eq=False)
class Comparison:
    """All results, on the same folds.

    Attributes
    ----------
    results : list of Result
        The sparse surface first.
    data : PreparedData
    options : TrainingOptions
        Loss, k and C of the sparse surface were chosen inside each fold where these leave them open.
    absent : list of str
        Classifiers that are not installed.
    samples : mapping
        For each sample that was set aside, or is a table of its own, and each classifier, tuned and fitted on all other rows,
        its measures with 95 % intervals.
    """

    results: list[Result]
    data: PreparedData
    options: TrainingOptions
    absent: list[str]
    samples: Mapping[str, Mapping[str, Mapping[str, Estimate]]] = field(default_factory=dict)

    @property
    def differences(self) -> list[Difference]:
        """Of every other classifier from the sparse surface; of the AUC only where there is one."""
        surface, *others = self.results
        pairs = {
            (other.name, measure): getattr(other, measure) - getattr(surface, measure)
            for other in others
            for measure in MEASURES
        }
        return [
            Difference(name, measure, float(values.mean()), float(standard_error(values)))
            for (name, measure), values in pairs.items()
            if not np.isnan(values).any()
        ]

    def recorded(self) -> dict[str, Any]:
        """As plain values.

        Returns
        -------
        dict
        """
        return {
            "classes": list(self.data.class_names),
            "rows": len(self.data.y),
            "features": self.data.X.shape[1],
            "folds": self.options.folds,
            "not_installed": self.absent,
            "models": [
                {"name": result.name}
                | {name: _spread(getattr(result, name)) for name in (*MEASURES, "size", "seconds")}
                | {"size_of": result.unit, "chosen": result.chosen}
                for result in self.results
            ],
            "differences": [{**asdict(each), "clear": each.is_clear} for each in self.differences],
            "samples": {
                sample: {name: {measure: _ends(own[measure]) for measure in own} for name, own in models.items()}
                for sample, models in self.samples.items()
            },
        }


def _ends(estimate: Estimate) -> list[float | None]:
    return [None if np.isnan(value) else value for value in astuple(estimate)]


def _spread(values: FloatArray) -> dict[str, Any] | None:
    if np.isnan(values.sum()):
        return None
    return {"mean": float(values.mean()), "standard_error": float(standard_error(values)), "folds": values.tolist()}


def compare(
    table: Table | TableParts,
    target: str,
    options: TrainingOptions | None = None,
    *,
    tests: Mapping[str, TableStream] = {},
) -> Comparison:
    """Fit the sparse surface, as ``train`` does, and the usual classifiers to the same folds.

    All choices are made inside each fold, by as many folds of its training rows, which keep groups together, too: loss, k and C
    of the surface where the options leave them open, and the parameters of the others in the grids of
    ``quadric.baselines.rivals``. The levels of categories are those of all rows; imputed values, limits, means and scales are
    learned inside each fold. Other samples are measured with what all other rows make of each classifier.

    Parameters
    ----------
    table : Table or TableParts
    target : str
        Name of the column with the classes.
    options : TrainingOptions, optional
    tests : mapping of names to TableStream
        Other tables to measure the classifiers on.

    Returns
    -------
    Comparison
    """
    options = TrainingOptions(n_jobs=1) if options is None else options
    table, options, others = set_aside(table, target, options, tests)
    data = prepare(table, target, options)
    news = [NewSample.of(name, parts, target, data, name in tests) for name, parts in others.items()]
    _check_inner_folds(data, options)
    rivals, absent = installed_rivals()
    fits: dict[str, _Fit] = {SURFACE: _surface, **{rival.name: partial(_rival, rival) for rival in rivals}}
    units = {SURFACE: "terms"} | {rival.name: rival.unit for rival in rivals}
    rows: dict[str, list[tuple[tuple[float, ...], dict[str, Any]]]] = {name: [] for name in fits}
    for fold, (training, X, y) in enumerate(_folds(data, options)):
        for place, (name, fit) in enumerate(fits.items()):
            done, all_steps = fold * len(fits) + place, (options.folds + bool(news)) * len(fits)
            with part(done / all_steps, (done + 1) / all_steps), one_thread():
                advance(0.0, f"{name}, fold {fold + 1} of {options.folds}")
                rows[name].append(_measured(partial(fit, training, options), X, y))
    results = []
    for name, found in rows.items():
        accuracy, auc, losses, sizes, seconds = np.array([figures for figures, _ in found]).T
        results.append(Result(name, accuracy, auc, losses, sizes, seconds, units[name], [each for _, each in found]))
    samples = _on_samples(fits, data, options, {new.name: coded_sample(new, target, data, options.seed) for new in news})
    return Comparison(results, data, options, absent, samples)


def _on_samples(
    fits: Mapping[str, _Fit],
    data: PreparedData,
    options: TrainingOptions,
    samples: Mapping[str, tuple[FloatArray, IntArray]],
) -> dict[str, dict[str, dict[str, Estimate]]]:
    """Measures of each classifier on each sample, after it was tuned and fitted once on all other rows."""
    found: dict[str, dict[str, dict[str, Estimate]]] = {sample: {} for sample in samples}
    for place, (name, fit) in enumerate(fits.items() if samples else ()):
        done = (options.folds * len(fits) + place) / ((options.folds + 1) * len(fits))
        with part(done, done + 1.0 / ((options.folds + 1) * len(fits))), one_thread():
            advance(0.0, f"{name}, all rows")
            tuned = fit(data, options)
            order = positions_in(tuned.likely.classes_, data.labels)  # classes in the order of the codes
            for sample, (X, codes) in samples.items():
                chances = tuned.likely.predict_proba(X)[:, order]
                predicted = positions_in(data.labels, tuned.model.predict(X))
                score = chances[:, 1] if len(order) == 2 else None
                scored = ScoredSample(codes, predicted, score, chances, np.ones(len(codes)))
                found[sample][name] = sample_measures(scored, BOOTSTRAPS)
    return found


_Fit = Callable[[PreparedData, TrainingOptions], Tuned]


def _rival(rival: Rival, training: PreparedData, options: TrainingOptions) -> Tuned:
    return rival.fit(training.X, training.y, options.folds, options.seed, options.n_jobs, training.groups)


@scales_as_prepared()
def _surface(training: PreparedData, options: TrainingOptions) -> Tuned:
    search = choose(training, options) if options.crosses else None
    fitted = fitted_classifier(training, options) if search is None else search.best_estimator_
    known = None if search is None else search.oof_decision_
    how: dict[str, Any] = {"method": options.calibrate or "auto", "n_jobs": options.n_jobs, "out_of_fold": known}
    model = CalibratedModel.around(fitted, training.X, training.y, cv=list(_splits(training, options)), **how)
    chosen = {name: getattr(fitted, name) for name in ("loss", "k", "C")}
    return Tuned(model, model, chosen, sum(surface.n_terms for surface in fitted.surfaces_))


def _folds(data: PreparedData, options: TrainingOptions) -> Iterator[tuple[PreparedData, FloatArray, np.ndarray]]:
    for train, test in _splits(data, options):
        training, X = recoded(data, train)
        yield _part(training, train), X[test], data.y[test]


def _splits(data: PreparedData, options: TrainingOptions) -> Iterator[tuple[IntArray, IntArray]]:
    return iter(folds_of(data, options).split(data.X, data.y, data.groups))


def _part(data: PreparedData, rows: IntArray) -> PreparedData:
    groups, coding = None if data.groups is None else data.groups[rows], data.coding and data.coding.part(rows)
    return replace(data, X=data.X[rows], codes=data.codes[rows], groups=groups, coding=coding)


def _check_inner_folds(data: PreparedData, options: TrainingOptions) -> None:
    splits = list(_splits(data, options))
    for name, rows in zip(data.class_names, np.bincount(data.codes).tolist(), strict=True):
        if rows - -(-rows // options.folds) < options.folds:
            raise OptionError(
                f"class {quoted(name)} has {rows} rows, too few for {options.folds} folds with {options.folds} inside each: "
                "choose fewer folds",
                folds=None,
            )
    for number, (train, _) in enumerate(splits if data.groups is not None else (), start=1):
        try:
            folds_of(_part(data, train), options)
        except OptionError as error:
            raise OptionError(f"without the rows of fold {number}, {error}", **error.remedies) from None


def _measured(fit: Callable[[], Tuned], X: FloatArray, y: np.ndarray) -> tuple[tuple[float, ...], dict[str, Any]]:
    """The figures of Result in its order, and what was chosen."""
    began = time.perf_counter()
    tuned = fit()
    seconds = time.perf_counter() - began
    classes, chances = tuned.model.classes_, tuned.likely.predict_proba(X)
    accuracy = float(np.mean(tuned.model.predict(X) == y))
    has_area = len(classes) == len(np.unique(y)) == 2  # groups may leave a fold with one class
    auc = float(roc_auc_score(y == classes[1], chances[:, 1])) if has_area else np.nan
    return (accuracy, auc, float(log_loss(y, chances, labels=classes)), tuned.size, seconds), tuned.chosen
