"""The choice of a cell from cross-validated scores, and of the cells that are worth scoring.

Tables of scores have the shape (n_folds, n_rows, n_ks). A row is a value of C or, where losses compete, a pair of a loss and a
value of C. Cells that were not scored are NaN. Dictionaries of terms have grids of k of their own: first the one with the best
mean is chosen, then a cell of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from quadric.defaults import DEFAULT_TOLERANCE
from quadric.types import BoolArray, FloatArray

ChoiceRule: TypeAlias = str | float | None
# Largest difference of means that counts as zero.
ROUNDING = 1e-12
# Share of a mean score by which two dictionaries may differ and still be as good.
SAME = 1e-6
# Share of a mean score by which the last C of a grid must be better than others for the grid to grow.
NEGLIGIBLE = 1e-3
# Grids with at most this many values of C are scored as a whole.
ALWAYS_SCORED = 3
# Standard errors of the differences between folds by which a cell may be better than its neighbours in C.
ERRORS = 1.0
# Standard errors of the differences between folds by which a dictionary is given up before all losses have scored it.
CLEAR = 5.0


@dataclass(frozen=True)
class Family:
    """What has a grid of C and k of its own.

    Attributes
    ----------
    terms : str
        Name of a dictionary.
    loss : str
    """

    terms: str
    loss: str


@dataclass(frozen=True)
class GridCell:
    """A dictionary and a loss with values of its parameters."""

    terms: str
    loss: str
    C: float
    k: int

    @property
    def family(self) -> Family:
        return Family(self.terms, self.loss)


@dataclass(frozen=True)
class Margin:
    """How much better the best cell of the chosen dictionary is than that of the other one, paired over the folds.

    Where not all losses scored the other one, both are compared with those that did: a better loss says nothing of terms.

    Attributes
    ----------
    other : str
        The dictionary that was not chosen.
    mean, error : float
        Of the differences of the scores; ``error`` is the standard error of the mean, NaN for one fold.
    """

    other: str
    mean: float
    error: float

    @property
    def is_clear(self) -> bool:
        """Whether the other dictionary need not be scored with further losses."""
        return self.mean > CLEAR * self.error


def chosen_cell(scores: FloatArray, rule: ChoiceRule) -> tuple[int, int]:
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


def chosen_among(scores: Mapping[Family, FloatArray], rule: ChoiceRule) -> tuple[Family, tuple[int, int]]:
    """The family and the positions of C and k that ``chosen_cell`` takes; ties go to the dictionary and loss named first."""
    terms = best_terms(scores)
    rows = [(family, i) for family, table in scores.items() if family.terms == terms for i in range(table.shape[1])]
    row, k_index = chosen_cell(together(scores, terms), rule)
    family, C_index = rows[row]
    return family, (C_index, k_index)


def together(scores: Mapping[Family, FloatArray], terms: str) -> FloatArray:
    """The tables of all losses of a dictionary as one."""
    return np.concatenate([table for family, table in scores.items() if family.terms == terms], axis=1)


def best_terms(scores: Mapping[Family, FloatArray]) -> str:
    """The dictionary with the best mean among cells with scores of most folds; the first of those that are as good."""
    means, counts = {}, {}
    for terms in dict.fromkeys(family.terms for family in scores):
        table = together(scores, terms)
        means[terms], counts[terms] = mean_scores(table).max(), np.isfinite(table).sum(axis=0).max()
    complete = [terms for terms, count in counts.items() if count == max(counts.values())]
    best = max(means[terms] for terms in complete)
    # the same surface, found among other terms, scores the same up to the last digits of its fit
    return next(terms for terms in complete if means[terms] == best or means[terms] >= best - SAME * abs(best))


def margin(scores: Mapping[Family, FloatArray]) -> Margin | None:
    """Of the best dictionary over the second best, with the losses that scored both; None where there are no such ones."""
    first = best_terms(scores)
    others = {family: table for family, table in scores.items() if family.terms != first}
    if not others:
        return None
    second = best_terms(others)
    both = [_scored_losses(scores, terms) for terms in (first, second)]
    shared = {family: table for family, table in scores.items() if all(family.loss in losses for losses in both)}
    if not shared:  # a time limit left them no loss in common
        return None
    best = []
    for table in (together(shared, first), together(shared, second)):
        row, k_index = chosen_cell(table, "best")
        best.append(table[:, row, k_index])
    difference = best[0] - best[1]
    difference = difference[np.isfinite(difference)]
    if not len(difference):  # a time limit left them no fold in common
        return None
    error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else np.nan
    return Margin(second, float(difference.mean()), float(error))


def _scored_losses(scores: Mapping[Family, FloatArray], terms: str) -> set[str]:
    return {family.loss for family, table in scores.items() if family.terms == terms and np.isfinite(table).any()}


def mean_scores(scores: FloatArray) -> FloatArray:
    """Means over folds; -inf for cells that were not scored, or on fewer folds than others."""
    scored = np.isfinite(scores)
    count = scored.sum(axis=0)
    total = np.where(scored, scores, 0.0).sum(axis=0)
    return np.where((count > 0) & (count == count.max()), total / np.maximum(count, 1), -np.inf)


def suitable_rule(rule: ChoiceRule, scores: Mapping[Family, FloatArray]) -> ChoiceRule:
    """The rule; None: a tolerance where scores are shares, between 0 and 1, and for others the best mean."""
    if rule is not None:
        return rule
    values = np.concatenate([table.ravel() for table in scores.values()])
    values = values[np.isfinite(values)]
    return DEFAULT_TOLERANCE if ((values >= 0.0) & (values <= 1.0)).all() else "best"


def coarse_rows(n_rows: int) -> list[int]:
    """Every second value of C, the largest among them; all of a short grid."""
    return list(range(n_rows)) if n_rows <= ALWAYS_SCORED else list(range((n_rows - 1) % 2, n_rows, 2))


def cells_worth_scoring(scores: Mapping[Family, FloatArray], rule: ChoiceRule) -> dict[Family, BoolArray]:
    """Cells between scored values of C that could still be chosen.

    A cell could be as good as the better of its neighbours in C, and better by the standard error of the differences that this
    neighbour has to the best cell, fold by fold. It counts if it then could replace the choice: with fewer terms within the
    slack of the rule, with the same number a better mean than the choice, with more the best mean of all. Cells of a dictionary
    that is not the best one so far need the best mean.
    """
    terms = best_terms(scores)
    everything = together(scores, terms)
    best_row, best_k = chosen_cell(everything, "best")
    row, k_index = chosen_cell(everything, rule)
    best, mean = everything[:, best_row, best_k], mean_scores(everything)
    needed = np.full(everything.shape[2], mean[best_row, best_k])
    needed[:k_index] -= _slack(best, rule)
    needed[k_index] = mean[row, k_index]
    return {
        family: _promising(table, best, needed if family.terms == terms else np.full(table.shape[2], mean[best_row, best_k]))
        for family, table in scores.items()
    }


def _promising(scores: FloatArray, best: FloatArray, needed: FloatArray) -> BoolArray:
    difference = scores - best[:, None, None]
    error = difference.std(axis=0, ddof=1) / np.sqrt(len(best)) if len(best) > 1 else np.full(scores.shape[1:], np.inf)
    hopes = mean_scores(scores)
    scored = np.isfinite(hopes) & ~np.isnan(error)
    hopes[scored] += ERRORS * error[scored]
    below, above = np.full_like(hopes, -np.inf), np.full_like(hopes, -np.inf)
    below[1:], above[:-1] = hopes[:-1], hopes[1:]
    unscored = ~np.isfinite(scores).any(axis=0)
    return unscored & (np.maximum(below, above) >= needed)


def end_of_grid(scores: Mapping[Family, FloatArray]) -> tuple[Family, int] | None:
    """The family of the best cell and the side, 1 or -1, if its C is the largest or the smallest and better than the next."""
    family, (C_index, k_index) = chosen_among(scores, "best")
    along_C = mean_scores(scores[family])[:, k_index]
    best, others = along_C[C_index], np.delete(along_C, C_index)
    if len(others) and others.max() >= best * (1.0 - np.sign(best) * NEGLIGIBLE):
        return None  # a tie, or nearly one, says nothing of what lies beyond the grid
    if C_index == len(along_C) - 1:
        return family, 1
    return (family, -1) if C_index == 0 else None


def _slack(best: FloatArray, rule: ChoiceRule) -> float:
    if rule == "best" or rule is None:
        return 0.0
    if rule == "1se":
        scored = best[np.isfinite(best)]
        return float(scored.std(ddof=1)) / float(np.sqrt(len(scored))) if len(scored) > 1 else 0.0
    return float(rule) + ROUNDING
