"""Searches by passes: what they claim of exchanges holds when every exchange is solved on all rows."""

from dataclasses import replace

import numpy as np
import pytest

from quadric.geometry.lifting import lift
from quadric.losses import loss_named
from quadric.losses.base import Found
from quadric.losses.hinge import streamed as hinge_streamed
from quadric.losses.hinge.near_problem import NearProblem
from quadric.losses.pass_problem import Passes
from quadric.losses.supports import Move
from quadric.losses.survey import SurveyPass
from quadric.samples.labelled import LabelledSamples
from quadric.samples.source import SamplesInMemory
from quadric.samples.target import Target
from quadric.search import exchanges, methods
from quadric.search.decomposition import Schedule, Status
from quadric.search.exchanges import SLACK, is_swap_optimal_by_passes
from quadric.search.methods import SearchOptions, is_swap_optimal, search
from quadric.search.rules import NO_LIMITS, SupportLimits
from quadric.search.streamed import fit_streamed

N = 3
P = 9


def random_samples(seed, m=900):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, N)) + rng.normal(size=N)
    z = rng.normal(size=P) * (rng.random(P) < 0.6)
    f = lift(X) @ z
    codes = (f + rng.normal(size=m) * f.std() * 0.7 > np.median(f)).astype(int)
    weight = rng.uniform(0.5, 2.0, m) if seed % 2 else np.ones(m)
    class_weight = np.array([1.0, rng.uniform(0.5, 3.0)]) if seed % 3 == 0 else np.ones(2)
    order = np.argsort(codes, kind="stable") if seed % 4 == 0 else np.arange(m)
    return LabelledSamples(X[order], Target(codes[order], class_weight), weight[order])


def problem_of(samples, C, k, loss="hinge"):
    return loss_named(loss).data(samples, NO_LIMITS).problem_for(1, C, k)


def exchanges_of(problem, support):
    """Minima of F on all neighbours."""
    step, moves = problem.step(), problem.rule.moves(support)
    pairs = [Move((out,), (into,)) for out in moves.out for into in moves.into]
    return [(s := pair.applied(support), step.refit(s).value) for pair in pairs]


def stream_of(samples, C, k, room=150, loss="hinge", batch_rows=100):
    passes = Passes(SamplesInMemory(samples, batch_rows))
    survey = passes.total(SurveyPass(1, True, room))
    return loss_named(loss).streamed(passes, survey, survey.candidates(NO_LIMITS), C, k)


@pytest.fixture
def few_rows(monkeypatch):
    """Exchanges begin on so few rows that all levels are used."""
    monkeypatch.setattr(hinge_streamed, "FEW_ROWS", (10, 40))


both = pytest.mark.parametrize("loss", ["hinge", "logistic"])


@both
@pytest.mark.parametrize("seed", range(6))
def test_the_end_of_a_search_is_swap_optimal(seed, few_rows, loss):
    samples, C, k = random_samples(seed), [0.3, 3.0, 30.0, 300.0][seed % 4], 3
    found = fit_streamed(SamplesInMemory(samples, 100), loss, 1, C, k, NO_LIMITS, sample_rows=150)
    problem = problem_of(samples, C, k, loss)
    support = np.searchsorted(problem.terms, found.terms[found.support])
    assert found.swap_optimal is True
    assert found.objective == pytest.approx(problem.step().refit(support).value, rel=2e-9)
    assert found.objective == pytest.approx(problem.objective(found.z, found.c), rel=1e-10)
    assert min(value for _, value in exchanges_of(problem, support)) >= found.objective * (1.0 - SLACK)


@both
@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_exchanges_hold_and_values_are_reached(seed, few_rows, loss):
    samples, C = random_samples(seed), [0.3, 30.0][seed % 2]
    problem, stream = problem_of(samples, C, 3, loss), stream_of(samples, C, 3, loss=loss)
    fit = stream.fit(np.array([0, 4, 7]))
    supports, values = zip(*exchanges_of(problem, fit.support), strict=True)
    for trial, value in zip(stream.examine(fit, supports, fit.value), values, strict=True):
        assert trial.bound <= value * (1.0 + 1e-12)
        assert trial.bound >= fit.value or trial.value >= value * (1.0 - 1e-12)
    table = stream.dual_tableau(fit)
    least = table.value + table.exchanges(stream.rule.moves(fit.support))
    assert (least.ravel() <= np.array(values) * (1.0 + 1e-12)).all()


@both
@pytest.mark.parametrize("seed", range(2))
def test_swap_optimality_of_a_given_support(seed, loss):
    samples = random_samples(seed)
    problem, stream = problem_of(samples, 3.0, 3, loss), stream_of(samples, 3.0, 3, loss=loss)
    best = fit_streamed(SamplesInMemory(samples), loss, 1, 3.0, 3, NO_LIMITS).support
    for support in (best, np.array([0, 1, 2]), np.array([1, 5, 8])):
        value = problem.step().refit(support).value
        beaten = min(value for _, value in exchanges_of(problem, support)) < value * (1.0 - SLACK)
        assert is_swap_optimal_by_passes(stream, stream.fit(support), 100) is (not beaten)


@pytest.mark.parametrize("seed", range(24))
def test_no_claim_on_discrete_data_that_enumeration_contradicts(seed):
    """Rows of few distinct values: many are equal, and many are on the margin."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2 + seed % 3, size=(60, N)).astype(float)
    codes = (lift(X) @ rng.normal(size=P) + rng.normal(size=60) > 0.5).astype(int)
    samples = LabelledSamples(X, Target(codes, np.ones(2)), np.ones(60))
    C, k = [0.3, 3.0, 64.0, 1000.0][seed % 4], 1 + seed % 4
    problem = problem_of(samples, C, k)
    found = search(problem, "best", SearchOptions())
    for support in (found.support, np.sort(rng.choice(problem.n_terms, len(found.support), replace=False))):
        value = problem.step().refit(support).value
        neighbours = [value for _, value in exchanges_of(problem, support)]
        beaten = min(neighbours, default=np.inf) < value * (1.0 - 2.0 * SLACK)
        told = is_swap_optimal(problem, Found(support, value))
        assert not (told and beaten)


def test_equal_rows_near_the_margin_become_one_that_weighs_as_much():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(400, N)).astype(float)
    weight = rng.uniform(0.5, 2.0, 400)
    target = Target((X @ [1.0, 2.0, -1.0] > 2.0).astype(int), np.ones(2))
    stream = stream_of(LabelledSamples(X, target, weight), 3.0, 2)
    split = stream.split(np.array([0, 4]), np.zeros((1, 3)), 2.0)
    small = NearProblem(split, 3.0)
    assert len(small.y) == 3**N
    assert len(split.near) == 400
    np.testing.assert_allclose(small.upper.sum(), 3.0 * weight.sum())


def test_no_claim_where_too_many_exchanges_are_left(monkeypatch):
    samples = random_samples(1)
    stream = stream_of(samples, 300.0, 3)
    assert is_swap_optimal_by_passes(stream, stream.fit(np.array([0, 1, 2])), 0) is None
    monkeypatch.setattr(methods, "MOST_EXAMINED", 0)
    assert fit_streamed(SamplesInMemory(samples, 100), "hinge", 1, 300.0, 3, NO_LIMITS).swap_optimal is None


def test_a_bound_that_stays_open_is_no_claim(monkeypatch):
    """Passes of their own decide where the rows of one pass do not; without them nothing is claimed."""
    samples = random_samples(2)
    stream = stream_of(samples, 30.0, 3)
    examine = type(stream).examine

    def undecided(self, fit, supports, ceiling):
        return [replace(trial, bound=-np.inf, value=np.inf) for trial in examine(self, fit, supports, ceiling)]

    best = fit_streamed(SamplesInMemory(samples), "hinge", 1, 30.0, 3, NO_LIMITS).support
    worse = np.array([1, 2, 8])
    assert is_swap_optimal_by_passes(stream, stream.fit(worse), 100) is False
    monkeypatch.setattr(type(stream), "examine", undecided)
    assert is_swap_optimal_by_passes(stream, stream.fit(worse), 100) is False
    assert is_swap_optimal_by_passes(stream, stream.fit(best), 100) is True
    monkeypatch.setattr(exchanges, "MOST_FITTED", 0)
    assert is_swap_optimal_by_passes(stream, stream.fit(best), 100) is None


def test_limits_are_obeyed():
    samples = random_samples(3)
    limits = SupportLimits(include=np.array([5]), exclude=np.array([0, 1]))
    found = fit_streamed(SamplesInMemory(samples, 100), "hinge", 1, 3.0, 3, limits, sample_rows=150)
    chosen = found.terms[found.support]
    assert 5 in chosen
    assert not np.isin([0, 1], chosen).any()
    assert len(found.terms) == P - 2


def test_given_terms():
    samples = random_samples(4)
    found = fit_streamed(
        SamplesInMemory(samples, 100), "hinge", 1, 3.0, 3, NO_LIMITS, terms=np.array([7, 0, 4]), sample_rows=150
    )
    problem = problem_of(samples, 3.0, 3)
    assert found.objective == pytest.approx(problem.step().refit(np.array([0, 4, 7])).value, rel=2e-9)
    assert found.objective - found.support_bound <= 1e-9 * found.objective
    assert found.swap_optimal is None


def test_given_terms_take_few_passes():
    given = {"terms": np.array([7, 0, 4]), "sample_rows": 150}
    found = [
        fit_streamed(SamplesInMemory(random_samples(seed), 100), "hinge", 1, 3.0, 3, NO_LIMITS, **given)
        for seed in range(3, 18)
    ]
    assert np.median([each.n_passes for each in found]) <= 7  # of a single one they depend on the random rows


def test_decomposition_on_a_sample():
    samples = random_samples(5)
    found = fit_streamed(SamplesInMemory(samples, 100), "hinge", 1, 3.0, 3, NO_LIMITS, method="pd", sample_rows=150)
    assert len(found.support) == 3
    assert found.objective == pytest.approx(problem_of(samples, 3.0, 3).step().refit(found.support).value, rel=2e-9)


@both
@pytest.mark.parametrize("how", [{}, {"method": "pd"}, {"terms": np.array([0, 4, 7])}])
def test_a_time_limit_leaves_the_best_so_far_after_two_passes(loss, how):
    samples = random_samples(6)
    options = SearchOptions(schedule=Schedule(time_limit=1e-9))
    found = fit_streamed(SamplesInMemory(samples, 100), loss, 1, 3.0, 3, NO_LIMITS, options=options, sample_rows=150, **how)
    assert (found.status, found.swap_optimal, len(found.support)) == (Status.TIME_LIMIT, None, 3)
    assert found.n_passes == 2
    problem = problem_of(samples, 3.0, 3, loss)
    best = problem.step().refit(found.support).value
    assert best <= found.objective * (1.0 + 1e-9) <= 1.2 * best  # the best surface of 150 rows


@both
@pytest.mark.parametrize("n_looks", [3, 8, 20, 60])
def test_time_that_runs_out_anywhere_claims_nothing(loss, n_looks, few_rows):
    samples = random_samples(6)
    stream, looks = stream_of(samples, 3.0, 3, loss=loss), iter(range(n_looks))
    stream.passes.going = lambda: next(looks, None) is not None
    fit, found = methods.search_by_passes(stream, SearchOptions())
    support, again = fit.support, stream_of(samples, 3.0, 3, loss=loss)
    assert len(support) == 3
    assert found.swap_optimal in (None, is_swap_optimal_by_passes(again, again.fit(support), 100))


def test_a_loss_without_passes_says_so():
    with pytest.raises(ValueError, match="does not fit by passes"):
        fit_streamed(SamplesInMemory(random_samples(7)), "least_squares", 1, 1.0, 3, NO_LIMITS)


def test_an_exact_model_of_exchanges_ranks_them():
    """The quadratic of the logistic loss around a fit, from all rows, is that of its explorer in memory."""
    samples = random_samples(8)
    problem, stream = problem_of(samples, 3.0, 3, "logistic"), stream_of(samples, 3.0, 3, loss="logistic")
    fit = stream.fit(np.array([0, 4, 7]))
    moves = stream.rule.moves(fit.support)
    ours, theirs = stream.model(fit).exchanges(moves), problem.explorer().model(fit.support).exchanges(moves)
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-6 * fit.value)  # the fit has a gap


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_searches_in_memory_tell_whether_exchanges_help(loss, monkeypatch):
    samples, k = random_samples(9), 3
    problem = problem_of(samples, 3.0, k, loss)
    for by_passes in (False, True):
        if by_passes:
            monkeypatch.setattr(type(problem), "by_passes", True)
        found = search(problem, "best", SearchOptions())
        assert found.swap_optimal is True
        assert found.objective == pytest.approx(problem.step().refit(found.support).value, rel=1e-8)
        assert min(value for _, value in exchanges_of(problem, found.support)) >= found.objective * (1.0 - SLACK)
        assert is_swap_optimal(problem, Found(found.support, found.objective)) is True


def test_many_rows_are_not_lifted(monkeypatch):
    """A search by passes in memory never asks for the block of lifted rows."""
    samples = random_samples(10)
    problem = problem_of(samples, 3.0, 3)
    monkeypatch.setattr(type(problem), "by_passes", True)
    search(problem, "best", SearchOptions())
    assert "A" not in vars(problem.rows)
