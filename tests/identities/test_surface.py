"""QuadraticSurface: evaluation, gradient, terms, units, kinds."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers import numerical_gradient, random_surface
from quadric import QuadraticSurface
from quadric.geometry.lifting import lift
from quadric.geometry.terms import term_count


def by_definition(surface, X):
    return np.array([0.5 * x @ surface.W @ x + surface.b @ x + surface.c for x in X])


def sparse_surface(rng, n, n_terms):
    z = np.zeros(term_count(n))
    z[rng.choice(len(z), n_terms, replace=False)] = rng.normal(size=n_terms)
    return QuadraticSurface.from_coordinates(z, 0.3)


@pytest.mark.parametrize("n_terms", [1, 4, 54], ids=["one term", "few terms", "dense"])
def test_evaluation(n_terms):
    rng = np.random.default_rng(0)
    surface = sparse_surface(rng, 9, n_terms)
    X = rng.normal(size=(50, 9))
    assert surface.n_terms == n_terms
    assert_allclose(surface(X), by_definition(surface, X), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("n_terms", [0, 1, 4, 54])
def test_values_of_terms_are_lifted_rows_times_coordinates(n_terms, monkeypatch):
    monkeypatch.setattr("quadric.geometry.lifting.CHUNK_BYTES", 1)  # chunks of 64 rows
    rng = np.random.default_rng(4)
    surface, X = sparse_surface(rng, 9, n_terms), rng.normal(size=(150, 9))
    z = surface.coordinates()
    assert_allclose(surface.term_values(X), (lift(X) * z)[:, z != 0.0], rtol=1e-14)


def test_coordinates_round_trip():
    surface = random_surface(np.random.default_rng(1), 4)
    assert QuadraticSurface.from_coordinates(surface.coordinates(), surface.c) == surface


def test_gradient_by_finite_differences():
    rng = np.random.default_rng(2)
    surface, x = random_surface(rng, 4), rng.normal(size=4)
    assert_allclose(surface.gradient(x[None])[0], numerical_gradient(lambda v: surface(v[None])[0], x), rtol=1e-7)


def test_terms_are_a_polynomial():
    rng = np.random.default_rng(3)
    surface, X = random_surface(rng, 3), rng.normal(size=(20, 3))
    a, b, c = X.T
    values = {"a^2": a * a, "b^2": b * b, "c^2": c * c, "a*b": a * b, "a*c": a * c, "b*c": b * c, "a": a, "b": b, "c": c}
    terms = surface.terms(["a", "b", "c"])
    assert_allclose(sum(weight * values[name] for name, weight in terms) + surface.c, surface(X), rtol=1e-12)
    assert [abs(weight) for _, weight in terms] == sorted((abs(weight) for _, weight in terms), reverse=True)


def test_equation_says_the_same():
    surface = QuadraticSurface([[4.0, -0.5], [-0.5, 0.0]], [0.0, 1.25], -3.0)
    assert surface.equation(["age", "income"]) == "f = 2*age^2 + 1.25*income - 0.5*age*income - 3"
    assert QuadraticSurface([[0.0]], [0.0], 2.0).equation() == "f = 2"


def test_wrong_number_of_names():
    with pytest.raises(ValueError, match="2 feature names for a surface of 3 features"):
        random_surface(np.random.default_rng(0), 3).terms(["a", "b"])


def test_unscale_is_the_same_function_of_raw_features():
    rng = np.random.default_rng(4)
    surface, mean, scale = random_surface(rng, 4), rng.normal(size=4), rng.uniform(0.1, 10, size=4)
    X = mean + scale * rng.normal(size=(30, 4))
    assert_allclose(surface.unscale(mean, scale)(X), surface((X - mean) / scale), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("X", [np.zeros(3), np.zeros((4, 2)), np.zeros((2, 3, 3))], ids=["vector", "columns", "cube"])
def test_wrong_shapes_are_refused(X):
    surface = random_surface(np.random.default_rng(0), 3)
    for method in (surface, surface.gradient):
        with pytest.raises(ValueError, match="does not fit a surface of 3 features"):
            method(X)


def test_immutable_hashable_copyable():
    surface = random_surface(np.random.default_rng(5), 2)
    with pytest.raises(ValueError, match="read-only"):
        surface.W[0, 0] = 1.0
    assert pickle.loads(pickle.dumps(surface)) == copy.deepcopy(surface) == surface
    assert len({surface, copy.deepcopy(surface)}) == 1
    assert surface != "surface"


@pytest.mark.parametrize(
    ("W", "b", "c", "message"),
    [
        (np.eye(2), np.zeros(3), 0.0, "do not make a surface"),
        ([[0.0, 1.0], [0.0, 0.0]], np.zeros(2), 0.0, "symmetric"),
        (np.eye(2), [0.0, np.nan], 0.0, "finite"),
        (np.eye(2), np.zeros(2), np.inf, "finite"),
    ],
)
def test_bad_surfaces_are_refused(W, b, c, message):
    with pytest.raises(ValueError, match=message):
        QuadraticSurface(np.array(W), np.array(b), c)


D = np.diag
KINDS = [
    (D([1, 2, 3]), [0, 0, 0], -1, "ellipsoid"),
    (D([1, 2, 3]), [1, 0, 0], 0.5, "point"),
    (D([-1, -2, -3]), [0, 0, 0], -1, "empty"),
    (D([1, 2, -3]), [0, 0, 0], -1, "hyperboloid"),
    (D([1, 2, -3]), [0, 0, 0], 0, "cone"),
    (D([1, 2, 0]), [0, 0, 1], 5, "elliptic paraboloid"),
    (D([1, -2, 0]), [0, 0, 1], 5, "hyperbolic paraboloid"),
    (D([1, 0, 0]), [0, 0, 1], 5, "parabolic cylinder"),
    (D([1, 2, 0]), [0, 0, 0], -1, "elliptic cylinder"),
    (D([1, -2, 0]), [0, 0, 0], -1, "hyperbolic cylinder"),
    (D([1, -2, 0]), [0, 0, 0], 0, "intersecting hyperplanes"),
    (D([1, 0, 0]), [1, 0, 0], 0, "parallel hyperplanes"),
    (D([1, 0, 0]), [1, 0, 0], 0.5, "double hyperplane"),
    (D([1, 1, 0]), [0, 0, 0], 0, "flat"),
    (D([1, 1, -1, 0]), [0, 0, 0, 0], 0, "conic cylinder"),
    (D([0, 0, 0]), [0, 1, 0], 3, "hyperplane"),
    (D([0, 0, 0]), [0, 0, 0], 3, "empty"),
    (D([0, 0, 0]), [0, 0, 0], 0, "everything"),
    (D([1, 0]), [0, 1], 0, "paraboloid"),
    (D([1, -1, 0, 0]), [0, 0, 1, 0], 0, "hyperbolic parabolic cylinder"),
]


@pytest.mark.parametrize(("W", "b", "c", "kind"), KINDS, ids=[case[3] + f" {i}" for i, case in enumerate(KINDS)])
def test_kind_of_quadric(W, b, c, kind):
    surface = QuadraticSurface(W.astype(float), np.array(b, dtype=float), float(c))
    assert surface.kind() == kind
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=W.shape))
    turned = rotation @ surface.W @ rotation.T
    assert QuadraticSurface((turned + turned.T) / 2, rotation @ surface.b, surface.c).kind() == kind


def test_input_arrays_are_copied():
    W, b = np.eye(2), np.zeros(2)
    surface = QuadraticSurface(W, b, 0.0)
    W[0, 0] = 7.0
    assert_array_equal(surface.W, np.eye(2))
