"""Certified paths: no bound above what enumeration finds, fewer terms never bounded lower, the same surfaces as without."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers import LOSSES, make_problem, random_samples
from quadric import SparseQuadraticSVCCV, sparse_quadratic_path
from quadric.certificate import TOLERANCE
from quadric.errors import BoundWarning
from quadric.search import path as path_module
from quadric.search.exact import Proof
from quadric.search.path import PROVED, for_fewer_terms

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
ENOUGH = 10_000


@pytest.fixture(params=LOSSES)
def loss(request):
    return request.param


def awkward_samples(seed):
    """Small data of any shape: plain, rounded, with a column twice, or far from the origin; weights are whole numbers."""
    rng = np.random.default_rng(seed)
    kind, n = seed % 4, int(rng.integers(2, 4))
    X, y = random_samples(seed, m=int(rng.integers(8, 30)), n=n)
    if kind == 1:
        X = np.round(2 * X)
        X[0] += 1.0
    if kind == 2:
        X[:, -1] = X[:, 0]
    if kind == 3:
        X += 100.0
    return X, y, rng.integers(1, 4, size=len(y)).astype(float)


def optima(loss, X, y, weight, C, ks):
    """The minimum of each k over all supports, one by one."""
    problem = make_problem(loss, X, y, C, 1, weight)
    step, terms = problem.step(), range(problem.n_terms)
    return [min(step.refit(np.array(s)).value for s in combinations(terms, min(k, len(terms)))) for k in ks]


@pytest.mark.filterwarnings("ignore::quadric.ScaleWarning", "error::quadric.errors.BoundWarning")
@pytest.mark.parametrize("seed", range(8))
def test_no_bound_is_above_the_optimum(loss, seed):
    X, y, weight = awkward_samples(seed)
    ks, Cs = [1, 2, 4], [0.25, 1e3]
    expected = np.array([optima(loss, X, y, weight, C, ks) for C in Cs])
    for node_limit in (0, 3, ENOUGH):
        path = sparse_quadratic_path(X, y, ks=ks, Cs=Cs, loss=loss, sample_weight=weight, certify=True, node_limit=node_limit)
        known = np.isfinite(path.lower_bound)
        assert (path.lower_bound[known] <= expected[known] * (1 + 1e-9)).all()
        assert (path.lower_bound[known] <= path.objective[known]).all()
        assert (np.diff(path.lower_bound, axis=1)[known[:, 1:]] <= 0.0).all()  # a bound for k holds for fewer terms, too
        assert_array_equal(path.proved[known], path.lower_bound[known] >= path.objective[known] * (1 - PROVED))
    if seed % 4 < 2:  # neither rounding nor a tie is in the way: the optimum itself is proved
        best = path.objective <= expected * (1 + 1e-9)
        assert best.mean() > 0.5
        assert_array_equal(path.proved, best)


def test_larger_k_lend_their_bounds():
    bounds = np.array([[5.0, np.nan, 6.0, 1.0, np.nan], [np.nan, np.nan, np.nan, 2.0, 3.0], [np.nan] * 5])
    expected = [[6.0, 6.0, 6.0, 1.0, np.nan], [3.0, 3.0, 3.0, 3.0, 3.0], [np.nan] * 5]
    assert_array_equal(for_fewer_terms(bounds), expected)


@pytest.mark.parametrize("method", ["best", "pd"])
def test_surfaces_are_the_same_and_bounds_repeat(loss, method):
    X, y = random_samples(1, m=60, n=4)
    grid = {"ks": [1, 3, 6], "Cs": [1.0, 16.0], "loss": loss, "method": method}
    plain, first, second = (sparse_quadratic_path(X, y, **grid, certify=certify) for certify in (False, True, True))
    assert plain.lower_bound is None
    assert plain.gap is None
    assert not plain.proved.any()
    assert first.coef.tobytes() == plain.coef.tobytes()
    assert first.objective.tobytes() == plain.objective.tobytes()
    assert first.lower_bound.tobytes() == second.lower_bound.tobytes()
    assert_allclose(first.gap, 1 - first.lower_bound / first.objective, atol=1e-15)


def test_more_nodes_prove_more(loss):
    X, y = random_samples(3, m=60, n=3)
    root, some, every = (
        sparse_quadratic_path(X, y, ks=[1, 2, 3], loss=loss, certify=True, node_limit=n) for n in (0, 5, ENOUGH)
    )
    assert (root.lower_bound <= some.lower_bound * (1 + 1e-9)).all()
    assert (some.lower_bound <= every.lower_bound * (1 + 1e-9)).all()
    assert every.proved.all()
    assert repr(every).endswith("; 3 of 3 proved best)")


@pytest.mark.parametrize(("node_limit", "expected"), [(0, 0), (7, 7), (None, None)])
def test_every_cell_may_take_so_many_nodes(loss, node_limit, expected, monkeypatch):
    X, y = random_samples(4)
    limits = []
    monkeypatch.setattr(
        path_module, "prove", lambda problem, start, **how: limits.append(how["node_limit"]) or Proof(start, 0.0, False, 1)
    )
    sparse_quadratic_path(X, y, ks=[1, 2], Cs=[1.0, 4.0], loss=loss, certify=True, node_limit=node_limit)
    own = 100 if loss == "least_squares" else 10
    assert limits == [own if expected is None else expected] * 4


def told(*bounds):
    """A stand-in for branch and bound that gives these bounds, one after the other."""
    remaining = iter(bounds)
    return lambda problem, start, **_: Proof(start, next(remaining), False, 1)


def test_where_rounding_leaves_no_bound_there_is_none(monkeypatch):
    X, y = random_samples(4)
    monkeypatch.setattr(path_module, "prove", told(1.0, None, 0.5, None))
    path = sparse_quadratic_path(X, y, ks=[1, 2, 3, 4], loss="least_squares", certify=True)
    assert_array_equal(path.lower_bound, [[1.0, 0.5, 0.5, np.nan]])
    assert not path.proved.any()


def test_a_bound_above_an_objective_is_dropped_and_told(monkeypatch):
    X, y = random_samples(4)
    plain = sparse_quadratic_path(X, y, ks=[1, 2, 3], loss="least_squares")
    two, three = plain.objective[0, 1:]
    monkeypatch.setattr(path_module, "prove", told(1.0, two * (1 + 1e-8), three * 1.01))
    with pytest.warns(BoundWarning, match="please report"):
        path = sparse_quadratic_path(X, y, ks=[1, 2, 3], loss="least_squares", certify=True)
    assert_array_equal(path.lower_bound, [[two, two, np.nan]])  # above it by rounding is no contradiction
    assert_array_equal(path.proved, [[False, True, False]])


def test_the_tolerance_is_that_of_certificates():
    assert PROVED == TOLERANCE


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"certify": "yes"}, "certify must be True or False"),
        ({"certify": 3}, "certify must be True or False"),
        ({"node_limit": -1}, "node_limit must be None or an integer from 0"),
        ({"node_limit": 2.5}, "node_limit must be None or an integer from 0"),
        ({"node_limit": True}, "node_limit must be None or an integer from 0"),
    ],
)
def test_bad_input(change, message):
    X, y = random_samples(0)
    with pytest.raises(ValueError, match=message):
        sparse_quadratic_path(X, y, ks=[1], **{"certify": True, **change})


def test_plot_has_a_band_and_rings():
    X, y = random_samples(0)
    plain = sparse_quadratic_path(X, y, ks=[1, 2, 3, 4], Cs=[1.0, 4.0], loss="least_squares")
    path = replace(plain, lower_bound=plain.objective * [[0.8, 1.0, 0.9, 1.0], [0.7, 0.9, 1.0, np.nan]])
    ax = path.plot()
    *bands, rings = ax.collections
    assert len(bands) == 2
    shares = path.objective / path.objective[:, :1]
    for i, band in enumerate(bands):
        bound = path.lower_bound[i] / path.objective[i, 0]
        (area,) = band.get_paths()
        corners = {tuple(corner) for corner in area.vertices.round(9).tolist()}
        drawn = np.isfinite(bound)
        for ends in (bound, shares[i]):
            assert corners >= set(zip(path.ks[drawn].astype(float), ends[drawn].round(9), strict=True))
        assert area.vertices[:, 0].max() == path.ks[drawn].max()  # none where there is no bound
    assert_allclose(rings.get_offsets(), [[2, shares[0, 1]], [4, shares[0, 3]], [3, shares[1, 2]]])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["objective, C = 1", "down to the proved bound", "objective, C = 4", "proved best"]
    unproved = replace(plain, lower_bound=0.5 * plain.objective).plot()
    assert "proved best" not in {text.get_text() for text in unproved.get_legend().get_texts()}
    assert len(plain.plot().collections) == 0


def test_paths_of_a_cross_validation():
    X, y = random_samples(2, m=90, n=3)
    labels = np.where(X[:, 0] > 1.0, 2.0, y)
    grid = {"ks": [1, 2, 4], "Cs": [1.0, 8.0], "cv": 3}
    for loss, classes in (("least_squares", labels), ("logistic", y)):
        model = SparseQuadraticSVCCV(**grid, loss=loss, certify=True).fit(X, classes)
        plain = SparseQuadraticSVCCV(**grid, loss=loss).fit(X, classes)
        assert len(model.paths_) == (3 if loss == "least_squares" else 1)
        for path, other in zip(model.paths_, plain.paths_, strict=True):
            assert path.coef.tobytes() == other.coef.tobytes()
            assert other.lower_bound is None
            assert (path.lower_bound <= path.objective).all()
            assert (path.gap < 0.5).all()
            assert path.scores is not None
        assert plain.coef_.tobytes() == model.coef_.tobytes()
        at = np.flatnonzero(path.Cs == model.best_C_)[0], np.flatnonzero(path.ks == model.best_k_)[0]
        # the final search may be better than the path, never better than the bound
        assert model.paths_[-1].lower_bound[at] <= model.certificates_[-1].objective * (1 + 1e-9)


@pytest.mark.filterwarnings("ignore:SparseQuadraticSVCCV. fit_time_limit")
def test_without_time_there_are_no_bounds():
    X, y = random_samples(2)
    model = SparseQuadraticSVCCV(ks=[1, 2], cv=3, loss="least_squares", certify=True, fit_time_limit=0.0).fit(X, y)
    assert np.isnan(model.paths_[0].lower_bound).all()
    assert "0 of 1 proved best" in repr(model.paths_[0])
