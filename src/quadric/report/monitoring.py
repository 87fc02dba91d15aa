"""New rows beside the training rows as one HTML page."""

from __future__ import annotations

from quadric.report.printing import in_print
from quadric.report.rendering import rendered
from quadric.review.monitoring import Monitored, mean_text


def render_monitored(found: Monitored, target: str, name: str) -> str:
    """Write one self-contained HTML page without scripts; equal figures give equal bytes.

    Parameters
    ----------
    found : Monitored
    target : str
        Of the model.
    name : str
        Of the table.

    Returns
    -------
    str
        HTML; needs jinja2.
    """
    found, target, name = in_print((found, target, name))
    tables = (
        ("Score", found.scores, {"score_psi"}),
        ("Columns that the model uses", found.columns, {"column_psi", "missing", "new_levels"}),
        ("What each term adds to the score", found.terms, {"term_psi"}),
    )
    alarms = [(check.kind, check.subject) for check in found.alarms]
    marked = {(title, name) for title, _, kinds in tables for kind, name in alarms if kind in kinds}
    context = {"found": found, "target": target, "name": name, "tables": tables, "marked": marked, "mean_text": mean_text}
    return rendered("monitoring.html.j2", "", context)
