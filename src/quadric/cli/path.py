"""``quadric path``: what each further term brings."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from quadric.cli import options as shared
from quadric.cli.console import UsageError, say, say_json, working, write_output
from quadric.cli.inputs import as_usage, check_output, class_weights, integers, numbers, read_data, reading
from quadric.cli.layout import paragraph, text_table
from quadric.extras import require
from quadric.geometry.terms import term_names
from quadric.workflow import Choice, PreparedData, TrainingOptions, choose, prepare
from quadric.workflow.options import CS, KS


@dataclass(frozen=True)
class Row:
    """One number of terms."""

    k: int
    objective: float
    accuracy: float
    error: float
    gained: list[str]
    lost: list[str]
    marks: list[str]


def path(
    data: shared.DataFile,
    target: shared.Target,
    ks: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help=f"Terms to try, as 1:10,15.  [default: {','.join(map(str, KS))}]")
    ] = None,
    C: Annotated[
        float | None, typer.Option("--C", help="Weight of the loss; without it, the one of --Cs with the best accuracy.")
    ] = None,
    Cs: Annotated[
        str | None,
        typer.Option("--Cs", metavar="NUMBERS", help=f"C to try.  [default: {','.join(f'{C:g}' for C in CS)}]"),
    ] = None,
    loss: shared.Loss = "hinge",
    folds: shared.Folds = 5,
    positive: shared.Positive = None,
    standardize: shared.Standardize = True,
    coding: shared.Coding = "onehot",
    missing: shared.Missing = "refuse",
    na: shared.NA = None,
    max_levels: shared.MaxLevels = 100,
    ignore: shared.Ignore = None,
    class_weight: shared.ClassWeight = None,
    include: shared.Include = None,
    exclude: shared.Exclude = None,
    seed: shared.Seed = 0,
    jobs: shared.Jobs = None,
    delimiter: shared.Delimiter = None,
    encoding: shared.Encoding = "utf-8",
    output: Annotated[Path | None, typer.Option(help="Also write the table (.csv) or a picture (.svg).")] = None,
    force: shared.Force = False,
    as_json: shared.AsJson = False,
) -> None:
    r"""Show the accuracy and the terms of the best surface for each number of terms.

    Marks: "best" has the largest cross-validated accuracy; "1se" has the fewest terms within one standard error of it, and is
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
    with as_usage():
        asked = TrainingOptions(
            C=C,
            loss=loss,
            folds=folds,
            ks=KS if ks is None else integers(ks, "--ks"),
            Cs=CS if Cs is None else numbers(Cs, "--Cs"),
            positive=positive,
            ignore=tuple(ignore or ()),
            standardize=standardize,
            coding=coding,
            missing=missing,
            max_levels=max_levels,
            class_weight=class_weights(class_weight or ()),
            include=tuple(include or ()),
            exclude=tuple(exclude or ()),
            seed=seed,
            n_jobs=jobs,
        )
    with working("path") as report:
        table = read_data(data, reading(delimiter, encoding, na), report=report)
        report(f"paths of {asked.folds} folds")
        prepared = prepare(table, target, asked)
        choice = choose(prepared, asked, verbose=1)
    C_index = choice.best[0]
    lines = _rows(prepared, choice, C_index)
    if output is not None:
        content = _as_csv(lines) if output.suffix.lower() == ".csv" else _picture(choice, C_index)
        write_output(output, content, force)
    if as_json:
        say_json(_facts(prepared, choice, C_index, lines, output))
        return
    _tell(prepared, choice, C_index, lines, loss, target)
    if output is not None:
        say(f"written to: {output}")


def _rows(data: PreparedData, choice: Choice, C_index: int) -> list[Row]:
    all_names = term_names(data.feature_names)
    subjects = [f"{name}: " for name in data.class_names] if len(choice.paths) > 1 else [""]
    names = [subject + name for subject in subjects for name in all_names]
    supports = np.concatenate([path.coef[C_index] != 0.0 for path in choice.paths], axis=1)
    objective = np.sum([path.objective[C_index] for path in choice.paths], axis=0)
    out, before = [], np.zeros(supports.shape[1], dtype=bool)
    for j, k in enumerate(choice.ks.tolist()):
        now = supports[j]
        marks = ["best"] * (j == choice.best[1]) + ["1se"] * (j == choice.chosen[1])
        gained, lost = ([names[t] for t in np.flatnonzero(change)] for change in (now & ~before, before & ~now))
        mean, error = choice.mean[C_index, j], choice.error[C_index, j]
        out.append(Row(k, float(objective[j]), float(mean), float(error), gained, lost, marks))
        before = now
    return out


def _tell(data: PreparedData, choice: Choice, C_index: int, rows: Sequence[Row], loss: str, target: str) -> None:
    head = ("k", "objective", "accuracy", "", "terms gained (+) and lost (-)")
    cells = [
        (
            str(row.k),
            f"{row.objective:.5g}",
            f"{100 * row.accuracy:.1f} ± {100 * row.error:.1f} %",
            " ".join(row.marks),
            ", ".join([*(f"+{name}" for name in row.gained), *(f"-{name}" for name in row.lost)]),
        )
        for row in rows
    ]
    for line in text_table(head, cells, left=(3,)):
        say(line)
    say("")
    others = f", the best of {', '.join(f'{C:g}' for C in choice.Cs)}" if len(choice.Cs) > 1 else ""
    rows_and_terms = f"{len(data.y)} rows, {data.n_candidates} possible terms"
    say(paragraph(target, f"{', '.join(data.class_names)}; {rows_and_terms}, loss {loss}, C = {choice.Cs[C_index]:g}{others}"))
    say(paragraph("accuracy", f"of rows left out, {choice.folds} folds, ± standard error"))
    say(paragraph("1se", f"k = {choice.k} with C = {choice.C:g}: what quadric fit chooses from these"))


def _as_csv(rows: Sequence[Row]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("k", "objective", "accuracy", "standard_error", "best", "1se", "gained", "lost"))
    for row in rows:
        marks = [int("best" in row.marks), int("1se" in row.marks)]
        lists = ["; ".join(row.gained), "; ".join(row.lost)]
        writer.writerow((row.k, repr(row.objective), repr(row.accuracy), repr(row.error), *marks, *lists))
    return text.getvalue()


def _picture(choice: Choice, C_index: int) -> str:
    """The path of the C that the table shows; the same choice gives the same bytes."""
    matplotlib = require("matplotlib", "plot")
    figure_module = require("matplotlib.figure", "plot")
    first = choice.paths[0]
    one = slice(C_index, C_index + 1)
    scores = None if first.scores is None else first.scores[:, one]
    shown = replace(
        first,
        Cs=first.Cs[one],
        objective=np.sum([path.objective[one] for path in choice.paths], axis=0),
        scores=scores,
    )
    with matplotlib.rc_context({"svg.hashsalt": "quadric", "svg.fonttype": "none"}):
        figure = figure_module.Figure(figsize=(7.0, 4.2), layout="constrained")
        shown.plot(figure.subplots())
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": "quadric"})
    return text.getvalue()


def _facts(data: PreparedData, choice: Choice, C_index: int, rows: Sequence[Row], output: Path | None) -> dict[str, Any]:
    return {
        "classes": list(data.class_names),
        "C": float(choice.Cs[C_index]),
        "Cs": choice.Cs.tolist(),
        "folds": choice.folds,
        "best": {"k": int(choice.ks[choice.best[1]]), "C": float(choice.Cs[choice.best[0]])},
        "1se": {"k": choice.k, "C": choice.C},
        "path": [vars(row) for row in rows],
        "mean": choice.mean.tolist(),
        "output": None if output is None else str(output),
    }
