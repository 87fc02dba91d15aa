"""How models are taken apart: units, names, nesting, refusals."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from helpers import PLAIN, random_samples, random_surface
from helpers.coalitions import level_coder, mixed_rows
from quadric import QuadraticSurface, SparseQuadraticSVC, SparseQuadraticSVCCV
from quadric.credit import CalibratedModel, SigmoidCalibration
from quadric.explain import contributions, recourse, shapley
from quadric.fitted import fitted_model

SCALERS = {
    "standard": StandardScaler(),
    "mean only": StandardScaler(with_std=False),
    "scale only": StandardScaler(with_mean=False),
    "range": MinMaxScaler((-1, 2)),
    "robust": RobustScaler(),
    "largest": MaxAbsScaler(),
}


@pytest.mark.parametrize("names", [["range", "standard"], *[[name] for name in SCALERS]], ids="+".join)
def test_scalers_are_inverted(names):
    X, y = random_samples(0, m=50, n=3)
    X = 3 + 2 * X
    model = make_pipeline(*[SCALERS[name] for name in names], SparseQuadraticSVC(k=4, **PLAIN)).fit(X, y)
    view = fitted_model(model)
    U = model[:-1].transform(X)
    assert_array_equal(view.fitted(X), U)
    assert_array_equal(view.reported(X), X)
    assert_allclose(view.units(X), U)
    assert_allclose(view.units.center + view.units.scale * U, X)
    assert_array_equal(view.decision(X), model.decision_function(X))


def test_the_cross_validated_models_own_scaling():
    X, y = random_samples(1, m=50, n=3)
    model = make_pipeline(MinMaxScaler(), SparseQuadraticSVCCV([3], Cs=[1.0], standardize=True)).fit(X, y)
    view = fitted_model(model)
    U = model[-1]._prepared(model[:-1].transform(X))
    assert_allclose(view.fitted(X), U)
    assert_allclose(view.units.center + view.units.scale * U, X)


def test_names_come_from_wherever_they_are():
    X, y = random_samples(2, m=50, n=3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    assert fitted_model(SparseQuadraticSVC().fit(frame, y)).names == ["a", "b", "c"]
    assert fitted_model(make_pipeline(StandardScaler(), SparseQuadraticSVC()).fit(frame, y)).names == ["a", "b", "c"]
    assert fitted_model(SparseQuadraticSVC().fit(X, y)).names == ["x0", "x1", "x2"]
    framed = make_pipeline(StandardScaler(), SparseQuadraticSVC()).set_output(transform="pandas").fit(frame, y)
    assert contributions(framed, frame).names == contributions(framed[-1], framed[0].transform(frame)).names
    assert recourse(framed, frame, target=1).names == ["a", "b", "c"]


def test_wrappings_come_off_in_any_order():
    X, y = random_samples(3, m=60, n=3)
    scaler = StandardScaler().fit(X)
    inner = SparseQuadraticSVC(k=4, **PLAIN).fit(scaler.transform(X), y)
    sigmoid = [SigmoidCalibration(-1.0, 0.0)]
    plain = make_pipeline(scaler, inner)
    outside = CalibratedModel.from_parts(plain, sigmoid)
    inside = make_pipeline(scaler, CalibratedModel.from_parts(inner, sigmoid))
    nested = Pipeline([("all", scaler), ("nothing", "passthrough"), ("model", make_pipeline(inner))])
    expected = shapley(plain, X, background=X)
    for model in (outside, inside, nested):
        assert_allclose(shapley(model, X, background=X).values, expected.values)


def test_columns_behind_a_coder():
    rows, y = mixed_rows(1)
    model = make_pipeline(level_coder((2, 3)), StandardScaler(), SparseQuadraticSVC(k=4)).fit(rows, y)
    view = fitted_model(model)
    assert view.input_names == ["x0", "x1", "x2", "x3"]
    assert view.blocks.tolist() == [0, 1, 2, 2, 3]
    assert view.numeric.tolist() == [True, True, False, False, False]
    assert view.by_column(np.arange(5.0)[None]).tolist() == [[0.0, 1.0, 5.0, 4.0]]


def test_rows_are_checked_as_the_model_checks_them():
    X, y = random_samples(4, m=50, n=3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = make_pipeline(StandardScaler(), SparseQuadraticSVC()).fit(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        contributions(model, frame[["b", "a", "c"]])
    with pytest.raises(ValueError, match="X has 2 features"):
        contributions(random_surface(np.random.default_rng(0), 3), np.zeros((4, 2)))


def test_what_cannot_be_explained_is_refused():
    X, y = random_samples(5, m=50, n=3)
    with pytest.raises(NotFittedError):
        contributions(SparseQuadraticSVC(), X)
    with pytest.raises(NotFittedError):
        contributions(make_pipeline(StandardScaler(), SparseQuadraticSVC()), X)
    with pytest.raises(TypeError, match="not LogisticRegression"):
        contributions(LogisticRegression().fit(X, y), X)
    with pytest.raises(TypeError, match="not str"):
        contributions("model", X)


def test_a_surface_has_two_sides():
    surface = QuadraticSurface([[0.0]], [1.0], 0.0)
    assert fitted_model(surface).classes.tolist() == [-1, 1]
    assert contributions(surface, [[2.0]], target=-1).decision.tolist() == [-2.0]
