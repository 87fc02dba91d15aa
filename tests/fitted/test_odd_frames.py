"""Frames and steps that a view could read wrongly: None beside NaN, columns without names, integers beyond floating point."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from quadric import SparseQuadraticSVC
from quadric.explain import reason_codes, recourse
from quadric.export import scoring_model
from quadric.fitted import fitted_model
from quadric.tables import as_table

FAST = SparseQuadraticSVC(k=3, C=10.0, loss="least_squares", method="pd")


def texts_with_none(seed=0, m=60):
    rng = np.random.default_rng(seed)
    number, text = rng.normal(size=m), rng.choice(["u", "v", "w"], m).astype(object)
    text[rng.random(m) < 0.25] = None
    effect = np.array([{"u": 2.0, "v": 0.0, "w": -1.0, None: 1.5}[value] for value in text])
    return number, text, (number + effect > 0.5).astype(int)


def frames(number, text):
    return [
        pl.DataFrame({"a": number, "c": text.tolist()}),
        pd.DataFrame({"a": number, "c": pd.Series(text, dtype=object)}),
    ]


@pytest.mark.parametrize("encoder", [OneHotEncoder(sparse_output=False), OrdinalEncoder(encoded_missing_value=-1)])
@pytest.mark.parametrize("kind", [0, 1], ids=["polars", "pandas"])
def test_none_stays_none_on_the_way_to_the_model(encoder, kind):
    number, text, y = texts_with_none()
    X = frames(number, text)[kind]
    coder = ColumnTransformer([("n", "passthrough", ["a"]), ("c", encoder, ["c"])])
    model = make_pipeline(coder, FAST).fit(X, y)
    scores, view = model.decision_function(X), fitted_model(model)
    assert_allclose(view.decision(as_table(X)), scores, rtol=1e-12, atol=1e-12)
    assert_allclose(view.surfaces[0](view.units(view.reported(X))), scores, rtol=1e-10, atol=1e-10)
    assert_allclose([sample.scores[0] for sample in scoring_model(model, samples=X).samples], scores, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("strategy", ["most_frequent", "constant"])
def test_an_imputer_of_nan_leaves_none_alone(strategy):
    number, text, y = texts_with_none()
    X = frames(number, text)[1]
    inner = make_pipeline(SimpleImputer(strategy=strategy), OneHotEncoder(sparse_output=False))
    model = make_pipeline(ColumnTransformer([("n", "passthrough", ["a"]), ("c", inner, ["c"])]), FAST).fit(X, y)
    with pytest.raises(TypeError, match=r"'onehotencoder'.* None.*missing_values=None"):
        fitted_model(model)


def numbers(seed=1, m=50, n=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    return X, (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)


def test_a_nested_pipeline_may_begin_with_passthrough():
    X, y = numbers()
    model = make_pipeline(make_pipeline("passthrough", StandardScaler()), FAST).fit(X, y)
    view = fitted_model(model)
    assert_allclose(view.surfaces[0](view.units(view.reported(X))), model.decision_function(X), rtol=1e-10, atol=1e-12)


@pytest.mark.filterwarnings("ignore:X has feature names, but StandardScaler was fitted without")  # as scikit-learn says
@pytest.mark.parametrize("names", [None, ["p", "q", "r"]])
def test_frames_for_a_model_without_names_are_read_by_position(names):
    X, y = numbers()
    model = make_pipeline(StandardScaler(), FAST).fit(pd.DataFrame(X) if names is None else X, y)
    frame = pd.DataFrame(X, columns=names)
    assert_allclose(recourse(model, frame, target=1).x, recourse(model, X, target=1).x)
    assert reason_codes(model, frame, background=frame).texts == reason_codes(model, X, background=X).texts
    scores = [sample.scores[0] for sample in scoring_model(model, samples=frame).samples]
    assert_allclose(scores, model.decision_function(X), rtol=1e-12)


@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")  # dropped, as the imputer says
@pytest.mark.parametrize("keep", [False, True])
def test_a_constant_imputer_and_a_column_without_values(keep):
    X, y = numbers()
    X[:, 0] = np.nan
    X[3, 1] = np.nan
    imputer = SimpleImputer(strategy="constant", fill_value=0.5, keep_empty_features=keep)
    model = make_pipeline(imputer, FAST).fit(X, y)
    view = fitted_model(model)
    assert_allclose(view.surfaces[0](view.units(view.reported(X))), model.decision_function(X), rtol=1e-10, atol=1e-12)


def test_codes_beyond_floating_point_are_refused():
    codes = np.array([[2**53 + i % 3] for i in range(30)])
    model = make_pipeline(OneHotEncoder(sparse_output=False), FAST).fit(codes, np.arange(30) % 3 == 1)
    with pytest.raises(TypeError, match="make it a text"):
        fitted_model(model)
