"""Sums of length p against the matrices that they stand in for, on problems small enough for both."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from helpers import make_problem
from quadric.geometry import lifting, products
from quadric.geometry.energy import Energy
from quadric.geometry.lifting import lift
from quadric.geometry.moments import LiftedMoments, TermStatistics
from quadric.geometry.products import LiftedSums
from quadric.geometry.terms import to_matrix
from quadric.losses.base import Found
from quadric.losses.least_squares.step import Lyapunov


def far_samples(seed, m=120, n=6):
    """Features with means of very different size, a sign, a constant and a pair that is never one together."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n)) + np.r_[0.0, 4.0, -300.0, np.zeros(n - 3)]
    X = np.column_stack([X, np.sign(X[:, 0]), np.full(m, 0.7), np.arange(m) % 3 == 0, np.arange(m) % 3 == 1])
    return X, rng.uniform(0.5, 2.0, m), np.where(rng.normal(size=m) + X[:, 0] * X[:, 3] > 0, 1.0, -1.0)


def both(monkeypatch, X, y, **parameters):
    """The same problem with a matrix of all pairs, and without."""
    dense = make_problem("least_squares", X, y, **parameters)
    monkeypatch.setattr(products, "MANY_TERMS", 0)
    return dense, make_problem("least_squares", X, y, **parameters)


@pytest.mark.parametrize("seed", range(3))
def test_sums_are_those_of_the_lifted_samples(seed, monkeypatch):
    monkeypatch.setattr(products, "FEATURE_BLOCK", 4)
    monkeypatch.setattr(products, "PRODUCT_ROWS", 50)
    monkeypatch.setattr(lifting, "CHUNK_BYTES", 1)
    X, w, y = far_samples(seed)
    sums = LiftedSums(X, w)
    assert sums.shift[2] != 0.0 == sums.shift[0]
    R = lift(X) - lift(sums.shift[None])
    scale = w @ np.abs(R) + 1e-3  # constant terms are rounding
    assert_allclose(sums.sums(w * y) / scale, (w * y) @ R / scale, atol=1e-12)
    squares, size = sums.squares(w)
    assert_allclose(squares / (size + 1e-6), w @ R**2 / (size + 1e-6), atol=1e-13)
    assert (squares <= size * (1.0 + 1e-12)).all()
    assert_allclose(sums.absolute(w), w @ np.abs(lift(X)), rtol=1e-12)
    z = np.random.default_rng(seed).normal(size=R.shape[1])
    assert_allclose(sums.scores(*to_matrix(z)), R @ z, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_sparse_rows_have_the_same_sums(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 7)) * (rng.random((90, 7)) < 0.3)
    v, z = rng.normal(size=90) * (rng.random(90) < 0.3), rng.normal(size=35)
    sparse, dense = LiftedSums(csr_array(X), np.ones(90)), LiftedSums(X, np.ones(90))
    assert not dense.shift.any()
    assert_allclose(sparse.sums(v), lift(X).T @ v, rtol=1e-12, atol=1e-12)
    for of in (lambda sums: sums.sums(v), lambda sums: sums.squares(v**2)[0], lambda sums: sums.absolute(v**2)):
        assert_allclose(of(sparse), of(dense), rtol=1e-12, atol=1e-12)
    assert_allclose(sparse.scores(*to_matrix(z)), dense.scores(*to_matrix(z)), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_statistics_by_products_are_those_by_lifting(seed):
    X, w, _ = far_samples(seed)
    lifted, statistics = LiftedMoments.of(X, w), TermStatistics.of(X, w)
    constant = lifted.constant_terms()
    assert constant.sum() >= 3
    assert_array_equal(statistics.constant_terms(), constant)
    expected = {"mean": lifted.mean, "scatter": np.diag(lifted.scatter), "absolute": w @ np.abs(lift(X))}
    for name, values in expected.items():
        assert_allclose(getattr(statistics, name)[~constant], values[~constant], rtol=1e-11)


@pytest.mark.parametrize("repeated", [False, True])
def test_rows_and_blocks_of_the_regulariser(repeated):
    X, w, _ = far_samples(0)
    X = np.column_stack([X, X[:, 0]]) if repeated else X[:, :5]
    energy = Energy.of_samples(X, w)
    assert (energy.ridge > 0.0) is repeated
    G = energy.gram()
    some, others = np.array([0, 3, len(G) - 2, len(G) - 1]), np.arange(1, len(G), 2)
    assert_allclose(energy.block(some, others), G[np.ix_(some, others)], rtol=1e-14)
    assert_allclose(energy.diagonal(), np.diag(G), rtol=1e-14)
    for term in range(len(G)):
        row = np.zeros(len(G))
        positions, entries = energy.row(term)
        row[positions] = entries
        assert_allclose(row, G[term], rtol=1e-14)


@pytest.mark.parametrize("seed", range(4))
def test_rows_of_the_quadratic_without_the_quadratic(seed, monkeypatch):
    X, w, y = far_samples(seed)
    parameters = {"C": 4.0, "k": 4, "sample_weight": w, "class_weight": (0.6, 1.7)}
    dense, wide = both(monkeypatch, X, y, **parameters)
    assert wide.is_wide
    assert not dense.is_wide
    assert_array_equal(wide.terms, dense.terms)
    unit = 1.0 / np.sqrt(dense.curvature.diagonal)
    assert_allclose(wide.curvature.diagonal, dense.curvature.diagonal, rtol=1e-12)
    assert_allclose(wide.q * unit, dense.q * unit, atol=1e-12 * np.abs(dense.q * unit).max())
    assert_allclose(wide.mean_curvature, dense.mean_curvature, rtol=1e-12)
    for term in range(dense.n_terms):
        assert_allclose(wide.curvature.row(term) * unit * unit[term], dense.curvature.row(term) * unit * unit[term], atol=1e-12)
    some = np.array([0, 2, 9, dense.n_terms - 1])
    assert_allclose(
        wide.curvature.block(some) * np.outer(unit[some], unit[some]),
        dense.curvature.block(some) * np.outer(unit[some], unit[some]),
        atol=1e-12,
    )
    z = np.random.default_rng(seed).normal(size=dense.n_terms) * unit
    assert_allclose(wide.curvature.times(wide.embed(z)) * unit, dense.M @ z * unit, atol=1e-11)
    few = np.where(np.isin(np.arange(dense.n_terms), some), z, 0.0)
    assert wide.objective(few, 0.3) == pytest.approx(dense.objective(few, 0.3), rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_every_exchange_has_its_price(seed, monkeypatch):
    monkeypatch.setattr("quadric.losses.columns.PRICED_TERMS", 7)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 6))
    y = np.where(X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=80) > 0, 1.0, -1.0)
    dense, wide = both(monkeypatch, X, y, C=2.0, k=4)
    support = np.sort(rng.choice(dense.n_terms, 4, replace=False))
    found = Found(support, dense.step().refit(support).value)
    (moves, prices), (all_moves, table) = (problem.explorer().exchanges(found, np.inf) for problem in (wide, dense))
    assert_array_equal(moves.out, all_moves.out)
    assert_array_equal(moves.into, all_moves.into)
    assert_allclose(prices, table, rtol=1e-9, atol=1e-10 * found.value)


@pytest.mark.parametrize("rho", [1e-3, 10.0, 1e6])
def test_the_lyapunov_equation_inverts_the_regulariser(rho):
    X, w, _ = far_samples(1)
    energy = Energy.of_samples(X[:, :6], w)
    left, right = np.triu_indices(6)
    D = np.append(np.where(left == right, 1.0, 2.0), np.ones(6))
    v = np.random.default_rng(0).normal(size=len(D))
    matrix = energy.gram() + rho * np.diag(D)
    unit = 1.0 / np.sqrt(np.diag(matrix))
    z = Lyapunov(energy, rho).solve(v)
    assert_allclose(unit * (matrix @ z), unit * v, atol=1e-7 * np.abs(unit * v).max())
