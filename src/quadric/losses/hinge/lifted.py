"""The samples of a hinge problem, lifted about their middle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quadric.geometry.compensated import split
from quadric.geometry.energy import Energy
from quadric.geometry.lifting import lift, lift_about, row_chunks, sizes_about
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
        return LiftedSamples(X, split(np.median(X, axis=0))[0], terms, energy)

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
        return sizes_about(self.X, self.middle, self.terms[support])
