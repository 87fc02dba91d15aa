"""The rules of a model in a few words, and the parameters without each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import isinf
from typing import Any

from quadric.estimators.feature_rules import NO_INTERACTIONS, PAIRWISE
from quadric.workflow.options import TrainingOptions

# Parameters that name terms, with what that means
TERMS = {"include": "in", "exclude": "out"}
# Terms that are named
MOST_NAMED = 3


def listed_rules(owner: Any, terms: Iterable[str] = ()) -> dict[str, dict[str, Any]]:
    """What each rule on terms and columns says, with the parameters that lift it.

    Parameters
    ----------
    owner : estimator or TrainingOptions
    terms : sequence of str
        Which of TERMS count as rules, too.

    Returns
    -------
    dict
    """
    rules: dict[str, dict[str, Any]] = {}
    sets, hierarchy, most, cost = (
        getattr(owner, name) for name in ("interaction_cst", "hierarchy", "max_features", "max_cost")
    )
    if sets == NO_INTERACTIONS:
        rules["no products of two columns"] = {"interaction_cst": None}
    elif sets not in (None, PAIRWISE):
        within = "one set" if len(sets) == 1 else f"{len(sets)} sets"
        rules[f"products within {within} of columns and among the others"] = {"interaction_cst": None}
    if hierarchy is not None:
        rules[f"{hierarchy} hierarchy"] = {"hierarchy": None}
    if most is not None:
        rules[f"at most {most} columns"] = {"max_features": None}
    if cost is not None:
        rules[f"cost at most {cost:g}"] = {"max_cost": None, "feature_cost": None}
    for name in terms:
        if listed := list(getattr(owner, name) or ()):
            is_short = len(listed) <= MOST_NAMED and all(isinstance(each, str) for each in listed)
            rules[f"{', '.join(listed) if is_short else f'{len(listed)} terms'} {TERMS[name]}"] = {name: None}
    return rules


def listed_shapes(
    owner: Any, names: Sequence[str] = (), terms: Sequence[str] = (), classes: Sequence[str] = ()
) -> dict[str, dict[str, Any]]:
    """The same of rules on slopes and coefficients, one entry for each feature and term.

    Parameters
    ----------
    owner : estimator or TrainingOptions
    names, terms, classes : sequences of str
        Of features, terms and classes, where the rules go by numbers.
    """
    rules: dict[str, dict[str, Any]] = {}
    for parameter, called, say in (("monotonic_cst", names, _slope_words), ("coef_bounds", terms, _limit_words)):
        given = getattr(owner, parameter, None)
        if given is None:
            continue
        given = dict(given if isinstance(given, Mapping) else enumerate(given))
        for key, value in given.items():
            if not isinstance(value, Mapping):
                others = {name: other for name, other in given.items() if name != key}
                words = say(_name(key, called), value)
                rules |= {words: {parameter: others or None}} if words else {}
                continue
            for inner, one in value.items():
                left = {name: other for name, other in value.items() if name != inner}
                others = {name: left if name == key else other for name, other in given.items() if name != key or left}
                words = say(_name(inner, called), one)
                rules |= {f"score of {_name(key, classes)}: {words}": {parameter: others or None}} if words else {}
    return rules


def _name(key: Any, names: Sequence[str]) -> str:
    return key if isinstance(key, str) else names[key]


def _slope_words(name: str, sign: Any) -> str | None:
    if sign == 0:
        return None
    return f"never {'rises' if sign in (-1, 'decreasing') else 'falls'} with {name}"


def _limit_words(term: str, limits: Sequence[float | None]) -> str:
    low, high = (None if limit is None or isinf(limit) else f"{limit:g}" for limit in limits)
    ends = " and ".join([*[f"at least {low}"] * (low is not None), *[f"at most {high}"] * (high is not None)])
    return f"coefficient of {term} {ends or 'free'}"


def without_rules(options: TrainingOptions) -> TrainingOptions:
    """The same options with no rule on terms, columns, slopes or coefficients.

    Parameters
    ----------
    options : TrainingOptions

    Returns
    -------
    TrainingOptions
    """
    rules = listed_rules(options, TERMS) | listed_shapes(options)
    lifted: dict[str, Any] = {name: () if name in TERMS else None for change in rules.values() for name in change}
    return replace(options, **lifted)
