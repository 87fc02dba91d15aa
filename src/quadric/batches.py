"""Moments of tables and fits to tables that need not fit in memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from quadric.blas import one_blas_thread
from quadric.errors import quoted
from quadric.estimators import SparseQuadraticSVC, SparseQuadraticSVCCV
from quadric.estimators.validation import check_parameters
from quadric.samples.capped import Stream
from quadric.samples.moments import Moments
from quadric.samples.sums import BatchMoments
from quadric.tables.coded import LabelledColumns, coded_source, codes_of, learn_table
from quadric.tables.encoder import TableEncoder
from quadric.tables.inputs import truth_numbers
from quadric.tables.parts import as_parts
from quadric.tables.table import Table
from quadric.tables.targets import sorted_classes
from quadric.types import FloatArray

__all__ = ["Moments", "fit_batches", "moments"]

Estimator = TypeVar("Estimator", SparseQuadraticSVC, SparseQuadraticSVCCV)


def moments(
    batches: Any,
    *,
    target: str,
    columns: Sequence[str] | None = None,
    sample_weight: str | None = None,
    classes: Sequence[Any] | None = None,
    clip_low: ArrayLike | None = None,
    clip_high: ArrayLike | None = None,
    by_class: bool = False,
) -> Moments:
    """Sums over the rows of a table, in one pass: all that a fit with the squared loss needs.

    Parameters
    ----------
    batches : table, path, iterable of record batches, or function that returns one
        A frame or mapping of columns, an Arrow object, a CSV, Parquet or Feather file, a folder of Parquet files, or parts of a
        table one after the other. Memory does not grow with the number of rows.
    target : str
        Name of the column with the classes; its values become texts.
    columns : sequence of str, optional
        Features, columns of numbers; by default all that are neither target nor weights.
    sample_weight : str, optional
        Name of the column with the weights of the rows.
    classes : sequence, optional
        All labels, where a part of the data may lack some and others are an error; by default those that appear.
    clip_low, clip_high : arrays of shape (n,), optional
        Limits at which features are capped, in the order of ``columns``; those of several parts must be the same.
    by_class : bool
        Keep a scatter for each class, which fits with class weights need.

    Returns
    -------
    Moments
        Add those of several places with ``+``, send them with ``to_bytes``, and fit with ``SparseQuadraticSVC.fit_moments``.

    Examples
    --------
    >>> import quadric
    >>> north = {"age": [30.0, 40.0, 50.0], "income": [2.0, 3.0, 1.0], "risk": ["low", "low", "high"]}
    >>> south = {"age": [25.0, 60.0], "income": [4.0, 2.0], "risk": ["low", "high"]}
    >>> both = quadric.moments(north, target="risk") + quadric.moments(south, target="risk")
    >>> both
    Moments(5 rows of 2 features; target 'risk': 'high', 'low')
    >>> model = quadric.SparseQuadraticSVC(k=2, loss="least_squares").fit_moments(both)
    """
    parts = as_parts(batches, text=(target,), keeps=False)
    chosen = LabelledColumns.of(parts.head().names, target, columns, sample_weight)
    known = None if classes is None else tuple(sorted({str(label) for label in classes}))
    limits = _limits(clip_low, clip_high, len(chosen.inputs))
    total = parts.total(partial(_moments_of_rows, columns=chosen, classes=known, limits=limits, by_class=by_class))
    if total is None:
        raise ValueError("the batches have no rows of positive weight")
    return total


def _limits(low: ArrayLike | None, high: ArrayLike | None, n: int) -> tuple[FloatArray, FloatArray]:
    limits = []
    for name, given, none in (("clip_low", low, -np.inf), ("clip_high", high, np.inf)):
        values = np.full(n, none) if given is None else np.asarray(given, dtype=float)
        if values.shape != (n,) or np.isnan(values).any():
            raise ValueError(f"{name} must hold one number for each of the {n} features, got {quoted(given)}")
        limits.append(values)
    if not (limits[0] < limits[1]).all():
        raise ValueError("clip_low must be below clip_high for every feature")
    return limits[0], limits[1]


@one_blas_thread()
def _moments_of_rows(
    table: Table,
    columns: LabelledColumns,
    classes: tuple[str, ...] | None,
    limits: tuple[FloatArray, FloatArray],
    by_class: bool,
) -> Moments | None:
    """Of columns of numbers; None if no row has weight."""
    weight, (names, places) = columns.weights(table), columns.labels(table)
    if not (weight > 0.0).any():
        return None
    X = np.column_stack([_numbers(table, name) for name in columns.inputs])
    classes = tuple(sorted(names)) if classes is None else classes
    about = columns.inputs, columns.target, classes
    return BatchMoments(*about, limits, by_class).of(X, codes_of(names, places, classes), weight)


def _numbers(table: Table, name: str) -> FloatArray:
    column = truth_numbers(table[name])
    if column.dtype.kind != "f":
        kind = "dates" if column.dtype.kind == "M" else "texts"
        raise ValueError(
            f"column {quoted(name)} holds {kind}: moments are of numbers; encode it first, or leave it out of columns"
        )
    wrong = np.flatnonzero(~np.isfinite(column))
    if len(wrong):
        what = "missing" if np.isnan(column[wrong[0]]) else "infinite"
        raise ValueError(
            f"column {quoted(name)} is {what} in row {table.first_row + int(wrong[0])}: fill it in, or drop the row"
        )
    return column


def fit_batches(
    model: Estimator,
    batches: Any,
    *,
    target: str,
    columns: Sequence[str] | None = None,
    sample_weight: str | None = None,
    groups: str | None = None,
    **how: Any,
) -> Estimator:
    """Fit a classifier to a table that is read in batches, as often as it takes, and need not fit in memory.

    By passes, caps (``clip``) are exact quantiles of all rows. Where k and C are chosen, the folds follow from the number of
    the row, or from its group, and all folds share the caps. The terms of each fold are chosen by sums over all of its rows.
    With the squared loss surfaces are fitted to all of them, too; with other losses to those in a random sample of up to 50,000
    rows. Each row is scored by the fold that left it out: all rows where the score follows from labels (accuracy and the
    like), otherwise those of the sample. The final fit is one to all rows.

    A table of fewer than ten million values (rows times features) is read into memory, wherever it is, and the fit is that of
    ``model.fit(X, y)``. So is a larger one with more than 1,000 terms (44 features), if it fits: sums over all pairs of terms
    are expensive.

    Parameters
    ----------
    model : SparseQuadraticSVC or SparseQuadraticSVCCV
        Is fitted; where passes are made, ``cv`` must be a number.
    batches : path, table, list of record batches, or function that returns an iterator of them
        As in :func:`moments`, but readable more than once.
    target : str
        Name of the column with the classes; its values become texts.
    columns : sequence of str, optional
        Columns of numbers to learn from; by default all others.
    sample_weight : str, optional
        Name of the column with the weights of the rows.
    groups : str, optional
        Column whose equal values stay in the same fold.
    **how : Any
        How a CSV file is written, as in ``quadric.tables.read_table``.

    Returns
    -------
    model
        Fitted. ``oof_rows_`` of a cross-validation tells which rows, counted from 1, ``oof_decision_`` is of, and
        ``all_rows_scored_`` whether ``cv_scores_`` are of all rows.
    """
    parts = as_parts(batches, text=(target, *([] if groups is None else [groups])), **how)
    check_parameters(model, model._rules)  # before any pass
    chosen = LabelledColumns.of(parts.head().names, target, columns, sample_weight, groups)
    encoder = TableEncoder(missing_texts=tuple(parts.missing))
    parts, learned = learn_table(parts, chosen, encoder)
    facts = [each.without_truths() for each in learned.facts]
    texts = [each.name for each in facts if each.kind == "O"]
    if texts:
        raise ValueError(f"column {quoted(texts[0])} holds texts: encode it first (TableEncoder), or leave it out of columns")
    gaps = [facts for facts in learned.facts if facts.n_missing]
    if gaps:
        raise ValueError(
            f"column {quoted(gaps[0].name)} is missing in {gaps[0].n_missing} row(s), the first is row "
            f"{gaps[0].first_missing}: fill it in, drop these rows, or leave it out of columns"
        )
    names = sorted_classes(learned.class_counts)
    source = coded_source(parts, chosen, encoder.fit_facts(facts), names, learned.class_counts)
    stream = Stream(source, chosen.inputs, target, np.array(names), has_groups=groups is not None)
    return model._fit_surveyed(model._surveyed(stream))
