"""Features and terms as symbols and as sentences, and shapes in words."""

from __future__ import annotations

from collections.abc import Sequence

from quadric.report.numbers import MINUS, short
from quadric.report.values import Coefficient, Feature

PRIME, SQUARE, TIMES = "\N{PRIME}", "\N{SUPERSCRIPT TWO}", "\N{NO-BREAK SPACE}\N{MIDDLE DOT} "
SHAPES = {
    "everything": "the score is at the cut-off everywhere",
    "empty": "the score never crosses the cut-off, so every row gets the same prediction",
    "hyperplane": "a flat cut: one class lies on each side",
    "paraboloid": "a bowl, open on one side: one class lies inside, the other outside",
    "elliptic paraboloid": "a bowl, open on one side: one class lies inside, the other outside",
    "hyperbolic paraboloid": "a saddle: it bends one way in some directions and the other way in others",
    "parabolic cylinder": "a bent sheet, like a gutter: it bends in one direction and runs straight in all others",
    "elliptic parabolic cylinder": "a trough: one class lies inside, and it runs straight in the remaining directions",
    "hyperbolic parabolic cylinder": "a saddle-shaped valley: it bends one way in some directions, the other way in others, "
    "and runs straight in the rest",
    "point": "a single point: the score only touches the cut-off",
    "ellipsoid": "a closed shell, like an egg: one class lies inside, the other outside",
    "cone": "a double cone: one class lies inside both halves, the other outside",
    "hyperboloid": "an open curved surface, like an hourglass or two facing bowls",
    "double hyperplane": "a flat sheet that the score touches without crossing the cut-off",
    "parallel hyperplanes": "two parallel flat cuts: one class lies between them, the other on either side",
    "flat": "a flat set that the score touches without crossing the cut-off",
    "elliptic cylinder": "a tube: one class lies inside, the other outside",
    "intersecting hyperplanes": "two flat cuts that cross: opposite wedges belong to the same class",
    "hyperbolic cylinder": "an open curved surface, like two facing sheets, straight in the remaining directions",
    "conic cylinder": "a double cone that runs straight in the remaining directions",
}
"""What each ``QuadraticSurface.kind`` means for a reader."""


def symbol(feature: Feature) -> str:
    """A feature as it stands in an equation; a prime marks that it is centred and scaled."""
    return _bracketed(feature) + (PRIME if feature.center != 0.0 or feature.scale != 1.0 else "")


def _bracketed(feature: Feature) -> str:
    """Conditions stand in brackets, which are 1 or 0."""
    return f"[{feature.name}]" if _is_condition(feature) else feature.name


def _is_condition(feature: Feature) -> bool:
    return feature.kind in ("level", "missing")


def definition(feature: Feature) -> str:
    """A centred feature in terms of the raw one."""
    name, sign = _bracketed(feature), "+" if feature.center < 0 else MINUS
    centred = f"({name} {sign} {short(abs(feature.center))})" if feature.center else name
    return centred if feature.scale == 1.0 else f"{centred} / {short(feature.scale)}"


def term_symbol(coefficient: Coefficient, features: Sequence[Feature]) -> str:
    """A term as it stands in an equation."""
    first = symbol(features[coefficient.first])
    if coefficient.second is None:
        return first
    return first + SQUARE if coefficient.second == coefficient.first else first + TIMES + symbol(features[coefficient.second])


def term_words(coefficient: Coefficient, features: Sequence[Feature], sides: tuple[str, str]) -> str:
    """One sentence on what a term says.

    Parameters
    ----------
    coefficient : Coefficient
        The sign of its weight decides which side it takes.
    features : sequence of Feature
    sides : pair of str
        As in ``SurfaceSummary``.
    """
    side, other = sides if coefficient.weight > 0 else sides[::-1]
    first = features[coefficient.first]
    if coefficient.second is None:
        return f"{'' if _is_condition(first) else 'Higher '}{first.name} counts {side}."
    second = features[coefficient.second]
    if coefficient.first == coefficient.second:
        return f"Values of {first.name} far from {short(first.center, 3)}, on either side, count {side}."
    if _is_condition(first) and _is_condition(second):
        return f"{first.name} together with {second.name} counts {side}."
    if _is_condition(first) or _is_condition(second):
        condition, number = (first, second) if _is_condition(first) else (second, first)
        return f"If {condition.name}, higher {number.name} counts more {side}."
    centres = f"{short(first.center, 3)} and {short(second.center, 3)}"
    pair = f"{first.name} and {second.name} on the same side of {centres} (both above or both below)"
    return f"{pair} count {side}; on opposite sides they count {other}."
