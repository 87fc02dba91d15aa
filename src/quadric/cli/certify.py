"""``quadric certify``: how good a model is as an answer to its own question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

import quadric
from quadric.cli import options as shared
from quadric.cli.console import UsageError, flag, note, say, say_json, working
from quadric.cli.engines import Engine
from quadric.cli.inputs import READING, check_there, column_directions, read_data, read_table_model
from quadric.cli.layout import paragraph
from quadric.defaults import DEFAULT_GAP, LARGEST_COUNT
from quadric.progress import overhearing, part

NO_BOUND = "not proved: no safe bound on these data, whose columns are nearly dependent or far from zero (standardise them)"
NOT_IN_MEMORY = "no bound for other terms, which needs all rows in memory"


TIME_LIMIT = 10.0


@shared.expanded(table_format=shared.TableFormat, engine=Engine)
def certify(
    model: shared.ModelFile,
    data: shared.DataFile,
    *,
    time_limit: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=LARGEST_COUNT,
            help="Seconds per surface for the proof; with 0, only a first bound.  [default: 10, or none with --node-limit]",
        ),
    ] = None,
    gap_limit: Annotated[
        float,
        typer.Option(
            help="Relative gap, from 0 to below 1, at which the proof may stop; small problems are proved to the end."
        ),
    ] = DEFAULT_GAP,
    node_limit: Annotated[
        int | None,
        typer.Option(min=0, max=LARGEST_COUNT, help="Nodes per surface for the proof: unlike seconds, they repeat."),
    ] = None,
    monotone: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN[:+|-]",
            help="Also tell whether the score never falls (+) or never rises (-) with a column, or with a level such as "
            "sex=male, whatever the rules of the model are: proved for every row, or with a row where it does. Repeatable.",
        ),
    ] = None,
    table_format: shared.TableFormat,
    engine: Engine,
    as_json: shared.AsJson = False,
) -> None:
    r"""Bound how far a model is from the best one of its size.

    The data must have the target column. The certificate is computed from the data alone and trusts nothing of the fit.

    \b
    Examples:
      quadric certify model.json data.csv
      quadric certify model.json data.csv --time-limit 60
      quadric certify model.json data.csv --time-limit 0 --json
      quadric certify model.json data.csv --node-limit 10000 --gap-limit 0
      quadric certify model.json data.csv --monotone income --monotone age:+
    """
    seconds = TIME_LIMIT if time_limit is None and node_limit is None else time_limit
    limits = {"time_limit": seconds, "gap_limit": gap_limit, "node_limit": node_limit}
    from quadric.examine import check_limits  # takes a second, which a help text does not have
    from quadric.workflow.fit_summary import certificate_facts, certificate_words, slope_facts

    try:
        check_limits(limits)
    except ValueError as error:
        raise UsageError(" ".join(flag(word) if word in limits else word for word in str(error).split(" "))) from None
    loaded = read_table_model(model)
    with working("certify"):
        judged = _judged(loaded, data, table_format.how(loaded), engine, column_directions(monotone), **limits)
    fitted = None if loaded.saved.data is None else loaded.saved.data.sha256
    same = None if None in (fitted, judged.sha256) else judged.sha256 == fitted
    certificates = judged.certificates
    subjects = loaded.class_names if len(certificates) > 1 else loaded.class_names[1:]
    if as_json:
        facts = [{"class": name, **certificate_facts(c)} for name, c in zip(subjects, certificates, strict=True)]
        for fact, proofs in zip(facts, judged.slopes or [()] * len(facts), strict=True):
            fact["slopes"] = [slope_facts(proof) for proof in proofs]
        say_json({"rows": judged.n_rows, "same_file": same, "certificates": facts})
        return
    no_bound = NO_BOUND if judged.is_proved else NOT_IN_MEMORY
    said = list(zip([f"surface of {name}" for name in subjects], certificates, judged.is_constant, strict=True))
    if loaded.view.shares_terms:
        said = [("all classes together", certificates[0], all(judged.is_constant))]
    for subject, certificate, constant in said:
        words = certificate_words(certificate, constant, no_bound, is_ruled=loaded.view.is_ruled)
        say(paragraph(subject, f"{certificate.n_terms} terms of {certificate.k} allowed; {words}"))
    for name, proofs in zip(subjects, judged.slopes or [()] * len(subjects), strict=True):
        for proof in proofs:
            say(paragraph(f"slope of the score of {name}", proof.words()))
    if "reject_inference" in loaded.saved.metadata:
        note("quadric: the model was fitted to weighted rows (reject inference); the certificate is for these rows as they are")
    elif same is False:
        note("quadric: this is not the file that the model was fitted to; the certificate is for these rows")


def _proved(judge: Callable[..., quadric.review.Judged], *arguments: Any, **limits: Any) -> quadric.review.Judged:
    """The certificates; where somebody interrupts the proof, what was known by then is told."""
    lines = [""]

    def hear(share: float, line: str) -> None:
        lines[0] = line if "bound " in line else lines[0]

    try:
        with overhearing(hear):
            return judge(*arguments, **limits)
    except KeyboardInterrupt:
        if lines[0]:
            note(f"quadric: interrupted; known so far: {lines[0]}")
        raise


def _judged(
    model: quadric.workflow.TableModel,
    data: Path,
    how: Mapping[str, Any],
    engine: Engine,
    slopes: Mapping[str, int | None],
    **limits: Any,
) -> quadric.review.Judged:
    from quadric.review.certifying import needs_rows

    check_there(data, or_folder=True)
    if slopes and (engine.engine is not None or quadric.workflow.is_streamed(data, needs_rows(model))):
        raise UsageError("--monotone needs the rows in memory: certify a part of them")
    if engine.engine is not None:
        with engine.table(data, model.text_names) as parts:
            return _proved(quadric.review.certify_stream, model, parts, **limits)
    if quadric.workflow.is_streamed(data, needs_rows(model)):
        stream = quadric.tables.TableStream(data, text=model.text_names, keeps=needs_rows(model), **how)
        return _proved(quadric.review.certify_stream, model, stream, **limits)
    table = read_data(data, how, model.text_names)
    with part(READING, 1.0):
        return _proved(quadric.review.certify_table, model, table, slopes=slopes, **limits)
