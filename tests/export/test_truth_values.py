"""Truth values are the same however a frame, a file, a database or a spreadsheet writes them, in the library and in exports."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from export.test_onnx import Scorer
from export.test_python import module_of
from export.test_sql import column, database, in_postgres  # noqa: F401
from helpers.workbooks import recalculated
from quadric import SparseQuadraticSVC, TableClassifier, fit_batches, load_model
from quadric.export import scoring_model, to_excel, to_sql
from quadric.tables.targets import class_position

pytest.importorskip("pyarrow")
SPELLINGS = {
    "frame": bool,
    "csv of pandas": lambda value: str(bool(value)),
    "json": lambda value: str(bool(value)).lower(),
    "R": lambda value: str(bool(value)).upper(),
    "integer": int,
    "float": float,
    "digit": lambda value: str(int(value)),
}
SQL_TYPES = {"frame": "BOOLEAN", "integer": "INTEGER", "float": "DOUBLE PRECISION"}
ROWS = [(0.5, True), (-1.0, False), (2.0, False), (0.0, True)]


@pytest.fixture(scope="module", params=["frame", "json", "R"])
def model(request):
    rng = np.random.default_rng(0)
    x, flag = rng.normal(size=300), rng.random(300) < 0.5
    y = np.where(flag ^ (rng.random(300) < 0.1), "yes", "no")
    cells = [SPELLINGS[request.param](value) for value in flag]
    return TableClassifier(k=2, C=16.0, loss="least_squares", calibrate=None).fit(pd.DataFrame({"x": x, "flag": cells}), y)


def rows(spelling):
    return pd.DataFrame({"x": [x for x, _ in ROWS], "flag": [SPELLINGS[spelling](value) for _, value in ROWS]})


@pytest.fixture(scope="module")
def wanted(model):
    """Scores of the rows as they were spelled in the fit."""
    spelled = {level.lower() == "true": level for level in set(model._rows["flag"])}
    scores = model.decision_function({"x": [x for x, _ in ROWS], "flag": [spelled[value] for _, value in ROWS]})
    assert np.ptp(scores) > 1.0
    return scores.tolist()


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_library_reads_every_spelling(model, wanted, spelling, tmp_path):
    model.save(tmp_path / "m.json")
    for own in (model, load_model(tmp_path / "m.json")):
        assert own.decision_function(rows(spelling)).tolist() == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_databases_read_every_spelling(model, wanted, spelling, database):  # noqa: F811
    cells = [f"'{cell}'" if isinstance(cell, str) else str(cell) for cell in rows(spelling)["flag"].tolist()]
    values = ", ".join(f"({i}, {x!r}, {cell})" for i, ((x, _), cell) in enumerate(zip(ROWS, cells, strict=True)))
    kinds = f"row_number INTEGER, x DOUBLE PRECISION, flag {SQL_TYPES.get(spelling, 'VARCHAR')}"
    found = database(f"CREATE TABLE data ({kinds}); INSERT INTO data VALUES {values};", to_sql(model.model_))
    assert column(found, "quadric_score") == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_module_reads_every_spelling(model, wanted, spelling):
    module = module_of(model.model_)
    found = [module["predict"](row)["scores"][0] for row in rows(spelling).to_dict("records")]
    assert found == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("spelling", ["csv of pandas", "json", "digit"])
def test_onnxruntime_reads_every_spelling(model, wanted, spelling, tmp_path):
    found = Scorer(model.model_, tmp_path / "m.onnx", "float64")(rows(spelling))
    assert found["score"].ravel().tolist() == pytest.approx(wanted, rel=1e-9)


def test_a_recalculation_reads_every_spelling(model, wanted, tmp_path):
    scoring = scoring_model(model.model_)
    for spelling in SPELLINGS:
        table = rows(spelling)[[each.name for each in scoring.inputs]]
        samples = [replace(scoring.samples[0], values=tuple(row)) for row in table.astype(object).itertuples(index=False)]
        to_excel(replace(scoring, samples=tuple(samples)), tmp_path / f"{spelling}.xlsx", spare_rows=0)
    for name, (head, *found) in recalculated(tmp_path).items():
        assert [float(row[head.index("score")]) for row in found] == pytest.approx(wanted, rel=1e-9), name


def test_fits_to_numbers_take_truth_values_as_one_and_zero():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200), "flag": rng.random(200) < 0.5})
    frame["y"] = frame["flag"] ^ (rng.random(200) < 0.1)
    own = SparseQuadraticSVC(k=2).fit(frame[["x", "flag"]], frame["y"].astype(str))
    streamed = fit_batches(SparseQuadraticSVC(k=2), frame, target="y", columns=["x", "flag"])
    np.testing.assert_allclose(streamed.decision_function(frame[["x", "flag"]]), own.decision_function(frame[["x", "flag"]]))


@pytest.mark.parametrize(("label", "position"), [("True", 1), ("true", 1), ("1", 1), ("0.0", 0), ("2", None), ("yes", None)])
def test_labels_of_truth_values_are_found_however_they_are_written(label, position):
    assert class_position(label, ("False", "True")) == class_position(label, ("0", "1")) == position
