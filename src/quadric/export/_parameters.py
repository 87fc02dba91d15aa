"""Constructor parameters as JSON and back, with the types that JSON does not know."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold

from quadric.export._checks import Node

SPLITTERS = {splitter.__name__: splitter for splitter in (KFold, StratifiedGroupKFold, StratifiedKFold)}
SPLITTER_KEYS = ("n_splits", "shuffle", "random_state")
LARGEST_RANGE = 1_000_000
ARRAY_TYPES = re.compile(r"[<>|=](b1|[iu][1248]|f[48]|U\d{1,4}|O)")
"""Types of arrays that a file may hold."""


def written_parameter(name: str, value: Any) -> Any:
    """A parameter as plain JSON; tuples, mappings, arrays, types, ranges, NaN and folds are marked as what they are.

    Parameters
    ----------
    name : str
        For the message where it cannot be written.
    value : Any
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value != value:
        return {"nan": None}
    if isinstance(value, float) and not np.isfinite(value):
        raise ValueError(f"cannot save the parameter {name}={value!r}: it is not finite")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [written_parameter(name, item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [written_parameter(name, item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[written_parameter(name, key), written_parameter(name, item)] for key, item in value.items()]}
    if isinstance(value, slice | range):
        return {type(value).__name__: [value.start, value.stop, value.step]}
    if isinstance(value, np.ndarray) and ARRAY_TYPES.fullmatch(value.dtype.str):
        return {"array": [value.dtype.str, written_parameter(name, value.tolist())]}
    if isinstance(value, np.dtype) or (isinstance(value, type) and (value in (float, int) or issubclass(value, np.generic))):
        return {"type": np.dtype(value).str}
    if type(value) in SPLITTERS.values():
        settings = {key: written_parameter(name, getattr(value, key)) for key in SPLITTER_KEYS}
        return {"folds": {"class": type(value).__name__, **settings}}
    raise ValueError(
        f"cannot save the parameter {name}={value!r}: set it to a plain value first (model.set_params({name}=...))"
    )


def read_parameter(node: Node) -> Any:
    """What :func:`written_parameter` wrote."""
    value = node.value
    if type(value) in _PLAIN:
        return _PLAIN[type(value)](node)
    node.require(isinstance(value, dict) and len(value) == 1 and set(value) <= set(_MARKED), "is not a parameter")
    (mark,) = value
    with node.usable():
        return _MARKED[mark](Node(value[mark], f"{node.place}.{mark}"))


def written_parameters(values: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters by name as plain JSON."""
    return {name: written_parameter(name, value) for name, value in values.items()}


def read_parameters(node: Node, names: Collection[str]) -> dict[str, Any]:
    """What :func:`written_parameters` wrote, with exactly these names."""
    return {name: read_parameter(value) for name, value in node.fields(names).items()}


def _read_dict(node: Node) -> dict[Any, Any]:
    out = {}
    for item in node.items():
        key, value = item.items(length=2)
        out[read_parameter(key)] = read_parameter(value)
    return out


def _read_range(node: Node) -> range:
    start, stop, step = (item.integer(-LARGEST_RANGE, LARGEST_RANGE) for item in node.items(length=3))
    return range(start, stop, step)


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
_MARKED: dict[str, Callable[[Node], Any]] = {
    "tuple": lambda node: tuple(read_parameter(item) for item in node.items()),
    "dict": _read_dict,
    "range": _read_range,
    "slice": lambda node: slice(*(item.optional(lambda i: i.integer(0, LARGEST_RANGE)) for item in node.items(length=3))),
    "array": _read_array,
    "type": _read_type,
    "nan": lambda node: node.optional(Node.number) or np.nan,
    "folds": _read_folds,
}
