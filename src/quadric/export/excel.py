"""Scores as an Excel workbook whose formulas stay alive: change an input and the score follows."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime
from io import BytesIO
from typing import Any

import numpy as np

from quadric.estimators.calibration import Calibration, SigmoidCalibration
from quadric.export.equations import equation, heading
from quadric.export.scoring import Sample, ScoringModel, missing_values, scoring_model
from quadric.extras import require
from quadric.files import write_atomically
from quadric.fitted import Model
from quadric.tables import InputColumn
from quadric.tables.dates import NUMBER_FORM

# Of a sheet, and of a cell; Excel's own limits are a little higher.
MOST_COLUMNS, LONGEST_TEXT = 16_000, 32_000
# EXP() fails beyond 709.
STEEPEST = 700
# Column of "Model" with the names of the classes.
CLASSES = 9
DATE_HEADS = ("{} as text", "{} in days")
# A day that all spreadsheets know as a number; they disagree on those before March 1900.
ANCHOR = date(2000, 1, 1)


def to_excel(model: Model, path: str | os.PathLike[str], *, spare_rows: int = 100) -> None:
    """Write a workbook that scores rows by formulas.

    The sheet "Score" takes one row per case: inputs on the left, then score, label and, where the model is calibrated,
    probability. Its first rows are samples with their expected scores. "Variables" and "Terms" hold what every term adds to
    each row, "Model" the coefficients. A row with an unknown category, with a text that is no date, or with a missing value
    that the model does not fill in, gets #N/A. Dates are date cells, texts such as 2024-01-31, and 20240131 if the model was
    fitted to that form. Missing values are empty cells, texts of nothing but blanks, and the other texts that mean one for
    the model.

    Parameters
    ----------
    model : fitted model, or ScoringModel
    path : path
    spare_rows : int
        Rows with formulas below the samples, for cases of one's own.
    """
    scoring = scoring_model(model)
    _check_limits(scoring)
    xlsxwriter = require("xlsxwriter", "excel")
    content = BytesIO()
    # names and levels come from the data: whatever they look like, they are texts
    workbook = xlsxwriter.Workbook(content, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False})
    workbook.set_properties({"created": datetime(2000, 1, 1, tzinfo=UTC), "comments": heading(scoring)[0]})
    _Book(scoring, workbook, xlsxwriter.utility).fill(spare_rows)
    workbook.close()
    write_atomically(path, content.getvalue())


def _check_limits(scoring: ScoringModel) -> None:
    n_terms = sum(len(surface.products) + 1 for surface in scoring.surfaces)
    if (
        max(n_terms, 2 * len(scoring.variables) + 2 * len(scoring.inputs), len(scoring.inputs) + 4 * len(scoring.classes))
        > MOST_COLUMNS
    ):
        raise ValueError(f"the model has {n_terms} terms, more than an Excel sheet has columns")
    texts = [column.name for column in scoring.inputs] + list(scoring.classes)
    texts += [str(level) for column in scoring.inputs for level in column.categories]
    if any(len(text) > LONGEST_TEXT for text in texts):
        raise ValueError(f"a name has more than {LONGEST_TEXT} characters, more than an Excel cell holds")


class _Book:
    """The sheets, and where in them things stand. Row 0 is the head of every sheet; rows of "Score" are those of the others."""

    def __init__(self, scoring: ScoringModel, workbook: Any, utility: Any) -> None:
        self.scoring = scoring
        self.cell = utility.xl_rowcol_to_cell
        self.span = utility.xl_range_abs
        self.bold = workbook.add_format({"bold": True})
        names = ("Score", "Variables", "Terms", "Model", "Levels", "Curves", "About")
        self.sheets = {name: workbook.add_worksheet(name) for name in names}
        self.names = [variable.feature.name for variable in scoring.variables]
        self.dates = [i for i, column in enumerate(scoring.inputs) if column.origin is not None]
        self.n_scores = len(scoring.surfaces)
        self.first_score = 1 + len(scoring.inputs)
        self.first_chance = self.first_score + self.n_scores + 1  # after the label
        self.first_expected = self.first_chance + len(scoring.calibrators)
        self.starts = [sum(len(p.products) for p in scoring.surfaces[:i]) for i in range(self.n_scores + 1)]
        self.first_coefficient = len(scoring.variables) + 3
        """Row of "Model" with the constant of the first score; its terms follow, then the next score."""

    def fill(self, spare_rows: int) -> None:
        self._about()
        self._levels()
        self._curves()
        self._model()
        self._heads()
        for row, sample in enumerate([*self.scoring.samples, *[None] * spare_rows], start=1):
            self._formulas(row, sample)
            if sample is not None:
                self.sheets["Score"].write_row(row, 0, [f"sample {row}", *sample.values])
                self.sheets["Score"].write_row(row, self.first_expected, sample.scores)
                agrees = f'=IF({self._agrees(row)},"ok","DIFFERS")'
                self.sheets["Score"].write_formula(row, self.first_expected + self.n_scores, agrees, None, "")

    def _formulas(self, row: int, sample: Sample | None) -> None:
        """All that is computed of a row: dates, variables, terms and curves; then what is shown beside the inputs."""
        for i in self.dates:
            for column, formula in enumerate(self._date(i, row), start=self._date_column(i)):
                self._write("Variables", row, column, formula)
        for i in range(len(self.names)):
            self._write("Variables", row, i, self._variable(i, row))
        for s, surface in enumerate(self.scoring.surfaces):
            for t, term in enumerate(surface.products):
                coefficient = f"Model!{self._fixed(self._coefficient_row(s) + 1 + t, 4)}"
                product = "*".join([coefficient, *(f"Variables!{self.cell(row, v)}" for v in term.factors)])
                self._write("Terms", row, self.starts[s] + t, product)
        for s, calibrator in enumerate(self.scoring.calibrators):
            curve = self._curve(calibrator, s, f"Score!{self.cell(row, self.first_score + s)}")
            self._write("Terms", row, self.starts[-1] + s, curve)
        shown = [*(self._score(row, s) for s in range(self.n_scores)), self._label(row), *self._chances(row)]
        cached: list[Any] = [""] * len(shown)
        if sample is not None:
            chances = sample.probabilities or ()
            cached = [*sample.scores, sample.label, *(chances[1:] if self.scoring.is_binary else chances)]
        for column, (formula, value) in enumerate(zip(shown, cached, strict=True), start=self.first_score):
            self._write("Score", row, column, formula, value)

    def _write(self, sheet: str, row: int, column: int, formula: str, cached: Any = "") -> None:
        """A formula that shows nothing where no input of its row is filled in."""
        empty = f"COUNTA(Score!{self._across(row, 0, self.first_score - 1)})=0"
        self.sheets[sheet].write_formula(row, column, f'=IF({empty},"",{formula})', None, cached)

    def _variable(self, position: int, row: int) -> str:
        center, scale, *ends = (f"Model!{self._fixed(position + 1, place)}" for place in range(4, 8))
        value = self._feature(position, row)
        for sign, cell in zip("<>", ends, strict=True):
            if sign in self.scoring.variables[position].limits:
                value = f"{'MAX' if sign == '<' else 'MIN'}({value},{cell})"
        return f"({value}-{center})/{scale}"

    def _feature(self, position: int, row: int) -> str:
        feature = self.scoring.variables[position].feature
        column = self.scoring.inputs[feature.input]
        cell = f"Score!{self.cell(row, 1 + feature.input)}"
        x = cell if column.origin is None else self.cell(row, self._date_column(feature.input) + 1)
        missing, unseen = ("NA()" if value is None else repr(value) for value in (feature.missing, feature.unseen))
        if feature.kind == "number":
            value = x
        elif feature.codes:
            places = (2 * position, 2 * position + 1)
            levels, values = (f"Levels!{self.span(1, place, len(feature.codes), place)}" for place in places)
            found = self._matches(x, levels, column) if column.type == "category" else f"({x}={levels})"
            value = f"IF(SUMPRODUCT(--({found}))>0,SUMPRODUCT(({found})*{values}),{unseen})"
        else:
            value = unseen
        if column.type != "category":
            value = f"IF(ISNUMBER({x}),{value},NA())"
        return f"IF({self._is_missing(cell, feature.input)},{missing},{value})"

    def _matches(self, x: str, levels: str, column: InputColumn) -> str:
        """Which of a range of texts a cell holds: one that, taken away once, leaves nothing but blanks."""
        if not column.blanks:
            return f"EXACT({x},{levels})"
        rest = f'SUBSTITUTE({x},{levels},"")'
        return f"(LEN({_bare(rest)})=0)*(LEN({x})-LEN({rest})=LEN({levels}))"

    def _is_missing(self, x: str, position: int) -> str:
        column = self.scoring.inputs[position]
        empty = f'{_bare(x)}=""' if column.blanks else f'{x}=""'
        texts = _missing_texts(column)
        if not texts:
            return empty
        place = 2 * len(self.names) + position
        listed = f"Levels!{self.span(1, place, len(texts), place)}"
        return f"OR({empty},SUMPRODUCT(--(LOWER({_bare(x)})={listed}))+SUMPRODUCT(--({x}={listed}))>0)"

    def _date_column(self, position: int) -> int:
        """Of "Variables": the date of an input as a text; beside it, the days since its origin."""
        return len(self.names) + 2 * self.dates.index(position)

    def _date(self, position: int, row: int) -> tuple[str, str]:
        """The formulas of these two cells; each part of a text is read as a number and must be what was written."""
        x, text = f"Score!{self.cell(row, 1 + position)}", self.cell(row, self._date_column(position))
        y, m, d, hours, minutes = (f"VALUE(MID({text},{start},{n}))" for start, n in ((1, 4), (6, 2), (9, 2), (12, 2), (15, 2)))
        day = f"DATE({y}+400*({y}<1904),{m},{d})"  # spreadsheets do not know the days before 1900; 400 years are 146097 days
        seconds = f"IF(LEN({text})>16,VALUE(MID({text},18,2)),0)"
        parts = f"IF(LEN({text})>20,VALUE(MID({text},21,6))/10^(LEN({text})-20),0)"
        written = f'TEXT({y},"0000")&"-"&TEXT(MONTH({day}),"00")&"-"&TEXT(DAY({day}),"00")'
        clock = (
            f'" "&TEXT({hours},"00")&":"&TEXT({minutes},"00")&IF(LEN({text})>16,":"&TEXT({seconds},"00"),"")'
            f'&IF(LEN({text})>20,"."&MID({text},21,6),"")'
        )
        is_day, is_clock = f"EXACT(LEFT({text},10),{written})", f"EXACT(MID({text},11,99),{clock})"
        time = (
            f"IF(AND({is_clock},{hours}<24,{minutes}<60,{seconds}<60),({hours}+({minutes}+({seconds}+{parts})/60)/60)/24,NA())"
        )
        read = f"IF({is_day},{day}-146097*({y}<1904)+IF(LEN({text})=10,0,{time}),NA())"
        anchor = f"DATE({ANCHOR.year},{ANCHOR.month},{ANCHOR.day})"
        before = (ANCHOR - date.fromisoformat(str(self.scoring.inputs[position].origin))).days
        bare, is_cell = _bare(x), f"ISNUMBER({x})"
        if self.scoring.date_forms.get(self.scoring.inputs[position].name) == NUMBER_FORM:
            bare = f'IF(LEN({bare})=8,LEFT({bare},4)&"-"&MID({bare},5,2)&"-"&RIGHT({bare},2),{bare})'
            is_cell = f"AND({is_cell},{x}<10000101)"  # date cells count days, fewer than three million
        return f'SUBSTITUTE({bare},"T"," ")', f"IFERROR(IF({is_cell},{x},{read})-{anchor}+{before},NA())"

    def _score(self, row: int, s: int) -> str:
        constant, terms = f"Model!{self._fixed(self._coefficient_row(s), 4)}", self._terms(row, s)
        total = f"{constant}+SUM({terms})" if terms else constant
        if self.scoring.is_binary and terms:
            return total
        # a row that is refused has no score at all, not only none of the classes that use the column
        return f"{total}+0*SUM(Variables!{self._across(row, 0, len(self.names) - 1)})"

    def _chances(self, row: int) -> list[str]:
        n_curves, first = len(self.scoring.calibrators), self.starts[-1]
        curves = [f"Terms!{self.cell(row, first + s)}" for s in range(n_curves)]
        if n_curves < 2:
            return curves
        total = f"SUM(Terms!{self._across(row, first, first + n_curves - 1)})"
        return [f"IF({total}=0,1/{n_curves},{curve}/{total})" for curve in curves]

    def _curve(self, calibrator: Calibration, s: int, score: str) -> str:
        if isinstance(calibrator, SigmoidCalibration):
            z = f"Curves!{self._fixed(1, 2 * s)}*{score}+Curves!{self._fixed(1, 2 * s + 1)}"
            return f"1/(1+EXP(MAX(-{STEEPEST},MIN({STEEPEST},{z}))))"
        n = len(calibrator.x)
        if n == 1:
            return f"IF(ISNUMBER({score}),Curves!{self._fixed(1, 2 * s + 1)},NA())"
        x, y = (f"Curves!{self.span(1, 2 * s + i, n, 2 * s + i)}" for i in (0, 1))
        f = f"MIN(MAX({score},INDEX({x},1)),INDEX({x},{n}))"
        i = f"MIN(MATCH({f},{x},1),{n - 1})"
        rise, run = f"(INDEX({y},{i}+1)-INDEX({y},{i}))", f"(INDEX({x},{i}+1)-INDEX({x},{i}))"
        return f"INDEX({y},{i})+({f}-INDEX({x},{i}))*{rise}/{run}"

    def _label(self, row: int) -> str:
        first = self.first_chance if self.scoring.calibrators else self.first_score
        classes = [f"Model!{self._fixed(i + 1, CLASSES)}" for i in range(len(self.scoring.classes))]
        if self.scoring.is_binary:
            return f"IF({self.cell(row, first)}>{self.scoring.threshold:.17g},{classes[1]},{classes[0]})"
        judged = self._across(row, first, first + self.n_scores - 1)
        return f"INDEX(Model!{self.span(1, CLASSES, len(classes), CLASSES)},MATCH(MAX({judged}),{judged},0))"

    def _agrees(self, row: int) -> str:
        """All scores within rounding of the expected ones; an error counts as a difference."""
        conditions = []
        for s in range(self.n_scores):
            found, expected = self.cell(row, self.first_score + s), self.cell(row, self.first_expected + s)
            terms = self._terms(row, s)
            size = f"SUMPRODUCT(ABS({terms}))" if terms else "0"
            conditions.append(f"IFERROR(ABS({found}-{expected})<=1E-9*(1+{size}),FALSE)")
        return f"AND({','.join(conditions)})"

    def _terms(self, row: int, s: int) -> str:
        """The range of the terms of one score; empty where it has none."""
        start, stop = self.starts[s], self.starts[s + 1]
        return f"Terms!{self._across(row, start, stop - 1)}" if stop > start else ""

    def _across(self, row: int, first: int, last: int) -> str:
        return f"{self.cell(row, first)}:{self.cell(row, last)}"

    def _fixed(self, row: int, column: int) -> str:
        return str(self.cell(row, column, row_abs=True, col_abs=True))

    def _coefficient_row(self, s: int) -> int:
        return self.first_coefficient + self.starts[s] + s

    def _heads(self) -> None:
        scoring = self.scoring
        outputs = scoring.outputs()
        shown = [*outputs.scores, outputs.label, *outputs.probabilities]  # labels stand beside what most people look at
        expected = [f"expected {name}" for name in outputs.scores]
        curves = [name.replace("probability", "curve", 1) for name in outputs.probabilities]
        heads = {
            "Score": ["row", *(column.name for column in scoring.inputs), *shown, *expected, "check"],
            "Variables": [*self.names, *(text.format(scoring.inputs[i].name) for i in self.dates for text in DATE_HEADS)],
            "Terms": [*(name for surface in scoring.surfaces for name, _ in surface.terms(self.names)), *curves],
        }
        for name, texts in heads.items():
            self.sheets[name].write_row(0, 0, texts, self.bold)
            self.sheets[name].freeze_panes(1, 0)

    def _model(self) -> None:
        sheet = self.sheets["Model"]
        heads = ["variable", "input", "kind", "level", "center", "scale", "lower cap", "upper cap", None, "classes"]
        sheet.write_row(0, 0, heads, self.bold)
        for row, variable in enumerate(self.scoring.variables, start=1):
            feature = variable.feature
            column = self.scoring.inputs[feature.input]
            name, level = column.name, None if feature.level is None else str(feature.level)
            level = column.other if feature.kind == "level" and level is None else level
            ends = [variable.limits.get(sign) for sign in "<>"]
            sheet.write_row(row, 0, [feature.name, name, feature.kind, level, variable.center, variable.scale, *ends])
        sheet.write_column(1, CLASSES, self.scoring.classes)
        sheet.write_row(self.first_coefficient - 1, 0, ["score", "term", None, None, "coefficient"], self.bold)
        for s, (name, surface) in enumerate(zip(self.scoring.outputs().scores, self.scoring.surfaces, strict=True)):
            lines = [("1", surface.c), *surface.terms(self.names)]
            for row, (term, coefficient) in enumerate(lines, start=self._coefficient_row(s)):
                sheet.write_row(row, 0, [name, term, None, None, coefficient])

    def _levels(self) -> None:
        sheet = self.sheets["Levels"]
        for i, variable in enumerate(self.scoring.variables):
            sheet.write_row(0, 2 * i, [variable.feature.name, "value"], self.bold)
            for row, code in enumerate(variable.feature.codes, start=1):
                sheet.write_row(row, 2 * i, code)
        for i, column in enumerate(self.scoring.inputs):
            sheet.write_string(0, 2 * len(self.names) + i, f"{column.name}: missing values", self.bold)
            sheet.write_column(1, 2 * len(self.names) + i, _missing_texts(column))

    def _curves(self) -> None:
        sheet = self.sheets["Curves"]
        for s, calibrator in enumerate(self.scoring.calibrators):
            for i, (head, values) in enumerate(vars(calibrator).items()):
                sheet.write_string(0, 2 * s + i, f"{head} {s + 1}", self.bold)
                sheet.write_column(1, 2 * s + i, np.atleast_1d(values).tolist())

    def _about(self) -> None:
        texts = [form for form in self.scoring.date_forms.values() if form != NUMBER_FORM]
        notes = [
            *heading(self.scoring),
            *equation(self.scoring).split("\n"),
            "Fill in rows of the sheet Score; the first rows are samples with their expected scores.",
            *["Dates are date cells, or texts such as 2024-01-31; dates in other forms give #N/A."] * bool(texts),
            "The coefficients on the sheet Model are those of the model: change them only on purpose.",
        ]
        self.sheets["About"].write_column(0, 0, [note[:LONGEST_TEXT] for note in notes])


def _missing_texts(column: InputColumn) -> list[str | float]:
    """What means a missing value, besides an empty text."""
    texts, numbers = missing_values(column)
    return [*(bare for text in texts if (bare := " ".join(text.lower().split()))), *numbers]


def _bare(text: str) -> str:
    """A text without blanks around it; those within it become single spaces."""
    for character in (9, 10, 13):
        text = f'SUBSTITUTE({text},CHAR({character})," ")'
    return f"TRIM({text})"
