"""The samples of a model side by side: the rows that it was developed on, and others that it has never seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np

from quadric.credit.measuring import ScoredSample
from quadric.credit.stability import column_drifts, contribution_drifts
from quadric.credit.validation import SampleDrifts, ValidationTable, side_by_side
from quadric.errors import ParameterError, quoted, refuse_unknown, unknown_names, warn_user
from quadric.estimators import SparseQuadraticSVCCV
from quadric.labels import positions_in
from quadric.samples.random_rows import SAMPLE_ROWS, drawn_rows
from quadric.tables import Table
from quadric.tables.inputs import missing_cells
from quadric.tables.parts import TableParts, gathered
from quadric.tables.targets import class_position
from quadric.types import FloatArray, IntArray
from quadric.workflow.drawing import DEVELOPMENT
from quadric.workflow.findings import without_label
from quadric.workflow.preparation import PreparedData
from quadric.workflow.scoring import Scores, TableModel

# Rows, and their labels as the classifier knows them
LabelledRows: TypeAlias = tuple[Table, np.ndarray]


@dataclass(frozen=True)
class SampleSource:
    """Where the rows of a sample come from.

    Attributes
    ----------
    name : str
    rows, unlabelled : int
        Rows with a label, and without one; nothing counts the latter.
    measured : int
        Rows that were scored: of more than 50,000, so many random ones.
    sha256 : str or None
        Checksum of the whole file that they are from.
    """

    name: str
    rows: int
    unlabelled: int
    measured: int
    sha256: str | None


@dataclass(frozen=True, eq=False)
class Samples:
    """Measures of all samples, and where these come from.

    Attributes
    ----------
    table : ValidationTable
    sources : tuple of SampleSource
    """

    table: ValidationTable
    sources: tuple[SampleSource, ...]

    def recorded(self) -> dict[str, Any]:
        """As plain values.

        Returns
        -------
        dict
        """
        return self.table.recorded() | {"sources": [asdict(source) for source in self.sources]}


@dataclass(frozen=True, eq=False)
class NewSample:
    """A sample that a fit does not learn from, before it is scored.

    Attributes
    ----------
    name : str
    parts : TableParts
    rows, unlabelled : int
        Rows with a label, and without one.
    is_apart : bool
        Whether it is a table of its own, some of whose rows may have been trained on.
    """

    name: str
    parts: TableParts
    rows: int
    unlabelled: int
    is_apart: bool

    @staticmethod
    def of(name: str, parts: TableParts, target: str, data: PreparedData, is_apart: bool) -> NewSample:
        """Checked before the fit, which takes long: columns, classes and rows; nothing else is looked at.

        Parameters
        ----------
        name : str
        parts : TableParts
        target : str
        data : PreparedData
            What the fit learns from.
        is_apart : bool
        """
        class_names = data.class_names
        refuse_unknown([target, *data.encoder.input_names_], parts.head().names, f"the sample {quoted(name)}", error=_ignorable)
        labels, places = gathered(parts, names=[target]).distinct_labels(target)
        unknown = [label for label in labels if label is not None and class_position(label, class_names) is None]
        if unknown:
            note = f", which the sample {quoted(name)} has"
            raise ValueError(unknown_names(unknown, class_names, "the development sample", "class", note))
        is_labelled = np.array([label is not None for label in labels], dtype=bool)[places]
        rows, unlabelled = int(is_labelled.sum()), int((~is_labelled).sum())
        if unlabelled:
            warn_user(f"sample {quoted(name)}: {without_label(target, unlabelled)}")
        if not rows:
            raise ValueError(f"the sample {quoted(name)} has no row with a value in {quoted(target)}")
        return NewSample(name, parts, rows, unlabelled, is_apart)


def _ignorable(text: str) -> ParameterError:
    return ParameterError(f"{text}: give it the columns of the training table, or leave them out of the fit", ignore=None)


def some_rows(parts: TableParts, names: Sequence[str], text: Sequence[str], seed: int) -> Table:
    """Some columns of a table, of which some are texts; of more than 50,000 rows, so many random ones.

    Parameters
    ----------
    parts : TableParts
    names, text : sequences of str
    seed : int
    """
    for name in text:
        parts = parts.with_text(name) or parts
    n_rows = parts.count_rows()
    rows = drawn_rows(np.arange(1, n_rows + 1), SAMPLE_ROWS, seed) if n_rows > SAMPLE_ROWS else None
    return gathered(parts, rows, names)


def _rows_of(model: TableModel, parts: TableParts, seed: int) -> Table:
    return some_rows(parts, [*model.input_names, *filter(None, [model.saved.target])], model.text_names, seed)


def coded_sample(new: NewSample, target: str, data: PreparedData, seed: int = 0) -> tuple[FloatArray, IntArray]:
    """Rows of a sample as a classifier takes them, and the positions of their classes.

    Parameters
    ----------
    new : NewSample
    target : str
    data : PreparedData
        Of the rows to learn from.
    seed : int
        Of random rows of large samples.
    """
    table = some_rows(new.parts, [*data.encoder.input_names_, target], [target, *data.encoder.text_names], seed)
    labels, places = table.distinct_labels(target)
    positions = [-1 if label is None else class_position(label, data.class_names) for label in labels]
    codes = np.array(positions, dtype=np.intp)[places]
    return data.encoder.transform(table[codes >= 0]), codes[codes >= 0]


def labelled_sample(model: TableModel, name: str, table: Table) -> LabelledRows:
    """The rows of another table that a model can be measured on; what is wrong with it is told with its name.

    Parameters
    ----------
    model : TableModel
    name : str
        Of the sample.
    table : Table
    """
    try:
        unlabelled = int((model.outcomes(table) < 0).sum())
        if unlabelled == len(table):
            raise ValueError(f"no row has a value in {quoted(model.saved.target)}")
        if unlabelled:
            warn_user(f"sample {quoted(name)}: {without_label(str(model.saved.target), unlabelled)}")
        rows, y = model.labelled(Table(table.names, table.columns))  # all rows, also of the file that was trained on
        model.inputs(rows)
    except ValueError as error:
        raise ValueError(f"sample {quoted(name)}: {error}") from error
    return rows, y


def as_sample(
    scores: Scores,
    codes: IntArray,
    folds: IntArray | None = None,
    whole: FloatArray | None = None,
    weight: FloatArray | None = None,
) -> ScoredSample:
    """Scores and labels as what is measured.

    Parameters
    ----------
    scores : Scores
    codes : array of shape (m,)
        Positions of the rows' classes.
    folds, whole : arrays of shape (m,), optional
        Of rows that folds left out, as in ``ScoredSample``.
    weight : array of shape (m,), optional
        Repetitions of the rows.
    """
    score = scores.decision if scores.decision.ndim == 1 else None
    weight = np.ones(len(codes)) if weight is None else weight
    return ScoredSample(codes, scores.codes, score, scores.probabilities, weight, folds, None if score is None else whole)


def development_sample(model: TableModel, data: PreparedData, search: SparseQuadraticSVCCV | None) -> ScoredSample:
    """The rows that a model was fitted to: out of fold where there are folds, else by the model itself.

    Parameters
    ----------
    model : TableModel
    data : PreparedData
    search : SparseQuadraticSVCCV or None
    """
    whole = model.view.classifier.decision_function(data.X)
    if search is None:
        return as_sample(Scores(whole, *model.view.decided(whole)), data.codes, weight=data.sample_weight)
    left_out = search.oof_decision_
    rows = np.isfinite(left_out.reshape(len(whole), -1)).all(axis=1)  # a time limit may have kept some folds from the end
    scores = Scores(left_out[rows], *model.view.decided(left_out[rows]))
    return as_sample(scores, data.codes[rows], search.oof_folds_[rows], whole[rows], data.weight(np.flatnonzero(rows)))


def all_samples(
    model: TableModel,
    data: PreparedData,
    search: SparseQuadraticSVCCV | None,
    table: TableParts,
    news: Sequence[NewSample],
    seed: int,
) -> Samples:
    """The development sample beside others; all rows are read as the model reads them.

    Parameters
    ----------
    model : TableModel
    data : PreparedData
    search : SparseQuadraticSVCCV or None
    table : TableParts
        The rows that the model was fitted to.
    news : sequence of NewSample
    seed : int
        Of random rows of large samples.
    """
    own = development_sample(model, data, search)
    rows = model.labelled(_rows_of(model, table, seed)) if news else (Table((), ()), np.empty(0))
    unlabelled = data.check.n_rows - data.n_rows - data.n_dropped
    sources = [SampleSource(DEVELOPMENT, data.n_rows, unlabelled, len(own.codes), data.sha256)]
    others: dict[str, LabelledRows] = {}
    for new in news:
        now, y = others[new.name] = model.labelled(_rows_of(model, new.parts, seed))
        if new.is_apart:
            warn_of_trained_rows(model, new.name, (now, y), rows)
        sources.append(SampleSource(new.name, new.rows, new.unlabelled, len(now), new.parts.digest()))
    return Samples(samples_beside(model, own, rows, others), tuple(sources))


def samples_of(model: TableModel, table: Table, tests: Mapping[str, Table]) -> tuple[LabelledRows, Mapping[str, LabelledRows]]:
    """The rows of a table that a model was fitted to, and all other samples: those that were set aside then, and new ones.

    Parameters
    ----------
    model : TableModel
    table : Table
        Rows were set aside only of the file that the model was fitted to.
    tests : mapping of names to Table
    """
    parts = model.samples(table)
    development = model.labelled(parts.pop(DEVELOPMENT))
    others = {name: model.labelled(rows) for name, rows in parts.items()}
    for name, rows in tests.items():
        others[name] = labelled_sample(model, name, rows)
        if model.is_fitted_to(table.sha256):
            warn_of_trained_rows(model, name, others[name], development)
    return development, others


def samples_beside(
    model: TableModel, development: ScoredSample, rows: LabelledRows, others: Mapping[str, LabelledRows]
) -> ValidationTable:
    """All samples in one table.

    Parameters
    ----------
    model : TableModel
    development : ScoredSample
    rows : Table and labels
        Of the development sample, or some of them, for comparisons of columns and terms.
    others : mapping of names to Table and labels
        As ``model.labelled`` gives them, like ``rows``.
    """
    samples, drifts, before = {DEVELOPMENT: development}, {}, model.inputs(rows[0]) if others else rows[0]
    for name, (now, y) in others.items():
        samples[name] = as_sample(model.scores(now), positions_in(model.view.classes, y))
        drifts[name] = _drifts(model, before, model.inputs(now))
    if development.score is None:
        return side_by_side(samples, np.nan, None, drifts)
    return side_by_side(samples, model.view.threshold, model.class_names[1], drifts)


def _drifts(model: TableModel, before: Table, now: Table) -> SampleDrifts:
    columns = column_drifts(before, now, model.input_names)
    return columns, contribution_drifts(model.view, before, now) if len(model.class_names) == 2 else ()


def warn_of_trained_rows(model: TableModel, name: str, now: LabelledRows, before: LabelledRows) -> None:
    """Tell of rows of a sample that equal rows of the development sample: what is trained on is no test.

    Parameters
    ----------
    model : TableModel
    name : str
        Of the sample.
    now, before : Table and labels
    """
    known = set(_keys(model, before))
    count = sum(key in known for key in _keys(model, now))
    if count:
        warn_user(
            f"sample {quoted(name)}: {count:,} of {len(now[0]):,} rows equal rows that the model was fitted to in every "
            "column; figures on rows that were trained on are too good"
        )


def _keys(model: TableModel, rows: LabelledRows) -> Iterator[tuple[Any, ...]]:
    inputs, columns = model.inputs(rows[0]), [rows[1].tolist()]
    for name in model.input_names:
        values = inputs[name].astype(object)
        values[missing_cells(inputs[name])] = None
        columns.append(values.tolist())
    return zip(*columns, strict=True)
