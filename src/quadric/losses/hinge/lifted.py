"""The samples of a hinge problem, lifted about their middle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quadric.geometry.energy import Energy
from quadric.geometry.exact_sums import leading_half
from quadric.geometry.lifting import lift, row_chunks
from quadric.geometry.terms import term_factors
from quadric.types import FloatArray, IntArray


@dataclass(frozen=True)
class LiftedSamples:
    """Samples and what their lifting was made of.

    Attributes
    ----------
    X : array of shape (m, n)
    middle : array of shape (n,)
        Where the lifting is centred: the medians, which no outlying row can move.
    terms : array
        Candidate terms.
    energy : Energy
        The regulariser.
    """

    X: FloatArray
    middle: FloatArray
    terms: IntArray
    energy: Energy

    @staticmethod
    def of(X: FloatArray, terms: IntArray, energy: Energy) -> LiftedSamples:
        """Centred where products are exact, so that the intercept can be, too."""
        return LiftedSamples(X, leading_half(np.median(X, axis=0)), terms, energy)

    def center(self) -> FloatArray:
        """r(middle) on the candidates."""
        return lift(self.middle[None], self.terms)[0]

    def rows(self) -> FloatArray:
        """[r(x) - r(middle), 1] for each sample."""
        A = np.empty((len(self.X), len(self.terms) + 1))
        for rows in row_chunks(*A.shape):
            A[rows, :-1] = lift_about(self.X[rows], self.middle, self.terms)
        A[:, -1] = 1.0
        return A

    def sizes(self, support: IntArray) -> FloatArray:
        """What r(x) - r(middle) is made of on some candidates, added up without signs: rounding errors are shares of it."""
        middle = np.abs(self.middle)
        return lift_about(np.abs(self.X - self.middle) + middle, middle, self.terms[support])


def lift_about(X: FloatArray, middle: FloatArray, terms: IntArray) -> FloatArray:
    """r(x) - r(middle) on some terms, from x - middle: nothing cancels where the features are far from zero."""
    left, right = (factors[terms] for factors in term_factors(X.shape[1]))
    # LINEAR is -1 and picks the last column: ones for x, zeros for the difference
    difference = np.column_stack([X - middle, np.zeros(len(X))])
    R = difference[:, left] * np.column_stack([X, np.ones(len(X))])[:, right]
    R += middle[left] * difference[:, right]
    R *= np.where(left == right, 0.5, 1.0)
    return R
