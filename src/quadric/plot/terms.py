"""Terms: how many, and how often bootstrap fits choose them."""

from __future__ import annotations

from typing import Any

import numpy as np

from quadric.explain import TermStability
from quadric.plot.axes import AGAINST, TOWARDS, axes_or_new, plain
from quadric.search.path import QuadraticPath


def path(model: Any, ax: Any = None) -> Any:
    """Objective, bound and cross-validated score against the number of terms.

    Parameters
    ----------
    model : QuadraticPath, or fitted SparseQuadraticSVCCV of two classes
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    if isinstance(model, QuadraticPath):
        return model.plot(ax)
    paths: list[QuadraticPath] = getattr(model, "paths_", [])
    if len(paths) != 1:
        raise ValueError("path draws a QuadraticPath, such as one of the paths_ of a fitted SparseQuadraticSVCCV")
    return paths[0].plot(ax)


def stability(found: TermStability, *, surface: int = 0, most: int = 20, ax: Any = None) -> Any:
    """How often bootstrap fits choose each term, and with which sign.

    Parameters
    ----------
    found : TermStability
        From :func:`quadric.explain.stability`.
    surface : int
        Position of the class, for more than two classes.
    most : int
        Terms shown, those chosen most often.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    share = found.inclusion[surface]
    order = [int(term) for term in np.argsort(-share, kind="stable")[:most] if share[term] > 0.0]
    positive = (found.positive[surface] * share)[order]
    places = np.arange(len(order))
    ax = axes_or_new(ax, (6.4, 1.2 + 0.25 * len(order)))
    ax.barh(places, positive, color=TOWARDS, label="with a positive coefficient")
    ax.barh(places, share[order] - positive, left=positive, color=AGAINST, label="with a negative coefficient")
    ax.set_yticks(places, [plain(found.names[term]) for term in order])
    ax.invert_yaxis()
    ax.set(xlim=(0, 1), xlabel=f"share of {len(found.coef)} bootstrap fits that choose the term")
    ax.legend(fontsize="small", loc="lower right")
    return ax
