"""Surfaces as equations that people read, in the units of the data.

Names from data are printable, on one line, and never mistaken for something else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from quadric.errors import printable, quoted
from quadric.geometry.surface import QuadraticSurface

# Significant digits unless asked for: raw units need more of them, because their terms largely cancel each other.
DIGITS = {"centred": 4, "expanded": 9}
EXACT = 17
# Caps are values that the data have: they are shown with more digits than estimates.
CAP_DIGITS = 6
WIDTH = 78
# Texts that need no quotes: as the name of a feature, as a level of a category, and where there is no equation to mix up.
NAME = re.compile(r"[^\W\d][\w.]*( [\w.]+)*")
LEVEL = re.compile(r"[\w.]+( [\w.]+)*")
ANYTHING = re.compile(r".*", re.DOTALL)


@dataclass(frozen=True)
class Symbol:
    """A variable of an equation: (feature - center) / scale, the feature capped first.

    Attributes
    ----------
    text : str
        The feature as the notation writes it.
    center, scale : float
    limits : tuple of float
        The caps that there are.
    """

    text: str
    center: float = 0.0
    scale: float = 1.0
    limits: tuple[float, ...] = ()

    @staticmethod
    def of(text: str, center: float, scale: float, low: float, high: float) -> Symbol:
        """With caps that are infinite where there are none."""
        return Symbol(text, float(center), float(scale), tuple(float(end) for end in (low, high) if np.isfinite(end)))


class PlainText:
    """How the parts of an equation are written in plain text.

    Parameters
    ----------
    digits : int
        Significant digits.
    """

    TIMES = "*"

    def __init__(self, digits: int) -> None:
        self.digits = digits

    def number(self, value: float) -> str:
        return repr(value) if self.digits >= EXACT else f"{value:.{self.digits}g}"

    def variable(self, symbol: Symbol) -> str:
        text = symbol.text
        if symbol.center != 0.0:
            text = f"{text} {'-' if symbol.center > 0 else '+'} {self.number(abs(symbol.center))}"
        return self.scaled(text, symbol.center != 0.0, symbol.scale)

    def capped(self, symbol: Symbol) -> str:
        """What a column is capped at: "age at 21 and 67"."""
        finer = type(self)(max(self.digits, CAP_DIGITS))
        ends = (finer.inline(finer.number(end)) for end in symbol.limits)
        return f"{self.inline(symbol.text)} at {' and '.join(ends)}"

    def inline(self, formula: str) -> str:
        return formula

    def scaled(self, text: str, is_sum: bool, scale: float) -> str:
        text = f"({text})" if is_sum else text
        return text if scale == 1.0 else f"{text}/{self.number(scale)}"

    def square(self, text: str) -> str:
        return f"({text})^2" if "/" in text else f"{text}^2"

    def factors(self, symbols: Sequence[Symbol]) -> str:
        texts = [self.variable(symbol) for symbol in symbols]
        if len(texts) == 2 and texts[0] == texts[1]:
            texts = [self.square(texts[0])]
        return self.TIMES.join(texts)

    def product(self, coefficient: float, symbols: Sequence[Symbol]) -> str:
        return self.TIMES.join([self.number(coefficient), self.factors(symbols)])

    def summands(self, surface: QuadraticSurface, symbols: Sequence[Symbol]) -> list[str]:
        """Terms and constant with their signs: "-" or nothing before the first, "+ " or "- " before the others."""
        texts = [self.product(abs(p.coefficient), [symbols[v] for v in p.factors]) for p in surface.products]
        negative = [value < 0 for value in (*(product.coefficient for product in surface.products), surface.c)]
        signs = ["-" if negative[0] else "", *("- " if below else "+ " for below in negative[1:])]
        return [sign + text for sign, text in zip(signs, [*texts, self.number(abs(surface.c))], strict=True)]


@dataclass(frozen=True)
class SharedTerm:
    """A term of several surfaces.

    Attributes
    ----------
    factors : tuple of int
        Positions of its variables; none: the constant.
    coefficients : tuple of float
        One for each surface.
    """

    factors: tuple[int, ...]
    coefficients: tuple[float, ...]


def shared_terms(surfaces: Sequence[QuadraticSurface]) -> list[SharedTerm]:
    """The terms of several surfaces as one list, those with the largest coefficients first and the constant last."""
    found = [{product.factors: product.coefficient for product in surface.products} for surface in surfaces]
    listed = (SharedTerm(own, tuple(each.get(own, 0.0) for each in found)) for own in dict.fromkeys(chain(*found)))
    constant = SharedTerm((), tuple(surface.c for surface in surfaces))
    return [*sorted(listed, key=lambda term: -max(map(abs, term.coefficients))), constant]


def digits_of(form: str, precision: int | None) -> int:
    """Significant digits of a form; an error for a form or a precision that there is not.

    Parameters
    ----------
    form : {"centred", "expanded"}
    precision : int or None
    """
    if form not in DIGITS:
        raise ValueError(f"form must be 'centred' or 'expanded', got {quoted(form)}")
    digits = DIGITS[form] if precision is None else precision
    if not 1 <= digits <= EXACT:
        raise ValueError(f"precision must be from 1 to {EXACT} digits, got {quoted(precision)}")
    return digits


def equation_lines(
    surfaces: Sequence[QuadraticSurface], symbols: Sequence[Symbol], classes: Sequence[str], digits: int
) -> list[str]:
    """One line per surface: "f = ...", or "f[class] = ..." where there are several.

    Parameters
    ----------
    surfaces : sequence of QuadraticSurface
    symbols : sequence of Symbol
        What they are functions of.
    classes : sequence of str
        Names.
    digits : int
    """
    style, heads = PlainText(digits), _heads(surfaces, classes)
    return [f"{head} = {' '.join(style.summands(f, symbols))}" for head, f in zip(heads, surfaces, strict=True)]


def shared_lines(
    surfaces: Sequence[QuadraticSurface], symbols: Sequence[Symbol], classes: Sequence[str], digits: int
) -> list[str]:
    """Several surfaces with one list of terms: a line with their names, then one line per term with the coefficient of each.

    Parameters
    ----------
    surfaces, symbols, classes, digits :
        As in ``equation_lines``.
    """
    style, heads = PlainText(digits), _heads(surfaces, classes)
    rows = [[style.number(value) for value in term.coefficients] for term in shared_terms(surfaces)]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    texts = (style.factors([symbols[v] for v in term.factors]) for term in shared_terms(surfaces))
    ends = ["", *(f"{style.TIMES} {text}" if text else "" for text in texts)]
    cells = ("  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in [heads, *rows])
    return [f"{row}  {end}".rstrip() for row, end in zip(cells, ends, strict=True)]


def _heads(surfaces: Sequence[QuadraticSurface], classes: Sequence[str]) -> list[str]:
    return ["f"] if len(surfaces) == 1 else [f"f[{shown(name, plain=LEVEL)}]" for name in classes]


def cap_lines(symbols: Sequence[Symbol], digits: int) -> list[str]:
    """What the columns are capped at, as many to a line as fit.

    Parameters
    ----------
    symbols : sequence of Symbol
        Those that the equation uses.
    digits : int
    """
    lines: list[str] = []
    for cap in (PlainText(digits).capped(symbol) for symbol in symbols if symbol.limits):
        if lines and len(lines[-1]) + len(cap) < WIDTH:
            lines[-1] += f"; {cap}"
        else:
            lines.append(f"Capped: {cap}")
    return lines


def form_note(
    form: str, surfaces: Sequence[QuadraticSurface], written: Sequence[QuadraticSurface], *, is_shared: bool
) -> list[str]:
    """A line that says how many terms raw units have, where they are used.

    Parameters
    ----------
    form : {"centred", "expanded"}
    surfaces, written : sequences of QuadraticSurface
        Of the model, and of the equation.
    is_shared : bool
        Whether all surfaces have one list of terms.
    """
    if form == "centred":
        return []
    lists = ([len(shared_terms(each)) - 1] if is_shared else [len(f.products) for f in each] for each in (surfaces, written))
    before, after = map(sum, lists)
    return [f"(expanded to raw units: {after} terms for the model's {before}, which are counted in centred variables)"]


def shown(text: str, *, plain: re.Pattern[str] = NAME) -> str:
    """A text with everything unprintable escaped, in quotes where it does not look plain.

    Parameters
    ----------
    text : str
    plain : pattern
        What needs no quotes.
    """
    escaped = printable(text)
    if plain.fullmatch(escaped):
        return escaped
    # as JSON, from which it can be read back: escapes are told from backslashes of its own
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in json.dumps(text, ensure_ascii=False))
