"""Tableaus of a quadratic of which only the rows of the support are formed: O(k p), where p x p would be too much.

The same numbers as in losses/tableau.py (docs/mathematics.md, eq. 6.1 to 6.3), for the neighbours of one support and not a walk
along many of them: each change of the support factorises its own matrix anew, which is small. ``prices`` forms the table of
exchanges block by block, for where even a few arrays of its size, k p, are too much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import add
from typing import TypeAlias

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

from quadric.losses.base import PRICED_TERMS
from quadric.losses.supports import Move, Moves, SupportRule
from quadric.losses.tableau import SINGULAR, Tableau, exchanged
from quadric.types import BoolArray, FloatArray, IntArray

MAX_KICK = 20  # largest number of terms that a perturbation drops
RowsOf: TypeAlias = Callable[[IntArray], FloatArray]  # from terms to their rows of a symmetric matrix


class ColumnTableau:
    """1/2 z'Mz - q'z + constant at a support that can be changed term by term.

    Parameters
    ----------
    rows_of : function
        From terms to rows of M.
    diagonal : array of shape (p,)
        Of M.
    q, constant : array of shape (p,), float
    required : array
        Terms that never leave the support.
    support : array
    """

    def __init__(
        self,
        rows_of: RowsOf,
        diagonal: FloatArray,
        q: FloatArray,
        constant: float,
        required: IntArray,
        support: IntArray,
    ) -> None:
        # A unit diagonal, as in Tableau; rounding may leave nothing of a term's own
        self._scale = 1.0 / np.sqrt(np.maximum(diagonal, np.finfo(float).tiny))
        self._q, self._constant = q * self._scale, constant
        self._rows_of = rows_of
        self.required = required
        self.inside = np.zeros(len(q), dtype=bool)
        self._terms = np.union1d(support, required).astype(np.intp)
        self._rows = self._scaled_rows(self._terms)
        self._settle()

    @property
    def support(self) -> IntArray:
        return np.flatnonzero(self.inside)

    def add(self, j: int) -> None:
        """Take a term in: L of M_SS = LL' grows by a row, and so does L^-1 [M_S. q_S]."""
        row, across, pivot = self._scaled_rows(np.array([j])), self._half[:, j], self._s[j]
        self._terms, self._rows = np.append(self._terms, j), np.vstack([self._rows, row])
        if pivot <= SINGULAR:
            self._settle()
            return
        root = np.sqrt(pivot)
        fresh = (np.append(row, self._q[j]) - across @ self._half) / root
        zero = np.zeros((len(across), 1))
        self._complete(np.block([[self._factor, zero], [across, root]]), np.vstack([self._half, fresh]))

    def drop(self, i: int) -> None:
        """Take a term out."""
        kept = self._terms != i
        self._terms, self._rows = self._terms[kept], self._rows[kept]
        self._settle()

    def gains(self) -> FloatArray:
        """How much each term outside would lower the minimum; -inf inside and for combinations of the support."""
        usable = ~self.inside & (self._s > SINGULAR)
        out = np.full(len(self._s), -np.inf)
        out[usable] = 0.5 * self._h[usable] ** 2 / self._s[usable]
        return out

    def costs(self) -> FloatArray:
        """How much each term inside lowers the minimum; inf outside and for required terms."""
        out = np.full(len(self._s), np.inf)
        z, B = self._solved(self._half[:, -1]), self._inverse_diagonal()
        out[self._terms] = 0.5 * z**2 / B
        out[self.required] = np.inf
        return out

    def exchanges(self, moves: Moves) -> FloatArray:
        """Change of the minimum by each pair of a term that leaves and one that enters, refits included (6.3)."""
        order = np.argsort(self._terms)
        leaving = order[np.searchsorted(self._terms, moves.out, sorter=order)]
        P, B, into = self._solved(self._half)[leaving], self._inverse_diagonal()[leaving], moves.into
        return exchanged(P.T[into], (B, P[:, -1]), (self._s[into], self._h[into]), moves.single)

    def after(self, move: Move) -> float:
        """The minimum after a move of several terms."""
        kept, into = ~np.isin(self._terms, move.out), np.asarray(move.into, dtype=np.intp)
        terms, rows = np.append(self._terms[kept], into), np.vstack([self._rows[kept], self._scaled_rows(into)])
        z = dpotrs(_factor_of(rows[:, terms]), self._q[terms], lower=1)[0]
        return self._constant - 0.5 * float(self._q[terms] @ z)

    def _scaled_rows(self, terms: IntArray) -> FloatArray:
        return self._rows_of(terms) * self._scale * self._scale[terms][:, None]

    def _settle(self) -> None:
        """The support by one factorisation, in units of a unit diagonal."""
        terms, factor = self._terms, _factor_of(self._rows[:, self._terms])
        both = np.column_stack([self._rows, self._q[terms]])
        self._complete(factor, dtrtrs(factor, both, lower=1)[0] if len(terms) else both)

    def _complete(self, factor: FloatArray, half: FloatArray) -> None:
        """h and s of (6.1), from L and L^-1 [M_S. q_S]."""
        self._factor, self._half = factor, half
        self.inside[:] = False
        self.inside[self._terms] = True
        v = half[:, -1]
        self._h = self._q - v @ half[:, :-1]
        self._s = 1.0 - np.einsum("ij,ij->j", half[:, :-1], half[:, :-1])
        self.value = self._constant - 0.5 * float(v @ v)

    def _solved(self, half: FloatArray) -> FloatArray:
        """z or [P z] of (6.1)."""
        return dtrtrs(self._factor, half, lower=1, trans=1)[0] if len(half) else half

    def _inverse_diagonal(self) -> FloatArray:
        """B_ii."""
        inverse = dtrtrs(self._factor, np.eye(len(self._factor)), lower=1)[0] if len(self._factor) else self._factor
        return np.einsum("ij,ij->j", inverse, inverse)


def prices(
    support: IntArray, rows: Sequence[FloatArray], diagonal: FloatArray, q: FloatArray, moves: Moves
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Changes of the minimum of 1/2 z'Mz - q'z by exchanges of one term of a support (6.3), block by block.

    Parameters
    ----------
    support : array
    rows : sequence of arrays of shape (p,)
        Of M, one for each term of the support.
    diagonal, q : arrays of shape (p,)
    moves : Moves

    Returns
    -------
    iterator of pairs
        Terms that can enter, and their changes: a row for each term that leaves.
    """
    # A unit diagonal, as in Tableau; rounding may leave nothing of a term's own
    scale = 1.0 / np.sqrt(np.maximum(diagonal, np.finfo(float).tiny))
    inner = np.array([row[support] for row in rows]).reshape(len(support), -1)
    inner *= np.outer(scale[support], scale[support])
    factor = _factor_of(inner)
    z = dpotrs(factor, q[support] * scale[support], lower=1)[0]
    B = np.diag(dpotrs(factor, np.eye(len(inner)), lower=1)[0])
    leaving = np.searchsorted(support, moves.out)
    for first in range(0, len(moves.into), PRICED_TERMS):
        into = moves.into[first : first + PRICED_TERMS]
        block = np.array([row[into] for row in rows])
        block *= scale[into]
        block *= scale[support][:, None]
        P = dpotrs(factor, block, lower=1)[0]
        entering = 1.0 - np.einsum("ij,ij->j", block, P), q[into] * scale[into] - z @ block
        single = None if moves.single is None else moves.single[:, first : first + PRICED_TERMS]
        yield into, exchanged(P[leaving].T.copy(), (B[leaving], z[leaving]), entering, single)


class SummedTableau:
    """Tableaus of several quadratics at one support: what a move does to all of them together.

    Parameters
    ----------
    parts : sequence of ColumnTableau
        At the same support.
    """

    def __init__(self, parts: Sequence[ColumnTableau]) -> None:
        self.parts = parts

    @property
    def inside(self) -> BoolArray:
        return self.parts[0].inside

    @property
    def support(self) -> IntArray:
        return self.parts[0].support

    @property
    def value(self) -> float:
        """The sum of the minima on the support."""
        return sum(part.value for part in self.parts)

    def add(self, j: int) -> None:
        """Take a term in."""
        for part in self.parts:
            part.add(j)

    def drop(self, i: int) -> None:
        """Take a term out."""
        for part in self.parts:
            part.drop(i)

    def gains(self) -> FloatArray:
        """How much each term outside would lower the sum; -inf inside and for combinations of the support."""
        return np.sum([part.gains() for part in self.parts], axis=0)

    def costs(self) -> FloatArray:
        """How much each term inside lowers the sum; inf outside and for required terms."""
        return np.sum([part.costs() for part in self.parts], axis=0)

    def exchanges(self, moves: Moves) -> FloatArray:
        """Change of the sum by each pair of a term that leaves and one that enters, refits included."""
        return reduce(add, (part.exchanges(moves) for part in self.parts))

    def after(self, move: Move) -> float:
        """The sum after a move of several terms."""
        return float(self.each_after(move).sum())

    def each_after(self, move: Move) -> FloatArray:
        """The minimum of each quadratic after a move of several terms."""
        return np.array([part.after(move) for part in self.parts])


def compounds(tableau: AnyTableau, rule: SupportRule) -> Sequence[Move]:
    """Compound moves from the support of a tableau, by what its terms are worth."""
    return rule.compounds(tableau.support, np.where(tableau.inside, tableau.costs(), tableau.gains()))


def resized_tableau(tableau: AnyTableau, k: int, rule: SupportRule) -> IntArray:
    """Add the best or drop the least useful terms of a tableau, one at a time, as the rule admits, until there are k.

    Parameters
    ----------
    tableau : Tableau, ColumnTableau or SummedTableau
        Left at the support that is returned, unless only linear combinations of it could be added.
    k : int
    rule : SupportRule
    """
    size = int(tableau.inside.sum())
    for _ in range(size, k):
        gains, addable = tableau.gains(), rule.addable(tableau.inside)
        if addable is not None:
            gains[~addable] = -np.inf
        best = int(np.argmax(gains))
        if gains[best] == -np.inf:  # all that is left are combinations of the support: any of them will do
            others = ~tableau.inside if addable is None else addable
            return np.sort(np.append(tableau.support, np.flatnonzero(others)[: k - int(tableau.inside.sum())]))
        tableau.add(best)
    for _ in range(k, size):
        costs, droppable = tableau.costs(), rule.droppable(tableau.inside)
        if droppable is not None:
            costs[~droppable] = np.inf
        tableau.drop(int(np.argmin(costs)))
    return tableau.support


AnyTableau: TypeAlias = Tableau | ColumnTableau | SummedTableau


def _factor_of(N: FloatArray) -> FloatArray:
    factor, failed = dpotrf(N, lower=1, clean=0)
    if failed:  # a combination of the others: the least that keeps the numbers finite
        factor = dpotrf(N + len(N) * SINGULAR * np.eye(len(N)), lower=1, clean=0)[0]
    return factor
