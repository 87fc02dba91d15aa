"""Terms in words."""

from __future__ import annotations

from collections.abc import Sequence

from quadric.summary.values import Coefficient, Feature


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
        return f"{first.name if _is_code(first) else 'Larger ' + first.name} speaks {side}."
    second = features[coefficient.second]
    if coefficient.first == coefficient.second:
        return f"{first.name} far from {_number(first.center)}, on either side, speaks {side}."
    if _is_code(first) and _is_code(second):
        return f"{first.name} together with {second.name} speaks {side}."
    if _is_code(first) or _is_code(second):
        code, number = (first, second) if _is_code(first) else (second, first)
        return f"Where {code.name}, larger {number.name} speaks more {side}."
    return (
        f"{first.name} and {second.name} both above, or both below, {_number(first.center)} and {_number(second.center)} "
        f"speak {side}; one above and one below {other}."
    )


def _is_code(feature: Feature) -> bool:
    return feature.kind in ("level", "missing")


def _number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}".replace(",", " ")
