"""What the slider shows at each of its stops: finished texts and places, so that the page's script computes nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from quadric.report.drawing import Figure, Place
from quadric.report.figures import Cell, HeatMap
from quadric.report.numbers import MINUS, number, percent
from quadric.report.story import EXCHANGES, gap_text, number_of, proved
from quadric.report.values import ReportSummary, View
from quadric.report.words import term_symbol, term_words

FACTS = (
    "Out-of-fold accuracy",
    "Terms used",
    "Objective",
    "Proved lower bound",
    "Gap",
    "Optimality conditions met to within",
)


@dataclass(frozen=True)
class Line:
    """A line of the equation."""

    sign: str
    size: str
    symbol: str
    words: str


@dataclass(frozen=True)
class Stop:
    """One number of terms.

    Attributes
    ----------
    k : int
    heading, status : str
        Above the equation, and for screen readers.
    lines : tuple of Line
        Of the equation, the constant last.
    centred, expanded : str
        The equation as text.
    cells : tuple of Cell
        Of the heat map.
    facts : tuple of str
        Values of the certificate, as named by FACTS.
    sentences : tuple of str
        What they mean.
    marks : tuple of pairs (x, y)
        Places on the curves.
    """

    k: int
    heading: str
    status: str
    lines: tuple[Line, ...]
    centred: str
    expanded: str
    cells: tuple[Cell, ...]
    facts: tuple[str, ...]
    sentences: tuple[str, ...]
    marks: tuple[Place, ...]


def stops(
    summary: ReportSummary, views: Sequence[View], heat: HeatMap, sides: tuple[str, str], curves: Sequence[Figure] = ()
) -> list[Stop]:
    """Some surfaces in words and symbols.

    Parameters
    ----------
    summary : ReportSummary
    views : sequence of View
        All those of the slider, or that of one class of several.
    heat : HeatMap
        With cells for each view.
    sides : pair of str
        As in ``SurfaceSummary``.
    curves : sequence of Figure
        With a place for each view.
    """
    cv, features, out = summary.cross_validation, summary.features, []
    for i, view in enumerate(views):
        certificate, heading = view.certificate, f"{number_of(view.k, 'term')}{_roles(summary, view.k) if curves else ''}"
        lines = [
            Line(_sign(c.weight), number(abs(c.weight)), term_symbol(c, features), term_words(c, features, sides))
            for c in view.coefficients
        ]
        facts = (
            f"{percent(cv.mean[i])} \N{PLUS-MINUS SIGN} {percent(cv.error[i])}{'' if curves else ' (all classes together)'}",
            f"{certificate.n_terms} of {view.k} allowed",
            number(certificate.objective, 6),
            number(certificate.lower_bound, 6),
            "not computed" if certificate.gap is None else gap_text(certificate.gap),
            number(certificate.stationarity, 2),
        )
        out.append(
            Stop(
                k=view.k,
                heading=heading,
                status=f"{heading}: accuracy {facts[0]}, objective {facts[2]}, gap {facts[4]}.",
                lines=(*lines, Line(_sign(view.intercept), number(abs(view.intercept)), "", "The constant.")),
                centred=view.equation,
                expanded=view.expanded,
                cells=heat.cells[i],
                facts=facts,
                sentences=(proved(certificate), EXCHANGES[certificate.swap_optimal]),
                marks=tuple(curve.places[i] for curve in curves),
            )
        )
    return out


def _sign(value: float) -> str:
    return MINUS if value < 0 else "+"


def _roles(summary: ReportSummary, k: int) -> str:
    cv = summary.cross_validation
    named = {"the model": summary.k, "best accuracy": cv.best_k, "fewest within one standard error": cv.simplest_k}
    roles = [role for role, its in named.items() if its == k]
    return f" ({'; '.join(roles)})" if roles else ""


def as_json(stops_: Sequence[Stop]) -> str:
    """All stops as JSON that can stand in an HTML script element: no character of it can end the element."""
    text = json.dumps([asdict(stop_) for stop_ in stops_], ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
