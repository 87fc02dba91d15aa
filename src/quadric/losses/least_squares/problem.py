"""The squared loss as a quadratic in z alone (docs/mathematics.md, section 2)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.linalg import eigh

from quadric.geometry.energy import Energy, rounding_of_sum
from quadric.geometry.stacked import StackedRows
from quadric.losses.base import SparseProblem
from quadric.losses.least_squares.promising import promising_terms
from quadric.losses.perspective import Split
from quadric.samples.labelled import LabelledSamples
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

    @cached_property
    def split(self) -> Split:
        """M = M0 + D of the perspective bound."""
        return Split.of_matrix(self.M)


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
class QuadraticProblem(SparseProblem):
    """Squared loss with c eliminated: F(z) = 1/2 z'Mz - q'z + constant (docs/mathematics.md, section 2).

    Attributes
    ----------
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
    cross: FloatArray
    mean: FloatArray
    mean_y: float
    scatter_y: float
    total_weight: float
    rows: SampleRows | None = None
    n_samples: int | None = None

    @property
    @abstractmethod
    def diagonal(self) -> FloatArray:
        """Of M = G + 2C R~'R~."""

    @abstractmethod
    def row(self, term: int) -> FloatArray:
        """Of M."""

    @abstractmethod
    def block(self, support: IntArray) -> FloatArray:
        """M_SS."""

    @abstractmethod
    def curved(self, z: FloatArray) -> float:
        """z'Mz."""

    @abstractmethod
    def among(self, candidates: IntArray) -> LeastSquaresProblem | None:
        """The same problem with some candidates only, all required ones among them; None: its rule needs all."""

    @cached_property
    def q(self) -> FloatArray:
        return (2.0 * self.C) * self.cross  # (2.3)

    @property
    def constant(self) -> float:
        return self.C * self.scatter_y

    @cached_property
    def swelling(self) -> FloatArray:
        """tau_j^2: how much larger the sums behind M_jj were than what centring has left of them (7.6)."""
        return 1.0 + (2.0 * self.C * self.total_weight) * self.mean**2 / self.diagonal

    @property
    def unit_roundoff(self) -> float:
        """gamma: relative rounding error of the sums over samples behind M and q (7.6)."""
        count = len(self.rows) if self.rows is not None else self.n_samples or self.total_weight
        return rounding_of_sum(count)

    def promising(self, n_terms: int, support: IntArray | None = None) -> SparseProblem:
        if n_terms >= self.n_terms:
            return self.among(np.arange(self.n_terms)) or self
        chosen = promising_terms(self.row, self.diagonal, self.q, self.k, self.rule.required, n_terms)
        return self.among(chosen if support is None else np.union1d(chosen, support)) or self

    def objective(self, z: FloatArray, c: float) -> float:
        off_optimum = c - self.intercept(z)  # (2.2) is F at the best c; elsewhere F grows as a parabola in c
        at_best_c = 0.5 * self.curved(z) - self.q @ z + self.constant
        return float(at_best_c + self.C * self.total_weight * off_optimum**2)

    def intercept(self, z: FloatArray) -> float:
        return float(self.mean_y - self.mean @ z)  # (2.1)


@dataclass(frozen=True, kw_only=True)
class LeastSquaresProblem(QuadraticProblem):
    """The same with a matrix of all pairs of candidates.

    Attributes
    ----------
    G : array of shape (p, p)
        Regulariser on the candidates, the ridge included.
    curvature : Curvature
        M.
    sums : Energy or None
        The regulariser of sums whose rows are not there.
    """

    G: FloatArray
    curvature: Curvature
    sums: Energy | None = None

    @property
    def regulariser(self) -> Energy | None:
        return self.sums if self.rows is None else self.rows.samples.energy

    @property
    def M(self) -> FloatArray:
        return self.curvature.M

    @property
    def energy_trace(self) -> float:
        return float(np.trace(self.G))

    @property
    def diagonal(self) -> FloatArray:
        return np.diag(self.M)

    def slopes(self, z: FloatArray, c: float) -> FloatArray:
        # C sum_i o_i |r_ij| of (5.4) is at most C sqrt(sum_i o_i sum_i o_i r_ij^2), which the sums know
        squares = (np.diag(self.M) - np.diag(self.G)) / (2.0 * self.C) + self.total_weight * self.mean**2
        weight, off_optimum = self.C * self.total_weight, c - self.intercept(z)
        gradient = self.M @ z - self.q + (2.0 * weight * off_optimum) * self.mean
        return np.append(gradient / (self.C * np.sqrt(self.total_weight * squares)), 2.0 * off_optimum)

    def row(self, term: int) -> FloatArray:
        return self.M[term]

    def block(self, support: IntArray) -> FloatArray:
        return self.M[np.ix_(support, support)]

    def curved(self, z: FloatArray) -> float:
        return float(z @ (self.M @ z))

    def among(self, candidates: IntArray) -> LeastSquaresProblem | None:
        if len(candidates) == self.n_terms:
            return self
        rule, square = self.rule.among(candidates), np.ix_(candidates, candidates)
        if rule is None:
            return None
        return replace(
            self,
            terms=self.terms[candidates],
            G=self.G[square],
            rule=rule,
            curvature=Curvature(self.M[square]),
            cross=self.cross[candidates],
            mean=self.mean[candidates],
        )
