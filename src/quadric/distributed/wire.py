"""What passes make of batches as bytes: dataclasses of numbers, texts and arrays. No pickle is written or read.

A header of JSON says what the values are, the numbers of all arrays follow. Symmetric matrices travel as triangles.
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from dataclasses import fields, is_dataclass
from importlib import import_module
from io import BytesIO
from typing import Any

import numpy as np

from quadric.tables.table import text_column

# Types of arrays that travel as they are: truth values, numbers and dates
KINDS = "biufM"
PACKAGE = __name__.partition(".")[0]


def to_bytes(value: Any) -> bytes:
    """A value as bytes.

    Parameters
    ----------
    value : dataclass of this package, tuple, list, dict, array, number, text or None
        Dataclasses are made of the same.

    Returns
    -------
    bytes
    """
    arrays: list[bytes] = []
    header = json.dumps(_described(value, arrays)).encode()
    return b"".join([struct.pack("<Q", len(header)), header, *arrays])


def from_bytes(data: bytes) -> Any:
    """The value that :func:`to_bytes` was given.

    Parameters
    ----------
    data : bytes

    Returns
    -------
    the value
    """
    stream = BytesIO(data)
    (n_bytes,) = struct.unpack("<Q", stream.read(8))
    return _value(json.loads(stream.read(n_bytes)), stream)


def _described(value: Any, arrays: list[bytes]) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return _described(value.item(), arrays)
    if isinstance(value, np.ndarray):
        return _described_array(value, arrays)
    if isinstance(value, dict):
        return {
            "counter" if isinstance(value, Counter) else "dict": [
                [_described(each, arrays) for each in pair] for pair in value.items()
            ]
        }
    if isinstance(value, tuple | list):
        return {type(value).__name__: [_described(each, arrays) for each in value]}
    if not is_dataclass(value) or not _is_ours(type(value).__module__):
        raise TypeError(f"a {type(value).__name__} cannot be sent")
    members = {each.name: _described(getattr(value, each.name), arrays) for each in fields(value) if each.init}
    return {"object": [type(value).__module__, type(value).__qualname__, members]}


def _described_array(array: np.ndarray, arrays: list[bytes]) -> Any:
    if array.dtype == object:
        return {"texts": [_described(each, arrays) for each in array.tolist()]}
    if array.dtype.kind not in KINDS:
        raise TypeError(f"an array of {array.dtype} cannot be sent")
    is_triangle = array.ndim == 2 and array.shape[0] == array.shape[1] > 1 and np.array_equal(array, array.T)
    arrays.append((array[_upper(len(array))] if is_triangle else array).tobytes())
    return {"triangle" if is_triangle else "array": [array.dtype.str, array.shape]}


def _upper(n: int) -> np.ndarray:
    """Where the upper triangle is; truth values take a sixteenth of the memory of two indices, and less time."""
    return ~np.tri(n, k=-1, dtype=bool)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == PACKAGE


def _value(described: Any, arrays: BytesIO) -> Any:
    if not isinstance(described, dict):
        return described
    ((kind, content),) = described.items()
    if kind in ("array", "triangle"):
        return _array(kind, content, arrays)
    if kind == "object":
        module, name, members = content
        found = getattr(import_module(module), name) if _is_ours(module) else None
        if not isinstance(found, type) or not is_dataclass(found):
            raise ValueError(f"{module}.{name} is nothing that can be received")
        make: Any = found
        return make(**{key: _value(each, arrays) for key, each in members.items()})
    if kind in ("dict", "counter"):
        pairs = {_value(key, arrays): _value(each, arrays) for key, each in content}
        return Counter(pairs) if kind == "counter" else pairs
    values = [_value(each, arrays) for each in content]
    return tuple(values) if kind == "tuple" else text_column(values) if kind == "texts" else values


def _array(kind: str, content: tuple[str, list[int]], arrays: BytesIO) -> np.ndarray:
    dtype, shape = content
    count = shape[0] * (shape[0] + 1) // 2 if kind == "triangle" else int(np.prod(shape))
    numbers = np.empty(count, dtype)
    arrays.readinto(numbers.view(np.uint8).data)
    if kind == "array":
        return numbers.reshape(shape)
    matrix, upper = np.empty(shape, dtype), _upper(shape[0])
    matrix[upper] = matrix.T[upper] = numbers
    return matrix
