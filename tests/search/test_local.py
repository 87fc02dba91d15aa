"""Exchanges, forward selection and perturbations against refits and enumeration."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers import LOSSES, make_problem, random_samples
from quadric.losses.base import Found
from quadric.losses.least_squares.explorer import LeastSquaresExplorer
from quadric.losses.ranked import RankedExplorer
from quadric.losses.tableau import Tableau
from quadric.search.methods import SearchOptions, search
from quadric.search.rules import RequiredTerms

NONE = np.empty(0, dtype=np.intp)


def least_squares(seed=0, n=3, C=16.0, k=3):
    X, y = random_samples(seed, m=50, n=n)
    return make_problem("least_squares", X, y, C=C, k=k)


def tableau_of(problem, support=NONE, required=NONE):
    tableau = Tableau(problem.M, problem.q, problem.constant, required)
    tableau.go_to(support)
    return tableau


@pytest.mark.parametrize("seed", range(3))
def test_tableau_knows_every_neighbour(seed):
    problem = least_squares(seed)
    step, support = problem.step(), np.array([0, 3, 7])
    tableau = tableau_of(problem, support)
    here = step.refit(support).value
    assert tableau.value == pytest.approx(here, rel=1e-12)
    gains, costs = tableau.gains(), tableau.costs()
    for j in np.setdiff1d(np.arange(9), support):
        assert here - step.refit(np.sort(np.append(support, j))).value == pytest.approx(gains[j], rel=1e-8)
    for i in support:
        assert step.refit(support[support != i]).value - here == pytest.approx(costs[i], rel=1e-8)
    moves = RequiredTerms(9).moves(support)
    table = tableau.exchanges(moves)
    assert_array_equal(moves.out, support)
    for a, i in enumerate(moves.out):
        for b, j in enumerate(moves.into):
            other = np.sort(np.append(support[support != i], j))
            assert step.refit(other).value - here == pytest.approx(table[a, b], abs=1e-9 * here)


def test_tableau_comes_back():
    problem = least_squares(1)
    tableau = tableau_of(problem, np.array([1, 2]))
    saved, value = tableau.saved(), tableau.value
    for j in (5, 6, 2):
        tableau.add(j) if not tableau.inside[j] else tableau.drop(j)
    tableau.restore(saved)
    assert_array_equal(tableau.support, [1, 2])
    assert tableau.value == value
    tableau.go_to(np.array([0, 4]))
    assert tableau.value == pytest.approx(problem.step().refit(np.array([0, 4])).value, rel=1e-12)


def test_required_terms_stay():
    problem = least_squares(2)
    tableau = tableau_of(problem, np.array([1, 2]), required=np.array([8]))
    assert_array_equal(tableau.support, [1, 2, 8])
    assert tableau.costs()[8] == np.inf
    assert 8 not in RequiredTerms(9, np.array([8])).moves(tableau.support).out


def test_combinations_of_the_support_are_left_alone():
    X, y = random_samples(3, m=50, n=2)
    problem = make_problem("least_squares", np.column_stack([X, X[:, 0]]), y, C=1e9)
    tableau = tableau_of(problem, np.array([6]))  # x0; x2 is the same column
    assert tableau.gains()[8] < 1e-3 * tableau.value
    tableau.add(8)
    assert np.isfinite(tableau.value)


def test_forward_selection_takes_the_best_each_time():
    problem = least_squares(4)
    step, explorer = problem.step(), LeastSquaresExplorer(problem)
    support = NONE
    for k in range(1, 6):
        values = {j: step.refit(np.sort(np.append(support, j))).value for j in range(9) if j not in support}
        support = explorer.resized(support, k)
        assert step.refit(support).value == pytest.approx(min(values.values()), rel=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(5))
def test_best_is_never_worse_than_pd(loss, seed):
    X, y = random_samples(seed, m=60, n=4)
    problem = make_problem(loss, X, y, C=64.0, k=4)
    pd, best = search(problem, "pd", SearchOptions()), search(problem, "best", SearchOptions())
    assert best.objective <= pd.objective
    assert len(best.support) == 4
    assert best.n_iter == pd.n_iter  # both count the convex steps of the decomposition, nothing else
    if loss == "least_squares":
        assert best.swap_optimal is True


def test_best_improves_on_pd_somewhere():
    improved = 0
    for seed in range(10):
        X, y = random_samples(seed, m=60, n=5)
        problem = make_problem("least_squares", X, y, C=256.0, k=4)
        pd, best = search(problem, "pd", SearchOptions()), search(problem, "best", SearchOptions())
        improved += best.objective < pd.objective * (1 - 1e-6)
    assert improved >= 3


@pytest.mark.parametrize("seed", range(10))
def test_perturbations_find_the_optimum(seed):
    problem = least_squares(seed, n=4, k=4)
    explorer, step = LeastSquaresExplorer(problem), problem.step()
    found = explorer.descend(explorer.resized(NONE, 4))
    found = explorer.refined(found, np.random.default_rng(0), 100, lambda: True)
    optimum = min(step.refit(np.array(support)).value for support in combinations(range(14), 4))
    assert found.value == pytest.approx(optimum, rel=1e-9)


def test_perturbations_repeat_and_stop():
    problem = least_squares(1, n=5, k=5)
    explorer = LeastSquaresExplorer(problem)
    start = explorer.descend(explorer.resized(NONE, 5))
    runs = [explorer.refined(start, np.random.default_rng(7), 20, lambda: True) for _ in range(2)]
    assert_array_equal(runs[0].support, runs[1].support)
    for seed in range(20):
        assert explorer.refined(start, np.random.default_rng(seed), 3, lambda: True).value <= start.value
    assert explorer.refined(start, np.random.default_rng(7), 20, lambda: False) is start


@pytest.mark.parametrize("seed", range(3))
def test_dual_bound_never_exceeds_the_truth(seed):
    """The bound on an exchange that the multipliers of the present fit give is below the exact change."""
    X, y = random_samples(seed, m=40, n=3)
    problem = make_problem("hinge", X, y, C=16.0, k=3)
    step = problem.step()
    explorer, support = RankedExplorer(problem, step), np.array([0, 2, 7])
    here = step.refit(support).value
    bound = explorer.dual_tableau(support)
    assert bound.value == pytest.approx(here, rel=1e-8)
    moves = problem.rule.moves(support)
    least = bound.exchanges(moves)
    for a, i in enumerate(moves.out):
        for b, j in enumerate(moves.into):
            other = np.sort(np.append(support[support != i], j))
            assert explorer.value(other) - here >= least[a, b] - 1e-8 * here


@pytest.mark.parametrize("seed", range(3))
def test_hinge_descent_improves_step_by_step(seed):
    X, y = random_samples(seed, m=60, n=4)
    problem = make_problem("hinge", X, y, C=64.0, k=3)
    explorer = problem.explorer()
    start = np.array([11, 12, 13])
    found = explorer.descend(start)
    assert found.value < explorer.value(start)
    assert found.value == pytest.approx(problem.step().refit(found.support).value, rel=1e-9)
    optimum = min(problem.step().refit(np.array(s)).value for s in combinations(range(14), 3))
    assert found.value <= optimum * 1.05


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("method", ["pd", "best", "exact"])
def test_required_terms_are_honoured(loss, method):
    X, y = random_samples(5, m=60, n=3)
    problem = make_problem(loss, X, y, C=16.0, k=3)
    free = search(problem, method, SearchOptions())
    outsider = int(np.setdiff1d(np.arange(9), free.support)[0])
    bound = make_problem(loss, X, y, C=16.0, k=3)
    bound = replace(bound, rule=RequiredTerms(9, np.array([outsider])))
    result = search(bound, method, SearchOptions())
    assert outsider in result.support
    assert len(result.support) == 3
    if method == "exact":
        inside = [s for s in combinations(range(9), 3) if outsider in s]
        optimum = min(problem.step().refit(np.array(s)).value for s in inside)
        assert result.objective == pytest.approx(optimum, rel=1e-7)


def test_better_of_ignores_rounding():
    a, b = Found(NONE, 1.0), Found(NONE, 1.0 - 1e-13)
    assert b.better_of(a) is a
    assert Found(NONE, 0.9).better_of(a).value == 0.9


def test_least_squares_twin_of_a_hinge_problem():
    X, y = random_samples(6, m=60, n=3)
    w, class_weight = np.random.default_rng(0).uniform(0.5, 2.0, size=60), np.array([0.5, 2.0])
    twin = make_problem("hinge", X, y, 8.0, 3, w, class_weight).screen()
    direct = make_problem("least_squares", X, y, 8.0, 3, w, class_weight)
    assert_allclose(twin.M, direct.M, rtol=1e-10, atol=1e-9)
    assert_allclose(twin.q, direct.q, rtol=1e-10, atol=1e-9)
    z = np.random.default_rng(1).normal(size=twin.n_terms)
    assert twin.objective(z, 0.3) == pytest.approx(direct.objective(z, 0.3), rel=1e-11)
