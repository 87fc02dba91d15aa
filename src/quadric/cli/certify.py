"""``quadric certify``: how good a model is as an answer to its own question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

import quadric
from quadric.cli import options as shared
from quadric.cli.console import note, say, say_json, working
from quadric.cli.inputs import READING, check_there, read_data, read_table_model
from quadric.cli.layout import certificate_words, paragraph
from quadric.defaults import LARGEST_COUNT
from quadric.progress import part

NO_BOUND = "not proved: rounding leaves no safe bound on these data"


@shared.expanded(table_format=shared.TableFormat)
def certify(
    model: shared.ModelFile,
    data: shared.DataFile,
    *,
    time_limit: Annotated[
        float, typer.Option(min=0.0, max=LARGEST_COUNT, help="Seconds per surface for the proof; with 0, only a first bound.")
    ] = 10.0,
    table_format: shared.TableFormat,
    as_json: shared.AsJson = False,
) -> None:
    r"""Bound how far a model is from the best one of its size.

    The data must have the target column. The certificate is computed from the data alone and trusts nothing of the fit.

    \b
    Examples:
      quadric certify model.json data.csv
      quadric certify model.json data.csv --time-limit 60
      quadric certify model.json data.csv --time-limit 0 --json
    """
    loaded = read_table_model(model)
    with working("certify"):
        judged = _judged(loaded, data, table_format.how(loaded), time_limit=time_limit)
    same = None if loaded.saved.data is None else judged.sha256 == loaded.saved.data.sha256
    certificates = judged.certificates
    subjects = loaded.class_names if len(certificates) > 1 else loaded.class_names[1:]
    if as_json:
        facts = [{"class": name, **asdict(c)} for name, c in zip(subjects, certificates, strict=True)]
        say_json({"rows": judged.n_rows, "same_file": same, "certificates": facts})
        return
    for name, certificate, constant in zip(subjects, certificates, judged.is_constant, strict=True):
        terms = f"{certificate.n_terms} terms of {certificate.k} allowed"
        say(paragraph(f"surface of {name}", f"{terms}; {certificate_words(certificate, constant, NO_BOUND)}"))
    if same is False:
        note("quadric: this is not the file that the model was fitted to; the certificate is for these rows")


def _judged(model: quadric.workflow.TableModel, data: Path, how: Mapping[str, Any], **limits: Any) -> quadric.workflow.Judged:
    """Judge in memory, or by a pass where the table is large and the loss allows that."""
    from quadric.workflow.judging import check_rows_fit, needs_rows

    check_there(data, or_folder=True)
    if quadric.workflow.is_streamed(data):
        if not needs_rows(model):
            stream = quadric.tables.TableStream(data, text=model.text_names, keeps=False, **how)
            return quadric.workflow.certify_stream(model, stream, **limits)
        check_rows_fit(model, data)
    table = read_data(data, how, model.text_names)
    with part(READING, 1.0):
        return quadric.workflow.certify_table(model, table, **limits)
