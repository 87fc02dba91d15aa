"""The one random sample of rows: those of the lowest random numbers, which go by the number of the row alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from quadric.samples.source import SampleBatch, SampleSource, scattered, spread_of_count
from quadric.types import IntArray

# Size of the random sample that scores are taken of: at most this many rows and bytes.
SAMPLE_ROWS, SAMPLE_BYTES = 50_000, 32 << 20
# The highest random number of a row.
MOST_RANDOM = 2**64 - 1


# Random rows of each class that searches by passes begin with.
SIDE_ROWS = 10_000


def sample_size(n_columns: int) -> int:
    """Rows of a random sample with ``n_columns`` columns."""
    return max(1, min(SAMPLE_ROWS, SAMPLE_BYTES // (8 * n_columns)))


def drawn_rows(ids: IntArray, size: int, seed: int) -> IntArray:
    """Positions of the rows in a random sample: those of the lowest random numbers."""
    numbers = scattered(ids, seed)
    return np.sort(np.argpartition(numbers, size - 1)[:size]) if len(ids) > size else np.arange(len(ids))


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
            target=replace(parts[0].target, codes=np.concatenate([part.target.codes for part in parts])),
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
    def of(size: int, seed: int, n_rows: int | None) -> RandomRows:
        """Where the number of rows is known, batches leave out what is hardly ever in the sample."""
        share = (size + spread_of_count(size)) / (n_rows or np.inf)
        return RandomRows(size, seed, int(share * MOST_RANDOM) if 0.0 < share < 1.0 else MOST_RANDOM)

    def __call__(self, batch: SampleBatch) -> SampledRows:
        return SampledRows((batch,), self.size, self.seed).limited(self.highest)


@dataclass(frozen=True, eq=False)
class ClassSamples:
    """Random rows of each class, and how long sums over all rows are.

    Attributes
    ----------
    classes : tuple of SampledRows
    longest, n_batches : int
        Rows of the largest batch, and batches.
    """

    classes: tuple[SampledRows, ...]
    longest: int
    n_batches: int

    def __add__(self, other: ClassSamples) -> ClassSamples:
        both = tuple(mine + yours for mine, yours in zip(self.classes, other.classes, strict=True))
        return ClassSamples(both, max(self.longest, other.longest), self.n_batches + other.n_batches)


@dataclass(frozen=True)
class RandomRowsOfClasses:
    """The pass that draws a random sample of each class, so that rare ones have as many rows as others.

    Attributes
    ----------
    draws : tuple of RandomRows
        One for each class.
    """

    draws: tuple[RandomRows, ...]

    @staticmethod
    def among(source: SampleSource) -> RandomRowsOfClasses:
        """As many of each class as searches begin with."""
        rows = [None] * source.n_classes if source.class_rows is None else source.class_rows.tolist()
        return RandomRowsOfClasses(tuple(RandomRows.of(SIDE_ROWS, 0, n_rows) for n_rows in rows))

    def __call__(self, batch: SampleBatch) -> ClassSamples:
        parts = (draw(batch.part(np.flatnonzero(batch.target.codes == code))) for code, draw in enumerate(self.draws))
        return ClassSamples(tuple(parts), len(batch.ids), 1)
