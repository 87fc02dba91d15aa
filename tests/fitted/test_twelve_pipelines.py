"""Every kind of pipeline through every door: the same scores, labels and probabilities as the model itself."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from export.test_excel import recalculated
from export.test_python import module_of
from export.test_sql import in_duckdb, in_sqlite, table_sql
from helpers.pipelines import KINDS, labels, loans, table_rows
from quadric import alternatives, certify, load_model, save_model
from quadric.explain import contributions, reason_codes, recourse, shapley
from quadric.export import equation, scoring_model, to_excel, to_latex, to_sql
from quadric.fitted import fitted_model
from quadric.geometry.surface import QuadraticSurface
from quadric.tables import Table
from quadric.tables.inputs import missing_cells
from quadric.tables.table import text_column

# Rows have levels that the training rows lack, and answers of recourse come as arrays: that is what is tested
pytestmark = [
    pytest.mark.filterwarnings("ignore:Found unknown categories in columns"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
]

SEEDS = (0, 1, 2)
CASES = [pytest.param(KINDS[name], seed, id=f"{name}-{seed}") for name in KINDS for seed in SEEDS]
FIRST = [pytest.param(KINDS[name], 0, id=name) for name in KINDS]


def matrix(values):
    return values.reshape(len(values), -1)


def sizes(view, X):
    """Sums of the absolute terms of each score."""
    return np.column_stack([surface.magnitude(view.fitted(X)) for surface in view.surfaces])


def test_there_are_twelve_kinds_and_more():
    assert len(KINDS) >= 12


@pytest.mark.parametrize(("kind", "seed"), FIRST)
def test_columns_that_no_term_depends_on_may_be_absent_or_hold_anything(kind, seed):
    model = kind.fitted(seed)
    _, table = kind.rows(seed)
    view = fitted_model(model)
    n = view.n_features
    view = fitted_model(view.with_surfaces([QuadraticSurface(np.zeros((n, n)), np.eye(n)[seed], 0.5)] * len(view.surfaces)))
    spare = [column.name for column in view.inputs if column.type != "unused" and column.name not in view.needed]
    assert len(view.needed) == 1
    assert spare
    expected = view.decision(table)
    assert_array_equal(view.decision(view.rows(table.drop(spare), view.needed)), expected)
    wrong = [text_column(["?!"] * len(table)) if name in spare else table[name] for name in table.names]
    assert_array_equal(view.decision(view.rows(Table(table.names, tuple(wrong)), view.needed)), expected)
    with pytest.raises(ValueError, match="which the model needs"):
        view.rows(table.drop(spare))
    with pytest.raises(ValueError, match="which the model needs"):
        view.rows(table.drop(view.needed), view.needed)


@pytest.mark.parametrize(("kind", "seed"), CASES)
def test_the_formula_is_the_model(kind, seed):
    model = kind.fitted(seed)
    X, table = kind.rows(seed)
    view = fitted_model(model)
    U = view.units(view.reported(X))
    found = np.column_stack([surface(U) for surface in view.surfaces])
    assert (np.abs(found - matrix(model.decision_function(X))) <= 1e-12 * sizes(view, X)).all()
    assert_array_equal(view.decision(table), model.decision_function(X))
    assert_array_equal(view.fitted(table), view.fitted(X))
    assert_array_equal(view.classes[view.decided(view.decision(X))[0]], model.predict(X))


@pytest.mark.parametrize(("kind", "seed"), CASES)
@pytest.mark.parametrize("database", [in_sqlite, in_duckdb])
def test_sql(kind, seed, database):
    model = kind.fitted(seed)
    X, table = kind.rows(seed)
    rows = database(table_sql(table), to_sql(model))
    rows.sort(key=lambda row: row["row_number"])
    names = [name for name in rows[0] if name.startswith("quadric_score")]
    found = np.array([[row[name] for name in names] for row in rows], dtype=float)
    assert (np.abs(found - matrix(model.decision_function(X))) <= 1e-12 * sizes(fitted_model(model), X)).all()
    assert [row["quadric_label"] for row in rows] == model.predict(X).tolist()


@pytest.mark.parametrize(("kind", "seed"), CASES)
def test_python(kind, seed):
    model = kind.fitted(seed)
    X, table = kind.rows(seed)
    predict = module_of(model)["predict"]
    results = [predict(row) for row in table_rows(table)]
    found = np.array([result["scores"] for result in results])
    assert (np.abs(found - matrix(model.decision_function(X))) <= 1e-12 * sizes(fitted_model(model), X)).all()
    assert [result["label"] for result in results] == model.predict(X).tolist()
    if hasattr(model, "predict_proba"):
        assert_allclose([result["probabilities"] for result in results], model.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize(("kind", "seed"), FIRST)
def test_onnx(kind, seed, tmp_path):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from export.test_onnx import Scorer

    model = kind.fitted(seed)
    X, table = kind.rows(seed)
    expected, size = matrix(model.decision_function(X)), sizes(fitted_model(model), X)
    double = Scorer(model, tmp_path / "double.onnx", "float64")(table)
    assert (np.abs(matrix(double["score"]) - expected) <= 1e-12 * size).all()
    assert double["label"].tolist() == model.predict(X).tolist()
    single = matrix(Scorer(model, tmp_path / "single.onnx")(table)["score"])
    # inputs are rounded to 24 bits: that counts most where a centre is far from zero
    view = fitted_model(model)
    rounding = 1.0 + np.abs(view.units.center / view.units.scale).max()
    assert (np.abs(single - expected) <= 1e-6 * rounding * size).all()


@pytest.fixture(scope="module")
def sheets(tmp_path_factory):
    pytest.importorskip("xlsxwriter")
    folder = tmp_path_factory.mktemp("books")
    for number, kind in enumerate(KINDS.values()):
        _, table = kind.rows(0)
        to_excel(scoring_model(kind.fitted(0), samples=table), folder / f"kind{number}.xlsx", spare_rows=1)
    return recalculated(folder)


@pytest.mark.parametrize("number", range(len(KINDS)), ids=KINDS)
def test_excel(sheets, number):
    kind = list(KINDS.values())[number]
    model, (X, _) = kind.fitted(0), kind.rows(0)
    head, *rows = sheets[f"kind{number}"]
    places = [i for i, name in enumerate(head) if name.startswith("score")]
    found = np.array([[float(row[i]) for i in places] for row in rows[: len(X)]])
    assert (np.abs(found - matrix(model.decision_function(X))) <= 1e-9 * sizes(fitted_model(model), X)).all()
    assert [row[head.index("label")] for row in rows[: len(X)]] == model.predict(X).tolist()
    assert {row[head.index("check")] for row in rows[: len(X)]} == {"ok"}


@pytest.mark.parametrize(("kind", "seed"), CASES)
def test_a_saved_model_comes_back(kind, seed, tmp_path):
    model = kind.fitted(seed)
    X, _ = kind.rows(seed)
    save_model(model, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert_array_equal(again.predict(X), model.predict(X))
    if hasattr(model, "predict_proba"):
        assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    save_model(again, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == (tmp_path / "model.json").read_text()
    assert equation(again) == equation(model)


@pytest.mark.parametrize(("kind", "seed"), FIRST)
def test_certify_and_alternatives(kind, seed):
    model = kind.fitted(seed)
    X, y = kind.form(kind.frame(seed)), labels(loans(seed, missing=kind.missing), kind.n_classes)
    view = fitted_model(model)
    question = {"loss": "least_squares", "C": view.question("C") or 1.0, "k": view.question("k") or 5}
    found = certify(model, X, y, **question)
    positives = zip(view.surfaces, view.classes[-len(view.surfaces) :], strict=True)
    again = [certify(surface, view.fitted(X), y == positive, **question)[0] for surface, positive in positives]
    assert_allclose([c.objective for c in found], [c.objective for c in again], rtol=1e-9)
    if view.question("k") is not None:
        ties = alternatives(model, X, y)
        assert len(ties) == len(view.surfaces)
        assert {term for entry in ties for term in entry.terms} <= set(view.term_names)


@pytest.mark.parametrize(("kind", "seed"), FIRST)
def test_explanations(kind, seed):
    model = kind.fitted(seed)
    X, _ = kind.rows(seed)
    view, target = fitted_model(model), model.classes_[-1]
    decision = matrix(model.decision_function(X))[:, -1]
    size = 1e-11 * sizes(view, X)[:, -1]
    terms = contributions(model, X, target=target)
    assert (np.abs(terms.intercept + terms.values.sum(axis=1) - decision) <= size).all()
    values = shapley(model, X, background=X, target=target)
    assert (np.abs(values.base_value + values.values.sum(axis=1) - decision) <= 10 * size).all()
    assert len(reason_codes(model, X, background=X, favourable=target).texts) == len(X)


@pytest.mark.parametrize(("kind", "seed"), FIRST)
def test_answers_of_recourse_are_rows_that_the_model_decides_as_wanted(kind, seed):
    model = kind.fitted(seed)
    _, table = kind.rows(seed)
    view, target = fitted_model(model), model.classes_[0]
    few = table[:12]
    answers = recourse(model, view.native(few), target=target, max_nodes=50)
    before = view.reported(few)
    moved = view.changed(view.rows(few), before, np.where(answers.reached[:, None], answers.x, before))
    decided = view.classes[view.decided(view.decision(moved))[0]]
    assert (decided[answers.reached] == target).all()
    assert answers.reached.any()
    absent = np.column_stack([missing_cells(column) for column in view.rows(few).columns])[:, view.blocks]
    assert (answers.change[answers.reached][absent[answers.reached]] == 0.0).all()


@pytest.mark.parametrize(("kind", "seed"), FIRST)
def test_equations(kind, seed):
    model = kind.fitted(seed)
    assert equation(model).startswith("f")
    assert equation(model, form="expanded", precision=17).startswith("f")
    assert "\\begin{align*}" in to_latex(model)
