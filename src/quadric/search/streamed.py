"""Surfaces of samples that need not fit in memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from quadric.blas import one_blas_thread
from quadric.certificate import Certificate, SumFacts
from quadric.losses import loss_named
from quadric.losses.base import SAMPLE_ROWS
from quadric.losses.pass_problem import Passes, StreamedFit, StreamedProblem
from quadric.losses.supports import Limits
from quadric.losses.survey import Survey, surveyed
from quadric.samples.source import SampleSource
from quadric.samples.sums import KnownRows
from quadric.search.decomposition import SearchResult, Status
from quadric.search.exchanges import SLACK, is_swap_optimal_by_passes
from quadric.search.methods import MOST_CERTIFIED, SearchOptions, clock, of_passes, search_by_passes, search_pd, without_ridge
from quadric.types import FloatArray, IntArray


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
    certificate : Certificate
        By the passes' own proof on the support.
    """

    terms: IntArray = field(kw_only=True)
    support_bound: float = field(kw_only=True)
    n_passes: int = field(kw_only=True)
    certificate: Certificate = field(kw_only=True)


@one_blas_thread()
def fit_streamed(
    source: SampleSource | KnownRows,
    loss: str,
    surface: int,
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
    source : SampleSource or KnownRows
        A source is surveyed first, by a pass.
    loss : str
        One that fits by passes.
    surface : int
        One of ``Target.surfaces``.
    C, k : float, int
    limits : Limits
    method : "best" or "pd"
        "pd": penalty decomposition on a random sample chooses the terms, and all rows their coefficients.
    options : SearchOptions, optional
        Its time limit holds for all passes; the first ones, which tell of the rows and of one surface, are always made.
    terms : array, optional
        Terms that are given, as positions in the full z: nothing is searched.
    sample_rows : int
        Rows of the random sample.

    Returns
    -------
    StreamedResult
    """
    make = loss_named(loss).streamed
    if make is None:
        raise ValueError(f"loss={loss!r} does not fit by passes")
    options = options or SearchOptions()
    going = clock(options.schedule.time_limit)
    if isinstance(source, KnownRows):
        # moments and random rows are there from the passes before: the survey costs none
        passes, survey = Passes(source.source, going), Survey.of_sums(source, surface)
    else:
        passes = Passes(source, going)
        survey = surveyed(passes, surface, terms is None, sample_rows)
    stream: StreamedProblem = make(passes, survey, survey.candidates(limits), C, k)
    if terms is not None:
        fit = stream.fit(np.searchsorted(stream.terms, np.sort(terms)), exact=True)
        nothing = SearchResult(np.zeros(0), 0.0, fit.support, fit.value, 0, Status.CONVERGED, 0.0, ())
        return _with_proof(of_passes(stream, fit, nothing), stream, fit)
    if method == "pd":
        # exchanges on the sample say nothing of those on all rows
        local = replace(search_pd(stream.sample_problem(), options), swap_optimal=None)
        fit = stream.fit(local.support, exact=True)
    else:
        fit, local = search_by_passes(stream, options)
    return _with_proof(of_passes(stream, fit, local), stream, fit)


@one_blas_thread()
def judge_streamed(
    source: SampleSource, loss: str, surface: int, C: float, k: int, limits: Limits, z: FloatArray, c: float
) -> StreamedResult:
    """A given surface, with what passes tell of it: F, its minimum on the same terms, and whether exchanges of a term help.

    Parameters
    ----------
    source, loss, surface, C, k, limits :
        As in :func:`fit_streamed`.
    z : array of shape (p,)
        Coefficients of all terms.
    c : float

    Returns
    -------
    StreamedResult
    """
    make, passes, terms = loss_named(loss).streamed, Passes(source), np.flatnonzero(z)
    assert make is not None
    survey = surveyed(passes, surface, True)
    stream: StreamedProblem = make(passes, survey, survey.candidates(limits), C, k)
    if not np.isin(terms, stream.terms).all():
        raise ValueError("a term of the model is constant on these rows, or not among its candidates: certify it on other rows")
    support = np.searchsorted(stream.terms, terms)
    fit = stream.fit(support, stream.surface(support, z[terms], c))
    # a surface that its own terms could beat has no swaps to speak of: exchanges are compared with the best on them
    is_best = fit.began - fit.value <= SLACK * fit.began
    swap = is_swap_optimal_by_passes(stream, fit, MOST_CERTIFIED) if is_best and len(support) == stream.k else None
    given = SearchResult(z[stream.terms], c, support, fit.began, 0, Status.CONVERGED, 0.0, (), swap if is_best else False)
    return _with_proof(given, stream, fit)


def _with_proof(found: SearchResult, stream: StreamedProblem, fit: StreamedFit) -> StreamedResult:
    survey, terms, n_passes = stream.survey, stream.terms, stream.passes.count
    certificate = SumFacts(survey.n_rows, survey.variance[terms], stream.energy.ridge).certificate(
        found.z,
        stream.k,
        objective=found.objective,
        decrease=found.objective - fit.bound,
        # gradients of the Lagrangian, in units of what the multipliers could pull
        stationarity=stream.residual(fit, fit.support),
        steepest=lambda: stream.residual(fit, np.arange(len(terms))),
    )
    certificate = replace(certificate, swap_optimal=without_ridge(found.swap_optimal, stream.energy))
    return StreamedResult(**vars(found), terms=terms, support_bound=fit.bound, n_passes=n_passes, certificate=certificate)
