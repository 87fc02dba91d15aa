"""Probabilities from decision values, by scikit-learn's calibration, kept as a few numbers that can be written down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv, cross_val_predict
from sklearn.pipeline import Pipeline
from sklearn.utils import check_consistent_length, column_or_1d, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from quadric._sklearn import check_sample_weight
from quadric.errors import quoted
from quadric.estimators.base import Classifier, finite_scores
from quadric.estimators.classifier import SparseQuadraticSVC
from quadric.estimators.curves import (
    METHODS,
    Calibration,
    IsotonicCalibration,
    SigmoidCalibration,
    decided,
    fitted_curves,
    probabilities,
)
from quadric.estimators.cutoffs import EVEN, Cutoff, CutoffRule, read_cutoff
from quadric.estimators.validation import N_JOBS, check_parameters, one_of
from quadric.labels import positions_in, refuse_masked
from quadric.notebook import Html
from quadric.resources import processes_of
from quadric.types import FloatArray, IntArray
from quadric.workers import workers_end_with_us

__all__ = ["METHODS", "CalibratedModel", "Calibration", "IsotonicCalibration", "SigmoidCalibration", "decided", "probabilities"]


class CalibratedModel(Classifier, BaseEstimator):
    """A classifier with probabilities, and with predictions that agree with them.

    Computes what scikit-learn's ``CalibratedClassifierCV(estimator, ensemble=False)`` computes: the calibration is fitted on
    out-of-fold scores, the model on all samples. What remains is one model and one small curve per decision value, so that
    the whole can be written into a file, a formula or a scorecard.

    Parameters
    ----------
    estimator : classifier with a decision_function, or None
        Also a Pipeline that ends in one; None: ``SparseQuadraticSVC()``. A ``FrozenEstimator`` is not fitted again: all samples
        are used for the calibration (see also :meth:`around`).
    method : {"auto", "sigmoid", "isotonic"}
        The curve: Platt's sigmoid, or a non-decreasing piecewise linear one, which wants a thousand samples or more. "auto": a
        sigmoid that is one half at f = 0, so that labels stay those of the classifier, unless a likelihood ratio test at the
        level of 5 % prefers Platt's sigmoid, which has one parameter more.
    cv : int, splitter or iterable
        Folds, as in scikit-learn; every sample must be left out once.
    cutoff : float or str
        Probability of ``classes_[1]`` above which it is predicted, for two classes: a number between 0 and 1, or a rule that
        chooses one on the out-of-fold probabilities. "accuracy": most samples are right. "balanced": the best mean of both
        classes' accuracies; "ks", the largest distance between their distributions, is the same point. "cost:FN:FP": the
        smallest FN * misses + FP * false alarms. "approval:0.9": 90 % of the samples are predicted ``classes_[0]``.
        "badrate:0.03": as many as possible are, while at most 3 % of them are of ``classes_[1]``. Chosen cut-offs lie half-way
        between two neighbouring probabilities; of equally good ones the largest counts.
    n_jobs : int or None
        Folds fitted at the same time; the result does not depend on it.

    Attributes
    ----------
    estimator_ : classifier
        Fitted to all samples.
    calibrators_ : list of SigmoidCalibration or IsotonicCalibration
        One for two classes, giving the probability of ``classes_[1]``; else one per class, their values divided by their sum.
    cutoff_ : float
        Of two classes, the second is predicted where its probability is above; 0.5 for more.
    method_ : str
        "sigmoid" or "isotonic".
    classes_ : array
        Labels.
    n_features_in_, feature_names_in_ :
        Those of ``estimator_``, where it has them.

    Notes
    -----
    ``predict`` follows the probabilities: where they say so, against the sign of ``decision_function``, which is that of the
    classifier itself. ``class_weight`` of the estimator moves its surface; the probabilities follow the samples as they are.
    Probabilities never fall while the decision value rises: where a sigmoid would, as out-of-fold scores say nothing of the
    class, it is the constant share of the class.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from quadric import SparseQuadraticSVC
    >>> from quadric.credit import CalibratedModel
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = X[:, :5]
    >>> model = CalibratedModel(make_pipeline(StandardScaler(), SparseQuadraticSVC(k=3))).fit(X, y)
    >>> model.predict_proba(X).shape
    (569, 2)
    """

    _rules = {"method": one_of("auto", *METHODS), "n_jobs": N_JOBS}

    def __init__(
        self, estimator: Any = None, *, method: str = "sigmoid", cv: Any = 5, cutoff: Cutoff = EVEN, n_jobs: int | None = None
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.cutoff = cutoff
        self.n_jobs = n_jobs

    @classmethod
    def from_parts(cls, estimator: Any, calibrators: Sequence[Calibration], cutoff: float = EVEN) -> Self:
        """A fitted model from a fitted classifier and its calibrations.

        Parameters
        ----------
        estimator : fitted classifier
        calibrators : sequence of SigmoidCalibration or of IsotonicCalibration
            One for two classes, one per class otherwise.
        cutoff : float
            Probability above which the second of two classes is predicted.

        Returns
        -------
        CalibratedModel
        """
        kinds = {type(calibrator) for calibrator in calibrators}
        names = [name for name, kind in METHODS.items() if kinds == {kind}]
        if not names:
            raise TypeError("calibrators must be SigmoidCalibration objects, or IsotonicCalibration objects, and at least one")
        check_is_fitted(estimator)
        n_classes = len(estimator.classes_)
        expected = 1 if n_classes == 2 else n_classes
        if len(calibrators) != expected:
            raise ValueError(f"{n_classes} classes need {expected} calibration(s), got {len(calibrators)}")
        last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        falls = any(isinstance(curve, SigmoidCalibration) and curve.a > 0.0 for curve in calibrators)
        if falls and getattr(last, "monotonic_cst", None) is not None:
            raise ValueError(
                "a calibration that falls with the score would turn the rules of monotonic_cst round: calibrate the model anew"
            )
        _checked_cutoff(cutoff, n_classes)
        model = cls(estimator, method=names[0], cutoff=cutoff)
        model.estimator_, model.calibrators_, model.cutoff_ = estimator, list(calibrators), float(cutoff)
        return model

    def _views(self) -> list[Html]:
        inner = self.estimator_.steps[-1][1] if isinstance(self.estimator_, Pipeline) else self.estimator_
        return inner._views() if isinstance(inner, Classifier) else []

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier and its calibration.

        Parameters
        ----------
        X : array-like or frame of shape (m, n)
            Samples, as the estimator takes them.
        y : array-like of shape (m,)
            Labels of two or more classes.
        sample_weight : array-like of shape (m,), optional
            Weights for the classifier and for the calibration. A Pipeline hands them to its last step; its transformers do not
            see them. A frozen estimator leaves them to the calibration.

        Returns
        -------
        self
        """
        return self._calibrate(None, X, y, sample_weight, None)

    @classmethod
    def around(
        cls,
        fitted: Any,
        X: Any,
        y: Any,
        *,
        method: str = "sigmoid",
        cv: Any = 5,
        cutoff: Cutoff = EVEN,
        n_jobs: int | None = None,
        sample_weight: Any = None,
        out_of_fold: FloatArray | None = None,
    ) -> Self:
        """Calibrate a classifier that is already fitted, and keep it as it is.

        The calibration is fitted on out-of-fold scores, of clones unless they are known; the classifier itself is not fitted
        again. Where it was fitted to the same samples, the result is that of ``fit``.

        Parameters
        ----------
        fitted : fitted classifier, or Pipeline ending in one
        X : array-like or frame of shape (m, n)
            Samples, as the classifier takes them.
        y : array-like of shape (m,)
            Labels: the classes that the classifier knows.
        method, cv, cutoff, n_jobs :
            As in the constructor.
        sample_weight : array-like of shape (m,), optional
            As in ``fit``.
        out_of_fold : array of shape (m,) or (m, n_classes), optional
            Decision values of the samples from models that were not fitted to them, as a cross-validation knows them; samples
            with NaN take no part. ``cv`` is then not used.

        Returns
        -------
        CalibratedModel
        """
        model = cls(fitted, method=method, cv=cv, cutoff=cutoff, n_jobs=n_jobs)
        return model._calibrate(fitted, X, y, sample_weight, out_of_fold)

    def _calibrate(self, fitted: Any, X: Any, y: Any, sample_weight: Any, scores: FloatArray | None) -> Self:
        """Fit the calibration, and the classifier too unless it is fitted already."""
        check_parameters(self, self._rules)
        estimator = SparseQuadraticSVC() if self.estimator is None else self.estimator
        if not hasattr(estimator, "decision_function"):
            raise TypeError(f"CalibratedModel needs an estimator with a decision_function, and {_name(estimator)} has none")
        y = _checked_labels(X, y)
        classes = np.unique(y)
        if isinstance(estimator, FrozenEstimator):
            classes = _checked_classes(estimator.estimator, classes, "frozen")
        elif fitted is not None:
            classes = _checked_classes(fitted, classes, "fitted")
        weight, codes = _checked_weights(sample_weight, X, y), positions_in(classes, y)
        rule = _checked_cutoff(self.cutoff, len(classes))
        scoring = _DecisionValues(estimator, None if weight is None else _weight_keyword(estimator))
        weights = {} if weight is None else {"sample_weight": weight}
        # weights are taken by name: requests of the user's own routing are not needed and must not get in the way
        with config_context(enable_metadata_routing=False):
            if scores is None:
                folds = _checked_folds(check_cv(self.cv, y, classifier=True).split(X, y), y, weight)
                processes = processes_of(self.n_jobs, len(folds))
                with workers_end_with_us(processes):
                    scores = cross_val_predict(scoring, X, y, cv=folds, n_jobs=processes, params=weights)
            scores = _checked_scores(scores, codes)
            self.estimator_ = scoring.fit(X, y, **weights).fitted_ if fitted is None else fitted
        left_out = ~np.isnan(scores).any(axis=1)
        weight = np.ones(len(y)) if weight is None else weight
        scores, codes, weight = scores[left_out], codes[left_out], weight[left_out]
        self.calibrators_ = fitted_curves(self.method, scores, codes, weight)
        chances = self.calibrators_[0](scores[:, 0])
        self.cutoff_ = rule if isinstance(rule, float) else rule.cutoff(codes == 1, chances, weight)
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """f(x) of the classifier itself, before calibration.

        Parameters
        ----------
        X : array-like or frame of shape (m, n)
            Samples.

        Returns
        -------
        array of shape (m,) for two classes, (m, n_classes) otherwise
        """
        check_is_fitted(self)
        refuse_masked(X=X)
        return np.asarray(self.estimator_.decision_function(X))

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Calibrated probabilities.

        Parameters
        ----------
        X : array-like or frame of shape (m, n)
            Samples.

        Returns
        -------
        array of shape (m, n_classes)
            Rows sum to 1; columns follow ``classes_``. Where all of several calibrations say 0, the classes are equally likely.
        """
        return probabilities(finite_scores(self, X), self.calibrators_)

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest probability, the first of equal ones; of two, the second above ``cutoff_``.

        Parameters
        ----------
        X : array-like or frame of shape (m, n)
            Samples.

        Returns
        -------
        array of shape (m,)
        """
        chances = self.predict_proba(X)  # refuses an unfitted model, which has no classes_ yet
        return np.asarray(self.classes_[decided(chances, self.cutoff_)])

    @property
    def classes_(self) -> np.ndarray:
        """Labels."""
        return np.asarray(self.estimator_.classes_)

    @property
    def n_features_in_(self) -> int:
        """Number of features that the classifier was fitted with."""
        return int(self.estimator_.n_features_in_)

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features that the classifier was fitted with."""
        return np.asarray(self.estimator_.feature_names_in_)

    @property
    def method_(self) -> str:
        """What the calibrations are: "sigmoid" or "isotonic"."""
        return next(name for name, kind in METHODS.items() if isinstance(self.calibrators_[0], kind))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "calibrators_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(SparseQuadraticSVC() if self.estimator is None else self.estimator).input_tags
        return tags


def _checked_scores(scores: Any, codes: IntArray) -> FloatArray:
    scores, n_classes = np.asarray(scores, dtype=float), int(codes.max()) + 1
    expected = (len(codes),) if n_classes == 2 else (len(codes), n_classes)
    if scores.shape != expected:
        raise ValueError(f"out_of_fold must have the shape {expected} of decision values, got {scores.shape}")
    if np.isinf(scores).any():
        raise ValueError("out_of_fold must hold finite decision values, or NaN for samples that were not left out")
    return scores.reshape(len(codes), -1)


def _checked_cutoff(cutoff: Cutoff, n_classes: int) -> float | CutoffRule:
    rule = read_cutoff(cutoff)
    if n_classes > 2 and rule != EVEN:
        raise ValueError(f"a cutoff needs two classes: of {n_classes} the most probable one is predicted, got {quoted(cutoff)}")
    return rule


class _DecisionValues(BaseEstimator):
    """Any classifier whose ``fit`` takes sample_weight, and whose predictions are its decision values.

    Of predictions proper ``cross_val_predict`` leaves the labels alone; otherwise it hands out codes in place of them, which an
    estimator with weights for named classes would not know.
    """

    def __init__(self, estimator: Any, keyword: str | None) -> None:
        self.estimator = estimator
        self.keyword = keyword

    def fit(self, X: Any, y: np.ndarray, sample_weight: Any = None) -> Self:
        if isinstance(self.estimator, FrozenEstimator):
            self.fitted_ = self.estimator.estimator
            return self
        weights = {} if self.keyword is None else {self.keyword: sample_weight}
        self.fitted_ = clone(self.estimator).fit(X, y, **weights)
        return self

    def predict(self, X: Any) -> FloatArray:
        return np.asarray(self.fitted_.decision_function(X))


def _weight_keyword(estimator: Any) -> str | None:
    """The name under which ``fit`` takes sample weights; None for a frozen estimator, which is not fitted."""
    if isinstance(estimator, FrozenEstimator):
        return None
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return f"{name}__{_weight_keyword(last)}"
    if not has_fit_parameter(estimator, "sample_weight"):
        raise TypeError(f"{_name(estimator)} takes no sample_weight: fit it without, or calibrate another classifier")
    return "sample_weight"


def _name(estimator: Any) -> str:
    return type(estimator[-1] if isinstance(estimator, Pipeline) else estimator).__name__


def _checked_labels(X: Any, y: Any) -> np.ndarray:
    if y is None:
        raise ValueError("CalibratedModel requires y to be passed, but the target y is None")
    refuse_masked(X=X, y=y)
    check_consistent_length(X, y)
    check_classification_targets(y)
    y = column_or_1d(y, warn=True)
    classes = np.unique(y).tolist()
    if len(classes) < 2:
        raise ValueError(f"y must have samples of at least two classes, but has {len(classes)} class: {classes}")
    return np.asarray(y)


def _checked_classes(estimator: Any, labels: np.ndarray, state: str) -> np.ndarray:
    """The classes in the order of the estimator, which a model file may put differently."""
    check_is_fitted(estimator)
    own = np.asarray(estimator.classes_)
    if labels.tolist() != sorted(own.tolist()):
        raise ValueError(f"the {state} estimator knows the classes {own.tolist()}, but y has {labels.tolist()}")
    return own


def _checked_weights(sample_weight: Any, X: Any, y: np.ndarray) -> FloatArray | None:
    if sample_weight is None:
        return None
    weight = check_sample_weight(sample_weight, X)
    lost = np.setdiff1d(y, y[weight > 0]).tolist()
    if lost:
        raise ValueError(f"sample_weight is zero for every sample of class {quoted(lost[0])}: give it weight or drop it")
    return np.asarray(weight)


def _checked_folds(folds: Any, y: np.ndarray, weight: FloatArray | None) -> list[tuple[IntArray, IntArray]]:
    """The folds, each with all classes to learn from: a model that lacks one would have no decision value for it."""
    checked = list(folds)
    for number, (train, _) in enumerate(checked):
        seen = y[train] if weight is None else y[train][weight[train] > 0]
        missing = np.setdiff1d(y, seen).tolist()
        if missing:
            raise ValueError(f"fold {number} has no training sample of class {quoted(missing[0])}; use fewer folds")
    return checked
