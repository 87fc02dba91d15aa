"""The tree of branch and bound: best first, so that the gap falls while it runs, and many nodes at a time.

A node fixes some terms in its supports and allows some others. A relaxation of the loss bounds it from below and fixes further
terms (losses/perspective.py, losses/relaxation.py); what fixed and missing terms imply for others is asked of the rule. Bounds
are safe against rounding, so whatever is open when the tree stops, the lowest of them holds.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from quadric.losses.base import Bounded, Bounds, Found, Relaxation, SparseProblem
from quadric.progress import STOP
from quadric.types import BoolArray, FloatArray, IntArray

# Nodes between two lines of progress, at least.
REPORT_EVERY = 32
# Share of the gap that a relaxation must not leave beside the next one's, to be preferred to it.
WORTHWHILE = 0.8
# Bytes of nodes that wait for their turn; more than that, and the tree goes into the depth.
MOST_OPEN = 200_000_000
# Supports below a ceiling that are kept.
MOST_LISTED = 10_000


@dataclass(frozen=True)
class ProofLimits:
    """What a proof may take.

    Attributes
    ----------
    seconds, nodes : float, int or None
        Since it began; None: no limit.
    gap : float
        Relative gap that is good enough, once what is cheap has been done.
    began : float
        On the monotonic clock; by default now.
    """

    seconds: float | None
    nodes: int | None
    gap: float = 0.0
    began: float = field(default_factory=time.monotonic)

    def used(self, n_nodes: int) -> float:
        """The share of the limits that is used up; from 1 on there is nothing left."""
        if STOP.is_awaited and STOP.is_wanted:
            return 1.0
        return max(_share(time.monotonic() - self.began, self.seconds), _share(n_nodes, self.nodes))


def _share(amount: float, limit: float | None) -> float:
    return 0.0 if limit is None else amount / limit if limit > 0 else 1.0


@dataclass(frozen=True)
class _Node:
    """A node that waits: what it fixes and allows, the term to branch on, and what its children start from."""

    lower: float
    fixed: BoolArray
    allowed: BoolArray
    position: int
    state: FloatArray


class Tree:
    """A search for the best support or, below a ceiling, for all of them.

    Parameters
    ----------
    problem : SparseProblem
    bounds : Bounds
    start : Found
    ceiling : float, optional
        Supports with an objective of at most this are listed; by default only what beats the incumbent matters.
    """

    def __init__(self, problem: SparseProblem, bounds: Bounds, start: Found, ceiling: float | None = None) -> None:
        self.k, self.n_terms, self.rule = problem.k, problem.n_terms, problem.rule
        self.bounds, self.best, self.ceiling = bounds, start, ceiling
        self.n_nodes = 0
        self.listed: list[Found] = []
        self.history: list[tuple[int, float]] = []
        self.unsure = np.inf  # lowest bound of a support whose minimum could not be found to the tolerance
        self._proved = -np.inf  # by relaxations of all nodes together
        self._best_first: list[tuple[float, int, _Node]] = []
        self._depth_first: list[_Node] = []
        self._number = count()

    @property
    def cutoff(self) -> float:
        """A node with a bound from here on holds nothing that matters."""
        if self.ceiling is not None:
            return float(np.nextafter(self.ceiling, np.inf))
        return self.best.value - self.bounds.tolerance * abs(self.best.value)

    @property
    def lower_bound(self) -> float:
        """What no support falls below that has not been met; F >= 0."""
        return max(0.0, self._proved, min(self.cutoff, self.unsure, self._lowest_open()))

    @property
    def closed(self) -> bool:
        return min(self.unsure, self._lowest_open()) >= self.cutoff

    @property
    def gap(self) -> float:
        return (self.best.value - self.lower_bound) / abs(self.best.value) if self.best.value else 0.0

    @property
    def n_open(self) -> int:
        return len(self._best_first) + len(self._depth_first)

    def _lowest_open(self) -> float:
        lowest = self._best_first[0][0] if self._best_first else np.inf
        return min(lowest, min((node.lower for node in self._depth_first), default=np.inf))

    def search(self, relaxations: Iterable[Relaxation], limits: ProofLimits, report: Callable[[Tree], None]) -> bool:
        """Branch until everything is closed, the gap is small enough or a limit is reached: False in the last case."""
        relaxation, root = self._root(relaxations)
        self._sorted(root)
        self.n_nodes = 1  # the root, however many relaxations have bounded it
        self._tell(report)
        while self._lowest_open() < self.cutoff:
            if limits.used(self.n_nodes) >= 1.0 or len(self.listed) >= MOST_LISTED:
                return False
            if limits.gap and self.n_nodes >= self.bounds.cheap_nodes and self.gap <= limits.gap:
                return True
            self._branch(relaxation, self._next(relaxation.batch, limits))
            self._tell(report)
        return True

    def _tell(self, report: Callable[[Tree], None]) -> None:
        if not self.history or self.lower_bound > self.history[-1][1]:
            self.history.append((self.n_nodes, self.lower_bound))
        report(self)

    def _root(self, relaxations: Iterable[Relaxation]) -> tuple[Relaxation, Bounded]:
        """The last relaxation, or one before it that leaves clearly less of the gap."""
        everything = np.ones((1, self.n_terms), dtype=bool)
        completion = self.rule.completions(~everything[0], everything[0])
        fixed, allowed = completion.fixed[None], completion.allowed[None]
        roots = [(relaxation, relaxation.root(fixed.copy(), allowed.copy(), self.cutoff)) for relaxation in relaxations]
        self._proved = min(self.cutoff, max(float(root.lower[0]) for _, root in roots))
        chosen = roots[0]
        for other in roots[1:]:
            if self.cutoff - chosen[1].lower[0] > WORTHWHILE * (self.cutoff - other[1].lower[0]):
                chosen = other
        return chosen

    def _next(self, batch: int, limits: ProofLimits) -> list[_Node]:
        """The nodes to branch on: no more than so far, and up to a number at which a line of progress is due."""
        wanted = min(batch, self.n_nodes, -self.n_nodes % REPORT_EVERY or batch)
        if limits.nodes is not None:
            wanted = min(wanted, limits.nodes - self.n_nodes)
        chosen: list[_Node] = []
        while len(chosen) < wanted and (self._depth_first or self._best_first):
            node = self._depth_first.pop() if self._depth_first else heapq.heappop(self._best_first)[2]
            if node.lower < self.cutoff:
                chosen.append(node)
        return chosen

    def _branch(self, relaxation: Relaxation, nodes: list[_Node]) -> None:
        """Bound the children: with the term of each node, and without it."""
        self.n_nodes += len(nodes)
        fixed, allowed, state = (
            np.repeat(np.array([getattr(node, name) for node in nodes]), 2, axis=0) for name in ("fixed", "allowed", "state")
        )
        floor, rows = np.repeat([node.lower for node in nodes], 2), np.arange(len(nodes))
        positions = [node.position for node in nodes]
        fixed[2 * rows, positions] = True
        allowed[2 * rows + 1, positions] = False
        # children that are supports already are evaluated here, and need no relaxation
        left = [i for i in range(len(fixed)) if not self._is_settled(fixed[i], allowed[i])]
        if left:
            self._sorted(relaxation.children(fixed[left], allowed[left], state[left], self.cutoff), floor[left])

    def _sorted(self, rows: Bounded, floor: FloatArray | None = None) -> None:
        """Put away what may hold something; the bound of a parent holds for its children, too."""
        lower = rows.lower if floor is None else np.maximum(rows.lower, floor)
        for i in np.flatnonzero(lower < self.cutoff):
            fixed, allowed = rows.fixed[i], rows.allowed[i]
            if self._is_settled(fixed, allowed):
                continue
            position = int(np.argmax(np.where(allowed & ~fixed, rows.rank[i], -np.inf)))
            # copies: a view would keep the whole batch alive
            node = _Node(float(lower[i]), fixed.copy(), allowed.copy(), position, rows.state[i].copy())
            if len(self._best_first) * (node.state.nbytes + 2 * self.n_terms) < MOST_OPEN:
                heapq.heappush(self._best_first, (node.lower, next(self._number), node))
            else:
                self._depth_first.append(node)

    def _is_settled(self, fixed: BoolArray, allowed: BoolArray) -> bool:
        """Whether nothing is left to branch on; changes the rows by what the rule implies, and evaluates what is left."""
        if self.rule.entails:
            completion = self.rule.completions(fixed, allowed)
            if not completion.possible:
                return True
            fixed[:], allowed[:] = completion.fixed, completion.allowed
        n_fixed = np.count_nonzero(fixed)
        if n_fixed > self.k:
            return True
        if n_fixed == self.k:
            allowed[:] = fixed
        elif np.count_nonzero(allowed) > self.k:
            return False
        support = np.flatnonzero(allowed)
        if self.rule.admissible(support):
            self._evaluate(support)
            return True
        return bool((allowed == fixed).all())

    def _evaluate(self, support: IntArray) -> None:
        value, bound = self.bounds.minimum(support)
        if bound < self.cutoff:
            value, bound = self.bounds.examined(support)
        found = Found(support, value)
        if value < self.best.value:
            self.best = found
        if self.ceiling is not None and value <= self.ceiling:
            self.listed.append(found)
        elif bound < self.cutoff:
            self.unsure = min(self.unsure, bound)
