"""Objectives of both losses against their definition, derivatives by finite differences, data that merge."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers import LOSSES, make_problem, numerical_gradient, random_samples, slow_objective, surface_of
from quadric.geometry.lifting import lift
from quadric.geometry.moments import LabelledMoments, LiftedMoments
from quadric.losses import loss_named
from quadric.losses.hinge.qp import hinge_intercept
from quadric.losses.least_squares.data import LeastSquaresData, least_squares_data
from quadric.losses.supports import candidates_of
from quadric.samples.labelled import LabelledSamples
from quadric.samples.target import Target
from quadric.search.decomposition import decompose
from quadric.search.rules import NO_LIMITS


@pytest.fixture
def weighted():
    X, y = random_samples(3)
    return X, y, np.random.default_rng(0).uniform(0.5, 2, size=len(y)), np.array([0.7, 1.9])


@pytest.mark.parametrize("loss", LOSSES)
def test_objective_is_its_definition(loss, weighted):
    X, y, w, class_weight = weighted
    problem = make_problem(loss, X, y, C=3.0, sample_weight=w, class_weight=class_weight)
    z, c = np.random.default_rng(1).normal(size=problem.n_terms), 0.4
    o = w * np.where(y > 0, class_weight[1], class_weight[0])
    assert_allclose(problem.objective(z, c), slow_objective(surface_of(problem, z, c), X, y, loss, 3.0, w, o), rtol=1e-11)


@pytest.mark.parametrize("loss", LOSSES)
def test_intercept_minimises(loss, weighted):
    X, y, w, class_weight = weighted
    problem = make_problem(loss, X, y, sample_weight=w, class_weight=class_weight)
    z = np.random.default_rng(2).normal(size=problem.n_terms)
    best = problem.objective(z, problem.intercept(z))
    assert all(best <= problem.objective(z, c) + 1e-12 for c in np.linspace(-10, 10, 4001))


def test_least_squares_gradient_by_finite_differences(weighted):
    X, y, w, _ = weighted
    problem = make_problem("least_squares", X, y, C=2.0, sample_weight=w)
    z = np.random.default_rng(3).normal(size=problem.n_terms)

    def by_definition(v):
        return slow_objective(surface_of(problem, v, problem.intercept(v)), X, y, "least_squares", 2.0, w)

    assert_allclose(problem.M @ z - problem.q, numerical_gradient(by_definition, z), rtol=1e-5, atol=1e-5)
    assert_array_equal(problem.M, problem.M.T)


def test_slopes_are_the_gradient_by_terms_and_intercept(weighted):
    X, y, w, class_weight = weighted
    problem = make_problem("least_squares", X, y, C=3.0, sample_weight=w, class_weight=class_weight)
    at = np.random.default_rng(5).normal(size=problem.n_terms + 1)
    slopes = problem.slopes(at[:-1], at[-1])
    gradient = numerical_gradient(lambda v: problem.objective(v[:-1], v[-1]), at)
    loss_weight = w * np.where(y > 0, class_weight[1], class_weight[0])
    lifted = np.column_stack([lift(X)[:, problem.terms], np.ones(len(y))])
    scale = 3.0 * np.sqrt(loss_weight.sum() * (loss_weight @ lifted**2))
    assert_allclose(slopes, gradient / scale, rtol=1e-6)


def test_hinge_gradient_by_finite_differences(weighted):
    X, y, w, _ = weighted
    problem = make_problem("hinge", X, y, C=2.0, sample_weight=w)
    z, c = np.random.default_rng(4).normal(size=problem.n_terms), 0.1
    R = problem.A[:, :-1] + problem.center
    below = (1 - y * (R @ z + c)) > 0
    gradient = problem.G @ z - 2.0 * (w * y * below) @ R

    def by_definition(v):
        return slow_objective(surface_of(problem, v, c), X, y, "hinge", 2.0, w)

    assert_allclose(gradient, numerical_gradient(by_definition, z), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_constant_terms_are_no_candidates(loss):
    X, y = random_samples(5, n=4)
    X[:, 1] = 2.0
    X[:, 2] = np.sign(X[:, 2])
    problem = make_problem(loss, X, y, k=100)
    assert problem.n_terms == 14 - 3  # x1^2, x1 and x2^2
    assert problem.k == problem.n_terms
    z = np.ones(problem.n_terms)
    assert np.count_nonzero(problem.embed(z)) == problem.n_terms


@pytest.mark.parametrize("loss", LOSSES)
def test_another_k_shares_the_arrays(loss):
    X, y = random_samples(6)
    problem = make_problem(loss, X, y, k=3)
    other = problem.with_k(5)
    assert other.k == 5
    assert other.G is problem.G


@pytest.mark.parametrize("loss", LOSSES)
def test_classes_share_the_arrays(loss):
    X = random_samples(7, m=60)[0]
    codes = np.arange(60) % 3
    data = loss_named(loss).data(LabelledSamples(X, Target(codes, np.ones(3)), np.ones(60)), NO_LIMITS)
    first, second = data.problem_for(0, 1.0, 2), data.problem_for(2, 4.0, 3)
    assert first.G is second.G
    if loss == "least_squares":  # and one eigendecomposition
        assert second.curvature is data.problem_for(1, 4.0, 5).curvature
    labels = np.where(codes == 2, 1.0, -1.0)
    z = np.random.default_rng(0).normal(size=second.n_terms)
    expected = slow_objective(surface_of(second, z, 0.2), X, labels, loss, 4.0)
    assert_allclose(second.objective(z, 0.2), expected, rtol=1e-11)


def test_merged_moments_give_the_whole_fit():
    X, y = random_samples(8, m=300, n=4)
    codes = (y > 0).astype(int)
    whole = least_squares_data(LabelledSamples(X, Target(codes, np.ones(2)), np.ones(300)), NO_LIMITS).problem_for(1, 16.0, 4)
    parts = np.array_split(np.arange(300), 7)
    merged = [sum((LiftedMoments.of(X[p][codes[p] == c]) for p in parts), LiftedMoments.empty(4)) for c in (0, 1)]
    moments = LabelledMoments.merged(merged, np.ones(2))
    data = LeastSquaresData(moments, candidates_of(moments.loss, NO_LIMITS))
    streamed = data.problem_for(1, 16.0, 4)
    a, b = decompose(whole), decompose(streamed)
    assert_array_equal(a.support, b.support)
    assert_allclose(b.z, a.z, rtol=1e-10, atol=1e-12)
    assert_allclose(b.c, a.c, rtol=1e-10)


def best_on_a_grid(scores, y, weight):
    kinks = np.sort(y - scores)
    grid = np.concatenate([kinks, (kinks[1:] + kinks[:-1]) / 2])
    return min(weight @ np.maximum(0, 1 - y * (scores + c)) for c in grid)


@pytest.mark.parametrize("seed", range(50))
def test_hinge_intercept_is_the_minimum(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 30))
    scores, y, weight = rng.normal(size=m), np.where(rng.random(m) < 0.5, 1.0, -1.0), rng.uniform(0.1, 3, size=m)
    c = hinge_intercept(scores, y, weight)
    assert weight @ np.maximum(0, 1 - y * (scores + c)) <= best_on_a_grid(scores, y, weight) + 1e-10


def test_hinge_intercept_takes_the_middle_of_a_flat_piece():
    # two far classes: every c between the kinks -1 and 1 has loss zero
    assert hinge_intercept(np.array([2.0, -2.0]), np.array([1.0, -1.0]), np.ones(2)) == pytest.approx(0.0)
    assert hinge_intercept(np.array([5.0, -2.0]), np.array([1.0, -1.0]), np.ones(2)) == pytest.approx((-4.0 + 1.0) / 2)
