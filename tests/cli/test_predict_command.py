"""``quadric predict``."""

import csv
import json

import numpy as np
import pytest

from helpers.small_tables import credit_columns, csv_text
from quadric.cli import predict as predicting
from quadric.export import read_model
from quadric.tables import read_table
from quadric.tables.table import text_column


def scored(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}


@pytest.mark.parametrize("chunk", [7, 50_000])
def test_scores_have_the_bits_of_the_library(chunk, made, run, tmp_path, monkeypatch):
    monkeypatch.setattr(predicting, "CHUNK_ROWS", chunk)
    assert run("predict", made.model, made.data_csv, "--output", tmp_path / "s.csv").code == 0
    found, table = scored(tmp_path / "s.csv"), read_table(made.data_csv)
    assert list(found) == ["row", "score", "label"]
    assert found["row"] == [str(row) for row in range(120)]
    expected = read_model(made.model).model.decision_function(table)
    np.testing.assert_array_equal(np.array(found["score"], dtype=float), expected)
    assert found["label"] == np.where(expected > 0, "bad", "good").tolist()


def test_calibrated_models_give_probabilities_of_the_positive_class(made, run, tmp_path):
    assert run("predict", made.calibrated, made.data_csv, "--output", tmp_path / "s.csv").code == 0
    found = scored(tmp_path / "s.csv")
    assert list(found) == ["row", "score", "probability", "label"]
    expected = read_model(made.calibrated).model.predict_proba(read_table(made.data_csv))[:, 1]
    np.testing.assert_array_equal(np.array(found["probability"], dtype=float), expected)
    assert found["label"] == np.where(expected > 0.5, "bad", "good").tolist()


def test_three_classes_have_a_score_each(made, run, tmp_path):
    assert run("predict", made.three, made.three_csv, "--output", tmp_path / "s.csv").code == 0
    found = scored(tmp_path / "s.csv")
    assert list(found) == ["row", "score_a", "score_b", "score_c", "label"]
    expected = read_model(made.three).model.decision_function(read_table(made.three_csv))
    np.testing.assert_array_equal(np.array([found[f"score_{name}"] for name in "abc"], dtype=float).T, expected)
    assert found["label"] == np.array(["a", "b", "c"])[expected.argmax(axis=1)].tolist()


def test_columns_are_kept_ignored_and_found_in_any_order(made, run, csv_file, tmp_path):
    columns = credit_columns()
    given = {"id": [f"{i:05d}" for i in range(120)], **dict(reversed(columns.items())), "shoe": np.ones(120)}
    result = run("predict", made.model, csv_file(given), "--keep", "id", "--keep", "age", "--output", tmp_path / "s.csv")
    found = scored(tmp_path / "s.csv")
    assert list(found) == ["id", "age", "score", "label"]
    assert found["id"][:2] == ["00000", "00001"]
    assert found["age"] == [str(int(age)) for age in columns["age"]]
    np.testing.assert_array_equal(
        np.array(found["score"], dtype=float), read_model(made.model).model.decision_function(read_table(made.data_csv))
    )
    assert result.errors == ["columns not used by the model: shoe"]


def test_extra_columns_can_hold_anything(made, run, csv_file, tmp_path, monkeypatch):
    monkeypatch.setattr(predicting, "CHUNK_ROWS", 50)
    expected = run("predict", made.model, made.data_csv).out
    given = csv_file({**credit_columns(), "rate": np.r_[np.ones(60), np.inf, np.ones(59)]})
    result = run("predict", made.model, given)
    assert (result.code, result.out) == (0, expected)
    assert result.errors == ["columns not used by the model: rate"]
    assert run("predict", made.model, given, "--keep", "rate").out.splitlines()[61].startswith("inf,")
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    pd.read_csv(made.data_csv).assign(when=pd.Timestamp("2020-01-01")).to_parquet(tmp_path / "data.parquet")
    result = run("predict", made.model, tmp_path / "data.parquet")
    assert (result.code, result.out) == (0, expected)
    kept = run("predict", made.model, tmp_path / "data.parquet", "--keep", "when").out.splitlines()
    assert kept[1] == f"2020-01-01,{expected.splitlines()[1].removeprefix('0,')}"


def test_without_an_output_scores_go_to_standard_output(made, run, tmp_path):
    result = run("predict", made.model, made.data_csv)
    assert result.out.splitlines()[0] == "row,score,label"
    run("predict", made.model, made.data_csv, "--output", tmp_path / "s.csv")
    assert (tmp_path / "s.csv").read_text() == result.out


def test_json_sums_up_or_holds_the_rows(made, run, tmp_path):
    summary = json.loads(run("predict", made.model, made.data_csv, "--json", "--output", tmp_path / "s.csv").out)
    labels = scored(tmp_path / "s.csv")["label"]
    assert summary["rows"] == 120
    assert summary["labels"] == {name: labels.count(name) for name in ("bad", "good")}
    assert summary["ignored_columns"] == []
    rows = json.loads(run("predict", made.model, made.data_csv, "--json").out)["predictions"]
    assert [row["label"] for row in rows] == labels


def test_a_failure_in_a_later_piece_leaves_nothing(made, refused, csv_file, tmp_path, monkeypatch):
    monkeypatch.setattr(predicting, "CHUNK_ROWS", 10)
    columns = credit_columns()
    columns["income"] = columns["income"].astype(object)
    columns["income"][57] = "many"
    line = refused("predict", made.model, csv_file(columns), "--output", tmp_path / "s.csv", code=1)
    assert "'income'" in line
    assert "row 58" in line
    assert "'many'" in line


def test_after_a_failure_at_once_nothing_is_printed(made, run, csv_file):
    columns = credit_columns()
    columns["income"] = columns["income"].astype(object)
    columns["income"][0] = "many"
    result = run("predict", made.model, csv_file(columns))
    assert (result.code, result.out) == (1, "")


def test_values_that_training_did_not_have_are_scored_and_reported(made, run, csv_file, tmp_path):
    columns, usual = credit_columns(), credit_columns()
    columns["home"][:2] = "castle"
    columns["home"][2] = columns["home"][3] = None
    columns["age"][:3] = np.nan
    usual["home"][:4] = "own"
    usual["age"][:3] = credit_columns()["age"].mean()
    result = run("predict", made.model, csv_file(columns))
    expected = run("predict", made.model, csv_file(usual, "usual.csv"))
    assert (result.code, expected.errors) == (0, [])
    scores = [[float(line.split(",")[0]) for line in each.out.splitlines()[1:]] for each in (result, expected)]
    np.testing.assert_allclose(*scores, atol=1e-9)
    told = [error for error in result.errors if error.startswith("quadric: ")]
    assert told == [
        f"quadric: 3 rows with missing values in age: scored with {credit_columns()['age'].mean():.4g}",
        "quadric: 2 rows with missing values in home: scored as own",
        "quadric: 2 rows with rare or new levels in home ('castle'): scored as own",
    ]
    facts = json.loads(run("predict", made.model, csv_file(columns), "--json").out)
    assert facts["remarks"] == [line.removeprefix("quadric: ") for line in told]


def test_strict_refuses_values_that_training_did_not_have(made, refused, run, csv_file):
    columns = credit_columns()
    columns["age"][5] = np.nan
    line = refused("predict", made.model, csv_file(columns), "--strict", code=2)
    assert line == "quadric: --strict: 1 row with missing values in age"
    columns = credit_columns()
    columns["home"][5] = "castle"
    assert "rare or new levels in home ('castle')" in refused("predict", made.model, csv_file(columns), "--strict", code=2)
    assert run("predict", made.model, csv_file(credit_columns()), "--strict").code == 0


def test_a_level_that_is_called_other_is_no_surprise(run, csv_file, tmp_path):
    columns, model = credit_columns(), tmp_path / "m.json"
    columns["home"] = np.where(columns["home"] == "free", "Other", columns["home"])
    data = csv_file(columns)
    assert (
        run("fit", data, "--target", "risk", "--k", 4, "--loss", "least_squares", "--include", "home", "--output", model).code
        == 0
    )
    assert run("predict", model, data, "--strict").errors == []


def test_gaps_that_training_had_are_no_surprise(run, csv_file, tmp_path):
    data, model = csv_file(credit_columns(gaps=14)), tmp_path / "m.json"
    assert run("fit", data, "--target", "risk", "--k", 3, "--loss", "least_squares", "--output", model).code == 0
    assert run("predict", model, data, "--strict").errors == []


def test_an_old_output_survives_a_failure(made, refused, csv_file, tmp_path):
    (tmp_path / "s.csv").write_text("old")
    columns = credit_columns()
    columns["income"] = np.array(["many"] * 120, dtype=object)
    line = refused("predict", made.model, csv_file(columns), "--output", tmp_path / "s.csv", "--force", code=1)
    assert "'income' must hold numbers" in line
    assert (tmp_path / "s.csv").read_text() == "old"


def test_unseen_levels_can_count_as_the_dropped_one(made, run, csv_file, tmp_path):
    data, model = made.data_csv, tmp_path / "m.json"
    fit = ["--target", "risk", "--k", 3, "--loss", "least_squares", "--unseen", "other"]
    assert run("fit", data, *fit, "--output", model).code == 0
    columns = credit_columns()
    columns["home"][:] = "own"
    own = run("predict", model, csv_file(columns)).out
    columns["home"][:] = "castle"
    assert run("predict", model, csv_file(columns)).out == own


def test_names_that_look_like_numbers_stay_texts(run, csv_file, tmp_path):
    columns = credit_columns()
    columns["home"] = np.array([{"own": "01", "rent": "2", "free": "x"}[home] for home in columns["home"]], dtype=object)
    data = csv_file(columns)
    model = tmp_path / "m.json"
    assert run("fit", data, "--target", "risk", "--k", 3, "--loss", "least_squares", "--output", model).code == 0
    some = {name: column[columns["home"] != "x"] for name, column in columns.items()}
    result = run("predict", model, csv_file(some, "some.csv"))
    assert result.code == 0
    assert len(result.out.splitlines()) == 1 + len(some["age"])
    assert csv_text(some).count("01") > 0


def test_only_the_columns_of_the_equation_are_needed(made, run, csv_file, tmp_path):
    fit = ["fit", made.data_csv, "--target", "risk", "--k", "1", "--include", "income", "--loss", "least_squares"]
    model = tmp_path / "one.json"
    assert run(*fit, "--output", model).code == 0
    expected = run("predict", model, made.data_csv)
    assert expected.errors == ["columns not used by the model: age, home, phone"]
    columns = credit_columns()
    few = csv_file({"income": columns["income"]}, "few.csv")
    bad = csv_file({**columns, "age": text_column(["?!"] * 120)}, "bad.csv")
    assert [run("predict", model, path).out for path in (few, bad)] == [expected.out] * 2
    assert run("explain", model, few, "--rows", "0:5").code == 0
    assert "which the model needs" in run("predict", model, csv_file({"age": columns["age"]}, "none.csv")).errors[-1]


def three_calibrated(run, made, tmp_path):
    model = tmp_path / "three.json"
    fit = ["fit", made.three_csv, "--target", "risk", "--k", 3, "--C", 1, "--loss", "least_squares"]
    assert run(*fit, "--output", model).code == 0
    return model


@pytest.mark.parametrize("ending", ["parquet", "feather", "arrow", "PARQUET"])
def test_the_ending_of_the_output_names_its_format(ending, made, run, tmp_path, monkeypatch):
    feather, parquet = pytest.importorskip("pyarrow.feather"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(predicting, "CHUNK_ROWS", 50)
    model, out = three_calibrated(run, made, tmp_path), tmp_path / f"scores.{ending}"
    assert run("predict", model, made.three_csv, "--output", out).code == 0
    found = (parquet if ending.lower() == "parquet" else feather).read_table(out)
    names = [f"{kind}_{name}" for kind in ("score", "probability") for name in "abc"]
    assert found.column_names == ["row", *names, "label"]
    assert [str(field.type) for field in found.schema] == ["int64", *["double"] * 6, "string"]
    assert run("predict", model, made.three_csv, "--output", tmp_path / "scores.csv").code == 0
    text = scored(tmp_path / "scores.csv")
    assert {name: [str(value) for value in found[name].to_pylist()] for name in found.column_names} == text
    assert "exists; give --force" in run("predict", model, made.three_csv, "--output", out).errors[0]
    assert read_table(out)["score_a"].tolist() == [float(value) for value in text["score_a"]]


def test_kept_columns_keep_their_types_from_arrow_to_arrow(made, run, csv_file, tmp_path, monkeypatch):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(predicting, "CHUNK_ROWS", 50)
    ids = pa.array(range(2**53, 2**53 + 120))
    names = pa.array([f"n{i % 3}" for i in range(120)]).dictionary_encode()
    parquet.write_table(pa.table({**credit_columns(), "id": ids, "name": names}), tmp_path / "data.parquet")
    keep = ["--keep", "id", "--keep", "name", "--keep", "age"]
    assert run("predict", made.model, tmp_path / "data.parquet", *keep, "--output", tmp_path / "s.parquet").code == 0
    found = parquet.read_table(tmp_path / "s.parquet")
    assert [str(field.type) for field in found.schema] == ["int64", "string", "double", "double", "string"]
    assert found["id"].to_pylist() == ids.to_pylist()
    mixed = csv_file({**credit_columns(), "id": [*range(60), *["x"] * 60]})  # numbers in the first piece only
    assert run("predict", made.model, mixed, "--keep", "id", "--output", tmp_path / "t.parquet").code == 0
    assert parquet.read_table(tmp_path / "t.parquet")["id"].to_pylist() == [*map(str, range(60)), *["x"] * 60]


@pytest.mark.parametrize("name", ["scores.xlsx", "scores.parquet.gz"])
def test_other_endings_are_refused_with_those_that_are_known(name, made, refused, tmp_path):
    line = refused("predict", made.model, made.data_csv, "--output", tmp_path / name, code=2)
    assert f"'{name}' names no format of tables: use .csv (CSV), .parquet (Parquet), .feather or .arrow (Feather)" in line


def test_a_cluster_writes_folders_of_parquet_files_only(made, refused, tmp_path):
    command = ["predict", made.model, made.data_csv, "--engine", "dask", "--output", tmp_path / "scores.csv"]
    assert "--engine writes a folder of Parquet files: give a name without the ending .csv" in refused(*command, code=2)


def test_a_failure_in_a_later_piece_leaves_no_parquet_file(made, refused, csv_file, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(predicting, "CHUNK_ROWS", 10)
    columns = credit_columns()
    columns["income"] = columns["income"].astype(object)
    columns["income"][57] = "many"
    assert "row 58" in refused("predict", made.model, csv_file(columns), "--output", tmp_path / "s.parquet", code=1)
