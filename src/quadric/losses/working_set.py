"""Explorers of problems with very many candidates: moves among a working set of them, priced against all.

Inside the working set a small problem has its usual explorer. What that ends at is compared with every exchange of one term
among all candidates; those that help join the working set, until none does.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quadric.geometry.products import are_many, has_many_terms
from quadric.geometry.terms import term_count
from quadric.losses.base import Explorer, Found, SparseProblem
from quadric.losses.supports import Limits
from quadric.types import IntArray

MOST_ENTRANTS = 50  # candidates that join it at a time


def needs_working_set(X: Any, limits: Limits, *, pairs_all_terms: bool) -> bool:
    """Whether there are too many terms to pair them all, so that explorers keep working sets: the one place that decides it.

    Parameters
    ----------
    X : array or sparse matrix of shape (m, n)
    limits : Limits
    pairs_all_terms : bool
        Whether the loss sums products of all terms, candidates or not, as moments do; otherwise only candidates count.
    """
    if pairs_all_terms:
        return has_many_terms(X)
    none = np.zeros(term_count(X.shape[1]), dtype=bool)
    return are_many(len(limits.candidates(none, lambda: none).terms))


class WorkingSetExplorer(Explorer):
    """Moves of one problem by those of a part of it.

    Parameters
    ----------
    problem : SparseProblem
        Of very many candidates, whose ``nucleus`` is the same on the first working set.
    """

    def __init__(self, problem: Any) -> None:
        self.problem, self.rule, self.n_terms, self.n_refits = problem, problem.rule, problem.n_terms, 0
        self._enter(problem.nucleus)

    @abstractmethod
    def entrants(self, found: Found) -> IntArray:
        """Candidates that would help, or might, in exchange for a term of a support, the most useful first."""

    def resized(self, support: IntArray, k: int) -> IntArray:
        self._include(support)
        return self._working[self._inner.resized(self._places(support), k)]

    def descend(self, support: IntArray, seen: set[bytes] | None = None) -> Found:
        self._include(support)
        return self._settled(self._inner.descend(self._places(support)))

    def descend_from(self, starts: Sequence[IntArray]) -> Found:
        self._include(np.unique(np.concatenate(starts)))
        return self._settled(self._inner.descend_from([self._places(start) for start in starts]))

    def refined(self, found: Found, rng: np.random.Generator, kicks: int, going: Callable[[], bool]) -> Found:
        """Perturbations inside the working set; again where what they found has made it grow."""
        while True:
            self._include(found.support)
            size = len(self._working)
            start = Found(self._places(found.support), found.value)
            end = self._settled(self._inner.refined(start, rng, kicks, going))
            # a larger working set has perturbations that the last one lacked
            if not end.beats(found) or len(self._working) == size or not going():
                return end.better_of(found)
            found = end

    def restarted(self, k: int, rng: np.random.Generator, n_starts: int, going: Callable[[], bool]) -> Found:
        return self._settled(self._inner.restarted(k, rng, n_starts, going))

    def _settled(self, inner: Found) -> Found:
        """The end of a descent in the working set, with what helps beyond it taken in, until nothing does."""
        while True:
            found = Found(self._working[inner.support], inner.value)
            size = len(self._working)
            self._include(self.entrants(found))
            if len(self._working) == size:  # no exchange of one term helps, among all candidates (6.3)
                return found
            start = Found(self._places(found.support), found.value)
            inner = self._inner.descend(start.support)
            if not inner.beats(start):  # entrants by a lower bound may help, and need not
                return found

    def _include(self, terms: IntArray) -> None:
        """Make the working set hold some candidates."""
        if not np.isin(terms, self._working).all():
            # it only grows: what has helped once is likely to be asked for again
            self._enter(self.problem.among(self.rule.closed(np.union1d(self._working, terms))))

    def _enter(self, pool: SparseProblem) -> None:
        self._working = np.searchsorted(self.problem.terms, pool.terms)
        self._inner = pool.explorer()

    def _places(self, support: IntArray) -> IntArray:
        """Positions of a support in the working set."""
        return np.searchsorted(self._working, support)
