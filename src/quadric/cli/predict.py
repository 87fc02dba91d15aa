"""``quadric predict``: scores and labels of new rows, in pieces."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import quadric
from quadric.cli import options as shared
from quadric.cli.console import UsageError, note, remark, say, say_json, working
from quadric.cli.engines import Engine, check_folder, write_scores
from quadric.cli.inputs import check_output, check_there, read_table_model
from quadric.cli.layout import paragraph
from quadric.cli.streams import data_output
from quadric.errors import unknown_names
from quadric.files import replacing
from quadric.spreadsheets import CsvWriter

if TYPE_CHECKING:
    from quadric.workflow.surprises import Surprises

CHUNK_ROWS = 50_000


@shared.expanded(table_format=shared.TableFormat, engine=Engine)
def predict(
    model: shared.ModelFile,
    data: shared.DataFile,
    *,
    output: Annotated[
        Path | None, typer.Option(help="CSV file to write; with --engine, folder of Parquet files.  [default: standard output]")
    ] = None,
    keep: Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="Column to copy to the output. Repeatable.")] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse missing values and levels that the training data did not have.")
    ] = False,
    table_format: shared.TableFormat,
    engine: Engine,
    force: shared.Force = False,
    as_json: shared.AsJson = False,
) -> None:
    r"""Score the rows of a table.

    Columns: score (above 0 for the positive class), label and, for calibrated models, the probability of the positive class,
    which then decides the label. With more than two classes, score and probability are those of the label, and one score
    per class follows. Rows are read and written in pieces, so files can be larger than memory. Missing values and levels
    that the training data did not have never stop a file, unless with --strict: they are scored as the model says, counted
    and reported.

    \b
    Examples:
      quadric predict model.json new.csv --output scores.csv
      quadric predict model.json new.parquet --keep id --output scores.csv
      quadric predict model.json new.csv | head
      quadric predict model.json new.csv --output scores.csv --json
    """
    if output is not None:
        (check_output if engine.engine is None else check_folder)(output, force, model, data)
    loaded = read_table_model(model)
    check_there(data, or_folder=True)
    kept = tuple(keep or ())
    _check_kept(kept, _head(loaded, ()))
    if engine.engine is not None:
        _score_on_cluster(engine, loaded, data, kept, output, as_json)
        return
    how = table_format.how(loaded)
    rows: list[Sequence[Any]] = []
    destination = nullcontext(data_output()) if output is None else replacing(output)
    with working("predict", shown=output is not None or not sys.stdout.isatty()), destination as file:
        writer = CsvWriter(file)
        write = (lambda columns: rows.extend(zip(*columns, strict=True))) if as_json and not output else writer.writecolumns
        counts, extra, surprises = _score(loaded, data, how, kept, write, strict)
    told = list(surprises.words(loaded.view))
    for words in told:
        remark(words)
    if writer.n_quoted:
        note(f"{writer.n_quoted} texts look like formulas: written with a ' before them, so that spreadsheets do not run them")
    if as_json:
        head, *lines = rows or [()]
        listed = {"output": str(output)} if output else {"predictions": [dict(zip(head, each, strict=True)) for each in lines]}
        labels = dict(sorted(counts.items()))
        say_json({"rows": counts.total(), "labels": labels, "ignored_columns": extra, "remarks": told, **listed})
        return
    if extra:
        note(paragraph("columns not used by the model", ", ".join(extra)))
    if output is not None:
        _tell(counts, output)


def _tell(counts: Counter[str], output: Path) -> None:
    labels = ", ".join(f"{count} labelled {label}" for label, count in sorted(counts.items()))
    say(f"{counts.total()} rows: {labels}".replace("\n", "\\n"))
    say(f"written to: {output}")


def _score_on_cluster(
    engine: Engine, model: quadric.workflow.TableModel, data: Path, kept: Sequence[str], output: Path | None, as_json: bool
) -> None:
    if output is None:
        raise UsageError("--engine writes a folder of Parquet files: give its name as --output")
    with working("predict"):
        counts = write_scores(engine, model, data, kept, output)
    if as_json:
        say_json({"rows": counts.total(), "labels": dict(sorted(counts.items())), "output": str(output)})
    else:
        _tell(counts, output)


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
    write: Callable[[Sequence[Sequence[Any]]], object],
    strict: bool,
) -> tuple[Counter[str], list[str], Surprises]:
    """Score all pieces; returns the counts of labels, the columns that were ignored, and values that training did not have."""
    from quadric.workflow.surprises import Surprises

    text = (*model.text_names, *(name for name in kept if name not in model.input_names))
    counts: Counter[str] = Counter()
    extra: list[str] = []
    surprises = Surprises()
    for table in quadric.tables.read_chunks(data, CHUNK_ROWS, text=text, **how):
        if not counts:
            absent = [name for name in kept if name not in table.names]
            if absent:
                raise UsageError(f"--keep: {unknown_names(absent, table.names, 'the table')}")
            extra = [name for name in table if name not in (*model.view.needed, model.saved.target, *kept)]
        surprises += model.surprises(table)
        for words in surprises.words(model.view) if strict else ():
            raise UsageError(f"--strict: {words.partition(': scored')[0]}")
        columns = _lines(model, table, kept)
        write(columns if counts else [[name, *column] for name, column in zip(_head(model, kept), columns, strict=True)])
        counts.update(columns[len(kept) + 1])
    return counts, extra, surprises


def _head(model: quadric.workflow.TableModel, kept: tuple[str, ...]) -> list[str]:
    names = [*kept, "score", "label"]
    names += ["probability"] if model.view.calibrators else []
    return names if len(model.class_names) == 2 else [*names, *(f"score_{name}" for name in model.class_names)]


def _lines(model: quadric.workflow.TableModel, table: quadric.tables.Table, kept: tuple[str, ...]) -> list[list[Any]]:
    """What is written of each row, by columns."""
    from quadric.tables.inputs import cells_like

    scores = model.scores(table)
    of_label, is_binary = (range(len(table)), scores.codes), scores.decision.ndim == 1
    columns = [cells_like(table[name], [""]) for name in kept]
    columns.append((scores.decision if is_binary else scores.decision[of_label]).tolist())
    names = model.class_names
    columns.append([names[code] for code in scores.codes.tolist()])
    if scores.probabilities is not None:
        columns.append(scores.probabilities[:, 1].tolist() if is_binary else scores.probabilities[of_label].tolist())
    return [*columns, *([] if is_binary else scores.decision.T.tolist())]
