"""The hinge solver on discrete data: equal rows are merged, and dependent rows share the margin."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers import make_problem, random_samples
from quadric import SparseQuadraticSVC
from quadric.losses.hinge import merging
from quadric.losses.hinge.active_set import _Basis, solve_active_set
from quadric.losses.hinge.interior_point import InteriorPoint
from quadric.losses.hinge.merging import MergedRows
from quadric.losses.hinge.qp import HingeQP
from quadric.losses.hinge.step import HingeStep, _is_crowded, _solved_distinct, solve_hinge
from quadric.losses.ranked import RankedExplorer


def repeated_qp(seed, m=30, copies=4):
    """Every row several times, in any order and with weights of its own."""
    X, y = random_samples(seed, m=m)
    problem = make_problem("hinge", X, y)
    rng = np.random.default_rng(seed)
    order = rng.permutation(np.repeat(np.arange(m), copies))
    zeros = np.zeros(problem.n_terms + 1)
    return HingeQP(problem.A[order], y[order], rng.uniform(0.1, 5.0, len(order)), problem.G, zeros)


def discrete_samples(seed, m=300):
    """Three columns of few values, and one that most samples share."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 2, m), rng.integers(0, 3, m), rng.integers(0, 4, m), rng.normal(size=m).round(1)])
    X[rng.random(m) < 0.7, 3] = 0.0
    return X, np.where((X[:, 0] + (X[:, 1] == 2) + 0.5 * rng.normal(size=m)) > 0.8, 1.0, -1.0)


def kkt_residual(qp, solution):
    """Largest violation of the conditions of docs/mathematics.md, section 3."""
    w, alpha = solution.w, solution.alpha
    h = qp.g + (qp.y * alpha) @ qp.A
    stationarity = np.append(qp.P @ w[:-1] - h[:-1], h[-1])
    shortfall = qp.target - qp.margins(w)
    rises = np.where(alpha < qp.upper * (1 - 1e-12), np.maximum(shortfall, 0), 0)
    falls = np.where(alpha > 0, np.maximum(-shortfall, 0), 0)
    box = max(np.max(-alpha), np.max(alpha - qp.upper))
    return max(np.abs(stationarity).max() / np.abs(qp.y * qp.upper @ qp.A).max(), rises.max(), falls.max(), box)


def test_equal_rows_become_one_with_the_sum_of_their_weights():
    qp = repeated_qp(0)
    merged = MergedRows.of(qp)
    assert len(merged.qp.y) == 30
    assert_array_equal(merged.qp.A[merged.group], qp.A)
    assert_array_equal(merged.qp.y[merged.group], qp.y)
    assert_allclose(merged.qp.upper.sum(), qp.upper.sum())
    w = np.random.default_rng(1).normal(size=qp.n_terms + 1)
    assert merged.qp.value(w, merged.qp.margins(w)) == pytest.approx(qp.value(w, qp.margins(w)), rel=1e-12)
    alpha = qp.upper * np.random.default_rng(2).random(len(qp.y))
    assert_allclose((merged.qp.y * merged.together(alpha)) @ merged.qp.A, (qp.y * alpha) @ qp.A, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_merged_and_unmerged_problems_have_the_same_answer(seed):
    qp, zero = repeated_qp(seed), np.zeros(10)
    merged, apart = solve_hinge(qp, zero, None), _solved_distinct(qp, zero, None, None)
    assert kkt_residual(qp, merged) < 1e-9
    assert_allclose(merged.w, apart.w, atol=1e-8)
    again = solve_hinge(qp, merged.w, merged.alpha)
    assert_allclose(again.w, merged.w, atol=1e-10)


def test_rows_that_all_differ_are_left_alone():
    X, y = random_samples(0)
    problem = make_problem("hinge", X, y)
    qp = HingeQP(problem.A, y, problem.upper, problem.G, np.zeros(10))
    assert MergedRows.of(qp) is None
    twins = replace(qp, A=np.vstack([qp.A[:20], qp.A[:20]]), y=np.repeat([-1.0, 1.0], 20))
    assert MergedRows.of(twins) is None  # the same rows with other labels


def test_rows_that_differ_late_stay_apart_and_signed_zeros_do_not_count():
    rng = np.random.default_rng(0)
    A = np.tile(rng.integers(0, 2, (1, 41)).astype(float), (4, 1))
    A[1, 35] += 1e-12
    A[:, 5] = [0.0, 0.0, -0.0, 0.0]
    merged = MergedRows.of(HingeQP(A, np.ones(4), np.arange(1.0, 5.0), np.eye(40), np.zeros(41)))
    assert_array_equal(merged.group, [0, 1, 0, 0])
    assert_array_equal(merged.qp.upper, [8.0, 2.0])


def test_rows_whose_hashes_agree_by_chance_are_not_merged(monkeypatch):
    monkeypatch.setattr(merging, "_hashes", lambda qp, rows, n_columns: np.zeros(len(rows), dtype=np.uint64))
    assert MergedRows.of(repeated_qp(0)) is None


@pytest.mark.parametrize("class_weight", [(1.0, 1.0), (0.5, 3.0)])
def test_repeated_samples_are_samples_with_summed_weights(class_weight):
    """In the loss and in the regulariser, though class weights count in the loss only."""
    X, y = random_samples(3, m=40)
    rng, support = np.random.default_rng(3), np.array([0, 2, 5])
    order, weight = rng.permutation(np.repeat(np.arange(40), 3)), rng.uniform(0.5, 2.0, 120)
    options = {"C": 3.0, "class_weight": class_weight}
    many = make_problem("hinge", X[order], y[order], sample_weight=weight, **options)
    few = make_problem("hinge", X, y, sample_weight=np.bincount(order, weights=weight), **options)
    one, other = many.step().refit(support), few.step().refit(support)
    assert one.value == pytest.approx(other.value, rel=1e-11)
    assert_allclose(one.z, other.z, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_an_active_set_finishes_where_dependent_rows_share_the_margin(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.choice([-1.0, 1.0], 200), rng.normal(size=(200, 2))])
    y = np.where((X[:, 0] > 0) == (rng.random(200) < 0.9), 1.0, -1.0)  # f = +-1 by the first column alone is hard to beat
    problem = make_problem("hinge", X, y, C=16.0)
    qp = HingeQP(problem.A, y, problem.upper, problem.G, np.zeros(problem.n_terms + 1))
    interior = InteriorPoint(qp, np.zeros(qp.n_terms + 1), 1.0)
    assert interior.advance(1e-12)
    start = interior.crossover()
    assert _is_crowded(qp, start)
    solution = solve_active_set(qp, start)
    assert solution is not None
    assert kkt_residual(qp, solution) < 1e-9


def test_a_change_of_a_basis_is_spread_over_all_rows_without_moving_the_surface():
    rng = np.random.default_rng(0)
    V = rng.normal(size=(8, 3)) @ rng.normal(size=(3, 40))
    e, room = np.ones(40), rng.uniform(0.0, 1.0, 40)
    basis = _Basis.of(V, e, room)
    assert len(basis.rows) == 4  # three directions and c
    change = rng.normal(size=4)
    spread = basis.spread(change)
    B = np.vstack([V, e])
    assert_allclose(B @ spread, B[:, basis.rows] @ change, atol=1e-10)
    assert np.linalg.norm(spread) < np.linalg.norm(change)
    assert np.count_nonzero(np.abs(spread) > 1e-8) > 30


@pytest.mark.parametrize("seed", range(3))
def test_sweeps_on_discrete_data_are_exact(seed):
    X, y = discrete_samples(seed)
    problem = make_problem("hinge", X, y, C=16.0)
    step, u = HingeStep(problem), np.zeros(problem.n_terms)
    for rho in (0.1, 1.0, 10.0, 100.0):
        warm = step.sweep(u, rho)
        cold = HingeStep(problem).sweep(u, rho)
        assert warm.value == pytest.approx(cold.value, rel=1e-10)
        u = np.where(np.abs(warm.z) >= np.sort(np.abs(warm.z))[-3], warm.z, 0.0)


@pytest.mark.parametrize("seed", range(3))
def test_exceeds_agrees_with_refits(seed):
    X, y = discrete_samples(seed)
    problem = make_problem("hinge", X, y, C=16.0)
    step = HingeStep(problem)
    start = step.refit(np.array([0, 1, 9]))
    for support in ([0, 4, 10], [1, 2, 11], [3, 7, 13]):
        support = np.array(support)
        value = HingeStep(problem).refit(support).value
        assert step.exceeds(support, value * 0.99)
        assert not step.exceeds(support, value * 1.01)
        assert step.refit(support).value == pytest.approx(value, rel=1e-10)
        assert step.exceeds(support, start.value) <= (value >= start.value * (1 - 1e-12))
    assert not HingeStep(problem).exceeds(np.array([0, 1]), 0.0)  # there is no answer to start from


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_descents_end_where_they_would_without_bounds(loss, monkeypatch):
    X, y = discrete_samples(5)
    problem = make_problem(loss, X, y, C=16.0)
    quick = problem.explorer().descend(np.array([3, 7, 13]))
    monkeypatch.setattr(RankedExplorer, "_is_above", lambda self, support, ceiling: False)
    slow = problem.explorer().descend(np.array([3, 7, 13]))
    assert quick.value == pytest.approx(slow.value, rel=1e-9)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_certificates_of_discrete_data_hold(class_weight):
    X, y = discrete_samples(7)
    weight = np.random.default_rng(7).integers(1, 4, len(y)).astype(float)
    model = SparseQuadraticSVC(k=4, C=64.0, loss="hinge", class_weight=class_weight).fit(X, y, sample_weight=weight)
    certificate = model.certificates_[0]
    assert certificate.stationarity < 1e-8
    assert certificate.local_minimum
    repeated = np.repeat(np.arange(len(y)), weight.astype(int))
    other = SparseQuadraticSVC(k=4, C=64.0, loss="hinge", class_weight=class_weight).fit(X[repeated], y[repeated])
    assert other.certificates_[0].objective == pytest.approx(certificate.objective, rel=1e-9)
