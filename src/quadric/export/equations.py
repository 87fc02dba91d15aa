"""Models as equations that people read: plain text and LaTeX, in centred variables or expanded to raw units.

Names from data are printable, on one line, and never mistaken for something else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace

import numpy as np

from quadric.errors import quoted
from quadric.export._schema import quadric_version
from quadric.export.scoring import ScoringModel, scoring_model
from quadric.fitted import Model, Variable
from quadric.geometry.surface import QuadraticSurface
from quadric.tables import CodedFeature
from quadric.tables.table import number_text

DIGITS = {"centred": 4, "expanded": 9}
"""Significant digits unless asked for: raw units need more of them, because their terms largely cancel each other."""
EXACT = 17
CAP_DIGITS = 6
"""Caps are values that the data have: they are shown with more digits than estimates."""
WIDTH = 78
NAME = re.compile(r"[^\W\d][\w.]*( [\w.]+)*")
LEVEL = re.compile(r"[\w.]+( [\w.]+)*")
ANYTHING = re.compile(r".*", re.DOTALL)
"""Texts that need no quotes: as the name of a feature, as a level of a category, and where there is no equation to mix up."""


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
        One line per surface, one per date that says where its days begin, and what the columns are capped at.
    """
    scoring, digits = _in_form(model, form, precision)
    lines = [
        f"{name} = {' '.join(_summands(scoring, surface, _Text(digits)))}"
        for name, surface in zip(_names(scoring, lambda text: f"[{shown(text, plain=LEVEL)}]"), scoring.surfaces, strict=True)
    ]
    return "\n".join(lines + _legend(scoring, _Text(digits)) + _form_note(model, scoring, form))


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
    rows = []
    names = _names(scoring, lambda text: f"_{{\\text{{{escaped_latex(text)}}}}}")
    for name, surface in zip(names, scoring.surfaces, strict=True):
        first, *rest = _summands(scoring, surface, style)
        rows += [f"{name} &= {first}", *(f"  &\\quad {summand}" for summand in rest)]
    notes = [
        *heading(scoring),
        *_legend(scoring, _Text(digits)),
        *_form_note(model, scoring, form),
        "Needs the package amsmath.",
        *sample_lines(scoring),
    ]
    body = " \\\\\n".join(rows)
    caps = [f"Capped: {'; '.join(_caps(scoring, style))}.\n"] * any(variable.limits for variable in scoring.variables)
    lines = [*(f"% {note}" for note in notes), "\\begin{align*}", body, "\\end{align*}", *caps, _sample_table(scoring), ""]
    return "\n".join(lines)


def _in_form(model: Model, form: str, precision: int | None) -> tuple[ScoringModel, int]:
    if form not in DIGITS:
        raise ValueError(f"form must be 'centred' or 'expanded', got {quoted(form)}")
    digits = DIGITS[form] if precision is None else precision
    if not 1 <= digits <= EXACT:
        raise ValueError(f"precision must be from 1 to {EXACT} digits, got {quoted(precision)}")
    scoring = scoring_model(model)
    return (expanded(scoring) if form == "expanded" else scoring), digits


def _legend(scoring: ScoringModel, style: _Text) -> list[str]:
    dates = [f"{shown(column.name)}: days since {column.origin}" for column in scoring.inputs if column.origin is not None]
    lines: list[str] = []
    for cap in _caps(scoring, style):  # as many to a line as fit
        if lines and len(lines[-1]) + len(cap) < WIDTH:
            lines[-1] += f"; {cap}"
        else:
            lines.append(f"Capped: {cap}")
    return dates + lines


def _caps(scoring: ScoringModel, style: _Text) -> list[str]:
    """What columns are capped at: "age at 21 and 67"."""
    return [
        style.capped(style.feature(variable.feature, scoring.inputs[variable.feature.input].name), variable.limits)
        for variable in scoring.variables
        if variable.limits
    ]


def _form_note(model: Model, scoring: ScoringModel, form: str) -> list[str]:
    if form == "centred":
        return []
    before = sum(len(surface.products) for surface in scoring_model(model).surfaces)
    after = sum(len(surface.products) for surface in scoring.surfaces)
    return [f"(expanded to raw units: {after} terms for the model's {before}, which are counted in centred variables)"]


def _names(scoring: ScoringModel, index: Callable[[str], str]) -> list[str]:
    return ["f"] if scoring.is_binary else ["f" + index(name) for name in scoring.classes]


def _summands(scoring: ScoringModel, surface: QuadraticSurface, style: _Text) -> list[str]:
    """Terms and constant with their signs: "-" or nothing before the first, "+ " or "- " before the others."""
    texts = [style.product(abs(p.coefficient), [scoring.variables[v] for v in p.factors], scoring) for p in surface.products]
    negative = [value < 0 for value in (*(product.coefficient for product in surface.products), surface.c)]
    signs = ["-" if negative[0] else "", *("- " if below else "+ " for below in negative[1:])]
    return [sign + text for sign, text in zip(signs, [*texts, style.number(abs(surface.c))], strict=True)]


class _Text:
    """How the parts of an equation are written in plain text."""

    FORMS = {"number": "%s", "rank": "rank(%s)", "missing": "[%s is missing]"}
    TIMES = "*"

    def __init__(self, digits: int) -> None:
        self.digits = digits

    def name(self, text: str) -> str:
        return shown(text)

    def level(self, text: str) -> str:
        return shown(text, plain=LEVEL)

    def number(self, value: float) -> str:
        return repr(value) if self.digits >= EXACT else f"{value:.{self.digits}g}"

    def feature(self, feature: CodedFeature, column: str) -> str:
        if feature.kind == "level":
            return f"[{self.name(column)} {_condition(feature, self.level)}]"
        return self.FORMS[feature.kind] % self.name(column)

    def variable(self, variable: Variable, scoring: ScoringModel) -> str:
        text = self.feature(variable.feature, scoring.inputs[variable.feature.input].name)
        if variable.center != 0.0:
            text = f"{text} {'-' if variable.center > 0 else '+'} {self.number(abs(variable.center))}"
        return self.scaled(text, variable.center != 0.0, variable.scale)

    def capped(self, text: str, limits: Mapping[str, float]) -> str:
        finer = type(self)(max(self.digits, CAP_DIGITS))
        ends = (finer.inline(finer.number(end)) for end in limits.values())
        return f"{self.inline(text)} at {' and '.join(ends)}"

    def inline(self, formula: str) -> str:
        """A formula in running text."""
        return formula

    def scaled(self, text: str, is_sum: bool, scale: float) -> str:
        text = f"({text})" if is_sum else text
        return text if scale == 1.0 else f"{text}/{self.number(scale)}"

    def square(self, text: str) -> str:
        return f"({text})^2" if "/" in text else f"{text}^2"

    def product(self, coefficient: float, variables: Sequence[Variable], scoring: ScoringModel) -> str:
        texts = [self.variable(variable, scoring) for variable in variables]
        if len(texts) == 2 and texts[0] == texts[1]:
            texts = [self.square(texts[0])]
        return self.TIMES.join([self.number(coefficient), *texts])


def _condition(feature: CodedFeature, written: Callable[[str], str]) -> str:
    """When a feature of levels is 1: "= own", "one of (a, b)", "none of (c, d)"."""
    turned = feature.unseen == 1.0  # levels that nobody has seen count too
    levels = [level for level, value in feature.codes if (value == 1.0) != turned]
    texts = [written(level if isinstance(level, str) else number_text(level)) for level in levels]
    if len(texts) == 1 and not turned:
        return f"= {texts[0]}"
    return f"{written('none of' if turned else 'one of')} ({', '.join(texts)})"


class _Latex(_Text):
    """The same in LaTeX."""

    FORMS = {"number": "%s", "rank": r"\operatorname{rank}(%s)", "missing": r"[%s\text{ is missing}]"}
    TIMES = r" \, "

    def number(self, value: float) -> str:
        mantissa, _, exponent = super().number(value).partition("e")
        return f"{mantissa} \\cdot 10^{{{int(exponent)}}}" if exponent else mantissa

    def name(self, text: str) -> str:
        return f"\\text{{{escaped_latex(text)}}}"

    level = name

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


def shown(text: str, *, plain: re.Pattern[str] = NAME) -> str:
    """A text with everything unprintable escaped, in quotes where it does not look plain.

    Parameters
    ----------
    text : str
    plain : pattern
        What needs no quotes.
    """
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in text)
    if plain.fullmatch(escaped):
        return escaped
    # as JSON, from which it can be read back: escapes are told from backslashes of its own
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in json.dumps(text, ensure_ascii=False))


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
    return lines


def sample_lines(model: ScoringModel) -> list[str]:
    """Sample rows with their expected scores, one line of JSON each."""
    return [f"Sample: {json.dumps(asdict(sample) | {'values': model.row(sample)})}" for sample in model.samples]
