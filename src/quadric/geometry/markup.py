"""Surfaces as mathematics that browsers draw without a script: MathML, one piece per term, so that lines can break."""

from __future__ import annotations

from collections.abc import Sequence

from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.writing import DIGITS, LEVEL, PlainText, Symbol, shown
from quadric.notebook import Html, text

# Terms that are written out.
MOST_WRITTEN = 40


class _MathMl(PlainText):
    """Features are names in upright letters; units are fractions."""

    TIMES = "<mo>·</mo>"

    def number(self, value: float) -> str:
        return f"<mn>{super().number(value)}</mn>"

    def variable(self, symbol: Symbol) -> str:
        name = f"<mtext>{text(symbol.text)}</mtext>"
        if symbol.center != 0.0:
            name += f"<mo>{'−' if symbol.center > 0 else '+'}</mo>{self.number(abs(symbol.center))}"
        return self.scaled(name, symbol.center != 0.0, symbol.scale)

    def scaled(self, text: str, is_sum: bool, scale: float) -> str:
        if scale != 1.0:
            return f"<mfrac><mrow>{text}</mrow>{self.number(scale)}</mfrac>"
        return _bracketed(text) if is_sum else text

    def square(self, text: str) -> str:
        base = text if text.startswith("<mtext>") else _bracketed(text)
        return f"<msup><mrow>{base}</mrow><mn>2</mn></msup>"


def _bracketed(text: str) -> str:
    return f"<mo>(</mo>{text}<mo>)</mo>"


def formula(surfaces: Sequence[QuadraticSurface], symbols: Sequence[Symbol], classes: Sequence[str] = ()) -> Html:
    """One paragraph per surface: "f = ...", or "f[class] = ..." where there are several.

    Parameters
    ----------
    surfaces : sequence of QuadraticSurface
    symbols : sequence of Symbol
        What they are functions of.
    classes : sequence of str
        Names of several surfaces.
    """
    heads = ["f"] if len(surfaces) == 1 else [f"f[{shown(name, plain=LEVEL)}]" for name in classes]
    style, lines = _MathMl(DIGITS["centred"]), list[str]()
    for head, surface in zip(heads, surfaces, strict=True):
        *terms, constant = style.summands(surface, symbols)
        more = len(terms) - MOST_WRITTEN
        written = [_math(summand) for summand in (*terms[:MOST_WRITTEN], constant)]
        if more > 0:
            written.insert(-1, f" … ({more} smaller terms) ")
        lines.append(f'<p class="quadric-formula"><math><mi>{text(head)}</mi><mo>=</mo></math> {" ".join(written)}</p>')
    return Html("".join(lines))


def _math(summand: str) -> str:
    sign, found, rest = summand.partition("<")
    operator = {"-": "<mo>−</mo>", "- ": "<mo>−</mo>", "+ ": "<mo>+</mo>", "": ""}[sign]
    return f'<math displaystyle="true"><mrow>{operator}{found}{rest}</mrow></math>'
