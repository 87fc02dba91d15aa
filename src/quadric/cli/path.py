"""``quadric path``: what each further term brings."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import quadric
from quadric.cli import options as shared
from quadric.cli.console import UsageError, claim_output, say, say_json, working, write_output
from quadric.cli.fit import check_rules
from quadric.cli.inputs import READING, training_stream
from quadric.cli.layout import paragraphs, text_table
from quadric.extras import require
from quadric.progress import part
from quadric.safe_csv import CsvWriter
from quadric.workflow.options import TrainingOptions

OPTIONS = shared.training(
    without=("k", "rule", *shared.ONLY_FIT),
    defaults={"terms": "quadratic"},
    words={
        "C": "Weight of the loss. Without it, the one of --Cs with the best accuracy.",
        "terms": "Terms to choose from: linear ones, or squares and products, too; auto: the kind with the best accuracy.",
    },
)


@shared.expanded(options=OPTIONS, table_format=shared.TableFormat)
def path(
    data: shared.DataFile,
    target: shared.Target,
    options: TrainingOptions,
    table_format: shared.TableFormat,
    certify: Annotated[bool, typer.Option(help="Also prove how far other terms could lower the objective, at most.")] = False,
    price_rules: Annotated[
        bool,
        typer.Option(
            "--price-rules", help="Also show objective and accuracy without the rules, at the same C.", rich_help_panel="Rules"
        ),
    ] = False,
    output: Annotated[Path | None, typer.Option(help="Also write the table (.csv) or a picture (.svg).")] = None,
    force: shared.Force = False,
    as_json: shared.AsJson = False,
) -> None:
    r"""Show what each further term brings.

    For each number of terms: the objective, the cross-validated accuracy, and the terms gained and lost.

    Marks: "best" has the best cross-validated accuracy; "1se" has the fewest terms within one standard error of it.
    Accuracies that the choice did not depend on are not computed, and blank.

    With --certify, "gap" bounds how far other terms could lower the objective; "proved" means that none do.

    \b
    Examples:
      quadric path data.csv --target risk
      quadric path data.csv --target risk --ks 1:15 --C 4 --loss least_squares
      quadric path data.csv --target risk --certify --output path.svg
      quadric path data.csv --target risk --output path.csv --json
      quadric path data.csv --target risk --hierarchy strong --price-rules
    """
    from quadric.workflow.path_summary import path_facts
    from quadric.workflow.rule_words import without_rules

    if price_rules:
        check_rules(options)
    if output is not None:
        claim_output(output, force, data)
        if output.suffix.lower() not in (".csv", ".svg"):
            raise UsageError(f"--output {output.name}: the ending must be .csv for a table or .svg for a picture")
        if output.suffix.lower() == ".svg":
            require("matplotlib", "plot")
    with working("path") as describe:
        with part(0.0, READING):
            table, options = training_stream(data, target, replace(options, scoring="accuracy"), table_format.how())
            prepared = quadric.workflow.prepare(table, target, options)
        describe(f"one path per fold, {options.folds} folds")
        with part(READING, 0.55 if price_rules else 1.0):
            search = quadric.workflow.choose(prepared, options, certify=certify)
        with part(0.55, 1.0):
            free = without_rules(options)
            freely = quadric.workflow.choose(prepared.under(free), free) if price_rules else None
    facts = path_facts(prepared, search, freely)
    if output is not None:
        is_table = output.suffix.lower() == ".csv"
        write_output(output, _as_csv(facts["path"]) if is_table else _picture(search, facts["C"]), force)
    if as_json:
        say_json(facts | {"output": None if output is None else str(output)})
        return
    _tell(facts, prepared, target, certify)
    if output is not None:
        say(f"written to: {output}")


def _tell(facts: Mapping[str, Any], data: quadric.workflow.PreparedData, target: str, certify: bool) -> None:
    columns = {
        "k": [str(row["k"]) for row in facts["path"]],
        "objective": [f"{row['objective']:.5g}" for row in facts["path"]],
        **({"gap": [_gap_words(row) for row in facts["path"]]} if certify else {}),
        "accuracy": [
            "" if row["accuracy"] is None else f"{100 * row['accuracy']:.1f} ± {100 * row['error']:.1f} %"
            for row in facts["path"]
        ],
        **(_without_rules(facts) if "without_rules" in facts["path"][0] else {}),
        "": [" ".join(row["marks"]) for row in facts["path"]],
        "terms gained (+) and lost (-)": [
            ", ".join([*(f"+{name}" for name in row["gained"]), *(f"-{name}" for name in row["lost"])]) for row in facts["path"]
        ],
    }
    head, cells = list(columns), list(zip(*columns.values(), strict=True))
    say("\n".join([*text_table(head, cells, left=(head.index(""),)), ""]))
    others = f", the best of {', '.join(f'{C:g}' for C in facts['Cs'])}" if len(facts["Cs"]) > 1 else ""
    size = f"{len(data.y)} rows, {data.n_candidates} possible terms"
    remarks = {
        target: f"{', '.join(data.class_names)}; {size}, loss {facts['loss']}, C = {facts['C']:g}{others}",
        "gap": "no other k terms lower the objective by more; proved: none lower it" if certify else None,
        "accuracy": f"cross-validated, {facts['folds']} folds, mean ± standard error",
        "without": "the same k and C without any rule" if "without_rules" in facts["path"][0] else None,
        f"quadric fit --scoring accuracy --terms {facts['terms']}": (
            f"would choose k = {facts['chosen']['k']} and C = {facts['chosen']['C']:g}"
        ),
    }
    say(paragraphs(remarks))


def _without_rules(facts: Mapping[str, Any]) -> dict[str, list[str]]:
    cells = [row["without_rules"] for row in facts["path"]]
    return {
        "without": ["" if cell["objective"] is None else f"{cell['objective']:.5g}" for cell in cells],
        " ": ["" if cell["accuracy"] is None else f"{100 * cell['accuracy']:.1f} %" for cell in cells],
    }


def _gap_words(row: Mapping[str, Any]) -> str:
    if row["proved"]:
        return "proved"
    return "" if row["gap"] is None else f"{100 * row['gap']:.1f} %" if row["gap"] >= 0.0005 else "< 0.1 %"


def _as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    text = io.StringIO(newline="")
    lines = [
        (
            *(row[name] for name in ("k", "objective", "accuracy", "error")),
            *(int(rule in row["marks"]) for rule in ("best", "1se")),
            *("; ".join(row[name]) for name in ("gained", "lost")),
            row["lower_bound"],
            *row.get("without_rules", {}).values(),
        )
        for row in rows
    ]
    free = [f"{name}_without_rules" for name in rows[0].get("without_rules", {})]
    head = ("k", "objective", "accuracy", "standard_error", "best", "1se", "gained", "lost", "lower_bound", *free)
    CsvWriter(text).writerows([head, *lines])
    return text.getvalue()


def _picture(search: quadric.SparseQuadraticSVCCV, C: float) -> str:
    from quadric.workflow.cv_summary import grids_of
    from quadric.workflow.path_summary import summed_path

    matplotlib = require("matplotlib", "plot")
    figure_module = require("matplotlib.figure", "plot")
    grid = grids_of(search)[0]
    one = grid.Cs == C
    whole = summed_path(search)
    drawn = replace(
        whole,
        Cs=grid.Cs[one],
        objective=whole.objective[one],
        lower_bound=None if whole.lower_bound is None else whole.lower_bound[one],
        scores=grid.scores[:, one],
    )
    with matplotlib.rc_context({"svg.hashsalt": "quadric", "svg.fonttype": "none"}):
        figure = figure_module.Figure(figsize=(7.0, 4.2), layout="constrained")
        drawn.plot(figure.subplots())
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": "quadric"})
    return text.getvalue()
