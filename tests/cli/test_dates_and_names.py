"""Dates from fit to report, one meaning of missing texts, and names that were nearly right."""

import json
import sqlite3
from datetime import date, timedelta

import numpy as np
import pytest

from quadric.export import read_model

K = ["--k", "3", "--C", "16", "--loss", "least_squares", "--no-calibrate"]


def loans(m=120):
    rng = np.random.default_rng(3)
    days, age = rng.integers(0, 700, m), rng.integers(18, 80, m)
    risk = np.where(days + 5 * age + rng.normal(0, 40, m) > 600, "bad", "good")
    closed = [day + int(more) for day, more in zip(days, rng.integers(1, 90, m), strict=True)]
    lines = ["risk,age,issued,closed,home"]
    for i in range(m):
        issued, until = (date(2019, 3, 1) + timedelta(int(n)) for n in (days[i], closed[i]))
        lines.append(f"{risk[i]},{age[i]},{issued},{'' if i % 20 == 0 else until},{('own', ' rent', 'NA', 'nan', '')[i % 5]}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def dated(tmp_path_factory):
    from quadric.cli import main

    folder = tmp_path_factory.mktemp("dated")
    (folder / "data.csv").write_text(loans())
    options = ["--dates", "issued", "--dates", "closed", "--missing", "indicator", "--unseen", "other"]
    arguments = [
        "fit",
        folder / "data.csv",
        "--target",
        "risk",
        *K,
        *options,
        "--include",
        "issued",
        "--include",
        "home is missing",
    ]
    assert main([*map(str, arguments), "--output", str(folder / "model.json")]) == 0
    return folder


def test_the_model_file_keeps_dates_and_missing_texts(dated):
    encoder = read_model(dated / "model.json").model[0]
    columns = {column.name: column for column in encoder.inputs_}
    assert columns["issued"].type == columns["closed"].type == "date"
    assert columns["issued"].origin == min(line.split(",")[2] for line in loans().splitlines()[1:])
    assert columns["home"].categories == ("own", "rent")
    assert encoder.missing_texts == ("", "NA", "NaN", "null", "?")


def test_every_command_takes_a_model_of_dates(dated, run, tmp_path):
    model, data = dated / "model.json", dated / "data.csv"
    explained = json.loads(run("explain", model, data, "--rows", "0:4", "--json").out)
    values = {c["column"]: c["value"] for row in explained["rows"] for c in row["contributions"]}
    assert values["issued"].startswith("20")
    words = run("explain", model, data, "--rows", "0:4").out
    assert "issued is 20" in words
    assert "proved" in run("certify", model, data, "--time-limit", "1").out or "bound" in run("certify", model, data).out
    assert "issued: days since " in run("export", model, "--format", "equation").out
    assert (
        run(
            "path", data, "--target", "risk", "--dates", "issued", "--ignore", "closed", "--missing", "impute", "--ks", "1:2"
        ).code
        == 0
    )
    assert run("predict", model, data).code == 0


def test_scores_of_a_file_are_those_of_the_exports(dated, run, tmp_path):
    model, data = dated / "model.json", dated / "data.csv"
    scores = [float(line.split(",")[1]) for line in run("predict", model, data).out.splitlines()[1:]]
    select = run("export", model, "--format", "sql").out
    header, *rows = [line.split(",") for line in loans().splitlines()]
    with sqlite3.connect(":memory:") as connection:
        connection.execute(f"CREATE TABLE data (n, {', '.join(f'{name} TEXT' for name in header)})")
        marks = ", ".join("?" * (len(header) + 1))
        connection.executemany(f"INSERT INTO data VALUES ({marks})", [(i, *row) for i, row in enumerate(rows)])
        names = [column[0] for column in connection.execute(select).description]
        found = sorted(connection.execute(select).fetchall())
    np.testing.assert_allclose([row[names.index("quadric_score")] for row in found], scores, rtol=1e-9)


WRONG = {
    "target": (["--target", "Risk"], 2, "no column 'Risk' (did you mean 'risk'?)"),
    "all names": (
        ["--target", "Risk", "--ignore", "Age", "--dates", "isued"],
        2,
        "no columns 'Risk' (did you mean 'risk'?), 'Age' (did you mean 'age'?), 'isued' (did you mean 'issued'?)",
    ),
    "class": (["--positive", "Bad"], 2, "no value 'Bad' (did you mean 'bad'?)"),
    "weight": (["--class-weight", "Bad=2"], 2, "no class 'Bad' (did you mean 'bad'?) (--class-weight)"),
    "term": (["--include", "Age*isued"], 2, "no term 'Age*isued' (did you mean 'age*issued'?)"),
    "products": (["--exclude", "Age*"], 2, "no term 'Age*' (did you mean 'age*'?)"),
    "date of the target": (["--dates", "risk"], 2, "the column 'risk' is the target, ignored or named twice (--dates)"),
}


@pytest.mark.parametrize("case", WRONG)
def test_near_names_are_offered(case, refused, csv_file, tmp_path):
    options, code, words = WRONG[case]
    target = [] if "--target" in options else ["--target", "risk"]
    dates = ["--dates", "issued", "--ignore", "closed", "--missing", "impute"]
    fit = ["fit", csv_file(loans()), *target, *dates, *K, *options, "--output", tmp_path / "m.json"]
    assert words in refused(*fit, code=code)


def test_columns_that_cannot_be_used_are_named_at_once_with_their_options(refused, csv_file, tmp_path):
    odd = loans().replace("2019-", "in 2019-", 3)  # nearly all are dates
    kept = ["--keep", "issued", "--keep", "closed"]  # otherwise they are left out with a remark
    fit = ["fit", csv_file(odd), "--target", "risk", *K, *kept, "--output", tmp_path / "m.json"]
    head, *items = refused(*fit, "--missing", "impute", code=1, items=2).splitlines()
    assert head == "quadric: 2 columns cannot be used:"
    for name, item in zip(("issued", "closed"), items, strict=True):
        assert item.startswith(f"- column '{name}' holds dates such as")
        assert item.endswith(f"(--dates {name}, --ignore {name}, --texts {name})")
    bad = loans().replace("2019-", "2019-1", 3)
    line = refused("fit", csv_file(bad), "--target", "risk", *K, "--dates", "issued", "--ignore", "closed", *fit[-2:], code=1)
    assert "column 'issued', row " in line
    assert "is no date" in line


def test_new_tables_with_other_names_and_types(dated, refused, csv_file):
    text = loans()
    line = refused("predict", dated / "model.json", csv_file(text.replace("age,issued", "Age,Issued", 1)), code=1)
    assert "no columns 'age' (did you mean 'Age'?), 'issued' (did you mean 'Issued'?), which the model needs" in line
    wrong = text.replace("bad,", "bad,x").replace(",2019-", ",2019/")
    lines = refused("predict", dated / "model.json", csv_file(wrong), code=1, items=2)
    assert "2 columns do not suit the model:\n" in lines  # the equation does not use the third
    line = refused("certify", dated / "model.json", csv_file(wrong), code=1, items=3)
    assert "3 columns do not suit the model:\n" in line
    for words in ("column 'age' must hold numbers", "column 'issued', row ", "column 'closed', row "):
        assert words in line
    line = refused("explain", dated / "model.json", csv_file(text), "--frozen", "Issued", "--frozen", "ag", code=2)
    assert "no columns 'Issued' (did you mean 'issued'?), 'ag' (did you mean 'age'?)" in line
    line = refused("predict", dated / "model.json", csv_file(text), "--keep", "Home", code=2)
    assert "--keep: the table has no column 'Home' (did you mean 'home'?)" in line


def test_numbers_in_another_notation_than_the_files_are_no_levels(run, csv_file, tmp_path):
    lines = [f"{20 + i},5;{1 + i % 9}.{100 + 7 * i};{'good' if i % 3 else 'bad'}" for i in range(60)]
    path = csv_file("age;amount;risk\n" + "\n".join(lines))
    fit = ["fit", path, "--target", "risk", "--k", 2, "--loss", "least_squares", "--output", tmp_path / "m.json"]
    without = run(*fit, "--decimal", ",")
    assert without.code == 0
    assert "left out: column 'amount' holds numbers such as" in without.errors[0]
    assert "--thousands '.'" in without.errors[0]
    fitted = run(*fit, "--decimal", ",", "--thousands", ".", "--json", "--force")
    assert fitted.code == 0
    assert "amount=" not in fitted.out


def test_new_numbers_in_another_notation_name_the_option_that_reads_them(dated, run, csv_file):
    path = csv_file("age;issued;closed;home\n41,5;2019-04-01;2019-05-01;own\n")
    answer = run("predict", dated / "model.json", path)
    assert answer.code == 1
    assert "column 'age' must hold numbers; row 1 has '41,5' (--decimal ',')" in answer.errors[0]
    assert run("predict", dated / "model.json", path, "--decimal", ",").code == 0


def test_a_column_of_the_last_day_only_can_be_fitted_and_saved(run, csv_file, tmp_path):
    for day in ("9999-12-31", "0001-01-01"):
        path = csv_file("end,age,risk\n" + "".join(f"{day},{20 + i},{'good' if i % 3 else 'bad'}\n" for i in range(60)))
        fit = ["fit", path, "--target", "risk", *K, "--dates", "end", "--output", tmp_path / f"{day}.json"]
        assert run(*fit).code == 0
        assert len(run("predict", tmp_path / f"{day}.json", path).out.splitlines()) == 61


def test_codes_that_look_like_numbers_can_be_kept_as_texts(run, csv_file, tmp_path):
    lines = [f"{20 + i},{100 + i % 30},{'good' if i % 3 else 'bad'}" for i in range(90)]
    path, model = csv_file("age,code,risk\n" + "\n".join(lines)), tmp_path / "m.json"
    fit = ["fit", path, "--target", "risk", "--k", 2, "--loss", "least_squares", "--output", model]
    assert run(*fit, "--texts", "code", "--json").code == 0
    stored = json.loads(model.read_text())
    assert [column["type"] for column in stored["inputs"]] == ["number", "category"]
    assert len(run("predict", model, path).out.splitlines()) == 91
    assert "did you mean 'code'" in run(*fit, "--texts", "Code", "--force").errors[0]


@pytest.mark.parametrize(
    ("pattern", "form"), [("{2}/{1}/{0}", "day first"), ("{0}/{1}/{2}", "year first"), ("{0}{1}{2}", "eight digits")]
)
def test_dates_in_other_forms_give_the_same_model(dated, run, csv_file, tmp_path, pattern, form):
    rows = [line.split(",") for line in loans().splitlines()]
    text = "\n".join(
        ",".join([*row[:2], pattern.format(*row[2].split("-")) if i else row[2], row[4]]) for i, row in enumerate(rows)
    )
    iso = "\n".join(",".join([*row[:3], row[4]]) for row in rows)
    fit = ["--target", "risk", *K, "--missing", "impute", "--dates", "issued", "--include", "issued"]
    other, ours = tmp_path / "other.json", tmp_path / "ours.json"
    path = csv_file(text)
    result = run("fit", path, *fit, "--output", other)
    assert result.code == 0
    assert f"quadric: column 'issued' holds dates, read as {form}" in result.errors
    scores = run("predict", other, path).out
    few = csv_file("\n".join(text.splitlines()[:2]))  # one row would not tell the form
    assert run("predict", other, few).out.splitlines()[:2] == scores.splitlines()[:2]
    assert run("fit", csv_file(iso), *fit, "--output", ours).code == 0
    assert run("predict", ours, csv_file(iso)).out == scores


def test_dates_are_days_unless_days_and_months_cannot_be_told_apart(run, csv_file, tmp_path):
    lines = [f"{i % 12 + 1:02}/{i % 7 + 1:02}/2012,{i * 7 % 13},{'good' if i % 3 else 'bad'}" for i in range(120)]
    fit = ["--target", "risk", *K, "--json", "--rare", "keep", "--output", tmp_path / "m.json", "--force"]
    result = run("fit", csv_file("when,x,risk\n" + "\n".join(lines)), *fit)
    assert result.code == 0, result.errors
    assert "whose days and months cannot be told apart" in result.errors[0]
    assert "when=01/02/2012" in json.loads(result.out)["features"]
    told = run("fit", csv_file("when,x,risk\n" + "\n".join([*lines, "31/01/2012,3,good"])), *fit)
    assert json.loads(told.out)["features"] == ["when", "x"]
