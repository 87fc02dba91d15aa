"""quadric check, and what fit and the report make of it."""

import csv
import json

import numpy as np
import pytest

from helpers.small_tables import credit_columns, csv_text

K = ["--target", "risk", "--k", "3", "--C", "16", "--loss", "least_squares", "--no-calibrate"]


@pytest.fixture
def raw(tmp_path):
    """The small credit table with an identifier, a leak, an empty column, and an index as pandas writes it."""
    columns = credit_columns()
    rng = np.random.default_rng(0)
    m = len(columns["risk"])
    more = {
        "id": rng.permutation(m) + 1,
        "late": np.where(columns["risk"] == "bad", 5.0, 0.0) + rng.random(m),
        "empty": [""] * m,
    }
    lines = csv_text({**columns, **more}).splitlines()
    path = tmp_path / "raw.csv"
    path.write_text("\n".join([f",{lines[0]}", *(f"{i},{line}" for i, line in enumerate(lines[1:]))]) + "\n")
    return path


def test_findings_are_grouped_and_fit_the_terminal(run, raw):
    result = run("check", raw, "--target", "risk")
    assert result.code == 0
    lines = result.out.splitlines()
    assert [line for line in lines if line.endswith(":") and not line.startswith(("-", " "))] == [
        "left out by fit:",
        "look at this:",
    ]
    assert max(map(len, lines)) <= 80
    assert lines[1].startswith("- column 'id' has a different value in every row")
    assert "(--keep id)" in " ".join(lines)
    assert result.errors == ["quadric: column 1 has no name and numbers the rows: it is left out as an index"]


def test_json_has_every_finding(run, raw):
    facts = json.loads(run("check", raw, "--target", "risk", "--json").out)
    kinds = {finding["kind"]: finding for finding in facts["findings"]}
    assert set(kinds) == {"identifier", "leak", "empty"}
    assert kinds["identifier"]["columns"] == ["id"]
    assert kinds["identifier"]["left_out"]
    assert (facts["rows"], facts["rows_seen"]) == (120, 120)


def test_a_clean_table_says_so(run, made):
    result = run("check", made.data_csv, "--target", "risk")
    assert result.code == 0
    assert result.out == "nothing to remark: looked at all 120 rows\n"


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ('a,risk\n"1,2\n', [], "not a well-formed CSV file"),
        ("a,b\n1,2\n", [], "no column 'risk'"),
        ("a,risk\n1,2\n", ["--keep", "b"], "no column 'b'"),
    ],
)
def test_what_cannot_be_read_is_wrong_usage(refused, csv_file, text, options, words):
    assert words in refused("check", csv_file(text), "--target", "risk", *options, code=2)


def test_fit_leaves_out_what_check_says(run, raw, tmp_path):
    result = run("fit", raw, *K, "--output", tmp_path / "m.json", "--json")
    assert result.code == 0
    facts = json.loads(result.out)
    assert {"id", "empty"}.isdisjoint(facts["features"])
    assert "late" in facts["features"]
    assert [finding["kind"] for finding in facts["check"]["findings"]] == ["identifier", "leak", "empty"]
    assert "left out: column 'id'" in result.errors[1]
    assert "column 'late' alone predicts the target almost perfectly (AUC 1.000)" in result.errors[2]
    kept = run("fit", raw, *K, "--keep", "id", "--output", tmp_path / "k.json", "--json")
    assert "id" in json.loads(kept.out)["features"]


def test_the_report_lists_the_findings(run, raw, tmp_path):
    assert run("fit", raw, *K, "--output", tmp_path / "m.json").code == 0
    report = run("report", tmp_path / "m.json", raw, "--bootstrap", "0", "--ks", "3", "--output", tmp_path / "r.html")
    assert report.code == 0, report.errors
    page = (tmp_path / "r.html").read_text()
    assert "A look at the table" in page
    assert "<li>Column &#39;id&#39; has a different value in every row" in page


def test_columns_without_a_name_can_be_ignored(run, refused, raw, tmp_path):
    lines = raw.read_text().splitlines()
    other = tmp_path / "other.csv"
    other.write_text("\n".join([lines[0], *(f"a{line}" for line in lines[1:])]) + "\n")
    fit = ["fit", other, *K, "--output", tmp_path / "m.json"]
    assert "column 1 has no name; is it an index? write the file without it (--ignore '')" in refused(*fit, code=1)
    assert run(*fit, "--ignore", "").code == 0
    assert run("predict", tmp_path / "m.json", other).code == 0


def with_texts(seed=0):
    """The small table with prices and shares as people write them, two prices missing, and a copy of the income."""
    columns = credit_columns(seed=seed)
    prices = [f"{round(1000 * income):,}" for income in columns["income"]]
    prices[3] = prices[5] = ""
    shares = [f"{age:.0f} %" for age in columns["age"]]
    rest = {"home": columns["home"], "copy": columns["home"], "risk": columns["risk"]}
    return {"price": prices, "share": shares, **rest}


def test_numbers_with_marks_and_units_are_read_by_fit_and_by_what_follows(run, csv_file, tmp_path):
    data, model = csv_file(csv_text(with_texts())), tmp_path / "m.json"
    fit = ["fit", data, *K, "--output", model]
    result = run(*fit, "--json")
    assert result.code == 0
    assert [line for line in result.errors if "numbers written like" in line] == [
        "quadric: column 'price' is read as numbers written like '1,234.5': say so if it is something else "
        "(--decimal ',', --texts price)",
        "quadric: column 'share' is read as numbers written like '1,234.5 %': say so if it is something else (--texts share)",
    ]
    assert json.loads(result.out)["features"][:2] == ["price", "share"]
    scores = [row[1] for row in csv.reader(run("predict", model, data).out.splitlines())][1:]
    columns = with_texts()
    columns["price"] = [price.replace(",", "") for price in columns["price"]]
    columns["share"] = [share.removesuffix(" %") for share in columns["share"]]
    plain = csv_file(csv_text(columns))
    assert [row[1] for row in csv.reader(run("predict", model, plain).out.splitlines())][1:] == scores
    assert run("explain", model, data, "--rows", "0").code == 0
    assert run("certify", model, data).code == 0
    wrong = csv_file(csv_text(with_texts() | {"price": ["about 3,000"] * 120}))
    refused = run("predict", model, wrong)
    assert refused.code == 1
    assert "column 'price' must hold numbers; row " in refused.errors[0]


def test_numbers_that_cannot_be_read_are_left_out_with_what_reads_them(run, csv_file, tmp_path):
    columns = with_texts()
    columns["price"][0] = "about 30,000"
    result = run("fit", csv_file(csv_text(columns)), *K, "--output", tmp_path / "m.json", "--json")
    assert result.code == 0
    assert any(line.startswith("quadric: left out: column 'price' holds numbers such as") for line in result.errors)
    assert "share" in json.loads(result.out)["features"]
    assert "price" not in json.loads(result.out)["features"]


def test_fit_tells_copies_of_a_column(run, csv_file, tmp_path):
    result = run("fit", csv_file(csv_text(with_texts())), *K, "--output", tmp_path / "m.json")
    assert "quadric: columns say the same: 'home' and 'copy'; leave one of each out (--ignore copy)" in result.errors


def test_nothing_is_to_be_kept_of_a_table_without_values(refused, csv_file, tmp_path):
    data = csv_file(csv_text({"a": [""] * 40, "b": [""] * 40, "risk": ["good", "bad"] * 20}))
    line = refused("fit", data, *K, "--output", tmp_path / "m.json", code=2)
    assert line == (
        "quadric: every column besides the target is left out ('a', 'b'): add columns that say something about the rows"
    )
