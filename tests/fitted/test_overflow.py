"""Values so large that a score overflows: no door gives the row a label."""

import sqlite3
from functools import cache

import numpy as np
import pytest

from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV
from quadric.credit import CalibratedModel
from quadric.export import SavedModel, to_onnx, to_python, to_sql
from quadric.tables import Table
from quadric.workflow import TableModel

HUGE = [[1e155, -1e155], [-1e160, 1e160], [1e200, 1e200], [1e300, 1.0]]
"""Rows whose squares are infinite, of one sign or of both."""


@cache
def fitted(kind):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(90, 2))
    scores = X[:, 0] * X[:, 1] - X[:, 0] ** 2 + 0.5 * X[:, 1] ** 2
    y = np.digitize(scores, [-0.5, 0.3]) if "three" in kind else np.where(scores > 0.0, "yes", "no")
    loss = "logistic" if kind == "logistic" else "least_squares"
    model = SparseQuadraticSVC(k=4, C=4.0, loss=loss, clip=None)
    return (CalibratedModel(model, cv=3) if "calibrated" in kind else model).fit(X, y), X


@pytest.fixture(params=["plain", "calibrated", "logistic", "three", "three, calibrated"])
def model(request):
    return fitted(request.param)[0]


@pytest.mark.parametrize("row", HUGE)
def test_the_library_names_the_row(model, row):
    X = np.array([[0.5, 0.5], row])
    methods = [model.predict, *([model.predict_proba] if hasattr(model, "predict_proba") else [])]
    for method in methods:
        with pytest.raises(ValueError, match="row 1 of X, counted from 0, has no finite score: its values are too large"):
            method(X)
        assert len(method(X[:1])) == 1
    with pytest.raises(ValueError, match="row 2 has no finite score"):
        TableModel(SavedModel.of(model)).scores(Table(("x0", "x1"), tuple(X.T)))


def test_searches_and_their_choice_name_the_row():
    _, X = fitted("plain")
    search = SparseQuadraticSVCCV([2], [1.0], loss="least_squares", clip=None).fit(X, X[:, 0] > X[:, 1] ** 2)
    with pytest.raises(ValueError, match="row 0 of X, counted from 0, has no finite score"):
        search.predict(np.array(HUGE))


@pytest.mark.parametrize("row", HUGE)
def test_a_python_module_gives_none(model, row):
    module = {}
    exec(to_python(model), module)
    found = module["predict"]({"x0": row[0], "x1": row[1]})
    assert found["label"] is None
    assert set(found["scores"]) == {None}
    assert set(found.get("probabilities", [None])) == {None}
    assert set(found) == set(module["predict"]({"x0": 0.5, "x1": 0.5}))


@pytest.mark.parametrize("row", HUGE)
def test_sql_gives_null(model, row):
    with sqlite3.connect(":memory:") as base:
        base.execute("CREATE TABLE data (x0 REAL, x1 REAL)")
        base.execute("INSERT INTO data VALUES (?, ?)", row)
        cursor = base.execute(to_sql(model))
        found = dict(zip([each[0] for each in cursor.description], cursor.fetchone(), strict=True))
    assert found["quadric_label"] is None
    assert {value for name, value in found.items() if "probability" in name} <= {None}


def test_onnx_gives_nan_and_an_empty_label(model, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    to_onnx(model, tmp_path / "m.onnx", dtype="float64")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    names = [each.name for each in session.get_outputs()]
    found = dict(zip(names, session.run(names, {"numbers": np.array([*HUGE, [0.5, 0.5]])}), strict=True))
    assert found["label"].tolist()[:-1] == [""] * len(HUGE)
    assert found["label"][-1]
    for name in set(names) - {"label"}:
        assert np.isnan(found[name][:-1]).all()
        assert np.isfinite(found[name][-1]).all()
