"""Models that were saved: tables that they are to judge, what their files record, and values that are new to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from quadric.credit.intervals import Estimate
from quadric.errors import refuse_unknown, unknown_names
from quadric.estimators.base import first_overflow
from quadric.estimators.cutoffs import CutoffRule, read_cutoff
from quadric.export import SavedModel
from quadric.export.scoring import favourable_class, points_line
from quadric.fitted import FittedModel, ScoreColumns, fitted_model
from quadric.fitted.points import PointsLine
from quadric.tables import InputColumn, Table
from quadric.tables.coded import complete
from quadric.tables.inputs import cells_like, missing_cells
from quadric.tables.table import number_text
from quadric.tables.targets import MissingLabelsError, class_position
from quadric.types import FloatArray, IntArray
from quadric.workflow.checking import recorded_findings
from quadric.workflow.drawing import DEVELOPMENT, Drawing
from quadric.workflow.options import TrainingOptions

# Parameters of ``read_table`` that a model file records, and their names there
NOTATION = {"missing": "missing_texts", "decimal": "decimal", "thousands": "thousands"}


@dataclass(frozen=True, eq=False)
class Scores:
    """What a model makes of some rows.

    Attributes
    ----------
    decision : array of shape (m,) for two classes, (m, n_classes) otherwise
    codes : array of shape (m,)
        Position of the predicted class.
    probabilities : array of shape (m, n_classes) or None
        None where the model is not calibrated.
    points : array of shape (m,) or None
        None where the model has no scale of points.
    """

    decision: FloatArray
    codes: IntArray
    probabilities: FloatArray | None
    points: FloatArray | None = None

    @property
    def numbers(self) -> list[FloatArray]:
        """The columns of scores, probabilities and points, in the order of ``ScoreColumns``."""
        is_binary, chances = self.decision.ndim == 1, self.probabilities
        scores = [self.decision] if is_binary else list(self.decision.T)
        scores += [] if chances is None else [chances[:, 1]] if is_binary else list(chances.T)
        return scores if self.points is None else [*scores, self.points]


@dataclass(frozen=True, eq=False)
class TableModel:
    """A saved model as something that takes tables.

    Attributes
    ----------
    saved : SavedModel
    """

    saved: SavedModel

    @cached_property
    def view(self) -> FittedModel:
        """The model taken apart."""
        return fitted_model(self.saved.model)

    @property
    def class_names(self) -> tuple[str, ...]:
        """In the order of the classifier's labels."""
        return self.saved.class_names or self.view.class_texts

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
        return ScoreColumns.of(self.class_names, bool(self.view.calibrators), prefix, self.points_line is not None)

    @cached_property
    def input_names(self) -> tuple[str, ...]:
        """Columns that the model uses."""
        return tuple(column.name for column in self.view.inputs if column.type != "unused")

    @property
    def text_names(self) -> tuple[str, ...]:
        """Columns to be read as texts: categories, and the target and groups, which keep their spelling."""
        categories = tuple(column.name for column in self.view.inputs if column.type == "category")
        groups = None if self.drawing is None else self.drawing.groups
        return (*categories, *(name for name in (self.saved.target, groups) if name is not None))

    @property
    def notation(self) -> dict[str, Any]:
        """How the file that the model was fitted to wrote missing values and numbers, as ``read_table`` takes it."""
        recorded = {name: self.saved.metadata.get(key) for name, key in NOTATION.items()}
        texts = recorded["missing"]
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            recorded["missing"] = None
        return {name: value for name, value in recorded.items() if isinstance(value, list | str)}

    @property
    def frozen(self) -> tuple[str, ...]:
        """Columns that changes must leave alone, as recorded when the model was fitted."""
        return tuple(name for name in self._listed("frozen") if name in self.input_names)

    @property
    def actionable(self) -> tuple[str, ...]:
        """The only columns that changes may touch, with their directions, as recorded when the model was fitted."""
        names = self.input_names
        return tuple(text for text in self._listed("actionable") if any(f"{text}:".startswith(f"{name}:") for name in names))

    def _listed(self, option: str) -> tuple[str, ...]:
        recorded = self.saved.options.get(option)
        return tuple(each for each in recorded if isinstance(each, str)) if isinstance(recorded, list) else ()

    @property
    def favourable(self) -> str | None:
        """The class that people want, as recorded when the model was fitted; None: nobody said so."""
        return favourable_class(self.saved, self.class_names)

    def with_points(self, points: str) -> TableModel:
        """The same with another scale of points, or with one at all.

        Parameters
        ----------
        points : str
            As in ``TrainingOptions``.

        Returns
        -------
        TableModel
        """
        history = {**self._history, "options": {**self.saved.options, "points": points}}
        return TableModel(replace(self.saved, metadata={**self.saved.metadata, "training": history}))

    @property
    def costs(self) -> tuple[float, float] | None:
        """Of approving a bad row, and of declining a good one, where the cut-off was chosen by costs of the positive class."""
        rule = self.saved.options.get("cutoff")
        try:
            found = read_cutoff(rule) if isinstance(rule, str) else None
        except ValueError:  # anybody can write a file
            return None
        if not isinstance(found, CutoffRule) or found.name != "cost":
            return None
        missed, alarm = found.numbers
        return (missed, alarm) if self.favourable != self.class_names[-1] else (alarm, missed)

    @cached_property
    def points_line(self) -> PointsLine | None:
        """From scores to points, where the model was fitted with a scale."""
        return points_line(self.saved, self.view)

    def figures(self, sha256: str | None) -> RecordedFigures | None:
        """How good the model is on rows left out, as its fit measured it; None for other data, and where nobody measured it.

        Parameters
        ----------
        sha256 : str or None
            Of the file with the data.

        Returns
        -------
        RecordedFigures or None
        """
        return RecordedFigures.of(self._history) if self.is_fitted_to(sha256) else None

    @cached_property
    def drawing(self) -> Drawing | None:
        """How rows of the table that the model was fitted to were set aside; None: no row was."""
        return Drawing.from_record(self.saved.target, self.saved.options)

    def samples(self, table: Table) -> dict[str, Table]:
        """The rows that the model was fitted to and, apart from these, those that were set aside then.

        Parameters
        ----------
        table : Table
            Any: only of the file that the model was fitted to rows were set aside.

        Returns
        -------
        dict
            The development sample first.
        """
        if self.drawing is None or not self.is_fitted_to(table.sha256):
            return {DEVELOPMENT: table}
        return {name: table[rows] for name, rows in self.drawing.split(table).items()}

    def is_fitted_to(self, sha256: str | None) -> bool:
        """Whether the model was fitted to rows of a file.

        Parameters
        ----------
        sha256 : str or None
            Of the file.

        Returns
        -------
        bool
        """
        return sha256 is not None and self.saved.data is not None and self.saved.data.sha256 == sha256

    @property
    def findings(self) -> tuple[str, ...]:
        """What a look at the table brought up when the model was fitted, one sentence each."""
        return recorded_findings(self._history)

    def inputs(self, table: Table, *, only_needed: bool = False) -> Table:
        """The columns that the model takes.

        Parameters
        ----------
        table : Table
            Other columns are left out; missing values have one form, and dates are dates.
        only_needed : bool
            Whether columns that no term depends on may be absent or hold anything.

        Returns
        -------
        Table
        """
        rows = self.view.rows(table, self.view.needed if only_needed else None)
        return rows.drop([name for name in rows if name not in self.input_names])

    def scores(self, table: Table) -> Scores:
        """Decision values, classes and probabilities.

        Parameters
        ----------
        table : Table
            A row whose score overflows is refused.

        Returns
        -------
        Scores
        """
        with np.errstate(over="ignore", invalid="ignore"):
            decision = self.view.decision(self.inputs(table, only_needed=True))
        return self.judged(decision, table.first_row)

    def judged(self, decision: FloatArray, first_row: int = 1) -> Scores:
        """Classes and probabilities of decision values.

        Parameters
        ----------
        decision : array of shape (m,) for two classes, (m, n_classes) otherwise
            A row whose score overflows is refused.
        first_row : int
            Number of the first row, for messages.

        Returns
        -------
        Scores
        """
        # overflow comes from inputs far beyond those of the fit; a label made of it would be arbitrary
        row = first_overflow(decision)
        if row is not None:
            raise ValueError(f"row {first_row + row} has no finite score: its values are too large for the model")
        line = self.points_line
        return Scores(decision, *self.view.decided(decision), None if line is None else line.points(decision))

    def surprises(self, table: Table) -> Surprises:
        """Values that the training data did not have, in columns that matter.

        Parameters
        ----------
        table : Table

        Returns
        -------
        Surprises
        """
        recorded = self._history.get("missing")
        familiar = {column.name for column in self.view.inputs if column.indicator}
        familiar |= set(recorded) if isinstance(recorded, dict) else set()
        return Surprises.of(self.view, self.inputs(table, only_needed=True), frozenset(familiar))

    def code_of(self, name: str) -> int:
        """Position of a class by its name.

        Parameters
        ----------
        name : str

        Returns
        -------
        int
        """
        position = class_position(name, self.class_names)
        if position is None:
            raise ValueError(unknown_names([name], self.class_names, "the model", "class"))
        return position

    def labelled(self, table: Table) -> tuple[Table, np.ndarray]:
        """The rows that a training run would have used, and their labels.

        Parameters
        ----------
        table : Table
            With the target column. Of the file that the model was fitted to, rows that were set aside are left out.

        Returns
        -------
        Table, and array of shape (m,)
        """
        rows = self.places_of_fit(table)
        if len(rows) < len(table):
            table = table[rows]
        return table, self.view.classes[self.outcomes(table)]

    def places_of_fit(self, table: Table) -> IntArray:
        """Where the rows are that a training run would have used.

        Parameters
        ----------
        table : Table
            As in ``labelled``.

        Returns
        -------
        array
            Positions from 0.
        """
        rows = np.arange(len(table))
        if self.drawing is not None and self.is_fitted_to(table.sha256):
            rows = np.flatnonzero(self.drawing.split(table)[DEVELOPMENT])
            table = table[rows]
        known = self.outcomes(table) >= 0
        if not known.all() and self.saved.options.get("missing") == "refuse":
            raise MissingLabelsError(int((~known).sum()), table.first_row + int(np.flatnonzero(~known)[0]))
        if self.saved.options.get("missing") == "drop":
            known[known] = complete(self.inputs(table[known]))
        return np.asarray(rows[known])

    def outcomes(self, table: Table) -> IntArray:
        """The class of each row, where it is known.

        Parameters
        ----------
        table : Table
            With the target column.

        Returns
        -------
        array of shape (m,)
            Positions of the classes; -1 where the target has no value.
        """
        target = self.saved.target
        if target is None:
            raise ValueError("the model file does not say which column is the target")
        refuse_unknown([target], table.names, "the table", note=", which is the target of the model")
        labels, places = table.distinct_labels(target)
        used, places = np.unique(places, return_inverse=True)
        known = (labels[place] for place in used)
        return np.array([-1 if label is None else self.code_of(label) for label in known], dtype=np.intp)[places]

    @property
    def training_options(self) -> TrainingOptions | None:
        """What the model was fitted with, as its file records it; None: it does not."""
        known = {each.name for each in fields(TrainingOptions)}
        own = {name: value for name, value in self.saved.options.items() if name in known}
        for name, value in own.items():
            if isinstance(value, list):
                own[name] = tuple(tuple(each) if isinstance(each, list) else each for each in value)
        return TrainingOptions(**own) if own else None

    @property
    def reference(self) -> Mapping[str, Any]:
        """What the file keeps of the training rows to compare others with, as anybody may have written it."""
        found = self._history.get("reference")
        return found if isinstance(found, dict) else {}

    @property
    def development_auc(self) -> float | None:
        """On rows that the folds of the fit left out."""
        figures = RecordedFigures.of(self._history)
        return None if figures is None else figures.auc

    @property
    def _history(self) -> dict[str, Any]:
        history = self.saved.metadata.get("training")
        return history if isinstance(history, dict) else {}


@dataclass(frozen=True)
class RecordedFigures:
    """Means over folds.

    Attributes
    ----------
    folds : int
    accuracy, error : float
        Of the model's own labels, with its standard error; 0.0 of one fold, which has none.
    auc, log_loss : float or None
        None where the file has none: of more than two classes, or of an older fit.
    with_intervals : mapping of str to Estimate
        The same by their names in validation tables; empty of an older fit.
    """

    folds: int
    accuracy: float
    error: float
    auc: float | None
    log_loss: float | None
    with_intervals: Mapping[str, Estimate] = field(default_factory=dict)

    @staticmethod
    def of(history: Any) -> RecordedFigures | None:
        """From the history of a model; None where it has no such figures, or none that make sense.

        Parameters
        ----------
        history : Any
            What the file says of the training, with what ``CrossValidated.recorded`` wrote; anybody can write a file.

        Returns
        -------
        RecordedFigures or None
        """
        record = history.get("cross_validation") if isinstance(history, Mapping) else None
        if not isinstance(record, Mapping):
            return None
        folds, accuracy, error = (_number(record.get(name)) for name in ("folds", "accuracy", "standard_error"))
        if folds == 1:
            error = 0.0  # one fold has none
        if folds is None or accuracy is None or error is None or not (folds >= 1 and 0.0 <= accuracy <= 1.0 and error >= 0.0):
            return None
        means = [own.get("mean") if isinstance(own := record.get(name), Mapping) else None for name in ("auc", "log_loss")]
        auc, log_loss = map(_number, means)
        return RecordedFigures(int(folds), accuracy, error, auc, log_loss, _estimates(history.get("samples")))

    @property
    def estimates(self) -> dict[str, Estimate]:
        """By their names in validation tables, with intervals where the file has any."""
        return {ESTIMATED[name]: Estimate(value) for name, value in self.measures.items()} | dict(self.with_intervals)

    @property
    def measures(self) -> dict[str, float]:
        """By the names that a report has for them."""
        gini = None if self.auc is None else 2.0 * self.auc - 1.0
        found = {"Accuracy": self.accuracy, "AUC": self.auc, "Log-loss": self.log_loss, "Gini": gini}
        return {name: value for name, value in found.items() if value is not None}


# Names of measures in reports, and in validation tables
ESTIMATED = {"Accuracy": "accuracy", "AUC": "AUC", "Log-loss": "log loss", "Gini": "Gini"}


def _estimates(record: Any) -> dict[str, Estimate]:
    """Of the development sample, from what ``ValidationTable.recorded`` wrote; nothing of what makes no sense."""
    own = record if isinstance(record, Mapping) else {}
    columns = [own.get(name) for name in ("measures", "values", "low", "high")]
    if not all(isinstance(column, list) for column in columns):
        return {}
    found = {}
    for measure, *cells in zip(*columns, strict=False):
        numbers = [_number(cell[0]) if isinstance(cell, list) and cell else None for cell in cells]
        if measure in ESTIMATED.values() and numbers[0] is not None:
            found[measure] = Estimate(*(np.nan if number is None else number for number in numbers))
    return found


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    return float(value) if is_number else None


# Unknown levels that are shown
FEW = 3


@dataclass(frozen=True)
class Surprises:
    """Counts of rows with such values, by column; ``+`` adds those of other rows.

    Attributes
    ----------
    missing : Counter
        Missing values in columns that had none when the model was fitted.
    unknown : dict of Counter
        Levels that the model does not know: new ones, and rare ones that it does not tell apart from these.
    """

    missing: Counter[str] = field(default_factory=Counter)
    unknown: dict[str, Counter[str]] = field(default_factory=dict)

    def __add__(self, other: Surprises) -> Surprises:
        names = dict.fromkeys([*self.unknown, *other.unknown])
        both = {name: self.unknown.get(name, Counter()) + other.unknown.get(name, Counter()) for name in names}
        return Surprises(self.missing + other.missing, both)

    @staticmethod
    def of(view: FittedModel, rows: Table, familiar: frozenset[str]) -> Surprises:
        """Of rows as ``FittedModel.rows`` gives them.

        Parameters
        ----------
        view : FittedModel
        rows : Table
        familiar : frozenset of str
            Columns that had missing values when the model was fitted.

        Returns
        -------
        Surprises
        """
        missing: Counter[str] = Counter()
        unknown: dict[str, Counter[str]] = {}
        for column in (column for column in view.inputs if column.name in view.needed):
            values = rows[column.name]
            absent = missing_cells(values)
            if absent.any() and column.fill is not None and column.name not in familiar:
                missing[column.name] = int(absent.sum())
            if column.type == "category":
                cells, levels = cells_like(values, column.categories), {None, *column.categories}
                pairs = zip(cells, absent, strict=True)
                unknown[column.name] = Counter(str(cell) for cell, is_none in pairs if not is_none and cell not in levels)
        return Surprises(missing, {name: levels for name, levels in unknown.items() if levels})

    def words(self, view: FittedModel) -> Iterator[str]:
        """A sentence for each column.

        Parameters
        ----------
        view : FittedModel

        Yields
        ------
        str
        """
        columns = {column.name: column for column in view.inputs}
        for name, count in self.missing.items():
            yield f"{_rows(count)} with missing values in {name}: scored {_shown(columns[name])}"
        for name, levels in self.unknown.items():
            some = ", ".join([*(repr(level[:40]) for level, _ in levels.most_common(FEW)), *["..."] * (len(levels) > FEW)])
            group = columns[name].other or columns[name].dropped
            yield f"{_rows(levels.total())} with rare or new levels in {name} ({some}): scored as {group}"


def _rows(count: int) -> str:
    return f"{count} row{'s' * (count != 1)}"


def _shown(column: InputColumn) -> str:
    fill = column.fill
    if column.origin is not None:
        return f"with {np.datetime64(column.origin, 'D') + np.timedelta64(round(float(fill or 0.0)), 'D')}"
    return f"as {fill}" if isinstance(fill, str) else f"with {number_text(float(f'{fill:.4g}'))}"
