"""F as a sum of squares: factors, compensated scores and their error bounds, against 50 digits."""

import math
from itertools import product

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from helpers import make_problem, random_samples, random_surface, slow_objective
from helpers.ill_scaled import ExactProblem, dirty_problem
from quadric.geometry import stacked
from quadric.geometry.compensated import balanced, misfits
from quadric.geometry.energy import Energy, EnergyNorm, graded_factor
from quadric.geometry.lifting import lift
from quadric.geometry.stacked import StackedRows


def test_a_graded_factor_keeps_small_rows():
    """Twelve orders of magnitude between rows: the products of columns have lost the small ones, the factor has not."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 4))
    A[0] *= 1e12
    direction = np.linalg.svd(A[:1])[2][1:]  # where the large row says nothing
    U = graded_factor([A])
    seen = np.linalg.norm(U @ direction.T, axis=0)
    assert_allclose(seen, np.linalg.norm(A[1:] @ direction.T, axis=0), rtol=1e-3)
    assert_allclose(np.linalg.norm(graded_factor([A[:11], A[11:]]) @ direction.T, axis=0), seen, rtol=1e-3)


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_rows_of_the_energy(scale, constant):
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(12, 3)) + 3.0, rng.uniform(0.5, 2.0, size=12)
    X[0] *= scale
    X[:, 2] = 1.0 if constant else X[:, 2]
    energy, surface = Energy.of_samples(X, w), random_surface(rng, 3)
    z = surface.coordinates()
    by_definition = sum(weight * np.sum((surface.W @ x + surface.b) ** 2) for x, weight in zip(X, w, strict=True))
    ridge = 0.5 * energy.ridge * np.sum((energy.gram().diagonal() / (1.0 + energy.ridge)) * z**2)
    assert (energy.ridge > 0.0) == constant
    assert_allclose(energy.value(z), by_definition + ridge, rtol=1e-10)
    for terms in (np.arange(9), np.array([1, 4, 8])):
        chosen = np.zeros(9)
        chosen[terms] = z[terms]
        assert_allclose(np.sum((energy.rows(terms) @ z[terms]) ** 2), energy.value(chosen), rtol=1e-10)


def test_scores_have_twice_the_digits():
    rng = np.random.default_rng(2)
    X = 1e6 + rng.normal(size=(10, 2))
    terms, y = np.array([0, 1, 3]), np.ones(10)
    x = np.append(rng.normal(size=3), 0.0)
    x[-1] = -(lift(X, terms) @ x[:-1]).mean()
    with mpmath.workdps(50):
        rows = [[mpmath.mpf(a) ** 2 / 2, mpmath.mpf(a) * mpmath.mpf(b), mpmath.mpf(a)] for a, b in X.tolist()]
        exact = [1 - mpmath.mpf(x[-1]) - sum(r * mpmath.mpf(v) for r, v in zip(row, x.tolist(), strict=False)) for row in rows]
    assert_allclose(misfits(X, terms, x, y), np.array([float(v) for v in exact]), rtol=1e-13)
    assert np.abs(1.0 - lift(X, terms) @ x[:-1] - x[-1] - np.array([float(v) for v in exact])).max() > 1e-5


@pytest.mark.parametrize("seed", range(40))
def test_errors_are_bounded(seed):
    """At a point near the minimum: value, decrease and bracket against the truth."""
    dirty = dirty_problem(seed)
    energy = Energy.of_samples(dirty.X, np.ones(len(dirty.y)))
    terms = make_problem("least_squares", dirty.X, dirty.y, dirty.C, dirty.k).terms
    exact = ExactProblem(dirty, energy.ridge, terms)
    support = tuple(range(min(dirty.k, len(terms))))
    rows = StackedRows(dirty.X, energy, np.full(len(dirty.y), dirty.C), dirty.y, terms[list(support)])
    best = rows.refit()
    lowest = exact.squared_minimum(support)
    for x in (best, best * (1.0 + 1e-5), best * 0.5):
        z = np.zeros(len(terms))
        z[list(support)] = x[:-1]
        truth, reached = exact.squared_objective(z, x[-1]), rows.at(x)
        assert abs(reached.value - truth) <= reached.value_error
        assert truth - lowest <= rows.decrease(x) + 1e-12 * truth
        assert rows.bracket(rows.at(x))[1] <= lowest


def test_blocks_change_nothing(monkeypatch):
    X, y = random_samples(4, m=500, n=3)
    energy, terms = Energy.of_samples(X, np.ones(500)), np.array([0, 1, 5, 8])

    def rows():
        return StackedRows(X, energy, np.full(500, 2.0), y, terms)

    whole = rows().refit()
    monkeypatch.setattr("quadric.geometry.lifting.CHUNK_BYTES", 1)
    monkeypatch.setattr(stacked, "KEPT_BYTES", 0)
    assert_allclose(rows().refit(), whole, rtol=1e-9)
    assert_allclose(rows()._inverse_from_rows()[1], rows()._inverse[1], atol=1e-12)
    z = np.zeros(9)
    z[terms] = whole[:-1]
    surface = random_surface(np.random.default_rng(0), 3).from_coordinates(z, whole[-1])
    assert rows().at(whole).value == pytest.approx(slow_objective(surface, X, y, "least_squares", 2.0), rel=1e-10)


@pytest.mark.parametrize("spread", [1.0, 1e4])
def test_the_norm_of_a_gradient_holds_for_all_that_rounding_may_have_made_of_it(spread):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 3)) * [1.0, spread, 1.0 / spread]
    energy, terms = Energy.of_samples(X, np.ones(30)), np.array([0, 1, 4, 7])
    G = energy.gram()[np.ix_(terms, terms)]
    scale = np.sqrt(np.diag(G))
    h, doubt = scale * rng.normal(size=4), 1e-2 * scale * rng.random(4)
    norm = EnergyNorm.of(energy, terms, 30)
    corners = [h + doubt * np.array(signs) for signs in product((-1.0, 0.0, 1.0), repeat=4)]
    truth = [0.5 * float(corner @ np.linalg.solve(G, corner)) for corner in corners]
    assert max(truth) <= norm.halved_square(h, doubt) <= 2.0 * max(truth)
    assert norm.halved_square(h, 0.0 * doubt) == pytest.approx(0.5 * float(h @ np.linalg.solve(G, h)), rel=1e-8)


@pytest.mark.parametrize("unit", [1e-180, 1.0, 1e120])
def test_balanced_multipliers_balance_exactly_and_none_grows(unit):
    rng = np.random.default_rng(4)
    y, multipliers = np.where(rng.random(50) < 0.3, 1.0, -1.0), unit * rng.random(50) ** 8
    even = balanced(multipliers, y)
    assert math.fsum((y * even).tolist()) == 0.0
    assert np.all((even >= 0.0) & (even <= multipliers))
    assert math.fsum(even.tolist()) >= 0.9 * 2.0 * min(multipliers[y > 0.0].sum(), multipliers[y < 0.0].sum())
