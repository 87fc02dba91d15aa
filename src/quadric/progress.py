"""One way for long computations to say how far they are: a callback. The library itself never prints."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO, TypeAlias

Report: TypeAlias = Callable[[str], None]
"""Receives one line of progress; called often, so it decides itself what to show."""


def silent(line: str) -> None:
    """The report that says nothing."""


class LineWriter:
    """Writes progress lines to a stream, at most one per ``interval`` seconds (every line when it is zero).

    Parameters
    ----------
    stream : file object, default: standard error
    interval : float
    first : float, optional
        Seconds before the first line, where they are not ``interval``.
    """

    def __init__(self, stream: TextIO | None = None, interval: float = 0.5, first: float | None = None) -> None:
        self._stream = stream
        self._interval = interval
        self._due = time.monotonic() + (interval if first is None else first)

    def __call__(self, line: str) -> None:
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + self._interval
            print(line, file=self._stream or sys.stderr, flush=True)


def writer_for(verbose: int) -> Report:
    """The report that a ``verbose`` parameter asks for: 0 nothing, 1 a line now and then, 2 or more every line."""
    if verbose <= 0:
        return silent
    return LineWriter(interval=0.5 if verbose == 1 else 0.0)
