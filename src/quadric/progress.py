"""One way for long computations to say how far they are: a callback. The library itself never prints."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from itertools import accumulate, pairwise
from typing import Self, TypeAlias, TypeVar

Item = TypeVar("Item")

# Receives one line of progress; called often, so it decides itself what to show.
Report: TypeAlias = Callable[[str], None]


def silent(line: str) -> None:
    """The report that says nothing."""


def writer_for(verbose: int) -> Report:
    """The report that a ``verbose`` parameter asks for: 0 nothing, 1 a line now and then, 2 or more every line."""
    if verbose <= 0:
        return silent
    interval = 0.5 if verbose == 1 else 0.0
    due = time.monotonic() + interval

    def write(line: str) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + interval
            sys.stderr.write(f"{line}\n")

    return write


class Stop:
    """Whether somebody wants a long proof to end with what it has; the command line does after Ctrl-C.

    Attributes
    ----------
    is_awaited : bool
        Whether something runs that would end.
    is_wanted : bool
    """

    def __init__(self) -> None:
        self.is_awaited = self.is_wanted = False

    @contextmanager
    def awaited(self) -> Iterator[None]:
        """A block that looks at ``is_wanted`` now and then."""
        self.is_awaited, self.is_wanted = True, False
        try:
            yield
        finally:
            self.is_awaited = False


STOP = Stop()

# Receives the share of the work that is done, from 0 to 1, and what is being done.
Listener: TypeAlias = Callable[[float, str], None]
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Send what ``advance`` tells in this block to a listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


class RowsRead(str):
    """What is being done by a pass over a table: words, and how many rows it has read so far.

    Parameters
    ----------
    words : str
    n_rows : int
    """

    n_rows: int

    def __new__(cls, words: str, n_rows: int) -> Self:
        text = super().__new__(cls, words)
        text.n_rows = n_rows
        return text


def advance(share: float, what: str) -> None:
    """Tell whoever listens how much of the work is done."""
    listener = _listener.get()
    if listener is not None:
        listener(share, what)


@contextmanager
def overhearing(listener: Listener) -> Iterator[None]:
    """Send what ``advance`` tells in this block to a listener, too."""
    outer = _listener.get()

    def both(share: float, what: str) -> None:
        listener(share, what)
        if outer is not None:
            outer(share, what)

    with listening(both):
        yield


@contextmanager
def part(start: float, end: float) -> Iterator[None]:
    """A block whose own work, from 0 to 1, is the part from ``start`` to ``end`` of the work around it."""
    outer = _listener.get()
    inner: Listener | None = None if outer is None else lambda share, what: outer(start + (end - start) * share, what)
    with listening(inner):
        yield


def parts(*costs: float) -> list[AbstractContextManager[None]]:
    """Blocks that follow each other, each as large a part of the work around them as its cost."""
    ends = [0.0, *accumulate(costs)]
    return [part(start / ends[-1], end / ends[-1]) for start, end in pairwise(ends)]


def counted(items: Iterable[Item], total: int, what: str) -> Iterator[Item]:
    """The items, one by one, while whoever listens is told how many of them are done."""
    advance(0.0, what)  # before the first item, which may take long to come
    for done, item in enumerate(items, start=1):
        yield item
        advance(done / total, what)
