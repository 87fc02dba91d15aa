"""The smallest change that reaches a wanted decision."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from quadric.blas import one_blas_thread
from quadric.estimators.validation import check_values, integer_from
from quadric.explain._answers import Start, smallest_capped_change
from quadric.explain._branch import TOLERANCE
from quadric.explain._nearest import Answers
from quadric.explain._request import Actions, WantedDecision, actions, wanted_decision
from quadric.fitted import FittedModel, Model, fitted_model
from quadric.labels import refuse_masked
from quadric.tables.table import Rows
from quadric.types import BoolArray, FloatArray

# Answers that the model rejects are sought farther beyond the boundary: first by this factor, then by its square, and so on,
# and back until what is accepted is no more than the last factor beyond what is not.
TRIES, GROWTH, NARROW = 12, 16.0, 1.25

# Boxes per row where surfaces are a guide only: there is nothing to prove.
GUIDE_NODES = 20

# By whether a row was on the wanted side already, whether an answer was found, and whether that is proved.
MESSAGES = {
    (True, True, True): "already on the wanted side",
    (False, True, True): "smallest change",
    (False, True, False): "not proved smallest: no change shorter than {:.4g} will do",
    (False, False, True): "no allowed change reaches the wanted side",
    (False, False, False): "no answer found; not proved that there is none",
}


@dataclass(frozen=True, eq=False)
class RecourseAnswers:
    """Smallest changes, one row per case. Each answer was checked with the model's own ``predict``.

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
        NaN where bounds, caps, one-way or integer features or several classes took part.
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

    Capped features: beyond a cap a model sees the cap, so no answer leaves the range between the caps. A value that lies beyond
    one stays there at no cost, or comes back between the caps at the cost of the whole way; all combinations of the two are
    tried, up to 64 per row.

    Features are named, or numbered, as the model sees them after categories are coded; columns that are coded, or used by
    several features, are always frozen, and so are missing values.
    What the decision does not depend on is left as it is, and so are rows that have the wanted decision already.

    Every answer is checked with the model's own ``predict``, on the changed row in the units of the data. Where rounding makes
    ``predict`` reject the nearest answer (probabilities of two classes can tie before their log-odds do), it is sought a little
    farther beyond the boundary, and is proved smallest only if that makes no difference. Isotonic calibrations of several
    classes leave no formula for the boundary: their answers are checked likewise, but never proved.

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
        Value of the decision function above which the second of two classes is decided, in place of the model's ``predict``.
    margin : float
        How far beyond the cut-off the answer must be. It is always beyond it by what rounding may undo.
    max_nodes : int
        Boxes that branch and bound may examine per row.

    Returns
    -------
    RecourseAnswers
    """
    check_values({"max_nodes": max_nodes}, {"max_nodes": integer_from(1)})
    view = fitted_model(model)
    limits = {
        "lower": lower,
        "upper": upper,
        "increase_only": increase_only,
        "decrease_only": decrease_only,
        "integer": integer,
    }
    refuse_masked(metric=metric, lower=lower, upper=upper)
    rules = actions(view, metric, frozen, limits)
    goal = wanted_decision(view, target, cutoff, float(margin))
    U, cases = view.fitted(X), view.cases(X)
    start = Start(view.reported(cases), U, view.units, cases, view.missing(cases))
    already = goal.reached(cases)
    answers = _checked_answers(goal, start.take(np.flatnonzero(~already)), rules, max_nodes)
    return _assembled(view, rules, start.V, already, answers)


def _checked_answers(goal: WantedDecision, start: Start, rules: Actions, max_nodes: int) -> Answers:
    """Changed rows that the model itself puts on the wanted side; what is missing stays missing."""
    missing = start.missing & rules.free
    if not missing.any():
        return _answers_alike(goal, start, rules, max_nodes)
    answers = Answers.none(start.V)
    for pattern in np.unique(missing, axis=0):
        rows = np.flatnonzero((missing == pattern).all(axis=1))
        answers.put(rows, _answers_alike(goal, start.take(rows), replace(rules, free=rules.free & ~pattern), max_nodes))
    return answers


def _answers_alike(goal: WantedDecision, start: Start, rules: Actions, max_nodes: int) -> Answers:
    """The same of rows whose missing values are in the same places."""
    if len(start.V) == 0:
        return Answers.none(start.V)
    if not goal.is_exact:
        max_nodes = min(max_nodes, GUIDE_NODES)
    slack = 2.0 * goal.rounding(start.U)
    answers, accepted = _tried(goal, start, slack, rules, max_nodes)
    rows = np.flatnonzero(answers.reached & ~accepted)
    if len(rows):
        answers.put(rows, _farther(goal, start.take(rows), slack[rows], answers.bound[rows], rules, max_nodes))
    if not goal.is_exact:
        answers.proved[:], answers.bound[:] = False, 0.0
    return answers


def _tried(goal: WantedDecision, start: Start, slack: FloatArray, rules: Actions, max_nodes: int) -> tuple[Answers, BoolArray]:
    """Rows after the smallest changes that the surfaces put beyond the margin by some slack, and what the model accepts."""
    found = smallest_capped_change(goal.surfaces, start, goal.margin + slack, rules, max_nodes)
    accepted = goal.accepted(goal.view.changed(start.cases, start.V, found.point), goal.view.units(found.point))
    return found, found.reached & accepted


def _farther(
    goal: WantedDecision, start: Start, rejected: FloatArray, bound: FloatArray, rules: Actions, max_nodes: int
) -> Answers:
    """The shortest answers that the model accepts, for rows whose nearest ones it rejects.

    The slack grows ever faster until an answer is accepted, or until there is none; then it is halved in on, between the
    largest that was rejected and the smallest that was not.

    Parameters
    ----------
    goal : WantedDecision
    start : Start
    rejected : array of shape (m,)
        Slack of the nearest answers.
    bound : array of shape (m,)
        No answer is nearer than this.
    rules : Actions
    max_nodes : int
    """
    best = Answers.none(start.V)
    best.proved[:], best.bound[:] = False, bound
    rejected, enough, length = rejected.copy(), np.full_like(bound, np.inf), np.full_like(bound, np.inf)
    rows = np.arange(len(bound))
    for attempt in range(1, TRIES):
        slack = np.where(np.isinf(enough), rejected * GROWTH**attempt, np.sqrt(rejected) * np.sqrt(enough))[rows]
        found, accepted = _tried(goal, start.take(rows), slack, rules, max_nodes)
        short = found.reached & ~accepted
        rejected[rows[short]], enough[rows[~short]] = slack[short], slack[~short]
        distance = rules.distance((found.point - start.V[rows]) / start.units.scale)
        shorter = accepted & (distance < length[rows])
        kept = rows[shorter]
        best.point[kept], best.multiplier[kept], best.reached[kept] = found.point[shorter], found.multiplier[shorter], True
        length[kept] = distance[shorter]
        best.proved[kept] = length[kept] <= bound[kept] * (1.0 + TOLERANCE)
        rows = rows[~best.proved[rows] & (enough[rows] > NARROW * rejected[rows])]
        if len(rows) == 0:
            break
    return best


def _assembled(view: FittedModel, rules: Actions, V: FloatArray, already: BoolArray, answers: Answers) -> RecourseAnswers:
    m, rows = len(V), np.flatnonzero(~already)
    x, reached, proved = V.copy(), already.copy(), np.ones(m, dtype=bool)
    x[rows], reached[rows], proved[rows] = answers.point, answers.reached, answers.proved
    x[~reached] = np.nan
    change = x - V
    distance, bound, multiplier = np.zeros(m), np.zeros(m), np.zeros(m)
    distance[rows] = np.where(answers.reached, rules.distance(change[rows] / view.units.scale), np.inf)
    bound[rows], multiplier[rows] = np.minimum(answers.bound, distance[rows]), answers.multiplier
    fixed = [name for name, free in zip(view.names, rules.free, strict=True) if not free]
    message = [MESSAGES[case] for case in zip(already.tolist(), reached.tolist(), proved.tolist(), strict=True)]
    for row in np.flatnonzero(reached & ~proved):
        message[row] = message[row].format(bound[row])
    return RecourseAnswers(x, change, distance, reached, proved, bound, multiplier, message, view.names, fixed)
