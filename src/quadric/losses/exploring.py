"""What explorers of exchanges share: growing and shrinking supports, and a search for losses whose refits are dear.

Such a loss offers two quadratics around the fit on a support: a model that ranks all exchanges, and a lower bound by duality
that rules out those that cannot help. Only the most promising exchanges are then solved.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

import numpy as np

from quadric.losses.base import Exchanges, Explorer, Found, Move, Rule, SparseProblem, Step
from quadric.losses.tableau import Tableau
from quadric.types import FloatArray, IntArray

MAX_KICK = 20
"""Largest number of terms that a perturbation drops."""
MAX_SOLVED = 200
"""Exchanges that are solved for a list of near ties, the most promising first."""


def resized_tableau(tableau: Tableau, k: int, rule: Rule) -> IntArray:
    """Add the best or drop the least useful terms of a tableau, one at a time, as the rule admits, until there are k.

    Parameters
    ----------
    tableau : Tableau
        Left at the support that is returned, unless only linear combinations of it could be added.
    k : int
    rule : Rule
    """
    size = int(tableau.inside.sum())
    for _ in range(size, k):
        gains, addable = tableau.gains(), rule.addable(tableau.inside)
        if addable is not None:
            gains[~addable] = -np.inf
        best = int(np.argmax(gains))
        if gains[best] == -np.inf:  # all that is left are combinations of the support: any of them will do
            others = ~tableau.inside if addable is None else addable
            return np.sort(np.append(tableau.support, np.flatnonzero(others)[: k - int(tableau.inside.sum())]))
        tableau.add(best)
    for _ in range(k, size):
        costs, droppable = tableau.costs(), rule.droppable(tableau.inside)
        if droppable is not None:
            costs[~droppable] = np.inf
        tableau.drop(int(np.argmin(costs)))
    return tableau.support


class RankedExplorer(Explorer):
    """Exchanges ranked by a model, pruned by a bound and then solved."""

    tries = 8
    """Moves that are solved before a support counts as the end of a descent."""

    def __init__(self, problem: SparseProblem, step: Step) -> None:
        self.rule, self.n_terms = problem.rule, problem.n_terms
        self.step: Step = step
        self.n_refits = 0
        self._values: dict[bytes, float] = {}

    @abstractmethod
    def model(self, support: IntArray) -> Tableau:
        """F around the fit on a support as a quadratic, at that support."""

    @abstractmethod
    def dual_tableau(self, support: IntArray) -> Tableau:
        """A quadratic that is a lower bound of F on every support and touches it at this one."""

    def value(self, support: IntArray) -> float:
        """Minimum of F on a support; known ones are not solved again."""
        key = support.tobytes()
        if key not in self._values:
            self.n_refits += 1
            self._values[key] = self.step.refit(support).value
        return self._values[key]

    def resized(self, support: IntArray, k: int) -> IntArray:
        return resized_tableau(self.model(support), k, self.rule) if len(support) != k else support

    def descend(self, support: IntArray) -> Found:
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

    def exchanges(self, found: Found, ceiling: float) -> Exchanges:
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
        return Exchanges(moves.out, moves.into, change)

    def _better_neighbour(self, found: Found) -> Found | None:
        """The first of the most promising moves that helps."""
        for support in self._promising(found.support):
            other = Found(support, self.value(support))
            if other.beats(found):
                return other
        return None

    def _promising(self, support: IntArray) -> list[IntArray]:
        moves, model = self.rule.moves(support), self.model(support)
        change: FloatArray = model.exchanges(moves)
        change[self.dual_tableau(support).exchanges(moves) >= 0.0] = (
            np.inf
        )  # weak duality: these cannot help (docs/mathematics.md, eq. 6.5)
        order = np.argsort(change, axis=None)[: self.tries]
        chosen = [np.unravel_index(int(t), change.shape) for t in order if change.flat[t] < np.inf]
        singles = [Move(moves.out[[i]], moves.into[[j]]) for i, j in chosen]
        compounds = sorted(moves.compound, key=model.after)[: self.tries]
        return [move.applied(support) for move in (*singles, *compounds)]
