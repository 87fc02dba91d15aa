"""Rows to try a model on where the caller brings none: made up, so that no record of a person travels with an export."""

from __future__ import annotations

from typing import Any

import numpy as np

from quadric.fitted import FittedModel
from quadric.tables import Table
from quadric.tables.table import text_column

OFFSETS = (0.0, 1.0, -1.0, 0.5, -0.5)
"""Rows lie this many scales from the center, a different one from input to input."""


def made_up_rows(view: FittedModel) -> Table:
    """A few rows around the center of the training data, with all sorts of levels; in the last one, values are missing."""
    columns = []
    for i, column in enumerate(view.inputs):
        values: list[Any] = [np.nan] * len(OFFSETS)
        if column.categories:
            values = [column.categories[(i + row) % len(column.categories)] for row in range(len(OFFSETS))]
        elif column.type == "number":
            j = int(np.flatnonzero(view.blocks == i)[0])
            values = [float(f"{view.center[j] + offset * view.scale[j]:.4g}") for offset in _turned(i)]
        values.append(None if i % 2 == 0 and view.accepts_missing else values[0])
        columns.append(text_column(values) if column.type == "category" else np.array(values, dtype=float))
    n_rows = len(OFFSETS) + view.accepts_missing
    return Table(tuple(view.input_names), tuple(column[:n_rows] for column in columns))


def _turned(by: int) -> list[float]:
    """The offsets, begun at another one for each input: in the same order everywhere, products would all be squares."""
    start = by % len(OFFSETS)
    return [*OFFSETS[start:], *OFFSETS[:start]]
