"""A scorecard as one HTML page that prints on one sheet."""

from __future__ import annotations

from quadric.report.printing import in_print
from quadric.report.rendering import rendered
from quadric.review.scorecard import Card


def render_card(card: Card, title: str) -> str:
    """Write a self-contained page without scripts; equal cards give equal bytes.

    Parameters
    ----------
    card : Card
    title : str

    Returns
    -------
    str
        HTML; needs jinja2.
    """
    return rendered("card.html.j2", "", in_print({"card": card, "title": title}))
