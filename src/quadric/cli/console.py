"""What all commands share: one-line errors, progress on standard error, files that are not overwritten unasked."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TextIO

from quadric.errors import MOST_LISTED
from quadric.files import claimed, replaceable, write_atomically
from quadric.progress import Report, RowsRead, listening

# Seconds of work before progress is shown
FIRST_AFTER = 2.0
# Where standard error is no terminal, progress is a line now and then; on a terminal it is a bar that moves
SECONDS_BETWEEN_LINES, SECONDS_BETWEEN_FRAMES = 10.0, 0.1
QUOTED_FLAG = re.compile(r"--[\w-]+ '[^']*'")
# A terminal of fewer columns wraps remarks itself
MOST_INDENTED = 20
# Share of the work from which on more of it done is worth another look at the clock
SMALLEST_MOVE = 0.001
# Seconds for which an estimate that has run out is still believed
SLACK = 3.0

# Files that only this command writes; it lets go of them when it ends
CLAIMS = ExitStack()
# Flags that are not named like the parameter of the library that they set
OTHER_NAMES = {
    **{"cross_validate": "--cv", "n_jobs": "--jobs", "folder": "--output"},
    **{"interaction_cst": "--interactions", "monotonic_cst": "--monotone", "coef_bounds": "--bound"},
}


# Between the lines of an error that is a list
ITEM = "\n- "


class UsageError(Exception):
    """The user asked for something that does not exist; exit code 2."""


@contextmanager
def as_usage() -> Iterator[None]:
    """What the library refuses here is wrong usage."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise UsageError(with_flags(error)) from error


def flag(parameter: str) -> str:
    """The flag that sets a parameter."""
    return OTHER_NAMES.get(parameter) or f"--{parameter.replace('_', '-')}"


def with_flags(problem: object) -> str:
    """What an error or a warning says, followed by the flags that would help; of several columns, one line each."""
    several = getattr(problem, "several", None)
    if several is not None:
        head, errors = several
        more = [f"and {len(errors) - MOST_LISTED} more"] if len(errors) > MOST_LISTED else []
        return ITEM.join([f"{head}:", *map(with_flags, errors[:MOST_LISTED]), *more])
    values = {name: (value,) if isinstance(value, str) else value for name, value in getattr(problem, "remedies", {}).items()}
    flags = ", ".join(f"{flag(name)}{_typed(value)}" for name in values for value in values[name] or [None])
    text = str(problem).replace(" must be None or ", " must be ")  # which nobody can type
    return f"{text} ({flags})" if flags else text


def sentence(problem: object) -> str:
    """The same without line ends, but for those between the items of a list."""
    return ITEM.join(" ".join(each.split()) for each in with_flags(problem).split(ITEM))


def _typed(value: str | None) -> str:
    """A value behind its flag; a single mark in quotes, so that it is not taken for a part of the sentence."""
    if value is None:
        return ""
    mark = '"' if "'" in value else "'"
    return f" {shlex.quote(value) if any(map(str.isalnum, value)) else f'{mark}{value}{mark}'}"


def say(text: str) -> None:
    """One line on standard output."""
    print(printable(text))  # noqa: T201


def note(text: str) -> None:
    """One line on standard error: what a reader of the output should know and a program should not see."""
    print(printable(text), file=sys.stderr)  # noqa: T201


def remark(text: str) -> None:
    """A remark of ours on standard error, wrapped at the width of the terminal, also where names in it have line ends."""
    line = printable(f"quadric: {text}").replace("\n", "\\n")
    width = int(wanted) if (wanted := os.environ.get("COLUMNS", "")).isdigit() else 0
    if not width and sys.stderr.isatty():
        width = os.get_terminal_size(sys.stderr.fileno()).columns
    how: Any = {"break_long_words": False, "break_on_hyphens": False, "subsequent_indent": "  "}
    whole = QUOTED_FLAG.sub(lambda flag: flag[0].replace(" ", "\0"), line)  # which is to be copied
    note(textwrap.fill(whole, width, **how).replace("\0", " ") if width > MOST_INDENTED else line)


def printable(text: str) -> str:
    """Names come from files: what a terminal would obey is shown instead."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def say_json(value: Mapping[str, Any]) -> None:
    """A machine's answer."""
    say(json.dumps(value, indent=1, allow_nan=False))


def check_free(path: Path, force: bool, *sources: Path, is_folder: bool = False) -> None:
    """Refuse to overwrite a file without --force, and one that the command reads even with it, before any work is done.

    Parameters
    ----------
    path : Path
        In a folder that exists and can be written to.
    force : bool
    *sources : Path
        What the command reads.
    is_folder : bool
        Whether a folder of Parquet files is written instead of a file.
    """
    with as_usage():
        folder = path.absolute().parent if is_folder else replaceable(path).parent
        exists = os.path.lexists(path)  # also a link that leads nowhere yet
    if exists and not force:
        raise UsageError(f"{path} exists; give --force to overwrite it, or another --output")
    there = [each for each in sources if each.exists()] if path.exists() else []
    if any(path.samefile(each) or path.resolve() in each.resolve().parents for each in there):
        raise UsageError(f"{path} is read by this command: give another --output")
    if is_folder and path.exists() and not _holds_scores_alone(path):
        raise UsageError(f"{path} has other files than Parquet files, and is not overwritten: give another --output")
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}; make it first")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"cannot write to the folder {folder}")


def _holds_scores_alone(path: Path) -> bool:
    """Whether there is nothing to lose but Parquet files and what Spark puts beside them."""
    return path.is_dir() and all(
        each.is_file() and (each.suffix in (".parquet", ".crc") or each.name.startswith("_")) for each in path.iterdir()
    )


def claim_output(path: Path, force: bool, *sources: Path, is_folder: bool = False) -> None:
    """Check an output as ``check_free`` does, and keep other commands from writing it until this one ends."""
    check_free(path, force, *sources, is_folder=is_folder)
    with as_usage():
        CLAIMS.enter_context(claimed(path))
    check_free(path, force, *sources, is_folder=is_folder)  # another command may have written it before it was claimed


def write_output(path: Path, content: str | bytes, force: bool) -> None:
    """Write a result in one step."""
    check_free(path, force)
    write_atomically(path, content)


@contextmanager
def working(what: str, *, shown: bool = True) -> Iterator[Report]:
    """Show how far the work of this block is, where it takes long; then its warnings, one line each.

    Parameters
    ----------
    what : str
        Name of the command.
    shown : bool
        False where results go to the same terminal.

    Yields
    ------
    callable
        Takes a text: what is being done, for work that tells no shares.
    """
    meter = _Meter(what)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        with _watched(meter) if shown else nullcontext(), listening(meter.advance):
            yield meter.describe
    remarks = (with_flags(each.message) for each in caught if isinstance(each.message, UserWarning))
    for message in dict.fromkeys(remarks):
        remark(" ".join(message.split()))


class _Meter:
    """How far the work is; it is told often and looked at now and then."""

    def __init__(self, what: str) -> None:
        self.what, self.text, self.share = what, "", 0.0
        self.began = time.monotonic()
        self.ends: float | None = None
        self._moves = [(0.0, self.began)]
        self._n_rows, self._pass = 0, (0, self.began)

    def describe(self, text: str) -> None:
        self.text = self._speed(text.n_rows) if isinstance(text, RowsRead) else printable(text)

    def _speed(self, n_rows: int) -> str:
        now = time.monotonic()
        if n_rows < self._n_rows:  # another pass has begun
            self._pass = n_rows, now
        self._n_rows, (first, began) = n_rows, self._pass
        rate = f", {short(round((n_rows - first) / (now - began)))} rows/s" if now > began else ""
        return f"{short(n_rows)} rows{rate}"

    def advance(self, share: float, text: str) -> None:
        self.describe(text)
        self.share = max(self.share, min(share, 1.0))  # some work is done twice: that is no way back
        if self.share - self._moves[-1][0] >= SMALLEST_MOVE:
            self._estimate(time.monotonic())

    def _estimate(self, now: float) -> None:
        """Expect the rest to go on as fast as the later half of what is done: parts of the work differ in speed."""
        done, then = next(move for move in reversed(self._moves) if move[0] <= self.share / 2)
        self.ends = now + (1.0 - self.share) * (now - then) / (self.share - done)
        self._moves.append((self.share, now))

    @property
    def percent(self) -> str:
        return f"{int(100 * self.share)} %" if self.share else ""

    @property
    def time(self) -> str:
        """The time left, which only falls while nothing gets done; the time so far where it is not known, or is over."""
        now = time.monotonic()
        if self.ends is None or now > self.ends + SLACK:
            return f"{duration(now - self.began)} so far"
        return f"about {duration(max(self.ends - now, 1.0))} left"

    @property
    def line(self) -> str:
        return f"{self.what}: {', '.join(filter(None, (self.percent, self.time, self.text)))}"


@contextmanager
def _watched(meter: _Meter) -> Iterator[None]:
    """Show a meter from a thread of its own: the work waits for no terminal."""
    done = threading.Event()
    thread = threading.Thread(target=_show, args=(meter, done, sys.stderr), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _show(meter: _Meter, done: threading.Event, stream: TextIO) -> None:
    if done.wait(FIRST_AFTER):
        return
    if stream.isatty():
        _show_bar(meter, done, stream)
        return
    print(meter.line, file=stream, flush=True)
    while not done.wait(SECONDS_BETWEEN_LINES):
        print(meter.line, file=stream, flush=True)


def _show_bar(meter: _Meter, done: threading.Event, stream: TextIO) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.table import Column

    columns = (
        TextColumn(meter.what, markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[meter].percent}", markup=False, table_column=Column(no_wrap=True, min_width=5)),
        TextColumn("{task.fields[meter].time}", markup=False, table_column=Column(no_wrap=True, min_width=16)),
        TextColumn("{task.fields[meter].text}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
    )
    bars = Progress(
        *columns,
        console=Console(file=stream, highlight=False, markup=False),
        transient=True,
        auto_refresh=False,
        expand=True,
        redirect_stdout=False,  # what is written to a standard stream goes there
        redirect_stderr=False,
    )
    with bars:
        task = bars.add_task("", total=None, meter=meter)
        while not done.wait(SECONDS_BETWEEN_FRAMES):
            total = 1.0 if meter.share else None  # None: a bar that only moves
            bars.update(task, total=total, completed=meter.share, refresh=True)


def short(number: int) -> str:
    """A large number in few characters: 950, 12k, 1.2M."""
    if number < 10_000:
        return f"{number}"
    return f"{number // 1000}k" if number < 1_000_000 else f"{number / 1e6:.1f}M"


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
