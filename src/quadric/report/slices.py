"""Two-dimensional slices of the surface: two features vary, all others are held."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from quadric.report.subject import Subject
from quadric.report.values import Parts, SurfaceSummary
from quadric.tables.inputs import cell_text
from quadric.types import FloatArray, IntArray

MOST_SLICES = 4
GRID = 41
MOST_POINTS = 300
# Share of the rows at either end of an axis that may lie outside of it.
TRIM = 0.005
# Points of a feature with at most this many values are moved apart a little, so that they do not cover each other.
FEW_VALUES = 12


def slices(subject: Subject, surface: SurfaceSummary, seed: int) -> tuple[Parts, ...]:
    """Over the two most important numbers of the model, and over the numbers that its most important products join.

    Parameters
    ----------
    subject : Subject
        Of two classes and with a cut-off.
    surface : SurfaceSummary
        Its surface.
    seed : int
        Of the choice of rows that are drawn.

    Returns
    -------
    tuple of mappings
        ``first`` and ``second``, the features of the two axes; the grid ``x`` and ``y`` in raw units; ``values``, f less the
        cut-off, ``values[i][j]`` at ``y[i]``, ``x[j]``; ``boundary``, short straight pieces (x, y, x, y) of the decision
        boundary; ``events`` and ``others``, pairs (x, y) of rows of the data, whatever their other features; and ``held``,
        pairs (column, text), at which values the other columns of the model are held.
    """
    rng = np.random.default_rng((seed, 2))
    rows = np.sort(rng.permutation(len(subject.V))[:MOST_POINTS])
    jitter = rng.uniform(-0.5, 0.5, size=(len(rows), 2))
    inputs = subject.tabular.inputs(subject.table)
    typical = {name: typical_value(inputs[name]) for name in inputs}
    return tuple(_slice(subject, surface, pair, typical, rows, jitter) for pair in _pairs(subject, surface))


def _pairs(subject: Subject, surface: SurfaceSummary) -> list[tuple[int, int]]:
    rank = {column: place for place, (column, _) in enumerate(surface.importances)}
    features = subject.features
    axes = [j for j, one in enumerate(features) if one.kind in ("number", "rank") and one.high > one.low]
    live = [direction["feature"] for direction in surface.directions if direction["feature"] in axes]
    live.sort(key=lambda j: rank.get(features[j].column, len(rank)))
    terms = [row.coefficient for row in sorted(surface.terms, key=lambda row: -row.spread)]
    joined = [sorted(set(live) & {term.first, term.second}, key=live.index) for term in terms]
    pairs = [(one[0], one[1]) for one in (live[:2], *joined) if len(one) == 2]
    return list(dict.fromkeys(pairs))[:MOST_SLICES]


def _slice(
    subject: Subject,
    surface: SurfaceSummary,
    pair: tuple[int, int],
    typical: dict[str, Any],
    rows: IntArray,
    jitter: FloatArray,
) -> Parts:
    first, second = pair
    x, y = _axis(subject, first), _axis(subject, second)
    V = np.repeat(subject.fitted.reported({name: [value] for name, value in typical.items()}), GRID * GRID, axis=0)
    V[:, first], V[:, second] = np.tile(x, GRID), np.repeat(y, GRID)
    values = (subject.fitted.surfaces[0](subject.fitted.units(V)) - subject.fitted.cutoff(None)).reshape(GRID, GRID)
    points = np.column_stack(
        [subject.V[rows, j] + jitter[:, side] * _room(subject, j) for side, j in enumerate((first, second))]
    )
    inside = (points >= [x[0], y[0]]).all(axis=1) & (points <= [x[-1], y[-1]]).all(axis=1)
    is_event = subject.codes[rows] == 1
    columns = [feature.column for feature in subject.features]
    used = {columns[direction["feature"]] for direction in surface.directions} - {columns[j] for j in pair}
    return {
        "first": first,
        "second": second,
        "x": tuple(x.tolist()),
        "y": tuple(y.tolist()),
        "values": tuple(map(tuple, values.tolist())),
        "boundary": level_line(x, y, values),
        "events": tuple(map(tuple, points[inside & is_event].tolist())),
        "others": tuple(map(tuple, points[inside & ~is_event].tolist())),
        "held": tuple((name, cell_text(value)) for name, value in typical.items() if name in used),
    }


def _axis(subject: Subject, feature: int) -> FloatArray:
    values = subject.V[:, feature]
    low, high = np.quantile(values, [TRIM, 1.0 - TRIM])
    if high <= low:
        low, high = values.min(), values.max()
    margin = max(0.02 * (high - low), 0.6 * _room(subject, feature))
    return np.linspace(low - margin, high + margin, GRID)


def _room(subject: Subject, feature: int) -> float:
    """How far apart points of equal value may be drawn: half of the way to the next value."""
    values = np.unique(subject.V[:, feature])
    return 0.5 * float(np.diff(values).min()) if 1 < len(values) <= FEW_VALUES else 0.0


def typical_value(values: np.ndarray) -> Any:
    """The median of numbers or dates, the most frequent text; missing values do not count.

    Parameters
    ----------
    values : array of shape (m,)
        A column of a Table.
    """
    if values.dtype.kind == "M":
        dates = np.sort(values[~np.isnat(values)])
        return dates[len(dates) // 2].tolist()
    if values.dtype != object:
        return float(np.nanquantile(values, 0.5, method="nearest"))
    counts = Counter(value for value in values.tolist() if value is not None)
    return min(counts, key=lambda level: (-counts[level], level), default=None)


def level_line(x: FloatArray, y: FloatArray, values: FloatArray) -> tuple[tuple[float, float, float, float], ...]:
    """Pieces of the line where values are zero: straight across each triangle of the grid, where it is linear.

    Parameters
    ----------
    x, y : increasing arrays
    values : array of shape (len(y), len(x))
    """
    corners = np.stack([*np.meshgrid(x, y), values], axis=-1)
    a, b, c, d = corners[:-1, :-1], corners[:-1, 1:], corners[1:, 1:], corners[1:, :-1]
    triangles = np.stack([a, b, c, a, c, d], axis=2).reshape(-1, 3, 3)
    ahead = np.roll(triangles, -1, axis=1)
    crossed = (triangles[..., 2] > 0.0) != (ahead[..., 2] > 0.0)  # no edge of a triangle, or two of them
    start, end = triangles[crossed], ahead[crossed]
    share = start[:, 2:] / (start[:, 2:] - end[:, 2:])
    return tuple(map(tuple, (start + share * (end - start))[:, :2].reshape(-1, 4).tolist()))
