"""Both z-steps and the refit against Clarabel through cvxpy."""

import numpy as np
import pytest

from helpers import LOSSES, make_problem, random_samples
from helpers.convex_solver import minimum
from paper_data import folder, load

needs_data = pytest.mark.skipif(folder() is None, reason="the paper's data are not here: set QUADRIC_DATA")


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.1, 1.0, 256.0])
@pytest.mark.parametrize("seed", range(3))
def test_sweep(loss, C, seed):
    X, y = random_samples(seed, m=40, n=3)
    problem = make_problem(loss, X, y, C=C)
    u, rho = np.random.default_rng(seed).normal(size=problem.n_terms), 2.0
    expected = minimum(X, y, loss, C, penalty=np.full(problem.n_terms, rho), u=u)
    assert problem.step().sweep(u, rho).value == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_fixed_point(loss, seed):
    X, y = random_samples(seed, m=40, n=3)
    problem, support, rho = make_problem(loss, X, y, C=8.0), np.array([0, 3, 7]), 5.0
    penalty = np.full(problem.n_terms, rho)
    penalty[support] = 0.0
    expected = minimum(X, y, loss, 8.0, penalty=penalty, u=np.zeros(problem.n_terms))
    assert problem.step().fixed_point(support, rho).value == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.1, 1.0, 256.0])
@pytest.mark.parametrize("support", [[0], [1, 8], [0, 2, 4, 6, 8]], ids=str)
def test_refit(loss, C, support):
    X, y = random_samples(11, m=40, n=3)
    problem = make_problem(loss, X, y, C=C)
    expected = minimum(X, y, loss, C, support=np.array(support))
    assert problem.step().refit(np.array(support)).value == pytest.approx(expected, rel=1e-7)


@needs_data
@pytest.mark.parametrize("C", [1.0, 256.0])
@pytest.mark.parametrize("name", ["immunotherapy", "ecoli", "glass"])
def test_hinge_refits_on_the_papers_data(name, C):
    """Supports of every size from one warm step: where the active set could go astray."""
    X, y = load(name)
    step = make_problem("hinge", X, y, C=C).step()
    rng = np.random.default_rng(0)
    for size in (1, 3, 6, 12):
        support = np.sort(rng.choice(step.problem.n_terms, size, replace=False))
        expected = minimum(X, y, "hinge", C, support=support)
        assert step.refit(support).value == pytest.approx(expected, rel=1e-7)
