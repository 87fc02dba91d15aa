"""Branch and bound: the best support, or a lower bound on what it could reach.

A node allows some terms and has fixed others in the support; r of the free ones must still go. Its relaxation, which the loss
gives, has a minimum f, and leaving out term j alone costs z_j^2 / (2 B_jj) (docs/mathematics.md, section 7;
losses/relaxation.py). A term with f + z_j^2 / (2 B_jj) >= incumbent is fixed.
What fixed and missing terms imply for others is asked of the rule.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb

import numpy as np

from quadric.blas import one_blas_thread
from quadric.losses.base import Bounds, Found, NoBound, Relaxation, SparseProblem, Step
from quadric.progress import Report, advance, silent
from quadric.types import BoolArray, IntArray

REPORT_EVERY = 32
"""Nodes between two lines of progress."""
COARSE = 1e-2
"""Margin for rounding, as a share of the objective, beyond which a tree would have to visit nearly every support."""
MAX_ENUMERATED = 3000
"""Supports that are tried one by one instead."""
ENUMERATED = 1e-7
"""Relative difference of objectives that such a proof may leave."""


@dataclass(frozen=True)
class Proof:
    """What branch and bound found out.

    Attributes
    ----------
    best : Found
        The best support met, the one it started from included.
    lower_bound : float or None
        No support with k terms has a smaller objective; None: rounding leaves no safe bound.
    closed : bool
        Whether the bound reaches the objective within the tolerance of the loss: the support is proved best.
    n_nodes : int
    stopped : bool
        Whether a limit was reached first.
    """

    best: Found
    lower_bound: float | None
    closed: bool
    n_nodes: int
    stopped: bool = False


@dataclass(frozen=True)
class _Limits:
    """What a proof may take: seconds since it began, nodes, or both; None: no limit."""

    seconds: float | None
    nodes: int | None
    began: float

    def used(self, n_nodes: int) -> float:
        """The share of the limits that is used up; from 1 on there is nothing left."""
        return max(_share(time.monotonic() - self.began, self.seconds), _share(n_nodes, self.nodes))


def _share(amount: float, limit: float | None) -> float:
    return 0.0 if limit is None else amount / limit if limit > 0 else 1.0


@dataclass(frozen=True)
class _Open:
    """A node that waits: the parent's relaxation, the term to leave out of it, what is fixed, and a bound known already."""

    relaxation: Relaxation
    position: int
    fixed: BoolArray
    bound: float


class _Tree:
    def __init__(self, problem: SparseProblem, bounds: Bounds, start: Found) -> None:
        self.k = problem.k
        self.n_terms = problem.n_terms
        self.rule = problem.rule
        self.bounds = bounds
        self.best = start
        self.n_nodes = 0
        self.open: list[_Open] = []
        self.unsure = np.inf  # lowest bound of a support whose minimum could not be found to the tolerance

    @property
    def cutoff(self) -> float:
        """A node with a bound above this holds nothing better than the incumbent, but for the tolerance."""
        return self.best.value - self.bounds.tolerance * abs(self.best.value) + self.bounds.rounding

    @property
    def proved(self) -> float:
        """What a node with a bound above the cutoff is known not to fall below."""
        return self.cutoff - self.bounds.rounding

    def search(self, limits: _Limits, report: Callable[[_Tree], None]) -> Proof:
        root = self.bounds.root()
        p = len(root.terms)
        fixed = self.rule.completions(np.zeros(p, dtype=bool), np.ones(p, dtype=bool)).fixed
        floor = self.bounds.bound(root, ~fixed, p - self.k)
        self._expand(root, fixed, floor)
        stopped = False
        while self.open:
            stopped = limits.used(self.n_nodes) >= 1.0
            if stopped:
                break
            if self.n_nodes % REPORT_EVERY == 0:
                report(self)
            node = self.open.pop()
            if node.bound < self.cutoff:
                child = self.bounds.without(node.relaxation, node.position)
                self._expand(child, np.delete(node.fixed, node.position), node.bound)
        return self._proof(stopped)

    def _expand(self, node: Relaxation, fixed: BoolArray, floor: float) -> None:
        """Follow the branch that keeps the most valuable term each time; leave those that drop it open."""
        self.n_nodes += 1
        fixed = fixed.copy()
        costs = node.costs()
        n_to_drop = len(node.terms) - self.k
        while True:
            if n_to_drop > 0:
                fixed |= node.f + costs >= self.cutoff  # (7.5)
            if self.rule.entails and not self._complete(node, fixed):
                return
            n_fixed = int(fixed.sum())
            if n_fixed > self.k:
                return
            floor = max(floor, self.bounds.bound(node, ~fixed, n_to_drop))
            if floor >= self.cutoff:
                return
            if n_to_drop <= 0 or n_fixed == self.k:
                support = node.terms if n_to_drop <= 0 else node.terms[fixed]
                if self.rule.admissible(support):
                    self._evaluate(support)
                    return
                if fixed.all() or n_fixed == self.k:
                    return
            position = int(np.argmax(np.where(fixed, -np.inf, costs)))
            self.open.append(_Open(node, position, fixed.copy(), max(floor, node.f + float(costs[position]))))
            fixed[position] = True

    def _complete(self, node: Relaxation, fixed: BoolArray) -> bool:
        """Fix what the rule implies. False: nothing admissible is left, or a smaller node takes the place of this one."""
        held, allowed = np.zeros((2, self.n_terms), dtype=bool)
        held[node.terms[fixed]] = True
        allowed[node.terms] = True
        completion = self.rule.completions(held, allowed)
        if not completion.possible:
            return False
        fixed |= completion.fixed[node.terms]
        excluded = np.flatnonzero(~completion.allowed[node.terms])
        if len(excluded):  # no admissible support holds them: the node without the first of them loses nothing
            position = int(excluded[0])
            self.open.append(_Open(node, position, fixed.copy(), node.f))
            return False
        return True

    def _evaluate(self, support: IntArray) -> None:
        value, bound = self.bounds.minimum(support)
        if bound < self.proved:
            value, bound = self.bounds.examined(support)
        if value < self.best.value:
            self.best = Found(support, value)
        if bound < self.proved:
            self.unsure = min(self.unsure, bound)

    def lower_bound(self) -> float:
        """No better than the open nodes allow, less a margin for rounding; what was closed is no better than the cutoff."""
        margin = self.bounds.tolerance * abs(self.best.value) + self.bounds.rounding
        return max(0.0, min([self.proved, self.unsure] + [node.bound - margin for node in self.open]))  # F >= 0

    def _proof(self, stopped: bool) -> Proof:
        closed = self.unsure >= self.proved and not any(node.bound < self.cutoff for node in self.open)
        return Proof(self.best, self.lower_bound(), closed, self.n_nodes, stopped and not closed)


@one_blas_thread()
def prove(
    problem: SparseProblem,
    start: Found,
    *,
    time_limit: float | None = None,
    node_limit: int | None = None,
    report: Report = silent,
    step: Step | None = None,
) -> Proof:
    """Branch and bound from a known support.

    Parameters
    ----------
    problem : SparseProblem
    start : Found
        Incumbent; the better it is, the fewer nodes.
    time_limit : float or None
        Seconds; at zero only the root is bounded.
    node_limit : int or None
        Nodes, or supports where they are tried one by one: unlike time, the same on every machine.
    report : callable
        Told incumbent, bound, gap and nodes from time to time.
    step : Step, optional
        The problem's solver, where one has been at work already.
    """
    limits = _Limits(time_limit, node_limit, time.monotonic())
    step = None if problem.is_wide else step
    problem = problem.paired()
    step = step or problem.step()

    def tell(tree: _Tree) -> None:
        bound = tree.lower_bound()
        gap = (tree.best.value - bound) / abs(tree.best.value)
        advance(limits.used(tree.n_nodes), "branch and bound")
        report(
            f"{tree.n_nodes} nodes: best {tree.best.value:.6g}, bound {bound:.6g}, gap {100 * gap:.2f} %, open {len(tree.open)}"
        )

    try:
        bounds = problem.loss.bounds(problem, step)
    except NoBound:
        return _enumerated(problem, step, start, -np.inf, limits, report)
    # the proof rests on the incumbent's value: as accurate as can be
    tree = _Tree(problem, bounds, Found(start.support, bounds.examined(start.support)[0]))
    if bounds.rounding <= COARSE * tree.best.value:
        return tree.search(limits, tell)
    root = tree.search(replace(limits, nodes=0), tell)
    return root if root.closed else _enumerated(problem, step, root.best, root.lower_bound or 0.0, limits, report)


def _enumerated(problem: SparseProblem, step: Step, start: Found, floor: float, limits: _Limits, report: Report) -> Proof:
    """Where rounding leaves no relaxation: every support by itself, if they are few; else what all terms together reach."""
    best, lowest, n_tried, stopped = start, np.inf, 0, False
    try:
        best = Found(start.support, step.bracket(start.support)[0])
        floor = max(floor, step.bracket(np.arange(problem.n_terms))[1])
        for support in _few_supports(problem):
            stopped = limits.used(n_tried) >= 1.0
            if stopped:
                break
            value, least = step.bracket(support)
            best = Found(support, value).better_of(best) if problem.rule.admissible(support) else best
            lowest, n_tried = min(lowest, least), n_tried + 1
            if n_tried % REPORT_EVERY == 0:
                report(f"{n_tried} supports one by one: best {best.value:.6g}")
    except NoBound:
        stopped = True
    if n_tried and not stopped:
        floor = max(floor, lowest)
    bound = float(max(floor, 0.0)) if floor > -np.inf else None  # F >= 0
    closed = bound is not None and bound >= best.value * (1.0 - ENUMERATED)
    return Proof(best, bound, closed, n_tried, stopped and not closed and limits.used(n_tried) >= 1.0)


def _few_supports(problem: SparseProblem) -> Iterator[IntArray]:
    """All supports of k terms, the largest ones that the rule could admit; none where they are too many."""
    required = problem.rule.required
    others = np.setdiff1d(np.arange(problem.n_terms), required)
    size = problem.k - len(required)
    if comb(len(others), size) <= MAX_ENUMERATED:
        for chosen in combinations(others.tolist(), size):
            yield np.union1d(required, np.array(chosen, dtype=np.intp)).astype(np.intp)
