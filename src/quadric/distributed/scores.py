"""What a model makes of the rows of a frame of pandas, as more columns: those of the SQL export."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quadric.errors import quoted
from quadric.export import SavedModel
from quadric.fitted import Model
from quadric.tables.table import as_table
from quadric.workflow.scoring import TableModel


@dataclass(frozen=True, eq=False)
class ScoredFrame:
    """A function that adds scores, probabilities (where the model is calibrated) and labels to a frame.

    Attributes
    ----------
    model : TableModel
    prefix : str
        Put before the names of the new columns.
    """

    model: TableModel
    prefix: str

    @staticmethod
    def of(model: Model, columns: Sequence[str], prefix: str) -> ScoredFrame:
        """Checked against the columns of a frame."""
        scores = ScoredFrame(TableModel(SavedModel.of(model)), prefix)
        check_columns(scores.model, columns, scores.names)
        return scores

    @property
    def names(self) -> list[str]:
        """Of the new columns."""
        return list(self.model.outputs(self.prefix).names)

    def __call__(self, frame: Any) -> Any:
        if not len(frame):
            return self.added(frame)
        try:
            found = self.model.scores(as_table(frame))
        except ValueError as error:
            raise ValueError(f"{str(error).splitlines()[0]} (rows are counted within a partition)") from None
        labels = np.array(self.model.class_names, dtype=object)[found.codes]
        return frame.assign(**dict(zip(self.names, [*found.numbers, labels], strict=True))).astype({self.names[-1]: "string"})

    def added(self, frame: Any) -> Any:
        """A frame without rows, with the new columns."""
        *numbers, label = self.names
        return frame.assign(**dict.fromkeys(numbers, np.empty(0)), **{label: ""}).astype({label: "string"})


def check_columns(model: TableModel, columns: Sequence[str], new: Sequence[str]) -> None:
    """Refuse frames that lack columns of a model, or that have the new ones already."""
    from quadric.errors import unknown_names

    absent = [name for name in model.view.needed if name not in columns]
    if absent:
        raise ValueError(unknown_names(absent, columns, "the table"))
    names = {name.lower() for name in new}  # Spark takes no notice of case
    taken = [name for name in columns if name.lower() in names]
    if taken:
        raise ValueError(f"the table has a column {quoted(taken[0])} already: choose another prefix")
