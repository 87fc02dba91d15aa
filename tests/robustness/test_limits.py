"""Commands under a limit of 4 GB on addresses: wide tables, long names and boundless numbers end in a result or in one line.

Each command runs in a fork of this process, which has the libraries loaded, so that a case costs no import. The limit is that of
the child alone.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from helpers import LOSSES

resource = pytest.importorskip("resource", reason="this system has no limits of processes")
if not hasattr(os, "fork") or sys.platform == "darwin":
    pytest.skip("needs fork, and a kernel that holds RLIMIT_AS", allow_module_level=True)

LIMIT = 4 << 30
LEAST_ROOM = 2 << 30
"""Addresses that a child gets in any case: engines of other tests may have left this process with nearly all of the limit."""
REFUSED_WITHIN = 400 << 20
"""Bytes that reading a table and refusing it may take."""
ROWS = {500: 300, 2_100: 60, 10_000: 20}
"""Rows of the tables, by their number of columns."""
MOST_FEATURES = 2_000
"""Tables with more columns are refused; of others, what does not fit into memory."""
SECONDS = 120
"""After so long a child is stopped: a refusal comes before work."""


@dataclass(frozen=True)
class Outcome:
    """How a command ended, what it wrote and how many bytes it took at most."""

    code: int
    out: str
    err: str
    resident: int

    @property
    def line(self) -> str:
        """The last line of standard error; before it there may be progress."""
        return self.err.splitlines()[-1] if self.err else ""


def quadric(folder: Path, *words: object) -> Outcome:
    """Run a command in a child with the limit."""
    from quadric.cli import main

    # files of its own: what cleans up after worker processes may still write to those of the command before
    files = [Path(tempfile.mkstemp(dir=folder)[1]) for _ in range(2)]
    child = os.fork()
    if child == 0:
        code = 99
        try:
            for descriptor, file in enumerate(files, start=1):
                os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), descriptor)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
            os.chdir(folder)
            signal.alarm(SECONDS)
            limit = max(LIMIT, LEAST_ROOM + int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize())
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            code = main([str(word) for word in words])
            sys.stdout.flush(), sys.stderr.flush()
        finally:
            os._exit(code)
    _, status, usage = os.wait4(child, 0)
    return Outcome(os.waitstatus_to_exitcode(status), *(file.read_text() for file in files), usage.ru_maxrss << 10)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables of all widths, a narrow one, and a model of the narrow one; the libraries are loaded on the way."""
    folder = tmp_path_factory.mktemp("limits")
    rng = np.random.default_rng(0)
    for n_columns, n_rows in {**ROWS, 5: 80}.items():
        X = rng.normal(size=(n_rows, n_columns - 1)).round(2)
        labels = np.where(X[:, 0] * X[:, 1] + X[:, 2] > 0, "good", "bad")
        lines = [",".join([*(f"x{i}" for i in range(n_columns - 1)), "risk"])]
        lines += [",".join([*map(str, row), label]) for row, label in zip(X.tolist(), labels, strict=True)]
        (folder / f"{n_columns}.csv").write_text("\n".join(lines) + "\n")
    from quadric.cli import main

    model, data, page = (str(folder / name) for name in ("model.json", "5.csv", "page.html"))
    assert main(["fit", data, "--target", "risk", "--k", "2", "--output", model]) == 0
    assert main(["report", model, data, "--output", page, "--bootstrap", "0", "--folds", "2"]) == 0
    return folder


COMMANDS = {
    "fit": ("fit", "{data}", "--target", "risk", "--k", 2, "--output", "new.json", "--force"),
    "fit, least squares": (
        "fit",
        "{data}",
        "--target",
        "risk",
        "--k",
        2,
        "--loss",
        "least_squares",
        "--output",
        "new.json",
        "--force",
    ),
    "fit, cross-validated": ("fit", "{data}", "--target", "risk", "--output", "new.json", "--force", "--jobs", 1),
    "fit, exact": ("fit", "{data}", "--target", "risk", "--k", 2, "--method", "exact", "--output", "new.json", "--force"),
    "path": ("path", "{data}", "--target", "risk", "--jobs", 1),
    "path, least squares": ("path", "{data}", "--target", "risk", "--loss", "least_squares", "--jobs", 1),
    "compare": ("compare", "{data}", "--target", "risk", "--k", 2),
    "predict": ("predict", "model.json", "{data}"),
    "explain": ("explain", "model.json", "{data}", "--rows", "0:2"),
    "certify": ("certify", "model.json", "{data}", "--time-limit", 0),
    "report": (
        "report",
        "model.json",
        "{data}",
        "--output",
        "new.html",
        "--bootstrap",
        0,
        "--ks",
        "1:2",
        "--folds",
        2,
        "--force",
    ),
}
LEARNING = ("fit", "path", "compare")
"""Commands that take all columns; the others take those of the model."""
SHORT = [("fit", 500), ("fit, least squares", 500), ("path", 2_100), ("compare", 2_100), ("predict", 10_000), ("report", 500)]


def check(outcome: Outcome, tally) -> None:
    """A result, or one line that says what is wrong; never a traceback, never killed."""
    assert outcome.code in (0, 1, 2), (outcome.code, outcome.err)
    assert "Traceback" not in outcome.err
    assert outcome.resident < LIMIT
    if outcome.code:
        assert outcome.line.startswith("quadric: "), outcome.err
        assert not any(line.startswith("quadric: ") for line in outcome.err.splitlines()[:-1])
        assert "unexpected" not in outcome.line
        assert "out of memory" not in outcome.line
        assert outcome.out == ""
    tally("limits: refused" if outcome.code else "limits: done")


@pytest.mark.slow
def test_wide_tables_end_in_a_result_or_in_one_line(folder, size, tally):
    for name, n_columns in (SHORT, list(product(COMMANDS, ROWS)))[size(0, 1)]:
        outcome = quadric(folder, *(str(word).format(data=f"{n_columns}.csv") for word in COMMANDS[name]))
        check(outcome, tally)
        if name.startswith(LEARNING) and (n_columns > MOST_FEATURES or outcome.code):
            assert outcome.code == 1, name
            wanted = "GB of memory" if n_columns == 500 else "columns to learn from, and a model has at most 2,000 features"
            assert wanted in outcome.line
            ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
            assert outcome.resident < ours + REFUSED_WITHIN
        else:
            assert outcome.code == 0, outcome.err


def test_what_fits_is_fitted_under_the_limit(folder, tally):
    for loss in LOSSES:
        words = ("fit", "5.csv", "--target", "risk", "--k", 2, "--loss", loss, "--output", "new.json", "--force")
        outcome = quadric(folder, *words)
        check(outcome, tally)
        assert outcome.code == 0, outcome.err


LONG = {
    "a class": ("x,risk", "{row},{text}", "the target has a class whose name has 100,000 characters"),
    "a level": ("x,home,risk", "{row},{text},{label}", "column 'home' has a level whose name has 100,000 characters"),
    "a column": ("{text},risk", "{row},{label}", "the table has a column whose name has 100,000 characters"),
}


@pytest.mark.parametrize("what", LONG)
def test_names_of_100000_characters_are_refused(folder, tally, what):
    head, line, message = LONG[what]
    text = "n" * 100_000
    others = ("ab"[row // 2 % 2] for row in range(20_000))
    rows = [line.format(row=i % 97, label="ab"[i % 2], text=text if i == 7 else other) for i, other in enumerate(others)]
    (folder / "long.csv").write_text("\n".join([head.format(text=text), *rows]) + "\n")
    words = ("fit", "long.csv", "--target", "risk", "--k", 1, "--rare", "keep", "--output", "new.json", "--force")
    outcome = quadric(folder, *words)
    check(outcome, tally)
    assert outcome.code == 1
    assert message in outcome.line
    assert len(outcome.line) < 400


def test_long_names_of_classes_cost_no_memory_in_every_row(folder, tally):
    rows = [f"{row},{'n' * 900 if row % 7 == 0 else 'a'}" for row in range(20_000)]
    (folder / "long.csv").write_text("\n".join(["x,risk", *rows]) + "\n")
    words = (
        "fit",
        "long.csv",
        "--target",
        "risk",
        "--keep",
        "x",
        "--k",
        1,
        "--loss",
        "least_squares",
        "--output",
        "new.json",
        "--force",
    )
    outcome = quadric(folder, *words)
    check(outcome, tally)
    assert outcome.code == 0, outcome.err


HUGE = 99999999999999999999
FIT = ("fit", "5.csv", "--target", "risk", "--output", "new.json", "--force")
EXPLAIN, REPORT = ("explain", "model.json", "5.csv"), ("report", "model.json", "5.csv", "--output", "new.html", "--force")
BOUNDLESS = [
    (FIT, "--ks", "1:1000000000"),
    (FIT, "--ks", f"1:{HUGE}"),
    (FIT, "--ks", ",".join(["1"] * 20_000)),
    (FIT, "--Cs", ",".join(["1"] * 20_000)),
    (FIT, "--Cs", "1e308"),
    (FIT, "--k", HUGE),
    (FIT, "--C", "inf"),
    (FIT, "--C", "nan"),
    (FIT, "--C", "0"),
    (FIT, "--C", "-1"),
    (FIT, "--C", "1e308"),
    (FIT, "--folds", HUGE),
    (FIT, "--max-levels", HUGE),
    (FIT, "--seed", 2**32),
    (FIT, "--jobs", 100_000),
    (FIT, "--time-limit", "nan"),
    (FIT, "--time-limit", "inf"),
    (("path", "5.csv", "--target", "risk"), "--ks", "1:1000000000"),
    (("compare", "5.csv", "--target", "risk"), "--seed", HUGE),
    (EXPLAIN, "--reasons", HUGE),
    (EXPLAIN, "--rows", HUGE),
    (REPORT, "--ks", "1:1000000000"),
    (REPORT, "--bootstrap", 10**9),
    (REPORT, "--folds", HUGE),
    (REPORT, "--seed", HUGE),
    (REPORT, "--jobs", 100_000),
    (("certify", "model.json", "5.csv"), "--time-limit", "inf"),
    (("paper",), "--jobs", 100_000),
    (("paper",), "--seed", HUGE),
    (("export", "model.json", "--format", "latex"), "--precision", HUGE),
]


def test_numbers_without_bound_are_refused_by_name(folder, size, tally):
    for words, option, value in BOUNDLESS[:: size(3, 1)]:
        outcome = quadric(folder, *words, option, value)
        check(outcome, tally)
        assert outcome.code == 2, (words, option, outcome.err)
        assert option in outcome.line
        assert len(outcome.line) < 400


def test_many_reasons_cost_nothing(folder, tally):
    outcome = quadric(folder, *EXPLAIN, "--reasons", 999_999_999, "--rows", "0:2")
    check(outcome, tally)
    assert outcome.code == 0, outcome.err


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a device that never ends")
def test_a_data_set_is_not_read_from_a_device(folder, tally):
    outcome = quadric(folder, "data", "german", "--from", "/dev/zero", "--folder", folder)
    check(outcome, tally)
    assert (
        outcome.line == "quadric: /dev/zero is a pipe or a device, and files are read more than once: save it as a file first"
    )
    with (folder / "large").open("wb") as file:
        file.truncate(1 << 40)  # a hole: no disk is needed
    outcome = quadric(folder, "data", "german", "--from", "large", "--folder", folder)
    check(outcome, tally)
    assert "large has more than 20,000,000 bytes" in outcome.line


def test_the_command_reserves_addresses_for_one_thread_of_blas(folder):
    """Each thread of OpenBLAS reserves 80 MB: with 64 cores nothing would be left of 4 GB."""
    import subprocess

    code = "import sys; from quadric.cli import main; main(['--version']); import os; print(os.environ['OPENBLAS_NUM_THREADS'])"
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.splitlines()[-1] == "1"
