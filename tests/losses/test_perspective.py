"""The perspective bound by its definition: whatever v is, no support of a node falls below it."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from helpers import LOSSES, make_problem, random_samples
from quadric.losses.base import NoBound
from quadric.losses.perspective import Linear, PerspectiveRelaxation, Relaxed, SafeSplit, Split

K = 3


def problem_of(loss, seed, C=16.0, n=3):
    X, y = random_samples(seed, m=40, n=n)
    return make_problem(loss, X, y, C=C, k=K)


def perspective_of(problem):
    relaxations = problem.loss.bounds(problem, problem.step()).relaxations()
    assert isinstance(relaxations[0], PerspectiveRelaxation)
    return relaxations[0]


def linear_of(relaxation, shares):
    """The linear part for given shares, where it depends on them."""
    return relaxation.linear if hasattr(relaxation, "linear") else relaxation.fit(shares)[1]


def node(rng, p):
    """Two terms are excluded and one is fixed."""
    order = rng.permutation(p)
    fixed, allowed = np.zeros((1, p), dtype=bool), np.ones((1, p), dtype=bool)
    fixed[0, order[0]] = True
    allowed[0, order[1:3]] = False
    return fixed, allowed


def values_of(problem):
    step = problem.step()
    return {s: step.refit(np.array(s)).value for s in combinations(range(problem.n_terms), problem.k)}


def inside(values, fixed, allowed):
    """Those of the supports that lie in a node."""
    must, may = set(np.flatnonzero(fixed)), set(np.flatnonzero(allowed))
    return {s: value for s, value in values.items() if must <= set(s) <= may}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(5))
def test_any_v_and_any_multipliers_give_a_bound_on_every_node(loss, seed):
    rng, problem = np.random.default_rng(seed), problem_of(loss, seed)
    p, relaxation, values = problem.n_terms, perspective_of(problem), values_of(problem)
    for scale in (0.0, 0.01, 1.0, 100.0):
        fixed, allowed = node(rng, p)
        linear = linear_of(relaxation, rng.uniform(0.0, 1.0, size=p))
        base, W = relaxation.safe.lines(scale * rng.normal(size=(1, 1, p)), linear)
        for support, value in values.items():
            assert base[0] - W[0, list(support)].sum() <= value
        state = relaxation.relaxed.start(scale * rng.normal(size=(1, 1, p)), fixed, allowed)
        bounded = relaxation.bounded(fixed, allowed, state, linear, 1, np.inf)
        assert bounded.lower[0] <= min(inside(values, fixed[0], allowed[0]).values())


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(5))
def test_fixed_terms_belong_to_all_supports_below_the_cutoff(loss, seed):
    problem = problem_of(loss, seed)
    relaxation, values, (fixed, allowed) = perspective_of(problem), values_of(problem), node(np.random.default_rng(seed), 9)
    own = inside(values, fixed[0], allowed[0])
    for cutoff in np.quantile(list(own.values()), [0.0, 0.1, 0.3]) * (1 + 1e-9):
        for bounded in (
            relaxation.root(fixed, allowed, cutoff),
            relaxation.children(fixed, allowed, relaxation.root(fixed & False, allowed | True, cutoff).state, cutoff),
        ):
            better = {s: value for s, value in own.items() if value < cutoff}
            assert better.keys() == inside(better, bounded.fixed[0], bounded.allowed[0]).keys()
            assert bounded.lower[0] <= min(own.values())


def test_terms_are_fixed():
    """One column decides the label: its square is worth more than the gap, and noise is worth less."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    problem = make_problem("least_squares", X, np.where(X[:, 0] ** 2 > 0.7, 1.0, -1.0), C=1.0, k=2)
    values = values_of(problem.with_k(2))
    nothing = np.zeros((1, 9), dtype=bool)
    bounded = perspective_of(problem).root(nothing, ~nothing, min(values.values()) * (1 + 1e-9))
    assert bounded.fixed[0, 0]
    assert not bounded.allowed[0].all()


@pytest.mark.parametrize("seed", range(5))
def test_the_bound_is_exact_on_a_whole_support(seed):
    """v = the minimiser on a support loses nothing there but rounding."""
    problem = problem_of("least_squares", seed)
    support, relaxation = np.array([0, 4, 7]), perspective_of(problem)
    solution = problem.step().refit(support)
    base, W = relaxation.safe.lines(solution.z[None, None], relaxation.linear)
    bound = base[0] - W[0, support].sum()
    shrunk = 2e-5 * 0.5 * relaxation.safe.diagonal @ solution.z**2  # of D, for the sake of the factorisation
    assert bound <= solution.value
    assert_allclose(bound, solution.value, rtol=1e-11, atol=shrunk)


def test_steps_reach_the_optimum_of_the_relaxation():
    """Dual and primal meet: 1/2 z'M0z - q'z + 1/2 sum d z^2 / s at the shares that are reached."""
    problem = problem_of("least_squares", 1, n=4)
    p, relaxation = problem.n_terms, perspective_of(problem)
    nothing, split = np.zeros((1, p), dtype=bool), problem.curvature.split
    bounded = relaxation.root(nothing, ~nothing, np.inf)
    s = np.maximum(relaxation.relaxed.shares(nothing, ~nothing, bounded.state)[0].astype(float), 1e-9)
    assert s.sum() == pytest.approx(K, rel=1e-4)
    z = np.linalg.solve(split.rest + np.diag(split.diagonal / s), problem.q)
    primal = problem.constant - 0.5 * problem.q @ z
    assert bounded.lower[0] <= primal * (1 + 1e-9)
    assert bounded.lower[0] == pytest.approx(primal, rel=1e-3)
    start = relaxation.relaxed.start(np.ones((1, 1, p)), nothing, ~nothing)
    unpolished = Relaxed(split, K, 1.0).steps(nothing, ~nothing, start, problem.q[None, None], 1)[1]
    base, W = relaxation.safe.lines(unpolished, relaxation.linear)
    assert base[0] - np.sort(W[0])[-K:].sum() < bounded.lower[0]


@pytest.mark.parametrize("seed", range(5))
def test_the_rest_of_a_split_is_positive_semidefinite(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(30, 12)) * 10.0 ** rng.uniform(-4, 4, size=12)
    A[:, 1] = A[:, 0] * (1 + 1e-5 * rng.normal(size=30))
    matrix = A.T @ A
    split = Split.of_matrix(matrix)
    scale = 1 / np.sqrt(np.diag(matrix))
    assert (split.diagonal > 0).all()
    assert_allclose(split.rest + np.diag(split.diagonal), matrix, rtol=1e-15)
    assert np.linalg.eigvalsh(split.rest * np.outer(scale, scale))[0] >= -1e-15


@pytest.mark.parametrize("loss", LOSSES)
def test_the_scale_of_the_objective_does_not_matter(loss):
    """Single precision ends at 1e38, the library at C = 1e60."""
    gaps = []
    far = 1e56 if loss == "least_squares" else 1e15  # other solvers have tolerances of their own
    for scale in (1.0, 1 / far, far):
        X, y = random_samples(2, m=40, n=3)
        weight = np.full(40, scale)  # multiplies the whole objective
        problem = make_problem(loss, X, y, C=16.0, k=K, sample_weight=weight)
        nothing, optimum = np.zeros((1, 9), dtype=bool), min(values_of(problem).values())
        gaps.append(1 - perspective_of(problem).root(nothing, ~nothing, optimum).lower[0] / optimum)
    assert gaps[1:] == pytest.approx([gaps[0]] * 2, rel=1e-2)
    assert 0 < gaps[0] < 0.5


def test_what_is_no_number_is_no_bound():
    problem = problem_of("least_squares", 1)
    relaxation, nothing = perspective_of(problem), np.zeros((1, 9), dtype=bool)
    state = np.full((1, 10), np.nan, dtype=np.float32)
    bounded = relaxation.children(nothing, ~nothing, state, np.inf)
    assert np.isfinite(bounded.lower[0])
    assert bounded.lower[0] <= min(values_of(problem).values())
    assert not bounded.fixed.any()


def test_shares_add_up_to_k():
    rng, problem = np.random.default_rng(5), problem_of("least_squares", 5)
    relaxed, (fixed, allowed) = perspective_of(problem).relaxed, node(rng, 9)
    z = rng.normal(size=(1, 1, 9))
    shares = relaxed.shares(fixed, allowed, relaxed.start(z, fixed, allowed))[0]
    size, free = np.abs(relaxed.root * z[0, 0]), (allowed & ~fixed)[0]
    assert shares.sum() == pytest.approx(K, rel=1e-5)
    assert (shares[fixed[0]] == 1).all()
    assert (shares[~allowed[0]] == 0).all()
    fractions = free & (shares < 1)
    assert_allclose(shares[fractions] / size[fractions], (shares / size)[fractions].max(), rtol=1e-4)


def test_a_singular_matrix_has_no_split():
    A = np.random.default_rng(0).normal(size=(30, 4))
    matrix = A.T @ A
    for singular in (np.ones((3, 3)), np.block([[matrix, matrix], [matrix, matrix]])):
        with pytest.raises(NoBound):
            Split.of_matrix(singular)


def test_errors_of_matrix_and_linear_part_lower_the_bound():
    """A bound that allows for errors holds for every matrix and every q within them."""
    rng, problem = np.random.default_rng(3), problem_of("least_squares", 3)
    M, q, p, support = problem.M, problem.q, problem.n_terms, np.array([1, 5, 8])
    size = 1e-4 * np.diag(problem.curvature.split.diagonal)
    error, doubt = np.diag(size), 1e-3 * np.abs(q)
    safe = SafeSplit(problem.curvature.split, K, error)
    v = problem.step().refit(support).z[None, None]
    base, W = safe.lines(v, Linear(q[None, None], doubt[None, None], np.array([problem.constant])))
    bound, plain = base[0] - W[0, support].sum(), problem.step().refit(support).value
    exact_base, exact_W = SafeSplit(problem.curvature.split, K, 0.0 * error).lines(
        v, Linear(q[None, None], 0.0 * doubt[None, None], np.array([0.0]))
    )
    assert bound < problem.constant + exact_base[0] - exact_W[0, support].sum() <= plain
    for _ in range(200):
        signs = np.where(rng.random((p, p)) < 0.5, -1.0, 1.0)
        E = np.triu(signs) * np.sqrt(np.outer(error, error))
        shifted, pushed = M + E + np.triu(E, 1).T, q + doubt * np.where(rng.random(p) < 0.5, -1.0, 1.0)
        block = shifted[np.ix_(support, support)]
        assert bound <= problem.constant - 0.5 * pushed[support] @ np.linalg.solve(block, pushed[support])
    with pytest.raises(NoBound):
        SafeSplit(problem.curvature.split, K, np.diag(M))
