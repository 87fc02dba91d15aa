"""What recourse may change, how far, and what a change costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from quadric.explain._branch import Box
from quadric.fitted import FittedModel
from quadric.types import BoolArray, FloatArray


@dataclass(frozen=True)
class Actions:
    """Rules for the answers, one entry per feature.

    Attributes
    ----------
    free : array of bool
        Features that may change.
    weight : array
        Squared distance is the sum of weight times squared change in fitted units.
    lower, upper : arrays
        Bounds in reported units, infinite where there are none.
    increase_only, decrease_only, integer : arrays of bool
    """

    free: BoolArray
    weight: FloatArray
    lower: FloatArray
    upper: FloatArray
    increase_only: BoolArray
    decrease_only: BoolArray
    integer: BoolArray

    @property
    def bounded(self) -> BoolArray:
        """Features with any rule beyond being free."""
        ends = np.isfinite(self.lower) | np.isfinite(self.upper)
        return np.asarray(self.free & (ends | self.increase_only | self.decrease_only | self.integer))

    def ends(self, V: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest value allowed to each row, in reported units."""
        low = np.where(self.increase_only, np.maximum(self.lower, V), self.lower)
        high = np.where(self.decrease_only, np.minimum(self.upper, V), self.upper)
        return np.where(self.free, low, V), np.where(self.free, high, V)

    def distance(self, change: FloatArray) -> FloatArray:
        """Length of changes in fitted units."""
        return np.sqrt(np.sum(self.weight * change**2, axis=1))

    def box(self, V: FloatArray, scale: FloatArray, features: BoolArray) -> Box:
        """The rules for some features as a box around each row, in units in which distance is Euclidean."""
        step = np.sqrt(self.weight) / scale
        low, high = self.ends(V)
        low, high = (((end - V) * step)[:, features] for end in (low, high))
        return Box(low, high, self.integer[features], V[:, features], step[features])

    def obeyed(self, V: FloatArray, change: FloatArray) -> FloatArray:
        """Rows after a change in reported units, rid of rounding: unchanged values, integers and ends are exact."""
        low, high = self.ends(V)
        moved = np.where(change == 0.0, V, V + change)
        moved = np.where(self.integer & self.free, np.rint(moved), moved)
        return np.where(change == 0.0, V, np.clip(moved, low, high))


def actions(view: FittedModel, metric: Any, frozen: Any, limits: Mapping[str, Any]) -> Actions:
    """Read what the user wrote.

    Parameters
    ----------
    view : FittedModel
    metric : None, "raw", array or mapping
    frozen : sequence of features
    limits : mapping
        lower, upper, increase_only, decrease_only and integer.
    """
    lower = per_feature(view, limits["lower"], -np.inf, "lower")
    upper = per_feature(view, limits["upper"], np.inf, "upper")
    crossed = np.flatnonzero(lower > upper)
    if len(crossed):
        raise ValueError(f"lower is above upper for {view.names[crossed[0]]!r}: no value is allowed")
    masks = {name: _mask(view, limits[name], name) for name in ("increase_only", "decrease_only", "integer")}
    stuck = masks["increase_only"] & masks["decrease_only"]
    free = view.numeric & ~_mask(view, frozen, "frozen") & ~stuck
    return Actions(free, _weights(view, metric), lower, upper, **masks)


def _mask(view: FittedModel, items: Any, what: str) -> BoolArray:
    """Mask of the features that names or positions stand for; a coded column stands for all of its features."""
    return per_feature(view, dict.fromkeys([items] if isinstance(items, str) else items, 1.0), 0.0, what) > 0.0


def per_feature(view: FittedModel, values: Any, default: float, what: str) -> FloatArray:
    """One number per feature, from an array or from a mapping of some features; NaN and what is left out are default."""
    out = np.full(view.n_features, default)
    if isinstance(values, Mapping):
        for item, value in values.items():
            out[_positions(view, item, what)] = value
    elif values is not None:
        array = np.asarray(values, dtype=float)
        if array.shape != (view.n_features,):
            raise ValueError(f"{what} has shape {array.shape}, but there are {view.n_features} features: {_listed(view.names)}")
        out = np.where(np.isnan(array), default, array)
    return out


def _positions(view: FittedModel, item: Any, what: str) -> list[int]:
    if isinstance(item, Integral) and not isinstance(item, bool) and 0 <= int(item) < view.n_features:
        return [int(item)]
    if isinstance(item, str) and view.names.count(item) == 1:
        return [view.names.index(item)]
    if isinstance(item, str) and view.input_names.count(item) == 1:
        return np.flatnonzero(view.blocks == view.input_names.index(item)).tolist()
    raise ValueError(f"{what}: there is no feature {item!r}; the features are {_listed(view.names)}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")


def _weights(view: FittedModel, metric: Any) -> FloatArray:
    if isinstance(metric, str):
        if metric != "raw":
            raise ValueError(f"metric must be None, 'raw', an array or a mapping of weights, got {metric!r}")
        return view.scale**2
    weight = per_feature(view, metric, 1.0, "metric")
    if not (np.isfinite(weight).all() and (weight > 0.0).all()):
        raise ValueError("metric must hold positive, finite weights")
    return weight
