"""Progress, warnings and texts as terminals show them."""

import os
import re
import sys
import threading
import time
import warnings

import pytest

from quadric.cli import console
from quadric.cli.inputs import integers, numbers, rows
from quadric.cli.layout import text_table, wrapped_equation
from quadric.files import replacing
from quadric.progress import RowsRead, advance, counted


@pytest.fixture
def at_once(monkeypatch):
    """Progress from the beginning, and often."""
    monkeypatch.setattr(console, "FIRST_AFTER", 0.0)
    monkeypatch.setattr(console, "SLACK", float("inf"))  # however slow the machine
    for name in ("SECONDS_BETWEEN_LINES", "SECONDS_BETWEEN_FRAMES"):
        monkeypatch.setattr(console, name, 0.01)


def until(seen, words):
    """Wait until something is shown."""
    for _ in range(1000):
        if words in seen():
            return
        time.sleep(0.01)
    raise AssertionError(f"{words!r} was not shown: {seen()!r}")


def test_short_work_says_nothing(capsys):
    with console.working("fit") as describe:
        describe("a line")
        list(counted(range(3), 3, "folds"))
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("at_once")
def test_lines_tell_share_time_left_and_what_is_done(capsys):
    shown = []

    def seen():
        shown.append(capsys.readouterr().err)
        return "".join(shown)

    with console.working("fit") as describe:
        until(seen, "fit: 0 s so far\n")
        describe("reading\x1b")
        until(seen, "fit: 0 s so far, reading\\x1b\n")
        advance(0.25, "folds")
        until(seen, "fit: 25 %, about 1 s left, folds\n")
        advance(0.125, "again")
        until(seen, "fit: 25 %, about 1 s left, again\n")


def test_time_left_is_extrapolated_and_never_grows_while_nothing_gets_done(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    meter, shown = console._Meter("fit"), {}
    for now[0], share in ((110.0, 0.25), (115.0, 0.1), (130.0, 0), (142.0, 0), (145.0, 0.25), (160.0, 0.5)):
        if share:
            meter.advance(share, "folds")
        shown[now[0]] = meter.line
    assert list(shown.values()) == [
        "fit: 25 %, about 30 s left, folds",
        "fit: 25 %, about 25 s left, folds",
        "fit: 25 %, about 10 s left, folds",
        "fit: 25 %, about 1 s left, folds",
        "fit: 25 %, 45 s so far, folds",
        "fit: 50 %, about 2 min left, folds",
    ]


def test_time_left_follows_the_later_half_of_the_work(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    meter = console._Meter("fit")
    for now[0], share in ((0.0, 0.1), (10.0, 0.2), (20.0, 0.3), (30.0, 0.4)):
        meter.advance(share, "folds")
    assert meter.time == "about 60 s left"
    for share in (0.4001, 0.4002):
        meter.advance(share, "rows")
    assert meter.time == "about 60 s left"


class Terminal:
    """A pseudo-terminal of 80 columns as standard error; what it was sent, without the marks that move the cursor."""

    def __init__(self, monkeypatch):
        pty = pytest.importorskip("pty", reason="pseudo-terminals of Unix")
        self.reader, writer = pty.openpty()
        self.stream, self.sent = os.fdopen(writer, "w"), b""
        for name, value in {"COLUMNS": "80", "TERM": "xterm"}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "stderr", self.stream)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            while data := os.read(self.reader, 4096):
                self.sent += data
        except OSError:  # closed
            return

    def text(self):
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.sent.decode(errors="replace"))


@pytest.mark.usefixtures("at_once")
def test_terminals_get_one_bar_that_leaves_nothing(monkeypatch):
    terminal = Terminal(monkeypatch)
    with console.working("fit"):
        advance(0.5, "[red]folds" + "s" * 100)
        until(terminal.text, " 50 % ")
    terminal.stream.close()
    bar = re.compile(r"fit .*\u2501.* 50 %  ?about 1 s left +\[red\]folds[s]*\u2026")
    lines = [line for line in re.split(r"[\r\n]+", terminal.text()) if line.strip()]
    assert any(bar.fullmatch(line) for line in lines), lines
    assert max(map(len, lines)) <= 80
    until(lambda: terminal.sent.decode(), "\x1b[?25h")  # the cursor is back
    assert terminal.sent.endswith(b"\x1b[2K") or b"\x1b[2K" in terminal.sent.rpartition(b"50 %")[2]


@pytest.mark.parametrize(
    ("reports", "words"),
    [
        ([(10.0, 5_000)], "5000 rows, 500 rows/s"),
        ([(10.0, 5_000), (20.0, 3_000_000)], "3.0M rows, 150k rows/s"),
        ([(10.0, 5_000), (20.0, 30_000), (21.0, 10_000)], "10k rows"),  # another pass, whose speed is not known yet
        ([(10.0, 5_000), (20.0, 30_000), (21.0, 10_000), (23.0, 34_700)], "34k rows, 12k rows/s"),
    ],
)
def test_passes_tell_their_rows_and_how_fast_they_read_them(reports, words, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: clock[0])
    meter = console._Meter("fit")
    for now, n_rows in reports:
        clock[0] = now
        meter.advance(0.1, RowsRead("data.csv: many rows", n_rows))
    assert meter.text == words


@pytest.mark.usefixtures("at_once")
def test_a_bar_has_room_for_time_and_speed(monkeypatch):
    terminal = Terminal(monkeypatch)
    monkeypatch.setattr(console._Meter, "time", "about 47 min left")
    monkeypatch.setattr(console._Meter, "_speed", lambda meter, n_rows: f"{console.short(n_rows)} rows, 123.4M rows/s")
    with console.working("certify"):
        advance(0.5, RowsRead("words", 123_456_789))
        until(terminal.text, "about 47 min left 123.5M rows, 123")
    terminal.stream.close()
    lines = [line for line in re.split(r"[\r\n]+", terminal.text()) if line.strip()]
    assert max(map(len, lines)) <= 80


@pytest.mark.usefixtures("at_once")
def test_results_on_the_same_terminal_are_left_alone(monkeypatch):
    terminal = Terminal(monkeypatch)
    with console.working("predict", shown=False):
        advance(0.5, "rows")
        time.sleep(0.1)
    assert terminal.sent == b""


def test_warnings_are_a_line_each_when_all_went_well(capsys):
    with console.working("fit"):
        for _ in range(3):
            warnings.warn("columns\n differ", UserWarning, stacklevel=1)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    assert capsys.readouterr().err == "quadric: columns differ\n"


def test_after_an_error_there_is_only_the_error(capsys):
    def work():
        with console.working("fit"):
            warnings.warn("columns differ", UserWarning, stacklevel=1)
            raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        work()
    assert capsys.readouterr().err == ""


def test_summands_stay_whole_and_nothing_is_lost():
    terms = [f'- 0.5*("a + b{i} (" - 2)/3*[c = "x - y"]' for i in range(6)]
    line = "f = 1.5*age " + " ".join(terms)
    wrapped = wrapped_equation(line)
    assert "".join(wrapped.split()) == "".join(line.split())
    assert max(map(len, wrapped.splitlines())) <= 80
    assert all(part.strip()[0] in "f-" for part in wrapped.splitlines())


def test_names_of_classes_may_look_like_equations():
    line = 'f["a = b"] = ' + " + ".join(["0.5*age"] * 12)
    first, second = wrapped_equation(line).splitlines()
    assert first.startswith('f["a = b"] = 0.5*age + ')
    assert second.startswith("        + 0.5*age")


def test_summands_that_are_too_long_break_between_factors():
    line = "f = " + "*".join([f"(a rather long name number {i} - 12.5)/3.25" for i in range(4)])
    wrapped = wrapped_equation(line).splitlines()
    assert max(map(len, wrapped)) <= 80
    assert all(part.strip().startswith("*(") for part in wrapped[2:])


def test_the_last_column_of_a_table_goes_on_below_itself():
    lines = text_table(("k", "terms"), [("1", " ".join(["word"] * 30)), ("20", "few")])
    assert max(map(len, lines)) <= 80
    assert lines[0] == "k   terms"
    assert lines[2].startswith("    word")
    assert lines[-1] == "20  few"


def test_lists_of_numbers():
    assert integers("1:4,8", "--ks") == (1, 2, 3, 4, 8)
    assert numbers("0.5,2", "--Cs") == (0.5, 2.0)
    assert rows("0:3", 10) == [0, 1, 2]
    assert rows("7,2", 10) == [7, 2]
    assert rows("0:10:4", 10) == [0, 4, 8]
    assert rows("8:", 10) == [8, 9]
    assert rows("0:100", 3) == [0, 1, 2]
    for wrong in ("", ",", "1:2:3:4", "x", "-1", "3:1"):
        with pytest.raises(console.UsageError):
            rows(wrong, 10)


def test_a_streamed_file_appears_when_it_is_whole(tmp_path):
    with replacing(tmp_path / "out") as file:
        file.write("half")
        assert not (tmp_path / "out").exists()
    assert (tmp_path / "out").read_text() == "half"
    with pytest.raises(RuntimeError), replacing(tmp_path / "other"):
        raise RuntimeError
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_remark_is_one_line_whatever_names_it_holds(capsys):
    console.remark("changes may touch new\nline, x")
    assert capsys.readouterr().err == "quadric: changes may touch new\\nline, x\n"


@pytest.mark.parametrize("columns", ["80", "40", ""])
def test_remarks_are_wrapped_at_the_width_of_the_terminal(columns, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    text = "one word after another, " * 10 + "and a name\nof two lines"
    with console.working("fit"):
        warnings.warn(text, UserWarning, stacklevel=1)
    console.remark(text)
    lines = capsys.readouterr().err.splitlines()
    assert (max(map(len, lines)) <= int(columns)) if columns else len(lines) == 2
    assert [line for line in lines if not line.startswith("  ")] == [lines[0], lines[len(lines) // 2]]
    assert lines[0].startswith("quadric: one word after")


def test_a_flag_to_be_copied_stays_in_one_line(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "54")
    console.remark("left out: this is column 1 (--keep 'Unnamed: 0')")  # 53 characters up to the blank in the name
    assert capsys.readouterr().err.splitlines() == ["quadric: left out: this is column 1", "  (--keep 'Unnamed: 0')"]
