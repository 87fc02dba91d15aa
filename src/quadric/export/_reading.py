"""The document of a model file as a model: every value is checked before anything is built from it."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from quadric.certificate import Certificate
from quadric.estimators import SparseQuadraticSVCCV
from quadric.estimators.calibration import METHODS, CalibratedModel
from quadric.export._checks import ModelFileError, Node
from quadric.export._parameters import ARRAY_TYPES, read_parameter
from quadric.export._schema import (
    ESTIMATORS,
    FITTED,
    MAX_CLASSES,
    MAX_COEFFICIENTS,
    MAX_FEATURES,
    SCHEMA,
    DataOrigin,
    SavedModel,
)
from quadric.export._steps import read_step
from quadric.export.scoring import Sample
from quadric.fitted import FittedModel, fitted_model
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import term_count, term_index
from quadric.tables import Table
from quadric.tables.table import text_column
from quadric.types import FloatArray

KEYS = (
    "schema",
    "quadric_version",
    "task",
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
)
ESTIMATOR_KEYS = ("class", "step", *FITTED)
_LABELS: dict[str, Any] = {"b": bool, "i": int, "u": int, "f": float, "U": str, "O": str | int | float}
SAMPLE_TOLERANCE = 1e-9
"""How far scores of the sample rows may be from those in the file, relative to the sum of the absolute terms."""


def read_document(document: Any) -> SavedModel:
    """The model of a parsed file.

    Parameters
    ----------
    document : Any
        What the JSON parser gave.
    """
    _check_schema(document)
    try:
        return _model(Node(document, "").fields(KEYS))
    except ModelFileError:
        raise
    except (ValueError, TypeError, OverflowError, LookupError, AttributeError) as error:  # what classes refuse
        raise ModelFileError(f"damaged model file: {error}") from None


def _check_schema(document: Any) -> None:
    if not isinstance(document, dict) or "schema" not in document:
        raise ModelFileError("not a quadric model file: it has no schema")
    schema = document["schema"]
    if isinstance(schema, int) and not isinstance(schema, bool) and schema > SCHEMA:
        shown = schema if schema < 10**9 else "far ahead"
        raise ModelFileError(f"made by a newer quadric (schema {shown}); this one reads up to {SCHEMA}: upgrade")
    if Node(schema, "schema").integer(1, SCHEMA) < SCHEMA:
        raise ModelFileError(f"made by an early version of quadric (schema {schema}): fit the model again and save it anew")


def _model(top: dict[str, Node]) -> SavedModel:
    top["quadric_version"].text()
    task = top["task"].fields(("target", "classes", "positive", "labels", "dtype"))
    names, labels = _classes(task)
    steps = _steps(top["steps"])
    n_features = top["features"].fields(("count", "names"))["count"].integer(1, MAX_FEATURES)
    model = _classifier(top, n_features, labels)
    if steps:
        model = Pipeline([*steps, (top["estimator"].fields(ESTIMATOR_KEYS)["step"].text(), model)])
    if top["calibration"].value is not None:
        model = _calibrated(top["calibration"], model)
    view = _checked_view(top["steps"], model, n_features)
    samples = _samples(top["samples"], view, names)
    metadata = top["metadata"].value
    if not isinstance(metadata, dict):
        raise top["metadata"].fail("must be an object")
    target, data = task["target"].optional(Node.text), top["data"].optional(_origin)
    return SavedModel(model, names, target, metadata, data, samples)


def _checked_view(node: Node, model: Any, n_features: int) -> FittedModel:
    """The model taken apart, which fails where its steps do not fit together."""
    try:
        with np.errstate(all="ignore"):
            view = fitted_model(model)
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        raise node.fail(f"do not fit together: {error}") from None
    if view.n_features != n_features:
        raise node.fail(f"make {view.n_features} features, but the classifier takes {n_features}")
    if not (np.isfinite(view.center).all() and np.isfinite(view.scale).all() and (view.scale > 0.0).all()):
        raise node.fail("have a scale that is not positive")
    return view


def _classes(task: dict[str, Node]) -> tuple[tuple[str, ...], np.ndarray]:
    """Names and labels."""
    names = tuple(task["classes"].texts(at_most=MAX_CLASSES))
    if len(names) < 2:
        raise task["classes"].fail("must have two classes or more")
    if task["positive"].value != (names[1] if len(names) == 2 else None):
        raise task["positive"].fail("must be the second of two classes, or null")
    values = [read_parameter(item) for item in task["labels"].items(length=len(names))]
    kind = task["dtype"].text()
    if not ARRAY_TYPES.fullmatch(kind) or not all(isinstance(value, _LABELS[kind[1]]) for value in values):
        raise task["labels"].fail("do not fit their type")
    if not all(low < high for low, high in pairwise(values)):
        raise task["labels"].fail("must be in increasing order")
    labels = np.array(values, dtype=kind)
    if labels.tolist() != values:
        raise task["labels"].fail("do not fit their type")
    return names, labels


def _steps(node: Node) -> list[tuple[str, Any]]:
    steps = [read_step(item) for item in node.items(at_most=MAX_FEATURES)]
    if any(isinstance(step, str) for _, step in steps):
        raise node.fail("must be transformers")
    if len({name for name, _ in steps}) < len(steps):
        raise node.fail("must have unique names")
    return steps


def _classifier(top: dict[str, Node], n_features: int, labels: np.ndarray) -> Any:
    keys = top["estimator"].fields(ESTIMATOR_KEYS)
    kind = ESTIMATORS[keys["class"].choice(ESTIMATORS)]
    n_surfaces = 1 if len(labels) == 2 else len(labels)
    if n_surfaces * n_features**2 > MAX_COEFFICIENTS:
        raise top["surfaces"].fail(f"of {n_features} features are too large: at most {MAX_COEFFICIENTS} coefficients")
    parameters = top["params"].fields(kind().get_params(deep=False))
    classifier = kind(**{name: read_parameter(node) for name, node in parameters.items()})
    classifier.classes_, classifier.n_features_in_ = labels, n_features
    names = top["features"].fields(("count", "names"))["names"]
    if names.value is not None:
        classifier.feature_names_in_ = np.array(names.texts(n_features), dtype=object)
    classifier._set_surfaces([_surface(item, n_features) for item in top["surfaces"].items(n_surfaces)])
    if top["certificates"].value != []:  # baselines have none
        classifier.certificates_ = [_certificate(item) for item in top["certificates"].items(n_surfaces)]
    if keys["status"].value is not None:
        classifier.status_ = [item.text() for item in keys["status"].items(n_surfaces)]
    if keys["n_iter"].value is not None:
        classifier.n_iter_ = np.array([item.integer(0, 2**62) for item in keys["n_iter"].items(n_surfaces)])
    if keys["center"].value is not None or getattr(classifier, "standardize", False) is not False:
        _set_units(classifier, keys, n_features)
    if kind is SparseQuadraticSVCCV:
        classifier.best_k_, classifier.best_C_ = keys["best_k"].integer(1, 2**62), keys["best_C"].number()
    return classifier


def _set_units(classifier: Any, keys: dict[str, Node], n_features: int) -> None:
    """What classifiers have that standardise by themselves."""
    classifier.center_, classifier.scale_ = (np.array(keys[name].numbers(n_features)) for name in ("center", "scale"))
    if not (classifier.scale_ > 0.0).all():
        raise keys["scale"].fail("must be positive")
    classifier.raw_surfaces_ = [surface.unscale(classifier.center_, classifier.scale_) for surface in classifier.surfaces_]


def _surface(node: Node, n_features: int) -> QuadraticSurface:
    keys = node.fields(("terms", "c"))
    z = np.zeros(term_count(n_features))
    taken = set()
    for term in keys["terms"].items(at_most=len(z)):
        first, second, value = term.items(length=3)
        i = first.integer(0, n_features - 1)
        j = second.optional(lambda item, low=i: item.integer(low, n_features - 1))  # type: ignore[misc]
        position = term_index(i, j, n_features)
        if position in taken:
            raise term.fail("comes twice")
        taken.add(position)
        z[position] = value.number()
    return QuadraticSurface.from_coordinates(z, keys["c"].number())


def _certificate(node: Node) -> Certificate:
    keys = node.fields([field.name for field in fields(Certificate)])
    return Certificate(
        objective=keys["objective"].number(),
        n_terms=keys["n_terms"].integer(0, 2**62),
        k=keys["k"].integer(0, 2**62),
        stationarity=keys["stationarity"].number(),
        basic_feasible=keys["basic_feasible"].boolean(),
        local_minimum=keys["local_minimum"].boolean(),
        ridge=keys["ridge"].number(),
        swap_optimal=keys["swap_optimal"].optional(Node.boolean),
        lower_bound=keys["lower_bound"].optional(Node.number),
        gap=keys["gap"].optional(Node.number),
        status=keys["status"].choice(("local", "gap", "optimal")),
    )


def _calibrated(node: Node, estimator: Any) -> CalibratedModel:
    keys = node.fields(("method", "curves", "params"))
    kind = METHODS[keys["method"].choice(METHODS)]
    curves = [item.fields([field.name for field in fields(kind)]) for item in keys["curves"].items(at_most=MAX_FEATURES)]
    read = [{n: v.numbers() if isinstance(v.value, list) else v.number() for n, v in curve.items()} for curve in curves]
    model = CalibratedModel.from_parts(estimator, [kind(**values) for values in read])  # type: ignore[arg-type]
    parameters = keys["params"].fields(("cv", "n_jobs"))
    return model.set_params(**{name: read_parameter(value) for name, value in parameters.items()})


def _origin(node: Node) -> DataOrigin:
    keys = node.fields(("rows", "sha256"))
    return DataOrigin(keys["rows"].integer(0, 2**62), keys["sha256"].optional(Node.text))


def _samples(node: Node, view: FittedModel, class_names: tuple[str, ...]) -> Table:
    """The sample rows; the model must give them the scores that the file has."""
    columns: list[list[Any]] = [[] for _ in view.inputs]
    scores = []
    for item in node.items():
        keys = item.fields([field.name for field in fields(Sample)])
        for column, kept, value in zip(view.inputs, columns, keys["values"].items(len(columns)), strict=True):
            kept.append(value.optional(Node.text if column.is_written else Node.number))
        scores.append(keys["scores"].numbers(len(view.surfaces)))
        keys["label"].choice(class_names)
        keys["probabilities"].optional(lambda item: item.numbers(len(class_names)))
    arrays = [
        text_column(values) if column.is_written else np.array(values, dtype=float)
        for column, values in zip(view.inputs, columns, strict=True)
    ]
    table = Table(tuple(view.input_names), tuple(arrays))
    if table.n_rows:
        _check_scores(node, view, table, np.array(scores))
    return table


def _check_scores(node: Node, view: FittedModel, rows: Table, expected: FloatArray) -> None:
    with np.errstate(all="ignore"):
        scores = view.decision(rows).reshape(expected.shape)
        U = view.fitted(rows)
        allowed = SAMPLE_TOLERANCE * (1.0 + np.column_stack([surface.magnitude(U) for surface in view.surfaces]))
        wrong = np.argwhere(~((np.abs(scores - expected) <= allowed) & np.isfinite(allowed)))
    if len(wrong):
        row, surface = wrong[0]
        found, wanted = scores[row, surface], expected[row, surface]
        raise node.fail(f"do not fit the model: row {row} scores {found:.6g}, the file says {wanted:.6g}")
