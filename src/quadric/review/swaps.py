"""Who changes side between two models of the same target, and which terms drive it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from quadric.errors import quoted
from quadric.explain import contributions
from quadric.fitted.points import PointsLine, ScoreScale
from quadric.tables import Table
from quadric.types import BoolArray, FloatArray
from quadric.workflow.options import OptionError
from quadric.workflow.scoring import TableModel

# The four groups, by what champion and challenger say
GROUPS = {
    "approved by both": (True, True),
    "swapped in": (False, True),
    "swapped out": (True, False),
    "declined by both": (False, False),
}
SWAPPED = ("swapped in", "swapped out")


@dataclass(frozen=True)
class SwapGroup:
    """Rows of which two models say the same.

    Attributes
    ----------
    name : str
        One of GROUPS; "swapped in": only the challenger approves.
    n_rows : int
    n_known, n_bad : int
        Rows whose outcome is known, and those of them that are bad.
    points : float or None
        By how many points the challenger changes the mean of the group beyond the mean of all rows; None for no rows.
    terms : tuple of (str, float)
        What each term of either model adds to that, the largest first; they sum to it. Empty for groups that do not swap.
    """

    name: str
    n_rows: int
    n_known: int
    n_bad: int
    points: float | None
    terms: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class SwapSet:
    """Champion and challenger on the same rows.

    Attributes
    ----------
    good, bad : str
        Classes; "approved" means that good is decided.
    scale : ScoreScale
        Of the points.
    groups : tuple of SwapGroup
        In the order of GROUPS.
    """

    good: str
    bad: str
    scale: ScoreScale
    groups: tuple[SwapGroup, ...]


def swap_set(champion: TableModel, challenger: TableModel, table: Table, approval: float | None = None) -> SwapSet:
    """Compare the decisions of two models.

    Parameters
    ----------
    champion, challenger : TableModel
        Of the same two classes, with probabilities by a sigmoid.
    table : Table
        Raw rows; where they have the target column of the champion, outcomes are counted.
    approval : float, optional
        Share of the rows that each model approves, those with most points; by default each model decides by its own cut-off.

    Returns
    -------
    SwapSet
    """
    names = champion.class_names
    if set(challenger.class_names) != set(names) or len(names) != 2:
        both = " and ".join(", ".join(model.class_names) for model in (champion, challenger))
        raise ValueError(f"the models must have the same two classes, and have {both}")
    if approval is not None and not 0.0 < approval < 1.0:
        raise OptionError(f"approval must be a share between 0 and 1, got {quoted(approval)}", approval=None)
    good = champion.favourable or challenger.favourable or names[0]
    (bad,) = (name for name in names if name != good)
    scale = ScoreScale() if champion.points_line is None else champion.points_line.scale
    sides = [_Side.of(model, table, scale, good, approval) for model in (champion, challenger)]
    codes = champion.outcomes(table) if champion.saved.target in table.names else np.full(len(table), -1)
    known, is_bad = codes >= 0, codes == names.index(bad)
    groups = []
    for name, (first, second) in GROUPS.items():
        rows = (sides[0].approved == first) & (sides[1].approved == second)
        terms = _moved(sides[0].terms, sides[1].terms, rows) if rows.any() else {}
        listed = sorted(terms.items(), key=lambda each: -abs(each[1])) if name in SWAPPED else []
        points = sum(terms.values()) if rows.any() else None
        n_rows, n_known, n_bad = (int(each.sum()) for each in (rows, rows & known, rows & is_bad))
        groups.append(SwapGroup(name, n_rows, n_known, n_bad, points, tuple(listed)))
    return SwapSet(good, bad, scale, tuple(groups))


@dataclass(frozen=True, eq=False)
class _Side:
    """What one model says: whether rows are approved, and the points of each term beyond their mean."""

    approved: BoolArray
    terms: Mapping[str, FloatArray]

    @staticmethod
    def of(model: TableModel, table: Table, scale: ScoreScale, good: str, approval: float | None) -> _Side:
        found = contributions(model.view, model.inputs(table, only_needed=True))
        scores = model.judged(found.decision, table.first_row)
        line = PointsLine.of(model.view.calibrators, model.class_names, scale, good)
        approved = scores.codes == model.class_names.index(good)
        if approval is not None:
            points = line.points(found.decision)
            approved = points >= np.quantile(points, 1.0 - approval, method="higher")
        values = line.slope * (found.values - found.values.mean(axis=0))
        return _Side(approved, dict(zip(found.names, values.T, strict=True)))


def _moved(before: Mapping[str, FloatArray], now: Mapping[str, FloatArray], rows: BoolArray) -> dict[str, float]:
    """Mean change of what each term adds to some rows; a term that a model lacks adds nothing."""
    means = [{name: float(values[rows].mean()) for name, values in terms.items()} for terms in (before, now)]
    return {name: means[1].get(name, 0.0) - means[0].get(name, 0.0) for name in dict.fromkeys([*means[0], *means[1]])}
