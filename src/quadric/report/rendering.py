"""The page put together."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from quadric.extras import require
from quadric.report import figures, story, symbols
from quadric.report.numbers import number, percent, short
from quadric.report.slider import FACTS, Stop, as_json, stop, stops
from quadric.summary import ReportSummary, SurfaceSummary

POLICY = "default-src 'none'; style-src {style}; script-src {script}; img-src data:; base-uri 'none'; form-action 'none'"


def render(summary: ReportSummary) -> str:
    """One self-contained HTML page: no network, no server, nothing executed but its own script.

    Equal summaries give equal bytes. Without scripts the page shows the model itself; with them a slider shows the equations
    with fewer and more terms.

    Parameters
    ----------
    summary : ReportSummary
        What ``quadric.summary.summarise`` gives.

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
    page: str = environment.get_template("report.html.j2").render(_context(summary))
    return page


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
        "symbols": symbols,
        "fact_names": FACTS,
        **(_two_classes(summary) if summary.views else _more_classes(summary)),
    }


def _source(text: str) -> str:
    """A text as a source of a content-security policy: what else stands in the page is not run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _two_classes(summary: ReportSummary) -> dict[str, Any]:
    assert summary.performance is not None
    accuracy = figures.accuracy(summary.cross_validation, summary.k)
    objective = figures.objective(summary.views, summary.k)
    heat = figures.heat_map("heat", summary.views, summary.features)
    all_stops = stops(summary, heat, (accuracy, objective))
    own = [view.k for view in summary.views].index(summary.k)
    return {
        "heat": heat,
        "curves": (accuracy.figure, objective.figure),
        "stops": all_stops,
        "own": own,
        "current": all_stops[own],
        "stops_json": as_json(all_stops),
        "charts": (
            figures.roc(summary, summary.performance),
            figures.separation(summary, summary.performance),
            figures.calibration(summary, summary.performance.calibration),
            figures.histogram(summary, summary.performance),
        ),
        "slices": [
            figures.slice_figure(i, picture, summary.features, summary.classes) for i, picture in enumerate(summary.slices)
        ],
        "pieces": (),
    }


def _more_classes(summary: ReportSummary) -> dict[str, Any]:
    return {"stops": (), "pieces": [_piece(summary, i, surface) for i, surface in enumerate(summary.surfaces)]}


def _piece(summary: ReportSummary, i: int, surface: SurfaceSummary) -> tuple[figures.HeatMap, Stop]:
    """Heat map and equation of one class of several."""
    heat = figures.heat_map(f"heat-{i}", [surface.view], summary.features)
    cv = summary.cross_validation
    score = f"{percent(cv.mean[0])} \N{PLUS-MINUS SIGN} {percent(cv.error[0])} (all classes together)"
    return heat, stop(surface.view, heat.cells[0], summary.features, surface.sides, score)
