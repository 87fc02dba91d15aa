"""Fits to samples that are read in batches: what is learned in which pass.

One pass counts leading bits for the caps and draws a random sample; one more finds the caps exactly; one sums moments, of each
fold where k and C are to be chosen; one scores the surfaces of the folds. Tables with so many features that products of all
pairs of terms are dearer than the rows are read into memory instead, if they fit. So are small tables, wherever their rows are:
their fit is that of ``fit(X, y)``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quadric.errors import MemoryLimitError
from quadric.estimators._folds import Fold
from quadric.estimators._foldwork import FoldTask, SummedSamples, TrainingPart
from quadric.estimators._quantiles import CountedKeys, exact_caps
from quadric.estimators._stream_passes import (
    MOST_RANDOM,
    BatchFoldMoments,
    BatchMoments,
    BatchSpread,
    FoldMoments,
    InUnits,
    RandomRows,
    Stream,
    folds_by_key,
    sample_size,
)
from quadric.estimators._units import Units
from quadric.estimators._validation import Samples, check_magnitude, named_losses
from quadric.estimators.moments import Moments
from quadric.geometry.products import MANY_TERMS
from quadric.geometry.terms import term_count
from quadric.labels import class_weights
from quadric.losses.footprint import Extent, fits
from quadric.losses.passes import SampleBatch, SampleSource, Together
from quadric.progress import part
from quadric.resources import gigabytes, memory
from quadric.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class SurveyedStream:
    """A stream of which a random sample and the limits of its columns are known.

    Attributes
    ----------
    stream : Stream
    sample : SampleBatch
        In the user's units.
    limits : pair of arrays of shape (n,)
        At which columns are capped.
    is_gathered : bool
        Whether the sample holds all rows, for a fit in memory; the limits are that fit's affair then.
    """

    stream: Stream
    sample: SampleBatch
    limits: tuple[FloatArray, FloatArray]
    is_gathered: bool = False

    @staticmethod
    def of(stream: Stream, model: Any) -> SurveyedStream:
        """By one pass, or two where columns are capped.

        Parameters
        ----------
        stream : Stream
        model : SparseQuadraticSVC or SparseQuadraticSVCCV
            That is to be fitted: says which losses need room, and whether to cap.
        """
        source, size, clip = stream.source, sample_size(len(stream.columns)), model.clip
        if is_better_in_memory(source, named_losses(model.loss)):
            rows = source.total(RandomRows(MOST_RANDOM, stream.seed)).batch
            check_classes(stream.classes, np.bincount(rows.codes, minlength=len(stream.classes)))
            return SurveyedStream(stream, rows, stream.no_limits(), is_gathered=True)
        check_pairs(source.n_features)
        draw = RandomRows.among(source, size, stream.seed)
        if clip is None:
            drawn, limits = source.total(draw), stream.no_limits()
        else:
            with part(0.0, 0.7):
                found = source.total(Together(CountedKeys(), draw))
            with part(0.7, 1.0):
                drawn, limits = found.second, exact_caps(source, clip, found.first)
        sample = drawn.batch
        if len(sample.ids) < size and draw.highest < MOST_RANDOM:  # many rows have no weight
            sample = source.total(RandomRows(size, stream.seed)).batch
        check_magnitude(sample.X)
        return SurveyedStream(stream, sample, limits)

    def samples(self, class_weight: Any = None) -> Samples:
        """The random sample as a fit in memory takes it, in the user's units."""
        batch, classes = self.sample, self.stream.classes
        weight = class_weights(class_weight, classes, batch.codes, batch.sample_weight)
        return Samples(batch.X, batch.codes, batch.sample_weight, weight, classes)

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
        """Of all rows."""
        return self.stream.source.total(self._pass(by_class))

    def fold_moments(self, n_folds: int, *, by_class: bool) -> FoldMoments:
        """Of each fold."""
        check_pairs(len(self.stream.columns), n_folds * (len(self.stream.classes) if by_class else 1))
        return self.stream.source.total(BatchFoldMoments(self._pass(by_class), n_folds, self.stream.seed))

    def in_units(self, *, standardize: bool, class_weight: Any) -> InUnits:
        """The rows in the units of a fit, by one more pass, with factors on the losses of the classes."""
        spread = self.stream.source.total(BatchSpread(self.limits))
        classes = self.stream.classes
        check_classes(classes, spread.class_weights)
        weight = class_weights(class_weight, classes, np.arange(len(classes)), spread.class_weights)
        return InUnits(self.stream.source, spread.units(self.limits, standardize), weight)

    def folds(self, n_folds: int) -> list[Fold]:
        """The rows of the sample in each fold."""
        number = folds_by_key(self.sample, n_folds, self.stream.seed)
        return [Fold(fold, np.flatnonzero(number != fold), np.flatnonzero(number == fold)) for fold in range(n_folds)]


def summed_part(moments: Moments, sample: Samples, task: FoldTask) -> TrainingPart:
    """What is fitted to: sums of all rows and a random sample of them, in the units that the sums tell.

    Parameters
    ----------
    moments : Moments
    sample : Samples
        In the user's units.
    task : FoldTask
    """
    fitted, classes = moments.standardized(task.units["standardize"]), sample.classes
    weight = class_weights(task.class_weight, classes, np.arange(len(classes)), moments.class_weights)
    rows = replace(sample, X=fitted.units(sample.X), class_weight=weight)
    return TrainingPart(fitted.units, rows, SummedSamples(fitted.labelled(weight), moments.n_rows, rows))


@dataclass(frozen=True, eq=False)
class SummedParts:
    """The training part of a fold as the sum of the moments of the others.

    Attributes
    ----------
    sums : FoldMoments
    """

    sums: FoldMoments

    def part(self, task: FoldTask, samples: Samples, fold: Fold) -> TrainingPart:
        """Units by all training rows; the samples that go with them are those of the random sample."""
        moments = self.sums.without(fold.number)
        check_fold(moments, fold.number)
        return summed_part(moments, samples.part(fold.train), task)


PASSES_FROM = 10_000_000
"""Values of a table, rows times columns, from which on it is read in passes, wherever it is."""


def is_better_in_memory(source: SampleSource, losses: Sequence[str]) -> bool:
    """Whether to read all rows at once: where they are few, or terms so many that fits in memory pair them only as needed.

    Parameters
    ----------
    source : SampleSource
    losses : sequence of str
        Which must have room.
    """
    if source.known_rows is None:
        return False
    is_small = source.known_rows * source.n_features < PASSES_FROM
    if not is_small and (not source.is_local or term_count(source.n_features) <= MANY_TERMS):
        return False
    size = Extent((source.known_rows, source.n_features), source.n_classes)
    return all(fits(loss, size) for loss in losses)


def check_classes(classes: np.ndarray, weights: np.ndarray) -> None:
    """Refuse classes without rows, or whose rows have no weight."""
    absent = classes[weights == 0].tolist()
    if absent:
        raise ValueError(f"there are no rows of class {absent[0]!r}")


def check_pairs(n_features: int, n_sums: int = 1) -> None:
    """Refuse features whose sums of products of all pairs of terms do not fit into memory.

    Parameters
    ----------
    n_features : int
    n_sums : int
        How many are made in one pass.
    """
    room, needed = memory(), bytes_of_pairs(n_features, n_sums)
    if room is not None and needed > room.size:
        most = bisect_left(range(n_features), True, lo=1, key=lambda n: bytes_of_pairs(n, n_sums) > room.size) - 1
        raise MemoryLimitError(
            f"{n_features:,} features ({term_count(n_features):,} terms) need about {gigabytes(needed)} of memory for sums "
            f"over pairs of terms, and {room.words} {gigabytes(room.size)}: take fewer columns, at most about {most} features, "
            "or so few rows that a fit in memory has room"
        )


def bytes_of_pairs(n_features: int, n_sums: int) -> int:
    """What a pass needs that sums products of all pairs of terms.

    Of each sum there are the one so far, that of a batch and both together, while two more matrices come and go.
    """
    return 8 * (3 * n_sums + 2) * term_count(n_features) ** 2


def check_fold(moments: Moments, number: int) -> None:
    """Refuse a training part without rows of some class."""
    absent = [label for label, weight in zip(moments.classes, moments.class_weights, strict=True) if weight == 0.0]
    if absent:
        raise ValueError(f"fold {number} has no training sample of class {absent[0]!r}; use fewer folds")
