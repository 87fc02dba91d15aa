"""Pictures along the number of terms, of equations that are still being looked at: no certificates, scores by any measure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quadric.report.drawing import Figure
from quadric.report.figures import _dotted, _plot_over, _tracked
from quadric.report.numbers import number
from quadric.types import FloatArray


def objective_along(ks: Sequence[int], objective: FloatArray, bounds: FloatArray | None, own: int) -> Figure:
    """Objective and, where they are known, lower bounds against the number of terms.

    Parameters
    ----------
    ks : increasing sequence of int
    objective : array
    bounds : array or None
        NaN: none.
    own : int
        The number of terms that is marked.
    """
    known = [] if bounds is None else [(k, bound) for k, bound in zip(ks, bounds.tolist(), strict=True) if np.isfinite(bound)]
    at = dict(zip(ks, objective.tolist(), strict=True))
    plot = _plot_over(ks, [*at.values(), *(bound for _, bound in known)], "objective")
    legend = [("line", "best equation found")]
    if known:
        plot.area([(k, at[k]) for k, _ in known], known, "band")
        plot.line(known, "line bound")
        legend.append(("line bound", "proved lower bound"))
    _dotted(plot, list(at.items()))
    described = f"The objective of the best equation found, from {number(at[ks[0]])} at k = {ks[0]} to {number(at[ks[-1]])}."
    return _tracked(plot, "objective", "Objective by number of terms", described, legend, at, own)


def score_along(ks: Sequence[int], scores: FloatArray, own: int, words: str) -> Figure:
    """Scores of folds, with standard errors, against the number of terms.

    Parameters
    ----------
    ks : increasing sequence of int
    scores : array of shape (n_folds, n_ks)
        In the sign of the measure.
    own : int
        The number of terms that is marked.
    words : str
        What the measure is called.
    """
    mean, error = scores.mean(axis=0), scores.std(axis=0, ddof=1) / np.sqrt(len(scores))
    plot = _plot_over(ks, [*(mean - error).tolist(), *(mean + error).tolist()], f"out-of-fold {words}")
    ends = zip(ks, (mean - error).tolist(), (mean + error).tolist(), strict=True)
    plot.segments([(k, low, k, high) for k, low, high in ends], "whisker")
    at = dict(zip(ks, mean.tolist(), strict=True))
    _dotted(plot, list(at.items()))
    described = f"Mean {words} over {len(scores)} folds with standard errors: {number(at[own])} at k = {own}."
    legend = [("line", f"mean over {len(scores)} folds, with standard errors")]
    return _tracked(plot, "score", f"Out-of-fold {words} by number of terms", described, legend, at, own)
