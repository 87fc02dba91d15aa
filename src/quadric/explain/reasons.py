"""Reason codes: the input columns that cost a case most against a named reference."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from quadric.blas import one_blas_thread
from quadric.errors import quoted
from quadric.explain._answers import Start, smallest_change
from quadric.explain._boxed import first_root
from quadric.explain._request import Actions, wanted_decision
from quadric.explain.attributions import against_point, mean_and_spread
from quadric.fitted import FittedModel, Model, fitted_model
from quadric.geometry.surface import QuadraticSurface
from quadric.tables.dates import date_text, dates_after
from quadric.tables.table import Rows, Table, is_missing, number_text
from quadric.types import FloatArray

TEMPLATE = "{feature} is {value}, against {reference} in the reference: {effect}"
# What stands for the reference value of a coded category: references are points between levels.
MIXTURE = "a mixture"
MISSING = "missing"
# Share of the approved background, from the top, whose mean is the reference "approved".
BEST_SHARE = 0.1
# Boxes per case in the search for the nearest turning point.
MAX_NODES = 1000
# Points below this share of the absolute terms of both decisions are rounding and no reason.
NOISE = 1e-13


@dataclass(frozen=True, eq=False)
class ReasonCodes:
    """What hurts most, one row per case; rows have fewer reasons than asked for where fewer columns hurt.

    Attributes
    ----------
    columns : list of lists of str
        The input columns that cost most, worst first.
    points : array of shape (m, n), or (m, n_columns) where there are fewer columns
        What each of them costs on the scale of the decision function; NaN where there is no reason.
    texts : list of lists of str
        The reasons as sentences.
    contributions : array of shape (m, n_columns)
        What every column adds towards the favourable class; sums to ``decision - reference_decision``. NaN where the reference
        does not exist (no point at the cut-off).
    names : list of str
        The input columns.
    decision, reference_decision : arrays of shape (m,)
        Decision values towards the favourable class, of the cases and of their references.
    """

    columns: list[list[str]]
    points: FloatArray
    texts: list[list[str]]
    contributions: FloatArray
    names: list[str]
    decision: FloatArray
    reference_decision: FloatArray


def reason_codes(
    model: Model,
    X: Rows,
    *,
    n: int = 4,
    reference: Literal["mean", "approved", "cutoff"] | ArrayLike = "mean",
    background: Rows | None = None,
    favourable: Hashable | None = None,
    cutoff: float | None = None,
    template: str = TEMPLATE,
    templates: Mapping[str, str] | None = None,
) -> ReasonCodes:
    """Name the input columns that hurt each case most against a reference.

    The difference between the decisions of a case and of its reference is split exactly: each column gets its own terms, and
    half of every interaction (the Shapley values of the difference). Features that code one category count together.

    Parameters
    ----------
    model : fitted model, or QuadraticSurface
        What :func:`quadric.fitted.fitted_model` takes.
    X : array-like of shape (m, n_columns)
        Rows as the model takes them.
    n : int
        Most reasons per case.
    reference : {"mean", "approved", "cutoff"} or array-like
        "mean": the mean of the background. "approved": the mean of the best tenth of those rows of the background that have the
        favourable decision. "cutoff": the point nearest to the case, in fitted units and between the caps, at which the
        decision turns. Or rows as the model takes them: one for all cases, or one per case.
    background : array-like, or pair (mean, second), optional
        The population: rows as the model takes them, or for "mean" their moments as in :func:`shapley`.
    favourable : class label, optional
        The decision that is wanted; by default ``classes_[0]``: reasons are then what speaks for the positive class.
    cutoff : float, optional
        Value of the decision function above which the second of two classes is decided, as in :func:`recourse`.
    template : str
        Text of a reason, with {feature}, {value}, {reference}, {points} (what the column costs) and {effect} (what it does to
        the score, such as "adds 0.8 to f"); values are those of the data.
    templates : mapping, optional
        Texts for some columns in place of ``template``.

    Returns
    -------
    ReasonCodes
    """
    if not (isinstance(n, int | np.integer) and n >= 1):
        raise ValueError(f"n must be an integer of at least 1, got {quoted(n)}")
    view = fitted_model(model)
    label = view.classes[0] if favourable is None else favourable
    view.class_code(label, "favourable")
    special = dict(templates or {})
    unknown = [name for name in special if name not in view.input_names]
    if unknown:
        raise ValueError(f"templates names columns that the model does not have: {unknown}")
    written = [special.get(name, template) for name in view.input_names]
    surface = view.surface_towards(label)
    U, V = view.fitted(X), view.reported(X)
    point = np.broadcast_to(_reference_points(view, surface, U, reference, background, label, cutoff), U.shape)
    values = view.by_column(against_point(surface, U, point))
    noise = NOISE * (surface.magnitude(U) + surface.magnitude(point))
    reasons = [
        [int(j) for j in np.argsort(row, kind="stable")[:n] if row[j] < -least]
        for row, least in zip(values, noise, strict=True)
    ]
    points = np.full((len(V), min(n, values.shape[1])), np.nan)
    for i, picked in enumerate(reasons):
        points[i, : len(picked)] = -values[i, picked]
    tables = [_cells(view, rows) for rows in (X, reference)]
    raw = view.units.center + view.units.scale * point
    # what else a column of numbers has is whether its value is missing
    own = [(feature.input, j) for j, feature in enumerate(view.features) if feature.kind == "number"]
    numbers = {column: (V[:, j], raw[:, j]) for column, j in reversed(own)}
    return ReasonCodes(
        columns=[[view.input_names[j] for j in picked] for picked in reasons],
        points=points,
        texts=[
            [_text(view, written[j], j, label, -values[i, j], _shown(view, tables, numbers.get(j), i, j)) for j in picked]
            for i, picked in enumerate(reasons)
        ],
        contributions=values,
        names=view.input_names,
        decision=surface(U),
        reference_decision=surface(point),
    )


def _reference_points(
    view: FittedModel,
    surface: QuadraticSurface,
    U: FloatArray,
    reference: Any,
    background: Any,
    label: Any,
    cutoff: float | None,
) -> FloatArray:
    if not isinstance(reference, str):
        points = view.fitted(reference)
        if len(points) not in (1, len(U)):
            raise ValueError(f"reference has {len(points)} rows: give one for all cases or one for each of the {len(U)}")
        return points
    if reference == "cutoff":
        turn = view.cutoff(cutoff) * (1.0 if view.class_code(label) == 1 else -1.0)
        return nearest_boundary(view, surface - turn, U)
    if reference not in ("mean", "approved"):
        raise ValueError(f"reference must be 'mean', 'approved', 'cutoff' or rows like X, got {quoted(reference)}")
    if background is None:
        raise ValueError(f"reference={quoted(reference)} needs the population: give it as background")
    if reference == "mean":
        return mean_and_spread(view, surface, background)[0]
    return _best_approved(view, surface, background, label, cutoff)


def _best_approved(
    view: FittedModel, surface: QuadraticSurface, background: Any, label: Any, cutoff: float | None
) -> FloatArray:
    if len(view.surfaces) == 1:
        approved = wanted_decision(view, label, cutoff).reached(background)
    else:
        approved = view.decided(view.decision(background))[0] == view.class_code(label)
    if not approved.any():
        raise ValueError(f"no row of the background has the favourable decision {quoted(label)}")
    U = view.fitted(background)[approved]
    best = np.argsort(-surface(U), kind="stable")[: int(np.ceil(BEST_SHARE * len(U)))]
    return np.asarray(U[best].mean(axis=0))


@one_blas_thread()
def nearest_boundary(view: FittedModel, surface: QuadraticSurface, U: FloatArray) -> FloatArray:
    """The nearest point between the caps with f = 0 of each row; NaN where none is found."""
    out, f = U.copy(), surface(U)
    units, none = view.units, np.zeros(view.n_features, dtype=bool)
    V = np.clip(units.center + units.scale * U, units.low, units.high)
    rules = Actions(~none, np.ones(view.n_features), units.low, units.high, none, none, none)
    for sign in (-1.0, 1.0):
        rows = np.flatnonzero(sign * f < 0.0)
        start = Start(V[rows], U[rows], units, V[rows], np.zeros((len(rows), len(none)), dtype=bool))
        towards = surface * sign
        answers = smallest_change(towards, start, np.zeros(len(rows)), rules, MAX_NODES)
        change = answers.point
        slope, bend = np.sum(towards.gradient(U[rows]) * change, axis=1), 0.5 * np.sum((change @ towards.W) * change, axis=1)
        share = first_root(bend, slope, -towards(U[rows]))  # a search among boxes may end a little beyond f = 0
        step = np.where((share > 0.0) & (share < 1.0), share, 1.0)
        out[rows] = np.where(answers.reached[:, None], U[rows] + step[:, None] * change, np.nan)
    return out


def _cells(view: FittedModel, rows: Any) -> Table | None:
    """Rows as they came, unless the features are the columns themselves."""
    return None if view.is_plain or isinstance(rows, str) else view.rows(rows)


def effect_on_score(view: FittedModel, label: Hashable, cost: float) -> str:
    """What a column that costs a class something does to the score, as the equation has it.

    Parameters
    ----------
    view : FittedModel
    label : class label
        The class that it counts against.
    cost : float
        Of the decision towards that class.

    Returns
    -------
    str
    """
    if len(view.surfaces) > 1:
        return f"takes {cost:.3g} off f of {label}"
    return f"takes {cost:.3g} off f" if view.class_code(label) == 1 else f"adds {cost:.3g} to f"


def _text(view: FittedModel, template: str, column: int, label: Hashable, cost: float, values: Sequence[str]) -> str:
    words = {
        "feature": view.input_names[column],
        "value": values[0],
        "reference": values[1],
        "points": f"{cost:.3g}",
        "effect": effect_on_score(view, label, cost),
    }
    try:
        return template.format(**words)
    except (KeyError, IndexError) as error:
        raise ValueError(f"template {quoted(template)} has an unknown placeholder: {error}") from None


def _shown(
    view: FittedModel, tables: Sequence[Table | None], numbers: Sequence[FloatArray] | None, case: int, column: int
) -> list[str]:
    """A column's values in a case and its reference: as they came or, of a number, in reported units."""
    name, cells = view.input_names[column], tables[0]
    if numbers is None:
        return [_cell(table, name, case) for table in tables]
    value, reference = (_number(own[case], view.inputs[column].origin) for own in numbers)
    return [MISSING if cells is not None and is_missing(cells[name][case]) else value, reference]


def _number(value: float, origin: str | None) -> str:
    """A number, or the date that lies this number of days after ``origin``."""
    if origin is None:
        return f"{value:.6g}"
    return date_text(dates_after(np.array([value]), origin)[0].astype("datetime64[D]"))


def _cell(table: Table | None, name: str, case: int) -> str:
    if table is None:
        return MIXTURE
    value = table[name][case if len(table) > 1 else 0]
    return MISSING if is_missing(value) else number_text(value) if isinstance(value, float) else str(value)
