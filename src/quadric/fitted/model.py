"""A fitted model taken apart once: inputs, features, units, surfaces, classes and calibrations."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from quadric.errors import Troubles, unknown_names
from quadric.estimators import SparseQuadraticSVC
from quadric.estimators._base import SurfaceClassifier, predicted
from quadric.estimators._constraints import support_limits
from quadric.estimators.calibration import METHODS, CalibratedModel, Calibration, SigmoidCalibration, probabilities
from quadric.extras import require
from quadric.fitted.steps import ColumnNotes, Variable, check_fitted, is_nan, read_step, without_name_warnings
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import default_names, term_names
from quadric.labels import refuse_masked
from quadric.search.rules import SupportLimits
from quadric.tables import CodedFeature, InputColumn, Table, TableEncoder, as_table
from quadric.tables.dates import dates_after
from quadric.tables.inputs import Level, coded_values, missing_cells, with_unique_names
from quadric.tables.table import number_text
from quadric.types import BoolArray, FloatArray, IntArray

Model: TypeAlias = BaseEstimator | QuadraticSurface
"""What every door accepts; see :func:`fitted_model`."""
SIDES = np.array([-1, 1])
"""Classes of a bare surface: its negative and its positive side."""
ROUNDING = 1e-9
"""Scores that differ by less, where margins are 1, do not differ."""
FAR = 1e100
"""No decision value is farther from zero."""


@dataclass(frozen=True, eq=False)
class FittedModel:
    """What is known of a fitted model.

    Attributes
    ----------
    model : fitted estimator or QuadraticSurface
        As it came.
    steps : tuple of (name, transformer)
        In the order in which raw rows pass them.
    classifier : SurfaceClassifier or QuadraticSurface
        What decides in the end.
    calibrators : tuple of SigmoidCalibration or IsotonicCalibration
        One per surface, or none.
    inputs : tuple of InputColumn
        Columns of raw data, in the order in which the model takes them.
    variables : tuple of Variable
        What the surfaces are functions of: features of the inputs, centred and scaled.
    blank : dict
        Positions of the inputs in which None, not NaN, stands for a missing value.
    surfaces : list of QuadraticSurface
        In fitted units.
    classes : array
    names : list of str
        Of the features: "age", "home=own", "age is missing".
    center, scale : arrays of shape (n,)
        Fitted units are (v - center) / scale, v in reported units.
    blocks : array of shape (n,)
        Position of the input column of each feature.
    """

    model: Any
    steps: tuple[tuple[str, Any], ...]
    classifier: Any
    calibrators: tuple[Calibration, ...]
    inputs: tuple[InputColumn, ...]
    variables: tuple[Variable, ...]
    blank: dict[int, None]
    surfaces: list[QuadraticSurface]
    classes: np.ndarray
    names: list[str]
    center: FloatArray
    scale: FloatArray
    blocks: IntArray

    @property
    def is_surface(self) -> bool:
        """Whether the model is a bare surface."""
        return isinstance(self.classifier, QuadraticSurface)

    @property
    def class_texts(self) -> tuple[str, ...]:
        """The labels as texts."""
        return tuple(number_text(c) if type(c) in (int, float) else str(c) for c in self.classes.tolist())

    @cached_property
    def features(self) -> tuple[CodedFeature, ...]:
        return tuple(variable.feature for variable in self.variables)

    @property
    def has_names(self) -> bool:
        """Whether the model was fitted to named columns."""
        return hasattr(self.steps[0][1] if self.steps else self.classifier, "feature_names_in_")

    @property
    def n_features(self) -> int:
        """Of the surfaces."""
        return len(self.variables)

    @property
    def term_names(self) -> list[str]:
        """Of all terms, in the order of ``coef_``."""
        return term_names(self.names)

    @cached_property
    def input_names(self) -> list[str]:
        return [column.name for column in self.inputs]

    @cached_property
    def numeric(self) -> BoolArray:
        """Features that are numbers and that alone (apart from a missing-value flag) depend on their column."""
        counted = [feature.input for feature in self.features if feature.kind != "missing"]
        return np.array([f.kind == "number" and counted.count(f.input) == 1 for f in self.features], dtype=bool)

    @property
    def accepts_missing(self) -> bool:
        """Whether every column that is used may have missing values."""
        return all(feature.missing is not None for feature in self.features)

    @cached_property
    def is_plain(self) -> bool:
        """Whether the features are the input columns themselves, in order, and none of them is filled in."""
        kinds = [(feature.kind, feature.input, feature.missing) for feature in self.features]
        numbers = [("number", i, None) for i in range(len(self.inputs))]
        return kinds == numbers and all(column.origin is None for column in self.inputs)

    def by_column(self, values: FloatArray) -> FloatArray:
        """Sums over the features of each input column.

        Parameters
        ----------
        values : array of shape (m, n)
            One per feature.

        Returns
        -------
        array of shape (m, n_inputs)
        """
        if self.is_plain:
            return values
        out = np.zeros((len(self.inputs), len(values)))
        np.add.at(out, self.blocks, values.T)
        return out.T

    # The question that the classifier answers

    def question(self, name: str) -> Any:
        """What the classifier was fitted with (best_C_, best_k_) or is set to: loss, C, k, class_weight, ...; else None.

        Parameters
        ----------
        name : str

        Returns
        -------
        Any
        """
        return getattr(self.classifier, f"best_{name}_", getattr(self.classifier, name, None))

    def limits(self, k: int) -> SupportLimits:
        """Terms that the classifier had to include and to exclude.

        Parameters
        ----------
        k : int

        Returns
        -------
        SupportLimits
        """
        names = getattr(self.classifier, "feature_names_in_", None)
        return support_limits(self.question("include"), self.question("exclude"), names, self.n_features, k)

    def procedure(self) -> SparseQuadraticSVC:
        """How the classifier was fitted, as an estimator that is not: all its parameters, k and C as chosen, terms by position.

        Returns
        -------
        SparseQuadraticSVC
        """
        own = self.classifier.get_params() | {name: self.question(name) for name in ("k", "C")}
        limits = self.limits(int(own["k"]))
        own |= {"include": limits.include.tolist(), "exclude": limits.exclude.tolist()}
        return SparseQuadraticSVC(**{name: own[name] for name in SparseQuadraticSVC().get_params() if name in own})

    def with_surfaces(self, surfaces: Sequence[QuadraticSurface]) -> Any:
        """The model, without calibration, as it would be with other surfaces.

        Parameters
        ----------
        surfaces : sequence of QuadraticSurface
            As many as the model has, in fitted units.

        Returns
        -------
        fitted estimator
        """
        classifier = copy.copy(self.classifier)
        classifier._set_surfaces(surfaces)
        return Pipeline([*self.steps, ("classifier", classifier)]) if self.steps else classifier

    # Rows

    def rows(self, X: Any) -> Table:
        """Raw rows as a table of the inputs, found by name in tables, frames and mappings of columns.

        Parameters
        ----------
        X : rows as the model takes them, Table, or mapping of columns

        Returns
        -------
        Table
        """
        refuse_masked(X=X)
        table = as_table(X, self.input_names)
        if not isinstance(X, Table | Mapping) and not self.has_names and len(table.names) == len(self.inputs):
            table = replace(table, names=tuple(self.input_names))  # a frame for a model that knows no names: by position
        absent = [column.name for column in self.inputs if column.type != "unused" and column.name not in table.names]
        if absent:
            raise ValueError(unknown_names(absent, table.names, "the table", note=", which the model needs"))
        columns = []
        troubles = Troubles("{} columns do not suit the model")
        for column in self.inputs:
            with troubles.noted():
                unused = column.type == "unused"
                columns.append(np.full(len(table), np.nan) if unused else column.cleaned(table[column.name], table.first_row))
        troubles.tell()
        return Table(tuple(self.input_names), tuple(columns), first_row=table.first_row)

    def cases(self, X: Any) -> Table | FloatArray:
        """Rows of which :meth:`changed` can change numbers: an array of numbers where that will do, which is quicker.

        Parameters
        ----------
        X : rows as the model takes them, Table, or mapping of columns

        Returns
        -------
        Table or array
        """
        refuse_masked(X=X)
        if self.is_plain and isinstance(X, np.ndarray) and X.dtype.kind in "biuf" and X.shape[1:] == (self.n_features,):
            return np.ascontiguousarray(X, dtype=np.float64)
        return self.rows(X)

    def missing(self, cases: Table | FloatArray) -> BoolArray:
        """Whether the column that a feature depends on has no value.

        Parameters
        ----------
        cases : Table or array
            As :meth:`cases` gives it.

        Returns
        -------
        array of shape (m, n)
        """
        if not isinstance(cases, Table):
            return np.isnan(cases)
        return np.column_stack([missing_cells(column) for column in cases.columns])[:, self.blocks]

    def native(self, X: Any) -> Any:
        """A Table in the form that the model itself takes; anything else as it is.

        Parameters
        ----------
        X : Table, or rows as the model takes them

        Returns
        -------
        Table, frame or array
        """
        refuse_masked(X=X)
        first = self.steps[0][1] if self.steps else None
        if not isinstance(X, Table) or isinstance(first, TableEncoder):
            return X
        columns = [self._cells(i, column) for i, column in enumerate(self.rows(X).columns)]
        if isinstance(first, ColumnTransformer) and hasattr(first, "feature_names_in_"):  # finds columns by name, in frames
            pandas = require("pandas", "dev")  # with types of their own: texts would turn None into NaN
            series = (pandas.Series(cells, dtype=cells.dtype) for cells in columns)
            return pandas.DataFrame(dict(zip(self.input_names, series, strict=True)))
        return np.column_stack(columns)

    def _cells(self, position: int, column: np.ndarray) -> np.ndarray:
        """A column with missing values as the model's steps know them."""
        if column.dtype != object and position not in self.blank:
            return column
        out = column.astype(object)
        out[missing_cells(column)] = self.blank.get(position, np.nan)
        return out

    def reported(self, X: Any) -> FloatArray:
        """Features of rows in reported units: numbers as in the data, missing ones filled in, and codes.

        Parameters
        ----------
        X : rows as the model takes them, or Table

        Returns
        -------
        array of shape (m, n)
            NaN where a value is refused.
        """
        rows = self.cases(X)
        if not isinstance(rows, Table):
            return rows
        out = np.empty((len(rows), self.n_features))
        for i in np.unique(self.blocks):
            own = np.flatnonzero(self.blocks == i)
            values = self.inputs[i].numbers(rows.columns[i])
            out[:, own] = coded_values(values, [self.variables[j].feature for j in own])
        return out

    def scaled(self, V: FloatArray) -> FloatArray:
        """Reported units to fitted units, by the formula.

        Parameters
        ----------
        V : array of shape (m, n)

        Returns
        -------
        array of shape (m, n)
        """
        return (V - self.center) / self.scale

    def fitted(self, X: Any) -> FloatArray:
        """Rows in fitted units, by the model's own steps.

        Parameters
        ----------
        X : rows as the model takes them, or Table

        Returns
        -------
        array of shape (m, n)
        """
        with without_name_warnings() if isinstance(X, Table) else nullcontext():
            Z = self.native(X)
            for _, step in self.steps:
                Z = step.transform(Z)
            if not self.is_surface:
                Z = validate_data(self.classifier, Z, dtype=np.float64, order="C", reset=False)
                return np.asarray(self.classifier._prepared(Z))
        Z = check_array(Z, dtype=np.float64, order="C")
        if Z.shape[1] != self.n_features:
            raise ValueError(f"X has {Z.shape[1]} features, but the surface has {self.n_features}")
        return Z

    def decision(self, X: Any) -> FloatArray:
        """The model's own decision function: (m,) for two classes, (m, n_classes) otherwise.

        Parameters
        ----------
        X : rows as the model takes them, or Table

        Returns
        -------
        array
        """
        if self.is_surface:
            return self.classifier(self.fitted(X))
        with without_name_warnings():
            return np.asarray(self.model.decision_function(self.native(X)))

    def is_constant(self, X: Any) -> list[bool]:
        """Whether each surface has the same value for all rows, but for rounding: it then tells nothing of them.

        Parameters
        ----------
        X : rows as the model takes them, or Table

        Returns
        -------
        list of bool
        """
        U = self.fitted(X)
        values = [surface(U) for surface in self.surfaces]
        return [bool(np.ptp(f) <= ROUNDING * max(1.0, np.abs(f).max())) for f in values]

    def changed(self, cases: Table | FloatArray, before: FloatArray, after: FloatArray) -> Table | FloatArray:
        """Rows in which some numbers are others.

        Parameters
        ----------
        cases : Table or array
            As :meth:`cases` or :meth:`rows` gives it.
        before, after : arrays of shape (m, n)
            Its features in reported units; values that are equal stay what they are in the table, missing ones too.

        Returns
        -------
        Table or array
        """
        if not isinstance(cases, Table):
            return after
        columns = list(cases.columns)
        for j in np.flatnonzero(self.numeric):
            column, origin = columns[self.blocks[j]], self.inputs[self.blocks[j]].origin
            moved = after[:, j] if origin is None else dates_after(after[:, j], origin)
            columns[self.blocks[j]] = np.where(after[:, j] == before[:, j], column, moved)
        return replace(cases, columns=tuple(columns))

    # Decisions

    def predicted(self, X: Any) -> IntArray:
        """Positions of the classes that the model's own ``predict`` gives.

        Parameters
        ----------
        X : rows as the model takes them, or Table

        Returns
        -------
        array of shape (m,)
        """
        if self.is_surface:
            return predicted(self.decision(X), np.arange(2))
        with without_name_warnings():
            return np.searchsorted(self.classes, self.model.predict(self.native(X)))

    def decided(self, decision: FloatArray) -> tuple[IntArray, FloatArray | None]:
        """Positions of the predicted classes, and probabilities where the model is calibrated.

        Parameters
        ----------
        decision : array of shape (m,) for two classes, (m, n_classes) otherwise

        Returns
        -------
        tuple of two arrays
            Of shapes (m,) and (m, n_classes); the second is None without a calibration.
        """
        if not self.calibrators:
            return predicted(decision, np.arange(len(self.classes))), None
        chances = probabilities(decision, self.calibrators)
        return chances.argmax(axis=1), chances

    @property
    def calibration(self) -> str | None:
        """The method, "sigmoid" or "isotonic", where the model is calibrated."""
        return next((name for name, kind in METHODS.items() for curve in self.calibrators if isinstance(curve, kind)), None)

    @property
    def probability(self) -> Calibration | None:
        """Probability of the second of two classes by decision value, where the model is calibrated: it then decides."""
        return self.calibrators[0] if len(self.calibrators) == 1 else None

    @property
    def _log_odds(self) -> list[SigmoidCalibration]:
        """Of several classes, where log-odds, which are quadratic too, tell which is the likeliest; else none."""
        sigmoids = [calibrator for calibrator in self.calibrators if isinstance(calibrator, SigmoidCalibration)]
        return sigmoids if len(sigmoids) == len(self.calibrators) > 1 else []

    def rivals(self) -> list[QuadraticSurface]:
        """One surface per class, in fitted units; the largest wins: the decision values, or their log-odds.

        Returns
        -------
        list of QuadraticSurface
        """
        if not self._log_odds:
            return self.surfaces
        return [surface * -sigmoid.a - sigmoid.b for surface, sigmoid in zip(self.surfaces, self._log_odds, strict=True)]

    def compared(self, scores: FloatArray) -> FloatArray:
        """What the classes are compared by, from decision values of shape (m, n_classes).

        Parameters
        ----------
        scores : array of shape (m, n_classes)
            Decision values.

        Returns
        -------
        array of shape (m, n_classes)
        """
        if not self._log_odds:
            return scores
        return np.column_stack([sigmoid.log_odds(column) for sigmoid, column in zip(self._log_odds, scores.T, strict=True)])

    def class_code(self, label: Any, what: str = "target") -> int:
        """Position of a class.

        Parameters
        ----------
        label : class label
        what : str
            Name of the parameter, for the message.

        Returns
        -------
        int
        """
        found = [code for code, own in enumerate(self.classes.tolist()) if own == label]
        if len(found) != 1:
            raise ValueError(f"{what} must be one of the classes {self.classes.tolist()}, got {label!r}")
        return found[0]

    def surface_towards(self, target: Any) -> QuadraticSurface:
        """The surface that grows towards a class; None is the positive one of two.

        Parameters
        ----------
        target : class label or None
            Required for more than two classes.

        Returns
        -------
        QuadraticSurface
        """
        if len(self.surfaces) == 1:
            surface = self.surfaces[0]
            return surface if target is None or self.class_code(target) == 1 else -surface
        if target is None:
            raise ValueError(f"target must name the class to explain: one of {self.classes.tolist()}")
        return self.surfaces[self.class_code(target)]

    def cutoff(self, value: float | None) -> float:
        """The decision value above which the second of two classes is decided: the user's, or the model's own.

        Parameters
        ----------
        value : float or None
            The user's; None: the model's own.

        Returns
        -------
        float
        """
        if value is None:
            return 0.0 if self.probability is None else _even_odds(self.probability)
        if len(self.surfaces) > 1:
            raise ValueError("cutoff needs a model of two classes: with more, the largest decision value wins")
        if not np.isfinite(value):
            raise ValueError(f"cutoff must be finite, got {value}")
        return float(value)


def fitted_model(model: Model | FittedModel) -> FittedModel:
    """Take a model apart.

    Parameters
    ----------
    model : fitted estimator with surfaces, CalibratedModel, Pipeline ending in either, QuadraticSurface or FittedModel
        The other steps of a Pipeline (nested ones too) may be StandardScaler, RobustScaler, MinMaxScaler, MaxAbsScaler,
        SimpleImputer, OneHotEncoder, OrdinalEncoder, TableEncoder, and ColumnTransformer of these.

    Returns
    -------
    FittedModel
    """
    if isinstance(model, FittedModel):
        return model
    steps, calibrators, classifier = _unwrapped(model)
    first = steps[0][1] if steps else classifier
    if not isinstance(first, QuadraticSurface):
        check_fitted(first)
    n_inputs = classifier.n_features if isinstance(first, QuadraticSurface) else first.n_features_in_
    names = [str(name) for name in getattr(first, "feature_names_in_", default_names(n_inputs))]
    notes = ColumnNotes()
    absent = np.nan if steps else None  # which the classifier itself refuses
    variables = [Variable(CodedFeature(name, i, "number", missing=absent)) for i, name in enumerate(names)]
    for name, step in steps:
        variables = read_step(name, step, variables, notes)
    if getattr(classifier, "standardize", False):
        units = zip(variables, classifier.center_, classifier.scale_, strict=True)
        variables = [variable.scaled(center, scale) for variable, center, scale in units]
    is_surface = isinstance(classifier, QuadraticSurface)
    finished, used = _finished(variables), {variable.feature.input for variable in variables}
    return FittedModel(
        model,
        steps,
        classifier,
        calibrators,
        inputs=tuple(notes.encoded.get(i) or _input(name, i in used, notes.levels.get(i)) for i, name in enumerate(names)),
        variables=finished,
        blank=notes.blank,
        surfaces=[classifier] if is_surface else list(classifier.surfaces_),
        classes=SIDES if is_surface else np.asarray(classifier.classes_),
        names=[variable.feature.name for variable in finished],
        center=np.array([variable.center for variable in finished]),
        scale=np.array([variable.scale for variable in finished]),
        blocks=np.array([variable.feature.input for variable in finished], dtype=np.intp),
    )


def _unwrapped(model: Any) -> tuple[tuple[tuple[str, Any], ...], tuple[Calibration, ...], Any]:
    """All transformers on the way, the outermost calibration, and the classifier at the end."""
    steps: list[tuple[str, Any]] = []
    calibrators: tuple[Calibration, ...] = ()
    while isinstance(model, Pipeline | CalibratedModel):
        check_fitted(model)
        if isinstance(model, Pipeline):
            steps += model.steps[:-1]
            model = model.steps[-1][1]
        else:  # of two calibrations the outer one counts: both were fitted on decision values of the same classifier
            calibrators, model = calibrators or tuple(model.calibrators_), model.estimator_
    if not isinstance(model, SurfaceClassifier | QuadraticSurface):
        raise TypeError(f"need a fitted quadric model, a Pipeline or a QuadraticSurface, not {type(model).__name__}")
    steps = list(_flat(steps))
    names = [name for name, _ in steps]
    unique = tuple((f"{name}-{i}" if name in names[:i] else name, step) for i, (name, step) in enumerate(steps))
    return unique, calibrators, model


def _flat(steps: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The steps without those that do nothing; those of a Pipeline one by one."""
    for name, step in steps:
        if isinstance(step, Pipeline):
            check_fitted(step)
            yield from _flat(step.steps)
        elif step is not None and step != "passthrough":
            yield name, step


def _input(name: str, is_used: bool, levels: set[Level] | None) -> InputColumn:
    if levels is None:
        return InputColumn(name, "number" if is_used else "unused", missing_texts=None)
    kind = "category" if any(isinstance(level, str) for level in levels) else "number"
    return InputColumn(name, kind, tuple(sorted(levels)), missing_texts=None)


def _finished(variables: Sequence[Variable]) -> tuple[Variable, ...]:
    """With names that differ, and None for values that are refused because NaN reaches the classifier."""
    out = []
    for variable, feature in zip(variables, with_unique_names(variable.feature for variable in variables), strict=True):
        refused: dict[str, Any] = {name: None for name in ("missing", "unseen") if is_nan(getattr(feature, name))}
        if refused or feature is not variable.feature:
            variable = replace(variable, feature=replace(feature, **refused))
        out.append(variable)
    return tuple(out)


def _even_odds(probability: Calibration) -> float:
    """The largest decision value with a probability of at most one half, to the last bit."""
    low, high = -1.0, 1.0
    while probability(np.array([low]))[0] > 0.5 and low > -FAR:
        low *= 2.0
    while probability(np.array([high]))[0] <= 0.5 and high < FAR:
        high *= 2.0
    if probability(np.array([low]))[0] > 0.5 or probability(np.array([high]))[0] <= 0.5:
        raise ValueError("the calibrated probability does not rise through one half: give a cutoff on the decision function")
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (low, middle) if probability(np.array([middle]))[0] > 0.5 else (middle, high)
    return low
