"""Refits under rules on slopes and coefficients, for any loss (docs/mathematics.md, section 12).

A rule on the slope along a feature is a condition on every row of a box: too many to list. A refit begins with rows that are
known to bind, asks where the slope is lowest (geometry/box.py), adds that row as a cut, and so on until no row has the wrong
slope.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from quadric.geometry.box import LowestSlope, SlopeRule, lowest_slope
from quadric.geometry.cuts import ROUNDING, Cuts
from quadric.geometry.terms import LINEAR, term_factors
from quadric.losses.base import (
    Pulls,
    RuledSolution,
    SparseProblem,
    Step,
    StepSolution,
)
from quadric.losses.cuts import Infeasible
from quadric.losses.supports import SupportRule
from quadric.search.structured import STRONG, Structure
from quadric.types import BoolArray, FloatArray, IntArray

NOTHING_LEFT = "monotonic_cst and coef_bounds leave no surface on the terms that were found: loosen one of them"
# Times that coefficients which miss a rule by rounding are moved into it, each time twice as far.
MOVES_INSIDE = 30


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
            more = self._different([*cuts, *missed], support)
            if len(more) == len(cuts):  # what is a cut already is missed by rounding only
                break
            cuts = more
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
        for place, bound in self._limits.items():
            if not inside[place]:
                high[place] += np.inf if bound.low == 0.0 else 0.0
                low[place] -= np.inf if bound.high == 0.0 else 0.0
        limits, weights = self._limits_on(fit.support), weights[len(fit.cuts) :]
        low[fit.support] += weights @ limits.A
        high[fit.support] += weights @ limits.A
        return Pulls(low, high, float(weights @ limits.b))

    @cached_property
    def is_ruled(self) -> BoolArray:
        """Terms of features with a rule on their slope."""
        features = [slope.feature for slope in self.shape.slopes]
        return np.isin(self._left, features) | np.isin(self._right, features)

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
        """Cuts that say something of a support, and nothing that one before says already."""
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
                raised = z[own[lever]] + rule.sign * short * 2.0**attempt / factors[lever]
                limit = self._limits.get(int(support[own[lever]]))
                if limit is None or limit.low <= raised <= limit.high:
                    z[own[lever]] = raised
                else:  # at its limit: what pulls the slope down gives way
                    z[np.delete(own, lever)] *= 1.0 - ROUNDING * 2.0**attempt
            if not missed:
                whole = solution.z.copy()
                whole[support] = z
                return replace(solution, z=whole)
        return None


def solver_of(problem: SparseProblem, step: Step | None = None) -> Step | Ruled:
    """What refits a problem, under its rules on coefficients if there are any."""
    step = step or problem.step()
    return step if problem.shape is None else Ruled(problem, step)
