"""Linear conditions on the coefficients of a support, and the nearest point that meets them (docs/mathematics.md, section 12).

A refit under cuts minimises a convex F over A z >= b. In coordinates v in which its curvature is the identity, with the
unconstrained minimum as origin, a quadratic F asks for the shortest v with N'v >= r, one column of N for each cut:

    minimise 1/2 v'v   over   N'v >= r;      v = N lambda,   lambda >= 0,   lambda_i (n_i'v - r_i) = 0         (12.2)

Goldfarb and Idnani's dual active set meets one violated cut after another, so that v is always the shortest one that meets the
cuts so far; a support has few terms, and the cuts that bind are fewer still.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dtrtri, dtrtrs

from quadric.geometry.cuts import ROUNDING, Cuts
from quadric.types import FloatArray, IntArray

DEPENDENT = 1e-10  # distance of a cut of length one from others below which it depends on them
ROUNDS = 20  # changes of the active cuts, for each cut and each term, after which rounding goes round in circles


class Infeasible(ValueError):  # noqa: N818 - an answer, not a fault
    """No coefficients on these terms meet all cuts."""


def newton_step(
    root: FloatArray, gradient: FloatArray, cuts: Cuts, x: FloatArray, likely: IntArray, size: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The step d to the minimum of gradient'd + 1/2 d'H d over A (x + d) >= b, and the multipliers of the cuts.

    Parameters
    ----------
    root : array of shape (k, k)
        T with T T' = H^-1.
    gradient, x : arrays of shape (k,)
    cuts : Cuts
    likely : array
        Cuts that probably bind.
    size : array of shape (k,)
        How large the coefficients have been on the way to x: their rounding is a share of it.
    """
    free = -(gradient @ root)
    short = cuts.b - cuts.A @ x
    N = (cuts.A @ root).T
    doubt = ROUNDING * (np.abs(cuts.A) @ np.maximum(size, np.abs(x)) + np.abs(cuts.b) + np.abs(N.T) @ np.abs(free))
    v, multipliers = nearest(N, short - free @ N, doubt, likely)
    return root @ (free + v), multipliers


def inverse_root(lower: FloatArray, scale: FloatArray) -> FloatArray:
    """T with T T' the inverse of a matrix, given the Cholesky factor of diag(scale) matrix diag(scale)."""
    return scale[:, None] * np.tril(dtrtri(lower, lower=1)[0]).T


def without_noise(root: FloatArray, x: FloatArray, reach: float) -> FloatArray:
    """Coefficients of which those that are zero up to rounding are zero: cuts often ask for that.

    Parameters
    ----------
    root : array of shape (k, k)
        As of ``newton_step``.
    x : array of shape (k,)
    reach : float
        How long steps to x have been in coordinates in which the curvature is the identity.
    """
    return np.where(np.abs(x) <= ROUNDING * reach * np.sqrt(np.einsum("ij,ij->i", root, root)), 0.0, x)


class Nearest(NamedTuple):
    """The shortest v that meets all cuts.

    Attributes
    ----------
    v : array of shape (k,)
    multipliers : array of shape (n_cuts,)
    """

    v: FloatArray
    multipliers: FloatArray


def nearest(N: FloatArray, r: FloatArray, doubt: FloatArray, likely: IntArray | None = None) -> Nearest:
    """The shortest v with N'v >= r, by a dual active set (12.2).

    Parameters
    ----------
    N : array of shape (k, n_cuts)
    r : array of shape (n_cuts,)
    doubt : array of shape (n_cuts,)
        Rounding errors of r.
    likely : array, optional
        Cuts that probably bind.

    Returns
    -------
    Nearest

    Raises
    ------
    Infeasible
        Where no v meets all cuts.
    """
    length = np.sqrt(np.einsum("ij,ij->j", N, N))
    usable = length > 0.0
    if np.any(r[~usable] > doubt[~usable]):
        raise Infeasible("a cut without terms cannot be met")
    unit = np.where(usable, length, 1.0)
    faces = _Faces(N / unit, np.where(usable, r, -np.inf) / unit, doubt / unit)
    if likely is not None:
        faces.start(likely[usable[likely]])
    faces.run()
    multipliers = np.zeros(len(r))
    multipliers[faces.active] = faces.weights / unit[faces.active]
    return Nearest(faces.v, multipliers)


class _Faces:
    """The cuts that bind so far, with their multipliers, and the shortest v that meets these.

    Parameters
    ----------
    N, r, doubt :
        As of ``nearest``, for columns of length one.
    """

    def __init__(self, N: FloatArray, r: FloatArray, doubt: FloatArray) -> None:
        self.N, self.r, self.doubt = N, r, doubt
        self.active: list[int] = []
        self.weights = np.zeros(0)
        self.v = np.zeros(len(N))
        self._Q = self._R = np.zeros((len(N), 0))

    def start(self, likely: IntArray) -> None:
        """Begin with cuts that probably bind, without those whose multipliers come out negative or that depend on others."""
        for i in likely:
            _, distance = self._split(int(i))
            if distance > DEPENDENT and len(self.active) < len(self.N):
                self._hold([*self.active, int(i)])
        while self.active:
            self._solve()
            if self.weights.min() >= 0.0:
                return
            worst = int(np.argmin(self.weights))
            self._hold(self.active[:worst] + self.active[worst + 1 :])
        self._solve()

    def run(self) -> None:
        """Until no cut is missed."""
        for _ in range(ROUNDS * (len(self.r) + len(self.v))):
            slack = self.v @ self.N - self.r
            slack[self.active] = 0.0
            missed = slack + ROUNDING * float(np.sqrt(self.v @ self.v)) + self.doubt
            entering = int(np.argmin(missed)) if len(missed) else 0
            if not len(missed) or missed[entering] >= 0.0:
                return
            self._enter(entering, float(slack[entering]))

    def _enter(self, entering: int, slack: float) -> None:
        """Meet one more cut; others may cease to bind."""
        weight = 0.0
        while True:
            rho, distance = self._split(entering)
            fastest = np.flatnonzero(rho > 0.0)
            ratios = self.weights[fastest] / rho[fastest]
            leaving = int(np.argmin(ratios)) if len(ratios) else -1
            until = float(ratios[leaving]) if len(ratios) else np.inf
            # a cut that depends on those that bind is met only after one of these has left
            whole = -slack / distance**2 if distance > DEPENDENT else np.inf
            length = min(until, whole)
            if length == np.inf:
                self._excuse(entering, slack, rho, distance)
                return
            self.weights = self.weights - length * rho
            weight += length
            if whole < np.inf:
                slack += length * distance**2
            if whole <= until:
                self._hold([*self.active, entering])
                self._solve(np.append(self.weights, weight))
                return
            place = int(fastest[leaving])
            self._hold(self.active[:place] + self.active[place + 1 :])
            self.weights = np.delete(self.weights, place)

    def _excuse(self, cut: int, slack: float, rho: FloatArray, distance: float) -> None:
        """A cut that those that bind contradict: by rounding it may be, which near dependence makes large."""
        others = self.doubt[self.active] + ROUNDING * np.abs(self.r[self.active])
        doubt = float(np.abs(rho) @ others) + distance * float(np.sqrt(self.v @ self.v)) + self.doubt[cut]
        if -slack > 2.0 * doubt:
            raise Infeasible("the cuts contradict each other")
        self.doubt[cut] = 2.0 * doubt

    def _split(self, cut: int) -> tuple[FloatArray, float]:
        """A cut as a combination of those that bind, and its distance from them."""
        n = self.N[:, cut]
        if not self.active:
            return np.zeros(0), 1.0
        along = n @ self._Q
        left = n - self._Q @ along
        more = left @ self._Q  # once more: what is left may be small
        left -= self._Q @ more
        rho: FloatArray = dtrtrs(self._R, along + more, lower=0)[0]
        return rho, float(np.sqrt(left @ left))

    def _hold(self, active: list[int]) -> None:
        self.active = active
        self._Q, self._R = np.linalg.qr(self.N[:, active])

    def _solve(self, weights: FloatArray | None = None) -> None:
        """The shortest v that meets the binding cuts as equations; multipliers that are given are negative by rounding only."""
        if not self.active:
            self.weights, self.v = np.zeros(0), np.zeros(len(self.N))
            return
        along = dtrtrs(self._R, self.r[self.active], lower=0, trans=1)[0]
        self.v = self._Q @ along
        self.weights = dtrtrs(self._R, along, lower=0)[0]
        if weights is not None:
            self.weights = np.maximum(self.weights, 0.0)
