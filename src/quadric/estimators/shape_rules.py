"""Rules on slopes and coefficients: from what people write to rules by number, for each surface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np

from quadric.errors import quoted, refuse_unknown
from quadric.estimators.constraints import Vocabulary
from quadric.estimators.feature_rules import by_number, rules_of
from quadric.geometry.box import Box, CoefficientBound, ShapeRules, SlopeRule
from quadric.geometry.terms import default_names, term_factors, term_index
from quadric.labels import class_texts
from quadric.samples.labelled import LabelledSamples
from quadric.samples.sums import SummedSamples
from quadric.samples.target import surfaces_of
from quadric.samples.units import Units
from quadric.search.rules import SupportLimits
from quadric.types import FloatArray, IntArray

# Signs by name or number of features, in a mapping or for all of them in turn; such mappings by class; limits by term
Signs: TypeAlias = Mapping[Any, Any] | Sequence[int] | IntArray
Limits: TypeAlias = Mapping[Any, Any]
RULED = "rules on slopes and coefficients (monotonic_cst, coef_bounds)"
SHAPES = ("monotonic_cst", "coef_bounds")
COMPLETE = 1e-12  # share of the rows, by rounding, that have none of the levels although all have one
WORDS = {"increasing": 1, "decreasing": -1}


@dataclass(frozen=True, eq=False)
class ShapeDemands:
    """Rules on the coefficients of each surface, whatever the rows.

    Attributes
    ----------
    slopes : mapping of int to tuple of SlopeRule
    bounds : mapping of int to tuple of CoefficientBound
    groups : tuple of arrays
        Features that are made from one column.
    names : tuple of str
        Of the features.
    """

    slopes: Mapping[int, tuple[SlopeRule, ...]]
    bounds: Mapping[int, tuple[CoefficientBound, ...]]
    groups: tuple[IntArray, ...]
    names: tuple[str, ...]

    @property
    def parameters(self) -> dict[str, Any]:
        """The same as parameters of an estimator, with numbers of features and terms, and positions of classes as labels."""
        signs = {surface: dict(own) for surface, own in self.slopes.items()}
        limits = {surface: {term: (low, high) for term, low, high in own} for surface, own in self.bounds.items()}
        return {"monotonic_cst": signs or None, "coef_bounds": limits or None}

    def on(self, data: LabelledSamples | SummedSamples) -> dict[int, ShapeRules]:
        """The rules with what training data, in the units of a fit, say of the values that features can take."""
        return self._on_sums(data) if isinstance(data, SummedSamples) else self.on_rows(data.X)

    def on_rows(self, X: FloatArray, units: Units | None = None) -> dict[int, ShapeRules]:
        """The same with what rows say.

        Parameters
        ----------
        X : array of shape (m, n)
            In the units of a fit.
        units : Units, optional
            Those, where the limits of the features are known without these rows.
        """
        ends = None if units is None else _ends(units)
        return self._in(Box.of_rows(X, self.groups, ends), np.asarray(X.mean(axis=0)).ravel())

    def _on_sums(self, sums: SummedSamples) -> dict[int, ShapeRules]:
        n, lifted = sums.n_features, sums.moments.loss
        low, high = _ends(sums.units)
        if any(self.slopes.values()) and not (np.isfinite(low) & np.isfinite(high)).all():
            raise ValueError(
                "monotonic_cst needs the limits of every feature where sums stand for rows: set clip, or give clip_low and "
                "clip_high to quadric.moments"
            )
        mean = lifted.mean[-n:]
        return self._in(Box.of_sums((low, high), lifted.weight, mean, lifted.scatter[-n:, -n:], self.groups), mean)

    def _in(self, box: Box, mean: FloatArray) -> dict[int, ShapeRules]:
        for rule in (rule for own in self.slopes.values() for rule in own):
            for levels in box.levels:
                shares = (mean[levels] - box.low[levels]) / (box.high[levels] - box.low[levels])
                if rule.feature in levels and shares.sum() >= 1.0 - COMPLETE:
                    raise ValueError(
                        f"monotonic_cst: {quoted(self.names[rule.feature])} is one of the levels in feature_groups of which "
                        "every row has one: drop one of these, for the others to be compared with"
                    )
        surfaces = {*self.slopes, *self.bounds}
        return {number: ShapeRules(self.slopes.get(number, ()), self.bounds.get(number, ()), box) for number in surfaces}


def _ends(units: Units) -> tuple[FloatArray, FloatArray]:
    low, high = units(np.array([units.low, units.high]))
    return low, high


def shape_demands(
    owner: Any, names: Sequence[str] | None, n_features: int, classes: np.ndarray, limits: SupportLimits
) -> ShapeDemands | None:
    """The rules on slopes and coefficients that an estimator has, checked against each other and against limits on terms.

    Parameters
    ----------
    owner : Any
        Has the parameters SHAPES and ``feature_groups``, or some of them.
    names : sequence of str or None
        Of the features.
    n_features : int
    classes : array
    limits : SupportLimits
    """
    monotone, coefficients = (getattr(owner, name, None) for name in SHAPES)
    if monotone is None and coefficients is None:
        return None
    names = default_names(n_features) if names is None else [str(name) for name in names]
    vocabulary = Vocabulary(names)
    slopes = {
        surface: rules
        for surface, (flip, own) in _by_surface("monotonic_cst", monotone, classes).items()
        if (rules := _slope_rules(own, names, flip))
    }
    bounds = {
        surface: _coefficient_bounds(own, vocabulary, flip)
        for surface, (flip, own) in _by_surface("coef_bounds", coefficients, classes).items()
    }
    for surface in {*slopes, *bounds}:
        _check(slopes.get(surface, ()), bounds.get(surface, ()), limits, vocabulary)
    groups = by_number(rules_of(owner), names)["feature_groups"] or ()
    return ShapeDemands(slopes, bounds, tuple(np.array(members, dtype=np.intp) for members in groups), tuple(names))


def _by_surface(parameter: str, rules: Any, classes: np.ndarray) -> dict[int, tuple[int, Any]]:
    """The rules of each surface, and -1 where they are about the other one of two classes."""
    surfaces, texts = surfaces_of(len(classes)), class_texts(classes)
    if rules is None:
        return {}
    by_class = isinstance(rules, Mapping) and any(isinstance(own, Mapping) for own in rules.values())
    if not by_class:
        if len(surfaces) > 1:
            raise ValueError(
                f"{parameter}: each of {len(classes)} classes has a score of its own; name the class, as in "
                f"{{{texts[0]!r}: {rules!r}}}"
            )
        return {surfaces[0]: (1, rules)}
    refuse_unknown([str(label) for label in rules], list(texts), f"{parameter}: y", "class")
    own = {texts.index(str(label)): rule for label, rule in rules.items()}
    if len(surfaces) > 1:
        return {code: (1, rule) for code, rule in own.items()}
    if len(own) > 1:
        raise ValueError(f"{parameter}: with two classes there is one score; give the rules of one class, {texts[1]!r}")
    ((code, rule),) = own.items()
    return {1: (1 if code == 1 else -1, rule)}


def _slope_rules(signs: Any, names: Sequence[str], flip: int) -> tuple[SlopeRule, ...]:
    if isinstance(signs, Mapping):
        items = list(signs.items())
        refuse_unknown([name for name, _ in items if isinstance(name, str)], names, "monotonic_cst: X", "feature")
    else:
        values = signs.tolist() if isinstance(signs, np.ndarray) else signs
        if isinstance(values, str) or not isinstance(values, Sequence) or len(values) != len(names):
            raise ValueError(
                f"monotonic_cst must be a mapping from features to signs, or one sign for each of {len(names)} features, got "
                f"{quoted(signs)}"
            )
        items = list(enumerate(values))
    found: dict[int, int] = {}
    for name, value in items:
        feature = _feature("monotonic_cst", name, names)
        sign = WORDS.get(value, 2) if isinstance(value, str) else value
        if isinstance(sign, bool) or not isinstance(sign, Integral | float) or sign not in (-1, 0, 1):
            raise ValueError(
                f"monotonic_cst of {quoted(names[feature])} must be -1 (decreasing), 0 or 1 (increasing), got {quoted(value)}"
            )
        if found.setdefault(feature, int(sign)) != sign:
            raise ValueError(f"monotonic_cst: two rules on {quoted(names[feature])} contradict each other")
    return tuple(SlopeRule(feature, flip * sign) for feature, sign in sorted(found.items()) if sign)


def _feature(parameter: str, name: Any, names: Sequence[str]) -> int:
    if isinstance(name, str):
        return names.index(name)
    if isinstance(name, Integral) and not isinstance(name, bool) and 0 <= int(name) < len(names):
        return int(name)
    raise ValueError(f"{parameter}: there is no feature {quoted(name)}; X has features 0 to {len(names) - 1}")


def _coefficient_bounds(bounds: Any, vocabulary: Vocabulary, flip: int) -> tuple[CoefficientBound, ...]:
    if not isinstance(bounds, Mapping):
        raise ValueError(f"coef_bounds must be a mapping from terms to pairs (low, high), got {quoted(bounds)}")
    found: dict[int, CoefficientBound] = {}
    for name, pair in bounds.items():
        terms = vocabulary.terms("coef_bounds", [name])
        if not isinstance(pair, Sequence | np.ndarray) or isinstance(pair, str) or len(pair) != 2:
            raise ValueError(
                f"coef_bounds of {quoted(name)} must be a pair (low, high), with None for no limit, got {quoted(pair)}"
            )
        ends = [end if limit is None else limit for limit, end in zip(pair, (-np.inf, np.inf), strict=True)]
        if not all(isinstance(end, Real) and not isinstance(end, bool) and end == end for end in ends):
            raise ValueError(f"coef_bounds of {quoted(name)} must be numbers or None, got {quoted(pair)}")
        low, high = (float(end) for end in ends)
        if low > high or low == np.inf or high == -np.inf:
            raise ValueError(f"coef_bounds of {quoted(name)}: the lower limit {low:g} is above the upper one, {high:g}")
        low, high = (low, high) if flip > 0 else (-high, -low)
        for term in terms.tolist():
            if term in found and found[term] != (term, low, high):
                raise ValueError(f"coef_bounds: two rules on {vocabulary.listed(np.array([term]))} contradict each other")
            found[term] = CoefficientBound(term, low, high)
    return tuple(found[term] for term in sorted(found))


def _check(
    slopes: Sequence[SlopeRule], bounds: Sequence[CoefficientBound], limits: SupportLimits, vocabulary: Vocabulary
) -> None:
    """Refuse rules that contradict each other, or that are about what is left out."""
    names, n = vocabulary.names, len(vocabulary.names)
    left, right = term_factors(n)
    kept = np.ones(len(left), dtype=bool)
    kept[limits.exclude] = False
    zero, included = {bound.term for bound in bounds if bound.low == bound.high == 0.0}, set(limits.include.tolist())
    for rule in slopes:
        own, name = (left == rule.feature) | (right == rule.feature), quoted(names[rule.feature])
        if not (own & kept).any():
            raise ValueError(f"monotonic_cst has a rule on {name}, but the rules on terms leave out every term of it")
        limit = {bound.term: bound for bound in bounds}.get(term_index(rule.feature, None, n))
        if limit is not None and (limit.high <= 0.0 if rule.sign > 0 else limit.low >= 0.0):
            how = "falls" if rule.sign > 0 else "rises"
            raise ValueError(
                f"monotonic_cst and coef_bounds contradict each other on {name}: the score never {how} with it, but its linear "
                f"term may not be {'positive' if rule.sign > 0 else 'negative'}; exclude it instead"
            )
    n_products = len(kept) - n
    for bound in bounds:
        name = quoted(vocabulary.listed(np.array([bound.term])))
        if bound.term < n_products and not kept[:n_products].any():  # linear terms only: nothing is left to limit
            continue
        if not kept[bound.term]:
            raise ValueError(f"coef_bounds has limits for {name}, but the rules on terms leave it out")
        if bound.term in included and bound.term in zero:
            raise ValueError(f"include and coef_bounds contradict each other on {name}: it may only be 0")
        if bound.term not in included and not bound.low <= 0.0 <= bound.high:
            raise ValueError(f"coef_bounds of {name} must allow 0, unless include names it, too")
    kept[list(zero)] = False
    if not kept.any():
        raise ValueError("coef_bounds and the rules on terms contradict each other: no term is left")
