"""``quadric export``: a model as SQL, Python, LaTeX, Excel, ONNX, JSON or an equation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import quadric
from quadric.cli import options as shared
from quadric.cli.console import UsageError, claim_output, say, say_json, write_output
from quadric.cli.inputs import read_table_model
from quadric.cli.layout import wrapped_equation
from quadric.cli.stdio import data_output

# Formats that can go to standard output, and the functions that write them
TEXTS = {"sql": "to_sql", "python": "to_python", "latex": "to_latex", "equation": "equation"}
OPTIONS = {
    "sql": ("table", "prefix", "points"),
    "excel": ("points",),
    "html": ("points",),
    "latex": ("form", "precision"),
    "equation": ("form", "precision"),
    "onnx": ("dtype",),
}


def export(
    model: shared.ModelFile,
    format: Annotated[  # noqa: A002
        Literal["sql", "python", "latex", "excel", "onnx", "json", "equation", "html"] | None,
        typer.Option(help="Format to write.  [default: by the ending of --output, otherwise sql]"),
    ] = None,
    output: Annotated[Path | None, typer.Option(help="File to write.  [default: standard output, for text formats]")] = None,
    form: Annotated[
        Literal["centred", "expanded"] | None,
        typer.Option(help="For latex and equation: the model's own terms, or expanded to raw units.  [default: centred]"),
    ] = None,
    precision: Annotated[int | None, typer.Option(min=1, max=17, help="For latex and equation: significant digits.")] = None,
    table: Annotated[str | None, typer.Option(help="For sql: name of the table.  [default: data]")] = None,
    prefix: Annotated[str | None, typer.Option(help="For sql: prefix of the new columns.  [default: quadric_]")] = None,
    points: shared.Points = None,
    dtype: Annotated[
        Literal["float32", "float64"] | None, typer.Option(help="For onnx: type of inputs and outputs.  [default: float32]")
    ] = None,
    force: shared.Force = False,
    as_json: shared.AsJson = False,
) -> None:
    r"""Write a model as SQL, Python, LaTeX, Excel, ONNX, JSON, text, or a scorecard that prints on one page (html).

    \b
    Examples:
      quadric export model.json
      quadric export model.json --format sql --table applications
      quadric export model.json --output model.xlsx
      quadric export model.json --output card.html --points 600:20:50
      quadric export model.json --format equation --form expanded
      quadric export model.json --format latex --precision 3 --output model.tex
    """
    settings = {"form": form, "precision": precision, "table": table, "prefix": prefix, "points": points, "dtype": dtype}
    kind = _format(format, output)
    extra = _options(kind, settings)
    extra.pop("points", None)  # which the model has then
    if output is not None:
        claim_output(output, force, model)
    elif kind not in TEXTS:
        raise UsageError(f"the format {kind} needs a file: give --output")
    loaded = read_table_model(model, points)
    content = getattr(quadric.export, TEXTS[kind])(loaded.saved, **extra) if kind in TEXTS else ""
    if kind == "html":
        content = _card(loaded, model.stem)
    if output is not None and content:
        write_output(output, content.rstrip("\n") + "\n", force)
    elif output is not None:
        quadric.export.export(loaded.saved, kind, output, **extra)
    if as_json:
        say_json({"format": kind, **({"output": str(output)} if output else {"content": content})})
    elif output is not None:
        say(f"written to: {output}")
    elif kind == "equation":
        say("\n".join(map(wrapped_equation, content.splitlines())))
    else:
        data_output().write(content)


def _card(model: quadric.workflow.TableModel, title: str) -> str:
    from quadric.report.scorecard import render_card
    from quadric.review.scorecard import scorecard

    line = model.points_line
    if line is None:
        raise UsageError("a scorecard needs a scale: give --points, such as 600:20:50")
    return render_card(scorecard(model, line), title)


def _format(named: str | None, output: Path | None) -> str:
    from quadric.export import SUFFIXES

    if named is not None:
        return named
    if output is None:
        return "sql"
    kind = {**SUFFIXES, ".txt": "equation", ".html": "html"}.get(output.suffix.lower())
    if kind is None:
        raise UsageError(f"--output {output.name}: its ending names no format; give --format")
    return kind


def _options(kind: str, settings: dict[str, Any]) -> dict[str, Any]:
    wanted = {name: value for name, value in settings.items() if value is not None}
    foreign = [name for name in wanted if name not in OPTIONS.get(kind, ())]
    if foreign:
        raise UsageError(f"--{foreign[0]} is not for the format {kind}")
    return wanted
