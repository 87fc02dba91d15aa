"""What columns of coded tables have to learn from training rows: imputed values, levels with enough rows, thin products."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quadric.blas import one_blas_thread
from quadric.geometry.terms import term_index
from quadric.types import BoolArray, FloatArray, IntArray

NOWHERE = -1
# A feature or a product that is not zero in fewer rows is left out.
FEWEST_ROWS = 10
# So is a level or a flag with fewer rows that are also a smaller share.
FEW_ROWS, FEW_SHARE = 100, 0.01


def is_rare(count: Any, n_rows: float) -> Any:
    """Whether a level, or the missing values of a column, have too few rows to be a feature.

    Parameters
    ----------
    count : int or array
        Rows of it.
    n_rows : int or float
        All rows.

    Returns
    -------
    bool, or array of bool
    """
    return (count < FEWEST_ROWS) | ((count < FEW_ROWS) & (count < FEW_SHARE * n_rows))


@dataclass(frozen=True, eq=False)
class Recoding:
    """The map that gives coded rows imputed values, and moves rare levels to another one.

    Attributes
    ----------
    fill : array of shape (n,)
        What stands for NaN.
    into : integer array of shape (n,)
        Where each column goes: itself, the column of the level "other", or NOWHERE, which makes it zero.
    """

    fill: FloatArray
    into: IntArray

    def __call__(self, X: FloatArray) -> FloatArray:
        out = np.where(np.isnan(X), self.fill, X)
        moved = np.flatnonzero(self.into != np.arange(len(self.into)))
        for j in moved:
            if self.into[j] != NOWHERE:
                out[:, self.into[j]] += out[:, j]
        out[:, moved] = 0.0
        return out


@dataclass(frozen=True, eq=False)
class Coding:
    """How the columns of X came from those of a table, as far as it has to be learned anew from other training rows.

    Attributes
    ----------
    blocks : integer array of shape (n,)
        Column of the table that each column of X comes from.
    is_flag : boolean array of shape (n,)
        Levels and missing-value flags: 1 or 0.
    other : integer array of shape (n,)
        Position of the level "other" of the same column of the table; NOWHERE where there is none.
    groups : bool
        Whether rare levels are grouped, and products with few rows left out.
    gaps : boolean array of shape (m, n) or None
        Where numbers are missing and have been imputed; None: nowhere.
    """

    blocks: IntArray
    is_flag: BoolArray
    other: IntArray
    groups: bool
    gaps: BoolArray | None = None

    @property
    def learns(self) -> bool:
        return self.gaps is not None or (self.groups and bool(self.is_flag.any()))

    def part(self, rows: IntArray) -> Coding:
        return self if self.gaps is None else replace(self, gaps=self.gaps[rows])

    def with_gaps(self, X: FloatArray) -> FloatArray:
        """Coded rows with NaN in place of imputed values."""
        return X if self.gaps is None else np.where(self.gaps, np.nan, X)

    def learned(self, X: FloatArray, weight: FloatArray, demanded: IntArray) -> Recoding:
        """What training rows say.

        Parameters
        ----------
        X : array of shape (m, n)
            With NaN where numbers are missing.
        weight : array of shape (m,)
            Repetitions, all positive.
        demanded : integer array
            Columns that stay, however rare they are.

        Returns
        -------
        Recoding
        """
        fill, into = np.zeros(X.shape[1]), np.arange(X.shape[1])
        for j in np.flatnonzero(np.isnan(X).any(axis=0)):
            present = ~np.isnan(X[:, j])
            fill[j] = np.average(X[present, j], weights=weight[present]) if present.any() else 0.0
        if self.groups:
            counts, total = weight @ np.where(np.isnan(X), 0.0, X != 0.0), float(weight.sum())
            is_other = self.other == into
            rare = self.is_flag & ~is_other & is_rare(counts, total)
            rare[demanded] = False
            numbers = np.where(np.isnan(X), fill, X)[:, ~self.is_flag]
            if (rare == self.is_flag).all() and not np.ptp(numbers, axis=0).any():
                rare[:] = False  # flags are all that these rows can be told apart by
            into[rare] = self.other[rare]
            np.add.at(counts, into[rare & (into != NOWHERE)], counts[rare & (into != NOWHERE)])
            lost = is_other & is_rare(counts, total)  # even with what was added
            lost[demanded] = False
            into[lost | np.isin(into, np.flatnonzero(lost))] = NOWHERE
        return Recoding(fill, into)

    def thin_terms(self, X: FloatArray) -> IntArray:
        """Positions of thin products, and of all terms of levels and flags that are zero in all rows.

        Parameters
        ----------
        X : array of shape (m, n)
            Training rows of a fold, without NaN.

        Returns
        -------
        integer array
        """
        n, empty = X.shape[1], np.flatnonzero(self.is_flag & ~X.any(axis=0))
        linear = [term_index(int(j), None, n) for j in empty]
        return np.array(sorted({*linear, *(term_index(*pair, n) for pair in self.thin_products(X))}), dtype=np.intp)

    def thin_products(self, X: FloatArray, share: float = 1.0) -> list[tuple[int, int]]:
        """Pairs of columns, one of them a level or a flag, that are both not zero in too few rows.

        Parameters
        ----------
        X : array of shape (m, n)
            Without NaN.
        share : float
            Of all rows, where X is a random sample.

        Returns
        -------
        list of tuples (i, j)
            With i < j, of different columns of the table.
        """
        flags = np.flatnonzero(self.is_flag)
        if not self.groups or not len(flags):
            return []
        live = (X != 0.0).astype(np.float32)  # counts are exact below 2^24 rows
        with one_blas_thread():
            thin = live[:, flags].T @ live < share * FEWEST_ROWS
        thin &= self.blocks[flags][:, None] != self.blocks
        pairs = np.column_stack([flags[np.nonzero(thin)[0]], np.nonzero(thin)[1]])
        return sorted({(int(min(pair)), int(max(pair))) for pair in pairs.tolist()})
