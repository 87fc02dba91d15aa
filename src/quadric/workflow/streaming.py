"""From a table that is read in batches to a fitted model: what ``train`` does, for tables of any number of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from quadric.estimators import SparseQuadraticSVC, SparseQuadraticSVCCV
from quadric.progress import part
from quadric.resources import memory
from quadric.samples.capped import CappedStream, Stream
from quadric.samples.extent import is_small
from quadric.samples.source import SampleBatch
from quadric.tables import Table
from quadric.tables.encoder import coding_of, redundant_pairs
from quadric.tables.facts import MixedColumnError
from quadric.tables.reading import digest_of, estimated_values
from quadric.tables.streams import CodedRows, LabelledColumns, LearnedTable, TableParts, gathered, learn_table, retyped
from quadric.workflow.limits import check_columns, check_features
from quadric.workflow.options import TrainingOptions
from quadric.workflow.preparation import (
    PreparedData,
    check_classes_left,
    check_missing,
    check_roles,
    class_codes,
    labels_of,
    new_encoder,
    term_limits,
    warn_of_scales,
)
from quadric.workflow.training import (
    Labelled,
    Trained,
    check_cutoff,
    check_folds,
    check_groups,
    finished_model,
    new_classifier,
    new_search,
    scales_as_prepared,
    train,
    trained_model,
)


def is_streamed(path: Path) -> bool:
    """Whether a table is so large that it is read in batches.

    Parameters
    ----------
    path : Path
        A file or a folder.

    Returns
    -------
    bool
    """
    values, room = estimated_values(path), memory()
    return not is_small(values, 1) or (room is not None and 8 * 4 * values > room.size)


def train_stream(stream: TableParts, target: str, options: TrainingOptions | None = None) -> Trained:
    """Code the columns, choose loss, k and C, fit, and calibrate, in passes over a table.

    A table of fewer than ten million values is gathered and handed to :func:`quadric.workflow.train`. By passes, caps are
    quantiles of all rows, and k and C are chosen as in :func:`quadric.fit_batches`. A random sample serves calibration, cut-off
    and figures. The model is fitted to all rows.

    Parameters
    ----------
    stream : TableParts
        With the target, the groups and what else is to be texts read as such.
    target : str
        Name of the column with the classes.
    options : TrainingOptions, optional

    Returns
    -------
    Trained
        Whose ``data`` hold a random sample of the rows.
    """
    options = TrainingOptions() if options is None else options
    with part(0.0, 0.2):
        stream_of_rows, data = _prepared(stream, target, options)
    if is_small(data.n_rows, len(stream.head().names)):
        with part(0.2, 1.0):
            return train(replace(gathered(stream), sha256=data.sha256), target, options)
    model = new_search(data, options, stream_of_rows.classes) if options.crosses else new_classifier(data, options)
    with part(0.2, 0.4):
        surveyed = model._surveyed(stream_of_rows)
    sample, classes = surveyed.sample, stream_of_rows.classes
    groups = None if options.groups is None else sample.keys
    thin = coding_of(data.encoder).thin_products(sample.X, len(sample.X) / data.n_rows)
    limits = data.limits.without_thin(thin, sample.X.shape[1])
    data = replace(
        data, X=sample.X, y=classes[sample.codes], limits=limits, groups=groups, is_sampled=not surveyed.is_gathered
    )
    model.set_params(exclude=limits.exclude or None)
    if not options.standardize:
        warn_of_scales(data)
    if data.groups is not None:
        check_groups(data.groups, options)
    with part(0.4, 0.9):
        classifier, search = _fitted(model, surveyed, data)
    model = finished_model(classifier, search, data, options)
    with part(0.9, 1.0):
        labels = stream_of_rows.source.total(_Labels(model, classifier, classes))
    tests = [] if search is None else [np.flatnonzero(search.oof_folds_ == fold) for fold in range(options.folds)]
    return trained_model(model, data, target, options, search, labels, tests)


def _prepared(stream: TableParts, target: str, options: TrainingOptions) -> tuple[Stream, PreparedData]:
    """What a first pass over the table tells: coded rows in batches, and data that have no rows yet."""
    head = stream.head()
    check_roles(head, target, options)
    unused = {target, options.groups, *options.ignore}
    inputs = tuple(name for name in head.names if name not in unused)
    check_columns(head.drop([name for name in head.names if name not in inputs]))
    columns = LabelledColumns.of(head.names, target, inputs, None, options.groups)
    stream, learned = _learned(stream, columns, options)
    _, names = class_codes(np.array(list(learned.class_counts), dtype=object), options.positive)
    counts = [learned.class_counts[name] for name in names]
    check_missing(learned.missing, options)
    check_classes_left(counts, names)
    encoder = new_encoder(options).fit_facts(learned.facts)
    check_features(encoder, names, 1)
    data = PreparedData(
        table=Table((), ()),
        encoder=encoder,
        X=np.empty((0, len(encoder.features_))),
        y=labels_of(names),
        class_names=names,
        limits=term_limits(encoder, redundant_pairs(encoder, learned.two_valued(encoder)), options),
        missing=learned.missing,
        n_dropped=learned.n_dropped,
        sha256=_digest(stream),
        class_counts=tuple(counts),
    )
    data.class_weight(options.class_weight)
    check_cutoff(data, options)
    if options.crosses or options.calibrate is not None:
        check_folds(counts, names, options.folds)
    source = CodedRows(columns, encoder, tuple(names), options.missing == "drop").of(stream, learned.class_counts)
    names_of = tuple(data.feature_names)
    return Stream(source, names_of, target, labels_of(names), options.seed, options.groups is not None), data


def _digest(stream: TableParts) -> str | None:
    """Of the file that was read."""
    digest = None if stream.path is None else digest_of(stream.path)
    stream.check_unchanged()
    return digest


def _learned(stream: TableParts, columns: LabelledColumns, options: TrainingOptions) -> tuple[TableParts, LearnedTable]:
    """The first pass; again with columns as texts that are numbers in some parts of a CSV file only."""
    while True:
        try:
            return stream, learn_table(stream, columns, new_encoder(options), drops=options.missing == "drop")
        except MixedColumnError as error:
            stream = retyped(stream, error)


@scales_as_prepared()
def _fitted(
    model: SparseQuadraticSVC | SparseQuadraticSVCCV, surveyed: CappedStream, data: PreparedData
) -> tuple[SparseQuadraticSVC, SparseQuadraticSVCCV | None]:
    """The fitted classifier, and the cross-validation that chose it; the names of features are the encoder's affair."""
    fitted = _nameless(model._fit_surveyed(surveyed))
    return (fitted, None) if isinstance(fitted, SparseQuadraticSVC) else (_nameless(fitted.best_estimator_), fitted)


def _nameless(estimator: Any) -> Any:
    del estimator.feature_names_in_
    return estimator


@dataclass(frozen=True, eq=False)
class _Labels:
    """The pass that counts what a model says of the rows."""

    model: Any
    classifier: SparseQuadraticSVC
    classes: np.ndarray

    def __call__(self, batch: SampleBatch) -> Labelled:
        return Labelled.of(self.model, self.classifier, batch.X, self.classes[batch.codes])
