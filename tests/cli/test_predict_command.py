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
    assert list(found) == ["score", "label"]
    expected = read_model(made.model).model.decision_function(table)
    np.testing.assert_array_equal(np.array(found["score"], dtype=float), expected)
    assert found["label"] == np.where(expected > 0, "bad", "good").tolist()


def test_calibrated_models_give_probabilities_of_the_positive_class(made, run, tmp_path):
    assert run("predict", made.calibrated, made.data_csv, "--output", tmp_path / "s.csv").code == 0
    found = scored(tmp_path / "s.csv")
    assert list(found) == ["score", "label", "probability"]
    expected = read_model(made.calibrated).model.predict_proba(read_table(made.data_csv))[:, 1]
    np.testing.assert_array_equal(np.array(found["probability"], dtype=float), expected)
    assert found["label"] == np.where(expected > 0.5, "bad", "good").tolist()


def test_three_classes_have_the_score_of_the_label_and_of_each_class(made, run, tmp_path):
    assert run("predict", made.three, made.three_csv, "--output", tmp_path / "s.csv").code == 0
    found = scored(tmp_path / "s.csv")
    assert list(found) == ["score", "label", "score_a", "score_b", "score_c"]
    expected = read_model(made.three).model.decision_function(read_table(made.three_csv))
    np.testing.assert_array_equal(np.array(found["score"], dtype=float), expected.max(axis=1))
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
    assert kept[1] == f"2020-01-01,{expected.splitlines()[1]}"


def test_without_an_output_scores_go_to_standard_output(made, run, tmp_path):
    result = run("predict", made.model, made.data_csv)
    assert result.out.splitlines()[0] == "score,label"
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
