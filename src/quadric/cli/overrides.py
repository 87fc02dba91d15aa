"""``quadric overrides``: where people decided against a model."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quadric.cli import options as shared
from quadric.cli.console import as_usage, claim_output, remark, say, say_json, working, write_output
from quadric.cli.inputs import READING, numbers, read_data, read_table_model
from quadric.cli.layout import paragraph, paragraphs, short_name, text_table, wrapped_item
from quadric.progress import part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quadric.review.overriding import OverrideGroup, Overrides, TermGap

# Terms and reasons that a terminal shows
MOST_TERMS, MOST_REASONS = 8, 12


@shared.expanded(table_format=shared.TableFormat)
def overrides(
    model: shared.ModelFile,
    data: shared.DataFile,
    *,
    decision: Annotated[str, typer.Option(metavar="COLUMN", help="Column of the decisions that people took.")],
    approved: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VALUE",
            help="Value of it that means approved. Repeatable.  [default: found where there are two that leave no doubt]",
        ),
    ] = None,
    declined: Annotated[
        list[str] | None, typer.Option(metavar="VALUE", help="Value that means declined. Repeatable.  [default: all others]")
    ] = None,
    cutoff: Annotated[
        float | None,
        typer.Option(
            metavar="PROBABILITY",
            help="Probability of the positive class above which the model decides for it.  [default: the model's own]",
        ),
    ] = None,
    grades: shared.Grades = None,
    points: shared.GradePoints = None,
    reason: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the reason codes of overrides.")] = None,
    output: Annotated[Path | None, typer.Option(help="CSV file to write: the groups of each grade.")] = None,
    table_format: shared.TableFormat,
    force: shared.Force = False,
    as_json: shared.AsJson = False,
) -> None:
    r"""Compare the decisions that people took with those of a model.

    A high-side override is an applicant whom the model approves and people declined, a low-side one the other way round. Shows
    how many there are, in all and by grade, how many turned out bad where the outcome is known, with 95 % intervals, and in
    which terms overridden rows differ from those of which people and model agree.

    \b
    Examples:
      quadric overrides model.json data.csv --decision decision
      quadric overrides model.json data.csv --decision status \
        --approved granted --declined refused --reason code
      quadric overrides model.json data.csv --decision decision --cutoff 0.2 \
        --grades 0.02,0.05,0.1,0.2,0.5 --output overrides.csv
    """
    from quadric.fitted.points import ScoreScale
    from quadric.review.overriding import overrides as compared

    if output is not None:
        claim_output(output, force, model, data)
    loaded = read_table_model(model)
    edges = numbers(grades, "--grades")
    with as_usage():
        scale = None if points is None else ScoreScale.read(points)
    text = [*loaded.text_names, *(name for name in (decision, reason) if name is not None and name not in loaded.input_names)]
    with working("overrides"):
        table = read_data(data, table_format.how(loaded), list(dict.fromkeys(text)))
        with part(READING, 1.0):
            found = compared(
                loaded,
                table,
                decision,
                approved=approved or (),
                declined=declined or (),
                cutoff=cutoff,
                grades=edges,
                scale=scale,
                reason=reason,
            )
    if loaded.is_fitted_to(table.sha256):
        remark("the model was fitted to these rows: its probabilities suit them better than new ones")
    if output is not None:
        write_output(output, found.table().to_csv(), force)
    if as_json:
        say_json({**asdict(found), "rates": found.rates, "conclusions": [*found.words()]})
        return
    _tell(found)
    if output is not None:
        say(f"written to: {output}")


def _tell(found: Overrides) -> None:
    bad = short_name(found.bad)
    head = ["", "rows", "share", f"{bad} of known", "rate", "95 % interval", "model", ""]
    say("\n".join([*text_table(head, [_group(group) for group in found.groups]), ""]))
    grades = []
    for grade in found.grades:
        counts = [group.n_rows for group in grade.groups]
        shares = [_percent(part / (part + rest)) if part + rest else "" for rest, part in (counts[:2], counts[:1:-1])]
        grades.append([str(grade.grade), *(f"{count:,}" for count in counts), *shares, ""])
    head = ["grade", "approved", "high-side", "low-side", "declined", "high, share", "low, share", ""]
    say("\n".join([*text_table(head, grades), ""]))
    _tell_terms("high-side", "approved by both", found.high_side)
    _tell_terms("low-side", "declined by both", found.low_side)
    if found.reasons:
        codes = [[short_name(each.code), f"{each.high_side:,}", f"{each.low_side:,}", ""] for each in found.reasons]
        say("\n".join([*text_table(["reason", "high-side", "low-side", ""], codes[:MOST_REASONS]), ""]))
        if len(codes) > MOST_REASONS:
            say(f"... and {len(codes) - MOST_REASONS} more reasons: --json\n")
    others = f", {found.n_other:,} with another one" if found.n_other else ""
    facts = {
        "rows": f"{found.n_rows:,}, {found.n_missing:,} without a decision{others}",
        "model": f"approves where it decides {found.good}; cut-off {found.cutoff:.4g}",
    }
    for (side, rate), does in zip(found.rates.items(), ("approves", "declines"), strict=True):
        if rate is not None:
            facts[f"{side}s"] = f"{_percent(rate)} of the rows that the model {does}"
    say(paragraphs(facts))
    for words in found.words():
        say(wrapped_item(f"- {words}"))


def _group(group: OverrideGroup) -> list[str]:
    known = f"{group.n_bad:,} of {group.n_known:,}" if group.n_known else ""
    ends = "" if group.low is None or group.high is None else f"{100.0 * group.low:.1f} to {100.0 * group.high:.1f} %"
    return [
        group.name,
        f"{group.n_rows:,}",
        _percent(group.share),
        known,
        _percent(group.bad_rate),
        ends,
        _percent(group.predicted),
        "",
    ]


def _tell_terms(side: str, others: str, gaps: Sequence[TermGap]) -> None:
    if not gaps:
        return
    shown = [
        [short_name(gap.term), f"{gap.difference:+.3f}", "" if gap.by_chance is None else f"{gap.by_chance:.3f}", ""]
        for gap in gaps[:MOST_TERMS]
    ]
    say("\n".join(text_table([f"{side}, term", "adds", "chance", ""], shown)))
    left = len(gaps) - MOST_TERMS
    more = f", and {left} smaller ones: --json" if left > 0 else ""
    say(paragraph("all terms", f"{sum(gap.difference for gap in gaps):+.3f} to the score beyond {others}{more}") + "\n")


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100.0 * share:.1f} %"
