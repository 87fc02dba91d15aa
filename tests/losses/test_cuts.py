"""Refits under cuts: conditions of optimality, checked from X and y alone, on random problems of every kind of difficulty."""

from dataclasses import replace

import numpy as np
import pytest

from helpers import convex_solver, make_problem, random_samples, surface_of
from quadric.certificate import Judge, Question
from quadric.geometry import products
from quadric.geometry.cuts import Cuts, WeighedCuts
from quadric.losses.base import NoBound
from quadric.losses.cuts import Infeasible
from quadric.losses.dual import DualStep, feasible, safe_dual

LOSSES = ["least_squares", "logistic", "hinge"]


def random_cuts(rng, k):
    """Cuts that some z meets: some tight at it, some twice, and often with b = 0."""
    n_cuts = int(rng.integers(1, 12))
    A = rng.normal(size=(n_cuts, k)) * (rng.random((n_cuts, k)) < 0.6)
    inside = rng.normal(size=k)
    b = A @ inside - rng.random(n_cuts) * (rng.random(n_cuts) < 0.7)
    if rng.random() < 0.5:
        b = np.zeros(n_cuts)
    if rng.random() < 0.3:
        A[-1], b[-1] = 3.0 * A[0], 3.0 * b[0]
    return Cuts(A, b)


def case(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    X, y = random_samples(seed, m=40, n=n)
    C = 10.0 ** rng.uniform(-2, 6)
    k = int(rng.integers(1, n * (n + 3) // 2 + 1))
    support = np.sort(rng.choice(n * (n + 3) // 2, k, replace=False))
    return X, y, C, support, random_cuts(rng, k)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(60))
def test_conditions_of_optimality(loss, seed):
    X, y, C, support, cuts = case(seed)
    problem = make_problem(loss, X, y, C=C)
    solution = problem.step().refit_under(support, cuts)
    z, slack = solution.z[support], cuts.slack(solution.z[support])
    size = np.abs(z) + np.abs(problem.step().refit(support).z[support])
    scale = np.abs(cuts.A) @ size + np.abs(cuts.b)
    assert np.all(slack >= -1e-12 * scale)
    assert solution.multipliers.min() >= 0.0
    assert np.abs(solution.multipliers * slack).max() <= 1e-10 * solution.value
    # F - multipliers'(A z - b) is flat on the support and in c: no move along it lowers F
    pulled = solution.multipliers @ cuts.A
    for j in range(len(support) + 1):
        for sign in (-1.0, 1.0):
            other, h = solution.z.copy(), sign * 1e-4
            other[support[j : j + 1]] += h
            c = solution.c + h * (j == len(support))
            least = solution.value + float(pulled @ (other - solution.z)[support])
            assert problem.objective(other, c) >= least - 1e-9 * solution.value
    assert problem.objective(solution.z, solution.c) == pytest.approx(solution.value, rel=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(6))
def test_the_minimum_is_clarabels(loss, seed):
    X, y, _, support, cuts = case(seed)
    value, least = make_problem(loss, X, y, C=10.0).step().bracket_under(support, cuts)
    assert value == pytest.approx(convex_solver.minimum(X, y, loss, 10.0, support=support, cuts=cuts), rel=1e-8)
    assert value * (1.0 - 1e-9) <= least <= value


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_bounds_are_safe_and_near(loss, shift):
    """Also where features are far from zero, so that sums have lost digits."""
    for seed in range(20):
        X, y, C, support, cuts = case(seed)
        value, least = make_problem(loss, X + shift, y, C=C).step().bracket_under(support, cuts)
        assert value * (1.0 - 1e-6) <= least <= value


def near(numbers, size, rng):
    return numbers * np.exp(size * rng.normal(size=len(numbers)))


@pytest.mark.parametrize("loss", LOSSES)
def test_any_multipliers_give_a_bound(loss):
    for seed in range(20):
        (X, y, C, support, cuts), rng = case(seed), np.random.default_rng(seed)
        problem = make_problem(loss, X, y, C=C)
        step = problem.step()
        solution = step.refit_under(support, cuts)
        for size in (0.0, 1e-6, 1e-3, 1.0):
            held = WeighedCuts(cuts, near(solution.multipliers, size, rng) + size * rng.random(len(cuts)))
            if isinstance(step, DualStep):
                bound = safe_dual(problem, feasible(problem, near(step.multipliers, size, rng)), support, held)
            else:
                stacked, x = problem.stacked(support), near(np.append(solution.z[support], solution.c), size, rng)
                bound = stacked.bracket_under(stacked.at(x), x, WeighedCuts(cuts.with_level(), held.multipliers))[1]
            assert bound <= solution.value * (1.0 + 1e-12)
            assert size or bound >= solution.value * (1.0 - 1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_cuts_that_do_not_bind_change_nothing(loss):
    X, y = random_samples(1)
    step, support = make_problem(loss, X, y).step(), np.array([0, 2, 5])
    free = step.refit(support)
    solution = step.refit_under(support, Cuts(np.eye(3), free.z[support] - 1.0))
    assert solution.z == pytest.approx(free.z, rel=1e-9)
    assert not solution.multipliers.any()


@pytest.mark.parametrize("loss", LOSSES)
def test_cuts_that_contradict_each_other(loss):
    X, y = random_samples(1)
    step, support = make_problem(loss, X, y).step(), np.array([0, 2, 5])
    row = np.array([[1.0, 2.0, 0.0]])
    with pytest.raises(Infeasible):
        step.refit_under(support, Cuts(np.vstack([row, -2.0 * row]), np.array([1.0, 1.0])))
    with pytest.raises(Infeasible):
        step.refit_under(support, Cuts(np.zeros((1, 3)), np.array([1.0])))
    with pytest.raises(Infeasible):
        step.refit_under(support[:0], Cuts(np.zeros((1, 0)), np.array([1.0])))


@pytest.mark.parametrize("loss", LOSSES)
def test_too_many_terms_for_a_matrix_of_all_pairs(loss, monkeypatch):
    X, y, C, support, cuts = case(2)
    expected = make_problem(loss, X, y, C=C).step().bracket_under(support, cuts)
    monkeypatch.setattr(products, "MANY_TERMS", 0)
    problem = make_problem(loss, X, y, C=C)
    assert problem.is_wide
    assert problem.step().bracket_under(support, cuts) == pytest.approx(expected, rel=1e-9)
    solution = problem.step().refit_under(support, cuts)
    assert problem.objective(solution.z, solution.c) == pytest.approx(solution.value, rel=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
def test_answers_do_not_depend_on_those_before(loss):
    X, y, C, support, cuts = case(5)
    problem, loose = make_problem(loss, X, y, C=C), Cuts(cuts.A, cuts.b - 1e9)
    fewer = support[:-1], Cuts(loose.A[:, :-1], loose.b)
    step = problem.step()
    for terms, conditions in [(support, cuts), (support, loose), fewer, (support, cuts), (support, loose)]:
        value, least = step.bracket_under(terms, conditions)
        assert value == pytest.approx(problem.step().refit_under(terms, conditions).value, rel=1e-9)
        assert least == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize("shift", [0.0, 100.0, 1e5])
def test_sums_are_enough_for_least_squares(shift):
    """And where they have lost digits, the answer says so."""
    for seed in range(10):
        X, y, C, support, cuts = case(seed)
        exact = make_problem("least_squares", X + shift, y, C=C).step()
        sums = replace(exact.problem, samples=None, n_samples=len(y)).step()
        value, (expected, _) = sums.refit_under(support, cuts).value, exact.bracket_under(support, cuts)
        try:
            reached, least = sums.bracket_under(support, cuts)
        except NoBound:
            assert shift == 1e5
            continue
        assert reached == value
        assert value == pytest.approx(expected, rel=1e-7)
        assert least <= expected <= 2.0 * value - least


def binding(cuts, z):
    chosen = cuts.slack(z) <= 1e-9 * (np.abs(cuts.A) @ np.abs(z) + np.abs(cuts.b))
    return Cuts(cuts.A[chosen], cuts.b[chosen])


@pytest.mark.parametrize("loss", LOSSES)
def test_the_judge_finds_multipliers_of_its_own(loss):
    """Its bound on what is left to gain under cuts is never below the truth, and near it at the minimum."""
    for seed in range(20):
        (X, y, C, support, cuts), rng = case(seed), np.random.default_rng(seed)
        problem = make_problem(loss, X, y, C=C)
        solution, judge = problem.step().refit_under(support, cuts), Judge(X, np.ones(len(y)), np.ones(len(y)))
        for size in (0.0, 1e-3, 0.1):
            z = near(solution.z, size, rng)
            surface, live = surface_of(problem, z, solution.c), np.flatnonzero(z)
            on_live = binding(Cuts(cuts.A[:, np.isin(support, live)], cuts.b), solution.z[live])
            question = Question(loss, C, len(live), y)
            left = judge._loss_judge(surface, question).decrease(live, on_live)
            truth = problem.objective(z, solution.c) - solution.value
            assert left >= truth - 1e-10 * solution.value
            assert size or left <= 1e-8 * solution.value
            if not size:
                assert judge._loss_judge(surface, question).residual(live, on_live) <= 1e-6
