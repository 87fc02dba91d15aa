"""Standard streams that are closed, full, cut off or of another encoding: one line, a sane exit code, and files as ever."""

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.commands import ended, forked
from helpers.small_tables import credit_columns, csv_text
from quadric.cli import main, predict

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
FIT = "fit data.csv --target risk --k 3 --C 4 --loss least_squares --no-calibrate --force --output"
PRINTING = {
    "predict": "predict model.json data.csv",
    "predict, JSON": "predict model.json data.csv --json",
    "fit": f"{FIT} new.json",
    "explain": "explain model.json data.csv --rows 0:2 --favourable gut",
    "certify": "certify model.json data.csv",
    "export": "export model.json --format sql",
    "equation": "export model.json --format equation",
    "path": "path data.csv --target risk --loss least_squares --ks 1,2 --C 4 --folds 2",
    "data": "data",
    "help": "--help",
    "help of a command": "fit --help",
    "version": "--version",
}
NO_FULL_DEVICE = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A table whose names are not ASCII, and its model."""
    folder = tmp_path_factory.mktemp("streams")
    columns = credit_columns(n_rows=60, classes=("gut", "schön"))
    named = {{"age": "größe", "income": "年収"}.get(name, name): column for name, column in columns.items()}
    (folder / "data.csv").write_text(csv_text(named), encoding="utf-8")
    with contextlib.chdir(folder):
        assert main(f"{FIT} model.json --include größe".split()) == 0
        yield folder


@pytest.fixture(autouse=True)
def _outputs_are_removed(place):
    yield
    for name in ("out", "err", "new.json", "new.csv"):
        Path(name).unlink(missing_ok=True)


def stream(number, encoding):
    """What Python makes of a descriptor when it starts."""
    try:
        os.fstat(number)
    except OSError:
        return None
    errors = "backslashreplace" if number == 2 else "strict"
    raw = io.FileIO(number, "w", closefd=False)
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding=encoding, errors=errors, line_buffering=number == 2)


def command(words, *, out="out", err="err", closed=(), encoding="utf-8"):
    """Run a command as a process of its own: its exit code, and what it printed to files."""

    def start():
        for number, path in ((1, out), (2, err)):
            os.dup2(path if isinstance(path, int) else os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        for number in closed:
            os.close(number)
        sys.stdout, sys.stderr = stream(1, encoding), stream(2, encoding)
        sys.argv = ["quadric", *words.split()]
        code = main()
        for each in (sys.stdout, sys.stderr):  # as Python does when it ends
            try:
                each is None or each.flush()
            except OSError:
                code = 120
        return code

    code = ended(forked(start)).code
    printed = [Path(path).read_bytes() if isinstance(path, str) and os.path.isfile(path) else b"" for path in (out, err)]
    return code, *printed


def lines(text):
    """Remarks on standard error; others may come before the error."""
    return [line for line in text.decode().splitlines() if line.startswith("quadric: ")]


@pytest.mark.parametrize("name", PRINTING)
def test_a_closed_output_is_one_line(name, place, tally):
    code, _, err = command(PRINTING[name], closed=[1])
    assert (code, lines(err)) == (1, ["quadric: cannot write to standard output: it is closed"])
    tally("streams: output closed")


@NO_FULL_DEVICE
@pytest.mark.parametrize("name", PRINTING)
def test_a_full_output_is_one_line(name, place, tally):
    code, _, err = command(PRINTING[name], out="/dev/full")
    assert (code, lines(err)) == (1, ["quadric: cannot write to standard output: No space left on device"])
    tally("streams: output full")


@pytest.mark.parametrize("name", PRINTING)
def test_a_reader_that_has_seen_enough_is_no_words(name, place, tally):
    reading, writing = os.pipe()
    os.close(reading)
    code, _, err = command(PRINTING[name], out=writing)
    os.close(writing)
    assert (code, lines(err)) == (1, [])
    tally("streams: output cut off")


@pytest.mark.parametrize(("closed", "code"), [([2], 2), ([1, 2], 2), ([0, 1, 2], 2)])
def test_errors_never_go_to_standard_output(closed, code, place):
    assert command("predict model.json no.csv", closed=closed) == (code, b"", b"")


@pytest.mark.parametrize("err", ["closed", pytest.param("full", marks=NO_FULL_DEVICE)])
def test_results_do_not_depend_on_standard_error(err, place, monkeypatch):
    monkeypatch.setattr("quadric.cli.console.FIRST_AFTER", 0.0)
    monkeypatch.setattr("quadric.cli.console.SECONDS_BETWEEN_LINES", 0.01)
    expected = command(PRINTING["predict"])
    assert b"predict: " in expected[2]
    found = command(PRINTING["predict"], closed=[2]) if err == "closed" else command(PRINTING["predict"], err="/dev/full")
    assert found[:2] == expected[:2]


def test_closed_streams_do_not_end_in_files(place, monkeypatch):
    def printing(*arguments):
        for number in (1, 2):
            os.write(number, b"printed by a library")
        return original(*arguments)

    expected = command(PRINTING["predict"])[1]
    original = predict._lines
    monkeypatch.setattr(predict, "_lines", printing)
    code, _, _ = command("predict model.json data.csv --force --output new.csv", closed=[0, 1, 2])
    assert code == 1  # what it says of the file cannot be said
    assert Path("new.csv").read_bytes() == expected


@pytest.mark.parametrize("name", ["fit", "explain", "certify", "equation", "path"])
def test_terminals_without_a_character_show_its_escape(name, place, tally):
    code, out, err = command(PRINTING[name], encoding="ascii")
    assert (code, lines(err)) == (0, [])
    assert out.isascii()
    assert b"\\xf6" in out
    tally("streams: ASCII terminal")


def test_data_on_standard_output_are_utf_8(place):
    words = "predict model.json data.csv --keep größe --keep 年収"
    code, out, _ = command(words, encoding="ascii")
    assert (code, out.decode().splitlines()[0]) == (0, "größe,年収,score,label")
    assert command(f"{words} --force --output new.csv", encoding="ascii")[0] == 0
    assert Path("new.csv").read_bytes() == out
    assert '"größe"' in command(PRINTING["export"], encoding="ascii")[1].decode()


def test_errors_can_be_said_in_ascii(place):
    code, _, err = command("predict model.json größe.csv", encoding="ascii")
    assert (code, err) == (2, b"quadric: there is no file gr\\xf6\\xdfe.csv\n")


def real(words, redirection, **environment):
    """The command in a shell."""
    line = f'"{sys.executable}" -m quadric {words} {redirection}'
    return subprocess.run(["bash", "-c", line], capture_output=True, env={**os.environ, **environment}, check=False)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="needs bash")
def test_real_processes_with_closed_and_odd_streams(place):
    done = real("--version", ">&-")
    assert (done.returncode, done.stderr) == (1, b"quadric: cannot write to standard output: it is closed\n")
    done = real("--help", "| true; exit ${PIPESTATUS[0]}")
    assert (done.returncode, done.stderr) == (1, b"")
    done = real("no-such-command", "2>&-")
    assert (done.returncode, done.stdout) == (2, b"")
    done = real("predict model.json data.csv", ">&-", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (1, b"quadric: cannot write to standard output: it is closed\n")
    done = real("export model.json --format equation", "", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stdout.isascii(), done.stderr) == (0, True, b"")


def test_a_program_that_calls_the_command_keeps_its_streams(place, monkeypatch):
    text = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="strict")
    monkeypatch.setattr(sys, "stdout", text)
    assert main(PRINTING["explain"].split()) == 0
    assert sys.stdout is text
    assert (text.encoding, text.errors) == ("ascii", "strict")
