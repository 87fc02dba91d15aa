"""``--engine``: the same models and scores, from a cluster; what goes wrong in one line, with nothing half-written."""

import json

import numpy as np
import pytest

from helpers.clusters import dask_cluster
from helpers.small_tables import credit_columns

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("distributed", reason="Dask is not installed")

GIVEN = [
    "--target",
    "risk",
    "--ignore",
    "label",
    "--no-cv",
    "--k",
    "4",
    "--C",
    "1",
    "--loss",
    "least_squares",
    "--no-calibrate",
]


@pytest.fixture(scope="module")
def address():
    with dask_cluster() as client:
        yield client.scheduler.address


@pytest.fixture
def folder(tmp_path):
    """A table in one file, and in a folder of three."""
    whole = pa.table(credit_columns(300) | {"label": np.arange(300.0)})  # a name that the output has, too
    parquet.write_table(whole, tmp_path / "whole.parquet")
    (tmp_path / "parts").mkdir()
    for number in range(3):
        parquet.write_table(whole.slice(100 * number, 100), tmp_path / "parts" / f"{number}.parquet")
    return tmp_path


def test_hinge_models_are_judged_on_dask(run, folder, address):
    model, dask = folder / "model.json", ["--engine", "dask", "--scheduler", address]
    assert run("fit", folder / "whole.parquet", *GIVEN, "--loss", "hinge", "--output", model).code == 0
    (mine,) = json.loads(run("certify", model, folder / "parts", *dask, "--json").out)["certificates"]
    (theirs,) = json.loads(run("certify", model, folder / "whole.parquet", "--json").out)["certificates"]
    assert mine["objective"] == pytest.approx(theirs["objective"], rel=1e-9)
    assert mine["decrease"] <= 1e-8
    assert mine["lower_bound"] is None


def test_fit_certify_and_predict_on_dask(run, folder, address):
    dask = ["--engine", "dask", "--scheduler", address]
    one, two = folder / "one.json", folder / "two.json"
    assert run("fit", folder / "parts", *GIVEN, *dask, "--output", one).code == 0
    assert run("fit", folder / "whole.parquet", *GIVEN, "--output", two).code == 0
    found, expected = (_surface(each) for each in (one, two))
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    mine = json.loads(run("certify", one, folder / "parts", *dask, "--json").out)
    theirs = json.loads(run("certify", two, folder / "whole.parquet", "--json").out)
    assert (mine["rows"], mine["same_file"]) == (300, None)
    for key in ("objective", "lower_bound"):
        assert mine["certificates"][0][key] == pytest.approx(theirs["certificates"][0][key], rel=1e-9)
    scored = run("predict", one, folder / "parts", *dask, "--keep", "age", "--output", folder / "scores")
    assert scored.code == 0
    assert scored.out.startswith("300 rows: ")
    again = ["predict", one, folder / "parts", *dask, "--output", folder / "scores"]
    assert run(*again).errors[-1].endswith("scores exists; give --force to overwrite it, or another --output")
    assert run(*again, "--keep", "age", "--force").code == 0
    (folder / "scores" / "notes.txt").write_text("mine")
    assert "has other files than Parquet files" in run(*again, "--force").errors[-1]
    (folder / "scores" / "notes.txt").unlink()
    run("predict", two, folder / "whole.parquet", "--keep", "age", "--output", folder / "scores.csv")
    lines = [line.split(",") for line in (folder / "scores.csv").read_text().splitlines()]
    written = parquet.read_table(folder / "scores")
    assert written.column_names == lines[0] == ["age", "score", "label"]
    np.testing.assert_allclose(written["score"].to_numpy(), [float(line[1]) for line in lines[1:]], rtol=1e-9, atol=1e-12)
    assert written["label"].to_pylist() == [line[2] for line in lines[1:]]
    assert run(*again, "--force").code == 0
    numbered = parquet.read_table(folder / "scores").sort_by("row")
    assert numbered.column_names == ["row", "score", "label"]
    assert numbered["row"].to_pylist() == list(range(300))
    assert numbered["score"].to_pylist() == written["score"].to_pylist()


@pytest.mark.parametrize(
    "how",
    [
        ["--holdout", "0.25"],
        ["--holdout", "0.2", "--groups", "household"],
        ["--time-column", "opened", "--after", "2025-03-31"],
        ["--holdout", "0.2", "--time-column", "opened", "--after", "2025-03-31"],
    ],
    ids=["share", "groups", "time", "both"],
)
def test_rows_are_set_aside_where_they_are_as_here(run, folder, address, how):
    days = np.datetime64("2025-01-01") + np.arange(300) % 120
    household = [f"h{row // 3}" for row in range(300)]
    table = pa.table(credit_columns(300) | {"opened": days, "household": household})
    (folder / "dated").mkdir()
    for number, (first, end) in enumerate([(0, 50), (50, 51), (51, 300)]):
        parquet.write_table(table.slice(first, end - first), folder / "dated" / f"{number}.parquet")
    given = ["--target", "risk", "--k", "3", "--C", "1", "--loss", "logistic", *how]
    given += [] if "household" in how else ["--ignore", "household"]
    given += [] if "opened" in how else ["--ignore", "opened"]
    one, two = folder / "one.json", folder / "two.json"
    there = run("fit", folder / "dated", *given, "--engine", "dask", "--scheduler", address, "--output", one)
    here = run("fit", folder / "dated", *given, "--output", two)
    assert (there.code, here.code) == (0, 0), there.errors
    np.testing.assert_allclose(_surface(one), _surface(two), rtol=1e-9)
    mine, theirs = (json.loads(path.read_text())["metadata"]["training"]["samples"] for path in (one, two))
    assert [(own["name"], own["rows"]) for own in mine["sources"]] == [(own["name"], own["rows"]) for own in theirs["sources"]]
    assert len(mine["sources"]) == 1 + ("--holdout" in how) + ("--after" in how)
    for name in ("values", "low", "high"):
        np.testing.assert_allclose(
            np.array(mine[name], dtype=float), np.array(theirs[name], dtype=float), rtol=1e-6, atol=1e-9, equal_nan=True
        )


def test_the_same_look_at_a_table_and_at_new_rows(run, folder, address):
    dask = ["--engine", "dask", "--scheduler", address]
    columns = credit_columns(300)
    price = [f"{1000 + 37 * row:,}" for row in range(300)]
    table = pa.table(columns | {"id": [f"c{row}" for row in range(300)], "price": price})
    (folder / "raw").mkdir()
    for number in range(3):
        parquet.write_table(table.slice(100 * number, 100), folder / "raw" / f"{number}.parquet")
    given = [each for each in GIVEN if each not in ("--ignore", "label")]
    one, two = folder / "one.json", folder / "two.json"
    here = run("fit", folder / "raw", *given, "--output", two)
    there = run("fit", folder / "raw", *given, *dask, "--output", one)
    for result in (here, there):
        assert result.code == 0
        assert any("left out: column 'id'" in line for line in result.errors)
        assert any("'price' is read as numbers written like '1,234.5'" in line for line in result.errors)
    np.testing.assert_allclose(_surface(one), _surface(two), rtol=1e-9)
    new = table.slice(0, 50).to_pydict()
    new["age"][:3] = [None] * 3
    parquet.write_table(pa.table(new), folder / "new.parquet")
    expected = json.loads(run("predict", two, folder / "new.parquet", "--json").out)
    into = ["--output", folder / "scores"]
    told = run("predict", one, folder / "new.parquet", *dask, *into, "--json")
    assert "3 rows with missing values in age" in expected["remarks"][0]
    assert json.loads(told.out)["remarks"] == expected["remarks"]
    assert json.loads(told.out)["labels"] == expected["labels"]
    refused = run("predict", one, folder / "new.parquet", *dask, *into, "--strict", "--force")
    assert (refused.code, refused.errors[-1]) == (2, "quadric: --strict: 3 rows with missing values in age")


def _surface(path):
    (surface,) = json.loads(path.read_text())["surfaces"]
    return [surface["c"], *(coefficient for *_, coefficient in surface["terms"])]


@pytest.mark.slow
def test_what_goes_wrong_is_one_line(run, refused, folder, made, monkeypatch):
    monkeypatch.setattr("quadric.distributed.sessions.CONNECTING", 2)
    output = ["--output", folder / "m.json"]
    nobody = ["--engine", "dask", "--scheduler", "tcp://127.0.0.1:9"]
    result = run("fit", folder / "parts", *GIVEN, *nobody, *output)  # waits, and says so
    assert (result.code, result.errors[-1]) == (1, "quadric: there is no scheduler of Dask at tcp://127.0.0.1:9")
    assert not (folder / "m.json").exists()
    assert "--scheduler needs --engine dask" in refused("fit", folder / "parts", *GIVEN, *nobody[2:], *output, code=2)
    assert "--master needs --engine spark" in refused("fit", folder / "parts", *GIVEN, "--master", "local", *output, code=2)
    assert "data.csv is not a Parquet file, so convert it first" in refused(
        "fit", made.data_csv, *GIVEN, *nobody, *output, code=2
    )
    assert "give its name as --output" in refused("predict", made.model, folder / "parts", *nobody, code=2)


def test_scores_are_not_half_written(run, folder, made, address):
    dask = ["--engine", "dask", "--scheduler", address]
    bad = credit_columns(100) | {"label": np.zeros(100), "age": np.array(["old"] * 100, object)}
    parquet.write_table(pa.table(bad), folder / "parts" / "3.parquet")
    result = run("predict", made.model, folder / "parts", *dask, "--output", folder / "scores")
    assert (result.code, result.out) == (1, "")
    assert "old" in result.errors[-1]
    assert not [path for path in folder.iterdir() if "scores" in path.name]


def test_java_is_asked_for(refused, folder, monkeypatch):
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    line = refused("fit", folder / "parts", *GIVEN, "--engine", "spark", "--output", folder / "m.json", code=1)
    assert "Spark needs Java, which is not installed" in line
