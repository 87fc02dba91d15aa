"""``quadric export``: a model as SQL, Python, LaTeX, Excel, ONNX, JSON or an equation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from quadric.cli import options as shared
from quadric.cli.console import UsageError, say, say_json, write_output
from quadric.cli.inputs import check_output, read_table_model
from quadric.cli.layout import wrapped_equation
from quadric.export import equation, to_latex, to_python, to_sql
from quadric.export import export as export_model
from quadric.export.dispatch import FILES, SUFFIXES

TEXTS = {"sql": to_sql, "python": to_python, "latex": to_latex, "equation": equation}
OPTIONS = {
    "sql": ("table", "prefix"),
    "latex": ("form", "precision"),
    "equation": ("form", "precision"),
    "onnx": ("dtype",),
}


def export(
    model: shared.ModelFile,
    format: Annotated[  # noqa: A002
        Literal["sql", "python", "latex", "excel", "onnx", "json", "equation"] | None,
        typer.Option(help="What to write; by default by the ending of the output."),
    ] = None,
    output: Annotated[Path | None, typer.Option(help="File to write; without it, text goes to standard output.")] = None,
    form: Annotated[
        Literal["centred", "expanded"] | None,
        typer.Option(help="Of latex and equation: the model's own terms, or expanded to raw units.  [default: centred]"),
    ] = None,
    precision: Annotated[int | None, typer.Option(min=1, max=17, help="Of latex and equation: significant digits.")] = None,
    table: Annotated[str | None, typer.Option(help="Of sql: name of the table.  [default: data]")] = None,
    prefix: Annotated[
        str | None, typer.Option(help="Of sql: put before the names of new columns.  [default: quadric_]")
    ] = None,
    dtype: Annotated[
        Literal["float32", "float64"] | None, typer.Option(help="Of onnx: numbers in and out.  [default: float32]")
    ] = None,
    force: shared.Force = False,
    as_json: shared.AsJson = False,
) -> None:
    r"""Write a model in a form that other programs, or people, use.

    \b
    Examples:
      quadric export model.json --format sql --output model.sql
      quadric export model.json --format sql --table applications
      quadric export model.json --output model.xlsx
      quadric export model.json --format equation --form expanded
      quadric export model.json --format latex --precision 3 --output model.tex
    """
    given = {"form": form, "precision": precision, "table": table, "prefix": prefix, "dtype": dtype}
    kind = _format(format, output)
    extra = _options(kind, given)
    if output is not None:
        check_output(output, force, model)
    elif kind in FILES:
        raise UsageError(f"the format {kind} needs a file: give --output")
    loaded = read_table_model(model)
    content = TEXTS[kind](loaded.saved, **extra) if kind in TEXTS else None
    if output is not None and content is not None:
        write_output(output, content.rstrip("\n") + "\n", force)
    elif output is not None:
        export_model(loaded.saved, kind, output, **extra)
    if as_json:
        listed = {"content": content} if output is None else {"output": str(output)}
        say_json({"format": kind, **listed})
    elif output is not None:
        say(f"written to: {output}")
    elif kind == "equation":
        for line in (content or "").splitlines():
            say(wrapped_equation(line))
    else:
        sys.stdout.write(content or "")  # as it is: programs read it


def _format(given: str | None, output: Path | None) -> str:
    if given is not None:
        return given
    if output is None:
        raise UsageError("give --format or --output")
    if output.suffix.lower() == ".txt":
        return "equation"
    if output.suffix.lower() not in SUFFIXES:
        raise UsageError(f"--output {output.name}: cannot tell a format from its ending; give --format")
    return SUFFIXES[output.suffix.lower()]


def _options(kind: str, given: dict[str, Any]) -> dict[str, Any]:
    wanted = {name: value for name, value in given.items() if value is not None}
    foreign = [name for name in wanted if name not in OPTIONS.get(kind, ())]
    if foreign:
        raise UsageError(f"--{foreign[0]} is not for the format {kind}")
    return wanted
