"""Fits from sums over rows, for losses that need nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quadric.blas import one_blas_thread
from quadric.errors import ParameterError, quoted
from quadric.losses import LOSS_NAMES, loss_named
from quadric.losses.base import TrainingData, training_data
from quadric.losses.footprint import check_memory
from quadric.samples.extent import Extent
from quadric.samples.moments import Moments
from quadric.samples.sums import SummedSamples
from quadric.search.rules import SupportLimits


@one_blas_thread()
def digested(
    moments: Moments, loss: str, limits: SupportLimits, *, standardize: bool, class_weight: Any
) -> tuple[SummedSamples, TrainingData]:
    """Sums in the units of a fit, and what the problems of a loss are made of.

    Parameters
    ----------
    moments : Moments
    loss : str
        One that needs sums only.
    limits : SupportLimits
    standardize : bool
    class_weight : mapping, "balanced" or None
    """
    # all pairs of terms are there, however many these are
    size = (min(moments.n_rows, 1), len(moments.columns)), len(moments.classes), len(limits.exclude)
    check_memory(loss, Extent(*size, proves=True))
    sums = SummedSamples.of(moments, class_weight, standardize=standardize)
    return sums, training_data(sums, loss, limits)


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
