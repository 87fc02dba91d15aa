"""From a table to a fitted model that can be saved, explained and judged."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline

from quadric.credit import CalibratedModel
from quadric.estimators import ScaleWarning, SparseQuadraticSVC, SparseQuadraticSVCCV
from quadric.estimators.crossvalidation import chosen_cell
from quadric.export import DataOrigin, SavedModel
from quadric.fitted import fitted_model
from quadric.losses.footprint import Extent, affordable_processes
from quadric.tables import Table
from quadric.types import FloatArray
from quadric.workflow.options import OptionError, TrainingOptions
from quadric.workflow.preparation import PreparedData, prepare

PARALLEL_FROM = 300_000
"""Rows times terms from which processes of their own pay for the folds."""


@dataclass(frozen=True, eq=False)
class Trained:
    """A fitted model and how it came about.

    Attributes
    ----------
    model : Pipeline of coding and classifier, or CalibratedModel of it
    data : PreparedData
    target : str
    options : TrainingOptions
    search : SparseQuadraticSVCCV or None
        The cross-validation that chose k or C; its ``best_estimator_`` is the classifier of the model.
    accuracy : float
        On the rows that it was fitted to.
    labelled : tuple of int
        How many of them get the label of each class.
    """

    model: Any
    data: PreparedData
    target: str
    options: TrainingOptions
    search: SparseQuadraticSVCCV | None
    accuracy: float
    labelled: tuple[int, ...]

    @property
    def classifier(self) -> SparseQuadraticSVC:
        """What takes the coded rows."""
        return fitted_model(self.model).classifier

    @property
    def cross_validation(self) -> dict[str, Any] | None:
        """Accuracy of the chosen k and C, its standard error and the number of folds; None without cross-validation."""
        if self.search is None:
            return None
        scores, cell = self.search.cv_scores_, chosen_cell(self.search.cv_scores_, self.search.rule)
        accuracy, error = scores.mean(axis=0)[cell], standard_error(scores)[cell]
        return {"accuracy": float(accuracy), "standard_error": float(error), "folds": len(scores)}

    def saved(self, **metadata: Any) -> SavedModel:
        """The model with its names, origin and history, for ``save_model``.

        Parameters
        ----------
        **metadata : Any
            What else the file is to say of it.

        Returns
        -------
        SavedModel
        """
        history = {
            "options": self.options.recorded(),
            "excluded": {"squares": self.data.limits.n_squares, "products": self.data.limits.n_products},
            "missing": self.data.missing,
            "rows_dropped": self.data.n_dropped,
            "accuracy": self.accuracy,
            "labelled": list(self.labelled),
            "cross_validation": self.cross_validation,
        }
        origin = DataOrigin(len(self.data.y), self.data.table.sha256)
        return SavedModel(self.model, self.data.class_names, self.target, {"training": history, **metadata}, origin, None)


def standard_error(scores: FloatArray) -> FloatArray:
    """Standard error of the mean over folds.

    Parameters
    ----------
    scores : array of shape (n_folds, ...)

    Returns
    -------
    array of shape (...)
    """
    return np.asarray(scores.std(axis=0, ddof=1) / np.sqrt(len(scores)))


def train(table: Table, target: str, options: TrainingOptions | None = None, *, verbose: int = 0) -> Trained:
    """Code the columns, choose k and C if necessary, fit, and calibrate on demand.

    What cross-validation fitted to all rows is the model, with its certificates. Levels of categories and imputed values are
    learned from all rows; mean and scale inside each fold.

    Parameters
    ----------
    table : Table
    target : str
        Name of the column with the classes.
    options : TrainingOptions, optional
    verbose : int
        1 or 2 writes progress to standard error.

    Returns
    -------
    Trained
    """
    options = TrainingOptions() if options is None else options
    data = prepare(table, target, options)
    if options.calibrate is not None:
        folds_of(data, options)  # refused now rather than after the fit
    search = choose(data, options, verbose=verbose) if options.crosses else None
    classifier = fitted_classifier(data, options, verbose=verbose) if search is None else search.best_estimator_
    classifier.set_params(verbose=0)
    model = classifier if options.calibrate is None else _calibrated(classifier, data, options, options.calibrate)
    labels = model.predict(data.X)
    return Trained(
        model=_with_coding(model, data),
        data=data,
        target=target,
        options=options,
        search=search,
        accuracy=float(np.mean(labels == data.y)),
        labelled=tuple(int(np.sum(labels == label)) for label in model.classes_),
    )


@contextmanager
def scales_as_prepared() -> Iterator[None]:
    """Fit without remarks on the scales of features: who does not standardise has been told, with the names of the table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)
        yield


@scales_as_prepared()
def choose(data: PreparedData, options: TrainingOptions, *, verbose: int = 0) -> SparseQuadraticSVCCV:
    """Cross-validate over the grid of k and C that the options ask for.

    Parameters
    ----------
    data : PreparedData
    options : TrainingOptions
    verbose : int
        1 or 2 writes progress to standard error.

    Returns
    -------
    SparseQuadraticSVCCV
        Fitted to the coded data.
    """
    n_jobs = _n_jobs(data, options)
    return SparseQuadraticSVCCV(
        ks=_ks(data, options) if options.k is None else (options.k,),
        Cs=options.Cs if options.C is None else (options.C,),
        cv=folds_of(data, options),
        rule=options.rule,
        n_jobs=n_jobs,
        verbose=verbose if n_jobs is None else 0,  # other processes would write past whoever listens here
        **_shared_parameters(data, options),
    ).fit(data.X, data.y)


@scales_as_prepared()
def fitted_classifier(
    data: PreparedData, options: TrainingOptions, k: int | None = None, C: float | None = None, *, verbose: int = 0
) -> SparseQuadraticSVC:
    """The classifier with given k and C, fitted to the coded data.

    Parameters
    ----------
    data : PreparedData
    options : TrainingOptions
    k, C : int, float, optional
        In place of those of the options.
    verbose : int
        1 or 2 writes progress to standard error.

    Returns
    -------
    SparseQuadraticSVC
    """
    k, C = k or options.k, C or options.C or 1.0
    assert k is not None
    return SparseQuadraticSVC(k, C, verbose=verbose, **_shared_parameters(data, options)).fit(data.X, data.y)


def folds_of(data: PreparedData, options: TrainingOptions) -> StratifiedKFold:
    """The folds of a cross-validation; an error where a class has fewer rows than there are folds.

    Parameters
    ----------
    data : PreparedData
    options : TrainingOptions

    Returns
    -------
    StratifiedKFold
    """
    check_folds(data.y, np.unique(data.y), data.class_names, options.folds)
    return StratifiedKFold(options.folds, shuffle=True, random_state=options.seed)


def check_folds(y: np.ndarray, labels: np.ndarray, names: Sequence[str], folds: int) -> None:
    """Refuse more folds than a class has rows: some would have none of it to judge, or none to learn from.

    Parameters
    ----------
    y : array of shape (m,)
    labels, names : sequences of length n_classes
        What ``y`` and people call the classes.
    folds : int
    """
    counts = [int(np.sum(y == label)) for label in labels]
    fewest = min(counts)
    if fewest >= folds:
        return
    rows = f"class {names[counts.index(fewest)]!r} has {fewest} row{'s' * (fewest != 1)}"
    if fewest < 2:
        raise OptionError(f"{rows}, and cross-validation needs two or more of each: leave that class out")
    raise OptionError(f"{rows}, fewer than the {folds} folds: choose {fewest} or fewer", folds=None)


def _shared_parameters(data: PreparedData, options: TrainingOptions) -> dict[str, Any]:
    """Of both estimators."""
    return {
        "loss": options.loss,
        "method": options.method,
        "standardize": options.standardize,
        "class_weight": data.class_weight(options.class_weight),
        "include": data.limits.include or None,
        "exclude": data.limits.exclude or None,
        "time_limit": options.time_limit,
        "random_state": options.seed,
    }


def _ks(data: PreparedData, options: TrainingOptions) -> tuple[int, ...]:
    """The numbers of terms that make sense for the data."""
    low, high = max(len(data.limits.include), 1), data.n_candidates
    return tuple(k for k in options.ks if low <= k <= high) or (min(max(options.ks[0], low), high),)


def _n_jobs(data: PreparedData, options: TrainingOptions) -> int | None:
    n_jobs = options.n_jobs
    if n_jobs is None and len(data.X) * data.n_candidates >= PARALLEL_FROM:
        n_jobs = affordable_processes(options.loss, _extent(data, options), os.cpu_count() or 1)
    return None if n_jobs == 1 else n_jobs


def _extent(data: PreparedData, options: TrainingOptions) -> Extent:
    """The size of a cross-validation."""
    grid, n_scored = (len(options.Cs), len(options.ks)), len(data.X) // min(options.folds, 5)
    return Extent(data.X.shape, len(data.class_names), len(data.limits.exclude), grid, n_scored)


@scales_as_prepared()
def _calibrated(classifier: SparseQuadraticSVC, data: PreparedData, options: TrainingOptions, method: str) -> CalibratedModel:
    """The fitted classifier as it is, with probabilities fitted on out-of-fold scores."""
    folds, n_jobs = folds_of(data, options), _n_jobs(data, options)
    return CalibratedModel.around(classifier, data.X, data.y, method=method, cv=folds, n_jobs=n_jobs)


def _with_coding(model: Any, data: PreparedData) -> Any:
    """The same model for tables."""
    if isinstance(model, CalibratedModel):
        return CalibratedModel.from_parts(_with_coding(model.estimator_, data), model.calibrators_).set_params(cv=model.cv)
    return Pipeline([("coding", data.encoder), ("classifier", model)])
