"""Grids of C and k."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from quadric.defaults import DEFAULT_CS, DEFAULT_KS, LARGEST_COUNT, LARGEST_WEIGHT, LONGEST_GRID, SMALLEST_WEIGHT
from quadric.errors import quoted
from quadric.estimators._validation import LOSS_WEIGHT, N_TERMS, check_values, integer_from
from quadric.types import FloatArray, IntArray

MOST_POWERS = 100
"""Further powers of 4 are larger than any C may be."""


def k_grid(ks: Any, n_terms: int, n_required: int = 0) -> IntArray:
    """ks as an increasing array.

    Parameters
    ----------
    ks : increasing sequence of int or None
        None means DEFAULT_KS, as far as the data have that many terms.
    n_terms : int
        Terms that may be used.
    n_required : int
        Terms that must be used: the smallest k allows them all.
    """
    if ks is None:
        low = max(n_required, 1)
        return np.array([k for k in DEFAULT_KS if low <= k <= n_terms] or [low], dtype=np.intp)
    values = _listed("ks", ks)
    for value in values:
        if not N_TERMS.holds(value):
            raise ValueError(f"ks must hold integers from 1 to {LARGEST_COUNT:,}, got {quoted(value)}")
    grid = np.array([int(value) for value in values], dtype=np.intp)
    if (np.diff(grid) <= 0).any():
        raise ValueError(f"ks must be strictly increasing, got {grid.tolist()}")
    if grid[0] < n_required:
        raise ValueError(f"include holds {n_required} terms, more than the smallest of ks, {grid[0]}")
    return grid


def C_grid(Cs: Any) -> FloatArray:
    """Cs as an array in the given order; None means DEFAULT_CS, a number n the n values 4^-1, 4^0, 4^1, ..."""
    if Cs is None:
        return np.array(DEFAULT_CS)
    if isinstance(Cs, Integral):
        check_values({"Cs": Cs}, {"Cs": integer_from(1, MOST_POWERS)})
        return np.array([4.0**power for power in range(-1, int(Cs) - 1)])
    values = _listed("Cs", Cs)
    for value in values:
        if not LOSS_WEIGHT.holds(value):
            raise ValueError(f"Cs must hold finite numbers from {SMALLEST_WEIGHT:g} to {LARGEST_WEIGHT:g}, got {quoted(value)}")
    return np.array([float(value) for value in values])


def _listed(name: str, values: Any) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray) or getattr(values, "ndim", 1) != 1:
        raise ValueError(f"{name} must be a sequence of numbers, got {quoted(values)}")
    if not len(values[:1]):
        raise ValueError(f"{name} is empty: give at least one value")
    if len(values[: LONGEST_GRID + 1]) > LONGEST_GRID:  # a range can be longer than len() can say
        raise ValueError(f"{name} has more than {LONGEST_GRID:,} values: give fewer")
    return list(values)
