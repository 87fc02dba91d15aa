"""What follows from the cut-off of a fitted model of two classes, and its points, in words."""

from __future__ import annotations

import numpy as np

from quadric.estimators.cutoffs import EVEN
from quadric.workflow.scoring import TableModel
from quadric.workflow.training import Trained


def cutoff_facts(trained: Trained) -> dict[str, str | None]:
    """Who is approved at a cut-off that somebody chose, how many of them turn out bad, and the scale of points.

    Parameters
    ----------
    trained : Trained

    Returns
    -------
    dict
        None is no fact.
    """
    model = TableModel(trained.saved())
    line = model.points_line
    points = None if line is None else line.words
    if line is not None and trained.border is not None:
        points = f"{points}; {line.good} from {float(line.points(np.array(trained.border))):.0f} points"
    return {"at the cut-off": _consequences(trained, model), "points": points}


def _consequences(trained: Trained, model: TableModel) -> str | None:
    search, names = trained.search, trained.data.class_names
    if search is None or trained.cutoff is None or trained.options.cutoff == EVEN:
        return None
    tested = search.oof_folds_ >= 0
    codes, actual = model.view.decided(search.oof_decision_[tested])[0], trained.data.codes[tested]
    good = names.index(model.favourable or names[0])
    approved, is_bad = codes == good, actual != good
    words = f"{100.0 * approved.mean():.1f} % of the rows are labelled {names[good]} out of fold"
    if approved.any():
        words += f", and {100.0 * is_bad[approved].mean():.1f} % of these are {names[1 - good]}"
    if model.costs is not None:
        missed, declined = model.costs
        cost = np.mean(missed * (approved & is_bad) + declined * (~approved & ~is_bad))
        words += f"; cost {cost:.3f} per row, {missed * is_bad.mean():.3f} if all were labelled {names[good]}"
    return words
