"""The rules of a model in a few words, and the parameters without each of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from quadric.estimators.feature_rules import NO_INTERACTIONS, PAIRWISE

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
        rules[f"products within {len(sets)} sets of columns and among the others"] = {"interaction_cst": None}
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


def rule_words(owner: Any) -> str | None:
    """The rules on terms and columns in a few words; None where there are none.

    Parameters
    ----------
    owner : estimator or TrainingOptions

    Returns
    -------
    str or None
    """
    return ", ".join(listed_rules(owner)) or None
