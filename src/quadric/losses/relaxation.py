"""Bounds from quadratics: what leaving terms out must cost (docs/mathematics.md, eq. 7.1).

With f the minimum of a quadratic on the allowed terms, z its minimiser and B the inverse of its matrix, leaving out T costs
1/2 z_T' (B_TT)^-1 z_T exactly. Hence, where r of the free terms must go,

    f + the r-th smallest of z_j^2 / (2 B_jj)            bounds a node from below (7.2),
    f + 1/2 sum of the r smallest d_j z_j^2              too, for any diagonal D below the matrix (7.3).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from quadric.losses.base import Bounds, NoBound, Relaxation, SparseProblem
from quadric.types import BoolArray, FloatArray, IntArray


class QuadraticBounds(Bounds):
    """Bounds from one matrix that all nodes share.

    Parameters
    ----------
    problem : SparseProblem
    matrix : array of shape (p, p)
        Of the quadratic.
    gamma : float
        Relative rounding error of the sums that the matrix is made of.
    swelling : array of shape (p,), optional
        How much larger they were than what is left of them on the diagonal; by default nothing has cancelled.
    """

    def __init__(self, problem: SparseProblem, matrix: FloatArray, gamma: float, swelling: FloatArray | None = None) -> None:
        scale = 1.0 / np.sqrt(np.diag(matrix))
        unit = matrix * np.outer(scale, scale)
        tau2 = np.ones(len(unit)) if swelling is None else swelling
        self.rounding = safe_margin(unit, tau2, problem.k, gamma) * problem.at_zero()
        inverse = cho_solve(cho_factor(unit, check_finite=False), np.eye(len(unit)), check_finite=False)
        self.inverse = 0.5 * (inverse + inverse.T) * np.outer(scale, scale)
        self.diagonal = diagonal_below(self.inverse)

    def bound(self, node: Relaxation, free: BoolArray, n_to_drop: int) -> float:
        """The better of the two bounds."""
        if n_to_drop <= 0:
            return node.f
        costs = np.partition(node.costs()[free], n_to_drop - 1)
        curved = self.diagonal[node.terms[free]] * node.z[free] ** 2
        cheapest = np.partition(curved, n_to_drop - 1)[:n_to_drop]
        return node.f + max(float(costs[n_to_drop - 1]), 0.5 * float(cheapest.sum()))


def safe_margin(unit: FloatArray, swelling: FloatArray, k: int, gamma: float) -> float:
    """How far rounding may have put a bound above the truth, as a share of F at zero (7.7).

    Parameters
    ----------
    unit : array of shape (p, p)
        The matrix of the quadratic, scaled to a unit diagonal.
    swelling : array of shape (p,)
        tau_j^2: the error of entry ij of ``unit`` is at most gamma tau_i tau_j.
    k : int
        Number of terms of the supports that are bounded.
    gamma : float
        Relative rounding error of the sums that the matrix is made of.

    Raises
    ------
    NoBound
        Where the smallest eigenvalue could be rounding.
    """
    e = eigh(unit, eigvals_only=True, check_finite=False)
    eps, p = np.finfo(float).eps, len(unit)
    swollen = float(np.sort(swelling)[-k:].sum())
    doubt = gamma * swollen + eps * p * float(e[-1])
    if not e[0] > 2.0 * doubt:
        raise NoBound("the matrix is singular but for rounding")
    data = gamma * (1.0 + np.sqrt(swollen / (e[0] - doubt))) ** 2
    inverse = eps * (16.0 + np.sqrt(p)) * float(e[-1] / e[0])  # of the inverse and of its downdates along the tree
    return data + inverse


def diagonal_below(inverse: FloatArray) -> FloatArray:
    """A diagonal D below the matrix whose inverse is given: 1/B_jj, shrunk until it fits (7.4)."""
    scale = np.sqrt(np.diag(inverse))
    n = len(scale)
    largest = eigh(inverse / np.outer(scale, scale), eigvals_only=True, subset_by_index=[n - 1, n - 1])[0]
    return 1.0 / (float(largest) * (1.0 + 1e-12) * scale**2)


def left_out(parent: Relaxation, position: int) -> tuple[IntArray, FloatArray]:
    """Terms and inverse with one term left out: a rank-one downdate."""
    keep = np.delete(np.arange(len(parent.terms)), position)
    column = parent.B[position]
    rest = column[keep]
    return parent.terms[keep], parent.B[keep[:, None], keep] - rest[:, None] * (rest / column[position])
