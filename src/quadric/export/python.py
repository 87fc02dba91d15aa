"""Scores as a Python module that needs nothing but Python."""

from __future__ import annotations

from typing import Any

from quadric.credit import IsotonicCalibration, SigmoidCalibration
from quadric.export._shown import heading
from quadric.export.equations import equation
from quadric.export.scoring import ScoringModel, Variable, scoring_model

HELPERS = """

def is_missing(value):
    return value is None or value != value


def given(row, name):
    if name not in row:
        raise ValueError("the row has no " + repr(name))
    return row[name]


def number(row, name, fill):
    value = given(row, name)
    if is_missing(value):
        if fill is None:
            raise ValueError(repr(name) + " is missing")
        return fill
    value = float(value)
    if not math.isfinite(value):
        raise ValueError(repr(name) + " must be a finite number")
    return value


def category(row, name, levels, fill, known_only):
    value = given(row, name)
    if is_missing(value):
        if fill is None:
            raise ValueError(repr(name) + " is missing")
        return fill
    if known_only and value not in levels:
        raise ValueError(repr(name) + " is unknown: " + repr(value))
    return value
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


def to_python(model: Any) -> str:
    """Source of a module with a function ``predict(row)``, which needs nothing but Python.

    ``row`` is a mapping with a value for each input; ``predict`` returns a dict of scores, label and, where the model is
    calibrated, probabilities. ``terms(row)`` is what every term adds to each score. Missing values and unknown categories that
    the model refuses give a ValueError. Run as a program, the module checks itself against its sample rows.

    Parameters
    ----------
    model : fitted model, or ScoringModel
    """
    scoring = scoring_model(model)
    notes = [*heading(scoring), *equation(scoring).split("\n"), "Run this file to check it against its sample rows."]
    return "".join(
        [
            *(f"# {note}\n" for note in notes),
            "\nimport bisect\nimport math\n\n" if _is_isotonic(scoring) else "\nimport math\n\n",
            f"INPUTS = {_written([column.name for column in scoring.inputs])}\n",
            f"CLASSES = {_written(list(scoring.classes))}\n",
            f"SAMPLES = [\n{''.join(_samples(scoring))}]\n",
            HELPERS,
            (ISOTONIC if _is_isotonic(scoring) else SIGMOID) if scoring.calibrators else "",
            *("\n\n" + "\n    ".join(lines) + "\n" for lines in (_terms(scoring), _predict(scoring))),
            CHECK,
        ]
    )


def _written(value: Any) -> str:
    """A value as source in plain ASCII: nothing in it can end a string or a line."""
    return ascii(value)


def _is_isotonic(scoring: ScoringModel) -> bool:
    return any(isinstance(calibrator, IsotonicCalibration) for calibrator in scoring.calibrators)


def _samples(scoring: ScoringModel) -> list[str]:
    lines = []
    for sample in scoring.samples:
        chances = None if sample.probabilities is None else list(sample.probabilities)
        lines.append(f"    {_written((scoring.row(sample), list(sample.scores), sample.label, chances))},\n")
    return lines


def _terms(scoring: ScoringModel) -> list[str]:
    lines = ["def terms(row):", '"""What every term adds to each score, the constant first."""']
    for i, column in enumerate(scoring.inputs):
        name, fill = _written(column.name), _written(column.fill)
        if column.type == "number":
            lines.append(f"x{i} = number(row, {name}, {fill})")
        else:
            known = scoring.unseen == "refuse"
            lines.append(f"x{i} = category(row, {name}, {_written(column.categories)}, {fill}, {known})")
    lines += [f"v{i} = {_variable(scoring, variable)}" for i, variable in enumerate(scoring.variables)]
    lines.append("return [")
    for polynomial in scoring.polynomials:
        products = [" * ".join([repr(t.coefficient), *(f"v{v}" for v in t.factors)]) for t in polynomial.terms]
        lines += ["    [", *(f"        {value}," for value in [repr(polynomial.constant), *products]), "    ],"]
    return [*lines, "]"]


def _variable(scoring: ScoringModel, variable: Variable) -> str:
    column, feature = scoring.inputs[variable.feature.input], variable.feature
    raw = f"x{feature.input}"
    value = {
        "number": raw,
        "level": f"({raw} == {_written(feature.level)})",
        "rank": f"{_written(column.categories)}.index({raw})",
        "missing": f"is_missing(row[{_written(column.name)}])",
    }[feature.kind]
    return f"({value} - {variable.center!r}) / {variable.scale!r}"


def _predict(scoring: ScoringModel) -> list[str]:
    lines = ["def predict(row):", "scores = [math.fsum(parts) for parts in terms(row)]"]
    if not scoring.calibrators:
        best = "int(scores[0] > 0)" if scoring.is_binary else "scores.index(max(scores))"
        return [*lines, f'return {{"scores": scores, "label": CLASSES[{best}]}}']
    curves = ", ".join(_curve(calibrator, f"scores[{i}]") for i, calibrator in enumerate(scoring.calibrators))
    lines.append(f"chances = [{curves}]")
    if scoring.is_binary:
        lines.append("chances = [1.0 - chances[0], chances[0]]")
    else:
        lines.append("total = sum(chances)")
        lines.append("chances = [chance / total if total else 1.0 / len(chances) for chance in chances]")
    return [*lines, 'return {"scores": scores, "label": CLASSES[chances.index(max(chances))], "probabilities": chances}']


def _curve(calibrator: SigmoidCalibration | IsotonicCalibration, score: str) -> str:
    if isinstance(calibrator, SigmoidCalibration):
        return f"sigmoid({score}, {calibrator.a!r}, {calibrator.b!r})"
    return f"interpolated({score}, {calibrator.x.tolist()!r}, {calibrator.y.tolist()!r})"
