"""The document of a model file as a model: every value is checked before anything is built from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from quadric.certificate import Certificate
from quadric.credit import CalibratedModel, IsotonicCalibration, SigmoidCalibration
from quadric.estimators import SparseQuadraticSVCCV
from quadric.export._checks import ModelFileError, Node
from quadric.export._parameters import read_parameter
from quadric.export._parts import Parts, decision_values, put_together
from quadric.export._saved import DataOrigin, SavedModel
from quadric.export._schema import ESTIMATORS, FITTED, LABEL_TYPES, MAX_CLASSES, MAX_COEFFICIENTS, MAX_FEATURES, SCHEMA
from quadric.export.scoring import Sample
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import term_count, term_index
from quadric.tables import InputColumn, Table, TableEncoder
from quadric.tables.table import text_column
from quadric.types import FloatArray

KEYS = (
    "schema",
    "quadric_version",
    "task",
    "inputs",
    "coding",
    "scaler",
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
CODING_KEYS = ("coding", "max_levels", "missing", "unseen")
ESTIMATOR_KEYS = ("class", "steps", *FITTED)
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
    top = Node(document, "").fields(KEYS)
    try:
        return _model(top)
    except ModelFileError:
        raise
    except (ValueError, TypeError, OverflowError) as error:  # what our own classes refuse
        raise ModelFileError(f"damaged model file: {error}") from None


def _check_schema(document: Any) -> None:
    if not isinstance(document, dict) or "schema" not in document:
        raise ModelFileError("not a quadric model file: it has no schema")
    schema = document["schema"]
    if isinstance(schema, int) and not isinstance(schema, bool) and schema > SCHEMA:
        shown = schema if schema < 10**9 else "far ahead"
        raise ModelFileError(f"made by a newer quadric (schema {shown}); this one reads up to {SCHEMA}: upgrade")
    Node(schema, "schema").integer(1, SCHEMA)


def _model(top: dict[str, Node]) -> SavedModel:
    top["quadric_version"].text()
    task = _task(top["task"])
    encoder = _encoder(top["inputs"], top["coding"])
    n_features = _feature_count(top["features"], encoder)
    classifier = _classifier(top, n_features, task.labels)
    steps = tuple(top["estimator"].fields(ESTIMATOR_KEYS)["steps"].texts(length=3))
    parts = Parts(encoder, _scaler(top["scaler"], n_features), classifier, None, steps)
    model = put_together(parts)
    if top["calibration"].value is not None:
        model = _calibrated(top["calibration"], model)
    samples = _samples(top["samples"], model, parts, task.names)
    metadata = top["metadata"].value
    if not isinstance(metadata, dict):
        raise top["metadata"].fail("must be an object")
    return SavedModel(model, task.names, task.target, metadata, top["data"].optional(_origin), samples)


@dataclass(frozen=True)
class _Task:
    names: tuple[str, ...]
    labels: np.ndarray
    target: str | None


def _task(node: Node) -> _Task:
    task = node.fields(("target", "classes", "positive", "labels", "dtype"))
    names = tuple(task["classes"].texts(at_most=MAX_CLASSES))
    if len(names) < 2:
        raise task["classes"].fail("must have two classes or more")
    if task["positive"].value != (names[1] if len(names) == 2 else None):
        raise task["positive"].fail("must be the second of two classes, or null")
    values = [read_parameter(item) for item in task["labels"].items(length=len(names))]
    kind = task["dtype"].text()
    if not LABEL_TYPES.fullmatch(kind) or not all(isinstance(value, _LABELS[kind[1]]) for value in values):
        raise task["labels"].fail("do not fit their type")
    if not all(low < high for low, high in pairwise(values)):
        raise task["labels"].fail("must be in increasing order")
    labels = np.array(values, dtype=kind)
    if labels.tolist() != values:
        raise task["labels"].fail("do not fit their type")
    return _Task(names, labels, task["target"].optional(Node.text))


def _encoder(inputs: Node, coding: Node) -> TableEncoder | None:
    columns = [_input(item) for item in inputs.items(at_most=MAX_FEATURES)]
    if coding.value is None:
        if columns:
            raise inputs.fail("must be empty without a coding")
        return None
    if len({column.name for column in columns}) != len(columns) or not columns:
        raise inputs.fail("must be columns of different names, at least one")
    parameters = {name: read_parameter(node) for name, node in coding.fields((*CODING_KEYS, "output")).items()}
    output = parameters.pop("output")
    if sum(len(column.categories) + column.indicator + 1 for column in columns) > 2 * MAX_FEATURES:
        raise inputs.fail(f"make more than {MAX_FEATURES} features")
    return _with_output(TableEncoder.from_inputs(columns, **parameters), output)


def _input(node: Node) -> InputColumn:
    keys = node.fields([field.name for field in fields(InputColumn)])
    kind = keys["type"].choice(("number", "category"))
    categories = tuple(keys["categories"].texts(at_most=MAX_FEATURES))
    dropped = keys["dropped"].optional(Node.text)
    is_number = kind == "number"
    fill = keys["fill"].optional(Node.number) if is_number else keys["fill"].optional(Node.text)
    if is_number and (categories or dropped is not None):
        raise node.fail("is a number and has categories")
    if not is_number and not (categories and categories[0] and list(categories) == sorted(categories)):
        raise keys["categories"].fail("must be sorted texts, none of them empty, and at least one")
    if not {dropped, fill if not is_number else None} <= {None, *categories}:
        raise node.fail("drops or fills in a category that is not there")
    indicator = keys["indicator"].boolean()
    if indicator and fill is None:
        raise node.fail("marks missing values that it refuses")
    return InputColumn(keys["name"].text(), kind, categories, dropped, fill, indicator)


def _feature_count(node: Node, encoder: TableEncoder | None) -> int:
    count = node.fields(("count", "names"))["count"].integer(1, MAX_FEATURES)
    if encoder is not None and len(encoder.features_) != count:
        raise node.fail(f"are {count}, but the inputs make {len(encoder.features_)}")
    return count


def _scaler(node: Node, n_features: int) -> StandardScaler | None:
    if node.value is None:
        return None
    keys = node.fields(("center", "scale", "names", "output"))
    center = keys["center"].optional(lambda given: given.numbers(n_features))
    scale = keys["scale"].optional(lambda given: given.numbers(n_features))
    if scale is not None and not all(value > 0.0 for value in scale):
        raise keys["scale"].fail("must be positive")
    scaler = StandardScaler(with_mean=center is not None, with_std=scale is not None)
    scaler.mean_ = None if center is None else np.array(center)
    scaler.scale_ = None if scale is None else np.array(scale)
    _set_features(scaler, n_features, keys["names"])
    return _with_output(scaler, read_parameter(keys["output"]))


def _set_features(step: Any, n_features: int, names: Node) -> None:
    step.n_features_in_ = n_features
    if names.value is not None:
        step.feature_names_in_ = np.array(names.texts(n_features), dtype=object)


def _with_output(step: Any, output: Any) -> Any:
    if output not in (None, "default", "pandas", "polars"):
        raise ModelFileError("damaged model file: output must be pandas, polars, default or null")
    return step if output is None else step.set_output(transform=output)


def _classifier(top: dict[str, Node], n_features: int, labels: np.ndarray) -> Any:
    keys = top["estimator"].fields(ESTIMATOR_KEYS)
    kind = ESTIMATORS[keys["class"].choice(ESTIMATORS)]
    n_surfaces = 1 if len(labels) == 2 else len(labels)
    if n_surfaces * n_features**2 > MAX_COEFFICIENTS:
        raise top["surfaces"].fail(f"of {n_features} features are too large: at most {MAX_COEFFICIENTS} coefficients")
    parameters = top["params"].fields(kind._get_param_names())
    classifier = kind(**{name: read_parameter(node) for name, node in parameters.items()})
    classifier.classes_ = labels
    _set_features(classifier, n_features, top["features"].fields(("count", "names"))["names"])
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
        classifier.best_k_ = keys["best_k"].integer(1, 2**62)
        classifier.best_C_ = keys["best_C"].number()
    return classifier


def _set_units(classifier: Any, keys: dict[str, Node], n_features: int) -> None:
    """Center and scale of the sparse estimators."""
    classifier.center_ = np.array(keys["center"].numbers(n_features))
    classifier.scale_ = np.array(keys["scale"].numbers(n_features))
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
        j = second.optional(lambda given, low=i: given.integer(low, n_features - 1))  # type: ignore[misc]
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
    read = _CURVES[keys["method"].choice(_CURVES)]
    model = CalibratedModel.from_parts(estimator, [read(item) for item in keys["curves"].items(at_most=MAX_FEATURES)])
    parameters = keys["params"].fields(("cv", "n_jobs"))
    return model.set_params(**{name: read_parameter(value) for name, value in parameters.items()})


def _sigmoid(node: Node) -> SigmoidCalibration:
    keys = node.fields(("a", "b"))
    return SigmoidCalibration(keys["a"].number(), keys["b"].number())


def _isotonic(node: Node) -> IsotonicCalibration:
    keys = node.fields(("x", "y"))
    x = keys["x"].numbers()
    return IsotonicCalibration(np.array(x), np.array(keys["y"].numbers(len(x))))


_CURVES: dict[str, Callable[[Node], SigmoidCalibration | IsotonicCalibration]] = {"sigmoid": _sigmoid, "isotonic": _isotonic}


def _origin(node: Node) -> DataOrigin:
    keys = node.fields(("rows", "sha256"))
    return DataOrigin(keys["rows"].integer(0, 2**62), keys["sha256"].optional(Node.text))


def _samples(node: Node, model: Any, parts: Parts, class_names: tuple[str, ...]) -> Table:
    """The sample rows; the model must give them the scores that the file has."""
    columns: list[list[Any]] = [[] for _ in parts.inputs()]
    scores = []
    for item in node.items():
        keys = item.fields([field.name for field in fields(Sample)])
        for column, kept, value in zip(parts.inputs(), columns, keys["values"].items(len(columns)), strict=True):
            kept.append(value.optional(Node.number if column.type == "number" else Node.text))
        scores.append(keys["scores"].numbers(len(parts.classifier.surfaces_)))
        keys["label"].choice(class_names)
        keys["probabilities"].optional(lambda given: given.numbers(len(class_names)))
    arrays = [
        np.array(values, dtype=float) if column.type == "number" else text_column(values)
        for column, values in zip(parts.inputs(), columns, strict=True)
    ]
    table = Table(tuple(column.name for column in parts.inputs()), tuple(arrays))
    if table.n_rows:
        _check_scores(node, model, parts, table, np.array(scores))
    return table


def _check_scores(node: Node, model: Any, parts: Parts, rows: Table, expected: FloatArray) -> None:
    with np.errstate(all="ignore"):
        scores = decision_values(model, parts, rows)
        allowed = SAMPLE_TOLERANCE * (1.0 + _sums_of_absolute_terms(parts, rows))
        wrong = np.argwhere(~((np.abs(scores - expected) <= allowed) & np.isfinite(allowed)))
    if len(wrong):
        row, surface = wrong[0]
        found, wanted = scores[row, surface], expected[row, surface]
        raise node.fail(f"do not fit the model: row {row} scores {found:.6g}, the file says {wanted:.6g}")


def _sums_of_absolute_terms(parts: Parts, rows: Table) -> FloatArray:
    center, scale = parts.standardisation()
    X = np.column_stack(rows.columns) if parts.encoder is None else np.asarray(parts.encoder.transform(rows))
    Z = np.abs((X - center) / scale)
    surfaces = [QuadraticSurface(np.abs(s.W), np.abs(s.b), abs(s.c)) for s in parts.classifier.surfaces_]
    return np.column_stack([surface(Z) for surface in surfaces])
