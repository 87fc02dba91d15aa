"""Two-dimensional slices of the surface: two features vary, all others are held."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quadric.summary.cells import typical_cells
from quadric.summary.subject import Subject
from quadric.summary.surfaces import live_features
from quadric.summary.values import Feature, Importance, Slice, TermRow
from quadric.types import FloatArray, IntArray

MOST_SLICES = 4
GRID = 41
MOST_POINTS = 300
TRIM = 0.005
"""Share of the samples at either end of an axis that may lie outside of it."""
FEW_VALUES = 12
"""Points of a feature with at most so many values are moved apart a little, so that they do not cover each other."""


def slices(subject: Subject, terms: Sequence[TermRow], importances: Sequence[Importance], seed: int) -> tuple[Slice, ...]:
    """The two most important numbers of the model, and the numbers that most important products join.

    Parameters
    ----------
    subject : Subject
        Of two classes and with a cut-off.
    terms : sequence of TermRow
        Of its surface.
    importances : sequence of Importance
    seed : int
        Of the choice of samples that are drawn.
    """
    rng = np.random.default_rng((seed, 2))
    rows = np.sort(rng.permutation(len(subject.V))[:MOST_POINTS])
    jitter = rng.uniform(-0.5, 0.5, size=(len(rows), 2))
    held = _held(subject)
    return tuple(_slice(subject, pair, held, rows, jitter) for pair in _pairs(subject, terms, importances))


def _pairs(subject: Subject, terms: Sequence[TermRow], importances: Sequence[Importance]) -> list[tuple[int, int]]:
    rank = {importance.column: place for place, importance in enumerate(importances)}
    live = [j for j in live_features(subject.known.surfaces[0]) if _can_be_axis(subject.features[j])]
    live.sort(key=lambda j: rank.get(subject.features[j].column, len(rank)))
    found = [(live[0], live[1])] if len(live) > 1 else []
    for row in sorted(terms, key=lambda row: -row.spread):
        first, second = row.coefficient.first, row.coefficient.second
        if second is not None and first != second and first in live and second in live:
            found.append((first, second) if live.index(first) < live.index(second) else (second, first))
    return list(dict.fromkeys(found))[:MOST_SLICES]


def _can_be_axis(feature: Feature) -> bool:
    return feature.kind in ("number", "rank") and feature.high > feature.low


def _held(subject: Subject) -> FloatArray:
    """A typical row: the middle of numbers, the most frequent code of each category."""
    known, V = subject.known, subject.V
    held = np.quantile(V, 0.5, axis=0, method="nearest")
    for column in range(len(known.input_names)):
        block = np.flatnonzero(known.blocks == column)
        if len(block) and not known.numeric[block].any():
            codes, counts = np.unique(V[:, block], axis=0, return_counts=True)
            held[block] = codes[np.argmax(counts)]
    return np.asarray(held)


def _slice(subject: Subject, pair: tuple[int, int], held: FloatArray, rows: IntArray, jitter: FloatArray) -> Slice:
    first, second = pair
    x, y = _axis(subject, first), _axis(subject, second)
    V = np.repeat(held[None], GRID * GRID, axis=0)
    V[:, first], V[:, second] = np.tile(x, GRID), np.repeat(y, GRID)
    values = (subject.known.surfaces[0](subject.known.scaled(V)) - subject.known.cutoff(None)).reshape(GRID, GRID)
    points = np.column_stack(
        [subject.V[rows, j] + jitter[:, side] * _room(subject, j) for side, j in enumerate((first, second))]
    )
    inside = (points >= [x[0], y[0]]).all(axis=1) & (points <= [x[-1], y[-1]]).all(axis=1)
    is_event = subject.is_event[rows]
    return Slice(
        first=first,
        second=second,
        x=tuple(x.tolist()),
        y=tuple(y.tolist()),
        values=tuple(map(tuple, values.tolist())),
        boundary=level_line(x, y, values),
        events=_pairs_of(points[inside & is_event]),
        others=_pairs_of(points[inside & ~is_event]),
        held=_held_texts(subject, {subject.features[j].column for j in pair}),
    )


def _pairs_of(points: FloatArray) -> tuple[tuple[float, float], ...]:
    return tuple((x, y) for x, y in points.tolist())


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


def _held_texts(subject: Subject, free: set[str]) -> tuple[tuple[str, str], ...]:
    used = {subject.features[j].column for j in live_features(subject.known.surfaces[0])}
    return tuple((name, text) for name, text in typical_cells(subject) if name in used - free)


def level_line(x: FloatArray, y: FloatArray, values: FloatArray) -> tuple[tuple[float, float, float, float], ...]:
    """Pieces of the line where values are zero: straight across each triangle of the grid, where it is linear.

    Parameters
    ----------
    x, y : increasing arrays
    values : array of shape (len(y), len(x))
    """
    pieces = []
    for i in range(len(y) - 1):
        for j in range(len(x) - 1):
            corners = [(x[j], y[i], values[i, j]), (x[j + 1], y[i], values[i, j + 1])]
            corners += [(x[j + 1], y[i + 1], values[i + 1, j + 1]), (x[j], y[i + 1], values[i + 1, j])]
            for triangle in ((0, 1, 2), (0, 2, 3)):
                ends = _crossings([corners[c] for c in triangle])
                if len(ends) == 2:
                    pieces.append((*ends[0], *ends[1]))
    return tuple(pieces)


def _crossings(triangle: Sequence[tuple[float, float, float]]) -> list[tuple[float, float]]:
    ends = []
    for (x0, y0, f0), (x1, y1, f1) in zip(triangle, (*triangle[1:], triangle[0]), strict=True):
        if (f0 > 0.0) != (f1 > 0.0):
            share = f0 / (f0 - f1)
            ends.append((float(x0 + share * (x1 - x0)), float(y0 + share * (y1 - y0))))
    return ends
