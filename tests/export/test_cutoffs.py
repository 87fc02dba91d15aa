"""Every export labels rows as ``predict`` does where the cut-off is not one half: 10,000 rows, many beyond the caps."""

import numpy as np
import pytest

from helpers.databases import in_duckdb, in_sqlite, table_sql
from helpers.random_models import rows_of
from helpers.workbooks import recalculated
from quadric.credit import validation_table
from quadric.explain import recourse
from quadric.export import load_model, save_model, scoring_model, to_excel, to_onnx, to_python, to_sql
from quadric.fitted import fitted_model
from quadric.tables import Table
from quadric.tables.table import text_column
from quadric.workflow import TrainingOptions, train

N_ROWS = 10_000


def made(m, seed, spread=1.0):
    rng = np.random.default_rng(seed)
    age, income = 40 + spread * 12 * rng.normal(size=m), spread * rng.gamma(3.0, 1.0, size=m)
    home = text_column(rng.choice(["own", "rent", "free"], size=m).tolist())
    risk = (40 - age) / 12 + income * (home == "rent") - 0.4 * income + rng.logistic(size=m) > 1.5
    return Table(("age", "income", "home", "risk"), (age, income, home, text_column(np.where(risk, "yes", "no").tolist())))


@pytest.fixture(scope="module", params=["sigmoid", "isotonic"])
def model(request):
    options = TrainingOptions(k=5, Cs=(8.0,), calibrate=request.param, cutoff="cost:4:1")
    return train(made(600, 0), "risk", options).model


@pytest.fixture(scope="module")
def rows():
    return made(N_ROWS, 1, spread=3.0).drop(["risk"])


@pytest.fixture(scope="module")
def labels(model, rows):
    """What predict says; and neither what one half nor what the sign of f would say."""
    found = model.predict(rows)
    chances = model.predict_proba(rows)[:, 1]
    np.testing.assert_array_equal(found == "yes", chances > model.cutoff_)
    assert np.mean((found == "yes") != (chances > 0.5)) > 0.03
    return found.tolist()


def test_model_files_keep_the_cut_off_and_its_rule(model, rows, labels, tmp_path):
    save_model(model, tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert (again.cutoff_, again.cutoff) == (model.cutoff_, "cost:4:1")
    assert again.predict(rows).tolist() == labels


def test_the_fitted_view_follows_it(model, rows, labels):
    view = fitted_model(model)
    assert view.threshold == model.cutoff_
    assert view.classes[view.decided(view.decision(rows))[0]].tolist() == labels
    turn = view.cutoff(None)
    assert np.mean((view.decision(rows) > turn) == (np.array(labels) == "yes")) == 1.0


def test_the_python_module_follows_it(model, rows, labels):
    namespace = {"__name__": "generated"}
    exec(compile(to_python(model), "generated", "exec"), namespace)
    assert [namespace["predict"](row)["label"] for row in rows_of(rows)] == labels


@pytest.mark.slow
@pytest.mark.parametrize("database", [in_sqlite, in_duckdb])
def test_databases_follow_it(model, rows, labels, database):
    n_rows = 1_000 if database is in_sqlite else N_ROWS  # SQLite takes milliseconds per row
    found = database(table_sql(rows[np.arange(n_rows)]), to_sql(model))
    assert [row["quadric_label"] for row in sorted(found, key=lambda row: int(row["row_number"]))] == labels[:n_rows]


def test_onnx_follows_it(model, rows, labels, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    to_onnx(model, tmp_path / "m.onnx", dtype="float64")
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    feed = {"numbers": np.column_stack([rows["age"], rows["income"]]), "categories": rows["home"].astype(object)[:, None]}
    names = [output.name for output in session.get_outputs()]
    assert dict(zip(names, session.run(None, feed), strict=True))["label"].tolist() == labels


@pytest.mark.slow
def test_workbooks_follow_it(model, rows, labels, tmp_path):
    pytest.importorskip("xlsxwriter")
    to_excel(scoring_model(model, samples=rows[np.arange(1_000)]), tmp_path / "m.xlsx", spare_rows=0)
    sheet = recalculated(tmp_path)["m"]
    column = sheet[0].index("label")
    assert [row[column] for row in sheet[1:1_001]] == labels[:1_000]


def test_recourse_and_validation_follow_it(model, rows, labels):
    some = rows[np.arange(40)]
    wanted = recourse(model, some, target="no")
    assert (np.array(labels[:40]) == "no").tolist() == (wanted.distance == 0.0).tolist()
    truth = made(N_ROWS, 1, spread=3.0)["risk"].astype(str)
    for event in ("yes", "no"):
        table = validation_table(model, {"new": (rows, truth)}, event=event)
        measured = dict(zip(table.measures, table.values[:, 0], strict=True))
        assert measured["accuracy"] == np.mean(np.array(labels) == truth)
