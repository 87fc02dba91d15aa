"""Branch and bound against enumeration: equal every time, and bounds never above."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from helpers import LOSSES, make_problem, random_samples, slow_objective, surface_of
from helpers.listening import heard
from quadric.losses.base import Found
from quadric.losses.perspective import PerspectiveRelaxation
from quadric.progress import STOP
from quadric.search.decomposition import Schedule, Status
from quadric.search.exact import prove, supports_below
from quadric.search.methods import SearchOptions, search
from quadric.search.tree import Tree

N_PROBLEMS = 200
TOLERANCE = {"least_squares": 1e-8, "hinge": 1e-6, "logistic": 1e-6}


def random_problem(loss, seed):
    """A small problem of any shape: plain, weighted, rounded or with dependent columns."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    X, y = random_samples(seed, m=int(rng.integers(6, 30)), n=n)
    kind = seed % 4
    w = rng.uniform(0.3, 3.0, size=len(y)) if kind == 1 else np.ones(len(y))
    if kind == 2:
        X = np.round(2 * X)
        X[0] += 1.0
    if kind == 3 and n < 3:
        X = np.column_stack([X, X[:, 0]])
    problem = make_problem(loss, X, y, 10.0 ** rng.uniform(-2, 4), 1, w)
    return problem.with_k(int(rng.integers(1, min(problem.n_terms, 4) + 1)))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("block", range(10))
def test_exact_is_enumeration(loss, block):
    for seed in range(block, N_PROBLEMS, 10):
        problem = random_problem(loss, seed)
        step = problem.step()
        values = {s: step.refit(np.array(s)).value for s in combinations(range(problem.n_terms), problem.k)}
        optimum = min(values.values())
        supports = list(values)
        start = supports[seed % len(supports)]  # any start must do
        incumbent = Found(np.array(start), values[start])
        proof = prove(problem, incumbent)
        assert proof.closed
        assert proof.best.value == pytest.approx(optimum, rel=TOLERANCE[loss])
        assert proof.lower_bound <= optimum * (1 + 1e-12)
        root = prove(problem, incumbent, time_limit=0.0)
        assert root.lower_bound <= optimum * (1 + 1e-12)
        assert root.n_nodes <= 1 + proof.n_nodes


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(6))
def test_far_from_the_origin_with_a_large_C(loss, seed):
    """Nearly dependent terms and huge multipliers: bounds must stay below the best that enumeration finds."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 2)) + 100.0
    y = np.where((X[:, 0] - 100) * (X[:, 1] - 100) + 0.5 * rng.normal(size=20) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    problem = make_problem(loss, X, y, C=1e6, k=3)
    step = problem.step()
    values = {s: step.refit(np.array(s)).value for s in combinations(range(5), 3)}
    best = min(values, key=values.get)
    start = max(values, key=values.get)
    proof = prove(problem, Found(np.array(start), values[start]))
    assert proof.lower_bound <= values[best] * (1 + 1e-12)
    assert proof.best.value <= values[best] * (1 + 1e-6)
    for support in values:  # the answer does not depend on what was solved before
        assert problem.step().refit(np.array(support)).value == pytest.approx(values[support], rel=1e-6)


def attained(problem, X, y, C):
    """Objectives of all supports, by the definition: a sum of squares, so nothing cancels."""
    step = problem.step()
    refits = {s: step.refit(np.array(s)) for s in combinations(range(problem.n_terms), problem.k)}
    return {s: slow_objective(surface_of(problem, r.z, r.c), X, y, problem.loss.name, C) for s, r in refits.items()}


def test_matrices_singular_to_working_precision_are_searched_by_rows():
    B = np.random.default_rng(1).normal(size=(20, 1))
    X = np.column_stack([B, B, B, B > 0, ~(B > 0)])
    y = np.where(B[:, 0] > 0.5, 1.0, -1.0)
    problem = make_problem("least_squares", X, y, C=1e8, k=2)
    values = attained(problem, X, y, 1e8)
    worst = max(values, key=values.get)
    proof = prove(problem, Found(np.array(worst), values[worst]))
    assert proof.closed
    assert proof.best.value == pytest.approx(min(values.values()), rel=1e-9)
    assert 0 < proof.lower_bound <= min(values.values()) * (1 + 1e-9)


def test_without_rows_rounding_leaves_no_bound():
    """Moments alone, as of data that are gone: the digits that they have lost cannot be had back, and nothing is claimed."""
    B = np.random.default_rng(1).normal(size=(20, 1))
    X, y = np.column_stack([B, B, B, B > 0, ~(B > 0)]), np.where(B[:, 0] > 0.5, 1.0, -1.0)
    problem = replace(make_problem("least_squares", X, y, C=1e14, k=2), samples=None)
    start = problem.step().refit(np.array([0, 1]))
    proof = prove(problem, Found(np.array([0, 1]), start.value))
    assert (proof.lower_bound, proof.closed, proof.stopped) == (None, False, False)
    assert start.residual > 0.0


@pytest.mark.parametrize("seed", range(10))
def test_bounds_survive_cancellation(seed):
    """m < p and a huge C: the minimum is tiny beside the constant that sums over samples compute it from."""
    X, y = random_samples(seed, m=6, n=3)
    problem = make_problem("least_squares", X, y, C=1e8, k=6)
    values = attained(problem, X, y, 1e8)
    best, worst = min(values, key=values.get), max(values, key=values.get)
    assert values[best] < 1e-3 * problem.constant
    for start in (best, worst):
        proof = prove(problem, Found(np.array(start), values[start]))
        assert proof.closed
        assert (1 - 1e-7) * values[best] <= proof.lower_bound <= (1 + 1e-9) * values[best]


@pytest.mark.parametrize("loss", LOSSES)
def test_a_stopped_proof_is_honest(loss):
    """With time for a few nodes only, the bound is below the optimum and the gap is that between them."""
    X, y = random_samples(3, m=40, n=4)
    problem = make_problem(loss, X, y, C=64.0, k=4)
    optimum = search(problem, "exact", SearchOptions()).objective
    stopped = search(problem, "exact", SearchOptions(Schedule(time_limit=0.0)))
    assert stopped.lower_bound <= optimum * (1 + 1e-9) <= stopped.objective * (1 + 1e-8)
    assert stopped.status is Status.TIME_LIMIT
    assert stopped.lower_bound < 0.999 * stopped.objective


def test_progress_is_told():
    lines = []
    X, y = random_samples(3, m=80, n=6)
    problem = make_problem("least_squares", X, y, C=64.0, k=6)
    worst = Found(np.arange(6), problem.step().refit(np.arange(6)).value)
    assert prove(problem, worst, report=lines.append).n_nodes > 32
    assert any("nodes" in line and "bound" in line and "gap" in line for line in lines)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_number_of_nodes_gives_a_bound_that_holds_and_more_nodes_no_worse(loss):
    X, y = random_samples(3, m=40, n=4)
    problem = make_problem(loss, X, y, C=64.0, k=4)
    best = search(problem, "best", SearchOptions())
    start = Found(best.support, best.objective)
    optimum = search(problem, "exact", SearchOptions()).objective
    proofs = [prove(problem, start, node_limit=limit) for limit in (1, 4, 10_000)]
    assert [proof.n_nodes for proof in proofs[:2]] == [1, 4]
    bounds = [proof.lower_bound for proof in proofs]
    assert bounds == sorted(bounds)
    assert bounds[-1] <= optimum * (1 + 1e-9)
    assert [proof.stopped for proof in proofs] == [True, True, False]
    assert proofs[-1].closed
    assert prove(problem, start, node_limit=4).lower_bound == bounds[1]


def test_the_share_of_a_limit_is_told():
    X, y = random_samples(3, m=80, n=6)
    problem = make_problem("least_squares", X, y, C=64.0, k=6)
    worst = Found(np.arange(6), problem.step().refit(np.arange(6)).value)
    with heard() as told:
        prove(problem, worst, node_limit=100)
    assert {(0.32, "branch and bound"), (0.64, "branch and bound")} <= set(told)
    with heard() as told:
        prove(problem, worst, time_limit=1e9)
    assert all(0.0 < share < 1e-6 for share, _ in told)


def test_everything_allowed_needs_no_search():
    X, y = random_samples(3, m=40, n=2)
    problem = make_problem("least_squares", X, y, C=4.0, k=5)
    everything = Found(np.arange(5), problem.step().refit(np.arange(5)).value)
    assert prove(problem, everything).n_nodes == 1


def wide_problem(loss="least_squares"):
    """Enough candidates for some hundred nodes, and a start that local search found."""
    X, y = random_samples(3, m=80, n=6)
    problem = make_problem(loss, X, y, C=64.0, k=6)
    best = search(problem, "best", SearchOptions())
    return problem, Found(best.support, best.objective)


def test_the_gap_falls_while_the_tree_grows():
    problem, start = wide_problem()
    proof = prove(problem, start)
    nodes, bounds = zip(*proof.history, strict=True)
    assert len(bounds) > 5
    assert list(nodes) == sorted(set(nodes))
    assert list(bounds) == sorted(set(bounds))
    assert nodes[0] == 1
    assert bounds[-1] == proof.lower_bound
    halfway = nodes[len(nodes) // 2]
    assert prove(problem, start, node_limit=halfway).lower_bound == dict(proof.history)[halfway]


def test_a_gap_limit_stops_a_proof_only_after_what_is_cheap(monkeypatch):
    problem, start = wide_problem()
    assert prove(problem, start, gap_limit=0.5).closed
    monkeypatch.setattr("quadric.losses.least_squares.bounds.LeastSquaresBounds.cheap_nodes", 10)
    rough = prove(problem, start, gap_limit=0.05)
    assert not rough.closed
    assert not rough.stopped
    assert rough.lower_bound >= 0.95 * start.value
    assert rough.n_nodes < prove(problem, start, gap_limit=0.0).n_nodes
    assert prove(problem, start, gap_limit=0.0).closed


def test_a_proof_that_somebody_stops_keeps_what_it_has(monkeypatch):
    problem, start = wide_problem()
    monkeypatch.setattr("quadric.search.tree.REPORT_EVERY", 1)

    def stop(line):
        STOP.is_wanted = True

    proof, whole = prove(problem, start, report=stop), prove(problem, start)
    assert proof.stopped
    assert not proof.closed
    assert proof.n_nodes < whole.n_nodes
    assert proof.lower_bound <= whole.lower_bound
    assert whole.closed  # an earlier wish is forgotten


@pytest.mark.parametrize("loss", LOSSES)
def test_what_waits_for_its_turn_is_bounded(loss, monkeypatch):
    """Where too many nodes are open the tree goes into the depth, and finds the same."""
    X, y = random_samples(3, m=40, n=4)
    problem = make_problem(loss, X, y, C=64.0, k=4)
    poor = Found(np.arange(4), problem.step().refit(np.arange(4)).value)
    wide = prove(problem, poor)
    below = [supports_below(problem, wide.best, 1.2 * wide.best.value)]
    monkeypatch.setattr("quadric.search.tree.MOST_OPEN", 500)
    deep = prove(problem, poor)
    below.append(supports_below(problem, wide.best, 1.2 * wide.best.value))
    first, second = ({tuple(found.support) for found in supports} for supports, _ in below)
    assert len(first) > 3
    assert first == second
    assert deep.closed
    assert deep.best.value == pytest.approx(wide.best.value, rel=1e-7)
    assert wide.best.value < 0.9 * poor.value
    for limit in (1, 2, 5, 20):
        assert prove(problem, poor, node_limit=limit).lower_bound <= wide.best.value


@pytest.mark.parametrize("loss", LOSSES)
def test_supports_below_a_ceiling_are_all_listed(loss):
    X, y = random_samples(4, m=60, n=3)
    problem = make_problem(loss, X, y, C=16.0, k=3)
    step = problem.step()
    values = {s: step.refit(np.array(s)).value for s in combinations(range(9), 3)}
    best = min(values, key=values.get)
    ceiling = float(np.quantile(list(values.values()), 0.2))
    whole, below = supports_below(problem, Found(np.array(best), values[best]), ceiling)
    expected = {s for s, value in values.items() if value <= ceiling}
    assert len(expected) > 10
    assert {tuple(found.support.tolist()) for found in whole} == expected
    assert below >= ceiling
    for limit in (0, 3, 10, 30):
        supports, below = supports_below(problem, Found(np.array(best), values[best]), ceiling, node_limit=limit)
        listed = {tuple(found.support.tolist()) for found in supports}
        assert {s for s, value in values.items() if value < below} <= listed <= expected


def test_a_list_claims_nothing_where_rounding_leaves_no_bound():
    B = np.random.default_rng(1).normal(size=(20, 1))
    X, y = np.column_stack([B, B, B, B > 0, ~(B > 0)]), np.where(B[:, 0] > 0.5, 1.0, -1.0)
    problem = replace(make_problem("least_squares", X, y, C=1e14, k=2), samples=None)
    start = Found(np.array([0, 1]), problem.step().refit(np.array([0, 1])).value)
    assert supports_below(problem, start, 2.0 * start.value) == ((), 0.0)


def test_a_support_whose_minimum_is_unsure_leaves_the_proof_open(monkeypatch):
    """Evaluations that cannot tell must end the tree, and its bound must respect them."""
    problem, start = wide_problem()
    bounds = "quadric.losses.least_squares.bounds.LeastSquaresBounds"
    worse = Found(np.arange(6), problem.step().refit(np.arange(6)).value)
    monkeypatch.setattr(f"{bounds}.minimum", lambda self, support: (start.value * 1.1, start.value * 0.7))
    monkeypatch.setattr(f"{bounds}.examined", lambda self, support: (start.value * 1.1, start.value * 0.7))
    proof = prove(problem, worse)
    assert not proof.closed
    assert proof.lower_bound == prove(problem, worse, node_limit=0).lower_bound < start.value  # all that is left is the root's


def test_the_relaxation_is_chosen_at_the_root():
    """The perspective where it cuts the gap, today's where terms are so alike that it does not."""
    X, y = random_samples(0, m=200, n=5)
    plain = make_problem("least_squares", X, y, C=1.0, k=4)
    alike = make_problem("least_squares", np.column_stack([X[:, :2], X[:, :2] + 0.02 * X[:, 2:4]]), y, C=1e4, k=4)
    chosen = []
    for problem in (plain, alike):
        result = search(problem, "best", SearchOptions())
        bounds = problem.loss.bounds(problem, problem.step())
        tree = Tree(problem, bounds, Found(result.support, result.objective))
        chosen.append(isinstance(tree._root(bounds.relaxations())[0], PerspectiveRelaxation))
    assert chosen == [True, False]
