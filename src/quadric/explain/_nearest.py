"""The nearest point on the wanted side of a quadric: global optimum by one multiplier.

    minimise 1/2 |e|^2  subject to  1/2 e'Ae + a'e >= r,  r > 0

Let lambda be the eigenvalues of A and beta the coordinates of a in its eigenvectors. A point e is the global minimum when,
for some sigma of at least 0 and at least every lambda, e_i = beta_i / (sigma - lambda_i) and the constraint holds with
equality: the Lagrangian with multiplier 1 / sigma is then convex. Along these points

    S(sigma) = sum_i beta_i^2 (sigma - lambda_i / 2) / (sigma - lambda_i)^2

is the left side of the constraint and falls with sigma, so S(sigma) = r has one root at most. Where S stays below r up to the
smallest sigma allowed, either no point is on the wanted side (no lambda is positive), or, the hard case, beta vanishes in the
eigenspace of the largest lambda and a step of either sign along it makes up for what is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from quadric.types import BoolArray, FloatArray, IntArray

# Eigenvalues below this fraction of the largest one count as zero.
FLAT = 1e-13
# Slopes below this fraction of the magnitudes they were summed from count as zero.
NOISE = 16 * np.finfo(float).eps
# Newton steps are safeguarded by bisection: this many always suffice, ten are usual.
ITERATIONS = 200


@dataclass(frozen=True)
class Answers:
    """One row per case.

    Attributes
    ----------
    point : array of shape (m, n)
        The answer as the problem is written: a change, or the changed row; no change where no answer was found.
    reached : array of bool
    proved : array of bool
        Whether no smaller change would do; without an answer, whether there is none.
    bound : array of shape (m,)
        No answer is nearer than this.
    multiplier : array of shape (m,)
        weight * change = multiplier * gradient on the free features; NaN where rules other than freezing took part.
    """

    point: FloatArray
    reached: BoolArray
    proved: BoolArray
    bound: FloatArray
    multiplier: FloatArray

    @staticmethod
    def none(rows: FloatArray) -> Answers:
        """No changed rows yet."""
        m = len(rows)
        return Answers(rows.copy(), np.zeros(m, bool), np.ones(m, bool), np.full(m, np.inf), np.full(m, np.nan))

    def put(self, rows: IntArray, other: Answers) -> None:
        """Replace some rows in place."""
        for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True):
            mine[rows] = theirs


def nearest(A: FloatArray, a: FloatArray, r: FloatArray, size: FloatArray) -> Answers:
    """Solve a batch of problems.

    Parameters
    ----------
    A : symmetric array of shape (n, n) or (m, n, n)
    a : array of shape (m, n)
    r : array of shape (m,)
        Positive.
    size : array of shape (m,)
        Magnitude of the sums that ``a`` was computed from: says which slopes are rounding.
    """
    values, vectors = np.linalg.eigh(A)
    zero = np.abs(values) <= FLAT * np.abs(values).max(axis=-1, keepdims=True, initial=0.0)  # up to rounding
    values = np.broadcast_to(np.where(zero, 0.0, values), a.shape)
    slopes = np.einsum("...ji,...j->...i", vectors, a)
    slopes = np.where(np.abs(slopes) <= NOISE * size[:, None], 0.0, slopes)
    found = _in_eigenvectors(values, slopes, r)
    return replace(found, point=np.einsum("...ij,...j->...i", vectors, found.point))


def _in_eigenvectors(values: FloatArray, slopes: FloatArray, r: FloatArray) -> Answers:
    floor = np.maximum(values.max(axis=1, initial=0.0), 0.0)  # the smallest sigma allowed
    sloping = slopes != 0.0
    # sigma = pole + t with the largest lambda that matters as pole: t keeps its digits however close to the pole sigma is
    pole = np.where(sloping, values, -np.inf).max(axis=1, initial=-np.inf)
    pole = np.where(sloping.any(axis=1), pole, floor)
    # where the slope is zero nothing depends on the gap, as long as it is not zero
    secular = _Secular(slopes, np.where(sloping, pole[:, None] - values, 1.0), 0.5 * values, pole)
    t_least = floor - pole
    at_least = np.where(t_least > 0.0, secular.reach(np.where(t_least > 0.0, t_least, 1.0))[0], np.inf)
    at_least = np.where(sloping.any(axis=1), at_least, 0.0)
    short = np.maximum(r - at_least, 0.0)
    regular = short == 0.0
    t = np.where(regular, secular.root(r, t_least), t_least)
    e = secular.point(t)
    hard = ~regular & (floor > 0.0)
    rows = np.flatnonzero(hard)
    e[rows, values[rows].argmax(axis=1)] = np.sqrt(2.0 * short[rows] / floor[rows])
    reached = regular | hard
    with np.errstate(divide="ignore"):
        multiplier = np.where(reached, 1.0 / (pole + t), np.nan)  # infinite at the top of a concave form
    length = np.where(reached, np.linalg.norm(e, axis=1), np.inf)
    return Answers(np.where(reached[:, None], e, 0.0), reached, np.ones_like(reached), length, multiplier)


@dataclass(frozen=True)
class _Secular:
    """S as a function of t = sigma - pole, one row per problem; ``offsets`` are pole - lambda, ``halves`` lambda / 2."""

    slopes: FloatArray
    offsets: FloatArray
    halves: FloatArray
    pole: FloatArray

    def take(self, rows: IntArray) -> _Secular:
        return _Secular(self.slopes[rows], self.offsets[rows], self.halves[rows], self.pole[rows])

    def point(self, t: FloatArray) -> FloatArray:
        gaps = t[:, None] + self.offsets
        return self.slopes / np.where(gaps > 0.0, gaps, 1.0)

    def reach(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """S(t) and -dS/dt."""
        gaps = t[:, None] + self.offsets
        squares = (self.slopes / gaps) ** 2
        falling = (self.pole + t) * np.sum(squares / gaps, axis=1)
        gaps += self.halves
        squares *= gaps
        return np.asarray(np.sum(squares, axis=1)), falling

    def root(self, r: FloatArray, t_least: FloatArray) -> FloatArray:
        """t >= t_least with S(t) = r, where there is one: Newton's method on log S against log t inside a bracket."""
        low, high = self._bracket(r, t_least)
        t = np.sqrt(low) * np.sqrt(high)
        out, rows, secular = t, np.arange(len(t)), self
        for _ in range(ITERATIONS):
            S, falling = secular.reach(t)
            low, high = np.where(r <= S, t, low), np.where(r >= S, t, high)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                proposed = t * np.exp(np.log(S / r) * S / (t * falling))
            following = np.where((proposed > low) & (proposed < high), proposed, np.sqrt(low) * np.sqrt(high))
            moved = np.flatnonzero(np.abs(following - t) > 2e-16 * t)
            if len(moved) < len(rows):  # the others have arrived
                rows, secular = rows[moved], secular.take(moved)
                r, low, high, following = r[moved], low[moved], high[moved], following[moved]
            if len(rows) == 0:
                break
            t = out[rows] = following
        return out

    def _bracket(self, r: FloatArray, t_least: FloatArray) -> tuple[FloatArray, FloatArray]:
        """S is below B (1/t + pole/2t^2), as no gap is below t, and above the part of it that is at the pole."""
        squares = self.slopes**2
        at_pole = np.where(self.offsets == 0.0, squares, 0.0).sum(axis=1)
        low = np.where(t_least > 0.0, t_least, 0.5 * self._crossing(at_pole, r))
        high = np.maximum(2.0 * self._crossing(squares.sum(axis=1), r), 2.0 * low)
        return np.where(low > 0.0, low, 1.0), np.where(high > 0.0, high, 1.0)

    def _crossing(self, B: FloatArray, r: FloatArray) -> FloatArray:
        """Where B (1/t + pole/2t^2) = r."""
        lift = np.maximum(self.pole, 0.0)
        return (B + np.sqrt(B * (B + 2.0 * r * lift))) / (2.0 * r)
