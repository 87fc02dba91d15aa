"""Features and terms as symbols."""

from __future__ import annotations

from collections.abc import Sequence

from quadric.report.numbers import MINUS, short
from quadric.summary import Coefficient, Feature

PRIME, SQUARE, TIMES = "\N{PRIME}", "\N{SUPERSCRIPT TWO}", "\N{NO-BREAK SPACE}\N{MIDDLE DOT} "


def is_centred(feature: Feature) -> bool:
    """Whether the surfaces see something else than the raw value."""
    return feature.center != 0.0 or feature.scale != 1.0


def symbol(feature: Feature) -> str:
    """A feature as it stands in an equation; a prime says that it is centred and scaled."""
    return _bracketed(feature) + PRIME if is_centred(feature) else _bracketed(feature)


def _bracketed(feature: Feature) -> str:
    """Conditions stand in brackets, which are 1 or 0."""
    return f"[{feature.name}]" if feature.kind in ("level", "missing") else feature.name


def term_symbol(coefficient: Coefficient, features: Sequence[Feature]) -> str:
    """A term as it stands in an equation."""
    first = symbol(features[coefficient.first])
    if coefficient.second is None:
        return first
    return first + SQUARE if coefficient.second == coefficient.first else first + TIMES + symbol(features[coefficient.second])


def definition(feature: Feature) -> str:
    """What a centred feature is."""
    name = _bracketed(feature)
    sign = "+" if feature.center < 0 else MINUS
    centred = f"({name} {sign} {short(abs(feature.center))})" if feature.center else name
    return centred if feature.scale == 1.0 else f"{centred} / {short(feature.scale)}"
