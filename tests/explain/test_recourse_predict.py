"""Every answer that recourse calls reached is predicted as the target, by the model's own ``predict`` on the changed row."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, RobustScaler, StandardScaler

from helpers import PLAIN
from quadric import QuadraticSurface, SparseQuadraticSVC
from quadric.credit import CalibratedModel, IsotonicCalibration, SigmoidCalibration
from quadric.explain import recourse
from quadric.tables import TableEncoder

NUMBERS = ["small", "large", "count", "shifted"]
UNITS = np.array([1e-7, 1e8, 10.0, 1.0])
CASES = 4


@cache
def rows(n_classes):
    """Columns of very different units, one of counts and one far from zero, and a text; labels with noise."""
    rng = np.random.default_rng(n_classes)
    V = rng.normal(size=(150, 4)) * UNITS
    V[:, 2], V[:, 3] = np.round(V[:, 2]), V[:, 3] + 1e5
    frame = pd.DataFrame(V, columns=NUMBERS)
    frame["home"] = rng.choice(["own", "rent", "free"], len(V))
    U = (V - [0, 0, 0, 1e5]) / UNITS
    score = U[:, 0] * U[:, 1] + U[:, 2] + U[:, 3] ** 2 + (frame["home"] == "own") + 0.5 * rng.normal(size=len(V))
    return frame, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


CLASSIFIER = SparseQuadraticSVC(6, C=50.0, loss="least_squares", method="pd")
MODELS = {
    "standardised inside": (clone(CLASSIFIER).set_params(standardize=True), NUMBERS),
    "scaler": (make_pipeline(StandardScaler(), CLASSIFIER), NUMBERS),
    "two scalers": (make_pipeline(RobustScaler(), StandardScaler(), CLASSIFIER), NUMBERS),
    "columns": (
        make_pipeline(
            ColumnTransformer([("texts", OneHotEncoder(drop="first"), ["home"])], remainder=StandardScaler()), CLASSIFIER
        ),
        [*NUMBERS, "home"],
    ),
    "table": (make_pipeline(TableEncoder(), StandardScaler(), CLASSIFIER), [*NUMBERS, "home"]),
}
CALIBRATIONS = {"plain": None, "sigmoid": "sigmoid", "isotonic": "isotonic"}
RULES = {
    "free": {},
    "rules": {"integer": ["count"], "increase_only": ["shifted"], "lower": {"large": -2e8}, "upper": {"large": 2e8}},
}


@cache
def fitted(name, calibration, n_classes):
    model, columns = MODELS[name]
    frame, y = rows(n_classes)
    if CALIBRATIONS[calibration] is not None:
        model = CalibratedModel(model, method=calibration, cv=2)
    return clone(model).fit(frame[columns], y), frame[columns]


def changed(frame, answer):
    """The frame with the numbers of the answers."""
    out = frame.copy()
    for name in NUMBERS:
        out[name] = answer.x[:, answer.names.index(name)]
    return out[answer.reached]


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize(
    ("name", "rules"), [*((name, "free") for name in MODELS), ("standardised inside", "rules"), ("table", "rules")]
)
def test_answers_are_predicted_as_the_target(name, calibration, n_classes, rules):
    model, frame = fitted(name, calibration, n_classes)
    for target in range(n_classes):
        others = frame[model.predict(frame) != target][:CASES].reset_index(drop=True)
        answer = recourse(model, others, target=target, max_nodes=100, **RULES[rules])
        assert answer.reached.mean() >= (0.5 if calibration == "isotonic" and n_classes == 3 else 0.8)
        moved = changed(others, answer)
        assert (model.predict(moved) == target).all()
        assert all(model.predict(moved.iloc[[i]])[0] == target for i in range(len(moved)))  # alone, too
        assert (answer.lower_bound <= answer.distance * (1 + 1e-9)).all()
        proved = answer.proved & answer.reached
        assert_allclose(answer.distance[proved], answer.lower_bound[proved], rtol=2e-6, atol=1e-9)


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("cutoff", [-0.3, 0.0, 0.7])
def test_answers_are_beyond_a_cutoff_of_the_user(calibration, cutoff):
    model, frame = fitted("scaler", calibration, 2)
    for target in (0, 1):
        answer = recourse(model, frame[:40], target=target, cutoff=cutoff, margin=0.01)
        score = model.decision_function(changed(frame[:40], answer))
        assert answer.reached.all()
        assert (score >= cutoff + 0.01).all() if target else (score <= cutoff - 0.01).all()


def test_probabilities_that_tie_before_log_odds_do():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), SparseQuadraticSVC(k=5, C=1e4, loss="least_squares", **PLAIN))
    model = CalibratedModel(pipeline).fit(X, y)
    for target in range(3):
        answer = recourse(model, X[model.predict(X) != target], target=target)
        assert answer.reached.all()
        assert (model.predict(answer.x) == target).all()


@pytest.mark.parametrize("steepness", [1.0, 30.0, 1000.0])
@pytest.mark.parametrize("target", [0, 1, 2])
def test_sigmoids_that_are_so_steep_that_several_probabilities_are_one(steepness, target):
    X, y = load_iris(return_X_y=True)
    inner = SparseQuadraticSVC(k=5, C=1e4, loss="least_squares", standardize=True).fit(X, y)
    model = CalibratedModel.from_parts(inner, [SigmoidCalibration(-steepness, shift) for shift in (0.3, -1.0, 0.0)])
    answer = recourse(model, X[::5], target=target)
    assert answer.reached.mean() > 0.9
    assert (model.predict(answer.x[answer.reached]) == target).all()


def test_where_another_probability_is_one_it_has_to_fall_first():
    """The first probability is 1 from a decision value of 0.037 on, and wins ties."""
    model = classifier_of_planes([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [1.0, 0.0, -2.0])
    calibrated = CalibratedModel.from_parts(model, [SigmoidCalibration(-1000.0, 0.0)] * 3)
    x = np.array([[0.0, 0.5]])
    assert calibrated.predict(x)[0] == 0
    answer = recourse(calibrated, x, target=1)
    assert calibrated.predict(answer.x)[0] == 1
    assert_allclose(answer.x, [[-0.9633, 0.5]], atol=1e-3)
    assert_allclose(answer.lower_bound, 0.963, rtol=1e-6)


def test_an_answer_that_is_farther_than_the_bound_is_not_called_proved():
    """At log-odds of 33 a difference of a hundredth disappears in the rounding of the probabilities."""
    model = classifier_of_planes([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [33.0, 33.0, -40.0])
    calibrated = CalibratedModel.from_parts(model, [SigmoidCalibration(-1.0, 0.0)] * 3)
    x = np.array([[0.0, -0.5]])
    answer = recourse(calibrated, x, target=1)
    assert answer.reached[0]
    assert calibrated.predict(answer.x)[0] == 1
    assert_allclose(answer.lower_bound, 0.5 / np.sqrt(2), rtol=1e-6)
    assert answer.lower_bound[0] * (1 + 1e-4) < answer.distance[0] < 0.5 / np.sqrt(2) + 0.05
    assert not answer.proved[0]
    assert answer.message[0].startswith("not proved smallest")


def test_a_class_that_is_never_predicted_is_not_reached():
    model = classifier_of_planes([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [0.0, 0.0, 0.0])
    high, never = IsotonicCalibration([-1.0, 1.0], [0.5, 0.9]), IsotonicCalibration([-1.0, 1.0], [0.0, 0.4])
    calibrated = CalibratedModel.from_parts(model, [high, never, high])
    answer = recourse(calibrated, np.array([[0.2, 0.1]]), target=1)
    assert not answer.reached[0]
    assert not answer.proved[0]
    assert np.isnan(answer.x).all()
    assert answer.message == ["no answer found; not proved that there is none"]


def classifier_of_planes(slopes, intercepts):
    """A fitted classifier of three planes."""
    rng = np.random.default_rng(0)
    model = SparseQuadraticSVC(2, loss="least_squares", method="pd", **PLAIN).fit(rng.normal(size=(30, 2)), np.arange(30) % 3)
    model._set_surfaces([QuadraticSurface(np.zeros((2, 2)), b, c) for b, c in zip(slopes, intercepts, strict=True)])
    return model
