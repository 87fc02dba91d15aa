"""The search for samples that need not fit in memory: by passes over all of them (losses/streams.py).

It starts from the support of the squared loss on all rows and from a search on a random sample. Exchanges are ranked by a
model on the sample, ruled out by duality and solved by the loss; a move counts by its value on all rows. Where no
exchange is left below the objective, the support is swap-optimal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from quadric.blas import one_blas_thread
from quadric.losses import loss_named
from quadric.losses.base import Limits, Move
from quadric.losses.passes import SampleSource
from quadric.losses.ranked import RankedExplorer
from quadric.losses.streams import Passes, StreamedFit, StreamedProblem, Trial
from quadric.losses.survey import SAMPLE_ROWS, SurveyPass
from quadric.search.decomposition import Status
from quadric.search.methods import SearchOptions, SearchResult, clock, screened_support, search_best, search_pd
from quadric.types import IntArray

SLACK = 1e-6
"""Share of the objective by which a support that counts as swap-optimal may be beaten."""
FIRST, NEXT = 16, 256
"""Exchanges that are examined together: the most promising, then the others."""
MOST_EXAMINED = 4000
"""Exchanges of one support that are examined; of more, nothing is claimed."""
MOST_FITTED = 20
"""Exchanges of one support that are fitted with passes of their own, where the rows of one pass do not decide."""


@dataclass(frozen=True)
class StreamedResult(SearchResult):
    """A surface from passes.

    Attributes
    ----------
    terms : array
        The candidate terms that z and the support run over, as positions in the full z.
    support_bound : float
        What no surface on the support is below: (objective - support_bound) / objective is the certified gap.
    n_passes : int
        Over all samples.
    """

    terms: IntArray | None = None
    support_bound: float = -np.inf
    n_passes: int = 0


@dataclass(frozen=True)
class _Judged:
    """A fit, and whether no exchange of one term helps."""

    fit: StreamedFit
    swap_optimal: bool | None


@one_blas_thread()
def fit_streamed(
    source: SampleSource,
    loss: str,
    positive: int,
    C: float,
    k: int,
    limits: Limits,
    *,
    method: str = "best",
    options: SearchOptions | None = None,
    terms: IntArray | None = None,
    sample_rows: int = SAMPLE_ROWS,
) -> StreamedResult:
    """One surface of samples that are passed over again and again.

    Parameters
    ----------
    source : SampleSource
    loss : str
        One that fits by passes.
    positive : int
        The class against the rest.
    C, k : float, int
    limits : Limits
    method : "best" or "pd"
        "pd": penalty decomposition on a random sample chooses the terms, and all rows their coefficients.
    options : SearchOptions, optional
    terms : array, optional
        Terms that are given, as positions in the full z: nothing is searched.
    sample_rows : int
        Rows of the random sample.

    Returns
    -------
    StreamedResult
    """
    options, passes = options or SearchOptions(), Passes(source)
    survey = passes.total(SurveyPass(positive, terms is None, sample_rows))
    make = loss_named(loss).streamed
    if make is None:
        raise ValueError(f"loss={loss!r} does not fit by passes")
    stream = make(passes, survey, positive, limits, C, k)
    if terms is not None:
        return _result(stream, _Judged(stream.fit(np.searchsorted(stream.terms, np.sort(terms))), None), None)
    return search_streamed(stream, method, options)


def search_streamed(stream: StreamedProblem, method: str, options: SearchOptions) -> StreamedResult:
    """Choose the terms of a problem, whose survey has moments."""
    going = clock(options.schedule.time_limit)
    sample = stream.sample_problem()
    if method == "pd":
        local = search_pd(sample, options)
        return _result(stream, _Judged(stream.fit(local.support), None), local)
    screened = screened_support(stream.screen(), np.random.default_rng(options.seed))
    local = search_best(sample, replace(options, starts=(*options.starts, screened)))
    options.report(f"search on {len(stream.survey.sample)} random rows: objective {local.objective:.6g}")
    starts = {support.tobytes(): support for support in (local.support, screened)}
    fit = min((stream.fit(support) for support in starts.values()), key=lambda fit: fit.value)
    explorer = sample.explorer()
    assert isinstance(explorer, RankedExplorer)
    judged = _descend(stream, explorer, fit, options, going)
    return _result(stream, judged, local if going() else replace(local, status=Status.TIME_LIMIT))


def is_swap_optimal_streamed(stream: StreamedProblem, support: IntArray, most: int) -> bool | None:
    """Whether no exchange of one term helps, where few enough of them have to be examined."""
    fit = stream.fit(support)
    ceiling = fit.value * (1.0 - SLACK)
    supports = [move.applied(support) for move in _open(stream, fit, ceiling)]
    if len(supports) > most:
        return None
    better, decided = _better(stream, fit, supports, ceiling)
    return False if better is not None else decided


def _descend(
    stream: StreamedProblem, explorer: RankedExplorer, fit: StreamedFit, options: SearchOptions, going: Callable[[], bool]
) -> _Judged:
    """Exchanges until none helps, or until they are too many to tell."""
    while going():
        options.report(f"{stream.passes.count} passes: objective {fit.value:.8g}, gap {fit.gap:.1e}")
        ceiling = fit.value * (1.0 - SLACK)
        supports = _ranked(explorer, fit.support, _open(stream, fit, ceiling))
        better, decided = _better(stream, fit, supports[:MOST_EXAMINED], ceiling)
        if better is None:
            return _Judged(fit, True if decided and len(supports) <= MOST_EXAMINED else None)
        fit = better
    return _Judged(fit, None)


def _open(stream: StreamedProblem, fit: StreamedFit, ceiling: float) -> list[Move]:
    """The moves that the multipliers of a fit do not rule out (6.5)."""
    moves, tableau = stream.rule.moves(fit.support), stream.dual_tableau(fit)
    left = np.argwhere(tableau.value + tableau.exchanges(moves) < ceiling)
    singles = [Move(moves.out[[i]], moves.into[[j]]) for i, j in left]
    return [*singles, *(move for move in moves.compound if tableau.after(move) < ceiling)]


def _ranked(explorer: RankedExplorer, support: IntArray, moves: Sequence[Move]) -> list[IntArray]:
    """The supports after some moves, the most promising on the sample first."""
    if not moves:
        return []
    model = explorer.model(support)
    order = np.argsort([model.after(move) for move in moves], kind="stable")
    return [moves[i].applied(support) for i in order]


def _better(
    stream: StreamedProblem, fit: StreamedFit, supports: Sequence[IntArray], ceiling: float
) -> tuple[StreamedFit | None, bool | None]:
    """A fit below the ceiling, if there is one; otherwise True if all supports are proved to be above it, or None."""
    doubtful: list[Trial] = []
    for chunk in _chunks(supports):
        trials = stream.examine(fit, chunk, ceiling)
        lower = sorted((trial for trial in trials if trial.value < ceiling), key=lambda trial: trial.value)
        if lower:
            best = _combined(stream, fit, lower)
            return stream.fit(best.support, best.w), None
        doubtful += [trial for trial in trials if trial.bound < ceiling]
    if len(doubtful) > MOST_FITTED:
        return None, None
    for trial in sorted(doubtful, key=lambda trial: trial.bound):
        other = stream.fit(trial.support, trial.w, ceiling)
        if other.value < ceiling:
            return other, None
        if other.bound < ceiling:
            return None, None
    return None, True


def _chunks(supports: Sequence[IntArray]) -> Iterator[Sequence[IntArray]]:
    if supports:
        yield supports[:FIRST]
    for first in range(FIRST, len(supports), NEXT):
        yield supports[first : first + NEXT]


def _combined(stream: StreamedProblem, fit: StreamedFit, lower: Sequence[Trial]) -> Trial:
    """The best of the moves that help, or several of them at once where that is better still."""
    support, taken, several = fit.support, set[int](), list[IntArray]()
    for trial in lower:
        out, into = np.setdiff1d(fit.support, trial.support), np.setdiff1d(trial.support, fit.support)
        if taken.isdisjoint([*out.tolist(), *into.tolist()]):
            taken.update(out.tolist(), into.tolist())
            support = Move(out, into).applied(support)
            if stream.rule.admissible(support):
                several.append(support)
    trials = stream.examine(fit, several[1:], np.inf) if len(several) > 1 else []
    return min([lower[0], *trials], key=lambda trial: trial.value)


def _result(stream: StreamedProblem, judged: _Judged, local: SearchResult | None) -> StreamedResult:
    fit = judged.fit
    z = np.zeros(len(stream.terms))
    z[fit.support] = fit.w[:-1]
    return StreamedResult(
        z=z,
        c=stream.intercept(fit.support, fit.w),
        support=fit.support,
        objective=fit.value,
        n_iter=0 if local is None else local.n_iter,
        status=Status.CONVERGED if local is None else local.status,
        distance=0.0 if local is None else local.distance,
        trace=() if local is None else local.trace,
        swap_optimal=judged.swap_optimal,
        terms=stream.terms,
        support_bound=fit.bound,
        n_passes=stream.passes.count,
    )
