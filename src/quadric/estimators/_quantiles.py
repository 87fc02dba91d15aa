"""Exact quantiles of columns that are read in batches, in two or three passes and little memory.

Floating-point numbers sort like integers made of their bits. The first pass counts rows by the leading bits of these; the next
one looks only at the numbers that share their leading bits with a quantile.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quadric.estimators._units import FEW_VALUES
from quadric.losses.passes import SampleBatch, SampleSource
from quadric.types import FloatArray, IntArray

LEADING = 16
"""Bits that one pass looks at: sign, exponent and four more, at first."""
MOST_KEPT = 250_000
"""Numbers of all columns together that the last pass may keep."""


def exact_caps(source: SampleSource, share: float, counts: KeyCounts) -> tuple[FloatArray, FloatArray]:
    """The limits that ``caps`` finds in an array: quantiles ``share`` and 1 - ``share`` of each column, or -inf and inf.

    Parameters
    ----------
    source : SampleSource
    share : float
        From 0 to below 0.5.
    counts : KeyCounts
        From a first pass with ``CountedKeys()``.
    """
    shift = 64 - LEADING
    wanted = [_Place.of(counts.of_column(j), share) for j in range(source.n_features)]
    while any(place is not None for place in wanted) and shift > 0:
        n_kept = sum(place.n_rows for place in wanted if place is not None)
        inside = tuple(None if place is None else place.keys for place in wanted)
        finer = 0 if n_kept <= MOST_KEPT else shift - LEADING
        counts = source.total(CountedKeys(finer, shift, inside))
        wanted = [None if p is None else p.refined(counts.of_column(j), shift - finer) for j, p in enumerate(wanted)]
        shift = finer
    low, high = np.full(len(wanted), -np.inf), np.full(len(wanted), np.inf)
    for j, place in enumerate(wanted):
        if place is not None and place.keys[0] < place.keys[1]:
            low[j], high[j] = _numbers(place.keys)
    return low, high


def _sortable(numbers: FloatArray) -> IntArray:
    """Unsigned integers in the order of the numbers."""
    bits = (numbers + 0.0).view(np.uint64)  # + 0.0: minus zero is zero
    sign = np.uint64(1 << 63)
    return np.where(bits & sign, ~bits, bits | sign)


def _leading(numbers: FloatArray) -> IntArray:
    """The first bits of these integers."""
    bits = (numbers + 0.0).astype("<f8", copy=False).view("<u2")[3::4]
    sign = np.uint16(1 << (LEADING - 1))
    return np.where(bits & sign, ~bits, bits | sign)


def _numbers(keys: np.ndarray) -> FloatArray:
    """The numbers that have these integers."""
    sign = np.uint64(1 << 63)
    return np.where(keys & sign, keys ^ sign, ~keys).view(np.float64)


@dataclass(frozen=True, eq=False)
class KeyCounts:
    """Rows and weights by column and leading bits, sorted by both.

    Attributes
    ----------
    columns, keys : arrays of the same length
    rows, weights : arrays of the same length
    distinct : array of shape (n, FEW_VALUES + 1)
        The first different numbers of each column, NaN where there are fewer.
    """

    columns: IntArray
    keys: IntArray
    rows: IntArray
    weights: FloatArray
    distinct: FloatArray

    def __add__(self, other: KeyCounts) -> KeyCounts:
        columns, keys = np.append(self.columns, other.columns), np.append(self.keys, other.keys)
        order = np.lexsort((keys, columns))
        columns, keys = columns[order], keys[order]
        differs = np.append(True, (columns[1:] != columns[:-1]) | (keys[1:] != keys[:-1]))
        first = np.flatnonzero(differs[: len(keys)])  # none where no number is near a quantile
        rows, weights = np.append(self.rows, other.rows)[order], np.append(self.weights, other.weights)[order]
        distinct = np.array([_few(np.append(mine, yours)) for mine, yours in zip(self.distinct, other.distinct, strict=True)])
        return KeyCounts(columns[first], keys[first], np.add.reduceat(rows, first), np.add.reduceat(weights, first), distinct)

    def of_column(self, j: int) -> KeyCounts:
        """The counts of one column."""
        mine = slice(*np.searchsorted(self.columns, [j, j + 1]))
        return KeyCounts(self.columns[mine], self.keys[mine], self.rows[mine], self.weights[mine], self.distinct[j])


def _few(values: FloatArray) -> FloatArray:
    """The first different values, padded with NaN."""
    found = np.unique(values[~np.isnan(values)])[: FEW_VALUES + 1]
    return np.append(found, np.full(FEW_VALUES + 1 - len(found), np.nan))


@dataclass(frozen=True, eq=False)
class CountedKeys:
    """The pass that counts.

    Attributes
    ----------
    shift : int
        Bits that are left out at the end.
    outer : int
        The same for ``inside``.
    inside : tuple of arrays or None
        For each column the leading bits of the numbers to be counted; None: none of them. Without it, all are.
    """

    shift: int = 64 - LEADING
    outer: int = 0
    inside: tuple[IntArray | None, ...] | None = None

    def __call__(self, batch: SampleBatch) -> KeyCounts:
        found = [self._counted(column, batch.sample_weight, j) for j, column in enumerate(np.ascontiguousarray(batch.X.T))]
        columns = np.repeat(np.arange(len(found)), [len(counts[0]) for counts in found])
        keys, rows, weights, distinct = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return KeyCounts(columns, keys, rows, weights, distinct.reshape(len(found), -1))

    def _counted(self, column: FloatArray, weight: FloatArray, j: int) -> tuple[Any, ...]:
        if self.inside is None:  # few enough to be counted without sorting
            leading = _leading(column)
            rows = np.bincount(leading)
            weights = rows.astype(float) if (weight == 1.0).all() else np.bincount(leading, weights=weight)
            present = np.flatnonzero(rows)
            distinct = _few(column) if len(present) <= FEW_VALUES else _several(present)
            return present.astype(np.uint64), rows[present], weights[present], distinct
        of_column = self.inside[j]
        wanted = np.empty(0, dtype=np.uint64) if of_column is None else of_column.astype(np.uint64)
        lowest = wanted << np.uint64(self.outer)
        ends = zip(_numbers(lowest), _numbers(lowest | np.uint64((1 << self.outer) - 1)), strict=True)
        chosen = np.flatnonzero(np.logical_or.reduce([(low <= column) & (column <= high) for low, high in ends]))
        keys = _sortable(column[chosen])
        same = np.isin(keys >> np.uint64(self.outer), wanted)
        found, place = np.unique(keys[same] >> np.uint64(self.shift), return_inverse=True)
        rows, weights = np.bincount(place, minlength=len(found)), np.bincount(place, weight[chosen[same]], len(found))
        return found, rows, weights, np.full(FEW_VALUES + 1, np.nan)


def _several(keys: IntArray) -> FloatArray:
    """Stand-ins for more different values than few: as different from each other as their leading bits."""
    return keys[: FEW_VALUES + 1].astype(float) if len(keys) > FEW_VALUES else np.full(FEW_VALUES + 1, np.nan)


@dataclass(frozen=True, eq=False)
class _Place:
    """Where the two quantiles of a column are.

    Attributes
    ----------
    targets : pair of floats
        Weights that they leave below or at them.
    keys : array of shape (2,)
        Leading bits of the quantiles.
    below : array of shape (2,)
        Weight of the numbers with smaller leading bits.
    n_rows : int
        Rows with these leading bits.
    """

    targets: FloatArray
    keys: IntArray
    below: FloatArray
    n_rows: int

    @staticmethod
    def of(counts: KeyCounts, share: float) -> _Place | None:
        """By the first counts; None for a column that is not capped."""
        if np.isnan(counts.distinct[FEW_VALUES]):
            return None
        total = float(np.cumsum(counts.weights)[-1])
        targets = total * np.array([share, 1.0 - share])
        return _Place(targets, np.zeros(2, dtype=np.uint64), np.zeros(2), 0).refined(counts, 64)

    def refined(self, counts: KeyCounts, bits: int) -> _Place:
        """By counts of the numbers that share the leading bits, with ``bits`` more of them."""
        keys, below, n_rows = self.keys.copy(), self.below.copy(), 0
        for i in range(2):
            mine = np.ones(len(counts.keys), dtype=bool) if bits == 64 else counts.keys >> np.uint64(bits) == self.keys[i]
            reached = self.below[i] + np.cumsum(counts.weights[mine])
            at = min(int(np.searchsorted(reached, self.targets[i])), len(reached) - 1)
            keys[i], n_rows = counts.keys[mine][at], n_rows + int(counts.rows[mine][at])
            below[i] = reached[at] - counts.weights[mine][at]
        return replace(self, keys=keys, below=below, n_rows=n_rows)
