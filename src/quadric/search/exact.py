"""Branch and bound: the best support, or a lower bound on what it could reach (docs/mathematics.md, section 7).

Where rounding leaves no relaxation, supports are tried one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from quadric.blas import one_blas_thread
from quadric.losses.base import Found, NoBound, Relaxation, SparseProblem, Step
from quadric.progress import STOP, Report, advance, silent
from quadric.search.ruled import bounds_of
from quadric.search.shapes import Ruled, solver_of
from quadric.search.tree import REPORT_EVERY, ProofLimits, Tree
from quadric.types import IntArray

# Margin for rounding, as a share of the objective, beyond which a tree would have to visit nearly every support.
COARSE = 1e-2
# Share of F by which a ridge may raise its minimum where columns are exactly dependent.
RIDGE_EFFECT = 5e-7
# Supports that are tried one by one instead.
MAX_ENUMERATED = 3000
# Relative difference of objectives that such a proof may leave.
ENUMERATED = 1e-7


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
    history : tuple of pairs
        Number of nodes and bound, each time that the bound had risen.
    """

    best: Found
    lower_bound: float | None
    closed: bool
    n_nodes: int
    stopped: bool = False
    history: tuple[tuple[int, float], ...] = ()


@one_blas_thread()
def prove(problem: SparseProblem, start: Found, *, step: Step | None = None, **how: Any) -> Proof:
    """Branch and bound from a known support, as in ``branch_and_bound``; what is proved is proved of F without a ridge.

    Parameters
    ----------
    problem : SparseProblem
    start : Found
    step : Step, optional
    **how : Any
        ProofLimits and the like.
    """
    # the solver of a wide problem knows no matrix of all pairs, which bounds need (section 7)
    step = None if problem.is_wide else step
    problem = problem.paired()
    proof, energy = branch_and_bound(problem, start, step=step, **how), problem.regulariser
    if energy is None or not energy.ridge or proof.lower_bound is None:
        return proof
    if energy.is_nearly_singular:
        return replace(proof, lower_bound=None, closed=False, history=())
    return replace(proof, lower_bound=proof.lower_bound * (1.0 - RIDGE_EFFECT))


def branch_and_bound(
    problem: SparseProblem,
    start: Found,
    *,
    time_limit: float | None = None,
    node_limit: int | None = None,
    gap_limit: float = 0.0,
    report: Report = silent,
    step: Step | None = None,
) -> Proof:
    """Branch and bound from a known support, for F with its ridge.

    Parameters
    ----------
    problem : SparseProblem
    start : Found
        Incumbent; the better it is, the fewer nodes.
    time_limit : float or None
        Seconds; at zero only the root is bounded.
    node_limit : int or None
        Nodes, or supports where they are tried one by one: unlike time, the same on every machine.
    gap_limit : float
        Relative gap at which to stop, once what is cheap has been done; at zero the proof goes to the end.
    report : callable
        Told incumbent, bound, gap and nodes from time to time.
    step : Step, optional
        The problem's solver, where one has been at work already.
    """
    limits = ProofLimits(time_limit, node_limit, gap_limit)
    step = step or problem.step()
    bounds = bounds_of(problem, step)
    relaxations = bounds.relaxations()
    if not relaxations:
        return _enumerated(problem, solver_of(problem, step), start, -np.inf, limits, report)
    # the proof rests on the incumbent's value: as accurate as can be
    tree = Tree(problem, bounds, Found(start.support, bounds.examined(start.support)[0]))
    if accurate := _accurate(relaxations, tree.best.value):
        with STOP.awaited():
            finished = tree.search(accurate, limits, _teller(limits, report))
        return Proof(tree.best, tree.lower_bound, tree.closed, tree.n_nodes, not finished, tuple(tree.history))
    tree.search(relaxations, replace(limits, nodes=0), _teller(limits, silent))
    if tree.closed:
        return Proof(tree.best, tree.lower_bound, True, tree.n_nodes, history=tuple(tree.history))
    return _enumerated(problem, solver_of(problem, step), tree.best, tree.lower_bound, limits, report)


@one_blas_thread()
def supports_below(
    problem: SparseProblem,
    start: Found,
    ceiling: float,
    *,
    time_limit: float | None = None,
    node_limit: int | None = None,
) -> tuple[tuple[Found, ...], float]:
    """All supports with an objective of at most ``ceiling``, as far as the limits allow; ``start`` is one that is known.

    Returns
    -------
    supports : tuple of Found
    complete_below : float
        All supports with an objective below this are there.
    """
    limits = ProofLimits(time_limit, node_limit)
    problem = problem.paired()
    bounds = bounds_of(problem, problem.step())
    accurate = _accurate(bounds.relaxations(), ceiling)
    if not accurate or (problem.regulariser is not None and problem.regulariser.is_nearly_singular):
        return (), 0.0
    tree = Tree(problem, bounds, start, ceiling)
    tree.search(accurate, limits, _teller(limits, silent))
    return tuple(tree.listed), tree.lower_bound


def _accurate(relaxations: list[Relaxation], value: float) -> list[Relaxation]:
    return [relaxation for relaxation in relaxations if relaxation.rounding <= COARSE * value]


def _teller(limits: ProofLimits, report: Report) -> Callable[[Tree], None]:

    def tell(tree: Tree) -> None:
        line = f"{tree.n_nodes} nodes: best {tree.best.value:.6g}, bound {tree.lower_bound:.6g}, gap {100 * tree.gap:.2f} %"
        share = limits.used(tree.n_nodes)
        advance(share, "branch and bound")
        advance(share, line)
        report(f"{line}, open {tree.n_open}")

    return tell


def _enumerated(
    problem: SparseProblem, step: Step | Ruled, start: Found, floor: float, limits: ProofLimits, report: Report
) -> Proof:
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
