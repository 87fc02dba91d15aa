"""Stability of terms over bootstrap fits."""

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import PLAIN, random_samples, random_surface
from helpers.coalitions import level_coder, mixed_rows
from helpers.listening import heard
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV
from quadric.explain import stability


@pytest.fixture(scope="module")
def fitted():
    X, y = random_samples(1, m=60, n=3, noise=0.1)
    return SparseQuadraticSVC(k=2, C=1.0, loss="least_squares", method="pd", **PLAIN).fit(X, y), X, y


def test_figures_are_those_of_the_fits(fitted):
    model, X, y = fitted
    found = stability(model, X, y, n_boot=15)
    assert found.names == model.term_names()
    assert found.coef.shape == (15, 1, 9)
    assert (np.count_nonzero(found.coef, axis=2) <= 2).all()
    for t in range(9):
        chosen = [fit[0, t] for fit in found.coef if fit[0, t] != 0]
        assert found.inclusion[0, t] == len(chosen) / 15
        if chosen:
            assert_allclose(found.positive[0, t], np.mean(np.array(chosen) > 0))
            assert_allclose(found.mean[0, t], np.mean(chosen))
            assert_allclose(found.deciles[0, :, t], np.percentile(chosen, np.arange(10, 100, 10)))
        else:
            assert np.isnan([found.positive[0, t], found.mean[0, t], *found.deciles[0, :, t]]).all()
    assert 0 < (found.inclusion > 0).sum() < 9


def test_the_true_terms_stay(fitted):
    model, X, y = fitted  # y depends on x0*x2 and x0, both with a plus
    found = stability(model, X, y, n_boot=20)
    for name in ("x0*x2", "x0"):
        t = found.names.index(name)
        assert found.inclusion[0, t] > 0.8
        assert found.positive[0, t] == 1.0


def test_a_fit_is_one_with_rows_repeated(fitted):
    model, X, y = fitted
    found = stability(model, X, y, n_boot=1, random_state=5)
    rng = np.random.default_rng((np.random.RandomState(5).randint(2**31 - 1), 0))
    rows = np.repeat(np.arange(60), rng.multinomial(60, np.full(60, 1 / 60)))
    again = SparseQuadraticSVC(k=2, C=1.0, loss="least_squares", method="pd", **PLAIN).fit(X[rows], y[rows])
    assert_allclose(found.coef[0], again.coef_, rtol=1e-7, atol=1e-9)


def test_jobs_and_seeds(fitted):
    model, X, y = fitted
    one = stability(model, X, y, n_boot=6).coef
    with parallel_config(backend="threading"):
        two = stability(model, X, y, n_boot=6, n_jobs=2).coef
    assert_array_equal(one, two)
    assert_array_equal(one[:3], stability(model, X, y, n_boot=3).coef)
    assert (one != stability(model, X, y, n_boot=6, random_state=1).coef).any()
    assert (one[0] != one[1]).any()


def test_scalers_and_coders_stay_as_fitted():
    rows, y = mixed_rows(0, m=60)
    rows[0, 2] = "boat"  # a level that most bootstrap samples lose
    model = make_pipeline(
        level_coder((2, 3)), StandardScaler(), SparseQuadraticSVC(k=3, loss="least_squares", method="pd", **PLAIN)
    ).fit(rows, y)
    found = stability(model, rows, y, n_boot=8)
    assert found.names[-6:] == ["x0", "x1", "x2=other", "x2=own", "x2=rent", "x3=yes"]
    inner = stability(model[-1], model[:-1].transform(rows), y, n_boot=8)
    assert_array_equal(found.coef, inner.coef)


def test_a_cross_validated_model_is_refitted_with_its_choice():
    X, y = random_samples(2, m=60, n=3)
    X = pd.DataFrame(100 + 5 * X, columns=["a", "b", "c"])
    model = SparseQuadraticSVCCV(
        [3], Cs=[4.0], standardize=True, loss="least_squares", method="pd", include=["b*c"], exclude=["a*b"]
    ).fit(X, y)
    found = stability(model, X, y, n_boot=4)
    assert found.inclusion[0, found.names.index("b*c")] == 1.0
    assert found.inclusion[0, found.names.index("a*b")] == 0.0
    plain = SparseQuadraticSVC(k=3, C=4.0, loss="least_squares", method="pd", include=[4], exclude=[1], **PLAIN)
    Z = model._prepared(X.to_numpy())
    assert_array_equal(found.coef, stability(plain.fit(Z, y), Z, y, n_boot=4).coef)


def test_units_stay_as_fitted():
    X, y = random_samples(2, m=60, n=3)
    X = pd.DataFrame(100 + 5 * X, columns=["a", "b", "c"])
    settings = {"k": 3, "loss": "least_squares", "method": "pd"}
    model = SparseQuadraticSVC(standardize=True, include=["b*c"], **settings).fit(X, y)
    Z = model._prepared(X.to_numpy())
    plain = SparseQuadraticSVC(include=[4], **settings, **PLAIN).fit(Z, y)
    assert_array_equal(stability(model, X, y, n_boot=4).coef, stability(plain, Z, y, n_boot=4).coef)


def test_samples_without_a_class_are_drawn_again():
    X, y = random_samples(3, m=25, n=2)
    y = np.zeros(25)
    y[0] = 1.0
    model = SparseQuadraticSVC(k=2, C=1.0, loss="least_squares", method="pd", **PLAIN).fit(X, y)
    found = stability(model, X, y, n_boot=12)
    assert np.isfinite(found.coef).all()
    assert len(np.unique(found.coef[:, 0, :], axis=0)) == 12


def test_weights_multiply_the_draws(fitted):
    model, X, y = fitted
    weight = np.ones(60)
    weight[30:] = 0.0
    some = stability(model, X, y, n_boot=3, sample_weight=weight)
    noisy = X.copy()
    noisy[30:] += 7.0
    assert_array_equal(stability(model, noisy, y, n_boot=3, sample_weight=weight).coef, some.coef)


def test_several_classes_and_progress():
    X, y = load_iris(return_X_y=True)
    model = SparseQuadraticSVC(k=2, C=1.0, loss="least_squares", method="pd", **PLAIN).fit(X, y)
    with heard() as told:
        found = stability(model, X, y, n_boot=3)
    assert found.inclusion.shape == (3, 14)
    assert told == [(done / 3, "bootstrap fits") for done in range(4)]


def test_wrong_requests_are_refused(fitted):
    model, X, y = fitted
    with pytest.raises(ValueError, match="n_boot must be an integer from 1 to 10,000"):
        stability(model, X, y, n_boot=0)
    with pytest.raises(TypeError, match="stability refits a model"):
        stability(random_surface(np.random.default_rng(0), 3), X, y)
