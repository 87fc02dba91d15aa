"""What columns do to the score: average effects, products, one row, all rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from quadric.explain import ColumnEffect, ColumnValues, Effects, TermStability, shapley
from quadric.explain import effects as computed_effects
from quadric.fitted import Model, fitted_model
from quadric.plot.axes import AGAINST, NEUTRAL, TOWARDS, axes_or_new, many_axes, plain
from quadric.report.effect_figures import effect_scale
from quadric.tables.dates import dates_after
from quadric.tables.inputs import cell_text
from quadric.tables.table import Rows
from quadric.types import FloatArray

# Share of the height of an effect's axes that the distribution takes
UNDERNEATH = 0.22
# Height of a row of a beeswarm that its points may take, and how many points side by side fill it
SWARM, CROWD = 0.8, 12


def effects(
    model: Model | Effects,
    X: Rows | None = None,
    *,
    columns: Sequence[str] | None = None,
    target: Hashable | None = None,
    stability: TermStability | None = None,
    axes: Any = None,
) -> np.ndarray:
    """The average effect of each column, with the distribution of its values underneath.

    Parameters
    ----------
    model : fitted model, or Effects
        As in :func:`quadric.explain.effects`; or what that returns, which needs no X.
    X : array-like of shape (m, n), optional
        The population.
    columns : sequence of str, optional
        By default all that the model depends on, the most important first.
    target, stability
        As in :func:`quadric.explain.effects`; bootstrap fits give bands.
    axes : array of matplotlib Axes, optional
        One for each column; all have one scale of effects.

    Returns
    -------
    array of matplotlib Axes
    """
    found = _effects(model, X, target, stability)
    chosen = found.columns if columns is None else tuple(found[name] for name in columns)
    own = many_axes(axes, len(chosen))
    scale = effect_scale(chosen)
    for ax, column in zip(own, chosen, strict=True):
        _curve(ax, column, scale) if len(column.grid) else _levels(ax, column, scale)
        ax.set_title(plain(column.name), fontsize="medium")
    return own


def products(model: Model | Effects, X: Rows | None = None, *, target: Hashable | None = None, axes: Any = None) -> np.ndarray:
    """What each product of two columns adds to their average effects, as colours, with dots for the rows.

    Parameters
    ----------
    model, X, target
        As in :func:`effects`.
    axes : array of matplotlib Axes, optional
        One for each product.

    Returns
    -------
    array of matplotlib Axes
        Those that move the score most first; none for a model without products of two columns.
    """
    found = _effects(model, X, target, None).products
    own = many_axes(axes, len(found))
    strongest = max((np.abs(product.effect).max() for product in found), default=1.0)
    for ax, product in zip(own, found, strict=True):
        (x, x_names), (y, y_names) = (_cell_edges(values) for values in (product.first, product.second))
        mesh = ax.pcolormesh(x, y, np.transpose(product.effect), cmap="RdBu_r", vmin=-strongest, vmax=strongest)
        middles = np.meshgrid(0.5 * (x[1:] + x[:-1]), 0.5 * (y[1:] + y[:-1]), indexing="ij")
        ax.scatter(*middles, s=20.0 * np.asarray(product.counts) / np.max(product.counts), color="black", linewidths=0)
        for axis, names in ((ax.xaxis, x_names), (ax.yaxis, y_names)):
            if names:
                axis.set_ticks(names[0], [*map(plain, names[1])])
        ax.set(xlabel=plain(product.first.name), ylabel=plain(product.second.name))
    if len(own):
        own[0].figure.colorbar(mesh, ax=list(own), label="added to the score")
    return own


def waterfall(
    model: Model, row: Rows, *, background: Rows, target: Hashable | None = None, most: int = 10, ax: Any = None
) -> Any:
    """How the columns of one row lead from the mean score to its own, by exact Shapley values.

    Parameters
    ----------
    model : fitted model
    row : array-like of shape (1, n)
        Such as ``frame.iloc[[7]]``.
    background : array-like of shape (m, n)
        The population that the row is compared with.
    target : class label, optional
        As in :func:`quadric.explain.shapley`.
    most : int
        Columns with a bar of their own; the others are summed, and those that do nothing are left out.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    found, cells = shapley(model, row, background=background, target=target), fitted_model(model).rows(row)
    if len(cells) != 1:
        raise ValueError(f"row must be a single row, got {len(cells)}")
    values, order = found.values[0], [j for j in _largest(np.abs(found.values[0])) if found.values[0, j]]
    bars = [(f"{found.names[j]} = {cell_text(cells.columns[j].tolist()[0])}", values[j]) for j in order[:most]]
    if rest := order[most:]:
        bars.append((f"{len(rest)} other columns", float(values[rest].sum())))
    steps = np.array([size for _, size in bars])
    starts = found.base_value + np.concatenate([[0.0], np.cumsum(steps)[:-1]])
    ax = axes_or_new(ax, (6.4, 1.4 + 0.35 * len(bars)))
    places = np.arange(len(bars))
    ax.barh(places, steps, left=starts, color=[TOWARDS if step > 0 else AGAINST for step in steps])
    for place, start, step in zip(places, starts, steps, strict=True):
        ax.annotate(f"{step:+.3g}", (max(start, start + step), place), xytext=(4, 0), textcoords="offset points", va="center")
    ax.axvline(found.base_value, color=NEUTRAL, linestyle=":", label=f"mean score {found.base_value:.3g}")
    ax.axvline(found.decision[0], color="black", linestyle="--", label=f"score of the row {found.decision[0]:.3g}")
    ax.set_yticks(places, [plain(name) for name, _ in bars])
    ax.invert_yaxis()
    ax.margins(x=0.15)
    ax.set_xlabel("score")
    ax.legend(fontsize="small")
    return ax


def beeswarm(
    model: Model, X: Rows, *, background: Rows | None = None, target: Hashable | None = None, most: int = 12, ax: Any = None
) -> Any:
    """Exact Shapley values of many rows: one point per row and column, coloured by the value of the column.

    Parameters
    ----------
    model : fitted model
    X : array-like of shape (m, n)
    background : array-like, optional
        The population; by default X.
    target : class label, optional
        As in :func:`quadric.explain.shapley`.
    most : int
        Columns shown, the most important ones.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    found = shapley(model, X, background=X if background is None else background, target=target)
    view = fitted_model(model)
    V, sizes = view.reported(X), np.abs(found.values).mean(axis=0)
    order = [j for j in _largest(sizes) if sizes[j] > 0.0][:most]
    ax = axes_or_new(ax, (6.4, 1.4 + 0.4 * len(order)))
    for place, j in enumerate(order):
        own = np.flatnonzero((view.blocks == j) & view.numeric)
        heights = place + _spread_out(found.values[:, j])
        if len(own):
            ranks = np.unique(V[:, own[0]], return_inverse=True)[1].ravel()
            dots = ax.scatter(found.values[:, j], heights, s=8, c=ranks / max(ranks.max(), 1), cmap="viridis", vmin=0, vmax=1)
        else:
            ax.scatter(found.values[:, j], heights, s=8, color=NEUTRAL)
    ax.axvline(0.0, color=NEUTRAL, linewidth=1)
    ax.set_yticks(range(len(order)), [plain(found.names[j]) for j in order])
    ax.invert_yaxis()
    ax.set_xlabel("change of the score from the mean (exact Shapley values)")
    if any(view.numeric[view.blocks == j].any() for j in order):
        bar = ax.figure.colorbar(dots, ax=ax, ticks=[0, 1], label="value of the column; grey: no number")
        bar.ax.set_yticklabels(["lowest", "highest"])
    return ax


def _effects(model: Any, X: Any, target: Any, stability: Any) -> Effects:
    if isinstance(model, Effects):
        return model
    if X is None:
        raise ValueError("X is needed: effects are averages over rows")
    return computed_effects(model, X, target=target, stability=stability)


def _curve(ax: Any, column: ColumnEffect, scale: tuple[float, float]) -> None:
    values, curve = column.values, column.curve
    grid, numbers = _moments(values, column.grid), _moments(values, values.numbers)
    if curve.low is not None:
        ax.fill_between(grid, curve.low, curve.high, color=TOWARDS, alpha=0.2, linewidth=0)
    ax.plot(grid, curve.value, color=TOWARDS)
    ax.axhline(0.0, color=NEUTRAL, linestyle=":", linewidth=1)
    if values.levels:
        text = ", ".join(f"{name}: {height:+.3g}" for name, height in zip(values.levels, column.at_levels.value, strict=True))
        ax.annotate(plain(text), (0.98, 0.97), xycoords="axes fraction", ha="right", va="top", fontsize="small")
    low, high = scale
    ax.set_ylim(low - UNDERNEATH * (high - low), high)
    under = ax.twinx()
    under.bar(numbers, values.counts[: len(numbers)], 0.9 * np.diff(values.edges).min(), color=NEUTRAL, alpha=0.5, linewidth=0)
    under.set(ylim=(0, max(values.counts) / UNDERNEATH * (1.0 + UNDERNEATH)), yticks=[])
    ax.set_ylabel("average effect")


def _levels(ax: Any, column: ColumnEffect, scale: tuple[float, float]) -> None:
    values, found, places = column.values, column.at_levels, np.arange(len(column.values.levels))
    error = None if found.low is None else np.abs([found.value - found.low, found.high - found.value])
    ax.errorbar(found.value, places, xerr=error, fmt="o", color=TOWARDS, ecolor=NEUTRAL, elinewidth=3)
    shares = np.asarray(values.counts) / np.sum(values.counts)
    ax.set_yticks(
        places, [f"{plain(name)} ({share:.0%})" for name, share in zip(values.levels, shares, strict=True)], fontsize="small"
    )
    ax.axvline(0.0, color=NEUTRAL, linewidth=1)
    ax.set(xlabel="average effect", xlim=scale)


def _moments(values: ColumnValues, numbers: FloatArray) -> np.ndarray:
    """Numbers as they are, or dates."""
    return np.asarray(numbers) if values.origin is None else dates_after(np.asarray(numbers), values.origin)


def _cell_edges(values: ColumnValues) -> tuple[np.ndarray, tuple[list[float], list[str]] | None]:
    """Edges of the cells on an axis, levels after numbers, and where texts stand on it, if there are any."""
    width = float(np.diff(values.edges).mean()) if len(values.edges) else 1.0
    first = values.edges[-1] if len(values.edges) else -0.5
    edges = np.array([*values.edges[:-1], *(first + width * np.arange(len(values.levels) + 1))])
    if not values.levels and values.origin is None:
        return edges, None
    numbers = values.numbers[:: max(1, len(values.numbers) // 3)]
    texts = [cell_text(moment.tolist())[:10] if values.origin else f"{moment:.4g}" for moment in _moments(values, numbers)]
    aside = first + width * (np.arange(len(values.levels)) + 0.5)
    return edges, ([*numbers, *aside], [*texts, *values.levels])


def _largest(sizes: FloatArray) -> list[int]:
    return [int(j) for j in np.argsort(-sizes, kind="stable")]


def _spread_out(values: FloatArray) -> FloatArray:
    """Offsets that keep points of almost equal values apart, as many on one side as on the other."""
    span = np.ptp(values) or 1.0
    cell = np.floor(60.0 * (values - values.min()) / span)
    offsets, largest = np.zeros(len(values)), 1
    for one in np.unique(cell):
        members = np.flatnonzero(cell == one)
        offsets[members] = np.arange(len(members)) - 0.5 * (len(members) - 1)
        largest = max(largest, len(members))
    return 0.5 * SWARM * offsets / max(0.5 * largest, CROWD)
