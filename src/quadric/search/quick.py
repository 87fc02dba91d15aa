"""Surfaces for many C and k at the price that cross-validation can pay: forward selection and exchanges, no perturbations.

A loss that names a cheaper one to screen for it takes over its supports and refits on them, with samples lifted on the terms
of these supports only. Losses, classes and values of C share what they can: samples are digested once for each loss.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from quadric.blas import one_blas_thread
from quadric.geometry.terms import term_count
from quadric.losses import loss_named
from quadric.losses.base import TrainingData
from quadric.losses.shared import problem_of
from quadric.progress import Report, silent
from quadric.samples.labelled import LabelledSamples
from quadric.samples.sums import SummedSamples
from quadric.samples.target import groups_of
from quadric.search.decomposition import Status
from quadric.search.path import PathCell, QuadraticPath, assembled_path, decomposed_cells, supports_along
from quadric.search.rules import SupportLimits
from quadric.search.shapes import solver_of
from quadric.types import FloatArray, IntArray

# Terms that exchanges choose from; where there are more, forward selection says which.
MOST_CANDIDATES = 250


# Cells that are wanted: a surface for each of some k, which increase, for each C
Grid: TypeAlias = Mapping[float, Sequence[int]]


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Terms to choose from.

    Attributes
    ----------
    limits : SupportLimits
    ks : array
        All k that may be asked for, increasing: the search goes from one to the next.
    """

    limits: SupportLimits
    ks: IntArray


class QuickSearch:
    """Surfaces of one set of samples for any dictionary, loss, C and k.

    Parameters
    ----------
    samples : LabelledSamples or SummedSamples
    dictionaries : mapping from names to Dictionary
        The last one has all terms of the others, which share its sums.
    by_decomposition : bool
        Whether supports come from penalty decomposition at each cell, as with method "pd", instead.
    is_shared : bool
        Whether all classes share the terms that are best for the sum of their objectives.
    report : callable
        Told one line per C.
    """

    def __init__(
        self,
        samples: LabelledSamples | SummedSamples,
        dictionaries: Mapping[str, Dictionary],
        *,
        by_decomposition: bool = False,
        is_shared: bool = False,
        report: Report = silent,
    ) -> None:
        self._samples, self._dictionaries = samples, dict(dictionaries)
        self._by_decomposition, self._is_shared, self._report = by_decomposition, is_shared, report
        self._digests: dict[tuple[str, str], TrainingData] = {}
        self._supports: dict[tuple[str, str, tuple[int, ...], float], dict[int, IntArray]] = {}

    def sharing(self, dictionaries: Mapping[str, Dictionary], loss: str) -> QuickSearch:
        """The same samples searched in other dictionaries, whose terms the widest one here has: on its sums for a loss."""
        widest = list(self._dictionaries)[-1]
        other = QuickSearch(self._samples, {**dictionaries, widest: self._dictionaries[widest]}, report=self._report)
        if not loss_named(loss).keeps_rows:
            other._digests[widest, loss] = self.digest(widest, loss)
        return other

    def rows(self, terms: str, loss: str, surface: int, grid: Grid) -> Iterator[list[PathCell]]:
        """The cells of one C after the other, for one class against the rest."""
        if self._by_decomposition and not self._is_shared:
            yield from (self._decomposed(terms, loss, surface, C, ks) for C, ks in grid.items())
            return
        # supports come first: a loss with a screen lifts the rows on the terms of these only
        chooser = loss if self._by_decomposition else loss_named(loss).screen or loss
        supports = [self._chosen(terms, chooser, surface, C) for C in grid]
        data = self._data(terms, loss, grid, supports)
        for (C, ks), found in zip(grid.items(), supports, strict=True):
            yield self._refitted(data, surface, C, {k: found[k] for k in ks})

    def path(self, terms: str, loss: str, surface: int, Cs: FloatArray, ks: IntArray) -> QuadraticPath:
        cells = list(self.rows(terms, loss, surface, {float(C): ks.tolist() for C in Cs}))
        return assembled_path(Cs, ks, cells, term_count(self._samples.n_features))

    def digest(self, terms: str, loss: str) -> TrainingData:
        """The samples digested for a loss, on all terms of a dictionary."""
        key, limits, widest = (terms, loss), self._dictionaries[terms].limits, list(self._dictionaries)[-1]
        if key not in self._digests:
            shared = None
            # sums over pairs of linear terms are a block of those over all terms: no second pass over the rows
            if terms != widest and not loss_named(loss).keeps_rows:
                shared = self.digest(widest, loss).limited(limits)
            self._digests[key] = shared or loss_named(loss).data(self._samples, limits)
        return self._digests[key]

    def _data(self, terms: str, loss: str, grid: Grid, supports: Sequence[dict[int, IntArray]]) -> TrainingData:
        """The same, but only on the terms of the wanted supports where another loss chose them."""
        if loss_named(loss).screen is None:
            return self.digest(terms, loss)
        wanted = [chosen[k] for ks, chosen in zip(grid.values(), supports, strict=True) for k in ks]
        n_terms = term_count(self._samples.n_features)
        limits = self._dictionaries[terms].limits.only(np.unique(np.concatenate(wanted)), n_terms)
        return loss_named(loss).data(self._samples, limits)

    @one_blas_thread()
    def _chosen(self, terms: str, loss: str, surface: int, C: float) -> dict[int, IntArray]:
        """Supports of all k as positions in the full z; each starts from the one before, whichever cells are wanted."""
        ks = self._dictionaries[terms].ks
        (group,) = (own for own in groups_of(self._samples.surfaces, is_shared=self._is_shared) if surface in own)
        key = (terms, loss, tuple(group), C)
        if key not in self._supports:
            whole = problem_of(self.digest(terms, loss), group, C, int(ks[-1]))
            if self._by_decomposition:
                chosen = [cell.terms for cell in decomposed_cells(whole, ks)]
            else:
                # tables of exchanges grow with the candidates, and folds pay for one at every k
                problem = whole.promising(MOST_CANDIDATES)
                chosen = [problem.terms[support] for support in supports_along(problem, ks.tolist())]
            self._supports[key] = dict(zip(ks.tolist(), chosen, strict=True))
        return self._supports[key]

    @one_blas_thread()
    def _refitted(self, data: TrainingData, surface: int, C: float, supports: dict[int, IntArray]) -> list[PathCell]:
        # one solver for all k: each refit starts from the answer before, whose support is nearly the same
        problem = data.problem_for(surface, C, max(supports))
        step, cells = solver_of(problem), []
        for terms in supports.values():
            began = time.perf_counter()
            support = np.searchsorted(problem.terms, terms)
            refit = step.refit(support)
            seconds = time.perf_counter() - began
            cells.append(PathCell(terms, refit.z[support], refit.c, refit.value, 1, Status.CONVERGED, seconds))
        self._report(f"{problem.loss.name}, C = {C:g}: {len(cells)} numbers of terms")
        return cells

    @one_blas_thread()
    def _decomposed(self, terms: str, loss: str, surface: int, C: float, ks: Sequence[int]) -> list[PathCell]:
        problem = self.digest(terms, loss).problem_for(surface, C, ks[-1])
        cells = list(decomposed_cells(problem, ks))
        self._report(f"{problem.loss.name}, C = {C:g}: {len(cells)} numbers of terms by decomposition")
        return cells
