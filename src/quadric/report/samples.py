"""The samples of a model side by side, as a report shows them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from quadric.credit import Drift, ValidationTable
from quadric.report.subject import Subject
from quadric.report.values import Parts
from quadric.tables import Table
from quadric.types import IntArray
from quadric.workflow.drawing import DEVELOPMENT
from quadric.workflow.samples import as_sample, samples_beside
from quadric.workflow.scoring import RecordedFigures, Scores


def side_by_side(
    subject: Subject,
    rows: IntArray,
    scores: Scores,
    others: Mapping[str, tuple[Table, np.ndarray]],
    figures: RecordedFigures | None,
) -> Parts:
    """Measures of the rows of a report, out of fold, beside those of other samples.

    Parameters
    ----------
    subject : Subject
    rows, scores :
        Out of fold.
    others : mapping of names to pairs (X, y)
    figures : RecordedFigures or None
        What the fit has measured already: measured once, it is the same everywhere.

    Returns
    -------
    mapping
        ``names`` of the samples; ``measures``, each with its ``name`` and a cell (value, low, high) for each sample; and
        ``columns`` and ``terms``, what differs from the first sample, each with its ``name`` and a Drift for each other one.
    """
    own = as_sample(scores, subject.codes[rows], None, subject.scores.decision[rows])
    table = samples_beside(subject.tabular, own, (subject.table, subject.labels), others)
    if figures is not None:
        table = table.with_sample(DEVELOPMENT, figures.estimates)
    cells = np.stack([table.values, table.low, table.high], axis=-1)
    return {
        "names": table.samples,
        "measures": tuple(
            {"name": name, "cells": tuple(map(_known, own.tolist()))}
            for name, own in zip(table.measures, cells, strict=True)
            if not np.isnan(own).all()
        ),
        "columns": _by_name(table, table.columns),
        "terms": _by_name(table, table.terms),
    }


def _known(cell: list[float]) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(value) else value for value in cell)


def _by_name(table: ValidationTable, drifts: Mapping[str, tuple[Drift, ...]]) -> tuple[Parts, ...]:
    """Those that moved most anywhere first."""
    found = zip(*(drifts.get(name, ()) for name in table.samples[1:]), strict=True)
    rows = [{"name": row[0].name, "drifts": row} for row in found]
    return tuple(sorted(rows, key=lambda row: -max(each.psi for each in row["drifts"])))
