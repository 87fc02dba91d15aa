"""Models taken apart and put together again: coding, scaler, classifier, calibration."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from quadric.credit import CalibratedModel, IsotonicCalibration, SigmoidCalibration
from quadric.geometry.terms import default_names
from quadric.tables import InputColumn, Table, TableEncoder
from quadric.tables.table import number_text
from quadric.types import FloatArray

STEPS = ("coding", "scaler", "classifier")


@dataclass(frozen=True)
class Parts:
    """What a fitted model consists of.

    Attributes
    ----------
    encoder : TableEncoder or None
    scaler : StandardScaler or None
    classifier : fitted classifier with ``surfaces_``
    calibrated : CalibratedModel or None
        The model itself, where it has probabilities.
    step_names : tuple of str
        Names of the encoder, the scaler and the classifier in a Pipeline.
    """

    encoder: TableEncoder | None
    scaler: StandardScaler | None
    classifier: Any
    calibrated: CalibratedModel | None
    step_names: tuple[str, ...] = STEPS

    @property
    def calibrators(self) -> tuple[SigmoidCalibration | IsotonicCalibration, ...]:
        return () if self.calibrated is None else tuple(self.calibrated.calibrators_)

    @property
    def n_features(self) -> int:
        return int(self.classifier.surfaces_[0].n_features)

    def feature_names(self) -> list[str]:
        """Names of what the classifier takes."""
        if self.encoder is not None:
            return [str(name) for name in self.encoder.get_feature_names_out()]
        for step in (self.scaler, self.classifier):
            names = getattr(step, "feature_names_in_", None)
            if names is not None:
                return [str(name) for name in names]
        return default_names(self.n_features)

    def inputs(self) -> tuple[InputColumn, ...]:
        """The columns of raw data."""
        if self.encoder is not None:
            return self.encoder.inputs_
        return tuple(InputColumn(name, "number") for name in self.feature_names())

    def standardisation(self) -> tuple[FloatArray, FloatArray]:
        """Center and scale of each feature: the scaler's, followed by those of the classifier itself."""
        center, scale = np.zeros(self.n_features), np.ones(self.n_features)
        if self.scaler is not None:
            center = center if not self.scaler.with_mean else np.asarray(self.scaler.mean_)
            scale = scale if not self.scaler.with_std else np.asarray(self.scaler.scale_)
        inner_scale = getattr(self.classifier, "scale_", None)
        if inner_scale is None:
            return center, scale
        return center + scale * self.classifier.center_, scale * inner_scale

    def class_texts(self) -> tuple[str, ...]:
        """The labels, as texts."""
        return tuple(_label_text(label) for label in self.classifier.classes_.tolist())


def take_apart(model: Any) -> Parts:
    """The parts of a fitted classifier, Pipeline or CalibratedModel.

    Parameters
    ----------
    model : fitted model
        A Pipeline may hold a TableEncoder and a StandardScaler, in this order, before its classifier.
    """
    calibrated = model if isinstance(model, CalibratedModel) else None
    if calibrated is not None:
        check_is_fitted(calibrated)
        model = calibrated.estimator_
    steps = model.steps if isinstance(model, Pipeline) else [(STEPS[-1], model)]
    steps = [(name, step) for name, step in steps if step is not None and not isinstance(step, str)]
    names, encoder, scaler = list(STEPS), None, None
    for name, step in steps[:-1]:
        if isinstance(step, TableEncoder) and encoder is None and scaler is None:
            encoder, names[0] = step, name
        elif isinstance(step, StandardScaler) and scaler is None:
            scaler, names[1] = step, name
        else:
            raise TypeError(
                f"the step {name!r} ({type(step).__name__}) has no formula here: only a TableEncoder and a StandardScaler, "
                "in this order, may come before the classifier"
            )
    names[2], classifier = steps[-1]
    if hasattr(classifier, "fit"):
        check_is_fitted(classifier)
    if not hasattr(classifier, "surfaces_"):
        raise TypeError(f"need a fitted quadric classifier, or a Pipeline that ends in one, not {type(classifier).__name__}")
    return Parts(encoder, scaler, classifier, calibrated, tuple(names))


def put_together(parts: Parts) -> Any:
    """The classifier, in a Pipeline where something comes before it; without calibration."""
    steps = zip(parts.step_names, (parts.encoder, parts.scaler, parts.classifier), strict=True)
    present = [(name, step) for name, step in steps if step is not None]
    return Pipeline(present) if len(present) > 1 else parts.classifier


def decision_values(model: Any, parts: Parts, rows: Table) -> FloatArray:
    """f of raw rows, by the model itself; of shape (m, n_surfaces)."""
    X: Any = rows if parts.encoder is not None else np.column_stack([rows[column.name] for column in parts.inputs()])
    with warnings.catch_warnings():
        # Without an encoder the columns are in order; scikit-learn would remark that their names are not there
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        values = np.asarray(model.decision_function(X))
    return values[:, None] if values.ndim == 1 else values


def _label_text(label: Any) -> str:
    return number_text(label) if isinstance(label, int | float) and not isinstance(label, bool) else str(label)
