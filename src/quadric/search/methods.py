"""The three ways to choose the terms of one surface: "pd", "best" and "exact"."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import isclose

import numpy as np
from scipy.linalg import LinAlgError

from quadric.blas import one_blas_thread
from quadric.geometry.energy import Energy
from quadric.losses.base import Explorer, Found, SparseProblem, Step
from quadric.losses.pass_problem import StreamedFit, StreamedProblem
from quadric.losses.supports import Move
from quadric.progress import Report, silent
from quadric.search.decomposition import Schedule, SearchResult, Status, decompose
from quadric.search.exact import prove
from quadric.search.exchanges import better_by_refits, exchanged, exchanged_by_refits, is_swap_optimal_by_passes
from quadric.search.ruled import SAME_VALUE, is_swap_optimal_under, searched_under
from quadric.search.shapes import Ruled, solver_of
from quadric.types import IntArray

# Perturbations of the support of a cheaper loss that a search starts from.
START_KICKS = 30
# Terms among which perturbations move; of more, those that forward selection finds promising.
MOST_PERTURBED = 400
# Exchanges of one support that are examined where no closed form tells: by passes over many rows, to certify a model, and at
# the end of a search on few rows.
MOST_EXAMINED, MOST_CERTIFIED, MOST_POLISHED = 4000, 1000, 300
# Rows that are looked at in all, about, for as many exchanges at the end of a search as certificates examine: what these would
# find, a fit should have found.
POLISHED_ROWS = 5_000_000
# Exchanges of one support that are otherwise refitted one by one.
MAX_EXCHANGES = 500


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
    gap_limit : float
        Relative gap at which the proof of "exact" may stop.
    most_examined : int or None
        Exchanges of one support that are examined by passes over many rows; where more are left, only the most promising are.
        None: MOST_EXAMINED.
    """

    schedule: Schedule = field(default_factory=Schedule)
    seed: tuple[int, ...] = (0,)
    report: Report = silent
    starts: tuple[IntArray, ...] = ()
    gap_limit: float = 0.0
    most_examined: int | None = None


def search_pd(problem: SparseProblem, options: SearchOptions) -> SearchResult:
    """Penalty decomposition and its refit."""
    result = _decomposed(problem, problem.decomposable(), options)
    if problem.shape is not None:
        result = searched_under(problem, result, lambda: False)
    optimal = is_swap_optimal(problem, Found(result.support, result.objective))
    return replace(result, swap_optimal=optimal)


def search_best(problem: SparseProblem, options: SearchOptions) -> SearchResult:
    """Decomposition and forward selection, then local search; never worse than the decomposition alone.

    Where there are very many rows: the same on a random sample, then exchanges by passes over all of them. Under rules on
    coefficients: exchanges from where all that ends without them.
    """
    going = clock(options.schedule.time_limit)
    if problem.by_passes and (stream := problem.streamed(searched=True)) is not None:
        stream.passes.going = going
        result = of_passes(stream, *search_by_passes(stream, options))
    else:
        result = _polished(problem, search_locally(problem, options), options, going)
    return result if problem.shape is None else searched_under(problem, result, going, options.report)


def _polished(problem: SparseProblem, result: SearchResult, options: SearchOptions, going: Callable[[], bool]) -> SearchResult:
    """Exchanges until each is proved to be useless, where no closed form has told already and they are few."""
    if problem.loss.cheap_exchanges or problem.shape is not None or not going():
        return result
    if len(problem.parts) > 1:
        return _polished_by_refits(problem, result, going)
    if (stream := problem.streamed(searched=False)) is None:
        return result
    support = result.support
    try:
        stream.passes.going = going
        fit = stream.fit(support, stream.surface(support, result.z[support], result.c))
        most = min(max(MOST_POLISHED, POLISHED_ROWS // stream.survey.n_rows), MOST_CERTIFIED)
        fit, swap_optimal = exchanged(stream, problem.explorer(), fit, most, options.report)
    except LinAlgError:  # singular up to rounding: nothing can be told
        return result
    result = _refitted(result, problem.step(), fit.support)
    return replace(result, swap_optimal=swap_optimal if np.array_equal(result.support, fit.support) else None)


def _polished_by_refits(problem: SparseProblem, result: SearchResult, going: Callable[[], bool]) -> SearchResult:
    """The same where several classes share their terms."""
    step, start = problem.step(), Found(result.support, result.objective)
    try:
        found, optimal = exchanged_by_refits(problem, step, start, MOST_POLISHED, going)
    except LinAlgError:  # singular up to rounding: nothing can be told
        return result
    result = _refitted(result, problem.step(), found.support)
    return replace(result, swap_optimal=optimal if np.array_equal(result.support, found.support) else None)


def search_by_passes(stream: StreamedProblem, options: SearchOptions) -> tuple[StreamedFit, SearchResult]:
    """Where exchanges end that start from a search on a random sample or from a cheaper loss on all rows; and that search.

    What the search says of exchanges is replaced by what all rows say of them.
    """
    sample, going = stream.sample_problem(), stream.passes.going
    screened = screened_support(stream.screen(), np.random.default_rng(options.seed), going)
    local = search_locally(sample, replace(options, starts=(*options.starts, screened)))
    options.report(f"search on {len(stream.survey.sample)} random rows: objective {local.objective:.6g}")
    starts = {support.tobytes(): support for support in (local.support, screened, *options.starts)}
    fits = (stream.fit(support) for number, support in enumerate(starts.values()) if number == 0 or going())
    fit = min(fits, key=lambda fit: fit.value)
    most = MOST_EXAMINED if options.most_examined is None else options.most_examined
    fit, swap_optimal = exchanged(stream, sample.explorer(), fit, most, options.report)
    return stream.exact(fit) if going() else fit, replace(local, swap_optimal=swap_optimal)


def of_passes(stream: StreamedProblem, fit: StreamedFit, local: SearchResult) -> SearchResult:
    """The surface that passes ended with, and how it was found."""
    z = np.zeros(len(stream.terms))
    z[fit.support] = fit.w[:-1]
    status = local.status if stream.passes.going() else Status.TIME_LIMIT
    c = stream.intercept(fit.support, fit.w)
    return replace(local, z=z, c=c, support=fit.support, objective=fit.value, status=status)


def search_locally(problem: SparseProblem, options: SearchOptions) -> SearchResult:
    """Search with all rows in memory."""
    step, going = problem.step(), clock(options.schedule.time_limit)
    result = _decomposed(problem, problem.promising(MOST_PERTURBED) if problem.is_wide else problem, options, step)
    explorer = problem.explorer(step)
    found = Found(result.support, result.objective)
    rng = np.random.default_rng(options.seed)
    if going():
        starts = (result.support, promising_support(problem, explorer, rng), *options.starts)
        found = explorer.descend_from(starts).better_of(found)
    options.report(f"local search: objective {found.value:.6g}, decomposition alone {result.objective:.6g}")
    finalists = _perturbed(problem, explorer, found, rng, going)
    found = finalists[-1]
    if problem.loss.cheap_exchanges:
        found = _verified(problem, step, found, finalists)
    options.report(f"after perturbations: objective {found.value:.6g}")
    result = _refitted(replace(result, status=result.status if going() else Status.TIME_LIMIT), problem.step(), found.support)
    optimal = _in_closed_form(problem, Found(result.support, result.objective))
    return replace(result, swap_optimal=optimal)


def _decomposed(problem: SparseProblem, pool: SparseProblem, options: SearchOptions, step: Step | None = None) -> SearchResult:
    """The decomposition of a problem, or of the same on some of its candidates."""
    if pool is problem:
        return decompose(problem, options.schedule, step=step, report=options.report)
    places, result = np.searchsorted(problem.terms, pool.terms), decompose(pool, options.schedule, report=options.report)
    z = np.zeros(problem.z_shape)
    z[places] = result.z
    trace = tuple(replace(row, support=places[row.support]) for row in result.trace)
    return replace(result, z=z, support=places[result.support], trace=trace)


def search_exact(problem: SparseProblem, options: SearchOptions) -> SearchResult:
    """The best support by branch and bound, from where local search ended; the bound holds also when time runs out.

    Under rules on coefficients bounds are those without them: they seldom close the gap where the rules cost much.
    """
    limit = options.schedule.time_limit
    local = search_best(problem, replace(options, schedule=replace(options.schedule, time_limit=None)))
    start = Found(local.support, local.objective)
    proof = prove(problem, start, time_limit=limit, gap_limit=options.gap_limit, report=options.report)
    local = _refitted(local, solver_of(problem), proof.best.support)
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
    result = METHODS[method](problem, options)
    return replace(result, swap_optimal=without_ridge(result.swap_optimal, problem.regulariser))


def without_ridge(swap_optimal: bool | None, energy: Energy | None) -> bool | None:
    """What is known of exchanges for F with its ridge, as far as it is true of F itself; as bounds in ``exact.prove``."""
    return None if swap_optimal and energy is not None and energy.is_nearly_singular else swap_optimal


def promising_support(problem: SparseProblem, explorer: Explorer, rng: np.random.Generator) -> IntArray:
    """Forward selection; where a cheaper loss can screen for this one, the end of a search with that."""
    screen = problem.screen()
    if screen is None:
        return explorer.resized(problem.rule.required, problem.k)
    return screened_support(screen, rng)


def screened_support(screen: SparseProblem, rng: np.random.Generator, going: Callable[[], bool] = lambda: True) -> IntArray:
    """The end of a search with a cheaper loss."""
    scout = screen.explorer()
    start = scout.descend(scout.resized(screen.rule.required, screen.k))
    return scout.refined(start, rng, START_KICKS, going).support


def _perturbed(
    problem: SparseProblem, explorer: Explorer, found: Found, rng: np.random.Generator, going: Callable[[], bool]
) -> list[Found]:
    """What perturbations and fresh starts lead to, the best last; among the likeliest terms where there are very many."""
    # with too many terms for one matrix, the explorer itself stays among the likeliest
    pool = problem if problem.is_wide else problem.promising(MOST_PERTURBED, found.support)
    everywhere = pool is problem
    scout = explorer if everywhere else pool.explorer()
    finalists = [found if everywhere else Found(np.searchsorted(pool.terms, problem.terms[found.support]), found.value)]
    finalists.append(scout.refined(finalists[0], rng, problem.loss.kicks // problem.rule.reach, going))
    if (restarts := problem.loss.restarts // problem.rule.reach) > 0:  # another basin, where that costs little
        finalists.append(scout.restarted(problem.k, rng, restarts, going))
        finalists.append(scout.refined(finalists[-1], rng, restarts, going).better_of(finalists[1]))
    if everywhere:
        return finalists
    finalists = [Found(np.searchsorted(problem.terms, pool.terms[end.support]), end.value) for end in finalists]
    return [*finalists, explorer.descend(finalists[-1].support).better_of(finalists[-1])]


def is_swap_optimal(problem: SparseProblem, found: Found, most: int = MOST_POLISHED) -> bool | None:
    """Whether no exchange of one term helps: in closed form, or by examining those that duality leaves if they are few."""
    return without_ridge(_is_swap_optimal(problem, found, most), problem.regulariser)


def _is_swap_optimal(problem: SparseProblem, found: Found, most: int) -> bool | None:
    if problem.shape is not None:
        return is_swap_optimal_under(problem, found.support)
    if problem.loss.cheap_exchanges:
        return _in_closed_form(problem, found)
    try:
        if len(problem.parts) > 1:
            step = problem.step()
            better, decided = better_by_refits(problem, step, found, most)
            return False if better is not None else decided
        stream = problem.streamed(searched=False)
        return None if stream is None else is_swap_optimal_by_passes(stream, stream.fit(found.support), most)
    except LinAlgError:  # singular up to rounding
        return None


def _in_closed_form(problem: SparseProblem, found: Found) -> bool | None:
    """The same where a closed form tells and rounding has left it its digits."""
    if not problem.loss.cheap_exchanges:
        return None
    end = problem.explorer().descend(found.support)
    if np.array_equal(end.support, found.support):
        return True if isclose(end.value, found.value, rel_tol=SAME_VALUE) else None
    better = Found(end.support, problem.step().refit(end.support).value)
    return False if better.beats(found) else None


def _verified(problem: SparseProblem, step: Step, found: Found, finalists: Sequence[Found]) -> Found:
    """What a search found by closed forms, by exact refits; where they differ, the best of all finalists, exchanged further."""
    exact = Found(found.support, step.refit(found.support).value)
    if isclose(exact.value, found.value, rel_tol=SAME_VALUE):
        return exact
    for other in finalists:
        exact = Found(other.support, step.refit(other.support).value).better_of(exact)
    return _exchanged(problem, step, exact)


def _exchanged(problem: SparseProblem, step: Step, found: Found) -> Found:
    """The end of exchanges that are refitted one by one, as far as they are few."""
    while True:
        moves = problem.rule.moves(found.support)
        if len(moves.out) * len(moves.into) > MAX_EXCHANGES:
            return found
        pairs = [Move((out,), (into,)) for out in moves.out.tolist() for into in moves.into.tolist()]
        supports = [support for pair in pairs if problem.rule.admissible(support := pair.applied(found.support))]
        best = min((Found(s, step.refit(s).value) for s in supports), key=lambda other: other.value, default=found)
        if not best.beats(found):
            return found
        found = best


def _refitted(result: SearchResult, step: Step | Ruled, support: IntArray) -> SearchResult:
    """The result with another support, if its refit is better; by a fresh solver no bit depends on the way there."""
    if not np.array_equal(support, result.support) and (refit := step.refit(support)).value < result.objective:
        return replace(result, z=refit.z, c=refit.c, support=support, objective=refit.value)
    return result


def clock(limit: float | None) -> Callable[[], bool]:
    """Says whether there is time left."""
    began = time.monotonic()
    return lambda: limit is None or time.monotonic() - began < limit
