"""The rows that a report explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from quadric.report.subject import Subject
from quadric.workflow.explaining import ExplainingOptions, Explanation, explain_rows

QUANTILES = (0.9, 0.5, 0.1)
"""Where the rows that are explained by default lie among the declined ones, by score."""


def chosen_rows(subject: Subject, rows: Sequence[int]) -> list[int]:
    """The rows asked for, or else three declined ones: hopeless, middling and near the cut-off.

    Parameters
    ----------
    subject : Subject
        Of two classes.
    rows : sequence of int
    """
    outside = [row for row in rows if not 0 <= row < len(subject.V)]
    if outside:
        raise ValueError(f"rows must be from 0 to {len(subject.V) - 1}, got {outside[0]}")
    if len(rows):
        return [int(row) for row in rows]
    declined = np.flatnonzero(subject.scores.codes == 1)
    order = declined[np.argsort(subject.scores.decision[declined], kind="stable")]
    places = [round(share * (len(order) - 1)) for share in QUANTILES] if len(order) else []
    return list(dict.fromkeys(order[places].tolist()))


def cases(subject: Subject, rows: Sequence[int], frozen: Sequence[str]) -> tuple[Explanation, ...]:
    """Explain rows of a two-class model against its first class, the favourable one.

    Parameters
    ----------
    subject : Subject
    rows : sequence of int
    frozen : sequence of str
        Features that recourse must leave alone.
    """
    options = ExplainingOptions(target=subject.class_names[0], frozen=frozen)
    answers = explain_rows(subject.tabular, subject.table, rows, subject.table, options)
    return tuple(replace(answer, actual=subject.class_names[subject.codes[answer.row]]) for answer in answers)
