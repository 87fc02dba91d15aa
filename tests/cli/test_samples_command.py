"""Samples on the command line: ``quadric fit`` with rows set aside and with other tables."""

import json
import re

import numpy as np
import pytest

from helpers.small_tables import credit_columns, csv_text

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
    assert max(len(line) for line in lines if "m.json" not in line) <= 80
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
    assert (result.code, result.errors) == (0, [])
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
