"""Contributions of terms."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import random_samples, random_surface
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV
from quadric.explain import contributions

MODELS = {
    "estimator": SparseQuadraticSVC(k=5),
    "pipeline": make_pipeline(StandardScaler(), SparseQuadraticSVC(k=5)),
    "cross-validated": SparseQuadraticSVCCV([5], Cs=[1.0], standardize=True),
}


@pytest.mark.parametrize("name", MODELS)
def test_terms_and_intercept_sum_to_the_decision_of_the_model(name):
    X, y = random_samples(1, m=60, n=4)
    X = 10.0 + 3.0 * X
    model = clone(MODELS[name]).fit(X, y)
    found = contributions(model, X)
    assert found.values.shape[1] == len(found.names) == 5
    assert_allclose(found.decision, model.decision_function(X), rtol=1e-12, atol=1e-12)
    assert_allclose(found.intercept + found.values.sum(axis=1), found.decision, rtol=1e-10, atol=1e-10)


def test_each_value_is_its_polynomial_term():
    surface = random_surface(np.random.default_rng(2), 2)
    x, y = 1.5, -2.0
    found = contributions(surface, [[x, y]])
    assert found.names == ["x0^2", "x0*x1", "x1^2", "x0", "x1"]
    W, b = surface.W, surface.b
    assert_allclose(found.values[0], [W[0, 0] * x**2 / 2, W[0, 1] * x * y, W[1, 1] * y**2 / 2, b[0] * x, b[1] * y])
    assert found.intercept == surface.c


def test_names_follow_the_frame_through_a_scaler():
    X, y = random_samples(2, m=60, n=3)
    X = pd.DataFrame(X, columns=["age", "income", "debt"])
    model = make_pipeline(StandardScaler(), SparseQuadraticSVC(k=9)).fit(X, y)
    found = contributions(model, X)
    assert found.names == ["age^2", "age*income", "age*debt", "income^2", "income*debt", "debt^2", "age", "income", "debt"]


def test_the_first_of_two_classes_turns_all_signs():
    X, y = random_samples(3, m=40, n=3)
    model = SparseQuadraticSVC(k=4).fit(X, y)
    against, towards = contributions(model, X, target=-1), contributions(model, X, target=1)
    assert_allclose(against.values, -towards.values)
    assert (against.intercept, *against.decision) == (-towards.intercept, *-towards.decision)


def test_each_of_several_classes_has_its_own_terms():
    X, y = load_iris(return_X_y=True)
    model = SparseQuadraticSVC(k=2).fit(X, y)
    for code in range(3):
        found = contributions(model, X, target=code)
        assert_allclose(found.intercept + found.values.sum(axis=1), model.decision_function(X)[:, code], rtol=1e-9)
    with pytest.raises(ValueError, match="target must name the class"):
        contributions(model, X)
