"""Exchanges for the squared loss: every one is known in closed form (losses/tableau.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from quadric.losses.base import IMPROVEMENT, Explorer, Found, Outlook, Pulls, RuledSolution, SparseProblem
from quadric.losses.columns import MAX_KICK, compounds, resized_tableau
from quadric.losses.least_squares.problem import summed_quadratic
from quadric.losses.supports import Move, Moves, SupportRule
from quadric.losses.tableau import Tableau
from quadric.types import FloatArray, IntArray

# Relative distance from the best end so far up to which moves of several terms are tried where no exchange of one helps: they
# take most of the time under rules, and seldom gain more
NEAR = 0.1


class LeastSquaresExplorer(Explorer):
    """Exact moves on the p x p quadratic, which all classes share."""

    def __init__(self, problem: SparseProblem) -> None:
        self.rule, self.n_terms = problem.rule, problem.n_terms
        self._quadratic = summed_quadratic(problem)
        self.tableau = Tableau(*self._quadratic, problem.rule.required)
        self.n_refits = 0
        self._lowest: dict[int, float] = {}  # end of a descent so far, by number of terms

    def resized(self, support: IntArray, k: int) -> IntArray:
        self.tableau.go_to(support)
        return resized_tableau(self.tableau, k, self.rule)

    def descend(self, support: IntArray, seen: set[bytes] | None = None) -> Found:
        self.tableau.go_to(support)
        return self._descend(seen)

    def descend_from(self, starts: Sequence[IntArray]) -> Found:
        return min((self.descend(start) for start in starts), key=lambda found: found.value)

    def refined(self, found: Found, rng: np.random.Generator, kicks: int, going: Callable[[], bool]) -> Found:
        seen = {found.support.tobytes()}
        self.tableau.go_to(found.support)
        home = self.tableau.saved()
        for _ in range(kicks):
            if not going():
                break
            self.tableau.restore(home)
            self._perturb(rng)
            start = resized_tableau(self.tableau, len(found.support), self.rule).tobytes()
            if start in seen:  # a descent is determined by its start: it would end where it has ended before
                continue
            seen.add(start)
            other = self._descend(seen)
            if other.beats(found):
                found, home = other, self.tableau.saved()
        return found

    def exchanges(self, found: Found, ceiling: float) -> tuple[Moves, FloatArray]:
        self.tableau.go_to(found.support)
        moves = self.rule.moves(found.support)
        return moves, self.tableau.exchanges(moves)

    def under(self, fit: RuledSolution, support: IntArray, moves: Moves, pulls: Pulls) -> Outlook:
        M, q, constant = self._quadratic
        pull = pulls.nearest(M[:, support] @ fit.z[support] - q[:, 0])
        tableau = Tableau(M, q + pull[:, None], constant + pulls.constant, self.rule.required)
        tableau.go_to(support)
        least = tableau.value + tableau.exchanges(moves)
        return Outlook(tableau.value, least, least)

    def compounds(self, support: IntArray, rule: SupportRule) -> Sequence[Move]:
        self.tableau.go_to(support)
        moves = compounds(self.tableau, rule)
        return [moves[i] for i in np.argsort(self.tableau.changes(moves), kind="stable")]

    def _descend(self, seen: set[bytes] | None = None) -> Found:
        """Best moves until none helps, or until a support in ``seen``, whose end is known, comes up again."""
        tableau = self.tableau
        while True:
            before = tableau.value
            change, move = self._best_move()
            self.n_refits += 1
            if not change < -IMPROVEMENT * abs(before):
                break
            tableau.make(move)
            if not tableau.value < before:  # the promise was rounding
                tableau.make(Move(move.into, move.out))
                break
            if seen is not None:
                if tableau.support.tobytes() in seen:
                    break
                seen.add(tableau.support.tobytes())
        found = Found(tableau.support, tableau.value)
        size = len(found.support)
        self._lowest[size] = min(self._lowest.get(size, np.inf), found.value)
        return found

    def _best_move(self) -> tuple[float, Move]:
        """Change of the minimum by the best move that the rule admits, and that move."""
        moves = self.rule.moves(self.tableau.support)
        table = self.tableau.exchanges(moves)
        if table.size:
            i, j = np.unravel_index(int(np.argmin(table)), table.shape)
            change, best = float(table[i, j]), Move((int(moves.out[i]),), (int(moves.into[j]),))
        else:
            change, best = np.inf, Move((), ())
        promising = self.tableau.value <= self._lowest.get(len(self.tableau.support), np.inf) * (1.0 + NEAR)
        if promising and not change < -IMPROVEMENT * abs(self.tableau.value):
            others = compounds(self.tableau, self.rule)
            for move, other in zip(others, self.tableau.changes(others).tolist(), strict=True):
                if other < change:
                    change, best = other, move
        return change, best

    def _perturb(self, rng: np.random.Generator) -> None:
        """Drop up to half of the terms (and no more than MAX_KICK) at random, and take in half as many others at random."""
        tableau = self.tableau
        droppable, outside = tableau.droppable, np.flatnonzero(~tableau.inside)
        if len(droppable) == 0 or len(outside) == 0:
            return
        n_out = int(rng.integers(1, max(1, min(len(droppable), len(outside), 2 * MAX_KICK) // 2) + 1))
        n_in = n_out // 2
        out, into = rng.choice(droppable, n_out, replace=False), rng.choice(outside, n_in, replace=False)
        wanted = tableau.inside.copy()
        wanted[out], wanted[into] = False, True
        support = np.flatnonzero(wanted)
        admissible = self.rule.repaired(support)
        if admissible is not support:
            tableau.go_to(admissible)
            return
        for i in out:
            tableau.drop(int(i))
        for j in into:
            if tableau.is_independent(int(j)):  # the pivot of a combination of the support would be rounding (6.2)
                tableau.add(int(j))
