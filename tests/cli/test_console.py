"""Progress, warnings and texts as terminals show them."""

import sys
import time
import warnings

import pytest

from quadric.cli import console
from quadric.cli.inputs import integers, numbers, rows
from quadric.cli.layout import text_table, wrapped_equation
from quadric.files import replacing
from quadric.progress import LineWriter


def test_short_work_says_nothing(capsys):
    with console.working("fit") as report:
        report("a line")
        sys.stderr.write("another\n")
    assert capsys.readouterr().err == ""


def test_long_work_is_shown_whoever_reports_it(capsys, monkeypatch):
    monkeypatch.setattr(console, "FIRST_LINE_AFTER", 0.0)
    monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", 0.0)
    with console.working("fit") as report:
        report("a line")
        LineWriter(interval=0.0)("of an estimator")
    assert capsys.readouterr().err.splitlines() == ["fit: a line", "fit: of an estimator"]


def test_silent_work_shows_the_time(capsys, monkeypatch):
    monkeypatch.setattr(console, "FIRST_LINE_AFTER", 0.0)
    monkeypatch.setattr(console, "SILENCE", 0.0)
    with console.working("fit") as report:
        report("reading")
        time.sleep(1.3)
    assert capsys.readouterr().err.splitlines()[-1] in ("fit: reading, 1 s so far", "fit: reading")


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
