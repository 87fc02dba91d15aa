"""Names, levels and classes that try to break out of what they are written into, through every export.

Each export either refuses them in one line or gives the scores of the model; nothing in them is run, by SQLite, DuckDB, Python,
LibreOffice, Chromium, LaTeX, onnxruntime or the terminal.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import zipfile

import numpy as np
import pytest
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from helpers.databases import in_duckdb, in_sqlite, table_sql
from helpers.random_models import (
    HOSTILE_NAMES,
    allowed_error,
    fitted_classifier,
    random_calibrators,
    random_surface,
    random_table,
    rows_of,
    scores_of,
)
from helpers.small_tables import credit_columns, csv_text
from helpers.workbooks import recalculated
from quadric.cli import main
from quadric.credit import CalibratedModel
from quadric.export import equation, load_model, save_model, scoring_model, to_excel, to_latex, to_onnx, to_python, to_sql
from quadric.safe_csv import CsvWriter, as_text
from quadric.tables import Table, TableEncoder

CANARY = "canary.txt"
"""A file that appears where something was run."""
ATTACKS = [
    *HOSTILE_NAMES,
    f"=cmd|' /C echo > {CANARY}'!A0",
    f'=HYPERLINK("http://example.org/{CANARY}","click")',
    "{=SUM(A1:A9)}",
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@x",
    "\t=1+1",
    "\r=1+1",
    "+1",
    "-1",
    f"__import__('os').system('touch {CANARY}')",
    f"'); open('{CANARY}', 'w'); ('",
    f'"); open("{CANARY}", "w"); ("',
    f"'; ATTACH DATABASE '{CANARY}' AS x; CREATE TABLE x.t (a); --",
    f"\"; COPY (SELECT 1) TO '{CANARY}'; --",
    "' OR '1'='1",
    "select",
    "FROM",
    "null",
    "TRUE",
    "rowid",
    f"\\immediate\\write18{{touch {CANARY}}}",
    "\\input{/etc/passwd}",
    "^^5cinput",
    "}}\\end{document}",
    "{{ 7*7 }}",
    "{% raw %}",
    "${7*7}",
    "<script>document.title='pwned'</script>",
    "<img src=x onerror=\"document.title='pwned'\">",
    "</title><svg onload=document.title='pwned'>",
    "]]>",
    "<!--",
    "&lt;b&gt;",
    "javascript:alert(1)",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\u202eevil\u2066",
    "zero\u200bwidth",
    "nul\x00byte",
    "a\\",
    "a\\'",
    "$(touch canary.txt)",
    "`touch canary.txt`",
    "%0a%0d",
    "%n%n%s",
    "x" * 300,
    "🙂",
    "NaN",
    "None",
    "__class__",
    "quadric_score",
]
ATTACKS = list(dict.fromkeys(ATTACKS))


def model_of(seed):
    """A model in whose names everything is an attack, and rows to score."""
    rng = np.random.default_rng(seed)
    names = [str(name) for name in rng.permutation(np.array(ATTACKS, dtype=object))]
    levels = np.array(ATTACKS, dtype=object)
    table = random_table(rng, names[:4], 2, 25, 0.1, levels)
    if len({name.lower() for name in table.names}) < 4:
        return model_of(seed + 10_000)
    encoder = TableEncoder(missing="indicator", unseen="other").fit(table)
    X = encoder.transform(table)
    n_classes = 2 + seed % 2
    surfaces = [random_surface(rng, X.shape[1]) for _ in range(1 if n_classes == 2 else 3)]
    classes = sorted(names[4 : 4 + n_classes])
    model = Pipeline(
        [
            ("coding", encoder),
            ("scaler", StandardScaler().fit(X)),
            ("classifier", fitted_classifier(surfaces, np.array(classes, dtype=object))),
        ]
    )
    if seed % 4 > 1:
        model = CalibratedModel.from_parts(model, random_calibrators(rng, len(surfaces)))
    return model, table


def refused(export, tally, name):
    """What an export gives; or None, where it refuses in one line."""
    try:
        result = export()
    except ValueError as error:
        message = str(error)
    else:
        tally(f"injection: {name}, same scores")
        return result
    assert message.isprintable(), message
    tally(f"injection: {name}, refused")
    return None


@pytest.fixture(autouse=True)
def nothing_is_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield
    assert not list(tmp_path.rglob(f"*{CANARY}*"))


def agrees(model, table, scores, labels):
    assert (
        np.abs(np.asarray(scores, dtype=float).reshape(len(table), -1) - scores_of(model, table)) <= allowed_error(model, table)
    ).all()
    assert list(labels) == model.predict(table).tolist()


@pytest.fixture
def seeds(size):
    return range(size(24, 400))


@pytest.mark.parametrize("database", [in_sqlite, in_duckdb])
def test_sql(database, seeds, tally):
    for seed in seeds:
        model, table = model_of(seed)
        made = refused(lambda model=model, table=table: (table_sql(table), to_sql(model, prefix="new ")), tally, "SQL")
        if made is None:
            continue
        rows = sorted(database(*made), key=lambda row: row["row_number"])
        names = scoring_model(model).outputs("new ").scores
        agrees(model, table, [[row[name] for name in names] for row in rows], [row["new label"] for row in rows])


def test_python(seeds, tally):
    for seed in seeds:
        model, table = model_of(seed)
        text = refused(lambda model=model: to_python(model), tally, "Python")
        module = {"__name__": "generated"}
        exec(compile(text, "generated", "exec"), module)
        results = [module["predict"](row) for row in rows_of(table)]
        agrees(model, table, [result["scores"] for result in results], [result["label"] for result in results])
        module["check"]()


def test_onnx(seeds, tally, tmp_path):
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    for seed in seeds[::2]:
        model, table = model_of(seed)
        refused(lambda model=model: to_onnx(model, tmp_path / "model.onnx", dtype="float64"), tally, "ONNX")
        session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
        about = {key: json.loads(text) for key, text in session.get_modelmeta().custom_metadata_map.items()}
        feed = {
            "numbers": np.array([table[name] for name in about["numbers"]]).T,
            "categories": np.array(
                [["" if t is None else t for t in table[name]] for name in about["categories"]], dtype=object
            ).T,
        }
        found = session.run(["score", "label"], {name: value for name, value in feed.items() if value.size})
        agrees(model, table, found[0], found[1])


def test_model_files(seeds, tally, tmp_path):
    for seed in seeds:
        model, table = model_of(seed)
        refused(lambda model=model: save_model(model, tmp_path / "model.json"), tally, "model file")
        loaded = load_model(tmp_path / "model.json")
        assert np.array_equal(scores_of(loaded, table), scores_of(model, table))
        assert loaded.predict(table).tolist() == model.predict(table).tolist()


def test_excel(size, tally, tmp_path):
    pytest.importorskip("xlsxwriter")
    models = {seed: model_of(seed) for seed in range(size(4, 40))}
    for seed, (model, table) in models.items():
        path = tmp_path / f"model{seed}.xlsx"
        scoring = scoring_model(model, samples=table)
        refused(lambda scoring=scoring, path=path: to_excel(scoring, path, spare_rows=0), tally, "Excel")
        with zipfile.ZipFile(path) as book:
            sheets = b"".join(book.read(name) for name in book.namelist() if name.startswith("xl/worksheets/"))
        assert b"<hyperlink" not in sheets
        assert not re.search(rb"<f>[^<]*(cmd|canary|HYPERLINK|DDE|A1:A9)", sheets)
    books = recalculated(tmp_path)
    for seed, (model, table) in models.items():
        _, *rows = books[f"model{seed}"]
        start = 1 + len(scoring_model(model).inputs)
        stop = start + scores_of(model, table).shape[1]
        scores = np.array([row[start:stop] for row in rows], dtype=float)
        assert (np.abs(scores - scores_of(model, table)) <= allowed_error(model, table)).all()
        assert [only_printable(row[stop]) for row in rows] == [only_printable(label) for label in model.predict(table)]
        assert {row[-1] for row in rows} == {"ok"}


def only_printable(text):
    """LibreOffice leaves some control characters out when it writes CSV."""
    return "".join(character for character in text if character.isprintable())


COMMANDS = {
    *("text", "textbackslash", "textasciitilde", "textasciicircum", "textless", "textgreater", "textbar", "textquotedbl"),
    *("begin", "end", "frac", "left", "right", "operatorname", "cdot", "quad", "hline"),
}


def test_latex(seeds, tally):
    for seed in seeds:
        text = refused(lambda seed=seed: to_latex(model_of(seed)[0]), tally, "LaTeX")
        assert all(line.isprintable() for line in text.split("\n"))
        body = re.sub(r"^%.*$", "", text, flags=re.MULTILINE).replace(r"\\", "")
        assert set(re.findall(r"\\([A-Za-z]+)", body)) <= COMMANDS
        assert re.findall(r"\\(?:begin|end)\{(.*?)\}", body) == ["align*", "align*", "tabular", "tabular"]
        bare = re.sub(r"\\[{}]", "", body)
        assert bare.count("{") == bare.count("}")
        assert not re.search(r"(?<!\\)[%$#~]", body)


LATEX = next(filter(None, map(shutil.which, ("lualatex", "xelatex", "tectonic"))), None)
"""Names have characters of many scripts, for which pdflatex would need packages; and LuaLaTeX can run code."""


@pytest.mark.skipif(LATEX is None, reason="no LaTeX is installed (Debian: texlive-latex-base)")
def test_latex_compiles_without_running_anything(size, tmp_path, tally):
    options = [] if LATEX.endswith("tectonic") else ["-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error"]
    head = "\\documentclass{article}\\usepackage[T1]{fontenc}\\usepackage{amsmath}\\begin{document}\n"
    for seed in range(size(2, 20)):
        (tmp_path / "model.tex").write_text(f"{head}{to_latex(model_of(seed)[0])}\n\\end{{document}}\n", encoding="utf-8")
        done = subprocess.run([LATEX, *options, "model.tex"], cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:]
        assert {file.name for file in tmp_path.iterdir()} <= {f"model.{kind}" for kind in ("tex", "pdf", "log", "aux")}
        tally("injection: LaTeX, compiled")


def test_equations_are_printable(seeds):
    for seed in seeds:
        assert all(line.isprintable() for line in equation(model_of(seed)[0]).split("\n"))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        *((text, f"'{text}") for text in ("=1+1", "+1+1", "-2+3", "@x", "\t=1", "\r=1", "＝1", "-abc", "'=1", "''@x")),
        *(
            (text, text)
            for text in ("-1", "+1", "-1.5", "-1,5", "-1e-5", "-5%", "-", "--", "abc", "a=b", "", "'quoted'", "1-2")
        ),
        *((number, number) for number in (-1.5, -1, 0, None)),
    ],
)
def test_texts_that_look_like_formulas_get_a_quote_and_numbers_do_not(text, written):
    assert as_text(text) == written


def test_no_two_texts_are_written_as_the_same():
    texts = {"'" * n + attack for attack in ATTACKS for n in range(4)}
    assert len(set(map(as_text, texts))) == len(texts)


@pytest.mark.parametrize("cell", ["a\rb", "\r", "a\r\nb", "a\nb", 'a"\r'])
def test_line_ends_inside_a_cell_are_no_rows(cell):
    text = io.StringIO(newline="")
    CsvWriter(text).writerows([["name", cell], ["x", 1.5], [cell, 2.5]])
    rows = list(csv.reader(io.StringIO(text.getvalue(), newline=None)))  # as a text file that any line end ends
    assert [len(row) for row in rows] == [2, 2, 2]
    exact = list(csv.reader(io.StringIO(text.getvalue(), newline="")))
    assert exact == [["name", as_text(cell)], ["x", "1.5"], [as_text(cell), "2.5"]]


@pytest.mark.parametrize("cell", ["plain", "a,b", 'a"b', "a\nb", "a\rb", "=1+1", "'=1", "-1", "", None])
def test_columns_are_written_as_their_rows_are(cell):
    texts, columns = [], [["name", "x", cell, "y"], [0.1, cell, -1e-9, None]]
    for write in (lambda out: out.writerows(zip(*columns, strict=True)), lambda out: out.writecolumns(columns)):
        text = io.StringIO(newline="")
        writer = CsvWriter(text)
        write(writer)
        texts.append((text.getvalue(), writer.n_quoted))
    assert texts[0] == texts[1]


def hostile_csv(seed):
    """A table whose names, levels and classes are attacks, as far as texts in a CSV file can be; and the name of its target."""
    taken = ("\x00", "NaN", "None", "null", "\\N")
    pool = [a for a in ATTACKS if a.strip() == a and len(a) < 100 and "\x00" not in a and a not in taken]
    names = [str(name) for name in np.random.default_rng(seed).permutation(np.array(pool, dtype=object))]
    columns = credit_columns(classes=tuple(sorted(names[:2])), seed=seed)
    home = dict(zip(("own", "rent", "free"), names[2:5], strict=True))
    columns["home"] = np.array([home[level] for level in columns["home"]], dtype=object)
    return dict(zip(names[5:10], columns.values(), strict=True)), names[9]


CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")
WRITTEN = {"score", "label"}
"""Columns of the output, beside which none of the same name is kept."""
FIT = [
    "fit",
    "data.csv",
    "--k",
    "3",
    "--C",
    "1",
    "--loss",
    "least_squares",
    "--no-calibrate",
    "--output",
    "model.json",
    "--force",
]


def test_commands(size, tally, tmp_path, capsys):
    """Nothing that a terminal obeys is printed, and nothing that a spreadsheet runs is written."""
    for seed in range(size(4, 60)):
        columns, target = hostile_csv(seed)
        (tmp_path / "data.csv").write_text(csv_text(columns, end="\r\n"), encoding="utf-8", newline="")
        for arguments in [
            [*FIT, f"--target={target}"],
            ["predict", "model.json", "data.csv", f"--keep={target}", "--output", "scores.csv", "--force"],
            ["explain", "model.json", "data.csv", "--rows", "0,1"],
            ["export", "model.json", "--output", "model.py", "--force"],
            ["predict", "model.json", "data.csv", "--keep", "no such column"],
        ]:
            code = main(arguments)
            captured = capsys.readouterr()
            refused = arguments[-1] == "no such column" or (arguments[0] == "predict" and target in WRITTEN)
            assert code == (2 if refused else 0), (arguments, captured.err)
            assert not CONTROL.search(captured.out + captured.err), (arguments, captured.out, captured.err)
            assert "new\nline" not in captured.out + captured.err  # a name must not look like a line of its own
            tally(f"injection: command {arguments[0]}")
        if target in WRITTEN:
            continue
        rows = list(csv.reader(io.StringIO((tmp_path / "scores.csv").read_bytes().decode("utf-8"), newline="")))
        assert [row[0] for row in rows] == [as_text(cell) for cell in [target, *columns[target]]]
        assert all(as_text(cell) == cell or cell.startswith("'") for row in rows for cell in row)


def test_commands_after_the_fit(size, tmp_path, monkeypatch, capsys):
    """Overrides, reject inference, scorecards and monitoring: a terminal, a spreadsheet and a browser find nothing to run."""
    monkeypatch.chdir(tmp_path)
    decision, key = "=decision\u202e", "=id\n<script>alert(1)</script>"
    for seed in range(size(2, 20)):
        columns, target = hostile_csv(seed)
        good, bad = sorted(set(columns[target]))
        rng = np.random.default_rng(seed)
        columns[decision] = np.where(rng.random(len(columns[target])) < 0.8, columns[target], rng.choice([good, bad]))
        columns[key] = np.array([f"=cmd|' /C calc'!A{row}" for row in range(len(columns[target]))], dtype=object)
        rejects = columns[target].astype(object)
        rejects[::4] = ""
        for name, table in (("data.csv", columns), ("rejects.csv", columns | {target: rejects})):
            (tmp_path / name).write_text(csv_text(table, end="\r\n"), encoding="utf-8", newline="")
        own = [f"--target={target}", f"--favourable={good}", f"--ignore={decision}", f"--ignore={key}", "--loss", "logistic"]
        for arguments in [
            ["fit", "data.csv", *own, "--k", "3", "--C", "1", "--points", "600:20:50", "--output", "model.json"],
            [
                "overrides",
                "model.json",
                "data.csv",
                f"--decision={decision}",
                f"--approved={good}",
                "--output",
                "overrides.csv",
            ],
            ["rejects", "rejects.csv", *own, "--k", "2", "--C", "1", "--output", "r.json", "--sensitivity", "factors.csv"],
            ["export", "model.json", "--output", "card.html"],
            ["monitor", "model.json", "data.csv", "--output", "monitor.html"],
        ]:
            code = main([*arguments, "--force"])
            captured = capsys.readouterr()
            assert code == 0, (arguments, captured.err)
            assert not CONTROL.search(captured.out + captured.err), arguments
            assert "new\nline" not in captured.out + captured.err
        for name in ("overrides.csv", "factors.csv", "card.html", "monitor.html"):
            text = (tmp_path / name).read_text(encoding="utf-8")
            assert "<script>alert" not in text
            assert "/C calc'!A1" not in text  # rows are counted, and no value of theirs is written
            assert name.endswith(".csv") or not CONTROL.search(text), name


def test_names_that_differ_in_case_only_are_refused_by_sql_alone():
    table = Table(("age", "Age"), (np.array([1.0, 2.0, 3.0]), np.array([3.0, 1.0, 2.0])))
    surface = random_surface(np.random.default_rng(0), 2)
    model = Pipeline([("coding", TableEncoder().fit(table)), ("classifier", fitted_classifier([surface], ["no", "yes"]))])
    with pytest.raises(ValueError, match=r"^the columns 'age' and 'Age' are one and the same to most databases: rename one"):
        to_sql(model)
    module = {"__name__": "generated"}
    exec(to_python(model), module)
    agrees(model, table, [module["predict"](row)["scores"] for row in rows_of(table)], model.predict(table))


@pytest.mark.skipif(not shutil.which("chromium"), reason="needs a browser: Debian's package chromium")
def test_reports_in_a_browser(pytestconfig, tmp_path):
    if not pytestconfig.getoption("--full"):
        pytest.skip("tests/report opens a hostile page in a browser too; this one only with --full")
    for seed in range(3):
        columns, target = hostile_csv(seed)
        (tmp_path / "data.csv").write_text(csv_text(columns, end="\r\n"), encoding="utf-8", newline="")
        assert main([*FIT, f"--target={target}"]) == 0
        report = ["report", "model.json", "data.csv", "--bootstrap", "0", "--ks", "1:3", "--output", "report.html", "--force"]
        assert main(report) == 0
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom", (tmp_path / "report.html").as_uri()]
        done = subprocess.run(["chromium", *arguments], capture_output=True, check=True, text=True, encoding="utf-8")
        assert "</html>" in done.stdout
        assert not re.search(r"<title>\s*pwned", done.stdout)
