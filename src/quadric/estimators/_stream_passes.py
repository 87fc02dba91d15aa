"""What fits of streamed samples ask of each batch: a random sample, moments, moments of folds, the spread of columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from quadric.blas import one_blas_thread
from quadric.estimators._units import CONSTANT, Units
from quadric.estimators.moments import LabelledRows, Moments
from quadric.losses.passes import SampleBatch, SampleSource, State, scattered, spread_of_count
from quadric.types import FloatArray, IntArray

SAMPLE_ROWS, SAMPLE_BYTES = 50_000, 32 << 20
"""Size of the random sample that scores are taken of: at most so many rows, and so much memory."""


def sample_size(n_columns: int) -> int:
    """How many rows of so many columns a random sample has."""
    return max(1, min(SAMPLE_ROWS, SAMPLE_BYTES // (8 * n_columns)))


MOST_RANDOM = 2**64 - 1
"""The highest random number of a row."""
FOLD_SEED = 1 << 32
"""Folds are drawn apart from samples."""


def drawn_rows(ids: IntArray, size: int, seed: int) -> IntArray:
    """Positions of the rows in a random sample: those of the lowest random numbers."""
    numbers = scattered(ids, seed)
    return np.sort(np.argpartition(numbers, size - 1)[:size]) if len(ids) > size else np.arange(len(ids))


@dataclass(frozen=True, eq=False)
class Stream:
    """Samples that are read in batches, and their names.

    Attributes
    ----------
    source : SampleSource
        In the user's units, with class weights of one.
    columns : tuple of str
    target : str
    classes : array
        Labels that the codes of the samples stand for.
    seed : int
        Of folds and random samples.
    has_groups : bool
        Whether the keys of the rows are groups, which stay in one fold.
    """

    source: SampleSource
    columns: tuple[str, ...]
    target: str
    classes: np.ndarray
    seed: int = 0
    has_groups: bool = False

    def no_limits(self) -> tuple[FloatArray, FloatArray]:
        """Limits that cap nothing."""
        n = len(self.columns)
        return np.full(n, -np.inf), np.full(n, np.inf)


@dataclass(frozen=True)
class InUnits(SampleSource):
    """A source whose samples are mapped to the units of a fit, with the class weights of it.

    Attributes
    ----------
    source : SampleSource
    units : Units
    class_weight : array of shape (n_classes,)
    """

    source: SampleSource
    units: Units
    class_weight: FloatArray

    @property
    def n_features(self) -> int:  # type: ignore[override]
        return self.source.n_features

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        return self.source.n_classes

    @property
    def class_rows(self) -> IntArray | None:  # type: ignore[override]
        return self.source.class_rows

    def total(self, of: Callable[[SampleBatch], State]) -> State:
        return self.source.total(_Mapped(of, self.units, self.class_weight))


@dataclass(frozen=True)
class _Mapped:
    of: Callable[[SampleBatch], Any]
    units: Units
    class_weight: FloatArray

    def __call__(self, batch: SampleBatch) -> Any:
        return self.of(replace(batch, X=self.units(batch.X), class_weight=self.class_weight))


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Rows among which are the ``size`` of lowest random numbers; these are at most ``highest``."""

    batches: tuple[SampleBatch, ...]
    size: int
    seed: int
    highest: int = MOST_RANDOM

    def __add__(self, other: SampledRows) -> SampledRows:
        highest = min(self.highest, other.highest)
        batches = (*self.limited(highest).batches, *other.limited(highest).batches)
        found = SampledRows(batches, self.size, self.seed, highest)
        is_full = sum(len(batch.ids) for batch in batches) > 2 * self.size
        return found.limited(found._needed) if is_full else found  # seldom, as it copies all of them

    @property
    def _needed(self) -> int:
        """The highest random number of the sample."""
        numbers = scattered(np.concatenate([batch.ids for batch in self.batches]), self.seed)
        return int(np.partition(numbers, self.size - 1)[self.size - 1]) if len(numbers) > self.size else self.highest

    def limited(self, highest: int) -> SampledRows:
        """Rows with random numbers up to this one."""
        if highest == self.highest:
            return self
        rows = [np.flatnonzero(scattered(batch.ids, self.seed) <= np.uint64(highest)) for batch in self.batches]
        batches = tuple(batch.part(mine) for batch, mine in zip(self.batches, rows, strict=True))
        return SampledRows(batches, self.size, self.seed, highest)

    @property
    def batch(self) -> SampleBatch:
        """The sample, in the order of its ids."""
        parts = self.limited(self._needed).batches
        n_rows = sum(len(part.ids) for part in parts)
        whole = replace(
            parts[0],
            X=np.concatenate([part.X for part in parts], out=np.empty((n_rows, parts[0].X.shape[1]))),  # rows lie together
            codes=np.concatenate([part.codes for part in parts]),
            sample_weight=np.concatenate([part.sample_weight for part in parts]),
            ids=np.concatenate([part.ids for part in parts]),
            keys=np.concatenate([part.ids if part.keys is None else part.keys for part in parts]),
        )
        in_order = bool((whole.ids[1:] > whole.ids[:-1]).all())  # which spares a copy of all rows of a table
        return whole if in_order else whole.part(np.argsort(whole.ids))


@dataclass(frozen=True)
class RandomRows:
    """The pass that draws a random sample without replacement."""

    size: int
    seed: int = 0
    highest: int = MOST_RANDOM

    @staticmethod
    def among(source: SampleSource, size: int, seed: int) -> RandomRows:
        """Where the number of rows is known, batches leave out what is hardly ever in the sample."""
        share = (size + spread_of_count(size)) / (source.known_rows or np.inf)
        return RandomRows(size, seed, int(share * MOST_RANDOM) if 0.0 < share < 1.0 else MOST_RANDOM)

    def __call__(self, batch: SampleBatch) -> SampledRows:
        return SampledRows((batch,), self.size, self.seed).limited(self.highest)


@dataclass(frozen=True, eq=False)
class BatchMoments:
    """The pass that sums the moments of all rows.

    Attributes
    ----------
    columns, target, classes :
        As in Moments.
    limits : pair of arrays
    by_class : bool
    pilot : Units or None
        Units to keep the sums in; None: those of each batch, which costs more.
    """

    columns: tuple[str, ...]
    target: str
    classes: tuple[Any, ...]
    limits: tuple[FloatArray, FloatArray]
    by_class: bool
    pilot: Units | None = None

    @one_blas_thread()
    def __call__(self, batch: SampleBatch) -> Moments:
        rows = LabelledRows(batch.X, batch.codes, batch.sample_weight, self.columns, self.target, self.classes)
        return Moments.of_rows(rows, self.limits, by_class=self.by_class, pilot=self.pilot)


def folds_by_key(batch: SampleBatch, n_folds: int, seed: int) -> IntArray:
    """The number of the fold of each row: by its key, or else by its id."""
    keys = batch.ids if batch.keys is None else batch.keys
    return (scattered(keys, FOLD_SEED + seed) % np.uint64(n_folds)).astype(np.intp)


@dataclass(frozen=True, eq=False)
class FoldMoments:
    """The moments of each fold; None where there is none of its rows."""

    folds: tuple[Moments | None, ...]

    def __add__(self, other: FoldMoments) -> FoldMoments:
        both = zip(self.folds, other.folds, strict=True)
        return FoldMoments(tuple(two if one is None else one if two is None else one + two for one, two in both))

    def without(self, fold: int) -> Moments:
        """The sum of the other folds."""
        return reduce(add, (part for number, part in enumerate(self.folds) if number != fold and part is not None))

    def whole(self) -> Moments:
        """The sum of all."""
        return reduce(add, (part for part in self.folds if part is not None))


@dataclass(frozen=True)
class BatchFoldMoments:
    """The pass that sums the moments of each fold."""

    of: BatchMoments
    n_folds: int
    seed: int

    def __call__(self, batch: SampleBatch) -> FoldMoments:
        fold = folds_by_key(batch, self.n_folds, self.seed)
        rows = [np.flatnonzero(fold == number) for number in range(self.n_folds)]
        return FoldMoments(tuple(self.of(batch.part(mine)) if len(mine) else None for mine in rows))


@dataclass(frozen=True, eq=False)
class ColumnSpread:
    """Weight, mean, sum of squares about it and largest size of each column, and the weight of each class."""

    weight: float
    mean: FloatArray
    scatter: FloatArray
    largest: FloatArray
    class_weights: FloatArray
    n_rows: int

    def __add__(self, other: ColumnSpread) -> ColumnSpread:
        weight = self.weight + other.weight
        shift, share = other.mean - self.mean, other.weight / weight
        return ColumnSpread(
            weight,
            self.mean + share * shift,
            self.scatter + other.scatter + self.weight * share * shift**2,
            np.maximum(self.largest, other.largest),
            self.class_weights + other.class_weights,
            self.n_rows + other.n_rows,
        )

    def units(self, limits: tuple[FloatArray, FloatArray], standardize: bool) -> Units:
        """The units of a fit to all rows."""
        n = len(self.mean)
        if not standardize:
            return Units(*limits, np.zeros(n), np.ones(n))
        spread = np.sqrt(self.scatter / self.weight)
        return Units(*limits, self.mean, np.where(spread > CONSTANT * self.largest, spread, 1.0))


@dataclass(frozen=True, eq=False)
class BatchSpread:
    """The pass that finds the spread of capped columns."""

    limits: tuple[FloatArray, FloatArray]

    def __call__(self, batch: SampleBatch) -> ColumnSpread:
        X, weight = np.clip(batch.X, *self.limits), batch.sample_weight
        total = float(weight.sum())
        mean = (weight @ X) / total
        scatter = weight @ (X - mean) ** 2
        by_class = np.bincount(batch.codes, weights=weight, minlength=len(batch.class_weight)).astype(float)
        return ColumnSpread(total, mean, scatter, np.abs(X).max(axis=0), by_class, len(X))
