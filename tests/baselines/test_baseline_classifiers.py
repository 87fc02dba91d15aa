"""The baselines as estimators: weights, classes, parameters, warnings."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from helpers import random_samples
from helpers.baseline_objectives import MODELS, QUADRATIC, objective
from quadric import ScaleWarning
from quadric.baselines import L0LeastSquaresSVC, L1QuadraticSVC, LinearHingeSVC, QuadraticSVC
from quadric.losses.hinge.qp import HingeSolution

SETTLED = {L0LeastSquaresSVC: {"gamma": 1e3, "lam": 0.02, "max_iter": 10_000}, L1QuadraticSVC: {"C1": 4.0, "C2": 2.0}}
"""Parameters at which each model has one answer, reached by its solver."""


@pytest.fixture(params=MODELS, ids=lambda model: model.__name__)
def make(request):
    return lambda **changes: request.param(**{**SETTLED.get(request.param, {}), **changes})


def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), np.array(["setosa", "versicolor", "virginica"])[y]


def test_attributes_of_two_classes(make):
    X, y = random_samples(0, m=60, n=3)
    labels = np.where(y > 0, "good", "bad")
    model = make().fit(X, labels)
    assert model.coef_.shape == (1, 9)
    assert model.intercept_.shape == (1,)
    assert_array_equal(model.classes_, ["bad", "good"])
    assert model.n_features_in_ == 3
    (surface,) = model.surfaces_
    assert_array_equal(model.coef_[0], surface.coordinates())
    assert_array_equal(model.predict(X), np.where(surface(X) > 0, "good", "bad"))
    assert model.score(X, labels) > 0.6
    if not isinstance(model, QUADRATIC):
        assert_array_equal(surface.W, np.zeros((3, 3)))


def test_names_of_terms(make):
    X, y = random_samples(0, m=60, n=2)
    assert make().fit(pd.DataFrame(X, columns=["age", "income"]), y).term_names() == [
        "age^2",
        "age*income",
        "income^2",
        "age",
        "income",
    ]


def test_three_classes_by_the_largest_surface(make):
    X, names = iris()
    model = make().fit(X, names)
    scores = model.decision_function(X)
    assert scores.shape == (150, 3)
    assert len(model.surfaces_) == 3
    assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    for surface, label in zip(model.surfaces_, model.classes_, strict=True):
        two = make().fit(X, np.where(names == label, 1, 0))
        assert_allclose(surface.coordinates(), two.coef_[0], atol=1e-8)
        assert_allclose(surface.c, two.intercept_[0], atol=1e-8)


def test_sample_weight_is_repetition(make):
    X, y = random_samples(1, m=60, n=3)
    counts = np.random.default_rng(0).integers(0, 4, size=60)
    weighted = make().fit(X, y, sample_weight=counts)
    repeated = make().fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    plain = make().fit(X, y)
    for surface in (weighted.surfaces_[0], repeated.surfaces_[0]):
        assert objective(weighted, surface, X, y, counts) == pytest.approx(
            objective(weighted, weighted.surfaces_[0], X, y, counts), rel=1e-9
        )
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6, atol=1e-8)
    assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-6, atol=1e-8)
    assert np.abs(plain.coef_ - weighted.coef_).max() > 1e-4


def test_class_weight_touches_the_loss_only(make):
    """Weights 3 on the loss of both classes are three times C."""
    X, y = random_samples(2, m=60, n=3)
    C = "C2" if isinstance(make(), L1QuadraticSVC) else "C"
    weighted, plain = make(**{C: 2.0}, class_weight={1.0: 3.0, -1.0: 3.0}).fit(X, y), make(**{C: 6.0}).fit(X, y)
    assert_allclose(weighted.coef_, plain.coef_, rtol=1e-7, atol=1e-9)
    uneven = make(**{C: 2.0}, class_weight={1.0: 9.0}).fit(X, y)
    assert uneven.decision_function(X).mean() > plain.decision_function(X).mean() + 1e-3


def test_balanced_classes_count_alike(make):
    X, y = random_samples(2, m=60, n=3)
    share = np.mean(y > 0)
    balanced = make(class_weight="balanced").fit(X, y)
    by_hand = make(class_weight={1.0: 1 / (2 * share), -1.0: 1 / (2 * (1 - share))}).fit(X, y)
    assert_array_equal(balanced.coef_, by_hand.coef_)


def test_bad_parameters_are_told_in_one_line(make):
    X, y = random_samples(0)
    numbers = [name for name in make().get_params() if name != "class_weight"]
    for name in numbers:
        for bad in (0, -1.0, np.nan, np.inf, "1", None, True):
            with pytest.raises(ValueError, match=rf"^{name} must be [^\n]*, got {bad!r}$"):
                make(**{name: bad}).fit(X, y)
    with pytest.raises(ValueError, match=r"^class_weight must be a dict, 'balanced' or None"):
        make(class_weight="even").fit(X, y)


def test_data_without_a_feature_that_varies(make):
    with pytest.raises(ValueError, match=r"^all columns of X are constant"):
        make().fit(np.ones((10, 2)), np.arange(10) % 2)


def test_a_failed_fit_leaves_no_model(make):
    X, y = random_samples(0)
    model = make().fit(X, y)
    with pytest.raises(ValueError, match="one class only"):
        model.fit(X, np.zeros(len(y)))
    assert not [name for name in vars(model) if name.endswith("_")]


@pytest.mark.filterwarnings("ignore:L0LeastSquaresSVC. the iterations did not settle")  # on such columns they cycle
def test_columns_far_from_standardised_are_told(make):
    X, y = random_samples(0)
    model = make()
    with pytest.warns(ScaleWarning, match=type(model).__name__) as seen:
        model.fit(X * [1.0, 1.0, 1e4], y)
    assert seen[0].filename == __file__


@pytest.mark.parametrize("model", [LinearHingeSVC(), QuadraticSVC()], ids=str)
def test_a_solver_that_stops_short_is_told(model, monkeypatch):
    X, y = random_samples(0)
    short = HingeSolution(np.zeros(X.shape[1] + 1 if isinstance(model, LinearHingeSVC) else 10), np.ones(len(y)), 1, 1e-3)
    monkeypatch.setattr("quadric.losses.hinge.step.solve_hinge", lambda *args: short)
    with pytest.warns(
        ConvergenceWarning, match="optimality conditions hold only to 0.001, above 1e-06; standardise X or lower C"
    ) as seen:
        model.fit(X, y)
    assert seen[0].filename == __file__
