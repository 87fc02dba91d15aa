"""The u-step: the nearest vector with at most k non-zero entries."""

from __future__ import annotations

import numpy as np

from quadric.types import FloatArray, IntArray


def largest(z: FloatArray, k: int, required: IntArray | None = None) -> IntArray:
    """Positions of the k largest |z_j|, in increasing order; ties go to the lower position, so that runs repeat.

    Those in ``required`` are kept whatever their size.
    """
    size = np.abs(z)
    if required is not None:
        size[required] = np.inf
    return np.sort(np.argsort(-size, kind="stable")[:k])


def keep(z: FloatArray, support: IntArray) -> FloatArray:
    """z on ``support`` and zero elsewhere."""
    u = np.zeros_like(z)
    u[support] = z[support]
    return u
