"""Pieces of HTML that notebooks show for fitted models and results: everything that is not ``Html`` already is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from quadric.errors import printable

# Colours are those of the notebook, whatever its theme. Classes have one name each, so that nothing else is styled.
STYLE = """
.quadric-view { line-height: 1.45; max-width: 60rem; }
.quadric-view table { border-collapse: collapse; margin: 0.4em 0; font-variant-numeric: tabular-nums; }
.quadric-view th, .quadric-view td { text-align: left; padding: 0.15em 1em 0.15em 0; background: none; }
.quadric-view thead th { border-bottom: 1px solid; font-weight: 600; }
.quadric-view tbody th { font-weight: 400; }
.quadric-view caption { text-align: left; white-space: nowrap; font-weight: 600; color: inherit; }
.quadric-view .quadric-formula { margin: 0.5em 0; overflow-wrap: anywhere; }
.quadric-view math { font-size: 1.1em; }
""".strip()


# In place of a number that there is not.
NOTHING = "\N{EN DASH}"


class Html(str):
    """A text that is HTML."""

    __slots__ = ()


def text(value: Any) -> str:
    """HTML as it is, anything else as escaped text; numbers with six digits."""
    if isinstance(value, Html):
        return value
    return escape(f"{value:.6g}" if isinstance(value, float) else printable(str(value)))


def paragraph(*parts: Any) -> Html:
    """Texts as one paragraph."""
    return Html(f"<p>{''.join(map(text, parts))}</p>")


def table(caption: str, heads: Sequence[Any], rows: Iterable[Sequence[Any]]) -> Html:
    """A table whose first column names the rows.

    Parameters
    ----------
    caption : str
    heads : sequence
        Of the columns; none for a table of facts.
    rows : iterable of sequences
    """
    head = _row([f'<th scope="col">{text(name)}</th>' for name in heads])
    body = [
        _row([f'<th scope="row">{text(first)}</th>', *(f"<td>{text(cell)}</td>" for cell in cells)]) for first, *cells in rows
    ]
    inner = (f"<thead>{head}</thead>" if heads else "") + f"<tbody>{''.join(body)}</tbody>"
    return Html(f"<table><caption>{text(caption)}</caption>{inner}</table>")


def _row(cells: Iterable[str]) -> str:
    return f"<tr>{''.join(cells)}</tr>"


def facts(caption: str, pairs: Mapping[str, Any]) -> Html:
    """Names and values, without those that are None."""
    return table(caption, (), [(name, value) for name, value in pairs.items() if value is not None])


def folded(summary: str, inner: str) -> Html:
    """HTML that opens when its summary is clicked."""
    return Html(f"<details><summary>{text(summary)}</summary>{inner}</details>")


def view(title: str, parts: Iterable[Html]) -> Html:
    """Everything under one title, with its style."""
    head = f"<p><strong>{text(title)}</strong></p>" if title else ""
    return Html(f'<div class="quadric-view"><style>{STYLE}</style>{head}{"".join(parts)}</div>')
