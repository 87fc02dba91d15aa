"""Samples on the command line: ``quadric fit`` with rows set aside and with other tables."""

import csv
import json
import re

import numpy as np
import pytest
from scipy.special import betainc
from scipy.stats import binomtest, chi2, norm
from sklearn.metrics import roc_auc_score

from helpers.small_tables import credit_columns, csv_text
from quadric.export import read_model
from quadric.tables import read_table
from quadric.workflow import TableModel

FIT = ["--target", "risk", "--loss", "least_squares", "--k", 3, "--C", 1]


@pytest.fixture
def files(tmp_path):
    """Two tables with a column of dates; people in the second one are older."""
    for seed, name in enumerate(("data.csv", "new.csv")):
        columns = credit_columns(240, seed)
        columns["age"] += 10 * seed
        columns["opened"] = [str(np.datetime64("2025-01-01") + i) for i in range(240)]
        (tmp_path / name).write_text(csv_text(columns))
    return tmp_path


def test_the_samples_stand_side_by_side(run, files):
    fit = ["fit", files / "data.csv", *FIT, "--time-column", "opened", "--after", "2025-07-01", "--holdout", 0.25]
    result = run(*fit, "--test", files / "new.csv", "--output", files / "m.json")
    assert result.code == 0
    lines = result.out.splitlines()
    assert max(len(line) for line in lines if str(files) not in line) <= 80
    head = next(i for i, line in enumerate(lines) if line.split() == ["development", "test", "later", "new.csv"])
    assert lines[head + 1].split() == ["samples", "137", "45", "58", "240"]
    area = next(line.split() for line in lines if line.startswith("AUC "))
    found = json.loads(run(*fit, "--test", files / "new.csv", "--output", files / "n.json", "--json").out)
    record = found["samples"]
    values = record["values"][record["measures"].index("AUC")]
    assert area[1:] == [f"{value:.4f}" for value in values]
    assert values[0] == found["cross_validation"]["auc"]["mean"]
    assert found["rows"] == 137
    text = " ".join(result.out.split())
    assert "(PSI): nothing more than by chance" in text
    assert "moved most in new.csv (PSI): columns age 1." in text
    assert "opened" not in found["features"]
    plain = run("fit", files / "data.csv", *FIT, "--output", files / "o.json")
    assert "development" not in plain.out


def test_a_report_has_the_samples_of_the_fit_and_others(run, refused, files):
    hostile = files / "<b>new.csv"
    hostile.write_bytes((files / "new.csv").read_bytes())
    fit = ["fit", files / "data.csv", *FIT, "--time-column", "opened", "--after", "2025-07-01", "--holdout", 0.25]
    found = json.loads(run(*fit, "--test", hostile, "--output", files / "m.json", "--json").out)["samples"]
    quick = ["--bootstrap", 0, "--ks", 3, "--no-bounds", "--output", files / "r.html", "--force"]
    result = run("report", files / "m.json", files / "data.csv", "--test", hostile, *quick)
    assert (result.code, [line for line in result.errors if not line.startswith("report: ")]) == (0, [])  # beside progress
    page = (files / "r.html").read_text()
    assert "<b>new" not in page
    table = page[page.index('<h3 id="samples">') :]
    heads = re.findall(r'<th scope="col">(.*?)</th>', table)[:5]
    assert heads == ["Measure", "development", "test", "later", "&lt;b&gt;new.csv"]
    for measure in ("AUC", "accuracy", "log loss", "samples"):
        at = found["measures"].index(measure)
        name = measure[0].upper() + measure[1:]
        row = table[table.index(f'<th scope="row">{name}</th>') :].partition("</tr>")[0]
        cells = [
            tuple(map(float, filter(None, cell))) for cell in re.findall(r'num">([\d.]+)(?:<.*?>([\d.]+) to ([\d.]+)<)?', row)
        ]
        for cell, *expected in zip(cells, *(found[part][at] for part in ("values", "low", "high")), strict=True):
            assert cell == pytest.approx([value for value in expected if value is not None], rel=0.006)
    # what the report says elsewhere of the rows of the fit is the same
    assert re.search(r"<span class=\"words\">chance that.*?</span></th><td class=\"num\">([\d.]+)", page)[1] == cells_of(
        table, "AUC"
    )
    text = run("report", files / "m.json", files / "data.csv", "--test", files / "data.csv", *quick).errors
    assert [line for line in text if "137 of 240 rows equal rows that the model was fitted to" in line]
    table = read_table(files / "data.csv")
    aged = (table["age"][row] for row in map(int, re.findall(r"<h3 id=\"case-\d\">Row (\d+)</h3>", page)))
    assert [f"{age:g}" for age in aged] == re.findall(r'<th scope="row">age</th><td>([\d.]+)</td>', page)
    set_aside = ["report", files / "m.json", files / "data.csv", *quick, "--rows", 239]
    assert "row 239 was set aside" in refused(*set_aside, code=2)
    for change, message in {
        "good,": "sample 'odd.csv': the model has no class 'fine'",
        "age": "sample 'odd.csv': the table has no column 'age'",
    }.items():
        (files / "odd.csv").write_text((files / "new.csv").read_text().replace(change, "fine,"[: len(change)]))
        line = refused("report", files / "m.json", files / "data.csv", "--test", files / "odd.csv", *quick, code=1)
        assert message in line


def cells_of(table, name):
    return re.search(rf'<th scope="row">{name}</th><td class="num">([\d.]+)', table)[1]


def test_what_is_wrong_is_told_before_the_fit(refused, run, files):
    fit = ["fit", files / "data.csv", *FIT, "--output", files / "m.json"]
    text = refused(*fit, "--test", files / "none.csv", code=2)
    assert text == f"quadric: there is no file {files / 'none.csv'}"
    assert "--time-column" in refused(*fit, "--time-column", "home", "--after", "2025-01-01", code=2)
    assert "--after" in refused(*fit, "--time-column", "opened", "--after", "1.1.2025", code=2)
    assert "named twice" in refused(*fit, "--test", files / "new.csv", "--test", files / "new.csv", code=2)
    (files / "odd.csv").write_text("age,risk\n1,good\n")
    text = refused(*fit, "--test", files / "odd.csv", code=1)
    assert text.startswith("quadric: the sample 'odd.csv' has no columns 'income', 'home', 'phone', 'opened'")
    same = run(*fit, "--test", files / "data.csv")
    assert "240 of 240 rows equal rows that the model was fitted to" in same.errors[-1]
    assert "give --force" in refused(*fit, "--holdout", "0.2", code=2)


def test_other_classifiers_are_measured_on_the_samples_too(run, files):
    options = ["--folds", 2, "--holdout", 0.25, "--test", files / "new.csv"]
    result = run("compare", files / "data.csv", *FIT, *options)
    assert result.code == 0
    found = json.loads(run("compare", files / "data.csv", *FIT, *options, "--json").out)
    assert found["rows"] == 180
    assert list(found["samples"]) == ["test", "new.csv"]
    assert [own["samples"] for own in found["samples"]["test"].values()] == [[60.0, None, None]] * len(found["models"])
    fit = [
        "fit",
        files / "data.csv",
        *FIT,
        "--folds",
        2,
        "--holdout",
        0.25,
        "--test",
        files / "new.csv",
        "--output",
        files / "m.json",
    ]
    record = json.loads(run(*fit, "--json").out)["samples"]
    at = record["measures"].index("AUC")
    for place, own in enumerate(found["samples"].values(), start=1):
        expected = [record[part][at][place] for part in ("values", "low", "high")]
        assert own["sparse quadratic"]["AUC"] == pytest.approx(expected, abs=1e-10)
        assert own["logistic regression"]["AUC"][1] < own["logistic regression"]["AUC"][0]
    assert re.search(r"\nnew.csv, 240 rows +accuracy +AUC +log loss\n *sparse quadratic +\d\.\d+ \(", result.out)


@pytest.fixture
def fitted(run, files):
    """A model with a later sample, and a book of customers at two dates, of which only the first has outcomes."""
    fit = ["fit", files / "data.csv", *FIT, "--time-column", "opened", "--after", "2025-07-01", "--output", files / "m.json"]
    assert run(*fit).code == 0
    columns = credit_columns(120, 5)
    for name in columns:
        columns[name] = list(columns[name])
    columns["age"][60:] = [age + 15 for age in columns["age"][:60]]
    columns["risk"][60:] = [None] * 60
    columns["customer"] = [f"{i:03d}" for i in [*range(60), *range(5, 65)]]
    columns["day"] = ["2025-12-31"] * 60 + ["2026-12-31"] * 60
    (files / "book.csv").write_text(csv_text(columns))
    return files


def read(path):
    head, *rows = csv.reader(path.read_text().splitlines())
    return [dict(zip(head, row, strict=True)) for row in rows]


def test_validation_tables_follow_from_the_model_file_and_the_data(run, fitted):
    edges = [0.3, 0.5, 0.7]
    validate = ["validate", fitted / "m.json", fitted / "book.csv", "--grades", "0.3,0.5,0.7"]
    more = [
        "--development",
        fitted / "data.csv",
        "--id",
        "customer",
        "--time-column",
        "day",
        "--dates",
        "2025-12-31,2026-12-31",
    ]
    result = run(*validate, *more, "--folder", fitted / "tables")
    assert result.code == 0
    assert result.errors == ["quadric: sample 'book.csv': the target 'risk' is missing in 60 rows, which are left out"]
    assert max(map(len, result.out.splitlines()[:-1])) <= 80
    model = TableModel(read_model(fitted / "m.json"))
    table, text = read_table(fitted / "book.csv", text=["customer", *model.text_names]), fitted / "tables"
    p, event = model.scores(table).probabilities[:, 1], table.labels("risk")[:60] == model.class_names[1]
    grade = np.searchsorted(edges, p)
    found = read(text / "calibration.csv")
    for row, mine in zip(found, [*(grade[:60] == g for g in range(4)), np.ones(60, dtype=bool)], strict=True):
        n, d = mine.sum(), event[mine].sum()
        mean = p[:60][mine].mean()
        assert (int(row["rows"]), int(row["events"])) == (n, d)
        own = [float(row[name]) for name in ("expected", "observed", "Jeffreys", "binomial")]
        tests = [betainc(d + 0.5, n - d + 0.5, mean), binomtest(d, n, mean, alternative="greater").pvalue]
        assert own == pytest.approx([mean, d / n, *tests], abs=1e-10)
    (row,) = read(text / "discrimination.csv")
    decision = model.scores(table).decision[:60]
    area, before = roc_auc_score(event, decision), model.saved.metadata["training"]["cross_validation"]["auc"]["mean"]
    z = (before - area) / float(row["standard error"])
    assert [float(row[name]) for name in ("AUC", "AUC at development", "statistic", "p-value")] == pytest.approx(
        [area, before, z, norm.sf(z)], abs=1e-10
    )
    (row,) = read(text / "hosmer-lemeshow.csv")
    values = np.array([[float(row[name]) for name in ("rows", "events", "expected")] for row in found[:4]]).T
    statistic = np.sum((values[1] - values[0] * values[2]) ** 2 / (values[0] * values[2] * (1 - values[2])))
    assert (float(row["statistic"]), float(row["p-value"])) == pytest.approx((statistic, chi2.sf(statistic, 4)), abs=1e-10)
    rows = model.labelled(read_table(fitted / "data.csv", text=model.text_names))[0]  # without those that were set aside
    shares = [
        np.bincount(np.searchsorted(edges, own), minlength=4) / len(own)
        for own in (model.scores(rows).probabilities[:, 1], p[60:])
    ]
    psi = np.sum((shares[1] - shares[0]) * np.log(shares[1] / shares[0]))
    assert float(read(text / "stability.csv")[-1]["PSI"]) == pytest.approx(psi, abs=1e-10)
    assert [float(row["Herfindahl"]) for row in read(text / "concentration.csv")] == pytest.approx(
        [1 + np.log(np.sum(own**2)) / np.log(4) for own in shares], abs=1e-10
    )
    moves = {(row["before"], row["now"]): int(row["customers"]) for row in read(text / "migration.csv")}
    assert sum(moves.values()) == 60
    stayed = (grade[5:60] == 1) & (grade[60:115] == 2)
    assert moves["2", "3"] == stayed.sum()
    assert moves["1", "gone"] == (grade[:5] == 0).sum()
    assert read(text / "migration-bandwidth.csv")[0]["new"] == "5"


def test_grades_may_be_tenths_or_points_and_nothing_is_overwritten(run, refused, fitted):
    validate = ["validate", fitted / "m.json", fitted / "data.csv"]
    result = run(*validate, "--json")
    assert result.errors == ["quadric: 58 of 240 rows are validated: the sample 'later', which was set aside"]
    tables = json.loads(result.out)
    assert len(tables["calibration"]) == 11
    assert tables["calibration"][-1]["rows"] == 58
    counts = [row["at development"] for row in tables["stability"][:-1]]
    assert max(counts) - min(counts) <= 2 / 182
    points = json.loads(run(*validate, "--json", "--points", "600:20:50", "--grades", "480,520").out)
    odds = [50 * 2 ** ((edge - 600) / 20) for edge in (520, 480)]
    assert [row["up to"] for row in points["calibration"][:2]] == pytest.approx([1 / (1 + each) for each in odds], abs=1e-10)
    assert "stability" not in points
    turned = ["--positive", "good", "--favourable", "good", "--output", fitted / "good.json"]
    assert run("fit", fitted / "data.csv", *FIT, *turned).code == 0
    validate_good = ["validate", fitted / "good.json", fitted / "new.csv", "--json"]
    first, *_, whole = json.loads(run(*validate_good, "--points", "600:20:50", "--grades", "500").out)["calibration"]
    assert first["up to"] == pytest.approx(1 / (1 + 50 * 2**-5), abs=1e-10)  # of bad, though good is the positive class
    model = TableModel(read_model(fitted / "good.json"))
    rows = {name: read_table(fitted / f"{name}.csv", text=model.text_names) for name in ("data", "new")}
    risk, before = (-model.scores(each).decision for each in (rows["new"], rows["data"]))
    is_bad = rows["new"].labels("risk") == "bad"
    assert whole["events"] == is_bad.sum()
    assert whole["expected"] == pytest.approx(model.scores(rows["new"]).probabilities[:, 0].mean(), abs=1e-10)
    found = json.loads(run(*validate_good).out)
    assert found["discrimination"][0]["AUC"] == pytest.approx(roc_auc_score(is_bad, risk), abs=1e-10)
    edges = [row["up to"] for row in found["calibration"][:-2]]
    assert [row["events"] for row in found["calibration"][:-1]] == [
        is_bad[np.searchsorted(edges, risk) == grade].sum() for grade in range(len(edges) + 1)
    ]
    counts = np.bincount(np.searchsorted(edges, before), minlength=10)
    assert [row["at development"] for row in found["stability"][:-1]] == pytest.approx(counts / 240, abs=1e-10)
    assert run(*validate, "--folder", fitted / "out").code == 0
    assert "give --force" in refused(*validate, "--folder", fitted / "out", code=2).splitlines()[-1]
    (fitted / "out" / "migration.csv").write_text("of another run")
    assert run(*validate, "--folder", fitted / "out", "--force").code == 0
    assert not (fitted / "out" / "migration.csv").exists()
    moves = ["--time-column", "opened", "--dates"]
    for options, message in {
        ("--points", "600:20:50"): "--points is the scale of --grades",
        ("--points", "600:0:50", "--grades", "500"): "the points that double the odds must be a number above 0",
        ("--grades", "2,3"): "grades must be probabilities between 0 and 1",
        ("--grades", "a"): "--grades: cannot read 'a'",
        ("--id", "opened"): "migrations need all of --id, --time-column and --dates",
        ("--id", "age", *moves, "2025-08-01,2025-08-02"): "--id: the model uses the column 'age'",
        ("--id", "opened", *moves, "2025-01-01"): "two days are needed",
        ("--id", "opened", *moves, "2025-08-01,2030-01-01"): "no row is of 2030-01-01: the dates are",
        ("--id", "opened", *moves, "soon,later"): "dates must be days such as 2026-01-31, got 'soon'",
        ("--id", "opened", "--time-column", "home", "--dates", "2025-08-01,2025-08-02"): "is no date",
    }.items():
        result = run(*validate, *options)
        assert (result.code in (1, 2), result.out) == (True, "")
        assert message in result.errors[-1]
    bare = ["fit", fitted / "data.csv", *FIT, "--no-calibrate", "--output", fitted / "bare.json"]
    assert run(*bare).code == 0
    assert "need probabilities" in refused("validate", fitted / "bare.json", fitted / "data.csv", code=1)
