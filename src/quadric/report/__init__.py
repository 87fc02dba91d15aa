"""A fitted model and its data as one value of plain numbers and texts, and that value as one self-contained HTML page."""

from quadric.report.rendering import render
from quadric.report.summarising import summarise
from quadric.report.values import (
    Bin,
    Coefficient,
    CrossValidation,
    Direction,
    Feature,
    Geometry,
    Histogram,
    Making,
    Measure,
    Performance,
    ReportSummary,
    Separation,
    Slice,
    SurfaceSummary,
    TermRow,
    View,
)

__all__ = [
    "Bin",
    "Coefficient",
    "CrossValidation",
    "Direction",
    "Feature",
    "Geometry",
    "Histogram",
    "Making",
    "Measure",
    "Performance",
    "ReportSummary",
    "Separation",
    "Slice",
    "SurfaceSummary",
    "TermRow",
    "View",
    "render",
    "summarise",
]
