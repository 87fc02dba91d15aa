"""Rules on terms and features together: from what people write to numbers of features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np

from quadric.errors import quoted, refuse_unknown
from quadric.estimators.validation import N_TERMS, check_values, none_or, number_from, one_of
from quadric.geometry.terms import LINEAR, term_factors, term_names
from quadric.search.rules import SupportLimits
from quadric.search.structured import PRICE_ROUNDING, STRONG, WEAK, Structure
from quadric.types import BoolArray, IntArray

# Sets of features by name or number, as people write them.
FeatureSets: TypeAlias = Sequence[Iterable[str | int]]
NO_INTERACTIONS, PAIRWISE = "no_interactions", "pairwise"
BUDGETS = ("max_features", "max_cost")
RULES = ("interaction_cst", "hierarchy", "feature_cost", "feature_groups", *BUDGETS)
CHECKS = {
    "hierarchy": none_or(one_of(WEAK, STRONG)),
    "max_features": none_or(N_TERMS),
    "max_cost": none_or(number_from(0.0)),
}


def rules_of(owner: Any) -> dict[str, Any]:
    """The rules that an estimator has, by the names of its parameters; None where it has none."""
    return {name: getattr(owner, name, None) for name in RULES}


def by_number(rules: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The same rules with numbers of features in place of names; ValueError where they make no sense.

    Parameters
    ----------
    rules : mapping
        Each of RULES, or none at all.
    names : sequence of str
        Of the features.
    """
    rules = dict.fromkeys(RULES) | dict(rules)
    check_values(rules, CHECKS)
    interactions, prices, groups = (rules[name] for name in ("interaction_cst", "feature_cost", "feature_groups"))
    if (prices is None) != (rules["max_cost"] is None):
        missing, given = ("feature_cost", "max_cost") if prices is None else ("max_cost", "feature_cost")
        raise ValueError(f"{given} has no effect without {missing}: give both, or max_features")
    if interactions is not None and not isinstance(interactions, str):
        rules["interaction_cst"] = _sets("interaction_cst", interactions, names)
    elif interactions not in (None, NO_INTERACTIONS, PAIRWISE):
        raise ValueError(
            f"interaction_cst must be None, {NO_INTERACTIONS!r}, {PAIRWISE!r} or sets of features, got {quoted(interactions)}"
        )
    if groups is not None:
        rules["feature_groups"] = _sets("feature_groups", groups, names)
        members = [feature for group in rules["feature_groups"] or () for feature in group]
        twice = [names[feature] for feature in members if members.count(feature) > 1]
        if twice:
            raise ValueError(f"feature_groups: {quoted(twice[0])} is in two groups")
    if prices is not None:
        if not isinstance(prices, Mapping):
            raise ValueError(f"feature_cost must be None or a mapping from features to prices, got {quoted(prices)}")
        numbers = _numbers("feature_cost", prices, names)
        price = number_from(0.0)
        wrong = [(name, value) for name, value in prices.items() if not price.holds(value)]
        if wrong:
            name, value = wrong[0]
            raise ValueError(f"feature_cost: the price of {quoted(name)} must be {price.words}, got {quoted(value)}")
        rules["feature_cost"] = dict(zip(numbers, map(float, prices.values()), strict=True))
    return rules


def limited(limits: SupportLimits, rules: Mapping[str, Any], names: Sequence[str], k: int) -> SupportLimits:
    """Limits on terms with rules by number: what these leave out is excluded, and what included terms need is included.

    Parameters
    ----------
    limits : SupportLimits
    rules : mapping
        As :func:`by_number` gives them.
    names : sequence of str
        Of the features.
    k : int
    """
    forbidden = _forbidden(rules["interaction_cst"], len(names))
    both = np.intersect1d(limits.include, np.flatnonzero(forbidden))
    if len(both):
        raise ValueError(f"include and interaction_cst contradict each other on {listed_terms(both, names)}")
    structure = _structure(rules, len(names))
    forbidden[limits.exclude] = True
    if structure is None:
        return SupportLimits(limits.include, np.flatnonzero(forbidden), limits.lean)
    for name, prices, limit in zip(_budgets(rules), structure.prices, structure.limits, strict=True):
        if prices.min() > limit:
            cheapest = f"the price of the cheapest feature, {prices.min():g}"
            raise ValueError(f"{name} = {limit:g} is below {cheapest} by feature_cost: no term is left")
        used = np.unique(structure.groups[limits.demanded_features(len(names))])
        if prices[used].sum() > limit * (1.0 + PRICE_ROUNDING):
            what = f"{len(used)} features" if name == "max_features" else f"features that cost {prices[used].sum():g}"
            raise ValueError(f"include needs {what}, more than {name} = {limit:g}: {listed_terms(limits.include, names)}")
    possible = structure.possible(~forbidden)
    impossible = limits.include[~possible[limits.include]]
    if len(impossible):
        raise ValueError(
            f"include and exclude contradict each other under hierarchy={structure.hierarchy!r}: "
            f"{listed_terms(impossible, names)} needs linear terms that exclude leaves out"
        )
    if not possible.any():
        raise ValueError("exclude and the rules on supports contradict each other: no term is left")
    candidates = np.flatnonzero(possible)
    rule = structure.rule(candidates, np.searchsorted(candidates, limits.include))
    needed = np.flatnonzero(rule.completions(np.zeros(len(candidates), dtype=bool), np.ones(len(candidates), dtype=bool)).fixed)
    include = candidates[needed]
    if len(include) > k:
        raise ValueError(
            f"include holds {len(include)} terms with those that hierarchy={structure.hierarchy!r} asks for, more than "
            f"k = {k}: {listed_terms(include, names)}"
        )
    if not rule.admissible(needed):
        raise ValueError(
            "hierarchy='weak' allows a product of include only with one of its linear terms, and does not say which: add that "
            f"to include, beside {listed_terms(limits.include, names)}"
        )
    return SupportLimits(include, np.flatnonzero(~possible), limits.lean, structure)


def _budgets(rules: Mapping[str, Any]) -> list[str]:
    return [name for name in BUDGETS if rules[name] is not None]


def _structure(rules: Mapping[str, Any], n_features: int) -> Structure | None:
    if rules["hierarchy"] is None and not _budgets(rules):
        return None
    groups = np.arange(n_features)
    for members in rules["feature_groups"] or ():
        groups[members] = min(members, default=0)
    groups = np.unique(groups, return_inverse=True)[1]
    prices = {"max_features": np.ones(groups.max() + 1), "max_cost": np.zeros(groups.max() + 1)}
    for feature, price in (rules["feature_cost"] or {}).items():  # a group costs what its most expensive feature does
        prices["max_cost"][groups[feature]] = max(price, prices["max_cost"][groups[feature]])
    own = _budgets(rules)
    table = np.array([prices[name] for name in own]).reshape(len(own), -1 if own else groups.max() + 1)
    return Structure(rules["hierarchy"], groups, table, np.array([float(rules[name]) for name in own]))


def _forbidden(interactions: Any, n_features: int) -> BoolArray:
    """Products of two features that are in no set together; features in no set at all are one more set."""
    left, right = term_factors(n_features)
    if interactions in (None, PAIRWISE):
        return np.zeros(len(left), dtype=bool)
    sets = [] if interactions == NO_INTERACTIONS else [*interactions]
    if interactions != NO_INTERACTIONS:
        sets.append(np.setdiff1d(np.arange(n_features), np.concatenate([[], *sets]).astype(np.intp)).tolist())
    together = np.eye(n_features, dtype=bool)
    for members in sets:
        together[np.ix_(members, members)] = True
    return (right != LINEAR) & ~together[left, right]


def _sets(parameter: str, sets: Any, names: Sequence[str]) -> list[list[int]]:
    if not isinstance(sets, Iterable) or isinstance(sets, str):
        raise ValueError(f"{parameter} must be None or a sequence of sets of features, got {quoted(sets)}")
    return [sorted(set(_numbers(parameter, members, names))) for members in sets]


def _numbers(parameter: str, features: Any, names: Sequence[str]) -> list[int]:
    if not isinstance(features, Iterable) or isinstance(features, str):
        raise ValueError(f"{parameter}: {quoted(features)} is not a set of features")
    features = list(features)
    refuse_unknown([each for each in features if isinstance(each, str)], names, f"{parameter}: X", "feature")
    wrong = [each for each in features if not isinstance(each, str) and not _is_number(each, len(names))]
    if wrong:
        raise ValueError(f"{parameter}: there is no feature {quoted(wrong[0])}; X has features 0 to {len(names) - 1}")
    place = {name: number for number, name in enumerate(names)}
    return [place[each] if isinstance(each, str) else int(each) for each in features]


def _is_number(value: Any, n_features: int) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and 0 <= int(value) < n_features


def listed_terms(terms: IntArray, names: Sequence[str]) -> str:
    """The first few terms by name."""
    every = term_names(names)
    return ", ".join(every[t] for t in terms[:8]) + (", ..." if len(terms) > 8 else "")
