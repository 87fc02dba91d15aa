"""The command ``quadric``; see ``quadric --help``. Without the extra "cli" it prints the line that installs it."""

import os
import sys

from quadric.cli.signals import SIGINT, Signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Run the command line and return its exit code: 0 success, 1 failure, 2 wrong usage, 130 interrupted, 143 terminated.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the command's name. By default those of this process, which is expected to end afterwards.
    """
    with Signals(final=arguments is None) as signals:
        try:
            code, error = _run(list(sys.argv[1:] if arguments is None else arguments))
        except KeyboardInterrupt:
            signals.received.append(SIGINT)
        except Exception:
            if not signals.received:
                raise
        if signals.received:
            code, error = signals.ended()
        if error:
            print(error, file=sys.stderr)  # noqa: T201
    return code


def _run(arguments: list[str]) -> tuple[int, str]:
    """The exit code, and what to say of an error."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ModuleNotFoundError as error:
        return 1, f"quadric: the command line needs {error.name}; install it with: pip install 'quadric[cli]'"
    # Our kernels use one thread of OpenBLAS; each further one would reserve 80 MB of addresses, which may be limited
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from quadric.cli.app import run

    return run(arguments)
