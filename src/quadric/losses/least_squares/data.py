"""Training data of the squared loss: moments of labelled samples."""

from __future__ import annotations

from copy import copy
from functools import cached_property

import numpy as np

from quadric.blas import one_blas_thread
from quadric.geometry.moments import LabelledMoments
from quadric.geometry.terms import term_count
from quadric.losses.base import TrainingData
from quadric.losses.least_squares.curvature import Curvature
from quadric.losses.least_squares.problem import LeastSquaresProblem
from quadric.losses.least_squares.wide import WideData
from quadric.losses.supports import Candidates, Limits, candidates_of
from quadric.losses.working_set import needs_working_set
from quadric.samples.labelled import LabelledSamples
from quadric.samples.sums import SummedSamples
from quadric.types import FloatArray


@one_blas_thread()
def least_squares_data(samples: LabelledSamples | SummedSamples, limits: Limits) -> TrainingData:
    """The moments of samples, unless there are so many terms that no matrix can pair them all."""
    if isinstance(samples, SummedSamples):
        candidates = candidates_of(samples.moments.loss, limits)
        return LeastSquaresData(samples.moments, candidates, n_samples=samples.n_rows)
    if needs_working_set(samples.X, limits, pairs_all_terms=True):
        return WideData(samples, limits)
    moments = samples.target.moments(samples.X, samples.sample_weight)
    return LeastSquaresData(moments, candidates_of(moments.loss, limits), samples)


class LeastSquaresData(TrainingData):
    """Moments of labelled samples: all that the squared loss needs of any number of them.

    Parameters
    ----------
    moments : LabelledMoments
    candidates : Candidates
    samples : LabelledSamples, optional
        What the moments are of: refits go back to them where moments have lost digits.
    n_samples : int, optional
        How many there are; by default as many as they weigh.
    """

    def __init__(
        self,
        moments: LabelledMoments,
        candidates: Candidates,
        samples: LabelledSamples | None = None,
        n_samples: int | None = None,
    ) -> None:
        self._samples = samples
        self._n_samples = n_samples
        weighted = moments.loss
        self._energy = moments.energy()
        self._terms, self._rule = candidates.terms, candidates.rule
        self._total_weight = weighted.weight
        self._mean = weighted.mean[self._terms]
        self._scatter = weighted.scatter[np.ix_(self._terms, self._terms)]
        self._column_moments = moments.columns()
        self._curvatures: dict[float, Curvature] = {}

    def limited(self, limits: Limits) -> LeastSquaresData:
        absent = np.ones(term_count(len(self._energy.s)), dtype=bool)
        absent[self._terms] = False
        found = limits.candidates(absent, lambda: absent)  # redundant ones are absent already
        kept = np.searchsorted(self._terms, found.terms)
        other, square = copy(self), np.ix_(kept, kept)
        other._terms, other._rule = found.terms, found.rule
        other._mean, other._scatter = self._mean[kept], self._scatter[square]
        other._curvatures = {}
        other.__dict__["_G"] = self._G[square]  # in place of the cached one
        return other

    @cached_property
    def _G(self) -> FloatArray:
        return self._energy.gram()[np.ix_(self._terms, self._terms)]

    def _curvature(self, C: float) -> Curvature:
        if C not in self._curvatures:
            self._curvatures = {C: Curvature(self._G + (2.0 * C) * self._scatter, self._G)}  # one at a time: p x p each
        return self._curvatures[C]

    def problem_for(self, surface: int, C: float, k: int) -> LeastSquaresProblem:
        column = self._column_moments[surface]
        return LeastSquaresProblem(
            C=C,
            k=min(k, len(self._terms)),
            n_features=len(self._energy.s),
            terms=self._terms,
            scatter_trace=float(np.trace(self._scatter)),
            rule=self._rule,
            curvature=self._curvature(C),
            cross=column.cross[self._terms],
            mean=self._mean,
            mean_y=column.mean,
            scatter_y=column.scatter,
            total_weight=self._total_weight,
            samples=self._samples,
            surface=surface,
            sums=self._energy,
            n_samples=self._n_samples,
        )
