"""What is summarised: a fitted model taken apart, and the data in each of its units."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Any

import numpy as np

from quadric.errors import quoted
from quadric.estimators import ScaleWarning, SparseQuadraticSVC, sparse_quadratic_path
from quadric.estimators.base import SparseSurfaceClassifier
from quadric.estimators.constraints import QUADRATIC
from quadric.export import SavedModel
from quadric.export.scoring import checked_class_names
from quadric.fitted import FittedModel, fitted_model
from quadric.geometry.redundancy import redundant_of_samples
from quadric.geometry.terms import term_count
from quadric.labels import refuse_masked
from quadric.report.values import Feature
from quadric.search.path import QuadraticPath
from quadric.search.rules import SupportLimits
from quadric.tables import CodedFeature, InputColumn, Table
from quadric.types import FloatArray, IntArray
from quadric.workflow.scoring import Scores, TableModel


@dataclass(frozen=True)
class Subject:
    """A fitted model and the data it is shown on.

    Attributes
    ----------
    tabular : TableModel
        The model as something that takes tables, with the names of its classes.
    X : Table, frame or array
        The rows as the model takes them.
    codes : array of shape (m,)
        Positions of the labels in ``classes_``.
    V : array of shape (m, n)
        Features in raw units.
    """

    tabular: TableModel
    X: Any
    codes: IntArray
    V: FloatArray

    @staticmethod
    def of(model: Any, X: Any, y: Any, class_names: Sequence[str] | None) -> Subject:
        """Take a model apart and check the data against it."""
        fitted = fitted_model(model)
        if not isinstance(fitted.classifier, SparseSurfaceClassifier):
            raise TypeError(
                f"a report needs a fitted SparseQuadraticSVC or SparseQuadraticSVCCV, not {type(fitted.classifier).__name__}"
            )
        tabular = TableModel(SavedModel(model, checked_class_names(fitted, class_names)))
        X = fitted.native(X)
        V = fitted.reported(X)
        return Subject(tabular, X, _codes(fitted.classes.tolist(), y, len(V)), V)

    @property
    def fitted(self) -> FittedModel:
        return self.tabular.view

    @property
    def class_names(self) -> tuple[str, ...]:
        return self.tabular.class_names

    @property
    def is_binary(self) -> bool:
        return len(self.class_names) == 2

    @property
    def labels(self) -> np.ndarray:
        """Labels as the classifier knows them."""
        return np.asarray(self.fitted.classes[self.codes])

    @cached_property
    def U(self) -> FloatArray:
        """Features in the units of the surfaces, of shape (m, n)."""
        return self.fitted.fitted(self.X)

    @cached_property
    def table(self) -> Table:
        """The data as they came, column by column."""
        return self.fitted.rows(self.X)

    @cached_property
    def scores(self) -> Scores:
        """What the model makes of the data."""
        return self.tabular.scores(self.table)

    @cached_property
    def cutoff(self) -> float | None:
        """The score above which the second of two classes is predicted."""
        return self.fitted.border

    @property
    def k(self) -> int:
        """Number of terms that the model was allowed; no more than there are."""
        return min(int(self.fitted.question("k")), term_count(self.fitted.n_features))

    @cached_property
    def limits(self) -> SupportLimits:
        """Terms that the model had to include and to exclude."""
        return self.fitted.limits(self.k)

    @cached_property
    def procedure(self) -> SparseQuadraticSVC:
        """The model's own way of fitting, with all its parameters, but without a proof: one per fold would take too long."""
        own = self.fitted.procedure()
        return own.set_params(method="best") if own.method == "exact" else own

    def path(self, U: FloatArray, codes: IntArray, ks: Sequence[int]) -> QuadraticPath:
        """Surfaces for several numbers of terms, with the parameters of the model."""
        own = self.procedure.get_params()
        shared = {name: own[name] for name in signature(sparse_quadratic_path).parameters if name in own}
        # the path itself takes samples as they are, with all terms
        limits = self.fitted.limits(self.k, QUADRATIC)  # linear terms are a parameter of their own
        left_out = limits.without(lambda: redundant_of_samples(U, np.ones(len(U)))).exclude
        shared["exclude"] = [*own["exclude"], *np.setdiff1d(left_out, limits.exclude).tolist()]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScaleWarning)  # fitting the model has said so
            return sparse_quadratic_path(U, codes, ks=list(ks), Cs=(own["C"],), **shared)

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        inputs, low, high = self.fitted.inputs, self.V.min(axis=0), self.V.max(axis=0)
        return tuple(
            Feature(
                name=_feature_name(feature, inputs[feature.input]),
                column=inputs[feature.input].name,
                kind=feature.kind,
                center=self.fitted.units.center[j],
                scale=self.fitted.units.scale[j],
                low=low[j],
                high=high[j],
                levels=tuple(map(str, inputs[feature.input].categories)) if feature.kind == "rank" else (),
                caps=tuple(self.fitted.variables[j].limits.values()),
            )
            for j, feature in enumerate(self.fitted.features)
        )


def _feature_name(feature: CodedFeature, own: InputColumn) -> str:
    column = own.name
    level = own.other or "infrequent" if feature.level is None else feature.level
    names = {"level": f"{column} = {level}", "rank": f"rank of {column}", "missing": f"{column} is missing"}
    return names.get(feature.kind, column if own.origin is None else f"{column} (days since {own.origin})")


def _codes(classes: list[Any], y: Any, n_rows: int) -> IntArray:
    refuse_masked(y=y)
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise ValueError(f"y has shape {labels.shape}, but X has {n_rows} rows: pass one label per row")
    position = {label: code for code, label in enumerate(classes)}
    unknown = sorted({label for label in labels.tolist() if label not in position}, key=str)
    if unknown:
        raise ValueError(f"y has labels that the model does not know: {unknown[:5]}; it knows {classes}")
    codes = np.array([position[label] for label in labels.tolist()], dtype=np.intp)
    absent = [label for label, code in position.items() if not (codes == code).any()]
    if absent:
        raise ValueError(f"y has no row of class {quoted(absent[0])}: a report needs rows of every class")
    return codes
