"""Tables in parts as coded samples: what each column is for, what a first look tells, and the rows as features and codes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from quadric.errors import ParameterError, quoted, refuse_unknown
from quadric.samples.folds import key_of
from quadric.samples.source import SampleBatch, SampleSource, State
from quadric.samples.target import Target
from quadric.tables.encoder import TableEncoder
from quadric.tables.facts import ColumnFacts, MixedColumnError
from quadric.tables.inputs import missing_cells, truth_numbers
from quadric.tables.parts import TableParts
from quadric.tables.table import Table, check_names
from quadric.tables.targets import refuse_missing_labels, sorted_classes
from quadric.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class LabelledColumns:
    """Which columns of a stream are the labels, the weights, the groups and the inputs.

    Attributes
    ----------
    target : str
    inputs : tuple of str
    sample_weight, groups : str or None
    needs_labels : bool
        Whether a row without a label is an error; otherwise it is left out.
    """

    target: str
    inputs: tuple[str, ...]
    sample_weight: str | None = None
    groups: str | None = None
    needs_labels: bool = True

    @staticmethod
    def of(
        names: Sequence[str],
        target: str,
        columns: Sequence[str] | None = None,
        sample_weight: str | None = None,
        groups: str | None = None,
    ) -> LabelledColumns:
        """Checked against the names of a table; by default all other columns are inputs."""
        special = [name for name in (target, sample_weight, groups) if name is not None]
        refuse_unknown([*special, *(columns or ())], names, "the table")
        inputs = tuple(name for name in names if name not in special) if columns is None else tuple(columns)
        check_names(inputs)
        twice = [name for name in inputs if name in special]
        if twice or not inputs:
            raise ValueError(
                f"{quoted(twice[0])} cannot be a feature as well" if twice else "the table has no columns to learn from"
            )
        return LabelledColumns(target, inputs, sample_weight, groups)

    def weights(self, table: Table) -> FloatArray:
        """Of the rows of a table; at least zero, and finite."""
        if self.sample_weight is None:
            return np.ones(table.n_rows)
        weight = truth_numbers(table[self.sample_weight])
        if weight.dtype.kind != "f" or not (np.isfinite(weight) & (weight >= 0.0)).all():
            raise ValueError(f"the weights {quoted(self.sample_weight)} must be finite numbers of at least 0, in every row")
        return weight

    def labels(self, table: Table) -> tuple[tuple[str, ...], IntArray]:
        """Labels that rows of a table have, and the position of each row's: -1 without one; an error where all need one."""
        names, places = table.distinct_labels(self.target)
        if self.needs_labels:
            refuse_missing_labels(names, places, table.first_row)
        found = {int(place): str(names[place]) for place in np.unique(places) if names[place] is not None}
        positions = np.full(len(names), -1)
        positions[list(found)] = np.arange(len(found))
        return tuple(found.values()), positions[places]

    def keys(self, table: Table) -> IntArray | None:
        """Numbers for the groups of the rows, the same for the same text everywhere."""
        if self.groups is None:
            return None
        if (column := table[self.groups]).dtype.kind == "M":
            days, places = np.unique(column, return_inverse=True)
            names = [None if np.isnat(day) else str(day) for day in days]
        else:
            names, places = table.distinct_labels(self.groups)
        missing = np.flatnonzero(np.array([name is None for name in names], dtype=bool)[places])
        if len(missing):
            row = table.first_row + int(missing[0])
            raise ParameterError(f"the column {quoted(self.groups)} of groups has no value in row {row}", groups=None)
        return np.array([key_of(str(name)) for name in names], dtype=np.int64)[places]


def codes_of(names: Sequence[str], places: IntArray, classes: Sequence[str]) -> IntArray:
    """Labels, by their names and the position of each row's, as positions among known classes; an error for others."""
    unknown = set(names).difference(classes)
    if unknown:
        raise ValueError(f"the target has the class {quoted(min(unknown))}, which is not one of {', '.join(classes)}")
    return np.array([list(classes).index(name) for name in names], dtype=np.intp)[places]


@dataclass(frozen=True, eq=False)
class LearnedTable:
    """What a first pass tells of a table; ``+`` adds other rows.

    Attributes
    ----------
    facts : tuple of ColumnFacts
        Of the inputs, in the rows that are used.
    all_facts : tuple of ColumnFacts
        Of the inputs, in all rows that have a label.
    class_counts : dict
        Rows of each label that are used, in the order in which labels appear; 0 where all of them are left out.
    n_unlabelled : int
        Rows that are left out because they have no label; nothing else counts them.
    """

    facts: tuple[ColumnFacts, ...]
    all_facts: tuple[ColumnFacts, ...]
    class_counts: dict[str, int]
    n_unlabelled: int = 0

    def __add__(self, other: LearnedTable) -> LearnedTable:
        names = {**self.class_counts, **other.class_counts}  # a Counter would drop counts of zero
        return LearnedTable(
            tuple(one + two for one, two in zip(self.facts, other.facts, strict=True)),
            tuple(one + two for one, two in zip(self.all_facts, other.all_facts, strict=True)),
            {name: self.class_counts.get(name, 0) + other.class_counts.get(name, 0) for name in names},
            self.n_unlabelled + other.n_unlabelled,
        )

    @property
    def missing(self) -> dict[str, int]:
        """Missing values by column, where there are any."""
        return {facts.name: facts.n_missing for facts in self.all_facts if facts.n_missing}

    @property
    def n_dropped(self) -> int:
        """Rows that are left out because values are missing."""
        all_rows, used = (facts[0].n_present + facts[0].n_missing for facts in (self.all_facts, self.facts))
        return all_rows - used

    def two_valued(self, encoder: TableEncoder) -> list[bool]:
        """Which features of an encoder that was fitted to the facts have at most two values."""
        found = []
        for feature in encoder.features_:
            facts = self.facts[feature.input]
            filled = (encoder.inputs_[feature.input].fill,) if facts.n_missing else ()
            values = facts.levels if facts.kind == "O" else {*facts.values, *filled}
            found.append(feature.kind in ("level", "missing") or len(values) <= 2)
        return found


def learn_table(
    parts: TableParts, columns: LabelledColumns, encoder: TableEncoder, *, drops: bool = False
) -> tuple[TableParts, LearnedTable]:
    """Look once at all rows; again where a column of a CSV file is numbers in some of its parts only, and texts in all then.

    Parameters
    ----------
    parts : TableParts
    columns : LabelledColumns
    encoder : TableEncoder
        Need not be fitted: it says how columns are cleaned, and which of them cannot be used.
    drops : bool
        Whether rows with missing values are left out.

    Returns
    -------
    TableParts and LearnedTable
        The table as it is to be read from now on, and what is in it.
    """
    try:
        found = parts.total(partial(_learned, columns=columns, encoder=encoder, drops=drops))
    except MixedColumnError as error:
        again = parts.with_text(error.name)
        if again is None:
            raise
        return learn_table(again, columns, encoder, drops=drops)
    assert found is not None
    if not found.class_counts:  # no column has values then, which would be told instead
        sorted_classes((), found.n_unlabelled)
    encoder.check_facts(found.all_facts)  # of all rows: a column without values is not the same as no row without gaps
    return parts, found


def _learned(table: Table, columns: LabelledColumns, encoder: TableEncoder, drops: bool) -> LearnedTable:
    cleaned, (names, places) = encoder.cleaned(table, columns.inputs), columns.labels(table)
    labelled = places >= 0
    if not labelled.all():
        cleaned, places = cleaned[labelled], places[labelled]
    kept = complete(cleaned) if drops else np.ones(cleaned.n_rows, dtype=bool)
    facts, counts = encoder.facts(cleaned), np.bincount(places[kept], minlength=len(names))
    used = facts if kept.all() else encoder.facts(cleaned[kept])
    return LearnedTable(used, facts, dict(zip(names, counts.tolist(), strict=True)), int((~labelled).sum()))


def complete(table: Table) -> BoolArray:
    """Rows without missing values."""
    return ~np.logical_or.reduce([missing_cells(table[name]) for name in table])


class TableSource(SampleSource):
    """Samples made of the parts of a table.

    Parameters
    ----------
    parts : TableParts
    rows : function of a Table
        Makes samples of its rows, of which there may be none; not a closure, like passes.
    n_features, n_classes : int
    class_rows : array of shape (n_classes,), optional
    """

    def __init__(
        self,
        parts: TableParts,
        rows: Callable[[Table], SampleBatch],
        n_features: int,
        n_classes: int,
        class_rows: IntArray | None = None,
    ) -> None:
        self.parts, self._samples_of, self.is_local, self.is_read = parts, rows, parts.is_local, parts.is_local
        self.n_features, self.n_classes, self.class_rows = n_features, n_classes, class_rows

    def total(self, of: Callable[[SampleBatch], State]) -> State:
        total = self.parts.total(partial(_of_samples, of=of, rows=self._samples_of))
        if total is None:
            raise ValueError("the table has no rows that can be used")
        return total

    def check_unchanged(self) -> None:
        """Refuse files that are not those of the first pass."""
        self.parts.check_unchanged()


def _of_samples(table: Table, of: Callable[[SampleBatch], Any], rows: Callable[[Table], SampleBatch]) -> Any:
    batch = rows(table)
    return of(batch) if len(batch.ids) else None


def coded_source(
    parts: TableParts,
    columns: LabelledColumns,
    encoder: TableEncoder,
    class_names: Sequence[str],
    class_counts: Mapping[str, int],
    *,
    drops: bool = False,
) -> TableSource:
    """Coded samples of the rows of a table; rows without weight are gone.

    Parameters
    ----------
    parts : TableParts
    columns : LabelledColumns
    encoder : fitted TableEncoder
    class_names : sequence of str
        Labels in the order of their codes.
    class_counts : mapping
        Rows of each label.
    drops : bool
        Whether rows with missing values are left out.

    Returns
    -------
    TableSource
    """
    rows = partial(_coded, columns=columns, encoder=encoder, class_names=tuple(class_names), drops=drops)
    class_rows = np.array([class_counts[name] for name in class_names])
    return TableSource(parts, rows, len(encoder.features_), len(class_rows), class_rows)


def _coded(
    table: Table, columns: LabelledColumns, encoder: TableEncoder, class_names: tuple[str, ...], drops: bool
) -> SampleBatch:
    weight, keys, (names, places) = columns.weights(table), columns.keys(table), columns.labels(table)
    kept, ids = (weight > 0.0) & (places >= 0), np.arange(table.n_rows) + table.first_row
    if drops:
        kept &= complete(encoder.cleaned(table, columns.inputs))
    if not kept.all():
        table = Table(table.names, table[kept].columns, first_row=table.first_row)
        weight, ids, keys, places = weight[kept], ids[kept], None if keys is None else keys[kept], places[kept]
    codes = codes_of(names, places, class_names)
    X = encoder.coded(table, "F") if table.n_rows else np.empty((0, len(encoder.features_)))
    return SampleBatch(X, Target(codes, np.ones(len(class_names))), weight, ids, keys)
