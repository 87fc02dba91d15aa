"""The commands put together, and what becomes of their errors."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any, Literal, get_args, get_origin

import typer
from typer.core import TyperCommand

import quadric
from quadric.cli.console import CLAIMS, UsageError, printable, say, sentence
from quadric.errors import quoted
from quadric.workflow.options import OptionError

HELP = """Sparse quadratic-surface classifiers: a small non-linear equation you can defend.

Each command has --help with examples. Results go to standard output or to files, progress and remarks to standard error.
Exit codes: 0 success, 1 the data or the model cannot do it, 2 something is typed wrong, 3 a limit of quadric monitor is passed,
130 interrupted. quadric --version prints the version; --debug anywhere shows the traceback of an error."""

# Each is a function in a module of its name here
COMMANDS = (
    "check",
    "fit",
    "path",
    "predict",
    "explain",
    "report",
    "monitor",
    "validate",
    "export",
    "certify",
    "compare",
    "swap",
    "fairness",
    "overrides",
    "rejects",
    "studio",
    "paper",
    "data",
)


def run(arguments: Sequence[str]) -> tuple[int, str]:
    """Run the command line: its exit code, and the line that tells of an error. An interrupt is left to the caller."""
    words = [argument for argument in arguments if argument != "--debug"] or ["--help"]
    try:
        if words == ["--version"]:
            say(f"quadric {quadric.__version__}")
            sys.stdout.flush()
            return 0, ""
        named = words[:1] if words[0] in COMMANDS else []
        app = _app(named or COMMANDS)  # all commands together take typer 0.1 s longer
        with CLAIMS:
            code = app(args=words[len(named) :], prog_name=" ".join(["quadric", *named]), standalone_mode=False)
        if code == 130:  # what typer makes of an interrupt
            raise KeyboardInterrupt
        sys.stdout.flush()
        return code if isinstance(code, int) else 0, ""
    except (BrokenPipeError, SystemExit):  # the reader has seen enough; the parser turns that into the end of the process
        return 1, ""
    except Exception as error:
        if "--debug" in arguments:
            traceback.print_exc()
        # ours, that of an option that does not suit the data, or the parser's, which knows its exit code
        is_usage = isinstance(error, UsageError | OptionError) or getattr(error, "exit_code", 1) == 2
        return 2 if is_usage else 1, printable(f"quadric: {_one_line(error, words)}")


def _app(names: Sequence[str]) -> typer.Typer:
    app = typer.Typer(help=HELP, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    for name in names:
        command = getattr(import_module(f"quadric.cli.{name}"), name)
        # A docstring with a backslash is written raw; \b before its examples is to be the character that keeps their lines
        app.command(cls=_Command, help=(inspect.getdoc(command) or "").replace(r"\b", "\b"))(command)
    return app


class _Command(TyperCommand):
    """Lists its options in groups: those that belong together have the same panel, which typer shows only in frames."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
            panel = getattr(parameter, "rich_help_panel", None) or kind
            groups.setdefault(panel, []).extend(filter(None, [parameter.get_help_record(ctx)]))
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def _one_line(error: Exception, arguments: Sequence[str]) -> str:
    describe = getattr(error, "format_message", None)
    expected = isinstance(error, UsageError | ValueError | OSError | ImportError | RuntimeError) or callable(describe)
    words = _refused(error, arguments) if type(error) is typer.BadParameter else describe() if callable(describe) else ""
    line = sentence(words or _named(error) or error)
    if isinstance(error, MemoryError) and not expected:
        return f"out of memory{f' ({line})' if line else ''}: take fewer rows or columns, or lift the limit"
    return line if expected and line else f"unexpected {type(error).__name__}: {line or 'no message'} (--debug shows where)"


def _refused(error: Any, words: Sequence[str]) -> str:
    """What was typed and what the option takes; the parser's own words differ between its releases, and do not tell."""
    option = inspect.signature(error.ctx.command.callback, eval_str=True).parameters[error.param.name]
    (kind, own), name = get_args(option.annotation), error.param.opts[0]
    wanted = next(filter(None, map(_kind_words, (kind, *get_args(kind)))), None)
    if wanted is None:
        return str(error.format_message())
    limits = "" if own.min is None else f" from {own.min:,.0f} to {own.max:,.0f}"
    pieces = ((*word.partition("="), following) for word, following in pairwise([*words, ""]))
    *_, typed = (after if mark else following for start, mark, after, following in pieces if start == name)  # the last counts
    return f"{name}: {quoted(typed)} is {wanted}{limits}"


def _kind_words(kind: Any) -> str | None:
    if get_origin(kind) is Literal:
        return f"not one of {', '.join(get_args(kind))}"
    return {int: "not an integer", float: "not a number"}.get(kind)


def _named(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return ""
