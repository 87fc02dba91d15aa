"""Scores as expressions of Spark SQL, for the columns of a DataFrame."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from quadric.errors import SHORT_QUOTE, quoted
from quadric.export import sql
from quadric.export.scoring import scoring_model
from quadric.fitted import Model
from quadric.geometry.surface import QuadraticSurface
from quadric.tables import InputColumn
from quadric.tables.dates import DAY, FORMS, ISO_DATE, NUMBER_FORM
from quadric.tables.numbers import number_marks
from quadric.tables.table import BLANKS

NUMBER_TYPES = "^(boolean|tinyint|smallint|int|bigint|float|double|decimal.*)$"
# Without backslashes, see ``literal``. A line that ends after the date is no date either, because Spark reads none in it.
DATE_TEXT = "^(?!0000)" + ISO_DATE.replace(r"\d", "[0-9]").replace(r"\.", "[.]") + "$"
UNSCORED = "a row has no score: a value is missing, unknown, or too large for the model"
NO_NUMBER = "CAST('NaN' AS DOUBLE)"
NULL = "CAST(NULL AS DOUBLE)"


def spark_columns(model: Model, *, prefix: str = "quadric_", refuses: bool = False) -> tuple[tuple[str, ...], ...]:
    """Scores, probabilities and the label as texts for ``selectExpr`` of a Spark DataFrame, in three steps.

    A step refers to the new columns of the steps before: apply ``frame.selectExpr("*", *step)`` for each of them in turn.
    Names and values are those of ``to_sql``. Where a column of numbers has another text, all new columns are NULL.
    Columns of type TIMESTAMP, which are moments, count in UTC; DATE, TIMESTAMP_NTZ and texts count as they are written. The
    time zone of the session has no effect.

    Parameters
    ----------
    model : fitted model, or ScoringModel
    prefix : str
        Put before the names of the new columns.
    refuses : bool
        Whether a row that cannot be scored is an error of the job, as it is in the library, instead of NULL.

    Returns
    -------
    tuple of tuple of str
        Scores; probabilities, none where the model is not calibrated; and the label.
    """
    scoring = scoring_model(model)
    sql.check_names([column.name for column in scoring.inputs])
    return tuple(map(tuple, _SparkWriter(scoring, prefix, refuses).steps()))


@dataclass(frozen=True)
class _SparkWriter(sql.Writer):
    """Expressions of Spark; if ``refuses``, they end the job where a row cannot be scored."""

    refuses: bool = False

    table, step = "", ""
    text_type, double_type = "STRING", "DOUBLE"

    @staticmethod
    def identifier(name: str) -> str:
        if "${" in name:
            raise ValueError(
                f"Spark would put the value of a variable in place of ${{...}} in {quoted(name)}: rename the column"
            )
        return "`" + sql.without_nul(name).replace("`", "``") + "`"

    @staticmethod
    def literal(text: str) -> str:
        r"""A text, with codes for characters whose meaning depends on settings of Spark: \ and ', and the $ of a variable."""
        parts = [part for part in re.split(r"([\\'$])", sql.without_nul(text)) if part]
        written = [f"chr({ord(part)})" if part in "\\'$" else f"'{part}'" for part in parts]
        return f"concat({', '.join(written)})" if len(written) > 1 else "".join(written) or "''"

    @staticmethod
    def number(value: float) -> str:
        """A number as a double, also where a setting makes decimals of numbers with an exponent."""
        return f"{float(value)!r}D"

    def _formula(self, used: Sequence[int], write: Callable[[Mapping[int, str]], str]) -> str:
        """Without queries within queries, which expressions of Spark cannot have; Spark itself computes what repeats once."""
        texts = {i: self._text(column) for i, column in enumerate(self.model.inputs)}
        variables = {v: self.model.variables[v] for v in used}
        return write({v: self._variable(variable, self._feature(variable, texts)) for v, variable in variables.items()})

    def _score(self, surface: QuadraticSurface) -> str:
        return self._required(f"nanvl({super()._score(surface)}, {NULL})", "DOUBLE")

    def _label(self, judged: Sequence[str]) -> str:
        return self._required(super()._label(judged), "STRING")

    def _required(self, value: str, kind: str) -> str:
        return f"COALESCE({value}, CAST(raise_error({self.literal(UNSCORED)}) AS {kind}))" if self.refuses else value

    def _trimmed(self, text: str) -> str:
        return f"btrim({text}, {self.literal(BLANKS)})"

    def _number_cell(self, column: InputColumn, text: str, means_missing: str) -> str:
        """NaN for texts that are no numbers: NULL would be a missing value.

        Spark knows types when it plans, and keeps one case only: numbers are not written as texts. Java reads 1d and 0x1p3.
        """
        name = self.table + self.identifier(column.name)
        plain = f"CASE WHEN NOT {text} RLIKE {self.literal(f'[^-+.0-9eE{BLANKS}]')} THEN {text} END"
        if column.form is not None:
            pattern = self.literal(f"^{number_marks(column.form).pattern}$")
            plain = f"CASE WHEN {text} RLIKE {pattern} THEN {self._plain(text, column.form)} END"
        return (
            f"CASE WHEN typeof({name}) RLIKE {self.literal(NUMBER_TYPES)} THEN nanvl(CAST({name} AS DOUBLE), {NULL})"
            f" WHEN {name} IS NULL OR {means_missing} THEN NULL"
            f" ELSE COALESCE(TRY_CAST({plain} AS DOUBLE), {self._no_number(name, text)}) END"
        )

    def _no_number(self, name: str, text: str) -> str:
        words = self.literal(f"column {quoted(name[1:-1].replace('``', '`'))} must hold numbers; a row has ")
        return f"CAST(raise_error(concat({words}, left({text}, {SHORT_QUOTE}))) AS DOUBLE)" if self.refuses else NO_NUMBER

    def _present(self, column: InputColumn, value: str) -> str:
        return f"NOT isnan({value})" if column.type == "number" else super()._present(column, value)

    def _iso_text(self, text: str, form: str) -> str:
        """A date of a form as 2024-01-31: zeros go before all days and months, and away where these have two digits."""
        if form == NUMBER_FORM:  # a double is written as 2.0240131E7
            whole = f"CAST(CAST(TRY_CAST({text} AS DOUBLE) AS BIGINT) AS STRING)"
            text = f"CASE WHEN {text} RLIKE {self.literal('^[0-9][.][0-9]{1,7}E7$')} THEN {whole} ELSE {text} END"
        pattern = self.literal(f"^{FORMS[form].pattern.replace('?P<', '?<')}$")
        written = f"regexp_replace({text}, {pattern}, {self.literal('${year}-0${month}-0${day}${time}')})"
        for place, digit in (("(?<=-)0(?=[0-9]{2}(?![0-9]))", ""), ("(?<=^[-0-9]{10}[T ])(?=[0-9]:)", "0")):
            written = f"regexp_replace({written}, {self.literal(place)}, '{digit}')"
        return f"(CASE WHEN {text} RLIKE {pattern} THEN {written} ELSE {text} END)"

    def _days(self, name: str, text: str, origin: str, form: str | None) -> str:
        """TIMESTAMP_LTZ is TIMESTAMP under all settings; a text gets the zone that makes a moment of it."""
        text = self._iso_text(text, form) if form else text
        ending = f"CASE length({text}) WHEN 10 THEN ' 00:00:00Z' WHEN 16 THEN ':00Z' ELSE 'Z' END"
        moment = (
            f"CASE WHEN typeof({name}) = 'timestamp' THEN CAST({name} AS TIMESTAMP_LTZ)"
            f" WHEN {text} RLIKE {self.literal(DATE_TEXT)} THEN TRY_CAST(concat({text}, {ending}) AS TIMESTAMP_LTZ) END"
        )
        start, day = datetime.fromisoformat(origin).replace(tzinfo=UTC).timestamp() * 1e6, DAY.astype(float)
        return f"((CAST(unix_micros({moment}) AS DOUBLE) - {self.number(start)}) / {self.number(day)})"
