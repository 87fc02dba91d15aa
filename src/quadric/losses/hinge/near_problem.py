"""The small problem of a split: near rows and collapsed rows, on any terms (losses/hinge/split.py)."""

from __future__ import annotations

import numpy as np

from quadric.geometry.lifting import adjoint_about, lift_about, lift_adjoint, row_chunks
from quadric.losses.hinge.qp import HingeQP, evenly_balanced
from quadric.losses.hinge.split import GROUPS, Split
from quadric.types import FloatArray, IntArray


class SmallProblem:
    """Near rows and collapsed rows, on any terms.

    Parameters
    ----------
    split : Split
    C : float
    """

    def __init__(self, split: Split, C: float) -> None:
        rows = split.near.rows() if len(split.near) else None
        self._X = rows.X if rows is not None else np.empty((0, len(split.middle)))
        self._middle = split.middle
        live = split.far.weight > 0.0
        self._far_weight = split.far.weight[live]
        self._far = adjoint_about(split.far.sums[live], split.middle) / self._far_weight[:, None]
        near_y = rows.y if rows is not None else np.empty(0)
        near_weight = np.abs(rows.weight) if rows is not None else np.empty(0)
        self.y = np.concatenate([near_y, np.array([label for label, _ in GROUPS])[live]])
        self.upper = C * np.concatenate([near_weight, self._far_weight])

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

    def guess(self, margins: FloatArray) -> FloatArray:
        """Multipliers by the sides of the rows."""
        return np.where(margins < 1.0, self.upper, 0.0)

    def dual(self, alpha: FloatArray) -> tuple[float, FloatArray]:
        """Sum of the multipliers of all rows, and R'(y alpha) on all terms."""
        alpha = self._balanced(alpha)
        n_near = len(self._X)
        signed = self.y * alpha
        used = np.flatnonzero(signed[:n_near])
        near = lift_adjoint(self._X[used] - self._middle, signed[used])
        return float(alpha.sum()), adjoint_about(near, self._middle) + signed[n_near:] @ self._far

    def dual_on(self, R: FloatArray, alpha: FloatArray) -> tuple[float, FloatArray]:
        """The same on some terms, given their rows."""
        alpha = self._balanced(alpha)
        return float(alpha.sum()), (self.y * alpha) @ R

    def _balanced(self, alpha: FloatArray) -> FloatArray:
        """Multipliers inside their boxes that balance."""
        return evenly_balanced(np.clip(alpha, 0.0, self.upper), self.y)
