"""The short search of cross-validation: refits are exact, supports are close to the full search's, and few terms suffice."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers import LOSSES, random_samples
from quadric.estimators.validation import validate_samples
from quadric.losses import loss_named
from quadric.losses.least_squares.problem import promising_terms
from quadric.search.methods import SearchOptions, search
from quadric.search.path import trace_path
from quadric.search.quick import Dictionary, QuickSearch
from quadric.search.rules import NO_LIMITS, RequiredTerms, SupportLimits


def problem_of(seed, m=80, n=5, k=4, C=4.0, limits=NO_LIMITS):
    X, y = random_samples(seed, m=m, n=n)
    samples = validate_samples(X, y, None, None)
    return samples, loss_named("least_squares").data(samples, limits).problem_for(1, C, k)


@pytest.mark.parametrize("loss", LOSSES)
def test_surfaces_are_refits_on_the_supports_of_the_screen(loss):
    samples, _ = problem_of(0)
    quick = QuickSearch(samples, {"quadratic": Dictionary(NO_LIMITS, np.array([1, 3, 5]))})
    ((*cells,),) = list(quick.rows("quadratic", loss, 1, {4.0: (1, 3, 5)}))
    ((*screened,),) = list(quick.rows("quadratic", "least_squares", 1, {4.0: (1, 3, 5)}))
    whole = quick.digest("quadratic", loss).problem_for(1, 4.0, 5)
    for k, cell, other in zip((1, 3, 5), cells, screened, strict=True):
        assert len(cell.terms) == k
        if loss_named(loss).screen == "least_squares":
            assert_array_equal(cell.terms, other.terms)
        refit = whole.step().refit(np.searchsorted(whole.terms, cell.terms))
        assert cell.objective == pytest.approx(refit.value, rel=1e-8)
        assert_allclose(cell.z, refit.z[np.searchsorted(whole.terms, cell.terms)], atol=1e-5)
        assert cell.c == pytest.approx(refit.c, abs=1e-5)


def test_objectives_are_near_those_of_the_full_path_and_never_better():
    ratios = []
    for seed in range(8):
        samples, _ = problem_of(seed, m=120, n=6)
        ks = np.array([2, 4, 8])
        quick = QuickSearch(samples, {"quadratic": Dictionary(NO_LIMITS, ks)})
        quick = quick.path("quadratic", "least_squares", 1, np.array([1.0, 64.0]), ks)
        data = loss_named("least_squares").data(samples, NO_LIMITS)
        full = trace_path(data, 1, [1.0, 64.0], [2, 4, 8])
        ratios.append(quick.objective / full.objective)
    assert np.min(ratios) >= 1.0 - 1e-9
    assert np.mean(ratios) < 1.01


@pytest.mark.parametrize("seed", range(4))
def test_promising_terms_begin_with_a_forward_selection(seed):
    """The reference solves every candidate of every step anew."""
    _, problem = problem_of(seed)
    M, q, k = problem.M, problem.q, problem.k
    support = []
    for _ in range(k):
        values = {
            j: -0.5 * q[s] @ np.linalg.solve(M[np.ix_(s, s)], q[s])
            for j in set(range(problem.n_terms)) - set(support)
            if (s := np.array([*support, j])) is not None
        }
        support.append(min(values, key=values.get))
    assert_array_equal(promising_terms(M.__getitem__, np.diag(M), q, k, RequiredTerms(len(q)), k), sorted(support))
    many = promising_terms(M.__getitem__, np.diag(M), q, k, RequiredTerms(len(q)), 10)
    assert len(many) == 10
    assert set(support) <= set(many)


def test_promising_terms_hold_the_required_ones_and_the_problem_is_the_same_on_them():
    limits = SupportLimits(include=np.array([3, 7]))
    _, problem = problem_of(1, limits=limits)
    support = np.array([0, 3, 7, 11])
    small = problem.promising(8, support)
    assert {0, 3, 7, 11} <= set(small.terms.tolist())
    assert_array_equal(small.terms[small.rule.required], [3, 7])
    inside = np.searchsorted(small.terms, problem.terms[support])
    assert small.step().refit(inside).value == pytest.approx(problem.step().refit(support).value, rel=1e-12)
    assert problem.promising(problem.n_terms) is problem


def test_perturbations_among_promising_terms_end_swap_optimal_for_all_terms(monkeypatch):
    monkeypatch.setattr("quadric.search.methods.MOST_PERTURBED", 10)
    _, problem = problem_of(2, m=150, n=6, k=5)
    few = search(problem, "best", SearchOptions())
    monkeypatch.setattr("quadric.search.methods.MOST_PERTURBED", 10**6)
    everywhere = search(problem, "best", SearchOptions())
    assert few.swap_optimal is True
    assert few.objective == pytest.approx(everywhere.objective, rel=0.01)
    assert few.objective == pytest.approx(problem.step().refit(few.support).value, rel=1e-10)
