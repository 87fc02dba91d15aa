"""The command ``quadric``; see ``quadric --help``. Without the extra "cli" it prints the line that installs it."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

TERMINATED = 128 + signal.SIGTERM
"""Exit code of what SIGTERM ended, as shells have it."""


class Terminated(BaseException):
    """SIGTERM came: like KeyboardInterrupt, so that what was begun is cleared away."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 success, 1 failure, 2 wrong usage.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the command's name; by default what the shell gave.
    """
    try:
        with _terminable():
            return _run(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        return _failed("interrupted")
    except Terminated:
        return _failed("terminated", TERMINATED)


def _run(arguments: list[str]) -> int:
    """The imports take a while, and are interrupted like the work itself."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ModuleNotFoundError as error:
        return _failed(f"the command line needs {error.name}; install it with: pip install 'quadric[cli]'")
    from quadric.cli.app import run

    return run(arguments)


def _failed(words: str, code: int = 1) -> int:
    print(f"quadric: {words}", file=sys.stderr)  # noqa: T201
    return code


@contextmanager
def _terminable() -> Iterator[None]:
    """Turn SIGTERM into an exception, unless whoever calls from Python has plans for it."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _terminate(*_: object) -> NoReturn:
    raise Terminated
