"""Passes over samples that need not fit in memory: a function of one batch, and a sum over all of them.

Whoever holds batches can run a pass: a loop over an array, a reader of files, the tasks of an engine. The function must not
depend on the order of the batches, and it is a frozen dataclass with ``__call__`` rather than a closure, so that it can travel.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from quadric.samples.labelled import LabelledSamples
from quadric.types import BoolArray, IntArray

# Samples that a pass over an array looks at together.
BATCH_ROWS = 16_384


class Addable(Protocol):
    """What a pass makes of a batch: sums merge with ``+``."""

    def __add__(self, other: Self) -> Self: ...


State = TypeVar("State", bound=Addable)


@dataclass(frozen=True)
class SampleBatch(LabelledSamples):
    """Some of the samples.

    Attributes
    ----------
    ids : array of shape (m,)
        A number for each sample that no other one has, the same in every pass: what random subsamples go by.
    keys : array of shape (m,) or None
        What folds go by, where samples with the same number must not be parted; None: ``ids``.
    """

    ids: IntArray
    keys: IntArray | None = None

    def part(self, rows: BoolArray | IntArray | slice) -> Self:
        keys = None if self.keys is None else self.keys[rows]
        return replace(super().part(rows), ids=self.ids[rows], keys=keys)


def scattered(numbers: IntArray, seed: int = 0) -> IntArray:
    """Numbers from 0 to 2^64 - 1 that look random, one for each number: SplitMix64 (Steele, Lea and Flood 2014)."""
    with np.errstate(over="ignore"):
        x = numbers.astype(np.uint64) + np.uint64((0x9E3779B97F4A7C15 * (seed + 1)) % 2**64)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def added(states: Iterator[State]) -> State:
    """Their sum. ``functools.reduce`` would keep the sum before, too, while it waits for the next state: these can be large."""
    total = next(states)
    for state in states:
        total = total + state
    return total


def spread_of_count(size: float) -> float:
    """By how much a number of random rows with this mean seldom differs from it."""
    return 4.0 * size**0.5


@dataclass(frozen=True, eq=False)
class Sums:
    """What several functions make of the same rows, or one of the rows of each fold; None where there are no such rows yet."""

    parts: tuple[Any, ...]

    def __add__(self, other: Sums) -> Sums:
        # all rows of a small fold may be in later batches
        both = zip(self.parts, other.parts, strict=True)
        return Sums(tuple(two if one is None else one if two is None else one + two for one, two in both))

    def whole(self, without: int | None = None) -> Any:
        """The sum of the parts, or of all but one."""
        parts = (part for number, part in enumerate(self.parts) if number != without and part is not None)
        return added(parts)


@dataclass(frozen=True)
class Together:
    """Several functions in one pass."""

    of: tuple[Callable[[SampleBatch], Any], ...]

    def __call__(self, batch: SampleBatch) -> Sums:
        return Sums(tuple(each(batch) for each in self.of))


class SampleSource(ABC):
    """Samples that can be passed over again and again.

    Attributes
    ----------
    n_features, n_classes : int
    class_rows : array of shape (n_classes,) or None
        How many samples of each class there are, if known; those without weight may count.
    is_local : bool
        Whether the samples come from this machine, so that it may hold them all where that is better.
    is_read : bool
        Whether this machine reads and codes them anew on each pass.
    """

    n_features: int
    n_classes: int
    class_rows: IntArray | None = None
    is_local: bool = True
    is_read: bool = False

    def check_unchanged(self) -> None:  # noqa: B027 - most sources cannot tell
        """Refuse samples that are not those of the first pass, as far as that can be told without a pass."""

    @property
    def known_rows(self) -> int | None:
        """How many samples there are, if known; those without weight may count."""
        return None if self.class_rows is None else int(self.class_rows.sum())

    @abstractmethod
    def total(self, of: Callable[[SampleBatch], State]) -> State:
        """The sum of a function over all batches, of which there is at least one.

        Parameters
        ----------
        of : function of a SampleBatch
            Batches have the same features, classes and class weights; none is empty.
        """


class SamplesInMemory(SampleSource):
    """Samples in memory.

    Parameters
    ----------
    samples : LabelledSamples
    batch_rows : int
    ids, keys : arrays of shape (m,), optional
        As in SampleBatch; by default samples are numbered from 1, as the rows of a table are.
    """

    def __init__(
        self,
        samples: LabelledSamples,
        batch_rows: int = BATCH_ROWS,
        ids: IntArray | None = None,
        keys: IntArray | None = None,
    ) -> None:
        ids = np.arange(1, len(samples.target) + 1) if ids is None else ids
        self._rows = SampleBatch(samples.X, samples.target, samples.sample_weight, ids, keys)
        self._batch_rows = batch_rows
        self.n_features, self.n_classes = samples.n_features, samples.target.n_classes
        self.class_rows = np.bincount(samples.target.codes, minlength=self.n_classes)

    def total(self, of: Callable[[SampleBatch], State]) -> State:
        return added(map(of, self._batches()))

    def _batches(self) -> Iterator[SampleBatch]:
        for first in range(0, len(self._rows.ids), self._batch_rows):
            yield self._rows.part(slice(first, first + self._batch_rows))
