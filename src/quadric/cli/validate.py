"""``quadric validate``: the tables that validators ask for, on new rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import quadric
from quadric.cli import options as shared
from quadric.cli.console import UsageError, as_usage, remark, say, say_json, working, write_output
from quadric.cli.inputs import numbers, read_data, read_table_model
from quadric.cli.layout import paragraph, text_table
from quadric.errors import quoted

# Rows of a table that a terminal shows
MOST_ROWS = 25


@shared.expanded(table_format=shared.TableFormat)
def validate(
    model: shared.ModelFile,
    data: shared.DataFile,
    *,
    folder: Annotated[
        Path | None, typer.Option(help="Folder for the tables as CSV files; it is made if it is not there.")
    ] = None,
    grades: shared.Grades = None,
    points: shared.GradePoints = None,
    development: Annotated[
        Path | None, typer.Option(help="Table that the model was fitted to, to compare grades with; not needed for tenths.")
    ] = None,
    customer: Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="Column of customers, for migrations.")] = None,
    time_column: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of dates, for migrations.")] = None,
    dates: Annotated[
        str | None, typer.Option(metavar="DAY,DAY", help="The two days between which customers changed grades.")
    ] = None,
    table_format: shared.TableFormat,
    force: shared.Force = False,
    as_json: shared.AsJson = False,
) -> None:
    r"""Make the tables of a validation report in the form of the ECB.

    Discrimination against development (whose AUC, out of fold, is taken as fixed), Jeffreys, binomial and Hosmer-Lemeshow tests
    of the probabilities by grade, concentration, stability index and, for customers at two dates, the matrix of migrations.
    Rows without an outcome count in the last three. Grades are numbered from low risk to high. The model file and the data are
    all that the tables are made of. Of the file that the model was fitted to, the rows that were set aside last are validated.

    \b
    Examples:
      quadric validate model.json later.csv
      quadric validate model.json later.csv --grades 0.02,0.05,0.1,0.2,0.5 \
        --development data.csv --folder tables
      quadric validate model.json later.csv --points 600:20:50 \
        --grades 480,500,520,540,560,580
      quadric validate model.json book.csv --id customer --time-column day \
        --dates 2025-12-31,2026-12-31
    """
    from quadric.credit import ScoreScale
    from quadric.review.validating import TABLES, Grading, check_gradable, migrated, rows_of_days, validated

    if folder is not None:
        _check_folder(folder, TABLES, force)
    loaded = read_table_model(model)
    check_gradable(loaded)
    roles = [customer, time_column, dates]
    if any(roles) and not all(roles):
        raise UsageError("migrations need all of --id, --time-column and --dates")
    if customer in loaded.input_names:
        raise UsageError(f"--id: the model uses the column {quoted(customer)}, which does not tell customers apart")
    days = [] if dates is None else [day.strip() for day in dates.split(",")]
    if dates is not None and len(days) != 2:
        raise UsageError(f"--dates: two days are needed, such as 2025-12-31,2026-12-31; got {quoted(dates)}")
    if points is not None and grades is None:
        raise UsageError("--points is the scale of --grades: give their boundaries in points")
    how, edges = table_format.how(loaded), numbers(grades, "--grades")
    with as_usage():
        scale = None if points is None else ScoreScale.read(points)
    with working("validate"):
        table = read_data(data, how, [*loaded.text_names, *filter(None, [customer])])
        before = None if development is None else loaded.labelled(read_data(development, how, loaded.text_names))[0]
        name, rows = _new_rows(loaded, data.name, table)
        judged = _judged(loaded, name, rows)
        grading = Grading.of(loaded, edges, scale, before)
        both = rows_of_days(rows, time_column, days) if time_column is not None else [rows]
        tables = validated(loaded, both[-1], judged, grading)
        if customer is not None:
            tables += migrated(loaded, grading, customer, *both)
    if folder is not None:
        for each in tables:
            write_output(folder / f"{each.name}.csv", each.to_csv(), force)
        for name in set(TABLES).difference(each.name for each in tables):  # of another run, which --force gives up
            (folder / f"{name}.csv").unlink(missing_ok=True)
    if as_json:
        say_json({table.name: table.recorded() for table in tables})
        return
    for each in tables:
        lines = [[_shown(cell) for cell in row] for row in each.rows[:MOST_ROWS]]
        more = [f"... and {len(each.rows) - MOST_ROWS} more rows"] if len(each.rows) > MOST_ROWS else []
        if len(lines) == 1:
            facts = ", ".join(f"{head} {cell}" for head, cell in zip(each.head, lines[0], strict=True) if cell)
            say(f"{paragraph(each.name, facts)}\n")
        else:
            say("\n".join([f"{each.name}:", *text_table(each.head, lines), *more, ""]))
    if folder is not None:
        say(f"written to: {folder} ({len(tables)} tables)")


def _new_rows(model: quadric.workflow.TableModel, name: str, table: quadric.tables.Table) -> tuple[str, quadric.tables.Table]:
    """The rows to validate on: of the file that the model was fitted to, those that were set aside last."""
    parts = model.samples(table)
    if len(parts) > 1:
        name, rows = list(parts.items())[-1]
        remark(f"{len(rows)} of {len(table)} rows are validated: the sample {quoted(name)}, which was set aside")
        return name, rows
    if model.is_fitted_to(table.sha256):
        remark("the model was fitted to these rows: the figures say nothing about new ones")
    return name, table


def _judged(model: quadric.workflow.TableModel, name: str, rows: quadric.tables.Table) -> Any:
    """The rows with an outcome, and their labels; None where nobody knows any."""
    from quadric.workflow.samples import labelled_sample

    if model.saved.target in rows.names and (model.outcomes(rows) >= 0).any():
        return labelled_sample(model, name, rows)
    remark(f"no row has an outcome in {quoted(model.saved.target)}: discrimination and calibration are left out")
    return None


def _check_folder(folder: Path, names: Sequence[str], force: bool) -> None:
    """Refuse to overwrite a table, before any work is done."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is not a folder")
    there = [path for path in (folder / f"{name}.csv" for name in names) if path.exists()]
    if there and not force:
        raise UsageError(f"{there[0]} exists; give --force to overwrite it, or another --folder")
    with as_usage():
        folder.mkdir(parents=True, exist_ok=True)


def _shown(cell: Any) -> str:
    if cell is None:
        return ""
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
