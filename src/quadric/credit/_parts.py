"""What a calibrated model is made of: transformers, one surface, one sigmoid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, validate_data

from quadric.estimators.calibration import CalibratedModel, Calibration, SigmoidCalibration
from quadric.estimators._base import SurfaceClassifier
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import default_names
from quadric.types import FloatArray


@dataclass(frozen=True)
class Parts:
    """A model taken apart, from the outside in.

    Attributes
    ----------
    transforms : list of functions
        Applied to X one after the other before the classifier.
    calibrators : list
        Empty for a model that is not calibrated.
    classifier : the model inside
    feature_names : list of str or None
        What the transformers call the classifier's features.
    """

    transforms: list[Callable[[Any], Any]]
    calibrators: list[Calibration]
    classifier: Any
    feature_names: list[str] | None


def parts_of(model: Any) -> Parts:
    """Pipelines and calibration may be nested either way round."""
    transforms: list[Callable[[Any], Any]] = []
    calibrators: list[Calibration] = []
    names = None
    while isinstance(model, Pipeline | CalibratedModel):
        check_is_fitted(model)
        if isinstance(model, CalibratedModel):
            # of two calibrations the outer one speaks: both were fitted to decision values of the same classifier
            calibrators, model = calibrators or model.calibrators_, model.estimator_
            continue
        if len(model) > 1:
            transforms.append(model[:-1].transform)
            names = _names_out(model[:-1], names)
        model = model[-1]
    return Parts(transforms, calibrators, model, names)


def _names_out(transformers: Pipeline, names: list[str] | None) -> list[str] | None:
    try:
        return [str(name) for name in transformers.get_feature_names_out(names)]
    except AttributeError:  # a transformer that does not name what it makes
        return None


@dataclass(frozen=True)
class SigmoidSurface:
    """log-odds of ``classes[1]`` = -(a f(x) + b), f a quadratic surface of x = ``features(X)``."""

    surface: QuadraticSurface
    sigmoid: SigmoidCalibration
    feature_names: list[str]
    features: Callable[[Any], FloatArray]


def sigmoid_surface(model: Any) -> SigmoidSurface:
    """The surface and the sigmoid of a calibrated two-class model, which may be part of a pipeline or hold one."""
    parts = parts_of(model)
    classifier = parts.classifier
    if not isinstance(classifier, SurfaceClassifier) or not parts.calibrators:
        raise TypeError(f"need a CalibratedModel of a quadric classifier, got {type(model).__name__}")
    (surface, *more), (sigmoid, *_) = classifier.surfaces_, parts.calibrators
    if more:
        raise ValueError(f"points need two classes, but the model has {len(classifier.classes_)}")
    if not isinstance(sigmoid, SigmoidCalibration):
        raise ValueError("points are a quadratic in the features only after a calibration with method='sigmoid'")
    names = getattr(classifier, "feature_names_in_", parts.feature_names)

    def features(X: Any) -> FloatArray:
        for transform in parts.transforms:
            X = transform(X)
        return classifier._prepared(validate_data(classifier, X, dtype=np.float64, order="C", reset=False))

    shown = default_names(surface.n_features) if names is None else [str(name) for name in names]
    return SigmoidSurface(surface, sigmoid, shown, features)
