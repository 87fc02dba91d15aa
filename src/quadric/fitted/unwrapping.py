"""A fitted model taken apart once: inputs, features, units, surfaces, classes and calibrations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from quadric.estimators.base import SparseSurfaceClassifier, SurfaceClassifier
from quadric.estimators.calibration import CalibratedModel
from quadric.estimators.cutoffs import EVEN
from quadric.fitted.model import FittedModel, Model
from quadric.fitted.steps import ColumnNotes, Variable, check_fitted, filled_in, read_step
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import default_names
from quadric.samples.units import Units
from quadric.tables import CodedFeature, InputColumn
from quadric.tables.inputs import Level, with_unique_names

SIDES = np.array([-1, 1])
"""Classes of a bare surface: its negative and its positive side."""


def fitted_model(model: Model | FittedModel) -> FittedModel:
    """Take a model apart.

    Parameters
    ----------
    model : fitted estimator with surfaces, CalibratedModel, Pipeline ending in either, QuadraticSurface or FittedModel
        The other steps of a Pipeline (nested ones too) may be StandardScaler, RobustScaler, MinMaxScaler, MaxAbsScaler,
        SimpleImputer, OneHotEncoder, OrdinalEncoder, TableEncoder, and ColumnTransformer of these.

    Returns
    -------
    FittedModel
    """
    if isinstance(model, FittedModel):
        return model
    steps, calibrated, classifier = _unwrapped(model)
    calibrators = tuple(getattr(calibrated or classifier, "calibrators_", ()))  # some losses give probabilities themselves
    first = steps[0][1] if steps else classifier
    if not isinstance(first, QuadraticSurface):
        check_fitted(first)
    n_inputs = classifier.n_features if isinstance(first, QuadraticSurface) else first.n_features_in_
    names = [str(name) for name in getattr(first, "feature_names_in_", default_names(n_inputs))]
    notes = ColumnNotes()
    absent = np.nan if steps else None  # which the classifier itself refuses
    variables = [Variable(CodedFeature(name, i, "number", missing=absent)) for i, name in enumerate(names)]
    for name, step in steps:
        variables = read_step(name, step, variables, notes)
    if isinstance(classifier, SparseSurfaceClassifier):
        variables = _in_units(variables, classifier._units)
    is_surface, used = isinstance(classifier, QuadraticSurface), {variable.feature.input for variable in variables}
    return FittedModel(
        model=model,
        steps=steps,
        classifier=classifier,
        calibrators=calibrators,
        threshold=getattr(calibrated, "cutoff_", EVEN) if calibrators else 0.0,
        inputs=tuple(notes.encoded.get(i) or _input(name, i in used, notes.levels.get(i)) for i, name in enumerate(names)),
        variables=_finished(variables),
        has_names=hasattr(first, "feature_names_in_"),
        blank=notes.blank,
        surfaces=[classifier] if is_surface else list(classifier.surfaces_),
        classes=SIDES if is_surface else np.asarray(classifier.classes_),
    )


def _unwrapped(model: Any) -> tuple[tuple[tuple[str, Any], ...], CalibratedModel | None, Any]:
    """All transformers on the way, the outermost calibration, and the classifier at the end."""
    steps: list[tuple[str, Any]] = []
    calibrated: CalibratedModel | None = None
    while isinstance(model, Pipeline | CalibratedModel):
        check_fitted(model)
        if isinstance(model, Pipeline):
            steps += model.steps[:-1]
            model = model.steps[-1][1]
        else:  # of two calibrations the outer one counts: both were fitted on decision values of the same classifier
            calibrated, model = calibrated or model, model.estimator_
    if not isinstance(model, SurfaceClassifier | QuadraticSurface):
        raise TypeError(f"need a fitted quadric model, a Pipeline or a QuadraticSurface, not {type(model).__name__}")
    steps = list(_flat(steps))
    names = [name for name, _ in steps]
    unique = tuple((f"{name}-{i}" if name in names[:i] else name, step) for i, (name, step) in enumerate(steps))
    return unique, calibrated, model


def _flat(steps: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The steps without those that do nothing; those of a Pipeline one by one."""
    for name, step in steps:
        if isinstance(step, Pipeline):
            check_fitted(step)
            yield from _flat(step.steps)
        elif step is not None and step != "passthrough":
            yield name, step


def _input(name: str, is_used: bool, levels: set[Level] | None) -> InputColumn:
    if levels is None:
        return InputColumn(name, "number" if is_used else "unused", missing_texts=None)
    kind = "category" if any(isinstance(level, str) for level in levels) else "number"
    return InputColumn(name, kind, tuple(sorted(levels)), missing_texts=None)


def _in_units(variables: Sequence[Variable], units: Units) -> list[Variable]:
    """The variables after what the classifier itself does to its columns."""
    columns = np.column_stack([units.low, units.high, units.center, units.scale]).tolist()
    pairs = zip(variables, columns, strict=True)
    return [variable.capped(low, high).scaled(center, scale) for variable, (low, high, center, scale) in pairs]


def _finished(variables: Sequence[Variable]) -> tuple[Variable, ...]:
    """With names that differ, and None for values that are refused because NaN reaches the classifier."""
    features = with_unique_names(variable.feature for variable in variables)
    return tuple(replace(v, feature=filled_in(feature, None)) for v, feature in zip(variables, features, strict=True))
