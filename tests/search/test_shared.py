"""One list of terms for all classes: against enumeration of all supports, for all losses and methods."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from helpers import LOSSES
from helpers.convex_solver import minimum
from quadric.losses import loss_named
from quadric.losses.base import Found
from quadric.losses.shared import SharedProblem, problem_of
from quadric.losses.supports import Move
from quadric.samples.labelled import LabelledSamples
from quadric.samples.target import Target
from quadric.search.exact import prove, supports_below
from quadric.search.methods import SearchOptions, is_swap_optimal, search
from quadric.search.rules import NO_LIMITS, SupportLimits
from quadric.search.structured import STRONG, Structure

K = 3
PATIENT = SearchOptions()


def samples_of(seed, n=3, m=60):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    scores = np.column_stack([X[:, 0] * X[:, 1], X[:, 0] ** 2 - 1.0, X[:, -1]]) + 0.5 * rng.normal(size=(m, 3))
    weights = rng.integers(1, 4, size=m).astype(float)
    return LabelledSamples(X, Target(scores.argmax(axis=1), np.array([1.0, 2.0, 0.5])), weights)


def shared_problem(loss, samples, k=K, C=4.0, limits=NO_LIMITS):
    problem = problem_of(loss_named(loss).data(samples, limits), samples.surfaces, C, k)
    assert isinstance(problem, SharedProblem)
    return problem


@cache
def enumerated(loss, seed, k=K):
    """The sum over the classes of the minimum of F on each support."""
    data = loss_named(loss).data(samples_of(seed), NO_LIMITS)
    steps = [data.problem_for(surface, 4.0, k).step() for surface in range(3)]
    supports = map(np.array, combinations(range(steps[0].problem.n_terms), k))
    return {tuple(s.tolist()): sum(step.refit(s).value for step in steps) for s in supports}


def neighbours(support, p):
    return [tuple(sorted({*support} - {i} | {j})) for i in support for j in set(range(p)) - {*support}]


@pytest.mark.parametrize("loss", LOSSES)
def test_the_best_list_is_the_best_of_all_lists_by_clarabel(loss):
    samples = samples_of(1, n=2)
    plain = LabelledSamples(samples.X, Target(samples.target.codes, np.ones(3)), np.ones(len(samples.target)))
    sums = {
        support: sum(minimum(plain.X, plain.target.y(c), loss, 4.0, support=np.array(support)) for c in range(3))
        for support in combinations(range(5), 2)
    }
    found = search(shared_problem(loss, plain, k=2), "exact", PATIENT)
    assert tuple(found.support) == min(sums, key=sums.get)
    assert found.objective == pytest.approx(min(sums.values()), rel=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_searches_say_what_enumeration_says(loss):
    """Exact searches find the optimum, bounds are never above it, and "swap-optimal" is neither claimed nor denied wrongly."""
    for seed in range(6):
        problem, values = shared_problem(loss, samples_of(seed)), enumerated(loss, seed)
        optimum = min(values.values())
        for method in ("pd", "best", "exact"):
            found = search(problem, method, PATIENT)
            support = tuple(found.support.tolist())
            assert found.z.shape == (problem.n_terms, 3)
            assert found.objective == pytest.approx(values[support], rel=1e-9)
            assert found.objective == pytest.approx(problem.objective(found.z, found.c), rel=1e-9)
            lowest = min(values[other] for other in neighbours(support, problem.n_terms))
            assert found.swap_optimal is bool(lowest >= values[support] * (1 - 1e-6))
            if method == "exact":
                assert found.objective == pytest.approx(optimum, rel=1e-7)
                assert optimum * (1 - 2e-7) <= found.lower_bound <= optimum * (1 + 1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_bounds_hold_after_any_number_of_nodes(loss):
    for seed in range(4):
        problem, values = shared_problem(loss, samples_of(seed)), enumerated(loss, seed)
        worst = max(values, key=values.get)
        start = Found(np.array(worst), values[worst])
        bounds = [prove(problem, start, node_limit=limit).lower_bound for limit in (0, 2, 8)]
        assert 0.5 * min(values.values()) <= bounds[0] <= bounds[-1] <= min(values.values())
        ceiling = sorted(values.values())[4] * (1 + 1e-6)
        listed, below = supports_below(problem, start, ceiling)
        assert {tuple(other.support.tolist()) for other in listed} == {s for s, value in values.items() if value <= ceiling}
        assert below >= ceiling


@pytest.mark.parametrize("loss", LOSSES)
def test_exchanges_cost_what_refits_say(loss):
    problem, values = shared_problem(loss, samples_of(2)), enumerated(loss, 2)
    for support in list(values)[::20]:
        found = Found(np.array(support), values[support])
        moves, change = problem.explorer().exchanges(found, np.inf)
        for (i, j), own in np.ndenumerate(change):
            other = tuple(sorted({*support} - {moves.out[i]} | {moves.into[j]}))
            assert own == pytest.approx(values[other] - values[support], abs=1e-7 * values[support])
        assert is_swap_optimal(problem, found) is bool((change >= -1e-6 * values[support]).all())


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_the_dual_tables_of_all_classes_add_up_to_a_bound(loss):
    problem, values = shared_problem(loss, samples_of(2)), enumerated(loss, 2)
    for support in list(values)[::20]:
        tableau, moves = problem.explorer().dual_tableau(np.array(support)), problem.rule.moves(np.array(support))
        assert tableau.value == pytest.approx(values[support], rel=1e-7)
        for (i, j), change in np.ndenumerate(tableau.exchanges(moves)):
            move = Move(moves.out[[i]], moves.into[[j]])
            assert tableau.value + change == pytest.approx(tableau.after(move), rel=1e-9)
            assert tableau.after(move) <= values[tuple(move.applied(np.array(support)).tolist())] * (1 + 1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_rules_on_supports_are_kept(loss):
    """With a strong hierarchy: the best of the admissible lists."""
    structure = Structure(STRONG, np.arange(3), np.zeros((0, 3)), np.zeros(0))
    problem, values = shared_problem(loss, samples_of(3), limits=SupportLimits(structure=structure)), enumerated(loss, 3)
    admissible = {s: value for s, value in values.items() if problem.rule.admissible(np.array(s))}
    assert 1 < len(admissible) < len(values)
    found = search(problem, "exact", PATIENT)
    assert found.objective == pytest.approx(min(admissible.values()), rel=1e-7)
    assert search(problem, "pd", PATIENT).objective >= found.objective * (1 - 1e-9)


def test_classes_alone_and_together_agree():
    """A class twice is twice the class: same terms, same coefficients in both columns."""
    samples = samples_of(4)
    for loss in LOSSES:
        data = loss_named(loss).data(samples, NO_LIMITS)
        alone, twice = (problem_of(data, surfaces, 4.0, K) for surfaces in ([1], [1, 1]))
        one, two = (search(problem, "exact", PATIENT) for problem in (alone, twice))
        assert np.array_equal(one.support, two.support)
        assert two.objective == pytest.approx(2 * one.objective, rel=1e-12)
        assert_allclose(two.z, np.column_stack([one.z, one.z]), rtol=1e-9, atol=1e-12)
