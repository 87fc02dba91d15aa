"""What pages show of values: Python's own numbers, and texts from data in which every character can be seen."""

from __future__ import annotations

from dataclasses import is_dataclass, replace
from typing import Any

import numpy as np

from quadric.geometry.writing import ANYTHING, shown


def in_print(value: Any) -> Any:
    """The same in such numbers and texts.

    Parameters
    ----------
    value : any
        A value object, and what is in it.

    Returns
    -------
    any
    """
    if isinstance(value, str):
        return shown(value, plain=ANYTHING)
    if isinstance(value, np.ndarray):
        return tuple(value.tolist())
    if isinstance(value, tuple):
        return tuple(map(in_print, value))
    if isinstance(value, dict):
        return {name: in_print(part) for name, part in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{name: in_print(part) for name, part in vars(value).items()})
    return value.item() if isinstance(value, np.generic) else value
