"""What fits of streamed samples ask of each batch: units, moments, moments of folds, the spread of columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from quadric.blas import one_blas_thread
from quadric.geometry.moments import LabelledMoments
from quadric.samples.folds import folds_by_key
from quadric.samples.labelled import Samples
from quadric.samples.moments import LabelledRows, Moments
from quadric.samples.random_rows import SIDE_ROWS, ClassSamples, SampledRows
from quadric.samples.source import SampleBatch, SampleSource, State
from quadric.samples.units import Units
from quadric.types import FloatArray, IntArray


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


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Samples in the units of a fit, and what is known of them without another pass.

    Attributes
    ----------
    source : InUnits
    moments : LabelledMoments
        Of all samples, in these units.
    n_rows : int
    samples : ClassSamples
        Random rows of each class, in the user's units.
    """

    source: InUnits
    moments: LabelledMoments
    n_rows: int
    samples: ClassSamples

    def random_rows(self, positive: int) -> tuple[SampleBatch, SampleBatch]:
        """As many of the rest and of one class, in the units of the fit; those of the rest in the shares of its classes."""
        batches = [drawn.batch for drawn in self.samples.classes]
        rest = SampledRows(tuple(b for code, b in enumerate(batches) if code != positive), SIDE_ROWS, 0).batch
        return self._in_units(rest), self._in_units(batches[positive])

    def _in_units(self, rows: SampleBatch) -> SampleBatch:
        return replace(rows, X=self.source.units(rows.X), class_weight=self.source.class_weight)


@dataclass(frozen=True)
class _Mapped:
    of: Callable[[SampleBatch], Any]
    units: Units
    class_weight: FloatArray

    def __call__(self, batch: SampleBatch) -> Any:
        return self.of(replace(batch, X=self.units(batch.X), class_weight=self.class_weight))


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
class SummedSamples:
    """Sums of all rows in the units of a fit, and a random sample of them for losses that need rows.

    Attributes
    ----------
    moments : LabelledMoments
    n_rows : int
    sample : Samples
        In the same units, with the factors on the losses of the classes among all rows.
    """

    moments: LabelledMoments
    n_rows: int
    sample: Samples

    @property
    def n_features(self) -> int:
        """n."""
        return self.sample.n_features


@dataclass(frozen=True, eq=False)
class ClassTotals:
    """The weight of each class, and the number of rows."""

    class_weights: FloatArray
    n_rows: int

    def __add__(self, other: ClassTotals) -> ClassTotals:
        return ClassTotals(self.class_weights + other.class_weights, self.n_rows + other.n_rows)


def class_totals(batch: SampleBatch) -> ClassTotals:
    """The pass that weighs the classes."""
    weights = np.bincount(batch.codes, weights=batch.sample_weight, minlength=len(batch.class_weight))
    return ClassTotals(weights.astype(float), len(batch.ids))
