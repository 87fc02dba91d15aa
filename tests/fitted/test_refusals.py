"""Steps that are not understood and models that are not fitted: one sentence at every door."""

import re

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

from helpers.pipelines import FAST, NUMBERS, labels, loans
from quadric import SparseQuadraticSVC, alternatives, certify, save_model
from quadric.credit import CalibratedModel, score_points, term_points
from quadric.explain import contributions, reason_codes, recourse, shapley, stability
from quadric.export import equation, scoring_model, to_excel, to_latex, to_onnx, to_python, to_sql
from quadric.tables import TableEncoder

DOORS = {
    "certify": lambda model, X, y, path: certify(model, X, y),
    "alternatives": lambda model, X, y, path: alternatives(model, X, y),
    "contributions": lambda model, X, y, path: contributions(model, X),
    "shapley": lambda model, X, y, path: shapley(model, X, background=X),
    "reason codes": lambda model, X, y, path: reason_codes(model, X, background=X),
    "recourse": lambda model, X, y, path: recourse(model, X, target="good"),
    "stability": lambda model, X, y, path: stability(model, X, y, n_boot=2),
    "equation": lambda model, X, y, path: equation(model),
    "latex": lambda model, X, y, path: to_latex(model),
    "sql": lambda model, X, y, path: to_sql(model),
    "python": lambda model, X, y, path: to_python(model),
    "excel": lambda model, X, y, path: to_excel(model, path),
    "onnx": lambda model, X, y, path: to_onnx(model, path),
    "formulas": lambda model, X, y, path: scoring_model(model),
    "file": lambda model, X, y, path: save_model(model, path),
    "scorecard": lambda model, X, y, path: term_points(model),
}


def binned():
    return ColumnTransformer([("inner", KBinsDiscretizer(encode="ordinal"), NUMBERS)])


STEPS = {
    "unknown": (PCA(2), NUMBERS, r"the step 'odd' \(PCA\) is not understood"),
    "fills beyond limits": (
        make_pipeline(MinMaxScaler(clip=True), SimpleImputer(strategy="constant", fill_value=5.0)),
        NUMBERS,
        r"the step 'simpleimputer' \(SimpleImputer\) fills in values beyond the limits of an earlier step",
    ),
    "bins inside": (binned(), NUMBERS, r"the step 'inner' \(KBinsDiscretizer\) is not understood"),
    "function": (FunctionTransformer(np.log1p), ["age"], r"the step 'odd' \(FunctionTransformer\) applies a function"),
    "bins": (KBinsDiscretizer(encode="ordinal"), NUMBERS, r"the step 'odd' \(KBinsDiscretizer\) is not understood"),
    "weights": (
        ColumnTransformer([("a", StandardScaler(), NUMBERS)], transformer_weights={"a": 2.0}),
        NUMBERS,
        r"the step 'odd' \(ColumnTransformer\) has transformer_weights",
    ),
    "single precision": (
        OneHotEncoder(dtype=np.float32, sparse_output=False),
        ["home"],
        r"the step 'odd' \(OneHotEncoder\) computes in float32",
    ),
    "other missing value": (
        SimpleImputer(missing_values=-1),
        NUMBERS,
        r"the step 'odd' \(SimpleImputer\) takes -1 for a missing",
    ),
    "codes of scaled numbers": (
        make_pipeline(StandardScaler(), OrdinalEncoder()),
        ["region"],
        r"the step 'ordinalencoder' \(OrdinalEncoder\) encodes numbers that an earlier step has scaled",
    ),
    "late encoder": (
        make_pipeline(SimpleImputer(), TableEncoder()),
        NUMBERS,
        r"the step 'tableencoder' \(TableEncoder\) must come first",
    ),
}


def check_sentence(text):
    assert "\n" not in text
    assert not re.search(r"\. \S", text), "more than one sentence"


@pytest.fixture(scope="module")
def odd_models():
    frame = loans(0)
    models = {}
    for name, (step, columns, _) in STEPS.items():
        pipeline = Pipeline([("odd", step), ("scaler", StandardScaler(with_mean=False)), ("model", FAST)])
        models[name] = CalibratedModel(pipeline, cv=2).fit(frame[columns], labels(frame)), frame[columns]
    return models


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", STEPS)
def test_a_step_that_is_not_understood_is_named_at_every_door(odd_models, name, door, tmp_path):
    model, X = odd_models[name]
    with pytest.raises(TypeError, match=STEPS[name][2]) as caught:
        DOORS[door](model, X, labels(loans(0)), tmp_path / "file")
    check_sentence(str(caught.value))
    assert "transform the data first" in str(caught.value)
    assert "or use StandardScaler, " in str(caught.value)
    assert list(tmp_path.iterdir()) == []


UNFITTED = {
    "estimator": (SparseQuadraticSVC(), "SparseQuadraticSVC"),
    "pipeline": (make_pipeline(StandardScaler(), SparseQuadraticSVC()), "Pipeline"),
    "calibrated": (CalibratedModel(SparseQuadraticSVC()), "CalibratedModel"),
    "calibrated pipeline": (make_pipeline(StandardScaler(), CalibratedModel()), "Pipeline"),
}


@pytest.mark.parametrize("door", [*DOORS, "points"])
@pytest.mark.parametrize("name", UNFITTED)
def test_an_unfitted_model_is_told_to_be_fitted_at_every_door(name, door, tmp_path):
    model, kind = UNFITTED[name]
    doors = {**DOORS, "points": lambda model, X, y, path: score_points(model, X)}
    frame = loans(0)
    with pytest.raises(NotFittedError, match=f"^this {kind} is not fitted yet: call fit first$"):
        doors[door](model, frame[NUMBERS], labels(frame), tmp_path / "file")


def test_an_unfitted_step_before_a_fitted_classifier():
    frame = loans(0)
    model = Pipeline([("scaler", StandardScaler()), ("model", FAST)]).fit(frame[NUMBERS], labels(frame))
    model.steps[0] = ("scaler", StandardScaler())
    with pytest.raises(NotFittedError, match=r"^this StandardScaler is not fitted yet: call fit first$"):
        equation(model)
