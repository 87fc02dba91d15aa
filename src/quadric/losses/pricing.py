"""The table of all exchanges of one term from a few rows of the quadratic, block by block: k p numbers, few of them at a time.

The same table as in losses/tableau.py and losses/columns.py (docs/mathematics.md, eq. 6.3), for where there are so many terms
that even a few arrays of the size of the table are too much.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from quadric.losses.base import PRICED_TERMS, Moves
from quadric.losses.tableau import SINGULAR, exchanged
from quadric.types import FloatArray, IntArray


@dataclass(frozen=True)
class Quadratic:
    """1/2 z'Mz - q'z + constant on some support and the rows of M there.

    Attributes
    ----------
    support : array
    rows : sequence of arrays of shape (p,)
        Of M, one for each term of the support.
    diagonal, q : arrays of shape (p,)
    constant : float
    """

    support: IntArray
    rows: Sequence[FloatArray]
    diagonal: FloatArray
    q: FloatArray
    constant: float

    def prices(self, moves: Moves) -> Iterator[tuple[IntArray, FloatArray]]:
        """Blocks of terms that can enter, with the change of the minimum by each exchange: a row for each term that leaves."""
        # A unit diagonal, as in Tableau; rounding may leave nothing of a term's own
        scale = 1.0 / np.sqrt(np.maximum(self.diagonal, np.finfo(float).tiny))
        inner = np.array([row[self.support] for row in self.rows]).reshape(len(self.support), -1)
        inner *= np.outer(scale[self.support], scale[self.support])
        factor, failed = dpotrf(inner, lower=1, clean=0)
        if failed:  # a combination of the others: the least that keeps the numbers finite
            factor = dpotrf(inner + len(inner) * SINGULAR * np.eye(len(inner)), lower=1, clean=0)[0]
        z = dpotrs(factor, self.q[self.support] * scale[self.support], lower=1)[0]
        B = np.diag(dpotrs(factor, np.eye(len(inner)), lower=1)[0])
        leaving = np.searchsorted(self.support, moves.out)
        for first in range(0, len(moves.into), PRICED_TERMS):
            into = moves.into[first : first + PRICED_TERMS]
            rows = np.array([row[into] for row in self.rows])
            rows *= scale[into]
            rows *= scale[self.support][:, None]
            P = dpotrs(factor, rows, lower=1)[0]
            entering = 1.0 - np.einsum("ij,ij->j", rows, P), self.q[into] * scale[into] - z @ rows
            single = None if moves.single is None else moves.single[:, first : first + PRICED_TERMS]
            yield into, exchanged(P[leaving].T.copy(), (B[leaving], z[leaving]), entering, single)


def best_entrants(quadratic: Quadratic, moves: Moves, below: float, most: int) -> IntArray:
    """Up to ``most`` terms whose best exchange changes the minimum by less than ``below``, the most useful first."""
    terms, changes = [np.empty(0, dtype=np.intp)], [np.empty(0)]
    for into, table in quadratic.prices(moves):
        change = table.min(axis=0, initial=np.inf)
        useful = np.flatnonzero(change < below)
        terms.append(into[useful])
        changes.append(change[useful])
    order = np.argsort(np.concatenate(changes), kind="stable")[:most]
    return np.concatenate(terms)[order]
