"""``quadric fairness``: decisions of a model by groups of people."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from quadric.cli import options as shared
from quadric.cli.console import say, say_json, working
from quadric.cli.inputs import READING, read_data, read_table_model
from quadric.cli.layout import LONGEST, paragraph, short_name, text_table
from quadric.progress import part

if TYPE_CHECKING:
    from quadric.review.fairness import Fairness

# Terms that a terminal shows
MOST_TERMS = 10


@shared.expanded(table_format=shared.TableFormat)
def fairness(
    model: shared.ModelFile,
    data: shared.DataFile,
    *,
    group: Annotated[str, typer.Option(metavar="COLUMN", help="Column of the groups; the model need not use it.")],
    refit: Annotated[
        bool, typer.Option("--refit", help="Also fit the model anew without the column, and compare at the same approval rate.")
    ] = False,
    table_format: shared.TableFormat,
    as_json: shared.AsJson = False,
) -> None:
    r"""Compare how groups fare: who is approved, who is decided wrongly, and which terms stand for the group.

    A term stands for a group if what it adds to the score tells the group from all others: 0 not at all, 1 completely. Numbers
    are cut at their quartiles if there are more than ten.

    \b
    Examples:
      quadric fairness model.json data.csv --group sex
      quadric fairness model.json data.csv --group age --refit
    """
    from quadric.review.fairness import fairness as compared

    loaded = read_table_model(model)
    with working("fairness"):
        table = read_data(data, table_format.how(loaded), loaded.text_names)
        with part(READING, 1.0):
            found = compared(loaded, table, group, refit=refit)
    if as_json:
        say_json(asdict(found))
    else:
        _tell(found)


def _tell(found: Fairness) -> None:
    has_other = any(group.approved_without is not None for group in found.groups)
    more = ["without"] if has_other else []
    bad, good = (short_name(name, LONGEST // 2) for name in (found.bad, found.good))
    head = [short_name(found.column), "rows", "approved", "ratio", *more, f"{bad} approved", f"{good} declined", ""]
    rows = []
    for group in found.groups:
        other = [_percent(group.approved_without)] if has_other else []
        wrong = [_percent(group.bad_approved), _percent(group.good_declined)]
        rows.append(
            [short_name(group.name), f"{group.n_rows:,}", _percent(group.approved), f"{group.ratio:.2f}", *other, *wrong, ""]
        )
    say("\n".join([*text_table(head, rows), ""]))
    terms = [
        [
            *map(short_name, (each.term, each.group)),
            *(f"{each.separation:.2f}", f"{each.by_chance:.2f}", f"{each.gap:+.3f}", ""),
        ]
        for each in found.proxies[:MOST_TERMS]
    ]
    if terms:
        say("\n".join([*text_table(["term", "stands for", "by", "chance", "gap", ""], terms, left=(0, 1)), ""]))
    used = "some term uses it" if found.is_used else "no term uses it, so that only others can stand for it"
    say(paragraph(f"column {found.column}", used))
    if found.auc is not None:
        without = "" if found.auc_without is None else f", {found.auc_without:.3f} without the column"
        say(paragraph("AUC out of fold", f"{found.auc:.3f}{without}"))


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100.0 * share:.1f} %"
