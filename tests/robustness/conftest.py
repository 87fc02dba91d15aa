"""Sizes of the harness: short in every run of the tests, full with ``pytest tests/robustness --full``; counts are shown at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest


@pytest.fixture
def size(pytestconfig: pytest.Config) -> Callable[[int, int], int]:
    """How many cases to try: the first number, or the second one with --full."""
    full = pytestconfig.getoption("--full")
    return lambda short, long: long if full else short


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Counts what happened, by name; the terminal shows the sums over all tests and workers."""
    counts: dict[str, int] = {}  # a plain dict: only such ones reach the terminal from another process
    request.node.user_properties.append(("tally", counts))

    def count(name: str, times: int = 1) -> None:
        counts[name] = counts.get(name, 0) + times

    return count


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    total: Counter = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                for name, counts in report.user_properties:
                    if name == "tally":
                        total.update(counts)
    if total:
        terminalreporter.section("robustness: what happened, how often")
        for name, count in sorted(total.items()):
            terminalreporter.write_line(f"{count:8d}  {name}")
