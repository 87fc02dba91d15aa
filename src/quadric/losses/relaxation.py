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

HOPELESS = 1e14
"""Condition number beyond which the inverse is worth nothing to a bound."""


class QuadraticBounds(Bounds):
    """Bounds from one matrix that all nodes share.

    Parameters
    ----------
    problem : SparseProblem
    matrix : array of shape (p, p)
        Of the quadratic.
    """

    def __init__(self, problem: SparseProblem, matrix: FloatArray) -> None:
        self.inverse, condition = scaled_inverse(matrix)
        self.diagonal = diagonal_below(self.inverse)
        self.rounding = rounding_error(condition, problem)

    def bound(self, node: Relaxation, free: BoolArray, n_to_drop: int) -> float:
        """The better of the two bounds."""
        if n_to_drop <= 0:
            return node.f
        costs = np.partition(node.costs()[free], n_to_drop - 1)
        curved = self.diagonal[node.terms[free]] * node.z[free] ** 2
        cheapest = np.partition(curved, n_to_drop - 1)[:n_to_drop]
        return node.f + max(float(costs[n_to_drop - 1]), 0.5 * float(cheapest.sum()))


def scaled_inverse(matrix: FloatArray) -> tuple[FloatArray, float]:
    """Inverse, by way of the matrix with a unit diagonal, and that one's condition number."""
    scale = 1.0 / np.sqrt(np.diag(matrix))
    unit = matrix * np.outer(scale, scale)
    inverse = cho_solve(cho_factor(unit), np.eye(len(unit)))
    e = eigh(unit, eigvals_only=True)
    condition = float(e[-1] / max(e[0], np.finfo(float).eps * e[-1]))
    if condition > HOPELESS:
        raise NoBound("singular to working precision")
    return 0.5 * (inverse + inverse.T) * np.outer(scale, scale), condition


def rounding_error(condition: float, problem: SparseProblem) -> float:
    """What rounding in the inverse can do to a bound: the bounds are parts of F at zero."""
    return 16.0 * np.finfo(float).eps * (condition + problem.n_terms) * problem.at_zero()


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
