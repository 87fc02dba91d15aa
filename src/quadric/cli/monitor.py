"""``quadric monitor``: new rows beside those that a model was fitted to; exit code 3 where a limit is passed."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import quadric
from quadric.cli import options as shared
from quadric.cli.console import as_usage, claim_output, remark, say, say_json, working, write_output
from quadric.cli.inputs import READING, check_there, read_table_model
from quadric.cli.layout import paragraph, paragraphs, short_name, text_table, wrapped_item
from quadric.extras import require
from quadric.progress import part

if TYPE_CHECKING:
    from quadric.credit import Drift
    from quadric.review.monitoring import Monitored

ALARM = 3
# Columns and terms that a terminal shows: those that changed most
MOST_SHOWN = 12
# What is listed, with the limits of each
SHOWN = {"scores": ("score_psi",), "columns": ("column_psi", "missing", "new_levels"), "terms": ("term_psi",)}


@shared.expanded(table_format=shared.TableFormat)
def monitor(
    model: shared.ModelFile,
    data: shared.DataFile,
    *,
    limits: Annotated[Path | None, typer.Option(help="TOML file with limits; those that it does not name keep theirs.")] = None,
    reference: Annotated[
        Path | None, typer.Option(help="Table to compare with.  [default: the training rows, as the model file knows them]")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="HTML page to write.")] = None,
    table_format: shared.TableFormat,
    force: shared.Force = False,
    as_json: shared.AsJson = False,
) -> None:
    r"""Compare new rows with those that a model was fitted to.

    Shows how far the score, the columns that the model uses, and what each term adds have moved, and where the outcome is
    known in some rows, the AUC and whether there are as many events as the probabilities say. The exit code is 3 if a limit is
    passed by more than chance. Limits: score_psi, column_psi and term_psi 0.25, missing and new_levels 0.05 (growth of the
    share of rows), auc_drop 0.05, calibration 0.2 (relative difference). Rows are read in pieces, so files can be larger than
    memory.

    \b
    Examples:
      quadric monitor model.json new.csv
      quadric monitor model.json new.csv --limits limits.toml --output new.html
      quadric monitor model.json new.csv --json
    """
    if output is not None:
        claim_output(output, force, model, data)
        require("jinja2", "report")
    loaded = read_table_model(model)
    found = _monitored(loaded, data, limits, reference, table_format.how(loaded))
    if output is not None:
        from quadric.report.monitoring import render_monitored

        write_output(output, render_monitored(found, loaded.saved.target or "", data.name), force)
    for words in found.remarks:
        remark(words)
    if as_json:
        say_json(_finite({**asdict(found), "alarms": [asdict(check) for check in found.alarms]}))
    else:
        _tell(found)
        if output is not None:
            say(f"written to: {output}")
    if found.alarms:
        raise typer.Exit(ALARM)


def _monitored(
    model: quadric.workflow.TableModel, data: Path, limits: Path | None, reference: Path | None, how: dict[str, Any]
) -> Monitored:
    from quadric.review.alarms import read_limits
    from quadric.review.monitoring import monitor as compared
    from quadric.review.row_samples import random_rows

    for path in (data, reference):
        if path is not None:
            check_there(path, or_folder=True)
    if limits is not None:
        check_there(limits)
    with as_usage():
        wanted = None if limits is None else read_limits(limits)

    def stream(path: Path) -> quadric.tables.TableStream:
        return quadric.tables.TableStream(path, text=model.text_names, keeps=False, **how)

    with working("monitor"):
        other = None if reference is None else random_rows(model, stream(reference))[0]
        with part(READING, 1.0):
            rows = stream(data)
            found = compared(model, rows, wanted, other)
    if model.is_fitted_to(rows.digest()) and model.saved.data is not None:
        remark(f"the model was fitted to {model.saved.data.rows:,} of these rows: the figures say little about new ones")
    return found


def _finite(value: Any) -> Any:
    """JSON has neither infinity nor NaN: null stands for them."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [*map(_finite, value)]
    return None if isinstance(value, float) and not isfinite(value) else value


def _tell(found: Monitored) -> None:
    alarming = {(check.kind, check.subject) for check in found.alarms}
    for kind, limits in SHOWN.items():
        if drifts := sorted(getattr(found, kind), key=lambda each: -each.psi):
            dates = found.dates if kind == "columns" else ()
            marked = {name for limit, name in alarming if limit in limits}
            rows = [_row(each, kind, each.name in dates, each.name in marked) for each in drifts[:MOST_SHOWN]]
            say("\n".join(text_table(_head(kind), rows)))
            left = len(drifts) - MOST_SHOWN
            say(f"... and {left} more with a lower index: --json or --output\n" if left > 0 else "")
    outcome = {} if found.outcome is None else found.outcome.words()
    say(paragraphs({"rows": f"{found.n_rows:,}", **outcome}))
    for text in found.absent:
        say(paragraph("not compared", text))
    say(f"limits passed: {len(found.alarms) or 'none'}")
    for check in found.alarms:
        say(wrapped_item(f"- {check.words}"))


def _head(kind: str) -> list[str]:
    more = ["missing", "was", "new"] if kind == "columns" else []
    return [kind.removesuffix("s"), "PSI", "chance", "mean", "was", *more, ""]


def _row(drift: Drift, kind: str, is_date: bool, is_marked: bool) -> list[str]:
    from quadric.review.monitoring import mean_text

    means = [mean_text(mean, is_date) for mean in (drift.mean_now, drift.mean_before)]
    shares = (drift.missing_now, drift.missing_before, drift.new_levels) if kind == "columns" else ()
    mark = "!" if is_marked else ""
    figures = (f"{drift.psi:.3f}", f"{drift.psi_by_chance:.3f}")
    return [short_name(drift.name), *figures, *means, *(f"{100 * each:.1f}%" for each in shares), mark]
