"""``quadric predict``: scores and labels of new rows, in pieces."""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

import quadric
from quadric.cli import options as shared
from quadric.cli.console import UsageError, note, say, say_json, streamed_output, working
from quadric.cli.inputs import check_column, check_output, check_there, read_table_model
from quadric.cli.layout import paragraph
from quadric.progress import Report

CHUNK_ROWS = 50_000


@shared.expanded(table_format=shared.TABLE_FORMAT)
def predict(
    model: shared.ModelFile,
    data: shared.DataFile,
    *,
    output: Annotated[Path | None, typer.Option(help="CSV file to write.  [default: standard output]")] = None,
    keep: Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="Column to copy to the output. Repeatable.")] = None,
    table_format: shared.TableFormat,
    force: shared.Force = False,
    as_json: shared.AsJson = False,
) -> None:
    r"""Score the rows of a table.

    Columns: score (above 0 for the positive class), label and, for calibrated models, the probability of the positive class,
    which then decides the label. With more than two classes, score and probability are those of the label, and one score
    per class follows. Rows are read and written in pieces, so files can be larger than memory.

    \b
    Examples:
      quadric predict model.json new.csv --output scores.csv
      quadric predict model.json new.parquet --keep id --output scores.csv
      quadric predict model.json new.csv | head
      quadric predict model.json new.csv --output scores.csv --json
    """
    if output is not None:
        check_output(output, force, model, data)
    loaded = read_table_model(model)
    check_there(data)
    kept = tuple(keep or ())
    _check_kept(kept, _head(loaded, ()))
    how = table_format.how(loaded)
    rows: list[Sequence[Any]] = []
    destination = nullcontext(sys.stdout) if output is None else streamed_output(output, force)
    with working("predict") as report, destination as file:
        write = rows.extend if as_json and output is None else csv.writer(file, lineterminator="\n").writerows
        counts, extra = _score(loaded, data, how, kept, write, report)
    if as_json:
        head, *lines = rows or [()]
        listed = {"output": str(output)} if output else {"predictions": [dict(zip(head, each, strict=True)) for each in lines]}
        say_json({"rows": counts.total(), "labels": dict(sorted(counts.items())), "ignored_columns": extra, **listed})
        return
    if extra:
        note(paragraph("columns not used by the model", ", ".join(extra)))
    if output is not None:
        say(f"{counts.total()} rows: " + ", ".join(f"{count} labelled {label}" for label, count in sorted(counts.items())))
        say(f"written to: {output}")


def _check_kept(kept: Sequence[str], written: Sequence[str]) -> None:
    """Refuse columns that the output already has."""
    for position, name in enumerate(kept):
        if name in written:
            raise UsageError(f"--keep: the output has its own column {name!r}; rename the one in the data to keep it")
        if name in kept[:position]:
            raise UsageError(f"--keep: {name!r} is given twice")


def _score(
    model: quadric.workflow.TableModel,
    data: Path,
    how: Mapping[str, Any],
    kept: tuple[str, ...],
    write: Callable[[Iterable[Sequence[Any]]], object],
    report: Report,
) -> tuple[Counter[str], list[str]]:
    """Score all pieces; returns the counts of labels and the columns that were ignored."""
    text = (*model.text_names, *(name for name in kept if name not in model.input_names))
    counts: Counter[str] = Counter()
    extra: list[str] = []
    for table in quadric.tables.read_chunks(data, CHUNK_ROWS, text=text, **how):
        if not counts:
            for name in kept:
                check_column(table, name, "--keep")
            extra = [name for name in model.extra_columns(table) if name not in kept]
        lines = list(_lines(model, table, kept))
        write(lines if counts else [_head(model, kept), *lines])
        counts.update(line[len(kept) + 1] for line in lines)
        report(f"{counts.total()} rows scored")
    return counts, extra


def _head(model: quadric.workflow.TableModel, kept: tuple[str, ...]) -> list[str]:
    names = [*kept, "score", "label"]
    names += ["probability"] if model.view.calibrators else []
    return names if len(model.class_names) == 2 else [*names, *(f"score_{name}" for name in model.class_names)]


def _lines(model: quadric.workflow.TableModel, table: quadric.tables.Table, kept: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """What is written of each row."""
    scores = model.scores(table)
    columns: list[list[Any]] = [_texts(table, name) for name in kept]
    labels = [model.class_names[code] for code in scores.codes.tolist()]
    columns += [_of_label(scores), labels]
    if scores.probabilities is not None:
        rows = range(len(labels))
        of = 1 if scores.decision.ndim == 1 else scores.codes
        columns.append(scores.probabilities[rows, of].tolist())
    if scores.decision.ndim == 2:
        columns += [column.tolist() for column in scores.decision.T]
    return zip(*columns, strict=True)


def _of_label(scores: quadric.workflow.Scores) -> list[float]:
    decision = scores.decision
    return (decision if decision.ndim == 1 else decision[range(len(decision)), scores.codes]).tolist()


def _texts(table: quadric.tables.Table, name: str) -> list[str | None]:
    from quadric.tables.table import number_text

    column = table[name]
    if column.dtype == object:
        return column.tolist()
    return [None if value != value else number_text(value) for value in column.tolist()]
