"""Grids of C and k."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quadric.estimators._validation import integer_from, number_above
from quadric.geometry.terms import term_count
from quadric.types import FloatArray, IntArray

LARGEST_DEFAULT_K = 100


def k_grid(ks: Any, n_features: int) -> IntArray:
    """ks as an increasing array; None means 1, 2, ... up to the number of terms or 100."""
    if ks is None:
        return np.arange(1, min(term_count(n_features), LARGEST_DEFAULT_K) + 1)
    values = _listed("ks", ks)
    rule = integer_from(1)
    for value in values:
        if not rule.holds(value):
            raise ValueError(f"ks must hold integers of at least 1, got {value!r}")
    grid = np.array([int(value) for value in values], dtype=np.intp)
    if (np.diff(grid) <= 0).any():
        raise ValueError(f"ks must be strictly increasing, got {grid.tolist()}")
    return grid


def C_grid(Cs: Any) -> FloatArray:
    """Cs as an array in the given order; a number n means the n values 4^-1, 4^0, 4^1, ..."""
    if integer_from(1).holds(Cs):
        return np.array([4.0**power for power in range(-1, int(Cs) - 1)])
    values = _listed("Cs", Cs)
    rule = number_above(0.0)
    for value in values:
        if not rule.holds(value):
            raise ValueError(f"Cs must hold finite numbers above 0, got {value!r}")
    return np.array([float(value) for value in values])


def _listed(name: str, values: Any) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray | range) or np.ndim(values) != 1:
        raise ValueError(f"{name} must be a sequence of numbers, got {values!r}")
    if len(values) == 0:
        raise ValueError(f"{name} is empty: give at least one value")
    return list(values)
