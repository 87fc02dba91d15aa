"""How far new rows differ from those that a model was fitted to, and how good the model still is, by one pass over them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import isnan
from typing import Any

import numpy as np

from quadric.credit.intervals import AreaEstimate
from quadric.credit.stability import Distribution, Drift
from quadric.errors import refuse_unknown
from quadric.explain import contributions
from quadric.samples.random_rows import RandomRows, SampledRows
from quadric.samples.source import SampleBatch, Sums
from quadric.samples.target import Target
from quadric.tables import Table
from quadric.tables.parts import TableParts
from quadric.types import FloatArray, IntArray
from quadric.workflow.alarms import Check, Limits
from quadric.workflow.scoring import Scores, TableModel

# Rows with an outcome of which the AUC is computed; of more, of so many random ones
MOST_RANKED = 2_000_000
# Relative to the largest score: values that are nearer to each other are the same
ROUNDING = 1e-9
# A normal variable is beyond this once in twenty times on one side, and on either side
ONE_SIDED, TWO_SIDED = 1.6448536269514722, 1.959963984540054


@dataclass(frozen=True, eq=False)
class Values:
    """What is compared of rows.

    Attributes
    ----------
    scores, columns, terms : mappings of str to array
        Decision values; the columns that the model uses, cleaned; and what each term adds, by the names of the terms.
    judged : Scores
    """

    scores: Mapping[str, FloatArray]
    columns: Mapping[str, np.ndarray]
    terms: Mapping[str, FloatArray]
    judged: Scores

    @staticmethod
    def of(model: TableModel, table: Table) -> Values:
        """Of raw rows.

        Parameters
        ----------
        model : TableModel
        table : Table
        """
        view, rows = model.view, model.inputs(table, only_needed=True)
        classes = [None] if len(view.surfaces) == 1 else view.classes.tolist()
        with np.errstate(over="ignore", invalid="ignore"):
            parts = [contributions(view, rows, target=label) for label in classes]
        decision = parts[0].decision if len(parts) == 1 else np.column_stack([part.decision for part in parts])
        heads = [""] if len(parts) == 1 else [f"{name}: " for name in model.class_names]
        return Values(
            scores=dict(zip(model.outputs().scores, [part.decision for part in parts], strict=True)),
            columns={name: rows[name] for name in rows if name in view.needed},
            terms={f"{h}{name}": v for h, p in zip(heads, parts, strict=True) for name, v in _named_values(p)},
            judged=model.judged(decision, table.first_row),
        )


def _named_values(part: Any) -> Iterator[tuple[str, FloatArray]]:
    return zip(part.names, part.values.T, strict=True)


@dataclass(frozen=True, eq=False)
class Reference:
    """Distributions of the rows that others are compared with; ``+`` adds rows that are counted in the same bins.

    Attributes
    ----------
    scores, columns, terms : mappings of str to Distribution
        By the names that ``Values`` has.
    """

    scores: Mapping[str, Distribution]
    columns: Mapping[str, Distribution]
    terms: Mapping[str, Distribution]

    @staticmethod
    def of(model: TableModel, table: Table) -> Reference:
        """Of raw rows.

        Parameters
        ----------
        model : TableModel
        table : Table
        """
        values, categories = Values.of(model, table), _categories(model)
        return Reference(
            scores={name: _computed(each) for name, each in values.scores.items()},
            columns={name: Distribution.of(v, levels=categories.get(name)) for name, v in values.columns.items()},
            terms={name: _computed(each) for name, each in values.terms.items()},
        )

    def like(self, values: Values) -> Reference:
        """Of other rows, in the same bins.

        Parameters
        ----------
        values : Values
        """
        kinds = (_like(mine, getattr(values, kind)) for kind, mine in vars(self).items())
        return Reference(*kinds)

    def __add__(self, other: Reference) -> Reference:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Reference(*({name: one[name] + two[name] for name in one} for one, two in pairs))

    def recorded(self) -> dict[str, Any]:
        """As plain values, for a model file."""
        return {kind: {name: each.recorded() for name, each in own.items()} for kind, own in vars(self).items()}

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> Reference:
        """What ``recorded`` wrote; whatever else a file has in its place is left out.

        Parameters
        ----------
        record : mapping
        """
        kinds = []
        for kind in ("scores", "columns", "terms"):
            own = record.get(kind)
            read = {name: Distribution.from_record(each) for name, each in own.items()} if isinstance(own, dict) else {}
            kinds.append({name: each for name, each in read.items() if each is not None})
        return Reference(*kinds)


def _computed(values: FloatArray) -> Distribution:
    """With edges a little above values: what is rounded otherwise on another day stays in its bin."""
    room = ROUNDING * max(float(np.abs(values).max()), 1.0)
    if np.ptp(values) <= room:
        return Distribution.of(values, [values.min() - room, values.max() + room])
    return Distribution.of(values, np.unique(Distribution.of(values).edges + room))


def _like(mine: Mapping[str, Distribution], values: Mapping[str, np.ndarray]) -> dict[str, Distribution]:
    return {name: each.like(values[name]) for name, each in mine.items() if name in values}


def _categories(model: TableModel) -> dict[str, list[str]]:
    """Levels that the model tells apart, of columns of texts: no others are kept."""
    return {column.name: [*map(str, column.categories)] for column in model.view.inputs if column.type == "category"}


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What became of rows of a model of two classes; ``+`` adds others.

    Attributes
    ----------
    n_known, n_unknown : int
        Rows with and without an outcome.
    n_events : int
    expected, variance : float
        Of the number of events, by the probabilities of the rows with an outcome; NaN without probabilities.
    ranked : SampledRows
        Scores and outcomes, of a random sample where there are many.
    """

    n_known: int
    n_unknown: int
    n_events: int
    expected: float
    variance: float
    ranked: SampledRows

    @staticmethod
    def of(scores: Scores, codes: IntArray, first_row: int) -> Outcomes:
        """Of some rows.

        Parameters
        ----------
        scores : Scores
        codes : array of shape (m,)
            1 for events, 0 for others, -1 where nobody knows.
        first_row : int
        """
        known = np.flatnonzero(codes >= 0)
        chances = np.full(len(codes), np.nan) if scores.probabilities is None else scores.probabilities[:, 1]
        p, target = chances[known], Target(codes[known], np.ones(2))
        batch = SampleBatch(scores.decision[known, None], target, np.ones(len(known)), known + first_row)
        n_events, ranked = int(codes[known].sum()), RandomRows(MOST_RANKED)(batch)
        return Outcomes(len(known), len(codes) - len(known), n_events, float(p.sum()), float(p @ (1.0 - p)), ranked)

    def __add__(self, other: Outcomes) -> Outcomes:
        return Outcomes(*(one + two for one, two in zip(vars(self).values(), vars(other).values(), strict=True)))


@dataclass(frozen=True)
class Outcome:
    """How good a model is on rows whose outcome is known.

    Attributes
    ----------
    n_known, n_unknown : int
        Rows with and without an outcome.
    n_events : int
        Rows of the positive class.
    expected : float or None
        The sum of their probabilities of it; None without probabilities.
    by_chance : float or None
        The number of events differs from that by no more in 19 of 20 samples, if the probabilities are right.
    auc, auc_error : float or None
        With its standard error (DeLong); None where only one class has come out.
    auc_before : float or None
        Out of fold at the fit; None where the model file does not say.
    """

    n_known: int
    n_unknown: int
    n_events: int
    expected: float | None
    by_chance: float | None
    auc: float | None
    auc_error: float | None
    auc_before: float | None

    @staticmethod
    def of(outcomes: Outcomes, before: float | None) -> Outcome:
        """The figures of all rows.

        Parameters
        ----------
        outcomes : Outcomes
        before : float or None
            AUC at the fit.
        """
        has_chances = outcomes.n_known > 0 and np.isfinite(outcomes.expected)
        area = None
        if 0 < outcomes.n_events < outcomes.n_known:
            rows = outcomes.ranked.batch
            area = AreaEstimate.of(rows.target.codes == 1, rows.X[:, 0], rows.sample_weight)
        return Outcome(
            n_known=outcomes.n_known,
            n_unknown=outcomes.n_unknown,
            n_events=outcomes.n_events,
            expected=outcomes.expected if has_chances else None,
            by_chance=TWO_SIDED * outcomes.variance**0.5 if has_chances else None,
            auc=None if area is None else area.value,
            auc_error=None if area is None or isnan(area.variance) else area.variance**0.5,
            auc_before=before,
        )

    def words(self) -> dict[str, str]:
        """Facts for people, by what they are about."""
        facts = {"outcomes": f"{self.n_known:,} rows with one, {self.n_unknown:,} without"}
        if self.auc is not None:
            error = "" if self.auc_error is None else f" \N{PLUS-MINUS SIGN} {self.auc_error:.3f}"
            before = "" if self.auc_before is None else f"; {self.auc_before:.3f} out of fold at the fit"
            facts["AUC"] = f"{self.auc:.3f}{error}{before}"
        if self.expected is not None and self.by_chance is not None:
            spread = f"{self.expected:.1f} expected, \N{PLUS-MINUS SIGN} {self.by_chance:.1f} by chance"
            facts["calibration"] = f"{self.n_events:,} events; {spread}"
        return facts

    def checks(self, limits: Limits) -> Iterator[Check]:
        """Its figures beside their limits, as far as there are both.

        Parameters
        ----------
        limits : Limits
        """
        if self.auc is not None and self.auc_error is not None and self.auc_before is not None:
            yield Check("auc_drop", "", self.auc_before - self.auc, limits.auc_drop, ONE_SIDED * self.auc_error)
        if self.expected and self.by_chance is not None:
            difference = abs(self.n_events - self.expected) / self.expected
            yield Check("calibration", "", difference, limits.calibration, self.by_chance / self.expected)


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
