"""Commands on a model file: explain, export, certify, report; and the whole way from a table to all of them."""

import json
import math
import re
import runpy
import sqlite3
from functools import partial

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from helpers.small_tables import credit_columns
from quadric import certify
from quadric.explain import recourse
from quadric.export import equation, read_model
from quadric.review import explaining
from quadric.tables import read_table
from quadric.workflow import TableModel


def widths(text):
    return max(map(len, text.splitlines()))


def test_rows_are_explained_in_words(made, run):
    result = run("explain", made.model, made.data_csv, "--rows", "0:3")
    assert widths(result.out) <= 80
    assert [line.split(":")[0] for line in result.out.splitlines() if line.startswith("row")] == ["row 0", "row 1", "row 2"]
    reasons = [line for line in result.out.splitlines() if line.startswith("    ")]
    assert all(
        re.search(r": adds [\d.e-]+ to f$", line) for line in reasons
    )  # which counts against good, since f > 0 means bad
    assert reasons
    assert "smallest change to good" in run("explain", made.model, made.data_csv, "--rows", "0:20").out


def test_a_change_that_is_not_proved_smallest_says_so(made, run, monkeypatch):
    monkeypatch.setattr(explaining, "recourse", partial(recourse, max_nodes=1))
    text = " ".join(
        run(
            "explain", made.model, made.data_csv, "--rows", "0:40", "--actionable", "age:down", "--actionable", "income"
        ).out.split()
    )
    assert re.search(r" change to good: \w+ [\d.]+ -> [^;]*; not proved smallest: no change shorter than [\d.]+ will do", text)


def test_explanations_as_json_agree_with_predictions(made, run):
    rows = json.loads(run("explain", made.calibrated, made.data_csv, "--rows", "3,1", "--json").out)["rows"]
    model, table = TableModel(read_model(made.calibrated)), read_table(made.data_csv)
    scores = model.scores(table)
    assert [row["row"] for row in rows] == [3, 1]
    for row in rows:
        assert row["score"] == scores.decision[row["row"]]
        assert row["probability"] == scores.probabilities[row["row"], 1]
        assert row["label"] == model.class_names[scores.codes[row["row"]]]
        assert row["target"] == "good"
        assert row["reasons"] == sorted(row["reasons"], key=lambda reason: -reason["points"])


def test_a_background_of_its_own_moves_the_reference(made, run, csv_file):
    one = {name: column[:1] for name, column in credit_columns().items()}
    case = ["explain", made.model, csv_file(one), "--rows", "0", "--target-class", "good"]
    against_itself = json.loads(run(*case, "--json").out)["rows"][0]
    assert against_itself["reasons"] == []
    against_all = json.loads(run(*case, "--background", made.data_csv, "--json").out)["rows"][0]
    assert against_all["reasons"] != []


def features_changed(result):
    return {change["feature"] for row in json.loads(result.out)["rows"] for change in row["changes"]}


def remarks(result):
    """Lines on standard error but for progress, which slow machines show."""
    return [line for line in result.errors if line.startswith("quadric:")]


def test_changes_lead_to_the_favourable_class_and_leave_frozen_columns_and_age_alone(made, run):
    case = ["explain", made.model, made.data_csv, "--rows", "0:20", "--json"]
    free, frozen, named = (run(*case, *extra) for extra in ((), ("--frozen", "income"), ("--actionable", "age:down")))
    assert remarks(free) == [
        "quadric: changes lead to good (--favourable CLASS for another)",
        "quadric: changes leave age alone",
        "quadric: changes may touch income, phone, in the direction in which each helps on average (--actionable COLUMN:up, here "
        "or in quadric fit, names the only ones that may)",
    ]
    assert remarks(frozen) == remarks(free)[:2]
    assert remarks(named) == remarks(free)[:1]
    assert features_changed(free) == {"income", "phone"}
    assert features_changed(frozen) == {"phone"}
    assert features_changed(named) == {"age"}
    assert {row["label"] for row in json.loads(free.out)["rows"] if row["changes"]} == {"bad"}


def test_a_model_file_keeps_frozen_columns(made, run, tmp_path):
    fit = ["fit", made.data_csv, "--target", "risk", "--favourable", "good", "--k", "4", "--loss", "least_squares"]
    assert run(*fit, "--frozen", "income", "--output", tmp_path / "m.json").code == 0
    result = run("explain", tmp_path / "m.json", made.data_csv, "--rows", "0:20", "--json")
    assert features_changed(result) == {"phone"}
    assert len(remarks(result)) == 2
    refused = run(*fit, "--frozen", "shoe", "--output", tmp_path / "n.json")
    assert refused.code == 2
    assert "no column 'shoe'" in refused.errors[0]


@pytest.mark.parametrize("fmt", ["sql", "python", "latex", "equation", "json", "excel", "onnx"])
def test_every_format_is_written(fmt, made, run, tmp_path):
    pytest.importorskip({"excel": "xlsxwriter", "onnx": "onnx"}.get(fmt, "numpy"))
    result = run("export", made.model, "--format", fmt, "--output", tmp_path / "out")
    assert (result.code, result.errors) == (0, [])
    assert (tmp_path / "out").stat().st_size > 100
    assert run("export", made.model, "--format", fmt, "--output", tmp_path / "out").code == 2
    facts = json.loads(run("export", made.model, "--format", fmt, "--output", tmp_path / "out", "--force", "--json").out)
    assert facts == {"format": fmt, "output": str(tmp_path / "out")}


def test_the_format_is_told_from_the_ending(made, run, tmp_path):
    for name, start in (("m.sql", "-- Scores"), ("m.py", "# Scores"), ("m.tex", "% Scores"), ("m.txt", "f = ")):
        assert run("export", made.model, "--output", tmp_path / name).code == 0
        assert (tmp_path / name).read_text().startswith(start)


def test_texts_go_to_standard_output_without_a_file(made, run, tmp_path):
    sql = run("export", made.model, "--format", "sql", "--table", "applications").out
    assert 'FROM "applications"' in sql
    run("export", made.model, "--format", "sql", "--table", "applications", "--output", tmp_path / "m.sql")
    assert (tmp_path / "m.sql").read_bytes().decode() == sql
    assert json.loads(run("export", made.model, "--format", "python", "--json").out)["content"].startswith("# Scores")


def test_the_equation_is_wrapped_without_loss(made, run):
    for extra in ({}, {"form": "expanded", "precision": 3}):
        options = [text for name, value in extra.items() for text in (f"--{name}", value)]
        out = run("export", made.model, "--format", "equation", *options).out
        assert widths(out) <= 80
        assert "".join(out.split()) == "".join(equation(read_model(made.model), **extra).split())


def test_a_saved_copy_is_the_same_model(made, run, tmp_path):
    assert run("export", made.model, "--format", "json", "--output", tmp_path / "copy.json").code == 0
    np.testing.assert_array_equal(read_model(tmp_path / "copy.json").model[-1].coef_, read_model(made.model).model[-1].coef_)


def test_certificates_are_those_of_the_library(made, run):
    facts = json.loads(run("certify", made.model, made.data_csv, "--json").out)
    model, table = TableModel(read_model(made.model)), read_table(made.data_csv)
    (direct,) = certify(model.saved.model, table, (table["risk"] == "bad").astype(int), time_limit=10.0)
    (found,) = facts["certificates"]
    assert found["objective"] == direct.objective
    assert found["status"] == direct.status == "optimal"
    assert facts["same_file"] is True
    text = " ".join(run("certify", made.calibrated, made.data_csv).out.split())
    assert "surface of bad: 4 terms of 4 allowed" in text
    assert "proved best with at most 4 terms" in text


def test_a_bound_without_a_proof_is_told_as_one(made, run):
    facts = json.loads(run("certify", made.model, made.data_csv, "--time-limit", 0, "--json").out)
    (found,) = facts["certificates"]
    text = " ".join(run("certify", made.model, made.data_csv, "--time-limit", 0).out.split())
    if found["status"] == "gap":
        assert f"the best is at most {math.ceil(1000 * found['gap']) / 10:.1f} % lower" in text
    else:
        assert "proved best" in text


def test_other_data_than_the_fit_had_are_remarked_upon(made, run, csv_file):
    result = run("certify", made.model, csv_file(credit_columns(seed=1)), "--time-limit", 0)
    assert result.code == 0
    assert len(result.errors) == 1
    assert "not the file that the model was fitted to" in result.errors[0]


def test_three_classes_have_a_certificate_each(made, run):
    facts = json.loads(run("certify", made.three, made.three_csv, "--json").out)
    assert [each["class"] for each in facts["certificates"]] == ["a", "b", "c"]


def test_a_report_is_one_page(made, run, tmp_path):
    pytest.importorskip("jinja2")
    options = ["--bootstrap", 2, "--ks", "1:4", "--folds", 2, "--rows", "0", "--frozen", "age"]
    facts = json.loads(run("report", made.model, made.data_csv, *options, "--json", "--output", tmp_path / "r.html").out)
    page = (tmp_path / "r.html").read_bytes()
    assert facts == {"output": str(tmp_path / "r.html"), "rows": 120, "bytes": len(page)}
    assert page.lstrip().lower().startswith(b"<!doctype html>")
    assert run("report", made.model, made.data_csv, *options, "--output", tmp_path / "r.html").code == 2


def test_a_report_and_explain_agree_on_the_class_that_people_want(run, csv_file, tmp_path):
    columns = credit_columns()
    kept = [i for i, risk in enumerate(columns["risk"]) if risk == "good" or i % 3 == 0]
    given, model, page = (
        csv_file({name: np.asarray(column)[kept] for name, column in columns.items()}),
        tmp_path / "m.json",
        tmp_path / "report.html",
    )
    fit = ["--target", "risk", "--k", 3, "--C", 1, "--loss", "least_squares", "--no-calibrate", "--output", model]
    assert run("fit", given, *fit, "--favourable", "good").code == 0
    row = json.loads(run("explain", model, given, "--rows", 0, "--json").out)["rows"][0]
    assert row["target"] == "good"
    assert row["wanted"]
    assert run("report", model, given, "--bootstrap", 0, "--ks", "1:2", "--output", page).code == 0
    text = page.read_text(encoding="utf-8")
    shown = text.count("<h4>Reasons against good</h4>")
    assert shown > 0
    assert text.count("Predicted <strong>bad</strong>") == shown
    words = "What each column adds to f, compared with the mean: above 0 it speaks for bad, below 0 for good"
    assert text.count(f"<caption>{words}</caption>") == shown
    explained = json.loads(run("explain", model, given, "--rows", ":", "--json").out)["rows"]
    for number, table in re.findall(r'(?s)<h3 id="case-\d+">Row (\d+)</h3>.*?<table class="contributions">(.*?)</table>', text):
        parts = explained[int(number)]["contributions"]
        shown_values = re.findall(r"(-?[\d.e-]+)</td></tr>", table.replace("\u2212", "-"))
        assert list(map(float, shown_values)) == pytest.approx([-part["points"] for part in parts], rel=0.02, abs=1e-6)


def test_nobody_is_advised_unless_a_favourable_class_is_named(run, csv_file, tmp_path):
    given, model, page = csv_file(credit_columns()), tmp_path / "m.json", tmp_path / "report.html"
    fit = ["--target", "risk", "--k", 3, "--C", 1, "--loss", "least_squares", "--no-calibrate", "--output", model]
    assert run("fit", given, *fit).code == 0
    result = run("explain", model, given, "--rows", "0:20")
    assert "what speaks for bad, compared with the mean" in result.out
    assert "change to" not in result.out
    assert "points" not in result.out
    advice = "no change is advised: name the class that people want, with --favourable CLASS, here or in quadric fit"
    assert remarks(result) == [f"quadric: {advice}"]
    rows = json.loads(run("explain", model, given, "--rows", "0:20", "--json").out)["rows"]
    assert {row["speaks_for"] for row in rows} == {row["target"] for row in rows} == {"bad"}
    for row in rows:  # reasons and contributions have one sign
        by_column = {part["column"]: part["points"] for part in row["contributions"]}
        assert all(by_column[reason["column"]] == reason["points"] > 0.0 for reason in row["reasons"])
    assert not any(row["changes"] or row["wanted"] for row in rows)
    assert "change to bad" in run("explain", model, given, "--rows", "0:20", "--favourable", "bad").out
    assert run("report", model, given, "--bootstrap", 0, "--ks", "1:2", "--output", page).code == 0
    text = page.read_text(encoding="utf-8")
    assert "<h4>What speaks for bad</h4>" in text
    assert "No change is advised" in text
    assert "change to good" not in text


def test_rows_that_the_fit_dropped_are_dropped_again(run, csv_file, tmp_path):
    pytest.importorskip("jinja2")
    data, model = csv_file(credit_columns(gaps=4)), tmp_path / "m.json"
    fit = ["--target", "risk", "--k", 2, "--C", 1, "--loss", "least_squares", "--missing", "drop", "--no-calibrate"]
    assert run("fit", data, *fit, "--output", model).code == 0
    facts = json.loads(run("certify", model, data, "--time-limit", 0, "--json").out)
    assert facts["rows"] == 112
    assert facts["certificates"][0]["objective"] == pytest.approx(read_model(model).model[-1].certificates_[0].objective)
    options = ["--bootstrap", 0, "--ks", "1,2", "--folds", 2, "--output", tmp_path / "r.html"]
    assert json.loads(run("report", model, data, *options, "--json").out)["rows"] == 112
    assert run("explain", model, data, "--rows", "2").code == 0


def test_all_commands_agree_on_one_row(made, run, tmp_path):
    scores = json.loads(run("predict", made.model, made.data_csv, "--json").out)["predictions"]
    explained = json.loads(run("explain", made.model, made.data_csv, "--rows", "0:5", "--json").out)["rows"]
    assert [row["score"] for row in explained] == [row["score"] for row in scores[:5]]
    assert [row["label"] for row in explained] == [row["label"] for row in scores[:5]]
    table = read_table(made.data_csv)
    rows = [{name: table[name][i] for name in ("age", "income", "home", "phone")} for i in range(5)]
    run("export", made.model, "--output", tmp_path / "m.py")
    module = runpy.run_path(str(tmp_path / "m.py"))
    by_python = [module["predict"](row) for row in rows]
    run("export", made.model, "--output", tmp_path / "m.sql")
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE data (age REAL, income REAL, home TEXT, phone REAL)")
    connection.executemany("INSERT INTO data VALUES (?, ?, ?, ?)", [tuple(row.values()) for row in rows])
    cursor = connection.execute((tmp_path / "m.sql").read_text().rstrip().rstrip(";"))
    names = [column[0] for column in cursor.description]
    by_sql = [dict(zip(names, row, strict=True)) for row in cursor]
    for expected, python, sql in zip(scores, by_python, by_sql, strict=False):
        assert python["label"] == sql["quadric_label"] == expected["label"]
        assert sql["quadric_score"] == pytest.approx(expected["score"], rel=1e-12)


def test_reports_use_the_folds_of_fit(made, run, tmp_path, monkeypatch):
    told = {}
    monkeypatch.setattr("quadric.report.summarising.summarise", lambda *data, **options: told.update(options))
    monkeypatch.setattr("quadric.report.render", lambda summary: "page")
    report = ["report", made.model, made.data_csv, "--folds", 4, "--seed", 3, "--output", tmp_path / "r.html"]
    assert run(*report).code == 0
    y = np.arange(40) % 2
    splits = [
        [test.tolist() for _, test in folds.split(y, y)]
        for folds in (told["cv"], StratifiedKFold(4, shuffle=True, random_state=3))
    ]
    assert splits[0] == splits[1]


def test_fit_and_report_say_the_same(made, run, tmp_path):
    model, page = tmp_path / "m.json", tmp_path / "r.html"
    text = run("fit", made.data_csv, "--target", "risk", "--ks", "2,3", "--Cs", "1,16", "--verbose", "--output", model).out
    accuracy = re.search(r"accuracy: ([0-9.]+) ± [0-9.]+ % out of fold", text)[1]
    area = re.search(r"AUC: ([0-9.]+) ±", text)[1]
    assert run("report", model, made.data_csv, "--bootstrap", 0, "--output", page).code == 0
    html = page.read_text(encoding="utf-8")
    assert re.search(rf"{accuracy}.%", html)
    assert f"AUC {area}" in html
