"""Capped columns in every export: scores as the model gives them, also for rows far beyond the caps."""

import json

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from helpers.databases import in_duckdb, in_sqlite, table_sql
from helpers.model_files import with_digest
from helpers.random_models import fitted_classifier, rows_of
from helpers.workbooks import recalculated
from quadric import SparseQuadraticSVC, load_model, save_model
from quadric.credit import CalibratedModel
from quadric.export import ModelFileError, equation, scoring_model, to_excel, to_latex, to_onnx, to_python, to_sql
from quadric.geometry.surface import QuadraticSurface
from quadric.samples.units import Units
from quadric.tables import Table, TableEncoder

M = 10_000


def rows(m, spread, seed=0):
    """Two numbers, one of them with missing values, and a category of nine ordered levels."""
    rng = np.random.default_rng(seed)
    age, income = 40.0 + 12.0 * spread * rng.normal(size=m), 3000.0 + 900.0 * spread * rng.standard_t(3, size=m)
    grade = np.array([str(level) for level in rng.integers(1, 10, size=m)], dtype=object)
    return Table(("age", "income", "grade"), (age, np.where(rng.random(m) < 0.05, np.nan, income), grade))


@pytest.fixture(scope="module")
def model():
    table = rows(500, 1.0)
    rank = table["grade"].astype(float)
    income = np.nan_to_num(table["income"], nan=3000.0)
    score = 0.05 * (table["age"] - 40.0) * (rank - 5.0) + (income - 3000.0) / 900.0 - 0.4 * (rank - 5.0)
    y = np.where(score > np.random.default_rng(1).normal(size=500), "good", "bad")
    encoder = TableEncoder(coding="ordinal", missing="impute")
    pipeline = make_pipeline(encoder, SparseQuadraticSVC(k=6, C=16.0, loss="least_squares", clip=0.15))
    pipeline.fit(table, y)
    assert np.isfinite([pipeline[-1].clip_low_, pipeline[-1].clip_high_]).all()
    assert pipeline[-1].surfaces_[0].live_features.all()
    return CalibratedModel(pipeline, method="sigmoid", cv=3).fit(table, y)


@pytest.fixture(scope="module")
def far():
    return rows(M, 6.0, seed=2)


def assert_agrees(model, table, scores, labels, tolerance=1e-9):
    np.testing.assert_allclose(scores, model.decision_function(table), rtol=0.0, atol=tolerance)
    assert list(labels) == model.predict(table).tolist()


def test_rows_reach_beyond_the_caps(model, far):
    U = model.estimator_[0].transform(far)
    low, high = model.estimator_[-1].clip_low_, model.estimator_[-1].clip_high_
    assert ((low > U).mean(axis=0) > 0.05).all()
    assert ((high < U).mean(axis=0) > 0.05).all()


def test_python(model, far):
    namespace = {"__name__": "module"}
    exec(to_python(model), namespace)
    namespace["check"]()
    answers = [namespace["predict"](row) for row in rows_of(far)]
    assert_agrees(model, far, [answer["scores"][0] for answer in answers], [answer["label"] for answer in answers])


@pytest.mark.parametrize("run", [in_sqlite, in_duckdb])
def test_sql(model, far, run):
    found = sorted(run(table_sql(far), to_sql(model)), key=lambda row: row["row_number"])
    assert_agrees(model, far, [row["quadric_score"] for row in found], [row["quadric_label"] for row in found])


@pytest.mark.parametrize("run", [in_sqlite, in_duckdb])
def test_infinity_is_no_value_in_a_database(model, run):
    setup = "CREATE TABLE data (age DOUBLE PRECISION, income DOUBLE PRECISION, grade VARCHAR);"
    infinite = ", ".join(f"({age}, 3000.0, '5')" for age in ("1e999", "-1e999", "40.0"))
    if run is in_duckdb:
        infinite = infinite.replace("1e999", "'infinity'").replace("-'", "'-")
    assert [row["quadric_label"] is None for row in run(f"{setup} INSERT INTO data VALUES {infinite};", to_sql(model))] == [
        True,
        True,
        False,
    ]


def test_onnx(model, far, tmp_path):
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    to_onnx(model, tmp_path / "model.onnx", dtype="float64")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    numbers, texts = np.column_stack([far["age"], far["income"]]), far["grade"][:, None]
    score, _, label = session.run(None, {"numbers": numbers, "categories": texts})
    assert_agrees(model, far, score, label)
    endless = np.array([[np.inf, 1.0], [1.0, -np.inf]])
    score, _, label = session.run(None, {"numbers": endless, "categories": texts[:2]})
    assert np.isnan(score).all()
    assert label.tolist() == ["", ""]


def test_excel(model, far, tmp_path):
    pytest.importorskip("xlsxwriter")
    some = far[np.arange(300)]
    to_excel(scoring_model(model, samples=some), tmp_path / "model.xlsx", spare_rows=0)
    _, *found = recalculated(tmp_path)["model"]
    assert_agrees(model, some, [float(row[4]) for row in found], [row[5] for row in found])
    assert {row[-1] for row in found} == {"ok"}


def test_the_equation_says_what_is_capped(model):
    low, high = model.estimator_[-1].clip_low_, model.estimator_[-1].clip_high_
    legend = [line for line in equation(model).splitlines() if line.startswith("Capped: ")]
    assert all(len(line) <= 80 for line in legend)
    assert "; ".join(line.removeprefix("Capped: ") for line in legend) == (
        f"age at {low[0]:.6g} and {high[0]:.6g}; income at {low[1]:.6g} and {high[1]:.6g}; rank(grade) at {low[2]:g} and {high[2]:g}"
    )
    assert f"$\\text{{age}}$ at ${low[0]:.6g}$ and ${high[0]:.6g}$" in to_latex(model)
    exact = equation(model, form="expanded", precision=17)
    assert f"age at {float(low[0])!r} and {float(high[0])!r}" in exact


def test_only_columns_of_the_equation_are_in_its_legend():
    X = np.random.default_rng(0).normal(size=(100, 3))
    model = SparseQuadraticSVC(k=1, C=100.0).fit(X, X[:, 1] > 0)
    assert [line for line in equation(model).splitlines() if "Capped" in line] == [
        f"Capped: x1 at {model.clip_low_[1]:.6g} and {model.clip_high_[1]:.6g}"
    ]


def test_model_files_hold_caps(model, far, tmp_path):
    save_model(model, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.decision_function(far), model.decision_function(far))
    for name in ("clip_low_", "clip_high_", "center_", "scale_"):
        np.testing.assert_array_equal(getattr(loaded.estimator_[-1], name), getattr(model.estimator_[-1], name))
    np.testing.assert_array_equal(loaded.estimator_[-1].raw_surfaces_[0].W, model.estimator_[-1].raw_surfaces_[0].W)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda e: e["clip_low"].__setitem__(0, e["clip_low"][0] - 1.0), r"probes\[\d+\].scores does not agree with the model"),
        (
            lambda e: e["clip_high"].__setitem__(1, e["clip_high"][1] + 1.0),
            r"probes\[\d+\].scores does not agree with the model",
        ),
        (lambda e: e["clip_high"].__setitem__(2, None), r"probes\[\d+\].scores does not agree with the model"),
        (
            lambda e: e["clip_low"].__setitem__(0, e["clip_high"][0] + 1.0),
            r"estimator.clip_high\[0\] must not be below clip_low",
        ),
        (lambda e: e["clip_low"].__setitem__(0, "low"), r"estimator.clip_low\[0\] must be a number"),
        (lambda e: e.__setitem__("clip_low", None), "estimator.clip_low must be a list"),
        (lambda e: e["clip_low"].pop(), "estimator.clip_low must have 3 items"),
        (lambda e: e["center"].__setitem__(0, None), r"estimator.center\[0\] must be a number"),
    ],
    ids=["lower", "upper", "gone", "crossed", "text", "none", "short", "no center"],
)
def test_other_caps_in_a_file_are_noticed(model, tmp_path, change, words):
    path = tmp_path / "model.json"
    save_model(model, path)
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document["estimator"])
    path.write_text(json.dumps(with_digest(document)), encoding="utf-8")
    with pytest.raises(ModelFileError, match=words):
        load_model(path)


def test_every_cap_is_tried_where_the_other_factor_of_a_product_is_not_zero(tmp_path):
    units = Units(np.array([-1.0, -1.0]), np.array([1.0, 0.0]), np.zeros(2), np.ones(2))  # x1 is zero at its upper cap
    model = fitted_classifier([QuadraticSurface([[0.0, 1.0], [1.0, 0.0]], [0.0, 0.0], 0.25)], [0, 1], units)
    for cap, column in (("clip_low", 0), ("clip_high", 0), ("clip_low", 1), ("clip_high", 1)):
        save_model(model, tmp_path / "model.json")
        document = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
        document["estimator"][cap][column] += 0.5 if cap == "clip_high" else -0.5
        (tmp_path / "model.json").write_text(json.dumps(with_digest(document)), encoding="utf-8")
        with pytest.raises(ModelFileError, match="scores does not agree with the model"):
            load_model(tmp_path / "model.json")


def test_a_scaler_that_clips_is_saved_and_exported(tmp_path):
    X = np.random.default_rng(0).normal(size=(200, 2))
    scaler = MinMaxScaler(feature_range=(-1.0, 2.0), clip=True)
    model = make_pipeline(scaler, SparseQuadraticSVC(k=3, clip=None)).fit(X, X[:, 0] * X[:, 1] > 0.0)
    save_model(model, tmp_path / "model.json")
    far = 3.0 * X
    np.testing.assert_array_equal(load_model(tmp_path / "model.json").decision_function(far), model.decision_function(far))
    namespace = {"__name__": "module"}
    exec(to_python(model), namespace)
    scores = [namespace["predict"]({"x0": row[0], "x1": row[1]})["scores"][0] for row in far]
    np.testing.assert_allclose(scores, model.decision_function(far), rtol=0.0, atol=1e-9)


def test_columns_without_caps_are_null_in_a_file(tmp_path):
    X = np.column_stack([np.arange(60) % 3, np.arange(60)]).astype(float)
    save_model(SparseQuadraticSVC(k=2).fit(X, X[:, 1] > 30), tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    assert document["estimator"]["clip_low"] == [None, 0.0]
    assert document["estimator"]["clip_high"] == [None, 59.0]
