"""``quadric path``: what each further term brings."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

import quadric
from quadric.cli import options as shared
from quadric.cli.console import UsageError, say, say_json, working, write_output
from quadric.cli.inputs import check_output, read_data
from quadric.cli.layout import paragraphs, text_table
from quadric.cli.training import training
from quadric.extras import require
from quadric.workflow.options import TrainingOptions

Row: TypeAlias = dict[str, Any]
"""What is said of one number of terms."""
OPTIONS = training(
    without=("k", "method", "cross_validate", "rule", "unseen", "calibrate", "time_limit"),
    words={"C": "Weight of the loss. Without it, the one of --Cs with the best accuracy."},
)


@shared.expanded(options=OPTIONS, table_format=shared.TABLE_FORMAT)
def path(
    data: shared.DataFile,
    target: shared.Target,
    options: TrainingOptions,
    table_format: shared.TableFormat,
    output: Annotated[Path | None, typer.Option(help="Also write the table (.csv) or a picture (.svg).")] = None,
    force: shared.Force = False,
    as_json: shared.AsJson = False,
) -> None:
    r"""Show what each further term brings.

    For each number of terms: the objective, the cross-validated accuracy, and the terms gained and lost.

    Marks: "best" has the best cross-validated accuracy; "1se" has the fewest terms within one standard error of it, and is
    what quadric fit chooses.

    \b
    Examples:
      quadric path data.csv --target risk
      quadric path data.csv --target risk --ks 1:15 --C 4 --loss least_squares
      quadric path data.csv --target risk --output path.svg
      quadric path data.csv --target risk --output path.csv --json
    """
    if output is not None:
        check_output(output, force, data)
        if output.suffix.lower() not in (".csv", ".svg"):
            raise UsageError(f"--output {output.name}: the ending must be .csv for a table or .svg for a picture")
        if output.suffix.lower() == ".svg":
            require("matplotlib", "plot")
    how = table_format.how()
    with working("path") as report:
        table = read_data(data, how, report=report)
        report(f"one path per fold, {options.folds} folds")
        prepared = quadric.workflow.prepare(table, target, options)
        choice = quadric.workflow.choose(prepared, options, verbose=1)
    C_index = choice.best[0]
    lines = _rows(prepared, choice, C_index)
    if output is not None:
        content = _as_csv(lines) if output.suffix.lower() == ".csv" else _picture(choice, C_index)
        write_output(output, content, force)
    if as_json:
        say_json(_facts(prepared, choice, C_index, lines, output))
        return
    _tell(prepared, choice, C_index, lines, options.loss, target)
    if output is not None:
        say(f"written to: {output}")


def _rows(data: quadric.workflow.PreparedData, choice: quadric.workflow.Choice, C_index: int) -> list[Row]:
    from quadric.geometry.terms import term_names

    names = term_names(data.feature_names)
    subjects = [f"{name}: " for name in data.class_names] if len(choice.paths) > 1 else [""]
    rows, before = [], list[str]()
    for j, k in enumerate(choice.ks.tolist()):
        now = [
            f"{subject}{name}"
            for subject, path in zip(subjects, choice.paths, strict=True)
            for name, value in zip(names, path.coef[C_index, j].tolist(), strict=True)
            if value
        ]
        row = {
            "k": k,
            "objective": sum(float(path.objective[C_index, j]) for path in choice.paths),
            "accuracy": float(choice.mean[C_index, j]),
            "error": float(choice.error[C_index, j]),
            "gained": [term for term in now if term not in before],
            "lost": [term for term in before if term not in now],
            "marks": ["best"] * (j == choice.best[1]) + ["1se"] * (j == choice.chosen[1]),
        }
        rows.append(row)
        before = now
    return rows


def _tell(
    data: quadric.workflow.PreparedData,
    choice: quadric.workflow.Choice,
    C_index: int,
    rows: Sequence[Row],
    loss: str,
    target: str,
) -> None:
    head = ("k", "objective", "accuracy", "", "terms gained (+) and lost (-)")
    cells = [
        (
            str(row["k"]),
            f"{row['objective']:.5g}",
            f"{100 * row['accuracy']:.1f} ± {100 * row['error']:.1f} %",
            " ".join(row["marks"]),
            ", ".join([*(f"+{name}" for name in row["gained"]), *(f"-{name}" for name in row["lost"])]),
        )
        for row in rows
    ]
    say("\n".join([*text_table(head, cells, left=(3,)), ""]))
    others = f", the best of {', '.join(f'{C:g}' for C in choice.Cs)}" if len(choice.Cs) > 1 else ""
    size = f"{len(data.y)} rows, {data.n_candidates} possible terms"
    facts = {
        target: f"{', '.join(data.class_names)}; {size}, loss {loss}, C = {choice.Cs[C_index]:g}{others}",
        "accuracy": f"cross-validated, {choice.folds} folds, mean ± standard error",
        "1se": f"k = {choice.k} and C = {choice.C:g}, which quadric fit would choose",
    }
    say(paragraphs(facts))


def _as_csv(rows: Sequence[Row]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("k", "objective", "accuracy", "standard_error", "best", "1se", "gained", "lost"))
    for row in rows:
        k, objective, accuracy, error, gained, lost, marks = row.values()
        flags = (int("best" in marks), int("1se" in marks))
        writer.writerow((k, repr(objective), repr(accuracy), repr(error), *flags, "; ".join(gained), "; ".join(lost)))
    return text.getvalue()


def _picture(choice: quadric.workflow.Choice, C_index: int) -> str:
    """The path of the C that the table shows; the same choice gives the same bytes."""
    matplotlib = require("matplotlib", "plot")
    figure_module = require("matplotlib.figure", "plot")
    first = choice.paths[0]
    one = slice(C_index, C_index + 1)
    scores = None if first.scores is None else first.scores[:, one]
    drawn = replace(
        first,
        Cs=first.Cs[one],
        objective=sum((path.objective[one] for path in choice.paths[1:]), start=first.objective[one]),
        scores=scores,
    )
    with matplotlib.rc_context({"svg.hashsalt": "quadric", "svg.fonttype": "none"}):
        figure = figure_module.Figure(figsize=(7.0, 4.2), layout="constrained")
        drawn.plot(figure.subplots())
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": "quadric"})
    return text.getvalue()


def _facts(
    data: quadric.workflow.PreparedData, choice: quadric.workflow.Choice, C_index: int, rows: Sequence[Row], output: Path | None
) -> dict[str, Any]:
    return {
        "classes": list(data.class_names),
        "C": float(choice.Cs[C_index]),
        "Cs": choice.Cs.tolist(),
        "folds": choice.folds,
        "best": {"k": int(choice.ks[choice.best[1]]), "C": float(choice.Cs[choice.best[0]])},
        "1se": {"k": choice.k, "C": choice.C},
        "path": list(rows),
        "mean": choice.mean.tolist(),
        "output": None if output is None else str(output),
    }
