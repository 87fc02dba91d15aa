"""What a model file holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quadric.tables import Table


@dataclass(frozen=True)
class DataOrigin:
    """What a model was fitted to.

    Attributes
    ----------
    rows : int
    sha256 : str or None
        Of the data file.
    """

    rows: int
    sha256: str | None = None


@dataclass(frozen=True)
class SavedModel:
    """A model with its names and origin.

    Attributes
    ----------
    model : fitted estimator
    class_names : tuple of str
        In the order of ``model.classes_``; empty: the labels themselves.
    target : str or None
        Name of the target column.
    metadata : dict
    data : DataOrigin or None
    samples : Table or None
        Raw rows.
    """

    model: Any
    class_names: tuple[str, ...]
    target: str | None
    metadata: dict[str, Any]
    data: DataOrigin | None
    samples: Table | None
