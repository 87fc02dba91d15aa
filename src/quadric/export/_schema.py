"""What a model file holds, and what writing and reading of it have to agree on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from quadric.baselines import (
    L0LeastSquaresSVC,
    L1LinearSVC,
    L1QuadraticSVC,
    LeastSquaresSVC,
    LinearHingeSVC,
    QuadraticSVC,
)
from quadric.estimators import SparseQuadraticSVC, SparseQuadraticSVCCV
from quadric.estimators.constraints import QUADRATIC
from quadric.estimators.validation import OVR
from quadric.tables.table import Rows

# Raised when files change in a way that older versions cannot read.
SCHEMA = 4
# The only classes that a file can ask for.
ESTIMATORS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        SparseQuadraticSVC,
        SparseQuadraticSVCCV,
        L0LeastSquaresSVC,
        L1LinearSVC,
        L1QuadraticSVC,
        LeastSquaresSVC,
        LinearHingeSVC,
        QuadraticSVC,
    )
}
# Of a Box: limits of the features, and which of them are not free.
BOX = ("low", "high", "two_valued", "levels", "flags", "fills")
UNITS = ("clip_low", "clip_high", "center", "scale")
# What a file keeps of a fit beside the surfaces and certificates: attributes, without the underscore at their end.
FITTED = ("status", "n_iter", *UNITS, "best_terms", "best_loss", "best_k", "best_C", "box")
# Keys of a file beside its ``digest``.
MEMBERS = (
    "schema",
    "quadric_version",
    "task",
    "inputs",
    "steps",
    "features",
    "surfaces",
    "estimator",
    "params",
    "calibration",
    "certificates",
    "data",
    "metadata",
    "samples",
    "probes",
)
# What the first files of this schema do not have, by key, and what it was.
ADDED_LATER: dict[str, Any] = {
    **{"rare": "keep", "other": None, "grouped": [], "forms": None},  # of encoders and their columns
    **{"gap_limit": 0.0, "terms": QUADRATIC, "best_terms": QUADRATIC, "multiclass": OVR},  # of classifiers
    "n_surfaces": 1,  # of certificates
    **dict.fromkeys(("interaction_cst", "hierarchy", "feature_cost", "feature_groups", "max_features", "max_cost")),
    **dict.fromkeys(("monotonic_cst", "coef_bounds", "box")),
}
# Stands for infinity in certificates; where a column is not capped, null does.
INFINITE = "inf"
MAX_FEATURES = 2_000
MAX_CLASSES = 1_000
# Entries of all W together: what a file may make us allocate.
MAX_COEFFICIENTS = 20_000_000


def digest(value: Any) -> str:
    """SHA-256 of a member of a file in canonical JSON: sorted keys, no blanks, UTF-8.

    Parameters
    ----------
    value : Any

    Returns
    -------
    str
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode("utf-8")).hexdigest()


def quadric_version() -> str:
    """The installed version, for the record."""
    try:
        return version("quadric")
    except PackageNotFoundError:  # run from a source tree
        return "unknown"


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
    samples : Table, frame, mapping of columns, array or None
        Raw rows.
    """

    model: Any
    class_names: tuple[str, ...] = ()
    target: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    data: DataOrigin | None = None
    samples: Rows | None = None

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of the fit, as anybody may have written them; empty where the file has none."""
        history = self.metadata.get("training")
        found = history.get("options") if isinstance(history, dict) else None
        return found if isinstance(found, dict) else {}

    @staticmethod
    def of(model: Any, **changes: Any) -> SavedModel:
        """A model, saved before or not, with those of the changes that are not None.

        Parameters
        ----------
        model : fitted estimator or SavedModel
        **changes : Any

        Returns
        -------
        SavedModel
        """
        saved = model if isinstance(model, SavedModel) else SavedModel(model)
        return replace(saved, **{name: value for name, value in changes.items() if value is not None})
