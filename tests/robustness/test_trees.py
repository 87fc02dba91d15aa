"""Branch and bound on small problems of every kind against enumeration, at whatever node it is stopped."""

from itertools import combinations

import numpy as np
import pytest

from helpers import LOSSES, make_problem, slow_objective, surface_of
from quadric.geometry.energy import Energy
from quadric.losses.base import Found
from quadric.search.exact import prove, supports_below

BLOCKS = 6
KINDS = ("plain", "nearly dependent", "tied", "ill-scaled", "far from zero", "more terms than rows")
STOPS = (0, 1, 2, 3, 5, 9, 17)


def samples_of(seed):
    """X, y, C and k of one problem of the kind that the seed names."""
    rng, kind = np.random.default_rng(seed), KINDS[seed % len(KINDS)]
    m, n = (5, 3) if kind == "more terms than rows" else (int(rng.integers(8, 30)), int(rng.integers(2, 4)))
    X = rng.normal(size=(m, n))
    if kind == "nearly dependent":
        X[:, 1] = X[:, 0] + 10.0 ** rng.uniform(-9, -2) * rng.normal(size=m)
    if kind == "tied":  # features that can be exchanged for each other, and samples that repeat
        X = np.round(X)
        X[:, 1] = -X[:, 0] if rng.random() < 0.5 else X[:, 0]
        X[m // 2 :] = X[: m - m // 2]
    if kind == "ill-scaled":
        X *= 10.0 ** rng.uniform(-4, 4, size=n)
        X[0] *= 10.0 ** rng.uniform(0, 3)
    if kind == "far from zero":
        X += 10.0 ** rng.uniform(1, 4)
    y = np.where(X[:, 0] * X[:, -1] + rng.normal(size=m) * np.abs(X).mean() ** 2 > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return kind, X, y, 10.0 ** rng.uniform(-2, 4), int(rng.integers(1, 4))


def objective(problem, z, c, X, y):
    """F by its definition, with the ridge of a singular regulariser."""
    ridge = Energy.of_samples(X, np.ones(len(y))).ridge
    plain = slow_objective(surface_of(problem, z, c), X, y, problem.loss_name, problem.C)
    return plain + 0.5 * ridge / (1.0 + ridge) * float(np.diag(problem.G) @ z**2)


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_trees(loss, block, size, tally):
    for seed in range(block, size(42, 1002), BLOCKS):
        kind, X, y, C, k = samples_of(seed)
        problem = make_problem(loss, X, y, C, 1)
        problem = problem.with_k(min(k, problem.n_terms))
        step = problem.step()
        refits = {s: step.refit(np.array(s)) for s in combinations(range(problem.n_terms), problem.k)}
        values = {s: objective(problem, r.z, r.c, X, y) for s, r in refits.items()}
        if kind == "far from zero":  # z and c cannot be written so exactly that the definition gives back their F
            np.testing.assert_allclose(list(values.values()), [r.value for r in refits.values()], rtol=1e-6)
            values = {s: max(value, refits[s].value) for s, value in values.items()}
        optimum, supports = min(values.values()), list(values)
        start = supports[seed % len(supports)]
        incumbent = Found(np.array(start), values[start])
        proof = prove(problem, incumbent)
        assert not proof.stopped
        if proof.closed:
            assert proof.best.value <= optimum * (1 + 1e-6)
        stopped = prove(problem, incumbent, node_limit=STOPS[seed // len(KINDS) % len(STOPS)])
        for bound in (proof.lower_bound, stopped.lower_bound, *(bound for _, bound in proof.history)):
            assert bound is None or 0.0 <= bound <= optimum * (1 + 1e-9)
        check_listing(problem, values, seed)
        tally(f"trees, {loss}, {kind}: {'no bound' if proof.lower_bound is None else 'closed' if proof.closed else 'gap'}")


def check_listing(problem, values, seed):
    """Nothing is missing below the objective up to which a list claims to be complete."""
    best = min(values, key=values.get)
    ceiling = values[best] * 1.1
    for limit in (None, (1, 4, 12)[seed % 3]):
        supports, below = supports_below(problem, Found(np.array(best), values[best]), ceiling, node_limit=limit)
        listed = {tuple(found.support.tolist()) for found in supports}
        assert {s for s, value in values.items() if value * (1 + 1e-6) < min(below, ceiling)} <= listed
        assert all(values[s] <= ceiling * (1 + 1e-6) for s in listed)


def test_every_kind_is_tried():
    assert {samples_of(seed)[0] for seed in range(len(KINDS))} == set(KINDS)
