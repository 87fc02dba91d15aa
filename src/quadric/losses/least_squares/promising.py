"""The terms that a short search is likely to choose from, by a few rows of M."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from quadric.losses.tableau import SINGULAR
from quadric.types import FloatArray, IntArray


def promising_terms(
    row_of: Callable[[int], FloatArray], diagonal: FloatArray, q: FloatArray, k: int, required: IntArray, n_terms: int
) -> IntArray:
    """The best entrants at each step of a forward selection to k terms, as many of each step as make ``n_terms`` together.

    A step costs a row of M and O(kp): M is factorised on the support only, row by row (docs/mathematics.md, eq. 6.2 has the
    gains).
    """
    left, h = diagonal.copy(), q.copy()  # T_jj and h_j of the tableau
    factor: list[FloatArray] = []
    chosen: list[int] = []
    orders = []
    while True:
        usable = left > SINGULAR * diagonal
        usable[chosen] = False
        gains = np.where(usable, h**2 / np.where(usable, left, 1.0), -np.inf)
        orders.append(_largest(gains, n_terms))
        step = len(chosen)
        if step == k or not usable.any():
            break
        entrant = int(required[step]) if step < len(required) else int(orders[-1][0])
        row = row_of(entrant).copy()
        for other in factor:
            row -= other[entrant] * other
        pivot = max(left[entrant], SINGULAR * diagonal[entrant])
        h -= (h[entrant] / pivot) * row
        factor.append(row / np.sqrt(pivot))
        left -= factor[-1] ** 2
        chosen.append(entrant)
    by_rank = np.concatenate([required, chosen, np.array(orders).T.ravel()]).astype(np.intp)
    terms, first = np.unique(by_rank, return_index=True)
    return np.sort(terms[np.argsort(first)[: max(n_terms, k)]])


def _largest(values: FloatArray, count: int) -> IntArray:
    """Where the largest values are, in their order; of equal ones the first."""
    if count < len(values):
        least = np.partition(values, len(values) - count)[len(values) - count]
        among = np.flatnonzero(values >= least)
        return among[np.argsort(-values[among], kind="stable")][:count]
    return np.argsort(-values, kind="stable")
