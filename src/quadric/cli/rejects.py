"""``quadric rejects``: a model for all applicants where only accepted ones have an outcome."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import quadric
from quadric.cli import options as shared
from quadric.cli.console import UsageError, claim_output, remark, say, say_json, working, write_output
from quadric.cli.inputs import READING, numbers, read_data, texts_of
from quadric.cli.layout import LONGEST, paragraphs, short_name, text_table, wrapped_equation, wrapped_item
from quadric.progress import part
from quadric.workflow.options import TrainingOptions

if TYPE_CHECKING:
    from quadric.review.reject_figures import RejectFit, RejectInference

# Terms that a terminal shows
MOST_TERMS = 12
FACTORS = "1,1.5,2,3,4"


@shared.expanded(
    output=("data", ".model.json"), options=shared.training(without=shared.SAMPLES), table_format=shared.TableFormat
)
def rejects(
    data: shared.DataFile,
    target: shared.Target,
    *,
    by: Annotated[
        Literal["fuzzy", "bands", "acceptance"],
        typer.Option(
            help="How the model that is written makes up for rejects: two weighted copies of each, as bad and as good; or "
            "accepted rows reweighted by bands of a score, or by a model of acceptance.",
        ),
    ] = "fuzzy",
    factor: Annotated[
        float, typer.Option(help="Of fuzzy: rejects are bad so many times as often as the model of the accepted says.")
    ] = 1.0,
    factors: Annotated[str, typer.Option(metavar="NUMBERS", help="Other factors, to see what depends on them.")] = FACTORS,
    decision: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of decisions: rows without an outcome that were not declined are left out.  [default: all rows "
            "without an outcome are rejects]",
        ),
    ] = None,
    approved: Annotated[
        list[str] | None, typer.Option(metavar="VALUE", help="Value of --decision that means approved. Repeatable.")
    ] = None,
    declined: Annotated[list[str] | None, typer.Option(metavar="VALUE", help="Value that means declined. Repeatable.")] = None,
    score: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column of the score that decided before, for bands.  [default: the model of the accepted]"
        ),
    ] = None,
    bands: Annotated[int, typer.Option(help="Number of bands.")] = 10,
    output: Annotated[
        Path | None, typer.Option(help="Model file to write.  [default: the name of the table with .model.json]")
    ] = None,
    sensitivity: Annotated[Path | None, typer.Option(help="CSV file to write: the figures of all fits.")] = None,
    options: TrainingOptions,
    table_format: shared.TableFormat,
    force: shared.Force = False,
    as_json: shared.AsJson = False,
) -> None:
    r"""Fit a model for all applicants where only accepted ones have an outcome, and show what it depends on.

    A fit on accepted applicants alone has seen a selected part of those whom it will judge. Rejects, rows without a value in
    --target, take part by weights: as bad with weight factor * p and as good with the rest, where p is the probability by the
    model of the accepted. No data tell the factor, so that the fit is repeated for several. Loss, k and C are chosen on the
    accepted. The column of decisions and that of the earlier score are not used as features.

    \b
    Examples:
      quadric rejects data.csv --target risk --favourable good
      quadric rejects data.csv --target risk --factor 2 --factors 1,2,3,5 \
        --output model.json
      quadric rejects data.csv --target risk --by bands --score old_score
      quadric rejects data.csv --target risk --decision status \
        --approved granted --declined refused --sensitivity factors.csv
    """
    from quadric.review.rejecting import infer_rejects

    assert output is not None  # the decorator named it
    if sensitivity is not None and sensitivity.absolute() == output.absolute():
        raise UsageError("--sensitivity and --output name the same file")
    for path in filter(None, (output, sensitivity)):
        claim_output(path, force, data)
    tried = numbers(factors, "--factors") or ()
    how = table_format.how()
    text = [*texts_of(target, options), *filter(None, [decision])]
    ignore = tuple(name for name in options.ignore if name)
    options = replace(options, ignore=ignore, missing_texts=tuple(how["missing"]))
    with working("rejects"):
        table = read_data(data, how, text)
        with part(READING, 1.0):
            found, saved = infer_rejects(
                table,
                target,
                options,
                by=by,
                factor=factor,
                factors=tried,
                decision=decision,
                approved=approved or (),
                declined=declined or (),
                score=score,
                bands=bands,
            )
    quadric.save_model(_with_history(saved, data, how), output, force=force)
    if sensitivity is not None:
        write_output(sensitivity, found.table().to_csv(), force)
    for words in found.remarks:
        remark(words)
    if as_json:
        say_json({"model": str(output), **asdict(found), "conclusions": [*found.words()]})
        return
    for line in quadric.export.equation(saved).splitlines():
        say(wrapped_equation(line))
    _tell(found)
    say(f"written to: {output}" + ("" if sensitivity is None else f", {sensitivity}"))


def _with_history(saved: quadric.export.SavedModel, data: Path, how: dict[str, Any]) -> quadric.export.SavedModel:
    from quadric.workflow.scoring import NOTATION

    history = {"file": data.name} | {key: how[name] for name, key in NOTATION.items()}
    return replace(saved, metadata={**saved.metadata, **history})


def _tell(found: RejectInference) -> None:
    bad, base = short_name(found.bad, LONGEST // 2), found.fits[0].terms
    head = ["fit", "terms", "same", "AUC", "approved", bad, f"{bad} of rejects", ""]
    rows = [_row(fit, base, fit is found.kept) for fit in found.fits]
    say("\n".join(["", *text_table(head, rows), ""]))
    table = found.coefficients()
    names = ["term", *(name.removeprefix("factor ").replace("accepted only", "accepted") for name in table.head[1:]), ""]
    cells = [
        [short_name(str(row[0])), *("" if cell is None else f"{cell:+.3f}" for cell in row[1:]), ""]
        for row in table.rows[:MOST_TERMS]
    ]
    say("\n".join([*text_table(names, cells), ""]))
    if len(table.rows) > MOST_TERMS:
        say(f"... and {len(table.rows) - MOST_TERMS} more terms: --json\n")
    left = f", {found.n_left_out:,} left out" if found.n_left_out else ""
    kept = found.method if found.factor is None else f"{found.method}, factor {found.factor:g}"
    facts = {
        "rows": f"{found.n_accepted:,} accepted, {found.n_rejected:,} rejected{left}",
        "the model (*)": kept,
    }
    say(paragraphs(facts))
    for words in found.words():
        say(wrapped_item(f"- {words}"))


def _row(fit: RejectFit, base: dict[str, float], is_kept: bool) -> list[str]:
    error = "" if fit.auc_error is None else f" \N{PLUS-MINUS SIGN} {fit.auc_error:.3f}"
    return [
        f"{fit.name}{' *' if is_kept else ''}",
        str(len(fit.terms)),
        str(sum(term in base for term in fit.terms)),
        "" if fit.auc is None else f"{fit.auc:.3f}{error}",
        f"{100.0 * fit.approved:.1f} %",
        "" if fit.bad_rate is None else f"{100.0 * fit.bad_rate:.1f} %",
        f"{100.0 * fit.bad_among_rejects:.1f} %",
        "",
    ]
