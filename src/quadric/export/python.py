"""Scores as a Python module that needs nothing but Python."""

from __future__ import annotations

from quadric.estimators.calibration import Calibration, IsotonicCalibration, SigmoidCalibration
from quadric.export.equations import equation, heading
from quadric.export.scoring import ScoringModel, missing_values, scoring_model
from quadric.fitted import Model, Variable
from quadric.geometry.writing import shared_terms
from quadric.tables import InputColumn
from quadric.tables.dates import FORMS, ISO_DATE
from quadric.tables.numbers import number_marks

HELPERS = """

def cell(row, name, convert, blanks, missing):
    if name not in row:
        raise ValueError("the row has no " + repr(name))
    value = row[name]
    if isinstance(value, str):
        value = value.strip(blanks)
        if not value or value.lower() in missing:
            return None
    elif value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
        return None
    value = convert(value, name)
    return None if value != value or value in missing else value


def to_number(value, name):
    number = float(value)
    if math.isinf(number):
        raise ValueError(repr(name) + " must be a finite number")
    return number


def written_like(form, thousands, decimal):
    def convert(value, name):
        if isinstance(value, str):
            found = re.fullmatch(form, value)
            if found is None:
                raise ValueError(repr(name) + " must hold numbers: " + repr(value))
            value = found[1] + found[2].replace(thousands, "").replace(decimal, ".")
        return to_number(value, name)

    return convert


def to_text(value, name):
    if isinstance(value, (bool, str)):
        return str(value)
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 2.0**53 else repr(number)


def as_level(spellings):
    def convert(value, name):
        text = to_text(value, name)
        return spellings.get(text.lower(), text)

    return convert


def filled(value, name, fill):
    value = fill if value is None else value
    if value is None:
        raise ValueError(repr(name) + " is missing")
    return value


def finite_sum(parts):
    try:
        score = math.fsum(parts)
    except (OverflowError, ValueError):  # too large, or infinity less infinity
        return None
    return score if math.isfinite(score) else None


def coded(value, name, codes, missing, unseen):
    if value is None:
        return filled(missing, name, None)
    code = codes.get(value, unseen)
    if code is None:
        raise ValueError(repr(name) + " is unknown: " + repr(value))
    return code
"""
DATES = f"""

ISO_DATE = re.compile({ISO_DATE!a}, re.ASCII)


def days_since(year, month, day, form=None):
    def convert(value, name):
        try:
            return (moment(value, form) - datetime.datetime(year, month, day)) / datetime.timedelta(days=1)
        except (AttributeError, TypeError, ValueError):
            raise ValueError(repr(name) + " is no date: " + repr(value)) from None

    return convert


def iso_text(text, form):
    found = re.compile(form, re.ASCII).fullmatch(text)
    if found is None:
        return text
    time = re.sub("^([T ])([0-9]:)", r"\\g<1>0\\2", found["time"] or "")
    return found["year"] + "-" + found["month"].zfill(2) + "-" + found["day"].zfill(2) + time


def moment(value, form):
    if form is not None and not hasattr(value, "year"):
        value = iso_text(to_text(value, None), form)
    if isinstance(value, str):
        parts = ISO_DATE.fullmatch(value).groups(default="0")
        return datetime.datetime(*map(int, parts[:-1]), int(parts[-1].ljust(6, "0")))
    if not isinstance(value, datetime.datetime):
        return datetime.datetime(value.year, value.month, value.day)
    return value if value.tzinfo is None else value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
"""
SIGMOID = """

def sigmoid(score, a, b):
    z = a * score + b
    return math.exp(-z) / (1.0 + math.exp(-z)) if z > 0 else 1.0 / (1.0 + math.exp(z))
"""
ISOTONIC = """

def interpolated(score, x, y):
    i = bisect.bisect_right(x, score)
    if i == 0 or i == len(x):
        return y[min(i, len(x) - 1)]
    return y[i - 1] + (score - x[i - 1]) * (y[i] - y[i - 1]) / (x[i] - x[i - 1])
"""
CHECK = '''

def check():
    """Compare the sample rows with what was expected of them; raise an AssertionError where they differ."""
    for row, scores, label, chances in SAMPLES:
        result = predict(row)
        sizes = [sum(map(abs, parts)) for parts in terms(row)] + [0.0] * len(CLASSES)
        found = result["scores"] + result.get("probabilities", [])
        for value, expected, size in zip(found, scores + (chances or []), sizes):
            if not abs(value - expected) <= 1e-9 * (1.0 + size):
                raise AssertionError("%r gives %r, expected %r" % (row, value, expected))
        if result["label"] != label:
            raise AssertionError("%r is %r, expected %r" % (row, result["label"], label))


if __name__ == "__main__":
    check()
'''


def to_python(model: Model) -> str:
    """Source of a module with a function ``predict(row)``, which needs nothing but Python.

    ``row`` is a mapping with a value for each input: a number, a text, or a date (as such, or as a text: 2024-01-31, or the
    form that the model file records for the column); ``predict`` returns a dict of scores, label and, where the model is
    calibrated, probabilities. ``terms(row)`` is what every term adds to each score. Missing values are what they are for the
    model. Those that it refuses, and unknown categories, give a ValueError.
    Where values are so large that a score overflows, scores, label and probabilities are None.
    Run as a program, the module checks itself against its sample rows.

    Parameters
    ----------
    model : fitted model, or ScoringModel

    Returns
    -------
    str
    """
    scoring = scoring_model(model)
    # whatever comes from the data is written as ASCII (!a): nothing in it can end a string or a line
    rows = [(scoring.row(s), list(s.scores), s.label, s.probabilities and list(s.probabilities)) for s in scoring.samples]
    isotonic = any(isinstance(calibrator, IsotonicCalibration) for calibrator in scoring.calibrators)
    dated = any(column.type == "date" for column in scoring.inputs)
    formed = dated or any(column.form for column in scoring.inputs)
    modules = ["bisect"] * isotonic + ["datetime"] * dated + ["math"] + ["re"] * formed
    samples = [f"    {row!a},\n" for row in rows]
    notes = [*heading(scoring), *equation(scoring).split("\n"), "Run this file to check it against its sample rows."]
    return "".join(
        [
            *(f"# {note}\n" for note in notes),
            "\n" + "".join(f"import {module}\n" for module in modules) + "\n",
            f"INPUTS = {[column.name for column in scoring.inputs]!a}\n",
            f"CLASSES = {list(scoring.classes)!a}\n",
            f"SAMPLES = [\n{''.join(samples)}]\n",
            HELPERS,
            DATES if dated else "",
            (ISOTONIC if isotonic else SIGMOID) if scoring.calibrators else "",
            *("\n\n" + "\n    ".join(lines) + "\n" for lines in (_terms(scoring), _predict(scoring))),
            CHECK,
        ]
    )


def _terms(scoring: ScoringModel) -> list[str]:
    lines = ["def terms(row):", '"""What every term adds to each score, the constant first."""']
    for i, column in enumerate(scoring.inputs):
        texts, numbers = missing_values(column)
        missing, convert = (*map(str.lower, texts), *numbers), _converter(column)
        lines.append(f"x{i} = cell(row, {column.name!a}, {convert}, {column.blanks!a}, {missing!a})")
    lines += [f"v{i} = {_variable(scoring, variable)}" for i, variable in enumerate(scoring.variables)]
    if scoring.shares_terms:
        return [*lines, *_shared_table(scoring)]
    lines.append("return [")
    for surface in scoring.surfaces:
        products = [" * ".join([repr(t.coefficient), *(f"v{v}" for v in t.factors)]) for t in surface.products]
        lines += ["    [", *(f"        {value}," for value in [repr(surface.c), *products]), "    ],"]
    return [*lines, "]"]


def _shared_table(scoring: ScoringModel) -> list[str]:
    """One list of terms, each with a coefficient for each class."""
    *terms, constant = shared_terms(scoring.surfaces)
    values = [(" * ".join(f"v{v}" for v in term.factors) or "1.0", term) for term in (constant, *terms)]
    rows = [f"    ({value}, {list(term.coefficients)!r})," for value, term in values]
    return ["table = [", *rows, "]", "return [[value * own[i] for value, own in table if own[i]] for i in range(len(CLASSES))]"]


def _converter(column: InputColumn) -> str:
    if column.type == "number" and column.form is not None:
        marks = number_marks(column.form)
        return f"written_like({marks.pattern!a}, {marks.thousands!a}, {marks.decimal!a})"
    if column.origin is None:
        if column.truths:
            return f"as_level({column.truths!a})"
        return "to_text" if column.type == "category" else "to_number"
    year, month, day = map(int, column.origin.split("-"))
    pattern = "" if column.form is None else f", {FORMS[column.form].pattern!a}"
    return f"days_since({year}, {month}, {day}{pattern})"


def _variable(scoring: ScoringModel, variable: Variable) -> str:
    feature = variable.feature
    cell = f"x{feature.input}, {scoring.inputs[feature.input].name!a}"
    if feature.kind == "number":
        value = f"filled({cell}, {feature.missing!r})"
    else:
        value = f"coded({cell}, {dict(feature.codes)!a}, {feature.missing!r}, {feature.unseen!r})"
    for sign, end in variable.limits.items():
        value = f"{'max' if sign == '<' else 'min'}({value}, {end!r})"
    return f"({value} - {variable.center!r}) / {variable.scale!r}"


def _predict(scoring: ScoringModel) -> list[str]:
    none = '{"scores": nothing, "label": None' + ', "probabilities": [None] * len(CLASSES)' * bool(scoring.calibrators) + "}"
    lines = ["def predict(row):", "scores = [finite_sum(parts) for parts in terms(row)]", "if None in scores:"]
    lines += ["    nothing = [None] * len(scores)", f"    return {none}"]
    judged, chances = "scores", ""
    if scoring.calibrators:
        judged, chances = "chances", ', "probabilities": chances'
        curves = ", ".join(_curve(calibrator, f"scores[{i}]") for i, calibrator in enumerate(scoring.calibrators))
        lines.append(f"chances = [{curves}]")
        if scoring.is_binary:
            lines.append("chances = [1.0 - chances[0], chances[0]]")
        else:
            shares = "chances = [chance / total if total else 1.0 / len(chances) for chance in chances]"
            lines += ["total = sum(chances)", shares]
    best = f"int({judged}[-1] > {scoring.threshold!r})" if scoring.is_binary else f"{judged}.index(max({judged}))"
    return [*lines, f'return {{"scores": scores, "label": CLASSES[{best}]{chances}}}']


def _curve(calibrator: Calibration, score: str) -> str:
    if isinstance(calibrator, SigmoidCalibration):
        return f"sigmoid({score}, {calibrator.a!r}, {calibrator.b!r})"
    return f"interpolated({score}, {calibrator.x.tolist()!r}, {calibrator.y.tolist()!r})"
