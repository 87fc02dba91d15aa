"""What losses of margins share: the problem on lifted samples, and the squared loss that screens for it."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.sparse import issparse

from quadric.geometry.compensated import exact_dot
from quadric.geometry.energy import Energy
from quadric.losses.base import SparseProblem
from quadric.losses.least_squares.curvature import Curvature
from quadric.losses.least_squares.problem import LeastSquaresProblem
from quadric.losses.lifted_rows import LiftedRows
from quadric.losses.pass_problem import Passes, StreamedProblem
from quadric.losses.supports import Candidates
from quadric.losses.survey import surveyed
from quadric.samples.labelled import LabelledSamples
from quadric.samples.source import SamplesInMemory
from quadric.types import FloatArray


@dataclass(frozen=True, kw_only=True)
class RowsProblem(SparseProblem):
    """A loss on lifted samples, which are kept with a last column of ones for the intercept.

    Attributes
    ----------
    G : array of shape (p, p)
        Regulariser on the candidates, the ridge included.
    rows : LiftedRows
        The samples on the candidate terms, with their weights.
    y : array of shape (m,)
        Labels in {-1, 1}.
    labelled : LabelledSamples or None
        What passes go over.
    """

    order: ClassVar[Literal["C", "F"]] = "C"  # how A is stored: by samples or by terms
    G: FloatArray
    rows: LiftedRows
    y: FloatArray
    labelled: LabelledSamples | None = None

    @property
    def A(self) -> FloatArray:
        """[R - center, 1] on the candidates."""
        return self.rows.A

    @property
    def center(self) -> FloatArray:
        """r at the middle of the samples."""
        return self.rows.center

    @property
    def loss_weight(self) -> FloatArray:
        """o."""
        return self.rows.weight

    @property
    def regulariser(self) -> Energy | None:
        return self.rows.energy

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
    def curvature(self, z: FloatArray, alpha: FloatArray) -> FloatArray:
        """theta_i: how curved the loss of each sample counts as around a fit."""

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
        # center'z may be much larger than the level: the difference must not lose what margins of one need
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
        # the energy is that of the samples: passes know it only from sums, which have lost digits where G is nearly singular
        passes = Passes(SamplesInMemory(labelled))
        survey = surveyed(passes, self.surface, searched)
        candidates = Candidates(self.terms, self.rule)
        return make(passes, survey, candidates, self.C, self.k, labelled.energy)

    def screen(self) -> LeastSquaresProblem:
        """The same problem with the squared loss: its supports are good places to start from."""
        o, y, total, rows = self.loss_weight, self.y, float(self.loss_weight.sum()), self.rows
        mean_y = float(o @ y) / total  # (2.1) and (2.3), with the rows where they are lifted already
        return LeastSquaresProblem(
            C=self.C,
            k=self.k,
            n_features=self.n_features,
            terms=self.terms,
            scatter_trace=self.scatter_trace,
            rule=self.rule,
            curvature=Curvature(self.G + (2.0 * self.C) * rows.scatter, self.G),
            cross=rows.cross(o * (y - mean_y)),
            mean=self.center + rows.mean,
            mean_y=mean_y,
            scatter_y=float(o @ (y - mean_y) ** 2),
            total_weight=total,
            surface=self.surface,
        )
