"""The perspective bound: any vector v bounds every support of a node from below (docs/mathematics.md, section 7).

Split the matrix as M = M0 + D, D diagonal and M0 positive semidefinite. Then 1/2 z'M0z >= v'M0z - 1/2 v'M0v for any v, and
what is left is a sum over terms. With w = q - M0v and W_j = w_j^2 / (2 d_j), a support of at most k terms that holds F and lies
in A is no better than

    constant - 1/2 v'M0v - sum over F of W - the k - |F| largest W in A without F                                    (7.9).

An inexact v costs tightness, never validity, so v comes from a few steps of ADMM in single precision, for many nodes at a time;
only the evaluation has to be safe against rounding. Symbols: rows are nodes; s_j in [0, 1] is the share of term j in the
relaxed support, u = sqrt(d) z, x the same without its penalty, and a the point that gives u, s and the multipliers of u = x.

Where several classes share one list of terms, each has a q and a v of its own: arrays of these have the shape (nodes, classes,
p). Bounds and W_j add up over the classes, and |u_j| is the length of a vector with an entry for each class (13.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dpotrf

from quadric.geometry.energy import EPS
from quadric.losses.base import Bounded, NoBound, Relaxation
from quadric.losses.relaxation import diagonal_below, inverse_of
from quadric.types import BoolArray, FloatArray, SingleArray

# Share of D that is given up so that M0 is surely positive semidefinite: the first that is tried, and the last
FIRST_SHRINKAGE, LAST_SHRINKAGE = 1e-5, 0.1
ROOT_STEPS, CHILD_STEPS = 200, 6  # steps of ADMM at the root, and at a node from what its parent ended with
FIRST_NEWTON_STEPS, NEWTON_STEPS = 12, 3  # steps towards the t of a row, from scratch and from the last one
LEAST_SHARE = 1e-4  # smallest share that is divided by: penalties that are larger cost a fit its digits
WHOLE = 0.999  # a share that counts as one
OVER = 1.5  # over-relaxation
LEAST, MOST = np.float32(1e-25), np.float32(1e25)  # of t, where every term or none has a share
MOST_DOUBT = 0.5  # share of D that rounding in the matrix may take
_Places: TypeAlias = tuple[SingleArray, SingleArray, SingleArray]


@dataclass(frozen=True)
class Split:
    """M = M0 + D.

    Attributes
    ----------
    rest : array of shape (p, p)
        M0, positive semidefinite as it is stored.
    diagonal : array of shape (p,)
        D.
    """

    rest: FloatArray
    diagonal: FloatArray

    @staticmethod
    def of(matrix: FloatArray, below: FloatArray) -> Split:
        """Split off a diagonal that is below the matrix up to rounding.

        Raises
        ------
        NoBound
            Where rounding leaves no diagonal.
        """
        scale, p = 1.0 / np.sqrt(np.diag(matrix)), len(matrix)
        shrinkage = FIRST_SHRINKAGE
        while shrinkage <= LAST_SHRINKAGE:
            rest = matrix.copy()
            rest.flat[:: p + 1] -= (1.0 - shrinkage) * below
            unit = rest * np.outer(scale, scale)
            # The errors of a Cholesky factor of a matrix with diagonal <= 1 are below this in every direction
            unit.flat[:: p + 1] -= EPS * p * (p + 2)
            if not dpotrf(unit, lower=1, clean=0)[1]:
                return Split(rest, np.diag(matrix) - np.diag(rest))
            shrinkage *= 10.0
        raise NoBound("the matrix is singular up to rounding")

    @staticmethod
    def of_matrix(matrix: FloatArray) -> Split:
        """The split by the library's own diagonal (7.4)."""
        try:
            return Split.of(matrix, diagonal_below(inverse_of(matrix)))
        except LinAlgError as error:
            raise NoBound("the matrix is singular") from error


@dataclass(frozen=True)
class Linear:
    """What a lower bound of F has besides its quadratic; rows are nodes, or one row serves all of them.

    Attributes
    ----------
    q, doubt : arrays of shape (1 or n, classes, p)
        The linear part, and a bound on the error of each entry.
    constant : array of shape (1 or n,)
        Rounded down; of all classes together.
    """

    q: FloatArray
    doubt: FloatArray
    constant: FloatArray

    @staticmethod
    def stacked(rows: Sequence[Linear]) -> Linear:
        """Rows as one."""
        q, doubt, constant = (np.concatenate([getattr(row, name) for row in rows]) for name in ("q", "doubt", "constant"))
        return Linear(q, doubt, constant)


class SafeSplit:
    """Bounds by a split that rounding cannot have put above the truth.

    Parameters
    ----------
    split : Split
    k : int
        Number of terms of the supports that are bounded.
    error : array of shape (p,)
        The true matrix differs from ``split``'s by at most (error_i error_j)^1/2 in entry ij.
    """

    def __init__(self, split: Split, k: int, error: FloatArray) -> None:
        self.rest, self.p = split.rest, len(split.diagonal)
        # z'Ez <= (sum of error_j^1/2 |z_j|)^2 <= k sum of error_j z_j^2 for z with k terms
        self.diagonal = split.diagonal - k * error - EPS * np.diag(split.rest)
        if not (self.diagonal > MOST_DOUBT * split.diagonal).all():
            raise NoBound("rounding in the matrix is as large as what bounds are made of")
        self.root = np.sqrt(np.diag(split.rest))

    def lines(self, v: FloatArray, linear: Linear) -> tuple[FloatArray, FloatArray]:
        """(7.9), with all errors lowering it: what the bound of each row begins with, and W, which chosen terms take off."""
        Mv, n_classes = _times(v, self.rest), v.shape[1]
        # |M0_ij| <= root_i root_j bounds the rounding errors of products with M0 and of v'M0v
        reach = np.abs(v) @ self.root
        doubt = linear.doubt + EPS * ((self.p + 4) * reach[..., None] * self.root + 2.0 * np.abs(linear.q))
        W = (0.5 + (3 + n_classes) * EPS) * np.sum((np.abs(linear.q - Mv) + doubt) ** 2, axis=1) / self.diagonal
        curved = 0.5 * np.einsum("icj,icj->i", v, Mv) + EPS * (self.p + 3 + n_classes) * np.sum(reach**2, axis=1)
        return linear.constant - curved - 2.0 * EPS * (np.abs(linear.constant) + curved), W


class Relaxed:
    """ADMM for min over z and s of 1/2 z'M0z - q'z + 1/2 sum of d_j z_j^2 / s_j, sum s = k, for many nodes at a time.

    Parameters
    ----------
    split : Split
    k : int
    unit : float
        Of u: about the square root of F, so that single precision has room enough.
    """

    def __init__(self, split: Split, k: int, unit: float) -> None:
        p, root = len(split.diagonal), np.sqrt(split.diagonal)
        self.k, self.root = k, root / unit
        self.rho = float(np.clip(p / (2.0 * k), 1.0, 20.0))
        scaled = split.rest / np.outer(root, root)
        scaled.flat[:: p + 1] += self.rho
        inverse = cho_solve(cho_factor(scaled, check_finite=False), np.eye(p), check_finite=False)
        inverse = 0.5 * (inverse + inverse.T)
        self._inverse = inverse / (root * unit)[:, None]
        self._pull = (self.rho * inverse).astype(np.float32)

    def penalised(self, q: FloatArray) -> FloatArray:
        """z before terms compete for shares: a place to start from."""
        return _times(q, self._inverse) / self.root

    def start(self, z: FloatArray, fixed: BoolArray, allowed: BoolArray) -> FloatArray:
        """The state of rows at z, (n, classes, p), with the shares that suit it best, s = min(1, tau |u|): a, then t."""
        u, places = (z * self.root).astype(np.float32), _places(fixed, allowed, self.k)
        free, _, wanted = places
        size = _lengths(u) * free
        tau = wanted / np.maximum(size.sum(axis=1), LEAST)
        s, tau = _allotted(size, np.float32(0.0), np.clip(tau, LEAST, MOST), places, FIRST_NEWTON_STEPS)
        a = u * (1 + 1 / np.float32(self.rho) / np.maximum(s, LEAST_SHARE))[:, None]
        return _state(a, np.float32(self.rho) * tau)

    def shares(self, fixed: BoolArray, allowed: BoolArray, state: FloatArray) -> FloatArray:
        """s, for nodes whose state is their parent's."""
        return self._shares(*self._points(state), _places(fixed, allowed, self.k))[0]

    def steps(
        self, fixed: BoolArray, allowed: BoolArray, state: FloatArray, q: FloatArray, n_steps: int
    ) -> tuple[FloatArray, FloatArray]:
        """The state of rows after some steps, and the v that they have reached."""
        rho, over, places = np.float32(self.rho), np.float32(OVER), _places(fixed, allowed, self.k)
        pushed = _times(q, self._inverse).astype(np.float32)
        a, t = self._points(state)
        s, t = self._shares(a, t, places)
        x = pushed
        for _ in range(n_steps):
            s *= rho
            u = a * (s / (1 + s))[:, None]
            # u less its multipliers a - u pulls x; in single precision only what is small beside q loses digits
            x = pushed + _times(2 * u - a, self._pull)
            a = a + over * (x - u)
            s, t = self._shares(a, t, places)
        return _state(a, t), x / self.root

    def _shares(self, a: FloatArray, t: FloatArray, places: _Places) -> tuple[FloatArray, FloatArray]:
        """s = (t |a| - 1) / rho between 0 and 1, 1 where fixed, and t."""
        rho = np.float32(self.rho)
        return _allotted(_lengths(a) * (places[0] / rho), 1 / rho, t, places, NEWTON_STEPS)

    def _points(self, state: FloatArray) -> tuple[FloatArray, FloatArray]:
        """a and t of a state."""
        return state[:, :-1].reshape(len(state), -1, len(self.root)), state[:, -1]


def _state(a: FloatArray, t: FloatArray) -> FloatArray:
    return np.column_stack([a.reshape(len(a), -1), t])


def _lengths(a: Any) -> FloatArray:
    """Of each term's entries for all classes."""
    return np.abs(a[:, 0]) if a.shape[1] == 1 else np.sqrt(np.einsum("icj,icj->ij", a, a))


def _times(v: FloatArray, matrix: Any) -> Any:
    """The vectors of all nodes and classes times a symmetric matrix, in one product."""
    return (v.reshape(-1, v.shape[-1]) @ matrix).reshape(v.shape)


def _allotted(
    size: FloatArray | SingleArray, offset: np.float32, t: FloatArray, places: _Places, n_steps: int
) -> tuple[FloatArray, FloatArray]:
    """s = t size - offset between 0 and 1, 1 where fixed, and t: sum s = k up to the last Newton step."""
    _, held, wanted = places
    for _ in range(n_steps):
        s = t[:, None] * size - offset
        slope = np.einsum("ij,ij->i", size, (s > 0) & (s < 1))
        missing = wanted - np.clip(s, 0, 1).sum(axis=1)
        step = np.where(slope > 0, missing / np.maximum(slope, LEAST), np.sign(missing) * t)
        t = np.clip(t + step, np.maximum(t / 2, LEAST), np.minimum(t * 2, MOST))
    return np.clip(t[:, None] * size - offset, 0, 1) + held, t


def _places(fixed: BoolArray, allowed: BoolArray, k: int) -> _Places:
    """Free and fixed terms of each row as zeros and ones, and what the shares of the free ones add up to."""
    free = (allowed & ~fixed).astype(np.float32)
    wanted = np.minimum(k - fixed.sum(axis=1), free.sum(axis=1))
    return free, fixed.astype(np.float32), wanted.astype(np.float32)


class PerspectiveRelaxation(Relaxation):
    """The perspective bound; a loss gives the linear part.

    Parameters
    ----------
    split : Split
    k : int
    error : array of shape (p,)
        As in SafeSplit.
    at_zero : float
        F at z = 0.
    """

    def __init__(self, split: Split, k: int, error: FloatArray, at_zero: float) -> None:
        self.k, self.safe, self.relaxed = k, SafeSplit(split, k, error), Relaxed(split, k, at_zero**0.5 or 1.0)

    def bounded(
        self, fixed: BoolArray, allowed: BoolArray, state: FloatArray, linear: Linear, n_steps: int, cutoff: float
    ) -> Bounded:
        """Rows after some steps of ADMM, bounded and with terms fixed by (7.10)."""
        state, v = self.relaxed.steps(fixed, allowed, state, linear.q, n_steps)
        base, W = self.safe.lines(np.where(np.isfinite(v), v, 0.0), linear)  # any v will do, except what is no number
        shares = self.relaxed.shares(fixed, allowed, state)
        free, n_left = allowed & ~fixed, (self.k - fixed.sum(axis=1))[:, None]
        ordered = -np.sort(np.where(free, -W, 0.0), axis=1)
        ordered = np.hstack([np.full_like(n_left, np.inf, dtype=float), ordered, np.zeros_like(n_left, dtype=float)])
        last, following = (np.take_along_axis(ordered, n_left + i, 1) for i in (0, 1))
        taken = np.where(np.arange(1, W.shape[1] + 1) <= n_left, ordered[:, 1:-1], 0.0).sum(axis=1)
        taken += np.where(fixed, W, 0.0).sum(axis=1)
        lower = base - (1.0 + EPS * W.shape[1]) * taken
        # another choice of terms takes another W off: a bound on the supports without, or with, each term (7.10)
        without, including = (lower[:, None] + change for change in (W - following, last - W))
        chosen = last <= W
        entering, leaving = free & chosen & (without >= cutoff), free & ~chosen & (including >= cutoff)
        # terms with a whole share come after the others, the most valuable first
        rank = np.where(shares < WHOLE, shares, W / (1.0 + W.max(axis=1, keepdims=True)) - 1.0)
        # what is no number must not pass for a bound
        return Bounded(np.where(np.isnan(lower), -np.inf, lower), fixed | entering, allowed & ~leaving, rank, state)
