"""``quadric monitor``: exit codes, limits, pages; and model files that keep nothing to compare with."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from helpers.small_tables import credit_columns
from quadric import save_model
from quadric.export import read_model


@pytest.fixture
def drifted(csv_file):
    columns = credit_columns(seed=1)
    columns["income"] = columns["income"] + 15.0
    columns["home"] = np.where(np.arange(120) % 4 == 0, "<b>boat</b>", columns["home"].astype(object))
    columns["risk"] = np.where(np.arange(120) % 3 == 0, None, columns["risk"].astype(object))
    return csv_file(columns, "drifted.csv")


def test_training_rows_pass_no_limit(run, made):
    result = run("monitor", made.calibrated, made.data_csv)
    assert result.code == 0
    assert "limits passed: none" in result.out
    assert result.errors == ["quadric: the model was fitted to 120 of these rows: the figures say little about new ones"]
    assert max(map(len, result.out.splitlines())) <= 80


def test_a_passed_limit_is_exit_code_3(run, made, drifted, tmp_path):
    page = tmp_path / "page.html"
    result = run("monitor", made.calibrated, drifted, "--output", page)
    assert result.code == 3
    assert "stability index of income" in result.out
    assert "80 rows with one, 40 without" in result.out
    assert "home: rows with rare or new levels 25.0% more (limit 5.0%)" in " ".join(result.out.split())
    assert max(len(line) for line in result.out.splitlines() if "written to" not in line) <= 80
    text = page.read_text()
    assert "Limits passed" in text
    assert "<b>boat" not in text
    assert not re.search(r"https?://|<script", text)
    high = tmp_path / "limits.toml"
    high.write_text("score_psi = inf\ncolumn_psi = inf\nterm_psi = inf\nnew_levels = 1\nauc_drop = 1\ncalibration = inf\n")
    assert run("monitor", made.calibrated, drifted, "--limits", high).code == 0
    assert run("monitor", made.calibrated, drifted, "--output", page).code == 2  # without --force


def test_json_is_for_programs(run, made, drifted):
    found = json.loads(run("monitor", made.calibrated, drifted, "--json").out)
    assert found["n_rows"] == 120
    assert found["outcome"]["n_unknown"] == 40
    assert {"column_psi"} <= {alarm["kind"] for alarm in found["alarms"]}
    assert all(alarm["value"] > alarm["limit"] for alarm in found["alarms"])


def test_files_without_distributions_say_so_and_take_another_table(run, made, drifted, tmp_path):
    saved = read_model(made.calibrated)
    history = {name: value for name, value in saved.metadata["training"].items() if name != "reference"}
    save_model(replace(saved, metadata={"training": history}), tmp_path / "old.json")
    result = run("monitor", tmp_path / "old.json", drifted)
    assert "not compared: no stability index: the model file has no distributions" in result.out
    assert "AUC" in result.out
    assert "not compared: no stability" not in run("monitor", tmp_path / "old.json", drifted, "--reference", made.data_csv).out


@pytest.mark.parametrize(
    ("text", "words"), [("psi = 1", "has no limit 'psi'"), ("score_psi = [", "is not a TOML file"), (None, "there is no file")]
)
def test_limits_that_cannot_be_used(refused, made, drifted, tmp_path, text, words):
    path = tmp_path / "limits.toml"
    if text is not None:
        path.write_text(text)
    assert words in refused("monitor", made.calibrated, drifted, "--limits", path, code=2)


def test_tables_that_do_not_suit_the_model(refused, made, csv_file):
    columns = credit_columns()
    assert "no columns 'income'" in refused("monitor", made.calibrated, csv_file({"age": columns["age"]}), code=1)
    columns["risk"] = np.full(120, "ugly", dtype=object)
    assert "'ugly'" in refused("monitor", made.calibrated, csv_file(columns), code=1)
    assert "no rows" in refused("monitor", made.calibrated, csv_file("age,income,home,phone\n"), code=1)
