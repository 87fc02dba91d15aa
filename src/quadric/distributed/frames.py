"""What users do with frames of Dask and Spark: sums, fits, and scores as more columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

import quadric.batches
from quadric.errors import quoted, refuse_unknown
from quadric.estimators import SparseQuadraticSVC, SparseQuadraticSVCCV
from quadric.export import SavedModel
from quadric.fitted import Model
from quadric.samples.moments import Moments
from quadric.tables.coded import LabelledColumns
from quadric.tables.parts import TableParts
from quadric.tables.table import as_table, check_names
from quadric.workflow.options import TrainingOptions
from quadric.workflow.scoring import TableModel
from quadric.workflow.training import Trained
from quadric.workflow.training import train as train_table


@dataclass(frozen=True, eq=False)
class ScoredFrame:
    """A function that adds scores, probabilities (where the model is calibrated) and labels to a frame.

    Attributes
    ----------
    model : TableModel
    prefix : str
        Put before the names of the new columns.
    """

    model: TableModel
    prefix: str

    @property
    def names(self) -> list[str]:
        """Of the new columns."""
        return list(self.model.outputs(self.prefix).names)

    def __call__(self, frame: Any) -> Any:
        if not len(frame):
            return self.added(frame)
        try:
            found = self.model.scores(as_table(frame))
        except ValueError as error:
            raise ValueError(f"{str(error).splitlines()[0]} (rows are counted within a partition)") from None
        labels = np.array(self.model.class_names, dtype=object)[found.codes]
        return frame.assign(**dict(zip(self.names, [*found.numbers, labels], strict=True))).astype({self.names[-1]: "string"})

    def added(self, frame: Any) -> Any:
        """A frame without rows, with the new columns."""
        *numbers, label = self.names
        return frame.assign(**dict.fromkeys(numbers, np.empty(0)), **{label: ""}).astype({label: "string"})


Estimator = TypeVar("Estimator", SparseQuadraticSVC, SparseQuadraticSVCCV)


def moments(
    frame: Any,
    *,
    target: Any,
    columns: Sequence[str] | None = None,
    sample_weight: Any = None,
    classes: Sequence[Any] | None = None,
    clip_low: ArrayLike | None = None,
    clip_high: ArrayLike | None = None,
    by_class: bool = False,
) -> Moments:
    """Sums over the rows of a frame: all that a fit with the squared loss needs.

    Parameters
    ----------
    frame : DataFrame of Dask or Spark, or Dask Array of shape (m, n)
        The columns of an array are called x0, x1, ...
    target : str, or Dask Array of shape (m,)
        The column with the classes; beside an array, an array of numbers in the same chunks.
    columns : sequence of str, optional
        Features, columns of numbers; by default all that are neither target nor weights.
    sample_weight : str, or Dask Array of shape (m,), optional
        The weights of the rows, like ``target``.
    classes, clip_low, clip_high, by_class :
        As in :func:`quadric.moments`.

    Returns
    -------
    Moments
        As :func:`quadric.moments` makes them of a table.
    """
    parts, roles = _chosen(frame, target, columns, sample_weight)
    limits: dict[str, Any] = {"clip_low": clip_low, "clip_high": clip_high}
    return quadric.batches.moments(parts, classes=classes, by_class=by_class, **limits, **roles)


def fit(
    model: Estimator,
    frame: Any,
    *,
    target: Any,
    columns: Sequence[str] | None = None,
    sample_weight: Any = None,
    groups: str | None = None,
) -> Estimator:
    """Fit a classifier to all rows of a frame, by passes that run where the rows are.

    It is the fit of :func:`quadric.fit_batches` to the same rows in the same order. Rows must come in the same order on each
    pass: write a frame to files, or keep it in memory, where it comes out of a shuffle or of random numbers.

    Parameters
    ----------
    model : SparseQuadraticSVC or SparseQuadraticSVCCV
        Is fitted.
    frame, target, columns, sample_weight :
        As in :func:`moments`.
    groups : str, optional
        Column whose equal values stay in the same fold.

    Returns
    -------
    model
        Fitted.
    """
    parts, roles = _chosen(frame, target, columns, sample_weight, groups)
    return quadric.batches.fit_batches(model, parts, groups=groups, **roles)


def train(frame: Any, target: str, options: TrainingOptions | None = None) -> Trained:
    """Do what ``quadric fit`` does: code the columns, choose loss, k and C, fit, and calibrate.

    Parameters
    ----------
    frame : DataFrame of Dask or Spark
        With columns of numbers, texts and dates, and missing values.
    target : str
        Name of the column with the classes.
    options : TrainingOptions, optional

    Returns
    -------
    Trained
        As :func:`quadric.workflow.train` has it; its ``data`` hold a random sample of the rows.
    """
    options = TrainingOptions() if options is None else options
    return train_table(table_of(frame, text=options.texts), target, options)


def predict(model: Model, frame: Any, *, prefix: str = "quadric_") -> Any:
    """Add scores, probabilities (where the model is calibrated) and labels to a frame, lazily.

    Spark computes them as column expressions, without Python on the executors; Dask runs the model on each partition. A row
    that cannot be scored is an error when the frame is computed, as it is for the model: a value that it does not take, or a
    score that overflows. ``quadric.export.spark_columns`` gives NULL for such rows.

    Parameters
    ----------
    model : fitted model, or what ``load_model`` returns
    frame : DataFrame of Dask or Spark
    prefix : str
        Put before the names of the new columns: score, probability and label; with more than two classes
        score_CLASS and probability_CLASS for each class.

    Returns
    -------
    DataFrame of Dask or Spark
    """
    engine = engine_of(frame)
    scores = ScoredFrame(TableModel(SavedModel.of(model)), prefix)
    refuse_unknown(scores.model.view.needed, list(frame.columns), "the table")
    names = {name.lower() for name in scores.names}  # Spark takes no notice of case
    taken = [name for name in frame.columns if name.lower() in names]
    if taken:
        raise ValueError(f"the table has a column {quoted(taken[0])} already: choose another prefix")
    if engine == "dask":
        return frame.map_partitions(scores, meta=scores.added(frame._meta))
    from quadric.export.spark import spark_columns

    for step in spark_columns(model, prefix=prefix, refuses=True):  # each may refer to the names of those before
        frame = frame.selectExpr("*", *step)
    return frame


def _chosen(
    frame: Any, target: Any, columns: Sequence[str] | None, sample_weight: Any, groups: str | None = None
) -> tuple[TableParts, dict[str, Any]]:
    if type(frame).__module__.startswith("dask.array"):
        from quadric.distributed.dask import frame_of_array

        arrays = {"target": target, "sample_weight": sample_weight}
        given = {name: array for name, array in arrays.items() if hasattr(array, "ndim")}
        frame = frame_of_array(frame, **given)
        target, sample_weight = (name if name in given else array for name, array in arrays.items())
    engine_of(frame)
    check_names(list(frame.columns))
    names = LabelledColumns.of(list(frame.columns), target, columns, sample_weight, groups)
    special = [name for name in (target, sample_weight, groups) if name is not None]
    roles = {"target": target, "columns": names.inputs, "sample_weight": sample_weight}
    return table_of(frame, columns=[*names.inputs, *dict.fromkeys(special)]), roles


def engine_of(frame: Any) -> str:
    """The engine that a frame is of: "dask" or "spark"; an error for other objects."""
    engine = type(frame).__module__.partition(".")[0]
    if engine == "pyspark" and hasattr(frame, "mapInArrow"):
        return "spark"
    if engine == "dask" and hasattr(frame, "map_partitions") and hasattr(frame, "columns"):
        return "dask"
    raise TypeError(
        f"a DataFrame of Dask or Spark is needed, got {type(frame).__name__}: quadric.fit_batches takes other tables"
    )


def table_of(frame: Any, *, columns: Sequence[str] | None = None, text: Collection[str] = ()) -> TableParts:
    """A frame, or some columns of it, as a table over which functions can be summed."""
    engine = engine_of(frame)
    check_names(list(frame.columns))
    if engine == "spark":
        from quadric.distributed.spark import SparkTable, quoted, telling

        with telling():
            return SparkTable(frame if columns is None else frame.select([quoted(name) for name in columns]), text)
    from quadric.distributed.dask import DaskTable

    return DaskTable(frame if columns is None else frame[list(columns)], text)
