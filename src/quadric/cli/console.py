"""What all commands share: one-line errors, progress on standard error, files that are not overwritten unasked."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from quadric.files import write_atomically
from quadric.progress import Report

FIRST_LINE_AFTER = 2.0
"""Seconds of work before progress is shown."""
SECONDS_BETWEEN_LINES = 10.0
"""Where standard error is no terminal, progress is a line now and then."""


class UsageError(Exception):
    """The user asked for something that does not exist; exit code 2."""


def say(text: str) -> None:
    """One line on standard output."""
    print(text)  # noqa: T201


def note(text: str) -> None:
    """One line on standard error: what a reader of the output should know and a program should not see."""
    print(text, file=sys.stderr)  # noqa: T201


def say_json(value: Mapping[str, Any]) -> None:
    """A machine's answer."""
    say(json.dumps(value, indent=1, allow_nan=False))


def stderr() -> Console:
    """The terminal behind standard error."""
    return Console(file=sys.stderr, highlight=False, markup=False)


def check_free(path: Path, force: bool) -> None:
    """Refuse to overwrite a file, or to write where there is no folder, before any work is done."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; give the name of a file")
    if path.exists() and not force:
        raise UsageError(f"{path} exists; give --force to overwrite it, or another --output")
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent}; make it first")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"cannot write to the folder {path.parent}")


def write_output(path: Path, content: str | bytes, force: bool) -> None:
    """Write a result in one step."""
    check_free(path, force)
    write_atomically(path, content)


@contextmanager
def progress_lines(what: str) -> Iterator[Report]:
    """A reporter for work of unknown length: the latest line on a terminal, a line now and then elsewhere."""
    console, began, last = stderr(), time.monotonic(), [time.monotonic()]
    if console.is_terminal:
        with console.status(what) as status:
            yield lambda line: status.update(f"{what}: {line}")
        return

    def write(line: str) -> None:
        now = time.monotonic()
        if now - began >= FIRST_LINE_AFTER and now - last[0] >= FIRST_LINE_AFTER:
            last[0] = now
            note(f"{what}: {line}")

    yield write


@contextmanager
def progress_bar(what: str) -> Iterator[Any]:
    """A bar over a known amount of work; call it with (share, text)."""
    console = stderr()
    if not console.is_terminal:
        yield _lines_of_share(what)
        return
    columns = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeElapsedColumn()]
    with Progress(*columns, TextColumn("{task.fields[text]}"), console=console, transient=True) as bars:
        task = bars.add_task(what, total=1.0, text="")
        yield lambda share, text: bars.update(task, completed=share, text=text)


def _lines_of_share(what: str) -> Any:
    last = [time.monotonic()]

    def write(share: float, text: str) -> None:
        if time.monotonic() - last[0] >= SECONDS_BETWEEN_LINES:
            last[0] = time.monotonic()
            note(f"{what}: {100 * share:.0f} %, {text}")

    return write


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
