"""The logistic loss on small problems: every support tried."""

from itertools import combinations

import numpy as np
import pytest

from helpers import make_problem, random_samples
from quadric.losses.base import Found
from quadric.search.exact import prove
from quadric.search.methods import SearchOptions, search

BLOCKS = 10


def small_problem(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    X, y = random_samples(seed, m=int(rng.integers(12, 40)), n=n, noise=float(rng.uniform(0.1, 2.0)))
    p = n * (n + 3) // 2
    return make_problem("logistic", X, y, C=float(10.0 ** rng.uniform(-2, 3)), k=int(rng.integers(1, min(p, 4) + 1)))


def optimum(problem):
    step = problem.step()
    supports = combinations(range(problem.n_terms), problem.k)
    return min(step.refit(np.array(support)).value for support in supports)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_best_is_enumeration(block):
    """200 problems in all."""
    for seed in range(block, 200, BLOCKS):
        problem = small_problem(seed)
        assert search(problem, "best", SearchOptions()).objective == pytest.approx(optimum(problem), rel=1e-9), seed


@pytest.mark.parametrize("block", range(BLOCKS))
def test_proofs_are_enumeration(block):
    for seed in range(block, 100, BLOCKS):
        problem = small_problem(seed)
        best, support = optimum(problem), np.arange(problem.k)
        proof = prove(problem, Found(support, problem.step().refit(support).value))
        assert proof.closed
        assert proof.best.value == pytest.approx(best, rel=1e-9)
        assert best * (1.0 - 1e-6) <= proof.lower_bound <= best * (1.0 + 1e-12)
