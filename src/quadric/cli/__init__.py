"""The command ``quadric``; see ``quadric --help``. Without the extra "cli" it prints the line that installs it."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 success, 1 failure, 2 wrong usage.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the command's name; by default what the shell gave.
    """
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ModuleNotFoundError as error:
        print(  # noqa: T201
            f"quadric: the command line needs {error.name}; install it with: pip install 'quadric[cli]'", file=sys.stderr
        )
        return 1
    from quadric.cli.app import run

    return run(list(sys.argv[1:] if arguments is None else arguments))
