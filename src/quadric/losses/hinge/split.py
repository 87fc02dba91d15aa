"""A pass of the hinge loss: rows near their margin are kept, all others become a few sums.

A surface w = [z; level] on some terms has shortfalls t_i = 1 - y_i (r_i'z + level). Rows with |t_i| > reach stay on their side
of the margin as long as the surface moves little. They are therefore collapsed into four rows: those of either label that are
below their margin, and those that are above it. A collapsed row is the weighted mean of its rows and weighs as much as all of
them. Its loss is their loss where all are on one side of the margin, and never more (Jensen). The small problem of near and
collapsed rows is therefore a lower bound of F that touches it at the surface. In its dual, collapsed rows share one multiplier
per weight: what is feasible there is feasible for all rows, and on any terms, since sums are kept of all p of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quadric.geometry.lifting import lift_adjoint
from quadric.losses.descent import scores_of
from quadric.losses.hinge.qp import lowest_interval
from quadric.losses.smallest_keys import KeptRows, Rows
from quadric.samples.source import SampleBatch
from quadric.types import BoolArray, FloatArray, IntArray

# The collapsed rows: their label, and whether they are below their margin
GROUPS = ((-1.0, True), (1.0, True), (-1.0, False), (1.0, False))
NOTHING = Rows(np.empty((0, 0)), np.empty(0), np.empty(0), np.empty(0))


@dataclass(frozen=True)
class Collapsed:
    """Sums over the rows that are far from their margin.

    Attributes
    ----------
    weight : array of shape (4,)
        Sums of their weights, in the order of GROUPS.
    sums : array of shape (4, p)
        Weighted sums of r(x - middle).
    """

    weight: FloatArray
    sums: FloatArray

    def __add__(self, other: Collapsed) -> Collapsed:
        return Collapsed(self.weight + other.weight, self.sums + other.sums)

    @staticmethod
    def of(
        X: FloatArray, y: FloatArray, weight: FloatArray, sides: tuple[BoolArray, BoolArray], middle: FloatArray
    ) -> Collapsed:
        """Of the rows that are below and above their margin."""
        below, above = sides
        groups = [np.flatnonzero((y == label) & (below if is_below else above)) for label, is_below in GROUPS]
        sums = [lift_adjoint(X[group] - middle, weight[group]) for group in groups]
        return Collapsed(np.array([weight[group].sum() for group in groups]), np.array(sums))


@dataclass(frozen=True)
class Split:
    """What a pass makes of all rows.

    Attributes
    ----------
    losses : array
        Sums of the weighted losses of some surfaces.
    far : Collapsed
    near : KeptRows
        Their keys are |t_i|, and their weights have the sign of t_i: the side on which they would be collapsed.
    middle : array of shape (n,)
    """

    losses: FloatArray
    far: Collapsed
    near: KeptRows
    middle: FloatArray

    def __add__(self, other: Split) -> Split:
        reach = self.near.needed_reach(other.near)
        mine, theirs = self.narrowed(reach), other.narrowed(reach)
        near = mine.near.joined_with(theirs.near, reach)
        return Split(self.losses + other.losses, mine.far + theirs.far, near, self.middle)

    def narrowed(self, reach: float) -> Split:
        """The same with fewer rows near their margin."""
        far = self.far
        for rows in self.near.beyond(reach):
            below = rows.weight > 0.0
            far = far + Collapsed.of(rows.X, rows.y, np.abs(rows.weight), (below, ~below), self.middle)
        return Split(self.losses, far, self.near.within(reach), self.middle)

    def lowest_levels(self) -> tuple[float, float]:
        """By how much the level may change, at least and at most, so that the loss is lowest; infinite where more rows tell."""
        rows, far = self.near.rows() if len(self.near) else NOTHING, dict(zip(GROUPS, self.far.weight.tolist(), strict=True))
        weight, kinks = np.abs(rows.weight), rows.y * np.copysign(rows.key, rows.weight)
        slope = far[-1.0, True] - far[1.0, True] - float(weight[rows.y > 0.0].sum())
        return lowest_interval(kinks, weight, slope, float(weight.sum() + self.far.weight.sum()))


@dataclass(frozen=True)
class SplitAt:
    """From a batch to what a split is the sum of.

    Attributes
    ----------
    positive : int
    middle : array of shape (n,)
        Where the lifting is centred.
    terms : array
        Positions in the full z.
    surfaces : array of shape (t, k + 1)
        The rows are split at the first; of all of them losses are computed.
    reach : float
        Distance from the margin up to which rows are near.
    room : int
        Near rows that are kept, at most.
    """

    positive: int
    middle: FloatArray
    terms: IntArray
    surfaces: FloatArray
    reach: float
    room: int

    def __call__(self, batch: SampleBatch) -> Split:
        y, weight = batch.signs(self.positive), batch.loss_weight
        shortfalls = 1.0 - y * scores_of(batch.X, self.middle, self.terms, self.surfaces)
        losses = np.maximum(shortfalls, 0.0) @ weight
        t = shortfalls[0]
        distance = np.abs(t)
        near = np.flatnonzero(distance <= self.reach)
        rows = Rows(batch.X[near], y[near], np.copysign(weight[near], t[near]), distance[near])
        kept = KeptRows((rows,) if len(near) else (), self.reach, self.room)
        far = Collapsed.of(batch.X, y, weight, (t > self.reach, t < -self.reach), self.middle)
        return Split(losses, far, kept, self.middle)


@dataclass(frozen=True)
class Losses:
    """Sums of the weighted losses of some surfaces."""

    losses: FloatArray

    def __add__(self, other: Losses) -> Losses:
        return Losses(self.losses + other.losses)


@dataclass(frozen=True)
class LossesAt:
    """From a batch to the losses of surfaces on some terms; fields as in SplitAt."""

    positive: int
    middle: FloatArray
    terms: IntArray
    surfaces: FloatArray

    def __call__(self, batch: SampleBatch) -> Losses:
        shortfalls = 1.0 - batch.signs(self.positive) * scores_of(batch.X, self.middle, self.terms, self.surfaces)
        return Losses(np.maximum(shortfalls, 0.0) @ batch.loss_weight)
