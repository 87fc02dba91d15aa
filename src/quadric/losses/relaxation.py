"""Bounds from quadratics: what leaving terms out must cost (docs/mathematics.md, eq. 7.1).

With f the minimum of a quadratic on the allowed terms, z its minimiser and B the inverse of its matrix, leaving out T costs
1/2 z_T' (B_TT)^-1 z_T exactly. Hence, where r of the free terms must go,

    f + the r-th smallest of z_j^2 / (2 B_jj)            bounds a node from below (7.2),
    f + 1/2 sum of the r smallest d_j z_j^2              too, for any diagonal D below the matrix (7.3).
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from quadric.losses.base import Bounded, NoBound, Relaxation
from quadric.types import BoolArray, FloatArray


class DenseRelaxation(Relaxation):
    """The minimum on all allowed terms, and what leaving terms out of it costs.

    Parameters
    ----------
    matrix : array of shape (p, p)
        Of the quadratic.
    k : int
    rounding : float
        How far above the truth rounding may have put a bound.
    """

    def __init__(self, matrix: FloatArray, k: int, rounding: float) -> None:
        self.matrix, self.k, self.rounding = matrix, k, rounding
        self.diagonal = diagonal_below(inverse_of(matrix))

    @abstractmethod
    def solved(self, allowed: BoolArray) -> tuple[FloatArray, FloatArray]:
        """f for each row of allowed terms, and the costs of leaving out each term and D z^2 / 2 side by side."""

    def root(self, fixed: BoolArray, allowed: BoolArray, cutoff: float) -> Bounded:
        return self.children(fixed, allowed, np.zeros((1, 2 * len(self.matrix) + 2)), cutoff)

    def children(self, fixed: BoolArray, allowed: BoolArray, state: FloatArray, cutoff: float) -> Bounded:
        """Rows that allow as many terms as their parent did have its relaxation."""
        n_allowed = allowed.sum(axis=1)
        # a child that fixes a term allows what its parent allowed: the same quadratic, hence the same f and costs (7.1)
        stale = state[:, 0] != n_allowed
        if stale.any():
            state = state.copy()
            state[stale, 0] = n_allowed[stale]
            state[stale, 1], state[stale, 2:] = self.solved(allowed[stale])
        f, (costs, curved) = state[:, 1], np.split(state[:, 2:], 2, axis=1)
        n_to_drop = n_allowed - self.k
        # (7.5)
        fixed = fixed | (allowed & (f[:, None] + costs - self.rounding >= cutoff) & (n_to_drop > 0)[:, None])
        free, last = allowed & ~fixed, np.maximum(n_to_drop - 1, 0)[:, None]
        cheapest = np.take_along_axis(np.sort(np.where(free, costs, np.inf), axis=1), last, 1)[:, 0]  # (7.2)
        summed = np.take_along_axis(np.cumsum(np.sort(np.where(free, curved, np.inf), axis=1), axis=1), last, 1)[:, 0]  # (7.3)
        lower = f + np.where(n_to_drop > 0, np.maximum(cheapest, summed), 0.0) - self.rounding
        return Bounded(lower, fixed, allowed, costs, state)


def masked(matrix: FloatArray, allowed: BoolArray) -> FloatArray:
    """The matrix on the allowed terms of each row, its diagonal elsewhere."""
    masks = allowed[:, :, None] & allowed[:, None, :]
    diagonal = np.arange(len(matrix))
    masks[:, diagonal, diagonal] = True
    return np.where(masks, matrix, 0.0)


def inverse_of(matrix: FloatArray) -> FloatArray:
    """The inverse of a positive definite matrix, factorised with a unit diagonal."""
    scale = 1.0 / np.sqrt(np.diag(matrix))
    unit = matrix * np.outer(scale, scale)
    inverse = cho_solve(cho_factor(unit, check_finite=False), np.eye(len(unit)), check_finite=False)
    return 0.5 * (inverse + inverse.T) * np.outer(scale, scale)


def safe_margin(matrix: FloatArray, swelling: FloatArray, k: int, gamma: float) -> float:
    """How far rounding may have put a bound above the truth, as a share of F at zero (7.7).

    Parameters
    ----------
    matrix : array of shape (p, p)
        Of the quadratic.
    swelling : array of shape (p,)
        tau_j^2: the error of entry ij of the matrix, scaled to a unit diagonal, is at most gamma tau_i tau_j.
    k : int
        Number of terms of the supports that are bounded.
    gamma : float
        Relative rounding error of the sums that the matrix is made of.

    Raises
    ------
    NoBound
        Where the smallest eigenvalue could be rounding.
    """
    scale = 1.0 / np.sqrt(np.diag(matrix))
    e = eigh(matrix * np.outer(scale, scale), eigvals_only=True, check_finite=False)
    eps, p = np.finfo(float).eps, len(matrix)
    swollen = float(np.sort(swelling)[-k:].sum())
    doubt = gamma * swollen + eps * p * float(e[-1])
    if not e[0] > 2.0 * doubt:
        raise NoBound("the matrix is singular up to rounding")
    data = gamma * (1.0 + np.sqrt(swollen / (e[0] - doubt))) ** 2
    return data + eps * (16.0 + np.sqrt(p)) * float(e[-1] / e[0])


def diagonal_below(inverse: FloatArray) -> FloatArray:
    """A diagonal D below the matrix whose inverse is given: 1/B_jj, shrunk until it fits (7.4)."""
    scale = np.sqrt(np.diag(inverse))
    n = len(scale)
    largest = eigh(inverse / np.outer(scale, scale), eigvals_only=True, subset_by_index=[n - 1, n - 1])[0]
    return 1.0 / (float(largest) * (1.0 + 1e-12) * scale**2)
