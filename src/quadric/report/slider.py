"""What the slider shows at each of its stops: finished texts and places, so that the page's script computes nothing."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from quadric.report.figures import Cell, HeatMap, Place, Tracked
from quadric.report.numbers import MINUS, number, percent
from quadric.report.story import exchanges, gap_text, number_of, proved
from quadric.report.symbols import term_symbol
from quadric.summary import Feature, ReportSummary, View
from quadric.summary.words import term_words

PLUS = "+"


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
        Above the equation, and for those who listen.
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
        Places on the curves of accuracy and objective.
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
    marks: tuple[Place, ...] = ()


FACTS = (
    "Accuracy on samples left out",
    "Terms used",
    "Objective",
    "Proved lower bound",
    "Gap",
    "Optimality conditions hold to",
)


def stops(summary: ReportSummary, heat: HeatMap, curves: tuple[Tracked, ...]) -> list[Stop]:
    """All stops of the slider of a model of two classes.

    Parameters
    ----------
    summary : ReportSummary
    heat : HeatMap
        With cells for each view.
    curves : tuple of Tracked
    """
    cv, sides, out = summary.cross_validation, summary.surfaces[0].sides, []
    for i, view in enumerate(summary.views):
        score = f"{percent(cv.mean[i])} \N{PLUS-MINUS SIGN} {percent(cv.error[i])}"
        marks = tuple(curve.places[i] for curve in curves)
        out.append(stop(view, heat.cells[i], summary.features, sides, score, _roles(summary, view.k), marks))
    return out


def stop(
    view: View,
    cells: tuple[Cell, ...],
    features: tuple[Feature, ...],
    sides: tuple[str, str],
    score: str,
    roles: str = "",
    marks: tuple[Place, ...] = (),
) -> Stop:
    """One surface in words and symbols."""
    certificate = view.certificate
    lines = [
        Line(_sign(c.weight), number(abs(c.weight)), term_symbol(c, features), term_words(c, features, sides))
        for c in view.coefficients
    ]
    lines.append(Line(_sign(view.intercept), number(abs(view.intercept)), "", "The constant."))
    gap = "not computed" if certificate.gap is None else gap_text(certificate.gap)
    facts = (
        score,
        f"{certificate.n_terms} of {view.k} allowed",
        number(certificate.objective, 6),
        number(certificate.lower_bound, 6),
        gap,
        number(certificate.stationarity, 2),
    )
    return Stop(
        k=view.k,
        heading=f"{number_of(view.k, 'term')}{roles}",
        status=f"{number_of(view.k, 'term')}{roles}: accuracy {score}, objective {facts[2]}, gap {gap}.",
        lines=tuple(lines),
        centred=view.equation,
        expanded=view.expanded,
        cells=cells,
        facts=facts,
        sentences=(proved(certificate), exchanges(certificate)),
        marks=marks,
    )


def _sign(value: float) -> str:
    return MINUS if value < 0 else PLUS


def _roles(summary: ReportSummary, k: int) -> str:
    cv = summary.cross_validation
    named = {"the model": summary.k, "best accuracy": cv.best_k, "smallest within one standard error": cv.simplest_k}
    roles = [role for role, its in named.items() if its == k]
    return f" ({'; '.join(roles)})" if roles else ""


def as_json(stops_: list[Stop]) -> str:
    """All stops as JSON that can stand in an HTML script element: no character of it can end the element."""
    text = json.dumps([asdict(stop_) for stop_ in stops_], ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
