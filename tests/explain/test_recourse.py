"""Recourse without rules: the exact distance to a quadric."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import PLAIN, random_samples, random_surface
from helpers.coalitions import level_coder, mixed_rows
from quadric import QuadraticSurface, SparseQuadraticSVC, SparseQuadraticSVCCV
from quadric.credit import CalibratedModel, SigmoidCalibration
from quadric.explain import recourse
from quadric.geometry.terms import term_count

D = np.diag
KINDS = {
    "two points": (D([2.0]), [0.0], -1.0),
    "one end": (D([0.0]), [1.0], 0.5),
    "shifted parabola": (D([-1.0]), [1.0], 0.2),
    "circle": (D([2.0, 2.0]), [0.0, 0.0], -1.0),
    "ellipse": (D([1.0, 9.0]), [0.3, -0.2], -0.7),
    "hyperbola": (D([1.0, -2.0]), [0.2, 0.1], -0.3),
    "crossing lines": (D([1.0, -2.0]), [0.0, 0.0], 0.0),
    "parabola": (D([1.0, 0.0]), [0.0, -1.0], 0.4),
    "parallel lines": (D([2.0, 0.0]), [0.0, 0.0], -0.5),
    "line": (D([0.0, 0.0]), [1.0, -2.0], 0.3),
    "product": (np.array([[0.0, 1.0], [1.0, 0.0]]), [0.0, 0.0], -0.4),
    "sphere": (D([2.0, 2.0, 2.0]), [0.0, 0.0, 0.0], -1.0),
    "ellipsoid": (D([1.0, 4.0, 9.0]), [0.1, 0.2, -0.3], -1.0),
    "one sheet": (D([1.0, 2.0, -3.0]), [0.0, 0.0, 0.0], -1.0),
    "two sheets": (D([-1.0, -2.0, 3.0]), [0.0, 0.0, 0.0], -1.0),
    "cone": (D([1.0, 1.0, -1.0]), [0.0, 0.0, 0.0], 0.0),
    "elliptic paraboloid": (D([1.0, 2.0, 0.0]), [0.0, 0.0, -1.0], 0.3),
    "saddle": (D([1.0, -2.0, 0.0]), [0.0, 0.0, 1.0], 0.3),
    "cylinder": (D([1.0, 1.0, 0.0]), [0.0, 0.0, 0.0], -0.8),
    "parallel planes": (D([2.0, 0.0, 0.0]), [0.0, 0.0, 0.0], -0.5),
    "plane": (D([0.0, 0.0, 0.0]), [1.0, -2.0, 0.5], 0.3),
}
GRID = {1: 20001, 2: 301, 3: 61}


def surface_of(kind, turn=0):
    """The surface, turned about the origin by a random rotation."""
    W, b, c = KINDS[kind]
    Q = np.eye(len(b)) if turn == 0 else np.linalg.qr(np.random.default_rng(turn).normal(size=W.shape))[0]
    W = Q @ W @ Q.T
    return QuadraticSurface((W + W.T) / 2, Q @ np.array(b), c)


def starts(n):
    """The origin, where many of the surfaces have their centre and the hard case happens, a point close by, and others."""
    some = np.random.default_rng(n).uniform(-1, 1, size=(4, n))
    axis = np.zeros((1, n))
    axis[0, 0] = 0.3
    return np.concatenate([np.zeros((1, n)), np.full((1, n), 1e-9), axis, some])


def best_on_grid(surface, X, side):
    """For each start the smallest distance to the points of a fine grid on the wanted side, and the diagonal of a cell."""
    n = surface.n_features
    line = np.linspace(-3, 3, GRID[n])
    points = np.stack(np.meshgrid(*[line] * n, indexing="ij"), -1).reshape(-1, n)
    good = points[side * surface(points) > 0]
    return [np.linalg.norm(good - x, axis=1).min(initial=np.inf) for x in X], np.sqrt(n) * (line[1] - line[0])


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("turn", [0, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_never_longer_than_the_best_of_a_fine_grid(kind, turn, side):
    surface = surface_of(kind, turn)
    X = starts(surface.n_features)
    found = recourse(surface, X, target=side)
    on_grid, cell = best_on_grid(surface, X, side)
    for i, nearest in enumerate(on_grid):
        if found.reached[i]:
            assert found.distance[i] <= nearest * (1 + 1e-12) + 1e-12
            if nearest < 2:
                assert found.distance[i] >= nearest - cell  # a shorter answer would have a grid point near it
        else:
            assert nearest == np.inf
        assert found.proved[i]
    assert_array_equal(np.where(surface(found.x) > 0, 1, -1), side)
    assert found.reached.all()


def kkt_residual(surface, side, x, weight, answer, row):
    """The largest violation of the optimality conditions, recomputed; the second-order one makes them sufficient."""
    moved, mu = answer.x[row], answer.multiplier[row]
    gradient = side * (surface.W @ moved + surface.b)
    change = moved - x
    stationarity = np.abs(weight * change - mu * gradient).max() / (1 + np.abs(weight * change).max())
    feasibility = abs(surface(moved[None])[0]) / (
        1 + np.abs(0.5 * surface.W @ moved + surface.b) @ np.abs(moved) + abs(surface.c)
    )
    scale = np.sqrt(weight)
    curvature = np.linalg.eigvalsh(np.eye(len(x)) - mu * side * surface.W / np.outer(scale, scale))
    return max(stationarity, feasibility, -mu, -curvature[0])


def test_a_thousand_random_answers_satisfy_the_optimality_conditions():
    worst, reached = 0.0, 0
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 9))
        surface, x = random_surface(rng, n), rng.normal(size=n)
        weight = np.exp(rng.normal(size=n)) if seed % 2 else np.ones(n)
        side = -int(np.sign(surface(x[None])[0]))
        answer = recourse(surface, x[None], target=side, metric=weight)
        if answer.reached[0]:
            worst = max(worst, kkt_residual(surface, side, x, weight, answer, 0))
            reached += 1
        else:  # rightly so: a definite form whose top is on this side
            assert np.linalg.eigvalsh(side * surface.W)[-1] < 0
            assert side * surface(np.linalg.solve(surface.W, -surface.b)[None])[0] <= 0
    assert reached > 900
    assert worst < 1e-8


@pytest.mark.parametrize("size", [1e-13, 1e-10, 1e-6, 1e-3])
def test_close_to_the_hard_case_answers_stay_exact(size):
    rng = np.random.default_rng(5)
    for n in (2, 3, 6):
        surface = QuadraticSurface(D(np.r_[2.0, np.linspace(-1, 1.5, n - 1)]), np.zeros(n), -1.0)
        x = np.r_[size, 0.1 * rng.normal(size=n - 1)]
        answer = recourse(surface, x[None], target=1)
        assert kkt_residual(surface, 1, x, np.ones(n), answer, 0) < 1e-8


def test_all_directions_are_equal_at_the_centre_of_a_sphere():
    answer = recourse(surface_of("sphere"), np.zeros((1, 3)), target=1)
    assert_allclose(answer.distance, 1.0, rtol=1e-12)
    assert answer.proved[0]


EMPTY = {
    "definite and below": (D([-1.0, -2.0]), [0.3, 0.1], -1.0),
    "touching in one point": (D([-1.0, -1.0]), [0.0, 0.0], 0.0),
    "flat where it could grow": (D([-1.0, 0.0]), [0.5, 0.0], -1.0),
    "constant": (D([0.0, 0.0]), [0.0, 0.0], -1.0),
}


@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.parametrize("turn", [0, 2])
def test_an_empty_side_is_said_to_be_empty(name, turn):
    W, b, c = EMPTY[name]
    Q = np.eye(2) if turn == 0 else np.linalg.qr(np.random.default_rng(turn).normal(size=(2, 2)))[0]
    turned = Q @ W @ Q.T
    surface = QuadraticSurface((turned + turned.T) / 2, Q @ np.array(b), c)
    answer = recourse(surface, np.random.default_rng(0).normal(size=(5, 2)), target=1)
    assert not answer.reached.any()
    assert answer.proved.all()
    assert np.isnan(answer.x).all()
    assert (answer.distance == np.inf).all()
    assert (answer.lower_bound == np.inf).all()
    assert set(answer.message) == {"no allowed change reaches the wanted side"}


@pytest.mark.parametrize("n", [2, 4, 7])
def test_rounding_in_flat_directions_is_no_way_out(n):
    for seed in range(20):
        rng = np.random.default_rng((n, seed))
        v = rng.normal(size=(n, max(1, n // 2)))
        W = -v @ v.T  # eigenvalues that are zero come out as small numbers of either sign
        surface = QuadraticSurface((W + W.T) / 2, W @ rng.normal(size=n), -100.0 * n)
        top = 0.5 * surface.b @ np.linalg.pinv(-surface.W) @ surface.b + surface.c
        answer = recourse(surface, rng.normal(size=(3, n)), target=1)
        assert top < 0
        assert not answer.reached.any()
        assert answer.proved.all()


def test_frozen_features_stay_and_the_rest_is_the_smaller_problem():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        surface, X = random_surface(rng, 5), rng.normal(size=(6, 5))
        side = -int(np.sign(surface(X[:1])[0]))
        answer = recourse(surface, X, target=side, frozen=["x1", 3])
        assert answer.frozen == ["x1", "x3"]
        free = [0, 2, 4]
        for i, x in enumerate(X):
            if answer.reached[i]:
                assert_array_equal(answer.x[i, [1, 3]], x[[1, 3]])
            rest = np.where(np.isin(np.arange(5), free), 0.0, x)
            smaller = QuadraticSurface(
                surface.W[np.ix_(free, free)], (surface.W @ rest + surface.b)[free], float(surface(rest[None])[0])
            )
            expected = recourse(smaller, x[None, free], target=side)
            assert answer.reached[i] == expected.reached[0]
            assert_allclose(answer.distance[i], expected.distance[0], rtol=1e-9, atol=1e-12)


def test_nothing_can_be_done_when_all_that_matters_is_frozen():
    surface = QuadraticSurface(D([1.0, 0.0]), [0.5, 0.0], -1.0)
    answer = recourse(surface, [[0.0, 0.0]], target=1, frozen=[0])
    assert (answer.reached[0], answer.proved[0]) == (False, True)


def test_weights_are_a_change_of_units():
    rng = np.random.default_rng(3)
    surface, X, weight = random_surface(rng, 4), rng.normal(size=(10, 4)), np.array([0.1, 1.0, 4.0, 30.0])
    root = np.sqrt(weight)
    stretched = QuadraticSurface(surface.W / np.outer(root, root), surface.b / root, surface.c)
    ours, theirs = recourse(surface, X, target=1, metric=weight), recourse(stretched, X * root, target=1)
    assert_allclose(ours.distance, theirs.distance, rtol=1e-9)
    assert_allclose(ours.x * root, theirs.x, rtol=1e-7, atol=1e-9)
    by_name = recourse(surface, X, target=1, metric={"x0": 0.1, "x2": 4.0, 3: 30.0})
    assert_array_equal(by_name.x, ours.x)


def test_rows_on_the_wanted_side_are_left_alone():
    surface, X = surface_of("ellipse"), starts(2)
    already = surface(X) > 0
    assert 0 < already.sum() < len(X)
    answer = recourse(surface, X, target=1)
    assert_array_equal(answer.x[already], X[already])
    assert_array_equal(answer.distance == 0, already)
    assert [message == "already on the wanted side" for message in answer.message] == already.tolist()


def scaled_rows(seed, n=4):
    X, y = random_samples(seed, m=80, n=n)
    scales = 10.0 ** np.arange(n) / 100
    return pd.DataFrame((X + 5) * scales, columns=[f"f{j}" for j in range(n)]), np.where(y > 0, "good", "bad"), scales


@pytest.mark.parametrize("target", ["good", "bad"])
@pytest.mark.parametrize("cross_validated", [False, True])
def test_raw_answers_flip_the_whole_model(target, cross_validated):
    X, y, _ = scaled_rows(1)
    model = SparseQuadraticSVCCV([5], Cs=[1.0], clip=None) if cross_validated else SparseQuadraticSVC(k=5, **PLAIN)
    model = (model if cross_validated else make_pipeline(StandardScaler(), model)).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = recourse(model, X, target=target)
    assert answer.names == ["f0", "f1", "f2", "f3"]
    assert set(model.predict(pd.DataFrame(answer.x, columns=X.columns))) == {target}
    assert_allclose(answer.change, answer.x - X.to_numpy())
    center, scale = (model.center_, model.scale_) if cross_validated else (model[0].mean_, model[0].scale_)
    assert_allclose(
        answer.distance, np.linalg.norm((answer.x - center) / scale - (X.to_numpy() - center) / scale, axis=1), atol=1e-9
    )
    inner = model.surfaces_[0] if cross_validated else model[-1].surfaces_[0]
    side = 1 if target == "good" else -1
    assert_allclose(answer.distance, recourse(inner, (X.to_numpy() - center) / scale, target=side).distance, atol=1e-9)


def test_the_raw_metric_is_the_distance_in_raw_units():
    X, y, _ = scaled_rows(2)
    model = make_pipeline(StandardScaler(), SparseQuadraticSVC(k=5, **PLAIN)).fit(X, y)
    answer = recourse(model, X, target="good", metric="raw")
    assert_allclose(answer.distance, np.linalg.norm(answer.change, axis=1), rtol=1e-9)
    assert (answer.distance <= np.linalg.norm(recourse(model, X, target="good").change, axis=1) * (1 + 1e-9)).all()


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e7])
def test_answers_survive_the_rounding_of_raw_units(offset):
    X, y = random_samples(7, m=100, n=3)
    X = X + offset
    model = make_pipeline(StandardScaler(), SparseQuadraticSVC(k=5, C=10, **PLAIN)).fit(X, y)
    for target in (-1, 1):
        answer = recourse(model, X, target=target)
        assert answer.reached.all()
        assert (model.predict(answer.x) == target).all()
        assert [model.predict(row[None])[0] for row in answer.x[:20]] == [target] * 20


def test_cutoff_and_margin_move_the_goal():
    X, y = random_samples(8, m=60, n=3)
    model = SparseQuadraticSVC(k=5, **PLAIN).fit(X, y)
    up = recourse(model, X, target=1, cutoff=0.4, margin=0.1)
    moved = up.distance > 0
    assert_allclose(model.decision_function(up.x[moved]), 0.5, rtol=1e-9)
    assert (model.decision_function(up.x) >= 0.5).all()
    down = recourse(model, X, target=-1, cutoff=0.4, margin=0.1)
    assert_allclose(model.decision_function(down.x[down.distance > 0]), 0.3, rtol=1e-9)
    assert (model.decision_function(down.x) <= 0.3).all()


@pytest.mark.parametrize("target", [-1, 1])
def test_a_calibrated_model_decides_by_its_probability(target):
    X, y = random_samples(9, m=60, n=3)
    inner = make_pipeline(StandardScaler(), SparseQuadraticSVC(k=5, **PLAIN)).fit(X, y)
    model = CalibratedModel.from_parts(inner, [SigmoidCalibration(-2.0, 0.7)])
    answer = recourse(model, X, target=target)
    assert (model.predict(answer.x) == target).all()
    moved = answer.distance > 0
    assert_allclose(inner.decision_function(answer.x[moved]), 0.35, rtol=1e-9)  # -(a f + b) = 0
    falling = CalibratedModel.from_parts(inner, [SigmoidCalibration(2.0, 0.0)])
    with pytest.raises(ValueError, match=r"does not rise through 0\.5: give a cutoff"):
        recourse(falling, X, target=target)


@pytest.mark.parametrize("target", [0, 1, 2])
def test_sigmoids_of_several_classes_decide_by_their_log_odds(target, flowers):
    inner, X = flowers
    sigmoids = [SigmoidCalibration(-2.0, 0.7), SigmoidCalibration(-0.5, 0.1), SigmoidCalibration(-1.0, -0.4)]
    model = CalibratedModel.from_parts(inner, sigmoids)
    assert (model.predict(X) != inner.predict(X)).any()
    answer = recourse(model, X, target=target)
    moved = answer.reached & (answer.distance > 0)
    assert moved.sum() > 60
    assert (model.predict(answer.x[answer.reached]) == target).all()
    chances = np.sort(model.predict_proba(answer.x[moved & answer.proved]), axis=1)
    assert_allclose(chances[:, -1], chances[:, -2], rtol=1e-6)  # on the border, not beyond it


def test_coded_columns_are_frozen_and_answers_are_in_the_units_after_the_coder():
    rows, y = mixed_rows(4)
    model = make_pipeline(level_coder((2, 3)), StandardScaler(), SparseQuadraticSVC(k=8)).fit(rows, y)
    coded = model[0].transform(rows)
    answer = recourse(model, rows, target="good")
    assert answer.names == ["x0", "x1", "x2=own", "x2=rent", "x3=yes"]
    assert answer.frozen == ["x2=own", "x2=rent", "x3=yes"]
    done = answer.reached
    assert done.mean() > 0.8
    assert_array_equal(answer.x[done][:, 2:], coded[done][:, 2:])
    changed = rows.copy()
    changed[done, :2] = answer.x[done, :2]
    assert (model.predict(changed[done]) == "good").all()
    assert recourse(model, rows, target="good", frozen=["x0", "x2"]).frozen == ["x0", "x2=own", "x2=rent", "x3=yes"]


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True)
    X = X[:, [0, 2]]
    return SparseQuadraticSVC(k=4, C=10, loss="hinge", **PLAIN).fit(X, y), X


@pytest.mark.parametrize("target", [0, 1, 2])
def test_one_of_several_classes_must_beat_all_others(flowers, target):
    model, X = flowers
    X = X[::10]
    answer = recourse(model, X, target=target)
    done = answer.reached
    assert done.any()
    assert (model.predict(answer.x[done]) == target).all()
    lines = np.linspace(0, 10, 401), np.linspace(-1, 9, 401)
    grid = np.stack(np.meshgrid(*lines, indexing="ij"), -1).reshape(-1, 2)
    grid = grid[model.predict(grid) == target]
    nearest = np.linalg.norm(grid[:, None] - X, axis=2).min(axis=0)
    assert (answer.lower_bound <= nearest + 1e-9).all()
    sure = done & answer.proved
    assert (answer.distance[sure] <= nearest[sure] + 1e-9).all()
    assert sure.mean() > 0.5
    assert (answer.distance[sure] <= answer.lower_bound[sure] * (1 + 2e-6)).all()
    assert all("not proved" in answer.message[i] for i in np.flatnonzero(done & ~answer.proved))


def three_planes(*planes):
    """A model of three classes whose decision values are given linear functions of two features."""
    model = SparseQuadraticSVC(k=1, loss="least_squares", **PLAIN).fit(
        np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 3
    )
    model.surfaces_ = [QuadraticSurface(np.zeros((2, 2)), slope, c) for *slope, c in planes]
    return model


def test_a_class_that_one_rival_always_beats_is_out_of_reach():
    answer = recourse(three_planes((1.0, 0.0, 0.0), (1.0, 0.0, 1.0), (-1.0, 0.0, 0.0)), [[0.0, 0.0]], target=0)
    assert (answer.reached[0], answer.proved[0]) == (False, True)


def test_the_corner_between_two_rivals_is_found_but_not_proved():
    wedge = three_planes((0.0, 0.0, 0.0), (-1.0, 0.0, 1.0), (0.0, -1.0, 1.0))  # the first class wins where x, y > 1
    answer = recourse(wedge, [[0.0, 0.0], [0.0, 5.0]], target=0)
    assert_allclose(answer.x, [[1.0, 1.0], [1.0, 5.0]], atol=1e-6)
    assert answer.proved.tolist() == [False, True]
    assert_allclose(answer.lower_bound, 1.0, rtol=1e-9)
    assert answer.message[0] == "not proved smallest: no change shorter than 1 will do"
    whole = recourse(three_planes((0.0, 0.0, 0.0), (-1.0, 0.0, 0.4), (0.0, -1.0, 0.4)), [[0.0, 0.0]], target=0, integer=[0])
    assert_allclose(whole.x, [[1.0, 0.4]], atol=1e-6)


def test_a_row_at_the_tip_of_a_cone_gets_an_answer_that_raw_units_can_hold():
    X, y = random_samples(6, m=40, n=3)
    X = 50 + 7 * X
    model = make_pipeline(StandardScaler(), SparseQuadraticSVC(k=1, **PLAIN)).fit(X, y)
    model[-1].surfaces_ = [surface_of("cone")]
    tip = model[0].mean_[None]
    assert model.decision_function(tip)[0] == 0.0
    answer = recourse(model, tip, target=1)
    assert model.predict(answer.x)[0] == 1
    assert 0 < answer.distance[0] < 1e-6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": 3}, "target must be one of the classes"),
        ({"frozen": ["wrong"]}, "frozen: the model has no feature 'wrong'; it has 'x0', 'x1'"),
        ({"frozen": [5]}, "frozen: the model has no feature 5; it has 'x0', 'x1'"),
        ({"lower": {"x0": 1.0}, "upper": {"x0": 0.0}}, "lower is above upper for 'x0'"),
        ({"lower": [1.0]}, r"lower has shape \(1,\), but there are 2 features"),
        ({"metric": [1.0, -1.0]}, "metric must hold positive"),
        ({"metric": "city"}, "metric must be None, 'raw'"),
        ({"margin": -1.0}, "margin must be"),
        ({"max_nodes": 0}, "max_nodes must be an integer of at least 1"),
        ({"cutoff": np.nan}, "cutoff must be finite"),
    ],
)
def test_wrong_requests_are_refused_in_one_line(change, message):
    with pytest.raises(ValueError, match=message) as caught:
        recourse(surface_of("circle"), np.zeros((1, 2)), **{"target": 1, **change})
    assert "\n" not in str(caught.value)


def test_no_cutoff_with_several_classes(flowers):
    with pytest.raises(ValueError, match="cutoff needs a model of two classes"):
        recourse(*flowers, target=0, cutoff=0.1)


def test_sparse_surfaces_change_only_what_matters():
    rng = np.random.default_rng(11)
    for _ in range(20):
        z = np.zeros(term_count(6))
        z[rng.choice(len(z), 3, replace=False)] = rng.normal(size=3)
        surface = QuadraticSurface.from_coordinates(z, rng.normal())
        idle = ~((surface.W != 0).any(axis=0) | (surface.b != 0))
        answer = recourse(surface, rng.normal(size=(5, 6)), target=1)
        assert (answer.change[answer.reached][:, idle] == 0).all()
