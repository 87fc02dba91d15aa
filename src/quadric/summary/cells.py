"""Values of the raw data as people write them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from quadric.summary.subject import Subject, printable
from quadric.tables.table import is_missing, number_text


def cell_text(value: Any) -> str:
    """A cell of a table."""
    if is_missing(value):
        return "missing"
    return number_text(float(f"{value:.6g}")) if isinstance(value, float) else printable(value)


def typical_cells(subject: Subject) -> list[tuple[str, str]]:
    """For every column its middle value, or its most frequent text."""
    out = []
    for column in subject.known.inputs:
        values = subject.table[column.name]
        if values.dtype == object:
            counts = Counter(value for value in values.tolist() if value is not None)
            typical: Any = min(counts, key=lambda level: (-counts[level], level)) if counts else None
        else:
            typical = float(np.nanquantile(values, 0.5, method="nearest"))
        out.append((printable(column.name), cell_text(typical)))
    return out
