"""Values of new data that the training data of a model did not have, and what the model makes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from quadric.fitted import FittedModel
from quadric.tables import InputColumn, Table
from quadric.tables.inputs import cells_like, missing_cells
from quadric.tables.table import number_text

# Unknown levels that are shown
FEW = 3


@dataclass(frozen=True)
class Surprises:
    """Counts of rows with such values, by column; ``+`` adds those of other rows.

    Attributes
    ----------
    missing : Counter
        Missing values in columns that had none when the model was fitted.
    unknown : dict of Counter
        Levels that the model does not know: new ones, and rare ones that it does not tell apart from these.
    """

    missing: Counter[str] = field(default_factory=Counter)
    unknown: dict[str, Counter[str]] = field(default_factory=dict)

    def __add__(self, other: Surprises) -> Surprises:
        names = dict.fromkeys([*self.unknown, *other.unknown])
        both = {name: self.unknown.get(name, Counter()) + other.unknown.get(name, Counter()) for name in names}
        return Surprises(self.missing + other.missing, both)

    @staticmethod
    def of(view: FittedModel, rows: Table, familiar: frozenset[str]) -> Surprises:
        """Of rows as ``FittedModel.rows`` gives them.

        Parameters
        ----------
        view : FittedModel
        rows : Table
        familiar : frozenset of str
            Columns that had missing values when the model was fitted.

        Returns
        -------
        Surprises
        """
        missing: Counter[str] = Counter()
        unknown: dict[str, Counter[str]] = {}
        for column in (column for column in view.inputs if column.name in view.needed):
            values = rows[column.name]
            absent = missing_cells(values)
            if absent.any() and column.fill is not None and column.name not in familiar:
                missing[column.name] = int(absent.sum())
            if column.type == "category":
                cells, levels = cells_like(values, column.categories), {None, *column.categories}
                present = (
                    str(cell) for cell, is_absent in zip(cells, absent, strict=True) if not is_absent and cell not in levels
                )
                new = Counter(text for text in present if text.lower() != column.other)  # a level can be called so
                if new:
                    unknown[column.name] = new
        return Surprises(missing, unknown)

    def words(self, view: FittedModel) -> Iterator[str]:
        """A sentence for each column.

        Parameters
        ----------
        view : FittedModel

        Yields
        ------
        str
        """
        columns = {column.name: column for column in view.inputs}
        for name, count in self.missing.items():
            yield f"{_rows(count)} with missing values in {name}: scored {_shown(columns[name])}"
        for name, levels in self.unknown.items():
            some = ", ".join([*(repr(level[:40]) for level, _ in levels.most_common(FEW)), *["..."] * (len(levels) > FEW)])
            group = columns[name].other or columns[name].dropped
            yield f"{_rows(levels.total())} with rare or new levels in {name} ({some}): scored as {group}"


def _rows(count: int) -> str:
    return f"{count} row{'s' * (count != 1)}"


def _shown(column: InputColumn) -> str:
    fill = column.fill
    if column.origin is not None:
        return f"with {np.datetime64(column.origin, 'D') + np.timedelta64(round(float(fill or 0.0)), 'D')}"
    return f"as {fill}" if isinstance(fill, str) else f"with {number_text(float(f'{fill:.4g}'))}"
