"""``quadric explain``: why rows get their labels, and what would change them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import quadric
from quadric.cli import inputs
from quadric.cli import options as shared
from quadric.cli.console import as_usage, remark, say, say_json, working
from quadric.cli.layout import paragraph, wrapped_item
from quadric.defaults import LARGEST_COUNT
from quadric.progress import part

if TYPE_CHECKING:
    from quadric.review.explaining import ExplainingOptions
    from quadric.tables import Table, TableStream
    from quadric.workflow import TableModel


@shared.expanded(table_format=shared.TableFormat)
def explain(
    model: shared.ModelFile,
    data: shared.DataFile,
    *,
    rows: Annotated[str, typer.Option(help="Rows to explain, counted from 0: 0:10, 3 or 1,5,9.")] = "0:10",
    reasons: Annotated[int, typer.Option(min=1, max=LARGEST_COUNT, help="Largest number of reasons per row.")] = 4,
    reference: Annotated[
        Literal["mean", "approved", "cutoff"],
        typer.Option(help="Compare rows with the mean of the background, the mean of its best tenth, or the decision border."),
    ] = "mean",
    target_class: Annotated[
        str | None,
        typer.Option(
            "--favourable",
            "--target-class",
            metavar="CLASS",
            help="Class that people want, which changes lead to.  [default: --favourable of quadric fit; else no advice]",
        ),
    ] = None,
    background: Annotated[Path | None, typer.Option(help="Table of the population.  [default: the data]")] = None,
    frozen: shared.Frozen = None,
    actionable: shared.Actionable = None,
    ways: Annotated[int, typer.Option(min=1, max=LARGEST_COUNT, help="Largest number of different changes per row.")] = 3,
    table_format: shared.TableFormat,
    as_json: shared.AsJson = False,
) -> None:
    r"""Explain rows: reasons, and the smallest change of the decision.

    Changes lead to the class --favourable, named here or in quadric fit. Without it, reasons are what speaks for the positive
    class, and there is no advice. Changes leave text columns and age alone, go in the direction in which a column helps on
    average, stay within the range of the background, and keep whole numbers whole. --actionable says otherwise. Costs are in
    standard deviations of the columns. Rows that have the wanted class already get no advice.

    \b
    Examples:
      quadric explain model.json data.csv --rows 0:10
      quadric explain model.json new.csv --background data.csv --rows 3
      quadric explain model.json data.csv --rows 0,5 --favourable good \
        --actionable savings:up --actionable amount:down
      quadric explain model.json data.csv --rows 0:100 --json
    """
    from quadric.review.explaining import REFERENCES, ExplainingOptions, check_names, explain_picked
    from quadric.review.row_samples import random_rows

    loaded = inputs.read_table_model(model)
    how = table_format.how(loaded)
    wanted = ExplainingOptions(reasons, reference, target_class, frozen or (), actionable or (), ways)
    with as_usage():
        check_names(loaded, wanted)
    with working("explain"):
        stream = _stream(loaded, data, how)
        everyone = stream if background is None else _stream(loaded, background, how)
        with part(0.0, inputs.READING):
            population, n_all = random_rows(loaded, everyone, LARGEST_COUNT if everyone.path is None else None)
        numbers, picked = _picked(loaded, stream, rows, n_all if background is None else None)
        with part(inputs.READING, 1.0):
            answers = explain_picked(loaded, picked, numbers, population, wanted)
    if len(population) < n_all:
        remark(f"rows are compared with a random sample: {len(population):,} of {n_all:,} rows")
    if not all(answer.wanted for answer in answers):
        remark("no change is advised: name the class that people want, with --favourable CLASS, here or in quadric fit")
    elif any(answer.label != answer.target for answer in answers):
        _remark_on_changes(loaded, wanted)
    rules = loaded.view.proof_lines(loaded.class_names)
    if as_json:
        say_json({"reference": reference, "rows": [asdict(answer) for answer in answers], "rules": rules})
        return
    against = f"the {REFERENCES[reference]}"
    say("\n\n".join("\n".join(map(wrapped_item, answer.lines(against))) for answer in answers))
    if rules:
        say("\n".join(["", *(paragraph("rule", rule) for rule in rules)]))


def _stream(model: TableModel, path: Path, how: Mapping[str, Any]) -> TableStream:
    inputs.check_there(path, or_folder=True)
    if quadric.workflow.is_streamed(path):
        return quadric.tables.TableStream(path, text=model.text_names, **how)
    return quadric.tables.TableStream(inputs.read_data(path, how, model.text_names))


def _picked(model: TableModel, stream: TableStream, text: str, n_rows: int | None) -> tuple[list[int], Table]:
    """Positions that a text names, and the rows there; rows that are not counted yet are counted only if they have to be."""
    from quadric.review.row_samples import rows_at

    if n_rows is None:
        last = inputs.last_row(text)
        n_rows = stream.count_rows() if last is None else last + 1
    numbers = inputs.rows(text, n_rows)
    found, n_read = rows_at(model, stream, numbers)
    return (numbers if len(found) == len(numbers) else inputs.rows(text, n_read)), found


def _remark_on_changes(model: TableModel, wanted: ExplainingOptions) -> None:
    from quadric.workflow.advice import ages, allowed_moves

    alone, remarks = ages(model, wanted.frozen, wanted.actionable), []
    if wanted.target is None:
        remarks.append(f"changes lead to {model.favourable} (--favourable CLASS for another)")
    if alone:
        remarks.append(f"changes leave {', '.join(alone)} alone")
    if not (wanted.frozen or model.frozen or wanted.actionable or model.actionable):
        columns = ", ".join(allowed_moves(model, wanted.frozen, wanted.actionable))
        remarks.append(
            f"changes may touch {columns or 'nothing'}, in the direction in which each helps on average "
            "(--actionable COLUMN:up, here or in quadric fit, names the only ones that may)"
        )
    for each in remarks:
        remark(each)
