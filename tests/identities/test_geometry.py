"""Terms, lifting, moments and the regulariser: formulas against their definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers import random_surface, slow_lift
from quadric.geometry import lifting
from quadric.geometry import moments as moments_module
from quadric.geometry.energy import RIDGE, Energy
from quadric.geometry.lifting import lift, lift_adjoint, lift_columns
from quadric.geometry.moments import LabelledMoments, LiftedMoments, TermStatistics, moments_by_class
from quadric.geometry.terms import (
    LINEAR,
    feature_count,
    term_count,
    term_factors,
    term_index,
    term_names,
    to_matrix,
    to_vector,
)


@pytest.fixture
def rng():
    return np.random.default_rng(1)


@pytest.fixture
def small_chunks(monkeypatch):
    """Many blocks even for a small X, so that tests cross block borders."""
    monkeypatch.setattr(lifting, "CHUNK_BYTES", 1)
    monkeypatch.setattr(moments_module, "BLOCK_ROWS", 64)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_positions_and_factors_agree(n):
    left, right = term_factors(n)
    assert len(left) == term_count(n) == n * (n + 1) // 2 + n
    for t in range(len(left)):
        second = None if right[t] == LINEAR else int(right[t])
        assert term_index(int(left[t]), second, n) == t
        if second is not None:
            assert term_index(second, int(left[t]), n) == t


def test_feature_count_inverts_term_count():
    for n in range(1, 200):
        assert feature_count(term_count(n)) == n
    with pytest.raises(ValueError, match="no number of features has 6 terms"):
        feature_count(6)


def test_vector_and_matrix_are_inverse(rng):
    surface = random_surface(rng, 4)
    W, b = to_matrix(to_vector(surface.W, surface.b))
    assert_array_equal(W, surface.W)
    assert_array_equal(b, surface.b)


def test_term_names():
    assert term_names(["age", "income"]) == ["age^2", "age*income", "income^2", "age", "income"]


def test_lifting_is_the_surface(rng):
    X, surface = rng.normal(size=(9, 4)), random_surface(rng, 4)
    definition = [0.5 * x @ surface.W @ x + surface.b @ x + surface.c for x in X]
    assert_allclose(lift(X) @ surface.coordinates() + surface.c, definition, rtol=1e-12)


def test_lifting_by_blocks_and_on_a_support(rng, small_chunks):
    X = rng.normal(size=(200, 3))
    assert_array_equal(lift(X), slow_lift(X))
    support = np.array([7, 1, 4])
    assert_array_equal(lift(X, support), slow_lift(X)[:, support])


def test_adjoint_is_the_transpose(rng, small_chunks):
    X, v = rng.normal(size=(200, 4)), rng.normal(size=200)
    assert_allclose(lift_adjoint(X, v), slow_lift(X).T @ v, rtol=1e-10)


def test_gram_is_the_gradient_energy(rng):
    X, surface, w = rng.normal(size=(9, 4)), random_surface(rng, 4), rng.uniform(0.5, 2, size=9)
    z = surface.coordinates()
    definition = sum(w_i * np.sum((surface.W @ x + surface.b) ** 2) for x, w_i in zip(X, w, strict=True))
    energy = Energy.of_samples(X, w)
    assert_allclose(0.5 * z @ energy.gram() @ z, definition, rtol=1e-12)
    assert_allclose(0.5 * z @ energy.gradient(z), definition, rtol=1e-12)


@pytest.mark.parametrize("singular", [False, True])
def test_gram_is_symmetric_and_agrees_with_its_matrix_free_form(rng, singular):
    X = rng.normal(size=(12, 3))
    if singular:
        X[:, 2] = X[:, 0]
    energy = Energy.of_samples(X, np.ones(12))
    G = energy.gram()
    assert energy.ridge == (RIDGE if singular else 0.0)
    scale = np.sqrt(np.outer(np.diag(G), np.diag(G)))  # a matrix product may sum the rows of (i, j) and (j, i) in other orders
    assert np.all(np.abs(G - G.T) <= len(X) * np.finfo(float).eps * scale)
    z = rng.normal(size=len(G))
    assert_allclose(energy.gradient(z), G @ z, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "column",
    [np.zeros(30), np.full(30, 3.7), "copy of another", "one-hot block"],
    ids=["zero", "constant", "duplicate", "one-hot"],
)
def test_dependent_columns_make_a_ridge(rng, column):
    X = rng.normal(size=(30, 3))
    if isinstance(column, str):
        X = np.column_stack([X, X[:, 0]]) if "copy" in column else np.eye(3)[rng.integers(3, size=30)]
    else:
        X = np.column_stack([X, column])
    energy = Energy.of_samples(X, np.ones(30))
    assert energy.ridge == RIDGE
    varying = np.flatnonzero(np.diag(energy.gram()) > 0)
    np.linalg.cholesky(energy.gram()[np.ix_(varying, varying)])


def test_moments_by_blocks_are_the_direct_sums(rng, small_chunks):
    X, w = rng.normal(size=(200, 3)) + 5, rng.uniform(0.5, 2, size=200)
    moments, R = LiftedMoments.of(X, w), slow_lift(X)
    mean = w @ R / w.sum()
    assert_allclose(moments.mean, mean, rtol=1e-12)
    assert_allclose(moments.scatter, (R - mean).T @ ((R - mean) * w[:, None]), rtol=1e-10, atol=1e-9)
    assert_array_equal(moments.scatter, moments.scatter.T)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_lifting_by_columns_is_lifting(rng, n):
    X = rng.normal(size=(7, n))
    assert_array_equal(lift_columns(X.T), lift(X).T)
    middle = rng.normal(size=n * (n + 3) // 2)
    assert_array_equal(lift_columns(X.T, middle), (lift(X) - middle).T)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_moments_lose_no_digits_to_offsets(rng, small_chunks, offset):
    X, w = rng.normal(size=(500, 3)) + offset, rng.uniform(0.5, 2, size=500)
    moments, R = LiftedMoments.of(X, w), slow_lift(X).astype(np.longdouble)
    centred = R - w @ R / w.sum()
    scatter = (centred.T @ (centred * w[:, None])).astype(float)
    size = np.sqrt(np.outer(np.diag(scatter), np.diag(scatter)))
    assert np.abs(moments.scatter - scatter).max() <= np.abs(size).max() * 1e-13
    assert (np.abs(moments.scatter - scatter) <= size * 1e-15 * max(offset, 100.0)).all()


@pytest.mark.parametrize("class_weight", [(1.0, 1.0, 1.0), (3.0, 0.25, 1e-6)])
def test_labelled_moments_are_those_of_the_classes_together(rng, small_chunks, class_weight):
    X, codes = rng.normal(size=(200, 3)) + 2, rng.integers(3, size=200)
    w, factors = rng.uniform(0.5, 2, size=200) * (rng.random(200) < 0.9), np.array(class_weight)
    direct = LabelledMoments.of(X, codes, w, factors)
    merged = LabelledMoments.merged(moments_by_class(X, codes, w, 3), factors)
    for one, other in ((direct, merged), (direct.loss, merged.loss)):
        for name, value in vars(one).items():
            if name != "loss":
                assert_allclose(getattr(other, name), value, rtol=1e-11, atol=1e-12)
    assert_allclose(direct.energy().gram(), Energy.of_samples(X, w).gram(), rtol=1e-11, atol=1e-12)


def test_moments_merge(rng):
    X, w = rng.normal(size=(60, 3)), rng.uniform(0.5, 2, size=60)
    whole, first, second = LiftedMoments.of(X, w), LiftedMoments.of(X[:23], w[:23]), LiftedMoments.of(X[23:], w[23:])
    merged = first + second
    assert_allclose(merged.weight, whole.weight, rtol=1e-12)
    assert_allclose(merged.mean, whole.mean, rtol=1e-11, atol=1e-13)
    assert_allclose(merged.scatter, whole.scatter, rtol=1e-10, atol=1e-11)


def test_no_samples_change_nothing(rng):
    nothing, moments = LiftedMoments.empty(2), LiftedMoments.of(rng.normal(size=(10, 2)))
    for merged in (nothing + moments, moments + nothing):
        assert_array_equal(merged.scatter, moments.scatter)
    assert (nothing + nothing).weight == 0.0


def test_sample_weights_are_repetitions(rng):
    X, counts = rng.normal(size=(20, 3)), rng.integers(1, 4, size=20)
    weighted, repeated = LiftedMoments.of(X, counts.astype(float)), LiftedMoments.of(np.repeat(X, counts, axis=0))
    assert_allclose(weighted.scatter, repeated.scatter, rtol=1e-11, atol=1e-12)
    assert_allclose(weighted.energy().gram(), repeated.energy().gram(), rtol=1e-12, atol=1e-12)


def test_energy_of_moments_is_the_energy_of_samples(rng):
    X, w = rng.normal(size=(30, 4)), rng.uniform(0.5, 2, size=30)
    assert_allclose(LiftedMoments.of(X, w).energy().gram(), Energy.of_samples(X, w).gram(), rtol=1e-11, atol=1e-12)


def test_constant_terms_are_found(rng, small_chunks):
    X = rng.normal(size=(300, 3))
    X[:, 1] = np.where(X[:, 1] > 0, 1.0, -1.0) * np.sqrt(3.0)  # its square is constant up to rounding
    X[:, 2] = 1e6
    names = np.array(term_names(["a", "b", "c"]))
    w = np.ones(300)
    for constant in (LiftedMoments.of(X, w).constant_terms(), TermStatistics.of(X, w).constant_terms()):
        assert set(names[constant]) == {"b^2", "c^2", "c"}


def test_term_statistics_are_the_direct_sums(rng, small_chunks):
    X, w = rng.normal(size=(200, 3)) - 2, rng.uniform(0.5, 2, size=200)
    statistics, R = TermStatistics.of(X, w), slow_lift(X)
    mean = w @ R / w.sum()
    assert_allclose(statistics.mean, mean, rtol=1e-12)
    assert_allclose(statistics.scatter, w @ (R - mean) ** 2, rtol=1e-11)
    assert_allclose(statistics.absolute, w @ np.abs(R), rtol=1e-12)
