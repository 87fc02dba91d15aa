"""Rules on terms and features together: which linear terms a product needs, and what the features of a surface may cost.

``Structure`` has the rules of a fit in the numbers of features; ``StructuredRule`` is what becomes of them among the candidate
terms of a problem. All questions are answered for all terms at once, by three tables: the parents of a term (the linear terms
of its factors), its groups of features (the levels of one column are one group), and the prices of groups in each budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from quadric.geometry.box import ShapeRules
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
    shapes : mapping of int to ShapeRules
    """

    terms: IntArray
    candidates: IntArray
    n_features: int
    parents: IntArray
    n_needed: int
    groups: IntArray
    prices: FloatArray
    limits: FloatArray
    shapes: Mapping[int, ShapeRules] = field(default_factory=dict)

    @property
    def n_terms(self) -> int:
        return len(self.candidates)

    @property
    def reach(self) -> int:
        return 2 if len(self.limits) else super().reach  # whole columns are exchanged as well, which costs as much again

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
        return self._grown(z**2, k)

    def moves(self, support: IntArray) -> Moves:
        inside = self._flags(support)
        out = np.flatnonzero(self.droppable(inside)) if self.n_needed == 2 else support[self._may_leave[support]]
        into = np.flatnonzero(~inside & self._complete(inside))
        if len(self.limits):  # most terms do not fit in place of any other: these are soon told
            used, spent = self._used_without(support, out)
            into = into[self._fits(self._used(support), into, self.limits - spent.min(axis=0, initial=np.inf))]
        single = np.ones((len(out), len(into)), dtype=bool)
        if self._has_parents:
            held, parents = self._held(inside), self.parents[into]
            # of the parents of a term that enters, one may be the term that leaves
            lost = (parents[:, 0] == out[:, None]).astype(np.int8) + (parents[:, 1] == out[:, None])
            single = held[into] - lost >= self.n_needed
            orphans = (self.parents[support] == out[:, None, None]).any(axis=2) & (held[support] == self.n_needed)
            for row, column in np.argwhere(orphans).tolist():  # the other parent may enter instead, where one will do
                single[row] &= (into[:, None] == self.parents[support[column]]).any(axis=1)
        first, second = self.groups[into].T
        for i, limit in enumerate(self.limits):
            more = np.where(used, 0.0, self.prices[i])
            single &= more[:, first] + more[:, second] <= (limit - spent[:, i])[:, None]
        useful = single.any(axis=0)
        return Moves(out, into[useful], single[:, useful])

    def compounds(self, support: IntArray, worth: FloatArray) -> Sequence[Move]:
        inside, moves = self._flags(support), list[tuple[list[int], list[int]]]()
        lacking = np.flatnonzero(~inside & ~self._complete(inside) & self._can)
        if len(lacking):
            here = set(support.tolist())
            chains = list(self._chains(here, worth))
            promise = worth[lacking] + self._worth_of_absent(inside, worth)[lacking]
            for j in lacking[np.argsort(-promise, kind="stable")[:MOST_PRODUCTS]].tolist():
                block = [j, *self._absent(j, here, worth)]
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
            allowed &= self._complete(allowed)
            if len(self.limits):
                allowed &= self._affordable(np.flatnonzero(fixed))
            parents = self.parents[fixed]
            possible = np.append(allowed, (True, False))[parents]
            forced = parents[possible & (possible.sum(axis=1) == self.n_needed)[:, None]]
            fixed[forced[forced < self.n_terms]] = True
            if before == (np.count_nonzero(fixed), np.count_nonzero(allowed)):
                return Completion(fixed, allowed)

    def repaired(self, support: IntArray) -> IntArray:
        """The required terms, then those of the support that fit, first those whose parents are there."""
        if self.admissible(support):
            return support
        inside, wanted, last = set(self.terms.tolist()), self._flags(support), support.tolist()[::-1]  # linear terms stand last
        used = {group for j in inside for group in self._groups_of[j]}
        for may_lack in (False, True):
            for j in last:
                block = [j, *self._absent(j, inside, wanted)]
                if j in inside or not self._can[j] or len(inside) + len(block) > len(support) or (len(block) > 1 > may_lack):
                    continue
                more = used.union(self._groups_of[j])  # parents have no other features
                if len(more) == len(used) or self._within_limits(more):
                    inside.update(block)
                    used = more
        return np.array(sorted(inside), dtype=np.intp)

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
        addable = ~inside & self._complete(inside)
        return addable & self._affordable(np.flatnonzero(inside)) if len(self.limits) else addable

    def droppable(self, inside: BoolArray) -> BoolArray:
        droppable = np.zeros_like(inside)
        droppable[self._leaving(set(np.flatnonzero(inside).tolist()))] = True
        return droppable

    @cached_property
    def _can(self) -> BoolArray:
        """Terms whose parents are among the candidates, as many as it takes."""
        return self._complete(np.ones(self.n_terms, dtype=bool))

    @cached_property
    def _has_parents(self) -> bool:
        return bool((self.parents[:, 0] != self.n_terms).any())

    @cached_property
    def _parents_of(self) -> list[list[int]]:
        """For questions about a few terms, for which lists and sets are quicker than arrays; without those always there."""
        return [[j for j in pair if j != self.n_terms] for pair in self.parents.tolist()]

    @cached_property
    def _groups_of(self) -> list[list[int]]:
        return self.groups.tolist()

    @cached_property
    def _price_lists(self) -> list[list[float]]:
        return self.prices.tolist()

    @cached_property
    def _may_leave(self) -> BoolArray:
        may_leave = np.ones(self.n_terms, dtype=bool)
        may_leave[self.terms] = False
        return may_leave

    def _flags(self, support: IntArray) -> BoolArray:
        inside = np.zeros(self.n_terms, dtype=bool)
        inside[support] = True
        return inside

    def _held(self, inside: BoolArray) -> IntArray:
        """How many parents of each term are inside."""
        state = np.append(inside, (True, False))
        return np.asarray(state[self.parents[:, 0]].astype(np.int8) + state[self.parents[:, 1]])

    def _complete(self, inside: BoolArray) -> BoolArray:
        """Terms of which as many parents are inside as it takes."""
        return self._held(inside) >= self.n_needed if self._has_parents else np.ones(self.n_terms, dtype=bool)

    def _used(self, support: IntArray) -> BoolArray:
        """Groups of the features of some terms."""
        used = np.zeros(self.prices.shape[1], dtype=bool)
        used[self.groups[support]] = True
        return used

    def _used_without(self, support: IntArray, out: IntArray) -> tuple[BoolArray, FloatArray]:
        """Groups that a support uses without each term that may leave, and their prices, a row for each of these."""
        counts = np.repeat(np.bincount(self.groups[support].ravel(), minlength=self.prices.shape[1])[None], len(out), axis=0)
        np.subtract.at(counts, (np.arange(len(out))[:, None], self.groups[out]), 1)
        return counts > 0, (counts > 0) @ self.prices.T

    def _fits(self, used: BoolArray, terms: IntArray | slice, room: FloatArray) -> BoolArray:
        """Whether what each of some terms costs beside groups that are paid already leaves room in every budget."""
        prices, (first, second) = np.where(used, 0.0, self.prices), self.groups[terms].T
        return np.asarray((prices[:, first] + prices[:, second] <= room[:, None]).all(axis=0))

    def _within_limits(self, used: set[int]) -> bool:
        budgets = zip(self._price_lists, self.limits.tolist(), strict=True)
        return all(sum(prices[group] for group in used) <= limit for prices, limit in budgets)

    def _affordable(self, support: IntArray) -> BoolArray:
        """Terms that may join a support for the sake of the budgets; none where that has passed one."""
        used = self._used(support)
        return self._fits(used, slice(None), self.limits - self.prices @ used)

    def _are_admissible(self, supports: IntArray) -> BoolArray:
        """The same of several supports of equal size, one per row."""
        rows = np.arange(len(supports))[:, None]
        state = np.zeros((len(supports), self.n_terms + 2), dtype=bool)
        state[rows, supports], state[:, -2] = True, True
        out = np.asarray(state[:, self.terms].all(axis=1))
        if self._has_parents:
            held = state[rows[:, :, None], self.parents[supports]].sum(axis=2)
            out &= (held >= self.n_needed).all(axis=1)
        if len(self.limits):
            used = np.zeros((len(supports), self.prices.shape[1]), dtype=bool)
            used[rows[:, :, None], self.groups[supports]] = True
            out &= (used @ self.prices.T <= self.limits).all(axis=1)
        return out

    def _worth_of_absent(self, inside: BoolArray, worth: FloatArray) -> FloatArray:
        """What the parents that would have to enter with each term are worth."""
        outside = np.append(np.where(inside, 0.0, np.maximum(worth, 0.0)), (0.0, 0.0))[self.parents]
        absent = self.n_needed - self._held(inside)
        return np.asarray(np.where(absent > 0, outside.sum(axis=1) if self.n_needed == 2 else outside.max(axis=1), 0.0))

    def _absent(self, term: int, inside: set[int], worth: FloatArray | BoolArray) -> list[int]:
        """Parents that have to enter with a term that can; where one of two will do, the one that is worth more."""
        parents = self._parents_of[term]
        absent = [j for j in parents if j not in inside]
        n_absent = len(absent) - (2 - self.n_needed)  # of two, as many may be absent as are not needed
        absent = [j for j in absent if j < self.n_terms]
        return sorted(absent, key=lambda j: (-float(worth[j]), j))[: max(n_absent, 0)]

    def _grown(self, weight: FloatArray, k: int) -> IntArray:
        """The required terms, and as many more as fit by their weight per term, each with the parents that it lacks."""
        inside = self._flags(self.terms)
        while True:
            support = np.flatnonzero(inside)
            absent = np.maximum(self.n_needed - self._held(inside), 0)
            possible = ~inside & self._can & (absent < k - len(support))
            if len(self.limits):
                possible &= self._affordable(support)  # parents have no other features than their children
            if not possible.any():
                return support
            mean = (weight + self._worth_of_absent(inside, weight)) / (1 + absent)
            best = int(np.argmax(np.where(possible, mean, -1.0)))
            inside[[best, *self._absent(best, set(support.tolist()), weight)]] = True

    def _leaving(self, inside: set[int]) -> list[int]:
        """Terms of a support that may leave it alone: no other one needs them."""
        needed = set(self.terms.tolist())
        for parents in (self._parents_of[j] for j in inside) if self._has_parents else ():
            present = [j for j in parents if j in inside]
            if len(parents) - len(present) == 2 - self.n_needed:  # not one fewer
                needed.update(present)
        return sorted(inside - needed)

    def _chains(self, inside: set[int], worth: FloatArray) -> Iterator[list[int]]:
        """Up to three terms that may leave one after the other, the least useful first."""
        for first in self._least(inside, worth)[:MOST_CHAINS]:
            left, chain, following = set(inside), list[int](), [first]
            while following and len(chain) <= self.n_needed:
                chain += following
                left.discard(chain[-1])
                following = self._least(left, worth)[:1]
            yield chain

    def _least(self, inside: set[int], worth: FloatArray) -> list[int]:
        leaving = self._leaving(inside)
        return sorted(leaving, key=lambda j: float(worth[j]))

    def _replacements(self, support: IntArray, worth: FloatArray) -> Iterator[tuple[list[int], list[int]]]:
        """One feature in place of another, in all of its terms."""
        n = self.n_features
        left, right = (factor[self.candidates[support]] for factor in term_factors(n))
        features = np.unique(np.append(left, right[right != LINEAR]))
        others, uses = np.setdiff1d(np.arange(n), features), (left == features[:, None]) | (right == features[:, None])
        uses &= ~(uses & np.isin(support, self.terms)).any(axis=1)[:, None]
        row, term = np.nonzero(uses)
        if not len(row) or not len(others):
            return
        feature = features[row]
        partner = np.where(left[term] == feature, right[term], left[term])[:, None]
        products = term_indices(np.where(partner == feature[:, None], others, partner), others, n)
        wanted = np.where(partner == LINEAR, term_index(0, None, n) + others, products)
        places = np.minimum(np.searchsorted(self.candidates, wanted), self.n_terms - 1)
        starts = np.flatnonzero(np.append(True, np.diff(row)))
        promise = np.add.reduceat(np.where(self.candidates[places] == wanted, worth[places], -np.inf), starts)
        best = np.argsort(-promise, axis=1, kind="stable")[:, :MOST_FEATURES]
        for number, (first, end) in enumerate(pairwise([*starts.tolist(), len(row)])):
            leaving = support[term[first:end]].tolist()
            for column in best[number][promise[number, best[number]] > -np.inf].tolist():
                yield leaving, places[first:end, column].tolist()
