"""A ReportSummary as one self-contained HTML file: it formats and draws, and computes nothing."""

from quadric.report.rendering import render

__all__ = ["render"]
