"""What a model is compared with at a glance: always guessing, and plain logistic regression on the same columns and folds."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from quadric.samples.random_rows import drawn_rows
from quadric.types import FloatArray, IntArray

# Values of C that are tried
STRENGTHS = (0.01, 0.1, 1.0, 10.0)
# Rows that are fitted and scored; of larger tables, a random sample
MOST_ROWS = 20_000


@dataclass(frozen=True)
class PlainModel:
    """Logistic regression on all features, with the C of the best mean log-loss.

    Attributes
    ----------
    accuracy, log_loss : float
        Means over the folds, of rows left out.
    auc : float or None
        None for more than two classes.
    """

    accuracy: float
    log_loss: float
    auc: float | None


def plain_logistic(X: FloatArray, codes: IntArray, tests: Sequence[IntArray]) -> PlainModel | None:
    """Logistic regression, chosen on the folds that the model was chosen on.

    Parameters
    ----------
    X : array of shape (m, n)
        Coded rows.
    codes : array of shape (m,)
        Positions of the rows' classes.
    tests : sequence of arrays
        Rows that each fold left out.

    Returns
    -------
    PlainModel or None
        None where a fold lacks a class.
    """
    kept = drawn_rows(np.arange(1, len(codes) + 1), MOST_ROWS, 0)
    folds = [(np.setdiff1d(kept, test), test[np.isin(test, kept)]) for test in tests]
    n_classes = len(np.unique(codes))
    if not folds or any(len(np.unique(codes[part])) < n_classes for fold in folds for part in fold):
        return None
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # a C that does not converge in time loses by its log-loss
        tried = [_measured(make_pipeline(StandardScaler(), LogisticRegression(C=C)), X, codes, folds) for C in STRENGTHS]
    return min(tried, key=lambda model: model.log_loss)


def _measured(model: Pipeline, X: FloatArray, codes: IntArray, folds: Sequence[tuple[IntArray, IntArray]]) -> PlainModel:
    measures = []
    for train, test in folds:
        chances = model.fit(X[train], codes[train]).predict_proba(X[test])
        loss = -np.log(np.maximum(chances[np.arange(len(test)), codes[test]], np.finfo(float).eps))
        area = roc_auc_score(codes[test], chances[:, 1]) if chances.shape[1] == 2 else np.nan
        measures.append((float(np.mean(chances.argmax(axis=1) == codes[test])), float(loss.mean()), area))
    accuracy, log_loss, auc = np.mean(measures, axis=0).tolist()
    return PlainModel(accuracy, log_loss, None if np.isnan(auc) else auc)
