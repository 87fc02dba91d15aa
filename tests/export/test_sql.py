"""The SELECT in the three databases that it is written for."""

import csv
import io
import json
import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from helpers.databases import in_duckdb, in_sqlite, table_sql
from helpers.random_models import allowed_error, fitted_classifier, random_model, rows_of, scores_of
from quadric import SparseQuadraticSVC
from quadric.credit import CalibratedModel, SigmoidCalibration
from quadric.export import scoring_model, to_sql
from quadric.export.sql import Writer
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import term_count
from quadric.tables import TableEncoder

SEEDS = {"sqlite": 40, "duckdb": 16, "postgres": 16}
TYPES = {"number": "DOUBLE PRECISION", "category": "VARCHAR"}


@pytest.fixture(scope="module")
def in_postgres():
    """A server of our own in a temporary folder, without a port."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or [Path(shutil.which("initdb") or "absent")]
    binaries = found[-1].parent
    if not (binaries / "pg_ctl").exists() or shutil.which("psql") is None:
        pytest.skip("the PostgreSQL server is not installed (Debian: apt-get install postgresql)")
    user = []
    if os.geteuid() == 0:  # initdb refuses to run as root
        if not any(entry.pw_name == "postgres" for entry in pwd.getpwall()):
            pytest.skip("running as root, and there is no user postgres to run the server as")
        user = ["runuser", "-u", "postgres", "--"]
    folder = Path(tempfile.mkdtemp(prefix="quadric-"))
    if user:
        shutil.chown(folder, "postgres")
    data = folder / "data"
    run = {"check": True, "capture_output": True, "text": True, "cwd": "/"}
    subprocess.run([*user, binaries / "initdb", "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "-N"], **run)
    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
    subprocess.run([*user, binaries / "pg_ctl", "-D", data, "-w", "-s", "-l", folder / "log", "-o", options, "start"], **run)
    psql = [
        "psql",
        "-X",
        "-q",
        "--csv",
        "-h",
        folder,
        "-U",
        "postgres",
        "-v",
        "ON_ERROR_STOP=1",
        "-P",
        "null=<NULL>",
        "-f",
        "-",
    ]

    def query(setup, select):
        script = f"DROP TABLE IF EXISTS data; {setup}\n{select}"
        done = subprocess.run(psql, input=script.encode(), capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        output = io.StringIO(done.stdout.decode(), newline="")
        return [{name: _value(name, text) for name, text in row.items()} for row in csv.DictReader(output)]

    yield query
    subprocess.run([*user, binaries / "pg_ctl", "-D", data, "-s", "-m", "immediate", "stop"], **run)
    shutil.rmtree(folder)


def _value(name, text):
    if text == "<NULL>":
        return None
    return float(text) if name.startswith(("quadric_score", "quadric_probability")) else text


@pytest.fixture(params=["sqlite", "duckdb", "postgres"])
def database(request):
    if request.param == "postgres":
        return request.getfixturevalue("in_postgres")
    return {"sqlite": in_sqlite, "duckdb": in_duckdb}[request.param]


def in_order(rows):
    return sorted(rows, key=lambda row: int(row["row_number"]))


def column(rows, name):
    return [row[name] for row in in_order(rows)]


def matrix(rows, names):
    """Columns by their names, of which PostgreSQL keeps 63 bytes."""
    found = [name if name in rows[0] else name.encode()[:63].decode(errors="ignore") for name in names]
    return np.array([[float(row[name]) for name in found] for row in in_order(rows)])


@pytest.mark.slow
def test_databases_agree_with_the_model(database, request):
    kinds = set()
    for seed in range(SEEDS[request.node.callspec.params["database"]]):
        model, table = random_model(seed)
        rows = database(table_sql(table), to_sql(model))
        scores = scores_of(model, table)
        names = scoring_model(model).outputs("quadric_")
        found = matrix(rows, names.scores)
        assert (np.abs(found - scores) <= allowed_error(model, table)).all(), seed
        assert column(rows, "quadric_label") == model.predict(table).tolist(), seed
        if isinstance(model, CalibratedModel):
            chances = model.predict_proba(table)
            expected = chances[:, 1:] if scores.shape[1] == 1 else chances
            found = matrix(rows, names.probabilities)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9, err_msg=str(seed))
        kinds.add((scores.shape[1], isinstance(model, CalibratedModel)))
    assert len(kinds) == 4


def test_all_columns_of_the_table_are_kept(database):
    model, table = random_model(3)
    rows = in_order(database(table_sql(table), to_sql(model, prefix="new ")))
    for row, original in zip(rows, rows_of(table), strict=True):
        assert {str(v) for v in original.values() if isinstance(v, str)} <= {str(v) for v in row.values()}
        assert "new label" in row
    assert matrix(rows, scoring_model(model).outputs("new ").scores).shape == scores_of(model, table).shape


def test_samples_are_in_the_file_and_give_their_scores(database):
    model, _ = random_model(8, hostile=False)
    text = to_sql(model)
    samples = [json.loads(line.removeprefix("-- Sample: ")) for line in text.splitlines() if line.startswith("-- Sample: ")]
    assert len(samples) >= 5
    names = list(samples[0]["values"])
    kinds = {c.name: TYPES[c.type] for c in scoring_model(model).inputs}
    setup = f"CREATE TABLE data (row_number INTEGER, {', '.join(f'{Writer.identifier(n)} {kinds[n]}' for n in names)});"
    for i, sample in enumerate(samples):
        values = [
            "NULL" if v is None else Writer.literal(v) if isinstance(v, str) else repr(v) for v in sample["values"].values()
        ]
        setup += f"INSERT INTO data VALUES ({i}, {', '.join(values)});"
    rows = database(setup, text)
    found = matrix(rows, scoring_model(model).outputs("quadric_").scores)
    np.testing.assert_allclose(found, [sample["scores"] for sample in samples], rtol=1e-9, atol=1e-9)
    assert column(rows, "quadric_label") == [sample["label"] for sample in samples]


@pytest.fixture
def two_columns():
    encoder = TableEncoder().fit({"age": [20.0, 30.0], "home": ["own", "rent"]})
    W = np.array([[0.0, 1.0], [1.0, 0.0]])
    return Pipeline([("coding", encoder), ("classifier", fitted_classifier([QuadraticSurface(W, [0.5, 0.0], 1.0)], [0, 1]))])


def test_unknown_categories_and_missing_values_score_null(database, two_columns):
    setup = """CREATE TABLE data (row_number INTEGER, age DOUBLE PRECISION, home VARCHAR);
        INSERT INTO data VALUES (0, 20, 'own'), (1, 20, 'boat'), (2, NULL, 'own'), (3, 20, NULL), (4, 20, 'OWN');"""
    rows = database(setup, to_sql(two_columns))
    assert column(rows, "quadric_score") == [11.0, None, None, None, None]
    assert column(rows, "quadric_label") == ["1", None, None, None, None]


@pytest.mark.parametrize("taken", ["quadric_score", "quadric_probability", "quadric_label"])
def test_a_table_that_was_scored_before_is_refused_and_not_judged_by_its_old_scores(database, two_columns, taken):
    model = CalibratedModel.from_parts(two_columns, [SigmoidCalibration(-1.0, 0.0)])
    setup = f"""CREATE TABLE data (row_number INTEGER, age DOUBLE PRECISION, home VARCHAR, {taken} DOUBLE PRECISION);
        INSERT INTO data VALUES (0, 20, 'own', -99);"""
    with pytest.raises(Exception, match=rf"(?is)ambiguous.*{taken}|{taken}.*ambiguous"):
        database(setup, to_sql(model))
    assert column(database(setup, to_sql(model, prefix="new_")), "new_label") == ["1"]


def test_integer_columns_do_not_make_integer_arithmetic(database):
    model = fitted_classifier([QuadraticSurface(np.zeros((1, 1)), [1.0 / 3.0], 0.0)], ["no", "yes"])
    rows = database("CREATE TABLE data (row_number INTEGER, x0 INTEGER); INSERT INTO data VALUES (0, 1);", to_sql(model))
    assert column(rows, "quadric_score") == [pytest.approx(1 / 3, abs=1e-15)]


def test_numbers_may_be_stored_as_texts(database, two_columns):
    """As they are after an import of a CSV file without types."""
    setup = "CREATE TABLE data (row_number INTEGER, age VARCHAR, home VARCHAR); INSERT INTO data VALUES (0, '2.5e1', 'rent');"
    assert column(database(setup, to_sql(two_columns)), "quadric_score") == [38.5]


def test_a_table_can_be_named_with_its_schema(two_columns):
    setup = "CREATE TABLE data (row_number INTEGER, age REAL, home VARCHAR); INSERT INTO data VALUES (0, 20, 'own');"
    assert column(in_sqlite(setup, to_sql(two_columns, table=("main", "data"))), "quadric_score") == [11.0]


def test_a_column_that_is_not_there_is_an_error(two_columns):
    """SQLite would take an unknown name in double quotes for a text."""
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        in_sqlite("CREATE TABLE data (age REAL);", to_sql(two_columns))


def test_nan_gets_no_label_and_no_probability(in_postgres, two_columns):
    setup = """CREATE TABLE data (row_number INTEGER, age DOUBLE PRECISION, home VARCHAR);
        INSERT INTO data VALUES (0, 'NaN', 'own');"""
    for database in (in_postgres, in_duckdb):
        for model in (two_columns, CalibratedModel.from_parts(two_columns, [SigmoidCalibration(-1.0, 0.0)])):
            rows = database(setup, to_sql(model))
            assert column(rows, "quadric_label") == [None]
            assert rows[0].get("quadric_probability") is None


def test_extreme_scores_do_not_break_the_exponential(database):
    model = fitted_classifier([QuadraticSurface(np.zeros((1, 1)), [1.0], 0.0)], ["no", "yes"])
    model = CalibratedModel.from_parts(model, [SigmoidCalibration(-2.0, 0.0)])
    setup = "CREATE TABLE data (row_number INTEGER, x0 DOUBLE PRECISION); INSERT INTO data VALUES (0, -1e6), (1, 1e6);"
    np.testing.assert_allclose(column(database(setup, to_sql(model)), "quadric_probability"), [0.0, 1.0], atol=1e-300)


def test_a_model_with_thousands_of_terms_runs(database):
    rng = np.random.default_rng(0)
    n = 45
    surface = QuadraticSurface.from_coordinates(rng.normal(size=term_count(n)), 0.5)
    model = fitted_classifier([surface], ["no", "yes"])
    x = rng.normal(size=n)
    columns = ", ".join(f"x{i} DOUBLE PRECISION" for i in range(n))
    setup = (
        f"CREATE TABLE data (row_number INTEGER, {columns}); INSERT INTO data VALUES (0, {', '.join(map(repr, x.tolist()))});"
    )
    found = column(database(setup, to_sql(model)), "quadric_score")
    np.testing.assert_allclose(found, model.decision_function(x[None]), rtol=0, atol=1e-9)


def test_a_null_character_is_refused():
    with pytest.raises(ValueError, match="null character"):
        Writer.identifier("a\0b")


@pytest.mark.parametrize("others", [("a", "A"), ("n" * 60 + "1", "n" * 60 + "2")])
def test_classes_whose_columns_databases_do_not_tell_apart_are_refused(others):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    model = SparseQuadraticSVC(k=2, loss="least_squares").fit(X, np.array([*others, "b"])[np.arange(60) % 3])
    with pytest.raises(ValueError, match=r"the columns 'quadric_score_.* are one and the same to most databases"):
        to_sql(model)
    assert scoring_model(model).outputs("p_").names == (*(f"p_score_{name}" for name in model.classes_), "p_label")
