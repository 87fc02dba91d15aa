"""Out-of-fold decisions: what surfaces with each number of terms make of rows that they were not fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.parallel import Parallel, delayed

from quadric.estimators import SparseQuadraticSVC
from quadric.estimators._base import predicted
from quadric.estimators.crossvalidation import chosen_cell
from quadric.geometry.lifting import lift
from quadric.progress import Report
from quadric.report.subject import Subject
from quadric.report.values import CrossValidation
from quadric.types import FloatArray, IntArray
from quadric.workflow.scoring import Scores


@dataclass(frozen=True)
class OutOfFold:
    """What surfaces make of rows that they were not fitted to.

    Attributes
    ----------
    cross_validation : CrossValidation
    rows : array
        Positions of the rows that were in some test fold.
    scores : Scores
        Of these rows, with the model's own number of terms; the mean over the folds that tested a row.
    """

    cross_validation: CrossValidation
    rows: IntArray
    scores: Scores


def out_of_fold(subject: Subject, ks: Sequence[int], cv: Any, n_jobs: int | None, report: Report) -> OutOfFold:
    """Fit every fold for every number of terms, and score its test rows.

    Codes of categories stay as fitted; centres and scales are those of each fold's training rows, as in the model. Two
    classes run along the path; more are fitted for each number of terms.

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
    absent = [(i, code) for i, (train, _) in enumerate(folds) for code in np.setdiff1d(subject.codes, subject.codes[train])]
    if absent:
        fold, code = absent[0]
        raise ValueError(f"fold {fold} has no training row of class {subject.class_names[code]!r}; use fewer folds")
    jobs = (delayed(_decisions)(subject, ks, *fold) for fold in folds)
    classes, scores = np.arange(len(subject.class_names)), []
    total, times = np.zeros_like(subject.scores.decision), np.zeros(len(subject.V))
    for (_, test), decisions in zip(folds, Parallel(n_jobs=n_jobs, return_as="generator")(jobs), strict=True):
        scores.append([np.mean(predicted(values, classes) == subject.codes[test]) for values in decisions])
        total[test] += decisions[list(ks).index(subject.k)]
        times[test] += 1.0
        report(f"cross-validation: fold {len(scores)} of {len(folds)}")
    rows = np.flatnonzero(times)
    decision = (total[rows].T / times[rows]).T
    return OutOfFold(_curve(ks, np.array(scores)), rows, Scores(decision, *subject.fitted.decided(decision)))


def _decisions(subject: Subject, ks: Sequence[int], train: IntArray, test: IntArray) -> FloatArray:
    """Decision values of the test rows, for each number of terms."""
    inner = bool(getattr(subject.classifier, "standardize", False))
    scalers = [step for _, step in subject.fitted.steps if hasattr(step, "scale_")]
    steps = [clone(scaler).set_output(transform="default") for scaler in scalers]
    scaler = make_pipeline(*steps, StandardScaler(with_mean=inner, with_std=inner)).fit(subject.V[train])
    U, U_test = (np.ascontiguousarray(scaler.transform(subject.V[rows])) for rows in (train, test))
    if subject.is_binary:
        path = subject.path(U, subject.labels[train], ks)
        return path.coef[0] @ lift(U_test).T + path.intercept[0][:, None]
    models = (SparseQuadraticSVC(int(k), subject.C, **subject.search).fit(U, subject.labels[train]) for k in ks)
    return np.array([model.decision_function(U_test) for model in models])


def _curve(ks: Sequence[int], scores: FloatArray) -> CrossValidation:
    mean, n_folds = scores.mean(axis=0), len(scores)
    error = scores.std(axis=0, ddof=1) / np.sqrt(n_folds) if n_folds > 1 else np.zeros(len(ks))
    (_, best), (_, simplest) = (chosen_cell(scores[:, None, :], rule) for rule in ("best", "1se"))
    return CrossValidation(
        ks=tuple(ks),
        mean=tuple(mean.tolist()),
        error=tuple(error.tolist()),
        folds=n_folds,
        best_k=ks[best],
        simplest_k=ks[simplest],
        threshold=mean[best] - error[best],
    )
