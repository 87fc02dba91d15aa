"""A row's score has the same bits whatever batch it comes in, and however the batch lies in memory."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from helpers import random_surface
from helpers.pipelines import KINDS
from quadric import SparseQuadraticSVC
from quadric.baselines import QuadraticSVC
from quadric.credit import CalibratedModel, score_points
from quadric.explain import contributions, reason_codes, shapley
from quadric.export import SavedModel
from quadric.geometry.surface import QuadraticSurface
from quadric.workflow.scoring import TableModel

ROWS = 60
SEEDS = st.integers(0, 2**32 - 1)


def strided(X):
    return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]


def offset(X):
    """At an address that is no multiple of 16."""
    return np.concatenate([[0.0], X.ravel()])[1:].reshape(X.shape)


LAYOUTS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "strided": strided,
    "backwards": lambda X: np.ascontiguousarray(X[::-1])[::-1],
    "offset": offset,
    "read-only": lambda X: np.frombuffer(X.tobytes()).reshape(X.shape),
}


def batches(seed):
    """Rows alone, all rows, and some rows in any order, with repetitions."""
    rng = np.random.default_rng(seed)
    sizes = [1, 2, 3, 7, int(rng.integers(1, ROWS)), ROWS]
    return [np.arange(ROWS), *(rng.integers(0, ROWS, size) for size in sizes)]


def check(door, X, seed):
    """``door`` gives one value, or several, per row."""
    expected = door(X)
    for rows in batches(seed):
        for layout in LAYOUTS.values():
            assert_array_equal(door(layout(X[rows])), expected[rows])


def dense_surface(rng, n, share):
    """A share of all terms is live; large and small coefficients."""
    surface = random_surface(rng, n)
    live = np.triu(rng.random((n, n)) < share)
    scale = 10.0 ** rng.integers(-3, 4, size=(n, n))
    W = np.where(live, surface.W * scale, 0.0)
    return QuadraticSurface(np.triu(W) + np.triu(W, 1).T, surface.b, surface.c)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, n=st.integers(1, 40), share=st.sampled_from([0.05, 0.5, 1.0]))
def test_of_a_surface(seed, n, share):
    rng = np.random.default_rng(seed)
    surface = dense_surface(rng, n, share)
    check(surface, 10.0 ** rng.integers(-4, 5, size=n) * rng.normal(size=(ROWS, n)), seed)


def test_of_a_surface_on_more_rows_than_are_treated_together():
    rng = np.random.default_rng(0)
    surface, X = random_surface(rng, 40), rng.normal(size=(5000, 40))
    expected = surface(X)
    for step in (999, 4096):
        assert_array_equal(np.concatenate([surface(X[i : i + step]) for i in range(0, len(X), step)]), expected)


def test_dense_surfaces_are_right():
    """Against sums in higher precision."""
    rng = np.random.default_rng(1)
    for n in (2, 9, 17, 40):
        surface, X = random_surface(rng, n), rng.normal(size=(20, n))
        long = X.astype(np.longdouble)
        exact = 0.5 * np.sum((long @ surface.W) * long, axis=1) + long @ surface.b + surface.c
        assert np.abs(surface(X) - exact).max() <= 1e-14 * surface.magnitude(X).max()


@cache
def fitted(n_classes, method, dense):
    """Calibrated, standardised; with terms for nine features, more than four times as many or few."""
    rng = np.random.default_rng(5)
    X = 10.0 ** np.arange(-3, 6) * (rng.normal(size=(120, 9)) + 1.0)
    score = X[:, 0] * 1e3 + 1e-3 * X[:, 6] + rng.normal(size=120)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    model = SparseQuadraticSVC(50 if dense else 5, C=0.1, loss="least_squares", method="pd", standardize=True)
    return CalibratedModel(model, method=method, cv=2).fit(X, y), X[:ROWS]


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("n_classes", [2, 3, 9])
def test_of_calibrated_models(n_classes, method, dense):
    model, X = fitted(n_classes, method, dense)
    assert not dense or max(surface.n_terms for surface in model.estimator_.surfaces_) > 4 * X.shape[1]
    for door in (model.decision_function, model.predict_proba, model.predict, model.estimator_.decision_function):
        check(door, X, n_classes)


@pytest.mark.parametrize("dense", [False, True])
def test_of_explanations(dense):
    model, X = fitted(3, "sigmoid", dense)
    doors = (
        lambda rows: contributions(model, rows, target=1).values,
        lambda rows: contributions(model, rows, target=1).decision,
        lambda rows: shapley(model, rows, target=1, background=X).values,
        lambda rows: reason_codes(model, rows, favourable=1, background=X).contributions,
    )
    for door in doors:
        check(door, X, 7)


@pytest.mark.parametrize("dense", [False, True])
def test_of_points(dense):
    model, X = fitted(2, "sigmoid", dense)
    check(lambda rows: score_points(model, rows), X, 8)
    check(lambda rows: score_points(model, rows, integer=True), X, 8)


def test_of_a_baseline():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(ROWS, 12))
    check(QuadraticSVC().fit(X, np.arange(ROWS) % 2).decision_function, X, 9)


@pytest.mark.filterwarnings("ignore:Found unknown categories in columns")  # the rows have some
@pytest.mark.parametrize("name", KINDS)
def test_of_tables_in_chunks(name):
    model, (_, table) = KINDS[name].fitted(0), KINDS[name].rows(0)
    tabular = TableModel(SavedModel(model, None, None, {}, None, None))
    whole = tabular.scores(table)
    for first, last in [(0, 1), (1, 2), (2, 9), (9, 73), (73, len(table))]:
        rows = np.arange(first, last)
        part = tabular.scores(table[rows])
        assert_array_equal(part.decision, whole.decision[rows])
        assert_array_equal(part.codes, whole.codes[rows])
        if whole.probabilities is not None:
            assert_array_equal(part.probabilities, whole.probabilities[rows])
