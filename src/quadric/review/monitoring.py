"""How far new rows differ from those that a model was fitted to, and how good the model still is, by one pass over them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import isnan

import numpy as np

from quadric.credit.stability import Distribution, Drift
from quadric.errors import refuse_unknown
from quadric.review.alarms import Check, Limits
from quadric.review.outcomes import Outcome, Outcomes
from quadric.samples.source import Sums
from quadric.tables import Table
from quadric.tables.parts import TableParts
from quadric.workflow.reference import Reference, Values
from quadric.workflow.scoring import TableModel


@dataclass(frozen=True)
class Monitored:
    """New rows beside those that a model was fitted to.

    Attributes
    ----------
    n_rows : int
    scores, columns, terms : tuples of Drift
    outcome : Outcome or None
        None where no row has an outcome, and for models of more than two classes.
    checks : tuple of Check
    absent : tuple of str
        What cannot be compared, and why, one sentence each.
    remarks : tuple of str
        Missing values and levels that the training rows did not have, one sentence per column.
    dates : tuple of str
        Columns of dates, whose means are days since 1970.
    """

    n_rows: int
    scores: tuple[Drift, ...]
    columns: tuple[Drift, ...]
    terms: tuple[Drift, ...]
    outcome: Outcome | None
    checks: tuple[Check, ...]
    absent: tuple[str, ...]
    remarks: tuple[str, ...]
    dates: tuple[str, ...] = ()

    @property
    def alarms(self) -> tuple[Check, ...]:
        """Checks whose limit is passed."""
        return tuple(check for check in self.checks if check.is_alarm)


def mean_text(mean: float, is_date: bool) -> str:
    """A mean of ``Drift`` as people read it; nothing for texts.

    Parameters
    ----------
    mean : float
    is_date : bool
        Whether it counts days since 1970.
    """
    if isnan(mean):
        return ""
    return str(np.datetime64(round(mean), "D")) if is_date else f"{round(mean, 12) + 0.0:.4g}"


def monitor(model: TableModel, parts: TableParts, limits: Limits | None = None, reference: Table | None = None) -> Monitored:
    """Compare the rows of a table with those that a model was fitted to, by one pass over them.

    Parameters
    ----------
    model : TableModel
    parts : TableParts
        New rows; where they have the target column, it holds outcomes, or no value where they are not known yet.
    limits : Limits, optional
    reference : Table, optional
        Rows to compare with in place of those of the fit.

    Returns
    -------
    Monitored
    """
    limits = Limits() if limits is None else limits
    refuse_unknown(limits.columns, sorted(model.view.needed), "limits: the model", note=", or no term depends on it")
    before = Reference.from_record(model.reference) if reference is None else Reference.of(model, reference)
    has_outcomes = model.saved.target in parts.head().names and len(model.class_names) == 2
    found = parts.total(partial(_counted, model=model, before=before, has_outcomes=has_outcomes))
    if found is None:
        raise ValueError("the table has no rows")
    now, surprises, counts, outcomes = found.parts
    outcome = None if outcomes is None else Outcome.of(outcomes, model.development_auc)
    drifts = {kind: tuple(_drifts(own, getattr(now, kind))) for kind, own in vars(before).items()}
    return Monitored(
        n_rows=counts,
        **drifts,
        outcome=outcome,
        checks=(*_checks(drifts, before, now, limits), *(() if outcome is None else outcome.checks(limits))),
        absent=tuple(_absent(model, before, outcome, reference is not None)),
        remarks=tuple(surprises.words(model.view)),
        dates=tuple(column.name for column in model.view.inputs if column.origin is not None),
    )


def _counted(table: Table, model: TableModel, before: Reference, has_outcomes: bool) -> Sums:
    values = Values.of(model, table)
    outcomes = Outcomes.of(values.judged, model.outcomes(table), table.first_row) if has_outcomes else None
    return Sums((before.like(values), model.surprises(table), len(table), outcomes))


def _drifts(before: Mapping[str, Distribution], now: Mapping[str, Distribution]) -> Iterator[Drift]:
    return (Drift.between(name, before[name], now[name]) for name in now)


def _checks(drifts: Mapping[str, Iterable[Drift]], before: Reference, now: Reference, limits: Limits) -> Iterator[Check]:
    for kind, limit in (("scores", "score_psi"), ("columns", "column_psi"), ("terms", "term_psi")):
        for each in drifts[kind]:
            yield Check(limit, each.name, each.psi, limits.of(limit, each.name), each.psi_by_chance)
    for each in drifts["columns"]:
        yield Check("missing", each.name, each.missing_now - each.missing_before, limits.of("missing", each.name))
        if before.columns[each.name].levels is not None:
            growth = now.columns[each.name].other_share - before.columns[each.name].other_share
            yield Check("new_levels", each.name, growth, limits.of("new_levels", each.name))


def _absent(model: TableModel, before: Reference, outcome: Outcome | None, has_reference: bool) -> Iterator[str]:
    source = "the other table" if has_reference else "the model file"
    if not before.scores:
        yield f"no stability index: {source} has no distributions of the training rows; fit again, or give --reference"
    elif missing := sorted(model.view.needed - before.columns.keys()):
        yield f"no stability index of {', '.join(missing)}: {source} has no distributions of them"
    if len(model.class_names) > 2:
        yield "no AUC and calibration: the model has more than two classes"
    elif outcome is None:
        yield f"no AUC and calibration: the table has no column {model.saved.target}"
    else:
        if outcome.auc is None:
            yield f"no AUC: {'rows of one class only have' if outcome.n_known else 'no row has'} an outcome"
        elif outcome.auc_before is None:
            yield "no drop of the AUC: the model file has none of rows left out"
        if outcome.expected is None and outcome.n_known:
            yield "no calibration: the model has no probabilities"
