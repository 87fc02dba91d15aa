"""Surfaces for many C and k at the price that cross-validation can pay: forward selection and exchanges, no perturbations.

A loss that names a cheaper one to screen for it takes over its supports and refits on them, with samples lifted on the terms
of these supports only. Losses, classes and values of C share what they can: samples are digested once for each loss.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from quadric.blas import one_blas_thread
from quadric.geometry.terms import term_count
from quadric.losses import loss_named
from quadric.losses.base import SparseProblem, TrainingData, training_data
from quadric.progress import Report, silent
from quadric.samples.labelled import LabelledSamples
from quadric.samples.sums import SummedSamples
from quadric.search.decomposition import Schedule, Status, decompose
from quadric.search.path import PathCell, QuadraticPath, assembled_path
from quadric.search.rules import SupportLimits
from quadric.types import FloatArray, IntArray

MOST_CANDIDATES = 250
"""Terms that exchanges choose from; where there are more, forward selection says which."""


@dataclass(frozen=True)
class Row:
    """Cells of one C that are wanted: a surface for each of some k.

    Attributes
    ----------
    C : float
    ks : tuple of int
        Increasing.
    """

    C: float
    ks: tuple[int, ...]


class QuickSearch:
    """Surfaces of one set of samples for any loss, C and k.

    Parameters
    ----------
    samples : LabelledSamples or SummedSamples
    limits : SupportLimits
    ks : array
        All k that may be asked for, increasing: the search goes from one to the next.
    by_decomposition : bool
        Whether supports come from penalty decomposition at each cell, as with method "pd", instead.
    report : callable
        Told one line per C.
    """

    def __init__(
        self,
        samples: LabelledSamples | SummedSamples,
        limits: SupportLimits,
        ks: IntArray,
        *,
        by_decomposition: bool = False,
        report: Report = silent,
    ) -> None:
        self._samples, self._limits, self._ks = samples, limits, ks
        self._by_decomposition = by_decomposition
        self._report = report
        self._digests: dict[str, TrainingData] = {}
        self._supports: dict[tuple[str, int, float], dict[int, IntArray]] = {}

    def rows(self, loss: str, positive: int, rows: Sequence[Row]) -> Iterator[list[PathCell]]:
        """The cells of one row after the other, for one class against the rest."""
        if self._by_decomposition:
            yield from (self._decomposed(loss, positive, row) for row in rows)
            return
        supports = [self._chosen(loss_named(loss).screen or loss, positive, row.C) for row in rows]
        data = self._data(loss, supports)
        yield from (self._refitted(data, positive, row, found) for row, found in zip(rows, supports, strict=True))

    def path(self, loss: str, positive: int, Cs: FloatArray, ks: IntArray) -> QuadraticPath:
        """All cells of a grid as a path."""
        cells = list(self.rows(loss, positive, [Row(float(C), tuple(int(k) for k in ks)) for C in Cs]))
        return assembled_path(term_count(self._samples.n_features), Cs, ks, cells)

    def digest(self, loss: str) -> TrainingData:
        """The samples digested for a loss, on all terms."""
        if loss not in self._digests:
            self._digests[loss] = training_data(self._samples, loss, self._limits)
        return self._digests[loss]

    def _data(self, loss: str, supports: Sequence[dict[int, IntArray]]) -> TrainingData:
        """The same, but only on the terms of some supports where another loss chose them."""
        if loss_named(loss).screen is None:
            return self.digest(loss)
        terms = np.unique(np.concatenate([support for chosen in supports for support in chosen.values()]))
        return training_data(self._samples, loss, self._limits.only(terms, term_count(self._samples.n_features)))

    @one_blas_thread()
    def _chosen(self, loss: str, positive: int, C: float) -> dict[int, IntArray]:
        """Supports of all k as positions in the full z; each starts from the one before, whichever cells are wanted."""
        key = loss, positive, C
        if key not in self._supports:
            whole = self.digest(loss).one_against_rest(positive, C, int(self._ks[-1]))
            problem = whole.promising(MOST_CANDIDATES)
            explorer, support = problem.explorer(), problem.rule.required
            self._supports[key] = chosen = {}
            for k in self._ks.tolist():
                support = explorer.descend(explorer.resized(support, min(k, problem.n_terms))).support
                chosen[k] = problem.terms[support]
        return self._supports[key]

    @one_blas_thread()
    def _refitted(self, data: TrainingData, positive: int, row: Row, supports: dict[int, IntArray]) -> list[PathCell]:
        problem = data.one_against_rest(positive, row.C, row.ks[-1])
        step, cells = problem.step(), []
        for k in row.ks:
            began = time.perf_counter()
            support = np.searchsorted(problem.terms, supports[k])
            refit = step.refit(support)
            seconds = time.perf_counter() - began
            cells.append(PathCell(supports[k], refit.z[support], refit.c, refit.value, 1, Status.CONVERGED, seconds))
        self._report(f"{problem.loss.name}, C = {row.C:g}: {len(cells)} numbers of terms")
        return cells

    @one_blas_thread()
    def _decomposed(self, loss: str, positive: int, row: Row) -> list[PathCell]:
        problem: SparseProblem = self.digest(loss).one_against_rest(positive, row.C, row.ks[-1]).decomposable()
        step, cells = problem.step(), []
        for k in row.ks:
            began = time.perf_counter()
            found = decompose(problem.with_k(k), Schedule(), step=step)
            seconds = time.perf_counter() - began
            terms, z = problem.terms[found.support], found.z[found.support]
            cells.append(PathCell(terms, z, found.c, found.objective, found.n_iter, found.status, seconds))
        self._report(f"{problem.loss.name}, C = {row.C:g}: {len(cells)} numbers of terms by decomposition")
        return cells
