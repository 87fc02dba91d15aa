"""The units in which terms are counted: columns capped, then centred and scaled, as the training rows say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quadric.samples.recoding import Recoding
from quadric.types import FloatArray

# Columns with no more distinct values are codes or counts, and are not capped.
FEW_VALUES = 5
# Columns that vary by less than this share of their largest value keep their scale.
CONSTANT = 1e-12


@dataclass(frozen=True, eq=False)
class Units:
    """The map (min(max(x, low), high) - center) / scale.

    Attributes
    ----------
    low, high : arrays of shape (n,)
        Limits of each column; -inf and inf where it is not capped.
    center, scale : arrays of shape (n,)
    recoding : Recoding or None
        Of coded columns, before all of that; only inside the folds of a cross-validation.
    """

    low: FloatArray
    high: FloatArray
    center: FloatArray
    scale: FloatArray
    recoding: Recoding | None = None

    @staticmethod
    def of(X: FloatArray, weight: FloatArray, *, standardize: bool, clip: float | None, closed: bool = False) -> Units:
        """What training rows say of their columns.

        Parameters
        ----------
        X : array of shape (m, n)
        weight : array of shape (m,)
            Repetitions, all positive.
        standardize : bool
            Whether to centre and scale; by weighted mean and standard deviation, of the capped values.
        clip : float or None
            Share of the rows beyond each limit, as in ``caps``; None: no limits.
        closed : bool
            Whether columns that this leaves alone are capped, too, at their smallest and largest value.
        """
        n = X.shape[1]
        low, high = np.full(n, -np.inf), np.full(n, np.inf)
        if clip is not None:
            low, high = caps(X, weight, clip)
            if closed:
                low = np.where(np.isfinite(low), low, X.min(axis=0))
                high = np.where(np.isfinite(high), high, X.max(axis=0))
            X = np.clip(X, low, high)
        if not standardize:
            return Units(low, high, np.zeros(n), np.ones(n))
        center = np.average(X, axis=0, weights=weight)
        scale = np.sqrt(np.average((X - center) ** 2, axis=0, weights=weight))
        return Units(low, high, center, np.where(scale > CONSTANT * np.abs(X).max(axis=0), scale, 1.0))

    @staticmethod
    def plain(n_features: int) -> Units:
        free = np.full(n_features, np.inf)
        return Units(-free, free, np.zeros(n_features), np.ones(n_features))

    @property
    def is_capped(self) -> bool:
        return bool(np.isfinite(self.low).any() or np.isfinite(self.high).any())

    @property
    def changes(self) -> bool:
        """Whether any value could come out different."""
        return self.is_capped or self.is_standardized

    @property
    def is_standardized(self) -> bool:
        return bool(self.center.any() or (self.scale != 1.0).any())

    def __call__(self, X: FloatArray) -> FloatArray:
        X = X if self.recoding is None else self.recoding(X)
        inside = np.clip(X, self.low, self.high) if self.is_capped else X
        if not self.is_standardized:
            return inside
        out = np.subtract(inside, self.center, out=inside if self.is_capped else None)  # avoids allocating a large array
        return np.divide(out, self.scale, out=out)


def caps(X: FloatArray, weight: FloatArray, share: float) -> tuple[FloatArray, FloatArray]:
    """Lower and upper limits of the columns: the quantiles ``share`` and 1 - ``share``.

    Quantiles are observed values (the inverse of the distribution function), so that weights are repetitions. Columns with few
    distinct values are not capped, nor are those that would become constant.
    """
    low, high = np.full(X.shape[1], -np.inf), np.full(X.shape[1], np.inf)
    are_equal = bool((weight == weight[0]).all())
    shares = np.array([share, 1.0 - share])
    for j, column in enumerate(X.T):
        order = None if are_equal else np.argsort(column, kind="stable")
        values = np.sort(column) if order is None else column[order]
        if np.count_nonzero(values[1:] != values[:-1]) < FEW_VALUES:
            continue
        # equal weights need no sums: the rows up to a value are counted by its place
        reached = np.arange(1.0, len(values) + 1.0) if order is None else np.cumsum(weight[order])
        ends = values[np.minimum(np.searchsorted(reached, reached[-1] * shares), len(values) - 1)]
        if ends[0] < ends[1]:
            low[j], high[j] = ends
    return low, high
