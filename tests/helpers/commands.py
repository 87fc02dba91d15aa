"""Every command that writes, on a small table; their outputs, and a way to run them here or in a process of their own."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from helpers.small_tables import credit_columns, csv_text
from quadric.cli import main

PATH = "path data.csv --target risk --loss least_squares --ks 1,2 --C 4 --folds 2 --force --output"
COMMANDS = {
    "fit": "fit data.csv --target risk --k 2 --C 4 --loss least_squares --no-calibrate --force --output new.json",
    "predict": "predict model.json data.csv --force --output new.csv",
    "report": "report model.json data.csv --bootstrap 0 --ks 1,2 --folds 2 --force --output new.html",
    **{
        f"export .{end}": f"export model.json --force --output new.{end}"
        for end in ("sql", "py", "tex", "xlsx", "onnx", "json")
    },
    "export equation": "export model.json --format equation --force --output new.txt",
    "path .csv": f"{PATH} new.csv",
    "path .svg": f"{PATH} new.svg",
    "paper": "paper table2 --models ls-svm --datasets iris --jobs 1 --output new --docs new.md",
    "data": "data haberman --from haberman.csv --folder new",
}
VARYING = re.compile(rb"[\d.]+ s\b|\d{4}-\d\d-\d\d \d\d:\d\d UTC|(?s:(<h2>|## )Time.*\Z)")
"""Times in pages."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    errors: list[str]


def prepare(folder: Path, original: Path | None) -> None:
    """The inputs of the commands; ``original`` is a file of a data set of the paper."""
    (folder / "data.csv").write_text(csv_text(credit_columns(n_rows=60)))
    with contextlib.chdir(folder):
        fit = "fit data.csv --target risk --k 2 --C 4 --loss least_squares --output model.json"
        assert run(fit).code == 0
    if original is not None:
        shutil.copy(original, folder / "haberman.csv")


def run(command: str) -> Ended:
    """Run a command in this process."""
    errors = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        code = main(command.split())
    return Ended(code, errors.getvalue().splitlines())


def outputs(folder: Path) -> dict[str, bytes]:
    """What a command wrote, without times; files that should be gone when it has ended are not left out."""
    found = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    found = {name: content for name, content in found.items() if Path(name).parts[0].startswith(("new", "."))}
    found.pop("new/times.jsonl", None)
    for name in found:
        if name.endswith((".html", ".md")):
            found[name] = VARYING.sub(b"", found[name])
    return found


def left_over(folder: Path) -> list[str]:
    """Parts of files, and locks."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob(".*"))


def clear(folder: Path) -> None:
    """Remove the outputs."""
    for path in [*folder.glob("new*"), *folder.glob(".quadric*")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def forked(work: Callable[[], int]) -> int:
    """Start a child process that does some work silently; its number."""
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        silence = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(silence, descriptor)
        os._exit(work())
    finally:
        os._exit(99)


def ended(child: int, seconds: float = 60.0) -> SimpleNamespace:
    """Wait for a child: its exit code or None, and the signal that ended it or None."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
            return SimpleNamespace(code=None if killed else os.WEXITSTATUS(status), signal=killed)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("a command does not end")
