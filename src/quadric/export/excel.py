"""Scores as an Excel workbook whose formulas stay alive: change an input and the score follows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, date, datetime
from io import BytesIO
from typing import Any

import numpy as np

from quadric.estimators.calibration import SigmoidCalibration
from quadric.export.equations import equation, heading
from quadric.export.scoring import Sample, ScoringModel, missing_values, scoring_model
from quadric.extras import require
from quadric.files import write_atomically
from quadric.fitted import Model
from quadric.fitted.points import ScoreScale
from quadric.geometry.writing import shared_terms
from quadric.tables import InputColumn
from quadric.tables.dates import NUMBER_FORM
from quadric.tables.numbers import number_marks

# Of a sheet, and of a cell; Excel's own limits are a little higher.
MOST_COLUMNS, LONGEST_TEXT = 16_000, 32_000
# EXP() fails beyond 709.
STEEPEST = 700
# Stands for a mark of thousands that numbers do not have: a function wants one
NO_MARK = "_"
# Column of "Model" with the names of the classes.
CLASSES = 9
DATE_HEADS = ("{} as text", "{} in days")
# A day that all spreadsheets know as a number; they disagree on those before March 1900.
ANCHOR = date(2000, 1, 1)


def to_excel(
    model: Model, path: str | os.PathLike[str], *, spare_rows: int = 100, points: ScoreScale | str | None = None
) -> None:
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
    points : ScoreScale or str, optional
        Scale of a scorecard, such as "600:20:50"; by default the one that the model file keeps. The sheet "Calculator" then
        takes one case, and shows the points of each term.
    """
    scoring = scoring_model(model, points=points)
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
    """The sheets. Row 0 is the head of each; rows of "Score", "Variables" and "Terms" belong together.

    Cells and formulas of these three are the same in all rows: they are written once, with {row} in place of its number.
    """

    def __init__(self, scoring: ScoringModel, workbook: Any, utility: Any) -> None:
        self.scoring, self.utility = scoring, utility
        self.bold = workbook.add_format({"bold": True})
        calculator = ("Calculator",) if scoring.points is not None else ()
        names = ("Score", *calculator, "Variables", "Terms", "Model", "Levels", "Curves", "About")
        self.open_to_change = workbook.add_format({"bg_color": "#FFF3C4", "border": 1})
        self.sheets = {name: workbook.add_worksheet(name) for name in names}
        self.heads: dict[str, list[str]] = {name: [] for name in ("Score", "Variables", "Terms")}
        self.names = [variable.feature.name for variable in scoring.variables]
        outputs, dated = scoring.outputs(), [i for i, column in enumerate(scoring.inputs) if column.origin is not None]
        self.inputs = self._headed("Score", ["row", *(column.name for column in scoring.inputs)])
        self.scores = self._headed("Score", outputs.scores)
        (self.label,) = self._headed("Score", [outputs.label])  # beside what most people look at
        self.chances = self._headed("Score", outputs.probabilities)
        self.points = self._headed("Score", outputs.points)
        self.expected = self._headed("Score", [*(f"expected {name}" for name in outputs.scores), "check"])
        self.variables = self._headed("Variables", self.names)
        heads = {i: [text.format(scoring.inputs[i].name) for text in DATE_HEADS] for i in dated}
        self.dates = {i: self._headed("Variables", texts) for i, texts in heads.items()}
        self.terms = [self._headed("Terms", [name for name, _ in f.terms(self.names)]) for f in scoring.surfaces]
        self.curves = self._headed("Terms", [name.replace("probability", "curve", 1) for name in outputs.probabilities])

    def _headed(self, sheet: str, heads: Sequence[str]) -> list[str]:
        """New columns of a sheet: their cells in any row."""
        start = len(self.heads[sheet])
        self.heads[sheet] += heads
        return [f"{self.utility.xl_col_to_name(column)}{{row}}" for column in range(start, start + len(heads))]

    def fill(self, spare_rows: int) -> None:
        self._about()
        self._levels()
        self._curves()
        coefficients = self._model()
        for name, heads in self.heads.items():
            self.sheets[name].write_row(0, 0, heads, self.bold)
            self.sheets[name].freeze_panes(1, 0)
        formulas, agrees = self._formulas(coefficients), self._agrees()
        empty = f"COUNTA(Score!{_across(self.inputs)})=0"  # then all cells of the row show nothing
        n_samples, has_calculator = len(self.scoring.samples), self.scoring.points is not None
        for row, sample in enumerate([*self.scoring.samples, *[None] * (has_calculator + spare_rows)], start=1):
            cached = {} if sample is None else self._cached(sample)
            for sheet, cell, formula in formulas:
                text, value = f'=IF({empty},"",{formula})', cached.get(cell, "") if sheet == "Score" else ""
                self.sheets[sheet].write_formula(cell.format(row=row + 1), text.format(row=row + 1), None, value)
            if sample is not None:
                self.sheets["Score"].write_row(row, 0, [f"sample {row}", *sample.values])
                *expected, check = (cell.format(row=row + 1) for cell in self.expected)
                self.sheets["Score"].write_row(expected[0], sample.scores)
                self.sheets["Score"].write_formula(check, f'=IF({agrees},"ok","DIFFERS")'.format(row=row + 1), None, "")
        if has_calculator:
            self._calculator(n_samples + 2)

    def _calculator(self, row: int) -> None:
        """One case on a sheet of its own, which a row of the sheet "Score" computes."""
        sheet, line, sample = self.sheets["Calculator"], self.scoring.points, self.scoring.samples[0]
        assert line is not None
        sheet.set_column(0, 0, 44)
        sheet.set_column(1, 1, 18)
        sheet.write_column(0, 0, [f"Points: {line.words}", "Change the yellow cells; an empty one is a missing value."])
        sheet.write_row(3, 0, ["input", "value"], self.bold)
        self.sheets["Score"].write_string(f"A{row}", "calculator")
        for place, (column, value) in enumerate(zip(self.scoring.inputs, sample.values, strict=True), start=4):
            sheet.write_string(place, 0, column.name)
            sheet.write(place, 1, value, self.open_to_change)
            cell = f"Calculator!{self._fixed(place, 1)}"
            self.sheets["Score"].write_formula(self.inputs[place - 3].format(row=row), f'=IF({cell}="","",{cell})', None, value)
        start, surface = len(self.scoring.inputs) + 5, self.scoring.surfaces[0]
        sheet.write_row(start, 0, ["term", "points"], self.bold)
        sheet.write_row(start + 1, 0, ["constant", line.constant + line.slope * surface.c])
        for place, (name, cell) in enumerate(zip(self.heads["Terms"], self.terms[0], strict=False), start=start + 2):
            sheet.write_string(place, 0, name)
            sheet.write_formula(place, 1, f"={line.slope!r}*Terms!{cell}".format(row=row), None, "")
        outputs, cached = self.scoring.outputs(), self._cached(sample)
        results = zip(outputs.names[1:], [*self.chances, *self.points, self.label], strict=True)  # all but the score
        for place, (name, cell) in enumerate(results, start=start + 3 + len(self.terms[0])):
            sheet.write_string(place, 0, name, self.bold)
            sheet.write_formula(place, 1, f"=Score!{cell}".format(row=row), self.bold, cached[cell])
        sheet.activate()

    def _cached(self, sample: Sample) -> dict[str, Any]:
        """What a program that does not compute formulas shows on the sheet "Score"."""
        chances = sample.probabilities or ()
        values = [*sample.scores, sample.label, *(chances[1:] if self.scoring.is_binary else chances)]
        line = self.scoring.points
        values += [] if line is None else [line.constant + line.slope * sample.scores[0]]
        return dict(zip([*self.scores, self.label, *self.chances, *self.points], values, strict=True))

    def _formulas(self, coefficients: list[list[str]]) -> list[tuple[str, str, str]]:
        """Sheets, cells and formulas of all that is computed of a row."""
        found = [("Variables", *pair) for i, cells in self.dates.items() for pair in zip(cells, self._date(i), strict=True)]
        found += [("Variables", cell, self._variable(i)) for i, cell in enumerate(self.variables)]
        for surface, cells, (_, *values) in zip(self.scoring.surfaces, self.terms, coefficients, strict=True):
            for term, cell, value in zip(surface.products, cells, values, strict=True):
                found.append(("Terms", cell, "*".join([value, *(f"Variables!{self.variables[v]}" for v in term.factors)])))
        found += [("Terms", cell, self._curve(s)) for s, cell in enumerate(self.curves)]
        found += [("Score", cell, self._score(s, coefficients[s][0])) for s, cell in enumerate(self.scores)]
        shares = zip(self.chances, self._chances(), strict=True)
        line = self.scoring.points
        points = [] if line is None else [("Score", self.points[0], f"{line.constant!r}+{line.slope!r}*{self.scores[0]}")]
        return [*found, ("Score", self.label, self._label()), *(("Score", *share) for share in shares), *points]

    def _variable(self, position: int) -> str:
        center, scale, *ends = (f"Model!{self._fixed(position + 1, place)}" for place in range(4, 8))
        value = self._feature(position)
        for sign, cell in zip("<>", ends, strict=True):
            if sign in self.scoring.variables[position].limits:
                value = f"{'MAX' if sign == '<' else 'MIN'}({value},{cell})"
        return f"({value}-{center})/{scale}"

    def _feature(self, position: int) -> str:
        feature = self.scoring.variables[position].feature
        column = self.scoring.inputs[feature.input]
        cell = f"Score!{self.inputs[1 + feature.input]}"
        x = _number(cell, column.form) if column.origin is None else self.dates[feature.input][1]
        missing, unseen = ("NA()" if value is None else repr(value) for value in (feature.missing, feature.unseen))
        if feature.kind == "number":
            value = x
        elif feature.codes:
            levels, values = (f"Levels!{self._list(place, len(feature.codes))}" for place in (2 * position, 2 * position + 1))
            found = _matches(_level(x, column), levels, column) if column.type == "category" else f"({x}={levels})"
            value = f"IF(SUMPRODUCT(--({found}))>0,SUMPRODUCT(({found})*{values}),{unseen})"
        else:
            value = unseen
        if column.type != "category":
            value = f"IF(ISNUMBER({x}),{value},NA())"
        return f"IF({self._is_missing(cell, feature.input)},{missing},{value})"

    def _is_missing(self, x: str, position: int) -> str:
        column = self.scoring.inputs[position]
        empty = f'{_bare(x)}=""' if column.blanks else f'{x}=""'
        texts = _missing_texts(column)
        if not texts:
            return empty
        listed = f"Levels!{self._list(2 * len(self.names) + position, len(texts))}"
        return f"OR({empty},SUMPRODUCT(--(LOWER({_bare(x)})={listed}))+SUMPRODUCT(--({x}={listed}))>0)"

    def _date(self, position: int) -> tuple[str, str]:
        """A date as a text, and the days since its origin; each part of the text is read as a number and must be that again."""
        x, text = f"Score!{self.inputs[1 + position]}", self.dates[position][0]
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
        if self.scoring.inputs[position].form == NUMBER_FORM:
            bare = f'IF(LEN({bare})=8,LEFT({bare},4)&"-"&MID({bare},5,2)&"-"&RIGHT({bare},2),{bare})'
            is_cell = f"AND({is_cell},{x}<10000101)"  # date cells count days, fewer than three million
        return f'SUBSTITUTE({bare},"T"," ")', f"IFERROR(IF({is_cell},{x},{read})-{anchor}+{before},NA())"

    def _score(self, s: int, constant: str) -> str:
        terms = self.terms[s]
        total = f"{constant}+SUM(Terms!{_across(terms)})" if terms else constant
        if self.scoring.is_binary and terms:
            return total
        # a row that is refused has no score at all, not only none of the classes that use the column
        return f"{total}+0*SUM(Variables!{_across(self.variables)})"

    def _chances(self) -> list[str]:
        curves = [f"Terms!{curve}" for curve in self.curves]
        if len(curves) < 2:
            return curves
        total = f"SUM(Terms!{_across(self.curves)})"
        return [f"IF({total}=0,1/{len(curves)},{curve}/{total})" for curve in curves]

    def _curve(self, s: int) -> str:
        calibrator, score = self.scoring.calibrators[s], f"Score!{self.scores[s]}"
        if isinstance(calibrator, SigmoidCalibration):
            z = f"Curves!{self._fixed(1, 2 * s)}*{score}+Curves!{self._fixed(1, 2 * s + 1)}"
            return f"1/(1+EXP(MAX(-{STEEPEST},MIN({STEEPEST},{z}))))"
        n = len(calibrator.x)
        if n == 1:
            return f"IF(ISNUMBER({score}),Curves!{self._fixed(1, 2 * s + 1)},NA())"
        x, y = (f"Curves!{self._list(2 * s + i, n)}" for i in (0, 1))
        f = f"MIN(MAX({score},INDEX({x},1)),INDEX({x},{n}))"
        i = f"MIN(MATCH({f},{x},1),{n - 1})"
        rise, run = f"(INDEX({y},{i}+1)-INDEX({y},{i}))", f"(INDEX({x},{i}+1)-INDEX({x},{i}))"
        return f"INDEX({y},{i})+({f}-INDEX({x},{i}))*{rise}/{run}"

    def _label(self) -> str:
        judged, n_classes = self.chances or self.scores, len(self.scoring.classes)
        if self.scoring.is_binary:
            first, second = (f"Model!{self._fixed(i, CLASSES)}" for i in (1, 2))
            return f"IF({judged[0]}>{self.scoring.threshold:.17g},{second},{first})"
        return f"INDEX(Model!{self._list(CLASSES, n_classes)},MATCH(MAX({_across(judged)}),{_across(judged)},0))"

    def _agrees(self) -> str:
        """All scores within rounding of the expected ones; an error counts as a difference."""
        conditions = []
        for found, expected, terms in zip(self.scores, self.expected[:-1], self.terms, strict=True):
            size = f"SUMPRODUCT(ABS(Terms!{_across(terms)}))" if terms else "0"
            conditions.append(f"IFERROR(ABS({found}-{expected})<=1E-9*(1+{size}),FALSE)")
        return f"AND({','.join(conditions)})"

    def _fixed(self, row: int, column: int) -> str:
        return str(self.utility.xl_rowcol_to_cell(row, column, row_abs=True, col_abs=True))

    def _list(self, column: int, length: int) -> str:
        """The cells of a column below its head."""
        return str(self.utility.xl_range_abs(1, column, length, column))

    def _model(self) -> list[list[str]]:
        """Variables, classes and coefficients; the cells of each score's constant and coefficients."""
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
        start = max(len(self.names), len(self.scoring.classes)) + 2
        if self.scoring.shares_terms:
            return self._shared_table(start)
        sheet.write_row(start, 0, ["score", "term", None, None, "coefficient"], self.bold)
        cells = []
        for name, surface in zip(self.scoring.outputs().scores, self.scoring.surfaces, strict=True):
            rows = list(enumerate([("1", surface.c), *surface.terms(self.names)], start=start + 1))
            for row, (term, coefficient) in rows:
                sheet.write_row(row, 0, [name, term, None, None, coefficient])
            cells.append([f"Model!{self._fixed(row, 4)}" for row, _ in rows])
            start += len(rows)
        return cells

    def _shared_table(self, start: int) -> list[list[str]]:
        """One row for each term and one column for each class; the cells as ``_model`` gives them."""
        sheet, surfaces = self.sheets["Model"], self.scoring.surfaces
        sheet.write_row(start, 0, ["term", None, None, None, *self.scoring.outputs().scores], self.bold)
        names = {p.factors: name for f in surfaces for p, (name, _) in zip(f.products, f.terms(self.names), strict=True)}
        rows = {}
        for row, term in enumerate(shared_terms(surfaces), start=start + 1):
            sheet.write_row(row, 0, [names.get(term.factors, "1"), None, None, None, *term.coefficients])
            rows[term.factors] = row
        listed = ([(), *(product.factors for product in surface.products)] for surface in surfaces)
        return [[f"Model!{self._fixed(rows[own], 4 + s)}" for own in factors] for s, factors in enumerate(listed)]

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
        forms = {column.form for column in self.scoring.inputs if column.type == "date"}.difference([None, NUMBER_FORM])
        notes = [
            *heading(self.scoring),
            *equation(self.scoring).split("\n"),
            "Fill in rows of the sheet Score; the first rows are samples with their expected scores.",
            *["Dates are date cells, or texts such as 2024-01-31; dates in other forms give #N/A."] * bool(forms),
            "The coefficients on the sheet Model are those of the model: change them only on purpose.",
        ]
        self.sheets["About"].write_column(0, 0, [note[:LONGEST_TEXT] for note in notes])


def _across(cells: Sequence[str]) -> str:
    return f"{cells[0]}:{cells[-1]}"


def _matches(x: str, levels: str, column: InputColumn) -> str:
    """Which of a range of texts a cell holds: one that, taken away once, leaves nothing but blanks."""
    if not column.blanks:
        return f"EXACT({x},{levels})"
    rest = f'SUBSTITUTE({x},{levels},"")'
    return f"(LEN({_bare(rest)})=0)*(LEN({x})-LEN({rest})=LEN({levels}))"


def _level(x: str, column: InputColumn) -> str:
    """A cell, with truth values as the model spells them: spreadsheets turn texts such as "true" into values of their own."""
    level = x
    for own in dict.fromkeys(column.truths.values()):
        same = ",".join(f'LOWER({_bare(x)})="{spelling}"' for spelling, other in column.truths.items() if other == own)
        level = f'IF(OR({same}),"{own}",{level})'
    return level


def _number(x: str, form: str | None) -> str:
    """A cell with a number, or with a text that is one in a form."""
    if form is None:
        return x
    marks, text = number_marks(form), _bare(x)
    for unit in filter(None, (marks.before, marks.after)):
        text = f'SUBSTITUTE({text},"{unit}","")'
    return f'IF(ISNUMBER({x}),{x},_xlfn.NUMBERVALUE({text},"{marks.decimal}","{marks.thousands or NO_MARK}"))'


def _missing_texts(column: InputColumn) -> list[str | float]:
    """What means a missing value, besides an empty text."""
    texts, numbers = missing_values(column)
    return [*(bare for text in texts if (bare := " ".join(text.lower().split()))), *numbers]


def _bare(text: str) -> str:
    """A text without blanks around it; those within it become single spaces."""
    for character in (9, 10, 13):
        text = f'SUBSTITUTE({text},CHAR({character})," ")'
    return f"TRIM({text})"
