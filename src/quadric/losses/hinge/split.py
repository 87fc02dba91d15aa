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


@dataclass(frozen=True)
class Split:
    """What a pass makes of all rows.

    Attributes
    ----------
    losses : array
        Sums of the weighted losses of some surfaces.
    far : array of shape (4, 1 + p)
        Sums over the rows far from their margin, in the order of GROUPS: of their weights, and weighted of r(x - middle).
    near : KeptRows
        Their keys are |t_i|, and their weights have the sign of t_i: the side on which they would be collapsed.
    middle : array of shape (n,)
    """

    losses: FloatArray
    far: FloatArray
    near: KeptRows
    middle: FloatArray

    def __add__(self, other: Split) -> Split:
        # both must collapse the same rows, so the smaller reach holds for both before their sums are added
        reach = self.near.needed_reach(other.near)
        mine, theirs = self.narrowed(reach), other.narrowed(reach)
        return Split(self.losses + other.losses, mine.far + theirs.far, mine.near.joined_with(theirs.near), self.middle)

    def narrowed(self, reach: float) -> Split:
        """The same with fewer rows near their margin."""
        far = self.far
        for rows in self.near.beyond(reach):
            below = rows.weight > 0.0
            far = far + _collapsed(rows.X - self.middle, rows.y, np.abs(rows.weight), below, ~below)
        return Split(self.losses, far, self.near.within(reach), self.middle)

    def lowest_levels(self) -> tuple[float, float]:
        """By how much the level may change, at least and at most, so that the loss is lowest; infinite where more rows tell."""
        rows, far = self.near.rows(), self.far[:, 0]
        # moving the level by d brings row i to its margin where d = y_i t_i (docs/mathematics.md, eq. 3.5)
        weight, kinks = np.abs(rows.weight), rows.y * np.copysign(rows.key, rows.weight)
        slope = float(far[0] - far[1]) - float(weight[rows.y > 0.0].sum())
        return lowest_interval(kinks, weight, slope, float(weight.sum() + far.sum()))


def _collapsed(X: FloatArray, y: FloatArray, weight: FloatArray, below: BoolArray, above: BoolArray) -> FloatArray:
    """Sums over the rows that are below and above their margin, as in Split.far; X is x - middle."""
    groups = [np.flatnonzero((y == label) & (below if is_below else above)) for label, is_below in GROUPS]
    return np.array([np.append(weight[group].sum(), lift_adjoint(X[group], weight[group])) for group in groups])


@dataclass(frozen=True)
class LossesAt:
    """From a batch to the sums of the weighted losses of some surfaces.

    Attributes
    ----------
    surface : int
    middle : array of shape (n,)
        Where the lifting is centred.
    terms : array
        Positions in the full z.
    surfaces : array of shape (t, k + 1)
    """

    surface: int
    middle: FloatArray
    terms: IntArray
    surfaces: FloatArray

    def __call__(self, batch: SampleBatch) -> FloatArray:
        return np.asarray(np.maximum(self.shortfalls(batch), 0.0) @ batch.loss_weight)

    def shortfalls(self, batch: SampleBatch) -> FloatArray:
        """1 - y f for each surface and row."""
        return 1.0 - batch.target.y(self.surface) * scores_of(batch.X, self.middle, self.terms, self.surfaces)


@dataclass(frozen=True)
class SplitAt(LossesAt):
    """From a batch to what a split is the sum of: the rows are split at the first surface.

    Attributes
    ----------
    reach : float
        Distance from the margin up to which rows are near.
    room : int
        Near rows that are kept, at most.
    """

    reach: float
    room: int

    def __call__(self, batch: SampleBatch) -> Split:  # type: ignore[override]
        y, weight, shortfalls = batch.target.y(self.surface), batch.loss_weight, self.shortfalls(batch)
        t, losses = shortfalls[0], np.maximum(shortfalls, 0.0) @ weight
        near = np.flatnonzero(np.abs(t) <= self.reach)
        rows = Rows(batch.X[near], y[near], np.copysign(weight[near], t[near]), np.abs(t[near]))
        far = _collapsed(batch.X - self.middle, y, weight, t > self.reach, t < -self.reach)
        return Split(losses, far, KeptRows((rows,), self.reach, self.room), self.middle)
