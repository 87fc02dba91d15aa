"""What the slider shows at each of its stops: finished texts and places, so that the page's script computes nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from quadric.report.drawing import Figure
from quadric.report.figures import HeatMap
from quadric.report.numbers import MINUS, number, percent
from quadric.report.story import EXCHANGES, PROVED_BEST, gap_fact, number_of, proved, term_symbol, term_words
from quadric.report.values import ReportSummary, View

FACTS = (
    "Out-of-fold accuracy",
    "Terms used",
    "Objective",
    "Proved lower bound",
    "Gap",
    "Optimality conditions met to within",
)


def stop(
    summary: ReportSummary, i: int, view: View, heat: HeatMap, sides: tuple[str, str], curves: Sequence[Figure] = ()
) -> dict[str, Any]:
    """A surface in words and symbols, in the form in which the page's script takes it.

    Parameters
    ----------
    summary : ReportSummary
    i : int
        Position of the surface in the heat map, on the curves and in the cross-validation.
    view : View
        Of the slider, or of one class of several.
    heat : HeatMap
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
    lines = [_line(c.weight, term_symbol(c, features), term_words(c, features, sides)) for c in view.coefficients]
    facts = (
        f"{percent(cv.mean[i])} \N{PLUS-MINUS SIGN} {percent(cv.error[i])}{'' if curves else ' (all classes together)'}",
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
        "lines": [*lines, _line(view.intercept, "", "The constant.")],
        "centred": view.equation,
        "expanded": view.expanded,
        "cells": heat.cells[i],
        "facts": facts,
        "sentences": (proved(certificate), EXCHANGES[certificate.swap_optimal]),
        "marks": [curve.places[i] for curve in curves],
    }


def _line(weight: float, symbol: str, words: str) -> dict[str, str]:
    """A line of the equation."""
    return {"sign": MINUS if weight < 0 else "+", "size": number(abs(weight)), "symbol": symbol, "words": words}


def _roles(summary: ReportSummary, k: int) -> str:
    cv = summary.cross_validation
    named = {"the model": summary.k, "best accuracy": cv.best_k, "fewest within one standard error": cv.simplest_k}
    roles = [role for role, its in named.items() if its == k]
    return f" ({'; '.join(roles)})" if roles else ""


def as_json(stops: Sequence[dict[str, Any]]) -> str:
    """All stops as JSON that can stand in an HTML script element: no character of it can end the element."""
    text = json.dumps(stops, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
