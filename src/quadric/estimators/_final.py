"""The final fit of a cross-validation: a full search at the chosen cell, on all samples."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils.parallel import delayed

from quadric.blas import one_blas_thread
from quadric.certificate import Judge
from quadric.estimators._base import SurfaceFit
from quadric.estimators._scoreboard import Cell
from quadric.losses.base import SparseProblem, TrainingData
from quadric.progress import counted, writer_for
from quadric.samples.labelled import Samples
from quadric.search.decomposition import Schedule, Status
from quadric.search.methods import MOST_EXAMINED, SearchOptions, SearchResult, search
from quadric.search.path import QuadraticPath
from quadric.types import FloatArray, IntArray
from quadric.workers import workers

EXAMINED_ROWS = 20_000_000
"""Rows that are looked at in all, about, to examine exchanges of one support by passes: a proof for many rows takes its time,
which ``certify`` has."""


def most_examined(n_rows: int) -> int:
    """Exchanges of one support that the final fit examines by passes over so many rows."""
    return min(EXAMINED_ROWS // n_rows, MOST_EXAMINED)


@dataclass(frozen=True)
class FinalSearch:
    """How the surfaces of the chosen cell are searched.

    Attributes
    ----------
    method : str
    time_limit, deadline : float or None
        Seconds per surface, and when to stop altogether, by time.monotonic().
    gap_limit : float
        Relative gap at which a proof may stop.
    seed : int
    verbose : int
    processes : int
        Surfaces that are searched at the same time.
    """

    method: str
    time_limit: float | None
    gap_limit: float
    deadline: float | None
    seed: int
    verbose: int
    processes: int

    def schedule(self) -> Schedule:
        """Of the decompositions, with the time that is left now."""
        return Schedule(time_limit=self.time_limit).until(self.deadline)

    def fits(self, data: TrainingData, samples: Samples, cell: Cell, paths: list[QuadraticPath]) -> list[SurfaceFit]:
        """The surface of each class, never worse than one on the terms of its path.

        Parameters
        ----------
        data : TrainingData
            Of all samples, for the loss of the cell.
        samples : Samples
            In the units of the surfaces.
        cell : Cell
        paths : list of QuadraticPath
            One for each surface, with the cell in their grid.
        """
        judge = Judge.of(samples)
        jobs = (
            delayed(_final_surface)(
                self, data.one_against_rest(positive, cell.C, cell.k), path, cell, (judge, samples.signs(positive)), positive
            )
            for positive, path in zip(samples.positives(), paths, strict=True)
        )
        fits = workers(self.processes, return_as="generator")(jobs)
        return list(counted(fits, len(paths), "final fit"))


def _final_surface(
    how: FinalSearch,
    problem: SparseProblem,
    path: QuadraticPath,
    cell: Cell,
    labelled: tuple[Judge, FloatArray],
    positive: int,
) -> SurfaceFit:
    """The surface of one class: by a full search that starts from the path's, too; without time, the path's own."""
    judge, y = labelled
    at = int(np.flatnonzero(path.Cs == cell.C)[0]), int(np.flatnonzero(path.ks == cell.k)[0])
    start = np.flatnonzero(path.support[at][problem.terms])
    schedule = how.schedule()
    if how.deadline is not None and schedule.time_limit == 0.0:
        found = _on_terms(problem, start)
    else:
        report = writer_for(how.verbose)
        options = SearchOptions(schedule, (how.seed, positive), report, (start,), how.gap_limit, most_examined(len(y)))
        found = search(problem, how.method, options)
        # a time limit, or a search that takes no starts: what the path found stays where it is better
        may_be_worse = found.status is Status.TIME_LIMIT or how.method != "best"
        if may_be_worse and not np.array_equal(start, found.support):
            known = _on_terms(problem, start)
            found = found if found.objective <= known.objective else replace(known, trace=found.trace, n_iter=found.n_iter)
    return SurfaceFit.of(problem, found, judge, y, cell.k)


@one_blas_thread()
def _on_terms(problem: SparseProblem, support: IntArray) -> SearchResult:
    """The best surface on given terms; the path's own may be of some rows only."""
    refit = problem.step().refit(support)
    return SearchResult(refit.z, refit.c, support, refit.value, 0, Status.TIME_LIMIT, 0.0, ())
