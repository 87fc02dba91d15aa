"""What transformers do, read from their fitted attributes: each maps variables of raw columns to variables of raw columns."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

from quadric._sklearn import input_positions
from quadric.tables import CodedFeature, InputColumn, TableEncoder
from quadric.tables.inputs import Level


@dataclass(frozen=True)
class Variable:
    """(min(max(feature, low), high) - center) / scale.

    Attributes
    ----------
    feature : CodedFeature
    center, scale : float
        0 and 1 without scalers.
    low, high : float
        Caps in reported units; -inf and inf where there are none.
    """

    feature: CodedFeature
    center: float = 0.0
    scale: float = 1.0
    low: float = -np.inf
    high: float = np.inf

    def scaled(self, center: float, scale: float) -> Variable:
        """The variable after one more scaler.

        Parameters
        ----------
        center, scale : float
            The scaler computes (value - center) / scale.

        Returns
        -------
        Variable
        """
        center, scale = float(self.center + self.scale * center), float(self.scale * scale)
        return Variable(self.feature, center, scale, self.low, self.high)

    def capped(self, low: float, high: float) -> Variable:
        """The variable between two limits.

        Parameters
        ----------
        low, high : float
            In the units of the variable so far.

        Returns
        -------
        Variable
        """
        low, high = float(self.center + self.scale * low), float(self.center + self.scale * high)
        low, high = min(max(self.low, low), high), min(max(self.high, low), high)
        return Variable(self.feature, self.center, self.scale, low, high)

    @property
    def limits(self) -> dict[str, float]:
        """The caps that there are, by the sign of what lies beyond them: "<" and ">"."""
        return {sign: end for sign, end in (("<", self.low), (">", self.high)) if np.isfinite(end)}

    @property
    def is_plain(self) -> bool:
        """Whether no step has capped, centred or scaled the feature."""
        return not self.limits and self.center == 0.0 and self.scale == 1.0

    @property
    def is_raw(self) -> bool:
        """Whether this is the column itself, except that missing values may be filled in."""
        return self.feature.kind == "number" and self.is_plain


@dataclass
class ColumnNotes:
    """What reading the steps reveals of the input columns.

    Attributes
    ----------
    levels : dict
        All levels that some encoder knows, by position of the column; in here are all columns that are encoded.
    blank : dict
        What stands for a missing value in that column, where it is not NaN.
    encoded : dict
        What a TableEncoder has learned of that column.
    """

    levels: dict[int, set[Level]] = field(default_factory=dict)
    blank: dict[int, None] = field(default_factory=dict)
    encoded: dict[int, InputColumn] = field(default_factory=dict)


class NoFormulaError(Exception):
    """A step, set as it is, cannot be written as functions of single columns; says why."""


def read_step(name: str, step: Any, variables: list[Variable], notes: ColumnNotes) -> list[Variable]:
    """The variables after a step.

    Parameters
    ----------
    name : str
        For the message where the step is not understood.
    step : fitted transformer, "passthrough" or None
    variables : list of Variable
        Before it, one per column that it takes.
    notes : ColumnNotes
        Filled in.
    """
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return variables
    check_fitted(step)
    try:
        if type(step) not in READERS:
            raise NoFormulaError("is not understood")
        return READERS[type(step)](step, variables, notes)
    except NoFormulaError as reason:
        raise TypeError(
            f"the step {name!r} ({type(step).__name__}) {reason}: transform the data first and fit the pipeline from there on, "
            f"or use {', '.join(kind.__name__ for kind in READERS if kind is not FunctionTransformer)}"
        ) from None


def check_fitted(model: Any) -> None:
    """Refuse what is not fitted yet, in one sentence.

    Parameters
    ----------
    model : estimator
    """
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise NotFittedError(f"this {type(model).__name__} is not fitted yet: call fit first") from None


@contextmanager
def without_name_warnings() -> Iterator[None]:
    """For arrays whose columns are known to be in order, also where the model was fitted to named columns."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names", category=UserWarning)
        yield


def _pipeline(step: Pipeline, variables: list[Variable], notes: ColumnNotes) -> list[Variable]:
    for name, inner in step.steps:
        variables = read_step(name, inner, variables, notes)
    return variables


def _column_transformer(step: ColumnTransformer, variables: list[Variable], notes: ColumnNotes) -> list[Variable]:
    if step.transformer_weights:
        raise NoFormulaError("has transformer_weights")
    out, positions = [], input_positions(step)
    for name, inner, _ in step.transformers_:
        if positions[name] and not (isinstance(inner, str) and inner == "drop"):
            out += read_step(name, inner, [variables[i] for i in positions[name]], notes)
    return out


def _identity(step: FunctionTransformer, variables: list[Variable], notes: ColumnNotes) -> list[Variable]:
    if step.func is not None:
        raise NoFormulaError("applies a function")
    return variables


def _scaler(step: Any, variables: list[Variable], notes: ColumnNotes) -> list[Variable]:
    n, center, scale = len(variables), None, step.scale_
    if isinstance(step, MinMaxScaler):
        center, scale = -step.min_ / step.scale_, 1.0 / step.scale_
    elif isinstance(step, StandardScaler):
        center = step.mean_ if step.with_mean else None
    elif isinstance(step, RobustScaler):
        center = step.center_
    centers, scales = np.zeros(n) if center is None else center, np.ones(n) if scale is None else scale
    out = [variable.scaled(*map_) for variable, *map_ in zip(variables, centers, scales, strict=True)]
    return [variable.capped(*step.feature_range) for variable in out] if getattr(step, "clip", False) else out


def _imputer(step: SimpleImputer, variables: list[Variable], notes: ColumnNotes) -> list[Variable]:
    marker = step.missing_values
    if not (marker is None or is_nan(marker)):
        raise NoFormulaError(f"takes {marker!r} for a missing value instead of NaN")
    if marker is None:
        notes.blank |= {variable.feature.input: None for variable in variables}
    pairs = zip(variables, step.statistics_.tolist(), strict=True)  # columns without any values are dropped
    filled = [_filled(variable, value) for variable, value in pairs if step.keep_empty_features or not is_nan(value)]
    return filled + [_flag(variables[i].feature) for i in (step.indicator_.features_ if step.add_indicator else [])]


def _filled(variable: Variable, statistic: Any) -> Variable:
    fill = statistic if isinstance(statistic, str) else float(variable.center + variable.scale * statistic)
    if isinstance(fill, float) and (fill < variable.low or fill > variable.high):
        raise NoFormulaError("fills in values beyond the limits of an earlier step")
    return replace(variable, feature=filled_in(variable.feature, fill))


def filled_in(feature: CodedFeature, fill: Level | None) -> CodedFeature:
    """The feature with another value where missing or unseen ones are NaN; None: they are refused."""
    changes: dict[str, Any] = {name: fill for name in ("missing", "unseen") if is_nan(getattr(feature, name))}
    return replace(feature, **changes) if changes else feature


def _flag(feature: CodedFeature) -> Variable:
    return Variable(
        CodedFeature(
            f"{feature.name} is missing",
            feature.input,
            "missing",
            codes=tuple((level, 0.0) for level, _ in feature.codes),
            missing=None if feature.missing is None else float(is_nan(feature.missing)),
            unseen=0.0 if feature.kind == "number" else None if feature.unseen is None else float(is_nan(feature.unseen)),
        )
    )


def _one_hot(step: OneHotEncoder, variables: list[Variable], notes: ColumnNotes) -> list[Variable]:
    _check_precision(step)
    infrequent = getattr(step, "infrequent_categories_", [None] * len(variables))
    out = []
    for i, (variable, categories) in enumerate(zip(variables, step.categories_, strict=True)):
        levels = _levels(variable, categories, notes)
        rare = [] if infrequent[i] is None else [_level(value) for value in infrequent[i].tolist()]
        groups = [[level] for level in levels if level not in rare] + [rare] * bool(rare)
        drop = None if step.drop_idx_ is None else step.drop_idx_[i]
        for group in groups:
            if drop is not None and levels[drop] in group:
                continue
            unknown = {"error": None, "ignore": 0.0}.get(step.handle_unknown, float(group is rare))
            codes = {level: float(level in group) for level in levels}
            out.append(_encoded(variable, codes, unknown, "level", [] if group is rare else group))
    return out


def _ordinal(step: OrdinalEncoder, variables: list[Variable], notes: ColumnNotes) -> list[Variable]:
    _check_precision(step)
    rows = [[c[min(row, len(c) - 1)] for c in step.categories_] for row in range(max(map(len, step.categories_)))]
    with without_name_warnings():  # the encoder itself says what it makes of each level, infrequent ones included
        codes = np.asarray(step.transform(np.array(rows, dtype=object)), dtype=float)
    unknown = None if step.handle_unknown == "error" else float(step.unknown_value)
    out = []
    for i, (variable, categories) in enumerate(zip(variables, step.categories_, strict=True)):
        levels = _levels(variable, categories, notes)
        out.append(_encoded(variable, dict(zip(levels, codes[:, i].tolist(), strict=False)), unknown, "rank", []))
    return out


def _table_encoder(step: TableEncoder, variables: list[Variable], notes: ColumnNotes) -> list[Variable]:
    if not all(variable.is_raw and is_nan(variable.feature.missing) for variable in variables):
        raise NoFormulaError("must come first")
    for variable, column in zip(variables, step.inputs_, strict=True):
        notes.encoded[variable.feature.input] = column
    return [Variable(replace(feature, input=variables[feature.input].feature.input)) for feature in step.features_]


def _encoded(
    variable: Variable,
    codes: Mapping[Level | None, float | None],
    unknown: float | None,
    kind: str,
    group: Sequence[Level | None],
) -> Variable:
    """An encoder's output after a variable: of the raw column, or of codes that an earlier encoder made.

    Parameters
    ----------
    variable : Variable
    codes : mapping
        Output by level; None is the level "missing", where the encoder has one.
    unknown : float or None
        Output for all other levels.
    kind : "level", "rank" or "missing"
    group : sequence of levels
        Of kind "level": those whose output is 1.
    """

    def output(value: Any) -> Any:
        return None if value is None else codes.get(None if is_nan(value) else value, unknown)

    feature = variable.feature
    before = [(level, level) for level in codes if level is not None] if variable.is_raw else feature.codes
    level = group[0] if len(group) == 1 and variable.is_raw else None
    if kind == "level" and list(group) == [None]:
        kind = "missing"
    return Variable(
        CodedFeature(
            _name(feature.name, kind, level),
            feature.input,
            kind,
            level,
            tuple((raw, output(value)) for raw, value in before),
            output(feature.missing),
            unknown if variable.is_raw else output(feature.unseen),
        )
    )


def _name(column: str, kind: str, level: Level | None) -> str:
    if kind == "level":
        return f"{column}={'infrequent' if level is None else f'{level:g}' if isinstance(level, float) else level}"
    return f"{column} is missing" if kind == "missing" else column


def _levels(variable: Variable, categories: np.ndarray, notes: ColumnNotes) -> list[Level | None]:
    """The levels that an encoder knows, noted as those of the input column; None is "missing"."""
    if not variable.is_plain:
        raise NoFormulaError("encodes numbers that an earlier step has scaled")
    values = categories.tolist()
    levels = [_level(value) for value in values]
    if "" in levels or levels.count(None) > 1:
        raise NoFormulaError("has a category for empty texts, or two for missing values")
    if None in values and variable.feature.input not in notes.blank and not is_nan(variable.feature.missing):
        raise NoFormulaError("has the category None, which an imputer of NaN has left alone (give it missing_values=None)")
    if variable.is_raw:
        own = notes.levels.setdefault(variable.feature.input, set())
        own |= {level for level in levels if level is not None}
        if None in values:
            notes.blank[variable.feature.input] = None
    return levels


def _level(value: Any) -> Level | None:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and int(float(value)) != value:
        raise NoFormulaError(f"has the category {value}, which is no exact number in floating point: make it a text")
    return None if value is None or is_nan(value) else float(value)


def _check_precision(step: Any) -> None:
    if np.dtype(step.dtype) in (np.float16, np.float32):
        raise NoFormulaError(f"computes in {np.dtype(step.dtype).name} instead of float64")


def is_nan(value: Any) -> bool:
    """Whether a value is the number NaN."""
    return isinstance(value, float) and value != value


READERS: dict[type, Callable[[Any, list[Variable], ColumnNotes], list[Variable]]] = {
    StandardScaler: _scaler,
    RobustScaler: _scaler,
    MinMaxScaler: _scaler,
    MaxAbsScaler: _scaler,
    SimpleImputer: _imputer,
    OneHotEncoder: _one_hot,
    OrdinalEncoder: _ordinal,
    ColumnTransformer: _column_transformer,
    Pipeline: _pipeline,
    TableEncoder: _table_encoder,
    FunctionTransformer: _identity,
}
