"""Searches under rules on slopes and coefficients: exchanges in the order of lower bounds (12.6), and bounds for proofs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import isclose

import numpy as np

from quadric.losses.base import IMPROVEMENT, WORKING_TERMS, Bounds, Explorer, NoBound, Relaxation, SparseProblem, Step
from quadric.losses.cuts import Infeasible
from quadric.losses.supports import Move
from quadric.progress import Report, silent
from quadric.search.decomposition import SearchResult
from quadric.search.exchanges import SLACK
from quadric.search.shapes import NOTHING_LEFT, Ruled, RuledFit
from quadric.types import IntArray

# Exchanges of one support that are refitted where there is no closed form, and the most promising of more.
MOST_REFITTED, FIRST_REFITTED = 300, 30
# Relative difference of two ways to the same minimum up to which closed forms for exchanges are trusted.
SAME_VALUE = 1e-6


class RuledBounds(Bounds):
    """Bounds without rules, which hold under them, and fits under rules for the supports whose bounds are low enough.

    Parameters
    ----------
    bounds : Bounds
    ruled : Ruled
    """

    def __init__(self, bounds: Bounds, ruled: Ruled) -> None:
        self._bounds, self._ruled = bounds, ruled
        self.tolerance, self.cheap_nodes = bounds.tolerance, bounds.cheap_nodes

    def relaxations(self) -> list[Relaxation]:
        return self._bounds.relaxations()

    def minimum(self, support: IntArray) -> tuple[float, float]:
        return self._bounds.minimum(support)

    def examined(self, support: IntArray) -> tuple[float, float]:
        try:
            return self._ruled.bracket(support)
        except NoBound:
            return self._ruled.refit(support).value, self._bounds.minimum(support)[1]


def bounds_of(problem: SparseProblem, step: Step) -> Bounds:
    """What branch and bound asks of a problem, under its rules on coefficients if there are any."""
    bounds = problem.loss.bounds(problem, step)
    return bounds if problem.shape is None else RuledBounds(bounds, Ruled(problem, step))


def exchanges_under(problem: SparseProblem, support: IntArray, ceiling: float, most: int) -> Iterator[tuple[Move, float]]:
    """Exchanges of one term after which F under rules is below a ceiling, with its value; of many the ``most`` likeliest."""
    ruled, explorer = Ruled(problem), problem.explorer()
    fit, moves = _best_of(ruled, [support]), problem.rule.moves(support)
    outlook = explorer.under(fit.solution, support, moves, ruled.pulls(fit))
    left = np.argwhere(outlook.least <= ceiling)
    for i, j in left[np.argsort(outlook.likely[tuple(left.T)], kind="stable")][:most]:
        move = Move((int(moves.out[i]),), (int(moves.into[j]),))
        other = ruled.fit(move.applied(support), fit.cuts, np.nextafter(ceiling, np.inf))
        if other is not None:
            yield move, other.value


def searched_under(
    problem: SparseProblem, result: SearchResult, going: Callable[[], bool], report: Report = silent
) -> SearchResult:
    """The best surface under the rules of a problem on the terms of a search without them, or where exchanges lead from there.

    Parameters
    ----------
    problem : SparseProblem
    result : SearchResult
    going : callable
        Whether to exchange terms.
    report : callable
    """
    fit, swap_optimal = best_under(problem, [result.support], going, report)
    z, c = fit.solution.z, fit.solution.c
    return replace(result, z=z, c=c, support=fit.support, objective=fit.value, swap_optimal=swap_optimal, lower_bound=None)


def best_under(
    problem: SparseProblem, supports: Sequence[IntArray], going: Callable[[], bool], report: Report = silent
) -> tuple[RuledFit, bool | None]:
    """Where moves under the rules of a problem end that begin with the best of several supports, or of a cheaper loss.

    Returns
    -------
    fit : RuledFit
    swap_optimal : bool or None
        Whether every exchange of one term is known to be useless; None: that is not known.
    """
    pool = problem.promising(WORKING_TERMS, np.unique(np.concatenate(supports))) if problem.is_wide else problem
    ruled, starts = Ruled(pool), [np.searchsorted(pool.terms, problem.terms[support]) for support in supports]
    if going() and (screen := pool.screen()) is not None:
        starts.append(_descended(Ruled(screen), screen.explorer(), _best_of(Ruled(screen), starts), going)[0].support)
    fit, swap_optimal = _best_of(ruled, starts), None
    report(f"under the rules: objective {fit.value:.6g}")
    if going():
        fit, swap_optimal = _descended(ruled, pool.explorer(), fit, going, report)
    if pool is problem:
        return fit, swap_optimal
    z, support = np.zeros(problem.n_terms), np.searchsorted(problem.terms, pool.terms[fit.support])
    z[support] = fit.solution.z[fit.support]
    return replace(fit, support=support, solution=replace(fit.solution, z=z)), None


def _best_of(ruled: Ruled, supports: Sequence[IntArray]) -> RuledFit:
    fits = [fit for support in supports if (fit := ruled.fit(support)) is not None]
    if not fits:
        safer = (other for support in supports for other in _safer(ruled, support))
        fits = [fit for support in safer if (fit := ruled.fit(support)) is not None]
    if not fits:
        raise Infeasible(NOTHING_LEFT)
    return min(fits, key=lambda fit: fit.value)


def _safer(ruled: Ruled, support: IntArray) -> list[IntArray]:
    """Supports like one with which nothing is left: with the linear terms that ruled features need, and without these."""
    rule, needs = ruled.problem.rule, ruled.heredity.closed(ruled.problem.rule.required)
    others = np.setdiff1d(ruled.heredity.repaired(support), needs)
    with_linear = np.union1d(needs, others[: max(len(support) - len(needs), 0)])
    without = np.union1d(rule.required, support[~ruled.is_ruled[support]])
    return [each for each in (with_linear, without) if len(each) <= len(support) and rule.admissible(each)]


def _descended(
    ruled: Ruled, explorer: Explorer, fit: RuledFit, going: Callable[[], bool], report: Report = silent
) -> tuple[RuledFit, bool | None]:
    """Where moves end that help, and whether every exchange of one term is known to be useless there; None: it is not."""
    while True:
        better, decided = _exchanged(ruled, explorer, fit, going)
        if better is None and going():
            better = next(_compounds(ruled, explorer, fit), None)
        if better is None:
            return fit, decided
        fit = better
        report(f"exchanges under the rules: objective {fit.value:.6g}")


def is_swap_optimal_under(problem: SparseProblem, support: IntArray) -> bool | None:
    """Whether no exchange of one term helps under the rules of a problem; None: that cannot be told."""
    if problem.is_wide:
        return None
    ruled = Ruled(problem)
    fit = ruled.fit(support)
    if fit is None:
        return None
    better, decided = _exchanged(ruled, problem.explorer(), fit, lambda: True)
    return False if better is not None else decided


def _exchanged(
    ruled: Ruled, explorer: Explorer, fit: RuledFit, going: Callable[[], bool]
) -> tuple[RuledFit | None, bool | None]:
    """The best exchange of one term, or any that helps where refits take long; else whether all are known to be useless."""
    problem = ruled.problem
    moves = problem.rule.moves(fit.support)
    outlook = explorer.under(fit.solution, fit.support, moves, ruled.pulls(fit))
    # values of refits carry errors of their own where there is no closed form
    ceiling = fit.value * (1.0 - (IMPROVEMENT if problem.loss.cheap_exchanges else SLACK))
    left = np.argwhere(outlook.least < ceiling)
    left = left[np.argsort(outlook.likely[tuple(left.T)], kind="stable")]
    best, few = None, problem.loss.cheap_exchanges or len(left) <= MOST_REFITTED
    # a closed form that does not find the value of the support itself has lost its digits
    is_sure = few and (not problem.loss.cheap_exchanges or isclose(outlook.here, fit.value, rel_tol=SAME_VALUE))
    for i, j in left if few else left[:FIRST_REFITTED]:
        if outlook.least[i, j] >= ceiling:
            continue
        if not going():
            return best, None
        support = Move((int(moves.out[i]),), (int(moves.into[j]),)).applied(fit.support)
        other = ruled.fit(support, fit.cuts, ceiling)
        if other is not None:
            best, ceiling = other, other.value
            if not problem.loss.cheap_exchanges:
                break
    return best, True if is_sure else None


def _compounds(ruled: Ruled, explorer: Explorer, fit: RuledFit) -> Iterator[RuledFit]:
    """Better supports by products that enter together with the linear terms without which rules on slopes make them zero."""
    for move in explorer.compounds(fit.support, ruled.heredity):
        support, ceiling = move.applied(fit.support), fit.value * (1.0 - SLACK)
        if ruled.problem.rule.admissible(support) and (other := ruled.fit(support, fit.cuts, ceiling)) is not None:
            yield other
