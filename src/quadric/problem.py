"""The optimisation problem of one surface: minimise F(z, c) over ||z||_0 <= k (docs/mathematics.md, section 1).

F(z, c) = 1/2 z'Gz + C sum_i o_i H(1 - y_i (r_i'z + c)), with H(t) = max(t, 0) or t^2. Two layers: *training data* hold what
depends neither on C nor on k nor on which class is the positive one, and hand out *problems* that share those arrays.
Vectors z here run over the candidate terms only: those that vary on the data. ``embed`` puts them back in their places.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.linalg import eigh

from quadric.blas import one_blas_thread
from quadric.geometry.energy import Energy
from quadric.geometry.lifting import lift, row_chunks
from quadric.geometry.moments import Moments, TermStatistics, gram, moments_by_class
from quadric.geometry.terms import term_count
from quadric.intercept import hinge_intercept
from quadric.types import BoolArray, FloatArray, IntArray


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
    required : array
        Positions among the candidates that every support must hold.
    """

    loss: ClassVar[str]
    C: float
    k: int
    n_features: int
    terms: IntArray
    G: FloatArray
    scatter_trace: float
    required: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))

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
    """

    loss: ClassVar[str] = "least_squares"
    curvature: Curvature
    cross: FloatArray
    mean: FloatArray
    mean_y: float
    scatter_y: float
    total_weight: float

    @property
    def M(self) -> FloatArray:
        return self.curvature.M

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
    """Hinge loss; the lifted samples are kept, centred, with a last column of ones for the intercept.

    Centring changes nothing but the intercept that goes with z, and saves digits where features are far from zero: solvers work
    with r - center and the ``level`` c + center'z in place of c.

    Attributes
    ----------
    A : array of shape (m, p + 1)
        [R - center, 1] on the candidate terms.
    center : array of shape (p,)
        Loss-weighted mean of r.
    y : array of shape (m,)
        Labels in {-1, 1}.
    loss_weight : array of shape (m,)
        o.
    """

    loss: ClassVar[str] = "hinge"
    A: FloatArray
    center: FloatArray
    y: FloatArray
    loss_weight: FloatArray

    def objective(self, z: FloatArray, c: float) -> float:
        return self.objective_at_level(z, c + float(self.center @ z))

    def objective_at_level(self, z: FloatArray, level: float) -> float:
        """F for given z and c + center'z."""
        shortfall = np.maximum(0.0, 1.0 - self.y * (self.A @ np.append(z, level)))
        return float(0.5 * z @ (self.G @ z) + self.C * (self.loss_weight @ shortfall))

    def intercept(self, z: FloatArray) -> float:
        return self.level(z) - float(self.center @ z)

    def level(self, z: FloatArray) -> float:
        """The c + center'z that minimises F for given z."""
        return hinge_intercept(self.A[:, :-1] @ z, self.y, self.loss_weight)

    def least_squares(self) -> LeastSquaresProblem:
        """The same problem with the squared loss: its supports are good places to start from."""
        o, total = self.loss_weight, float(self.loss_weight.sum())
        mean, mean_y = (o @ self.A[:, :-1]) / total, float(o @ self.y) / total
        scatter, cross = np.zeros((self.n_terms, self.n_terms)), np.zeros(self.n_terms)
        for rows in row_chunks(len(self.A), self.n_terms):
            centred = self.A[rows, :-1] - mean
            cross += (o[rows] * (self.y[rows] - mean_y)) @ centred
            centred *= np.sqrt(o[rows])[:, None]
            scatter += gram(centred)
        return LeastSquaresProblem(
            C=self.C,
            k=self.k,
            n_features=self.n_features,
            terms=self.terms,
            G=self.G,
            scatter_trace=self.scatter_trace,
            required=self.required,
            curvature=Curvature(self.G + (2.0 * self.C) * scatter),
            cross=cross,
            mean=self.center + mean,
            mean_y=mean_y,
            scatter_y=float(o @ (self.y - mean_y) ** 2),
            total_weight=total,
        )


@dataclass(frozen=True)
class SupportLimits:
    """Terms that must be in the support and terms that must not, as positions in the full z."""

    include: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    exclude: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    def candidates(self, constant: BoolArray) -> IntArray:
        """Terms that vary and are not excluded."""
        if constant.all():
            raise ValueError("X has no feature that varies: there is nothing to tell the classes apart by")
        allowed = ~constant
        allowed[self.exclude] = False
        if not allowed.any():
            raise ValueError("exclude leaves no term that varies on the data")
        return np.flatnonzero(allowed)

    def required(self, candidates: IntArray) -> IntArray:
        """Positions of the included terms among the candidates."""
        missing = np.setdiff1d(self.include, candidates)
        if len(missing):
            raise ValueError(f"include names terms that do not vary on the data: coef_ indices {missing.tolist()}")
        return np.searchsorted(candidates, np.unique(self.include))


NO_LIMITS = SupportLimits()


@dataclass(frozen=True)
class LabelledSamples:
    """Samples of two or more classes with everything that weighs them.

    Attributes
    ----------
    X : array of shape (m, n)
    codes : array of shape (m,)
        Class of each sample, 0 to n_classes - 1.
    sample_weight : array of shape (m,)
        Repetitions, all positive.
    class_weight : array of shape (n_classes,)
        Factor on the loss of each class.
    """

    X: FloatArray
    codes: IntArray
    sample_weight: FloatArray
    class_weight: FloatArray

    @property
    def loss_weight(self) -> FloatArray:
        """o, the product of both weights."""
        return self.sample_weight * self.class_weight[self.codes]


class TrainingData(ABC):
    """Samples of two or more classes, digested once; every class against the rest is a problem on the same arrays."""

    @classmethod
    @abstractmethod
    def from_samples(cls, samples: LabelledSamples, limits: SupportLimits = NO_LIMITS) -> TrainingData:
        """Digest samples."""

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
    limits : SupportLimits
    """

    def __init__(self, moments: Sequence[Moments], class_weight: FloatArray, limits: SupportLimits = NO_LIMITS) -> None:
        everything = _merged(moments)
        weighted = _merged([part.scaled(float(factor)) for part, factor in zip(moments, class_weight, strict=True)])
        self._energy = everything.energy()
        self._terms = limits.candidates(everything.constant_terms())
        self._required = limits.required(self._terms)
        self._total_weight = weighted.weight
        self._mean = weighted.mean[self._terms]
        self._scatter = weighted.scatter[np.ix_(self._terms, self._terms)]
        self._class_weights = [part.weight * float(factor) for part, factor in zip(moments, class_weight, strict=True)]
        self._class_means = [part.mean[self._terms] for part in moments]
        self._curvatures: dict[float, Curvature] = {}

    @classmethod
    def from_samples(cls, samples: LabelledSamples, limits: SupportLimits = NO_LIMITS) -> LeastSquaresData:
        with one_blas_thread():
            moments = moments_by_class(samples.X, samples.codes, samples.sample_weight, len(samples.class_weight))
            return cls(moments, samples.class_weight, limits)

    @property
    def energy(self) -> Energy:
        return self._energy

    @cached_property
    def _G(self) -> FloatArray:
        return self._energy.gram()[np.ix_(self._terms, self._terms)]

    def _curvature(self, C: float) -> Curvature:
        if C not in self._curvatures:
            self._curvatures = {C: Curvature(self._G + (2.0 * C) * self._scatter)}  # one at a time: p x p each
        return self._curvatures[C]

    def one_against_rest(self, positive: int, C: float, k: int) -> LeastSquaresProblem:
        inside = self._class_weights[positive]
        share = inside / self._total_weight
        return LeastSquaresProblem(
            C=C,
            k=min(k, len(self._terms)),
            n_features=len(self._energy.s),
            terms=self._terms,
            G=self._G,
            scatter_trace=float(np.trace(self._scatter)),
            required=self._required,
            curvature=self._curvature(C),
            # y is 1 inside and -1 outside: mean 2 share - 1, and R~'y~ = 2 sum over the inside of (r - mean)
            cross=2.0 * inside * (self._class_means[positive] - self._mean),
            mean=self._mean,
            mean_y=2.0 * share - 1.0,
            scatter_y=4.0 * self._total_weight * share * (1.0 - share),
            total_weight=self._total_weight,
        )


class HingeData(TrainingData):
    """The lifted samples, once, in one block that all classes share.

    Parameters
    ----------
    samples : LabelledSamples
    limits : SupportLimits
    """

    def __init__(self, samples: LabelledSamples, limits: SupportLimits = NO_LIMITS) -> None:
        X = samples.X
        self._codes = samples.codes
        self._loss_weight = samples.loss_weight
        self._energy = Energy.of_samples(X, samples.sample_weight)
        self._n_features = X.shape[1]
        statistics = TermStatistics.of(X, self._loss_weight)
        self._terms = limits.candidates(statistics.constant_terms())
        self._required = limits.required(self._terms)
        self._scatter_trace = float(statistics.scatter[self._terms].sum())
        self._center = statistics.mean[self._terms]
        self._A = np.empty((len(X), len(self._terms) + 1))
        for rows in row_chunks(len(X), self._A.shape[1]):
            self._A[rows, :-1] = lift(X[rows], self._terms) - self._center
        self._A[:, -1] = 1.0

    @classmethod
    def from_samples(cls, samples: LabelledSamples, limits: SupportLimits = NO_LIMITS) -> HingeData:
        with one_blas_thread():
            return cls(samples, limits)

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
            required=self._required,
            A=self._A,
            center=self._center,
            y=np.where(self._codes == positive, 1.0, -1.0),
            loss_weight=self._loss_weight,
        )


TRAINING_DATA: dict[str, type[TrainingData]] = {"hinge": HingeData, "least_squares": LeastSquaresData}


def _merged(parts: Sequence[Moments]) -> Moments:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
