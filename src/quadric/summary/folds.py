"""Samples left out in turn: what surfaces with each number of terms make of them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.parallel import Parallel, delayed

from quadric.estimators import ScaleWarning, SparseQuadraticSVC, sparse_quadratic_path
from quadric.estimators._base import predicted
from quadric.estimators.crossvalidation import chosen_cell
from quadric.geometry.lifting import lift
from quadric.progress import Report
from quadric.summary.subject import Subject
from quadric.summary.values import CrossValidation
from quadric.types import FloatArray, IntArray


@dataclass(frozen=True)
class LeftOut:
    """Decisions on samples that the surfaces had not seen.

    Attributes
    ----------
    cross_validation : CrossValidation
    decision : array of shape (m,) or (m, n_classes)
        With the model's own number of terms; the mean where a sample was left out more than once, NaN where it never was.
    """

    cross_validation: CrossValidation
    decision: FloatArray

    @property
    def rows(self) -> IntArray:
        """Samples that were left out."""
        return np.flatnonzero(np.isfinite(self.decision.reshape(len(self.decision), -1)).all(axis=1))


def leave_out(subject: Subject, ks: Sequence[int], cv: Any, n_jobs: int | None, report: Report) -> LeftOut:
    """Fit every fold for every number of terms, and judge the samples left out.

    Codes of categories stay as fitted; centres and scales are those of each fold's training samples, as in the model. Two
    classes run along the path; more are fitted with each number of terms.

    Parameters
    ----------
    subject : Subject
    ks : increasing sequence of int
        The model's own among them.
    cv : int, splitter or iterable
        Folds.
    n_jobs : int or None
    report : callable
    """
    folds = list(check_cv(cv, subject.labels, classifier=True).split(subject.V, subject.labels))
    _check_classes(subject, [train for train, _ in folds])
    run = _along_path if subject.is_binary else _one_by_one
    jobs = (delayed(run)(subject, ks, train) for train, _ in folds)
    scores: list[list[float]] = []
    total, times = np.zeros(_shape_of(subject)), np.zeros(len(subject.V))
    for (_, test), fit in zip(folds, Parallel(n_jobs=n_jobs, return_as="generator")(jobs), strict=True):
        decisions = fit(subject.V[test])
        scores.append([_accuracy(subject, values, test) for values in decisions])
        total[test] += decisions[list(ks).index(subject.k)]
        times[test] += 1.0
        report(f"cross-validation: fold {len(scores)} of {len(folds)}")
    times[times == 0.0] = np.nan
    return LeftOut(_curve(ks, np.array(scores)), (total.T / times).T)


def _check_classes(subject: Subject, trains: Sequence[IntArray]) -> None:
    for number, train in enumerate(trains):
        missing = np.setdiff1d(subject.codes, subject.codes[train])
        if len(missing):
            name = subject.class_names[missing[0]]
            raise ValueError(f"fold {number} has no training sample of class {name!r}; use fewer folds")


def _shape_of(subject: Subject) -> tuple[int, ...]:
    return (len(subject.V),) if subject.is_binary else (len(subject.V), len(subject.class_names))


def _accuracy(subject: Subject, decision: FloatArray, test: IntArray) -> float:
    codes = predicted(decision, np.arange(len(subject.class_names)))
    return float(np.mean(codes == subject.codes[test]))


def _curve(ks: Sequence[int], scores: FloatArray) -> CrossValidation:
    mean, n_folds = scores.mean(axis=0), len(scores)
    error = scores.std(axis=0, ddof=1) / np.sqrt(n_folds) if n_folds > 1 else np.zeros(len(ks))
    (_, best), (_, simplest) = (chosen_cell(scores[:, None, :], rule) for rule in ("best", "1se"))
    return CrossValidation(
        ks=tuple(int(k) for k in ks),
        mean=tuple(mean.tolist()),
        error=tuple(error.tolist()),
        folds=n_folds,
        best_k=int(ks[best]),
        simplest_k=int(ks[simplest]),
        threshold=float(mean[best] - error[best]),
    )


@dataclass(frozen=True)
class _Path:
    """Surfaces of one fold for each k."""

    scaler: Any
    coef: FloatArray
    intercept: FloatArray

    def __call__(self, V: FloatArray) -> FloatArray:
        return self.coef @ lift(np.ascontiguousarray(self.scaler.transform(V))).T + self.intercept[:, None]


def _along_path(subject: Subject, ks: Sequence[int], train: IntArray) -> _Path:
    scaler = _scaler(subject).fit(subject.V[train])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)  # fitting the model has said so
        path = sparse_quadratic_path(
            scaler.transform(subject.V[train]), subject.labels[train], ks=list(ks), Cs=(subject.C,), **subject.search
        )
    return _Path(scaler, path.coef[0], path.intercept[0])


@dataclass(frozen=True)
class _Models:
    """Pipelines of one fold, one a k."""

    models: list[Any]

    def __call__(self, V: FloatArray) -> FloatArray:
        return np.array([model.decision_function(V) for model in self.models])


def _one_by_one(subject: Subject, ks: Sequence[int], train: IntArray) -> _Models:
    models = [
        make_pipeline(_scaler(subject), SparseQuadraticSVC(int(k), subject.C, **subject.search)).fit(
            subject.V[train], subject.labels[train]
        )
        for k in ks
    ]
    return _Models(models)


def _scaler(subject: Subject) -> Any:
    """What the model does to features before its surfaces, to be fitted anew; a scaler that does nothing stands for nothing."""
    inner = bool(getattr(subject.classifier, "standardize", False))
    scalers = [step for _, step in subject.known.steps if hasattr(step, "scale_")]
    steps = [clone(scaler).set_output(transform="default") for scaler in scalers]
    return make_pipeline(*steps, StandardScaler(with_mean=inner, with_std=inner))
