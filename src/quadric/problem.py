"""The optimisation problem of one surface: minimise F(z, c) over ||z||_0 <= k (docs/mathematics.md, section 1).

F(z, c) = 1/2 z'Gz + C sum_i o_i H(1 - y_i (r_i'z + c)), with H(t) = max(t, 0) or t^2. Two layers: *training data* hold what
depends neither on C nor on k nor on which class is the positive one, and hand out *problems* that share those arrays.
Vectors z here run over the candidate terms only: those that vary on the data. ``embed`` puts them back in their places.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from quadric.blas import one_blas_thread
from quadric.geometry.energy import Energy
from quadric.geometry.lifting import lift, row_chunks
from quadric.geometry.moments import Moments, TermStatistics
from quadric.geometry.terms import term_count
from quadric.intercept import hinge_intercept
from quadric.types import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class SparseProblem(ABC):
    """What both losses have in common.

    Attributes
    ----------
    C, k : float, int
        Weight of the loss and largest number of terms, k at most the number of candidates.
    n_features : int
    terms : array
        Candidate terms, as positions in the full z.
    G : array of shape (p, p)
        Regulariser on the candidates, the ridge included.
    scatter_trace : float
        Trace of the loss-weighted scatter of the lifted samples.
    """

    loss: ClassVar[str]
    C: float
    k: int
    n_features: int
    terms: IntArray
    G: FloatArray
    scatter_trace: float

    @property
    def n_terms(self) -> int:
        """Number of candidate terms, p."""
        return len(self.terms)

    @property
    def mean_curvature(self) -> float:
        """trace(G + 2C R~'R~)/p: the scale on which penalties are chosen, for both losses."""
        return float(np.trace(self.G) + 2.0 * self.C * self.scatter_trace) / max(self.n_terms, 1)

    @abstractmethod
    def objective(self, z: FloatArray, c: float) -> float:
        """F(z, c)."""

    @abstractmethod
    def intercept(self, z: FloatArray) -> float:
        """The c that minimises F(z, .)."""

    def at_zero(self) -> float:
        """F at z = 0 with its best intercept."""
        z = np.zeros(self.n_terms)
        return self.objective(z, self.intercept(z))

    def embed(self, z: FloatArray) -> FloatArray:
        """z over the candidates as a vector over all terms."""
        full = np.zeros(term_count(self.n_features))
        full[self.terms] = z
        return full

    def with_k(self, k: int) -> SparseProblem:
        """The same problem with another budget; shares every array."""
        return replace(self, k=min(k, self.n_terms))


@dataclass(frozen=True, kw_only=True)
class LeastSquaresProblem(SparseProblem):
    """Squared loss with c eliminated: F(z) = 1/2 z'Mz - q'z + constant (docs/mathematics.md, section 2).

    Attributes
    ----------
    scatter : array of shape (p, p)
        R~'R~, the loss-weighted scatter of the lifted samples.
    cross : array of shape (p,)
        R~'y~.
    mean : array of shape (p,)
        Loss-weighted mean of r.
    mean_y, scatter_y : float
        Loss-weighted mean and scatter of the labels.
    total_weight : float
        Sum of the loss weights.
    """

    loss: ClassVar[str] = "least_squares"
    scatter: FloatArray
    cross: FloatArray
    mean: FloatArray
    mean_y: float
    scatter_y: float
    total_weight: float

    @cached_property
    def M(self) -> FloatArray:
        return self.G + (2.0 * self.C) * self.scatter

    @cached_property
    def q(self) -> FloatArray:
        return (2.0 * self.C) * self.cross

    @property
    def constant(self) -> float:
        return self.C * self.scatter_y

    def objective(self, z: FloatArray, c: float) -> float:
        off_optimum = c - self.intercept(z)
        at_best_c = 0.5 * z @ (self.M @ z) - self.q @ z + self.constant
        return float(at_best_c + self.C * self.total_weight * off_optimum**2)

    def intercept(self, z: FloatArray) -> float:
        return float(self.mean_y - self.mean @ z)


@dataclass(frozen=True, kw_only=True)
class HingeProblem(SparseProblem):
    """Hinge loss; the lifted samples are kept, with a last column of ones for the intercept.

    Attributes
    ----------
    A : array of shape (m, p + 1)
        [R 1] on the candidate terms.
    y : array of shape (m,)
        Labels in {-1, 1}.
    loss_weight : array of shape (m,)
        o.
    """

    loss: ClassVar[str] = "hinge"
    A: FloatArray
    y: FloatArray
    loss_weight: FloatArray

    def objective(self, z: FloatArray, c: float) -> float:
        shortfall = np.maximum(0.0, 1.0 - self.y * (self.A @ np.append(z, c)))
        return float(0.5 * z @ (self.G @ z) + self.C * (self.loss_weight @ shortfall))

    def intercept(self, z: FloatArray) -> float:
        return hinge_intercept(self.A[:, :-1] @ z, self.y, self.loss_weight)


class TrainingData(ABC):
    """Samples of two or more classes, digested once; every class against the rest is a problem on the same arrays."""

    @classmethod
    @abstractmethod
    def from_samples(cls, X: FloatArray, codes: IntArray, sample_weight: FloatArray, class_weight: FloatArray) -> TrainingData:
        """Digest samples.

        Parameters
        ----------
        X : array of shape (m, n)
        codes : array of shape (m,)
            Class of each sample, 0 to n_classes - 1.
        sample_weight : array of shape (m,)
            Repetitions, all positive.
        class_weight : array of shape (n_classes,)
            Factor on the loss of each class.
        """

    @abstractmethod
    def one_against_rest(self, positive: int, C: float, k: int) -> SparseProblem:
        """The problem whose positive class is ``positive``."""

    @property
    @abstractmethod
    def energy(self) -> Energy:
        """The regulariser, which all classes share."""


class LeastSquaresData(TrainingData):
    """The moments of each class: all that the squared loss needs of any number of samples.

    Parameters
    ----------
    moments : sequence of Moments, one a class
    class_weight : array of shape (n_classes,)
    """

    def __init__(self, moments: Sequence[Moments], class_weight: FloatArray) -> None:
        self._weighted = [part.scaled(float(factor)) for part, factor in zip(moments, class_weight, strict=True)]
        self._all = _merged(moments)
        self._all_weighted = _merged(self._weighted)
        self._terms = np.flatnonzero(~self._all.constant_terms())

    @classmethod
    def from_samples(
        cls, X: FloatArray, codes: IntArray, sample_weight: FloatArray, class_weight: FloatArray
    ) -> LeastSquaresData:
        with one_blas_thread():
            moments = [Moments.of(X, np.where(codes == code, sample_weight, 0.0)) for code in range(len(class_weight))]
        return cls(moments, class_weight)

    @cached_property
    def energy(self) -> Energy:
        return self._all.energy()

    @cached_property
    def _shared(self) -> dict[str, Any]:
        """Arrays on the candidate terms, common to all classes."""
        pick = np.ix_(self._terms, self._terms)
        scatter = self._all_weighted.scatter[pick]
        return {
            "n_features": len(self.energy.s),
            "terms": self._terms,
            "G": self.energy.gram()[pick],
            "scatter": scatter,
            "scatter_trace": float(np.trace(scatter)),
            "mean": self._all_weighted.mean[self._terms],
            "total_weight": self._all_weighted.weight,
        }

    def one_against_rest(self, positive: int, C: float, k: int) -> LeastSquaresProblem:
        inside = self._weighted[positive]
        total = self._all_weighted
        share = inside.weight / total.weight
        return LeastSquaresProblem(
            C=C,
            k=min(k, len(self._terms)),
            # y is 1 inside and -1 outside: mean 2 share - 1, and R~'y~ = 2 sum over the inside of (r - mean)
            cross=2.0 * inside.weight * (inside.mean - total.mean)[self._terms],
            mean_y=2.0 * share - 1.0,
            scatter_y=4.0 * total.weight * share * (1.0 - share),
            **self._shared,
        )


class HingeData(TrainingData):
    """The lifted samples, once, in one block that all classes share."""

    def __init__(self, X: FloatArray, codes: IntArray, sample_weight: FloatArray, class_weight: FloatArray) -> None:
        self._codes = codes
        self._loss_weight = sample_weight * class_weight[codes]
        self._energy = Energy.of_samples(X, sample_weight)
        self._n_features = X.shape[1]
        statistics = TermStatistics.of(X, self._loss_weight)
        self._terms = np.flatnonzero(~statistics.constant_terms())
        self._scatter_trace = float(statistics.scatter[self._terms].sum())
        self._A = np.empty((len(X), len(self._terms) + 1))
        for rows in row_chunks(len(X), self._A.shape[1]):
            self._A[rows, :-1] = lift(X[rows], self._terms)
        self._A[:, -1] = 1.0

    @classmethod
    def from_samples(cls, X: FloatArray, codes: IntArray, sample_weight: FloatArray, class_weight: FloatArray) -> HingeData:
        with one_blas_thread():
            return cls(X, codes, sample_weight, class_weight)

    @property
    def energy(self) -> Energy:
        return self._energy

    @cached_property
    def _G(self) -> FloatArray:
        return self._energy.gram()[np.ix_(self._terms, self._terms)]

    def one_against_rest(self, positive: int, C: float, k: int) -> HingeProblem:
        return HingeProblem(
            C=C,
            k=min(k, len(self._terms)),
            n_features=self._n_features,
            terms=self._terms,
            G=self._G,
            scatter_trace=self._scatter_trace,
            A=self._A,
            y=np.where(self._codes == positive, 1.0, -1.0),
            loss_weight=self._loss_weight,
        )


TRAINING_DATA: dict[str, type[TrainingData]] = {"hinge": HingeData, "least_squares": LeastSquaresData}


def _merged(parts: Sequence[Moments]) -> Moments:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
