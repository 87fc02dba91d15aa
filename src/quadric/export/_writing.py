"""A model as the document that its file holds."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from quadric.estimators.calibration import CalibratedModel
from quadric.export._parameters import ARRAY_TYPES, written_parameter
from quadric.export._saved import DataOrigin, SavedModel
from quadric.export._schema import ESTIMATORS, FITTED, SCHEMA, quadric_version
from quadric.export._steps import written_step
from quadric.export.scoring import checked_class_names, scored_samples
from quadric.fitted import FittedModel
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import LINEAR, term_factors
from quadric.tables import Table


def document_of(saved: SavedModel, view: FittedModel, rows: Table) -> dict[str, Any]:
    """Everything in plain values, in the order of the schema.

    Parameters
    ----------
    saved : SavedModel
    view : FittedModel
        Of its model.
    rows : Table
        Sample rows.
    """
    own = view.classifier
    kind = type(own).__name__
    if ESTIMATORS.get(kind) is not type(own):
        raise TypeError(f"cannot save a {kind}; a model file holds one of {', '.join(ESTIMATORS)}")
    names = checked_class_names(view, saved.class_names or None)
    samples = scored_samples(view, rows, names)
    return {
        "schema": SCHEMA,
        "quadric_version": quadric_version(),
        "task": _task(own.classes_, names, saved.target),
        "steps": [written_step(name, step) for name, step in view.steps],
        "features": {"count": view.n_features, "names": _names(own)},
        "surfaces": [_surface(surface) for surface in view.surfaces],
        "estimator": _estimator(own, saved.model),
        "params": _parameters(own.get_params(deep=False)),
        "calibration": _calibration(view),
        "certificates": [_parameters(asdict(c)) for c in getattr(own, "certificates_", [])],
        "data": None if saved.data is None else asdict(_checked_origin(saved.data)),
        "metadata": saved.metadata,
        "samples": [asdict(sample) for sample in samples],
    }


def _parameters(values: dict[str, Any]) -> dict[str, Any]:
    return {name: written_parameter(name, value) for name, value in values.items()}


def _checked_origin(origin: DataOrigin) -> DataOrigin:
    if not isinstance(origin, DataOrigin):
        raise TypeError(f"data must be a Table or a DataOrigin, not {type(origin).__name__}")
    return origin


def _task(labels: np.ndarray, names: tuple[str, ...], target: str | None) -> dict[str, Any]:
    if not ARRAY_TYPES.fullmatch(labels.dtype.str):
        raise ValueError(f"cannot save class labels of type {labels.dtype}: use texts, integers or booleans")
    return {
        "target": target,
        "classes": list(names),
        "positive": names[1] if len(names) == 2 else None,
        "labels": labels.tolist(),
        "dtype": labels.dtype.str,
    }


def _names(step: Any) -> list[str] | None:
    names = getattr(step, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _surface(surface: QuadraticSurface) -> dict[str, Any]:
    z = surface.coordinates()
    left, right = term_factors(surface.n_features)
    live = np.flatnonzero((z != 0.0) | np.signbit(z))  # -0.0 is no term, but it is not the bits of 0.0 either
    terms = [[int(left[t]), None if right[t] == LINEAR else int(right[t]), float(z[t])] for t in live]
    return {"terms": terms, "c": surface.c}


def _estimator(classifier: Any, model: Any) -> dict[str, Any]:
    """What the classifier knows of its fit; null where one of its kind does not have it."""
    fitted = {name: getattr(classifier, f"{name}_", None) for name in FITTED}
    plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in fitted.items()}
    while isinstance(model, CalibratedModel):
        model = model.estimator_
    return {
        "class": type(classifier).__name__,
        "step": model.steps[-1][0] if hasattr(model, "steps") else "classifier",
        **plain,
    }


def _calibration(view: FittedModel) -> dict[str, Any] | None:
    if not view.calibrators:
        return None
    curves = [{name: np.asarray(value).tolist() for name, value in vars(curve).items()} for curve in view.calibrators]
    settings = {name: getattr(view.model, name, None) for name in ("cv", "n_jobs")}
    return {"method": view.calibration, "curves": curves, "params": _parameters(settings)}
