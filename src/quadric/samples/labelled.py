"""Samples of classes, with everything that weighs them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse

from quadric.geometry.energy import Energy
from quadric.geometry.lifting import column_ends
from quadric.samples.extent import Extent
from quadric.types import FloatArray, IntArray

# Values beyond it have fourth powers that overflow.
LARGEST = 1e60


def surface_classes(n_classes: int) -> list[int]:
    """The class that each surface is positive for: the second of two, or each in turn."""
    return [1] if n_classes == 2 else list(range(n_classes))


@dataclass(frozen=True)
class LabelledSamples:
    """Samples of two or more classes with everything that weighs them.

    Attributes
    ----------
    X : array of shape (m, n)
    codes : array of shape (m,)
        Class of each sample, 0 to n_classes - 1.
    sample_weight : array of shape (m,)
        Repetitions, all positive.
    class_weight : array of shape (n_classes,)
        Factor on the loss of each class.
    """

    X: FloatArray
    codes: IntArray
    sample_weight: FloatArray
    class_weight: FloatArray

    @property
    def loss_weight(self) -> FloatArray:
        """o, the product of both weights."""
        return self.sample_weight * self.class_weight[self.codes]

    def positives(self) -> list[int]:
        return surface_classes(len(self.class_weight))

    def signs(self, positive: int) -> FloatArray:
        """1 for the samples of one class, -1 for the rest."""
        return np.where(self.codes == positive, 1.0, -1.0)

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @cached_property
    def energy(self) -> Energy:
        return Energy.of_samples(self.X, self.sample_weight)


@dataclass(frozen=True)
class Samples(LabelledSamples):
    """Validated training data; rows of weight zero are gone.

    Attributes
    ----------
    classes : array
        The labels that ``codes`` stand for.
    """

    classes: np.ndarray

    def part(self, rows: IntArray) -> Samples:
        """Some of the samples, with the weights that they have among all."""
        return replace(self, X=self.X[rows], codes=self.codes[rows], sample_weight=self.sample_weight[rows])

    def extent(self, n_excluded: int, **details: Any) -> Extent:
        """The size of a fit to these samples, with what else the caller knows of it."""
        X: Any = self.X
        n_stored = X.nnz if issparse(X) else None
        return Extent(X.shape, len(self.classes), n_excluded, n_stored=n_stored, **details)


def check_magnitude(X: FloatArray) -> None:
    """Refuse values whose fourth powers overflow or vanish."""
    lowest, highest = column_ends(X)
    size = np.maximum(highest, -lowest)
    if size.max() > LARGEST:
        raise ValueError(f"X has values beyond {LARGEST:g}, whose products overflow: rescale it first")
    if ((size > 0.0) & (size < 1.0 / LARGEST)).any():
        raise ValueError(f"X has columns without values beyond {1.0 / LARGEST:g}, whose products vanish: rescale it first")
