"""A fitted model as plain formulas: what every export is written from.

A score is a polynomial in *variables*; a variable is a centred and scaled feature; a feature is a number or a code of one input
column. Only what the surfaces use is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from quadric.errors import quoted
from quadric.estimators.calibration import Calibration
from quadric.export._schema import SavedModel
from quadric.fitted import FittedModel, Model, ScoreColumns, Variable, fitted_model
from quadric.fitted.points import PointsLine, ScoreScale
from quadric.geometry.surface import QuadraticSurface
from quadric.tables import InputColumn, Table
from quadric.tables.dates import date_text, dates_after
from quadric.tables.inputs import missing_numbers
from quadric.tables.table import Rows, is_missing, text_column
from quadric.tables.targets import class_position

# Rows lie this many scales from the center, a different one from input to input.
OFFSETS = (0.0, 1.0, -1.0, 0.5, -0.5)


@dataclass(frozen=True)
class Sample:
    """A row of raw data and what the model makes of it.

    Attributes
    ----------
    values : tuple of float, str or None
        One per input; dates are texts such as "2024-01-31".
    scores : tuple of float
        Decision values, one per surface.
    label : str
        Name of the predicted class.
    probabilities : tuple of float or None
        One per class; None where the model is not calibrated.
    """

    values: tuple[float | str | None, ...]
    scores: tuple[float, ...]
    label: str
    probabilities: tuple[float, ...] | None


@dataclass(frozen=True)
class ScoringModel:
    """All that is needed to score a row, without the library.

    Attributes
    ----------
    inputs : tuple of InputColumn
        Columns of raw data that the scores depend on (at least one).
    variables : tuple of Variable
    surfaces : tuple of QuadraticSurface
        Of the variables: one for two classes, positive for the second; otherwise one per class.
    classes : tuple of str
        Names.
    calibrators : tuple of SigmoidCalibration or IsotonicCalibration
        One per surface, or none.
    threshold : float
        The score or, where the model is calibrated, the probability above which the second of two classes is decided.
    samples : tuple of Sample
    target : str or None
        Name of the target column.
    points : PointsLine or None
        From scores to points, where there is a scale.
    rules : tuple of str
        Rules on slopes, with their proofs.
    shares_terms : bool
        Whether several surfaces have one list of terms.
    """

    inputs: tuple[InputColumn, ...]
    variables: tuple[Variable, ...]
    surfaces: tuple[QuadraticSurface, ...]
    classes: tuple[str, ...]
    calibrators: tuple[Calibration, ...]
    threshold: float
    samples: tuple[Sample, ...]
    target: str | None = None
    points: PointsLine | None = None
    rules: tuple[str, ...] = ()
    shares_terms: bool = False

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes, and so one surface."""
        return len(self.surfaces) == 1

    def outputs(self, prefix: str = "") -> ScoreColumns:
        """Names of the columns for scores, probabilities and the label.

        Parameters
        ----------
        prefix : str
            Put before each name.

        Returns
        -------
        ScoreColumns
        """
        return ScoreColumns.of(self.classes, bool(self.calibrators), prefix, self.points is not None)

    def row(self, sample: Sample) -> dict[str, float | str | None]:
        """The values of a sample by the names of the inputs.

        Parameters
        ----------
        sample : Sample

        Returns
        -------
        dict
        """
        return {column.name: value for column, value in zip(self.inputs, sample.values, strict=True)}


def scoring_model(
    model: Model,
    *,
    class_names: Sequence[str] | None = None,
    target: str | None = None,
    samples: Rows | None = None,
    points: ScoreScale | str | None = None,
) -> ScoringModel:
    """The formulas of a fitted model.

    Parameters
    ----------
    model : fitted model
        What :func:`quadric.fitted.fitted_model` takes. Also what ``read_model`` gives, whose names and samples count unless
        others are passed, or a ScoringModel, which is returned as it is.
    class_names : sequence of str, optional
        Names of the classes, in the order of ``classes_``; by default the labels themselves.
    target : str, optional
        Name of the target column.
    samples : Table, frame, mapping of columns or array, optional
        Raw rows that the export is to carry with their expected scores; by default a few made-up ones.
    points : ScoreScale or str, optional
        Scale of a scorecard, such as "600:20:50"; by default the one that the model file keeps.

    Returns
    -------
    ScoringModel
    """
    if isinstance(model, ScoringModel):
        return model
    saved = SavedModel.of(model, class_names=class_names, target=target, samples=samples)
    view = fitted_model(saved.model)
    names = checked_class_names(view, saved.class_names)
    scored = scored_samples(view, saved.samples, names)
    live = np.any([surface.live_features for surface in view.surfaces], axis=0)
    used = np.flatnonzero(live) if live.any() else np.array([0])  # a model without terms still takes rows
    kept = np.unique(view.blocks[used]).tolist()
    variables = [view.variables[j] for j in used]
    return ScoringModel(
        inputs=tuple(view.inputs[i] for i in kept),
        variables=tuple(replace(v, feature=replace(v.feature, input=kept.index(v.feature.input))) for v in variables),
        surfaces=tuple(QuadraticSurface(s.W[np.ix_(used, used)], s.b[used], s.c) for s in view.surfaces),
        classes=names,
        calibrators=view.calibrators,
        threshold=view.threshold,
        samples=tuple(replace(sample, values=tuple(sample.values[i] for i in kept)) for sample in scored),
        target=saved.target,
        points=points_line(saved, view, points),
        rules=tuple(view.proof_lines(names)),
        shares_terms=view.shares_terms,
    )


def points_line(saved: SavedModel, view: FittedModel, points: ScoreScale | str | None = None) -> PointsLine | None:
    """From scores to points: by a scale, or else by the one that a model file keeps, if there is one."""
    names = checked_class_names(view, saved.class_names)
    if points is None:
        recorded = saved.options.get("points")
        try:
            points = ScoreScale.read(recorded) if isinstance(recorded, str) else None
        except ValueError:  # anybody can write a file
            points = None
    scale = ScoreScale.read(points) if isinstance(points, str) else points
    return None if scale is None else PointsLine.of(view.calibrators, names, scale, favourable_class(saved, names))


def favourable_class(saved: SavedModel, names: Sequence[str]) -> str | None:
    """The class that people want, as a model file keeps it; None: nobody said so."""
    recorded = saved.options.get("favourable")
    position = class_position(recorded, names) if isinstance(recorded, str) else None
    return None if position is None else names[position]


def checked_class_names(view: FittedModel, class_names: Sequence[str] | None) -> tuple[str, ...]:
    """Names of the classes; by default the labels."""
    if class_names is None or len(class_names) == 0:
        return view.class_texts
    n_classes = len(view.classes)
    if len(class_names) != n_classes or len(set(class_names)) != n_classes:
        raise ValueError(f"class_names must be {n_classes} different names, got {quoted(list(class_names))}")
    return tuple(str(name) for name in class_names)


def scored_samples(view: FittedModel, samples: Rows | None, class_names: Sequence[str]) -> tuple[Sample, ...]:
    """The user's rows, or made-up ones, with what the model itself makes of them."""
    rows = made_up_rows(view) if samples is None else view.rows(samples)
    decision = view.decision(rows)
    codes, chances = view.decided(decision)
    columns = [[_written(value) for value in column.tolist()] for column in rows.columns]
    return tuple(
        Sample(
            tuple(values),
            tuple(np.atleast_1d(decision[i]).tolist()),
            class_names[codes[i]],
            None if chances is None else tuple(chances[i].tolist()),
        )
        for i, values in enumerate(zip(*columns, strict=True))
    )


def missing_values(column: InputColumn) -> tuple[list[str], list[float]]:
    """Texts without blanks around them, and numbers, that mean a missing value of a column; the empty text always does."""
    texts = column.missing_texts or ()
    return [text.strip(column.blanks) for text in texts], missing_numbers(texts) if column.type == "number" else []


def _written(value: Any) -> Any:
    """A cell as samples hold it: a number, a text, a date in ISO form, or None."""
    return None if is_missing(value) else date_text(value) if isinstance(value, datetime) else value


def made_up_rows(view: FittedModel, offsets: Sequence[float] = OFFSETS) -> Table:
    """Rows to try a model on where the caller brings none; no record of a person may travel with an export.

    Rows lie ``offsets`` scales from the center of the training data, with all sorts of levels; where the model takes missing
    values, some are missing in one more row.
    """
    columns = []
    for i, column in enumerate(view.inputs):
        values: list[Any] = [np.nan] * len(offsets)
        if column.categories:
            values = [column.categories[(i + row) % len(column.categories)] for row in range(len(offsets))]
        elif column.type != "unused":
            variable = view.variables[np.argmax(view.blocks == i)]
            near = np.roll(offsets, -i)  # in the same order everywhere, products would all be squares
            near = near if column.origin is None else np.clip(near, -1.0, 1.0)  # calendars end
            values = [float(f"{variable.center + offset * variable.scale:.4g}") for offset in near]
        if view.accepts_missing:
            values.append(None if i % 2 == 0 else values[0])
        columns.append(as_column(values, column))
    return Table(tuple(view.input_names), tuple(columns))


def as_column(values: list[Any], column: InputColumn) -> np.ndarray:
    """Levels, or numbers that count the days of a date."""
    if column.type == "category":
        return text_column(values)
    numbers = np.array(values, dtype=float)
    return numbers if column.origin is None else dates_after(np.rint(numbers), column.origin)
