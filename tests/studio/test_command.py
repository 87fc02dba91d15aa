"""``quadric studio`` as people start it; and the command that the page shows, typed into a shell."""

import json
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from helpers.studios import LOANS, Visitor
from quadric.cli import options as shared
from quadric.cli.studio import option_words
from quadric.workflow import TrainingOptions

QUADRIC = [sys.executable, "-m", "quadric"]


class Started:
    """A running command."""

    def __init__(self, folder, *words):
        command = [*QUADRIC, "studio", *words, "--no-browser"]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + self.process.stderr.read()
        self.address = found[0]

    def stopped(self):
        self.process.send_signal(signal.SIGINT)
        output = self.process.communicate(timeout=30)
        return self.process.returncode, output[1]


def told(visitor, path, value):
    status, answer = visitor.ask("POST", path, value)
    assert status == 200, answer
    return json.loads(answer)


def without_history(path):
    """A model file but for how it came about, and the digest of that."""
    document = json.loads(Path(path).read_text())
    for part in (document, document["digest"]):
        del part["metadata"]
    return document


def test_the_command_on_the_page_makes_the_same_model(tmp_path):
    fixed = ["--k", "4", "--C", "16", "--loss", "least_squares", "--terms", "quadratic"]
    started = Started(tmp_path, str(LOANS), "--target", "risk", *fixed)
    try:
        visitor = Visitor(started).enter()
        told(visitor, "/do", {"do": "forbid", "term": "amount"})
        told(visitor, "/do", {"do": "column", "column": "housing", "out": True})
        told(visitor, "/do", {"do": "hierarchy", "rule": "weak"})
        told(visitor, "/do", {"do": "k", "k": 5})
        told(visitor, "/do", {"do": "cutoff", "cutoff": 0.35})
        answer = told(visitor, "/save", {"name": "page", "notes": "as agreed"})
    finally:
        code, errors = started.stopped()
    assert (code, errors[-2000:]) == (130, "quadric: interrupted\n")
    assert "Traceback" not in errors
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.model.json"]
    command = shlex.split(answer["command"])
    assert command[:2] == ["quadric", "fit"]
    command[-1] = "shell.model.json"
    subprocess.run([*QUADRIC, *command[1:]], cwd=tmp_path, check=True, capture_output=True)
    assert without_history(tmp_path / "page.model.json") == without_history(tmp_path / "shell.model.json")
    again = Started(tmp_path, "page.model.json", str(LOANS))
    try:
        start = json.loads(Visitor(again).enter().ask("GET", "/start")[1])
    finally:
        again.stopped()
    assert start["state"]["rules"]["cutoff"] == 0.35
    assert shlex.split(start["state"]["command"])[:-1] == shlex.split(answer["command"])[:-1]


def test_the_command_on_the_page_runs_where_names_begin_with_a_dash(tmp_path):
    text = LOANS.read_text(encoding="utf-8")
    tmp_path.joinpath("-s.csv").write_text(text.replace("risk", "--risk", 1), encoding="utf-8")
    fixed = ["--k", "3", "--C", "16", "--loss", "least_squares", "--terms", "linear"]
    started = Started(tmp_path, "./-s.csv", "--target=--risk", *fixed, "--keep", "age", "--keep-open")
    try:
        visitor = Visitor(started).enter()
        name = json.loads(visitor.ask("GET", "/start")[1])["file"]
        command = told(visitor, "/save", {"name": name})["command"]
    finally:
        started.stopped()
    assert shlex.split(command)[2:4] == ["./-s.csv", "--target=--risk"]
    tmp_path.joinpath(name).rename(tmp_path / "page.json")
    subprocess.run([*QUADRIC, *shlex.split(command)[1:]], cwd=tmp_path, check=True, capture_output=True)
    assert without_history(tmp_path / name) == without_history(tmp_path / "page.json")


@pytest.mark.parametrize(
    "options",
    [
        TrainingOptions(),
        TrainingOptions(k=4, C=0.1 + 0.2, loss="hinge", cross_validate=True, standardize=False, clip=None, calibrate=None, ks=(1, 7)),
        TrainingOptions(
            exclude=("-x", "a b*", "it's"), class_weight={"a=b": 2.0}, interaction_cst=(("a", "b"), ("c",)), feature_cost={"a:b": 1.5},
            max_cost=3.0, cutoff="cost:5:1", rule="1se", Cs=(0.25, 1e-7), allow_degenerate=True, n_jobs=2,
        ),
        TrainingOptions(interaction_cst="no_interactions", class_weight="balanced", clip=0.02, rule=0.01, positive="-1"),
    ],
)  # fmt: skip
def test_written_options_are_read_as_the_same(options):
    seen = []

    @shared.expanded(options=shared.training())
    def command(*, options: TrainingOptions) -> None:
        seen.append(options)

    app = typer.Typer()
    app.command()(command)
    app(option_words(options), standalone_mode=False)
    assert seen == [options]


UNFITTED = {
    "one class": ("a,b,t", lambda i: f"{i % 7},{i % 5},good", [], "--target t"),
    "constant": ("a,b,t", lambda i: f"1,2,{'gb'[i % 2]}", [], "--target t --k 3"),
    "identifiers": ("id,t", lambda i: f"X{i:05d},{'gb'[i % 2]}", ["--keep", "id"], "--target t"),
    "few": ("a,t", lambda i: f"{i % 7},{'g' if i > 2 else 'b'}", [], "--target t"),
}


@pytest.mark.parametrize(("head", "row", "remedy", "options"), UNFITTED.values(), ids=UNFITTED)
def test_a_table_that_cannot_be_fitted_is_said_on_the_page_in_the_words_of_fit(tmp_path, head, row, remedy, options):
    tmp_path.joinpath("bad.csv").write_text("\n".join([head, *map(row, range(40)), ""]), encoding="utf-8")
    words = options.split()
    done = subprocess.run([*QUADRIC, "fit", "bad.csv", *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode in (1, 2)
    refusal = done.stderr.splitlines()[-1]
    started = Started(tmp_path, "bad.csv", *words)
    try:
        visitor = Visitor(started).enter()
        told_by_page = json.loads(visitor.ask("GET", "/start")[1])
        assert visitor.ask("POST", "/do", {"do": "k", "k": 3})[0] == 404
    finally:
        code, errors = started.stopped()
    unfitted = told_by_page.pop("unfitted")
    assert told_by_page == {"name": "bad.csv"}
    assert f"quadric: {unfitted['words']}" == refusal
    assert "Ctrl-C" in unfitted["onward"]
    assert shlex.split(unfitted["command"]) == ["quadric", "studio", "bad.csv", *words, *remedy]
    assert (code, errors.splitlines()[-1]) == (130, "quadric: interrupted")
    assert refusal in errors.splitlines()
    assert unfitted["command"] in errors
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["none.csv", "--target", "risk"], "there is no file none.csv"),
        ([str(LOANS)], "name the column with the classes: --target"),
        ([str(LOANS), "--target", "rsik"], "did you mean 'risk'?"),
        ([str(LOANS), "--target", "housing"], "the studio takes two classes, and the target has 3"),
        ([str(LOANS), "--target", "risk", "--output-folder", "nowhere"], "there is no folder nowhere; make it first"),
        ([str(LOANS), "--target", "risk", "--exclude", "agee"], "there is no term 'agee'"),
        ([str(LOANS), "--target", "risk", "--folds", "999"], "choose"),
        (["a", "b", str(LOANS)], "give one table, or a model file and a table"),
        ([str(LOANS), str(LOANS), "--target", "risk"], "a model file brings its target and its options"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, words, sentence):
    done = subprocess.run([*QUADRIC, "studio", *words, "--no-browser"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert sentence in " ".join(done.stderr.split())
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_table_that_cannot_be_read_is_refused_at_once(tmp_path):
    tmp_path.joinpath("ragged.csv").write_text("a,t\n1,g\n2,b,3,4\n", encoding="utf-8")
    command = [*QUADRIC, "studio", "ragged.csv", "--target", "t", "--no-browser"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "line 3" in done.stderr
