"""The page put together."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from quadric.extras import require
from quadric.report import figures, story
from quadric.report.numbers import number, percent, short
from quadric.report.slider import FACTS, as_json, stop
from quadric.report.values import ReportSummary

POLICY = "default-src 'none'; style-src {style}; script-src {script}; img-src data:; base-uri 'none'; form-action 'none'"


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
    return str(environment.get_template("report.html.j2").render(_context(summary)))


def _asset(name: str) -> str:
    return (files("quadric.report") / "page" / name).read_text(encoding="utf-8")


def _context(summary: ReportSummary) -> dict[str, Any]:
    style, script = _asset("report.css"), _asset("report.js")
    return {
        "policy": POLICY.format(style=_source(style), script=_source(script)),
        "style": style,
        "script": script,
        "summary": summary,
        "absent": dict(summary.absent),
        "story": story,
        "fact_names": FACTS,
        **(_two_classes(summary) if summary.views else _more_classes(summary)),
    }


def _source(text: str) -> str:
    """A text as a source of a content-security policy: nothing else in the page is run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _two_classes(summary: ReportSummary) -> dict[str, Any]:
    curves = (figures.accuracy(summary.cross_validation, summary.k), figures.objective(summary.views, summary.k))
    heat = figures.heat_map("heat", summary.views, summary.features)
    stops = [stop(summary, i, view, heat, summary.surfaces[0].sides, curves) for i, view in enumerate(summary.views)]
    own = [view.k for view in summary.views].index(summary.k)
    return {
        "heat": heat,
        "curves": curves,
        "stops": stops,
        "own": own,
        "current": stops[own],
        "stops_json": as_json(stops),
        "charts": figures.performance_charts(summary),
        "slices": [figures.slice_figure(i, picture, summary) for i, picture in enumerate(summary.slices)],
    }


def _more_classes(summary: ReportSummary) -> dict[str, Any]:
    heats = [figures.heat_map(f"heat-{i}", [one.view], summary.features) for i, one in enumerate(summary.surfaces)]
    pairs = zip(heats, summary.surfaces, strict=True)
    return {"stops": (), "pieces": [(heat, stop(summary, 0, one.view, heat, one.sides)) for heat, one in pairs]}
