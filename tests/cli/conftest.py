"""A small table in a file, and a model fitted to it by the command itself."""

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers.small_tables import credit_columns, csv_text
from quadric.cli import main

FIT = [
    "--target",
    "risk",
    "--positive",
    "bad",
    "--favourable",
    "good",
    "--k",
    "4",
    "--C",
    "1",
    "--loss",
    "least_squares",
    "--no-clip",
]


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Files that tests read and never change: data.csv, model.json, calibrated.json, three.csv, three.json."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "data.csv").write_text(csv_text(credit_columns()))
    (folder / "three.csv").write_text(csv_text(credit_columns(classes=("a", "b", "c"))))
    paths = {path.stem: path for path in folder.iterdir()}
    model, calibrated, three = (folder / f"{name}.json" for name in ("model", "calibrated", "three"))
    assert main(["fit", str(paths["data"]), *FIT, "--no-calibrate", "--output", str(model)]) == 0
    assert main(["fit", str(paths["data"]), *FIT, "--output", str(calibrated)]) == 0
    fit_three = ["--target", "risk", "--k", "3", "--C", "1", "--loss", "least_squares", "--no-calibrate"]
    assert main(["fit", str(paths["three"]), *fit_three, "--output", str(three)]) == 0
    return SimpleNamespace(
        **{f"{name}_csv": str(path) for name, path in paths.items()},
        model=str(model),
        calibrated=str(calibrated),
        three=str(three),
    )


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch):
    """Remarks are one line each, however wide the terminal is that the tests run in, and however slow the machine."""
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("quadric.cli.console.FIRST_AFTER", threading.TIMEOUT_MAX)


@pytest.fixture
def run(capsys):
    """Run the command; its exit code, standard output and the lines of standard error."""

    def call(*arguments):
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return SimpleNamespace(code=code, out=captured.out, errors=captured.err.splitlines())

    return call


@pytest.fixture
def refused(run, tmp_path):
    """Run a command that must fail: one line on standard error, or a list, and the files of the folder as they were."""

    def call(*arguments, code, items=0):
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        result = run(*arguments)
        assert (result.code, result.out) == (code, "")
        assert len(result.errors) == 1 + items, result.errors
        assert all(line.startswith("- ") for line in result.errors[1:])
        assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
        return "\n".join(result.errors)

    return call


@pytest.fixture
def csv_file(tmp_path):
    """Write a CSV file from columns or text."""

    def write(content, name="given.csv", encoding="utf-8") -> Path:
        path = tmp_path / name
        path.write_bytes((content if isinstance(content, str) else csv_text(content)).encode(encoding))
        return path

    return write


@pytest.fixture
def streamed(monkeypatch):
    """From the call on, have every table read in small pieces."""
    from quadric.samples import extent
    from quadric.tables import TableStream, _csv

    def switch():
        monkeypatch.setattr(extent, "PASSES_FROM", 0)
        monkeypatch.setattr(_csv, "BLOCK", 2_000)
        monkeypatch.setitem(TableStream.__init__.__kwdefaults__, "rows", 67)

    return switch
