"""Local search over supports: exchanges of one term with a full refit, and perturbations that lead out of their traps.

One explorer a loss, all with the same verbs. For least squares every exchange is known in closed form (tableau.py). For hinge a
quadratic model of the loss around the present surface ranks the exchanges, the dual of the present fit rules out those that
cannot help, and the most promising ones are solved.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from quadric.problem import HingeProblem, LeastSquaresProblem, SparseProblem
from quadric.search.tableau import Tableau
from quadric.types import FloatArray, IntArray
from quadric.zstep import HingeStep, Step

IMPROVEMENT = 1e-10
"""Relative decrease of the objective that counts as one."""
MAX_KICK = 20
"""Largest number of terms that a perturbation drops."""


@dataclass(frozen=True)
class Found:
    """A support and the minimum of F on it."""

    support: IntArray
    value: float

    def beats(self, other: Found) -> bool:
        """Whether the value is lower by more than rounding."""
        return self.value < other.value - IMPROVEMENT * abs(other.value)

    def better_of(self, other: Found) -> Found:
        """The other unless this one beats it."""
        return self if self.beats(other) else other


class Explorer(ABC):
    """Moves among the supports of one problem; remembers how many refits it took (``n_refits``)."""

    n_refits: int

    @abstractmethod
    def resized(self, support: IntArray, k: int) -> IntArray:
        """The support with terms added or dropped one at a time, the most useful first, until there are k."""

    @abstractmethod
    def descend(self, support: IntArray) -> Found:
        """The end of the best exchanges of one term, from a support."""

    @abstractmethod
    def descend_from(self, starts: Sequence[IntArray]) -> Found:
        """The end of a descent from the best of several supports, or the best end, whichever is affordable."""

    @abstractmethod
    def refined(self, found: Found, rng: np.random.Generator, kicks: int, going: Callable[[], bool]) -> Found:
        """The best of ``kicks`` perturbations of a found support, each followed by a descent, while ``going()``."""


class LeastSquaresExplorer(Explorer):
    """Exact exchanges on the p x p quadratic."""

    def __init__(self, problem: LeastSquaresProblem) -> None:
        self.tableau = Tableau(problem.M, problem.q, problem.constant, problem.required)
        self.n_refits = 0

    def resized(self, support: IntArray, k: int) -> IntArray:
        self.tableau.go_to(support)
        return _resized(self.tableau, k)

    def descend(self, support: IntArray) -> Found:
        self.tableau.go_to(support)
        return self._descend()

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
            start = _resized(self.tableau, len(found.support)).tobytes()
            if start in seen:
                continue
            seen.add(start)
            other = self._descend(seen)
            if other.beats(found):
                found, home = other, self.tableau.saved()
        return found

    def restarted(self, k: int, rng: np.random.Generator, n_starts: int, going: Callable[[], bool]) -> Found:
        """The best end of descents from random halves of a support, completed greedily."""
        n_terms, best = len(self.tableau.inside), self.descend(self.resized(self.tableau.required, k))
        for _ in range(n_starts):
            if not going():
                break
            half = rng.choice(n_terms, max(1, k // 2), replace=False)
            best = self.descend(self.resized(np.union1d(half, self.tableau.required)[:k], k)).better_of(best)
        return best

    def _descend(self, seen: set[bytes] | None = None) -> Found:
        """Best exchanges until none helps, or until a support in ``seen``, whose end is known, comes up again."""
        tableau = self.tableau
        while True:
            before = tableau.value
            change, (out, into) = tableau.best_exchange()
            self.n_refits += 1
            if not change < -IMPROVEMENT * abs(before):
                break
            tableau.drop(out)
            tableau.add(into)
            if not tableau.value < before:  # the promise was rounding
                tableau.drop(into)
                tableau.add(out)
                break
            if seen is not None:
                if tableau.support.tobytes() in seen:
                    break
                seen.add(tableau.support.tobytes())
        return Found(tableau.support, tableau.value)

    def _perturb(self, rng: np.random.Generator) -> None:
        """Drop up to half of the terms (and no more than MAX_KICK) at random, and take in half as many others at random."""
        tableau = self.tableau
        droppable = np.setdiff1d(tableau.support, tableau.required)
        outside = np.flatnonzero(~tableau.inside)
        if len(droppable) == 0 or len(outside) == 0:
            return
        n_out = int(rng.integers(1, max(1, min(len(droppable), len(outside), 2 * MAX_KICK) // 2) + 1))
        n_in = n_out // 2
        for i in rng.choice(droppable, n_out, replace=False):
            tableau.drop(int(i))
        for j in rng.choice(outside, n_in, replace=False):
            if tableau.gains()[j] > -np.inf:
                tableau.add(int(j))


def _resized(tableau: Tableau, k: int) -> IntArray:
    """Add the best or drop the least useful terms of a tableau, one at a time, until there are k."""
    size = int(tableau.inside.sum())
    for _ in range(size, k):
        gains = tableau.gains()
        best = int(np.argmax(gains))
        if gains[best] == -np.inf:  # all that is left are combinations of the support: any of them will do
            return np.sort(np.append(tableau.support, np.flatnonzero(~tableau.inside)[: k - int(tableau.inside.sum())]))
        tableau.add(best)
    for _ in range(k, size):
        tableau.drop(int(np.argmin(tableau.costs())))
    return tableau.support


class HingeExplorer(Explorer):
    """Exchanges ranked by a model, pruned by a bound and then solved."""

    TRIES = 8
    """Exchanges that are solved before a support counts as the end of a descent."""
    BAND = 0.25
    """Share of the samples, those nearest to their margin, whose loss the model takes as curved."""

    def __init__(self, problem: HingeProblem, step: HingeStep) -> None:
        self.problem = problem
        self.step = step
        self.n_refits = 0
        self._values: dict[bytes, float] = {}
        self._last: tuple[IntArray, FloatArray, FloatArray] | None = None

    def value(self, support: IntArray) -> float:
        """Minimum of F on a support; known ones are not solved again."""
        key = support.tobytes()
        if key not in self._values:
            self.n_refits += 1
            self._values[key] = self.step.refit(support).value
        return self._values[key]

    def resized(self, support: IntArray, k: int) -> IntArray:
        return _resized(self.model(support), k) if len(support) != k else support

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
        droppable = np.setdiff1d(found.support, self.problem.required)
        if len(droppable) == 0 or len(found.support) == self.problem.n_terms:
            return found
        for _ in range(kicks):
            if not going():
                break
            droppable = np.setdiff1d(found.support, self.problem.required)
            n_out = int(rng.integers(1, max(1, min(len(droppable) // 2, MAX_KICK)) + 1))
            kept = np.setdiff1d(found.support, rng.choice(droppable, n_out, replace=False))
            found = self.descend(self.resized(kept, len(found.support))).better_of(found)
        return found

    def _better_neighbour(self, found: Found) -> Found | None:
        """The first of the most promising exchanges that helps."""
        for support in self._promising(found.support):
            other = Found(support, self.value(support))
            if other.beats(found):
                return other
        return None

    def _promising(self, support: IntArray) -> list[IntArray]:
        model, dual = self.model(support), self.dual_tableau(support)
        out, into, change = model.exchanges()
        bound = dual.exchanges()[2]
        change[bound >= 0.0] = np.inf  # weak duality: these cannot help (docs/mathematics.md, section 6)
        order = np.argsort(change, axis=None)[: self.TRIES]
        chosen = [np.unravel_index(int(t), change.shape) for t in order if change.flat[t] < np.inf]
        return [np.sort(np.append(np.setdiff1d(support, out[i]), into[j])) for i, j in chosen]

    def dual_tableau(self, support: IntArray) -> Tableau:
        """The lower bound of F on any support that the multipliers of this one give, as a quadratic."""
        problem, alpha = self.problem, self._refit(support)[1]
        q = (problem.y * alpha) @ problem.A[:, :-1]
        tableau = Tableau(problem.G, q, float(alpha.sum()), problem.required)
        tableau.go_to(support)
        return tableau

    def model(self, support: IntArray) -> Tableau:
        """F around the surface of a support as a quadratic: the loss counts as curved near the margin."""
        problem = self.problem
        z, alpha = self._refit(support)
        shortfall = np.abs(1.0 - problem.y * (problem.A @ np.append(z, problem.level(z))))
        width = max(_quantile(shortfall, problem.loss_weight, self.BAND), 1e-8)
        near = shortfall <= width
        theta = problem.C * problem.loss_weight[near] / (2.0 * width)
        A = problem.A[near] * np.sqrt(theta)[:, None]
        curvature = A.T @ A
        R = curvature[:-1, :-1] - np.outer(curvature[-1, :-1], curvature[-1, :-1]) / curvature[-1, -1]
        Q = problem.G + R
        gradient = problem.G @ z - (problem.y * alpha) @ problem.A[:, :-1]
        tableau = Tableau(Q, Q @ z - gradient, 0.0, problem.required)
        tableau.go_to(support)
        return tableau

    def _refit(self, support: IntArray) -> tuple[FloatArray, FloatArray]:
        """z and the multipliers of a support; the last one asked for is kept, since model and bound both need it."""
        if self._last is None or not np.array_equal(self._last[0], support):
            solution = self.step.refit(support)
            self.n_refits += 1
            self._last = (support, solution.z, self.step.multipliers)
        return self._last[1], self._last[2]


def _quantile(values: FloatArray, weight: FloatArray, share: float) -> float:
    """The quantile of values repeated as often as their weights say, linear between neighbours as in numpy."""
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(weight[order])
    place = share * max(upto[-1] - 1.0, 0.0)
    low, high = (
        values[order[min(np.searchsorted(upto, at, side="right"), len(order) - 1)]]
        for at in (np.floor(place), np.floor(place) + 1.0)
    )
    return float(low + (high - low) * (place - np.floor(place)))


def explorer_for(problem: SparseProblem, step: Step) -> Explorer:
    """The explorer of a problem's loss."""
    if isinstance(problem, LeastSquaresProblem):
        return LeastSquaresExplorer(problem)
    assert isinstance(problem, HingeProblem)
    assert isinstance(step, HingeStep)
    return HingeExplorer(problem, step)
