"""Whatever is wrong: one clear line, the right exit code, nothing written and nothing lost."""

import contextlib
import io
import json
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from helpers.commands import ended, forked
from helpers.small_tables import credit_columns, csv_text
from quadric.cli import main

K = ["--k", "2", "--C", "1", "--loss", "least_squares", "--calibrate", "none"]


def with_column(name, values):
    columns = credit_columns()
    columns[name] = values
    return columns


FEW = with_column("risk", ["bad"] * 3 + ["good"] * 117)
ONE = with_column("risk", ["bad"] + ["good"] * 119)
TABLES = {
    "wrong delimiter": (csv_text(credit_columns()), ["--delimiter", ";"], 1, "wrong delimiter?"),
    "two names": (csv_text(credit_columns()).replace("income", "age", 1), [], 1, "'age' appears 2 times"),
    "no name": (csv_text(credit_columns()).replace("income", "", 1), [], 1, "column 2 has no name"),
    "ragged": (csv_text(credit_columns()) + "1,2\n", [], 1, "has 2 values, the header has 5 columns"),
    "empty": ("", [], 1, "the file is empty"),
    "only names": ("age,risk\n", [], 1, "no rows"),
    "no target": (csv_text(credit_columns()), ["--target", "riks"], 2, "the table has no column 'riks'"),
    "no such column": (csv_text(credit_columns()), ["--ignore", "id"], 2, "the table has no column 'id'"),
    "constant target": (csv_text(with_column("risk", ["good"] * 120)), [], 1, "at least two classes are needed"),
    "continuous target": (csv_text(credit_columns()), ["--target", "income"], 1, "looks continuous"),
    "missing target": (
        csv_text(with_column("risk", ["good", "bad", None] * 40)),
        ["--missing", "refuse"],
        1,
        "the target is missing in 40 row(s)",
    ),
    "one class with a label": (
        csv_text(with_column("risk", ["good", None] * 60)),
        [],
        1,
        "the target is 'good' in every row that has a label (60 without one left out): at least two classes are needed",
    ),
    "no label": (csv_text(with_column("risk", [None] * 120)), [], 1, "the target is missing in every row"),
    "missing values": (csv_text(credit_columns(gaps=2)), ["--missing", "refuse"], 1, "or impute them (--missing impute)"),
    "many levels": (
        csv_text(with_column("home", [f"n{i % 110}" for i in range(120)])),
        ["--rare", "keep"],
        1,
        "if it is an identifier, or raise max_levels (--ignore home, --max-levels)",
    ),
    "only identifiers": (
        "id,name,risk\n" + "".join(f"{i * 37 % 120},n{i},{'good' if i % 3 else 'bad'}\n" for i in range(120)),
        [],
        2,
        "every column besides the target is left out ('id', 'name'): add columns that say something about the rows",
    ),
    "one class left": (
        "x,risk\n" + "".join(f"{i % 7 if i % 3 else ''},{'good' if i % 3 else 'bad'}\n" for i in range(60)),
        ["--missing", "drop"],
        1,
        "no row of class 'bad' is left: keep these rows (--missing impute)",
    ),
    "only rare levels": (
        "home,risk\n" + "".join(f"h{i % 25},{'good' if i % 3 else 'bad'}\n" for i in range(60)),
        [],
        1,
        "texts without two levels that have enough rows; keep rare levels, or add columns (--rare keep)",
    ),
    "long level": (
        csv_text(with_column("home", ["own", "x" * 10_001] * 60)),
        [],
        1,
        "a level whose name has 10,001 characters",
    ),
    "few rows of a class": (
        csv_text(FEW),
        ["--cv"],
        2,
        "class 'bad' has 3 rows, fewer than the 5 folds: choose 3 or fewer, or add rows of that class (--folds)",
    ),
    "few rows of one of three classes": (
        csv_text(with_column("risk", ["worst"] * 3 + ["bad", "bad", "good"] * 39)),
        ["--cv"],
        2,
        "fewer than the 5 folds: choose 3 or fewer, or merge that class with another, or drop it (--folds)",
    ),
    "imputed constant columns": (
        csv_text({"age": ["1", "", "1"] * 40, "home": ["own", "own", ""] * 40, "risk": ["good", "bad"] * 60}),
        ["--cv", "--missing", "impute"],
        1,
        "quadric: all columns are constant: there is nothing to learn from",
    ),
    "constant columns": (
        csv_text({"age": ["1"] * 120, "home": ["own"] * 120, "risk": ["good", "bad"] * 60}),
        ["--cv"],
        1,
        "quadric: all columns are constant: there is nothing to learn from",
    ),
    "few rows to calibrate": (csv_text(FEW), ["--calibrate", "sigmoid", "--folds", "4"], 2, "fewer than the 4 folds"),
    "one row of a class": (csv_text(ONE), ["--cv"], 1, "class 'bad' has 1 row, and cross-validation needs two"),
    "infinite": (csv_text(with_column("age", np.r_[np.inf, np.ones(119)])), [], 1, "infinite in row 1"),
    "no class": (csv_text(credit_columns()), ["--positive", "ugly"], 2, "no value 'ugly'"),
    "unknown term": (csv_text(credit_columns()), ["--include", "shoe^2"], 2, "there is no term 'shoe^2'"),
    "weight of no class": (csv_text(credit_columns()), ["--class-weight", "ugly=2"], 2, "the target has no class 'ugly'"),
}


@pytest.mark.parametrize("case", TABLES)
def test_tables_that_cannot_be_fitted(case, refused, csv_file, tmp_path):
    text, options, code, says = TABLES[case]
    target = [] if "--target" in options else ["--target", "risk"]
    line = refused("fit", csv_file(text), *target, *K, *options, "--output", tmp_path / "m.json", code=code)
    assert says in line
    assert line.startswith("quadric: ")


def test_a_wrong_encoding_is_named_with_its_place(refused, run, csv_file, tmp_path):
    columns = with_column("home", ["zürich", "bern", "genève"] * 40)
    data = csv_file(columns, encoding="latin-1")
    fit = ["fit", data, "--target", "risk", *K, "--output", tmp_path / "m.json"]
    assert "try latin-1 (--encoding latin-1)" in refused(*fit, code=1)
    assert run(*fit, "--encoding", "latin-1").code == 0


def test_a_delimiter_can_be_given(run, csv_file, tmp_path):
    data = csv_file(csv_text(credit_columns(), "\t"))
    fit = ["fit", data, "--target", "risk", *K, "--output", tmp_path / "m.json"]
    assert run(*fit, "--delimiter", "tab").code == 0


FIT = ["fit", "{data}", "--target", "risk", "--output", "{new}"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([*FIT, "--k", "three"], "--k: 'three' is not an integer"),
        ([*FIT, "--k=2", "--k=1.5"], "--k: '1.5' is not an integer"),
        ([*FIT, "--C", ""], "--C: '' is not a number"),
        ([*FIT, "--method", "fast"], "--method: 'fast' is not one of best, pd, exact"),
        ([*FIT, "--calibrate", "platt"], "--calibrate: 'platt' is not one of auto, sigmoid, isotonic, none"),
        ([*FIT, "--encoding", "foo"], "there is no encoding 'foo'; try utf-8 or latin-1 (--encoding)"),
        (["compare", "{data}", "--target", "risk", "--clip", "much"], "--clip: 'much' is not a number"),
        (
            ["path", "{data}", "--target", "risk", "--loss", "log"],
            "--loss: 'log' is not one of auto, hinge, least_squares, log",
        ),
        (["explain", "{model}", "{data}", "--reasons", "0"], "--reasons: '0' is not an integer from 1 to 1,000,000,000"),
        (["explain", "{model}", "{data}", "--reference", "best"], "--reference: 'best' is not one of mean, approved, cutoff"),
        (["explain", "{model}", "{data}", "--actionable", "zz"], "'home', 'phone' (--actionable)"),
        (["explain", "{model}", "{data}", "--actionable", "income:upp"], "such as income:down (--actionable)"),
        (
            ["report", "{model}", "{data}", "--output", "{new}", "--bootstrap", "-1"],
            "--bootstrap: '-1' is not an integer from 0",
        ),
        (["report", "{model}", "{data}", "--output", "{new}", "--frozen", "zz"], "the model has no column 'zz'"),
        (
            ["certify", "{model}", "{data}", "--time-limit", "nan"],
            "--time-limit: 'nan' is not a number from 0 to 1,000,000,000",
        ),
        (["export", "{model}", "--format", "pmml"], "--format: 'pmml' is not one of sql, python, latex, excel, onnx, json, eq"),
        (["paper", "--jobs", "0"], "--jobs: '0' is not an integer from 1 to 1,000"),
        (["data", "german", "--from", "{no}"], "there is no file"),
    ],
)
def test_wrong_values_are_told_in_our_words(made, refused, tmp_path, arguments, says):
    names = {"data": made.data_csv, "model": made.model, "new": tmp_path / "new", "no": tmp_path / "no.csv"}
    assert says in refused(*(argument.format(**names) for argument in arguments), code=2)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["fit", "{data}", "--target", "risk", "--k", "0", "--output", "{new}"], "--k"),
        (["fit", "{data}", "--target", "risk", "--C", "0", "--output", "{new}"], "C must be a finite number from 1e-60"),
        (["fit", "{data}", "--target", "risk", "--loss", "log", "--output", "{new}"], "'log' is not one of"),
        (["fit", "{data}", "--target", "risk", "--no-cv", "--output", "{new}"], "k and C must be given (--k, --C)"),
        (["fit", "{data}", "--target", "risk", "--ks", "1-4", "--output", "{new}"], "--ks: cannot read '1-4'"),
        (["fit", "{data}", "--target", "risk", "--ks", "4,1", "--output", "{new}"], "increasing"),
        (["fit", "{data}", "--target", "risk", "--Cs", "one", "--output", "{new}"], "--Cs: cannot read 'one'"),
        (["fit", "{data}", "--target", "risk", "--class-weight", "good", "--output", "{new}"], "--class-weight: cannot read"),
        (["fit", "{data}", "--target", "risk", "--encoding", "foo", "--output", "{new}"], "there is no encoding 'foo'"),
        (["predict", "{model}", "{data}", "--encoding", "hex", "--output", "{new}"], "there is no encoding 'hex'"),
        (
            ["fit", "{data}", "--target", "risk", "--delimiter", "", "--output", "{new}"],
            "the delimiter must be one ASCII character",
        ),
        (
            ["predict", "{model}", "{data}", "--delimiter", "ab", "--output", "{new}"],
            "the delimiter must be one ASCII character",
        ),
        (["fit", "{data}", "--k", "2", "--output", "{new}"], "--target"),
        (["fit", "{no}", "--target", "risk", "--k", "2", "--output", "{new}"], "there is no file"),
        (["fit", "{folder}", "--target", "risk", "--k", "2", "--output", "{new}"], "is a folder"),
        (["fit", "{data}", "--target", "risk", "--k", "2", "--output", "{folder}/no/m.json"], "there is no folder"),
        (["predict", "{no}", "{data}", "--output", "{new}"], "there is no file"),
        (["predict", "{model}", "{no}", "--output", "{new}"], "there is no file"),
        (["predict", "{model}", "{data}", "--keep", "id", "--output", "{new}"], "--keep: the table has no column 'id'"),
        (["predict", "{model}", "{data}", "--keep", "score"], "--keep: the output has its own column 'score'"),
        (["predict", "{model}", "{data}", "--keep", "label", "--json"], "--keep: the output has its own column 'label'"),
        (["predict", "{model}", "{data}", "--keep", "age", "--keep", "age"], "--keep: 'age' is given twice"),
        (["explain", "{model}", "{data}", "--rows", "ten"], "--rows: cannot read 'ten'"),
        (["explain", "{model}", "{data}", "--rows", "500"], "there is no row 500; the table has rows 0 to 119"),
        (["explain", "{model}", "{data}", "--rows", "5:5"], "selects no row"),
        (["explain", "{model}", "{data}", "--target-class", "ugly"], "no class 'ugly'"),
        (["explain", "{model}", "{data}", "--frozen", "shoe"], "no column 'shoe'"),
        (["export", "{model}", "--format", "cobol"], "'cobol' is not one of"),
        (["export", "{model}", "--output", "{folder}/m.doc"], "its ending names no format"),
        (["export", "{model}", "--format", "onnx"], "needs a file"),
        (["export", "{model}", "--format", "sql", "--precision", "3"], "--precision is not for the format sql"),
        (["certify", "{model}", "{data}", "--time-limit", "-1"], "--time-limit"),
        (["path", "{data}", "--target", "risk", "--output", "{folder}/p.png"], ".csv for a table or .svg"),
        (["report", "{model}", "{data}", "--ks", "3,2", "--output", "{new}"], "--ks"),
        (["compare", "{data}", "--target", "riks"], "no column 'riks'"),
    ],
)
def test_wrong_usage_has_code_two(arguments, says, made, refused, csv_file, tmp_path):
    places = {
        "data": csv_file(credit_columns()),
        "model": made.model,
        "new": tmp_path / "new",
        "no": tmp_path / "no.csv",
        "folder": tmp_path,
    }
    assert says in refused(*(argument.format(**places) for argument in arguments), code=2)


@pytest.mark.parametrize("command", ["fit", "predict", "path", "export", "report"])
def test_nothing_is_overwritten_unasked(command, made, refused, csv_file, tmp_path):
    data, old = csv_file(credit_columns()), tmp_path / "old.svg"
    old.write_text("old")
    inputs = {
        "fit": [data, "--target", "risk", *K],
        "predict": [made.model, data],
        "path": [data, "--target", "risk"],
        "export": [made.model, "--format", "sql"],
        "report": [made.model, data],
    }
    assert "--force" in refused(command, *inputs[command], "--output", old, code=2)
    assert old.read_text() == "old"


@pytest.mark.parametrize("command", ["fit", "predict"])
def test_two_commands_at_once_do_not_write_one_file(command, made, run, refused, tmp_path, monkeypatch):
    """The one that comes later is refused, whether the file is there already or not."""
    from quadric.files import claimed

    more = {"fit": [made.data_csv, "--target", "risk", *K], "predict": [made.model, made.data_csv]}[command]
    arguments = [command, *more, "--output", tmp_path / "out.csv"]
    with claimed(tmp_path / "out.csv"):
        assert "is writing" in refused(*arguments, code=2)

    def late(path):
        """Another command ends between the look at the file and the claim."""
        path.write_text("of another command")
        return claimed(path)

    monkeypatch.setattr("quadric.cli.console.claimed", late)
    result = run(*arguments)
    assert result.code == 2
    assert "exists; give --force" in result.errors[0]
    assert (tmp_path / "out.csv").read_text() == "of another command"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


LONG = "x" * 100_000


@pytest.mark.parametrize("options", [[], ["--streamed"]])
def test_long_values_are_quoted_in_part(options, made, refused, csv_file, tmp_path, streamed):
    if options:
        streamed()
    columns = credit_columns()
    strange = {**columns, "age": ["1", LONG, *columns["age"][2:]]}
    output = ["--output", tmp_path / "out.csv"]
    line = refused("predict", made.model, csv_file(strange), *output, code=1)
    assert "'xxxxxx" in line
    assert "100,000 characters" in line
    lines = [
        line,
        refused("predict", made.model, csv_file(columns), "--keep", LONG, *output, code=2),
        refused("fit", csv_file(columns), "--target", LONG, *K, *output, code=2),
        refused("fit", csv_file(columns), "--target", "risk", "--positive", LONG, *K, *output, code=2),
        refused("fit", csv_file({**columns, "risk": [LONG] * len(columns["risk"])}), "--target", "risk", *K, *output, code=1),
        refused("certify", made.model, csv_file({**columns, "risk": [LONG, *columns["risk"][1:]]}), code=1),
        refused("path", csv_file(columns), "--target", "risk", "--ks", LONG, code=2),
        refused("export", made.model, "--format", LONG, code=2),
    ]
    assert max(map(len, lines)) < 1_000


def test_what_is_read_is_not_overwritten_even_if_asked(made, refused, csv_file):
    data = csv_file(credit_columns())
    assert "is read by this command" in refused("predict", made.model, data, "--output", data, "--force", code=2)
    assert "is read by this command" in refused("fit", data, "--target", "risk", *K, "--output", data, "--force", code=2)


def test_force_overwrites(made, run, tmp_path):
    old = tmp_path / "old.sql"
    old.write_text("old")
    assert run("export", made.model, "--output", old, "--force").code == 0
    assert old.read_text().startswith("-- Scores")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda c: c.pop("age"), "no column 'age', which the model needs"),
        (lambda c: c["age"].__setitem__(2, np.inf), "infinite"),
        (lambda c: [c[name].__setitem__(2, 1e200) for name in ("age", "income")], "row 3 has no finite score"),
        (lambda c: c.update(age=np.array(["70", "20", "old"] * 40)), "'age' must hold numbers; row 3 has 'old'"),
    ],
)
def test_new_rows_that_do_not_fit(change, says, made, refused, csv_file, tmp_path):
    columns = credit_columns()
    change(columns)
    assert says in refused("predict", made.model, csv_file(columns), "--output", tmp_path / "s.csv", code=1)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda c: c["home"].__setitem__(2, "castle"), "'castle' was not there when fitted"),
        (lambda c: c["home"].__setitem__(2, None), "'home' is missing in 1 row(s), the first is row 3"),
    ],
)
def test_models_that_refuse_what_training_did_not_have(change, says, refused, run, csv_file, tmp_path):
    fit = ["--target", "risk", *K, "--missing", "refuse", "--unseen", "refuse", "--output", tmp_path / "m.json"]
    assert run("fit", csv_file(credit_columns(), "training.csv"), *fit).code == 0
    columns = credit_columns()
    change(columns)
    line = refused("predict", tmp_path / "m.json", csv_file(columns), code=1)
    assert says in line
    assert "--missing" not in line  # predict has no such option


@pytest.mark.parametrize("command", ["path", "compare", "report"])
def test_too_few_rows_for_the_folds_are_named_with_the_way_out(command, made, refused, csv_file, tmp_path):
    data = csv_file(FEW)
    more = {
        "path": [data, "--target", "risk"],
        "compare": [data, "--target", "risk"],
        "report": [made.model, data, "--output", tmp_path / "r.html"],
    }
    assert "class 'bad' has 3 rows, fewer than the 5 folds" in refused(command, *more[command], code=2)
    if command == "compare":
        line = refused(command, *more[command], "--folds", 3, code=2)
        assert "class 'bad' has 3 rows, too few for 3 folds with 3 inside each" in line


def test_only_files_are_read_and_written(made, refused, csv_file, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    predict = ["predict", made.model, csv_file(credit_columns())]
    assert "is no regular file" in refused(*predict, "--output", pipe, "--force", code=2)
    assert "is no regular file" in refused(*predict, "--output", os.devnull, "--force", code=2)
    assert "is no regular file" in refused("export", made.model, "--format", "sql", "--output", pipe, "--force", code=2)
    assert "is a pipe or a device" in refused("predict", made.model, pipe, code=2)
    assert "is a pipe or a device" in refused("predict", pipe, made.data_csv, code=2)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("command", ["predict", "export"])
def test_a_link_stays_and_its_file_is_replaced(command, made, run, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "old.csv").write_text("old")
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "there" / "old.csv")
    more = [made.data_csv] if command == "predict" else []
    assert (
        run(command, made.model, *more, "--output", link, *(["--format", "sql"] if command == "export" else []), "--force").code
        == 0
    )
    assert link.is_symlink()
    assert "score" in (tmp_path / "there" / "old.csv").read_text().lower()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["link.csv", "old.csv", "there"]


def test_a_target_is_needed_to_certify_and_to_report(made, refused, csv_file, tmp_path):
    columns = credit_columns()
    columns.pop("risk")
    data = csv_file(columns)
    assert "'risk', which is the target" in refused("certify", made.model, data, code=1)
    assert "'risk', which is the target" in refused("report", made.model, data, "--output", tmp_path / "r.html", code=1)


def altered(path, change):
    document = json.loads(Path(path).read_text(encoding="utf-8"))
    change(document)
    return json.dumps(document)


MODELS = {
    "cut off": lambda path: Path(path).read_text(encoding="utf-8")[:300],
    "no json": lambda path: "age,risk\n1,2\n",
    "other json": lambda path: "{}",
    "newer": lambda path: altered(path, lambda d: d.update(schema=99)),
    "huge": lambda path: altered(path, lambda d: d["features"].update(count=10**9)),
    "not finite": lambda path: altered(path, lambda d: d["surfaces"][0].update(c=1e999)).replace("Infinity", "1e999"),
    "nan": lambda path: altered(path, lambda d: d["surfaces"][0].update(c=float("nan"))),
    "other class": lambda path: altered(path, lambda d: d["estimator"].update({"class": "os.system"})),
    "tampered": lambda path: altered(path, lambda d: d["surfaces"][0].update(c=123.0)),
    "pickle": lambda path: "\x80\x04cos\nsystem\n(S'echo hacked'\ntR.",
}


@pytest.mark.parametrize("case", MODELS)
@pytest.mark.parametrize("command", ["predict", "export"])
def test_model_files_that_cannot_be_used(case, command, made, refused, tmp_path):
    (tmp_path / "bad.json").write_text(MODELS[case](made.model), encoding="utf-8")
    more = [made.data_csv] if command == "predict" else ["--format", "sql"]
    line = refused(command, tmp_path / "bad.json", *more, "--output", tmp_path / "out", code=1)
    assert "bad.json" in line
    assert {"newer": "newer quadric", "tampered": "does not agree with its digest"}.get(case, "model file") in line


def test_hostile_names_are_shown_and_never_obeyed(run, csv_file, tmp_path):
    nasty = "<script>alert(1)</script>\x1b[2J'; DROP TABLE data; --"
    columns = {nasty if name == "income" else name: column for name, column in credit_columns().items()}
    columns["home"] = np.array([{"own": "=cmd()", "rent": "{{7*7}}", "free": "\x07"}[h] for h in columns["home"]], dtype=object)
    data, model = csv_file(columns), tmp_path / "m.json"
    fitted = run(
        "fit", data, "--target", "risk", "--k", 5, "--loss", "least_squares", "--include", nasty, "--verbose", "--output", model
    )
    assert fitted.code == 0
    outputs = [
        fitted.out,
        run("fit", data, "--target", "risk", "--k", 5, "--loss", "least_squares", "--output", tmp_path / "n.json").out,
        run("explain", model, data, "--rows", "0:3").out,
        run("certify", model, data, "--time-limit", 0).out,
        run("path", data, "--target", "risk", "--loss", "least_squares", "--ks", "1,2", "--C", 1, "--folds", 2).out,
    ]
    assert "\\u001b" in fitted.out
    for text in outputs:
        assert text
        assert all(character.isprintable() or character == "\n" for character in text)
    sql = run("export", model, "--format", "sql").out
    assert "'; DROP TABLE data; --\"" in sql  # inside the quotes of a name
    pytest.importorskip("jinja2")
    page = ["--bootstrap", 0, "--ks", "1,5", "--folds", 2, "--output", tmp_path / "r.html"]
    assert run("report", model, data, *page).code == 0
    html = (tmp_path / "r.html").read_text()
    assert "alert(1)" in html
    assert "<script>alert" not in html


def test_debug_shows_where(made, run, tmp_path):
    result = run("predict", made.model, tmp_path / "no.csv", "--debug")
    assert result.code == 2
    assert result.errors[0].startswith("Traceback")
    assert result.errors[-1].startswith("quadric: there is no file")


@pytest.mark.parametrize(
    "command", ["fit", "path", "predict", "explain", "report", "export", "certify", "compare", "paper", "data"]
)
def test_every_command_has_examples_on_lines_of_their_own(command, run):
    text = run(command, "--help").out
    examples = text.split("Examples:")[1].split("\n\n")[0].strip().splitlines()
    assert len(examples) >= 3
    assert examples[0].strip().startswith(f"quadric {command}")
    assert "\\b" not in text
    assert max(map(len, text.splitlines())) <= (90 if command == "paper" else 80)


def test_help_lists_the_options_in_groups(run):
    titles = [line for line in run("fit", "--help").out.splitlines() if line.endswith(":") and not line.startswith(" ")]
    groups = [
        "Model:",
        "Cross-validation:",
        "Samples:",
        "Classes and probabilities:",
        "Columns:",
        "Rules:",
        "Run:",
        "Reading the table:",
        "Cluster:",
    ]
    assert titles == ["Arguments:", "Options:", *groups, "Output:"]
    text = run("fit", "--help").out
    assert text.index("\nColumns:") < text.index("--ignore COLUMN") < text.index("\nRun:") < text.index("  --seed")
    assert text.count("  --help ") == 1
    assert "\nOptions:\n" in run("data", "--help").out  # which has no groups of its own


def test_of_many_columns_that_cannot_be_used_the_first_are_listed(refused, csv_file, tmp_path):
    names = [f"d{i}" for i in range(10)]
    rows = [[f"{'in ' * (j < 3)}2019-{1 + j % 12:02}-0{1 + (i + j) % 9}" for i in range(10)] for j in range(40)]
    text = "\n".join(",".join(line) for line in [[*names, "y"], *([*row, "ab"[j % 2]] for j, row in enumerate(rows))])
    fit = ["fit", csv_file(text + "\n"), "--target", "y", "--output", tmp_path / "m.json"]
    line = refused(*fit, code=2)
    assert line.startswith("quadric: every column besides the target is left out ('d0', 'd1', ")
    assert line.endswith("or use one of these (--dates d0, --texts d0)")
    lines = refused(*fit, *(word for name in names for word in ("--keep", name)), code=1, items=9)
    assert lines.splitlines()[0] == "quadric: 10 columns cannot be used:"
    assert lines.splitlines()[-1] == "- and 2 more"


def test_an_unexpected_error_is_one_line_too(made, monkeypatch, capsys):
    monkeypatch.setattr("quadric.review.certifying.certify", lambda *a, **k: 1 / 0)
    assert main(["certify", made.model, made.data_csv]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "unexpected ZeroDivisionError" in error


def test_an_interrupt_leaves_nothing_half_written(made, refused, tmp_path, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("quadric.cli.predict._lines", interrupted)
    assert refused("predict", made.model, made.data_csv, "--output", tmp_path / "s.csv", code=130) == "quadric: interrupted"


def test_an_interrupted_proof_tells_its_bound(made, run, monkeypatch):
    from quadric.search import tree

    def interrupted(self, *arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(tree.Tree, "_branch", interrupted)
    result = run("certify", made.three, made.three_csv)
    assert result.code == 130
    assert result.out == ""
    told, last = result.errors[-2:]
    assert re.fullmatch(r"quadric: interrupted; known so far: \d+ nodes: best [\d.]+, bound [\d.]+, gap [\d.]+ %", told)
    assert last == "quadric: interrupted"


@pytest.mark.parametrize(
    "limit", [["--gap-limit", "1"], ["--gap-limit", "-0.5"], ["--node-limit", "-1"], ["--time-limit", "-1"]]
)
def test_limits_of_proofs_that_make_no_sense(made, refused, limit):
    assert limit[0] in refused("certify", made.model, made.data_csv, *limit, code=2)


def test_an_interrupt_of_the_imports_is_one_line_too(monkeypatch, capsys):
    monkeypatch.setattr("builtins.__import__", raising_for("quadric.cli.app", KeyboardInterrupt))
    assert main(["--version"]) == 130
    assert capsys.readouterr().err == "quadric: interrupted\n"


def raising_for(module, error):
    """An import that fails for one module."""
    original = __import__

    def importing(name, *arguments, **more):
        if name == module:
            raise error
        return original(name, *arguments, **more)

    return importing


SLOW = """
import os, signal, sys
from quadric.cli import main, predict
predict.CHUNK_ROWS = 10
original = predict._lines
def lines(*arguments):
    os.kill(os.getpid(), signal.SIGTERM)
    return original(*arguments)
predict._lines = lines
sys.exit(main(sys.argv[1:]))
"""


def test_termination_leaves_nothing_half_written(made, tmp_path):
    predict = ["predict", made.model, made.data_csv, "--output", str(tmp_path / "s.csv")]
    ended = subprocess.run([sys.executable, "-c", SLOW, *predict], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (128 + signal.SIGTERM, "", "quadric: terminated\n")
    assert list(tmp_path.iterdir()) == []


def test_without_a_command_there_is_the_help(run):
    bare = run()
    assert bare.code == 0
    assert bare.errors == []
    assert bare.out == run("--help").out
    assert len(bare.out.splitlines()) > 15


def test_names_of_any_length_that_the_file_system_takes(made, run, refused, tmp_path):
    for command in (["predict", made.model, made.data_csv], ["export", made.model, "--format", "sql"]):
        longest = tmp_path / (command[0].ljust(250, "x"))
        assert run(*command, "--output", longest).code == 0
        assert longest.stat().st_size > 0
        assert "File name too long" in refused(*command, "--output", tmp_path / ("x" * 256), code=2)


def test_a_link_that_leads_nowhere_is_not_followed_unasked(made, refused, run, tmp_path):
    (tmp_path / "out.csv").symlink_to(tmp_path / "elsewhere.csv")
    predict = ["predict", made.model, made.data_csv, "--output", tmp_path / "out.csv"]
    assert "--force" in refused(*predict, code=2)
    assert run(*predict, "--force").code == 0
    assert (tmp_path / "elsewhere.csv").exists()


@pytest.mark.skipif(os.name == "nt", reason="files have no modes")
@pytest.mark.parametrize("command", ["predict", "export", "fit"])
def test_private_files_stay_private(command, made, run, tmp_path):
    path = tmp_path / ("private.csv" if command == "predict" else "private.sql")
    path.write_text("old")
    path.chmod(0o600)
    more = {"predict": [made.model, made.data_csv], "export": [made.model], "fit": [made.data_csv, "--target", "risk", *K]}
    assert run(command, *more[command], "--output", path, "--force").code == 0
    assert path.read_text() != "old"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_folders_that_cannot_be_written_to_are_named_before_any_work(made, tmp_path):
    def as_nobody():
        if os.geteuid() == 0:
            os.setuid(65534)
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            code = main(["predict", made.model, made.data_csv, "--output", str(tmp_path / "s.csv")])
        is_named = errors.getvalue() == f"quadric: cannot write to the folder {tmp_path}\n"
        return code if is_named else 50

    for folder in (tmp_path, *tmp_path.parents):
        if Path(tempfile.gettempdir()) in folder.parents:
            folder.chmod(0o755)
    Path(made.model).parent.chmod(0o755)
    main(["predict", made.model, made.data_csv, "--output", str(tmp_path / "first.csv")])  # imports all: nobody may not read it
    tmp_path.chmod(0o555)
    assert ended(forked(as_nobody)).code == 2
    tmp_path.chmod(0o755)
