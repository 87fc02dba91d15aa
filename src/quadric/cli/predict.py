"""``quadric predict``: scores and labels of new rows, in pieces."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import quadric
from quadric.cli import options as shared
from quadric.cli.console import UsageError, as_usage, claim_output, note, remark, say, say_json, working
from quadric.cli.engines import Engine, write_scores
from quadric.cli.inputs import check_there, read_table_model
from quadric.cli.layout import paragraph
from quadric.cli.stdio import data_output
from quadric.errors import quoted, refuse_unknown
from quadric.files import replacing
from quadric.safe_csv import CsvWriter

if TYPE_CHECKING:
    from quadric.workflow.scoring import Surprises

CHUNK_ROWS = 50_000
# Column with the numbers of rows, from 0, where no column is kept
ROW = "row"


@shared.expanded(table_format=shared.TableFormat, engine=Engine)
def predict(
    model: shared.ModelFile,
    data: shared.DataFile,
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            help="File to write: .csv, .parquet, .feather or .arrow; with --engine, folder of Parquet files.  "
            "[default: CSV on standard output]"
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column to copy to the output. Repeatable.  [default: the number of the row]"),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse missing values and levels that the training data did not have.")
    ] = False,
    table_format: shared.TableFormat,
    engine: Engine,
    force: shared.Force = False,
    as_json: shared.AsJson = False,
) -> None:
    r"""Score the rows of a table.

    Columns: score (above 0 for the positive class), probability (of the positive class, for calibrated models, where it
    decides the label) and label. With more than two classes, each class has its own: score_CLASS and probability_CLASS. The
    columns of --keep stand before them, or else the number of the row, counted from 0 as for quadric explain --rows. A row
    that cannot be scored is an error that names it. Rows are read and written in pieces, so files can be larger than memory.
    Missing values and levels that the training data did not have never stop a file, unless with --strict: they are scored as
    the model says, counted and reported.

    \b
    Examples:
      quadric predict model.json new.csv --output scores.csv
      quadric predict model.json new.parquet --keep id --output scores.parquet
      quadric predict model.json new.csv | head
      quadric predict model.json new.csv --output scores.csv --json
    """
    if output is not None:
        claim_output(output, force, model, data, is_folder=engine.engine is not None)
        _check_ending(output, engine)
    loaded = read_table_model(model)
    check_there(data, or_folder=True)
    kept = tuple(keep or ())
    _check_kept(kept, loaded.outputs().names)
    if engine.engine is not None:
        if output is None:
            raise UsageError("--engine writes a folder of Parquet files: give its name as --output")
        told = list[str]()
        with working("predict"):
            counts = write_scores(engine, loaded, data, kept, ROW, output, partial(_note, told, loaded, strict))
        _report(counts, told, output, as_json)
        return
    how = table_format.how(loaded)
    rows: list[Sequence[Any]] = []
    with (
        working("predict", shown=output is not None or not sys.stdout.isatty()),
        _destination(output, rows if as_json else None) as (write, is_typed),
    ):
        counts, extra, surprises = _score(loaded, data, how, kept, write, is_typed, strict)
    told = list(surprises.words(loaded.view))
    if extra and not as_json:
        note(paragraph("columns not used by the model", ", ".join(extra)))
    _report(counts, told, output, as_json, ignored_columns=extra, **({} if output else {"predictions": rows}))


def _check_ending(output: Path, engine: Engine) -> None:
    if engine.engine is None:
        from quadric.tables.writing import check_ending

        with as_usage():
            check_ending(output)
    elif output.suffix.lower() not in ("", ".parquet"):
        raise UsageError(f"--engine writes a folder of Parquet files: give a name without the ending {output.suffix}")


@contextmanager
def _destination(output: Path | None, rows: list[Any] | None) -> Iterator[tuple[Callable[[Mapping[str, Any]], None], bool]]:
    from quadric.tables.writing import CSV, arrow_file, check_ending

    if output is None and rows is not None:
        yield lambda columns: rows.extend(_rows(columns)), False
    elif output is not None and check_ending(output) != CSV:
        with arrow_file(output) as write:
            yield write, True
    else:
        with nullcontext(data_output()) if output is None else replacing(output) as file:
            writer = _HeadedCsv(file)
            yield writer.write, False
        if writer.n_quoted:
            quotes = "written with a ' before them, so that spreadsheets do not run them"
            note(f"{writer.n_quoted} texts look like formulas: {quotes}")


class _HeadedCsv(CsvWriter):
    """Writes the names of the columns with the first rows: after a failure at once, nothing is printed."""

    is_begun = False

    def write(self, columns: Mapping[str, Any]) -> None:
        cells = _cells(columns)
        self.writecolumns(cells if self.is_begun else [[name, *each] for name, each in zip(columns, cells, strict=True)])
        self.is_begun = True


def _rows(columns: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    return (dict(zip(columns, row, strict=True)) for row in zip(*_cells(columns), strict=True))


def _cells(columns: Mapping[str, Any]) -> list[list[Any]]:
    return [column.tolist() if hasattr(column, "tolist") else column for column in columns.values()]


def _report(counts: Counter[str], told: Sequence[str], output: Path | None, as_json: bool, **more: Any) -> None:
    for words in told:
        remark(words)
    ordered = dict(sorted(counts.items()))
    if as_json:
        listed = {} if output is None else {"output": str(output)}
        say_json({"rows": counts.total(), "labels": ordered, "remarks": list(told), **more, **listed})
    elif output is not None:
        labels = ", ".join(f"{count} labelled {label}" for label, count in ordered.items())
        say(f"{counts.total()} rows: {labels}".replace("\n", "\\n"))
        say(f"written to: {output}")


def _note(told: list[str], model: quadric.workflow.TableModel, strict: bool, surprises: Surprises | None) -> None:
    """Keep what is to be said of missing and new values, which are an error under --strict."""
    for words in () if surprises is None else surprises.words(model.view):
        if strict:
            raise UsageError(f"--strict: {words.partition(': scored')[0]}")
        told.append(words)


def _check_kept(kept: Sequence[str], written: Sequence[str]) -> None:
    for position, name in enumerate(kept):
        if name in written:
            raise UsageError(f"--keep: the output has its own column {quoted(name)}; rename the one in the data to keep it")
        if name in kept[:position]:
            raise UsageError(f"--keep: {quoted(name)} is given twice")


def _score(
    model: quadric.workflow.TableModel,
    data: Path,
    how: Mapping[str, Any],
    kept: tuple[str, ...],
    write: Callable[[Mapping[str, Any]], None],
    is_typed: bool,
    strict: bool,
) -> tuple[Counter[str], list[str], Surprises]:
    from quadric.tables._arrow import arrow_files
    from quadric.workflow.scoring import Surprises

    text = list(model.text_names)
    if not (is_typed and arrow_files(data)):  # the types of a CSV file are found again for each piece
        text += [name for name in kept if name not in model.input_names]
    counts: Counter[str] = Counter()
    extra: list[str] = []
    surprises = Surprises()
    for table in quadric.tables.read_chunks(data, CHUNK_ROWS, text=text, **how):
        if not counts:
            refuse_unknown(kept, table.names, "--keep: the table", error=UsageError)
            extra = [name for name in table if name not in (*model.view.needed, model.saved.target, *kept)]
        surprises += model.surprises(table)
        if strict:
            _note([], model, strict, surprises)
        columns = _lines(model, table, kept, is_typed)
        write(columns)
        counts.update(columns[model.outputs().label])
    return counts, extra, surprises


def _lines(
    model: quadric.workflow.TableModel, table: quadric.tables.Table, kept: Sequence[str], is_typed: bool
) -> dict[str, Any]:
    scores = model.scores(table)
    labels = [model.class_names[code] for code in scores.codes.tolist()]
    return _beside(table, kept, is_typed) | dict(zip(model.outputs().names, [*scores.numbers, labels], strict=True))


def _beside(table: quadric.tables.Table, kept: Sequence[str], is_typed: bool) -> dict[str, Any]:
    from quadric.tables.inputs import cells_like

    if not kept:
        return {ROW: list(range(table.first_row - 1, table.first_row - 1 + len(table)))}
    return {name: table.columns[table.names.index(name)] if is_typed else cells_like(table[name], [""]) for name in kept}
