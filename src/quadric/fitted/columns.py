"""Columns of raw data, and the features that a model makes of them: tables, reported units, fitted units."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from quadric.errors import Troubles, refuse_unknown
from quadric.fitted.steps import Variable
from quadric.geometry.terms import term_names
from quadric.labels import refuse_masked
from quadric.samples.units import Units
from quadric.tables import CodedFeature, InputColumn, Table, as_table
from quadric.tables.dates import dates_after
from quadric.tables.inputs import coded_values, missing_cells
from quadric.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Columns:
    """What the surfaces of a model are functions of.

    Attributes
    ----------
    inputs : tuple of InputColumn
        Columns of raw data, in the order in which the model takes them.
    variables : tuple of Variable
        Features of the inputs, capped, centred and scaled.
    has_names : bool
        Whether the model was fitted to named columns.
    """

    inputs: tuple[InputColumn, ...]
    variables: tuple[Variable, ...]
    has_names: bool

    @cached_property
    def features(self) -> tuple[CodedFeature, ...]:
        return tuple(variable.feature for variable in self.variables)

    @property
    def n_features(self) -> int:
        """Of the surfaces."""
        return len(self.variables)

    @cached_property
    def names(self) -> list[str]:
        """Of the features: "age", "home=own", "age is missing"."""
        return [feature.name for feature in self.features]

    @property
    def term_names(self) -> list[str]:
        """Of all terms, in the order of ``coef_``."""
        return term_names(self.names)

    @cached_property
    def input_names(self) -> list[str]:
        return [column.name for column in self.inputs]

    @cached_property
    def units(self) -> Units:
        """From reported units to those in which the surfaces are written: capped, centred and scaled."""
        names = ("low", "high", "center", "scale")
        low, high, center, scale = (np.array([getattr(variable, name) for variable in self.variables]) for name in names)
        return Units(low, high, center, scale)

    @cached_property
    def blocks(self) -> IntArray:
        """Position of the input column of each feature."""
        return np.array([feature.input for feature in self.features], dtype=np.intp)

    @cached_property
    def numeric(self) -> BoolArray:
        """Features that are numbers and that alone (apart from a missing-value flag) depend on their column."""
        counted = [feature.input for feature in self.features if feature.kind != "missing"]
        return np.array([f.kind == "number" and counted.count(f.input) == 1 for f in self.features], dtype=bool)

    @property
    def accepts_missing(self) -> bool:
        """Whether every column that is used may have missing values."""
        return all(feature.missing is not None for feature in self.features)

    @cached_property
    def is_plain(self) -> bool:
        """Whether the features are the input columns themselves, in order, and none of them is filled in."""
        kinds = [(feature.kind, feature.input, feature.missing) for feature in self.features]
        numbers = [("number", i, None) for i in range(len(self.inputs))]
        return kinds == numbers and all(column.origin is None for column in self.inputs)

    def by_column(self, values: FloatArray) -> FloatArray:
        """Sums over the features of each input column.

        Parameters
        ----------
        values : array of shape (m, n)
            One per feature.

        Returns
        -------
        array of shape (m, n_inputs)
        """
        if self.is_plain:
            return values
        out = np.zeros((len(self.inputs), len(values)))
        np.add.at(out, self.blocks, values.T)
        return out.T

    def rows(self, X: Any, needed: Collection[str] | None = None) -> Table:
        """Raw rows as a table of the inputs, found by name in tables, frames and mappings of columns.

        Parameters
        ----------
        X : rows as the model takes them, Table, or mapping of columns
        needed : collection of str, optional
            Columns that matter: others may be absent or hold anything, and get values that the model takes.

        Returns
        -------
        Table
        """
        refuse_masked(X=X)
        table = as_table(X, self.input_names)
        if not isinstance(X, Table | Mapping) and not self.has_names and len(table.names) == len(self.inputs):
            table = replace(table, names=tuple(self.input_names))  # a frame for a model that knows no names: by position
        wanted = [
            column.name for column in self.inputs if column.type != "unused" and (needed is None or column.name in needed)
        ]
        refuse_unknown(wanted, table.names, "the table", note=", which the model needs")
        columns = []
        troubles = Troubles("{} columns do not suit the model")
        for column in self.inputs:
            with troubles.noted():
                if column.name in wanted:
                    columns.append(column.cleaned(table[column.name], table.first_row))
                else:
                    columns.append(np.full(len(table), np.nan) if column.type == "unused" else column.stand_in(len(table)))
        troubles.tell()
        return Table(tuple(self.input_names), tuple(columns), first_row=table.first_row)

    def cases(self, X: Any) -> Table | FloatArray:
        """Rows of which :meth:`changed` can change numbers: an array of numbers where that will do, which is quicker.

        Parameters
        ----------
        X : rows as the model takes them, Table, or mapping of columns

        Returns
        -------
        Table or array
        """
        refuse_masked(X=X)
        if self.is_plain and isinstance(X, np.ndarray) and X.dtype.kind in "biuf" and X.shape[1:] == (self.n_features,):
            return np.ascontiguousarray(X, dtype=np.float64)
        return self.rows(X)

    def missing(self, cases: Table | FloatArray) -> BoolArray:
        """Whether the column that a feature depends on has no value.

        Parameters
        ----------
        cases : Table or array
            As :meth:`cases` gives it.

        Returns
        -------
        array of shape (m, n)
        """
        if not isinstance(cases, Table):
            return np.isnan(cases)
        return np.column_stack([missing_cells(column) for column in cases.columns])[:, self.blocks]

    def reported(self, X: Any) -> FloatArray:
        """Features of rows in reported units: numbers as in the data, missing ones filled in, and codes.

        Parameters
        ----------
        X : rows as the model takes them, or Table

        Returns
        -------
        array of shape (m, n)
            NaN where a value is refused.
        """
        rows = self.cases(X)
        if not isinstance(rows, Table):
            return rows
        out = np.empty((len(rows), self.n_features))
        for i in np.unique(self.blocks):
            own = np.flatnonzero(self.blocks == i)
            values = self.inputs[i].numbers(rows.columns[i])
            out[:, own] = coded_values(values, [self.variables[j].feature for j in own])
        return out

    def changed(self, cases: Table | FloatArray, before: FloatArray, after: FloatArray) -> Table | FloatArray:
        """Rows in which some numbers are others.

        Parameters
        ----------
        cases : Table or array
            As :meth:`cases` or :meth:`rows` gives it.
        before, after : arrays of shape (m, n)
            Its features in reported units; values that are equal stay what they are in the table, missing ones too.

        Returns
        -------
        Table or array
        """
        if not isinstance(cases, Table):
            return after
        columns = list(cases.columns)
        for j in np.flatnonzero(self.numeric):
            column, origin = columns[self.blocks[j]], self.inputs[self.blocks[j]].origin
            moved = after[:, j] if origin is None else dates_after(after[:, j], origin)
            columns[self.blocks[j]] = np.where(after[:, j] == before[:, j], column, moved)
        return replace(cases, columns=tuple(columns))
