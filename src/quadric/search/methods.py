"""The three ways to choose the terms of one surface: "pd", "best" and "exact"."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from quadric.blas import one_blas_thread
from quadric.losses.base import Explorer, Found, SparseProblem, Step
from quadric.progress import Report, silent
from quadric.search.decomposition import Decomposition, Schedule, Status, decompose
from quadric.search.exact import prove
from quadric.types import IntArray

START_KICKS = 30
"""Perturbations of the support of a cheaper loss that a search starts from."""


@dataclass(frozen=True)
class SearchOptions:
    """How to search.

    Attributes
    ----------
    schedule : Schedule
        Of the decomposition; its time limit bounds the whole of "pd" and "best", and the proof of "exact".
    seed : tuple of int
        Of the perturbations.
    report : callable
        Told one line of progress now and then.
    starts : tuple of arrays
        Further supports that the local search of "best" and "exact" starts from.
    """

    schedule: Schedule = field(default_factory=Schedule)
    seed: tuple[int, ...] = (0,)
    report: Report = silent
    starts: tuple[IntArray, ...] = ()


@dataclass(frozen=True)
class SearchResult(Decomposition):
    """A surface, fitted exactly on its support, and how it was found.

    Attributes
    ----------
    swap_optimal : bool or None
        Whether no exchange of one term helps; None: not examined.
    lower_bound : float or None
        On the objective of any k terms; None: not computed.
    """

    swap_optimal: bool | None = None
    lower_bound: float | None = None


def search_pd(problem: SparseProblem, options: SearchOptions) -> SearchResult:
    """Penalty decomposition and its refit."""
    step = problem.step()
    result = decompose(problem, options.schedule, step=step, report=options.report)
    return _result(problem, step, result, Found(result.support, result.objective))


def search_best(problem: SparseProblem, options: SearchOptions) -> SearchResult:
    """Decomposition and forward selection, then local search; never worse than the decomposition alone."""
    step, going = problem.step(), _clock(options.schedule.time_limit)
    result = decompose(problem, options.schedule, step=step, report=options.report)
    explorer = problem.explorer(step)
    found = Found(result.support, result.objective)
    rng = np.random.default_rng(options.seed)
    if going():
        starts = (result.support, promising_support(problem, explorer, rng), *options.starts)
        found = explorer.descend_from(starts).better_of(found)
    options.report(f"local search: objective {found.value:.6g}, decomposition alone {result.objective:.6g}")
    found = explorer.refined(found, rng, problem.loss.kicks, going)
    if (restarts := problem.loss.restarts) > 0:  # another basin, where that costs little
        fresh = explorer.restarted(problem.k, rng, restarts, going)
        found = explorer.refined(fresh, rng, restarts, going).better_of(found)
    options.report(f"after perturbations: objective {found.value:.6g}")
    status = result.status if going() else Status.TIME_LIMIT
    return _result(problem, step, replace(result, status=status), found)


def search_exact(problem: SparseProblem, options: SearchOptions) -> SearchResult:
    """The best support by branch and bound, from where local search ended; the bound holds also when time runs out."""
    limit = options.schedule.time_limit
    local = search_best(problem, replace(options, schedule=replace(options.schedule, time_limit=None)))
    proof = prove(problem, Found(local.support, local.objective), time_limit=limit, report=options.report)
    refit = problem.step().refit(proof.best.support)
    if refit.value < local.objective:
        local = replace(local, z=refit.z, c=refit.c, support=proof.best.support, objective=refit.value)
    return replace(
        local,
        status=Status.OPTIMAL if proof.closed else Status.TIME_LIMIT if proof.stopped else local.status,
        lower_bound=proof.lower_bound,
        swap_optimal=True if proof.closed else local.swap_optimal,
    )


METHODS: dict[str, Callable[[SparseProblem, SearchOptions], SearchResult]] = {
    "pd": search_pd,
    "best": search_best,
    "exact": search_exact,
}


@one_blas_thread()
def search(problem: SparseProblem, method: str, options: SearchOptions) -> SearchResult:
    """Run one of METHODS on a problem."""
    return METHODS[method](problem, options)


def promising_support(problem: SparseProblem, explorer: Explorer, rng: np.random.Generator) -> IntArray:
    """Forward selection; where a cheaper loss can screen for this one, the end of a search with that."""
    screen = problem.screen()
    if screen is None:
        return explorer.resized(problem.rule.required, problem.k)
    scout = screen.explorer()
    start = scout.descend(scout.resized(problem.rule.required, problem.k))
    return scout.refined(start, rng, START_KICKS, lambda: True).support


def is_swap_optimal(problem: SparseProblem, found: Found) -> bool | None:
    """Whether no exchange of one term helps, where a closed form tells."""
    if not problem.loss.cheap_exchanges:
        return None
    return not problem.explorer().descend(found.support).beats(found)


def _result(problem: SparseProblem, step: Step, result: Decomposition, found: Found) -> SearchResult:
    """The found support, refitted, unless the decomposition's is as good."""
    if found.value < result.objective and (refit := step.refit(found.support)).value < result.objective:
        result = replace(result, z=refit.z, c=refit.c, support=found.support, objective=refit.value)
    optimal = is_swap_optimal(problem, Found(result.support, result.objective))
    return SearchResult(**vars(result), swap_optimal=optimal)


def _clock(limit: float | None) -> Callable[[], bool]:
    """Says whether there is time left."""
    began = time.monotonic()
    return lambda: limit is None or time.monotonic() - began < limit
