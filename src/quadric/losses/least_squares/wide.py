"""The squared loss where there are too many terms for a matrix of all their pairs (docs/mathematics.md, section 6).

Every exchange of one term is known from the rows of M on the support, its diagonal and q. A row of M is one product
X' diag(.) X and a few entries of G, so vectors of length p are all that is kept. A search moves inside a working set, whose own
small matrix is like that of any other problem, and is priced against all terms.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from quadric.blas import one_blas_thread
from quadric.geometry.energy import Energy
from quadric.geometry.lifting import lift
from quadric.geometry.moments import gram, is_constant, spread_about
from quadric.geometry.products import LiftedSums
from quadric.geometry.redundancy import redundant_of_samples
from quadric.geometry.terms import to_matrix
from quadric.losses.base import (
    IMPROVEMENT,
    KEPT_BYTES,
    WORKING_TERMS,
    Exchanges,
    Found,
    Limits,
    SparseProblem,
    Step,
    TrainingData,
)
from quadric.losses.least_squares.problem import Curvature, LeastSquaresProblem, QuadraticProblem, SampleRows
from quadric.losses.pricing import Quadratic, best_entrants
from quadric.losses.working_set import MOST_ENTRANTS, WorkingSetExplorer
from quadric.samples.labelled import LabelledSamples
from quadric.types import FloatArray, IntArray


class ScatterRows:
    """Rows of R~'R~ on the candidates, made when asked for; neither C nor the labels change them.

    Parameters
    ----------
    sums : LiftedSums
    weight : array of shape (m,)
        o.
    mean : array of shape (p,)
        Weighted mean of r(x) - r(shift), all terms.
    terms : array
        The candidates.
    """

    def __init__(self, sums: LiftedSums, weight: FloatArray, mean: FloatArray, terms: IntArray) -> None:
        self.sums, self.weight, self._mean, self._terms = sums, weight, mean, terms
        self._rows: OrderedDict[int, FloatArray] = OrderedDict()
        self._blocks: OrderedDict[bytes, FloatArray] = OrderedDict()

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_rows": OrderedDict(), "_blocks": OrderedDict()}  # other processes make their own

    def on_candidates(self, v: FloatArray) -> FloatArray:
        """sum_i v_i (r(x_i) - mean) on the candidates."""
        total: FloatArray = (self.sums.sums(v) - v.sum() * self._mean)[self._terms]
        return total

    def row(self, position: int, n_kept: int) -> FloatArray:
        """The row of one candidate; ``n_kept`` are kept at least."""
        if position not in self._rows:
            term = self._terms[[position]]
            r = np.concatenate([rows[:, 0] for _, rows in self.sums.lifted(term)])
            self._rows[position] = self.on_candidates(self.weight * (r - self._mean[term[0]]))
            while len(self._rows) > max(n_kept, KEPT_BYTES // (8 * len(self._terms))):
                self._rows.popitem(last=False)
        self._rows.move_to_end(position)
        return self._rows[position]

    def block(self, positions: IntArray) -> FloatArray:
        """The entries of some candidates and each other."""
        key = positions.tobytes()
        if key not in self._blocks:
            terms, total = self._terms[positions], np.zeros((len(positions),) * 2)
            for rows, R in self.sums.lifted(terms) if len(terms) else ():
                R -= self._mean[terms]
                R *= np.sqrt(self.weight[rows, None])
                total += gram(R)
            self._blocks[key] = total
            while len(self._blocks) > 2:
                self._blocks.popitem(last=False)
        return self._blocks[key]


@dataclass(frozen=True, kw_only=True)
class WideProblem(QuadraticProblem):
    """The quadratic of very many candidates.

    Attributes
    ----------
    energy : Energy
        Of G.
    scatter_rows : ScatterRows
    energy_diagonal, scatter : arrays of shape (p,)
        Diagonals of G and of R~'R~.
    """

    energy: Energy
    scatter_rows: ScatterRows
    energy_diagonal: FloatArray
    scatter: FloatArray

    @property
    def is_wide(self) -> bool:
        return True

    @property
    def energy_trace(self) -> float:
        return float(self.energy_diagonal.sum())

    @cached_property
    def diagonal(self) -> FloatArray:
        return self.energy_diagonal + (2.0 * self.C) * self.scatter

    def row(self, term: int) -> FloatArray:
        return self.energy_row(term, (2.0 * self.C) * self.scatter_rows.row(term, 2 * self.k + 2))

    def energy_row(self, term: int, onto: FloatArray | None = None) -> FloatArray:
        """A row of G, added to another vector."""
        total = np.zeros(self.n_terms) if onto is None else onto
        positions, G = self.energy.row(int(self.terms[term]))
        places = np.minimum(np.searchsorted(self.terms, positions), self.n_terms - 1)
        candidate = self.terms[places] == positions
        total[places[candidate]] += G[candidate]
        return total

    def block(self, support: IntArray) -> FloatArray:
        terms = self.terms[support]
        return self.energy.block(terms, terms) + (2.0 * self.C) * self.scatter_rows.block(support)

    def curved(self, z: FloatArray) -> float:
        live = np.flatnonzero(z)
        return float(z[live] @ (self.block(live) @ z[live]))

    def times(self, z: FloatArray) -> FloatArray:
        """Mz for a z of any number of terms."""
        full = self.embed(z)
        scores = self.scatter_rows.sums.scores(*to_matrix(full))
        o = self.scatter_rows.weight
        v = o * (scores - (o @ scores) / self.total_weight)
        return self.energy.gradient(full)[self.terms] + (2.0 * self.C) * self.scatter_rows.on_candidates(v)

    def among(self, candidates: IntArray) -> LeastSquaresProblem | None:
        rule, terms = self.rule.among(candidates), self.terms[candidates]
        if rule is None:
            raise ValueError("this rule on supports cannot be kept with so many terms: exclude some of them")
        G = self.energy.block(terms, terms)
        return LeastSquaresProblem(
            C=self.C,
            k=min(self.k, len(terms)),
            n_features=self.n_features,
            terms=terms,
            scatter_trace=float(self.scatter[candidates].sum()),
            rule=rule,
            cross=self.cross[candidates],
            mean=self.mean[candidates],
            mean_y=self.mean_y,
            scatter_y=self.scatter_y,
            total_weight=self.total_weight,
            rows=self.rows,
            G=G,
            curvature=Curvature(G + (2.0 * self.C) * self.scatter_rows.block(candidates)),
        )

    def paired(self) -> SparseProblem:
        return self.among(np.arange(self.n_terms)) or self

    @cached_property
    def nucleus(self) -> LeastSquaresProblem:
        """The problem on the terms that searches begin with."""
        pool = self.promising(WORKING_TERMS)
        assert isinstance(pool, LeastSquaresProblem)
        return pool


class WideExplorer(WorkingSetExplorer):
    """Moves in a working set; all exchanges of what it ends at are priced exactly."""

    def __init__(self, problem: WideProblem, step: Step | None = None) -> None:
        self.problem = problem
        super().__init__(problem, problem.nucleus)

    def restricted(self, working: IntArray) -> LeastSquaresProblem:
        pool = self.problem.among(working)
        assert pool is not None
        return pool

    def entrants(self, found: Found) -> IntArray:
        self.n_refits += 1
        moves = self.rule.moves(found.support)
        return best_entrants(self._around(found), moves, -IMPROVEMENT * abs(found.value), MOST_ENTRANTS).terms

    def exchanges(self, found: Found, ceiling: float) -> Exchanges:
        moves = self.rule.moves(found.support)
        blocks = [change for _, change in self._around(found).prices(moves)]
        return Exchanges(moves.out, moves.into, np.hstack(blocks) if blocks else np.empty((len(moves.out), 0)))

    def _around(self, found: Found) -> Quadratic:
        problem = self.problem
        rows = [problem.row(int(term)) for term in found.support]
        return Quadratic(found.support, rows, problem.diagonal, problem.q, problem.constant)


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
        mean = off + lift(sums.shift[None])[0]
        self._total_weight = float(o.sum())
        self._terms = limits.candidates(
            is_constant(self._total_weight, mean, scatter), lambda: redundant_of_samples(samples.X, samples.sample_weight)
        )
        self._rule = limits.rule(self._terms)
        self._mean = mean[self._terms]
        self._scatter = scatter[self._terms]
        self._energy_diagonal = samples.energy.diagonal()[self._terms]
        self._scatter_rows = ScatterRows(sums, o, off, self._terms)

    @classmethod
    def from_samples(cls, samples: LabelledSamples, limits: Limits) -> WideData:
        with one_blas_thread():
            return cls(samples, limits)

    def one_against_rest(self, positive: int, C: float, k: int) -> WideProblem:
        samples, o = self._samples, self._samples.loss_weight
        y = samples.signs(positive)
        mean_y = float(o @ y) / self._total_weight
        return WideProblem(
            C=C,
            k=min(k, len(self._terms)),
            n_features=samples.X.shape[1],
            terms=self._terms,
            scatter_trace=float(self._scatter.sum()),
            rule=self._rule,
            cross=self._scatter_rows.on_candidates(o * (y - mean_y)),
            mean=self._mean,
            mean_y=mean_y,
            scatter_y=float(o @ (y - mean_y) ** 2),
            total_weight=self._total_weight,
            rows=SampleRows(samples, positive),
            energy=samples.energy,
            scatter_rows=self._scatter_rows,
            energy_diagonal=self._energy_diagonal,
            scatter=self._scatter,
        )
