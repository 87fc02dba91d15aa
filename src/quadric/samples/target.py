"""What surfaces are fitted to: a column of y for each surface, factors on the losses, and what scores decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quadric.geometry.moments import LabelledMoments
from quadric.labels import class_weights
from quadric.types import BoolArray, FloatArray, IntArray


def surfaces_of(n_classes: int) -> list[int]:
    """The class that each surface speaks for, by which surfaces are known: the second of two, or each in turn."""
    return [1] if n_classes == 2 else list(range(n_classes))


def groups_of(surfaces: Sequence[int], *, is_shared: bool) -> list[list[int]]:
    """Surfaces that are fitted together: each alone, or all with one list of terms."""
    return [list(surfaces)] if is_shared else [[surface] for surface in surfaces]


def codes_of_scores(scores: FloatArray) -> IntArray:
    """Codes of the classes that scores decide for: by the sign of one score, or by the largest of several.

    Parameters
    ----------
    scores : array of shape (m,) for two classes, (m, n_classes) otherwise
    """
    return (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)


@dataclass(frozen=True, eq=False)
class Target:
    """Classes of samples: a surface tells two apart, and of several each class has one against the rest.

    Whoever fits asks for ``surfaces``, for the ``y`` of one and for ``factors``, and knows nothing of classes.

    Attributes
    ----------
    codes : array of shape (m,)
        Class of each sample, 0 to n_classes - 1.
    class_weight : array of shape (n_classes,)
        Factor on the loss of each class.
    labels : array or None
        What the codes stand for, where that is known.
    """

    codes: IntArray
    class_weight: FloatArray
    labels: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: BoolArray | IntArray | slice) -> Target:
        """That of some of the samples."""
        return replace(self, codes=self.codes[rows])

    @property
    def n_classes(self) -> int:
        return len(self.class_weight)

    @property
    def classes(self) -> np.ndarray:
        """The labels; the codes themselves where there are none."""
        return np.arange(self.n_classes) if self.labels is None else self.labels

    @property
    def surfaces(self) -> list[int]:
        """The surfaces that are fitted."""
        return surfaces_of(self.n_classes)

    def y(self, surface: int) -> FloatArray:
        """What one surface is fitted to: 1 for the samples of its class, -1 for the rest."""
        return np.where(self.codes == surface, 1.0, -1.0)

    @property
    def factors(self) -> FloatArray:
        """The factor on the loss of each sample."""
        return self.class_weight[self.codes]

    def moments(self, X: FloatArray, sample_weight: FloatArray) -> LabelledMoments:
        """What the squared loss needs of samples with this target."""
        return LabelledMoments.of(X, self.codes, sample_weight, self.class_weight)

    def with_factors(self, class_weight: FloatArray) -> Target:
        """The same classes with other factors."""
        return replace(self, class_weight=class_weight)

    def weighted(self, class_weight: Any, sample_weight: FloatArray) -> Target:
        """The same classes with the factors that a ``class_weight`` parameter asks for."""
        return self.with_factors(class_weights(class_weight, self.classes, self.codes, sample_weight))
