"""The page put together, with what its slider shows: finished texts and places, so that the script computes nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from quadric.extras import require
from quadric.report import effect_figures, figures, story
from quadric.report.drawing import Figure
from quadric.report.numbers import MINUS, number, percent, short
from quadric.report.story import PROVED_BEST, exchanges, gap_fact, number_of, proved, term_symbol, term_words
from quadric.report.values import ReportSummary, SurfaceSummary, View

POLICY = "default-src 'none'; style-src {style}; script-src {script}; img-src data:; base-uri 'none'; form-action 'none'"
FACTS = (
    "Out-of-fold accuracy",
    "Terms used",
    "Objective",
    "Proved lower bound",
    "Gap",
    "Optimality conditions met to within",
)


def render(summary: ReportSummary) -> str:
    """Write one self-contained HTML page: no network, no server, nothing executed but its own script.

    Equal summaries give equal bytes. Without scripts the page shows the model itself; with them a slider shows the equations
    with fewer and more terms.

    Parameters
    ----------
    summary : ReportSummary
        The result of ``summarise``.

    Returns
    -------
    str
        HTML; needs jinja2.
    """
    return rendered("report.html.j2", _asset("report.js"), _context(summary))


def rendered(template: str, script: str, context: Mapping[str, Any]) -> str:
    """A page with our style; nothing is executed in it but the script, if there is one.

    Parameters
    ----------
    template : str
        Name of a file beside the style.
    script : str
    context : mapping
        What the template speaks of.
    """
    jinja = require("jinja2", "report")
    environment = jinja.Environment(
        loader=jinja.FunctionLoader(_asset),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(number=number, short=short, percent=percent)
    style = _asset("report.css")
    policy = POLICY.format(style=_source(style), script=_source(script) if script else "'none'")
    return str(environment.get_template(template).render(policy=policy, style=style, script=script, **context))


def _asset(name: str) -> str:
    return (files("quadric.report") / "page" / name).read_text(encoding="utf-8")


def _context(summary: ReportSummary) -> dict[str, Any]:
    return {
        "summary": summary,
        "absent": dict(summary.absent),
        "story": story,
        "fact_names": FACTS,
        "effects": [_effects(i, surface) for i, surface in enumerate(summary.surfaces)],
        **(_two_classes(summary) if summary.views else _more_classes(summary)),
    }


def _effects(place: int, surface: SurfaceSummary) -> dict[str, Any]:
    """The pictures of one surface, and how many products have none."""
    curves = effect_figures.effect_charts(f"effect-{place}", surface.effects)
    products = effect_figures.product_charts(f"product-{place}", surface.effects)
    return {"curves": curves, "products": products, "more": len(surface.effects.products) - len(products)}


def _source(text: str) -> str:
    """A text as a source of a content-security policy: nothing else in the page is run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _two_classes(summary: ReportSummary) -> dict[str, Any]:
    curves = (
        figures.accuracy(summary.cross_validation, summary.k),
        figures.objective(summary.views, summary.k, summary.is_ruled),
    )
    heat = figures.heat_map("heat", summary.views, summary.features)
    stops = [_stop(summary, i, view, heat, summary.surfaces[0].sides, curves) for i, view in enumerate(summary.views)]
    own = [view.k for view in summary.views].index(summary.k)
    return {
        "heat": heat,
        "curves": curves,
        "stops": stops,
        "own": own,
        "current": stops[own],
        "stops_json": _as_json(stops),
        "charts": figures.performance_charts(summary),
        "complexity_chart": None if summary.complexity is None else figures.complexity(summary.complexity, summary.k),
        "slices": [figures.slice_figure(i, picture, summary) for i, picture in enumerate(summary.slices)],
    }


def _more_classes(summary: ReportSummary) -> dict[str, Any]:
    heats = [figures.heat_map(f"heat-{i}", [one.view], summary.features) for i, one in enumerate(summary.surfaces)]
    pairs = zip(heats, summary.surfaces, strict=True)
    pieces = [(heat, _stop(summary, 0, one.view, heat, one.sides)) for heat, one in pairs]
    return {"stops": (), "pieces": pieces, "shared_terms": _shared_terms(summary)}


def _shared_terms(summary: ReportSummary) -> list[tuple[str, list[float]]]:
    """The list of terms of all classes, with weights, then the constant; empty where classes have terms of their own."""
    views = [surface.view for surface in summary.surfaces]
    if views[0].certificate.n_surfaces == 1:
        return []
    weights = [{coefficient.term: coefficient.weight for coefficient in view.coefficients} for view in views]
    terms = {coefficient.term: coefficient for view in views for coefficient in view.coefficients}
    rows = [(term_symbol(own, summary.features), [each.get(term, 0.0) for each in weights]) for term, own in terms.items()]
    rows.sort(key=lambda row: -max(map(abs, row[1])))
    return [*rows, ("Constant", [view.intercept for view in views])]


def _stop(
    summary: ReportSummary, i: int, view: View, heat: Mapping[str, Any], sides: tuple[str, str], curves: Sequence[Figure] = ()
) -> dict[str, Any]:
    """A surface in words and symbols, in the form in which the page's script takes it.

    Parameters
    ----------
    summary : ReportSummary
    i : int
        Position of the surface in the heat map, on the curves and in the cross-validation.
    view : View
        Of the slider, or of one class of several.
    heat : mapping
        As ``figures.heat_map`` gives it.
    sides : pair of str
        As in ``SurfaceSummary``.
    curves : sequence of Figure
        With a mark that the slider moves.

    Returns
    -------
    dict
        The number of terms ``k``; ``heading``, and ``status`` for screen readers; ``lines`` of the equation, the constant last;
        the equation as text, ``centred`` and ``expanded``; ``cells`` of the heat map; ``facts`` of the certificate, as named by
        FACTS; ``sentences`` that say what they mean; ``marks``, the places on the curves.
    """
    cv, features, certificate = summary.cross_validation, summary.features, view.certificate
    heading = f"{number_of(view.k, 'term')}{_roles(summary, view.k) if curves else ''}"
    lines = [
        line(c.weight, term_symbol(c, features), term_words(c, features, sides, view.coefficients)) for c in view.coefficients
    ]
    spread = f" \N{PLUS-MINUS SIGN} {percent(cv.error[i])}" if cv.folds > 1 else ""  # one fold has no standard error
    facts = (
        f"{percent(cv.mean[i])}{spread}{'' if curves else ' (all classes together)'}",
        f"{certificate.n_terms} of {view.k} allowed",
        number(certificate.objective, 6),
        number(certificate.lower_bound, 6),
        gap_fact(certificate),
        number(certificate.stationarity, 2),
    )
    gap = facts[4] if facts[4] == PROVED_BEST else f"gap {facts[4]}"
    return {
        "k": view.k,
        "heading": heading,
        "status": f"{heading}: accuracy {facts[0]}, objective {facts[2]}, {gap}.",
        "lines": [*lines, line(view.intercept, "", "The constant.")],
        "centred": view.equation,
        "expanded": view.expanded,
        "cells": heat["cells"][i],
        "facts": facts,
        "sentences": (proved(certificate, summary.is_ruled), exchanges(certificate, summary.is_ruled)),
        "marks": [curve["places"][i] for curve in curves],
    }


def line(weight: float, symbol: str, words: str) -> dict[str, str]:
    """A term of an equation, with its number as people read it."""
    return {"sign": MINUS if weight < 0 else "+", "size": number(abs(weight)), "symbol": symbol, "words": words}


def _roles(summary: ReportSummary, k: int) -> str:
    cv = summary.cross_validation
    named = {"the model": summary.k, "best accuracy": cv.best_k, "fewest within one standard error": cv.simplest_k}
    roles = [role for role, its in named.items() if its == k]
    return f" ({'; '.join(roles)})" if roles else ""


def _as_json(stops: Sequence[dict[str, Any]]) -> str:
    """All stops as JSON that can stand in an HTML script element: no character of it can end the element."""
    text = json.dumps(stops, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
