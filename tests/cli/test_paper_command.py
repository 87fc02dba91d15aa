"""``quadric paper`` and ``quadric data`` as a person meets them."""

import json
import subprocess
import sys

import pytest

from quadric.cli import main


def test_a_part_runs_writes_and_goes_on(tmp_path, capsys):
    arguments = [
        "paper",
        "table1",
        "table2",
        "--models",
        "ls-svm,lsvm",
        "--datasets",
        "iris",
        "--output",
        str(tmp_path / "out"),
    ]
    assert main([*arguments, "--jobs", "1", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert (first["pieces"], first["done_before"], first["cells_compared"]) == (10, 0, 2)
    rows = (tmp_path / "out" / "rows.jsonl").read_bytes()
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["done_before"] == 10
    assert (tmp_path / "out" / "rows.jsonl").read_bytes() == rows
    assert "83.33 ± 8.50" in (tmp_path / "out" / "table2.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["paper", "table7"], 2, "table1, table2"),
        (["paper", "--models", "svm"], 2, "ls-l0-qsvm"),
        (["paper", "--datasets", "mnist"], 2, "german"),
        (["paper", "--protocol", "loose"], 2, "nested"),
        (["paper", "--seed", "-1"], 2, "seed"),
        (["paper", "--nonsense"], 2, "nonsense"),
        (["data", "mnist"], 2, "german"),
        (["no-such-command"], 2, "no-such-command"),
    ],
)
def test_wrong_usage_is_one_line_and_code_two(arguments, code, says, tmp_path, capsys):
    output = ["--output", str(tmp_path / "out")] if arguments[0] == "paper" else []
    assert main([*arguments, *output]) == code
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert says in captured.err
    assert not (tmp_path / "out").exists()


def test_a_store_of_another_protocol_is_refused(tmp_path, capsys):
    arguments = ["paper", "table2", "--models", "ls-svm", "--datasets", "iris", "--output", str(tmp_path)]
    assert main([*arguments, "--jobs", "1"]) == 0
    assert main([*arguments, "--protocol", "nested"]) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert "choose another folder, or delete this one (--output)" in error


def test_pages_can_be_written_from_the_rows_that_are_there(tmp_path):
    arguments = ["paper", "table2", "--datasets", "iris", "--output", str(tmp_path)]
    assert main([*arguments, "--models", "ls-svm", "--jobs", "1"]) == 0
    assert main([*arguments, "--models", "ls-svm,l0-qsvm", "--only-write"]) == 0
    table = (tmp_path / "table2.md").read_text()
    assert "83.33 ± 8.50" in table
    assert "not computed" in table


def test_a_named_data_set_that_is_not_there_is_an_error_that_says_how_to_get_it(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("QUADRIC_DATA", raising=False)
    monkeypatch.setenv("QUADRIC_CACHE", str(tmp_path / "cache"))
    arguments = ["paper", "table2", "--models", "ls-svm", "--output", str(tmp_path / "out"), "--jobs", "1"]
    assert main([*arguments, "--datasets", "glass,iris"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "glass is missing: quadric data glass; or get glass.data from https://" in error
    assert not (tmp_path / "out").exists()
    assert main(arguments) == 0
    assert "left out because missing: abalone, ctg" in capsys.readouterr().err


def test_a_page_that_cannot_be_written_is_refused_before_the_work(tmp_path, capsys):
    arguments = ["paper", "table2", "--models", "ls-svm", "--datasets", "iris", "--output", str(tmp_path / "out")]
    assert main([*arguments, "--docs", str(tmp_path / "gone" / "page.md")]) == 2
    assert "there is no folder" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_debug_shows_the_traceback(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["paper", "table1", "--output", str(tmp_path / "file"), "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_the_data_are_listed(capsys):
    assert main(["data", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert len(listed) == 12
    assert listed["iris"]["where"] == "scikit-learn"
    assert main(["data"]) == 0
    assert "german" in capsys.readouterr().out


@pytest.mark.parametrize("there", [True, False])
def test_the_list_of_data_fits_80_columns_and_advises_commands(there, tmp_path, capsys, monkeypatch):
    folder = tmp_path / ("a-long-name-of-a-folder-" * 2)
    folder.mkdir()
    monkeypatch.delenv("QUADRIC_DATA", raising=False)
    monkeypatch.setenv("QUADRIC_CACHE", str(folder))
    for name in ("german.csv", "ecoli.csv") if there else ():
        (folder / name).write_text("x\n")
    assert main(["data"]) == 0
    lines = capsys.readouterr().out.splitlines()
    too_long = [line for line in lines if len(line) > 80 and len(line.split()) > 1]  # an address or a path stays whole
    assert too_long == []
    assert not any("quadric.datasets" in line for line in lines)
    assert any("quadric data NAME --from FILE" in line for line in lines)
    assert sum("wrong file" in line for line in lines[:13]) == (2 if there else 0)


def test_the_help_fits_80_columns(capsys):
    for command in ("paper", "data"):
        assert main([command, "--help"]) == 0
        assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_help_and_version(capsys):
    assert main(["--help"]) == 0
    assert "paper" in capsys.readouterr().out
    assert main(["paper", "--help"]) == 0
    assert "quadric paper --quick" in capsys.readouterr().out
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("quadric ")


def test_without_the_extra_the_command_says_how_to_install_it():
    code = "import sys; sys.modules['typer'] = None; from quadric.cli import main; sys.exit(main([]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install 'quadric[cli]'" in done.stderr
    assert done.stderr.count("\n") == 1
