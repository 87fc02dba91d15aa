"""Rows to try a model on where the caller brings none: made up, so that no record of a person travels with an export."""

from __future__ import annotations

import numpy as np

from quadric.export._parts import Parts
from quadric.tables import Table
from quadric.tables.table import text_column

OFFSETS = (0.0, 1.0, -1.0, 0.5, -0.5)
"""Rows lie this many scales from the center, a different one from input to input."""


def made_up_rows(parts: Parts) -> Table:
    """A few rows around the center of the training data, with all sorts of levels; in the last one, values are missing."""
    center, scale = parts.standardisation()
    inputs = parts.inputs()
    columns = []
    for i, column in enumerate(inputs):
        if column.type == "category":
            values = [column.categories[(i + row) % len(column.categories)] for row in range(len(OFFSETS))]
            columns.append(text_column([*values, None if i % 2 == 0 else values[0]]))
        else:
            j = i if parts.encoder is None else int(np.flatnonzero(parts.encoder.blocks_ == i)[0])
            numbers = [float(f"{center[j] + offset * scale[j]:.4g}") for offset in _turned(i)]
            columns.append(np.array([*numbers, np.nan if i % 2 == 0 else numbers[0]]))
    n_rows = len(OFFSETS) + all(column.fill is not None for column in inputs)  # without the last where that is refused
    return Table(tuple(column.name for column in inputs), tuple(column[:n_rows] for column in columns))


def _turned(by: int) -> list[float]:
    """The offsets, begun at another one for each input: in the same order everywhere, products would all be squares."""
    start = by % len(OFFSETS)
    return [*OFFSETS[start:], *OFFSETS[:start]]
