"""The norm that the regulariser gives to gradients on a support, 1/2 h'G^-1 h, with a bound on what rounding does to it.

With the rows H of geometry/energy.py, G = 2 H'H, and with H = Q T D, D the lengths of its columns, the norm is
1/4 ||T^-T D^-1 h||^2. No product of columns is formed, so the condition of G counts once and not squared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dtrtri

from quadric.geometry.energy import Energy
from quadric.types import FloatArray, IntArray

EPS = float(np.finfo(float).eps)
TRUSTED = 0.1
"""Relative error of the factor that is allowed for; beyond it nothing is claimed."""


@dataclass(frozen=True)
class EnergyNorm:
    """Half the squared length of a gradient.

    Attributes
    ----------
    lengths : array of shape (k,)
        Of the columns of H.
    inverse : array of shape (k, k)
        T^-1.
    error : float
        Relative error of the norm.
    """

    lengths: FloatArray
    inverse: FloatArray
    error: float

    @staticmethod
    def of(energy: Energy, terms: IntArray, n_rows: int) -> EnergyNorm | None:
        """The norm on some terms; None where rounding leaves nothing of it."""
        H = energy.rows(terms)
        lengths = np.sqrt(np.sum(H * H, axis=0))
        k = len(terms)
        triangle = np.linalg.qr(H / lengths, mode="r")
        if len(triangle) < k:
            return None
        inverse, failed = dtrtri(triangle)
        if failed:
            return None
        swelling = float(np.sqrt(np.sum(inverse**2)))
        # of what H was made of: from sums over all samples, where their errors are magnified twice, or from the samples
        condition = swelling if energy.graded else swelling**2
        error = rounding_of_sum(n_rows) * k * condition
        return EnergyNorm(lengths, inverse, error) if error <= TRUSTED else None

    @staticmethod
    def of_nothing() -> EnergyNorm:
        """The norm on no terms."""
        return EnergyNorm(np.zeros(0), np.zeros((0, 0)), 0.0)

    def coordinates(self, h: FloatArray) -> FloatArray:
        """x with 1/2 h'G^-1 h = 1/4 ||x||^2; also for the rows of a matrix."""
        return (h / self.lengths) @ self.inverse

    def halved_square(self, h: FloatArray, doubt: FloatArray) -> float:
        """1/2 h'G^-1 h, at most: for all that h could be, given a bound on the error of each entry."""
        x = self.coordinates(h)
        z = np.abs(self.inverse @ x) / self.lengths
        blurred = (doubt / self.lengths) @ np.abs(self.inverse)
        return float(
            (0.25 * x @ x + 0.5 * z @ doubt + 0.25 * blurred @ blurred) * (1.0 + 2.0 * self.error / (1.0 - self.error))
        )


def rounding_of_sum(n: float) -> float:
    """Rounding error of a sum of n numbers, relative to the sum of their absolute values; errors have two signs."""
    return EPS * (8.0 + float(np.sqrt(n)))
