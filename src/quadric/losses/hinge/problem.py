"""The hinge loss on lifted samples (docs/mathematics.md, section 3), and the squared loss on the same samples for screening."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from quadric.geometry.compensated import exact_dot
from quadric.geometry.lifting import row_chunks
from quadric.geometry.moments import gram
from quadric.losses.base import SparseProblem
from quadric.losses.hinge.intercept import hinge_intercept
from quadric.losses.hinge.lifted import LiftedSamples
from quadric.losses.least_squares.problem import Curvature, LeastSquaresProblem
from quadric.types import FloatArray


class SampleSpread:
    """Mean and scatter of centred samples, made when first asked for: neither C nor the labels change them.

    Parameters
    ----------
    A : array of shape (m, p + 1)
        As in HingeProblem.
    weight : array of shape (m,)
    """

    def __init__(self, A: FloatArray, weight: FloatArray) -> None:
        self._A = A
        self._weight = weight

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
class HingeProblem(SparseProblem):
    """Hinge loss; the lifted samples are kept, centred, with a last column of ones for the intercept.

    Centring changes nothing but the intercept that goes with z, and saves digits where features are far from zero: solvers work
    with r - center and the ``level`` c + center'z in place of c.

    Attributes
    ----------
    A : array of shape (m, p + 1)
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
    """

    loss_name: ClassVar[str] = "hinge"
    A: FloatArray
    center: FloatArray
    y: FloatArray
    loss_weight: FloatArray
    samples: LiftedSamples | None = None
    spread: SampleSpread | None = None

    def objective(self, z: FloatArray, c: float) -> float:
        return self.objective_at_level(z, exact_dot(self.center, z, c))

    def objective_at_level(self, z: FloatArray, level: float) -> float:
        """F for given z and c + center'z."""
        shortfall = np.maximum(0.0, 1.0 - self.y * (self.A @ np.append(z, level)))
        return float(0.5 * z @ (self.G @ z) + self.C * (self.loss_weight @ shortfall))

    def intercept(self, z: FloatArray) -> float:
        return self.intercept_at_level(z, self.level(z))

    def intercept_at_level(self, z: FloatArray, level: float) -> float:
        """c for a given c + center'z, rounded once: margins have no more digits than it has."""
        return exact_dot(self.center, -z, level)

    def level(self, z: FloatArray) -> float:
        """The c + center'z that minimises F for given z."""
        return hinge_intercept(self.A[:, :-1] @ z, self.y, self.loss_weight)

    def screen(self) -> LeastSquaresProblem:
        """The same problem with the squared loss: its supports are good places to start from."""
        o, y, total = self.loss_weight, self.y, float(self.loss_weight.sum())
        spread = self.spread or SampleSpread(self.A, o)
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
