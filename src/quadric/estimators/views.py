"""What notebooks show of a fitted classifier: its equation, terms and certificates, all of them known already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from quadric.geometry.markup import formula
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import term_factors, term_name
from quadric.geometry.writing import Symbol, cap_lines
from quadric.notebook import NOTHING, Html, paragraph, table
from quadric.types import FloatArray

# Rows of a table of terms, and digits of caps
MOST_TERMS, CAP_DIGITS = 40, 6


@dataclass(frozen=True, eq=False)
class Ranges:
    """What bootstrap fits say of the terms of a classifier; rows follow its surfaces.

    Attributes
    ----------
    n_fits : int
    inclusion : array of shape (n_surfaces, p)
        Share of the fits that chose the term.
    low, high : arrays of shape (n_surfaces, p)
        First and ninth decile of its coefficient among these fits.
    """

    n_fits: int
    inclusion: FloatArray
    low: FloatArray
    high: FloatArray


# As long as a classifier lives, with the coefficients that it had: another fit makes new ones
_RANGES: WeakKeyDictionary[Any, tuple[FloatArray, Ranges]] = WeakKeyDictionary()


def remember_ranges(classifier: Any, ranges: Ranges) -> None:
    """Keep ranges for the view of a classifier; nothing of it is changed.

    Parameters
    ----------
    classifier : fitted classifier
    ranges : Ranges
    """
    _RANGES[classifier] = (classifier.coef_, ranges)


def _ranges_of(classifier: Any) -> Ranges | None:
    coef, ranges = _RANGES.get(classifier, (None, None))
    return ranges if coef is classifier.coef_ else None


def surface_views(classifier: Any, symbols: Sequence[Symbol], names: Sequence[str], classes: Sequence[str]) -> list[Html]:
    """Equation, what columns are capped at, and the terms and certificate of each surface.

    Parameters
    ----------
    classifier : fitted classifier
    symbols : sequence of Symbol
        What its surfaces are functions of.
    names : sequence of str
        The same, as terms name them.
    classes : sequence of str
    """
    surfaces, ranges = classifier.surfaces_, _ranges_of(classifier)
    live = np.logical_or.reduce([surface.live_features for surface in surfaces])
    caps = cap_lines([symbol for symbol, is_used in zip(symbols, live, strict=True) if is_used], CAP_DIGITS)
    parts = [formula(surfaces, symbols, classes), *map(paragraph, caps)]
    certificates = getattr(classifier, "certificates_", ())
    for code, surface in enumerate(surfaces):
        head = "Terms" if len(surfaces) == 1 else f"Terms of {classes[code]}"
        parts.append(_terms(head, surface, names, ranges, code))
        if code < len(certificates):
            parts.append(certificates[code].view())
    return parts


def _terms(head: str, surface: QuadraticSurface, names: Sequence[str], ranges: Ranges | None, code: int) -> Html:
    z, (left, right) = surface.coordinates(), term_factors(surface.n_features)
    live = np.flatnonzero(z)
    halves = np.where(left == right, 0.5, 1.0)  # the polynomial has W_aa / 2
    order = live[np.argsort(-np.abs(z * halves)[live], kind="stable")][:MOST_TERMS]
    heads = ["term", "coefficient (standardised units)" if surface.standardized else "coefficient"]
    if ranges is not None:
        heads += [f"chosen by {ranges.n_fits} bootstrap fits", "middle 80 % when chosen"]
    if len(order) < len(live):
        head = f"{head}, the largest {len(order)} of {len(live)}"
    rows = []
    for term in order:
        row = [term_name(names, left[term], right[term]), f"{halves[term] * z[term]:.4g}"]
        if ranges is not None:
            low, high = (halves[term] * end[code, term] for end in (ranges.low, ranges.high))
            row += [f"{ranges.inclusion[code, term]:.0%}", NOTHING if np.isnan(low) else f"{low:.4g} to {high:.4g}"]
        rows.append(row)
    return table(head, heads, rows)
