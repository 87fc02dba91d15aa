"""What fits of streamed samples ask of each batch: units, moments, moments of folds, weights of classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quadric.blas import one_blas_thread
from quadric.geometry.moments import LabelledMoments, moments_by_class
from quadric.labels import class_weights
from quadric.samples.folds import folds_by_key
from quadric.samples.labelled import LabelledSamples
from quadric.samples.moments import Moments
from quadric.samples.random_rows import SIDE_ROWS, ClassSamples, SampledRows
from quadric.samples.source import SampleBatch, SampleSource, State, Sums
from quadric.samples.target import surfaces_of
from quadric.samples.units import Units
from quadric.types import FloatArray, IntArray


@dataclass(frozen=True)
class _Mapped:
    of: Callable[[SampleBatch], Any]
    units: Units
    class_weight: FloatArray

    def __call__(self, batch: SampleBatch) -> Any:
        return self.of(replace(batch, X=self.units(batch.X), target=batch.target.with_factors(self.class_weight)))


class InUnits(SampleSource):
    """A source whose samples are mapped to the units of a fit, with the class weights of it.

    Parameters
    ----------
    source : SampleSource
    units : Units
    class_weight : array of shape (n_classes,)
    """

    def __init__(self, source: SampleSource, units: Units, class_weight: FloatArray) -> None:
        self._source, self.units, self.class_weight = source, units, class_weight
        self.n_features, self.n_classes, self.class_rows = source.n_features, source.n_classes, source.class_rows

    def total(self, of: Callable[[SampleBatch], State]) -> State:
        return self._source.total(_Mapped(of, self.units, self.class_weight))


@dataclass(frozen=True, eq=False)
class SummedSamples:
    """Sums of all rows in the units of a fit, and a random sample of them for losses that need rows.

    Attributes
    ----------
    moments : LabelledMoments
    n_rows : int
    units : Units
    sample : LabelledSamples or None
        In the same units, with the same factors.
    """

    moments: LabelledMoments
    n_rows: int
    units: Units
    sample: LabelledSamples | None = None

    @staticmethod
    def of(moments: Moments, class_weight: Any, *, standardize: bool, sample: LabelledSamples | None = None) -> SummedSamples:
        """In the units that the sums themselves tell.

        Parameters
        ----------
        moments : Moments
        class_weight : mapping, "balanced" or None
        standardize : bool
        sample : LabelledSamples, optional
            In the user's units.
        """
        classes, fitted = np.array(moments.classes), moments.standardized(standardize)
        weight = class_weights(class_weight, classes, np.arange(len(classes)), moments.class_weights)
        rows = None if sample is None else replace(sample, X=fitted.units(sample.X), target=sample.target.with_factors(weight))
        return SummedSamples(fitted.labelled(weight), moments.n_rows, fitted.units, rows)

    @property
    def n_features(self) -> int:
        return len(self.units.center)

    @property
    def surfaces(self) -> list[int]:
        return surfaces_of(len(self.moments.factors))


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Samples in the units of a fit, and what is known of them without another pass.

    Attributes
    ----------
    source : InUnits
    sums : SummedSamples
        Of all samples, in these units.
    samples : ClassSamples
        Random rows of each class, in the user's units.
    """

    source: InUnits
    sums: SummedSamples
    samples: ClassSamples

    def random_rows(self, surface: int) -> tuple[SampleBatch, SampleBatch]:
        """As many of the rest and of one class, in the units of the fit; those of the rest in the shares of its classes."""
        batches = [drawn.batch for drawn in self.samples.classes]
        # merged by their random numbers, of which the lowest are kept: a fair sample of the classes together
        rest = SampledRows(tuple(b for code, b in enumerate(batches) if code != surface), SIDE_ROWS, 0).batch
        return self._in_units(rest), self._in_units(batches[surface])

    def _in_units(self, rows: SampleBatch) -> SampleBatch:
        return replace(rows, X=self.sums.units(rows.X), target=rows.target.with_factors(self.sums.moments.factors))


@dataclass(frozen=True, eq=False)
class BatchMoments:
    """The pass that sums the moments of all rows.

    Attributes
    ----------
    columns, target, classes :
        As in Moments.
    limits : pair of arrays of shape (n,)
        Smallest and largest value of each feature.
    by_class : bool
        Whether to keep a scatter for each class.
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
        return self.of(batch.X, batch.target.codes, batch.sample_weight)

    def of(self, X: FloatArray, codes: IntArray, weight: FloatArray) -> Moments:
        """Moments of rows, of which at least one has positive weight."""
        present = weight > 0.0  # weights are repetitions: rows of weight zero are not there
        if not present.all():
            X, codes, weight = X[present], codes[present], weight[present]
        X = np.clip(X, *self.limits)  # a copy
        units = self.pilot or Units.of(X, weight, standardize=True, clip=None)
        # sums of fourth powers far from zero lose digits: they are kept about the middle, in units of the spread
        X -= units.center
        X /= units.scale
        if self.by_class:
            parts = tuple(moments_by_class(X, codes, weight, len(self.classes)))
            weights, means = np.array([part.weight for part in parts]), np.array([part.mean for part in parts])
        else:
            found = LabelledMoments.of(X, codes, weight, np.ones(len(self.classes)))
            parts, weights, means = (found.loss,), found.class_weights, found.class_means
        units = replace(units, low=self.limits[0], high=self.limits[1])
        about = self.columns, self.target, self.classes, len(X), units
        return Moments(*about, weights, means, self.by_class, parts)


@dataclass(frozen=True)
class BatchFoldMoments:
    """The pass that sums the moments of each fold."""

    of: BatchMoments
    n_folds: int
    seed: int

    def __call__(self, batch: SampleBatch) -> Sums:
        fold = folds_by_key(batch, self.n_folds, self.seed)
        rows = [np.flatnonzero(fold == number) for number in range(self.n_folds)]
        return Sums(tuple(self.of(batch.part(mine)) if len(mine) else None for mine in rows))


def class_totals(batch: SampleBatch) -> Sums:
    """The pass that weighs the classes and counts the rows."""
    weights = np.bincount(batch.target.codes, weights=batch.sample_weight, minlength=batch.target.n_classes)
    return Sums((weights.astype(float), len(batch.ids)))
