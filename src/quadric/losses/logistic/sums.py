"""A pass of the logistic loss: value, gradient, curvature and a dual point at surfaces on some terms.

With margins m_i, shares t_i = 1 / (1 + exp(m_i)) of the steepest slope and h(t) the entropy of t and 1 - t, the multipliers
8C o_i t_i bound F from below once they balance (docs/mathematics.md, eq. 10.4). The heavier label then gives way by a factor
f. As h is concave with h'(t_i) = m_i, its entropies are at least

    h(f t_i) >= h(t_i) - (1 - f) t_i m_i - (1 - f)^2 / (2 f) exp(-m_i),    and    h(f t_i) >= f h(t_i),

so that sums over the rows of a label suffice, whatever f will be. The second serves rows far below their margin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from quadric.geometry.lifting import adjoint_about, lift_adjoint, lift_columns_about
from quadric.samples.source import SampleBatch
from quadric.types import FloatArray, IntArray

FAR_BELOW = -7.0
"""Margin under which exp(-m) is taken to be large."""
CHUNK_ROWS = 1024


@dataclass(frozen=True)
class SideSums:
    """Sums over the rows of either label; every array has two rows, for -1 and for 1.

    Attributes
    ----------
    pull : array of shape (2, t)
        Of o t r.
    scalars : array of shape (2, 5)
        Of o t, o h(t), o t m and o exp(-m), the last two not far below the margin; and of o h(t) there.
    """

    pull: FloatArray
    scalars: FloatArray

    def __add__(self, other: SideSums) -> SideSums:
        return SideSums(self.pull + other.pull, self.scalars + other.scalars)

    def dual(self) -> tuple[float, FloatArray]:
        """Entropies of balanced multipliers, at least, and their R'(y t); both in units of the steepest slope."""
        heavy = int(np.argmax(self.scalars[:, 0]))
        f = float(self.scalars[1 - heavy, 0] / self.scalars[heavy, 0])
        _, entropy, first, second, far = self.scalars[heavy]
        lost = (1.0 - f) * (first + far) + (1.0 - f) ** 2 / (2.0 * max(f, np.finfo(float).tiny)) * second
        factors = np.array([-1.0, 1.0])
        factors[heavy] *= f
        return float(entropy - lost + self.scalars[1 - heavy, 1]), factors @ self.pull


@dataclass(frozen=True)
class SurfaceSums:
    """What a pass tells of one surface: its loss, its dual point on some terms, and A' diag(o t (1 - t)) A."""

    loss: float
    sides: SideSums
    spread: FloatArray

    def __add__(self, other: SurfaceSums) -> SurfaceSums:
        return SurfaceSums(self.loss + other.loss, self.sides + other.sides, self.spread + other.spread)


@dataclass(frozen=True)
class ManySums:
    """What a pass tells of many surfaces.

    Attributes
    ----------
    losses : array of shape (s,)
    pull : array of shape (2, s, u)
        As in SideSums, on the terms of any surface.
    scalars : array of shape (s, 2, 5)
    spreads : tuple of arrays
        A' diag(o t (1 - t)) A of each surface on its own terms, where that is asked for: it is most of the work.
    """

    losses: FloatArray
    pull: FloatArray
    scalars: FloatArray
    spreads: tuple[FloatArray, ...] = ()

    def __add__(self, other: ManySums) -> ManySums:
        spreads = tuple(mine + theirs for mine, theirs in zip(self.spreads, other.spreads, strict=True))
        return ManySums(self.losses + other.losses, self.pull + other.pull, self.scalars + other.scalars, spreads)

    def sides(self, surface: int, terms: IntArray) -> SideSums:
        """The dual point of one surface, on some of the terms."""
        return SideSums(self.pull[:, surface, terms], self.scalars[surface])


@dataclass(frozen=True)
class Margins:
    """What sums take of margins m, an array of any shape: one exponential and one logarithm serve all of them.

    With u = |m| and s = 1 / (1 + exp(u)), the smaller of t and 1 - t, loss and entropy are sums of positive numbers:
    log(1 + exp(-m)) = log(1 + exp(-u)) + max(-m, 0) and h(t) = log(1 + exp(-u)) + s u. Nothing cancels.

    Attributes
    ----------
    t, loss, entropy : arrays
    slopes, bends, far : arrays
        t m and exp(-m) where m is not far below zero, and h(t) where it is; zero elsewhere.
    """

    t: FloatArray
    loss: FloatArray
    entropy: FloatArray
    slopes: FloatArray
    bends: FloatArray
    far: FloatArray

    @staticmethod
    def of(m: FloatArray) -> Margins:
        u = np.abs(m)
        tail = np.exp(-u)
        log, smaller = np.log1p(tail), tail / (1.0 + tail)
        entropy = smaller * u
        entropy += log
        t = np.abs((m < 0.0) - smaller)  # 1 - s below zero, else s
        loss = u - m  # 2 max(-m, 0), exactly
        loss *= 0.5
        loss += log
        slopes, bends, far = t * m, np.exp(np.minimum(-m, -FAR_BELOW)), np.zeros_like(m)
        is_far = m < FAR_BELOW
        if is_far.any():
            slopes[is_far], bends[is_far], far[is_far] = 0.0, 0.0, entropy[is_far]
        return Margins(t, loss, entropy, slopes, bends, far)

    def scalars(self, sides: FloatArray) -> FloatArray:
        """Those of SideSums, from weights of shape (m, 2): of shape (2, 5), with a first axis for many surfaces."""
        of_each = [part @ sides for part in (self.t, self.entropy, self.slopes, self.bends, self.far)]
        return np.stack(of_each, axis=-1)


def by_label(y: FloatArray, weight: FloatArray) -> FloatArray:
    """Weights of the rows of either label, of shape (m, 2)."""
    return np.where(y[:, None] == np.array([-1.0, 1.0]), weight[:, None], 0.0)


def surface_sums(
    A: FloatArray, surfaces: FloatArray, y: FloatArray, weight: FloatArray, places: Sequence[IntArray] = ()
) -> tuple[ManySums, Margins]:
    """Of many surfaces on rows that are lifted, and what their margins gave.

    Parameters
    ----------
    A : array of shape (u + 1, m)
        One row per term, and a last one of ones.
    surfaces : array of shape (s, u + 1)
    y, weight : arrays of shape (m,)
    places : sequence of arrays
        Terms of each surface, where curvature is wanted on them.
    """
    at, sides = Margins.of(y * (surfaces @ A)), by_label(y, weight)
    pull = np.stack([(at.t * side) @ A[:-1].T for side in sides.T])
    spreads = []
    for i, mine in enumerate(places):
        bent = A[np.append(mine, -1)] * np.sqrt(weight * at.t[i] * (1.0 - at.t[i]))
        spreads.append(bent @ bent.T)
    return ManySums(at.loss @ weight, pull, at.scalars(sides), tuple(spreads)), at


@dataclass(frozen=True)
class FitSums:
    """What a pass tells of a surface that is fitted: ``at`` it with the dual point on all terms; and losses of others."""

    at: SurfaceSums
    losses: FloatArray

    def __add__(self, other: FitSums) -> FitSums:
        return FitSums(self.at + other.at, self.losses + other.losses)


@dataclass(frozen=True)
class FitAt:
    """From a batch to FitSums.

    Attributes
    ----------
    positive : int
    middle : array of shape (n,)
        Where the lifting is centred.
    terms : array
        Positions in the full z.
    surfaces : array of shape (t, k + 1)
        The one that is fitted, and others.
    """

    positive: int
    middle: FloatArray
    terms: IntArray
    surfaces: FloatArray

    def __call__(self, batch: SampleBatch) -> FitSums:
        y, weight = batch.signs(self.positive), batch.loss_weight
        total, shares = None, np.empty(len(y))
        for rows in _chunks(len(y)):
            A = _lifted(batch.X[rows], self.middle, self.terms)
            every = np.arange(len(self.terms))
            sums, at = surface_sums(A, self.surfaces, y[rows], weight[rows], [every])
            shares[rows] = at.t[0]
            part = FitSums(SurfaceSums(float(sums.losses[0]), sums.sides(0, every), sums.spreads[0]), sums.losses[1:])
            total = part if total is None else total + part
        assert total is not None
        labelled = [np.flatnonzero(y == label) for label in (-1.0, 1.0)]
        adjoint = np.array([lift_adjoint(batch.X[side] - self.middle, (weight * shares)[side]) for side in labelled])
        pull = adjoint_about(adjoint, self.middle)
        return FitSums(SurfaceSums(total.at.loss, SideSums(pull, total.at.sides.scalars), total.at.spread), total.losses)


@dataclass(frozen=True)
class ManyAt:
    """From a batch to ManySums; ``places`` are the terms of each surface where curvature is wanted, else as in FitAt."""

    positive: int
    middle: FloatArray
    terms: IntArray
    surfaces: FloatArray
    places: tuple[IntArray, ...] = ()

    def __call__(self, batch: SampleBatch) -> ManySums:
        y, weight = batch.signs(self.positive), batch.loss_weight
        total = None
        for rows in _chunks(len(y)):
            A = _lifted(batch.X[rows], self.middle, self.terms)
            part, _ = surface_sums(A, self.surfaces, y[rows], weight[rows], self.places)
            total = part if total is None else total + part
        assert total is not None
        return total


@dataclass(frozen=True)
class CrossSums:
    """Curvature around a surface towards all terms: A' diag(o t (1 - t)) R, and the sums of o t (1 - t) r^2."""

    cross: FloatArray
    squares: FloatArray

    def __add__(self, other: CrossSums) -> CrossSums:
        return CrossSums(self.cross + other.cross, self.squares + other.squares)


@dataclass(frozen=True)
class CrossAt:
    """From a batch to CrossSums, on the terms ``among``; other fields as in FitAt, for one surface."""

    positive: int
    middle: FloatArray
    terms: IntArray
    surface: FloatArray
    among: IntArray

    def __call__(self, batch: SampleBatch) -> CrossSums:
        y, weight = batch.signs(self.positive), batch.loss_weight
        total = None
        for rows in _chunks(len(y)):
            A, R = (_lifted(batch.X[rows], self.middle, terms) for terms in (self.terms, self.among))
            t = expit(-y[rows] * (self.surface @ A))
            theta = weight[rows] * t * (1.0 - t)
            part = CrossSums((A * theta) @ R[:-1].T, (R[:-1] * R[:-1]) @ theta)
            total = part if total is None else total + part
        assert total is not None
        return total


def _lifted(X: FloatArray, middle: FloatArray, terms: IntArray) -> FloatArray:
    return np.vstack([lift_columns_about(X.T, middle, terms), np.ones((1, len(X)))])


def _chunks(n_rows: int) -> list[slice]:
    return [slice(first, min(first + CHUNK_ROWS, n_rows)) for first in range(0, n_rows, CHUNK_ROWS)]
