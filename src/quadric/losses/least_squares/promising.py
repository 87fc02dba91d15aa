"""The terms that a short search is likely to choose from, without any p x p work beyond M itself."""

from __future__ import annotations

import numpy as np

from quadric.losses.tableau import SINGULAR
from quadric.types import FloatArray, IntArray


def promising_terms(M: FloatArray, q: FloatArray, k: int, required: IntArray, n_terms: int) -> IntArray:
    """The best entrants at each step of a forward selection to k terms, as many of each step as make ``n_terms`` together.

    A step costs O(kp): M is factorised on the support only, row by row (docs/mathematics.md, eq. 6.2 has the gains).
    """
    diagonal = np.diag(M).copy()
    left, h = diagonal.copy(), q.copy()  # T_jj and h_j of the tableau
    factor = np.zeros((k, len(q)))
    chosen: list[int] = []
    orders = []
    while True:
        usable = left > SINGULAR * diagonal
        usable[chosen] = False
        gains = np.where(usable, h**2 / np.where(usable, left, 1.0), -np.inf)
        orders.append(np.argsort(-gains, kind="stable")[:n_terms])
        step = len(chosen)
        if step == k or not usable.any():
            break
        entrant = int(required[step]) if step < len(required) else int(orders[-1][0])
        row = M[entrant] - factor[:step, entrant] @ factor[:step]
        pivot = max(left[entrant], SINGULAR * diagonal[entrant])
        factor[step] = row / np.sqrt(pivot)
        h -= (h[entrant] / pivot) * row
        left = left - factor[step] ** 2
        chosen.append(entrant)
    by_rank = np.concatenate([required, chosen, np.array(orders).T.ravel()]).astype(np.intp)
    terms, first = np.unique(by_rank, return_index=True)
    return np.sort(terms[np.argsort(first)[: max(n_terms, k)]])
