"""The decision boundary over two columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quadric.errors import refuse_unknown
from quadric.explain import effects
from quadric.fitted import FittedModel, Model, as_judged, fitted_model
from quadric.labels import positions_in
from quadric.plot.axes import AGAINST, NEUTRAL, TOWARDS, axes_or_new, plain
from quadric.report.slices import typical_value
from quadric.tables.table import Rows

# Points along either axis
GRID = 201


def boundary(model: Model, X: Rows, y: ArrayLike | None = None, *, columns: Sequence[str] | None = None, ax: Any = None) -> Any:
    """The score over two columns of numbers, and the line where the decision turns; all other columns are held.

    Parameters
    ----------
    model : fitted model of two classes
    X : array-like of shape (m, n)
        Its rows are drawn, whatever their other columns; these are held at their median or most frequent value.
    y : array-like of shape (m,), optional
        Labels, which colour the rows.
    columns : two names, optional
        By default the two most important columns of numbers.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    view, X, y = (fitted_model(model), X, y) if y is None else as_judged(model, X, y)
    if len(view.surfaces) > 1:
        raise ValueError(f"boundary needs a model of two classes, and this one has {len(view.classes)}")
    axes = _features(view, X, columns)
    first, second = (_label(view, j) for j in axes)
    V, table = view.reported(X), view.rows(X)
    held = view.reported({name: [typical_value(values)] for name, values in zip(table.names, table.columns, strict=True)})
    x, y_axis = (np.linspace(V[:, j].min(), V[:, j].max(), GRID) for j in axes)
    rows = np.repeat(held, GRID * GRID, axis=0)
    rows[:, axes[0]], rows[:, axes[1]] = np.tile(x, GRID), np.repeat(y_axis, GRID)
    height = (view.surfaces[0](view.units(rows)) - view.cutoff(None)).reshape(GRID, GRID)
    ax = axes_or_new(ax)
    full = np.quantile(np.abs(height), 0.95) or 1.0
    ax.pcolormesh(x, y_axis, height, cmap="RdBu_r", vmin=-full, vmax=full, alpha=0.6, shading="nearest", rasterized=True)
    if height.min() < 0.0 < height.max():
        ax.contour(x, y_axis, height, levels=[0.0], colors="black", linewidths=1.5)
    sides = np.zeros(len(V), dtype=int) if y is None else positions_in(view.classes, np.asarray(y))
    for code, (color, marker) in enumerate(((AGAINST, "o"), (TOWARDS, "x"))):
        members = sides == code
        if y is None and code == 0:
            ax.scatter(*V[:, axes].T, s=10, color=NEUTRAL)
        elif y is not None:
            ax.scatter(*V[members][:, axes].T, s=14, color=color, marker=marker, label=plain(view.classes[code]))
    if y is not None:
        ax.legend(fontsize="small")
    ax.set(xlabel=plain(first), ylabel=plain(second))
    return ax


def _label(view: FittedModel, feature: int) -> str:
    column = view.inputs[view.blocks[feature]]
    return column.name if column.origin is None else f"{column.name} (days since {column.origin})"


def _features(view: FittedModel, X: Any, columns: Sequence[str] | None) -> list[int]:
    """The features of two columns of numbers."""
    numbers = {view.input_names[view.blocks[j]]: int(j) for j in np.flatnonzero(view.numeric)}
    if columns is None:
        columns = [column.name for column in effects(view, X).columns if column.name in numbers][:2]
        if len(columns) < 2:
            raise ValueError("the model depends on fewer than two columns of numbers: there is no plane to draw")
    refuse_unknown(columns, list(numbers), "columns", "column of numbers")
    if len(columns) != 2 or columns[0] == columns[1]:
        raise ValueError(f"columns must be two different names, got {list(columns)}")
    return [numbers[name] for name in columns]
