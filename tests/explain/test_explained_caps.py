"""Explanations of models with capped columns: the decision that is taken apart, or turned, is the model's own."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers import random_surface
from helpers.coalitions import shapley_by_definition
from helpers.random_models import fitted_classifier
from quadric import QuadraticSurface
from quadric.credit import CalibratedModel, SigmoidCalibration
from quadric.explain import contributions, reason_codes, recourse, shapley
from quadric.samples.units import Units

RULES = {
    "free": {},
    "whole numbers": {"lower": {0: -1.0}, "integer": [0]},
    "one way": {"increase_only": [0], "upper": {0: 1.8}},
    "beyond the cap": {"lower": {0: 1.6}},
}


def capped_model(seed, n, n_classes=2):
    """Surfaces of columns between -1.5 .. -0.5 and 0.5 .. 1.5."""
    rng = np.random.default_rng(seed)
    units = Units(-rng.uniform(0.5, 1.5, n), rng.uniform(0.5, 1.5, n), 0.3 * rng.normal(size=n), rng.uniform(0.5, 2.0, n))
    surfaces = [random_surface(rng, n) for _ in range(1 if n_classes == 2 else n_classes)]
    return fitted_classifier(surfaces, list(range(n_classes)), units), rng


@pytest.mark.parametrize("seed", range(6))
def test_shapley_values_are_the_definition(seed):
    n = 1 + seed % 4
    model, rng = capped_model(seed, n)
    X, background = 3.0 * rng.normal(size=(3, n)), 2.0 * rng.normal(size=(7, n))
    found = shapley(model, X, background=background)
    for x, values in zip(X, found.values, strict=True):
        expected, empty = shapley_by_definition(model.decision_function, x, background)
        assert_allclose(values, expected, rtol=1e-10, atol=1e-10)
        assert_allclose(found.base_value, empty, rtol=1e-10)
    inside = np.clip(background, model.clip_low_, model.clip_high_)
    by_moments = shapley(model, X, background=(inside.mean(axis=0), inside.T @ inside / len(inside)))
    assert_allclose(by_moments.values, found.values, rtol=1e-9, atol=1e-9)


def test_contributions_sum_to_the_decision():
    model, rng = capped_model(0, 3)
    X = 5.0 * rng.normal(size=(50, 3))
    found = contributions(model, X)
    assert_allclose(found.intercept + found.values.sum(axis=1), model.decision_function(X), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("seed", range(5))
def test_reasons_at_the_cutoff_refer_to_a_row_of_the_model(seed):
    model, rng = capped_model(seed, 2)
    X = 2.0 * rng.normal(size=(20, 2))
    found = reason_codes(model, X, reference="cutoff")
    some = np.isfinite(found.reference_decision)
    assert some.any()
    assert_allclose(found.reference_decision[some], 0.0, atol=1e-9)
    assert_allclose(found.contributions.sum(axis=1)[some], found.decision[some], atol=1e-9)
    # no point of a grid between the caps, in fitted units, is nearer; where no point is found, none of them is on the other side
    axes = [np.linspace(*ends, 201) for ends in zip(model.clip_low_, model.clip_high_, strict=True)]
    grid = np.stack([axis.ravel() for axis in np.meshgrid(*axes)], axis=1)
    U, f = model._prepared(grid), model.decision_function(grid)
    for x, own in zip(X, model.decision_function(X), strict=True):
        across = U[f * own <= 0.0]
        distance = np.linalg.norm(across - model._prepared(x[None]), axis=1).min(initial=np.inf)
        row = int(np.flatnonzero((x == X).all(axis=1))[0])
        assert np.isfinite(distance) <= some[row]
        if some[row]:
            reference = distance_to_the_other_side(model, X[row])
            assert reference <= distance * (1.0 + 1e-6)


def distance_to_the_other_side(model, x):
    """Of a row that is capped first, by recourse."""
    inside = np.clip(x, model.clip_low_, model.clip_high_)[None]
    own = int(model.predict(inside)[0])
    return float(recourse(model, inside, target=1 - own).distance[0])


def allowed_grid(x, low, high, rules, n_points):
    """Raw values of one feature that the rules allow, with those at which something happens."""
    if "integer" in rules:
        values = np.arange(-6.0, 7.0)
    else:
        values = np.concatenate([np.linspace(-4.5, 4.5, n_points), [x, low, high, 1.6, 1.8]])
    values = values[(values >= rules.get("lower", {0: -np.inf})[0]) & (values <= rules.get("upper", {0: np.inf})[0])]
    return values[values >= x] if "increase_only" in rules else values


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_no_raw_row_of_a_grid_is_nearer_than_a_proved_answer(seed, n, rules):
    model, rng = capped_model(seed, n)
    X = 2.0 * rng.normal(size=(8, n))
    found = recourse(model, X, target=1, **RULES[rules])
    assert all(model.predict(x[None])[0] == 1 for x in found.x[found.reached])
    assert found.proved.all()
    assert (found.lower_bound <= found.distance).all()
    for row in np.flatnonzero(model.predict(X) == 0):
        ends = zip(X[row], model.clip_low_, model.clip_high_, strict=True)
        axes = [allowed_grid(*one, RULES[rules] if j == 0 else {}, 2001 if n == 1 else 251) for j, one in enumerate(ends)]
        grid = np.stack([axis.ravel() for axis in np.meshgrid(*axes)], axis=1)
        wanted = grid[model.predict(grid) == 1] if len(grid) else grid
        distance = np.linalg.norm((wanted - X[row]) / model.scale_, axis=1).min(initial=np.inf)
        assert found.distance[row] <= distance * (1.0 + 2e-6)


@pytest.mark.parametrize("seed", range(3))
def test_several_classes_keep_their_promises(seed):
    model, rng = capped_model(seed, 2, n_classes=3)
    X = 2.0 * rng.normal(size=(8, 2))
    found = recourse(model, X, target=2)
    assert (model.predict(found.x[found.reached]) == 2).all()
    axes = np.linspace(-4.5, 4.5, 301)
    grid = np.stack([axis.ravel() for axis in np.meshgrid(axes, axes)], axis=1)
    wanted = grid[model.predict(grid) == 2]
    for row in range(8):
        distance = np.linalg.norm((wanted - X[row]) / model.scale_, axis=1).min(initial=np.inf)
        assert found.lower_bound[row] <= distance
        if found.proved[row]:
            assert found.distance[row] <= distance * (1.0 + 2e-6)


def line(slope, constant, low, high):
    """One column between two caps, in raw units."""
    units = Units(np.array([low]), np.array([high]), np.zeros(1), np.ones(1))
    return fitted_classifier([QuadraticSurface(np.zeros((1, 1)), [slope], constant)], [0, 1], units)


def test_a_value_beyond_a_cap_comes_to_the_cap_first():
    model = line(-1.0, 1.5, 0.0, 2.0)  # positive below 1.5
    found = recourse(model, np.array([[9.0], [1.9], [1.0]]), target=1)
    assert_allclose(found.x[:, 0], [1.5, 1.5, 1.0], atol=1e-12)
    assert_allclose(found.distance, [7.5, 0.4, 0.0], atol=1e-12)
    assert found.proved.all()


def test_leaving_the_caps_never_helps():
    found = recourse(line(1.0, -3.0, 0.0, 2.0), np.array([[9.0], [1.0]]), target=1)  # would be positive beyond 3
    assert not found.reached.any()
    assert found.message == ["no allowed change reaches the wanted side"] * 2


def test_a_value_beyond_a_cap_may_stay_where_it_is():
    units = Units(np.array([0.0, -np.inf]), np.array([2.0, np.inf]), np.zeros(2), np.ones(2))
    model = fitted_classifier(
        [QuadraticSurface(np.zeros((2, 2)), [-1.0, 1.0], 0.0)], [0, 1], units
    )  # positive where x1 > capped x0
    found = recourse(model, np.array([[50.0, 1.0]]), target=1)
    assert found.x[0, 0] == 50.0
    assert_allclose(found.x[0, 1], 2.0, atol=1e-12)
    assert_allclose(found.distance, 1.0, atol=1e-12)
    assert found.proved.all()


def test_many_values_beyond_their_caps_are_not_proved():
    n = 8
    units = Units(np.full(n, -1.0), np.full(n, 1.0), np.zeros(n), np.ones(n))
    model = fitted_classifier([QuadraticSurface(np.zeros((n, n)), -np.ones(n), 7.5)], [0, 1], units)
    found = recourse(model, np.full((1, n), 1.1), target=1)
    assert found.reached.all()
    assert not found.proved.any()
    assert found.lower_bound[0] == 0.0


@pytest.mark.slow
def test_rows_may_come_in_any_order():
    model, rng = capped_model(3, 2)
    X = 2.0 * rng.normal(size=(40, 2))
    together = recourse(model, X, target=1)
    for row in range(40):
        alone = recourse(model, X[row : row + 1], target=1)
        assert_allclose(alone.distance, together.distance[row], rtol=2e-6)
    inside = np.clip(X, model.clip_low_, model.clip_high_)
    assert_array_equal(recourse(model, inside, target=1).reached, together.reached)


def test_answers_of_calibrated_models_are_decided_by_predict():
    model, rng = capped_model(1, 2)
    calibrated = CalibratedModel.from_parts(model, [SigmoidCalibration(-1.5, 0.4)])
    X = 2.0 * rng.normal(size=(20, 2))
    found = recourse(calibrated, X, target=1)
    assert (calibrated.predict(found.x[found.reached]) == 1).all()
    assert found.proved.all()
