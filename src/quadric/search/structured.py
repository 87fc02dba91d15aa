"""Rules on terms and features together: which linear terms a product needs, and what the features of a surface may cost.

``Structure`` has the rules of a fit in the numbers of features; ``StructuredRule`` is what becomes of them among the candidate
terms of a problem. All questions are answered for all terms at once, by three tables: the parents of a term (the linear terms
of its factors), its groups of features (the levels of one column are one group), and the prices of groups in each budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from quadric.geometry.terms import LINEAR, term_count, term_factors, term_index, term_indices
from quadric.losses.supports import Completion, Move, Moves, SupportRule
from quadric.types import BoolArray, FloatArray, IntArray

WEAK, STRONG = "weak", "strong"
# Share of a limit by which sums of prices may pass it: 0.1 + 0.2 is no more than 0.3
PRICE_ROUNDING = 1e-9
# Compound moves of one support that are tried: products that enter, ways to make room for each, and features for each feature
MOST_PRODUCTS, MOST_CHAINS, MOST_FEATURES = 24, 6, 6


@dataclass(frozen=True, eq=False)
class Structure:
    """Rules on supports in the numbers of features.

    Attributes
    ----------
    hierarchy : {"weak", "strong"} or None
        Whether a product needs one or both of its linear terms, and a square its linear term.
    groups : integer array of shape (n,)
        Number of the group that each feature belongs to, from 0.
    prices : array of shape (n_budgets, n_groups)
        What each group costs as soon as a feature of it is in any term.
    limits : array of shape (n_budgets,)
    """

    hierarchy: str | None
    groups: IntArray
    prices: FloatArray
    limits: FloatArray

    def rule(self, candidates: IntArray, required: IntArray) -> StructuredRule:
        """The rule among some terms, as positions in the full z; ``required`` are positions among these."""
        n, p = len(self.groups), len(candidates)
        left, right = (factor[candidates] for factor in term_factors(n))
        place = np.full(term_count(n), p + 1)  # p: always there, p + 1: never
        place[candidates] = np.arange(p)
        parents = np.full((p, 2), p)
        if self.hierarchy is not None:
            first = term_count(n) - n
            parents[:, 0] = np.where(right == LINEAR, p, place[first + left])
            # a square has one parent, which it needs under both hierarchies
            alone = p if self.hierarchy == STRONG else p + 1
            parents[:, 1] = np.where(right == LINEAR, p, np.where(right == left, alone, place[first + right]))
        groups, nothing = np.append(self.groups, self.prices.shape[1]), self.prices.shape[1]
        pairs = np.column_stack([groups[left], groups[right]])  # LINEAR is -1
        pairs[pairs[:, 0] == pairs[:, 1], 1] = nothing
        return StructuredRule(
            terms=required,
            candidates=candidates,
            n_features=n,
            parents=parents,
            n_needed=2 if self.hierarchy == STRONG else 1,
            groups=pairs,
            prices=np.column_stack([self.prices, np.zeros(len(self.limits))]),
            limits=self.limits * (1.0 + PRICE_ROUNDING),
        )

    def possible(self, allowed: BoolArray) -> BoolArray:
        """Which of the allowed terms, a flag for each of the full z, any admissible support has."""
        terms = np.flatnonzero(allowed)
        rule = self.rule(terms, np.empty(0, dtype=np.intp))
        out = np.zeros_like(allowed)
        out[terms] = rule.completions(np.zeros(len(terms), dtype=bool), np.ones(len(terms), dtype=bool)).allowed
        return out


@dataclass(frozen=True, eq=False)
class StructuredRule(SupportRule):
    """Supports that hold the parents of their terms and keep to all budgets.

    Attributes
    ----------
    terms : array
        Required ones, by themselves an admissible support.
    candidates : array of shape (p,)
        Positions in the full z.
    n_features : int
    parents : integer array of shape (p, 2)
        Linear terms that a term asks for; p stands for one that is always there, p + 1 for one that never is.
    n_needed : int
        How many of the two must be in a support with the term.
    groups : integer array of shape (p, 2)
        Of the features of a term; the last group of all is nobody's, and free.
    prices : array of shape (n_budgets, n_groups + 1)
    limits : array of shape (n_budgets,)
    """

    terms: IntArray
    candidates: IntArray
    n_features: int
    parents: IntArray
    n_needed: int
    groups: IntArray
    prices: FloatArray
    limits: FloatArray

    @property
    def n_terms(self) -> int:
        return len(self.candidates)

    @property
    def required(self) -> IntArray:
        return self.terms

    def admissible(self, support: IntArray) -> bool:
        return bool(self._are_admissible(np.asarray(support, dtype=np.intp)[None])[0])

    def project(self, z: FloatArray, k: int) -> IntArray:
        """The plain projection where that is admissible; else what a greedy choice by z^2 per term leads to."""
        size = np.abs(z)
        size[self.terms] = np.inf
        largest = np.sort(np.argsort(-size, kind="stable")[:k])
        if self.admissible(largest):
            return largest
        return self._grown(np.ones(self.n_terms, dtype=bool), z**2, k)

    def moves(self, support: IntArray) -> Moves:
        inside = self._flags(support)
        held = self._held(inside)
        out = np.flatnonzero(self.droppable(inside)) if self.n_needed == 2 else np.setdiff1d(support, self.terms)
        into = np.flatnonzero(~inside & (held >= self.n_needed))
        # of the parents of a term that enters, one may be the term that leaves
        lost = (self.parents[into, 0] == out[:, None]).astype(np.int8) + (self.parents[into, 1] == out[:, None])
        single = held[into] - lost >= self.n_needed
        orphans = (self.parents[support] == out[:, None, None]).any(axis=2) & (held[support] == self.n_needed)
        for row, column in np.argwhere(orphans).tolist():  # the term that enters may be the other parent, where one will do
            single[row] &= (into[:, None] == self.parents[support[column]]).any(axis=1)
        if len(self.limits):
            counts = np.bincount(self.groups[support].ravel(), minlength=self.prices.shape[1])
            used = np.repeat(counts[None], len(out), axis=0)
            np.subtract.at(used, (np.arange(len(out))[:, None], self.groups[out]), 1)
            spent, (first, second) = self.prices @ (used > 0).T, self.groups[into].T
            for prices, before, limit in zip(self.prices, spent, self.limits, strict=True):
                more = (used[:, first] == 0) * prices[first] + (used[:, second] == 0) * prices[second]
                single &= before[:, None] + more <= limit
        useful = single.any(axis=0)
        return Moves(out, into[useful], single[:, useful])

    def compounds(self, support: IntArray, worth: FloatArray) -> Sequence[Move]:
        inside, moves = self._flags(support), list[tuple[list[int], list[int]]]()
        held = self._held(inside)
        lacking = np.flatnonzero(~inside & (held < self.n_needed) & self._can)
        if len(lacking):
            chains = list(self._chains(inside, worth))
            promise = worth[lacking] + self._worth_of_absent(inside, worth)[lacking]
            for j in lacking[np.argsort(-promise, kind="stable")[:MOST_PRODUCTS]].tolist():
                block = [j, *self._absent(j, inside, worth)]
                moves += [(chain[: len(block)], block) for chain in chains if len(chain) >= len(block)]
        if len(self.limits):
            moves += self._replacements(support, worth)
        here = set(support.tolist())  # a few terms: sets are quicker than arrays
        targets = np.array([[*here.difference(out), *into] for out, into in moves], dtype=np.intp)
        admissible = self._are_admissible(targets.reshape(len(moves), len(support)))
        return [Move(*move) for move, is_admissible in zip(moves, admissible, strict=True) if is_admissible]

    def completions(self, fixed: BoolArray, allowed: BoolArray) -> Completion:
        fixed, allowed = fixed.copy(), allowed.copy()
        fixed[self.terms] = True
        while True:
            before = np.count_nonzero(fixed), np.count_nonzero(allowed)
            allowed &= self._held(allowed) >= self.n_needed
            if len(self.limits):
                allowed &= self._affordable(np.flatnonzero(fixed))
            parents = self.parents[fixed]
            possible = np.append(allowed, (True, False))[parents]
            forced = parents[possible & (possible.sum(axis=1) == self.n_needed)[:, None]]
            fixed[forced[forced < self.n_terms]] = True
            if before == (np.count_nonzero(fixed), np.count_nonzero(allowed)):
                return Completion(fixed, allowed)

    def repaired(self, support: IntArray) -> IntArray:
        if self.admissible(support):
            return support
        wanted = self._flags(support)
        return self._grown(wanted, wanted.astype(float), len(support))

    def closed(self, terms: IntArray) -> IntArray:
        parents = self.parents[terms]
        return np.union1d(terms, parents[parents < self.n_terms])

    def among(self, candidates: IntArray) -> StructuredRule:
        p = len(candidates)
        place = np.full(self.n_terms + 2, p + 1)
        place[candidates], place[self.n_terms] = np.arange(p), p
        return replace(
            self,
            terms=np.searchsorted(candidates, self.terms),
            candidates=self.candidates[candidates],
            parents=place[self.parents[candidates]],
            groups=self.groups[candidates],
        )

    def addable(self, inside: BoolArray) -> BoolArray:
        addable = ~inside & (self._held(inside) >= self.n_needed)
        return addable & self._affordable(np.flatnonzero(inside)) if len(self.limits) else addable

    def droppable(self, inside: BoolArray) -> BoolArray:
        droppable, support = inside.copy(), np.flatnonzero(inside)
        parents = self.parents[support]
        present = np.append(inside, (True, False))[parents]
        last = parents[present & (present.sum(axis=1) == self.n_needed)[:, None]]
        droppable[last[last < self.n_terms]] = False
        droppable[self.terms] = False
        return droppable

    @cached_property
    def _can(self) -> BoolArray:
        """Terms whose parents are among the candidates, as many as it takes."""
        return self._held(np.ones(self.n_terms, dtype=bool)) >= self.n_needed

    def _flags(self, support: IntArray) -> BoolArray:
        inside = np.zeros(self.n_terms, dtype=bool)
        inside[support] = True
        return inside

    def _held(self, inside: BoolArray) -> IntArray:
        """How many parents of each term are inside."""
        state = np.append(inside, (True, False))
        return np.asarray(state[self.parents[:, 0]].astype(np.int8) + state[self.parents[:, 1]])

    def _used(self, support: IntArray) -> BoolArray:
        """Groups of the features of some terms."""
        used = np.zeros(self.prices.shape[1], dtype=bool)
        used[self.groups[support]] = True
        return used

    def _affordable(self, support: IntArray) -> BoolArray:
        """Terms that may join a support for the sake of the budgets; none where that has passed one."""
        used = self._used(support)
        prices, spent = self.prices * ~used, self.prices @ used
        more = prices[:, self.groups[:, 0]] + prices[:, self.groups[:, 1]]
        return np.asarray((more <= (self.limits - spent)[:, None]).all(axis=0))

    def _are_admissible(self, supports: IntArray) -> BoolArray:
        """The same of several supports of equal size, one per row."""
        rows = np.arange(len(supports))[:, None]
        state = np.zeros((len(supports), self.n_terms + 2), dtype=bool)
        state[rows, supports], state[:, -2] = True, True
        parents = self.parents[supports]
        held = state[rows[:, :, None], parents].sum(axis=2)
        used = np.zeros((len(supports), self.prices.shape[1]), dtype=bool)
        used[rows[:, :, None], self.groups[supports]] = True
        return np.asarray(
            (held >= self.n_needed).all(axis=1)
            & state[:, self.terms].all(axis=1)
            & (used @ self.prices.T <= self.limits).all(axis=1)
        )

    def _worth_of_absent(self, inside: BoolArray, worth: FloatArray) -> FloatArray:
        """What the parents that would have to enter with each term are worth."""
        outside = np.append(np.where(inside, 0.0, np.maximum(worth, 0.0)), (0.0, 0.0))[self.parents]
        absent = self.n_needed - self._held(inside)
        return np.asarray(np.where(absent > 0, outside.sum(axis=1) if self.n_needed == 2 else outside.max(axis=1), 0.0))

    def _absent(self, term: int, inside: BoolArray, worth: FloatArray) -> list[int]:
        """Parents that have to enter with a term that can; where one of two will do, the one that is worth more."""
        held = np.append(inside, (True, False))[self.parents[term]]
        absent = [int(j) for j in self.parents[term][~held] if j < self.n_terms]
        return sorted(absent, key=lambda j: (-worth[j], j))[: max(self.n_needed - int(held.sum()), 0)]

    def _grown(self, wanted: BoolArray, weight: FloatArray, k: int) -> IntArray:
        """The required terms, and as many more as fit by their weight per term, each with the parents that it lacks."""
        inside = self._flags(self.terms)
        while True:
            support = np.flatnonzero(inside)
            absent = np.maximum(self.n_needed - self._held(inside), 0)
            possible = wanted & ~inside & self._can & (absent < k - len(support))
            if len(self.limits):
                possible &= self._affordable(support)  # parents have no other features than their children
            if not possible.any():
                return support
            mean = (weight + self._worth_of_absent(inside, weight)) / (1 + absent)
            best = int(np.argmax(np.where(possible, mean, -1.0)))
            inside[[best, *self._absent(best, inside, weight)]] = True

    def _chains(self, inside: BoolArray, worth: FloatArray) -> Iterator[list[int]]:
        """Up to three terms that may leave one after the other, the least useful first."""
        for first in self._least(inside, worth)[:MOST_CHAINS]:
            left, chain, following = inside.copy(), list[int](), [first]
            while following and len(chain) <= self.n_needed:
                chain += following
                left[chain[-1]] = False
                following = self._least(left, worth)[:1]
            yield chain

    def _least(self, inside: BoolArray, worth: FloatArray) -> list[int]:
        droppable = np.flatnonzero(self.droppable(inside))
        return [int(j) for j in droppable[np.argsort(worth[droppable], kind="stable")]]

    def _replacements(self, support: IntArray, worth: FloatArray) -> Iterator[tuple[list[int], list[int]]]:
        """One feature in place of another, in all of its terms."""
        n, movable = self.n_features, ~np.isin(support, self.terms)
        left, right = (factor[self.candidates[support]] for factor in term_factors(n))
        others = np.setdiff1d(np.arange(n), np.append(left, right))
        for feature in np.unique(np.append(left, right[right != LINEAR])).tolist():
            mine = (left == feature) | (right == feature)
            if not movable[mine].all() or not len(others):
                continue
            rows = []
            for a, b in zip(left[mine].tolist(), right[mine].tolist(), strict=True):
                partner = b if a == feature else a
                if b == LINEAR:
                    rows.append(term_index(0, None, n) + others)
                else:
                    rows.append(term_indices(others if a == b else partner, others, n))
            wanted = np.array(rows)
            places = np.minimum(np.searchsorted(self.candidates, wanted), self.n_terms - 1)
            there = (self.candidates[places] == wanted).all(axis=0)
            promise = np.where(there, worth[places].sum(axis=0), -np.inf)
            for best in np.argsort(-promise, kind="stable")[:MOST_FEATURES].tolist():
                if there[best]:
                    yield support[mine].tolist(), places[:, best].tolist()
