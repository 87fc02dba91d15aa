"""Exact quantiles of columns that are read in batches, in two or three passes and little memory.

Floating-point numbers sort like integers made of their bits. The first pass weighs rows by the leading bits of these; the next
one looks only at the numbers that share their leading bits with a quantile, at as many bits as there is room for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from quadric.samples.source import SampleBatch, SampleSource
from quadric.samples.units import FEW_VALUES
from quadric.types import FloatArray, IntArray

# Bits that the first pass looks at: sign, exponent and four more.
LEADING = 16
# Different integers of all columns together that later passes tell apart.
MOST_KEYS = 250_000
# By which integers are shortened where there are too many.
FEWER_BITS = 4


def exact_caps(source: SampleSource, share: float, counts: KeyCounts, *, closed: bool = False) -> tuple[FloatArray, FloatArray]:
    """The limits that ``caps`` finds in an array: quantiles ``share`` and 1 - ``share`` of each column, or -inf and inf.

    Parameters
    ----------
    source : SampleSource
    share : float
        From 0 to below 0.5.
    counts : KeyCounts
        From a first pass with ``CountedKeys()``.
    closed : bool
        Whether the columns without such limits have their smallest and largest value.
    """
    low, high = _exact_ends(source, [_Place.of(column, share) for column in counts.columns], counts)
    if closed:
        few = np.array([np.isnan(column.distinct[FEW_VALUES]) for column in counts.columns])
        others = [_Place.of(column, 0.0) if np.isinf(end) else None for column, end in zip(counts.columns, low, strict=True)]
        ends = np.array(_exact_ends(source, others, counts))
        distinct = np.array([column.distinct for column in counts.columns])[few]
        ends[:, few] = np.nanmin(distinct, axis=1), np.nanmax(distinct, axis=1)
        low, high = np.where(np.isinf(low), ends[0], low), np.where(np.isinf(high), ends[1], high)
    return low, high


def _exact_ends(source: SampleSource, wanted: Sequence[_Place | None], counts: KeyCounts) -> tuple[FloatArray, FloatArray]:
    """The numbers at two places of each column, by further passes."""
    while any(place is not None for place in wanted) and counts.shift > 0:
        shift = counts.shift
        counts = source.total(CountedKeys(shift, tuple(None if place is None else place.keys for place in wanted)))
        found = zip(wanted, counts.columns, strict=True)
        wanted = [None if place is None else place.refined(column, shift - counts.shift) for place, column in found]
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
    sign = np.uint64(1 << 63)
    return np.where(keys & sign, keys ^ sign, ~keys).view(np.float64)


@dataclass(frozen=True, eq=False)
class ColumnCounts:
    """Weights of the rows of one column by leading bits.

    Attributes
    ----------
    keys : array
        In order.
    weights : array of the same length
    distinct : array of shape (FEW_VALUES + 1,)
        The first different numbers, NaN where there are fewer; empty unless all rows are counted.
    """

    keys: IntArray
    weights: FloatArray
    distinct: FloatArray

    def __add__(self, other: ColumnCounts) -> ColumnCounts:
        # both are sorted: merged by their places, which is quicker than sorting all keys again
        place = np.searchsorted(self.keys, other.keys)
        is_new = place == len(self.keys)
        is_new[~is_new] = self.keys[place[~is_new]] != other.keys[~is_new]
        weights = self.weights.copy()
        weights[place[~is_new]] += other.weights[~is_new]
        keys = np.insert(self.keys, place[is_new], other.keys[is_new])
        distinct = _few(np.append(self.distinct, other.distinct)) if len(self.distinct) else self.distinct
        return ColumnCounts(keys, np.insert(weights, place[is_new], other.weights[is_new]), distinct)

    def shortened(self, bits: int) -> ColumnCounts:
        """Without the last ``bits`` bits."""
        if bits == 0 or len(self.keys) == 0:
            return self
        keys = self.keys >> np.uint64(bits)
        first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
        return replace(self, keys=keys[first], weights=np.add.reduceat(self.weights, first))


@dataclass(frozen=True, eq=False)
class KeyCounts:
    """Counts of all columns.

    Attributes
    ----------
    columns : tuple of ColumnCounts
    shift : int
        Bits that are left out at the end; more where there are too many different keys.
    outer : int
        Bits that were left out before: ``shift`` stays below it.
    """

    columns: tuple[ColumnCounts, ...]
    shift: int
    outer: int

    def __add__(self, other: KeyCounts) -> KeyCounts:
        shift = max(self.shift, other.shift)
        both = zip(self._shortened(shift).columns, other._shortened(shift).columns, strict=True)
        found = replace(self, columns=tuple(mine + yours for mine, yours in both), shift=shift)
        while found.shift + FEWER_BITS < found.outer and sum(len(column.keys) for column in found.columns) > MOST_KEYS:
            found = found._shortened(found.shift + FEWER_BITS)
        return found

    def _shortened(self, shift: int) -> KeyCounts:
        return replace(self, columns=tuple(column.shortened(shift - self.shift) for column in self.columns), shift=shift)


def _few(values: FloatArray) -> FloatArray:
    found = np.unique(values[~np.isnan(values)])[: FEW_VALUES + 1]
    return np.append(found, np.full(FEW_VALUES + 1 - len(found), np.nan))


@dataclass(frozen=True, eq=False)
class CountedKeys:
    """The pass that counts.

    Attributes
    ----------
    outer : int
        Bits that are left out at the end of ``inside``.
    inside : tuple of arrays or None
        For each column the leading bits of the numbers to be counted; None: none of them. Without it, all are.
    """

    outer: int = 64
    inside: tuple[IntArray | None, ...] | None = None

    def __call__(self, batch: SampleBatch) -> KeyCounts:
        columns, weight = np.ascontiguousarray(batch.X.T), batch.sample_weight
        if self.inside is None:
            return KeyCounts(tuple(_of_all(column, weight) for column in columns), 64 - LEADING, self.outer)
        chosen = zip(columns, self.inside, strict=True)
        return KeyCounts(tuple(self._of_some(column, weight, wanted) for column, wanted in chosen), 0, self.outer)

    def _of_some(self, column: FloatArray, weight: FloatArray, wanted: IntArray | None) -> ColumnCounts:
        """Of the numbers with some leading bits, at full length."""
        if wanted is None:
            return ColumnCounts(np.empty(0, dtype=np.uint64), np.empty(0), np.empty(0))
        lowest = wanted << np.uint64(self.outer)
        ends = zip(_numbers(lowest), _numbers(lowest | np.uint64((1 << self.outer) - 1)), strict=True)
        chosen = np.flatnonzero(np.logical_or.reduce([(low <= column) & (column <= high) for low, high in ends]))
        # the comparison of floats above is cheap and rough: bits decide
        keys = _sortable(column[chosen])
        same = np.isin(keys >> np.uint64(self.outer), wanted)
        found, place = np.unique(keys[same], return_inverse=True)
        return ColumnCounts(found, np.bincount(place, weight[chosen[same]], len(found)).astype(float), np.empty(0))


def _of_all(column: FloatArray, weight: FloatArray) -> ColumnCounts:
    """By their first bits, which are few enough to be counted without sorting."""
    leading = _leading(column)
    rows = np.bincount(leading)
    weights = rows.astype(float) if (weight == 1.0).all() else np.bincount(leading, weights=weight)
    present = np.flatnonzero(rows)
    # where more than few leading bits differ, they stand for the numbers: only how many there are matters
    distinct = _few(column) if len(present) <= FEW_VALUES else present[: FEW_VALUES + 1].astype(float)
    return ColumnCounts(present.astype(np.uint64), weights[present].astype(float), distinct)


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
    """

    targets: FloatArray
    keys: IntArray
    below: FloatArray

    @staticmethod
    def of(counts: ColumnCounts, share: float) -> _Place | None:
        """By the first counts; None for a column that is not capped."""
        if np.isnan(counts.distinct[FEW_VALUES]):
            return None
        targets = float(np.cumsum(counts.weights)[-1]) * np.array([share, 1.0 - share])
        return _Place(targets, np.zeros(2, dtype=np.uint64), np.zeros(2)).refined(counts, 64)

    def refined(self, counts: ColumnCounts, bits: int) -> _Place:
        """By counts of the numbers that share the leading bits, with ``bits`` more of them."""
        keys, below = self.keys.copy(), self.below.copy()
        for i in range(2):
            mine = np.ones(len(counts.keys), dtype=bool) if bits == 64 else counts.keys >> np.uint64(bits) == self.keys[i]
            reached = self.below[i] + np.cumsum(counts.weights[mine])
            at = min(int(np.searchsorted(reached, self.targets[i])), len(reached) - 1)
            keys[i] = counts.keys[mine][at]
            below[i] = reached[at] - counts.weights[mine][at]
        return replace(self, keys=keys, below=below)
