"""Near ties: other supports that are almost as good, and what each single exchange would cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quadric.blas import one_blas_thread
from quadric.problem import LeastSquaresProblem, SparseProblem
from quadric.search.local import Found, HingeExplorer, LeastSquaresExplorer, explorer_for
from quadric.types import IntArray
from quadric.zstep import step_for

MAX_SUPPORTS = 100
MAX_SOLVED = 200
"""Exchanges that are solved for hinge, the most promising first."""


@dataclass(frozen=True)
class Swap:
    """Exchange of one term for another and the change of the objective, refit included."""

    out: int
    into: int
    change: float


@dataclass(frozen=True)
class NearTies:
    """What is almost as good as a support, the best first.

    Attributes
    ----------
    found : Found
        The support in question.
    swaps : list of Swap
        Single exchanges within the tolerance.
    supports : list of Found
        Supports within the tolerance, reached by one or more exchanges.
    """

    found: Found
    swaps: list[Swap]
    supports: list[Found]


@one_blas_thread()
def near_ties(problem: SparseProblem, support: IntArray, within: float) -> NearTies:
    """Supports with an objective of at most (1 + within) times that of ``support``."""
    step = step_for(problem)
    found = Found(support, step.refit(support).value)
    explorer = explorer_for(problem, step)
    ceiling = found.value * (1.0 + within)
    swaps = _swaps(explorer, found, ceiling)
    known = {found.support.tobytes(): found}
    waiting = [found]
    while waiting and len(known) <= MAX_SUPPORTS:
        origin = waiting.pop(0)
        for swap in swaps if origin is found else _swaps(explorer, origin, ceiling):
            other = Found(_exchanged(origin.support, swap), origin.value + swap.change)
            if other.support.tobytes() not in known and len(known) <= MAX_SUPPORTS:
                known[other.support.tobytes()] = other
                if isinstance(problem, LeastSquaresProblem):  # for hinge a second round would be too dear
                    waiting.append(other)
    others = sorted((other for other in known.values() if other is not found), key=lambda other: other.value)
    return NearTies(found, swaps, others)


def _swaps(explorer: object, found: Found, ceiling: float) -> list[Swap]:
    """Single exchanges of a support that stay below a ceiling, the best first."""
    if isinstance(explorer, LeastSquaresExplorer):
        explorer.tableau.go_to(found.support)
        out, into, change = explorer.tableau.exchanges()
    else:
        assert isinstance(explorer, HingeExplorer)
        out, into, change = _solved_exchanges(explorer, found, ceiling)
    rows, columns = np.nonzero(found.value + change <= ceiling)
    swaps = [Swap(int(out[i]), int(into[j]), float(change[i, j])) for i, j in zip(rows, columns, strict=True)]
    return sorted(swaps, key=lambda swap: swap.change)


def _solved_exchanges(explorer: HingeExplorer, found: Found, ceiling: float) -> tuple[IntArray, IntArray, np.ndarray]:
    """Changes by exchanges that the dual bound does not rule out, the most promising solved, infinity for the others."""
    bound = explorer.dual_tableau(found.support)
    out, into, least = bound.exchanges()
    order = np.argsort(explorer.model(found.support).exchanges()[2], axis=None)
    change = np.full(least.shape, np.inf)
    solved = 0
    for t in order:
        i, j = np.unravel_index(int(t), change.shape)
        if solved < MAX_SOLVED and found.value + least[i, j] <= ceiling:
            support = _exchanged(found.support, Swap(int(out[i]), int(into[j]), 0.0))
            change[i, j] = explorer.value(support) - found.value
            solved += 1
    return out, into, change


def _exchanged(support: IntArray, swap: Swap) -> IntArray:
    return np.sort(np.append(support[support != swap.out], swap.into))
