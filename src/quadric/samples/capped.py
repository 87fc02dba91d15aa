"""Fits to samples that are read in batches: what is learned in which pass.

One pass counts leading bits for the caps and draws a random sample; one more finds the caps exactly; one sums moments, of each
fold where k and C are to be chosen; one scores the surfaces of the folds. Tables with so many features that products of all
pairs of terms cost more than the rows are read into memory instead, if they fit. So are small tables, wherever their rows are:
their fit is that of ``fit(X, y)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quadric.geometry.products import are_many
from quadric.geometry.terms import term_count
from quadric.progress import part
from quadric.samples.extent import Extent, check_pairs, is_small
from quadric.samples.folds import Fold, folds_by_key
from quadric.samples.labelled import LabelledSamples, check_magnitude
from quadric.samples.moments import Moments
from quadric.samples.quantiles import CountedKeys, exact_caps
from quadric.samples.random_rows import MOST_RANDOM, ClassSamples, RandomRows, RandomRowsOfClasses, sample_size
from quadric.samples.source import SampleBatch, SampleSource, Sums, Together
from quadric.samples.spool import Spooled
from quadric.samples.sums import BatchFoldMoments, BatchMoments, InUnits, KnownRows, SummedSamples
from quadric.samples.units import Units
from quadric.types import FloatArray, IntArray


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
        n = len(self.columns)
        return np.full(n, -np.inf), np.full(n, np.inf)


@dataclass(frozen=True, eq=False)
class CappedStream:
    """A stream of which a random sample and the limits of its columns are known.

    Attributes
    ----------
    stream : Stream
    sample : SampleBatch
        In the user's units.
    limits : pair of arrays of shape (n,)
        At which columns are capped.
    by_class : ClassSamples or None
        Random rows of each class, in the user's units; None: all rows are gathered.
    kept : dict or None
        Moments of folds, where they are kept for further fits.
    """

    stream: Stream
    sample: SampleBatch
    limits: tuple[FloatArray, FloatArray]
    by_class: ClassSamples | None = None
    kept: dict[tuple[int, bool], Sums] | None = None

    @property
    def is_gathered(self) -> bool:
        """Whether the sample holds all rows, for a fit in memory, which finds limits itself."""
        return self.by_class is None

    @staticmethod
    def of(stream: Stream, clip: float | None, has_room: Callable[[Extent], bool], *, closed: bool = False) -> CappedStream:
        """By one pass, or two where columns are capped.

        Parameters
        ----------
        stream : Stream
        clip : float or None
            Share of the rows beyond each cap; None: no caps.
        has_room : function of an Extent
            Whether the fit of a table of that size fits into memory.
        closed : bool
            Whether every column is capped, as in ``Units.of``.
        """
        source, size = stream.source, sample_size(len(stream.columns))
        if is_better_in_memory(source, has_room):
            everything = source.total(RandomRows(MOST_RANDOM, stream.seed)).batch
            check_classes(stream.classes, np.bincount(everything.target.codes, minlength=len(stream.classes)))
            return CappedStream(stream, everything, stream.no_limits())
        check_pairs(source.n_features)
        if source.is_read:  # later passes read coded numbers from a temporary file instead of parsing the table again
            source = Spooled(source)
            stream = replace(stream, source=source)
        rows = RandomRows.of(size, stream.seed, source.known_rows)
        draw = rows, RandomRowsOfClasses.among(source)
        if clip is None:
            (drawn, by_class), limits = source.total(Together(draw)).parts, stream.no_limits()
        else:
            with part(0.0, 0.7):
                counts, drawn, by_class = source.total(Together((CountedKeys(), *draw))).parts
            with part(0.7, 1.0):
                limits = exact_caps(source, clip, counts, closed=closed)
        sample = drawn.batch
        if len(sample.ids) < size and rows.highest < MOST_RANDOM:  # many rows have no weight
            sample = source.total(RandomRows(size, stream.seed)).batch
        check_magnitude(sample.X)
        return CappedStream(stream, sample, limits, by_class)

    def samples(self, class_weight: Any = None) -> LabelledSamples:
        """The random sample as a fit in memory takes it, in the user's units."""
        batch = self.sample
        target = replace(batch.target, labels=self.stream.classes).weighted(class_weight, batch.sample_weight)
        return LabelledSamples(batch.X, target, batch.sample_weight)

    @property
    def groups(self) -> IntArray | None:
        """What keeps rows of the sample together; None: nothing."""
        return self.sample.keys if self.stream.has_groups else None

    @property
    def has_all_rows(self) -> bool:
        """Whether the sample is known to hold every row."""
        return len(self.sample.ids) == self.stream.source.known_rows

    def _pass(self, by_class: bool) -> BatchMoments:
        about, sample = self.stream, self.sample
        pilot = Units.of(np.clip(sample.X, *self.limits), sample.sample_weight, standardize=True, clip=None)
        return BatchMoments(about.columns, about.target, tuple(about.classes.tolist()), self.limits, by_class, pilot)

    def moments(self, *, by_class: bool) -> Moments:
        return self.stream.source.total(self._pass(by_class))

    def fold_moments(self, n_folds: int, *, by_class: bool) -> Sums:
        if self.kept is not None and (n_folds, by_class) in self.kept:
            return self.kept[n_folds, by_class]
        check_pairs(len(self.stream.columns), n_folds * (len(self.stream.classes) if by_class else 1))
        sums: Sums = self.stream.source.total(BatchFoldMoments(self._pass(by_class), n_folds, self.stream.seed))
        if self.kept is not None:
            self.kept[n_folds, by_class] = sums
        return sums

    def in_units(self, moments: Moments, *, standardize: bool, class_weight: Any) -> KnownRows:
        """The rows in the units of a fit, with factors on the losses of the classes, and what sums tell of them all."""
        check_classes(self.stream.classes, moments.class_weights)
        sums = SummedSamples.of(moments, class_weight, standardize=standardize)
        assert self.by_class is not None
        return KnownRows(InUnits(self.stream.source, sums.units, sums.moments.factors), sums, self.by_class)

    def folds(self, n_folds: int) -> list[Fold]:
        """The rows of the sample in each fold."""
        number = folds_by_key(self.sample, n_folds, self.stream.seed)
        return [Fold(fold, np.flatnonzero(number != fold), np.flatnonzero(number == fold)) for fold in range(n_folds)]


def is_better_in_memory(source: SampleSource, has_room: Callable[[Extent], bool]) -> bool:
    """Whether to read all rows at once: where they are few, or terms so many that fits in memory pair them only as needed.

    Parameters
    ----------
    source : SampleSource
    has_room : function of an Extent
        Whether a fit of that size fits into memory.
    """
    if source.known_rows is None:
        return False
    small = is_small(source.known_rows, source.n_features)
    if not small and (not source.is_local or not are_many(term_count(source.n_features))):
        return False
    return has_room(Extent((source.known_rows, source.n_features), source.n_classes))


def check_classes(classes: np.ndarray, weights: np.ndarray) -> None:
    """Refuse classes without rows, or whose rows have no weight."""
    absent = classes[weights == 0].tolist()
    if absent:
        raise ValueError(f"there are no rows of class {absent[0]!r}")
