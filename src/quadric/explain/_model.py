"""What is explained: a fitted model taken apart once into surfaces, units, names and the columns features come from.

    raw X --front--> reported units --scalers--> fitted units, in which the surfaces are written

The scalers are invertible feature by feature, so that answers can be given in reported units. Without other transformers the
reported units are those of raw X; a coder of categories in front passes its numeric columns through unchanged.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from quadric.estimators.calibration import SigmoidCalibration
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import default_names
from quadric.types import BoolArray, FloatArray, IntArray

SIDES = np.array([-1, 1])
"""Classes of a bare surface: its negative and its positive side."""
FAR = 1e100
"""No decision value is farther from zero."""


@dataclass(frozen=True)
class Units:
    """The map (v - center) / scale from reported to fitted units, feature by feature."""

    center: FloatArray
    scale: FloatArray

    def then(self, other: Units) -> Units:
        """The map that does one after the other."""
        return Units(self.center + self.scale * other.center, self.scale * other.scale)


@dataclass(frozen=True)
class Explainable:
    """A fitted model as explanations see it.

    Attributes
    ----------
    predictor : SurfaceClassifier or QuadraticSurface
        What decides in the end.
    front : tuple of transformers
        Applied first; never inverted.
    scalers : tuple of transformers
        Applied next; inverted feature by feature.
    surfaces : list of QuadraticSurface
        In fitted units.
    classes : array
    units : Units
    names : list of str
        Features of the surfaces.
    numeric : array of bool
        False for features that code a category.
    columns : list of str
        Input columns that the features come from; the features themselves without a coder.
    blocks : array of int
        Position in ``columns`` of each feature.
    probability : callable or None
        Probability of the second of two classes by decision value, where the model is calibrated: it then decides.
    log_odds : sequence of SigmoidCalibration
        Of more than two classes, where the model is calibrated by sigmoids: the class with the largest log-odds is decided.
    """

    predictor: Any
    front: tuple[Any, ...]
    scalers: tuple[Any, ...]
    surfaces: list[QuadraticSurface]
    classes: np.ndarray
    units: Units
    names: list[str]
    numeric: BoolArray
    columns: list[str]
    blocks: IntArray
    probability: Callable[[FloatArray], FloatArray] | None
    log_odds: Sequence[SigmoidCalibration]

    @property
    def n_features(self) -> int:
        return len(self.names)

    def reported(self, X: Any) -> FloatArray:
        """Raw X in reported units, checked as the model would check it."""
        for step in self.front:
            X = step.transform(X)
        first = (*self.scalers, self.predictor)[0]
        if isinstance(first, QuadraticSurface):
            X = check_array(X, dtype=np.float64, order="C")
            if X.shape[1] != first.n_features:
                raise ValueError(f"X has {X.shape[1]} features, but the surface has {first.n_features}")
            return X
        return validate_data(first, X, dtype=np.float64, order="C", reset=False)

    def fitted(self, V: FloatArray) -> FloatArray:
        """Reported units to fitted units, by the model's own steps."""
        V = self._scaled(V)
        return V if isinstance(self.predictor, QuadraticSurface) else self.predictor._prepared(V)

    def scores(self, V: FloatArray) -> FloatArray:
        """The model's own decision function of rows in reported units: (m,) for two classes, (m, n_classes) otherwise."""
        V = self._scaled(V)
        if isinstance(self.predictor, QuadraticSurface):
            return self.predictor(V)
        with _without_name_warnings():
            return self.predictor.decision_function(V)

    def rivals(self) -> list[QuadraticSurface]:
        """One surface a class, in fitted units; the largest wins: the decision values, or their log-odds."""
        if not self.log_odds:
            return self.surfaces
        return [
            QuadraticSurface(-sigmoid.a * surface.W, -sigmoid.a * surface.b, -sigmoid.a * surface.c - sigmoid.b)
            for surface, sigmoid in zip(self.surfaces, self.log_odds, strict=True)
        ]

    def compared(self, scores: FloatArray) -> FloatArray:
        """What the classes are compared by, from decision values of shape (m, n_classes)."""
        if not self.log_odds:
            return scores
        return np.column_stack([sigmoid.log_odds(column) for sigmoid, column in zip(self.log_odds, scores.T, strict=True)])

    def _scaled(self, V: FloatArray) -> FloatArray:
        with _without_name_warnings():
            for step in self.scalers:
                V = step.transform(V)
        return np.ascontiguousarray(V, dtype=float)

    def class_code(self, label: Any, what: str = "target") -> int:
        """Position of a class."""
        found = [code for code, known in enumerate(self.classes.tolist()) if known == label]
        if len(found) != 1:
            raise ValueError(f"{what} must be one of the classes {self.classes.tolist()}, got {label!r}")
        return found[0]

    def surface_towards(self, target: Any) -> QuadraticSurface:
        """The surface that grows towards a class; None is the positive one of two."""
        if len(self.surfaces) == 1:
            surface = self.surfaces[0]
            return surface if target is None or self.class_code(target) == 1 else multiplied(surface, -1.0)
        if target is None:
            raise ValueError(f"target must name the class to explain: one of {self.classes.tolist()}")
        return self.surfaces[self.class_code(target)]

    def cutoff(self, given: float | None) -> float:
        """The decision value above which the second of two classes is decided: the one given, or the model's own."""
        if given is None:
            return 0.0 if self.probability is None else _even_odds(self.probability)
        if len(self.surfaces) > 1:
            raise ValueError("cutoff needs a model of two classes: with more, the largest decision value wins")
        if not np.isfinite(given):
            raise ValueError(f"cutoff must be finite, got {given}")
        return float(given)

    def by_column(self, values: FloatArray) -> FloatArray:
        """Sums over the features of each input column, for values of shape (m, n)."""
        if len(self.columns) == self.n_features and np.array_equal(self.blocks, np.arange(self.n_features)):
            return values
        out = np.zeros((len(values), len(self.columns)))
        for feature, column in enumerate(self.blocks):
            out[:, column] += values[:, feature]
        return out

    def features(self, items: Any, what: str) -> BoolArray:
        """Mask of the features that names or positions stand for; a coded column stands for all of its features."""
        mask = np.zeros(self.n_features, dtype=bool)
        for item in [items] if isinstance(items, str) else items:
            mask[self._positions(item, what)] = True
        return mask

    def per_feature(self, given: Any, default: float, what: str) -> FloatArray:
        """One number a feature, from an array or from a mapping of some features; NaN and what is left out are default."""
        out = np.full(self.n_features, default)
        if isinstance(given, Mapping):
            for item, value in given.items():
                out[self._positions(item, what)] = value
        elif given is not None:
            values = np.asarray(given, dtype=float)
            if values.shape != (self.n_features,):
                raise ValueError(f"{what} has shape {values.shape}, but there are {self.n_features} features: {self._shown()}")
            out = np.where(np.isnan(values), default, values)
        return out

    def _positions(self, item: Any, what: str) -> list[int]:
        if isinstance(item, Integral) and not isinstance(item, bool) and 0 <= int(item) < self.n_features:
            return [int(item)]
        if isinstance(item, str) and self.names.count(item) == 1:
            return [self.names.index(item)]
        if isinstance(item, str) and self.columns.count(item) == 1:
            return np.flatnonzero(self.blocks == self.columns.index(item)).tolist()
        raise ValueError(f"{what}: there is no feature {item!r}; the features are {self._shown()}")

    def _shown(self) -> str:
        return ", ".join(self.names[:6]) + (", ..." if self.n_features > 6 else "")


def explainable(model: Any) -> Explainable:
    """Take a model apart.

    Parameters
    ----------
    model : fitted estimator with surfaces, Pipeline ending in one, model with ``estimator_`` around either, QuadraticSurface
    """
    steps, calibrators, predictor = _unwrapped(model)
    front, scalers = _split(steps)
    if isinstance(predictor, QuadraticSurface):
        surfaces, classes = [predictor], SIDES
    else:
        surfaces, classes = list(predictor.surfaces_), np.asarray(predictor.classes_)
    n_features = surfaces[0].n_features
    names = _feature_names(front, (*scalers, predictor), n_features)
    coder: Any = front[-1] if front else None
    blocks, numeric = getattr(coder, "blocks_", None), getattr(coder, "numeric_", None)
    return Explainable(
        predictor=predictor,
        front=front,
        scalers=scalers,
        surfaces=surfaces,
        classes=classes,
        units=_units((*scalers, predictor), n_features),
        names=names,
        numeric=np.ones(n_features, dtype=bool) if numeric is None else np.asarray(numeric, dtype=bool),
        columns=names if blocks is None else [str(name) for name in coder.input_names_],
        blocks=np.arange(n_features) if blocks is None else np.asarray(blocks, dtype=np.intp),
        probability=calibrators[0] if len(calibrators) == 1 else None,
        log_odds=_sigmoids(calibrators),
    )


def _sigmoids(calibrators: Sequence[Any]) -> list[SigmoidCalibration]:
    """The calibrations of several classes if log-odds, which are quadratic too, tell which is the likeliest; else none."""
    sigmoids = [calibrator for calibrator in calibrators if isinstance(calibrator, SigmoidCalibration)]
    return sigmoids if len(sigmoids) == len(calibrators) > 1 else []


def multiplied(surface: QuadraticSurface, factor: float) -> QuadraticSurface:
    """factor * f."""
    return QuadraticSurface(factor * surface.W, factor * surface.b, factor * surface.c)


class _Unwrapped(NamedTuple):
    steps: list[Any]
    calibrators: list[Any]
    predictor: Any


def _unwrapped(model: Any) -> _Unwrapped:
    """All transformers on the way, the outermost calibration, and the classifier at the end."""
    steps: list[Any] = []
    calibrators: list[Any] = []
    while not isinstance(model, QuadraticSurface):
        if isinstance(model, Pipeline):
            steps += [step for _, step in model.steps[:-1] if step is not None and not isinstance(step, str)]
            model = model.steps[-1][1]
        elif hasattr(model, "surfaces_"):
            break
        elif hasattr(model, "estimator_"):
            calibrators = calibrators or list(getattr(model, "calibrators_", ()))
            model = model.estimator_
        else:
            if hasattr(model, "fit"):
                check_is_fitted(model)
            raise TypeError(f"need a fitted quadric model, a Pipeline or a QuadraticSurface, not {type(model).__name__}")
    return _Unwrapped(steps, calibrators, model)


def _split(steps: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The front and the scalers that follow it."""
    first = len(steps)
    while first > 0 and _scaler_units(steps[first - 1]) is not None:
        first -= 1
    return tuple(steps[:first]), tuple(steps[first:])


def _scaler_units(step: Any) -> Units | None:
    """What a scaler does, or None for any other transformer."""
    if getattr(step, "clip", False):
        return None
    if isinstance(step, MinMaxScaler):
        return Units(-step.min_ / step.scale_, 1.0 / step.scale_)
    if isinstance(step, MaxAbsScaler):
        return Units(np.zeros(step.n_features_in_), step.scale_)
    if isinstance(step, StandardScaler):
        center, scale = (step.mean_ if step.with_mean else None), step.scale_
    elif isinstance(step, RobustScaler):
        center, scale = step.center_, step.scale_
    else:
        return None
    n = step.n_features_in_
    return Units(np.zeros(n) if center is None else center, np.ones(n) if scale is None else scale)


def _units(steps: Sequence[Any], n_features: int) -> Units:
    units = Units(np.zeros(n_features), np.ones(n_features))
    *scalers, predictor = steps
    for step in scalers:
        own = _scaler_units(step)
        assert own is not None
        units = units.then(own)
    if hasattr(predictor, "center_"):
        units = units.then(Units(predictor.center_, predictor.scale_))
    return units


def _feature_names(front: Sequence[Any], rest: Sequence[Any], n_features: int) -> list[str]:
    for step in rest:
        if hasattr(step, "feature_names_in_"):
            return [str(name) for name in step.feature_names_in_]
    names: Any = None
    try:
        for step in front:
            names = step.get_feature_names_out(names)
    except (AttributeError, ValueError):  # a transformer that cannot name its output
        names = None
    return default_names(n_features) if names is None else [str(name) for name in names]


def _even_odds(probability: Callable[[FloatArray], FloatArray]) -> float:
    """The largest decision value with a probability of at most one half, to the last bit."""
    low, high = -1.0, 1.0
    while probability(np.array([low]))[0] > 0.5 and low > -FAR:
        low *= 2.0
    while probability(np.array([high]))[0] <= 0.5 and high < FAR:
        high *= 2.0
    if probability(np.array([low]))[0] > 0.5 or probability(np.array([high]))[0] <= 0.5:
        raise ValueError("the calibrated probability does not rise through one half: give a cutoff on the decision function")
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (low, middle) if probability(np.array([middle]))[0] > 0.5 else (middle, high)
    return low


@contextmanager
def _without_name_warnings() -> Iterator[None]:
    """Rows in reported units are arrays, also where the model was fitted to named columns."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names", category=UserWarning)
        yield
