"""Models as equations that people read: plain text and LaTeX, in centred variables or expanded to raw units."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace

import numpy as np

from quadric.export._schema import quadric_version
from quadric.export.scoring import ScoringModel, scoring_model
from quadric.fitted import FittedModel, Model
from quadric.geometry.writing import (
    ANYTHING,
    LEVEL,
    PlainText,
    Symbol,
    cap_lines,
    digits_of,
    equation_lines,
    form_note,
    shared_lines,
    shared_terms,
    shown,
)
from quadric.labels import number_text
from quadric.tables import CodedFeature

# Features of a column in plain text.
FORMS = {"number": "%s", "rank": "rank(%s)", "missing": "[%s is missing]"}


def expanded(model: ScoringModel) -> ScoringModel:
    """The same scores as polynomials in raw features; centring spreads a product over linear terms, so there may be more.

    Parameters
    ----------
    model : ScoringModel

    Returns
    -------
    ScoringModel
    """
    center, scale = (np.array([getattr(v, name) for v in model.variables]) for name in ("center", "scale"))
    variables = tuple(replace(variable, center=0.0, scale=1.0) for variable in model.variables)
    return replace(model, variables=variables, surfaces=tuple(surface.unscale(center, scale) for surface in model.surfaces))


def equation(model: Model, *, form: str = "centred", precision: int | None = None) -> str:
    """The scores of a model as lines of text.

    Parameters
    ----------
    model : fitted model, or ScoringModel
    form : {"centred", "expanded"}
        "centred": the k terms in variables such as (age - 35.5)/11.4. "expanded": raw units; there may be more linear terms,
        and a last line says so. Categories are [housing = own], which is 1 where it is true and 0 elsewhere.
    precision : int, optional
        Significant digits, 17 for all; by default 4 in centred and 9 in raw units.

    Returns
    -------
    str
        One line per surface, one per date that says where its days begin, and what the columns are capped at. Where classes
        share their terms: one line per term with the coefficients of all classes.
    """
    scoring, digits = _in_form(model, form, precision)
    written = shared_lines if scoring.shares_terms else equation_lines
    lines = written(scoring.surfaces, symbols_of(scoring), scoring.classes, digits)
    return "\n".join([*lines, *_legend(model, scoring, form, digits)])


def surface_equations(model: Model, *, form: str = "centred", precision: int | None = None) -> list[str]:
    """The score of each class as a line of its own.

    Parameters
    ----------
    model, form, precision :
        As in :func:`equation`.

    Returns
    -------
    list of str
    """
    scoring, digits = _in_form(model, form, precision)
    return equation_lines(scoring.surfaces, symbols_of(scoring), scoring.classes, digits)


def to_latex(model: Model, *, form: str = "centred", precision: int | None = None) -> str:
    """The scores of a model as LaTeX, with a table of sample rows.

    Parameters
    ----------
    model, form, precision :
        As in :func:`equation`. The text needs the package amsmath.

    Returns
    -------
    str
    """
    scoring, digits = _in_form(model, form, precision)
    style = _Latex(digits)
    symbols = symbols_of(scoring, style.feature)
    rows = (_latex_table if scoring.shares_terms else _latex_equations)(scoring, style, symbols)
    notes = [*heading(scoring), *_legend(model, scoring, form, digits), "Needs the package amsmath.", *sample_lines(scoring)]
    capped = [style.capped(symbol) for symbol in symbols if symbol.limits]
    caps = [f"Capped: {'; '.join(capped)}.\n"] * bool(capped)
    lines = [*(f"% {note}" for note in notes), *rows, *caps, _sample_table(scoring), ""]
    return "\n".join(lines)


def _latex_equations(scoring: ScoringModel, style: _Latex, symbols: Sequence[Symbol]) -> list[str]:
    """One equation for each surface, a line for each of its terms."""
    rows = []
    for head, surface in zip(_latex_heads(scoring), scoring.surfaces, strict=True):
        first, *rest = style.summands(surface, symbols)
        rows += [f"{head} &= {first}", *(f"  &\\quad {summand}" for summand in rest)]
    return ["\\begin{align*}", " \\\\\n".join(rows), "\\end{align*}"]


def _latex_table(scoring: ScoringModel, style: _Latex, symbols: Sequence[Symbol]) -> list[str]:
    """One line for each term, with the coefficients of all surfaces before it."""
    heads = _latex_heads(scoring)
    rows = [" & ".join([*heads, ""])]
    for term in shared_terms(scoring.surfaces):
        cells = [style.number(value) for value in term.coefficients]
        rows.append(" & ".join([*cells, style.factors([symbols[v] for v in term.factors])]))
    return [f"\\[\\begin{{array}}{{{'r' * len(heads)}l}}", " \\\\\n".join(rows), "\\end{array}\\]"]


def _latex_heads(scoring: ScoringModel) -> list[str]:
    return ["f"] if scoring.is_binary else [f"f_{{\\text{{{escaped_latex(name)}}}}}" for name in scoring.classes]


def _in_form(model: Model, form: str, precision: int | None) -> tuple[ScoringModel, int]:
    digits, scoring = digits_of(form, precision), scoring_model(model)
    return (expanded(scoring) if form == "expanded" else scoring), digits


def _legend(model: Model, scoring: ScoringModel, form: str, digits: int) -> list[str]:
    columns = [(shown(column.name), column) for column in scoring.inputs]
    dates = [f"{name}: days since {column.origin}" for name, column in columns if column.origin is not None]
    forms = [f"{name}: texts such as {column.form}" for name, column in columns if column.form and column.type == "number"]
    notes = form_note(form, scoring_model(model).surfaces, scoring.surfaces, is_shared=scoring.shares_terms)
    return [*dates, *forms, *cap_lines(symbols_of(scoring), digits), *notes]


def _plain_feature(feature: CodedFeature, column: str) -> str:
    if feature.kind == "level":
        return f"[{shown(column)} {_condition(feature, lambda text: shown(text, plain=LEVEL))}]"
    return FORMS[feature.kind] % shown(column)


def symbols_of(model: ScoringModel | FittedModel, written: Callable[[CodedFeature, str], str] = _plain_feature) -> list[Symbol]:
    """The features as equations write them, with their units.

    Parameters
    ----------
    model : ScoringModel or FittedModel
    written : function of a feature and the name of its column
    """
    return [
        Symbol.of(written(v.feature, model.inputs[v.feature.input].name), v.center, v.scale, v.low, v.high)
        for v in model.variables
    ]


def _condition(feature: CodedFeature, written: Callable[[str], str]) -> str:
    """When a feature of levels is 1: "= own", "one of (a, b)", "none of (c, d)"."""
    turned = feature.unseen == 1.0  # unseen levels count too
    levels = [level for level, value in feature.codes if (value == 1.0) != turned]
    texts = [written(level if isinstance(level, str) else number_text(level)) for level in levels]
    if len(texts) == 1 and not turned:
        return f"= {texts[0]}"
    return f"{written('none of' if turned else 'one of')} ({', '.join(texts)})"


class _Latex(PlainText):
    """How the parts of an equation are written in LaTeX."""

    FORMS = {"number": "%s", "rank": r"\operatorname{rank}(%s)", "missing": r"[%s\text{ is missing}]"}
    TIMES = r" \, "

    def number(self, value: float) -> str:
        mantissa, _, exponent = super().number(value).partition("e")
        return f"{mantissa} \\cdot 10^{{{int(exponent)}}}" if exponent else mantissa

    def name(self, text: str) -> str:
        return f"\\text{{{escaped_latex(text)}}}"

    def feature(self, feature: CodedFeature, column: str) -> str:
        if feature.kind == "level":
            return f"[{self.name(column)} {_condition(feature, self.name)}]"
        return self.FORMS[feature.kind] % self.name(column)

    def scaled(self, text: str, is_sum: bool, scale: float) -> str:
        if scale != 1.0:
            return f"\\frac{{{text}}}{{{self.number(scale)}}}"
        return f"({text})" if is_sum else text

    def square(self, text: str) -> str:
        return f"\\left({text}\\right)^2"

    def inline(self, formula: str) -> str:
        return f"${formula}$"


_LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
}


def escaped_latex(text: str) -> str:
    """A text that LaTeX prints as it is; what cannot be printed is written as an escape."""
    return "".join(_LATEX_SPECIAL.get(character, character) for character in shown(text, plain=ANYTHING))


def _sample_table(scoring: ScoringModel) -> str:
    heads = [column.name for column in scoring.inputs] + [*scoring.outputs().scores, "class"]
    lines = [" & ".join(escaped_latex(head) for head in heads) + r" \\ \hline"]
    for sample in scoring.samples:
        cells = ["" if value is None else escaped_latex(str(value)) for value in sample.values]
        cells += [repr(score) for score in sample.scores] + [escaped_latex(sample.label)]
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join(["\\begin{tabular}{" + "l" * len(heads) + "}", *lines, "\\end{tabular}"])


def heading(model: ScoringModel) -> list[str]:
    """Lines that say what an export is."""
    lines = [f"Scores of a sparse quadratic model, made by quadric {quadric_version()}."]
    if model.target is not None:
        lines.append(f"Target: {shown(model.target, plain=LEVEL)}")
    names = [shown(name, plain=LEVEL) for name in model.classes]
    if model.is_binary:
        lines.append(f"Classes: {names[0]}, {names[1]}; a high score means {names[1]}.")
    else:
        lines.append("Classes: " + ", ".join(f"{i} {name}" for i, name in enumerate(names, start=1)))
    return [*lines, *(f"Rule, {rule}" for rule in model.rules)]


def sample_lines(model: ScoringModel) -> list[str]:
    """Sample rows with their expected scores, one line of JSON each."""
    return [f"Sample: {json.dumps(asdict(sample) | {'values': model.row(sample)})}" for sample in model.samples]
