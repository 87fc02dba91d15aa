"""One view of a fitted model: its columns, its decisions, and the model itself."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array

from quadric.estimators import SparseQuadraticSVC
from quadric.estimators.base import predicted
from quadric.estimators.constraints import QUADRATIC, support_limits
from quadric.extras import require
from quadric.fitted.columns import Columns
from quadric.fitted.decisions import Decisions
from quadric.fitted.steps import without_name_warnings
from quadric.geometry.surface import QuadraticSurface
from quadric.labels import refuse_masked
from quadric.search.rules import SupportLimits
from quadric.tables import Table, TableEncoder
from quadric.tables.inputs import missing_cells
from quadric.types import FloatArray, IntArray

Model: TypeAlias = BaseEstimator | QuadraticSurface
"""What every door accepts; see :func:`quadric.fitted.fitted_model`."""
ROUNDING = 1e-9
"""Scores that differ by less, where margins are 1, do not differ."""


def is_level(scores: FloatArray) -> bool:
    """Whether scores are all the same, but for rounding."""
    return bool(np.ptp(scores) <= ROUNDING * max(1.0, np.abs(scores).max()))


@dataclass(frozen=True, eq=False)
class FittedModel(Columns, Decisions):
    """What is known of a fitted model.

    Attributes
    ----------
    surfaces : list of QuadraticSurface
        In fitted units: one for two classes, positive for the second; otherwise one per class.
    classes : array
    calibrators : tuple of SigmoidCalibration or IsotonicCalibration
        One per surface, or none.
    threshold : float
        The score or, where the model is calibrated, the probability above which the second of two classes is decided.
    inputs : tuple of InputColumn
        Columns of raw data, in the order in which the model takes them.
    variables : tuple of Variable
        What the surfaces are functions of: features of the inputs, capped, centred and scaled.
    has_names : bool
        Whether the model was fitted to named columns.
    model : fitted estimator or QuadraticSurface
        As it came.
    steps : tuple of (name, transformer)
        In the order in which raw rows pass them.
    classifier : SurfaceClassifier or QuadraticSurface
        What decides in the end.
    blank : dict
        Positions of the inputs in which None, not NaN, stands for a missing value.
    """

    model: Any
    steps: tuple[tuple[str, Any], ...]
    classifier: Any
    blank: dict[int, None]

    @property
    def is_surface(self) -> bool:
        """Whether the model is a bare surface."""
        return isinstance(self.classifier, QuadraticSurface)

    @cached_property
    def needed(self) -> frozenset[str]:
        """Names of the inputs that some term of a surface depends on."""
        live = np.logical_or.reduce([surface.live_features for surface in self.surfaces])
        return frozenset(self.input_names[i] for i in self.blocks[live].tolist())

    def question(self, name: str) -> Any:
        """What the classifier was fitted with (best_C_, best_k_) or is set to: loss, C, k, class_weight, ...; else None.

        Parameters
        ----------
        name : str

        Returns
        -------
        Any
        """
        return getattr(self.classifier, f"best_{name}_", getattr(self.classifier, name, None))

    def limits(self, k: int, terms: str | None = None) -> SupportLimits:
        """Terms that must and must not be used.

        Parameters
        ----------
        k : int
        terms : {"quadratic", "linear"}, optional
            By default those of the model.

        Returns
        -------
        SupportLimits
        """
        names, terms = getattr(self.classifier, "feature_names_in_", None), terms or self.question("terms") or QUADRATIC
        lean = bool(getattr(self.classifier, "_is_lean", False))  # a bare surface has no say in it
        return support_limits(self.question("include"), self.question("exclude"), names, self.n_features, k, terms, lean=lean)

    def procedure(self) -> SparseQuadraticSVC:
        """How the classifier was fitted, as an estimator that is not: all its parameters, k and C as chosen, terms by position.

        Returns
        -------
        SparseQuadraticSVC
        """
        own = self.classifier.get_params() | {name: self.question(name) for name in ("terms", "loss", "k", "C")}
        limits = self.limits(int(own["k"]), QUADRATIC)  # linear terms are a parameter of their own
        own |= {"include": limits.include.tolist(), "exclude": limits.exclude.tolist()}
        return SparseQuadraticSVC(**{name: own[name] for name in SparseQuadraticSVC().get_params() if name in own})

    def with_surfaces(self, surfaces: Sequence[QuadraticSurface]) -> Any:
        """The model, without calibration, as it would be with other surfaces.

        Parameters
        ----------
        surfaces : sequence of QuadraticSurface
            As many as the model has, in fitted units.

        Returns
        -------
        fitted estimator
        """
        classifier = copy.copy(self.classifier)
        classifier._set_surfaces(surfaces)
        return Pipeline([*self.steps, ("classifier", classifier)]) if self.steps else classifier

    def native(self, X: Any) -> Any:
        """A Table in the form that the model itself takes; anything else as it is.

        Parameters
        ----------
        X : Table, or rows as the model takes them

        Returns
        -------
        Table, frame or array
        """
        refuse_masked(X=X)
        first = self.steps[0][1] if self.steps else None
        if not isinstance(X, Table) or isinstance(first, TableEncoder):
            return X
        columns = [self._cells(i, column) for i, column in enumerate(self.rows(X).columns)]
        if isinstance(first, ColumnTransformer) and hasattr(first, "feature_names_in_"):  # finds columns by name, in frames
            pandas = require("pandas", "dev")  # with types of their own: texts would turn None into NaN
            series = (pandas.Series(cells, dtype=cells.dtype) for cells in columns)
            return pandas.DataFrame(dict(zip(self.input_names, series, strict=True)))
        return np.column_stack(columns)

    def _cells(self, position: int, column: np.ndarray) -> np.ndarray:
        """A column with missing values as the model's steps know them."""
        if column.dtype != object and position not in self.blank:
            return column
        out = column.astype(object)
        out[missing_cells(column)] = self.blank.get(position, np.nan)
        return out

    def fitted(self, X: Any) -> FloatArray:
        """Rows in fitted units, by the model's own steps.

        Parameters
        ----------
        X : rows as the model takes them, or Table

        Returns
        -------
        array of shape (m, n)
        """
        with without_name_warnings() if isinstance(X, Table) else nullcontext():
            Z = self.native(X)
            for _, step in self.steps:
                Z = step.transform(Z)
            if not self.is_surface:
                fitted: FloatArray = self.classifier._prepared(self.classifier._validated(Z, reset=False))
                return fitted
        Z = check_array(Z, dtype=np.float64, order="C")
        if Z.shape[1] != self.n_features:
            raise ValueError(f"X has {Z.shape[1]} features, but the surface has {self.n_features}")
        return Z

    def decision(self, X: Any) -> FloatArray:
        """The model's own decision function: (m,) for two classes, (m, n_classes) otherwise.

        Parameters
        ----------
        X : rows as the model takes them, or Table

        Returns
        -------
        array
        """
        if self.is_surface:
            return self.classifier(self.fitted(X))
        with without_name_warnings():
            return np.asarray(self.model.decision_function(self.native(X)))

    def is_constant(self, X: Any) -> list[bool]:
        """Whether each surface has the same value for all rows, but for rounding: it then tells nothing of them.

        Parameters
        ----------
        X : rows as the model takes them, or Table

        Returns
        -------
        list of bool
        """
        U = self.fitted(X)
        return [is_level(surface(U)) for surface in self.surfaces]

    def predicted(self, X: Any) -> IntArray:
        """Positions of the classes that the model's own ``predict`` gives.

        Parameters
        ----------
        X : rows as the model takes them, or Table

        Returns
        -------
        array of shape (m,)
        """
        if self.is_surface:
            return predicted(self.decision(X), np.arange(2))
        with without_name_warnings():
            return np.searchsorted(self.classes, self.model.predict(self.native(X)))
