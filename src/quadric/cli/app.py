"""The commands put together, and what becomes of their errors."""

from __future__ import annotations

import inspect
import sys
import traceback
from typing import Annotated

import typer

import quadric
from quadric.cli.certify import certify
from quadric.cli.compare import compare
from quadric.cli.console import UsageError, printable, say
from quadric.cli.data import data
from quadric.cli.explain import explain
from quadric.cli.export import export
from quadric.cli.fit import fit
from quadric.cli.flags import with_flags
from quadric.cli.paper import paper
from quadric.cli.path import path
from quadric.cli.predict import predict
from quadric.cli.report import report
from quadric.workflow.options import OptionError

HELP = """Sparse quadratic-surface classifiers: a small non-linear equation you can defend.

Each command has --help with examples. Results go to standard output or to files, progress and remarks to standard error.
Exit codes: 0 success, 1 failure, 2 wrong usage, 130 interrupted. Add --debug anywhere to see the traceback of an error."""

INTERRUPTED = 130
"""What typer makes of an interrupt."""

app = typer.Typer(name="quadric", help=HELP, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"quadric {quadric.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Options of all commands."""


COMMANDS = {
    command.__name__: command for command in (fit, path, predict, explain, report, export, certify, compare, paper, data)
}
for command in COMMANDS.values():
    # A docstring with a backslash is written raw; \b before its examples is to be the character that keeps their lines
    app.command(help=(inspect.getdoc(command) or "").replace(r"\b", "\b"))(command)


def run(arguments: list[str]) -> tuple[int, str]:
    """Run the command line: its exit code, and the line that tells of an error. An interrupt is left to the caller."""
    debug = "--debug" in arguments
    command = [argument for argument in arguments if argument != "--debug"]
    try:
        code = app(args=command or ["--help"], prog_name="quadric", standalone_mode=False)
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0, ""
    except BrokenPipeError:
        sys.stderr.close()
        return 1, ""
    except Exception as error:
        if debug:
            traceback.print_exc()
        return 2 if _is_usage(error) else 1, printable(f"quadric: {_one_line(error)}")


def _is_usage(error: Exception) -> bool:
    """Wrong usage: ours, that of an option that does not suit the data, or the parser's, which knows its exit code."""
    return isinstance(error, UsageError | OptionError) or getattr(error, "exit_code", 1) == 2


def _one_line(error: Exception) -> str:
    describe = getattr(error, "format_message", None)
    text = describe() if callable(describe) else with_flags(error)
    expected = isinstance(error, UsageError | ValueError | OSError | ImportError | RuntimeError) or callable(describe)
    line = " ".join(text.split())
    return line if expected and line else f"unexpected {type(error).__name__}: {line or 'no message'} (--debug shows where)"
