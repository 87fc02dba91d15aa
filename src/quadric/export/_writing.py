"""A model as the document that its file holds."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from quadric.credit import SigmoidCalibration
from quadric.export._parameters import written_parameter
from quadric.export._parts import Parts
from quadric.export._saved import DataOrigin, SavedModel
from quadric.export._schema import ESTIMATORS, FITTED, LABEL_TYPES, SCHEMA, quadric_version
from quadric.export.scoring import checked_class_names, scored_samples
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import LINEAR, term_factors
from quadric.tables import Table


def document_of(saved: SavedModel, parts: Parts, rows: Table) -> dict[str, Any]:
    """Everything in plain values, in the order of the schema.

    Parameters
    ----------
    saved : SavedModel
    parts : Parts
        Of its model.
    rows : Table
        Sample rows.
    """
    kind = type(parts.classifier).__name__
    if ESTIMATORS.get(kind) is not type(parts.classifier):
        raise TypeError(f"cannot save a {kind}; a model file holds one of {', '.join(ESTIMATORS)}")
    names = checked_class_names(parts, saved.class_names or None)
    samples = scored_samples(saved.model, parts, rows, names)
    return {
        "schema": SCHEMA,
        "quadric_version": quadric_version(),
        "task": _task(parts, names, saved.target),
        "inputs": [] if parts.encoder is None else [asdict(column) for column in parts.encoder.inputs_],
        "coding": _coding(parts),
        "scaler": _scaler(parts),
        "features": {"count": parts.n_features, "names": _names(parts.classifier)},
        "surfaces": [_surface(surface) for surface in parts.classifier.surfaces_],
        "estimator": _estimator(parts),
        "params": _parameters(parts.classifier.get_params(deep=False)),
        "calibration": _calibration(parts),
        "certificates": [_parameters(asdict(c)) for c in getattr(parts.classifier, "certificates_", [])],
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


def _task(parts: Parts, names: tuple[str, ...], target: str | None) -> dict[str, Any]:
    labels = parts.classifier.classes_
    if not LABEL_TYPES.fullmatch(labels.dtype.str):
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


def _output(step: Any) -> str | None:
    """The kind of frame that ``set_output`` asked the step for."""
    return getattr(step, "_sklearn_output_config", {}).get("transform")


def _coding(parts: Parts) -> dict[str, Any] | None:
    if parts.encoder is None:
        return None
    return {**_parameters(parts.encoder.get_params()), "output": _output(parts.encoder)}


def _scaler(parts: Parts) -> dict[str, Any] | None:
    scaler = parts.scaler
    if scaler is None:
        return None
    return {
        "center": scaler.mean_.tolist() if scaler.with_mean else None,
        "scale": scaler.scale_.tolist() if scaler.with_std else None,
        "names": _names(scaler),
        "output": _output(scaler),
    }


def _surface(surface: QuadraticSurface) -> dict[str, Any]:
    z = surface.coordinates()
    left, right = term_factors(surface.n_features)
    live = np.flatnonzero((z != 0.0) | np.signbit(z))  # -0.0 is no term, but it is not the bits of 0.0 either
    terms = [[int(left[t]), None if right[t] == LINEAR else int(right[t]), float(z[t])] for t in live]
    return {"terms": terms, "c": surface.c}


def _estimator(parts: Parts) -> dict[str, Any]:
    """What the classifier knows of its fit; null where one of its kind does not have it."""
    fitted = {name: getattr(parts.classifier, f"{name}_", None) for name in FITTED}
    plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in fitted.items()}
    return {"class": type(parts.classifier).__name__, "steps": list(parts.step_names), **plain}


def _calibration(parts: Parts) -> dict[str, Any] | None:
    if parts.calibrated is None:
        return None
    curves = [
        {"a": curve.a, "b": curve.b}
        if isinstance(curve, SigmoidCalibration)
        else {"x": curve.x.tolist(), "y": curve.y.tolist()}
        for curve in parts.calibrators
    ]
    parameters = _parameters({name: getattr(parts.calibrated, name) for name in ("cv", "n_jobs")})
    return {"method": parts.calibrated.method_, "curves": curves, "params": parameters}
