"""Near ties: other supports that are almost as good, and what each single exchange would cost."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from quadric.blas import one_blas_thread
from quadric.losses.base import Explorer, Found, SparseProblem
from quadric.losses.supports import Move
from quadric.search.exact import supports_below
from quadric.search.ruled import exchanges_under
from quadric.search.shapes import solver_of
from quadric.types import IntArray

MAX_SUPPORTS = 100
# Exchanges of one term that are refitted under rules on coefficients.
MAX_REFITTED = 500


@dataclass(frozen=True)
class Swap:
    """Exchange of one term for another and the change of the objective, refit included."""

    out: int
    into: int
    change: float


@dataclass(frozen=True)
class TiedSupports:
    """What is almost as good as a support, the best first.

    Attributes
    ----------
    found : Found
        The support in question.
    swaps : list of Swap
        Single exchanges within the tolerance.
    supports : list of Found
        Supports within the tolerance, reached by one or more exchanges, or all of them.
    complete_within : float or None
        Relative increase of the objective below which no other support exists; None: nothing was proved.
    """

    found: Found
    swaps: list[Swap]
    supports: list[Found]
    complete_within: float | None = None


@one_blas_thread()
def near_ties(problem: SparseProblem, support: IntArray, within: float) -> TiedSupports:
    """Supports with an objective of at most (1 + within) times that of ``support``."""
    step = problem.step()
    found = Found(support, solver_of(problem, step).refit(support).value)
    explorer = problem.explorer(step)
    ceiling = found.value * (1.0 + within)
    swaps = _swaps(explorer, found, ceiling) if problem.shape is None else _swaps_under(problem, found, ceiling)
    met = {found.support.tobytes(): found}
    waiting = [found]
    while waiting and len(met) <= MAX_SUPPORTS:
        origin = waiting.pop(0)  # breadth first: a list that is full lacks those that take most exchanges
        for swap in swaps if origin is found else _swaps(explorer, origin, ceiling):
            other = Found(Move((swap.out,), (swap.into,)).applied(origin.support), origin.value + swap.change)
            if other.support.tobytes() not in met and len(met) <= MAX_SUPPORTS:
                met[other.support.tobytes()] = other
                if problem.loss.cheap_exchanges and problem.shape is None:  # otherwise a second round would take too long
                    waiting.append(other)
    others = sorted((other for other in met.values() if other is not found), key=lambda other: other.value)
    return TiedSupports(found, swaps, others)


@one_blas_thread()
def proved_ties(
    problem: SparseProblem, support: IntArray, within: float, *, time_limit: float | None, node_limit: int | None
) -> TiedSupports:
    """The same with all supports, by branch and bound with its cut-off at the ceiling, as far as its limits allow."""
    ties = near_ties(problem, support, within)
    ceiling = ties.found.value * (1.0 + within)
    listed, below = supports_below(problem, ties.found, ceiling, time_limit=time_limit, node_limit=node_limit)
    # what exchanges have met keeps the value that they found for it
    met = {other.support.tobytes(): other for other in (*listed, *ties.supports, ties.found)}
    others = sorted((other for other in met.values() if other is not ties.found), key=lambda other: other.value)
    # where limits stopped the tree, every support below its bound is listed
    complete = within if below >= ceiling else below / ties.found.value - 1.0
    return replace(ties, supports=others, complete_within=complete)


def _swaps_under(problem: SparseProblem, found: Found, ceiling: float) -> list[Swap]:
    pairs = exchanges_under(problem, found.support, ceiling, MAX_REFITTED)
    swaps = [Swap(int(move.out[0]), int(move.into[0]), value - found.value) for move, value in pairs]
    return sorted(swaps, key=lambda swap: swap.change)


def _swaps(explorer: Explorer, found: Found, ceiling: float) -> list[Swap]:
    moves, change = explorer.exchanges(found, ceiling)
    swaps = [
        Swap(int(moves.out[i]), int(moves.into[j]), float(change[i, j]))
        for i, j in zip(*np.nonzero(found.value + change <= ceiling), strict=True)
    ]
    return sorted(swaps, key=lambda swap: swap.change)
