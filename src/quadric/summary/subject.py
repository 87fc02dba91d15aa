"""What is summarised: a fitted model taken apart, and the data in each of its units."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from quadric.estimators._constraints import support_limits
from quadric.explain._model import Explainable, explainable
from quadric.export._parts import Parts, put_together, take_apart
from quadric.export._shown import ANYTHING, shown
from quadric.export.scoring import checked_class_names
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import term_count
from quadric.search.rules import SupportLimits
from quadric.summary.values import Feature
from quadric.tables import CodedFeature, Table, as_table
from quadric.types import BoolArray, FloatArray, IntArray


def printable(text: Any) -> str:
    """A text from data with everything unprintable written as an escape."""
    return shown(str(text), plain=ANYTHING)


@dataclass(frozen=True)
class Subject:
    """A fitted model and the data it is shown on.

    Attributes
    ----------
    model : fitted classifier, Pipeline or CalibratedModel
    parts : Parts
        Encoder, scaler, classifier, calibration.
    known : Explainable
        The same as explanations see it.
    X : Table, frame or array
        As given.
    codes : array of shape (m,)
        Positions of the labels in ``classes_``.
    V, U : arrays of shape (m, n)
        Features in raw units, and in those of the surfaces.
    class_names : tuple of str
    """

    model: Any
    parts: Parts
    known: Explainable
    X: Any
    codes: IntArray
    V: FloatArray
    U: FloatArray
    class_names: tuple[str, ...]

    @staticmethod
    def of(model: Any, X: Any, y: Any, class_names: Sequence[str] | None) -> Subject:
        """Take a model apart and check the data against it."""
        parts, known = take_apart(model), explainable(model)
        if parts.encoder is None and isinstance(X, Table):
            X = np.column_stack([X[column.name] for column in parts.inputs()])
        V = known.reported(X)
        codes = _codes(known.classes.tolist(), y, len(V))
        names = tuple(printable(name) for name in checked_class_names(parts, class_names))
        return Subject(model, parts, known, X, codes, V, known.fitted(V), names)

    @property
    def classifier(self) -> Any:
        return self.parts.classifier

    @property
    def is_binary(self) -> bool:
        return len(self.class_names) == 2

    @property
    def labels(self) -> np.ndarray:
        """Labels as the classifier knows them."""
        return np.asarray(self.known.classes[self.codes])

    @property
    def is_event(self) -> BoolArray:
        """Whether a sample is of the positive one of two classes."""
        return np.asarray(self.codes == 1)

    @cached_property
    def decision(self) -> FloatArray:
        """The model's own decision values, (m,) or (m, n_classes)."""
        return self.known.scores(self.V)

    @cached_property
    def cutoff(self) -> float | None:
        """The decision value above which the positive class is decided; None where a calibration never decides for it."""
        try:
            return self.known.cutoff(None)
        except ValueError:
            return None

    @cached_property
    def predicted(self) -> IntArray:
        """Positions of the classes that the model decides for."""
        return np.searchsorted(self.known.classes, np.asarray(self.model.predict(self.X)))

    @property
    def k(self) -> int:
        """Terms that the model was allowed; no more than there are."""
        k = int(getattr(self.classifier, "best_k_", getattr(self.classifier, "k", 0)))
        return min(k, term_count(self.known.n_features))

    @property
    def C(self) -> float:
        return float(getattr(self.classifier, "best_C_", getattr(self.classifier, "C", 1.0)))

    @cached_property
    def limits(self) -> SupportLimits:
        """What the model had to include and to exclude."""
        names = getattr(self.classifier, "feature_names_in_", None)
        return support_limits(self.classifier.include, self.classifier.exclude, names, self.known.n_features, self.k)

    @property
    def search(self) -> dict[str, Any]:
        """The model's own way of fitting, as parameters of paths and classifiers."""
        own = self.classifier
        return {
            "loss": own.loss,
            "method": "pd" if own.method == "pd" else "best",  # a proof for every k would take too long
            "class_weight": own.class_weight,
            "include": self.limits.include.tolist(),
            "exclude": self.limits.exclude.tolist(),
            "random_state": own.random_state,
        }

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        encoder, inputs = self.parts.encoder, self.parts.inputs()
        if encoder is not None:
            coded = encoder.features_
        else:
            coded = tuple(CodedFeature(name, i, "number") for i, name in enumerate(self.known.names))
        units, low, high = self.known.units, self.V.min(axis=0), self.V.max(axis=0)
        return tuple(
            Feature(
                _feature_name(feature, inputs[feature.input].name),
                printable(inputs[feature.input].name),
                feature.kind,
                float(units.center[j]),
                float(units.scale[j]),
                float(low[j]),
                float(high[j]),
                tuple(map(printable, inputs[feature.input].categories)) if feature.kind == "rank" else (),
            )
            for j, feature in enumerate(coded)
        )

    @cached_property
    def table(self) -> Table:
        """The data as they came, column by column."""
        return as_table(self.X, [column.name for column in self.parts.inputs()])

    def with_surface(self, surface: QuadraticSurface) -> Any:
        """The model, without calibration, as it would be with another surface."""
        classifier = copy.copy(self.classifier)
        classifier._set_surfaces([surface])
        return put_together(replace(self.parts, classifier=classifier))


def _feature_name(feature: CodedFeature, column: str) -> str:
    name = printable(column)
    if feature.kind == "level":
        return f"{name} = {printable(feature.level)}"
    return {"rank": f"rank of {name}", "missing": f"{name} is missing"}.get(feature.kind, name)


def _codes(classes: list[Any], y: Any, n_rows: int) -> IntArray:
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise ValueError(f"y has shape {labels.shape}, but X has {n_rows} rows: give one label a row")
    position = {label: code for code, label in enumerate(classes)}
    unknown = sorted({label for label in labels.tolist() if label not in position}, key=str)
    if unknown:
        raise ValueError(f"y has labels that the model does not know: {unknown[:5]}; it knows {classes}")
    codes = np.array([position[label] for label in labels.tolist()], dtype=np.intp)
    lost = [label for label, code in position.items() if not (codes == code).any()]
    if lost:
        raise ValueError(f"y has no sample of class {lost[0]!r}: a report needs samples of every class")
    return codes
