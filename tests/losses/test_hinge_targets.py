"""The hinge solvers with margin targets other than 1, and with rows that c does not move."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers import make_problem, random_samples
from quadric.losses.hinge.active_set import AT_UPPER, AT_ZERO, FREE, _Candidate, _move, solve_active_set
from quadric.losses.hinge.interior_point import InteriorPoint
from quadric.losses.hinge.merging import MergedRows
from quadric.losses.hinge.qp import HingeQP
from quadric.losses.hinge.step import HingeStep, _on_working_set, solve_hinge


def plain_qp(seed, m=60, n=3, C=4.0):
    X, y = random_samples(seed, m=m, n=n)
    problem = make_problem("hinge", X, y, C=C)
    return HingeQP(problem.A, y, np.full(m, C), problem.G, np.zeros(problem.n_terms + 1))


def penalised_qp(seed, mu=3.0, scale=0.7, terms=(0, 1, 2, 3, 4, 5), **options):
    """mu |z_j| on some terms, each as one more row."""
    qp, terms = plain_qp(seed, **options), np.array(terms)
    rows = np.zeros((len(terms), qp.n_terms + 1))
    rows[np.arange(len(terms)), terms] = scale
    g = qp.g.copy()
    g[terms] -= mu
    return HingeQP(
        np.vstack([qp.A, rows]),
        np.append(qp.y, np.ones(len(terms))),
        np.append(qp.upper, np.full(len(terms), 2 * mu / scale)),
        qp.P,
        g,
        0.0,
        np.append(np.ones(len(qp.y)), np.zeros(len(terms))),
    )


def minimum(qp, mu=0.0, terms=()):
    """min q + mu sum |z_j| by Clarabel, on the rows that see c only."""
    rows = qp.A[:, -1] != 0
    w = cp.Variable(qp.n_terms + 1)
    root = np.linalg.cholesky(qp.P)
    loss = qp.upper[rows] @ cp.pos(qp.target[rows] - cp.multiply(qp.y[rows], qp.A[rows] @ w))
    penalty = mu * cp.norm1(w[list(terms)]) if len(terms) else 0.0
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(root.T @ w[:-1]) + loss + penalty))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return float(problem.value)


def kkt_residual(qp, solution):
    w, alpha = solution.w, solution.alpha
    h = qp.g + (qp.y * alpha) @ qp.A
    stationarity = np.append(qp.P @ w[:-1] - h[:-1], h[-1])
    shortfall = qp.target - qp.y * (qp.A @ w)
    rises = np.where(alpha < qp.upper, np.maximum(shortfall, 0), 0)
    falls = np.where(alpha > 0, np.maximum(-shortfall, 0), 0)
    box = max(np.max(-alpha), np.max(alpha - qp.upper))
    return max(np.abs(stationarity).max() / np.abs((qp.y * alpha) @ qp.A).max(), rises.max(), falls.max(), box)


def cold(qp):
    return solve_hinge(qp, np.zeros(qp.n_terms + 1), None)


@pytest.mark.parametrize("seed", range(5))
def test_targets_of_one_change_no_bit(seed):
    qp = plain_qp(seed)
    told = replace(qp, targets=np.ones(len(qp.y)))
    a, b = cold(qp), cold(told)
    assert_array_equal(a.w, b.w)
    assert_array_equal(a.alpha, b.alpha)
    assert a.violation == b.violation


@pytest.mark.parametrize("seed", range(8))
def test_any_targets_against_clarabel(seed):
    rng = np.random.default_rng(seed)
    qp = plain_qp(seed)
    qp = replace(qp, targets=rng.uniform(-1.0, 2.0, size=len(qp.y)))
    solution = cold(qp)
    assert kkt_residual(qp, solution) < 1e-9
    assert qp.value(solution.w, qp.margins(solution.w)) == pytest.approx(minimum(qp), rel=1e-7)
    assert qp.relative_gap(solution.w, solution.alpha, qp.margins(solution.w)) < 1e-9


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("mu", [0.1, 3.0, 300.0])
def test_penalty_rows_are_an_l1_norm(seed, mu):
    terms = (0, 1, 2, 3, 4, 5)
    qp = penalised_qp(seed, mu, scale=[0.2, 1.0, 5.0][seed % 3], terms=terms)
    solution = cold(qp)
    value = qp.value(solution.w, qp.margins(solution.w))
    samples = plain_qp(seed)
    z = solution.w[:-1]
    by_hand = samples.value(solution.w, samples.margins(solution.w)) + mu * np.abs(z[list(terms)]).sum()
    assert value == pytest.approx(by_hand, rel=1e-12)
    assert value == pytest.approx(minimum(samples, mu, terms), rel=1e-7)
    assert kkt_residual(qp, solution) < 1e-9
    share = solution.alpha[60:] / qp.upper[60:]
    free = (share > 1e-9) & (share < 1 - 1e-9)
    assert np.abs(z[list(terms)][free]).max(initial=0.0) < 1e-12
    assert np.abs(z[list(terms)][~free]).min(initial=1.0) > 1e-6


def test_penalties_without_a_free_sample():
    """A tiny loss weight on classes of one size: all samples at their bounds, the penalised terms free, c between the kinks."""
    qp = penalised_qp(0, mu=1.0, C=1e-4)
    qp = replace(qp, targets=np.append(np.where(qp.y[:60] > 0, 3.0, -1.0), np.zeros(6)))  # kinks near c = 3 and c = 1
    solution = cold(qp)
    alpha = solution.alpha[:60]
    assert solution.w[-1] == pytest.approx(2.0, abs=0.1)
    assert ((alpha == 0.0) | (alpha == qp.upper[:60])).all()
    assert_array_equal(np.abs(solution.w[:6]) < 1e-12, np.ones(6, dtype=bool))
    assert kkt_residual(qp, solution) < 1e-9
    again = solve_active_set(qp, solution.alpha)
    assert again is not None
    assert_allclose(again.w, solution.w, atol=1e-12)


def test_balance_is_a_matter_of_the_samples_alone():
    """Huge penalties do not make a wrong balance look small."""
    qp = penalised_qp(1, mu=1e9)
    solution = cold(qp)
    assert qp.imbalance(solution.alpha) < 1e-9
    spoilt = solution.alpha.copy()
    spoilt[np.argmin(spoilt[:60])] += 0.5 * qp.upper[0]
    assert qp.imbalance(spoilt) == pytest.approx(0.5, rel=1e-6)
    penalties = solution.alpha.copy()
    penalties[60:] = 0.0
    assert qp.imbalance(penalties) < 1e-9


def test_a_sample_gives_way_where_balance_needs_it():
    """All samples at their bounds and out of balance: the one nearest to its kink is freed, though penalty rows are nearer."""
    qp = penalised_qp(0)
    qp = replace(qp, y=np.append(np.where(np.arange(60) < 50, 1.0, -1.0), np.ones(6)))
    w = np.append(np.zeros(6), [1e-11, 1e-11, 1e-11, 1.0])  # every positive within tolerance of its kink, none on it
    place = np.where(qp.y > 0, AT_ZERO, AT_UPPER).astype(np.int8)
    place[60:] = FREE
    alpha = np.where(place == AT_UPPER, qp.upper, np.where(place == FREE, 0.5 * qp.upper, 0.0))
    moved = _move(qp, place, _Candidate(w, alpha, 1.0, qp.margins(w)))
    (freed,) = np.flatnonzero(moved != place)
    assert moved[freed] == FREE
    assert freed == np.argmin(np.abs(1.0 - qp.margins(w)[:60]))


def test_loose_interior_point_ends_with_the_right_intercept():
    qp = penalised_qp(2)
    exact = cold(qp)
    interior = InteriorPoint(qp, np.zeros(qp.n_terms + 1), 1.0)
    assert interior.advance(1e-10)
    loose = interior.solution()
    assert qp.value(loose.w, qp.margins(loose.w)) == pytest.approx(qp.value(exact.w, qp.margins(exact.w)), rel=1e-9)
    assert loose.violation < 1e-4


@pytest.mark.parametrize("seed", range(5))
def test_best_level_is_the_best(seed):
    rng = np.random.default_rng(seed)
    qp = penalised_qp(seed)
    qp = replace(qp, targets=np.append(rng.uniform(0.0, 2.0, size=60), np.zeros(6)))
    z = 0.1 * rng.normal(size=qp.n_terms)
    best = np.append(z, qp.best_level(z))
    value = qp.value(best, qp.margins(best))
    for c in np.linspace(-4, 4, 801):
        other = np.append(z, c)
        assert value <= qp.value(other, qp.margins(other)) + 1e-12


def test_samples_held_at_their_bounds_keep_their_targets():
    qp, rng = penalised_qp(3), np.random.default_rng(0)
    qp = replace(qp, targets=np.append(rng.uniform(0.0, 2.0, size=60), np.zeros(6)))
    w = rng.normal(size=qp.n_terms + 1)
    shortfall = qp.target - qp.margins(w)
    rows = np.flatnonzero(np.abs(shortfall) < np.median(np.abs(shortfall)))
    at_bound = np.where(shortfall > 0, qp.upper, 0.0)
    at_bound[rows] = 0.0
    part = qp.restricted(rows, at_bound)
    assert part.value(w, part.margins(w)) == pytest.approx(qp.value(w, qp.margins(w)), rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_a_working_set_of_samples_and_penalties_is_enough(seed):
    qp = penalised_qp(seed, m=400)
    answer = cold(qp)
    moved = replace(qp, upper=qp.upper * 1.05)
    partial, whole = _on_working_set(moved, answer.w), cold(moved)
    assert partial is not None
    assert kkt_residual(moved, partial) < 1e-9
    assert_allclose(partial.w, whole.w, atol=1e-9)


def test_equal_rows_with_different_targets_stay_apart():
    qp = plain_qp(4, m=20)
    A, y, upper = np.repeat(qp.A, 4, axis=0), np.repeat(qp.y, 4), np.repeat(qp.upper, 4)
    doubled = HingeQP(A, y, upper, qp.P, qp.g, 0.0, np.tile([1.0, 0.5], 40))
    assert len(MergedRows.of(doubled).qp.y) == 40
    solution = cold(doubled)
    assert doubled.value(solution.w, doubled.margins(solution.w)) == pytest.approx(minimum(doubled), rel=1e-7)


@pytest.mark.parametrize("C", [0.5, 4.0, 64.0])
def test_a_step_at_another_C_starts_from_the_old_answer(C):
    X, y = random_samples(5, m=80)
    problem, everything = make_problem("hinge", X, y, C=4.0), np.arange(9)
    step = HingeStep(problem)
    step.refit(everything)
    warm = step.at(C)
    assert_allclose(warm.multipliers, step.multipliers * C / 4.0)
    assert warm.refit(everything).value == pytest.approx(HingeStep(replace(problem, C=C)).refit(everything).value, rel=1e-10)
    assert step.problem.C == 4.0
    assert HingeStep(problem).at(C).refit(everything).value == pytest.approx(warm.refit(everything).value, rel=1e-10)
