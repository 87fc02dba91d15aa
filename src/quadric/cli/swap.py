"""``quadric swap``: who changes side between two models."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quadric.cli import options as shared
from quadric.cli.console import say, say_json, working
from quadric.cli.inputs import READING, read_data, read_table_model
from quadric.cli.layout import paragraph, short_name, text_table
from quadric.progress import part

if TYPE_CHECKING:
    from quadric.review.swaps import SwapSet

# Terms that a terminal shows
MOST_TERMS = 6


@shared.expanded(table_format=shared.TableFormat)
def swap(
    champion: Annotated[Path, typer.Argument(metavar="CHAMPION", help="Model file in use.")],
    challenger: Annotated[Path, typer.Argument(metavar="CHALLENGER", help="Model file that may replace it.")],
    data: shared.DataFile,
    *,
    approval: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Share of the rows that each model approves.  [default: each by its own cut-off]"),
    ] = None,
    table_format: shared.TableFormat,
    as_json: shared.AsJson = False,
) -> None:
    r"""Compare the decisions of two models on the same rows.

    Shows who is approved by both models, by one of them or by neither, how many of them turned out bad where the table has the
    target column, and which terms drive the changes, in points (20 double the odds, unless the champion has a scale). Both
    models need the same two classes and probabilities.

    \b
    Examples:
      quadric swap champion.json challenger.json data.csv
      quadric swap champion.json challenger.json data.csv --approval 0.7 --json
    """
    from quadric.review.swaps import swap_set

    old, new = read_table_model(champion), read_table_model(challenger)
    text = list(dict.fromkeys([*old.text_names, *new.text_names]))
    with working("swap"):
        table = read_data(data, table_format.how(old), text)
        with part(READING, 1.0):
            found = swap_set(old, new, table, approval)
    if as_json:
        say_json(asdict(found))
        return
    _tell(found)


def _tell(found: SwapSet) -> None:
    total = sum(group.n_rows for group in found.groups)
    rows = [
        (
            group.name,
            f"{group.n_rows:,}",
            f"{100.0 * group.n_rows / total:.1f} %",
            f"{group.n_bad:,} of {group.n_known:,}",
            f"{100.0 * group.n_bad / group.n_known:.1f} %" if group.n_known else "",
            "",
        )
        for group in found.groups
    ]
    say("\n".join([*text_table(("", "rows", "share", f"{short_name(found.bad)} of known", "rate", ""), rows), ""]))
    for group in found.groups:
        if group.terms and group.points is not None:
            shown = ", ".join(f"{name} {points:+.1f}" for name, points in group.terms[:MOST_TERMS])
            left = len(group.terms) - MOST_TERMS
            more = f", and {left} more term{'s' * (left > 1)}" if left > 0 else ""
            say(paragraph(f"{group.name}, points beyond the mean change", f"{group.points:+.1f}: {shown}{more}"))
