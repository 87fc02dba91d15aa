"""Refits and exchanges under rules on slopes and coefficients, for any loss (docs/mathematics.md, section 12).

A rule on the slope along a feature is a condition on every row of a box: too many to list. A refit begins with rows that are
known to bind, asks where the slope is lowest (geometry/box.py), adds that row as a cut, and so on until no row has the wrong
slope. Exchanges are looked at in the order of lower bounds, so that most of them need no refit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from quadric.geometry.box import LowestSlope, SlopeRule, lowest_slope
from quadric.geometry.cuts import ROUNDING, Cuts
from quadric.geometry.terms import LINEAR, term_factors
from quadric.losses.base import (
    IMPROVEMENT,
    WORKING_TERMS,
    Bounds,
    Explorer,
    NoBound,
    Pulls,
    Relaxation,
    RuledSolution,
    SparseProblem,
    Step,
    StepSolution,
)
from quadric.losses.cuts import Infeasible
from quadric.losses.supports import Move, SupportRule
from quadric.progress import Report, silent
from quadric.search.decomposition import SearchResult
from quadric.search.exchanges import SLACK
from quadric.search.structured import STRONG, Structure
from quadric.types import BoolArray, FloatArray, IntArray

NOTHING_LEFT = "monotonic_cst and coef_bounds leave no surface on the terms that were found: loosen one of them"
# Times that coefficients which miss a rule by rounding are moved into it, each time twice as far.
MOVES_INSIDE = 30
# Exchanges of one support that are refitted where there is no closed form, and the most promising of more.
MOST_REFITTED, FIRST_REFITTED = 300, 30


class SlopeCut(NamedTuple):
    """The rule on a feature at one row of the box; the row has a last entry of one, for the linear term."""

    rule: SlopeRule
    at: FloatArray


@dataclass(frozen=True)
class RuledFit:
    """The best surface on a support under rules.

    Attributes
    ----------
    support : array
    solution : RuledSolution
        Its multipliers are those of ``cuts``, then those of the limits on coefficients of the support.
    cuts : tuple of SlopeCut
    """

    support: IntArray
    solution: RuledSolution
    cuts: tuple[SlopeCut, ...]

    @property
    def value(self) -> float:
        return self.solution.value


class Ruled:
    """Refits of a problem under its rules.

    Parameters
    ----------
    problem : SparseProblem
    step : Step, optional
        Its solver without rules.
    """

    def __init__(self, problem: SparseProblem, step: Step | None = None) -> None:
        assert problem.shape is not None
        self.problem, self.shape, self._step = problem, problem.shape, step or problem.step()
        factors = term_factors(problem.n_features)
        self._left, self._right = factors.left[problem.terms], factors.right[problem.terms]
        places = np.searchsorted(problem.terms, [bound.term for bound in self.shape.bounds])
        self._limits = {
            int(place): bound
            for place, bound in zip(places, self.shape.bounds, strict=True)
            if place < problem.n_terms and problem.terms[place] == bound.term
        }

    def refit(self, support: IntArray) -> StepSolution:
        """The best surface on a support, as ``Step.refit`` has it."""
        fit = self.fit(support)
        if fit is None:
            raise Infeasible(NOTHING_LEFT)
        return fit.solution

    def bracket(self, support: IntArray) -> tuple[float, float]:
        """F as reached on a support, and a lower bound of its minimum there; infinite where the rules leave nothing."""
        fit = self.fit(support)
        if fit is None:
            return np.inf, np.inf
        return fit.value, self._step.bracket_under(support, self._cuts(fit.cuts, support))[1]

    def fit(self, support: IntArray, known: Iterable[SlopeCut] = (), ceiling: float = np.inf) -> RuledFit | None:
        """The best surface on a support; None where there is none under the rules, or none below a ceiling.

        Parameters
        ----------
        support : array
        known : iterable of SlopeCut
            Cuts that probably bind.
        ceiling : float
        """
        ruled = [(rule, *self._terms_of(rule, support)) for rule in self.shape.slopes]
        ruled = [(rule, own, partner) for rule, own, partner in ruled if len(own)]
        if ceiling < np.inf and self._step.exceeds(support, ceiling):
            return None
        cuts = self._different(known, support)
        while True:
            try:
                solution = self._step.refit_under(support, self._cuts(cuts, support))
            except Infeasible:
                return None
            if solution.value >= ceiling:  # cuts that are not there yet can only raise it
                return None
            lowest = [(rule, self._lowest(rule, solution.z[support], own, partner)) for rule, own, partner in ruled]
            missed = [SlopeCut(rule, np.append(low.at, 1.0)) for rule, low in lowest if low.slope < 0.0]
            n_cuts, cuts = len(cuts), self._different([*cuts, *missed], support)
            if len(cuts) == n_cuts:  # what is a cut already is missed by rounding only
                break
        inside = self._inside(solution, support, ruled)
        return None if inside is None else RuledFit(support, inside, tuple(cuts))

    def pulls(self, fit: RuledFit) -> Pulls:
        """What the multipliers of a fit say of all terms (12.6)."""
        inside = np.zeros(self.problem.n_terms, dtype=bool)
        inside[fit.support] = True
        low, high = np.zeros(self.problem.n_terms), np.zeros(self.problem.n_terms)
        weights = fit.solution.multipliers
        for rule in self.shape.slopes:
            own, partner = self._terms_of(rule, np.arange(self.problem.n_terms))
            mine = [i for i, cut in enumerate(fit.cuts) if cut.rule == rule]
            ats = np.array([fit.cuts[i].at for i in mine]).reshape(len(mine), self.problem.n_features + 1)
            ends = self._ends(rule)[:, partner]
            if inside[own].any():
                fixed = inside[own] | ~self._loose[partner]
                pull = np.where(fixed, (weights[mine] @ ats)[partner], weights[mine].sum() * ends)
            else:  # a rule on a feature without terms: any cut of it may have any weight
                pull = np.array([np.where(ends[0] < 0.0, -np.inf, 0.0), np.where(ends[1] > 0.0, np.inf, 0.0)])
            pull = np.sort(rule.sign * pull, axis=0)
            low[own] += pull[0]
            high[own] += pull[1]
        constant = 0.0
        for place, bound in self._limits.items():
            if not inside[place]:
                high[place] += np.inf if bound.low == 0.0 else 0.0
                low[place] -= np.inf if bound.high == 0.0 else 0.0
        limits = self._limits_on(fit.support)
        own_weights = weights[len(fit.cuts) :]
        pull = own_weights @ limits.A
        low[fit.support] += pull
        high[fit.support] += pull
        constant = float(own_weights @ limits.b)
        return Pulls(low, high, constant)

    @cached_property
    def heredity(self) -> SupportRule:
        """What follows from rules on slopes for supports: a product needs the linear terms of its ruled features."""
        terms, n = self.problem.terms, self.problem.n_features
        structure = Structure(STRONG, np.arange(n), np.zeros((0, n)), np.zeros(0))
        rule, always = structure.rule(terms, self.problem.rule.required), len(terms)
        ruled = np.zeros(n + 1, dtype=bool)
        ruled[[slope.feature for slope in self.shape.slopes]] = True
        factors = np.column_stack([self._left, self._right])
        return replace(rule, parents=np.where(ruled[factors], rule.parents, always))

    @cached_property
    def _loose(self) -> BoolArray:
        """Features that can be anywhere between their limits in a row, whatever its other values are; not linear terms."""
        box, loose = self.shape.box, np.ones(self.problem.n_features + 1, dtype=bool)
        for members in box.levels:
            loose[members] = False
        loose[[*box.flags.keys(), *box.flags.values(), LINEAR]] = False
        return loose

    def _ends(self, rule: SlopeRule) -> FloatArray:
        """The smallest and the largest value of each feature, of what its slope counts of the ruled one, and of one."""
        box = self.shape.box
        ends = np.array([np.append(box.low, 1.0), np.append(box.high, 1.0)])
        if box.two_valued[rule.feature]:
            ends[:, rule.feature] = ends[:, rule.feature].mean()
        held = box.held(rule.feature)
        ends[:, held] = ends[0, held]
        return ends

    def _terms_of(self, rule: SlopeRule, support: IntArray) -> tuple[IntArray, IntArray]:
        """Where the terms of a feature stand in a support, and their other factors; LINEAR is the last entry of a cut."""
        left, right = self._left[support], self._right[support]
        own = np.flatnonzero((left == rule.feature) | (right == rule.feature))
        return own, np.where(left[own] == rule.feature, right[own], left[own])

    def _lowest(self, rule: SlopeRule, z: FloatArray, own: IntArray, partner: IntArray) -> LowestSlope:
        row = np.zeros(self.problem.n_features + 1)
        row[partner] = z[own]
        return lowest_slope(rule, self.shape.box, row[:-1], float(row[-1]))

    def _row(self, cut: SlopeCut, support: IntArray) -> FloatArray:
        own, partner = self._terms_of(cut.rule, support)
        row = np.zeros(len(support))
        row[own] = cut.rule.sign * cut.at[partner]
        return row

    def _different(self, cuts: Iterable[SlopeCut], support: IntArray) -> list[SlopeCut]:
        """Cuts that say something of a support, and nothing that another says already; multipliers rely on their order."""
        rows = dict[bytes, SlopeCut]()
        for cut in cuts:
            if (row := self._row(cut, support)).any():
                rows.setdefault(row.tobytes(), cut)
        return list(rows.values())

    def _cuts(self, cuts: Sequence[SlopeCut], support: IntArray) -> Cuts:
        """With the limits on coefficients of a support."""
        limits = self._limits_on(support)
        rows = np.array([self._row(cut, support) for cut in cuts]).reshape(len(cuts), len(support))
        return Cuts(np.vstack([rows, limits.A]), np.append(np.zeros(len(cuts)), limits.b))

    def _limits_on(self, support: IntArray) -> Cuts:
        """Limits on the coefficients of a support."""
        rows, b = [np.zeros((0, len(support)))], list[float]()
        for place, term in enumerate(support.tolist()) if self._limits else ():
            bound = self._limits.get(term)
            for sign, limit in () if bound is None else ((1.0, bound.low), (-1.0, -bound.high)):
                if np.isfinite(limit):
                    rows.append(np.zeros((1, len(support))))
                    rows[-1][0, place] = sign
                    b.append(limit)
        return Cuts(np.vstack(rows), np.array(b))

    def _inside(
        self, solution: RuledSolution, support: IntArray, ruled: list[tuple[SlopeRule, IntArray, IntArray]]
    ) -> RuledSolution | None:
        """The same surface with every rule met to the last bit, which rounding may have missed; None: it cannot be."""
        z, box = solution.z[support], self.shape.box
        for place, term in enumerate(support.tolist()) if self._limits else ():
            if (bound := self._limits.get(term)) is not None:
                z[place] = min(max(z[place], bound.low), bound.high)
        for attempt in range(MOVES_INSIDE):
            missed = False
            for rule, own, partner in ruled:
                lowest = self._lowest(rule, z, own, partner)
                if lowest.is_proved:
                    continue
                missed = True
                # raised by the linear term, which is in no other rule, or, without it, by a product with a feature of one sign
                factors = np.append(lowest.at, 1.0)[partner]
                steady = (partner == LINEAR) | (box.low[partner] * box.high[partner] > 0.0)
                if not steady.any():  # a slope of one sign is zero then
                    z[own] = 0.0
                    continue
                lever = int(np.argmax(np.where(partner == LINEAR, np.inf, np.where(steady, np.abs(factors), 0.0))))
                short = lowest.margin - lowest.slope + ROUNDING * float(np.abs(factors) @ np.abs(z[own]))
                z[own[lever]] += rule.sign * short * 2.0**attempt / factors[lever]
            if not missed:
                whole = solution.z.copy()
                whole[support] = z
                return replace(solution, z=whole)
        return None


def solver_of(problem: SparseProblem, step: Step | None = None) -> Step | Ruled:
    """What refits a problem, under its rules on coefficients if there are any."""
    step = step or problem.step()
    return step if problem.shape is None else Ruled(problem, step)


class RuledBounds(Bounds):
    """Bounds without rules, which hold under them, and fits under rules for the supports whose bounds are low enough.

    Parameters
    ----------
    bounds : Bounds
    ruled : Ruled
    """

    def __init__(self, bounds: Bounds, ruled: Ruled) -> None:
        self._bounds, self._ruled = bounds, ruled
        self.tolerance, self.cheap_nodes = bounds.tolerance, bounds.cheap_nodes

    def relaxations(self) -> list[Relaxation]:
        return self._bounds.relaxations()

    def minimum(self, support: IntArray) -> tuple[float, float]:
        return np.inf, self._bounds.minimum(support)[1]

    def examined(self, support: IntArray) -> tuple[float, float]:
        try:
            return self._ruled.bracket(support)
        except NoBound:
            return self._ruled.refit(support).value, self._bounds.minimum(support)[1]


def bounds_of(problem: SparseProblem, step: Step) -> Bounds:
    """What branch and bound asks of a problem, under its rules on coefficients if there are any."""
    bounds = problem.loss.bounds(problem, step)
    return bounds if problem.shape is None else RuledBounds(bounds, Ruled(problem, step))


def exchanges_under(problem: SparseProblem, support: IntArray, ceiling: float, most: int) -> Iterator[tuple[Move, float]]:
    """Exchanges of one term after which F under rules is below a ceiling, with its value; of many the ``most`` likeliest."""
    ruled, explorer = Ruled(problem), problem.explorer()
    fit, moves = _best_of(ruled, [support]), problem.rule.moves(support)
    outlook = explorer.under(fit.solution, support, moves, ruled.pulls(fit))
    left = np.argwhere(outlook.least <= ceiling)
    for i, j in left[np.argsort(outlook.likely[tuple(left.T)], kind="stable")][:most]:
        move = Move((int(moves.out[i]),), (int(moves.into[j]),))
        other = ruled.fit(move.applied(support), fit.cuts, np.nextafter(ceiling, np.inf))
        if other is not None:
            yield move, other.value


def searched_under(
    problem: SparseProblem, result: SearchResult, going: Callable[[], bool], report: Report = silent
) -> SearchResult:
    """The best surface under the rules of a problem on the terms of a search without them, or where exchanges lead from there.

    Parameters
    ----------
    problem : SparseProblem
    result : SearchResult
    going : callable
        Whether to exchange terms.
    report : callable
    """
    fit, swap_optimal = best_under(problem, [result.support], going, report)
    z, c = fit.solution.z, fit.solution.c
    return replace(result, z=z, c=c, support=fit.support, objective=fit.value, swap_optimal=swap_optimal, lower_bound=None)


def best_under(
    problem: SparseProblem, supports: Sequence[IntArray], going: Callable[[], bool], report: Report = silent
) -> tuple[RuledFit, bool | None]:
    """Where moves under the rules of a problem end that begin with the best of several supports, or of a cheaper loss.

    Returns
    -------
    fit : RuledFit
    swap_optimal : bool or None
        Whether every exchange of one term is known to be useless; None: that is not known.
    """
    pool = problem.promising(WORKING_TERMS, np.unique(np.concatenate(supports))) if problem.is_wide else problem
    ruled, starts = Ruled(pool), [np.searchsorted(pool.terms, problem.terms[support]) for support in supports]
    if going() and (screen := pool.screen()) is not None:
        starts.append(_descended(Ruled(screen), screen.explorer(), _best_of(Ruled(screen), starts), going)[0].support)
    fit, swap_optimal = _best_of(ruled, starts), None
    report(f"under the rules: objective {fit.value:.6g}")
    if going():
        fit, swap_optimal = _descended(ruled, pool.explorer(), fit, going, report)
    if pool is problem:
        return fit, swap_optimal
    z, support = np.zeros(problem.n_terms), np.searchsorted(problem.terms, pool.terms[fit.support])
    z[support] = fit.solution.z[fit.support]
    return replace(fit, support=support, solution=replace(fit.solution, z=z)), None


def _best_of(ruled: Ruled, supports: Sequence[IntArray]) -> RuledFit:
    fits = [fit for support in supports if (fit := ruled.fit(support)) is not None]
    if not fits:
        raise Infeasible(NOTHING_LEFT)
    return min(fits, key=lambda fit: fit.value)


def _descended(
    ruled: Ruled, explorer: Explorer, fit: RuledFit, going: Callable[[], bool], report: Report = silent
) -> tuple[RuledFit, bool | None]:
    """Where moves end that help, and whether every exchange of one term is known to be useless there; None: it is not."""
    while True:
        better, decided = _exchanged(ruled, explorer, fit, going)
        if better is None and going():
            better = next(_compounds(ruled, explorer, fit), None)
        if better is None:
            return fit, decided
        fit = better
        report(f"exchanges under the rules: objective {fit.value:.6g}")


def is_swap_optimal_under(problem: SparseProblem, support: IntArray) -> bool | None:
    """Whether no exchange of one term helps under the rules of a problem; None: that cannot be told."""
    if problem.is_wide:
        return None
    ruled = Ruled(problem)
    fit = ruled.fit(support)
    if fit is None:
        return None
    better, decided = _exchanged(ruled, problem.explorer(), fit, lambda: True)
    return False if better is not None else decided


def _exchanged(
    ruled: Ruled, explorer: Explorer, fit: RuledFit, going: Callable[[], bool]
) -> tuple[RuledFit | None, bool | None]:
    """The best exchange of one term, or any that helps where refits take long; else whether all are known to be useless."""
    problem = ruled.problem
    moves = problem.rule.moves(fit.support)
    outlook = explorer.under(fit.solution, fit.support, moves, ruled.pulls(fit))
    # values of refits carry errors of their own where there is no closed form
    ceiling = fit.value * (1.0 - (IMPROVEMENT if problem.loss.cheap_exchanges else SLACK))
    left = np.argwhere(outlook.least < ceiling)
    left = left[np.argsort(outlook.likely[tuple(left.T)], kind="stable")]
    best, few = None, problem.loss.cheap_exchanges or len(left) <= MOST_REFITTED
    for i, j in left if few else left[:FIRST_REFITTED]:
        if outlook.least[i, j] >= ceiling:
            continue
        if not going():
            return best, None
        support = Move((int(moves.out[i]),), (int(moves.into[j]),)).applied(fit.support)
        other = ruled.fit(support, fit.cuts, ceiling)
        if other is not None:
            best, ceiling = other, other.value
            if not problem.loss.cheap_exchanges:
                break
    return best, True if few else None


def _compounds(ruled: Ruled, explorer: Explorer, fit: RuledFit) -> Iterator[RuledFit]:
    """Better supports by products that enter together with the linear terms without which rules on slopes make them zero."""
    for move in explorer.compounds(fit.support, ruled.heredity):
        support, ceiling = move.applied(fit.support), fit.value * (1.0 - SLACK)
        if ruled.problem.rule.admissible(support) and (other := ruled.fit(support, fit.cuts, ceiling)) is not None:
            yield other
