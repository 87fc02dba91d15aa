"""A fitted model and its data as one value of plain numbers and texts, and that value as one self-contained HTML page."""

from quadric.report.rendering import render
from quadric.report.summarising import summarise
from quadric.report.values import (
    Coefficient,
    CrossValidation,
    Feature,
    ReportSummary,
    SurfaceSummary,
    TermRow,
    View,
)

__all__ = [
    "Coefficient",
    "CrossValidation",
    "Feature",
    "ReportSummary",
    "SurfaceSummary",
    "TermRow",
    "View",
    "render",
    "summarise",
]
