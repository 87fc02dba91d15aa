"""What long work tells of its progress."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from quadric.progress import listening


@contextmanager
def heard() -> Iterator[list[tuple[float, str]]]:
    """The shares that the work of this block tells, and what is being done."""
    told: list[tuple[float, str]] = []
    with listening(lambda share, what: told.append((share, what))):
        yield told
