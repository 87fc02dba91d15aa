"""Workbooks, recalculated by LibreOffice from their formulas alone."""

import re
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import Pipeline

from helpers.random_models import allowed_error, fitted_classifier, random_model, scores_of
from helpers.workbooks import recalculated
from quadric import SparseQuadraticSVC
from quadric.credit import CalibratedModel, IsotonicCalibration
from quadric.export import scoring_model, to_excel
from quadric.geometry.surface import QuadraticSurface
from quadric.tables import TableEncoder

pytest.importorskip("xlsxwriter")
SEEDS = range(10)


def model_of_two_columns():
    encoder = TableEncoder().fit({"age": [20.0, 30.0], "home": ["own", "rent"]})
    surface = QuadraticSurface(np.zeros((2, 2)), [1.0, 1.0], 0.0)
    return Pipeline([("coding", encoder), ("classifier", fitted_classifier([surface], ["no", "yes"]))])


def with_rows(model, rows):
    """Formulas whose sample rows hold other values, even such as the model itself refuses."""
    scoring = scoring_model(model)
    samples = [replace(sample, values=values) for sample, values in zip(scoring.samples, rows, strict=False)]
    return replace(scoring, samples=tuple(samples))


@pytest.fixture(scope="module")
def sheets(tmp_path_factory):
    """All workbooks of this file, recalculated in one go."""
    folder = tmp_path_factory.mktemp("books")
    for seed in SEEDS:
        model, table = random_model(seed)
        to_excel(scoring_model(model, samples=table), folder / f"model{seed}.xlsx", spare_rows=2)
    refused = with_rows(model_of_two_columns(), [(25.0, "boat"), (None, "own"), (25.0, "OWN"), (25.0, "rent")])
    to_excel(refused, folder / "refused.xlsx", spare_rows=0)
    curve = IsotonicCalibration(np.array([0.0]), np.array([0.3]))
    to_excel(CalibratedModel.from_parts(model_of_two_columns(), [curve]), folder / "flat.xlsx", spare_rows=0)
    to_excel(fitted_classifier([QuadraticSurface(np.zeros((1, 1)), [0.0], 2.5)], [0, 1]), folder / "constant.xlsx")
    return recalculated(folder)


def printable(text):
    return "".join(character for character in text if character.isprintable())


@pytest.mark.parametrize("seed", SEEDS)
def test_a_recalculation_agrees_with_the_model(sheets, seed):
    model, table = random_model(seed)
    scores = scores_of(model, table)
    _, *rows = sheets[f"model{seed}"]
    filled, spare = rows[: table.n_rows], rows[table.n_rows :]
    start = 1 + len(scoring_model(model).inputs)
    label = start + scores.shape[1]
    found = np.array([row[start:label] for row in filled], dtype=float)
    assert (np.abs(found - scores) <= allowed_error(model, table)).all()
    assert [printable(row[label]) for row in filled] == [printable(name) for name in model.predict(table).tolist()]
    if isinstance(model, CalibratedModel):
        chances = model.predict_proba(table)
        found = np.array([row[label + 1 : label + 1 + scores.shape[1]] for row in filled], dtype=float)
        np.testing.assert_allclose(found, chances[:, 1:] if scores.shape[1] == 1 else chances, rtol=0, atol=1e-9)
    assert {row[-1] for row in filled} == {"ok"}
    assert {value for row in spare for value in row} <= {""}


def test_unknown_categories_and_missing_values_are_not_available(sheets):
    head, *rows = sheets["refused"]
    column = head.index("score")
    assert [row[column] for row in rows] == ["#N/A", "#N/A", "#N/A", "26"]
    assert [row[column + 1] for row in rows] == ["#N/A", "#N/A", "#N/A", "yes"]
    assert [row[-1] for row in rows] == ["DIFFERS"] * 4


def test_models_of_one_point_and_of_no_term_work(sheets):
    head, *rows = sheets["flat"]
    assert {row[head.index("probability")] for row in rows} == {"0.3"}
    assert {row[head.index("label")] for row in rows} == {"no"}
    head, *rows = sheets["constant"]
    assert {row[head.index("score")] for row in rows if row[0]} == {"2.5"}


def test_texts_of_the_data_never_become_formulas(tmp_path):
    for seed in range(5):
        model, table = random_model(seed)
        to_excel(scoring_model(model, samples=table), tmp_path / "book.xlsx", spare_rows=0)
        with zipfile.ZipFile(tmp_path / "book.xlsx") as book:
            sheets = b"".join(book.read(name) for name in book.namelist() if name.startswith("xl/worksheets/"))
        formulas = re.findall(rb"<f>([^<]*)</f>", sheets)
        assert formulas
        quoted = {text for formula in formulas for text in re.findall(rb"&quot;([^&]*)&quot;|\"([^\"]*)\"", formula)}
        assert quoted <= {(b"", b""), (b"", b" "), (b"", b"ok"), (b"", b"DIFFERS"), (b"ok", b""), (b"DIFFERS", b"")}
        assert b"<script" not in sheets
        assert b"<hyperlink" not in sheets


def test_the_same_model_gives_the_same_bytes(tmp_path):
    model, _ = random_model(1)
    contents = []
    for name in ("a.xlsx", "b.xlsx"):
        to_excel(model, tmp_path / name)
        contents.append((tmp_path / name).read_bytes())
    assert contents[0] == contents[1]


def test_stored_results_are_those_of_the_samples(tmp_path):
    """Readers that do not recalculate show them."""
    model, _ = random_model(2)
    scoring = scoring_model(model)
    to_excel(scoring, tmp_path / "book.xlsx")
    with zipfile.ZipFile(tmp_path / "book.xlsx") as book:
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
    stored = [float(value) for value in re.findall(r"SUM\([^<]*</f><v>([^<]*)</v>", sheet) if value]
    np.testing.assert_allclose(stored, [score for sample in scoring.samples for score in sample.scores], rtol=1e-14)


def test_what_a_sheet_cannot_hold_is_refused(tmp_path):
    model = fitted_classifier([QuadraticSurface(np.zeros((1, 1)), [1.0], 0.0)], ["no", "y" * 40_000])
    with pytest.raises(ValueError, match="more than an Excel cell holds"):
        to_excel(model, tmp_path / "book.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_one_list_of_terms_for_all_classes(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = SparseQuadraticSVC(k=2, C=4.0, multiclass="shared").fit(X, y)
    to_excel(model, tmp_path / "shared.xlsx")
    sheet = recalculated(tmp_path)["shared"]
    checks = [row[sheet[0].index("check")] for row in sheet[1:]]
    assert checks[:2] == ["ok", "ok"]
    assert set(checks) <= {"ok", ""}
