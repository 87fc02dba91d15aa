"""Samples lifted about their middle: the rows that solvers of a loss of margins work with.

With sum_i y_i alpha_i = 0 the middle changes nothing but the intercept that goes with z, and it saves digits where features are
far from zero: solvers work with r - center and the ``level`` c + center'z in place of c.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np

from quadric.geometry.compensated import split
from quadric.geometry.energy import Energy
from quadric.geometry.lifting import lift, lift_about, middle_of, row_chunks, sizes_about
from quadric.geometry.moments import gram
from quadric.types import FloatArray, IntArray


class LiftedRows:
    """Everything is made when it is first asked for, and shared by all C and all classes.

    Parameters
    ----------
    X : array of shape (m, n)
    middle : array of shape (n,)
        Where the lifting is centred.
    terms : array
        Candidate terms.
    weight : array of shape (m,)
        Of the losses, o.
    order : "C" or "F"
        Whether the lifted rows are stored by samples or by terms.
    energy : Energy, optional
        The regulariser, where bounds may rely on these samples for their rounding errors.
    """

    def __init__(
        self,
        X: FloatArray,
        middle: FloatArray,
        terms: IntArray,
        weight: FloatArray,
        order: Literal["C", "F"] = "C",
        energy: Energy | None = None,
    ) -> None:
        self.X, self.middle, self.terms, self.weight, self.order, self.energy = X, middle, terms, weight, order, energy

    @staticmethod
    def about_medians(
        X: FloatArray, terms: IntArray, weight: FloatArray, order: Literal["C", "F"], energy: Energy
    ) -> LiftedRows:
        """Centred at the medians, which no outlying row can move, where products are exact, so that the intercept can be."""
        return LiftedRows(X, split(middle_of(X))[0], terms, weight, order, energy)

    @cached_property
    def center(self) -> FloatArray:
        """r(middle) on the candidates."""
        return lift(self.middle[None], self.terms)[0]

    @cached_property
    def A(self) -> FloatArray:
        """[r(x) - r(middle), 1] for each sample; searches by passes never ask for it."""
        A = np.empty((self.X.shape[0], len(self.terms) + 1), order=self.order)
        # block by block: what a lifting needs besides its result would be as large as the result
        for rows in row_chunks(*A.shape):
            A[rows, :-1] = lift_about(self.X[rows], self.middle, self.terms)
        A[:, -1] = 1.0
        return A

    def sizes(self, support: IntArray) -> FloatArray:
        """What r(x) - r(middle) is made of on some candidates, added up without signs: rounding errors are shares of it."""
        return sizes_about(self.X, self.middle, self.terms[support])

    @cached_property
    def mean(self) -> FloatArray:
        """Weighted mean of r(x) - r(middle)."""
        return (self.weight @ self.A[:, :-1]) / float(self.weight.sum())

    @cached_property
    def scatter(self) -> FloatArray:
        """R~'R~: the weighted sum of (r - mean)(r - mean)'."""
        p = len(self.terms)
        scatter = np.zeros((p, p))
        for rows in row_chunks(len(self.A), p):
            # centred before they are multiplied: raw sums of squares would cancel (section 2)
            centred = self.A[rows, :-1] - self.mean
            centred *= np.sqrt(self.weight[rows])[:, None]
            scatter += gram(centred)
        return scatter

    def cross(self, v: FloatArray) -> FloatArray:
        """sum_i v_i (r_i - mean)."""
        total = np.zeros(len(self.terms))
        for rows in row_chunks(len(self.A), len(total)):
            total += v[rows] @ (self.A[rows, :-1] - self.mean)
        return total
