"""Triangular factors of tall matrices whose rows and columns may have any scale."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.linalg import qr

from quadric.types import FloatArray


def graded_factor(blocks: Iterable[FloatArray]) -> FloatArray:
    """U with U'U = A'A, for A given as blocks of rows; no product of columns is ever formed.

    Columns are scaled to length one and pivoted, rows are sorted by size: Householder's method then keeps every row to its own
    accuracy, however small beside the others (Cox and Higham 1998). More than one block: their factors are stacked.
    """
    factors = [_of_block(block) for block in blocks]
    return factors[0] if len(factors) == 1 else _of_block(np.vstack(factors))


def _of_block(A: FloatArray) -> FloatArray:
    scale = np.sqrt(np.sum(A * A, axis=0))
    scale[scale == 0.0] = 1.0
    scaled = A / scale
    largest = np.abs(scaled).max(axis=1, initial=0.0)
    triangle, order = qr(scaled[np.argsort(-largest, kind="stable")], mode="r", pivoting=True, check_finite=False)
    factor = np.empty((min(A.shape), A.shape[1]))
    factor[:, order] = triangle[: len(factor)]
    return factor * scale
