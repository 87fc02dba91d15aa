"""The squared loss with very many candidates: what the samples give, and moves inside a working set of terms.

The small matrix of a working set is like that of any other problem; what a search in it ends at is priced against all terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from quadric.blas import one_blas_thread
from quadric.geometry.lifting import lift
from quadric.geometry.moments import is_constant, spread_about
from quadric.geometry.products import LiftedSums
from quadric.geometry.redundancy import redundant_of_samples
from quadric.losses.base import IMPROVEMENT, Found, SparseProblem, TrainingData
from quadric.losses.columns import prices
from quadric.losses.least_squares.curvature import ScatterRows, WideCurvature
from quadric.losses.least_squares.problem import LeastSquaresProblem
from quadric.losses.supports import Limits, Moves
from quadric.losses.working_set import MOST_ENTRANTS, WorkingSetExplorer
from quadric.samples.labelled import LabelledSamples
from quadric.types import FloatArray, IntArray


class WideExplorer(WorkingSetExplorer):
    """Moves in a working set; all exchanges of what it ends at are priced exactly."""

    problem: LeastSquaresProblem

    def entrants(self, found: Found) -> IntArray:
        self.n_refits += 1
        terms, changes = [np.empty(0, dtype=np.intp)], [np.empty(0)]
        for into, table in self._prices(found, self.rule.moves(found.support)):
            change = table.min(axis=0, initial=np.inf)
            useful = np.flatnonzero(change < -IMPROVEMENT * abs(found.value))
            terms.append(into[useful])
            changes.append(change[useful])
        return np.concatenate(terms)[np.argsort(np.concatenate(changes), kind="stable")[:MOST_ENTRANTS]]

    def exchanges(self, found: Found, ceiling: float) -> tuple[Moves, FloatArray]:
        moves = self.rule.moves(found.support)
        # an empty block keeps the shape where no term can enter
        blocks = [np.empty((len(moves.out), 0)), *(change for _, change in self._prices(found, moves))]
        return moves, np.hstack(blocks)

    def _prices(self, found: Found, moves: Moves) -> Iterator[tuple[IntArray, FloatArray]]:
        curvature = self.problem.curvature
        # (8.3): k products with the rows, of which most are known from the support before
        rows = [curvature.row(int(term)) for term in found.support]
        return prices(found.support, rows, curvature.diagonal, self.problem.q, moves)


class WideData(TrainingData):
    """Labelled samples of very many terms.

    Parameters
    ----------
    samples : LabelledSamples
    limits : Limits
    convert : function, optional
        From a problem with the squared loss to that of another loss, whose working sets are chosen and priced by it.
    """

    def __init__(
        self, samples: LabelledSamples, limits: Limits, convert: Callable[[LeastSquaresProblem], SparseProblem] | None = None
    ) -> None:
        self._samples, self._convert, o = samples, convert, samples.loss_weight
        sums = LiftedSums(samples.X, o)
        off, scatter = spread_about(sums, o)
        mean, total = off + lift(sums.shift[None])[0], float(o.sum())
        found = limits.candidates(
            is_constant(total, mean, scatter), lambda: redundant_of_samples(samples.X, samples.sample_weight)
        )
        terms, self._rule, self._mean = found.terms, found.rule, mean[found.terms]
        # neither C nor the class changes these rows: they are made once for all problems
        self._rows = ScatterRows(sums, o, samples.energy, terms, off, scatter[terms])

    @one_blas_thread()
    def problem_for(self, surface: int, C: float, k: int) -> SparseProblem:
        samples, rows, o = self._samples, self._rows, self._samples.loss_weight
        y, total, k = samples.target.y(surface), float(o.sum()), min(k, len(rows.terms))
        mean_y = float(o @ y) / total
        problem = LeastSquaresProblem(
            C=C,
            k=k,
            n_features=samples.X.shape[1],
            terms=rows.terms,
            scatter_trace=float(rows.scatter.sum()),
            rule=self._rule,
            curvature=WideCurvature(rows, C, 2 * k + 2),  # rows of two supports are kept, at least
            cross=rows.on_candidates(o * (y - mean_y)),
            mean=self._mean,
            mean_y=mean_y,
            scatter_y=float(o @ (y - mean_y) ** 2),
            total_weight=total,
            samples=samples,
            surface=surface,
        )
        return problem if self._convert is None else self._convert(problem)
