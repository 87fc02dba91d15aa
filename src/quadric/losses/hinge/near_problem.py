"""The small problem of a split: near rows and collapsed rows, on any terms (losses/hinge/split.py)."""

from __future__ import annotations

import numpy as np

from quadric.geometry.lifting import adjoint_about, lift_about, lift_adjoint, row_chunks
from quadric.losses.hinge.qp import HingeQP, evenly_balanced
from quadric.losses.hinge.split import GROUPS, Split
from quadric.types import FloatArray, IntArray

MOST_COMPARED = 10_000  # rows


class NearProblem:
    """Near rows and collapsed rows, on any terms.

    Parameters
    ----------
    split : Split
    C : float
    """

    def __init__(self, split: Split, C: float) -> None:
        rows, live = split.near.rows(), split.far[:, 0] > 0.0
        weight, sums = split.far[live, 0], split.far[live, 1:]
        self._X, y, near_weight, self._middle = *_distinct(rows.X, rows.y, np.abs(rows.weight)), split.middle
        self._far = adjoint_about(sums, split.middle) / weight[:, None]
        self.y = np.concatenate([y, np.array([label for label, _ in GROUPS])[live]])
        self.upper = C * np.concatenate([near_weight, weight])

    def rows(self, terms: IntArray) -> FloatArray:
        """[r(x) - r(middle), 1] on some terms."""
        n_near = len(self._X)
        A = np.empty((len(self.y), len(terms) + 1))
        for rows in row_chunks(n_near, len(terms) + 1):
            A[rows, :-1] = lift_about(self._X[rows], self._middle, terms)
        A[n_near:, :-1] = self._far[:, terms]
        A[:, -1] = 1.0
        return A

    def qp(self, A: FloatArray, G: FloatArray) -> HingeQP:
        """The problem on some terms, given their rows."""
        return HingeQP(A, self.y, self.upper, G, np.zeros(A.shape[1]))

    def balanced(self, alpha: FloatArray) -> FloatArray:
        """Multipliers inside their boxes that balance: a bound on all rows needs no more of them."""
        return evenly_balanced(np.clip(alpha, 0.0, self.upper), self.y)

    def dual(self, alpha: FloatArray) -> tuple[float, FloatArray]:
        """Sum of the multipliers of all rows, once they balance, and R'(y alpha) on all terms."""
        alpha, n_near = self.balanced(alpha), len(self._X)
        signed = self.y * alpha
        used = np.flatnonzero(signed[:n_near])
        near = lift_adjoint(self._X[used] - self._middle, signed[used])
        return float(alpha.sum()), adjoint_about(near, self._middle) + signed[n_near:] @ self._far


def _distinct(X: FloatArray, y: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Equal rows as one that weighs as much, where they are few enough to be compared."""
    if len(y) > MOST_COMPARED:
        return X, y, weight
    values = np.column_stack([X, y]) + 0.0  # -0.0 becomes 0.0: rows are compared by their bits
    bits = values.view(np.dtype((np.void, values.itemsize * values.shape[1]))).ravel()
    _, first, group = np.unique(bits, return_index=True, return_inverse=True)
    if len(first) == len(y):
        return X, y, weight
    return X[first], y[first], np.bincount(group, weights=weight).astype(float)
