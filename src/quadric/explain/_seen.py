"""Where the data have been: advice to people should not lead where nobody is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from quadric.fitted import FittedModel
from quadric.tables.table import Table, holds_whole_numbers
from quadric.types import FloatArray


@dataclass(frozen=True)
class SeenValues:
    """What a population tells of the values that its rows can have.

    Attributes
    ----------
    columns : dict
        Input column of each feature that is a number.
    whole : frozenset of str
        Those features that have whole numbers only.
    lower, upper : arrays of shape (n,)
        Range of each feature in reported units; NaN where it codes a category.
    """

    columns: dict[str, str]
    whole: frozenset[str]
    lower: FloatArray
    upper: FloatArray

    @staticmethod
    def of(view: FittedModel, table: Table, V: FloatArray) -> SeenValues:
        """From the rows as they came, and in reported units."""
        columns = {view.names[j]: view.input_names[view.blocks[j]] for j in np.flatnonzero(view.numeric)}
        whole = frozenset(name for name, column in columns.items() if holds_whole_numbers(table[column]))
        lower, upper = (np.where(view.numeric, end, np.nan) for end in (V.min(axis=0), V.max(axis=0)))
        return SeenValues(columns, whole, lower, upper)

    def limits(self, case: Table, before: FloatArray) -> dict[str, Any]:
        """Parameters of ``recourse`` for one row: no value beyond the range seen, whole numbers stay whole, no gap is filled.

        Parameters
        ----------
        case : Table
            The row as it came.
        before : array of shape (n,)
            The row in reported units; it may lie outside the range itself.
        """
        return {
            "frozen": [name for name, column in self.columns.items() if np.isnan(case[column][0])],
            "lower": np.minimum(self.lower, before),
            "upper": np.maximum(self.upper, before),
            "integer": [name for name in self.columns if name in self.whole and holds_whole_numbers(case[self.columns[name]])],
        }
