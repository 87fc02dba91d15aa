"""z-steps: what they return satisfies the optimality conditions of what they claim to minimise."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers import LOSSES, make_problem, random_samples
from quadric.losses.hinge.active_set import _Candidate, _checked, solve_active_set
from quadric.losses.hinge.interior_point import InteriorPoint
from quadric.losses.hinge.qp import HingeQP
from quadric.losses.hinge.step import HingeStep, _on_working_set, solve_hinge
from quadric.search.rules import RequiredTerms, keep


def largest(z, k, required=()):
    return RequiredTerms(len(z), np.array(required, dtype=int)).project(z, k)


def make_qp(seed, m=60, n=3, C=4.0, rho=0.5):
    X, y = random_samples(seed, m=m, n=n)
    problem = make_problem("hinge", X, y, C=C)
    u = np.random.default_rng(seed).normal(size=problem.n_terms)
    P = problem.G + rho * np.eye(problem.n_terms)
    g = np.append(rho * u, 0.0)
    return HingeQP(problem.A, y, np.full(m, C), P, g, 0.5 * rho * u @ u)


def kkt_residual(qp, w, alpha):
    """Largest violation of the conditions of docs/mathematics.md, section 3."""
    h = qp.g + (qp.y * alpha) @ qp.A
    stationarity = np.append(qp.P @ w[:-1] - h[:-1], h[-1])
    shortfall = 1 - qp.margins(w)
    lower = np.where(alpha < qp.upper, np.maximum(shortfall, 0), 0)
    upper = np.where(alpha > 0, np.maximum(-shortfall, 0), 0)
    box = max(np.max(-alpha), np.max(alpha - qp.upper))
    return max(np.abs(stationarity).max() / np.abs(h).max(), lower.max(), upper.max(), box)


@pytest.mark.parametrize("seed", range(10))
def test_interior_point_and_active_set_agree(seed):
    qp = make_qp(seed)
    interior = InteriorPoint(qp, np.zeros(qp.n_terms + 1), 1.0)
    assert interior.advance(1e-10)
    exact = solve_active_set(qp, interior.crossover())
    assert exact is not None
    assert kkt_residual(qp, exact.w, exact.alpha) < 1e-9
    assert_allclose(interior.w, exact.w, atol=1e-5)
    loose = interior.solution()
    assert qp.value(loose.w, qp.margins(loose.w)) == pytest.approx(qp.value(exact.w, qp.margins(exact.w)), rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_active_set_from_a_near_answer(seed):
    """A slightly different problem is solved from the old multipliers, to the same answer as from scratch."""
    qp = make_qp(seed)
    cold = InteriorPoint(qp, np.zeros(qp.n_terms + 1), 1.0)
    cold.advance(1e-10)
    answer = solve_active_set(qp, cold.crossover())
    moved = HingeQP(qp.A, qp.y, qp.upper, qp.P, qp.g * 1.01, qp.offset)
    warm = solve_active_set(moved, answer.alpha)
    assert warm is not None
    assert kkt_residual(moved, warm.w, warm.alpha) < 1e-9


def test_active_set_says_when_it_cannot():
    qp = make_qp(0, m=400, n=2, C=0.01)
    hopeless = np.full(400, 0.5) * qp.upper  # more free samples than any surface can put on its margin
    assert solve_active_set(qp, hopeless) is None


def test_a_spoilt_answer_is_not_passed_on():
    qp = make_qp(0)
    interior = InteriorPoint(qp, np.zeros(qp.n_terms + 1), 1.0)
    interior.advance(1e-10)
    exact = solve_active_set(qp, interior.crossover())
    free = np.flatnonzero((exact.alpha > 0) & (exact.alpha < qp.upper))
    lopsided = exact.alpha * 0.9 ** (qp.y > 0)

    def checked(w, alpha):
        return _checked(qp, free, _Candidate(w, alpha, 1.0, qp.margins(w)), 1)

    assert checked(exact.w, exact.alpha) is not None
    assert checked(exact.w * (1 + 1e-6), exact.alpha) is None
    assert checked(exact.w, lopsided) is None


def test_the_samples_near_the_margin_are_enough():
    """The interior point on a quarter of the samples, from a near surface, gives the answer for all of them."""
    qp = make_qp(3, m=400)
    answer = solve_hinge(qp, np.zeros(qp.n_terms + 1), None)
    moved = HingeQP(qp.A, qp.y, qp.upper, qp.P, qp.g * 1.05, qp.offset)
    partial, whole = _on_working_set(moved, answer.w), solve_hinge(moved, answer.w, None)
    assert partial is not None
    assert kkt_residual(moved, partial.w, partial.alpha) < 1e-9
    assert_allclose(partial.w, whole.w, atol=1e-9)


def test_equal_rows_are_no_obstacle():
    """Every sample ten times: free rows are linearly dependent, multipliers are not unique, the surface is."""
    X, y = random_samples(4, m=20, n=2)
    one = make_problem("hinge", X, y, C=10.0).step().refit(np.array([0, 1]))
    ten = make_problem("hinge", np.repeat(X, 10, axis=0), np.repeat(y, 10), C=1.0).step().refit(np.array([0, 1]))
    # ten copies at C = 1 have the loss of one copy at C = 10, but ten times the regulariser: undo that by comparing objectives
    weighted = make_problem("hinge", X, y, C=1.0, sample_weight=np.full(20, 10.0))
    assert_allclose(ten.value, weighted.step().refit(np.array([0, 1])).value, rtol=1e-9)
    assert one.value < ten.value


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(5))
def test_fixed_point_is_where_sweeps_end(loss, seed):
    """Sweeps that are made to keep one support converge to the jump's answer."""
    X, y = random_samples(seed, m=50, n=3)
    problem = make_problem(loss, X, y, C=2.0)
    step, rho = problem.step(), 30.0
    support = np.array([1, 4, 6])
    jump = step.fixed_point(support, rho)
    u = np.zeros(problem.n_terms)
    for _ in range(3000):
        sweep = step.sweep(u, rho)
        u = keep(sweep.z, support)
    assert_allclose(sweep.z, jump.z, atol=1e-6)
    assert_allclose(sweep.c, jump.c, atol=1e-6)
    assert_allclose(sweep.value, jump.value, rtol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_values_are_the_penalised_objective(loss):
    X, y = random_samples(2, m=50)
    problem = make_problem(loss, X, y, C=2.0)
    step, rho = problem.step(), 3.0
    u = np.random.default_rng(0).normal(size=problem.n_terms)
    sweep = step.sweep(u, rho)
    assert_allclose(sweep.value, problem.objective(sweep.z, sweep.c) + 0.5 * rho * np.sum((sweep.z - u) ** 2), rtol=1e-10)
    support = np.array([0, 5])
    jump, off = step.fixed_point(support, rho), np.setdiff1d(np.arange(problem.n_terms), support)
    assert_allclose(jump.value, problem.objective(jump.z, jump.c) + 0.5 * rho * np.sum(jump.z[off] ** 2), rtol=1e-10)
    refit = step.refit(support)
    assert_array_equal(np.flatnonzero(refit.z), support)
    assert_allclose(refit.value, problem.objective(refit.z, refit.c), rtol=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(5))
def test_no_neighbour_of_a_sweep_is_better(loss, seed):
    X, y = random_samples(seed, m=50)
    problem = make_problem(loss, X, y, C=5.0)
    rng, rho = np.random.default_rng(seed), 2.0
    u = rng.normal(size=problem.n_terms)
    sweep = problem.step().sweep(u, rho)
    for _ in range(200):
        z = sweep.z + rng.normal(size=len(u)) * 10.0 ** rng.uniform(-6, 0)
        value = problem.objective(z, problem.intercept(z)) + 0.5 * rho * np.sum((z - u) ** 2)
        assert value >= sweep.value * (1 - 1e-12)


def test_least_squares_sweep_solves_its_system():
    X, y = random_samples(1)
    problem = make_problem("least_squares", X, y, C=3.0)
    u, rho = np.random.default_rng(0).normal(size=problem.n_terms), 0.7
    sweep = problem.step().sweep(u, rho)
    assert_allclose(problem.M @ sweep.z + rho * sweep.z, problem.q + rho * u, rtol=1e-9, atol=1e-9)


def test_no_free_multiplier():
    """Far fewer positives than negatives and a tiny C: all multipliers sit on bounds but for what balances them."""
    X = np.array([[-2.0], [2.0], [1.9], [2.1]])
    y = np.array([1.0, -1.0, -1.0, -1.0])
    problem = make_problem("hinge", X, y, C=1e-6, k=2)
    refit = HingeStep(problem).refit(np.arange(problem.n_terms))
    assert refit.residual < 1e-8
    candidates = np.linspace(-3, 3, 2001)
    assert refit.value <= min(problem.objective(refit.z, c) for c in candidates) + 1e-15


def test_largest_breaks_ties_by_position():
    assert_array_equal(largest(np.array([1.0, -2.0, 2.0, 1.0, 0.0]), 3), [0, 1, 2])
    assert_array_equal(largest(np.zeros(4), 2), [0, 1])
    assert_array_equal(largest(np.array([3.0, 1.0]), 5), [0, 1])
    many = np.tile([1.0, -1.0, 2.0], 200)
    assert_array_equal(largest(many, 210), sorted([*range(2, 600, 3), *[t for t in range(20) if t % 3 != 2][:10]]))


def test_largest_keeps_what_is_required():
    assert_array_equal(largest(np.array([1.0, -2.0, 0.0, 3.0]), 2, np.array([2])), [2, 3])


def test_keep_leaves_the_rest_zero():
    assert_array_equal(keep(np.array([1.0, -2.0, 3.0]), np.array([0, 2])), [1.0, 0.0, 3.0])
