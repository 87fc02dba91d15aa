"""The command ``quadric``; see ``quadric --help``. Without the extra "cli" it prints the line that installs it."""

import gc
import os
import sys

from quadric.cli.signals import SIGINT, Signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Run the command line and return its exit code: 0 success, 1 failure, 2 typed wrong, 128 + n after signal n (Ctrl-C: 130).

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the command's name. By default those of this process, which is expected to end afterwards.
    """
    final = arguments is None
    with Signals(final) as signals:
        try:
            signals.watch_threads()
            code, error = _run(list(sys.argv[1:] if arguments is None else arguments), final)
        except KeyboardInterrupt:
            signals.received.append(SIGINT)
        except Exception:
            if not signals.received:
                raise
        if signals.received:
            code, error = signals.ended()
        if error and sys.stderr is not None:  # closed, it would be standard output
            try:
                print(error, file=sys.stderr, flush=True)  # noqa: T201
            except OSError:
                sys.stderr = None  # closed at the other end: Python need not try again while it ends
        if final:
            gc.freeze()  # at its end Python would look through all that was imported for cycles, which takes 0.3 s
    return code


def _run(arguments: list[str], final: bool) -> tuple[int, str]:
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ModuleNotFoundError as error:
        return 1, f"quadric: the command line needs {error.name}; install it with: pip install 'quadric[cli]'"
    # Our kernels use one thread of OpenBLAS; each further one would reserve 80 MB of addresses, which may be limited
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Arrow's own pool returns memory block by block and asks for it again, which is slower than keeping it
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    from quadric.cli.app import run
    from quadric.cli.stdio import safe_streams

    with safe_streams(final):
        return _with_room(lambda: run(arguments))


def _with_room(call: "Callable[[], tuple[int, str]]") -> tuple[int, str]:
    return call()


# CPython keeps frames in blocks of 16 kB, and maps and unmaps one at every call of a function that lies just beyond the end of
# another: where that is inside a loop of an import, starting takes up to 0.3 s longer. A large frame gets a large block, whose
# rest holds all that is called from it; what is never touched of it takes no memory.
_with_room.__code__ = _with_room.__code__.replace(co_stacksize=100_000)
