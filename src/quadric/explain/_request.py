"""What is asked of recourse: the wanted side of a decision, what may change and how far, and what a change costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from quadric.errors import listed, quoted, unknown_names
from quadric.explain._branch import Box
from quadric.fitted import FittedModel
from quadric.geometry.surface import QuadraticSurface
from quadric.tables.table import Table, holds_whole_numbers
from quadric.types import BoolArray, FloatArray, IntArray

# Decisions closer to the cut-off than this fraction of their absolute terms may depend on how they are evaluated.
ROUNDING = 4 * float(np.finfo(float).eps)

# The sigmoid of larger log-odds is 1 in floating point.
SATURATED = 37.0

# The range of a column in which its average effect must go one way: most of its values.
MIDDLE = (0.1, 0.9)


@dataclass(frozen=True)
class WantedDecision:
    """The wanted decision, and the surfaces that lead to it.

    Attributes
    ----------
    view : FittedModel
    code : int
        Position of the wanted class.
    surfaces : list of QuadraticSurface
        All are positive where the decision is the wanted one, up to rounding; only a guide where ``is_exact`` is False.
    cutoff : float or None
        The user's; None: the model's own ``predict`` decides.
    turn : float
        The decision value at which two classes meet.
    margin : float
    """

    view: FittedModel
    code: int
    surfaces: list[QuadraticSurface]
    cutoff: float | None
    turn: float
    margin: float

    @property
    def is_exact(self) -> bool:
        """Whether no row without positive surfaces has the wanted decision."""
        return len(self.surfaces) == 1 or self.view.calibration != "isotonic"

    def excess(self, rows: Any) -> FloatArray:
        """How far the decision function is on the wanted side; with several classes, ahead of the strongest rival."""
        scores = self.view.decision(rows)
        if scores.ndim == 1:
            return scores - self.turn if self.code == 1 else self.turn - scores
        scores = self.view.compared(scores)
        return np.asarray(scores[:, self.code] - np.delete(scores, self.code, axis=1).max(axis=1))

    def reached(self, rows: Any) -> BoolArray:
        """Whether the model decides as wanted, with the margin where there is one."""
        if self.cutoff is None:
            wanted = self.view.predicted(rows) == self.code
        else:
            wanted = (self.view.decision(rows) > self.cutoff) == bool(self.code)
        return np.asarray(wanted & (self.excess(rows) >= self.margin) if self.margin else wanted)

    def accepted(self, rows: Any, U: FloatArray) -> BoolArray:
        """Whether rows are answers: decided as wanted, and so far beyond the boundary that rounding does not matter.

        Parameters
        ----------
        rows : Table or array
        U : array of shape (m, n)
            The rows in fitted units.
        """
        reached = self.reached(rows)
        return reached & (self.excess(rows) >= self.margin + self.rounding(U)) if self.is_exact else reached

    def rounding(self, U: FloatArray) -> FloatArray:
        """What an answer must be beyond the cut-off, so that it stays an answer however it is evaluated; never zero."""
        sizes = [np.maximum(surface.magnitude(U), np.abs(surface.coordinates()).max()) for surface in self.surfaces]
        return np.maximum(ROUNDING * np.max(sizes, axis=0), np.finfo(float).tiny)


def wanted_decision(view: FittedModel, target: Any, cutoff: float | None, margin: float = 0.0) -> WantedDecision:
    """Read what the user wrote."""
    if not (np.isfinite(margin) and margin >= 0.0):
        raise ValueError(f"margin must be a finite number of at least 0, got {margin}")
    code = view.class_code(target)
    turn = view.cutoff(cutoff)
    if len(view.surfaces) == 1:
        above = view.surfaces[0] - turn
        surfaces = [above if code == 1 else -above]
    else:
        rivals = list(view.rivals())
        own = rivals.pop(code)
        surfaces = [own - rival for rival in rivals]
        if view.calibration == "sigmoid":  # a probability of 1 cannot be beaten, and the first of equal ones wins
            surfaces += [-rival + (SATURATED + margin) for rival in rivals[:code]]
    return WantedDecision(view, code, surfaces, None if cutoff is None else turn, turn, margin)


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
        low, high = np.where(self.free, self.lower, V), np.where(self.free, self.upper, V)
        for end, rule, farther in ((low, self.increase_only, np.maximum), (high, self.decrease_only, np.minimum)):
            features = np.flatnonzero(rule)
            end[:, features] = farther(end[:, features], V[:, features])
        return low, high

    def take(self, features: IntArray) -> Actions:
        """The rules for some features."""
        return Actions(*(rule[features] for rule in vars(self).values()))

    def broken(self, V: FloatArray, features: BoolArray) -> BoolArray:
        """Whether a row lies beyond the ends of some of its features."""
        bounded = np.flatnonzero(self.bounded & features)
        low, high = self.take(bounded).ends(V[:, bounded])
        return np.asarray(((low > V[:, bounded]) | (high < V[:, bounded])).any(axis=1))

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
        moved, whole = V + change, np.flatnonzero(self.integer & self.free)
        moved[:, whole] = np.rint(moved[:, whole])
        return np.where(change == 0.0, V, np.clip(moved, *self.ends(V)))


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
        raise ValueError(f"lower is above upper for {quoted(view.names[crossed[0]])}: no value is allowed")
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
            raise ValueError(f"{what} has shape {array.shape}, but there are {view.n_features} features: {listed(view.names)}")
        out = np.where(np.isnan(array), default, array)
    return out


def _positions(view: FittedModel, item: Any, what: str) -> list[int]:
    if isinstance(item, Integral) and not isinstance(item, bool) and 0 <= int(item) < view.n_features:
        return [int(item)]
    if isinstance(item, str) and view.names.count(item) == 1:
        return [view.names.index(item)]
    if isinstance(item, str) and view.input_names.count(item) == 1:
        return np.flatnonzero(view.blocks == view.input_names.index(item)).tolist()
    raise ValueError(f"{what}: {unknown_names([item], view.names, 'the model', 'feature')}")


def _weights(view: FittedModel, metric: Any) -> FloatArray:
    if isinstance(metric, str):
        if metric != "raw":
            raise ValueError(f"metric must be None, 'raw', an array or a mapping of weights, got {quoted(metric)}")
        return view.units.scale**2
    weight = per_feature(view, metric, 1.0, "metric")
    if not (np.isfinite(weight).all() and (weight > 0.0).all()):
        raise ValueError("metric must hold positive, finite weights")
    return weight


def seen_limits(view: FittedModel, population: Table) -> dict[str, Any]:
    """Parameters of ``recourse`` from what a population shows: the range of each number, and which ones are whole only.

    Parameters
    ----------
    view : FittedModel
    population : Table
        Rows as they came.
    """
    V = view.reported(population)
    present = np.where(view.missing(population), np.nan, V)
    whole = [view.names[j] for j in np.flatnonzero(view.numeric) if holds_whole_numbers(present[:, j])]
    lower, upper = (np.where(view.numeric, end, np.nan) for end in (V.min(axis=0), V.max(axis=0)))
    return {"lower": lower, "upper": upper, "integer": whole}


def average_directions(view: FittedModel, target: Any, population: Table) -> dict[str, int]:
    """The direction in which each number helps towards a class on average: 1, -1, or 0 where it depends on the value.

    Parameters
    ----------
    view : FittedModel
    target : class label
    population : Table
        Rows as they came.
    """
    surfaces, U = wanted_decision(view, target, None).surfaces, view.fitted(population)
    W, b = sum(surface.W for surface in surfaces), sum(surface.b for surface in surfaces)
    # the effect of a column, averaged over all others, is a quadratic with this slope
    slopes = (W @ U.mean(axis=0) + b)[:, None] + np.diag(W)[:, None] * (np.quantile(U, MIDDLE, axis=0) - U.mean(axis=0)).T
    signs = np.where((slopes > 0.0).all(axis=1), 1, np.where((slopes < 0.0).all(axis=1), -1, 0))
    return dict(zip(view.names, signs.tolist(), strict=True))


def limits_of_row(view: FittedModel, seen: Mapping[str, Any], case: Table, before: FloatArray) -> dict[str, Any]:
    """The same for one row, which may lie outside the range itself: whole numbers stay whole, and no gap is filled.

    Parameters
    ----------
    view : FittedModel
    seen : mapping
        What :func:`seen_limits` gave.
    case : Table
        The row as it came.
    before : array of shape (n,)
        The row in reported units.
    """
    absent = view.missing(case)[0]
    is_whole = dict(zip(view.names, absent | (np.rint(before) == before), strict=True))
    return {
        "frozen": [view.names[j] for j in np.flatnonzero(view.numeric & absent)],
        "lower": np.minimum(seen["lower"], before),
        "upper": np.maximum(seen["upper"], before),
        "integer": [name for name in seen["integer"] if is_whole[name]],
    }
