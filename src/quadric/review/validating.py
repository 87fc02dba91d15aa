"""Validation tables of a model on new rows: discrimination, calibration, concentration, stability and migration of grades."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from scipy.stats import norm

from quadric.credit.backtesting import (
    Concentration,
    GradeTable,
    Migrations,
    auc_drop_test,
    binomial_test,
    concentration_test,
    grades_of,
    hosmer_lemeshow_test,
    jeffreys_test,
)
from quadric.credit.intervals import AreaEstimate
from quadric.credit.stability import Distribution, index_contributions
from quadric.errors import quoted, refuse_unknown
from quadric.fitted.points import ScoreScale
from quadric.safe_csv import CsvWriter
from quadric.tables import Table, TableStream
from quadric.types import FloatArray, IntArray
from quadric.workflow.drawing import days_in
from quadric.workflow.options import OptionError
from quadric.workflow.samples import LabelledRows
from quadric.workflow.scoring import TableModel

# Names of the tables
TABLES = (
    *("discrimination", "calibration", "hosmer-lemeshow", "concentration", "stability"),
    *("migration", "migration-bandwidth"),
)
Cell: TypeAlias = float | str | None


@dataclass(frozen=True)
class ResultTable:
    """A table of results.

    Attributes
    ----------
    name : str
        Also that of its file.
    head : tuple of str
    rows : tuple of tuples
        Numbers and texts; None where there is nothing.
    """

    name: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def to_csv(self) -> str:
        """Comma-separated values, with all digits.

        Returns
        -------
        str
        """
        text = io.StringIO()
        CsvWriter(text).writerows([self.head, *([_written(cell) for cell in row] for row in self.rows)])
        return text.getvalue()

    def recorded(self) -> list[dict[str, Cell]]:
        """As plain values, one mapping per row.

        Returns
        -------
        list of dict
        """
        return [dict(zip(self.head, row, strict=True)) for row in self.rows]


def _written(cell: Cell) -> str:
    return "" if cell is None else repr(cell) if isinstance(cell, float) else str(cell)


def _table(name: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> ResultTable:
    plain = [[value.item() if isinstance(value, np.generic) else value for value in row] for row in rows]
    known = (tuple(None if isinstance(cell, float) and not np.isfinite(cell) else cell for cell in row) for row in plain)
    return ResultTable(name, tuple(head), tuple(known))


@dataclass(frozen=True, eq=False)
class Grading:
    """How rows are divided into grades, from low risk to high.

    Attributes
    ----------
    edges : array
        Between the grades; a grade holds values above one edge and up to the next.
    is_of_scores : bool
        Whether these are scores, with the sign that makes more of them more risk; otherwise they are probabilities.
    before : array or None
        Rows of the development sample in each grade, where these are known.
    """

    edges: FloatArray
    is_of_scores: bool
    before: FloatArray | None

    @staticmethod
    def of(
        model: TableModel, edges: Sequence[float] | None, scale: ScoreScale | None = None, development: Table | None = None
    ) -> Grading:
        """Grades between given edges, or tenths of the scores of the rows that the model was fitted to.

        Parameters
        ----------
        model : TableModel
        edges : sequence of float or None
            Probabilities of the event, or points; None: tenths of the scores.
        scale : ScoreScale, optional
            Of the points.
        development : Table, optional
            The rows that the model was fitted to, without which only tenths of the scores know how these are distributed.
        """
        if edges is None:
            known = _recorded_scores(model)
            if development is not None:
                scores = model.scores(development).decision
                known = Distribution.of(scores) if known is None else known.like(scores)
            if known is None:
                raise OptionError("the model file does not keep the scores of its rows: give grades", grades=None)
            if _event(model) == 1:
                return Grading(known.edges, True, known.counts)
            turned = np.nextafter(-known.edges[::-1], -np.inf)  # a score at an edge stays with those below it
            return Grading(turned, True, known.counts[::-1])
        between = np.sort(np.asarray(edges, dtype=float))
        if scale is not None:  # of which more mean less risk
            between = np.sort(scale.probability(between))
        if not len(between) or not (np.isfinite(between).all() and (np.diff(between) > 0.0).all()):
            raise OptionError("grades must be different numbers", grades=None)
        if not ((between > 0.0) & (between < 1.0)).all():
            raise OptionError("grades must be probabilities between 0 and 1, or points of a scale", grades=None, points=None)
        empty = Grading(between, False, None)
        return empty if development is None else Grading(between, False, empty.counts(model, development))

    def values(self, model: TableModel, rows: Table) -> FloatArray:
        """What decides on the grades of rows."""
        scores = model.scores(rows)
        assert scores.probabilities is not None
        return _risk(model, scores.decision) if self.is_of_scores else scores.probabilities[:, _event(model)]

    def grades(self, model: TableModel, rows: Table) -> IntArray:
        """The grade of each row, from 0."""
        return grades_of(self.values(model, rows), self.edges)

    def counts(self, model: TableModel, rows: Table) -> FloatArray:
        """Rows in each grade."""
        return np.bincount(self.grades(model, rows), minlength=len(self.edges) + 1).astype(float)


def _recorded_scores(model: TableModel) -> Distribution | None:
    scores = model.reference.get("scores")
    found = list(scores.values()) if isinstance(scores, Mapping) else []
    known = Distribution.from_record(found[0]) if len(found) == 1 else None
    return None if known is None or known.levels is not None else known


def _event(model: TableModel) -> int:
    """The class whose risk is graded: of two the one that people do not want, or else the positive one."""
    return 0 if model.favourable == model.class_names[1] else 1


def _risk(model: TableModel, score: FloatArray) -> FloatArray:
    return score if _event(model) == 1 else -score


def check_gradable(model: TableModel) -> None:
    """Refuse models that validation tables cannot be made of.

    Parameters
    ----------
    model : TableModel
    """
    if len(model.class_names) != 2:
        raise ValueError(f"validation tables need a model of two classes, and this one has {len(model.class_names)}")
    if not model.view.calibrators:
        raise ValueError("validation tables need probabilities, and the scores of this model are not calibrated")


def validated(model: TableModel, portfolio: Table, judged: LabelledRows | None, grading: Grading) -> tuple[ResultTable, ...]:
    """The tables of rows, those of outcomes among them where these are known.

    Parameters
    ----------
    model : TableModel
    portfolio : Table
        All rows.
    judged : Table and labels, or None
        Rows whose outcome is known; None: there are none.
    grading : Grading

    Returns
    -------
    tuple of ResultTable
        Of ``discrimination``, ``calibration`` (by grade, with p-values of two tests), ``hosmer-lemeshow``, ``concentration``
        and ``stability`` of the grades.
    """
    found = []
    if judged is not None:
        rows, y = judged
        scores, is_event = model.scores(rows), y == model.view.classes[_event(model)]
        assert scores.probabilities is not None
        probability = scores.probabilities[:, _event(model)]
        found.append(_discrimination(is_event, _risk(model, scores.decision), model.development_auc))
        table = GradeTable.of(is_event, probability, grading.edges, grading.values(model, rows))
        found += [_calibration(table, float(probability.mean())), _goodness(table)]
    now = grading.counts(model, portfolio)
    found.append(_concentration(grading.before, now))
    if grading.before is not None:
        found.append(_stability(grading.before, now))
    return tuple(found)


def _discrimination(is_event: np.ndarray, score: FloatArray, development: float | None) -> ResultTable:
    head = ("rows", "events", "AUC", "standard error", "95 % from", "95 % to", "AUC at development", "statistic", "p-value")
    cells: list[Any] = [len(score), int(is_event.sum()), *[None] * 4, development, None, None]
    if 0 < is_event.sum() < len(score):
        area = AreaEstimate.of(is_event, score, np.ones(len(score)))
        own = area.interval()
        cells[2:6] = own.value, area.variance**0.5, own.low, own.high
        if development is not None:
            drop = auc_drop_test(is_event, score, development)
            cells[7:] = drop.statistic, drop.p_value
    return _table("discrimination", head, [cells])


def _calibration(table: GradeTable, mean: float) -> ResultTable:
    head = ("grade", "above", "up to", "rows", "events", "expected", "observed", "Jeffreys", "binomial")
    rows: list[list[Any]] = [[str(i), *row.values()] for i, row in enumerate(table.rows(), start=1)]
    counts, events = int(table.count.sum()), int(table.events.sum())
    tests = (float(test([events], [counts], [mean])[0]) for test in (jeffreys_test, binomial_test))
    return _table("calibration", head, [*rows, ["all", None, None, counts, events, mean, events / counts, *tests]])


def _goodness(table: GradeTable) -> ResultTable:
    found = hosmer_lemeshow_test(table.events, table.count, table.probability)
    head = ("grades with rows", "statistic", "p-value")
    return _table("hosmer-lemeshow", head, [[int((table.count > 0).sum()), found.statistic, found.p_value]])


def _concentration(before: FloatArray | None, now: FloatArray) -> ResultTable:
    head = ("sample", "rows", "variation", "Herfindahl", "statistic", "p-value")
    rows: list[list[Any]] = []
    for name, counts in {"development": before, "now": now}.items():
        if counts is not None:
            found = Concentration.of(counts)
            rows.append([name, int(counts.sum()), found.variation, found.herfindahl, None, None])
    if before is not None:
        test = concentration_test(before, now)
        rows[-1][4:] = test.statistic, test.p_value
    return _table("concentration", head, rows)


def _stability(before: FloatArray, now: FloatArray) -> ResultTable:
    shares = before / before.sum(), now / now.sum()
    parts = index_contributions(*shares)
    rows = [[str(i), *row] for i, row in enumerate(zip(*shares, parts, strict=True), start=1)]
    return _table("stability", ("grade", "at development", "now", "PSI"), [*rows, ["all", 1.0, 1.0, float(parts.sum())]])


def rows_of_days(table: Table, time_column: str, days: Sequence[str]) -> list[Table]:
    """The rows of each of some days.

    Parameters
    ----------
    table : Table
    time_column : str
    days : sequence of str
        Such as 2026-01-31.

    Returns
    -------
    list of Table
    """
    refuse_unknown([time_column], table.names, "the table", error=partial(OptionError, time_column=None))
    own, found = np.floor(days_in(TableStream(table), time_column)), []
    for day in days:
        try:
            rows = np.flatnonzero(own == np.datetime64(day, "D").astype(int))
        except ValueError:
            raise OptionError(f"dates must be days such as 2026-01-31, got {quoted(day)}", dates=None) from None
        if not len(rows):
            first, last = (str(np.datetime64(int(end), "D")) for end in (np.nanmin(own), np.nanmax(own)))
            raise OptionError(f"no row is of {day}: the dates are from {first} to {last}", dates=None)
        found.append(table[rows])
    return found


def migrated(model: TableModel, grading: Grading, customer: str, before: Table, now: Table) -> tuple[ResultTable, ...]:
    """Who moved from which grade to which.

    Parameters
    ----------
    model : TableModel
    grading : Grading
    customer : str
        Column that says who it is.
    before, now : Table
        Rows of two dates, one per customer; who has no row on a date has no grade then.

    Returns
    -------
    tuple of ResultTable
        The matrix, and its statistics.
    """
    both = [_grades_by_customer(model, grading, customer, rows) for rows in (before, now)]
    n_grades = len(grading.edges) + 1
    found = Migrations.of(both[0], both[1], n_grades)
    shares, z = found.shares, found.z_statistics
    cells = [
        [str(i + 1), str(j + 1), found.counts[i, j], shares[i, j], z[i, j], norm.cdf(z[i, j])]
        for i in range(n_grades)
        for j in range(n_grades)
    ]
    gone = [[str(i + 1), "gone", found.gone[i], 1.0 - shares[i].sum(), None, None] for i in range(n_grades)]
    bands = [*found.bandwidths, len(both[0]), found.gone.sum(), found.n_new]
    return (
        _table("migration", ("before", "now", "customers", "share", "z", "p-value"), cells + gone),
        _table("migration-bandwidth", ("to higher risk", "to lower risk", "customers before", "gone", "new"), [bands]),
    )


def _grades_by_customer(model: TableModel, grading: Grading, customer: str, rows: Table) -> dict[str, int]:
    refuse_unknown([customer], rows.names, "the table", error=partial(OptionError, id=None))
    found: dict[str, int] = {}
    for name, grade in zip(rows.labels(customer).tolist(), grading.grades(model, rows).tolist(), strict=True):
        if name is None or name in found:
            what = f"a row has no {quoted(customer)}" if name is None else f"{quoted(name)} has more than one row"
            raise OptionError(f"{what}: the matrix needs one row per customer and date", id=None)
        found[name] = grade
    return found
