"""Shapley values: closed form against the definition over all coalitions."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import PLAIN, random_samples, random_surface
from helpers.coalitions import level_coder, mixed_rows, shapley_by_definition
from quadric import QuadraticSurface, SparseQuadraticSVC, SparseQuadraticSVCCV
from quadric.explain import shapley
from quadric.geometry.terms import term_count


def sparse_surface(rng, n, n_terms):
    z = np.zeros(term_count(n))
    z[rng.choice(len(z), min(n_terms, len(z)), replace=False)] = rng.normal(size=min(n_terms, len(z)))
    return QuadraticSurface.from_coordinates(z, 0.3)


def dependent_rows(rng, m, n):
    return rng.normal(size=(m, n)) @ rng.normal(size=(n, n)) + rng.normal(size=n)


@pytest.mark.parametrize("n", range(1, 9))
@pytest.mark.parametrize("seed", range(4))
def test_closed_form_is_the_definition_with_dependent_features(n, seed):
    rng = np.random.default_rng((n, seed))
    surface = random_surface(rng, n) if seed % 2 else sparse_surface(rng, n, 4)
    X, background = rng.normal(size=(2, n)), dependent_rows(rng, 6, n)
    found = shapley(surface, X, background=background)
    for x, values in zip(X, found.values, strict=True):
        expected, empty = shapley_by_definition(surface, x, background)
        assert_allclose(values, expected, rtol=1e-10, atol=1e-10)
        assert_allclose(found.base_value, empty, rtol=1e-10)


def test_values_and_base_sum_to_the_decision():
    rng = np.random.default_rng(0)
    surface, X, background = random_surface(rng, 12), rng.normal(size=(500, 12)), dependent_rows(rng, 300, 12)
    found = shapley(surface, X, background=background)
    assert_allclose(found.base_value + found.values.sum(axis=1), found.decision, rtol=1e-11, atol=1e-11)
    assert_allclose(found.decision, surface(X))
    assert_allclose(found.base_value, surface(background).mean(), rtol=1e-11)


def test_features_without_terms_get_nothing():
    rng = np.random.default_rng(1)
    surface = QuadraticSurface.from_coordinates(np.array([0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), 1.0)  # x0*x1
    found = shapley(surface, rng.normal(size=(5, 3)), background=rng.normal(size=(9, 3)))
    assert (found.values[:, 2] == 0.0).all()
    assert np.abs(found.values[:, :2]).min() > 0.0


def test_moments_in_raw_units_stand_for_the_rows():
    X, y = random_samples(3, m=60, n=3)
    X = 100.0 + X * [1.0, 20.0, 0.3]
    model = make_pipeline(StandardScaler(), SparseQuadraticSVC(k=5, **PLAIN)).fit(X, y)
    by_rows = shapley(model, X, background=X[:25])
    part = X[:25]
    by_moments = shapley(model, X, background=(part.mean(axis=0), part.T @ part / 25))
    assert_allclose(by_moments.values, by_rows.values, rtol=1e-8, atol=1e-8)
    assert_allclose(by_moments.base_value, by_rows.base_value, rtol=1e-8)


@pytest.mark.parametrize(
    "make",
    [
        lambda: make_pipeline(StandardScaler(), SparseQuadraticSVC(k=5)),
        lambda: SparseQuadraticSVCCV([4], Cs=[1.0], standardize=True),
    ],
)
def test_models_with_units_of_their_own(make):
    X, y = random_samples(4, m=50, n=3)
    X = pd.DataFrame(50.0 + 7.0 * X, columns=["a", "b", "c"])
    model = make().fit(X, y)
    found = shapley(model, X.iloc[:3], background=X)
    assert found.names == ["a", "b", "c"]
    decide = lambda rows: model.decision_function(pd.DataFrame(rows, columns=X.columns))  # noqa: E731
    for x, values in zip(X.to_numpy()[:3], found.values, strict=True):
        assert_allclose(values, shapley_by_definition(decide, x, X.to_numpy())[0], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_coded_columns_are_one_player_each(seed):
    rows, y = mixed_rows(seed)
    model = make_pipeline(level_coder((2, 3)), StandardScaler(), SparseQuadraticSVC(k=8)).fit(rows, y)
    assert np.count_nonzero(model[-1].coef_) > 3
    found = shapley(model, rows[:4], background=rows)
    assert found.values.shape == (4, 4)
    for x, values in zip(rows[:4], found.values, strict=True):
        assert_allclose(values, shapley_by_definition(model.decision_function, x, rows)[0], rtol=1e-8, atol=1e-8)


def test_the_target_turns_signs_or_chooses_a_surface():
    X, y = load_iris(return_X_y=True)
    two = SparseQuadraticSVC(k=4).fit(X[:100], y[:100])
    towards = [shapley(two, X, background=X, target=label).values for label in (0, 1)]
    assert_allclose(towards[0], -towards[1])
    assert_allclose(shapley(two, X, background=X).values, towards[1])
    three = SparseQuadraticSVC(k=4).fit(X, y)
    found = shapley(three, X, background=X, target=2)
    assert_allclose(found.decision, three.decision_function(X)[:, 2])
    with pytest.raises(ValueError, match=r"target must name the class to explain: one of \[0, 1, 2\]"):
        shapley(three, X, background=X)
    with pytest.raises(ValueError, match="target must be one of the classes"):
        shapley(three, X, background=X, target=7)


def test_wrong_moments_are_refused():
    surface = random_surface(np.random.default_rng(0), 3)
    with pytest.raises(ValueError, match=r"moments of shapes \(2,\) and \(2, 2\) need to be \(3,\) and \(3, 3\)"):
        shapley(surface, np.zeros((1, 3)), background=(np.zeros(2), np.eye(2)))
