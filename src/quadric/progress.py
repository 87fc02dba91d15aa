"""One way for long computations to say how far they are: a callback. The library itself never prints."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO, TypeAlias

Report: TypeAlias = Callable[[str], None]
"""Receives one line of progress; called often, so it decides itself what to show."""


def silent(line: str) -> None:
    """The report of those who do not want to hear."""


class LineWriter:
    """Writes progress lines to a stream, at most one in ``interval`` seconds (every line when it is zero).

    Parameters
    ----------
    stream : file object, default: standard error
    interval : float
    """

    def __init__(self, stream: TextIO | None = None, interval: float = 0.5) -> None:
        self._stream = stream
        self._interval = interval
        self._last = time.monotonic()

    def __call__(self, line: str) -> None:
        now = time.monotonic()
        if now - self._last >= self._interval:
            self._last = now
            stream = self._stream or sys.stderr
            stream.write(line + "\n")
            stream.flush()


def writer_for(verbose: int) -> Report:
    """The report that a ``verbose`` parameter asks for: 0 nothing, 1 a line now and then, 2 or more every line."""
    if verbose <= 0:
        return silent
    return LineWriter(interval=0.5 if verbose == 1 else 0.0)
