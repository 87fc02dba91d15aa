"""Columns of a table as the numeric features of a classifier: one-hot or ordinal codes, and what to do with missing values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations, count
from typing import Any, Literal, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from quadric.defaults import MOST_LEVELS
from quadric.errors import ParameterError, Troubles, listed, quoted, refuse_unknown
from quadric.estimators.validation import Rule, check_parameters, integer_from, one_of
from quadric.labels import refuse_masked
from quadric.samples.recoding import NOWHERE, Coding, is_rare
from quadric.tables.facts import MOST_COUNTED, ColumnFacts
from quadric.tables.inputs import (
    OTHERS,
    InputColumn,
    cells_like,
    coded_features,
    coded_values,
    is_form,
    missing_cells,
    refuse_cells,
)
from quadric.tables.marked import Marked
from quadric.tables.suspects import suspect_texts
from quadric.tables.table import Rows, Table, as_table, number_text, text_column
from quadric.types import FloatArray, IntArray

# Difference of standardised features that counts as none
ROUNDING = 1e-9

_TEXTS = Rule(
    lambda value: not isinstance(value, str) and isinstance(value, Sequence) and all(isinstance(text, str) for text in value),
    "a sequence of texts",
)
_FORMS = Rule(
    lambda value: (
        value is None
        or (isinstance(value, Mapping) and all(isinstance(form, str) and is_form(form) for form in value.values()))
    ),
    'None or a mapping from columns to "year first", "day first", "month first", "UTC", "eight digits", or 1234.5 as written '
    "there",
)


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turns a table into numbers: numbers stay as they are, texts become one feature per level or one rank, dates become days.

    Blanks around texts count for nothing, and a text of nothing but blanks is a missing value, as None and NaN are.

    Parameters
    ----------
    coding : {"onehot", "ordinal"}
        "onehot": one feature per level, dropping the most frequent one (of several, the first in alphabetical order).
        "ordinal": the position of the level in alphabetical order.
    missing : {"refuse", "impute", "indicator"}
        "refuse": an error. "impute": the mean of a number, the most frequent level. "indicator": numbers are imputed, with a
        missing-value flag; of texts, missing is one more level. Where no (or only a few) values were missing when fitted, there
        is no flag, and a missing text counts as a new level does.
    unseen : {"refuse", "other"}
        What happens to a level that was not there when fitted: an error; or it counts as the level "other" ("rare or new" in
        columns that have a level of that name), or as the most frequent level in columns without rare levels.
    rare : {"keep", "other"}
        What happens to levels with few rows (fewer than ten, or fewer than 100 and 1 %): they stay; or they count as one level,
        "other", if that has enough rows, else as the most frequent one. Only with "onehot".
    max_levels : int
        In a text column with more levels, the less frequent ones are grouped with the rare ones; where rare levels stay, or new
        ones are refused, such a column is refused: most likely it is an identifier.
    dates : sequence of str
        Columns of dates, which become days since the earliest date of the table, with fractions where there are times. They
        hold dates, or texts such as 2024-01-31, 2024-01-31 18:30 and 2024-01-31T18:30:15.25, without a time zone.
    texts : sequence of str
        Columns of names that look like numbers or dates, such as codes: they become levels.
    missing_texts : sequence of str
        Other texts that mean a missing value, such as "NA"; upper and lower case are the same. Numbers among them ("-999")
        also count in columns of numbers.
    forms : mapping, optional
        Columns of dates that are not written as 2024-01-31, each with its form: "year first" (2024/01/31, 2024.1.31), "day
        first" (31/01/2024, 31.1.2024), "month first" (1/31/2024), "UTC" (2024-01-31T18:30Z, 2024-01-31T18:30+00:00) or "eight
        digits" (20240131). Also columns of texts that are numbers, each with the way in which 1234.5 is written there, such as
        "$1,234.5".

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
        "unseen": one_of("refuse", "other"),
        "rare": one_of("keep", "other"),
        "max_levels": integer_from(2, MOST_LEVELS),
        "dates": _TEXTS,
        "texts": _TEXTS,
        "missing_texts": _TEXTS,
        "forms": _FORMS,
    }

    def __init__(
        self,
        *,
        coding: str = "onehot",
        missing: str = "refuse",
        unseen: str = "refuse",
        rare: str = "keep",
        max_levels: int = 100,
        dates: Sequence[str] = (),
        texts: Sequence[str] = (),
        missing_texts: Sequence[str] = (),
        forms: Mapping[str, str] | None = None,
    ) -> None:
        self.coding = coding
        self.missing = missing
        self.unseen = unseen
        self.rare = rare
        self.max_levels = max_levels
        self.dates = dates
        self.texts = texts
        self.missing_texts = missing_texts
        self.forms = forms

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
        table = as_table(checked_rows(X))
        if not table.names or table.n_rows == 0:
            raise ValueError("the table has no columns" if not table.names else "the table has no rows")
        for parameter in ("dates", "texts", "forms"):
            refuse_unknown(getattr(self, parameter) or (), table.names, f"{parameter}: the table", error=ParameterError)
        return self.fit_facts(_of_all(table.names, lambda name: self._usable(name, table)))

    def _usable(self, name: str, table: Table) -> ColumnFacts:
        facts = ColumnFacts.of(name, self._cleaned(name, table), table.first_row)
        self._check_usable(facts)
        return facts

    def facts(self, table: Table) -> tuple[ColumnFacts, ...]:
        """What a table, or a part of one, tells of its columns.

        Parameters
        ----------
        table : Table
            Cleaned, as ``cleaned`` makes it.

        Returns
        -------
        tuple of ColumnFacts
        """
        return tuple(ColumnFacts.of(name, table[name], table.first_row) for name in table)

    def fit_facts(self, facts: Sequence[ColumnFacts]) -> Self:
        """Learn from the facts about each column, of a table that need not be at hand as a whole.

        Parameters
        ----------
        facts : sequence of ColumnFacts

        Returns
        -------
        self
        """
        return self._set_inputs(_of_all(facts, self._learned))

    def cleaned(self, table: Table, names: Sequence[str] | None = None) -> Table:
        """A table, or a part of one, with one form of missing values, texts without blanks around them, and dates as dates.

        Parameters
        ----------
        table : Table
        names : sequence of str, optional
            Columns, in their order; by default all.

        Returns
        -------
        Table
        """
        names = table.names if names is None else names
        return Table(tuple(names), tuple(_of_all(names, lambda name: self._cleaned(name, table))), first_row=table.first_row)

    def _cleaned(self, name: str, table: Table) -> np.ndarray:
        kind = "date" if name in self.dates else "unused"
        column = self._column(name, kind).cleaned(table[name], table.first_row)
        if name in self.texts and column.dtype.kind == "f":
            return text_column([None if np.isnan(value) else number_text(value) for value in column.tolist()])
        return column

    def _column(self, name: str, kind: str) -> InputColumn:
        """A column as far as the parameters tell."""
        return InputColumn(name, kind, missing_texts=tuple(self.missing_texts), form=(self.forms or {}).get(name))

    def check_facts(self, facts: Sequence[ColumnFacts]) -> None:
        """Refuse columns that cannot be used, all in one error.

        Parameters
        ----------
        facts : sequence of ColumnFacts
        """
        _of_all(facts, self._check_usable)

    def _check_usable(self, facts: ColumnFacts) -> None:
        name, levels = facts.name, facts.levels
        if not facts.kind:
            raise ParameterError(f"column {quoted(name)} has no values: leave it out", ignore=name)
        if facts.kind == "M" and name not in self.dates:
            raise ParameterError(
                f"column {quoted(name)} holds dates: turn them into days, or leave it out", dates=name, ignore=name
            )
        facts.refuse_infinite()
        suspicion = suspect_texts(name, levels) if levels and name not in self.texts else None
        if suspicion is not None:
            raise suspicion
        if len(levels) > self.max_levels and not (self._groups and self.unseen == "other"):
            count = f"{len(levels)}" if len(levels) <= MOST_COUNTED else f"over {MOST_COUNTED}"
            raise ParameterError(
                f"column {quoted(name)} has {count} different texts such as {quoted(min(levels))}, more than "
                f"{self.max_levels}: leave it out if it is an identifier, or raise max_levels",
                ignore=name,
                max_levels=None,
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
        if {column.name for column in inputs if column.type == "date"} != set(encoder.dates):
            raise ValueError("dates must name the columns of dates, and no others")
        if not set(encoder.forms or ()) <= {column.name for column in inputs}:
            raise ValueError("forms must name columns")
        own = (encoder._column(column.name, column.type) for column in inputs)
        return encoder._set_inputs(
            [
                replace(column, missing_texts=each.missing_texts, form=each.form)
                for column, each in zip(inputs, own, strict=True)
            ]
        )

    def _set_inputs(self, inputs: Sequence[InputColumn]) -> Self:
        self.inputs_ = tuple(inputs)
        self.input_names_ = tuple(column.name for column in inputs)
        self.feature_names_in_ = np.array(self.input_names_, dtype=object)
        self.n_features_in_ = len(inputs)
        self.features_ = coded_features(inputs, self.coding, self.unseen)
        self.blocks_: IntArray = np.array([feature.input for feature in self.features_], dtype=np.intp)
        return self

    @property
    def _groups(self) -> bool:
        """Whether rare levels are grouped; ranks need every level."""
        return self.rare == "other" and self.coding == "onehot"

    def _learned(self, facts: ColumnFacts) -> InputColumn:
        fills = self.missing != "refuse"
        if not fills:
            facts.refuse_missing(missing="impute")
        n_rows = facts.n_present + facts.n_missing
        has_few = facts.n_missing == 0 or (self.rare == "other" and is_rare(facts.n_missing, n_rows))
        flagged = self.missing == "indicator" and not has_few
        learned = replace(self._column(facts.name, "number"), indicator=flagged)
        if facts.kind != "O":
            kind = "number" if facts.origin is None else "date"
            return replace(learned, type=kind, origin=facts.origin, fill=facts.mean if fills else None)
        counts = facts.levels
        kept, dropped, other = tuple(sorted(counts)), _most_frequent(counts), None
        if self._groups:
            kept, dropped, other = _frequent_levels(counts, facts.n_present, n_rows, self.max_levels)
        fill = other or dropped if self.missing == "indicator" and not flagged else dropped
        known = kept if self.unseen == "other" else tuple(sorted(counts))
        return replace(
            learned,
            type="category",
            categories=known,
            dropped=dropped if self.coding == "onehot" or self.unseen == "other" else None,
            fill=fill if fills else None,
            other=other,
            grouped=tuple(level for level in known if level not in kept),
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
        return self.coded(as_table(checked_rows(X, self), self.input_names_), "C")

    def coded(self, table: Table, order: Literal["C", "F"]) -> FloatArray:
        """The same of a table; with "F", the values of a feature are next to each other, as a table has them, in less time.

        Parameters
        ----------
        table : Table
        order : {"C", "F"}

        Returns
        -------
        array of shape (m, n_features_out)
        """
        refuse_unknown(self.input_names_, table.names, "the table")
        out = np.empty((table.n_rows, len(self.features_)), order=order)
        troubles = Troubles("{} columns do not suit the model")
        ends = np.searchsorted(self.blocks_, np.arange(len(self.inputs_) + 1))
        for column, first, stop in zip(self.inputs_, ends[:-1], ends[1:], strict=True):
            with troubles.noted():
                out[:, first:stop] = coded_values(self._checked(column, table), self.features_[first:stop])
        troubles.tell()
        return out

    def _checked(self, column: InputColumn, table: Table) -> np.ndarray:
        values: np.ndarray = column.cleaned(table[column.name], table.first_row)
        if column.fill is None and missing_cells(values).any():
            ColumnFacts.of(column.name, values, table.first_row).refuse_missing()
        if column.type != "category":
            numbers = column.numbers(values)
            if np.isinf(numbers).any():
                ColumnFacts.of(column.name, numbers, table.first_row).refuse_infinite()
            return numbers
        if self.unseen == "refuse":
            cells, levels = cells_like(values, column.categories), {None, *column.categories}
            unseen = [row for row, value in enumerate(cells) if value not in levels]
            known = f"the known levels are {listed([quoted(level) for level in column.categories])}"
            refuse_cells(column.name, cells, unseen, table.first_row, "was not there when fitted", known)
        return values

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


def checked_rows(X: Any, fitted: Any = None) -> Any:
    """Arrays as scikit-learn checks them: dense, real, not empty, of two dimensions and the right width; others as they are.

    Parameters
    ----------
    X : rows in any form
    fitted : estimator, optional
        Whose ``n_features_in_`` is the right width.
    """
    if not (isinstance(X, np.ndarray) or issparse(X)):
        return X
    refuse_masked(X=X)
    X = check_array(X, dtype=None, ensure_all_finite=False, input_name="X")
    if fitted is not None and X.shape[1] != fitted.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(fitted).__name__} is expecting {fitted.n_features_in_} features as input"
        )
    return X


def _of_all(columns: Iterable[Any], look: Callable[[Any], Any]) -> list[Any]:
    troubles, found = Troubles("{} columns cannot be used"), []
    for column in columns:
        with troubles.noted():
            found.append(look(column))
    troubles.tell()
    return found


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
    two_valued = [bool(((column == column.min()) | (column == column.max())).all()) for column in np.asarray(X, dtype=float).T]
    return redundant_pairs(encoder, two_valued)


def redundant_pairs(encoder: TableEncoder, two_valued: Sequence[bool]) -> list[tuple[int, int]]:
    """The same, given which features have at most two values.

    Parameters
    ----------
    encoder : fitted TableEncoder
    two_valued : sequence of bool
        One for each feature.

    Returns
    -------
    list of tuples (i, j)
    """
    blocks = encoder.blocks_.tolist()
    squares = [(j, j) for j, has_two in enumerate(two_valued) if has_two]
    return squares + [(i, j) for i, j in combinations(range(len(blocks)), 2) if blocks[i] == blocks[j]]


def copied_features(X: FloatArray) -> dict[int, int]:
    """Features that are multiples of earlier ones plus constants, in all rows; each with the first of these.

    Parameters
    ----------
    X : array of shape (m, n_features_out)
        The encoded data.

    Returns
    -------
    dict of int
    """
    seen: Marked[int] = Marked(len(X))
    copies = {}
    for j in range(X.shape[1]):
        own = _standardised(X[:, j])
        if own is None:
            continue
        near = ((way, i) for way in (own, -own) for i in seen.near(way, ROUNDING))
        first = next((i for way, i in near if _are_equal(way, _standardised(X[:, i]))), None)
        if first is None:
            seen.add(own, j)
        else:
            copies[j] = first
    return copies


def _standardised(column: FloatArray) -> FloatArray | None:
    spread = column.std() if len(column) else 0.0
    return (column - column.mean()) / spread if np.isfinite(spread) and spread > 0.0 else None


def _are_equal(one: FloatArray, other: FloatArray | None) -> bool:
    return other is not None and bool((np.abs(one - other) <= ROUNDING).all())


def coding_of(encoder: TableEncoder, X: FloatArray, missing: Collection[str]) -> Coding:
    """How features come from columns, for what each fold of a cross-validation has to learn anew.

    Parameters
    ----------
    encoder : fitted TableEncoder
    X : array of shape (m, n_features_out)
        The encoded data.
    missing : collection of str
        Columns that have missing values.

    Returns
    -------
    Coding
    """
    features, n = encoder.features_, len(encoder.features_)
    is_flag = np.array([feature.kind in ("level", "missing") for feature in features], dtype=bool)
    other, gaps = np.full(n, NOWHERE), np.zeros(X.shape, dtype=bool)
    for j, feature in enumerate(features):
        if feature.kind == "level" and feature.level is None:
            other[is_flag & (encoder.blocks_ == feature.input)] = j
        elif feature.kind == "number" and encoder.input_names_[feature.input] in missing:
            column = encoder.inputs_[feature.input]
            # its flag is next to a number; without one, what equals the mean is imputed, or all but equal to the mean of a fold
            gaps[:, j] = X[:, j + 1] == 1.0 if column.indicator else X[:, j] == column.fill
    return Coding(encoder.blocks_, is_flag, other, encoder.rare == "other", gaps if gaps.any() else None)


def _frequent_levels(counts: Counter[str], n_present: int, n_rows: int, most: int) -> tuple[tuple[str, ...], str, str | None]:
    """Levels that are not rare, the most frequent one with the group of the others, and the name of that group.

    The group gets a name that no level has. Without a name, its levels, if any, count as the most frequent one. More rows than
    those of the levels are present where a column has more levels than are counted.
    """
    ranked = sorted(counts, key=lambda level: (-counts[level], level))
    kept = [level for level in ranked if not is_rare(counts[level], n_rows)][:most]
    if not kept:  # nothing to tell from the rest
        return (ranked[0],), ranked[0], None
    n_others = n_present - sum(counts[level] for level in kept)
    if is_rare(n_others, n_rows):
        return tuple(sorted(kept)), kept[0], None
    taken = {level.lower() for level in counts}
    other = next(name for name in chain(OTHERS, map("rare or new ({})".format, count(2))) if name not in taken)
    groups = Counter({level: counts[level] for level in kept} | {other: n_others})
    return tuple(sorted(kept)), _most_frequent(groups), other


def _most_frequent(counts: Counter[str]) -> str:
    """Of several, the first in alphabetical order."""
    return min(counts, key=lambda level: (-counts[level], level))
