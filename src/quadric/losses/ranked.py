"""A search among supports for losses whose refits are expensive.

Around the fit on a support such a loss has two quadratics: a model that ranks all exchanges, and a lower bound by duality that
rules out those that cannot help. Only the most promising exchanges are then solved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, cast

import numpy as np

from quadric.losses.base import IMPROVEMENT, Explorer, Found, Outlook, Pulls, RuledSolution, SparseProblem, Step
from quadric.losses.columns import MAX_KICK, ColumnTableau, SummedTableau, compounds, resized_tableau
from quadric.losses.dual import DualStep, feasible, rows_problems
from quadric.losses.rows import RowsProblem
from quadric.losses.supports import Move, Moves, SupportRule
from quadric.types import FloatArray, IntArray

NO_PULLS = Pulls(np.zeros(1), np.zeros(1), 0.0)
MAX_SOLVED = 200  # exchanges that are solved for a list of near ties, the most promising first


PrimalDual: TypeAlias = tuple[FloatArray, FloatArray]  # z and multipliers of a fit


def _summed(tableaus: Sequence[ColumnTableau]) -> ColumnTableau | SummedTableau:
    return tableaus[0] if len(tableaus) == 1 else SummedTableau(tableaus)


class RankedExplorer(Explorer):
    """Exchanges ranked by a model, pruned by a bound and then solved."""

    tries = 8  # moves that are solved before a support counts as the end of a descent

    def __init__(self, problem: SparseProblem, step: Step) -> None:
        self.problems, self.steps = rows_problems(problem), cast("tuple[DualStep, ...]", step.parts)
        self.rule, self.n_terms = problem.rule, problem.n_terms
        self.n_refits = 0
        self._values: dict[bytes, float] = {}
        self._least: dict[bytes, float] = {}
        self._last: tuple[IntArray, list[PrimalDual]] | None = None

    def model(self, support: IntArray) -> ColumnTableau | SummedTableau:
        """F around the fit on a support as a quadratic, at that support."""
        fits = zip(self.problems, self._refit(support), strict=True)
        return _summed([self._model_at(problem, *fit, support) for problem, fit in fits])

    def _model_at(
        self, problem: RowsProblem, z: FloatArray, alpha: FloatArray, support: IntArray, pulls: Pulls = NO_PULLS
    ) -> ColumnTableau:
        """The same around any surface on the support, with what rules pull."""
        theta, R = problem.curvature(z, alpha), problem.A[:, :-1]
        live = np.flatnonzero(z)
        summed, bent_pull, loss_pull = np.stack([theta, theta * (R[:, live] @ z[live]), problem.y * alpha]) @ R
        # The Schur complement takes out the intercept, as (2.1) does for the squared loss
        across = summed / np.sqrt(max(theta.sum(), np.finfo(float).tiny))

        def rows_of(terms: IntArray) -> FloatArray:
            return problem.G[terms] + (R[:, terms].T * theta) @ R - np.outer(across[terms], across)

        diagonal = np.diag(problem.G) + np.einsum("ij,ij,i->j", R, R, theta) - across**2
        # Q z less the gradient G z - R'(y alpha): what G does to z cancels
        q = bent_pull + loss_pull - across * float(across[live] @ z[live])
        q = q + pulls.nearest(problem.G[:, live] @ z[live] - loss_pull)
        return ColumnTableau(rows_of, diagonal, q, 0.0, problem.rule.required, support)

    def dual_tableau(self, support: IntArray) -> ColumnTableau | SummedTableau:
        """A quadratic that is a lower bound of F on every support and touches it at this one (6.5)."""
        fits = zip(self.problems, self._refit(support), strict=True)
        return _summed([self._dual_at(problem, *fit, support) for problem, fit in fits])

    def _dual_at(
        self, problem: RowsProblem, z: FloatArray, alpha: FloatArray, support: IntArray, pulls: Pulls = NO_PULLS
    ) -> ColumnTableau:
        """The same of F under rules, by multipliers of the samples and what those of the rules pull (12.6)."""
        G, live = problem.G, np.flatnonzero(z)
        q = (problem.y * alpha) @ problem.A[:, :-1]  # valid for every support, since alpha is feasible for all
        q = q + pulls.nearest(G[:, live] @ z[live] - q)
        constant = problem.dual_constant(alpha) + pulls.constant
        return ColumnTableau(G.__getitem__, np.diag(G), q, constant, problem.rule.required, support)

    def under(self, fit: RuledSolution, support: IntArray, moves: Moves, pulls: Pulls) -> Outlook:
        assert fit.alpha is not None
        (problem,) = self.problems
        alpha = feasible(problem, fit.alpha)
        bound, model = (at(problem, fit.z, alpha, support, pulls) for at in (self._dual_at, self._model_at))
        return Outlook(bound.value, bound.value + bound.exchanges(moves), fit.value + model.exchanges(moves))

    def compounds(self, support: IntArray, rule: SupportRule) -> Sequence[Move]:
        model = self.model(support)
        return sorted(compounds(model, rule)[: 2 * self.tries], key=model.after)[: self.tries]

    def _refit(self, support: IntArray) -> list[PrimalDual]:
        """z and the multipliers of a support; the last ones asked for are kept, since value, model and bound all need them."""
        if self._last is None or not np.array_equal(self._last[0], support):
            solutions = [step.refit(support) for step in self.steps]
            self.n_refits += len(solutions)
            pairs = zip(solutions, self.steps, strict=True)
            self._last = (support, [(solution.z, step.multipliers) for solution, step in pairs])
            self._values[support.tobytes()] = sum(solution.value for solution in solutions)
        return self._last[1]

    def value(self, support: IntArray) -> float:
        """Minimum of F on a support; known ones are not solved again."""
        key = support.tobytes()
        if key not in self._values:
            self._refit(support)
        return self._values[key]

    def resized(self, support: IntArray, k: int) -> IntArray:
        return resized_tableau(self.model(support), k, self.rule) if len(support) != k else support

    def descend(self, support: IntArray, seen: set[bytes] | None = None) -> Found:
        found = Found(support, self.value(support))
        while True:
            better = self._better_neighbour(found)
            if better is None:
                return found
            found = better

    def descend_from(self, starts: Sequence[IntArray]) -> Found:
        return self.descend(min(starts, key=self.value))

    def refined(self, found: Found, rng: np.random.Generator, kicks: int, going: Callable[[], bool]) -> Found:
        droppable = np.setdiff1d(found.support, self.rule.required)
        if len(droppable) == 0 or len(found.support) == self.n_terms:
            return found
        for _ in range(kicks):
            if not going():
                break
            droppable = np.setdiff1d(found.support, self.rule.required)
            n_out = int(rng.integers(1, max(1, min(len(droppable) // 2, MAX_KICK)) + 1))
            kept = self.rule.repaired(np.setdiff1d(found.support, rng.choice(droppable, n_out, replace=False)))
            found = self.descend(self.resized(kept, len(found.support))).better_of(found)
        return found

    def exchanges(self, found: Found, ceiling: float) -> tuple[Moves, FloatArray]:
        """Those that the bound does not rule out, the most promising solved."""
        moves = self.rule.moves(found.support)
        least = self.dual_tableau(found.support).exchanges(moves)
        order = np.argsort(self.model(found.support).exchanges(moves), axis=None)
        change = np.full(least.shape, np.inf)
        solved = 0
        for t in order:
            i, j = np.unravel_index(int(t), change.shape)
            if solved < MAX_SOLVED and found.value + least[i, j] <= ceiling:
                support = Move(moves.out[[i]], moves.into[[j]]).applied(found.support)
                change[i, j] = self.value(support) - found.value
                solved += 1
        return moves, change

    def _better_neighbour(self, found: Found) -> Found | None:
        """The first of the most promising moves that helps."""
        for support in self._promising(found.support):
            if not self._is_above(support, found.value - IMPROVEMENT * abs(found.value)):
                other = Found(support, self.value(support))
                if other.beats(found):
                    return other
        return None

    def _is_above(self, support: IntArray, ceiling: float) -> bool:
        """Whether the minimum on a support is known not to be below a ceiling, or is found not to be by less than a refit."""
        key = support.tobytes()
        if key not in self._values and self._least.get(key, -np.inf) < ceiling:
            # of several classes, only refits tell what each of them has to stay below
            if len(self.steps) > 1 or not self.steps[0].exceeds(support, ceiling):
                return False
            self.n_refits += 1
            self._least[key] = ceiling
        return self._values.get(key, np.inf) >= ceiling

    def _promising(self, support: IntArray) -> Iterator[IntArray]:
        moves, model = self.rule.moves(support), self.model(support)
        change: FloatArray = model.exchanges(moves)
        # weak duality: these cannot help (docs/mathematics.md, eq. 6.5)
        change[self.dual_tableau(support).exchanges(moves) >= 0.0] = np.inf
        order = np.argsort(change, axis=None)[: self.tries]
        chosen = [np.unravel_index(int(t), change.shape) for t in order if change.flat[t] < np.inf]
        for i, j in chosen:
            yield Move(moves.out[[i]], moves.into[[j]]).applied(support)
        for move in self.compounds(support, self.rule):
            yield move.applied(support)
