"""What new rows are compared with: distributions of the score, of the columns, and of what each term adds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from quadric.credit.stability import Distribution
from quadric.explain import contributions
from quadric.tables import Table
from quadric.types import FloatArray
from quadric.workflow.scoring import Scores, TableModel

# Relative to the largest score: values that are nearer to each other are the same
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Values:
    """What is compared of rows.

    Attributes
    ----------
    scores, columns, terms : mappings of str to array
        Decision values; the columns that the model uses, cleaned; and what each term adds, by the names of the terms.
    judged : Scores
    """

    scores: Mapping[str, FloatArray]
    columns: Mapping[str, np.ndarray]
    terms: Mapping[str, FloatArray]
    judged: Scores

    @staticmethod
    def of(model: TableModel, table: Table) -> Values:
        """Of raw rows.

        Parameters
        ----------
        model : TableModel
        table : Table
        """
        view, rows = model.view, model.inputs(table, only_needed=True)
        classes = [None] if len(view.surfaces) == 1 else view.classes.tolist()
        with np.errstate(over="ignore", invalid="ignore"):
            parts = [contributions(view, rows, target=label) for label in classes]
        decision = parts[0].decision if len(parts) == 1 else np.column_stack([part.decision for part in parts])
        heads = [""] if len(parts) == 1 else [f"{name}: " for name in model.class_names]
        return Values(
            scores=dict(zip(model.outputs().scores, [part.decision for part in parts], strict=True)),
            columns={name: rows[name] for name in rows if name in view.needed},
            terms={f"{h}{name}": v for h, p in zip(heads, parts, strict=True) for name, v in _named_values(p)},
            judged=model.judged(decision, table.first_row),
        )


def _named_values(part: Any) -> Iterator[tuple[str, FloatArray]]:
    return zip(part.names, part.values.T, strict=True)


@dataclass(frozen=True, eq=False)
class Reference:
    """Distributions of the rows that others are compared with; ``+`` adds rows that are counted in the same bins.

    Attributes
    ----------
    scores, columns, terms : mappings of str to Distribution
        By the names that ``Values`` has.
    """

    scores: Mapping[str, Distribution]
    columns: Mapping[str, Distribution]
    terms: Mapping[str, Distribution]

    @staticmethod
    def of(model: TableModel, table: Table) -> Reference:
        """Of raw rows.

        Parameters
        ----------
        model : TableModel
        table : Table
        """
        values, categories = Values.of(model, table), _categories(model)
        return Reference(
            scores={name: _computed(each) for name, each in values.scores.items()},
            columns={name: Distribution.of(v, levels=categories.get(name)) for name, v in values.columns.items()},
            terms={name: _computed(each) for name, each in values.terms.items()},
        )

    def like(self, values: Values) -> Reference:
        """Of other rows, in the same bins.

        Parameters
        ----------
        values : Values
        """
        kinds = (_like(mine, getattr(values, kind)) for kind, mine in vars(self).items())
        return Reference(*kinds)

    def __add__(self, other: Reference) -> Reference:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Reference(*({name: one[name] + two[name] for name in one} for one, two in pairs))

    def recorded(self) -> dict[str, Any]:
        """As plain values, for a model file."""
        return {kind: {name: each.recorded() for name, each in own.items()} for kind, own in vars(self).items()}

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> Reference:
        """What ``recorded`` wrote; whatever else a file has in its place is left out.

        Parameters
        ----------
        record : mapping
        """
        kinds = []
        for kind in ("scores", "columns", "terms"):
            own = record.get(kind)
            read = {name: Distribution.from_record(each) for name, each in own.items()} if isinstance(own, dict) else {}
            kinds.append({name: each for name, each in read.items() if each is not None})
        return Reference(*kinds)


def _computed(values: FloatArray) -> Distribution:
    """With edges a little above values: what is rounded otherwise on another day stays in its bin."""
    room = ROUNDING * max(float(np.abs(values).max()), 1.0)
    if np.ptp(values) <= room:
        return Distribution.of(values, [values.min() - room, values.max() + room])
    return Distribution.of(values, np.unique(Distribution.of(values).edges + room))


def _like(mine: Mapping[str, Distribution], values: Mapping[str, np.ndarray]) -> dict[str, Distribution]:
    return {name: each.like(values[name]) for name, each in mine.items() if name in values}


def _categories(model: TableModel) -> dict[str, list[str]]:
    """Levels that the model tells apart, of columns of texts: no others are kept."""
    return {column.name: [*map(str, column.categories)] for column in model.view.inputs if column.type == "category"}
