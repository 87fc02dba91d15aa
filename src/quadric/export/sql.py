"""Scores as one SELECT that SQLite, DuckDB and PostgreSQL all run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import chain
from typing import Any

import numpy as np

from quadric.errors import quoted
from quadric.estimators.calibration import Calibration, SigmoidCalibration
from quadric.export.equations import equation, heading, sample_lines
from quadric.export.scoring import ScoringModel, missing_values, scoring_model
from quadric.fitted import Model, Variable
from quadric.fitted.points import ScoreScale
from quadric.geometry.surface import Product, QuadraticSurface
from quadric.geometry.writing import ANYTHING, shown
from quadric.tables import InputColumn
from quadric.tables.numbers import number_marks
from quadric.tables.table import BLANKS

# Terms per pair of parentheses: SQLite refuses expressions that are nested more than 1000 deep.
GROUP = 50
# Bytes of a new name that PostgreSQL keeps.
LONGEST_NAME = 63
# PostgreSQL raises an error where exp() overflows or underflows.
STEEPEST = 700.0
DIGITS = " || ".join(f"SUBSTR(full_date, {start})" for start in ("1, 4", "6, 2", "9, 2", "12, 2", "15, 2", "18, 2", "21"))
MONTH_STARTS = " ".join(f"WHEN {month} THEN {datetime(2001, month, 1).timetuple().tm_yday - 1}" for month in range(1, 13))
LEAP_YEAR = "yyyy % 4 = 0 AND (yyyy % 100 <> 0 OR yyyy % 400 = 0)"
DAYS = f"""(SELECT CASE WHEN yyyy > 0 AND mm BETWEEN 1 AND 12 AND hours < 24 AND minutes < 60 AND seconds < 60
      AND dd BETWEEN 1 AND CASE WHEN mm IN (4, 6, 9, 11) THEN 30 WHEN mm <> 2 THEN 31 WHEN {LEAP_YEAR} THEN 29 ELSE 28 END
    THEN 365 * (yyyy - 1) + (yyyy - 1 - (yyyy - 1) % 4) / 4 - (yyyy - 1 - (yyyy - 1) % 100) / 100
      + (yyyy - 1 - (yyyy - 1) % 400) / 400 + CASE mm {MONTH_STARTS} END
      + CASE WHEN mm > 2 AND {LEAP_YEAR} THEN 1 ELSE 0 END + dd - {{origin}}
      + (3600e0 * hours + 60e0 * minutes + seconds) / 86400e0 END
    FROM (SELECT CAST(SUBSTR(full_date, 1, 4) AS INTEGER) AS yyyy, CAST(SUBSTR(full_date, 6, 2) AS INTEGER) AS mm,
      CAST(SUBSTR(full_date, 9, 2) AS INTEGER) AS dd, CAST(SUBSTR(full_date, 12, 2) AS INTEGER) AS hours,
      CAST(SUBSTR(full_date, 15, 2) AS INTEGER) AS minutes, CAST(SUBSTR(full_date, 18) AS DOUBLE PRECISION) AS seconds
    FROM (SELECT CASE WHEN full_date LIKE '____-__-__ __:__:__.%' AND LENGTH(full_date) BETWEEN 21 AND 26
      AND TRIM({DIGITS}, '0123456789') = '' THEN full_date END AS full_date
    FROM (SELECT written || CASE LENGTH(written) WHEN 10 THEN ' 00:00:00.0' WHEN 16 THEN ':00.0' WHEN 19 THEN '.0' ELSE '' END
      AS full_date
    FROM {{written}} AS a LIMIT 1) AS b LIMIT 1) AS c LIMIT 1) AS e)"""
"""Days since a day, from the text of a date: the three databases share no function of dates. NULL where it is no date.

Without LIMIT, PostgreSQL would put each query into the next, which doubles their length many times over.
"""


def _padded(place: int, condition: str) -> str:
    """A text with a zero at a place if the condition holds."""
    zero = f"SUBSTR(written, 1, {place - 1}) || '0' || SUBSTR(written, {place})"
    return f"CASE WHEN {condition} THEN {zero} ELSE written END"


def _marks(*places: int) -> str:
    return " AND ".join(f"SUBSTR(written, {place}, 1) IN ('-', '/', '.')" for place in places)


def _rebuilt(condition: str, year: int, month: int, day: int, time: str = "''") -> str:
    """A text as 2024-01-31, from the places of its parts."""
    parts = f"SUBSTR(written, {year}, 4) || '-' || SUBSTR(written, {month}, 2) || '-' || SUBSTR(written, {day}, 2)"
    return f"CASE WHEN {condition} THEN {parts} || {time} ELSE written END"


def _without(*zones: str) -> str:
    """A date with a time, without the zone behind it."""
    ends = (f"WHEN SUBSTR(written, LENGTH(written) - {len(zone) - 1}) = '{zone}' THEN {len(zone)}" for zone in zones)
    length = f"LENGTH(written) - CASE WHEN written NOT LIKE '____-__-_____:__%' THEN 0 {' '.join(ends)} ELSE 0 END"
    return f"SUBSTR(written, 1, {length})"


TIME = "CASE WHEN written LIKE '__________ _:%' THEN ' 0' || SUBSTR(written, 12) ELSE SUBSTR(written, 11) END"
YEAR_LAST = (_padded(1, _marks(2)), _padded(4, _marks(3, 5)))
ENDS_IN_YEAR = f"{_marks(3)} AND SUBSTR(written, 6, 1) = SUBSTR(written, 3, 1)"
TO_ISO = {
    "year first": (
        _padded(6, _marks(5, 7)),
        _padded(9, f"{_marks(8)} AND SUBSTR(written, 10, 1) IN ('', ' ')"),
        _rebuilt(f"{_marks(5)} AND SUBSTR(written, 8, 1) = SUBSTR(written, 5, 1)", 1, 6, 9, TIME),
    ),
    "day first": (*YEAR_LAST, _rebuilt(ENDS_IN_YEAR, 7, 4, 1, TIME)),
    "month first": (*YEAR_LAST, _rebuilt(ENDS_IN_YEAR, 7, 1, 4, TIME)),
    "UTC": (_without("Z", "+00:00"),),
    "eight digits": (_rebuilt("LENGTH(written) = 8 OR written LIKE '________.0'", 1, 5, 7),),  # 20240131.0 is a double
}
"""By forms of dates: steps that turn a text into ours, with two digits for day and month; DAYS refuses what is no date then."""


def to_sql(
    model: Model,
    *,
    table: str | Sequence[str] = "data",
    prefix: str = "quadric_",
    points: ScoreScale | str | None = None,
) -> str:
    """A SELECT of all columns of a table followed by score, probability (where the model is calibrated) and label.

    Where there is a scale of points, what each term adds in points stands before the score, as points_1, points_2 and so on
    (a comment names the terms), and the points of the row before the label.

    With more than two classes there is one score (and probability) per class: score_CLASS, probability_CLASS. A row with an
    unknown category, with a text that is no date, with a missing value that the model does not fill in, or with values so
    large that the score overflows, gets NULL. Missing values are NULL, NaN, texts of nothing but blanks, and the other texts
    that mean one for the model. Columns of numbers hold numbers or missing values, as numbers or as texts; where the model
    reads texts such as 6.495,50, texts of this form only. Columns of dates
    hold dates, timestamps without a time zone, or texts: 2024-01-31, or the form that the model file records. A table that
    has columns of the new names is refused by the database, as ambiguous: choose another ``prefix``.

    Parameters
    ----------
    model : fitted model, or ScoringModel
    table : str or sequence of str
        Name of the table; with its schema, ("schema", "table").
    prefix : str
        Put before the names of the new columns.
    points : ScoreScale or str, optional
        Scale of a scorecard, such as "600:20:50"; by default the one that the model file keeps.

    Returns
    -------
    str
    """
    scoring = scoring_model(model, points=points)
    check_names([column.name for column in scoring.inputs])
    writer = Writer(scoring, prefix)
    notes = [
        *heading(scoring),
        *equation(scoring).splitlines(),
        *writer.points_notes(),
        "Runs on SQLite, DuckDB and PostgreSQL.",
        *sample_lines(scoring),
    ]
    source = ".".join(writer.identifier(part) for part in ([table] if isinstance(table, str) else table))
    return "\n".join([*(f"-- {note}" for note in notes), writer.statement(source), ""])


def check_names(names: Sequence[str], n_bytes: int | None = None) -> None:
    """SQLite, DuckDB and Spark do not tell names apart that differ in case only, whether they are in quotes or not.

    Some databases keep only ``n_bytes`` of a new name.
    """
    known: dict[bytes, str] = {}
    for name in names:
        other = known.setdefault(name.lower().encode()[:n_bytes], name)
        if other != name:
            raise ValueError(
                f"the columns {quoted(other)} and {quoted(name)} are one and the same to most databases: rename one of them"
            )


def without_nul(text: str) -> str:
    """The text; an error where it has the null character."""
    if "\0" in text:
        raise ValueError(f"SQL has no way to write the null character in {quoted(text)}")
    return text


@dataclass(frozen=True)
class Writer:
    """Writes the expressions of a model; another dialect is a subclass."""

    model: ScoringModel
    prefix: str

    # With the table's name in front of names: SQLite takes an unknown name in quotes for a text otherwise
    table, step = "d.", "s."
    text_type, double_type = "VARCHAR", "DOUBLE PRECISION"

    @staticmethod
    def identifier(name: str) -> str:
        return '"' + without_nul(name).replace('"', '""') + '"'

    @staticmethod
    def literal(text: str) -> str:
        return "'" + without_nul(text).replace("'", "''") + "'"

    @staticmethod
    def number(value: float) -> str:
        """A number with an exponent: a double in SQLite and DuckDB, and no integer in PostgreSQL."""
        text = repr(float(value))
        return text if "e" in text else f"{text}e0"

    def steps(self) -> list[list[str]]:
        """Columns of scores, probabilities (none without a calibration) and the label, each from those before."""
        names = self._new_names()
        scores, chances = ([self.step + name for name in new] for new in names[:2])
        expressions = [
            [self._score(surface) for surface in self.model.surfaces],
            self._chances(scores) if chances else [],
            [*self._points(scores), self._label(chances or scores)],
        ]
        return [
            [f"{expression} AS {name}" for expression, name in zip(*step, strict=True)]
            for step in zip(expressions, names, strict=True)
        ]

    def statement(self, table: str) -> str:
        scored, calibrated = self.identifier(self.prefix + "scored"), self.identifier(self.prefix + "calibrated")
        scores, chances, label = self.steps()
        terms = [f"{self._points_of(term, by)} AS {name}" for term, by, name in self._terms()]
        parts, source = [f"{scored} AS (\n{_select('d', [*terms, *scores], table)}\n{self._guard()}\n)"], scored
        if chances:
            parts.append(f"{calibrated} AS (\n{_select('s', chances, scored)}\n)")
            source = calibrated
        return "WITH " + ",\n".join(parts) + "\n" + _select("s", label, source) + ";"

    def points_notes(self) -> list[str]:
        """What the columns of points mean."""
        line = self.model.points
        if line is None:
            return []
        names = [variable.feature.name for variable in self.model.variables]
        start = line.constant + line.slope * self.model.surfaces[0].c
        written = [name for name, _ in self.model.surfaces[0].terms(names)]
        columns = [f"{self.prefix}points_{number}: {term}" for number, term in enumerate(written, start=1)]
        heads = [f"Points: {line.words}", f"{self.prefix}points = {start!r} + the points of the terms:"]
        return [shown(text, plain=ANYTHING) for text in (*heads, *columns)]

    def _terms(self) -> list[tuple[Product, float, str]]:
        """Terms whose points are columns of their own, with what a unit of f is in points, and the names."""
        if self.model.points is None:
            return []
        names = [f"{self.prefix}points_{number}" for number in range(1, len(self.model.surfaces[0].products) + 1)]
        check_names([*names, *self.model.outputs(self.prefix).names], LONGEST_NAME)
        products = self.model.surfaces[0].products
        return [(term, self.model.points.slope, self.identifier(name)) for term, name in zip(products, names, strict=True)]

    def _points_of(self, term: Product, by: float) -> str:
        return self._formula(term.factors, lambda variables: self._product(term, variables, by))

    def _product(self, term: Product, variables: Mapping[int, str], by: float = 1.0) -> str:
        return " * ".join([self.number(by * term.coefficient), *(variables[v] for v in term.factors)])

    def _new_names(self) -> list[list[str]]:
        outputs = self.model.outputs(self.prefix)
        check_names(outputs.names, LONGEST_NAME)
        steps = (outputs.scores, outputs.probabilities, (*outputs.points, outputs.label))
        return [[self.identifier(output) for output in step] for step in steps]

    def _guard(self) -> str:
        """Refuses tables that have one of the new columns already: SQLite and DuckDB would silently judge by the old values.

        A name that two joined tables share is an error in every dialect; otherwise it is this table's, and NULL.
        """
        new = [*chain.from_iterable(self._new_names()), *(name for *_, name in self._terms())]
        taken = ", ".join(
            [f"{self.literal(BLANKS)} AS {self.identifier(self.prefix + 'blanks')}", *(f"NULL AS {column}" for column in new)]
        )
        return f"CROSS JOIN (SELECT {taken}) AS t\nWHERE " + " AND ".join(f"{column} IS NULL" for column in new)

    def _points(self, scores: Sequence[str]) -> list[str]:
        if self.model.points is None:
            return []
        total = f"{self.number(self.model.points.constant)} + {self.number(self.model.points.slope)} * {scores[0]}"
        return [f"CASE WHEN {_finite(scores)} THEN {total} END"]

    def _score(self, surface: QuadraticSurface) -> str:
        every = range(len(self.model.variables))
        # a row that is refused has no score at all, not only none of the classes that use the column
        foreign = sorted(set(every).difference(*(term.factors for term in surface.products)))
        start = f"CAST({self.number(surface.c)} AS {self.double_type})"

        def total(variables: Mapping[int, str]) -> str:
            terms = [self._product(term, variables) for term in surface.products]
            return _sum_of([start, *terms, *(f"0e0 * {variables[v]}" for v in foreign)])

        return self._formula(every, total)

    def _formula(self, used: Sequence[int], write: Callable[[Mapping[int, str]], str]) -> str:
        """A formula of variables, from queries within a query: trimmed texts, their codes, and the capped values of these.

        Each is computed once, however often the next one names it. LIMIT keeps databases from writing them out again.
        """
        used = sorted(set(used))
        inputs = sorted({self.model.variables[v].feature.input for v in used})
        texts = {i: f"a.t{i}" for i in inputs}
        codes = {v: f"b.c{v}" for v in used}
        levels = [
            [f"{self._text(self.model.inputs[i])} AS t{i}" for i in inputs],
            [f"{self._feature(self.model.variables[v], texts)} AS c{v}" for v in used],
            [f"{self._variable(self.model.variables[v], codes[v])} AS x{v}" for v in used],
        ]
        source = ""
        for alias, level in zip("abx", levels, strict=True):
            listed = ",\n      ".join(level)
            source = f"(SELECT\n      {listed}{source} LIMIT 1) AS {alias}"
            source = f"\n    FROM {source}"
        return f"(SELECT {write({v: f'x.x{v}' for v in used})}{source})"

    def _variable(self, variable: Variable, code: str) -> str:
        text = code
        if variable.limits:  # the databases share no function for this, and infinity is no value
            ranges = {"<": (-sys.float_info.max, variable.low), ">": (variable.high, sys.float_info.max)}
            beyond = {sign: "{} BETWEEN {} AND {}".format(text, *map(self.number, ranges[sign])) for sign in variable.limits}
            text = _cases([(beyond[sign], self.number(end)) for sign, end in variable.limits.items()], text)
        if variable.center != 0.0:
            text = f"({text} - {self.number(variable.center)})"
        return text if variable.scale == 1.0 else f"({text} / {self.number(variable.scale)})"

    def _feature(self, variable: Variable, texts: Mapping[int, str]) -> str:
        feature, column = variable.feature, self.model.inputs[variable.feature.input]
        value, absent = self._cell(column, texts[feature.input])
        missing = self._number_or_null(feature.missing)
        if feature.kind != "number":
            by_value: dict[float, list[str]] = {}
            for level, code in feature.codes:
                by_value.setdefault(code, []).append(self.literal(level) if isinstance(level, str) else self.number(level))
            cases = [(f"{value} IN ({', '.join(levels)})", self._number_or_null(code)) for code, levels in by_value.items()]
            return _cases(
                [(absent, missing), *cases, (self._present(column, value), self._number_or_null(feature.unseen))], "NULL"
            )
        if column.type != "number":
            return _cases([(absent, missing)], value)
        return f"({value})" if feature.missing is None else f"COALESCE({value}, {missing})"

    def _text(self, column: InputColumn) -> str:
        """A cell as a text, without the blanks around it."""
        text = f"CAST({self.table}{self.identifier(column.name)} AS {self.text_type})"
        return self._trimmed(text) if column.blanks else text

    def _cell(self, column: InputColumn, text: str) -> tuple[str, str]:
        """The value of a column as a number or a text, and the condition that it is missing, from its text."""
        name = self.table + self.identifier(column.name)
        texts, numbers = missing_values(column)
        listed = dict.fromkeys(["''", *["'nan'"] * (column.type == "number"), *map(self._lowered, texts)])
        means_missing = f"LOWER({text}) IN ({', '.join(listed)})"
        if column.type == "number":
            value = self._number_cell(column, text, means_missing)
            for code in numbers:
                value = f"NULLIF({value}, {self.number(code)})"
            return value, f"{value} IS NULL"
        if column.origin is not None:
            text = self._days(name, text, column.origin, column.form)
        if column.truths:
            text = _cases([(f"LOWER({text}) = {self.literal(s)}", self.literal(own)) for s, own in column.truths.items()], text)
        return text, f"{name} IS NULL OR {means_missing}"

    def _trimmed(self, text: str) -> str:
        return f"TRIM({text}, t.{self.identifier(self.prefix + 'blanks')})"

    def _number_cell(self, column: InputColumn, text: str, means_missing: str) -> str:
        value = self.table + self.identifier(column.name) if column.form is None else self._plain(text, column.form)
        return f"CASE WHEN {means_missing} THEN NULL ELSE CAST({value} AS {self.double_type}) END"

    def _plain(self, text: str, form: str) -> str:
        """A number of a form with a decimal point and nothing else beside digits."""
        marks = number_marks(form)
        for mark in dict.fromkeys((marks.before, marks.after, marks.thousands, " ")):
            text = f"REPLACE({text}, {self.literal(mark)}, '')" if mark else text
        return text if marks.decimal == "." else f"REPLACE({text}, {self.literal(marks.decimal)}, '.')"

    def _present(self, column: InputColumn, value: str) -> str:
        return f"{value} IS NOT NULL"

    def _days(self, name: str, text: str, origin: str, form: str | None) -> str:
        written = f"(SELECT REPLACE({text}, 'T', ' ') AS written LIMIT 1)"
        for step in TO_ISO[form] if form else ():
            written = f"(SELECT {step} AS written\n    FROM {written} AS f LIMIT 1)"
        return DAYS.format(origin=date.fromisoformat(origin).toordinal(), written=written)

    def _chances(self, scores: Sequence[str]) -> list[str]:
        curves = [self._curve(calibrator, score) for calibrator, score in zip(self.model.calibrators, scores, strict=True)]
        are_numbers = _finite(scores)
        if len(curves) == 1:
            return [f"CASE WHEN {are_numbers} THEN {curves[0]} END"]
        total = "(" + " + ".join(curves) + ")"
        even = self.number(1.0 / len(curves))
        return [
            f"CASE WHEN {are_numbers} THEN CASE WHEN {total} = 0e0 THEN {even} ELSE {curve} / {total} END END"
            for curve in curves
        ]

    def _label(self, judged: Sequence[str]) -> str:
        names = [self.literal(name) for name in self.model.classes]
        if self.model.is_binary:
            choice = f"CASE WHEN {judged[0]} > {self.number(self.model.threshold)} THEN {names[1]} ELSE {names[0]} END"
        else:
            best = [" AND ".join(f"{own} >= {other}" for other in judged[i:]) for i, own in enumerate(judged[:-1], start=1)]
            cases = [f"WHEN {condition} THEN {name}" for condition, name in zip(best, names, strict=False)]
            choice = f"CASE {' '.join(cases)} ELSE {names[-1]} END"
        return f"CASE WHEN {_finite(judged)} THEN {choice} END"

    def _curve(self, calibrator: Calibration, score: str) -> str:
        number = self.number
        if isinstance(calibrator, SigmoidCalibration):
            z, low, high = (
                f"({number(calibrator.a)} * {score} + {number(calibrator.b)})",
                number(-STEEPEST),
                number(STEEPEST),
            )
            return f"(1e0 / (1e0 + exp(CASE WHEN {z} > {high} THEN {high} WHEN {z} < {low} THEN {low} ELSE {z} END)))"
        x, y = calibrator.x.tolist(), calibrator.y.tolist()
        slopes = (np.diff(calibrator.y) / np.diff(calibrator.x)).tolist()
        whens = [
            f"WHEN {score} <= {number(end)} THEN {number(value)} + ({score} - {number(start)}) * {number(slope)}"
            for start, end, value, slope in zip(x, x[1:], y, slopes, strict=False)
        ]
        first = f"WHEN {score} <= {number(x[0])} THEN {number(y[0])}"
        return f"(CASE {' '.join([first, *whens])} ELSE {number(y[-1])} END)"

    def _lowered(self, text: str) -> str:
        """A text in lower case, by the database where letters other than A to Z depend on it."""
        return self.literal(text.lower()) if text.isascii() else f"LOWER({self.literal(text)})"

    def _number_or_null(self, value: Any) -> str:
        return "NULL" if value is None else self.number(float(value))


def _cases(cases: Sequence[tuple[str, str]], otherwise: str) -> str:
    return f"(CASE {' '.join(f'WHEN {condition} THEN {value}' for condition, value in cases)} ELSE {otherwise} END)"


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
