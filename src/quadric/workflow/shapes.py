"""Rules on slopes and coefficients of a table: from names of columns and classes to parameters of the classifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from quadric.errors import quoted, refuse_unknown
from quadric.estimators.shape_rules import SHAPES, shape_demands
from quadric.labels import class_texts
from quadric.search.rules import SupportLimits
from quadric.tables import TableEncoder
from quadric.workflow.options import OptionError, TrainingOptions


@dataclass(frozen=True, eq=False)
class ShapeReader:
    """Reads rules that name columns, such as "income", "home=rent" or "bad:income".

    Attributes
    ----------
    encoder : fitted TableEncoder
    class_names : tuple of str
        Of two, the positive one is the last.
    options : TrainingOptions
    expanded : callable
        From terms with names of columns to terms with names of features.
    """

    encoder: TableEncoder
    class_names: tuple[str, ...]
    options: TrainingOptions
    expanded: Callable[[Sequence[str]], list[str]]

    def parameters(self, labels: np.ndarray, limits: SupportLimits, groups: Sequence[Sequence[int]]) -> dict[str, Any]:
        """The rules as parameters of the classifier, by numbers of features and terms.

        Parameters
        ----------
        labels : array
            What the classifier calls the classes.
        limits : SupportLimits
            What rules on terms leave.
        groups : sequence of sequences of int
            Features of each column.
        """
        slopes = self._by_class("monotonic_cst", self._feature)
        bounds = self._by_class("coef_bounds", lambda name: self.expanded([name]))
        if slopes is None and bounds is None:
            return {}
        names = [feature.name for feature in self.encoder.features_]
        owner = SimpleNamespace(monotonic_cst=slopes, coef_bounds=bounds, feature_groups=None)
        try:
            demands = shape_demands(owner, names, len(names), np.array(self.class_names), limits)
        except ValueError as error:
            raise OptionError(str(error), **{name: None for name in SHAPES if name in str(error)}) from None
        if demands is None:
            return {}
        found = {name: own for name, own in demands.parameters.items() if own}
        if bounds is not None:
            found["coef_bounds"] = {
                number: {term: _pair(*ends) for term, ends in own.items()} for number, own in found["coef_bounds"].items()
            }
        texts, is_single = class_texts(labels), len(labels) == 2
        parameters: dict[str, Any] = {
            name: next(iter(own.values())) if is_single else {texts[number]: each for number, each in own.items()}
            for name, own in found.items()
        }
        own_groups = [members for members in groups if len(members) > 1]
        return parameters | ({"feature_groups": own_groups} if "monotonic_cst" in parameters else {})

    def _by_class(self, parameter: str, read: Callable[[str], list[str]]) -> dict[str, Any] | None:
        """The rules by names of features or terms, and by class where any rule names one."""
        given = getattr(self.options, parameter)
        if not given:
            return None
        found: dict[str | None, dict[str, Any]] = {}
        for key, value in given.items():
            inner = value.items() if isinstance(value, Mapping) else [(key, value)]
            for name, one in inner:
                if not isinstance(name, str):
                    raise OptionError(f"{parameter} goes by the names of columns, got {quoted(name)}", **{parameter: None})
                class_name, name = (key, name) if isinstance(value, Mapping) else self._split(name)
                own = found.setdefault(class_name, {})
                for each in read(name):
                    if own.setdefault(each, one) != one:
                        raise OptionError(f"two rules on {quoted(each)} contradict each other", **{parameter: None})
        if list(found) == [None]:
            return found[None]
        if None in found:
            if len(self.class_names) > 2:
                without = next(iter(found[None]))
                raise OptionError(f"the rule on {quoted(without)} names no class, and others do", **{parameter: None})
            found.setdefault(self.class_names[1], {}).update(found.pop(None))
        return {str(name): own for name, own in found.items()}

    def _split(self, text: str) -> tuple[str | None, str]:
        """The class before a name, if there is one."""
        for name in self.class_names:
            rest = text.removeprefix(f"{name}:")
            if rest != text and text not in self.encoder.input_names_:
                return name, rest
        return None, text

    def _feature(self, name: str) -> list[str]:
        """A column of numbers, or a level of another one."""
        known = [*dict.fromkeys([*(feature.name for feature in self.encoder.features_), *self.encoder.input_names_])]
        if name not in self.options.ignore:
            refuse_unknown([name], known, "the table", "column or level", error=partial(OptionError, monotonic_cst=None))
        features = [feature for feature in self.encoder.features_ if self.encoder.input_names_[feature.input] == name]
        if name in self.options.ignore or (name in self.encoder.input_names_ and not features):
            raise OptionError(
                f"the column {quoted(name)} is left out, and cannot have a rule: drop the rule, or keep the column",
                monotonic_cst=None,
            )
        levels = [feature.name for feature in features if feature.kind == "level"]
        if levels and name not in {feature.name for feature in features}:
            raise OptionError(
                f"the column {quoted(name)} holds texts, which have no order: name a level of it, such as {quoted(levels[0])}",
                monotonic_cst=None,
            )
        return [name]


def _pair(low: float, high: float) -> tuple[float | None, float | None]:
    """With None for no limit, as JSON knows no infinity."""
    return None if np.isinf(low) else low, None if np.isinf(high) else high
