"""Models that were saved, and tables that they are to judge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from quadric.export import SavedModel
from quadric.fitted import FittedModel, fitted_model
from quadric.tables import Table
from quadric.tables.table import number_text
from quadric.types import FloatArray, IntArray
from quadric.workflow.preparation import complete_rows


@dataclass(frozen=True, eq=False)
class Scores:
    """What a model makes of some rows.

    Attributes
    ----------
    decision : array of shape (m,) for two classes, (m, n_classes) otherwise
    codes : array of shape (m,)
        Position of the predicted class.
    probabilities : array of shape (m, n_classes) or None
        None where the model is not calibrated.
    """

    decision: FloatArray
    codes: IntArray
    probabilities: FloatArray | None


@dataclass(frozen=True, eq=False)
class TableModel:
    """A saved model as something that takes tables.

    Attributes
    ----------
    saved : SavedModel
    """

    saved: SavedModel

    @cached_property
    def view(self) -> FittedModel:
        """The model taken apart."""
        return fitted_model(self.saved.model)

    @property
    def class_names(self) -> tuple[str, ...]:
        """In the order of the classifier's labels."""
        return self.saved.class_names or self.view.class_texts

    @cached_property
    def input_names(self) -> tuple[str, ...]:
        """Columns that the model uses."""
        return tuple(column.name for column in self.view.inputs if column.type != "unused")

    @property
    def text_names(self) -> tuple[str, ...]:
        """Columns to be read as texts."""
        return tuple(column.name for column in self.view.inputs if column.type == "category")

    @property
    def missing_texts(self) -> list[str] | None:
        """Texts that meant a missing value in the file that the model was fitted to."""
        recorded = self.saved.metadata.get("missing_texts")
        return recorded if isinstance(recorded, list) and all(isinstance(text, str) for text in recorded) else None

    def inputs(self, table: Table) -> Table:
        """The columns that the model takes.

        Parameters
        ----------
        table : Table
            Other columns are left out.

        Returns
        -------
        Table
        """
        absent = [name for name in self.input_names if name not in table.names]
        if absent:
            more = f" (and {len(absent) - 1} more)" if len(absent) > 1 else ""
            raise ValueError(f"the table has no column {absent[0]!r}{more}, which the model needs")
        return Table(self.input_names, tuple(table[name] for name in self.input_names), first_row=table.first_row)

    def scores(self, table: Table) -> Scores:
        """Decision values, classes and probabilities.

        Parameters
        ----------
        table : Table
            A row whose score overflows is refused.

        Returns
        -------
        Scores
        """
        with np.errstate(over="ignore", invalid="ignore"):
            decision = self.view.decision(self.inputs(table))
        # overflow comes from inputs far beyond those of the fit; a label made of it would be arbitrary
        rows = np.flatnonzero(~np.isfinite(decision.reshape(len(decision), -1)).all(axis=1))
        if len(rows):
            raise ValueError(f"row {table.first_row + rows[0]} has no finite score: its values are too large for the model")
        return Scores(decision, *self.view.decided(decision))

    def code_of(self, name: str) -> int:
        """Position of a class by its name.

        Parameters
        ----------
        name : str

        Returns
        -------
        int
        """
        if name not in self.class_names:
            raise ValueError(f"the model has no class {name!r}; it has {', '.join(map(repr, self.class_names))}")
        return self.class_names.index(name)

    def labelled(self, table: Table) -> tuple[Table, np.ndarray]:
        """The rows that a training run would have used, and their labels.

        Parameters
        ----------
        table : Table
            With the target column.

        Returns
        -------
        Table, and array of shape (m,)
        """
        target = self.saved.target
        if target is None:
            raise ValueError("the model file does not say which column is the target")
        if target not in table.names:
            raise ValueError(f"the table has no column {target!r}, which is the target of the model")
        y = self.view.classes[[self._target_code(value, row) for row, value in enumerate(table[target].tolist(), start=1)]]
        if not self._drops_incomplete_rows():
            return table, y
        kept = complete_rows(self.inputs(table))
        return table[kept], y[kept]

    def _target_code(self, value: Any, row: int) -> int:
        if value is None or value != value:
            raise ValueError(f"the target is missing in row {row}")
        return self.code_of(value if isinstance(value, str) else number_text(value))

    def _drops_incomplete_rows(self) -> bool:
        history = self.saved.metadata.get("training")
        options = history.get("options") if isinstance(history, dict) else None
        return isinstance(options, dict) and options.get("missing") == "drop"
