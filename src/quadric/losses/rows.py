"""What losses share that keep all lifted samples: the rows, the problem on them and the squared loss that screens for it.

Samples are lifted about their middle. With sum_i y_i alpha_i = 0 that changes nothing but the intercept that goes with z, and
it saves digits where features are far from zero: solvers work with r - center and the ``level`` c + center'z in place of c.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
from scipy.sparse import issparse

from quadric.blas import one_blas_thread
from quadric.geometry import products
from quadric.geometry.compensated import exact_dot, split
from quadric.geometry.energy import Energy
from quadric.geometry.lifting import lift, lift_about, middle_of, row_chunks, sizes_about
from quadric.geometry.moments import TermStatistics, gram
from quadric.geometry.redundancy import redundant_of_samples
from quadric.geometry.terms import term_count
from quadric.losses.base import Limits, SparseProblem, TrainingData
from quadric.losses.least_squares.problem import Curvature, LeastSquaresProblem
from quadric.losses.streams import Candidates, Passes, StreamedProblem
from quadric.losses.survey import surveyed
from quadric.samples.labelled import LabelledSamples
from quadric.samples.source import SamplesInMemory
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
        return LiftedSamples(X, split(middle_of(X))[0], terms, energy)

    def center(self) -> FloatArray:
        """r(middle) on the candidates."""
        return lift(self.middle[None], self.terms)[0]

    def rows(self, order: Literal["C", "F"]) -> FloatArray:
        """[r(x) - r(middle), 1] for each sample."""
        A = np.empty((self.X.shape[0], len(self.terms) + 1), order=order)
        for rows in row_chunks(*A.shape):
            A[rows, :-1] = lift_about(self.X[rows], self.middle, self.terms)
        A[:, -1] = 1.0
        return A

    def sizes(self, support: IntArray) -> FloatArray:
        """What r(x) - r(middle) is made of on some candidates, added up without signs: rounding errors are shares of it."""
        return sizes_about(self.X, self.middle, self.terms[support])


class RowBlock:
    """[R - center, 1] on the candidates.

    Parameters
    ----------
    rows : array of shape (m, p + 1), or LiftedSamples
        The block itself, or what it is made of when it is first asked for: searches by passes never do.
    order : "C" or "F"
    """

    def __init__(self, rows: FloatArray | LiftedSamples, order: Literal["C", "F"] = "C") -> None:
        self._rows, self._order = rows, order

    @cached_property
    def A(self) -> FloatArray:
        return self._rows.rows(self._order) if isinstance(self._rows, LiftedSamples) else self._rows


class SampleSpread:
    """Mean and scatter of centred samples, made when first asked for: neither C nor the labels change them.

    Parameters
    ----------
    block : RowBlock
    weight : array of shape (m,)
    """

    def __init__(self, block: RowBlock, weight: FloatArray) -> None:
        self._block = block
        self._weight = weight

    @property
    def _A(self) -> FloatArray:
        return self._block.A

    @cached_property
    def mean(self) -> FloatArray:
        """Weighted mean."""
        return (self._weight @ self._A[:, :-1]) / float(self._weight.sum())

    @cached_property
    def scatter(self) -> FloatArray:
        """Weighted sum of (r - mean)(r - mean)'."""
        p = self._A.shape[1] - 1
        scatter = np.zeros((p, p))
        for rows in row_chunks(len(self._A), p):
            centred = self._A[rows, :-1] - self.mean
            centred *= np.sqrt(self._weight[rows])[:, None]
            scatter += gram(centred)
        return scatter

    def cross(self, v: FloatArray) -> FloatArray:
        """sum_i v_i (r_i - mean)."""
        total = np.zeros(self._A.shape[1] - 1)
        for rows in row_chunks(len(self._A), len(total)):
            total += v[rows] @ (self._A[rows, :-1] - self.mean)
        return total


@dataclass(frozen=True, kw_only=True)
class RowsProblem(SparseProblem):
    """A loss on lifted samples, which are kept with a last column of ones for the intercept.

    Attributes
    ----------
    G : array of shape (p, p)
        Regulariser on the candidates, the ridge included.
    block : RowBlock
        [R - center, 1] on the candidate terms.
    center : array of shape (p,)
        r at the middle of the samples.
    y : array of shape (m,)
        Labels in {-1, 1}.
    loss_weight : array of shape (m,)
        o.
    samples : LiftedSamples or None
        What A was made of: bounds ask it for their rounding errors.
    spread : SampleSpread or None
        What all C and all classes share of the squared loss; made where it is missing.
    labelled : LabelledSamples or None
        What passes go over.
    positive : int
        The class against the rest, among the codes of ``labelled``.
    """

    order: ClassVar[Literal["C", "F"]] = "C"
    """How A is stored: by samples or by terms."""
    G: FloatArray
    block: RowBlock
    center: FloatArray
    y: FloatArray
    loss_weight: FloatArray
    samples: LiftedSamples | None = None
    spread: SampleSpread | None = None
    labelled: LabelledSamples | None = None
    positive: int = 1

    @property
    def A(self) -> FloatArray:
        """The lifted samples."""
        return self.block.A

    @property
    def regulariser(self) -> Energy | None:
        return None if self.samples is None else self.samples.energy

    @property
    def energy_trace(self) -> float:
        return float(np.trace(self.G))

    @property
    @abstractmethod
    def upper(self) -> FloatArray:
        """Upper bounds of the multipliers: how steep the loss of each sample can be."""

    @abstractmethod
    def level(self, z: FloatArray) -> float:
        """The c + center'z that minimises F for given z."""

    @abstractmethod
    def loss_at(self, margins: FloatArray) -> float:
        """The loss of all samples together, for their y_i f(x_i)."""

    @abstractmethod
    def dual_constant(self, alpha: FloatArray) -> float:
        """What the multipliers give a dual bound before its quadratic part is taken off, rounded down."""

    def objective(self, z: FloatArray, c: float) -> float:
        return self.objective_at_level(z, exact_dot(self.center, z, c))

    def objective_at_level(self, z: FloatArray, level: float) -> float:
        """F for given z and c + center'z."""
        return float(0.5 * z @ (self.G @ z) + self.loss_at(self.y * (self.A @ np.append(z, level))))

    def intercept(self, z: FloatArray) -> float:
        return self.intercept_at_level(z, self.level(z))

    def intercept_at_level(self, z: FloatArray, level: float) -> float:
        """c for a given c + center'z, rounded once: margins have no more digits than it has."""
        live = np.flatnonzero(z)
        return exact_dot(self.center[live], -z[live], level)

    @property
    def by_passes(self) -> bool:
        return self.labelled is not None and not issparse(self.labelled.X) and self.loss.searches_by_passes(len(self.y))

    def streamed(self, *, searched: bool) -> StreamedProblem | None:
        make, labelled = self.loss.streamed, self.labelled
        if make is None or labelled is None:
            return None
        X: Any = labelled.X
        if issparse(X):  # of few features: lifted rows, which are dense, take more memory
            labelled = replace(labelled, X=X.toarray())
        passes = Passes(SamplesInMemory(labelled))
        survey = surveyed(passes, self.positive, searched)
        candidates = Candidates(self.terms, self.rule, labelled.energy)
        stream: StreamedProblem = make(passes, survey, self.positive, candidates, self.C, self.k)
        return stream

    def screen(self) -> LeastSquaresProblem:
        """The same problem with the squared loss: its supports are good places to start from."""
        o, y, total = self.loss_weight, self.y, float(self.loss_weight.sum())
        spread = self.spread or SampleSpread(self.block, o)
        mean_y = float(o @ y) / total
        return LeastSquaresProblem(
            C=self.C,
            k=self.k,
            n_features=self.n_features,
            terms=self.terms,
            G=self.G,
            scatter_trace=self.scatter_trace,
            rule=self.rule,
            curvature=Curvature(self.G + (2.0 * self.C) * spread.scatter),
            cross=spread.cross(o * (y - mean_y)),
            mean=self.center + spread.mean,
            mean_y=mean_y,
            scatter_y=float(o @ (y - mean_y) ** 2),
            total_weight=total,
        )


AnyRowsProblem = TypeVar("AnyRowsProblem", bound=RowsProblem)


class RowsData(TrainingData, Generic[AnyRowsProblem]):
    """The lifted samples, once, in one block that all classes share; subclasses name their ``problem``.

    Parameters
    ----------
    samples : LabelledSamples
    limits : Limits
    """

    problem: type[AnyRowsProblem]

    def __init__(self, samples: LabelledSamples, limits: Limits) -> None:
        X = samples.X
        self._labelled = samples
        self._codes = samples.codes
        self._loss_weight = samples.loss_weight
        self._feature_count = X.shape[1]
        statistics = TermStatistics.of(X, self._loss_weight)
        self._terms = limits.candidates(
            statistics.constant_terms(), lambda: redundant_of_samples(samples.X, samples.sample_weight)
        )
        self._rule = limits.rule(self._terms)
        self._scatter_trace = float(statistics.scatter[self._terms].sum())
        self._samples = LiftedSamples.of(X, self._terms, samples.energy)
        self._block = RowBlock(self._samples, self.problem.order)
        self._spread = SampleSpread(self._block, self._loss_weight)

    @classmethod
    def from_samples(cls, samples: LabelledSamples, limits: Limits) -> TrainingData:
        with one_blas_thread():
            none = np.zeros(term_count(samples.X.shape[1]), dtype=bool)
            if len(limits.candidates(none, lambda: none)) > products.MANY_TERMS:
                from quadric.losses.wide_rows import WideRowsData  # which needs this module

                return WideRowsData(cls.problem, samples, limits)
            return cls(samples, limits)

    @cached_property
    def _G(self) -> FloatArray:
        return self._samples.energy.block(self._terms, self._terms)

    def one_against_rest(self, positive: int, C: float, k: int) -> AnyRowsProblem:
        return self.problem(
            C=C,
            k=min(k, len(self._terms)),
            n_features=self._feature_count,
            terms=self._terms,
            G=self._G,
            scatter_trace=self._scatter_trace,
            rule=self._rule,
            block=self._block,
            center=self._samples.center(),
            y=np.where(self._codes == positive, 1.0, -1.0),
            loss_weight=self._loss_weight,
            spread=self._spread,
            samples=self._samples,
            labelled=self._labelled,
            positive=positive,
        )
