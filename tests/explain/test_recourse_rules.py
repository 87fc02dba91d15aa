"""Recourse with bounds, one-way and integer features: valid answers, honest proofs."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import PLAIN, random_samples, random_surface
from quadric import QuadraticSurface, SparseQuadraticSVC
from quadric.explain import recourse
from quadric.explain._boxed import minimise_in_box


def question(seed, n, m=6):
    """A random surface, rows on one side of it and the other side as target."""
    rng = np.random.default_rng((seed, n))
    surface, X = random_surface(rng, n), rng.normal(size=(40, n))
    side = -int(np.sign(np.median(surface(X))))
    return rng, surface, X[side * surface(X) < 0][:m], side


def enumerated(surface, x, side, axes):
    """The smallest distance among all points of a product of axes that are on the wanted side."""
    points = np.array(list(product(*axes)))
    good = points[side * surface(points) > 0]
    return np.linalg.norm(good - x, axis=1).min(initial=np.inf)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_integer_answers_are_the_best_of_all_integer_points(seed, n):
    _, surface, X, side = question(seed, n)
    X = np.rint(2 * X)
    X = X[side * surface(X) < 0]
    low, high = np.full(n, -4.0), np.full(n, 4.0)
    answer = recourse(surface, X, target=side, integer=range(n), lower=low, upper=high)
    for i, x in enumerate(X):
        best = enumerated(surface, x, side, [np.arange(-4, 5)] * n)
        assert answer.proved[i]
        assert answer.reached[i] == np.isfinite(best)
        assert_allclose(answer.distance[i], best, rtol=1e-9)
    done = answer.x[answer.reached]
    assert_array_equal(done, np.rint(done))
    assert (np.abs(done) <= 4).all()


@pytest.mark.parametrize("seed", range(5))
def test_an_integer_among_numbers_is_the_best_of_its_slices(seed):
    _, surface, X, side = question(seed, 3)
    X[:, 0] = np.rint(X[:, 0])
    X = X[side * surface(X) < 0]
    answer = recourse(surface, X, target=side, integer=["x0"])
    for i, x in enumerate(X):
        values = np.arange(-30.0, 31.0)
        slices = recourse(surface, np.column_stack([values, np.tile(x[1:], (61, 1))]), target=side, frozen=["x0"])
        assert answer.proved[i]
        assert_allclose(answer.distance[i], np.hypot(slices.distance, values - x[0]).min(), rtol=2e-6)
        assert answer.x[i, 0] == np.rint(answer.x[i, 0])


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_bounded_answers_are_never_longer_than_the_best_of_a_fine_grid(seed, n):
    rng, surface, X, side = question(seed, n)
    low, high = X.min(axis=0) - rng.uniform(0, 0.7, n), X.max(axis=0) + rng.uniform(0, 0.7, n)
    answer = recourse(surface, X, target=side, lower=low, upper=high)
    relaxed = recourse(surface, X, target=side)
    lines = [np.linspace(a, b, {1: 2001, 2: 151, 3: 31}[n]) for a, b in zip(low, high, strict=True)]
    for i, x in enumerate(X):
        best = enumerated(surface, x, side, lines)
        assert answer.proved[i]
        assert answer.distance[i] <= best * (1 + 2e-6)
        assert answer.distance[i] >= relaxed.distance[i] * (1 - 1e-9)
        assert answer.lower_bound[i] <= answer.distance[i]
        if not answer.reached[i]:
            assert best == np.inf
            assert answer.message[i] == "no allowed change reaches the wanted side"
    done = answer.x[answer.reached]
    assert ((done >= low) & (done <= high)).all()
    assert (side * surface(done) > 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_one_way_answers_go_one_way(seed):
    _, surface, X, side = question(seed, 3)
    answer = recourse(surface, X, target=side, increase_only=["x0"], decrease_only=["x1", "x2"])
    done = answer.reached
    assert (answer.change[done] * [1, -1, -1] >= 0).all()
    assert (side * surface(answer.x[done]) > 0).all()
    relaxed = recourse(surface, X, target=side)
    assert (answer.distance >= relaxed.distance * (1 - 1e-9)).all()
    for i, x in enumerate(X):
        lines = [x[0] + np.linspace(0, 3, 41), x[1] - np.linspace(0, 3, 41), x[2] - np.linspace(0, 3, 41)]
        best = enumerated(surface, x, side, lines)
        assert answer.lower_bound[i] <= best * (1 + 1e-9)
        if answer.proved[i]:
            assert answer.distance[i] <= best * (1 + 2e-6)


def test_rules_that_do_not_bind_cost_nothing():
    _, surface, X, side = question(3, 4)
    plain, wide = recourse(surface, X, target=side), recourse(surface, X, target=side, lower=[-1e6] * 4, upper=[1e6] * 4)
    assert_array_equal(wide.x, plain.x)
    assert wide.proved.all()


def test_the_other_sign_of_the_hard_case_serves_where_one_is_forbidden():
    sphere = QuadraticSurface(np.diag([2.0, 1.0]), [0.0, 0.0], -1.0)
    for rule in ("increase_only", "decrease_only"):
        answer = recourse(sphere, [[0.0, 0.0]], target=1, **{rule: ["x0"]})
        assert_allclose(answer.distance, 1.0, rtol=1e-9)
        assert answer.proved[0]


def test_a_side_beyond_the_bounds_is_proved_unreachable():
    sphere = QuadraticSurface(2 * np.eye(3), np.zeros(3), -1.0)
    answer = recourse(sphere, np.zeros((1, 3)), target=1, lower=[-0.5] * 3, upper=[0.5] * 3)
    assert (answer.reached[0], answer.proved[0]) == (False, True)
    assert np.isnan(answer.x).all()
    corner = recourse(sphere, np.zeros((1, 3)), target=1, lower=[-0.58] * 3, upper=[0.58] * 3)
    assert corner.reached[0]
    assert_allclose(corner.distance, 1.0, rtol=1e-6)


def test_without_enough_boxes_answers_are_not_called_proved():
    unproved = 0
    for seed in range(4):
        _, surface, X, side = question(seed, 4)
        rules = {"increase_only": [0, 1], "decrease_only": [2], "integer": [3]}
        short, long = (recourse(surface, X, target=side, **rules, max_nodes=nodes) for nodes in (1, 300))
        assert (short.distance >= long.distance * (1 - 2e-6)).all()
        assert (short.lower_bound <= long.distance * (1 + 1e-9)).all()
        proved = short.reached & short.proved
        assert_allclose(short.distance[proved], long.distance[proved], rtol=1e-5)
        gaps = short.reached & ~short.proved
        assert all("not proved smallest: no change shorter than" in short.message[i] for i in np.flatnonzero(gaps))
        unproved += int(gaps.sum())
    assert unproved > 3


def test_values_outside_their_bounds_are_brought_in():
    surface = QuadraticSurface(np.zeros((2, 2)), [1.0, 1.0], 0.0)
    answer = recourse(surface, [[-3.0, 0.0]], target=1, lower={"x0": -1.0})
    assert_allclose(answer.x, [[-1.0, 1.0]], atol=1e-9)
    assert answer.proved[0]


@pytest.mark.parametrize("seed", range(3))
def test_integers_are_exact_in_raw_units(seed):
    X, y = random_samples(seed, m=300, n=2)
    X = np.rint(X * [9, 31])
    model = make_pipeline(StandardScaler(), SparseQuadraticSVC(k=4, C=10, **PLAIN)).fit(X, y)
    answer = recourse(model, X, target=1, integer=[0, 1], metric=[0.3, 0.7])
    assert answer.reached.all()
    assert_array_equal(answer.x[answer.reached], np.rint(answer.x[answer.reached]))


def test_an_answer_far_along_an_allowed_direction_is_found_at_once_and_proved_later():
    W = np.array([[0.23, 0.0, -1.0], [0.0, 0.18, 0.0], [-1.0, 0.0, -0.28]])
    surface, x = QuadraticSurface(W, [0.58, -0.27, -0.27], 0.0), np.array([2.0, 2.0, 0.0])
    rules = {"target": -1, "increase_only": [0], "decrease_only": [2]}
    assert recourse(surface, x[None], **rules, max_nodes=1).reached[0]
    answer = recourse(surface, x[None], **rules)
    first, second = np.meshgrid(np.linspace(2, 2.2, 41), np.linspace(1, 3, 401))
    slope = W[0, 2] * first + surface.b[2]  # f = W_22/2 x2^2 + slope x2 + rest, wanted below zero with x2 < 0
    rest = surface(np.column_stack([first.ravel(), second.ravel(), np.zeros(first.size)])).reshape(first.shape)
    third = (-slope + np.sqrt(slope**2 - 2 * W[2, 2] * rest)) / W[2, 2]
    best = np.sqrt((first - 2) ** 2 + (second - 2) ** 2 + third**2).min()
    assert answer.proved[0]
    assert_allclose(answer.distance[0], best, rtol=1e-5)


def test_answers_that_are_not_proved_are_local_optima():
    checked = 0
    for seed in range(4):
        _, surface, X, side = question(seed, 5)
        answer = recourse(surface, X, target=side, increase_only=[0, 1], decrease_only=[2, 3], max_nodes=3)
        for i in np.flatnonzero(answer.reached & ~answer.proved):
            nearby = answer.x[i] + 1e-3 * np.random.default_rng(seed).normal(size=(20_000, 5))
            at_end = np.isclose(answer.change[i], 0.0, atol=1e-9) & [True, True, True, True, False]
            nearby[:, at_end] = X[i, at_end]
            change = nearby - X[i]
            allowed = (change[:, :2] >= 0).all(axis=1) & (change[:, 2:4] <= 0).all(axis=1) & (side * surface(nearby) > 0)
            assert allowed.any()
            assert np.linalg.norm(change[allowed], axis=1).min() >= answer.distance[i] * (1 - 1e-6)
            checked += 1
    assert checked > 3


def test_bounds_hold_to_the_last_bit():
    X, y = random_samples(3, m=200, n=3)
    X = 1 / 3 + X / 7
    model = make_pipeline(StandardScaler(), SparseQuadraticSVC(k=5, C=10, **PLAIN)).fit(X, y)
    low, high = np.quantile(X, 0.3, axis=0), np.quantile(X, 0.7, axis=0)
    answer = recourse(model, X, target=1, lower=low, upper=high, max_nodes=20)
    moved = answer.reached & (answer.distance > 0)
    x = answer.x[moved]
    assert ((x >= low) & (x <= high)).all()
    assert ((x == low) | (x == high)).sum() > 20


def test_single_values_never_enter_the_equations():
    A, none = np.array([[2.0, 0.0], [0.0, -1.0]]), np.zeros((1, 2))
    low, high = np.array([[0.0, -1.0]]), np.array([[0.0, 1.0]])
    e, slope = minimise_in_box(A, np.full((1, 2), 2.0), none, low, high, none)  # 2 I - A is singular in the first coordinate
    assert_array_equal(e, none)
    assert_array_equal(slope, none)


def test_rules_speak_of_raw_units():
    X, y = random_samples(5, m=80, n=3)
    X = np.column_stack([np.rint(40 + 10 * X[:, 0]), 3000 + 500 * X[:, 1], X[:, 2]])
    model = make_pipeline(StandardScaler(), SparseQuadraticSVC(k=5, C=10, **PLAIN)).fit(X, y)
    answer = recourse(model, X, target=1, integer=["x0"], lower={"x0": 18}, upper={"x0": 80}, increase_only=["x1"])
    done = answer.reached
    assert done.mean() > 0.9
    assert (model.predict(answer.x[done]) == 1).all()
    changed = done & (answer.distance > 0)
    assert_array_equal(answer.x[changed, 0], np.rint(answer.x[changed, 0]))
    assert (answer.x[done, 1] >= X[done, 1]).all()
    assert answer.proved.mean() > 0.9


def test_several_classes_keep_to_the_rules():
    X, y = load_iris(return_X_y=True)
    model = SparseQuadraticSVC(k=4, C=10, **PLAIN).fit(X[:, [0, 2]], y)
    X = X[::15, [0, 2]]
    answer = recourse(model, X, target=1, increase_only=["x0"], upper={"x1": 6.0})
    done = answer.reached
    assert done.sum() >= 5
    assert (model.predict(answer.x[done]) == 1).all()
    assert (answer.change[done, 0] >= 0).all()
    assert (answer.x[done & (answer.distance > 0), 1] <= 6.0).all()
    assert (answer.lower_bound <= answer.distance).all()


def test_the_same_answer_twice():
    _, surface, X, side = question(2, 4)
    rules = {"increase_only": [0], "integer": [1]}
    first, second = (recourse(surface, X, target=side, **rules) for _ in range(2))
    assert_array_equal(first.x, second.x)
    alone = [recourse(surface, x[None], target=side, **rules) for x in X]
    assert_allclose([answer.distance[0] for answer in alone], first.distance, rtol=1e-6)
