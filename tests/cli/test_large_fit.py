"""``quadric fit`` on tables that are read in passes: the same model as in memory."""

import json
import math

import numpy as np
import pytest

from helpers.large_tables import table_files
from helpers.small_tables import credit_columns
from quadric.tables.table import text_column

GIVEN = ["--target", "risk", "--no-cv", "--k", "4", "--C", "1", "--loss", "least_squares", "--no-calibrate"]
N_ROWS = 400


def dated(columns, missing=0):
    days = np.datetime64("2019-03-05") + np.random.default_rng(5).integers(0, 900, N_ROWS)
    texts = days.astype(str).tolist()
    texts[:missing] = [None] * missing
    return {**columns, "since": text_column(texts)}


def whole_numbers_first(columns):
    """A column of codes, most of which look like numbers, some of them only in the last rows."""
    codes = [str(number) for number in np.random.default_rng(6).integers(1, 4, N_ROWS)]
    codes[-5:] = ["x"] * 5
    return {**columns, "code": text_column(codes)}


def late(columns):
    """A column whose values come only after many rows without."""
    values = np.random.default_rng(7).normal(size=N_ROWS)
    values[:150] = np.nan
    return {**columns, "late": values}


PLAIN = credit_columns(N_ROWS)
GAPS = credit_columns(N_ROWS, gaps=30)
CASES = {
    "plain": (PLAIN, []),
    "positive": (PLAIN, ["--positive", "good"]),
    "not capped": (PLAIN, ["--no-clip"]),
    "not standardised": (PLAIN, ["--no-standardize"]),
    "scales": ({**PLAIN, "income": 1e5 * PLAIN["income"]}, ["--no-standardize"]),
    "wide caps": (PLAIN, ["--clip", "0.1"]),
    "ordinal": (PLAIN, ["--coding", "ordinal"]),
    "ignored": (PLAIN, ["--ignore", "phone"]),
    "excluded": (PLAIN, ["--exclude", "home", "--include", "age*income"]),
    "balanced": (PLAIN, ["--class-weight", "balanced"]),
    "class weights": (PLAIN, ["--class-weight", "bad=3"]),
    "imputed": (GAPS, ["--missing", "impute"]),
    "flagged": (GAPS, ["--missing", "indicator"]),
    "dropped": (GAPS, ["--missing", "drop"]),
    "dates": (dated(PLAIN), ["--dates", "since"]),
    "dates with gaps": (dated(PLAIN, missing=7), ["--dates", "since", "--missing", "indicator"]),
    "three classes": (credit_columns(N_ROWS, classes=("a", "b", "c")), []),
    "three weighted": (credit_columns(N_ROWS, classes=("a", "b", "c")), ["--class-weight", "balanced"]),
    "numeric classes": ({**PLAIN, "risk": (PLAIN["risk"] == "bad").astype(int) + 9}, []),
    "codes": (whole_numbers_first(PLAIN), ["--texts", "code"]),
    "mixed": (whole_numbers_first(PLAIN), []),
    "late": (late(PLAIN), ["--missing", "impute"]),
    "late flags": (late(PLAIN), ["--missing", "indicator"]),
    "two values with gaps": (
        {**PLAIN, "phone": np.where(np.arange(N_ROWS) % 9 == 4, np.nan, PLAIN["phone"])},
        ["--missing", "impute"],
    ),
    "numbers for missing": (PLAIN, ["--na", "58.0", "--missing", "impute"]),
    "no values": ({**PLAIN, "empty": np.full(N_ROWS, np.nan)}, ["--missing", "drop"]),
    "dates that nobody named": (dated(PLAIN), []),
    "identifier": ({**PLAIN, "name": text_column([f"n{i}" for i in range(N_ROWS)])}, []),
}


def differences(one, two, where=""):
    """What differs between two values from JSON files, but for the last digits of numbers."""
    if isinstance(one, dict) and isinstance(two, dict) and one.keys() == two.keys():
        return [each for key in one for each in differences(one[key], two[key], f"{where}.{key}")]
    if isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        return [each for i in range(len(one)) for each in differences(one[i], two[i], f"{where}[{i}]")]
    if isinstance(one, float) and isinstance(two, float | int):
        return [] if math.isclose(one, two, rel_tol=1e-10, abs_tol=1e-10) else [(where, one, two)]
    return [] if one == two else [(where, one, two)]


def remarks(result):
    """What a command remarked on, without its progress."""
    return [line for line in result.errors if not line.startswith("fit:")]


FORMS = ("csv", "parquet", "folder")


@pytest.mark.parametrize(
    ("case", "form"), [(case, form) for i, case in enumerate(CASES) for form in FORMS[: 3 if i == 0 else 1]]
)
def test_the_model_is_that_of_a_fit_in_memory(case, form, run, streamed, tmp_path):
    columns, options = CASES[case]
    data = table_files(tmp_path, columns)[form]
    command = ["fit", data, *GIVEN, *options, "--output"]
    whole = run(*command, tmp_path / "whole.json", "--verbose")
    streamed()
    found = run(*command, tmp_path / "streamed.json", "--verbose")
    assert (whole.code, found.code) == (0, 0), whole.errors + found.errors
    assert found.out == whole.out.replace("whole.json", "streamed.json")
    assert remarks(found) == remarks(whole)
    models = [json.loads((tmp_path / f"{name}.json").read_text()) for name in ("whole", "streamed")]
    for model in models:
        del model["digest"]
    assert [model["metadata"]["training"].pop("read_in_passes") for model in models] == [False, True]
    assert differences(*models) == [], differences(*models)


REFUSED = {
    "missing values": (GAPS, ["--missing", "refuse"]),
    "no complete row": (
        {**PLAIN, **{name: np.where(np.arange(N_ROWS) % 2 == i, np.nan, 1.0) for i, name in enumerate(("age", "phone"))}},
        ["--missing", "drop"],
    ),
    "no row of a class": ({**PLAIN, "age": np.where(PLAIN["risk"] == "bad", np.nan, PLAIN["age"])}, ["--missing", "drop"]),
    "one class": ({**PLAIN, "risk": text_column(["good"] * N_ROWS)}, []),
    "continuous": (PLAIN, ["--target", "income"]),
    "infinite": ({**PLAIN, "age": np.where(np.arange(N_ROWS) == 300, np.inf, PLAIN["age"])}, []),
    "many levels": ({**PLAIN, "name": text_column([f"n{i % 150}" for i in range(N_ROWS)])}, ["--rare", "keep"]),
    "only identifiers": ({"id": np.arange(N_ROWS) * 1.0, "risk": PLAIN["risk"]}, []),
    "no date": ({**PLAIN, "since": text_column([*["2020-01-01"] * (N_ROWS - 1), "tomorrow"])}, ["--dates", "since"]),
    "no target": (PLAIN, ["--target", "riks"]),
    "ignored column": (PLAIN, ["--ignore", "shoe"]),
    "unknown class": (PLAIN, ["--class-weight", "ugly=2"]),
    "unknown positive": (PLAIN, ["--positive", "ugly"]),
    "unknown term": (PLAIN, ["--include", "shoe"]),
    "cut-off": (credit_columns(N_ROWS, classes=("a", "b", "c")), ["--calibrate", "sigmoid", "--cutoff", "balanced"]),
    "constant": ({**PLAIN, "age": np.ones(N_ROWS), "income": np.ones(N_ROWS), "phone": np.ones(N_ROWS)}, ["--ignore", "home"]),
    "too large": ({**PLAIN, "age": PLAIN["age"] * 1e200}, []),
    "folds": ({**PLAIN, "risk": text_column(["bad"] * 3 + ["good"] * (N_ROWS - 3))}, ["--cv"]),
    "groups": ({**PLAIN, "who": np.arange(N_ROWS) % 3}, ["--cv", "--groups", "who"]),
    "missing group": ({**PLAIN, "who": np.where(np.arange(N_ROWS) == 99, np.nan, 1.0)}, ["--cv", "--groups", "who"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_is_refused_in_the_same_words(case, run, streamed, tmp_path):
    columns, options = REFUSED[case]
    data = table_files(tmp_path, columns)["csv"]
    command = ["fit", data, *GIVEN, *options, "--output", tmp_path / "model.json"]
    whole = run(*command)
    streamed()
    found = run(*command)
    assert found.errors == whole.errors
    assert {found.code, whole.code} <= {1, 2}
    assert not (tmp_path / "model.json").exists()


def heads(text):
    """What each paragraph of an answer is about."""
    return [line.partition(":")[0] for line in text.splitlines() if ": " in line and not line.startswith(" ")]


@pytest.mark.parametrize(
    "options",
    [["--missing", "indicator"], ["--missing", "drop", "--cutoff", "balanced"], ["--missing", "impute", "--groups", "who"]],
    ids=["flags", "cut-off", "groups"],
)
def test_a_choice_by_cross_validation_is_calibrated_and_told_in_the_same_lines(options, run, streamed, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    columns = {**credit_columns(N_ROWS, gaps=20), "who": np.arange(N_ROWS) // 2}
    ignored = [] if "--groups" in options else ["--ignore", "who"]
    choice = ["--target", "risk", "--loss", "least_squares", "--ks", "1:3", "--folds", "3", *options, *ignored]
    command = ["fit", table_files(tmp_path, columns)["folder"], *choice, "--output"]
    whole = run(*command, tmp_path / "whole.json", "--verbose")
    streamed()
    found = run(*command, tmp_path / "streamed.json", "--verbose")
    assert (whole.code, found.code) == (0, 0), whole.errors + found.errors
    assert [head for head in heads(found.out) if head != "read in passes"] == heads(whole.out)
    by = "group" if "--groups" in options else "number of the row"
    words = f"the same in all folds; folds go by the {by}; accuracy and AUC out of fold are of"
    assert words in " ".join(found.out.split())
    assert "out of fold (3 folds" in found.out
    lines = [line for line in found.out.splitlines() if "streamed.json" not in line]
    assert [line for line in lines if len(line) > 80] == []
    models = [json.loads((tmp_path / f"{name}.json").read_text()) for name in ("whole", "streamed")]
    assert models[0].keys() == models[1].keys()
    calibrations = [model["calibration"] for model in models]
    assert calibrations[0].keys() == calibrations[1].keys()
    rates = [model["metadata"]["training"]["cross_validation"]["accuracy"] for model in models]
    assert rates[0] == pytest.approx(rates[1], abs=0.05)


@pytest.mark.parametrize(("scoring", "is_counted"), [("accuracy", True), ("balanced_accuracy", True), ("roc_auc", False)])
def test_the_choice_goes_by_all_rows_where_labels_are_scored(scoring, is_counted, run, streamed, tmp_path, monkeypatch):
    monkeypatch.setattr("quadric.samples.random_rows.SAMPLE_ROWS", 200)
    streamed()
    folder = table_files(tmp_path, credit_columns(N_ROWS))["folder"]
    choice = ["--ks", "1:3", "--Cs", "1,16", "--scoring", scoring, "--output", tmp_path / "model.json"]
    found = run("fit", folder, "--target", "risk", "--loss", "least_squares", *choice)
    assert found.code == 0, found.errors
    words = " ".join(found.out.split())
    assert "accuracy and AUC out of fold are of 200 random rows" in words
    assert ("the choice goes by scores of all rows" in words) is is_counted


def test_a_large_table_with_many_features_is_fitted_in_memory(run, streamed, tmp_path):
    streamed()
    rng = np.random.default_rng(0)
    columns = {f"x{j}": rng.normal(size=300) for j in range(45)}
    columns["y"] = np.where(columns["x3"] * columns["x40"] > 0, "yes", "no")
    found = run(
        "fit",
        "--verbose",
        table_files(tmp_path, columns)["folder"],
        "--target",
        "y",
        "--k",
        "1",
        "--output",
        tmp_path / "model.json",
    )
    assert found.code == 0, found.errors
    assert "read in passes" not in found.out
    assert "terms: 1 of 1080 (45 columns" in found.out
