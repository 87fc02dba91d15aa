"""Losses that keep lifted samples, where there are too many terms to lift them all: samples are lifted on working sets only.

The squared loss says which terms to begin with. Beyond the working set, the multipliers of a fit tell which terms pull at it:
one product X' diag(.) X gives R'(y alpha) for all terms, and with G a lower bound of every exchange (docs/mathematics.md, eq.
6.5).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from quadric.geometry.cuts import Cuts
from quadric.losses import loss_named
from quadric.losses.base import (
    IMPROVEMENT,
    Explorer,
    Found,
    Loss,
    RuledSolution,
    SparseProblem,
    Step,
    StepSolution,
)
from quadric.losses.columns import prices
from quadric.losses.dual import DualStep, feasible
from quadric.losses.least_squares.curvature import ScatterRows, WideCurvature
from quadric.losses.least_squares.problem import LeastSquaresProblem
from quadric.losses.lifted_rows import LiftedRows
from quadric.losses.rows import RowsProblem
from quadric.losses.supports import Moves
from quadric.losses.working_set import MOST_ENTRANTS, WorkingSetExplorer
from quadric.types import FloatArray, IntArray

AnySolution = TypeVar("AnySolution", bound=StepSolution)


@dataclass(frozen=True, kw_only=True)
class WideRowsProblem(SparseProblem):
    """A loss on samples that are lifted on few of the candidates at a time.

    Attributes
    ----------
    kind : class of RowsProblem
        What the problem is on a working set.
    squared : LeastSquaresProblem
        The same problem with the squared loss, its samples in memory.
    scatter : ScatterRows
        What it is made of.
    """

    kind: type[RowsProblem]
    squared: LeastSquaresProblem
    scatter: ScatterRows

    @staticmethod
    def of(kind: type[RowsProblem], squared: LeastSquaresProblem) -> WideRowsProblem:
        """The problem of another loss."""
        assert isinstance(squared.curvature, WideCurvature)
        shared = {each.name: getattr(squared, each.name) for each in fields(SparseProblem)}
        return WideRowsProblem(**shared, kind=kind, squared=squared, scatter=squared.curvature.rows)

    @property
    def loss(self) -> Loss:
        return loss_named(self.kind.loss_name)

    @property
    def is_wide(self) -> bool:
        return True

    @property
    def energy_trace(self) -> float:
        return self.squared.energy_trace

    @cached_property
    def y(self) -> FloatArray:
        """Labels in {-1, 1}."""
        assert self.squared.samples is not None
        return self.squared.samples.target.y(self.squared.surface)

    def among(self, candidates: IntArray) -> RowsProblem:
        """The same problem with some candidates only, all required ones among them unless it is for a refit."""
        # a refit may have fewer terms than the rule requires; its rule is then that of both together
        samples, terms, required = self.squared.samples, self.terms[candidates], self.rule.required
        assert samples is not None
        rule = self.rule.among(candidates if np.isin(required, candidates).all() else np.union1d(candidates, required))
        if rule is None:
            raise ValueError("this rule on supports cannot be kept with so many terms: exclude some of them")
        return self.kind(
            C=self.C,
            k=min(self.k, len(terms)),
            n_features=self.n_features,
            terms=terms,
            scatter_trace=float(self.scatter.scatter[candidates].sum()),
            rule=rule,
            G=samples.energy.block(terms, terms),
            rows=LiftedRows.about_medians(samples.X, terms, samples.loss_weight, self.kind.order, samples.energy),
            y=self.y,
        )

    def paired(self) -> RowsProblem:
        return self.among(np.arange(self.n_terms))

    def decomposable(self) -> SparseProblem:
        return self.nucleus

    def promising(self, n_terms: int, support: IntArray | None = None) -> RowsProblem:
        return self.among(np.searchsorted(self.terms, self.squared.promising(n_terms, support).terms))

    def screen(self) -> SparseProblem:
        return self.squared

    def objective(self, z: FloatArray, c: float) -> float:
        live = np.flatnonzero(z)
        return self.among(live).objective(z[live], c)

    def intercept(self, z: FloatArray) -> float:
        live = np.flatnonzero(z)
        return self.among(live).intercept(z[live])

    def step(self) -> Step:
        return WideRowsStep(self)

    def explorer(self, step: Step | None = None) -> Explorer:
        return WideRowsExplorer(self)


class WideRowsStep(Step):
    """Refits on few terms; nothing else is affordable."""

    def __init__(self, problem: WideRowsProblem) -> None:
        self.problem = problem

    def refit(self, support: IntArray) -> StepSolution:
        return self._embedded(support, self._on(support).refit(np.arange(len(support))))

    def refit_under(self, support: IntArray, cuts: Cuts) -> RuledSolution:
        return self._embedded(support, self._on(support).refit_under(np.arange(len(support)), cuts))

    def bracket(self, support: IntArray) -> tuple[float, float]:
        return self._on(support).bracket(np.arange(len(support)))

    def bracket_under(self, support: IntArray, cuts: Cuts) -> tuple[float, float]:
        return self._on(support).bracket_under(np.arange(len(support)), cuts)

    def _on(self, support: IntArray) -> Step:
        return self.problem.among(support).step()

    def _embedded(self, support: IntArray, solution: AnySolution) -> AnySolution:
        z = np.zeros(self.problem.n_terms)
        z[support] = solution.z
        return replace(solution, z=z)


class WideRowsExplorer(WorkingSetExplorer):
    """Moves in a working set, which grows by what the multipliers of its best fit cannot rule out."""

    problem: WideRowsProblem

    def entrants(self, found: Found) -> IntArray:
        problem, scatter = self.problem, self.problem.scatter
        few = problem.among(found.support)
        step = few.step()
        assert isinstance(step, DualStep)
        # multipliers of a refit are feasible on every support, so that they bound all exchanges (6.5)
        z, alpha = step.refit(np.arange(len(found.support))).z, feasible(few, step.multipliers)
        self.n_refits += 1
        pull = scatter.on_candidates(problem.y * alpha)  # alpha balances: no mean is left in it
        rows = [scatter.energy_row(int(term)) for term in found.support]
        terms, useful = [], []
        for into, least in prices(found.support, rows, scatter.energy_diagonal, pull, self.rule.moves(found.support)):
            # weak duality: where no entry is negative a term cannot help (docs/mathematics.md, eq. 6.5)
            possible = least.min(axis=0, initial=np.inf) < -IMPROVEMENT * abs(found.value)
            terms.append(into[possible])
            # among those that it does not rule out: the gain that a Newton step along the term promises (6.2)
            slope = pull[into] - sum((weight * row[into] for weight, row in zip(z, rows, strict=True)), np.zeros(len(into)))
            useful.append((slope**2 / problem.squared.curvature.diagonal[into])[possible])
        order = np.argsort(-np.concatenate([np.empty(0), *useful]), kind="stable")[:MOST_ENTRANTS]
        return np.concatenate([np.empty(0, dtype=np.intp), *terms])[order]

    def exchanges(self, found: Found, ceiling: float) -> tuple[Moves, FloatArray]:
        """Those of the working set and of what could join it."""
        self._include(np.union1d(found.support, self.entrants(found)))
        moves, change = self._inner.exchanges(Found(self._places(found.support), found.value), ceiling)
        return Moves(self._working[moves.out], self._working[moves.into], moves.single), change
