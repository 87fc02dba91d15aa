"""Rows explained: what hurt them, and what would have to change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quadric._sklearn import rows_of
from quadric.explain import ReasonCodes, Recourse, reason_codes, recourse
from quadric.explain._seen import SeenValues
from quadric.summary.cells import cell_text
from quadric.summary.subject import Subject, printable
from quadric.summary.surfaces import live_features
from quadric.summary.values import Case, Change, Reason

N_REASONS = 4
TEMPLATE, CODED_TEMPLATE = "{feature} is {value} (mean {reference}): {points} points", "{feature} is {value}: {points} points"
"""What a reason says of a number and of a category."""
QUANTILES = (0.9, 0.5, 0.1)
"""Where the rows that are explained unless others are asked for lie among the declined ones, by score."""


def chosen_rows(subject: Subject, rows: Sequence[int]) -> list[int]:
    """The rows asked for, or else three declined ones: hopeless, middling and near the cut-off.

    Parameters
    ----------
    subject : Subject
        Of two classes.
    rows : sequence of int
    """
    m = len(subject.V)
    outside = [row for row in rows if not 0 <= row < m]
    if outside:
        raise ValueError(f"rows must be from 0 to {m - 1}, got {outside[0]}")
    if len(rows):
        return [int(row) for row in rows]
    declined = np.flatnonzero(subject.predicted == 1)
    order = declined[np.argsort(subject.decision[declined], kind="stable")]
    places = [round(share * (len(order) - 1)) for share in QUANTILES] if len(order) else []
    return [int(row) for row in dict.fromkeys(order[places].tolist())]


def cases(subject: Subject, rows: Sequence[int], frozen: Sequence[str]) -> tuple[Case, ...]:
    """Explain rows of a two-class model.

    Parameters
    ----------
    subject : Subject
    rows : sequence of int
    frozen : sequence of str
        Features that recourse must leave alone.
    """
    picked = _picked(subject, rows)
    known = subject.known
    coded = {known.columns[known.blocks[j]]: CODED_TEMPLATE for j in np.flatnonzero(~known.numeric)}
    answers = reason_codes(subject.model, picked, n=N_REASONS, background=subject.X, template=TEMPLATE, templates=coded)
    seen = SeenValues.of(known, subject.table, subject.V)
    ways = [None if subject.cutoff is None else _recourse(subject, seen, row, frozen) for row in rows]
    return tuple(_case(subject, row, i, answers, way) for i, (row, way) in enumerate(zip(rows, ways, strict=True)))


def _picked(subject: Subject, rows: Sequence[int]) -> Any:
    """Some rows in the form in which all of them came."""
    if subject.parts.encoder is not None:
        return subject.table[list(rows)]
    return rows_of(subject.X, list(rows))


def _recourse(subject: Subject, seen: SeenValues, row: int, frozen: Sequence[str]) -> Recourse:
    limits = seen.limits(subject.table[[row]], subject.V[row])
    limits["frozen"] += frozen
    return recourse(subject.model, _picked(subject, [row]), target=subject.known.classes.tolist()[0], **limits)


def _case(subject: Subject, row: int, i: int, answers: ReasonCodes, way: Recourse | None) -> Case:
    probability = subject.known.probability
    return Case(
        row=row,
        actual=subject.class_names[subject.codes[row]],
        decided=subject.class_names[subject.predicted[row]],
        score=float(subject.decision[row]),
        probability=None if probability is None else float(probability(subject.decision[[row]])[0]),
        values=_values(subject, row),
        contributions=_contributions(answers, i),
        reasons=tuple(
            Reason(printable(column), printable(text), float(points))
            for column, text, points in zip(answers.columns[i], answers.texts[i], answers.points[i], strict=False)
        ),
        changes=() if way is None else _changes(subject, row, way),
        distance=None if way is None or not way.reached[0] else float(way.distance[0]),
        proved=bool(way is not None and way.proved[0]),
        message="the calibrated probability has no cut-off" if way is None else way.message[0],
    )


def _values(subject: Subject, row: int) -> tuple[tuple[str, str], ...]:
    used = {subject.features[j].column for j in live_features(subject.known.surfaces[0])}
    names = [column.name for column in subject.parts.inputs()]
    return tuple((printable(name), cell_text(subject.table[name].tolist()[row])) for name in names if printable(name) in used)


def _contributions(answers: ReasonCodes, i: int) -> tuple[tuple[str, float], ...]:
    values = answers.contributions[i]
    return tuple((printable(answers.names[j]), float(values[j])) for j in np.argsort(values, kind="stable") if values[j] != 0.0)


def _changes(subject: Subject, row: int, way: Recourse) -> tuple[Change, ...]:
    if not way.reached[0]:
        return ()
    before = subject.V[row]
    return tuple(Change(int(j), float(before[j]), float(way.x[0, j])) for j in np.flatnonzero(way.change[0]))
