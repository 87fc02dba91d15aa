"""The choice of a cell from cross-validated scores, and of the cells that are worth scoring.

Tables of scores have the shape (n_folds, n_rows, n_ks). A row is a value of C or, where losses compete, a pair of a loss and a
value of C. Cells that were not scored are NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from quadric.defaults import DEFAULT_TOLERANCE
from quadric.types import BoolArray, FloatArray

Rule: TypeAlias = str | float
ROUNDING = 1e-12
"""Difference of means that is none."""
ALWAYS_SCORED = 3
"""Grids of so many values of C are scored as a whole."""
ERRORS = 1.0
"""Standard errors of the differences between folds by which a cell may be better than its neighbours in C."""


@dataclass(frozen=True)
class Choice:
    """A cell among those of several losses.

    Attributes
    ----------
    loss : str
    C_index, k_index : int
    """

    loss: str
    C_index: int
    k_index: int


def chosen_cell(scores: FloatArray, rule: Rule) -> tuple[int, int]:
    """Positions of row and k.

    Parameters
    ----------
    scores : array of shape (n_folds, n_rows, n_ks)
    rule : "best", "1se" or float
        The best mean; or the fewest terms whose mean is within one standard error, or within a tolerance, of the best, and the
        best row there. Ties go to the smaller k, then to the earlier row.
    """
    mean = mean_scores(scores)
    by_k_then_row = mean.T  # the first maximum in this order
    k_index, row = (int(i) for i in np.unravel_index(int(np.argmax(by_k_then_row)), by_k_then_row.shape))
    within = mean.max(axis=0) >= mean[row, k_index] - _slack(scores[:, row, k_index], rule)
    k_index = min(k_index, int(np.argmax(within)))
    return int(np.argmax(mean[:, k_index])), k_index


def chosen_among(scores: Mapping[str, FloatArray], rule: Rule) -> Choice:
    """The cell of all losses that ``chosen_cell`` takes; ties go to the loss that is named first."""
    rows = [(loss, i) for loss, table in scores.items() for i in range(table.shape[1])]
    row, k_index = chosen_cell(np.concatenate(list(scores.values()), axis=1), rule)
    return Choice(*rows[row], k_index)


def mean_scores(scores: FloatArray) -> FloatArray:
    """Means over folds; -inf for cells that were not scored, or on fewer folds than others."""
    scored = np.isfinite(scores)
    count = scored.sum(axis=0)
    total = np.where(scored, scores, 0.0).sum(axis=0)
    return np.where(count == count.max(), total / np.maximum(count, 1), -np.inf)


def suitable_rule(rule: Rule, scores: Mapping[str, FloatArray]) -> Rule:
    """The rule; but the default tolerance is one of shares: where scores leave [0, 1], one standard error takes its place."""
    if rule != DEFAULT_TOLERANCE:
        return rule
    values = np.concatenate([table.ravel() for table in scores.values()])
    values = values[np.isfinite(values)]
    return rule if ((values >= 0.0) & (values <= 1.0)).all() else "1se"


def coarse_rows(n_rows: int) -> list[int]:
    """Every second value of C, the largest among them; all of a short grid."""
    return list(range(n_rows)) if n_rows <= ALWAYS_SCORED else list(range((n_rows - 1) % 2, n_rows, 2))


def cells_worth_scoring(scores: Mapping[str, FloatArray], rule: Rule) -> dict[str, BoolArray]:
    """Cells between scored values of C that could still be chosen.

    A cell could be as good as the better of its neighbours in C, and better by the standard error of the differences that this
    neighbour has to the best cell, fold by fold. It counts if it then could replace the choice: with fewer terms within the
    slack of the rule, with the same number a better mean than the choice, with more the best mean of all.
    """
    everything = np.concatenate(list(scores.values()), axis=1)
    best_row, best_k = chosen_cell(everything, "best")
    row, k_index = chosen_cell(everything, rule)
    best, mean = everything[:, best_row, best_k], mean_scores(everything)
    needed = np.full(everything.shape[2], mean[best_row, best_k])
    needed[:k_index] -= _slack(best, rule)
    needed[k_index] = mean[row, k_index]
    return {loss: _promising(table, best, needed) for loss, table in scores.items()}


def _promising(scores: FloatArray, best: FloatArray, needed: FloatArray) -> BoolArray:
    """Cells of one loss without a score that could reach what is needed at their k."""
    difference = scores - best[:, None, None]
    error = difference.std(axis=0, ddof=1) / np.sqrt(len(best)) if len(best) > 1 else np.full(scores.shape[1:], np.inf)
    hopes = mean_scores(scores)
    scored = np.isfinite(hopes) & ~np.isnan(error)
    hopes[scored] += ERRORS * error[scored]
    below, above = np.full_like(hopes, -np.inf), np.full_like(hopes, -np.inf)
    below[1:], above[:-1] = hopes[:-1], hopes[1:]
    unscored = ~np.isfinite(scores).any(axis=0)
    return unscored & (np.maximum(below, above) >= needed)


def end_of_grid(scores: Mapping[str, FloatArray]) -> tuple[str, int] | None:
    """The loss of the best cell and the side, 1 or -1, if its C is the largest or the smallest and better than the next."""
    best = chosen_among(scores, "best")
    along_C = mean_scores(scores[best.loss])[:, best.k_index]
    others = np.delete(along_C, best.C_index)
    if len(others) and others.max() == along_C[best.C_index]:  # a tie says nothing of what lies beyond the grid
        return None
    if best.C_index == len(along_C) - 1:
        return best.loss, 1
    return (best.loss, -1) if best.C_index == 0 else None


def _slack(best: FloatArray, rule: Rule) -> float:
    """How much worse than the best cell, with these scores in the folds, the chosen one may be on average."""
    if rule == "best":
        return 0.0
    if rule == "1se":
        scored = best[np.isfinite(best)]
        return float(scored.std(ddof=1)) / float(np.sqrt(len(scored))) if len(scored) > 1 else 0.0
    return float(rule) + ROUNDING
