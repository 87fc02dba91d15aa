"""Rules on supports: from what people write to positions in z."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from numbers import Integral
from typing import Any

import numpy as np

from quadric.errors import Troubles, listed, near_name, quoted
from quadric.estimators.feature_rules import RULES, by_number, limited, listed_terms
from quadric.geometry.terms import default_names, quoted_factors, term_count, term_index
from quadric.search.rules import SupportLimits
from quadric.types import IntArray

# Dictionaries of terms: linear ones only, squares and products, too, and the better one.
LINEAR, QUADRATIC, AUTO = "linear", "quadratic", "auto"


def support_limits(
    include: Any,
    exclude: Any,
    feature_names: Sequence[str] | None,
    n_features: int,
    k: int,
    terms: str = QUADRATIC,
    *,
    lean: bool = False,
    rules: Mapping[str, Any] = {},
) -> SupportLimits:
    """Resolve all rules on supports, and check them against each other and against k.

    Parameters
    ----------
    include, exclude : sequence or None
        Each item is a term name ("age*income" in either order, "age^2", "age"), "age*" for every product of age with another
        feature, a position in ``coef_``, or a pair of features by name or number. Features in double quotes are taken by their
        whole names: '"age^2"' is a feature of that name, and '"age"^2' a square.
    feature_names : sequence of str or None
    n_features, k : int
    terms : {"quadratic", "linear"}
        Linear terms alone leave all others out.
    lean : bool
        Whether products that the data make redundant are left out unless they are included.
    rules : mapping
        The others of feature_rules.RULES by name.
    """
    names = default_names(n_features) if feature_names is None else [str(name) for name in feature_names]
    vocabulary = Vocabulary(names)
    wanted, unwanted = vocabulary.terms("include", include), vocabulary.terms("exclude", exclude)
    both = np.intersect1d(wanted, unwanted)
    if len(both):
        raise ValueError(f"include and exclude contradict each other on {vocabulary.listed(both)}")
    if len(wanted) > k:
        raise ValueError(f"include holds {len(wanted)} terms, more than k = {k}: {vocabulary.listed(wanted)}")
    limits = SupportLimits(wanted, unwanted, lean)
    products = wanted[wanted < term_count(n_features) - n_features]
    if terms == LINEAR:
        if len(products):
            raise ValueError(f"terms='linear' leaves out {vocabulary.listed(products)}, which include names: take 'quadratic'")
        limits = limits.linear(n_features)
    if all(rules.get(name) is None for name in RULES):
        return limits
    return limited(limits, by_number(rules, names), names, k)


def dictionaries(terms: str, limits: SupportLimits, n_features: int) -> dict[str, SupportLimits]:
    """The limits of each dictionary that cross-validation compares; the last one has all terms of the others.

    Parameters
    ----------
    terms : {"auto", "linear", "quadratic"}
        "auto": both, unless they are the same, or linear terms are not enough for what must be included.
    limits : SupportLimits
        With the products that ``terms`` leaves out, if it does.
    n_features : int
    """
    if terms != AUTO:
        return {terms: limits}
    linear, n_products = limits.linear(n_features), term_count(n_features) - n_features
    if len(linear.exclude) == len(limits.exclude):
        return {LINEAR: limits}
    if len(linear.exclude) == n_products + n_features or (limits.include < n_products).any():
        return {QUADRATIC: limits}
    return {LINEAR: linear, QUADRATIC: limits}


class Vocabulary:
    """What names of terms mean; looked up one by one, as there are millions of terms where there are thousands of features."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self.n_terms = term_count(len(self.names))
        self.positions: dict[str, list[int]] = {}
        for i, name in enumerate(names):
            self.positions.setdefault(name, []).append(i)

    def meanings(self, name: str) -> set[int]:
        """Terms that go by a name: more than one where features have the same name, or a star or "^2" in it."""
        n, factors = len(self.names), quoted_factors(name)
        if factors is not None and all(map(self._called, factors)):
            first, *second = map(self._called, factors)
            return {term_index(i, j, n) for i in first for j in (second[0] if second else [None])}
        found = {term_index(i, None, n) for i in self._called(name)}
        if name.endswith("^2"):
            found |= {term_index(i, i, n) for i in self._called(name[:-2])}
        for at, character in enumerate(name):
            if character == "*":
                pairs = product(self._called(name[:at]), self._called(name[at + 1 :]))
                found |= {term_index(i, j, n) for i, j in pairs if i != j}
        return found

    def _called(self, name: str) -> list[int]:
        return self.positions.get(name, [])

    def terms(self, parameter: str, items: Any) -> IntArray:
        if items is None:
            return np.empty(0, dtype=np.intp)
        if isinstance(items, str):
            items = [items]
        found: list[int] = []
        troubles = Troubles("{} terms cannot be found")
        try:
            for item in items:
                with troubles.noted():
                    found += self._item(parameter, item)
        except TypeError:
            raise ValueError(f"{parameter} must be None or a sequence of terms, got {quoted(items)}") from None
        troubles.tell()
        return np.unique(np.array(found, dtype=np.intp))

    def _item(self, parameter: str, item: Any) -> list[int]:
        if isinstance(item, str):
            return self._named(parameter, item)
        if isinstance(item, Integral) and not isinstance(item, bool):
            if not 0 <= int(item) < self.n_terms:
                raise ValueError(f"{parameter}: there is no term {item}; coef_ has positions 0 to {self.n_terms - 1}")
            return [int(item)]
        if isinstance(item, Sequence) and len(item) == 2:
            first, second = (self._feature(parameter, part) for part in item)
            return [term_index(first, second, len(self.names))]
        raise ValueError(
            f"{parameter}: cannot read {quoted(item)} as a term: give a name, a position in coef_ or a pair of features"
        )

    def _named(self, parameter: str, name: str) -> list[int]:
        found = self.meanings(name)
        if len(found) > 1:
            raise ValueError(
                f"{parameter}: {quoted(name)} could be more than one term; write its features in double quotes, "
                """such as '"age^2"' for a feature and '"age"^2' for a square, or give its position in coef_"""
            )
        if found:
            return list(found)
        if name.endswith("*") and (features := self._called((quoted_factors(name) or [""])[0]) or self._called(name[:-1])):
            i, n = features[-1], len(self.names)
            return [term_index(i, j, n) for j in range(n) if j != i]
        guess = "*".join(self._near(factor) for factor in name.split("*"))
        if self.meanings(guess) or self._called(guess.removesuffix("*")):
            raise ValueError(f"{parameter}: there is no term {quoted(name)} (did you mean {quoted(guess)}?)")
        raise ValueError(f"{parameter}: there is no term {quoted(name)}; the features are {listed(self.names)}")

    def _near(self, factor: str) -> str:
        name, square = factor.removesuffix("^2"), "^2" * factor.endswith("^2")
        return factor if self.meanings(factor) else f"{near_name(name, self.names) or name}{square}"

    def _feature(self, parameter: str, part: Any) -> int:
        if isinstance(part, str) and self._called(part):
            return self._called(part)[-1]
        if isinstance(part, Integral) and not isinstance(part, bool) and 0 <= int(part) < len(self.names):
            return int(part)
        raise ValueError(f"{parameter}: there is no feature {quoted(part)}")

    def listed(self, terms: IntArray) -> str:
        return listed_terms(terms, self.names)
