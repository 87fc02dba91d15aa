"""Samples with their target and everything that weighs them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse

from quadric.geometry.energy import Energy
from quadric.geometry.lifting import column_ends
from quadric.samples.extent import Extent
from quadric.samples.target import Target
from quadric.types import BoolArray, FloatArray, IntArray

# Values beyond it have fourth powers that overflow.
LARGEST = 1e60


@dataclass(frozen=True)
class LabelledSamples:
    """Samples with their target and everything that weighs them; training data have no rows of weight zero.

    Attributes
    ----------
    X : array of shape (m, n)
    target : Target
    sample_weight : array of shape (m,)
        Repetitions, all positive.
    """

    X: FloatArray
    target: Target
    sample_weight: FloatArray

    @property
    def loss_weight(self) -> FloatArray:
        """o, the product of both weights."""
        return self.sample_weight * self.target.factors

    @property
    def surfaces(self) -> list[int]:
        return self.target.surfaces

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @cached_property
    def energy(self) -> Energy:
        return Energy.of_samples(self.X, self.sample_weight)

    def part(self, rows: BoolArray | IntArray | slice) -> Self:
        """Some of the samples, with the weights that they have among all."""
        return replace(self, X=self.X[rows], target=self.target[rows], sample_weight=self.sample_weight[rows])

    def extent(self, n_excluded: int, **details: Any) -> Extent:
        """The size of a fit to these samples, with what else the caller knows of it."""
        X: Any = self.X
        n_stored = X.nnz if issparse(X) else None
        return Extent(X.shape, self.target.n_classes, n_excluded, n_stored=n_stored, **details)


def check_magnitude(X: FloatArray) -> None:
    """Refuse values whose fourth powers overflow or vanish."""
    lowest, highest = column_ends(X)
    size = np.maximum(highest, -lowest)
    if size.max() > LARGEST:
        raise ValueError(f"X has values beyond {LARGEST:g}, whose products overflow: rescale it first")
    if ((size > 0.0) & (size < 1.0 / LARGEST)).any():
        raise ValueError(f"X has columns without values beyond {1.0 / LARGEST:g}, whose products vanish: rescale it first")
