"""The squared loss as a quadratic in z alone (docs/mathematics.md, section 2)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.linalg import eigh

from quadric.geometry.energy_norm import rounding_of_sum
from quadric.geometry.stacked import StackedRows
from quadric.losses.base import LabelledSamples, SparseProblem
from quadric.losses.least_squares.promising import promising_terms
from quadric.types import FloatArray, IntArray


class Curvature:
    """M = G + 2C R~'R~ with its eigendecomposition, made when first asked for; all classes and all k share one.

    Parameters
    ----------
    M : array of shape (p, p)
    """

    def __init__(self, M: FloatArray) -> None:
        self.M = M

    @cached_property
    def spectrum(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues and eigenvectors."""
        e, V = eigh(self.M, driver="evd", check_finite=False)
        # M is positive semidefinite; what rounding leaves below zero would turn a penalty into a reward
        return np.maximum(e, 0.0), np.ascontiguousarray(V)


@dataclass(frozen=True)
class SampleRows:
    """The samples of one class against the rest, for where their sums have lost digits.

    Attributes
    ----------
    samples : LabelledSamples
    positive : int
    """

    samples: LabelledSamples
    positive: int

    def __len__(self) -> int:
        return len(self.samples.codes)

    def stacked(self, C: float, terms: IntArray) -> StackedRows:
        """F on some terms as a sum of squares."""
        samples = self.samples
        return StackedRows(samples.X, samples.energy, C * samples.loss_weight, samples.signs(self.positive), terms)


@dataclass(frozen=True, kw_only=True)
class LeastSquaresProblem(SparseProblem):
    """Squared loss with c eliminated: F(z) = 1/2 z'Mz - q'z + constant (docs/mathematics.md, section 2).

    Attributes
    ----------
    curvature : Curvature
        M.
    cross : array of shape (p,)
        R~'y~.
    mean : array of shape (p,)
        Loss-weighted mean of r.
    mean_y, scatter_y : float
        Loss-weighted mean and scatter of the labels.
    total_weight : float
        Sum of the loss weights.
    rows : SampleRows or None
        The samples themselves, if they are at hand.
    n_samples : int or None
        How many there are, where that is known without them.
    """

    loss_name: ClassVar[str] = "least_squares"
    curvature: Curvature
    cross: FloatArray
    mean: FloatArray
    mean_y: float
    scatter_y: float
    total_weight: float
    rows: SampleRows | None = None
    n_samples: int | None = None

    @property
    def M(self) -> FloatArray:
        return self.curvature.M

    @cached_property
    def q(self) -> FloatArray:
        return (2.0 * self.C) * self.cross  # (2.3)

    @property
    def constant(self) -> float:
        return self.C * self.scatter_y

    @cached_property
    def swelling(self) -> FloatArray:
        """tau_j^2: how much larger the sums behind M_jj were than what centring has left of them (7.6)."""
        return 1.0 + (2.0 * self.C * self.total_weight) * self.mean**2 / np.diag(self.M)

    @property
    def unit_roundoff(self) -> float:
        """gamma: relative rounding error of the sums over samples behind M and q (7.6)."""
        count = len(self.rows) if self.rows is not None else self.n_samples or self.total_weight
        return rounding_of_sum(count)

    def slopes(self, z: FloatArray, c: float) -> FloatArray:
        # C sum_i o_i |r_ij| of (5.4) is at most C sqrt(sum_i o_i sum_i o_i r_ij^2), which the sums know
        squares = (np.diag(self.M) - np.diag(self.G)) / (2.0 * self.C) + self.total_weight * self.mean**2
        weight, off_optimum = self.C * self.total_weight, c - self.intercept(z)
        gradient = self.M @ z - self.q + (2.0 * weight * off_optimum) * self.mean
        return np.append(gradient / (self.C * np.sqrt(self.total_weight * squares)), 2.0 * off_optimum)

    def promising(self, n_terms: int, support: IntArray | None = None) -> LeastSquaresProblem:
        if n_terms >= self.n_terms:
            return self
        chosen = promising_terms(self.M, self.q, self.k, self.rule.required, n_terms)
        chosen = chosen if support is None else np.union1d(chosen, support)
        rule, square = self.rule.among(chosen), np.ix_(chosen, chosen)
        if rule is None:
            return self
        return replace(
            self,
            terms=self.terms[chosen],
            G=self.G[square],
            rule=rule,
            curvature=Curvature(self.M[square]),
            cross=self.cross[chosen],
            mean=self.mean[chosen],
        )

    def objective(self, z: FloatArray, c: float) -> float:
        off_optimum = c - self.intercept(z)  # (2.2) is F at the best c; elsewhere F grows as a parabola in c
        at_best_c = 0.5 * z @ (self.M @ z) - self.q @ z + self.constant
        return float(at_best_c + self.C * self.total_weight * off_optimum**2)

    def intercept(self, z: FloatArray) -> float:
        return float(self.mean_y - self.mean @ z)  # (2.1)
