"""What all commands share: one-line errors, progress on standard error, files that are not overwritten unasked."""

from __future__ import annotations

import io
import json
import os
import shlex
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any

from quadric.files import replaceable, write_atomically
from quadric.progress import LineWriter, Report

FIRST_LINE_AFTER = 2.0
"""Seconds of work before progress is shown."""
SECONDS_BETWEEN_LINES = 10.0
"""Where standard error is no terminal, progress is a line now and then."""
SILENCE = 2.0
"""Seconds without a word after which the time so far is shown."""

OTHER_NAMES = {"cross_validate": "--cv", "n_jobs": "--jobs", "folder": "--output"}
"""Flags that are not named like the parameter of the library that they set."""


class UsageError(Exception):
    """The user asked for something that does not exist; exit code 2."""


@contextmanager
def as_usage() -> Iterator[None]:
    """What the library refuses here is wrong usage."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise UsageError(str(error)) from error


def flag(parameter: str) -> str:
    """The flag that sets a parameter."""
    return OTHER_NAMES.get(parameter) or f"--{parameter.replace('_', '-')}"


def with_flags(problem: BaseException) -> str:
    """What an error or a warning says, followed by the flags that would help."""
    values = {name: (value,) if isinstance(value, str) else value for name, value in getattr(problem, "remedies", {}).items()}
    flags = ", ".join(f"{flag(name)}{_typed(value)}" for name in values for value in values[name] or [""])
    return f"{problem} ({flags})" if flags else str(problem)


def _typed(value: str) -> str:
    """A value behind its flag; a single mark in quotes, so that it is not taken for a part of the sentence."""
    mark = '"' if "'" in value else "'"
    quoted = shlex.quote(value) if any(map(str.isalnum, value)) else f"{mark}{value}{mark}"
    return f" {quoted}" if value else ""


def say(text: str) -> None:
    """One line on standard output."""
    print(printable(text))  # noqa: T201


def note(text: str) -> None:
    """One line on standard error: what a reader of the output should know and a program should not see."""
    print(printable(text), file=sys.stderr)  # noqa: T201


def printable(text: str) -> str:
    """Names come from files: what a terminal would obey is shown instead."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def say_json(value: Mapping[str, Any]) -> None:
    """A machine's answer."""
    say(json.dumps(value, indent=1, allow_nan=False))


def check_free(path: Path, force: bool) -> None:
    """Refuse to overwrite a file, or to write where there is no folder, before any work is done."""
    with as_usage():
        folder = replaceable(path).parent
        exists = os.path.lexists(path)  # also a link that leads nowhere yet
    if exists and not force:
        raise UsageError(f"{path} exists; give --force to overwrite it, or another --output")
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}; make it first")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"cannot write to the folder {folder}")


def write_output(path: Path, content: str | bytes, force: bool) -> None:
    """Write a result in one step."""
    check_free(path, force)
    write_atomically(path, content)


@contextmanager
def progress_lines(what: str) -> Iterator[Report]:
    """A reporter for work of unknown length: the latest line on a terminal, a line now and then elsewhere."""
    if sys.stderr.isatty():
        with _terminal().status(what) as status:
            yield lambda line: status.update(f"{what}: {line}")
        return
    # the standard error of now: what is written to it while working may be caught and sent here
    writer = LineWriter(sys.stderr, SECONDS_BETWEEN_LINES, FIRST_LINE_AFTER)
    yield lambda line: writer(f"{what}: {line}")


@contextmanager
def working(what: str) -> Iterator[Report]:
    """Show the progress of computations, also of those that only write to standard error; then their warnings, a line each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        with progress_lines(what) as report, _heartbeat(report) as alive, redirect_stderr(_Lines(alive)):
            yield alive
    remarks = (with_flags(each.message) for each in caught if isinstance(each.message, UserWarning))
    for message in dict.fromkeys(remarks):
        note(f"quadric: {' '.join(message.split())}")


class _Lines(io.TextIOBase):
    """Sends what is written to a report, line by line."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._begun = ""

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        for line in filter(None, map(str.strip, lines)):
            self._report(line)
        return len(text)


@contextmanager
def _heartbeat(report: Report) -> Iterator[Report]:
    """The same reporter, which repeats itself with the time so far where nothing new was said for a while."""
    began = time.monotonic()
    last, said, done = [began], [""], threading.Event()

    def alive(line: str) -> None:
        last[0], said[0] = time.monotonic(), f"{line}, "
        report(line)

    def beat() -> None:
        while not done.wait(1.0):
            if time.monotonic() - last[0] >= SILENCE:
                report(f"{said[0]}{duration(time.monotonic() - began)} so far")

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield alive
    finally:
        done.set()
        thread.join()


@contextmanager
def progress_bar(what: str) -> Iterator[Any]:
    """A bar over a known amount of work; call it with (share, text)."""
    if not sys.stderr.isatty():
        writer = LineWriter(sys.stderr, SECONDS_BETWEEN_LINES)
        yield lambda share, text: writer(f"{what}: {100 * share:.0f} %, {text}")
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeElapsedColumn()]
    with Progress(*columns, TextColumn("{task.fields[text]}"), console=_terminal(), transient=True) as bars:
        task = bars.add_task(what, total=1.0, text="")
        yield lambda share, text: bars.update(task, completed=share, text=text)


def _terminal() -> Any:
    from rich.console import Console

    return Console(file=sys.stderr, highlight=False, markup=False)


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
