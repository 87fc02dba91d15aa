"""Masked values are missing values: every door refuses them, and takes masked arrays that hide nothing."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import random_samples
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV, alternatives, certify, sparse_quadratic_path
from quadric.baselines import (
    L0LeastSquaresSVC,
    L1LinearSVC,
    L1QuadraticSVC,
    LeastSquaresSVC,
    LinearHingeSVC,
    QuadraticSVC,
)
from quadric.credit import CalibratedModel, auc, population_stability_index
from quadric.explain import contributions, reason_codes, recourse, shapley, stability
from quadric.report import summarise
from quadric.tables import TableEncoder

FAST = SparseQuadraticSVC(3, loss="least_squares", method="pd")
ESTIMATORS = [
    FAST,
    SparseQuadraticSVCCV([2], Cs=[1.0], cv=2, loss="least_squares", method="pd"),
    CalibratedModel(FAST, cv=2),
    CalibratedModel(make_pipeline(StandardScaler(), FAST), cv=2),
    LinearHingeSVC(),
    QuadraticSVC(),
    L1QuadraticSVC(),
    LeastSquaresSVC(),
    L1LinearSVC(),
    L0LeastSquaresSVC(),
]
X, Y = random_samples(0, m=40, n=3)
W = np.ones(len(Y))


def hiding(array):
    """With one value masked, behind which is a number that would do."""
    masked = np.ma.masked_array(array.copy(), mask=np.zeros(array.shape, dtype=bool))
    masked[3] = np.ma.masked
    return masked


def fitted():
    return make_pipeline(StandardScaler(), FAST).fit(X, Y)


DOORS = {
    "certify": lambda X, y, w: certify(fitted(), X, y, sample_weight=w),
    "alternatives": lambda X, y, w: alternatives(fitted(), X, y),
    "path": lambda X, y, w: sparse_quadratic_path(X, y, ks=[2], loss="least_squares", sample_weight=w),
    "stability": lambda X, y, w: stability(fitted(), X, y, n_boot=1, sample_weight=w),
    "summarise": lambda X, y, w: summarise(fitted(), X, y, ks=[3], n_boot=0, cv=2),
    "contributions": lambda X, y, w: contributions(fitted(), X),
    "shapley": lambda X, y, w: shapley(fitted(), X, background=X),
    "reason codes": lambda X, y, w: reason_codes(fitted(), X, background=X),
    "recourse": lambda X, y, w: recourse(fitted(), X, target=1.0),
    "encoder": lambda X, y, w: TableEncoder().fit(X),
    "auc": lambda X, y, w: auc(y, X[:, 0], sample_weight=w),
    "stability index": lambda X, y, w: population_stability_index(X[:, 0], X[:, 1]),
}
NO_LABELS = {"contributions", "shapley", "reason codes", "recourse", "encoder", "stability index"}
WEIGHTED = {"certify", "path", "stability", "auc"}


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: str(estimator)[:50])
def test_estimators(estimator):
    for data in ((hiding(X), Y), (X, hiding(Y)), (X, Y, hiding(W))):
        with pytest.raises(ValueError, match=r"Input (X|y|sample_weight) contains NaN: \d value\(s\) are masked"):
            estimator.fit(*data)
    whole = np.ma.masked_array(X), np.ma.masked_array(Y), np.ma.masked_array(W)
    scores = estimator.fit(*whole).decision_function(whole[0])
    assert type(scores) is np.ndarray
    assert_array_equal(scores, estimator.fit(X, Y, W).decision_function(X))
    for door in (estimator.decision_function, estimator.predict):
        with pytest.raises(ValueError, match="Input X contains NaN"):
            door(hiding(X))
    assert estimator.score(*whole) == estimator.score(X, Y, W)
    for data in ((hiding(X), Y), (X, hiding(Y)), (X, Y, hiding(W))):
        with pytest.raises(ValueError, match=r"Input (X|y|sample_weight) contains NaN: \d value\(s\) are masked"):
            estimator.score(*data)


@pytest.mark.parametrize("name", DOORS)
def test_functions(name):
    door = DOORS[name]
    door(np.ma.masked_array(X), np.ma.masked_array(Y), np.ma.masked_array(W))
    with pytest.raises(ValueError, match="contains NaN"):
        door(hiding(X), Y, W)
    if name not in NO_LABELS:
        with pytest.raises(ValueError, match="Input y contains NaN"):
            door(X, hiding(Y), W)
    if name in WEIGHTED:
        with pytest.raises(ValueError, match="Input sample_weight contains NaN"):
            door(X, Y, hiding(W))


def test_masks_inside_lists_bounds_and_surfaces():
    rows, model = list(hiding(X)), fitted()
    bound = np.ma.masked_array(np.ones(X.shape[1]), mask=np.arange(X.shape[1]) == 0)
    for door in (
        lambda: FAST.fit(rows, Y),
        lambda: FAST.fit(X, Y).predict(rows),
        lambda: certify(model, rows, Y),
        lambda: FAST.surfaces_[0](hiding(X)),
        lambda: recourse(model, X, target=1.0, lower=bound),
        lambda: recourse(model, X, target=1.0, metric=bound),
    ):
        with pytest.raises(ValueError, match=r"Input \w+ contains NaN: \d value\(s\) are masked"):
            door()
