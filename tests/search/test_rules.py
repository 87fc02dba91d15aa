"""The contract of rules on supports, tried on a rule that is not in the library: a product only with both of its factors."""

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from helpers import LOSSES, make_problem, random_samples
from quadric.geometry.terms import LINEAR, term_factors
from quadric.losses.base import Found
from quadric.losses.supports import Completion, Move, Moves, SupportRule
from quadric.search.decomposition import decompose
from quadric.search.exact import prove
from quadric.search.methods import SearchOptions, search
from quadric.search.path import trace_path
from quadric.search.rules import RequiredTerms, SupportLimits
from quadric.search.ties import near_ties

N = 3


@dataclass(frozen=True)
class Hierarchy(SupportRule):
    """x_a x_b and x_a^2 only together with x_a and x_b."""

    n_features: int

    def parents(self, term):
        left, right = (factor[term] for factor in term_factors(self.n_features))
        first = self.n_terms - self.n_features
        return set() if right == LINEAR else {first + int(left), first + int(right)}

    @property
    def n_terms(self):
        return len(term_factors(self.n_features)[0])

    @property
    def required(self):
        return np.empty(0, dtype=np.intp)

    def admissible(self, support):
        inside = set(np.asarray(support).tolist())
        return all(self.parents(term) <= inside for term in inside)

    def family(self, terms):
        return set(terms).union(*(self.parents(term) for term in terms))

    def project(self, z, k):
        chosen = set()
        for term in np.argsort(-np.abs(z), kind="stable").tolist():
            if len(grown := self.family({*chosen, term})) <= k:
                chosen = grown
        return np.array(sorted(chosen), dtype=np.intp)

    def moves(self, support):
        inside, everything = set(support.tolist()), range(self.n_terms)
        out, into = np.array(sorted(inside)), np.array([term for term in everything if term not in inside], dtype=np.intp)
        single = np.array([[self.admissible([*(inside - {i}), j]) for j in into] for i in out]).reshape(len(out), len(into))
        return Moves(out, into, single)

    def compounds(self, support, worth):
        inside = set(support.tolist())
        into, compound = [term for term in range(self.n_terms) if term not in inside], []
        for j in into:  # a product with those of its factors that are missing, for as many terms
            new = self.family({j}) - inside
            compound += [
                Move(np.array(leaving), np.array(sorted(new)))
                for leaving in combinations(sorted(inside - self.family({j})), len(new))
                if len(new) > 1 and self.admissible([*(inside - set(leaving)), *new])
            ]
        return compound

    def completions(self, fixed, allowed):
        fixed, allowed = fixed.copy(), allowed.copy()
        fixed[sorted(self.family(np.flatnonzero(fixed).tolist()))] = True
        for term in np.flatnonzero(allowed):
            allowed[term] = all(allowed[parent] for parent in self.parents(term))
        return Completion(fixed, allowed)

    def repaired(self, support):
        if self.admissible(support):
            return support
        inside = set(support.tolist())
        return np.array(sorted(term for term in inside if self.parents(term) <= inside), dtype=np.intp)

    def addable(self, inside):
        return np.array([not inside[term] and all(inside[list(self.parents(term))]) for term in range(len(inside))])

    def droppable(self, inside):
        children = {parent for term in np.flatnonzero(inside) for parent in self.parents(term)}
        return np.array([inside[term] and term not in children for term in range(len(inside))])


def hierarchical(loss, seed, k, C=16.0):
    X, y = random_samples(seed, m=60, n=N)
    return replace(make_problem(loss, X, y, C=C, k=k), rule=Hierarchy(N))


def enumerated(problem):
    step, found = problem.step(), []
    for size in range(problem.k + 1):
        found += [s for s in combinations(range(problem.n_terms), size) if problem.rule.admissible(np.array(s, dtype=int))]
    return min(step.refit(np.array(s, dtype=np.intp)).value for s in found)


@pytest.fixture(params=LOSSES)
def loss(request):
    return request.param


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_branch_and_bound_under_a_hierarchy_is_enumeration(loss, seed, k):
    problem = hierarchical(loss, seed, k)
    result = search(problem, "exact", SearchOptions())
    assert problem.rule.admissible(result.support)
    assert len(result.support) <= k
    assert result.objective == pytest.approx(enumerated(problem), rel=1e-7)
    assert result.lower_bound <= result.objective


@pytest.mark.parametrize("seed", range(3))
def test_searches_stay_admissible(loss, seed):
    problem = hierarchical(loss, seed, k=4)
    decomposition = decompose(problem)
    best = search(problem, "best", SearchOptions())
    assert problem.rule.admissible(decomposition.support)
    assert problem.rule.admissible(best.support)
    assert best.objective <= decomposition.objective
    assert best.objective <= enumerated(problem) * 1.02


def test_compound_moves_reach_what_single_ones_cannot():
    """From x1 and x2 a square of x0 needs two exchanges, the first of which does not help."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, N))
    y = np.where(X[:, 0] ** 2 > 1.0, 1.0, -1.0)
    problem = replace(make_problem("least_squares", X, y, C=100.0, k=2), rule=Hierarchy(N))
    start = np.array([7, 8])
    assert_array_equal(problem.explorer().descend(start).support, [0, 6])


def test_ties_under_a_hierarchy(loss):
    problem = hierarchical(loss, 1, k=3)
    found = search(problem, "best", SearchOptions())
    for other in near_ties(problem, found.support, 0.5).supports:
        assert problem.rule.admissible(other.support)


@pytest.mark.parametrize("method", ["pd", "best"])
def test_paths_under_a_hierarchy(loss, method):
    class Data:
        def problem_for(self, surface, C, k):
            return hierarchical(loss, 2, k, C)

    path = trace_path(Data(), 1, [1.0, 16.0], [1, 2, 3, 4], method=method)
    for row in path.support:
        for chosen in row:
            assert Hierarchy(N).admissible(np.flatnonzero(chosen))
    if method == "best":
        assert (np.diff(path.objective, axis=1) <= 1e-9 * path.objective[:, :-1]).all()


def test_bounds_hold_when_the_tree_is_stopped_at_once():
    problem = hierarchical("least_squares", 0, k=3)
    start = search(problem, "pd", SearchOptions())
    proof = prove(problem, Found(start.support, start.objective), time_limit=0.0)
    assert proof.lower_bound <= enumerated(problem)


def test_required_terms():
    rule = RequiredTerms(5, np.array([1, 3]))
    assert rule.admissible(np.array([0, 1, 3]))
    assert not rule.admissible(np.array([0, 1]))
    support = np.array([0, 1, 3])
    assert rule.repaired(support) is support
    assert_array_equal(rule.repaired(np.array([0, 2, 4])), [0, 1, 3])
    moves = rule.moves(support)
    assert_array_equal(moves.out, [0])
    assert_array_equal(moves.into, [2, 4])
    completion = rule.completions(np.zeros(5, dtype=bool), np.array([True, True, True, False, True]))
    assert not completion.possible
    assert_array_equal(rule.project(np.array([9.0, 0.0, 8.0, 0.0, 7.0]), 3), [0, 1, 3])


def test_limits_choose_candidates_and_the_rule():
    limits = SupportLimits(include=np.array([4]), exclude=np.array([0]))
    constant = np.array([False, True, False, False, False])
    candidates = limits.candidates(constant, lambda: np.zeros(5, dtype=bool))
    assert_array_equal(candidates.terms, [2, 3, 4])
    assert_array_equal(candidates.rule.required, [2])
    with pytest.raises(ValueError, match="do not vary"):
        SupportLimits(include=np.array([1])).candidates(constant, lambda: np.zeros(5, dtype=bool))
