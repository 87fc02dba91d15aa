"""Searches among too many terms for one matrix, against searches with it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from quadric.estimators.validation import validate_samples
from quadric.geometry import products
from quadric.losses import loss_named
from quadric.losses.base import Found
from quadric.search.decomposition import decompose
from quadric.search.methods import SearchOptions, is_swap_optimal, search
from quadric.search.path import trace_path
from quadric.search.quick import Dictionary, QuickSearch
from quadric.search.rules import NO_LIMITS, SupportLimits
from quadric.search.ties import near_ties


def samples_of(seed, m=150, n=8, n_classes=2, noise=0.7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    score = X[:, 0] * X[:, 1] + X[:, 2] - X[:, 3] ** 2 + 0.8 * X[:, 4] * X[:, 5] + noise * rng.normal(size=m)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    weight = rng.integers(1, 4, m).astype(float)
    return validate_samples(X, y, weight, "balanced" if seed % 2 else None)


def problems(monkeypatch, samples, C=2.0, k=5, limits=NO_LIMITS, working=20, loss="least_squares"):
    """The same problem with a matrix of all pairs, and with working sets of a few terms."""
    dense = loss_named(loss).data(samples, limits).problem_for(1, C, k)
    monkeypatch.setattr(products, "MANY_TERMS", 0)
    monkeypatch.setattr("quadric.losses.base.WORKING_TERMS", working)
    for module in ("least_squares.wide", "wide_rows"):
        monkeypatch.setattr(f"quadric.losses.{module}.MOST_ENTRANTS", 3)
    monkeypatch.setattr("quadric.search.methods.MOST_PERTURBED", working)
    wide = loss_named(loss).data(samples, limits).problem_for(1, C, k)
    return dense, wide


@pytest.mark.parametrize("seed", range(12))
def test_the_end_is_swap_optimal_among_all_terms(seed, monkeypatch):
    dense, wide = problems(monkeypatch, samples_of(seed, m=60, noise=2.0), working=6)
    with_matrix, without = (search(problem, "best", SearchOptions()) for problem in (dense, wide))
    assert without.swap_optimal is True
    found = Found(without.support, without.objective)
    assert is_swap_optimal(dense, found) is True
    assert without.objective == pytest.approx(dense.step().refit(without.support).value, rel=1e-10)
    assert without.objective <= with_matrix.objective * (1.0 + 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_working_set_grows_until_nothing_outside_helps(seed, monkeypatch):
    """It begins with noise."""
    dense, wide = problems(monkeypatch, samples_of(seed))
    noise = np.flatnonzero(np.isin(wide.terms, np.arange(27, 36)))
    wide.__dict__["nucleus"] = wide.among(noise)
    end = wide.explorer().descend(noise[:5])
    assert is_swap_optimal(dense, Found(end.support, dense.step().refit(end.support).value)) is True
    assert end.value == pytest.approx(dense.step().refit(end.support).value, rel=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_limits_are_kept(seed, monkeypatch):
    limits = SupportLimits(include=np.array([7, 20]), exclude=np.array([1, 2, 3, 40]))
    dense, wide = problems(monkeypatch, samples_of(seed), limits=limits)
    assert_array_equal(wide.terms, dense.terms)
    results = [search(problem, "best", SearchOptions()) for problem in (dense, wide)]
    terms = wide.terms[results[1].support]
    assert {7, 20} <= set(terms.tolist())
    assert not {1, 2, 3, 40} & set(terms.tolist())
    assert results[1].objective <= results[0].objective * (1.0 + 1e-9)
    assert results[1].swap_optimal is True


@pytest.mark.parametrize("seed", range(6))
def test_steps_by_conjugate_gradients_are_those_by_eigenvectors(seed, monkeypatch):
    dense, wide = problems(monkeypatch, samples_of(seed))
    rng = np.random.default_rng(seed)
    support = np.sort(rng.choice(dense.n_terms, 5, replace=False))
    u = np.zeros(dense.n_terms)
    u[support] = rng.normal(size=5)
    exact, iterated = dense.step(), wide.step()
    for rho in (1e-3, 1.0, 30.0, 1e5):
        for of in (lambda step, rho=rho: step.sweep(u, rho), lambda step, rho=rho: step.fixed_point(support, rho)):
            reference, answer = of(exact), of(iterated)
            assert_allclose(answer.z, reference.z, atol=1e-6 * np.abs(reference.z).max())
            assert answer.c == pytest.approx(reference.c, abs=1e-6)
            assert answer.value == pytest.approx(reference.value, rel=1e-9)
    assert iterated.refit(support).value == pytest.approx(exact.refit(support).value, rel=1e-11)


@pytest.mark.parametrize("seed", range(4))
def test_the_decomposition_chooses_the_same_terms(seed, monkeypatch):
    dense, wide = problems(monkeypatch, samples_of(seed))
    reference, result = decompose(dense), decompose(wide)
    assert_array_equal(result.support, reference.support)
    assert result.objective == pytest.approx(reference.objective, rel=1e-10)
    assert result.n_iter == reference.n_iter


def test_several_classes_and_proofs(monkeypatch):
    samples = samples_of(1, n=6, n_classes=3)
    monkeypatch.setattr(products, "MANY_TERMS", 10**9)
    dense = loss_named("least_squares").data(samples, NO_LIMITS)
    monkeypatch.setattr(products, "MANY_TERMS", 0)
    monkeypatch.setattr("quadric.losses.base.WORKING_TERMS", 10)
    wide = loss_named("least_squares").data(samples, NO_LIMITS)
    for positive in range(3):
        results = [search(data.problem_for(positive, 4.0, 3), "exact", SearchOptions()) for data in (dense, wide)]
        assert_array_equal(results[1].support, results[0].support)
        assert results[1].lower_bound == pytest.approx(results[0].lower_bound, rel=1e-8)
        assert results[1].status == results[0].status == "optimal"


def test_paths_and_short_searches(monkeypatch):
    samples, Cs, ks = samples_of(0), np.array([1.0, 8.0]), np.array([1, 2, 4])
    monkeypatch.setattr("quadric.search.quick.MOST_CANDIDATES", 15)
    results = []
    for many in (10**9, 0):
        monkeypatch.setattr(products, "MANY_TERMS", many)
        data = loss_named("least_squares").data(samples, NO_LIMITS)
        quick = QuickSearch(samples, {"quadratic": Dictionary(NO_LIMITS, ks)})
        results.append((trace_path(data, 1, Cs, ks), quick.path("quadratic", "least_squares", 1, Cs, ks)))
    (path, short), (wide_path, wide_short) = results
    assert (wide_path.objective <= path.objective * (1.0 + 1e-9)).all()
    assert_allclose(wide_short.objective, short.objective, rtol=1e-9)
    assert_array_equal(wide_short.support, short.support)


def test_the_order_of_the_samples_does_not_matter(monkeypatch):
    samples = samples_of(3)
    _, wide = problems(monkeypatch, samples)
    shuffled = samples.part(np.random.default_rng(0).permutation(len(samples.target.codes)))
    other = loss_named("least_squares").data(shuffled, NO_LIMITS).problem_for(1, 2.0, 5)
    first, second = (search(problem, "best", SearchOptions()) for problem in (wide, other))
    assert_array_equal(first.support, second.support)
    assert first.objective == pytest.approx(second.objective, rel=1e-11)


DUAL_LOSSES = ("hinge", "logistic")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("loss", DUAL_LOSSES)
def test_losses_that_lift_samples_end_no_higher(loss, seed, monkeypatch):
    dense, wide = problems(monkeypatch, samples_of(seed), loss=loss)
    assert wide.is_wide
    assert_array_equal(wide.terms, dense.terms)
    assert wide.mean_curvature == pytest.approx(dense.mean_curvature, rel=1e-12)
    assert wide.at_zero() == pytest.approx(dense.at_zero(), rel=1e-12)
    with_matrix, without = (search(problem, "best", SearchOptions()) for problem in (dense, wide))
    assert without.objective == pytest.approx(dense.step().refit(without.support).value, rel=1e-9)
    assert without.objective <= with_matrix.objective * (1.0 + 1e-7)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("loss", DUAL_LOSSES)
def test_terms_are_ruled_out_only_where_the_dual_bound_says_so(loss, seed, monkeypatch):
    dense, wide = problems(monkeypatch, samples_of(seed), loss=loss)
    support = np.sort(np.random.default_rng(seed).choice(dense.n_terms, 5, replace=False))
    found = Found(support, dense.step().refit(support).value)
    monkeypatch.setattr("quadric.losses.wide_rows.MOST_ENTRANTS", 10**6)
    entrants = wide.explorer().entrants(found)
    least = dense.explorer().dual_tableau(support).exchanges(dense.rule.moves(support)).min(axis=0)
    into = dense.rule.moves(support).into
    doubt = 1e-6 * found.value
    assert set(into[least < -doubt]) <= set(entrants) <= set(into[least < doubt])


@pytest.mark.parametrize("loss", DUAL_LOSSES)
def test_a_working_set_takes_in_what_pulls_at_a_fit(loss, monkeypatch):
    """It begins with noise; the terms of the rule are found by their pull."""
    samples = samples_of(0)
    dense, wide = problems(monkeypatch, samples, loss=loss, k=3)
    noise = np.flatnonzero(np.isin(wide.terms, np.arange(30, 36)))
    wide.__dict__["nucleus"] = wide.among(noise)
    explorer = wide.explorer()
    end = explorer.descend(noise[:3])
    start = dense.step().refit(noise[:3]).value
    assert end.value < start - 0.5 * (start - search(dense, "best", SearchOptions()).objective)


@pytest.mark.parametrize("loss", DUAL_LOSSES)
def test_decompositions_proofs_paths_and_ties(loss, monkeypatch):
    limits = SupportLimits(include=np.array([9]), exclude=np.array([1]))
    samples = samples_of(1, n=6)
    dense, wide = problems(monkeypatch, samples, loss=loss, k=2, limits=limits, working=15)
    for method in ("pd", "exact"):
        results = [search(problem, method, SearchOptions()) for problem in (dense, wide)]
        assert_array_equal(results[1].support, results[0].support)
        assert results[1].objective == pytest.approx(results[0].objective, rel=1e-8)
        assert results[1].status == results[0].status
    support = results[0].support
    swaps = [{(swap.out, swap.into) for swap in near_ties(problem, support, 0.02).swaps} for problem in (dense, wide)]
    assert swaps[1] == swaps[0]
    data = loss_named(loss).data(samples, limits)
    for method in ("pd", "best"):
        path = trace_path(data, 1, np.array([2.0]), np.array([1, 2]), method=method)
        assert path.objective[0, 1] == pytest.approx(results[0].objective, rel=0.02)
        assert path.support[0, 1, 9]
