"""Parameters and transformers as JSON and back: types that JSON does not know are marked, and classes are of a fixed list."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, fields
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold
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

from quadric._sklearn import FEATURE_COUNTS, PRIVATE_STATE, input_positions, output_kind, set_parts
from quadric.errors import quoted
from quadric.export._checks import Node
from quadric.export._schema import ADDED_LATER, MAX_FEATURES
from quadric.tables import InputColumn, TableEncoder
from quadric.tables.dates import parsed_date
from quadric.tables.inputs import is_missing_text
from quadric.tables.table import BLANKS

SPLITTERS = {splitter.__name__: splitter for splitter in (KFold, StratifiedGroupKFold, StratifiedKFold)}
SPLITTER_KEYS = ("n_splits", "shuffle", "random_state")
LARGEST_RANGE = 1_000_000
# Types of arrays that a file may hold.
ARRAY_TYPES = re.compile(r"[<>|=](b1|[iu][1248]|f[48]|U\d{1,4}|O)")


class _Kind(NamedTuple):
    """What a file keeps of a class of transformers; attributes that a transformer does not have are left out."""

    make: Callable[..., Any]
    parameters: tuple[str, ...]
    attributes: tuple[str, ...] = ()


_ENCODER = ("categories", "dtype", "handle_unknown", "min_frequency", "max_categories")
# The only transformers that a file can ask for.
KINDS = {
    "StandardScaler": _Kind(StandardScaler, ("with_mean", "with_std"), ("mean_", "scale_")),
    "RobustScaler": _Kind(
        RobustScaler, ("with_centering", "with_scaling", "quantile_range", "unit_variance"), ("center_", "scale_")
    ),
    "MinMaxScaler": _Kind(MinMaxScaler, ("feature_range", "clip"), ("min_", "scale_", "data_min_", "data_max_", "data_range_")),
    "MaxAbsScaler": _Kind(MaxAbsScaler, (), ("scale_", "max_abs_")),
    "SimpleImputer": _Kind(
        SimpleImputer,
        ("missing_values", "strategy", "fill_value", "add_indicator", "keep_empty_features"),
        ("statistics_", *PRIVATE_STATE["SimpleImputer"]),
    ),
    "MissingIndicator": _Kind(
        MissingIndicator,
        ("missing_values", "features", "sparse", "error_on_new"),
        ("features_", *PRIVATE_STATE["MissingIndicator"]),
    ),
    "OneHotEncoder": _Kind(
        OneHotEncoder,
        (*_ENCODER, "drop", "sparse_output", "feature_name_combiner"),
        ("categories_", "drop_idx_", *PRIVATE_STATE["OneHotEncoder"]),
    ),
    "OrdinalEncoder": _Kind(
        OrdinalEncoder,
        (*_ENCODER, "unknown_value", "encoded_missing_value"),
        ("categories_", *PRIVATE_STATE["OrdinalEncoder"]),
    ),
    "FunctionTransformer": _Kind(FunctionTransformer, ("accept_sparse", "check_inverse", "feature_names_out")),
    "TableEncoder": _Kind(
        TableEncoder, ("coding", "missing", "unseen", "rare", "max_levels", "dates", "texts", "missing_texts", "forms")
    ),
    "ColumnTransformer": _Kind(
        ColumnTransformer, ("sparse_threshold", "verbose_feature_names_out"), ("sparse_output_", "output_indices_")
    ),
    "Pipeline": _Kind(Pipeline, ()),
}
_NAMES = ("n_features_in_", "feature_names_in_")
_KEYS = ("name", "class", "params", "fitted", "inner", "output")
# What a file keeps of a column; texts that mean a missing value and forms are parameters of the encoder.
COLUMN_KEYS = tuple(field.name for field in fields(InputColumn) if field.name not in ("missing_texts", "form"))
WORDS = ("passthrough", "drop")
OUTPUTS = (None, "default", "pandas", "polars")


def written_parameter(name: str, value: Any) -> Any:
    """A parameter as plain JSON; tuples, mappings, arrays, types, ranges, NaN and folds are marked as what they are.

    Parameters
    ----------
    name : str
        For the message where it cannot be written.
    value : Any
    """
    value, item = value.item() if isinstance(value, np.generic) else value, partial(written_parameter, name)
    for mark, (holds, written, _) in _MARKED.items():
        if holds(value):
            return {mark: written(value, item)}
    if isinstance(value, float) and not np.isfinite(value):
        raise ValueError(f"cannot save the parameter {name}={quoted(value)}: it is not finite")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return list(map(item, value))
    raise ValueError(
        f"cannot save the parameter {name}={quoted(value)}: set it to a plain value first (model.set_params({name}=...))"
    )


def read_parameter(node: Node) -> Any:
    """What :func:`written_parameter` wrote."""
    value = node.value
    if type(value) in _PLAIN:
        return _PLAIN[type(value)](node)
    node.require(isinstance(value, dict) and len(value) == 1 and set(value) <= set(_MARKED), "is not a parameter")
    (mark,) = value
    with node.usable():
        return _MARKED[mark][2](Node(value[mark], f"{node.place}.{mark}"))


def written_parameters(values: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters by name as plain JSON."""
    return {name: written_parameter(name, value) for name, value in values.items()}


def read_parameters(node: Node, names: Collection[str], added: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What :func:`written_parameters` wrote, with exactly these names; ``added`` as for :meth:`Node.fields`."""
    return {name: read_parameter(value) for name, value in node.fields(names, added).items()}


def _is_type(value: Any) -> bool:
    return isinstance(value, np.dtype) or (isinstance(value, type) and (value in (float, int) or issubclass(value, np.generic)))


def _ends(value: Any, item: Any) -> list[Any]:
    return [value.start, value.stop, value.step]


def _read_type(node: Node) -> np.dtype:
    node.require(ARRAY_TYPES.fullmatch(node.text()), "is not a type of numbers or texts")
    return np.dtype(node.text())


def _read_array(node: Node) -> np.ndarray:
    kind, values = node.items(length=2)
    array = np.array([read_parameter(item) for item in values.items()], dtype=_read_type(kind))
    node.require(written_parameter("", array)["array"][1] == values.value, "is not an array of its type")
    return array


def _read_folds(node: Node) -> Any:
    fields = node.fields(("class", *SPLITTER_KEYS))
    splitter = SPLITTERS[fields["class"].choice(SPLITTERS)]
    return splitter(**{key: read_parameter(fields[key]) for key in SPLITTER_KEYS})


_PLAIN: dict[type, Callable[[Node], Any]] = {
    type(None): lambda node: None,
    bool: Node.boolean,
    int: lambda node: node.integer(-(2**63), 2**64),
    float: Node.number,
    str: Node.text,
    list: lambda node: [read_parameter(item) for item in node.items()],
}
# What JSON does not know: when a value is one, how it is written, and how it is read.
_MARKED: dict[str, tuple[Callable[[Any], bool], Callable[[Any, Callable[[Any], Any]], Any], Callable[[Node], Any]]] = {
    "nan": (
        lambda value: isinstance(value, float) and value != value,
        lambda value, item: None,
        lambda node: node.optional(Node.number) or np.nan,
    ),
    "tuple": (
        lambda value: isinstance(value, tuple),
        lambda value, item: list(map(item, value)),
        lambda node: tuple(read_parameter(item) for item in node.items()),
    ),
    "set": (
        lambda value: isinstance(value, set | frozenset),
        lambda value, item: list(map(item, sorted(value, key=str))),
        lambda node: {read_parameter(item) for item in node.items()},
    ),
    "dict": (
        lambda value: isinstance(value, dict),
        lambda value, item: [[item(key), item(entry)] for key, entry in value.items()],
        lambda node: {
            read_parameter(key): read_parameter(entry) for key, entry in (pair.items(length=2) for pair in node.items())
        },
    ),
    "range": (
        lambda value: isinstance(value, range),
        _ends,
        lambda node: range(*(item.integer(-LARGEST_RANGE, LARGEST_RANGE) for item in node.items(length=3))),
    ),
    "slice": (
        lambda value: isinstance(value, slice),
        _ends,
        lambda node: slice(*(item.optional(lambda i: i.integer(0, LARGEST_RANGE)) for item in node.items(length=3))),
    ),
    "array": (
        lambda value: isinstance(value, np.ndarray) and ARRAY_TYPES.fullmatch(value.dtype.str) is not None,
        lambda value, item: [value.dtype.str, item(value.tolist())],
        _read_array,
    ),
    "type": (_is_type, lambda value, item: np.dtype(value).str, _read_type),
    "folds": (
        lambda value: type(value) in SPLITTERS.values(),
        lambda value, item: {"class": type(value).__name__, **{key: item(getattr(value, key)) for key in SPLITTER_KEYS}},
        _read_folds,
    ),
}


def written_step(name: str, step: Any) -> dict[str, Any]:
    """A fitted transformer as plain values; it must be one that :func:`quadric.fitted.fitted_model` understands.

    Parameters
    ----------
    name : str
        Of the step.
    step : fitted transformer, "passthrough" or "drop"
    """
    if isinstance(step, str):
        return {"name": name, "class": step, "params": {}, "fitted": {}, "inner": [], "output": None}
    kind = KINDS[type(step).__name__]
    present = [a for a in (*kind.attributes, *_NAMES) if hasattr(step, a) and not isinstance(step, Pipeline)]
    return {
        "name": name,
        "class": type(step).__name__,
        "params": written_parameters({name: getattr(step, name) for name in kind.parameters}),
        "fitted": written_parameters({name: getattr(step, name) for name in present}),
        "inner": _inner(step),
        "output": output_kind(step),
    }


def _inner(step: Any) -> list[Any]:
    if isinstance(step, TableEncoder):
        return [{name: value for name, value in asdict(column).items() if name in COLUMN_KEYS} for column in step.inputs_]
    if isinstance(step, Pipeline):
        return [written_step(name, "passthrough" if inner is None else inner) for name, inner in step.steps]
    if isinstance(step, SimpleImputer) and step.add_indicator:
        return [written_step("indicator", step.indicator_)]
    if not isinstance(step, ColumnTransformer):
        return []
    positions = input_positions(step)
    return [
        {"step": written_step(name, inner if positions[name] else "drop"), "columns": positions[name]}
        for name, inner, _ in step.transformers_
    ]


def read_step(node: Node) -> tuple[str, Any]:
    """What :func:`written_step` wrote: the step's name, and the transformer."""
    keys = node.fields(_KEYS)
    name = keys["name"].text()
    if keys["class"].value in WORDS:
        return name, keys["class"].value
    kind = KINDS[keys["class"].choice(KINDS)]
    if kind.make is Pipeline:
        return name, Pipeline([read_step(item) for item in keys["inner"].items()])
    parameters = read_parameters(keys["params"], kind.parameters, ADDED_LATER)
    if kind.make is TableEncoder:
        if parameters["unseen"] == "as_dropped":  # of the first files: there were no other levels
            parameters["unseen"] = "other"
        step = TableEncoder.from_inputs(_columns(keys["inner"], tuple(parameters["missing_texts"])), **parameters)
    else:
        step = kind.make(**({"transformers": []} if kind.make is ColumnTransformer else {}), **parameters)
        for attribute, value in _fitted(keys["fitted"], kind).items():
            setattr(step, attribute, value)
    if kind.make is ColumnTransformer:
        _set_transformers(step, keys["inner"])
    elif kind.make is SimpleImputer and step.add_indicator:
        (step.indicator_,) = (read_step(item)[1] for item in keys["inner"].items(length=1))
    output = read_parameter(keys["output"])
    keys["output"].require(output in OUTPUTS, "must be pandas, polars, default or null")
    return name, step if output is None else step.set_output(transform=output)


def _fitted(node: Node, kind: _Kind) -> dict[str, Any]:
    """Attributes that the class has in some version or setting; which ones it needs shows when the model is tried."""
    known = (*kind.attributes, *_NAMES)
    is_known = isinstance(node.value, dict) and set(node.value) <= set(known)
    node.require(is_known, f"must be an object with some of the keys {', '.join(known)}")
    values = node.fields(node.value)
    for name in FEATURE_COUNTS & set(values):  # names and columns are made up for as many
        values[name].integer(0, MAX_FEATURES)
    return {name: read_parameter(value) for name, value in values.items()}


def _set_transformers(step: ColumnTransformer, inner: Node) -> None:
    """The parts of a ColumnTransformer, all of them with positions of columns, whichever way they were selected."""
    parts = [item.fields(("step", "columns")) for item in inner.items(at_most=MAX_FEATURES)]
    fitted = [read_step(keys["step"]) for keys in parts]
    columns = [[i.integer(0, step.n_features_in_ - 1) for i in keys["columns"].items(at_most=MAX_FEATURES)] for keys in parts]
    set_parts(step, [(*part, where) for part, where in zip(fitted, columns, strict=True)])


def _columns(node: Node, missing_texts: tuple[str, ...]) -> list[InputColumn]:
    columns = [_column(item, missing_texts) for item in node.items(at_most=MAX_FEATURES)]
    node.require(
        columns and len({column.name for column in columns}) == len(columns), "must be columns of different names, at least one"
    )
    node.require(
        sum(len(column.categories) + column.indicator + 1 for column in columns) <= 2 * MAX_FEATURES,
        f"make more than {MAX_FEATURES} features",
    )
    return columns


def _column(node: Node, missing_texts: tuple[str, ...]) -> InputColumn:
    keys = node.fields(COLUMN_KEYS, ADDED_LATER)
    kind = keys["type"].choice(("number", "category", "date"))
    is_category, levels = kind == "category", keys["categories"].texts(at_most=MAX_FEATURES)
    column = InputColumn(
        name=keys["name"].text(),
        type=kind,
        categories=tuple(levels),
        dropped=keys["dropped"].optional(Node.text),
        fill=keys["fill"].optional(Node.text) if is_category else keys["fill"].optional(Node.number),
        indicator=keys["indicator"].boolean(),
        origin=keys["origin"].optional(Node.text),
        missing_texts=missing_texts,
        other=keys["other"].optional(Node.text),
        grouped=tuple(keys["grouped"].texts(at_most=MAX_FEATURES)),
    )
    known = {None, *column.categories}
    node.require(is_category or (not levels and column.dropped is None), f"is a {kind} and has categories")
    keys["categories"].require(bool(levels) == is_category and levels == sorted(levels), "must be sorted texts, at least one")
    is_bare = all(text == text.strip(BLANKS) and not is_missing_text(text, missing_texts) for text in levels)
    keys["categories"].require(is_bare, "must be texts without blanks around them, none of which means a missing value")
    node.require(is_category or (column.other is None and not column.grouped), f"is a {kind} and has rare categories")
    is_named = column.other not in levels or column.other in column.grouped
    node.require(is_named, "has a category that is called like the rare ones")
    node.require(set(column.grouped) < known and column.dropped not in column.grouped, "groups categories that are not there")
    wanted = {column.dropped, column.fill if is_category else None}
    node.require(wanted <= {*known, column.other}, "drops or fills in a category that is not there")
    origin = column.origin
    is_day = origin is not None and len(origin) == 10 and parsed_date(origin) is not None
    keys["origin"].require(
        is_day if kind == "date" else origin is None, "must be a day such as 2024-01-31 for a date, and null for other columns"
    )
    node.require(column.fill is not None or not column.indicator, "marks missing values that it refuses")
    return column
