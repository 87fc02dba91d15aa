"""Fits to samples that are read in batches: what is learned in which pass.

One pass counts leading bits for the caps and draws a random sample; one more finds the caps exactly; one sums moments, of each
fold where k and C are to be chosen. Surfaces are fitted to the sums of all rows, and scored on the rows of the sample.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quadric.blas import one_blas_thread
from quadric.estimators._folds import Fold
from quadric.estimators._foldwork import FoldTask, TrainingPart
from quadric.estimators._from_moments import check_sums
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
from quadric.estimators._validation import Samples, check_magnitude, validate_samples
from quadric.estimators.moments import Moments
from quadric.geometry.moments import LabelledMoments
from quadric.labels import class_weights
from quadric.losses import loss_named
from quadric.losses.base import TrainingData
from quadric.losses.passes import SampleBatch, Together
from quadric.progress import part
from quadric.search.rules import SupportLimits
from quadric.types import FloatArray


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
    """

    stream: Stream
    sample: SampleBatch
    limits: tuple[FloatArray, FloatArray]

    @staticmethod
    def of(stream: Stream, clip: float | None) -> SurveyedStream:
        """By one pass, or two where columns are capped."""
        source, size = stream.source, sample_size(len(stream.columns))
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

    @property
    def samples(self) -> Samples:
        """The random sample as a fit in memory takes it, in the user's units."""
        batch, classes = self.sample, self.stream.classes
        return Samples(batch.X, batch.codes, batch.sample_weight, np.ones(len(classes)), classes)

    def _pass(self, by_class: bool) -> BatchMoments:
        about, sample = self.stream, self.sample
        pilot = Units.of(np.clip(sample.X, *self.limits), sample.sample_weight, standardize=True, clip=None)
        return BatchMoments(about.columns, about.target, tuple(about.classes.tolist()), self.limits, by_class, pilot)

    def moments(self, *, by_class: bool) -> Moments:
        """Of all rows."""
        return self.stream.source.total(self._pass(by_class))

    def fold_moments(self, n_folds: int, *, by_class: bool) -> FoldMoments:
        """Of each fold."""
        return self.stream.source.total(BatchFoldMoments(self._pass(by_class), n_folds, self.stream.seed))

    def in_units(self, *, standardize: bool, class_weight: Any) -> InUnits:
        """The rows in the units of a fit, by one more pass, with factors on the losses of the classes."""
        spread = self.stream.source.total(BatchSpread(self.limits))
        classes = self.stream.classes
        absent = classes[spread.class_weights == 0.0].tolist()
        if absent:
            raise ValueError(f"there are no rows of class {absent[0]!r}")
        weight = class_weights(class_weight, classes, np.arange(len(classes)), spread.class_weights)
        return InUnits(self.stream.source, spread.units(self.limits, standardize), weight)

    def folds(self, n_folds: int) -> list[Fold]:
        """The rows of the sample in each fold."""
        number = folds_by_key(self.sample, n_folds, self.stream.seed)
        return [Fold(fold, np.flatnonzero(number != fold), np.flatnonzero(number == fold)) for fold in range(n_folds)]


@dataclass(frozen=True, eq=False)
class SummedSamples:
    """Sums in the units of a fit, as training data of losses that need no more.

    Attributes
    ----------
    moments : LabelledMoments
    n_rows : int
    class_weight : array of shape (n_classes,)
    n_features : int
    """

    moments: LabelledMoments
    n_rows: int
    class_weight: FloatArray
    n_features: int

    @one_blas_thread()
    def digested(self, loss: str, limits: SupportLimits) -> TrainingData:
        """Training data of a loss."""
        return loss_named(loss).data.from_moments(self.moments, self.n_rows, self.class_weight, limits)


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
        fitted = moments.standardized(task.units["standardize"])
        classes = samples.classes
        weight = class_weights(task.class_weight, classes, np.arange(len(classes)), moments.class_weights)
        digester = SummedSamples(fitted.labelled(weight), moments.n_rows, weight, len(moments.columns))
        some = samples.part(fold.train)
        train = validate_samples(fitted.units(some.X), classes[some.codes], some.sample_weight, None, classes)
        return TrainingPart(fitted.units, replace(train, class_weight=weight), digester)


def check_fold(moments: Moments, number: int) -> None:
    """Refuse a training part without rows of some class."""
    try:
        check_sums(moments)
    except ValueError as error:
        raise ValueError(f"the training part of fold {number}: {error}; use fewer folds") from None
