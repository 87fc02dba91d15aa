"""Hierarchies and budgets of features: the rule against definitions written out here, and searches against enumeration."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from helpers import LOSSES, make_problem, random_samples
from quadric.geometry.terms import LINEAR, term_count, term_factors
from quadric.losses.tableau import Tableau
from quadric.search.methods import SearchOptions, search
from quadric.search.structured import Structure

NONE = np.empty(0, dtype=np.intp)
PRICES = (1.0, 2.0, 0.5, 1.5, 0.0, 1.0)


def structure(n=3, hierarchy=None, most=None, cost=None, groups=None):
    """``most`` groups, prices of groups up to ``cost``; features are groups of their own unless ``groups`` numbers them."""
    groups = np.arange(n) if groups is None else np.array(groups)
    n_groups = groups.max() + 1
    budgets = [(np.ones(n_groups), most), (np.array(PRICES[:n_groups]), cost)]
    budgets = [(prices, limit) for prices, limit in budgets if limit is not None]
    prices = np.array([prices for prices, _ in budgets]).reshape(-1, n_groups)
    return Structure(hierarchy, groups, prices, np.array([float(limit) for _, limit in budgets]))


def obeys(support, own, required=()):
    """The definition, term by term."""
    n = len(own.groups)
    inside, first, used = set(support), term_count(n) - n, set()
    left, right = (factor.tolist() for factor in term_factors(n))
    for term in inside:
        a, b = left[term], right[term]
        used |= {own.groups[a]} | ({own.groups[b]} if b != LINEAR else set())
        parents = set() if b == LINEAR else {first + a, first + b}
        if own.hierarchy == "strong" and not parents <= inside:
            return False
        if own.hierarchy == "weak" and parents and not parents & inside:
            return False
    spent = [sum(prices[group] for group in used) for prices in own.prices]
    return set(required) <= inside and all(s <= limit + 1e-6 for s, limit in zip(spent, own.limits, strict=True))


CASES = {
    "strong": {"hierarchy": "strong"},
    "weak": {"hierarchy": "weak"},
    "features": {"most": 2},
    "cost": {"cost": 2.5},
    "strong, features": {"hierarchy": "strong", "most": 2},
    "weak, cost, groups": {"hierarchy": "weak", "cost": 2.0, "most": 1, "groups": [0, 1, 0]},
}


@pytest.fixture(params=CASES.values(), ids=CASES)
def case(request):
    return request.param


def ruled(loss, case, seed, k):
    X, y = random_samples(seed, m=60, n=3)
    return replace(make_problem(loss, X, y, C=16.0, k=k), rule=structure(**case).rule(np.arange(9), NONE))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("k", [2, 4])
def test_searches_are_enumeration(loss, case, k):
    problem, own = ruled(loss, case, 0, k), structure(**case)
    step = problem.step()
    admissible = [s for size in range(k + 1) for s in combinations(range(9), size) if obeys(s, own)]
    values = {s: step.refit(np.array(s, dtype=np.intp)).value for s in admissible}
    exact, best, pd = (search(problem, method, SearchOptions()) for method in ("exact", "best", "pd"))
    assert exact.objective == pytest.approx(min(values.values()), rel=1e-7)
    assert exact.lower_bound <= exact.objective
    assert best.objective <= min(values.values()) * 1.02
    for result in (exact, best, pd):
        assert tuple(result.support.tolist()) in values
    if best.swap_optimal:
        support = set(best.support.tolist())
        for out, into in product(support, set(range(9)) - support):
            assert values.get(tuple(sorted(support - {out} | {into})), np.inf) >= best.objective * (1.0 - 1e-5)


def supports(own, n, rng, count=40, required=()):
    """Random admissible supports of many sizes."""
    p, rule = term_count(n), own.rule(np.arange(term_count(n)), np.array(required, dtype=np.intp))
    for _ in range(count):
        yield rule, rule.project(rng.normal(size=p), int(rng.integers(len(required) + 1, 9)))


N5 = {
    **CASES,
    "weak, cost, groups": {"hierarchy": "weak", "cost": 3.0, "most": 3, "groups": [0, 1, 0, 2, 3]},
}


@pytest.fixture(params=N5.values(), ids=N5)
def wider(request):
    return structure(5, **request.param)


def test_single_exchanges_are_those_of_the_definition(wider):
    for rule, support in supports(wider, 5, np.random.default_rng(0)):
        moves = rule.moves(support)
        found = {(int(moves.out[i]), int(moves.into[j])) for i, j in np.argwhere(moves.single)}
        inside, outside = set(support.tolist()), set(range(20)) - set(support.tolist())
        assert found == {(i, j) for i, j in product(inside, outside) if obeys(inside - {i} | {j}, wider)}


def test_compound_moves_stay_admissible_and_small(wider):
    rng, seen = np.random.default_rng(1), 0
    for rule, support in supports(wider, 5, rng):
        for move in rule.compounds(support, rng.random(20)):
            after = move.applied(support)
            assert len(after) == len(support)
            assert obeys(after.tolist(), wider)
            seen += 1
    assert seen


def test_terms_that_may_enter_or_leave_alone(wider):
    for rule, support in supports(wider, 5, np.random.default_rng(2)):
        inside = np.isin(np.arange(20), support)
        for term, (add, drop) in enumerate(zip(rule.addable(inside), rule.droppable(inside), strict=True)):
            assert add == (not inside[term] and obeys({*support.tolist(), term}, wider))
            assert drop == (inside[term] and obeys(set(support.tolist()) - {term}, wider))


@pytest.mark.parametrize("seed", range(4))
def test_restarts_that_end_where_others_have_been_miss_nothing(seed):
    X, y = random_samples(seed, m=80, n=4)
    problem, k, n_starts = make_problem("least_squares", X, y, C=16.0, k=4), 4, 12
    found = problem.explorer().restarted(k, np.random.default_rng(seed), n_starts, lambda: True)
    explorer, rng = problem.explorer(), np.random.default_rng(seed)
    ends = [explorer.descend(explorer.resized(NONE, k))]
    ends += [explorer.descend(explorer.resized(np.sort(rng.choice(14, k // 2, replace=False)), k)) for _ in range(n_starts)]
    assert found.value == pytest.approx(min(end.value for end in ends), rel=1e-9)


def test_projection_and_repair(wider):
    rng, rule = np.random.default_rng(3), wider.rule(np.arange(20), NONE)
    for k in range(1, 9):
        projected = rule.project(rng.normal(size=20), k)
        assert len(projected) <= k
        assert obeys(projected.tolist(), wider)
        repaired = rule.repaired(np.sort(rng.choice(20, k, replace=False)))
        assert len(repaired) <= k
        assert obeys(repaired.tolist(), wider)
        assert rule.repaired(repaired) is repaired


def test_completions_keep_every_admissible_support():
    rng = np.random.default_rng(4)
    for case in CASES.values():
        own = structure(**case)
        rule = own.rule(np.arange(9), NONE)
        admissible = [set(s) for size in range(10) for s in combinations(range(9), size) if obeys(s, own)]
        for _ in range(40):
            state = rng.integers(0, 4, size=9)  # 0: left out, 3: fixed
            fixed, allowed = set(np.flatnonzero(state == 3).tolist()), set(np.flatnonzero(state > 0).tolist())
            completion = rule.completions(state == 3, state > 0)
            held = [s for s in admissible if fixed <= s <= allowed]
            assert completion.possible or not held
            for support in held:
                assert (
                    set(np.flatnonzero(completion.fixed).tolist())
                    <= support
                    <= set(np.flatnonzero(completion.allowed).tolist())
                )


def test_required_terms_never_leave():
    own = structure(5, "strong")
    required = [1, 15, 16]  # x0 x1 with its factors
    for rule, support in supports(own, 5, np.random.default_rng(5), required=required):
        assert set(required) <= set(support.tolist())
        assert not np.isin(required, rule.moves(support).out).any()
        assert not rule.droppable(np.isin(np.arange(20), support))[required].any()


def test_rules_among_some_candidates():
    own = structure(3, "strong", most=2)
    rule = own.rule(np.arange(9), NONE).among(np.array([0, 1, 6]))  # x0^2, x0 x1 and x0, without x1
    for support in ([], [2], [0, 2], [0], [1, 2]):
        assert rule.admissible(np.array(support, dtype=np.intp)) == (support in ([], [2], [0, 2]))
    assert_array_equal(own.rule(np.arange(9), NONE).closed(np.array([1])), [1, 6, 7])


def test_changes_by_compound_moves_are_refits():
    rng = np.random.default_rng(6)
    A = rng.normal(size=(60, 20))
    M, q = A.T @ A, rng.normal(size=20)
    own = structure(5, "strong", most=4)
    for rule, support in supports(own, 5, rng, count=10):
        tableau = Tableau(M, q, 3.0, NONE)
        tableau.go_to(support)
        moves = rule.compounds(support, rng.random(20))
        for move, change in zip(moves, tableau.changes(moves), strict=True):
            S = move.applied(support)
            value = 3.0 - 0.5 * q[S] @ np.linalg.solve(M[np.ix_(S, S)], q[S])
            assert tableau.value + change == pytest.approx(value, rel=1e-9)


def test_a_fixed_product_fixes_its_only_possible_parents():
    flags, everything = np.arange(9) == 1, np.ones(9, dtype=bool)  # x0 x1
    strong = structure(hierarchy="strong").rule(np.arange(9), NONE).completions(flags, everything)
    assert_array_equal(np.flatnonzero(strong.fixed), [1, 6, 7])
    weak = structure(hierarchy="weak").rule(np.arange(9), NONE)
    assert_array_equal(np.flatnonzero(weak.completions(flags, everything).fixed), [1])
    assert_array_equal(np.flatnonzero(weak.completions(flags, np.arange(9) != 6).fixed), [1, 7])
