"""Every kind of missing, unknown and ill-written cell, in the library and in all exports: the same score, or the same refusal."""

import sqlite3
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline

from export.test_excel import recalculated
from export.test_python import module_of
from export.test_sql import in_duckdb, in_postgres  # noqa: F401
from helpers.random_models import fitted_classifier, random_surface
from quadric.export import load_model, save_model, scoring_model, to_excel, to_onnx, to_sql
from quadric.export.sql import Writer
from quadric.tables import TableEncoder

NAMES = ("age", "home", "issued")
PLAIN = (30.0, "rent", "2019-05-01")
HOMES = [
    None, float("nan"), pd.NA, "", " ", " \t\n", "nan", "NaN", "NA", " na ", "-999", "own", " own", "own \r\n", "OWN", "boat", "free house",
    "free  house", "?",
]  # fmt: skip
AGES = [None, float("nan"), "", " ", 41.5, -999.0, 0.0]
DATES = [
    None, "", "\t", "na", "2019-03-01", " 2020-02-29 ", "2021-12-31 18:30", "2021-12-31T18:30:15", "2021-12-31 18:30:15.25", "1896-02-29",
    "9999-12-31", "2021-02-29", "2021-13-01", "2021-1-01", "2021/01/01", "21-01-01", "yesterday", "2021-12-31 24:00", "2021-12-31 18:61",
    "2021-12-31 18:30:15+01:00", "20210101", "2021-12-31 18:3", "-021-01-01", "2021-12-31x18:30",
]  # fmt: skip
ROWS = [(30.0, home, "2019-05-01") for home in HOMES] + [(age, "rent", "2019-05-01") for age in AGES]
ROWS += [(30.0, "rent", day) for day in DATES]
KINDS = [
    (missing, coding, unseen, texts, n_classes)
    for (missing, (coding, unseen)), (texts, n_classes) in zip(
        product(("refuse", "impute", "indicator"), (("onehot", "refuse"), ("onehot", "other"), ("ordinal", "refuse"))),
        [((), 2), (("NA", "?", "-999"), 3), (("na",), 2)] * 3,
        strict=True,
    )
]


def model_of(missing, coding, unseen, texts, n_classes):
    """A model whose surfaces use different columns."""
    data = {
        "age": [20.0, 30.0, 40.0, 50.0, 60.0],
        "home": ["own", "rent", " rent", "free house", "own"],
        "issued": ["2019-03-01", "2019-05-01", "2020-01-15 06:00", "2021-01-01", "2019-03-02"],
    }
    if missing != "refuse":
        data = {name: [*values, None] for name, values in data.items()}
    encoder = TableEncoder(missing=missing, coding=coding, unseen=unseen, dates=["issued"], missing_texts=texts).fit(data)
    n, rng = len(encoder.features_), np.random.default_rng(len(missing) + n_classes)
    surfaces = [random_surface(rng, n) * 1e-3 for _ in range(1 if n_classes == 2 else n_classes)]
    b = np.zeros((len(surfaces), n))
    b[np.arange(n) % len(surfaces), np.arange(n)] = rng.uniform(1.0, 2.0, n)  # each feature counts somewhere
    surfaces = [replace(surface, b=surface.b + own) for surface, own in zip(surfaces, b, strict=True)]
    return Pipeline([("coding", encoder), ("classifier", fitted_classifier(surfaces, ["a", "b", "c"][:n_classes]))])


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: " ".join(map(str, kind)))
def case(request):
    """A model, and what it makes of each row: its scores, or None where it refuses the row."""
    model = model_of(*request.param)
    return model, [scores_of(model, row) for row in ROWS]


def scores_of(model, row):
    try:
        return np.ravel(model.decision_function({name: [value] for name, value in zip(NAMES, row, strict=True)}))
    except ValueError:
        return None


def assert_same(found, expected):
    for row, own, wanted in zip(ROWS, found, expected, strict=True):
        assert (own is None) == (wanted is None), (row, own, wanted)
        if wanted is not None:
            np.testing.assert_allclose(own, wanted, rtol=1e-9, atol=1e-9, err_msg=repr(row))


def is_absent(value):
    return value is None or value is pd.NA or value != value


def test_the_library_itself(case):
    model, expected = case
    encoder = model[0]
    answers = dict(zip(ROWS, expected, strict=True))
    own, absent = answers[30.0, "own", "2019-05-01"], answers[30.0, None, "2019-05-01"]
    for text in (" own", "own \r\n"):
        np.testing.assert_array_equal(answers[30.0, text, "2019-05-01"], own)
    blanks = ["", " ", " \t\n", *(["NA", " na "] if encoder.missing_texts else [])]
    for text in blanks:
        np.testing.assert_array_equal(answers[30.0, text, "2019-05-01"], absent)
    assert (absent is None) == (encoder.missing == "refuse")
    for text in ("OWN", "boat", "nan", "free  house"):
        assert (answers[30.0, text, "2019-05-01"] is None) == (encoder.unseen == "refuse")
    assert [answers[30.0, "rent", day] is None for day in DATES[4:]] == [False] * 7 + [True] * 13


def test_the_python_module(case):
    model, expected = case
    predict, found = module_of(model)["predict"], []
    for row in ROWS:
        try:
            found.append(predict(dict(zip(NAMES, row, strict=True)))["scores"])
        except ValueError:
            found.append(None)
    assert_same(found, expected)


def test_a_model_file(case, tmp_path):
    model, expected = case
    save_model(model, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert_same([scores_of(again, row) for row in ROWS], expected)


def in_sqlite(setup, select):
    with sqlite3.connect(":memory:") as connection:
        connection.executescript(setup)
        cursor = connection.execute(select)
        return [dict(zip([column[0] for column in cursor.description], row, strict=True)) for row in cursor.fetchall()]


@pytest.mark.parametrize("database", ["sqlite", "duckdb", "postgres"])
def test_databases(case, database, request):
    model, expected = case
    run = (
        request.getfixturevalue("in_postgres")
        if database == "postgres"
        else {"sqlite": in_sqlite, "duckdb": in_duckdb}[database]
    )
    cells = [["NULL" if is_absent(v) else Writer.literal(v if isinstance(v, str) else repr(v)) for v in row] for row in ROWS]
    values = ", ".join(f"({i}, {', '.join(row)})" for i, row in enumerate(cells))
    setup = (
        f"CREATE TABLE data (row_number INTEGER, age VARCHAR, home VARCHAR, issued VARCHAR); INSERT INTO data VALUES {values};"
    )
    assert_same(database_scores(run(setup, to_sql(model))), expected)


def database_scores(rows):
    ordered = sorted(rows, key=lambda row: int(row["row_number"]))
    found = [[value for name, value in row.items() if name.startswith("quadric_score")] for row in ordered]
    for row, scores in zip(ordered, found, strict=True):  # all scores and the label, or none of them
        assert len({value is None for value in [*scores, row["quadric_label"]]}) == 1
    return [None if None in scores else [float(score) for score in scores] for scores in found]


@pytest.mark.parametrize("database", ["duckdb", "postgres"])
def test_columns_of_dates_and_numbers_in_databases(database, request):
    model = model_of("indicator", "onehot", "other", (), 2)
    run = request.getfixturevalue("in_postgres") if database == "postgres" else in_duckdb
    days = ["2019-03-01 00:00:00", "2021-12-31 18:30:15.25", None]
    expected = [scores_of(model, (30.0, "rent", day)) for day in days]
    for kind in ("TIMESTAMP", "DATE"):
        values = ", ".join(f"({i}, 30, 'rent', {'NULL' if day is None else Writer.literal(day)})" for i, day in enumerate(days))
        setup = f"CREATE TABLE data (row_number INTEGER, age DOUBLE PRECISION, home VARCHAR, issued {kind}); INSERT INTO data VALUES {values};"
        found = database_scores(run(setup, to_sql(model)))
        if kind == "DATE":
            expected[1] = scores_of(model, (30.0, "rent", "2021-12-31"))
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    setup = "CREATE TABLE data (row_number INTEGER, age DOUBLE PRECISION, home VARCHAR, issued DATE);"
    setup += "INSERT INTO data VALUES (0, 'NaN', ' ', NULL);"
    found = database_scores(run(setup, to_sql(model)))
    np.testing.assert_allclose(found, [scores_of(model, (None, None, None))], rtol=1e-9)


def test_onnx(case, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    model, expected = case
    to_onnx(model, tmp_path / "model.onnx", dtype="float64")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    rows = [i for i, row in enumerate(ROWS) if row[2] == "2019-05-01" and not isinstance(row[0], str)]  # takes numbers only
    days = (np.datetime64("2019-05-01") - np.datetime64("2019-03-01")).astype(float)
    numbers = np.array([[np.nan if is_absent(ROWS[i][0]) else ROWS[i][0], days] for i in rows])
    texts = np.array([["" if is_absent(ROWS[i][1]) else ROWS[i][1]] for i in rows], dtype=object)
    score, label = session.run(["score", "label"], {"numbers": numbers, "categories": texts})
    score = score.reshape(len(rows), -1)
    for i, own, name in zip(rows, score, label, strict=True):
        assert np.isnan(own).all() == np.isnan(own).any() == (name == "") == (expected[i] is None), ROWS[i]
        if expected[i] is not None:
            np.testing.assert_allclose(own, expected[i], rtol=1e-9, atol=1e-9)


@pytest.fixture(scope="module")
def sheets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("books")
    for i, kind in enumerate(KINDS):
        scoring = scoring_model(model_of(*kind))
        # LibreOffice makes another character of a tab in a cell of several lines
        cells = [tuple(None if is_absent(value) else " \n" if value == " \t\n" else value for value in row) for row in ROWS]
        samples = [replace(scoring.samples[0], values=values) for values in cells]
        to_excel(replace(scoring, samples=tuple(samples)), folder / f"book{i}.xlsx", spare_rows=0)
    return recalculated(folder)


@pytest.mark.parametrize("number", range(len(KINDS)))
def test_excel(sheets, number):
    model = model_of(*KINDS[number])
    head, *rows = sheets[f"book{number}"]
    scores = [i for i, name in enumerate(head) if name.startswith("score")]
    found = []
    for row in rows:
        cells = [row[i] for i in scores]
        assert len({cell == "#N/A" for cell in [*cells, row[head.index("label")]]}) == 1, row
        found.append(None if "#N/A" in cells else [float(cell) for cell in cells])
    assert_same(found, [scores_of(model, row) for row in ROWS])


def test_date_cells_of_a_workbook_are_dates(tmp_path):
    """A date cell holds the number of its day."""
    model = model_of("refuse", "onehot", "refuse", (), 2)
    scoring = scoring_model(model)
    days = ["2019-03-01", "2024-02-29", "2031-01-01"]
    serial = [float((np.datetime64(day) - np.datetime64("1899-12-30")).astype(int)) for day in days]
    samples = [replace(scoring.samples[0], values=(30.0, "rent", number + 0.5)) for number in serial]
    to_excel(replace(scoring, samples=tuple(samples)), tmp_path / "book.xlsx", spare_rows=0)
    head, *rows = recalculated(tmp_path)["book"]
    expected = [scores_of(model, (30.0, "rent", f"{day} 12:00"))[0] for day in days]
    np.testing.assert_allclose([float(row[head.index("score")]) for row in rows], expected, rtol=1e-9)
