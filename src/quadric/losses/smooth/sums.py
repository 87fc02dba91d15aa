"""A pass of a smooth loss: value, gradient, curvature and a dual point at surfaces on some terms.

With margins m_i and slopes t_i, the multipliers K_i t_i bound F from below once they balance (docs/mathematics.md, eq. 10.4).
The heavier label then gives way by a factor f. The conjugate h is concave with h(0) = 0, h'(t_i) = m_i and h'' = -1 / bend; as
the bend is concave in t, it is at least f bend(t_i) between f t_i and t_i. Hence

    h(f t_i) >= h(t_i) - (1 - f) t_i m_i - (1 - f)^2 / (2 f) t_i^2 / bend(t_i),    and    h(f t_i) >= f h(t_i),

so that sums over the rows of a label suffice, whatever f will be. The second serves rows far below their margin.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from quadric.geometry.lifting import adjoint_about, lift_adjoint, lift_columns_about
from quadric.losses.smooth.formulas import SmoothLoss
from quadric.samples.source import SampleBatch
from quadric.types import FloatArray, IntArray

FAR_BELOW = -7.0  # margin under which t^2 / bend is taken to be large
CHUNK_ROWS = 1024  # rows that are lifted together: their block stays in the cache
LABELS = np.array([-1.0, 1.0])


@dataclass(frozen=True)
class SurfaceSums:
    """What a pass tells of some surfaces, in units of C scale.

    Attributes
    ----------
    losses : array of shape (s,)
    pull : array of shape (2, s, u)
        Sums of o t r over the rows of either label.
    scalars : array of shape (s, 2, 5)
        Of the same rows: sums of o t, o h(t), o t m and o t^2 / bend, the last two not far below the margin; of o h(t) there.
    spreads : tuple of arrays
        A' diag(o bend) A of surfaces on their own terms, where that is asked for: it is most of the work.
    """

    losses: FloatArray
    pull: FloatArray
    scalars: FloatArray
    spreads: tuple[FloatArray, ...] = ()

    def __add__(self, other: SurfaceSums) -> SurfaceSums:
        spreads = tuple(mine + theirs for mine, theirs in zip(self.spreads, other.spreads, strict=True))
        return SurfaceSums(self.losses + other.losses, self.pull + other.pull, self.scalars + other.scalars, spreads)

    def on(self, terms: IntArray, surface: int = 0) -> SurfaceSums:
        """Of one surface, on some of the terms."""
        one = slice(surface, surface + 1)
        return SurfaceSums(self.losses[one], self.pull[:, one, terms], self.scalars[one], self.spreads[one])

    def signed(self) -> tuple[FloatArray, float]:
        """R'(y t) and the sum of y t of the first surface."""
        return LABELS @ self.pull[:, 0], float(LABELS @ self.scalars[0, :, 0])

    def dual(self) -> tuple[float, FloatArray]:
        """Conjugates of balanced multipliers of the first surface, at least, and their R'(y t)."""
        scalars = self.scalars[0]
        heavy = int(np.argmax(scalars[:, 0]))
        f = float(scalars[1 - heavy, 0] / scalars[heavy, 0])
        _, conjugate, first, second, far = scalars[heavy]
        lost = (1.0 - f) * (first + far) + (1.0 - f) ** 2 / (2.0 * max(f, np.finfo(float).tiny)) * second
        factors = LABELS.copy()
        factors[heavy] *= f
        return float(conjugate - lost + scalars[1 - heavy, 1]), factors @ self.pull[:, 0]


def by_label(y: FloatArray, weight: FloatArray) -> FloatArray:
    """Weights of the rows of either label, of shape (m, 2)."""
    return np.where(y[:, None] == LABELS, weight[:, None], 0.0)


def scalars_of(m: FloatArray, at: tuple[FloatArray, ...], sides: FloatArray) -> FloatArray:
    """Those of SurfaceSums, from margins, what the loss makes of them (``SmoothLoss.at``), and weights by label."""
    t, _, conjugate, bends = at
    slopes, far, is_far = t * m, np.zeros_like(m), m < FAR_BELOW
    if is_far.any():
        slopes[is_far], bends[is_far], far[is_far] = 0.0, 0.0, conjugate[is_far]
    return np.stack([part @ sides for part in (t, conjugate, slopes, bends, far)], axis=-1)


def surface_sums(
    loss: SmoothLoss,
    A: FloatArray,
    surfaces: FloatArray,
    y: FloatArray,
    weight: FloatArray,
    places: Sequence[IntArray] = (),
) -> tuple[SurfaceSums, FloatArray]:
    """Of some surfaces on rows that are lifted, and the slopes t at all of them.

    Parameters
    ----------
    loss : SmoothLoss
    A : array of shape (u + 1, m)
        One row per term, and a last one of ones.
    surfaces : array of shape (s, u + 1)
    y, weight : arrays of shape (m,)
    places : sequence of arrays
        Terms of the first surfaces, where curvature is wanted on them.
    """
    m, sides = y * (surfaces @ A), by_label(y, weight)
    at = loss.at(m)
    t = at[0]
    # either label by itself: which one is heavier, and by how much, is known only when all rows are summed
    pull = np.stack([(t * side) @ A[:-1].T for side in sides.T])
    spreads = []
    for i, mine in enumerate(places):
        # theta >= 0 (10.2), so that its root halves the work: a product of a matrix with itself
        bent = A[np.append(mine, -1)] * np.sqrt(weight * loss.bend(t[i]))
        spreads.append(bent @ bent.T)
    return SurfaceSums(at[1] @ weight, pull, scalars_of(m, at, sides), tuple(spreads)), t


@dataclass(frozen=True)
class SurfacesAt:
    """From a batch to the sums of some surfaces.

    Attributes
    ----------
    loss : SmoothLoss
    surface : int
    middle : array of shape (n,)
        Where the lifting is centred.
    terms : array
        Positions in the full z.
    surfaces : array of shape (s, k + 1)
    places : tuple of arrays
        Terms of each surface where curvature is wanted.
    """

    loss: SmoothLoss
    surface: int
    middle: FloatArray
    terms: IntArray
    surfaces: FloatArray
    places: tuple[IntArray, ...] = ()

    def __call__(self, batch: SampleBatch) -> SurfaceSums:
        return self.sums(batch)[0]

    def sums(self, batch: SampleBatch) -> tuple[SurfaceSums, FloatArray]:
        """The sums, and the slopes at the first surface."""
        y, weight = batch.target.y(self.surface), batch.loss_weight
        total, slopes = None, np.empty(len(y))
        for rows, A in self.lifted(batch.X, self.terms):
            part, t = surface_sums(self.loss, A, self.surfaces, y[rows], weight[rows], self.places)
            slopes[rows] = t[0]
            total = part if total is None else total + part
        assert total is not None
        return total, slopes

    def lifted(self, X: FloatArray, terms: IntArray) -> Iterator[tuple[slice, FloatArray]]:
        """Blocks of rows: which ones, and their terms in rows with a last one of ones."""
        for first in range(0, len(X), CHUNK_ROWS):
            rows = slice(first, first + CHUNK_ROWS)
            R = lift_columns_about(X[rows].T, self.middle, terms)
            yield rows, np.vstack([R, np.ones((1, R.shape[1]))])


@dataclass(frozen=True)
class FitAt(SurfacesAt):
    """The same for a surface that is fitted, the first, with its curvature and its pull on all terms; losses of the others."""

    def __call__(self, batch: SampleBatch) -> SurfaceSums:
        # R'(y a) on all p terms is one product X' diag(.) X (8.2), so that only terms of the support are lifted
        sums, slopes = replace(self, places=(np.arange(len(self.terms)),)).sums(batch)
        y, pulled = batch.target.y(self.surface), batch.loss_weight * slopes
        groups = [np.flatnonzero(y == label) for label in LABELS]
        adjoint = np.array([lift_adjoint(batch.X[group] - self.middle, pulled[group]) for group in groups])
        return replace(sums, pull=adjoint_about(adjoint, self.middle)[:, None], scalars=sums.scalars[:1])


@dataclass(frozen=True)
class CrossAt(SurfacesAt):
    """From a batch to the curvature around one surface towards other terms, its ``places``, as positions in the full z.

    Rows are A' diag(o bend) R, and the last the sums of o bend r^2.
    """

    def __call__(self, batch: SampleBatch) -> FloatArray:  # type: ignore[override]
        y, weight, (others,) = batch.target.y(self.surface), batch.loss_weight, self.places
        total = np.zeros((len(self.terms) + 2, len(others)))
        for (rows, A), (_, R) in zip(self.lifted(batch.X, self.terms), self.lifted(batch.X, others), strict=True):
            theta = weight[rows] * self.loss.bend(self.loss.slope(y[rows] * (self.surfaces[0] @ A)))
            total += np.vstack([(A * theta) @ R[:-1].T, (R[:-1] * R[:-1]) @ theta])
        return total
