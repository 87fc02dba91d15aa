"""What each further term brings: what ``quadric path`` prints, and a page can show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from quadric.estimators import SparseQuadraticSVCCV
from quadric.estimators.crossvalidation import chosen_cell
from quadric.geometry.terms import term_names
from quadric.search.path import QuadraticPath
from quadric.workflow.cv_summary import grids_of, standard_error
from quadric.workflow.preparation import PreparedData


def path_facts(data: PreparedData, search: SparseQuadraticSVCCV, free: SparseQuadraticSVCCV | None = None) -> dict[str, Any]:
    """What each further term brings, as plain values.

    Parameters
    ----------
    data : PreparedData
    search : fitted SparseQuadraticSVCCV
    free : fitted SparseQuadraticSVCCV, optional
        The same without rules.

    Returns
    -------
    dict
        "path" has one entry per number of terms, with the C of the best accuracy; "best" and "1se" the cells that these rules
        choose; "mean" the mean accuracies of all cells, None where one was skipped. Where ``free`` is given, "without_rules" of
        an entry is what the same k and C reach then; what keeps the rules counts, too.
    """
    grid, names = grids_of(search)[0], term_names(data.feature_names)
    scores, ks, Cs = grid.scores, grid.ks, grid.Cs
    mean, error = scores.mean(axis=0), standard_error(scores)
    cells = {rule: chosen_cell(scores, rule) for rule in ("best", "1se")}
    C_index = cells["best"][0]
    subjects = [f"{name}: " for name in data.class_names] if len(search.paths_) > 1 else [""]
    supports: list[list[str]] = [
        [
            f"{subject}{names[term]}"
            for subject, path in zip(subjects, search.paths_, strict=True)
            for term, value in zip(path.cells[C_index][j].terms, path.cells[C_index][j].z, strict=True)
            if value
        ]
        for j in range(len(ks))
    ]
    whole = summed_path(search)
    rows: list[dict[str, Any]] = [
        {
            "k": int(ks[j]),
            "objective": float(whole.objective[C_index, j]),
            "lower_bound": None if whole.lower_bound is None else _or_none(whole.lower_bound[C_index, j]),
            "gap": None if whole.gap is None else _or_none(whole.gap[C_index, j]),
            "proved": bool(whole.proved[C_index, j]),
            "accuracy": _or_none(mean[C_index, j]),
            "error": _or_none(error[C_index, j]),
            "gained": [term for term in now if term not in before],
            "lost": [term for term in before if term not in now],
            "marks": [rule for rule, (_, k_index) in cells.items() if j == k_index],
        }
        for j, (before, now) in enumerate(pairwise([[], *supports]))
    ]
    if free is not None:
        for row in rows:
            row["without_rules"] = _figures_at(free, float(Cs[C_index]), row)
    return {
        "classes": list(data.class_names),
        "loss": grid.loss,
        "C": float(Cs[C_index]),
        "Cs": Cs.tolist(),
        "folds": len(scores),
        **{rule: {"k": int(ks[k]), "C": float(Cs[C])} for rule, (C, k) in cells.items()},
        "terms": grid.terms,
        "chosen": {"k": search.best_k_, "C": search.best_C_},
        "path": rows,
        "mean": [[_or_none(value) for value in row] for row in mean],
    }


def _figures_at(search: SparseQuadraticSVCCV, C: float, row: Mapping[str, Any]) -> dict[str, float | None]:
    """Objective and accuracy at a cell, unless those of a row are lower; None where it was not tried."""
    grid, path = grids_of(search)[0], summed_path(search)
    cells = np.argwhere((grid.Cs[:, None] == C) & (grid.ks == row["k"]))
    if not len(cells):
        return {"objective": None, "accuracy": None}
    i, j = cells[0]
    if path.objective[i, j] > row["objective"]:
        return {name: row[name] for name in ("objective", "accuracy")}
    return {"objective": float(path.objective[i, j]), "accuracy": _or_none(grid.scores.mean(axis=0)[i, j])}


def summed_path(search: SparseQuadraticSVCCV) -> QuadraticPath:
    """The path of two classes; of more, with the sums of their objectives and lower bounds.

    Parameters
    ----------
    search : fitted SparseQuadraticSVCCV

    Returns
    -------
    QuadraticPath
    """
    bounds = [path.lower_bound for path in search.paths_ if path.lower_bound is not None]
    objective = np.sum([path.objective for path in search.paths_], axis=0)
    return replace(search.paths_[0], objective=objective, lower_bound=np.sum(bounds, axis=0) if bounds else None)


def _or_none(value: float) -> float | None:
    return None if value != value else float(value)
