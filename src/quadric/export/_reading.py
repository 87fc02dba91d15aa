"""The document of a model file as a model: every value is checked before anything is built from it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from quadric.certificate import Certificate
from quadric.estimators import SparseQuadraticSVCCV
from quadric.estimators.base import SparseSurfaceClassifier
from quadric.estimators.calibration import METHODS, CalibratedModel, decided
from quadric.estimators.constraints import LINEAR, QUADRATIC
from quadric.estimators.cutoffs import read_cutoff
from quadric.estimators.shape_rules import SHAPES
from quadric.estimators.validation import OVR, SHARED, check_parameters
from quadric.export._checks import ModelFileError, Node
from quadric.export._probes import accepts
from quadric.export._schema import (
    ADDED_LATER,
    BOX,
    ESTIMATORS,
    FITTED,
    INFINITE,
    MAX_CLASSES,
    MAX_COEFFICIENTS,
    MAX_FEATURES,
    MEMBERS,
    SCHEMA,
    UNITS,
    DataOrigin,
    SavedModel,
    digest,
)
from quadric.export._steps import ARRAY_TYPES, read_parameter, read_parameters, read_step
from quadric.export.scoring import Sample
from quadric.fitted import FittedModel, fitted_model
from quadric.geometry.box import Box
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import term_count, term_index
from quadric.labels import class_texts
from quadric.losses import LOSS_NAMES
from quadric.samples.units import Units
from quadric.tables import Table
from quadric.types import BoolArray, FloatArray

# Limits of a column that is not capped.
ENDS = (-math.inf, math.inf)
ESTIMATOR_KEYS = ("class", "step", *FITTED)
_LABELS: dict[str, Any] = {"b": bool, "i": int, "u": int, "f": float, "U": str, "O": str | int | float}
ANSWER = (*(field.name for field in fields(Sample)), "prediction")
# How far scores may be from those in the file, relative to the sum of the absolute terms: sums are rounded in another order on
# other processors; formulas also combine the scalers, which cancels digits.
ROUNDING, FORMULA_ROUNDING = 1e-12, 1e-9


def read_document(document: Any) -> SavedModel:
    """The model of a parsed file.

    Parameters
    ----------
    document : Any
        What the JSON parser gave.
    """
    _check_schema(document)
    whole = Node(document, "")
    with whole.usable():
        top = whole.fields((*MEMBERS, "digest"))
        top["quadric_version"].text()
        task = top["task"].fields(("target", "classes", "positive", "labels", "dtype"))
        names, labels = _classes(task)
        target, data = task["target"].optional(Node.text), top["data"].optional(_origin)
        top["metadata"].require(isinstance(top["metadata"].value, dict), "must be an object")
        view = _checked_view(top, _model(top, labels))
        _check_digests(top)
        _check_inputs(top["inputs"], view)
        _checked_answers(top["probes"], view, names)
        samples = _checked_answers(top["samples"], view, names)
        return SavedModel(view.model, names, target, top["metadata"].value, data, samples)


def _check_schema(document: Any) -> None:
    if not isinstance(document, dict) or "schema" not in document:
        raise ModelFileError("not a quadric model file: it has no schema")
    schema = document["schema"]
    if isinstance(schema, int) and not isinstance(schema, bool) and schema > SCHEMA:
        shown = schema if schema < 10**9 else "far ahead"
        raise ModelFileError(f"made by a newer quadric (schema {shown}); this one reads up to {SCHEMA}: upgrade")
    if Node(schema, "schema").integer(1, SCHEMA) < SCHEMA:
        raise ModelFileError(f"made by an early version of quadric (schema {schema}): fit the model again and save it anew")


def _check_digests(top: dict[str, Node]) -> None:
    recorded = top["digest"].fields(MEMBERS)
    for name in MEMBERS:
        with top[name].usable():
            found = digest(top[name].value)
        top[name].require(
            recorded[name].value == found,
            "does not agree with its digest: the file was damaged or changed after it was written",
        )


def _model(top: dict[str, Node], labels: np.ndarray) -> Any:
    node = top["steps"]
    with node.usable():
        steps = [read_step(item) for item in node.items(at_most=MAX_FEATURES)]
        node.require(not any(isinstance(step, str) for _, step in steps), "must be transformers")
        node.require(len(dict(steps)) == len(steps), "must have unique names")
    n_features = top["features"].fields(("count", "names"))["count"].integer(1, MAX_FEATURES)
    model = _classifier(top, n_features, labels)
    if steps:
        model = Pipeline([*steps, (top["estimator"].fields(ESTIMATOR_KEYS, ADDED_LATER)["step"].text(), model)])
    with top["calibration"].usable():
        return model if top["calibration"].value is None else _calibrated(top["calibration"], model)


def _checked_view(top: dict[str, Node], model: Any) -> FittedModel:
    node, n_features = top["steps"], top["features"].value["count"]
    with node.usable():
        view = fitted_model(model)
    node.require(view.n_features == n_features, f"make {view.n_features} features, but the classifier takes {n_features}")
    node.require(
        np.isfinite(view.units.center).all() and np.isfinite(view.units.scale).all() and (view.units.scale > 0.0).all(),
        "have a scale that is not positive",
    )
    if view.is_ruled:
        with top["params"].usable():
            keeps = [view.keeps_rules(surface) for surface in view.surfaces]
        top["surfaces"].require(all(keeps), "break the rules on supports among the parameters")
    _check_shapes(top, view)
    return view


def _check_shapes(top: dict[str, Node], view: FittedModel) -> None:
    """Rules on slopes and coefficients are proved again, from the coefficients; the certificates get the new proofs."""
    own = view.classifier
    with top["params"].usable():
        demands = (
            view.demands(int(view.question("k"))) if any(getattr(own, name, None) is not None for name in SHAPES) else None
        )
    is_shaped = demands is not None and bool(demands.slopes or demands.bounds)
    top["estimator"].require(
        is_shaped == hasattr(own, "box_"), "has rules on slopes or coefficients without their box, or a box"
    )
    if is_shaped:  # what the caps allow must be in the box
        ends = own._units(np.array([own._units.low, own._units.high]))
        covered = (own.box_.low <= ends[0]) & (ends[1] <= own.box_.high)
        top["estimator"].require((covered | ~np.isfinite(ends).all(axis=0)).all(), "has a box that is smaller than the caps")
    with top["params"].usable():
        broken, proofs = view.broken_shape(), view.slope_proofs()
    top["surfaces"].require(broken is None, f"break the rules among the parameters: {broken}")
    if hasattr(own, "certificates_"):
        own.certificates_ = [replace(each, monotone=new) for each, new in zip(own.certificates_, proofs, strict=True)]


def _classes(task: dict[str, Node]) -> tuple[tuple[str, ...], np.ndarray]:
    names = tuple(task["classes"].texts(at_most=MAX_CLASSES))
    task["classes"].require(len(names) >= 2, "must have two classes or more")
    task["positive"].require(
        task["positive"].value == (names[1] if len(names) == 2 else None), "must be the second of two classes, or null"
    )
    values = [read_parameter(item) for item in task["labels"].items(length=len(names))]
    kind = task["dtype"].text()
    fits = ARRAY_TYPES.fullmatch(kind) and all(isinstance(value, _LABELS[kind[1]]) for value in values)
    task["labels"].require(fits, "do not fit their type")
    labels = np.array(values, dtype=kind)
    in_order = all(low < high for low, high in pairwise(values)) or class_texts(labels) == names
    task["labels"].require(in_order, "must be in increasing order, or the names of the classes")
    task["labels"].require(labels.tolist() == values, "do not fit their type")
    return names, labels


def _classifier(top: dict[str, Node], n_features: int, labels: np.ndarray) -> Any:
    keys = top["estimator"].fields(ESTIMATOR_KEYS, ADDED_LATER)
    kind = ESTIMATORS[keys["class"].choice(ESTIMATORS)]
    n_surfaces = 1 if len(labels) == 2 else len(labels)
    top["surfaces"].require(
        n_surfaces * n_features**2 <= MAX_COEFFICIENTS,
        f"of {n_features} features are too large: at most {MAX_COEFFICIENTS} coefficients",
    )
    with top["params"].usable():
        classifier = kind(**read_parameters(top["params"], kind().get_params(deep=False), ADDED_LATER))
        check_parameters(classifier, kind._rules)
    classifier.classes_, classifier.n_features_in_ = labels, n_features
    names = top["features"].fields(("count", "names"))["names"]
    if names.value is not None:
        classifier.feature_names_in_ = np.array(names.texts(n_features), dtype=object)
    with top["surfaces"].usable():
        classifier._set_surfaces([_surface(item, n_features) for item in top["surfaces"].items(n_surfaces)])
    if keys["box"].value is not None:
        classifier.box_ = _box(keys["box"], n_features)
    if keys["status"].value is not None:
        classifier.status_ = [item.text() for item in keys["status"].items(n_surfaces)]
    if keys["n_iter"].value is not None:
        classifier.n_iter_ = np.array([_count(item) for item in keys["n_iter"].items(n_surfaces)])
    if issubclass(kind, SparseSurfaceClassifier):
        with top["surfaces"].usable():
            classifier._set_units(_units(keys, n_features))
    if kind is SparseQuadraticSVCCV:
        classifier.best_loss_ = keys["best_loss"].choice(LOSS_NAMES)
        classifier.best_terms_ = keys["best_terms"].choice((LINEAR, QUADRATIC))
        classifier.best_k_, classifier.best_C_ = keys["best_k"].integer(1, 2**62), _amount(keys["best_C"])
    if top["certificates"].value != []:  # baselines have none
        k, items = getattr(classifier, "best_k_", getattr(classifier, "k", 0)), top["certificates"].items(n_surfaces)
        one, all_of_them = [[surface] for surface in classifier.surfaces_], [classifier.surfaces_] * n_surfaces
        groups = all_of_them if getattr(classifier, "multiclass", OVR) == SHARED else one
        classifier.certificates_ = [_certificate(item, group, k) for item, group in zip(items, groups, strict=True)]
    return classifier


def _units(keys: dict[str, Node], n_features: int) -> Units:
    columns = {name: keys[name].items(n_features) for name in UNITS}
    limits = ((columns[name], end) for name, end in zip(UNITS[:2], ENDS, strict=True))
    low, high = (np.array([end if item.value is None else item.number() for item in items]) for items, end in limits)
    for item, is_range in zip(columns["clip_high"], low <= high, strict=True):
        item.require(is_range, "must not be below clip_low")
    center, scale = (np.array([item.number() for item in columns[name]]) for name in UNITS[2:])
    return Units(low, high, center, scale)


def _box(node: Node, n_features: int) -> Box:
    keys, last = node.fields(BOX), n_features - 1
    low, high = (np.array(keys[name].numbers(n_features)) for name in ("low", "high"))
    keys["high"].require((low <= high).all(), "must not be below low")
    two_valued = np.zeros(n_features, dtype=bool)
    two_valued[[item.integer(0, last) for item in keys["two_valued"].items(at_most=n_features)]] = True
    groups = [[item.integer(0, last) for item in group.items()] for group in keys["levels"].items(at_most=n_features)]
    keys["levels"].require(len(set(chain(*groups))) == sum(map(len, groups)), "must not share features")
    keys["levels"].require(two_valued[list(chain(*groups))].all(), "must be features of two values")
    flags = {flag.integer(0, last): own.integer(0, last) for flag, own in (pair.items(2) for pair in keys["flags"].items())}
    fills = {own.integer(0, last): fill.number() for own, fill in (pair.items(2) for pair in keys["fills"].items())}
    return Box(low, high, two_valued, tuple(np.array(group, dtype=np.intp) for group in groups), flags, fills)


def _surface(node: Node, n_features: int) -> QuadraticSurface:
    keys = node.fields(("terms", "c"))
    z = np.zeros(term_count(n_features))
    taken = set()
    for term in keys["terms"].items(at_most=len(z)):
        first, second, value = term.items(length=3)
        i = first.integer(0, n_features - 1)
        j = second.optional(lambda item, low=i: item.integer(low, n_features - 1))  # type: ignore[misc]
        position = term_index(i, j, n_features)
        term.require(position not in taken, "comes twice")
        taken.add(position)
        z[position] = value.number()
    return QuadraticSurface.from_coordinates(z, keys["c"].number())


def _amount(node: Node) -> float:
    node.require(node.number() >= 0.0, "must not be negative")
    return node.number()


def _residual(node: Node) -> float:
    return math.inf if node.value == INFINITE else _amount(node)


def _count(node: Node) -> int:
    return node.integer(0, 2**62)


CERTIFICATE: dict[str, Callable[[Node], Any]] = {
    "objective": _amount,
    "n_terms": _count,
    "k": _count,
    "stationarity": _residual,
    "decrease": _residual,
    "basic_feasible": Node.boolean,
    "local_minimum": Node.boolean,
    "ridge": _residual,
    "swap_optimal": lambda node: node.optional(Node.boolean),
    "lower_bound": lambda node: node.optional(_amount),
    "gap": lambda node: node.optional(_residual),
    "status": lambda node: node.choice(("local", "gap", "optimal")),
    "n_surfaces": _count,
}


def _certificate(node: Node, surfaces: Sequence[QuadraticSurface], k: int) -> Certificate:
    """A certificate that says nothing else than its surface, or those that share its terms, the budget k and its own bound."""
    keys = node.fields(CERTIFICATE, ADDED_LATER)
    certificate = Certificate(**{name: read(keys[name]) for name, read in CERTIFICATE.items()})
    n_terms, bound = certificate.n_terms, certificate.lower_bound
    live = int(np.any([surface.coordinates() for surface in surfaces], axis=0).sum())
    keys["n_terms"].require(n_terms == live, f"is not that of the surface, which has {live}")
    keys["n_surfaces"].require(certificate.n_surfaces == len(surfaces), f"is not {len(surfaces)}, as multiclass says")
    keys["k"].require(n_terms <= certificate.k <= k, f"must be from n_terms to {k}, the budget of the model")
    keys["lower_bound"].require(bound is None or bound <= certificate.objective, "is above the objective")
    unbounded = replace(certificate, lower_bound=None, gap=None, status="local")
    expected = unbounded if bound is None else unbounded.bounded(bound)
    for name, key in keys.items():
        agrees = getattr(expected, name) == getattr(certificate, name)
        key.require(agrees, "does not agree with the objective, the bound and the status")
    return certificate


def _calibrated(node: Node, estimator: Any) -> CalibratedModel:
    keys = node.fields(("method", "curves", "cutoff", "params", "probes"))
    kind = METHODS[keys["method"].choice(METHODS)]
    curves = []
    for item in keys["curves"].items(at_most=MAX_CLASSES):
        numbers = item.fields([field.name for field in fields(kind)])
        with item.usable():
            values: dict[str, Any] = {n: v.numbers() if isinstance(v.value, list) else v.number() for n, v in numbers.items()}
            curves.append(kind(**values))
    with keys["cutoff"].usable():
        model = CalibratedModel.from_parts(estimator, curves, keys["cutoff"].number())
    for curve, probe in zip(curves, keys["probes"].items(len(curves)), strict=True):
        scores, chances = (np.array(value.numbers()) for value in probe.fields(("scores", "probabilities")).values())
        probe.require(
            len(scores) and scores.shape == chances.shape and (np.abs(curve(scores) - chances) <= ROUNDING).all(),
            "does not agree with the curve",
        )
    with keys["params"].usable():
        model.set_params(**read_parameters(keys["params"], ("cutoff", "cv", "n_jobs")))
        rule = read_cutoff(model.cutoff)
    keys["params"].require(rule == model.cutoff_ or not isinstance(rule, float), "do not agree with the cut-off")
    return model


def _origin(node: Node) -> DataOrigin:
    keys = node.fields(("rows", "sha256"))
    checksum = keys["sha256"].optional(Node.text)
    keys["sha256"].require(re.fullmatch("[0-9a-f]{64}", checksum or 64 * "0"), "must be 64 hexadecimal digits or null")
    return DataOrigin(_count(keys["rows"]), checksum)


def _check_inputs(node: Node, view: FittedModel) -> None:
    expected = accepts(view)
    for item, column in zip(node.items(len(expected)), expected, strict=True):
        for name, key in item.fields(column).items():
            key.require(key.value == column[name], "does not agree with the steps")


def _checked_answers(node: Node, view: FittedModel, names: tuple[str, ...]) -> Table:
    """Rows for which the model gives the scores, labels and probabilities of the file."""
    answers = [item.fields(ANSWER) for item in node.items()]
    node.require(answers, "is empty")
    rows = _rows(answers, view)
    scores = np.array([answer["scores"].numbers(len(view.surfaces)) for answer in answers])
    with node.usable():
        wrong = ~_same_scores(view, rows, scores).all(axis=1)
    answers[int(np.argmax(wrong))]["scores"].require(not wrong.any(), "does not agree with the model")
    codes, chances = view.decided(scores.reshape(len(scores)) if len(view.surfaces) == 1 else scores)
    if chances is not None:  # as written: which of two equal ones is the largest may depend on the processor
        stored = np.array([answer["probabilities"].numbers(len(names)) for answer in answers])
        wrong, codes = (np.abs(chances - stored) > ROUNDING).any(axis=1), decided(stored, view.threshold)
        answers[int(np.argmax(wrong))]["probabilities"].require(not wrong.any(), "does not agree with the model")
    for answer, code in zip(answers, codes.tolist(), strict=True):
        expected = {"label": names[code], "prediction": view.classes[code : code + 1].tolist()[0]}
        expected |= {"probabilities": None} if chances is None else {}
        for name, value in expected.items():
            answer[name].require(answer[name].value == value, "does not agree with the model")
    return rows


def _rows(answers: list[dict[str, Node]], view: FittedModel) -> Table:
    cells = zip(*(answer["values"].items(len(view.inputs)) for answer in answers), strict=True)
    kinds = [(Node.text, object) if column.is_written else (Node.number, float) for column in view.inputs]
    columns = [np.array([c.optional(read) for c in own], dtype=d) for (read, d), own in zip(kinds, cells, strict=True)]
    return Table(tuple(view.input_names), tuple(columns))


def _same_scores(view: FittedModel, rows: Table, expected: FloatArray) -> BoolArray:
    """Whether the model and its formulas, from which exports are written, both give these scores, of shape (m, n_surfaces)."""
    U, V, units = view.fitted(rows), view.reported(rows), view.units
    by_formula = np.column_stack([surface(units(V)) for surface in view.surfaces])
    sizes = np.column_stack([surface.magnitude(U) for surface in view.surfaces])
    before = (np.abs(np.clip(V, units.low, units.high)) + np.abs(units.center)) / units.scale  # sizes of what scalers subtract
    largest = np.column_stack([surface.magnitude(before) for surface in view.surfaces])
    return np.asarray(
        (np.abs(view.decision(rows).reshape(expected.shape) - expected) <= ROUNDING * sizes)
        & (np.abs(by_formula - expected) <= FORMULA_ROUNDING * largest)
        & np.isfinite(largest)
    )
