"""Columns of a table as the numeric features of a classifier: one-hot or ordinal codes, and what to do with missing values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from quadric.errors import ParameterError
from quadric.estimators._validation import check_parameters, integer_from, one_of
from quadric.labels import refuse_masked
from quadric.tables.inputs import InputColumn, Level, cells_like, coded_features, coded_values, missing_cells
from quadric.tables.table import Rows, Table, as_table, is_number_text
from quadric.types import BoolArray, FloatArray, IntArray


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turns a table into numbers: numbers stay as they are, texts become one feature per level or one rank.

    Parameters
    ----------
    coding : {"onehot", "ordinal"}
        "onehot": one feature per level, dropping the most frequent one (of several, the first in alphabetical order).
        "ordinal": the position of the level in alphabetical order.
    missing : {"refuse", "impute", "indicator"}
        "refuse": an error. "impute": the mean of a number, the most frequent level. "indicator": impute, and add a
        missing-value flag to columns that had missing values when fitted.
    unseen : {"refuse", "as_dropped"}
        What happens to a level that was not there when fitted: an error, or it counts like the dropped level, as none of the
        others (only with "onehot").
    max_levels : int
        A text column with more levels is refused: most likely it is an identifier.

    Attributes
    ----------
    input_names_ : tuple of str
        Columns, in the order of fitting.
    inputs_ : tuple of InputColumn
    features_ : tuple of CodedFeature
    blocks_ : array of shape (n_features_out,)
        Position of the column that each feature comes from.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    Examples
    --------
    >>> from quadric.tables import TableEncoder
    >>> encoder = TableEncoder().fit({"age": [30, 40, 50], "home": ["own", "rent", "own"]})
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'home=rent']
    >>> encoder.transform({"age": [20], "home": ["rent"]}).tolist()
    [[20.0, 1.0]]
    """

    _rules = {
        "coding": one_of("onehot", "ordinal"),
        "missing": one_of("refuse", "impute", "indicator"),
        "unseen": one_of("refuse", "as_dropped"),
        "max_levels": integer_from(2),
    }

    def __init__(
        self, *, coding: str = "onehot", missing: str = "refuse", unseen: str = "refuse", max_levels: int = 100
    ) -> None:
        self.coding = coding
        self.missing = missing
        self.unseen = unseen
        self.max_levels = max_levels

    def fit(self, X: Rows, y: None = None) -> Self:
        """Learn the levels of text columns and the values that stand for missing ones.

        Parameters
        ----------
        X : Table, frame, mapping of columns, or array-like of shape (m, n)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        if self.unseen == "as_dropped" and self.coding == "ordinal":
            raise ValueError("unseen='as_dropped' needs coding='onehot': an unknown level has no rank")
        table = as_table(_checked_rows(X))
        if not table.names or table.n_rows == 0:
            raise ValueError("the table has no columns" if not table.names else "the table has no rows")
        return self._set_inputs(
            [self._learned(name, column, table) for name, column in zip(table.names, table.columns, strict=True)]
        )

    @classmethod
    def from_inputs(cls, inputs: Sequence[InputColumn], **parameters: Any) -> Self:
        """A fitted encoder from what another one has learned.

        Parameters
        ----------
        inputs : sequence of InputColumn
        **parameters : Any
            Of the constructor.

        Returns
        -------
        TableEncoder
        """
        encoder = cls(**parameters)
        check_parameters(encoder, cls._rules)
        return encoder._set_inputs(inputs)

    def _set_inputs(self, inputs: Sequence[InputColumn]) -> Self:
        self.inputs_ = tuple(inputs)
        self.input_names_ = tuple(column.name for column in inputs)
        self.feature_names_in_ = np.array(self.input_names_, dtype=object)
        self.n_features_in_ = len(inputs)
        self.features_ = coded_features(inputs, self.coding, self.unseen)
        self.blocks_: IntArray = np.array([feature.input for feature in self.features_], dtype=np.intp)
        return self

    def _learned(self, name: str, column: np.ndarray, table: Table) -> InputColumn:
        absent = missing_cells(column)
        if absent.all():
            raise ValueError(f"column {name!r} has no values: drop it")
        if absent.any() and self.missing == "refuse":
            raise _refused_missing(name, absent, table)
        indicator = self.missing == "indicator" and bool(absent.any())
        if column.dtype != object:
            _refuse_infinite(name, column, table)
            fill = None if self.missing == "refuse" else float(column[~absent].mean())
            return InputColumn(name, "number", fill=fill, indicator=indicator)
        counts = Counter(column[~absent].tolist())
        if len(counts) > self.max_levels:
            raise _too_many_levels(name, sorted(counts), self.max_levels)
        common = min(counts, key=lambda level: (-counts[level], level))
        return InputColumn(
            name,
            "category",
            tuple(sorted(counts)),
            common if self.coding == "onehot" else None,
            None if self.missing == "refuse" else common,
            indicator,
        )

    def transform(self, X: Rows) -> FloatArray:
        """The features of each row.

        Parameters
        ----------
        X : Table, frame, mapping of columns, or array-like of shape (m, n)
            Columns are found by name, in any order; others are ignored (see :meth:`extra_columns`). Those of an array are
            taken in the order of fitting.

        Returns
        -------
        array of shape (m, n_features_out)
        """
        check_is_fitted(self)
        table = as_table(_checked_rows(X, self.n_features_in_), self.input_names_)
        absent = [name for name in self.input_names_ if name not in table.names]
        if absent:
            more = f" (and {len(absent) - 1} more)" if len(absent) > 1 else ""
            raise ValueError(f"the table has no column {absent[0]!r}{more}; it has {_listed(table.names)}")
        out = np.empty((table.n_rows, len(self.features_)))
        for i, column in enumerate(self.inputs_):
            own = np.flatnonzero(self.blocks_ == i)
            out[:, own] = coded_values(self._checked(column, table), [self.features_[j] for j in own])
        return out

    def _checked(self, column: InputColumn, table: Table) -> np.ndarray:
        """The values of a column, none of which is refused."""
        raw: np.ndarray = table[column.name]
        absent = missing_cells(raw)
        if column.fill is None and absent.any():
            raise _refused_missing(column.name, absent, table)
        if column.type == "number":
            return _as_numbers(column, raw, absent, table)
        if self.unseen == "refuse":
            values, levels = cells_like(raw, column.categories), {None, *column.categories}
            unseen = [row for row, value in enumerate(values) if value not in levels]
            if unseen:
                raise ValueError(
                    f"column {column.name!r}, row {table.first_row + unseen[0]}: {values[unseen[0]]!r} was not there when "
                    f"fitted ({len(unseen)} such row(s)); the known levels are {_listed(column.categories)}"
                )
        return raw

    def extra_columns(self, X: Rows) -> list[str]:
        """Names of the columns of a table that the encoder ignores.

        Parameters
        ----------
        X : Table, frame or mapping of columns

        Returns
        -------
        list of str
        """
        check_is_fitted(self)
        return [name for name in as_table(X, self.input_names_).names if name not in self.input_names_]

    @property
    def text_names(self) -> tuple[str, ...]:
        """Columns that hold categories: what ``read_table`` and ``read_chunks`` need as ``text`` for new data."""
        check_is_fitted(self)
        return tuple(column.name for column in self.inputs_ if column.type == "category")

    def get_feature_names_out(self, input_features: None = None) -> np.ndarray:
        """Names of the features: "age", "housing=rent", "age is missing".

        Parameters
        ----------
        input_features : None
            Ignored: the names are those of fitting.

        Returns
        -------
        array of str
        """
        check_is_fitted(self)
        return np.array([feature.name for feature in self.features_], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.allow_nan = self.missing != "refuse"
        return tags


def _checked_rows(X: Any, n_features: int | None = None) -> Any:
    """Arrays as scikit-learn checks them: dense, real, not empty, of two dimensions and the right width; others as they are."""
    if not (isinstance(X, np.ndarray) or issparse(X)):
        return X
    refuse_masked(X=X)
    X = check_array(X, dtype=None, ensure_all_finite=False, input_name="X")
    if n_features not in (None, X.shape[1]):
        raise ValueError(f"X has {X.shape[1]} features, but TableEncoder is expecting {n_features} features as input")
    return X


def structural_exclusions(encoder: TableEncoder, X: FloatArray) -> list[tuple[int, int]]:
    """Pairs of features whose product is redundant with their linear terms, for ``exclude``.

    These are the squares of features with at most two values, and the products of two features of one column (two levels are
    never both 1, and an imputed value does not vary).

    Parameters
    ----------
    encoder : fitted TableEncoder
    X : array of shape (m, n_features_out)
        The encoded data.

    Returns
    -------
    list of tuples (i, j)
    """
    check_is_fitted(encoder)
    X = np.asarray(X, dtype=float)
    low, high = X.min(axis=0), X.max(axis=0)
    squares = [(j, j) for j in range(X.shape[1]) if ((X[:, j] == low[j]) | (X[:, j] == high[j])).all()]
    blocks = encoder.blocks_.tolist()
    return squares + [(i, j) for i, j in combinations(range(len(blocks)), 2) if blocks[i] == blocks[j]]


def _as_numbers(column: InputColumn, raw: np.ndarray, absent: BoolArray, table: Table) -> FloatArray:
    if raw.dtype == object and not absent.all():
        row = _first_no_number(raw, absent)
        raise ValueError(f"column {column.name!r} must hold numbers; row {table.first_row + row} has {raw[row]!r}")
    numbers = np.full(len(raw), np.nan) if raw.dtype == object else raw
    _refuse_infinite(column.name, numbers, table)
    return numbers


def _first_no_number(texts: np.ndarray, absent: BoolArray) -> int:
    """Row of the first text that is no number; where all are, as in a frame of texts, of the first."""
    present = np.flatnonzero(~absent).tolist()
    return next((row for row in present if not is_number_text(texts[row])), present[0])


def _refuse_infinite(name: str, numbers: FloatArray, table: Table) -> None:
    infinite = np.flatnonzero(np.isinf(numbers))
    if len(infinite):
        raise ValueError(f"column {name!r} is infinite in row {table.first_row + infinite[0]}: replace or remove such values")


def _refused_missing(name: str, absent: BoolArray, table: Table) -> ParameterError:
    row = table.first_row + int(np.flatnonzero(absent)[0])
    return ParameterError(
        f"column {name!r} is missing in {int(absent.sum())} row(s), the first is row {row} (empty or NaN): "
        "fill it in, drop the rows, or fit with missing='impute' or 'indicator'",
        missing="impute",
    )


def _too_many_levels(name: str, levels: Sequence[str], limit: int) -> ParameterError:
    text = f"column {name!r} has {len(levels)} different texts such as {levels[0]!r}, more than {limit}"
    if all(level.replace(",", "", 1).lstrip("+-").isdigit() for level in levels):
        return ParameterError(f"{text}: write its decimal commas as points")
    return ParameterError(f"{text}: drop it if it is an identifier, or raise max_levels", ignore=name, max_levels=None)


def _listed(names: Sequence[Level]) -> str:
    return ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
