"""The command ``quadric``; see ``quadric --help``. Without the extra "cli" it prints the line that installs it."""

import os
import sys

# What takes time to import, such as typing and signal, waits until the signals are handled: before that, Ctrl-C shows a traceback
import _signal as signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

WORDS = {int(signal.SIGINT): "interrupted", int(signal.SIGTERM): "terminated"}


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Run the command line and return its exit code: 0 success, 1 failure, 2 wrong usage, 130 interrupted, 143 terminated.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the command's name. By default those of this process, which is expected to end afterwards.
    """
    received: list[int] = []

    def stop(number: int, frame: object) -> None:
        received.append(number)
        raise KeyboardInterrupt  # for SIGTERM too: what was begun is cleaned up

    before = _handled_by(stop)
    code, error = 1, ""
    try:
        code, error = _run(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        received = received or [signal.SIGINT]
    for number, handler in before.items():
        signal.signal(number, _leave if arguments is None else handler)
    if received:  # even if the interrupt became another error on its way, as it can in an import
        code, error = _ended_by(received[0])
        exec("")  # CPython remembers an interrupt inside exec, until the next one, and would end the process by the signal
    if error:
        print(error, file=sys.stderr)  # noqa: T201
    return code


def _handled_by(handler: "Callable[[int, object], None]") -> "dict[int, Any]":
    """Handle the signals that no one else handles or ignores; returns the handlers from before."""
    before = {number: signal.getsignal(number) for number in WORDS}
    free = {number: old for number, old in before.items() if old in (signal.default_int_handler, signal.SIG_DFL)}
    try:
        for number in free:
            signal.signal(number, handler)
    except ValueError:  # only the main thread handles signals
        return {}
    return free


def _ended_by(number: int) -> tuple[int, str]:
    return 128 + number, f"quadric: {WORDS[number]}"


def _leave(number: int, frame: object) -> None:
    """Handle a signal between the result and the end of the process, when an exception would show a traceback."""
    code, words = _ended_by(number)
    os.write(2, f"{words}\n".encode())
    os._exit(code)


def _run(arguments: list[str]) -> tuple[int, str]:
    """The exit code, and what to say of an error."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ModuleNotFoundError as error:
        return 1, f"quadric: the command line needs {error.name}; install it with: pip install 'quadric[cli]'"
    from quadric.cli.app import run

    return run(arguments)
