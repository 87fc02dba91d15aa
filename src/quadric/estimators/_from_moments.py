"""Fits from sums over rows, for losses that need nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quadric.blas import one_blas_thread
from quadric.certificate import SumFacts
from quadric.errors import ParameterError, quoted
from quadric.labels import class_weights
from quadric.losses import LOSS_NAMES, loss_named
from quadric.losses.base import TrainingData
from quadric.losses.footprint import check_memory
from quadric.samples.extent import Extent
from quadric.samples.moments import Moments
from quadric.search.rules import SupportLimits


@dataclass(frozen=True, eq=False)
class DigestedMoments:
    """Moments in the units of a fit, and what the problems of a loss are made of.

    Attributes
    ----------
    moments : Moments
    data : TrainingData
    facts : SumFacts
    classes : array
        Labels.
    """

    moments: Moments
    data: TrainingData
    facts: SumFacts
    classes: np.ndarray

    def positives(self) -> list[int]:
        """The class that each surface is positive for: the second of two, or each in turn."""
        return [1] if len(self.classes) == 2 else list(range(len(self.classes)))


@one_blas_thread()
def digested(moments: Moments, loss: str, limits: SupportLimits, *, standardize: bool, class_weight: Any) -> DigestedMoments:
    """Sums as training data.

    Parameters
    ----------
    moments : Moments
    loss : str
        One that needs sums only.
    limits : SupportLimits
    standardize : bool
    class_weight : mapping, "balanced" or None
    """
    classes = np.array(moments.classes)
    n = len(moments.columns)
    size = Extent((min(moments.n_rows, 1), n), len(classes), len(limits.exclude), proves=True)
    check_memory(loss, size)  # all pairs of terms are there, however many these are
    fitted = moments.standardized(standardize)
    weight = class_weights(class_weight, classes, np.arange(len(classes)), moments.class_weights)
    labelled = fitted.labelled(weight)
    data = loss_named(loss).data.from_moments(labelled, moments.n_rows, weight, limits)
    variance = np.diag(labelled.loss.scatter) / labelled.loss.weight
    return DigestedMoments(fitted, data, SumFacts(moments.n_rows, variance, labelled.energy().ridge), classes)


def check_sums(moments: Moments) -> None:
    """Refuse moments that no classifier can be fitted to."""
    present = [label for label, weight in zip(moments.classes, moments.class_weights, strict=True) if weight > 0.0]
    if len(present) < 2:
        what = f"one class only: {quoted(present[0])}" if present else "no class"
        raise ValueError(f"moments must have rows of at least two classes, but have {what}")
    absent = [label for label in moments.classes if label not in present]
    if absent:
        raise ValueError(f"moments have no rows of class {quoted(absent[0])}")


def check_needs_only_sums(losses: Sequence[str]) -> None:
    """Refuse losses that need rows."""
    able = [name for name in LOSS_NAMES if not loss_named(name).keeps_rows]
    for loss in losses:
        if loss not in able:
            raise ParameterError(f"the loss {loss} needs all rows: moments serve {', '.join(able)}", loss=able[0])
