"""The logistic z-step: derivatives by finite differences, minima by scipy, and rows that would break a careless Newton step."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from helpers import make_problem, numerical_gradient, random_samples, slow_objective, surface_of
from quadric.certificate import Judge, Question
from quadric.losses.columns import ColumnTableau
from quadric.losses.dual import feasible, safe_dual
from quadric.losses.logistic import Logistic
from quadric.losses.smooth.newton import ON_ALL_TERMS, ON_FEW_TERMS, Factor, Newton, SmoothQP
from quadric.losses.tableau import Tableau
from quadric.search.rules import RequiredTerms


def weighted(seed=3, C=2.0):
    X, y = random_samples(seed)
    w, class_weight = np.random.default_rng(0).uniform(0.5, 2, size=len(y)), np.array([0.7, 1.9])
    return X, y, w, class_weight, make_problem("logistic", X, y, C=C, sample_weight=w, class_weight=class_weight)


def qp_of(problem, rho=0.5, seed=0):
    u = np.random.default_rng(seed).normal(size=problem.n_terms)
    g = np.append(rho * u, 0.0)
    P = problem.G + rho * np.eye(problem.n_terms)
    return SmoothQP(Logistic(), problem.A.T, problem.y, problem.upper, P, g, 0.5 * rho * u @ u)


def test_gradient_by_finite_differences():
    X, y, w, class_weight, problem = weighted()
    z, c = np.random.default_rng(4).normal(size=problem.n_terms), 0.1
    o = w * np.where(y > 0, class_weight[1], class_weight[0])
    R = problem.A[:, :-1] + problem.center
    alpha = 16.0 * o / (1.0 + np.exp(y * (R @ z + c)))
    gradient = problem.G @ z - (y * alpha) @ R

    def by_definition(v):
        return slow_objective(surface_of(problem, v, c), X, y, "logistic", 2.0, w, o)

    assert_allclose(gradient, numerical_gradient(by_definition, z), rtol=1e-5, atol=1e-5)


def test_derivatives_of_a_z_step():
    problem = weighted()[-1]
    qp, w = qp_of(problem), np.random.default_rng(5).normal(size=problem.n_terms + 1)

    def alpha(v):
        return qp.weight / (1.0 + np.exp(qp.margins(v)))

    assert_allclose(qp.gradient(w, alpha(w)), numerical_gradient(lambda v: qp.value(v, qp.margins(v)), w), rtol=1e-5, atol=1e-5)
    theta = alpha(w) * (1.0 - alpha(w) / qp.weight)
    curvature = qp.spread(theta)
    curvature[:-1, :-1] += qp.P
    for j in range(len(w)):
        along = numerical_gradient(lambda v, j=j: qp.gradient(v, alpha(v))[j], w)
        assert_allclose(curvature[j], along, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_z_steps_are_scipys(seed):
    problem = weighted(seed)[-1]
    qp, start = qp_of(problem, seed=seed), np.zeros(problem.n_terms + 1)

    def value(v):
        return qp.value(v, qp.margins(v)), qp.gradient(v, qp.weight / (1.0 + np.exp(qp.margins(v))))

    expected = minimize(value, start, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 10_000})
    cold = Newton(qp, start).run(ON_FEW_TERMS)
    assert cold.value == pytest.approx(expected.fun, rel=1e-10)
    assert_allclose(cold.w, expected.x, atol=1e-5)
    # from far away, and with a curvature of somewhere else
    far = Newton(qp, start + 5.0, 3.0 * cold.spread).run(ON_ALL_TERMS)
    assert far.value == pytest.approx(cold.value, rel=1e-12)
    assert far.decrement < 1e-11


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e8])
def test_separable_classes_have_a_minimum(C):
    """The regulariser keeps the surface finite, however far the margins grow."""
    X, y = random_samples(1, noise=0.0)
    problem = make_problem("logistic", X, y, C=C)
    refit = problem.step().refit(np.arange(problem.n_terms))
    value, least = problem.step().bracket(np.arange(problem.n_terms))
    assert np.isfinite(refit.z).all()
    assert least <= value == refit.value
    assert least == pytest.approx(value, rel=1e-8)


def test_an_outlying_row_does_not_drown_the_others():
    X, y = random_samples(2, m=60)
    X[0] *= 1e6
    problem = make_problem("logistic", X, y, C=100.0)
    support = np.array([0, 3, 7])
    value, least = problem.step().bracket(support)
    assert least == pytest.approx(value, rel=1e-9)


def test_an_answer_does_not_depend_on_the_one_before():
    """Nearly dependent terms: without one of them, the others' coefficients make huge scores."""
    X, y = random_samples(5, m=20, n=2)
    problem = make_problem("logistic", 100.0 + X, y, C=1e6)
    step = problem.step()
    step._w[:] = 1e12
    for support in map(np.array, combinations(range(5), 3)):
        assert step.refit(support).value == pytest.approx(problem.step().refit(support).value, rel=1e-7)


def test_a_curvature_that_has_vanished_leaves_steps_finite():
    """All samples far from the surface: nothing bends c."""
    assert np.isfinite(Factor.of(np.eye(2), np.zeros((3, 3)), 1e-9).solve(np.ones(3))).all()


@pytest.mark.parametrize("size", [1e-7, 1e-4, 1e-2, 0.3])
@pytest.mark.parametrize("C", [1.0, 1e3])
def test_what_is_left_to_gain_is_told(size, C):
    """The judge's duality gap is never below the truth, and not far above it."""
    X, y = random_samples(7, m=60)
    problem, support = make_problem("logistic", X, y, C=C), np.array([0, 3, 7])
    refit, judge = problem.step().refit(support), Judge(X, np.ones(60), np.ones(60))
    surface = surface_of(problem, refit.z * (1.0 + size), refit.c)
    certificate = judge.certificate(surface, Question("logistic", C, 3, y))
    truth = slow_objective(surface, X, y, "logistic", C) / refit.value - 1.0
    assert certificate.decrease >= truth / (1.0 + truth) - 1e-13
    assert certificate.decrease <= 20.0 * truth + 1e-12


def test_multipliers_are_a_proof():
    """Every feasible choice bounds F on every support from below; that of the minimum touches it."""
    problem = weighted(6, C=16.0)[-1]
    step, rng = problem.step(), np.random.default_rng(0)
    for _ in range(10):
        support, other = (np.sort(rng.choice(problem.n_terms, 3, replace=False)) for _ in range(2))
        value = step.refit(support).value
        alpha = feasible(problem, step.multipliers)
        assert problem.y @ alpha == 0.0
        assert safe_dual(problem, alpha, support) == pytest.approx(value, rel=1e-9)
        assert safe_dual(problem, alpha, support) <= value
        assert safe_dual(problem, alpha, other) <= step.refit(other).value
        spoilt = feasible(problem, alpha * rng.uniform(0.5, 1.5, size=len(alpha)))
        assert safe_dual(problem, spoilt, support) < value


def test_losses_of_any_margin():
    each = 2.0 * Logistic().value(np.array([800.0, 1.0, 0.0, -1.0, -800.0]))
    assert_allclose(each, 2.0 * np.array([0.0, np.log1p(np.exp(-1.0)), np.log(2.0), np.log1p(np.e), 800.0]), rtol=1e-15)


def test_without_terms_only_the_intercept_is_fitted():
    problem = weighted()[-1]
    nothing = problem.step().refit(np.empty(0, dtype=np.intp))
    o = problem.loss_weight
    share = o[problem.y > 0].sum() / o.sum()
    assert nothing.c == pytest.approx(np.log(share / (1.0 - share)), rel=1e-10)
    assert nothing.value == pytest.approx(problem.at_zero(), rel=1e-14)


@pytest.mark.parametrize("required", [[], [2]])
def test_rows_of_the_support_are_enough_for_the_tableau(required):
    """The tableau of few rows knows what the whole one knows."""
    X, y = random_samples(4, m=50, n=3)
    problem, required = make_problem("least_squares", X, y, C=16.0), np.array(required, dtype=np.intp)
    M, q, constant = problem.M, problem.q, problem.constant
    whole = Tableau(M, q, constant, required)
    few = ColumnTableau(M.__getitem__, np.diag(M), q, constant, required, np.array([0, 3]))
    whole.go_to(np.array([0, 3]))
    for change in ("add", 7), ("drop", 0), ("add", 5):
        for tableau in (whole, few):
            getattr(tableau, change[0])(change[1])
        assert few.value == pytest.approx(whole.value, rel=1e-12)
        assert_allclose(few.gains(), whole.gains(), rtol=1e-9)
        assert_allclose(few.costs(), whole.costs(), rtol=1e-9)
        moves = RequiredTerms(problem.n_terms, required).moves(whole.support)
        assert_allclose(few.exchanges(moves), whole.exchanges(moves), rtol=1e-9, atol=1e-9)
