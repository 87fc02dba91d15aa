"""The smallest change that reaches a wanted decision."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from quadric.blas import one_blas_thread
from quadric.explain._answers import Start, smallest_change, smallest_common_change
from quadric.explain._branch import Answers
from quadric.explain._request import Actions, WantedDecision, actions, wanted_decision
from quadric.fitted import FittedModel, Model, fitted_model
from quadric.tables.table import Rows
from quadric.types import BoolArray, FloatArray

TRIES, GROWTH = 8, 16.0
"""Answers that fail the check are sought again with a margin larger by this factor, this many times."""


@dataclass(frozen=True, eq=False)
class RecourseAnswers:
    """Smallest changes, one row per case. Each answer was checked with the model's own decision function.

    Attributes
    ----------
    x : array of shape (m, n)
        Features of the changed rows, in reported units: numbers as in the data, and codes; NaN where no answer was found.
    change : array of shape (m, n)
        x minus the features of the row.
    distance : array of shape (m,)
        Length of the change in the metric, in fitted units; infinite where no answer was found.
    reached : array of bool of shape (m,)
        Whether x has the wanted decision.
    proved : array of bool of shape (m,)
        Whether no smaller change would do, to a part in a million where rules took part; where none was found, whether there
        is none.
    lower_bound : array of shape (m,)
        No answer is nearer than this.
    multiplier : array of shape (m,)
        weight * change = multiplier * gradient of the surface towards the target, in fitted units and on the free features;
        NaN where bounds, one-way or integer features or several classes took part.
    message : list of str
        What happened, one line per row.
    names : list of str
        Columns of x.
    frozen : list of str
        Features that could not change: frozen ones, and those that code categories.
    """

    x: FloatArray
    change: FloatArray
    distance: FloatArray
    reached: BoolArray
    proved: BoolArray
    lower_bound: FloatArray
    multiplier: FloatArray
    message: list[str]
    names: list[str]
    frozen: list[str]


@one_blas_thread()
def recourse(
    model: Model,
    X: Rows,
    *,
    target: Hashable,
    metric: ArrayLike | Mapping[str, float] | None = None,
    frozen: Sequence[str | int] = (),
    lower: ArrayLike | Mapping[str, float] | None = None,
    upper: ArrayLike | Mapping[str, float] | None = None,
    increase_only: Sequence[str | int] = (),
    decrease_only: Sequence[str | int] = (),
    integer: Sequence[str | int] = (),
    cutoff: float | None = None,
    margin: float = 0.0,
    max_nodes: int = 1000,
) -> RecourseAnswers:
    """Find the smallest change of each row that reaches a wanted decision.

    With two classes and no rules but frozen features the answer is the global optimum: the distance to a quadric has one
    multiplier, the root of a scalar equation. Bounds, one-way and integer features are first ignored: an exact answer that
    happens to respect them is proved smallest. Otherwise branch and bound takes over, with Lagrangian lower bounds and at most
    ``max_nodes`` boxes per row; rows that need more get a local optimum from the best answer found, with ``proved`` False and a
    lower bound. With more than two classes the target must beat every other class: each rival alone gives a lower bound, and an
    answer that does not meet the largest of them is a local optimum and not proved.

    Features are named, or numbered, as the model sees them after categories are coded; columns that are coded, or used by
    several features, are always frozen, and so are missing values.
    What the decision does not depend on is left as it is, and so are rows that have the wanted decision already.

    Parameters
    ----------
    model : fitted model, or QuadraticSurface
        What :func:`quadric.fitted.fitted_model` takes.
    X : array-like of shape (m, n)
        Rows as the model takes them.
    target : class label
        The wanted decision; -1 or 1 for a QuadraticSurface.
    metric : None, "raw", array of shape (n,) or mapping
        Positive weights: squared distance is the sum of weight times squared change in fitted units. None: all 1. "raw": those
        that make it the Euclidean distance in raw units.
    frozen : sequence of features
        Features that must not change; a coded input column stands for all of its features.
    lower, upper : array of shape (n,) or mapping, optional
        Bounds on the changed values, in raw units; NaN for none.
    increase_only, decrease_only : sequences of features
        Features that may change one way only.
    integer : sequence of features
        Features whose values in the answer must be integers, in raw units, also where the row has another value and the
        decision depends on them.
    cutoff : float, optional
        Value of the decision function above which the second of two classes is decided; 0 unless given, and for a calibrated
        model where its probability is one half. With more classes the largest decision value decides, or the
        largest log-odds where sigmoids calibrate them; isotonic calibrations of several classes are not heeded.
    margin : float
        How far beyond the cut-off the answer must be. It is always beyond it by what rounding may undo.
    max_nodes : int
        Boxes that branch and bound may examine per row.

    Returns
    -------
    RecourseAnswers
    """
    if not (isinstance(max_nodes, int | np.integer) and max_nodes >= 1):
        raise ValueError(f"max_nodes must be an integer of at least 1, got {max_nodes!r}")
    view = fitted_model(model)
    limits = {
        "lower": lower,
        "upper": upper,
        "increase_only": increase_only,
        "decrease_only": decrease_only,
        "integer": integer,
    }
    rules = actions(view, metric, frozen, limits)
    goal = wanted_decision(view, target, cutoff, float(margin))
    U, cases = view.fitted(X), view.cases(X)
    start = Start(view.reported(cases), U, view.scale, cases, view.missing(cases))
    already = goal.reached(cases)
    answers, moved = _checked_answers(goal, start.take(np.flatnonzero(~already)), rules, max_nodes)
    return _assembled(view, rules, start.V, already, answers, moved)


def _checked_answers(goal: WantedDecision, start: Start, rules: Actions, max_nodes: int) -> tuple[Answers, FloatArray]:
    """Answers and changed rows that the model itself puts on the wanted side; what is missing stays missing."""
    missing = start.missing & rules.free
    if not missing.any():
        return _answers_alike(goal, start, rules, max_nodes)
    answers, moved = Answers.none(*start.V.shape), start.V.copy()
    for pattern in np.unique(missing, axis=0):
        rows = np.flatnonzero((missing == pattern).all(axis=1))
        found, moved[rows] = _answers_alike(goal, start.take(rows), replace(rules, free=rules.free & ~pattern), max_nodes)
        answers.put(rows, found)
    return answers, moved


def _answers_alike(goal: WantedDecision, start: Start, rules: Actions, max_nodes: int) -> tuple[Answers, FloatArray]:
    """The same of rows whose missing values are in the same places."""
    answers, moved = Answers.none(*start.V.shape), start.V.copy()
    slack = 2.0 * goal.rounding(start.U)
    rows = np.arange(len(start.V))
    for _ in range(TRIES):
        if len(rows) == 0:
            return answers, moved
        part = start if len(rows) == len(start.V) else start.take(rows)
        level = goal.margin + slack[rows]
        if len(goal.surfaces) == 1:
            found = smallest_change(goal.surfaces[0], part, level, rules, max_nodes)
        else:
            found = smallest_common_change(goal.surfaces, part, level, rules, max_nodes)
        answers.put(rows, found)
        moved[rows] = rules.obeyed(part.V, found.change * start.scale)
        excess = goal.excess(goal.view.changed(part.cases, part.V, moved[rows]))
        clear = excess >= goal.margin + goal.rounding(goal.view.scaled(moved[rows]))
        rows = rows[found.reached & ~clear]
        slack[rows] *= GROWTH
    answers.reached[rows], answers.proved[rows] = False, False
    return answers, moved


def _assembled(
    view: FittedModel, rules: Actions, V: FloatArray, already: BoolArray, answers: Answers, moved: FloatArray
) -> RecourseAnswers:
    m = len(V)
    rows = np.flatnonzero(~already)
    reached = already.copy()
    reached[rows] = answers.reached
    x = np.where(already[:, None], V, np.nan)
    x[rows] = np.where(answers.reached[:, None], moved, np.nan)
    change = x - V
    distance = np.where(reached, rules.distance(np.where(reached[:, None], change, 0.0) / view.scale), np.inf)
    proved, bound, multiplier = np.ones(m, dtype=bool), np.zeros(m), np.where(already, 0.0, np.nan)
    proved[rows], multiplier[rows] = answers.proved, answers.multiplier
    bound[rows] = np.minimum(answers.bound, distance[rows])
    fixed = [name for name, free in zip(view.names, rules.free, strict=True) if not free]
    message = [_message(*case) for case in zip(already, reached, proved, bound, strict=True)]
    return RecourseAnswers(x, change, distance, reached, proved, bound, multiplier, message, view.names, fixed)


def _message(already: bool, reached: bool, proved: bool, bound: float) -> str:
    if already:
        return "already on the wanted side"
    if reached:
        return "smallest change" if proved else f"not proved smallest: no change shorter than {bound:.4g} will do"
    return "no allowed change reaches the wanted side" if proved else "no answer found; not proved that there is none"
