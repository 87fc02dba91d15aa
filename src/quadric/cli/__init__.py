"""The command ``quadric``; see ``quadric --help``. Without the extra "cli" it prints the line that installs it."""

import os
import sys

from quadric.cli.signals import SIGINT, Signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


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
        return run(arguments)
