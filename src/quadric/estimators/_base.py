"""What all classifiers made of surfaces share: predicting, and forgetting a fit that failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from quadric.certificate import Certificate, JudgedSamples, judge
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import default_names, term_names
from quadric.problem import SparseProblem
from quadric.search.methods import SearchResult
from quadric.types import FloatArray


class SurfaceClassifier(ClassifierMixin, BaseEstimator):
    """Predicts with ``surfaces_``; subclasses write ``_fit``."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit one surface, or one a class.

        Parameters
        ----------
        X : array-like of shape (m, n)
            Samples; finite, dense.
        y : array-like of shape (m,)
            Labels of two or more classes.
        sample_weight : array-like of shape (m,), optional
            Repetitions: a sample of weight 2 counts as two samples, in the loss and in the regulariser.

        Returns
        -------
        self
        """
        return self._fit_or_forget(X, y, sample_weight)

    def _fit_or_forget(self, *arguments: Any) -> Self:
        try:
            self._forget()
            self._fit(*arguments)
        except BaseException:  # an interrupted fit too: half of the old model and half of the new would be no model
            self._forget()
            raise
        return self

    def _fit(self, *arguments: Any) -> None:
        raise NotImplementedError

    def _forget(self) -> None:
        for attribute in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, attribute)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "surfaces_")

    def _set_surfaces(self, surfaces: Sequence[QuadraticSurface]) -> None:
        self.surfaces_ = list(surfaces)
        self.coef_ = np.array([surface.coordinates() for surface in surfaces])
        self.intercept_ = np.array([surface.c for surface in surfaces])

    def _prepared(self, X: FloatArray) -> FloatArray:
        """X in the units of the surfaces."""
        return X

    def decision_function(self, X: Any) -> FloatArray:
        """f(x) of each sample.

        Parameters
        ----------
        X : array-like of shape (m, n)
            Samples.

        Returns
        -------
        array of shape (m,) for two classes, (m, n_classes) otherwise
        """
        check_is_fitted(self)
        X = self._prepared(validate_data(self, X, dtype=np.float64, order="C", reset=False))
        scores = [surface(X) for surface in self.surfaces_]
        return scores[0] if len(scores) == 1 else np.column_stack(scores)

    def predict(self, X: Any) -> np.ndarray:
        """The class of each sample: by the sign of f, or the class with the largest f.

        Parameters
        ----------
        X : array-like of shape (m, n)
            Samples.

        Returns
        -------
        array of shape (m,)
        """
        return predicted(self.decision_function(X), self.classes_)

    def term_names(self) -> list[str]:
        """Names of the terms, aligned with the columns of ``coef_``.

        Returns
        -------
        list of str
            "age^2", "age*income", "age"; x0, x1, ... stand for features without a name.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return term_names(default_names(self.n_features_in_) if names is None else [str(name) for name in names])


def predicted(scores: FloatArray, classes: np.ndarray) -> np.ndarray:
    """Classes by the sign of one score, or by the largest of several."""
    codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    return np.asarray(classes[codes])


def seed_of(random_state: Any) -> int:
    """A seed for numpy's generators; None is a fixed one, so that fits repeat unless asked not to."""
    if random_state is None:
        return 0
    return int(check_random_state(random_state).randint(2**31 - 1))


@dataclass(frozen=True)
class SurfaceFit:
    """One surface, how it was found and how good it is."""

    surface: QuadraticSurface
    search: SearchResult
    certificate: Certificate

    @staticmethod
    def of(problem: SparseProblem, search: SearchResult, samples: JudgedSamples, k: int) -> SurfaceFit:
        """Judge what a search found, and add to the certificate what the search knows beyond it."""
        surface = QuadraticSurface.from_coordinates(problem.embed(search.z), search.c)
        support = problem.terms[search.support]
        certificate = judge(surface, samples, loss=problem.loss, C=problem.C, k=k, support=support, allowed=problem.terms)
        certificate = replace(certificate, swap_optimal=search.swap_optimal)
        if search.lower_bound is not None:
            certificate = certificate.bounded(search.lower_bound)
        return SurfaceFit(surface, search, certificate)
