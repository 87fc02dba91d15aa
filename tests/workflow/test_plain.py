"""Logistic regression beside the model, chosen on the same folds."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from quadric.workflow.cv_summary import STRENGTHS, plain_logistic


def rows(n_classes, m=240):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(m, 3)) * [1.0, 20.0, 0.1] + 5.0
    codes = np.argmax(rng.gumbel(size=(m, n_classes)) + (X[:, :1] - 5.0) * np.arange(n_classes), axis=1)
    return X, codes


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_is_that_of_scikit_learn(n_classes):
    X, codes = rows(n_classes)
    splits = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, codes))
    found = plain_logistic(X, codes, [test for _, test in splits])
    losses = []
    for C in STRENGTHS:
        model = make_pipeline(StandardScaler(), LogisticRegression(C=C))
        chances = cross_val_predict(model, X, codes, cv=splits, method="predict_proba")
        losses.append(np.mean([log_loss(codes[test], chances[test]) for _, test in splits]))
    assert found.log_loss == pytest.approx(min(losses), abs=1e-6)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=STRENGTHS[int(np.argmin(losses))]))
    chances = cross_val_predict(model, X, codes, cv=splits, method="predict_proba")
    right = chances.argmax(axis=1) == codes
    assert found.accuracy == pytest.approx(np.mean([right[test].mean() for _, test in splits]), abs=1e-9)
    areas = [roc_auc_score(codes[test], chances[test][:, 1]) for _, test in splits] if n_classes == 2 else None
    assert found.auc == (None if areas is None else pytest.approx(np.mean(areas), abs=1e-6))


def test_a_fold_without_a_class_gives_no_comparison():
    X, codes = rows(2)
    assert plain_logistic(X, codes, [np.flatnonzero(codes == 0), np.flatnonzero(codes == 1)]) is None
    assert plain_logistic(X, codes, []) is None


def test_large_tables_are_compared_on_a_sample(monkeypatch):
    X, codes = rows(2)
    tests = [test for _, test in StratifiedKFold(3).split(X, codes)]
    whole = plain_logistic(X, codes, tests)
    monkeypatch.setattr("quadric.workflow.cv_summary.MOST_ROWS", 100)
    assert plain_logistic(X, codes, tests).log_loss != pytest.approx(whole.log_loss, abs=1e-6)
