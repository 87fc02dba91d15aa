"""What comes back is what it says it is: conditions recomputed from the data, on many random problems."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from helpers import LOSSES, make_problem, random_samples, random_surface, slow_objective, surface_of
from paper_data import NAMES, folder, load
from quadric.certificate import Certificate, Judge, Question
from quadric.search import decomposition
from quadric.search.decomposition import Schedule, Status, decompose
from quadric.search.rules import RequiredTerms

TOLERANCE = {"least_squares": 1e-10, "hinge": 1e-8, "logistic": 1e-8}
needs_data = pytest.mark.skipif(folder() is None, reason="the paper's data are not here: set QUADRIC_DATA")
sizes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10_000),
        "loss": st.sampled_from(LOSSES),
        "C": st.sampled_from([1e-3, 0.25, 1.0, 16.0, 256.0, 65536.0]),
        "k": st.integers(1, 12),
        "m": st.integers(6, 80),
        "n": st.integers(1, 4),
        "kind": st.sampled_from(["plain", "weighted", "rounded", "duplicate column", "one-hot", "separable"]),
    }
)


def build(case):
    """X, y, w and class weights of a case; some kinds are degenerate on purpose."""
    noise = 0.0 if case["kind"] == "separable" else 0.5
    X, y = random_samples(case["seed"], m=case["m"], n=case["n"], noise=noise)
    rng = np.random.default_rng(case["seed"])
    w, class_weight = np.ones(len(y)), np.ones(2)
    if case["kind"] == "weighted":
        w, class_weight = rng.uniform(0.2, 3.0, size=len(y)), rng.uniform(0.2, 3.0, size=2)
    if case["kind"] == "rounded":
        X = np.round(X)
        X[0] += 1.0
        X[1] -= 2.0
    if case["kind"] == "duplicate column":
        X = np.column_stack([X, X[:, 0]])
    if case["kind"] == "one-hot":
        X = np.column_stack([X, np.eye(3)[rng.integers(3, size=len(y))]])
    return X, y, w, class_weight


def judged(X, y, w, class_weight):
    return Judge(X, w, w * np.where(y > 0, class_weight[1], class_weight[0])), y


def judge(surface, samples, *, loss, C, k, support=None, allowed=None):
    judge_of_samples, y = samples
    return judge_of_samples.certificate(surface, Question(loss, C, k, y, allowed), support)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(sizes)
def test_every_answer_is_stationary_and_sparse(case):
    X, y, w, class_weight = build(case)
    problem = make_problem(case["loss"], X, y, case["C"], case["k"], w, class_weight)
    result = decompose(problem)
    surface = surface_of(problem, result.z, result.c)
    support = problem.terms[result.support]
    certificate = judge(surface, judged(X, y, w, class_weight), loss=case["loss"], C=case["C"], k=case["k"], support=support)
    assert certificate.n_terms == surface.n_terms <= case["k"]
    assert certificate.stationarity <= TOLERANCE[case["loss"]]
    assert certificate.objective == pytest.approx(result.objective, rel=1e-9)
    assert result.status is Status.CONVERGED
    assert (certificate.swap_optimal, certificate.lower_bound, certificate.gap) == (None, None, None)
    assert certificate.status == "local"


@settings(max_examples=30, deadline=None, derandomize=True)
@given(sizes)
def test_objective_is_the_definition(case):
    X, y, w, class_weight = build({**case, "kind": "weighted"})
    surface = random_surface(np.random.default_rng(case["seed"]), X.shape[1])
    samples = judged(X, y, w, class_weight)
    certificate = judge(surface, samples, loss=case["loss"], C=case["C"], k=case["k"])
    expected = slow_objective(surface, X, y, case["loss"], case["C"], w, w * np.where(y > 0, class_weight[1], class_weight[0]))
    if certificate.ridge == 0.0:
        assert certificate.objective == pytest.approx(expected, rel=1e-9)
    else:
        assert certificate.objective > expected


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("what", ["a coefficient", "the intercept", "another C", "too many terms"])
def test_a_wrong_answer_is_found_out(loss, what):
    X, y = random_samples(2, m=60, n=3)
    problem = make_problem(loss, X, y, C=64.0, k=3)
    result = decompose(problem)
    z, c, C, k = result.z.copy(), result.c, 64.0, 3
    if what == "a coefficient":
        z[result.support[0]] *= 1.01
    elif what == "the intercept":
        c += 1e-2
    elif what == "another C":
        C = 80.0
    else:
        k = 2
    certificate = judge(surface_of(problem, z, c), judged(X, y, np.ones(60), np.ones(2)), loss=loss, C=C, k=k)
    assert not certificate.local_minimum
    assert not certificate.basic_feasible
    if what != "too many terms":
        assert certificate.stationarity > 1e-6


def test_free_samples_off_their_margin_count():
    """A shift of the intercept too small to change any multiplier is seen in the margins."""
    X, y = random_samples(2, m=60, n=3)
    problem = make_problem("hinge", X, y, C=64.0, k=3)
    result = decompose(problem)
    surface = surface_of(problem, result.z, result.c + 1e-7)
    certificate = judge(surface, judged(X, y, np.ones(60), np.ones(2)), loss="hinge", C=64.0, k=3)
    assert 0.9e-7 <= certificate.stationarity <= 1.1e-7


@pytest.mark.parametrize("loss", LOSSES)
def test_too_many_terms_are_never_feasible(loss):
    """Not even where every gradient vanishes, as at the minimum over all terms."""
    X, y = random_samples(2, m=60, n=3)
    problem = make_problem(loss, X, y, C=64.0, k=9)
    dense = problem.step().refit(np.arange(9))
    samples = judged(X, y, np.ones(60), np.ones(2))
    assert judge(surface_of(problem, dense.z, dense.c), samples, loss=loss, C=64.0, k=9).basic_feasible
    few = judge(surface_of(problem, dense.z, dense.c), samples, loss=loss, C=64.0, k=2)
    assert not few.basic_feasible
    assert not few.local_minimum


def test_stationary_but_not_basic_feasible():
    """A noise term whose best coefficient is zero: Lu-Zhang stationary, although another term would help."""
    rng = np.random.default_rng(1)
    y = np.where(np.arange(80) < 12, 1.0, -1.0)
    X = rng.normal(size=(80, 2))
    X[:, 1] += 4.0 * (y > 0)
    problem = make_problem("hinge", X, y, C=10.0, k=1)
    nothing = problem.step().refit(np.array([3]))  # x0
    surface = surface_of(problem, nothing.z, nothing.c)
    assert surface.n_terms == 0
    samples = judged(X, y, np.ones(80), np.ones(2))
    certificate = judge(surface, samples, loss="hinge", C=10.0, k=1, support=np.array([3]))
    assert certificate.stationarity <= 1e-8
    assert not certificate.basic_feasible


@pytest.mark.parametrize("loss", LOSSES)
def test_fewer_than_k_terms(loss):
    """With one term of the three allowed, the point is stationary for no L, and certainly not basic feasible."""
    X, y = random_samples(2, m=60, n=3)
    one_term = decompose(make_problem(loss, X, y, C=4.0, k=1))
    problem = make_problem(loss, X, y, C=4.0, k=3)
    surface = surface_of(problem, one_term.z, one_term.c)
    certificate = judge(surface, judged(X, y, np.ones(60), np.ones(2)), loss=loss, C=4.0, k=3)
    assert certificate.n_terms == 1
    assert not certificate.local_minimum
    assert not certificate.basic_feasible


@pytest.mark.parametrize("loss", LOSSES)
def test_without_limit_the_answer_is_the_minimum(loss):
    """k above p is no constraint: one convex problem, every gradient vanishes."""
    X, y = random_samples(3, m=60, n=3)
    problem = make_problem(loss, X, y, C=4.0, k=1000)
    result = decompose(problem)
    certificate = judge(
        surface_of(problem, result.z, result.c), judged(X, y, np.ones(60), np.ones(2)), loss=loss, C=4.0, k=1000
    )
    assert certificate.k == 9
    assert certificate.basic_feasible
    assert certificate.stationarity <= TOLERANCE[loss]
    assert result.objective == pytest.approx(problem.step().refit(np.arange(9)).value, rel=1e-9)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(sizes)
def test_plain_and_accelerated_forms_end_alike(case):
    """Both end at stationary points; their objectives differ by little where their supports differ."""
    X, y, w, class_weight = build({**case, "kind": "plain", "m": max(case["m"], 30)})
    problem = make_problem(case["loss"], X, y, case["C"], case["k"], w, class_weight)
    fast, plain = decompose(problem), decompose(problem, Schedule(accelerated=False))
    assert plain.status is Status.CONVERGED
    same = np.array_equal(fast.support, plain.support)
    assert same or abs(fast.objective - plain.objective) <= 0.05 * problem.at_zero()
    if same:
        assert_allclose(fast.objective, plain.objective, rtol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_plain_and_accelerated_forms_mostly_agree(loss):
    same = 0
    for seed in range(20):
        X, y = random_samples(seed, m=60, n=4)
        problem = make_problem(loss, X, y, C=8.0, k=4)
        fast, plain = decompose(problem), decompose(problem, Schedule(accelerated=False))
        same += np.array_equal(fast.support, plain.support)
        assert fast.n_iter < plain.n_iter
    assert same >= 15


@pytest.mark.parametrize("loss", LOSSES)
def test_plain_sweeps_are_the_papers_loop(loss):
    """Algorithm 1 written out once more, naively, gives the same iterates to the last step."""
    X, y = random_samples(5, m=50, n=3)
    problem, k = make_problem(loss, X, y, C=8.0, k=3), 3
    schedule = Schedule(accelerated=False, rho=5.0, growth=3.0)
    step, u, rho, n_steps = problem.step(), np.zeros(problem.n_terms), 5.0, 0
    ceiling = problem.at_zero()
    while True:
        z_old = c_old = None
        while True:
            solution = step.sweep(u, rho)
            n_steps += 1
            kept = sorted(range(problem.n_terms), key=lambda j: (-abs(solution.z[j]), j))[:k]
            u_new = np.array([solution.z[j] if j in kept else 0.0 for j in range(problem.n_terms)])
            if z_old is not None:
                changes = [
                    np.abs(solution.z - z_old).max() / max(np.abs(solution.z).max(), 1),
                    abs(solution.c - c_old) / max(abs(solution.c), 1),
                    np.abs(u_new - u).max() / max(np.abs(u_new).max(), 1),
                ]
            u, z_old, c_old, first = u_new, solution.z, solution.c, z_old is None
            if not first and max(changes) <= 1e-4:
                break
        if np.abs(solution.z - u).max() <= 1e-4:
            break
        rho *= 3.0
        if step.sweep(u, rho).value > ceiling:
            u = np.zeros(problem.n_terms)
    result = decompose(problem, schedule)
    assert result.n_iter == n_steps
    assert_array_equal(result.support, np.flatnonzero(u))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("accelerated", [True, False])
def test_trace_and_outer_rule(loss, accelerated):
    X, y = random_samples(6, m=60, n=3)
    problem = make_problem(loss, X, y, C=8.0, k=3)
    result = decompose(problem, Schedule(accelerated=accelerated))
    rhos = np.array([row.rho for row in result.trace])
    assert_allclose(rhos[0], 1e-3 * problem.mean_curvature)
    growth = rhos[1:] / rhos[:-1]
    assert_allclose(growth[:-1] if accelerated else growth, 10**0.5)
    assert growth[-1] > 10 or not accelerated  # from terms that look final to the penalty at which z and u agree
    assert all(row.distance > 1e-4 for row in result.trace[:-1])
    assert result.distance == result.trace[-1].distance <= 1e-4
    assert result.n_iter == result.trace[-1].n_steps
    assert_array_equal(result.support, result.trace[-1].support)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_jump_to_the_last_penalty_seldom_changes_the_terms(loss, monkeypatch):
    problems = []
    for seed in range(40):
        X, y = random_samples(seed, m=60, n=4)
        problems.append(make_problem(loss, X, y, C=2.0 ** (seed % 9), k=2 + seed % 5))
    jumped = [decompose(problem) for problem in problems]
    monkeypatch.setattr(decomposition, "STAY_SHARE", 0.0)
    walked = [decompose(problem) for problem in problems]
    assert sum(len(fit.trace) for fit in jumped) < 0.7 * sum(len(fit.trace) for fit in walked)
    same = [np.array_equal(fast.support, slow.support) for fast, slow in zip(jumped, walked, strict=True)]
    assert sum(same) >= len(same) - 1
    assert all(fit.distance <= 1e-4 for fit in jumped)


class ShrinkingStep:
    """A z-step whose refits make a term vanish, or turn it round."""

    def __init__(self, step, factor):
        self.step, self.factor = step, factor

    def __getattr__(self, name):
        return getattr(self.step, name)

    def refit(self, support):
        fit = self.step.refit(support)
        return replace(fit, z=np.where(np.arange(len(fit.z)) == support[0], self.factor * fit.z, fit.z))


@pytest.mark.parametrize("loss", LOSSES)
def test_no_jump_where_the_refit_would_make_a_term_small(loss):
    X, y = random_samples(6, m=60, n=3)
    problem = make_problem(loss, X, y, C=8.0, k=3)

    def jumps(factor):
        rhos = np.array([row.rho for row in decompose(problem, step=ShrinkingStep(problem.step(), factor)).trace])
        return bool(np.any(rhos[1:] / rhos[:-1] > 10))

    assert jumps(1.0)
    assert not jumps(1e-9)
    assert not jumps(-1.0)
    object.__setattr__(problem, "rule", RequiredTerms(problem.n_terms, decompose(problem).support[:1]))
    assert jumps(1e-9)  # a term that has to stay may be as small as it likes


@pytest.mark.parametrize("loss", LOSSES)
def test_restart_from_the_feasible_point(loss, monkeypatch):
    """Any start above Upsilon sends the sweeps back to u = 0; here Upsilon is made tiny, so that every penalty restarts."""
    X, y = random_samples(6, m=60, n=3)
    problem = make_problem(loss, X, y, C=8.0, k=2)
    assert not any(row.restarted for row in decompose(problem).trace)
    monkeypatch.setattr(type(problem), "at_zero", lambda self: 0.0)
    monkeypatch.setattr(decomposition, "STAY_SHARE", 0.0)
    trace = decompose(problem).trace
    assert [row.restarted for row in trace] == [False] + [True] * (len(trace) - 1)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("accelerated", [True, False])
@pytest.mark.parametrize("max_iter", [1, 2, 3, 7])
def test_iteration_limit(loss, accelerated, max_iter):
    X, y = random_samples(6, m=60, n=3)
    problem = make_problem(loss, X, y, C=8.0, k=3)
    result = decompose(problem, Schedule(max_iter=max_iter, accelerated=accelerated))
    assert result.status is Status.ITERATION_LIMIT
    assert result.n_iter == max_iter
    assert len(result.support) == 3
    certificate = judge(surface_of(problem, result.z, result.c), judged(X, y, np.ones(60), np.ones(2)), loss=loss, C=8.0, k=3)
    assert certificate.stationarity <= TOLERANCE[loss]


def test_time_limit():
    X, y = random_samples(6, m=60, n=3)
    result = decompose(make_problem("hinge", X, y, C=8.0, k=3), Schedule(time_limit=1e-9))
    assert result.status is Status.TIME_LIMIT


@pytest.mark.parametrize("loss", LOSSES)
def test_a_step_can_be_reused_for_another_k(loss):
    X, y = random_samples(7, m=60, n=4)
    problem = make_problem(loss, X, y, C=8.0, k=2)
    step = problem.step()
    decompose(problem, step=step)
    again, fresh = decompose(problem.with_k(4), step=step), decompose(problem.with_k(4))
    assert_array_equal(again.support, fresh.support)
    assert_allclose(again.z, fresh.z, atol=1e-9)


@needs_data
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [1.0, 256.0])
@pytest.mark.parametrize("name", sorted(NAMES))
def test_stationarity_on_the_papers_data(name, C, loss):
    X, y = load(name)
    p = make_problem(loss, X, y, C, 1).n_terms
    for k in sorted({2, max(3, p // 8)}):
        problem = make_problem(loss, X, y, C, k)
        result = decompose(problem)
        certificate = judge(
            surface_of(problem, result.z, result.c),
            judged(X, y, np.ones(len(y)), np.ones(2)),
            loss=loss,
            C=C,
            k=k,
            support=problem.terms[result.support],
        )
        assert certificate.stationarity <= TOLERANCE[loss]
        assert certificate.n_terms <= k
        assert certificate.ridge == (1e-8 if name == "ctg" else 0.0)


def test_certificates_are_values():
    certificate = Certificate(1.0, 2, 3, 1e-12, 0.0, True, False, 0.0)
    assert replace(certificate, gap=0.1).gap == 0.1
    assert certificate.gap is None
