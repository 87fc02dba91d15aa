"""Axes to draw into, and colours."""

from __future__ import annotations

from typing import Any

import numpy as np

from quadric.extras import require
from quadric.report.drawing import NEGATIVE, POSITIVE

# Colours of what counts towards the positive class and against it, as in the report, and of everything else
TOWARDS, AGAINST, NEUTRAL = tuple(np.array(POSITIVE) / 255), tuple(np.array(NEGATIVE) / 255), "0.6"
# Plots side by side
ABREAST = 3


def plain(name: Any) -> str:
    """A name as matplotlib shows it letter by letter: between two dollars it would read mathematics.

    Parameters
    ----------
    name : Any
        Of a column, a level or a class.
    """
    return str(name).replace("$", r"\$")


def axes_or_new(ax: Any, size: tuple[float, float] | None = None) -> Any:
    """The user's axes, or those of a new figure.

    Parameters
    ----------
    ax : matplotlib Axes or None
    size : pair of float, optional
        Of the new figure, in inches.
    """
    plt = require("matplotlib.pyplot", "plot")
    return plt.subplots(layout="constrained", figsize=size)[1] if ax is None else ax


def many_axes(axes: Any, count: int) -> np.ndarray:
    """One for each of several pictures, in rows of ABREAST.

    Parameters
    ----------
    axes : array of matplotlib Axes or None
    count : int
    """
    if axes is not None:
        own = np.ravel(axes)
        if len(own) < count:
            raise ValueError(f"axes: {count} pictures need as many axes, got {len(own)}")
        return own[:count]
    if not count:
        return np.array([], dtype=object)
    plt = require("matplotlib.pyplot", "plot")
    rows = -(-count // ABREAST)
    size = (3.4 * min(count, ABREAST), 2.8 * rows)
    grid = plt.subplots(rows, min(count, ABREAST), squeeze=False, layout="constrained", figsize=size)[1].ravel()
    for spare in grid[count:]:
        spare.set_axis_off()
    return np.asarray(grid[:count])
