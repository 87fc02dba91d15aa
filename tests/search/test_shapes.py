"""Refits and exchanges under rules on slopes and coefficients: against Clarabel with every corner of the box, and enumeration."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from helpers import LOSSES, convex_solver, make_problem, random_samples
from quadric.geometry.box import Box, CoefficientBound, ShapeRules, SlopeRule, lowest_slope, slope_form
from quadric.geometry.cuts import Cuts
from quadric.geometry.terms import LINEAR, term_factors
from quadric.losses.base import Found
from quadric.losses.supports import Move
from quadric.search.decomposition import Status
from quadric.search.exact import prove
from quadric.search.methods import SearchOptions, is_swap_optimal, search
from quadric.search.shapes import Ruled
from quadric.search.ties import proved_ties


def ruled_problem(loss, seed, k=3):
    """Three features, the last one of two values on odd seeds; rules on two of them, and limits on two terms."""
    rng = np.random.default_rng(seed)
    X, y = random_samples(seed, m=40)
    if seed % 2:
        X[:, 2] = np.where(X[:, 2] > 0.0, 1.3, -0.8)
    X -= X.mean(axis=0)
    slopes = (SlopeRule(0, int(rng.choice([-1, 1]))), SlopeRule(2, int(rng.choice([-1, 1]))))
    bounds = (CoefficientBound(1, -0.1, np.inf), CoefficientBound(7, -0.05, 0.02))
    problem = make_problem(loss, X, y, C=2.0, k=k)
    rule = replace(problem.rule, shapes={1: ShapeRules(slopes, bounds, Box.of_rows(X))})
    return replace(problem, rule=rule), X, y


def every_cut(shape, support, p):
    """Each rule at each corner of the box, and each limit, on a support."""
    box, rows, b = shape.box, [], []
    for rule in shape.slopes:
        for corner in product(*zip(box.low, box.high, strict=True)):
            at = np.array(corner)
            if box.two_valued[rule.feature]:
                at[rule.feature] = 0.5 * (box.low + box.high)[rule.feature]
            row = np.zeros(p)
            positions, factors = slope_form(rule.feature, at)
            row[positions] = rule.sign * factors
            rows.append(row[support])
            b.append(0.0)
    for bound in shape.bounds:
        for sign, limit in ((1.0, bound.low), (-1.0, -bound.high)):
            if np.isfinite(limit):
                rows.append((sign * (np.arange(p) == bound.term))[support])
                b.append(limit)
    return Cuts(np.array(rows), np.array(b))


@pytest.mark.parametrize("loss", LOSSES)
def test_refits_are_the_minimum_over_every_row_of_the_box(loss):
    for seed in range(10):
        problem, X, y = ruled_problem(loss, seed)
        ruled, rng = Ruled(problem), np.random.default_rng(seed)
        support = np.sort(rng.choice(problem.n_terms, int(rng.integers(1, problem.n_terms + 1)), replace=False))
        fit = ruled.fit(support)
        cuts = every_cut(problem.shape, problem.terms[support], 9)
        least = convex_solver.minimum(X, y, loss, 2.0, support=problem.terms[support], cuts=cuts)
        assert fit.value == pytest.approx(least, rel=1e-7)
        z = problem.embed(fit.solution.z)
        assert np.all(cuts.slack(z[problem.terms[support]]) >= -1e-15)
        surface = problem.objective(fit.solution.z, fit.solution.c)
        assert surface == pytest.approx(fit.value, rel=1e-12)
        for rule in problem.shape.slopes:
            positions, _ = slope_form(rule.feature, X[0])
            assert lowest_slope(rule, problem.shape.box, z[positions[:-1]], float(z[positions[-1]])).is_proved
        # known cuts change the way, and a ceiling ends it early
        again = ruled.fit(support, fit.cuts)
        assert again.value == pytest.approx(fit.value, rel=1e-12)
        assert ruled.fit(support, (), fit.value * (1.0 - 1e-9)) is None


@pytest.mark.parametrize("loss", LOSSES)
def test_lower_bounds_of_exchanges_hold_and_touch(loss):
    """Whatever the multipliers, no exchange ends below its bound; most bounds are better than without rules."""
    tighter, useless, (left, right) = 0, 0, term_factors(3)
    for seed in range(12):
        problem, _, _ = ruled_problem(loss, seed, k=2 + seed % 3)
        ruled, explorer, rng = Ruled(problem), problem.explorer(), np.random.default_rng(seed)
        support = np.sort(rng.choice(problem.n_terms, problem.k, replace=False))
        fit = ruled.fit(support)
        pulls, z = ruled.pulls(fit), fit.solution.z[support]
        assert (
            abs(float(pulls.low[support] @ z) - pulls.constant) <= 1e-9 * fit.value
        )  # (12.1): multipliers are of cuts that bind
        again = ruled._different([*fit.cuts, *fit.cuts[:1]], support)
        assert all(mine is cut for mine, cut in zip(again, fit.cuts, strict=True))  # those of a cut that comes twice, too
        moves = problem.rule.moves(support)
        floors = explorer.under(fit.solution, support, moves, ruled.pulls(fit)).least
        for (i, out), (j, into) in product(enumerate(moves.out), enumerate(moves.into)):
            other = Move((out,), (into,)).applied(support)
            value = ruled.fit(other).value
            assert floors[i, j] <= value * (1.0 + 1e-9)
            new = {left[into], right[into]} - {*left[support], *right[support]}
            if right[into] != LINEAR and right[into] != left[into] and new & {0, 2}:
                assert floors[i, j] >= fit.value * (1.0 - 1e-9)  # without its linear term a product has to be zero
                useless += 1
            tighter += floors[i, j] > problem.step().refit(other).value * (1.0 + 1e-6)
    assert tighter > 50
    assert useless > 5


@pytest.mark.parametrize("loss", LOSSES)
def test_searches_end_where_no_exchange_helps(loss):
    best = 0
    for seed in range(12):
        problem, _, _ = ruled_problem(loss, seed)
        ruled = Ruled(problem)
        values = {support: ruled.fit(np.array(support)).value for support in combinations(range(problem.n_terms), 3)}
        result = search(problem, "best", SearchOptions())
        mine = set(result.support.tolist())
        assert result.objective == pytest.approx(values[tuple(sorted(mine))], rel=1e-12)
        assert result.swap_optimal
        near = [value for support, value in values.items() if len(mine.difference(support)) == 1]
        assert result.objective <= min(near) * (1.0 + 1e-9)
        best += result.objective <= min(values.values()) * (1.0 + 1e-9)
        worst = np.array(max(values, key=values.get))
        assert is_swap_optimal(problem, Found(worst, values[tuple(worst)])) is False
        exact = search(problem, "exact", SearchOptions())
        assert exact.status is Status.OPTIMAL
        assert exact.objective == pytest.approx(min(values.values()), rel=1e-8)
        assert min(values.values()) * (1.0 - 1e-6) <= exact.lower_bound <= min(values.values()) * (1.0 + 1e-9)
        short = prove(problem, Found(result.support, result.objective), node_limit=2)
        assert short.lower_bound <= min(values.values()) * (1.0 + 1e-9)
        pd = search(problem, "pd", SearchOptions())
        assert pd.objective == pytest.approx(values[tuple(pd.support.tolist())], rel=1e-12)
    assert best >= 8


@pytest.mark.parametrize("loss", LOSSES)
def test_near_ties_have_their_prices_under_the_rules(loss):
    problem, _, _ = ruled_problem(loss, 2)
    ruled = Ruled(problem)
    values = {support: ruled.fit(np.array(support)).value for support in combinations(range(problem.n_terms), 3)}
    best = min(values, key=values.get)
    limits = {"time_limit": None, "node_limit": None}
    ties = proved_ties(problem, np.array(best), 0.05, **limits)
    expected = {support for support, value in values.items() if value <= 1.05 * values[best]} - {best}
    assert {tuple(found.support.tolist()) for found in ties.supports} == expected
    assert len(expected) > 3
    for found in ties.supports:
        assert found.value == pytest.approx(values[tuple(found.support.tolist())], rel=1e-7)
    swaps = {(swap.out, swap.into): swap.change for swap in ties.swaps}
    for (out, into), change in swaps.items():
        after = tuple(sorted({*best, into} - {out}))
        assert values[best] + change == pytest.approx(values[after], rel=1e-7)
    assert len(swaps) == sum(len(set(support) - set(best)) == 1 for support in expected)


def test_both_kinds_of_rules_hold_to_the_last_bit_on_one_term():
    """Where the linear term is at its limit, the products have to give way."""
    at_limit = 0
    for seed in range(30):
        problem, X, _ = ruled_problem("least_squares", seed)
        shape = problem.shape
        slopes = (SlopeRule(0, 1), SlopeRule(1, 1))
        bounds = (CoefficientBound(6, -0.03, 0.03), CoefficientBound(7, -0.02, 0.02))
        shapes = {1: ShapeRules(slopes, bounds, shape.box)}
        fit = Ruled(replace(problem, rule=replace(problem.rule, shapes=shapes))).fit(np.arange(problem.n_terms))
        z = problem.embed(fit.solution.z)
        for bound in bounds:
            assert bound.low <= z[bound.term] <= bound.high
            at_limit += z[bound.term] == bound.high
        for rule in slopes:
            positions, _ = slope_form(rule.feature, X[0])
            assert lowest_slope(rule, shape.box, z[positions[:-1]], float(z[positions[-1]])).is_proved
    assert at_limit > 10


def test_rules_of_another_surface_do_not_count():
    problem, _, _ = ruled_problem("least_squares", 1)
    free = replace(problem, surface=0)
    assert free.shape is None
    plain = replace(problem, rule=replace(problem.rule, shapes={}))
    assert_array_equal(search(free, "best", SearchOptions()).z, search(plain, "best", SearchOptions()).z)
