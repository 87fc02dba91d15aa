"""The squared loss with very many candidates: what the samples give, and moves inside a working set of terms.

The small matrix of a working set is like that of any other problem; what a search in it ends at is priced against all terms.
"""

from __future__ import annotations

import numpy as np

from quadric.blas import one_blas_thread
from quadric.geometry.lifting import lift
from quadric.geometry.moments import is_constant, spread_about
from quadric.geometry.products import LiftedSums
from quadric.geometry.redundancy import redundant_of_samples
from quadric.losses.base import IMPROVEMENT, Exchanges, Found, Limits, TrainingData
from quadric.losses.columns import Quadratic, best_entrants
from quadric.losses.least_squares.curvature import ScatterRows, WideCurvature
from quadric.losses.least_squares.problem import LeastSquaresProblem
from quadric.losses.working_set import MOST_ENTRANTS, WorkingSetExplorer
from quadric.samples.labelled import LabelledSamples
from quadric.types import IntArray


class WideExplorer(WorkingSetExplorer):
    """Moves in a working set; all exchanges of what it ends at are priced exactly."""

    problem: LeastSquaresProblem

    def entrants(self, found: Found) -> IntArray:
        self.n_refits += 1
        moves = self.rule.moves(found.support)
        return best_entrants(self._around(found), moves, -IMPROVEMENT * abs(found.value), MOST_ENTRANTS)

    def exchanges(self, found: Found, ceiling: float) -> Exchanges:
        moves = self.rule.moves(found.support)
        blocks = [change for _, change in self._around(found).prices(moves)]
        return Exchanges(moves.out, moves.into, np.hstack(blocks) if blocks else np.empty((len(moves.out), 0)))

    def _around(self, found: Found) -> Quadratic:
        curvature = self.problem.curvature
        rows = [curvature.row(int(term)) for term in found.support]
        return Quadratic(found.support, rows, curvature.diagonal, self.problem.q, self.problem.constant)


class WideData(TrainingData):
    """Labelled samples of very many terms.

    Parameters
    ----------
    samples : LabelledSamples
    limits : Limits
    """

    def __init__(self, samples: LabelledSamples, limits: Limits) -> None:
        self._samples, o = samples, samples.loss_weight
        sums = LiftedSums(samples.X, o)
        off, scatter = spread_about(sums, o)
        mean, total = off + lift(sums.shift[None])[0], float(o.sum())
        terms = limits.candidates(
            is_constant(total, mean, scatter), lambda: redundant_of_samples(samples.X, samples.sample_weight)
        )
        self._rule, self._mean = limits.rule(terms), mean[terms]
        self._rows = ScatterRows(sums, o, samples.energy, terms, off, scatter[terms])

    @classmethod
    def from_samples(cls, samples: LabelledSamples, limits: Limits) -> WideData:
        with one_blas_thread():
            return cls(samples, limits)

    def problem_for(self, surface: int, C: float, k: int) -> LeastSquaresProblem:
        samples, rows, o = self._samples, self._rows, self._samples.loss_weight
        y, total, k = samples.target.y(surface), float(o.sum()), min(k, len(rows.terms))
        mean_y = float(o @ y) / total
        return LeastSquaresProblem(
            C=C,
            k=k,
            n_features=samples.X.shape[1],
            terms=rows.terms,
            scatter_trace=float(rows.scatter.sum()),
            rule=self._rule,
            curvature=WideCurvature(rows, C, 2 * k + 2),
            cross=rows.on_candidates(o * (y - mean_y)),
            mean=self._mean,
            mean_y=mean_y,
            scatter_y=float(o @ (y - mean_y) ** 2),
            total_weight=total,
            samples=samples,
            surface=surface,
        )
