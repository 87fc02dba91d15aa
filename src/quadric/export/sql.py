"""Scores as one SELECT that SQLite, DuckDB and PostgreSQL all run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quadric.estimators.calibration import Calibration, SigmoidCalibration
from quadric.export._shown import heading, sample_lines
from quadric.export.equations import equation
from quadric.export.scoring import ScoringModel, scoring_model
from quadric.fitted import Model, Variable
from quadric.geometry.surface import QuadraticSurface

GROUP = 50
"""Terms per pair of parentheses: SQLite refuses expressions that are nested more than 1000 deep."""
STEEPEST = 700.0
"""PostgreSQL raises an error where exp() overflows or underflows."""


def to_sql(model: Model, *, table: str | Sequence[str] = "data", prefix: str = "quadric_") -> str:
    """A SELECT of all columns of a table followed by score, probability (where the model is calibrated) and label.

    With more than two classes there is one score (and probability) per class, numbered in their order. A row with an unknown
    category, or with a missing value that the model does not fill in, gets NULL. Columns of numbers must hold numbers or NULL.
    A table that has columns of the new names is refused by the database, as ambiguous: choose another ``prefix``.

    Parameters
    ----------
    model : fitted model, or ScoringModel
    table : str or sequence of str
        Name of the table; with its schema, ("schema", "table").
    prefix : str
        Put before the names of the new columns.

    Returns
    -------
    str
    """
    scoring = scoring_model(model)
    _check_names([column.name for column in scoring.inputs])
    writer = _Writer(scoring, prefix)
    notes = [
        *heading(scoring),
        *equation(scoring).splitlines(),
        "Runs on SQLite, DuckDB and PostgreSQL.",
        *sample_lines(scoring),
    ]
    source = identifier(table) if isinstance(table, str) else ".".join(identifier(part) for part in table)
    return "\n".join([*(f"-- {note}" for note in notes), writer.statement(source), ""])


def identifier(name: str) -> str:
    """A name in double quotes."""
    return '"' + _without_nul(name).replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text in single quotes."""
    return "'" + _without_nul(text).replace("'", "''") + "'"


def number(value: float) -> str:
    """A number with an exponent: a double in SQLite and DuckDB, and no integer in PostgreSQL."""
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


def _check_names(names: Sequence[str]) -> None:
    """SQLite and DuckDB do not tell names apart that differ in case only, whether they are in quotes or not."""
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(name.lower(), name)
        if other != name:
            raise ValueError(f"the columns {other!r} and {name!r} are one and the same to most databases: rename one of them")


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError(f"SQL has no way to write the null character in {text!r}")
    return text


@dataclass(frozen=True)
class _Writer:
    model: ScoringModel
    prefix: str

    def names(self, name: str) -> list[str]:
        return [identifier(self.prefix + output) for output in self.model.outputs(name)]

    def statement(self, table: str) -> str:
        scored, calibrated = identifier(self.prefix + "scored"), identifier(self.prefix + "calibrated")
        scores = self._named("score", [_sum_of(self._summands(surface)) for surface in self.model.surfaces])
        steps = [f"{scored} AS (\n{_select('d', scores, table)}\n{self._guard()}\n)"]
        judged, source = [f"s.{name}" for name in self.names("score")], scored
        if self.model.calibrators:
            chances = self._named("probability", self._chances(judged))
            steps.append(f"{calibrated} AS (\n{_select('s', chances, scored)}\n)")
            judged, source = [f"s.{name}" for name in self.names("probability")], calibrated
        label = f"{self._label(judged)} AS {identifier(self.prefix + 'label')}"
        return "WITH " + ",\n".join(steps) + "\n" + _select("s", [label], source) + ";"

    def _guard(self) -> str:
        """Refuses tables that have one of the new columns already: SQLite and DuckDB would silently judge by the old values.

        A name that two joined tables share is an error in every dialect; otherwise it is this table's, and NULL.
        """
        chances = self.names("probability") if self.model.calibrators else []
        new = [*self.names("score"), *chances, identifier(self.prefix + "label")]
        taken = ", ".join(f"NULL AS {column}" for column in new)
        return f"CROSS JOIN (SELECT {taken}) AS t\nWHERE " + " AND ".join(f"{column} IS NULL" for column in new)

    def _named(self, name: str, expressions: Sequence[str]) -> list[str]:
        return [f"{expression} AS {column}" for expression, column in zip(expressions, self.names(name), strict=True)]

    def _summands(self, surface: QuadraticSurface) -> list[str]:
        terms = [" * ".join([number(t.coefficient), *(self._variable(v) for v in t.factors)]) for t in surface.products]
        return [f"CAST({number(surface.c)} AS DOUBLE PRECISION)", *terms]

    def _variable(self, position: int) -> str:
        variable = self.model.variables[position]
        text = self._feature(variable)
        if variable.center != 0.0:
            text = f"({text} - {number(variable.center)})"
        return text if variable.scale == 1.0 else f"({text} / {number(variable.scale)})"

    def _feature(self, variable: Variable) -> str:
        column = self.model.inputs[variable.feature.input]
        # With the table's name in front: SQLite takes an unknown name in quotes for a text otherwise
        name = f"d.{identifier(column.name)}"
        feature = variable.feature
        if column.type == "number":
            name = f"CAST({name} AS DOUBLE PRECISION)"
        if feature.kind == "number":
            return name if feature.missing is None else f"COALESCE({name}, {number(float(feature.missing))})"
        by_value: dict[float, list[str]] = {}
        for level, value in feature.codes:
            by_value.setdefault(value, []).append(literal(level) if isinstance(level, str) else number(level))
        cases: list[tuple[str, Any]] = [(f"IN ({', '.join(levels)})", value) for value, levels in by_value.items()]
        cases += [("IS NULL", feature.missing), ("IS NOT NULL", feature.unseen)]
        whens = " ".join(f"WHEN {name} {condition} THEN {number(value)}" for condition, value in cases if value is not None)
        return f"(CASE {whens} END)" if whens else "NULL"

    def _chances(self, scores: Sequence[str]) -> list[str]:
        curves = [_curve(calibrator, score) for calibrator, score in zip(self.model.calibrators, scores, strict=True)]
        are_numbers = _finite(scores)
        if len(curves) == 1:
            return [f"CASE WHEN {are_numbers} THEN {curves[0]} END"]
        total = "(" + " + ".join(curves) + ")"
        even = number(1.0 / len(curves))
        return [
            f"CASE WHEN {are_numbers} THEN CASE WHEN {total} = 0e0 THEN {even} ELSE {curve} / {total} END END"
            for curve in curves
        ]

    def _label(self, judged: Sequence[str]) -> str:
        names = [literal(name) for name in self.model.classes]
        if self.model.is_binary:
            threshold = number(0.5 if self.model.calibrators else 0.0)
            choice = f"CASE WHEN {judged[0]} > {threshold} THEN {names[1]} ELSE {names[0]} END"
        else:
            best = [" AND ".join(f"{own} >= {other}" for other in judged[i:]) for i, own in enumerate(judged[:-1], start=1)]
            cases = [f"WHEN {condition} THEN {name}" for condition, name in zip(best, names, strict=False)]
            choice = f"CASE {' '.join(cases)} ELSE {names[-1]} END"
        return f"CASE WHEN {_finite(judged)} THEN {choice} END"


def _select(alias: str, columns: Sequence[str], source: str) -> str:
    listed = ",\n  ".join([f"{alias}.*", *columns])
    return f"SELECT\n  {listed}\nFROM {source} AS {alias}"


def _sum_of(summands: Sequence[str]) -> str:
    if len(summands) <= GROUP:
        return "\n    + ".join(summands)
    groups = [summands[start : start + GROUP] for start in range(0, len(summands), GROUP)]
    return _sum_of([f"({_sum_of(group)})" for group in groups])


def _finite(values: Sequence[str]) -> str:
    """True where all values are numbers; NULL or false for NULL and NaN, which PostgreSQL takes for the largest number."""
    return " + ".join(f"({value} - {value})" for value in values) + " = 0e0"


def _curve(calibrator: Calibration, score: str) -> str:
    if isinstance(calibrator, SigmoidCalibration):
        z, low, high = f"({number(calibrator.a)} * {score} + {number(calibrator.b)})", number(-STEEPEST), number(STEEPEST)
        return f"(1e0 / (1e0 + exp(CASE WHEN {z} > {high} THEN {high} WHEN {z} < {low} THEN {low} ELSE {z} END)))"
    x, y = calibrator.x.tolist(), calibrator.y.tolist()
    slopes = (np.diff(calibrator.y) / np.diff(calibrator.x)).tolist()
    whens = [
        f"WHEN {score} <= {number(end)} THEN {number(value)} + ({score} - {number(start)}) * {number(slope)}"
        for start, end, value, slope in zip(x, x[1:], y, slopes, strict=False)
    ]
    first = f"WHEN {score} <= {number(x[0])} THEN {number(y[0])}"
    return f"(CASE {' '.join([first, *whens])} ELSE {number(y[-1])} END)"
