"""The scikit-learn face of the l0 models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from quadric.certificate import Certificate, JudgedSamples, judge
from quadric.estimators._convergence import warn_unless_converged
from quadric.estimators._validation import (
    Rule,
    Samples,
    check_parameters,
    check_spread,
    integer_from,
    none_or,
    number_above,
    one_of,
    validate_samples,
)
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import default_names, term_names
from quadric.problem import TRAINING_DATA, SparseProblem
from quadric.progress import writer_for
from quadric.search.decomposition import Decomposition, Schedule, decompose
from quadric.types import FloatArray

NOT_YET = Rule(lambda value: value is None, "None: constraints on the support are not available yet")


class SparseQuadraticSVC(ClassifierMixin, BaseEstimator):
    r"""Quadratic-surface support vector classifier with at most k terms.

    Finds f(x) = 1/2 x'Wx + b'x + c with at most ``k`` non-zero coefficients among the upper triangle of W and b, minimising

    .. math::
        \sum_i \|W x_i + b\|^2 + C \sum_i H(1 - y_i f(x_i))

    with the hinge loss H(t) = max(t, 0) (l0-QSVM) or the squared loss H(t) = t^2 (LS-l0-QSVM). The intercept c is neither
    penalised nor counted. Standardise the features first: what counts as one term depends on their origin and scale.

    Parameters
    ----------
    k : int
        Largest number of terms. More than there are means no limit.
    C : float
        Weight of the loss against the regulariser.
    loss : {"hinge", "least_squares"}
        Loss function.
    method : {"pd", "best"}
        How the terms are searched. "pd" is penalty decomposition followed by an exact refit on the terms it chose. "best"
        means the same in this version.
    class_weight : dict, "balanced" or None
        Factors on the loss of the classes; they do not touch the regulariser.
    include : None
        Reserved for terms that must be in the support; not available yet.
    exclude : None
        Reserved for terms that must not be in the support; not available yet.
    rho : float or None
        First penalty of the decomposition. None: a thousandth of the mean curvature of the problem.
    growth : float
        Factor from one penalty to the next.
    inner_tol : float
        Relative change at which the sweeps of one penalty stop.
    outer_tol : float
        Difference between the two copies of the coefficients at which the decomposition stops.
    max_iter : int
        Largest number of convex subproblems (z-steps) a surface.
    time_limit : float or None
        Seconds a surface after which the search stops where it is, with a ConvergenceWarning. Such a fit need not repeat.
    n_jobs : int or None
        Surfaces fitted at the same time where there are more than two classes; the result does not depend on it.
    random_state : int, RandomState or None
        Not used by penalty decomposition, which is deterministic.
    verbose : int
        1 writes progress to standard error now and then, 2 at every penalty.

    Attributes
    ----------
    surfaces_ : list of QuadraticSurface
        One for two classes, where it is positive for ``classes_[1]``; one a class, against the rest, otherwise.
    coef_ : array of shape (n_surfaces, p)
        z = [hvec(W); b] of each surface. It holds W_aa for "a^2"; ``surfaces_[i].terms()`` has polynomial coefficients.
    intercept_ : array of shape (n_surfaces,)
        c of each surface.
    certificates_ : list of Certificate
        Objective and optimality conditions of each surface, recomputed from the data.
    status_ : list of str
        How each decomposition ended.
    traces_ : list of tuples of TraceRow
        What each decomposition did, a row a penalty.
    n_iter_ : array of shape (n_surfaces,)
        z-steps of each decomposition.
    classes_ : array
        Labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array
        Names of the features, where X brought them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from quadric import SparseQuadraticSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), SparseQuadraticSVC(k=3)).fit(X, y)
    >>> [surface.n_terms for surface in model[-1].surfaces_]
    [3, 3, 3]
    """

    _rules = {
        "k": integer_from(1),
        "C": number_above(0.0),
        "loss": one_of(*sorted(TRAINING_DATA)),
        "method": one_of("pd", "best"),
        "include": NOT_YET,
        "exclude": NOT_YET,
        "rho": none_or(number_above(0.0)),
        "growth": number_above(1.0),
        "inner_tol": number_above(0.0),
        "outer_tol": number_above(0.0),
        "max_iter": integer_from(1),
        "time_limit": none_or(number_above(0.0)),
        "n_jobs": none_or(Rule(lambda n: integer_from(-10_000).holds(n) and n != 0, "an integer other than 0")),
        "verbose": Rule(lambda v: isinstance(v, bool) or integer_from(0).holds(v), "an integer of at least 0"),
    }

    def __init__(
        self,
        k: int = 10,
        C: float = 1.0,
        *,
        loss: str = "hinge",
        method: str = "best",
        class_weight: Any = None,
        include: Any = None,
        exclude: Any = None,
        rho: float | None = None,
        growth: float = 10**0.5,
        inner_tol: float = 1e-4,
        outer_tol: float = 1e-4,
        max_iter: int = 10_000,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.k = k
        self.C = C
        self.loss = loss
        self.method = method
        self.class_weight = class_weight
        self.include = include
        self.exclude = exclude
        self.rho = rho
        self.growth = growth
        self.inner_tol = inner_tol
        self.outer_tol = outer_tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

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
        try:
            self._fit(X, y, sample_weight)
        except BaseException:  # an interrupted fit too: half of the old model and half of the new would be no model
            self._forget()
            raise
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._forget()
        check_parameters(self, self._rules)
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", ensure_min_samples=2)
        samples = validate_samples(X, y, sample_weight, self.class_weight)
        check_spread(samples.X, getattr(self, "feature_names_in_", None), type(self).__name__)
        fits = self._fit_surfaces(samples)
        for fit, label in zip(fits, self._subjects(samples.classes), strict=True):
            warn_unless_converged(fit.search, fit.certificate, self._schedule(), label)
        self.classes_ = samples.classes
        self.surfaces_ = [fit.surface for fit in fits]
        self.coef_ = np.array([surface.coordinates() for surface in self.surfaces_])
        self.intercept_ = np.array([surface.c for surface in self.surfaces_])
        self.certificates_ = [fit.certificate for fit in fits]
        self.status_ = [str(fit.search.status) for fit in fits]
        self.traces_ = [fit.search.trace for fit in fits]
        self.n_iter_ = np.array([fit.search.n_iter for fit in fits])

    def _fit_surfaces(self, samples: Samples) -> list[_SurfaceFit]:
        data = TRAINING_DATA[self.loss].from_samples(samples.X, samples.codes, samples.sample_weight, samples.class_weight)
        positives = samples.positives()
        problems = [data.one_against_rest(positive, float(self.C), int(self.k)) for positive in positives]
        jobs = (
            delayed(_fit_surface)(problem, samples.against_rest(positive), int(self.k), self._schedule(), int(self.verbose))
            for problem, positive in zip(problems, positives, strict=True)
        )
        return list(Parallel(n_jobs=self.n_jobs if len(problems) > 1 else None)(jobs))

    def _schedule(self) -> Schedule:
        return Schedule(
            rho=self.rho,
            growth=self.growth,
            inner_tol=self.inner_tol,
            outer_tol=self.outer_tol,
            max_iter=self.max_iter,
            time_limit=self.time_limit,
        )

    def _subjects(self, classes: np.ndarray) -> list[str]:
        name = type(self).__name__
        return [name] if len(classes) == 2 else [f"{name}, class {label!r} against the rest" for label in classes.tolist()]

    def _forget(self) -> None:
        for attribute in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, attribute)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "surfaces_")

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
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
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
        scores = self.decision_function(X)
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[codes])

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


@dataclass(frozen=True)
class _SurfaceFit:
    """What one surface's fit brings back."""

    surface: QuadraticSurface
    search: Decomposition
    certificate: Certificate


def _fit_surface(problem: SparseProblem, samples: JudgedSamples, k: int, schedule: Schedule, verbose: int) -> _SurfaceFit:
    search = decompose(problem, schedule, report=writer_for(verbose))
    surface = QuadraticSurface.from_coordinates(problem.embed(search.z), search.c)
    support = problem.terms[search.support]
    return _SurfaceFit(surface, search, judge(surface, samples, loss=problem.loss, C=problem.C, k=k, support=support))
