"""Bounds for many terms at once: never above a minimum, and often near it."""

import numpy as np
import pytest

from quadric.losses.hinge.entrants import Entrants
from quadric.losses.hinge.qp import HingeQP
from quadric.losses.hinge.step import solve_hinge


def entrants_of(seed, n_terms):
    """A support, its surface, and the problems with one of five terms more; half of the seeds have few distinct values."""
    rng = np.random.default_rng(seed)
    m, n = 120, n_terms + 5
    R = rng.integers(0, 3, size=(m, n)).astype(float) if seed % 2 else rng.normal(size=(m, n)) * rng.uniform(0.1, 10.0, n)
    R -= R.mean(axis=0)
    y = np.where(R[:, : n_terms + 1] @ rng.normal(size=n_terms + 1) + 3.0 * rng.normal(size=m) > 0.0, 1.0, -1.0)
    upper = 10.0 ** rng.uniform(-1.0, 2.0) * rng.uniform(0.5, 2.0, m)
    B = rng.normal(size=(2 * n, n))
    G = B.T @ B

    def problem(terms):
        A = np.column_stack([R[:, terms], np.ones(m)])
        return HingeQP(A, y, upper, G[np.ix_(terms, terms)], np.zeros(len(terms) + 1))

    inside, outside = np.arange(n_terms), np.arange(n_terms, n)
    entrants = Entrants(problem(inside), R[:, outside], G[np.ix_(inside, outside)], np.diag(G)[outside])
    start = solve_hinge(problem(inside), np.zeros(n_terms + 1), None).w if n_terms else np.zeros(1)
    minima = []
    for term in outside:
        qp = problem(np.append(inside, term))
        solution = solve_hinge(qp, np.append(np.insert(start[:-1], n_terms, 0.0), start[-1]), None)
        minima.append(qp.value(solution.w, qp.margins(solution.w)))
    return entrants, start, np.array(minima)


@pytest.mark.parametrize("n_terms", [0, 1, 4])
@pytest.mark.parametrize("seed", range(20))
def test_no_minimum_is_claimed_to_be_above_what_it_is(seed, n_terms):
    entrants, start, minima = entrants_of(seed, n_terms)
    for minimum in minima:
        for distance in (-1e-2, -1e-4, -1e-8, 1e-8, 1e-4, 1e-2):
            ceiling = minimum * (1.0 + distance)
            assert not entrants.above(start, ceiling)[minima < ceiling * (1.0 - 1e-10)].any()


def test_many_minima_are_told_from_ceilings_below_them():
    told = []
    for seed in range(20):
        entrants, start, minima = entrants_of(seed, 4)
        told += [entrants.above(start, 0.9 * minimum)[i] for i, minimum in enumerate(minima)]
    assert np.mean(told) > 0.4


@pytest.mark.parametrize("rounding", [0.0, 1e-12, -1e-12])
def test_where_rounding_leaves_no_bound_nothing_is_claimed(rounding):
    entrants, start, minima = entrants_of(0, 4)
    entrants._G[:, :, -1] = entrants._G[:, :, 0]
    entrants._G[:, -1] = entrants._G[:, 0]  # every term is the first of the support again
    entrants._G[:, -1, -1] *= 1.0 + rounding
    assert not entrants.above(start, minima.min() * 0.5).any()
