"""Made-up rows that try everything a model consists of, so that no part of it can change without changing an answer.

A row gives each column one of its *options*: for numbers, values around the center and beyond the caps; for categories, every
level and an unknown text; and no value at all, where the model takes such rows. Every option of every column
occurs. A product of two features hides changes of one of them where the other is zero, so each option also meets, for every
such product, a row in which the other feature is not zero. Two rows lie far away, and every class is the answer to some row,
if random rows find one; of two classes, to the row that is nearest to the cut-off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quadric.estimators.calibration import Calibration, SigmoidCalibration
from quadric.export.scoring import OFFSETS, as_column, made_up_rows
from quadric.fitted import FittedModel
from quadric.tables import InputColumn, Table
from quadric.types import BoolArray, FloatArray, IntArray

# Rows beyond this size are left out: models of thousands of levels would make files too large to handle.
MAX_CELLS = 200_000
# Scales from the center.
FAR_AWAY = 1e6
# A feature counts as zero below this share of its largest value.
NEGLIGIBLE = 1e-3
RANDOM_ROWS = 2_000
# Where the curve of a sigmoid is tried: beyond, its values hardly change.
LOG_ODDS = (-2.0, 0.0, 2.0)


def accepts(view: FittedModel) -> list[dict[str, Any]]:
    """The inputs of a model by name and type, with whether it takes missing values and levels that it does not know.

    Parameters
    ----------
    view : FittedModel

    Returns
    -------
    list of dict
    """
    out = []
    for i, column in enumerate(view.inputs):
        own = [view.features[j] for j in np.flatnonzero(view.blocks == i)]
        missing = all(feature.missing is not None for feature in own)
        unseen = all(feature.unseen is not None for feature in own if feature.kind != "number")
        if not own and column.type != "unused":  # a single level, of which nothing is left but the encoder's own check
            missing, unseen = _takes(view, i, None), _takes(view, i, _unknown(column.categories))
        out.append({"name": column.name, "type": column.type, "missing": missing, "unseen": bool(column.categories) and unseen})
    return out


def _takes(view: FittedModel, position: int, value: Any) -> bool:
    rows = made_up_rows(view)[np.zeros(1, dtype=int)]
    columns = list(rows.columns)
    columns[position] = np.array([value], dtype=columns[position].dtype)
    try:
        view.decision(Table(rows.names, tuple(columns)))
    except ValueError:
        return False
    return True


def probe_rows(view: FittedModel) -> Table:
    """Rows that try everything, as far as their number allows.

    Parameters
    ----------
    view : FittedModel

    Returns
    -------
    Table
    """
    columns, U = _options(view)
    n_options = np.array([len(column) for column in columns])
    strides = np.arange(len(columns))
    rotated = np.vstack([np.add.outer(np.arange(len(U)), stride * strides) % n_options for stride in (1, 2)])
    most = max(len(rotated), MAX_CELLS // len(columns))
    random = np.random.default_rng(0).integers(0, n_options, size=(min(RANDOM_ROWS, most), len(columns)))
    found = random[_one_of_each_class(view, _chosen(U, random, view))]
    choices = np.unique(np.vstack([rotated, *_meetings(view, U, rotated, most - len(rotated)), found]), axis=0)
    near = [column[choices[:, i]] for i, column in enumerate(columns)]
    far = made_up_rows(view, (FAR_AWAY, -FAR_AWAY))
    table = Table(far.names, tuple(np.concatenate(both) for both in zip(near, far.columns, strict=True)))
    with np.errstate(over="ignore", invalid="ignore"):
        U = view.units(view.reported(table))
        sizes = np.column_stack([surface.magnitude(U) for surface in view.surfaces])
    return table[np.isfinite(sizes).all(axis=1)]


def probed_scores(calibrator: Calibration) -> FloatArray:
    """Decision values that try every part of a calibration.

    Parameters
    ----------
    calibrator : SigmoidCalibration or IsotonicCalibration

    Returns
    -------
    array
    """
    if isinstance(calibrator, SigmoidCalibration):
        with np.errstate(all="ignore"):
            steep = (np.array(LOG_ODDS) - calibrator.b) / calibrator.a if calibrator.a else np.zeros(0)
        return np.concatenate([[-1.0, 0.0, 1.0], steep[np.isfinite(steep)]])
    x = calibrator.x
    return np.concatenate([[x[0]], x[:-1] + 0.5 * np.diff(x), [x[-1]]])


def _options(view: FittedModel) -> tuple[list[np.ndarray], FloatArray]:
    """The options of each column, and the features in fitted units, row by row of all columns' options at once.

    No feature depends on two columns. Columns with fewer options repeat theirs.
    """
    usual = made_up_rows(view)[np.arange(len(OFFSETS))]
    columns = []
    for column, ordinary, taken in zip(view.inputs, usual.columns, accepts(view), strict=True):
        values: list[Any] = list(column.categories) or [*ordinary.tolist(), *_beyond_caps(view, column).tolist()]
        values += [_unknown(column.categories)] if taken["unseen"] else []
        values += [None] if taken["missing"] else []
        columns.append(np.array(values, dtype=ordinary.dtype))
    rows = np.arange(max(map(len, columns)))
    rotated = Table(usual.names, tuple(options[rows % len(options)] for options in columns))
    return columns, view.units(view.reported(rotated))


def _beyond_caps(view: FittedModel, column: InputColumn) -> np.ndarray:
    own = [v for v in view.variables if view.inputs[v.feature.input] is column and v.feature.kind == "number"]
    steps = [(variable, variable.scale if column.origin is None else 1.0) for variable in own]  # calendars end
    values = [end for variable, step in steps for end in (variable.low - step, variable.high + step)]
    return as_column([value for value in values if np.isfinite(value)], column)


def _chosen(U: np.ndarray, choices: IntArray, view: FittedModel) -> np.ndarray:
    """Features of rows, of which the numbers of the options are given, of shape (m, n_inputs)."""
    return U[choices[:, view.blocks], np.arange(view.n_features)]


def _unknown(levels: Sequence[Any]) -> Any:
    if not isinstance(levels[0], str):
        return max(levels) + 1.0
    name = "unknown"
    while name in levels:
        name += "?"
    return name


def _meetings(view: FittedModel, U: FloatArray, rows: IntArray, most: int) -> list[IntArray]:
    """Rows in which options meet features that they are multiplied with, as far as they have not met in the first rows."""
    sizes = np.abs(U).max(axis=0)
    shows: BoolArray = np.abs(U) > NEGLIGIBLE * sizes
    live = _chosen(shows, rows, view)
    products = np.any([surface.W != 0.0 for surface in view.surfaces], axis=0) & (sizes > 0.0)
    added: list[IntArray] = []
    for i in range(len(view.inputs)):
        others = products[view.blocks == i].any(axis=0) & (view.blocks != i)
        for choice in np.unique(rows[:, i]) if others.any() else ():
            pending = others & ~live[rows[:, i] == choice].any(axis=0)
            while pending.any() and len(added) < most:
                row = rows[len(added) % len(rows)].copy()
                row[i] = choice
                for j in np.unique(view.blocks[pending]):
                    row[j] = np.argmax(shows[:, pending & (view.blocks == j)].sum(axis=1))
                    pending &= ~shows[row[j]] | (view.blocks != j)
                added.append(row)
    return added


def _one_of_each_class(view: FittedModel, U: FloatArray) -> IntArray:
    """A row of each class: of two, the nearest to the cut-off, else the first."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = np.column_stack([surface(U) for surface in view.surfaces])
    if len(view.surfaces) > 1:
        return np.sort(np.unique(view.decided(scores)[0], return_index=True)[1])
    codes, chances = view.decided(scores[:, 0])
    distance = np.abs((scores[:, 0] if chances is None else chances[:, 1]) - view.threshold)
    by_class = (np.flatnonzero(codes == code) for code in np.unique(codes))
    return np.sort([rows[np.argmin(distance[rows])] for rows in by_class])
