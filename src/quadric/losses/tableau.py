"""Best-subset selection for a quadratic, one exchange at a time: 1/2 z'Mz - q'z on a support, and every neighbour's value.

The symmetric tableau of [M q; q' 2 constant], swept on a support S, holds everything in closed form (docs/mathematics.md,
eq. 6.1 and 6.4). With B = M_SS^-1 and N the complement:

    T_SS = -B,   T_SN = B M_SN = P,   T_NN = M_NN - M_NS P,   last column z_S and h_N = q_N - M_NS z_S,   corner 2 f(S).

Adding j gains h_j^2 / (2 T_jj), dropping i costs z_i^2 / (2 B_ii), both with a full refit (6.2). One sweep costs O(p^2).
Several q, one for each class, have a column each; what a support is worth to them adds up (13.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import iadd

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dger

from quadric.losses.supports import Move, Moves
from quadric.types import BoolArray, FloatArray, IntArray

REFRESH_AFTER = 200  # sweeps after which rounding errors are cleared by sweeping afresh
# Pivots below this fraction of the unit diagonal are not swept: the term is a combination of those in the support
SINGULAR = 1e-12


def exchanged(
    P: FloatArray, leaving: tuple[FloatArray, FloatArray], entering: tuple[FloatArray, FloatArray], single: BoolArray | None
) -> FloatArray:
    """Change of the minimum by each exchange of one term (6.3), a row for each term that leaves.

    Parameters
    ----------
    P : array of shape (terms that enter, terms that leave)
        Is overwritten.
    leaving : pair of arrays
        B_ii, and z_i with a column for each q, or for one.
    entering : pair of arrays
        s_j and h_j, in units in which the diagonal is one.
    single : boolean array or None
        Which exchanges are admissible; None: all.
    """
    (B, z), (s, h) = leaving, entering
    pivot = P * P
    pivot /= B
    pivot += s[:, None]
    z, h = np.atleast_2d(z.T), np.atleast_2d(h.T)  # a row for each q
    squares = [*(P.copy() for _ in z[1:]), P]
    for square, weight, rest in zip(squares, z / B, h, strict=True):
        square *= weight
        square += rest[:, None]
        square *= square
    gain = reduce(iadd, squares)
    if pivot.min(initial=1.0) <= SINGULAR:
        gain[pivot <= SINGULAR] = -np.inf
        pivot[pivot <= SINGULAR] = 1.0
    gain /= pivot
    gain -= np.sum(z * z, axis=0) / B
    gain *= -0.5
    change = gain.T
    if single is not None:
        change[~single] = np.inf
    return change


class Tableau:
    """A support that can be changed term by term.

    Parameters
    ----------
    M, q, constant : array of shape (p, p), array of shape (p,) or (p, number of q), float
    required : array
        Terms that are in the support from the start and never leave it.
    """

    def __init__(self, M: FloatArray, q: FloatArray, constant: float, required: IntArray) -> None:
        p, q = len(q), q.reshape(len(q), -1)
        # A unit diagonal: pivots of all terms can be compared with SINGULAR. Rounding may leave nothing of a term's own
        scale = 1.0 / np.sqrt(np.maximum(np.diag(M), np.finfo(float).tiny))
        self._fresh = np.zeros((p + q.shape[1],) * 2, order="F")
        self._fresh[:p, :p] = M * np.outer(scale, scale)
        self._fresh[:p, p:] = q * scale[:, None]
        self._fresh[p:, :p] = self._fresh[:p, p:].T
        self._fresh[p, p] = 2.0 * constant  # the trace of the corner is what counts
        self.required = required
        self.movable = np.ones(p, dtype=bool)
        self.movable[required] = False
        self.inside = np.zeros(p, dtype=bool)
        self._T = self._fresh.copy(order="F")
        self._sweeps = 0
        self.reset(required)

    @property
    def support(self) -> IntArray:
        return np.flatnonzero(self.inside)

    @property
    def droppable(self) -> IntArray:
        """The support without the required terms."""
        return np.flatnonzero(self.inside & self.movable)

    @property
    def value(self) -> float:
        """Minimum of the quadratic on the support."""
        p = len(self.inside)
        return 0.5 * float(self._T[p:, p:].trace())

    def reset(self, support: IntArray) -> None:
        """Go to a support, clearing rounding errors; the required terms are added to it."""
        self._T[...] = self._fresh
        self.inside[:] = False
        self._sweeps = 0
        wanted = np.union1d(support, self.required).astype(np.intp)
        if not self._sweep_together(wanted):
            for j in wanted:
                self.add(int(j))

    def go_to(self, support: IntArray) -> None:
        """Go to a support by as few sweeps as it takes."""
        wanted = np.zeros_like(self.inside)
        wanted[support] = True
        wanted[self.required] = True
        changes = np.flatnonzero(wanted != self.inside)
        if len(changes) > len(support) or self._sweeps > REFRESH_AFTER:
            self.reset(support)
            return
        for j in changes:
            self.add(int(j))

    def saved(self) -> tuple[FloatArray, BoolArray, int]:
        """The present state, to come back to at the price of a copy."""
        return self._T.copy(order="F"), self.inside.copy(), self._sweeps

    def restore(self, saved: tuple[FloatArray, BoolArray, int]) -> None:
        """Come back to a saved state."""
        self._T[...], self.inside[:], self._sweeps = saved

    def add(self, j: int) -> None:
        """Take a term in, by a sweep on its column (6.4)."""
        T = self._T
        # A term that is a combination of the support has pivot zero; a tiny one keeps the numbers finite.
        pivot = T[j, j] if self.inside[j] else max(T[j, j], SINGULAR)
        column = T[:, j].copy()
        dger(-1.0 / pivot, column, column, a=T, overwrite_x=0, overwrite_y=0, overwrite_a=1)
        column /= -pivot if self.inside[j] else pivot
        T[:, j] = T[j, :] = column
        T[j, j] = -1.0 / pivot
        self.inside[j] = not self.inside[j]
        self._sweeps += 1

    drop = add  # the sweep of a term that is inside takes it out again

    def is_independent(self, j: int) -> bool:
        """Whether a term outside is not a combination of the support."""
        return bool(self._T[j, j] > SINGULAR)

    def gains(self) -> FloatArray:
        """How much each term outside would lower the minimum; -inf inside and for combinations of the support."""
        diagonal, last = self._parts()
        usable = ~self.inside & (diagonal > SINGULAR)
        out = np.full(len(last), -np.inf)
        out[usable] = 0.5 * _squared(last[usable]) / diagonal[usable]
        return out

    def costs(self) -> FloatArray:
        """How much each term inside lowers the minimum; inf outside and for required terms."""
        diagonal, last = self._parts()
        movable = self.inside & self.movable
        out = np.full(len(last), np.inf)
        out[movable] = 0.5 * _squared(last[movable]) / -diagonal[movable]
        return out

    def exchanges(self, moves: Moves) -> FloatArray:
        """Change of the minimum by each pair of a term that leaves and one that enters, refits included (6.3)."""
        out, into = moves.out, moves.into
        diagonal, last = self._parts()
        P = self._T[:, out][into]  # whole columns first: the tableau is stored by columns
        return exchanged(P, (-diagonal[out], last[out]), (diagonal[into], last[into]), moves.single)

    def changes(self, moves: Sequence[Move]) -> FloatArray:
        """Change of the minimum by each move of several terms: the sweeps of (6.4) on its own rows and last columns only."""
        out, ends = np.empty(len(moves)), range(len(self.inside), len(self._T))
        for size in {len(move.out) + len(move.into) for move in moves}:
            own = [i for i, move in enumerate(moves) if len(move.out) + len(move.into) == size]
            terms = np.array([[*moves[i].out, *moves[i].into, *ends] for i in own])
            T = self._T[terms[:, :, None], terms[:, None, :]]
            for j in range(size):
                pivot = T[:, j, j].copy()
                pivot[np.abs(pivot) <= SINGULAR] = SINGULAR  # a combination of the support, as in add
                T -= T[:, :, j, None] * T[:, None, j, :] / pivot[:, None, None]
            out[own] = 0.5 * T[:, size:, size:].trace(axis1=1, axis2=2) - self.value
        return out

    def make(self, move: Move) -> None:
        """Take terms out and others in."""
        for i in move.out:
            self.drop(int(i))
        for j in move.into:
            self.add(int(j))

    def _parts(self) -> tuple[FloatArray, FloatArray]:
        """The diagonal and the last columns, without their corner."""
        p = len(self.inside)
        return self._T.diagonal()[:p], self._T[:p, p:]

    def _sweep_together(self, terms: IntArray) -> bool:
        """Sweep a fresh tableau on several terms by one factorisation; False where they are linearly dependent."""
        if len(terms) == 0:
            return True
        rows = self._T[terms]
        try:
            factor = cho_factor(rows[:, terms], lower=True, check_finite=False)
        except LinAlgError:
            return False
        P = cho_solve(factor, rows, check_finite=False)
        self._T -= rows.T @ P
        self._T[terms] = P
        self._T[:, terms] = P.T
        self._T[np.ix_(terms, terms)] = -cho_solve(factor, np.eye(len(terms)), check_finite=False)
        self.inside[terms] = True
        return True


def _squared(rows: FloatArray) -> FloatArray:
    """Squared lengths; of a row with a single number, which is the rule, five times faster than a sum."""
    return rows[:, 0] ** 2 if rows.shape[1] == 1 else np.sum(rows**2, axis=1)
