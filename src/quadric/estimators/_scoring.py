"""Scores of surfaces on samples left out, by any scorer of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring

from quadric._sklearn import (
    platt_scaling,
    scorer_counts_labels,
    scorer_is_accuracy,
    scorer_misfit,
    scorer_takes_weights,
    scorer_towards,
)
from quadric.errors import ParameterError, quoted
from quadric.estimators._base import predicted, predicted_codes
from quadric.estimators.curves import LOG_ODDS, SigmoidCalibration, probabilities
from quadric.geometry.lifting import lift
from quadric.samples.labelled import Samples
from quadric.search.path import PathCell
from quadric.types import FloatArray, IntArray

Chances = Callable[[FloatArray], FloatArray]
USUAL = "accuracy, balanced_accuracy, roc_auc, average_precision, neg_log_loss, neg_brier_score"
"""Scorers of classes, for people who chose another one."""
USUAL_POSITIVE = 1
"""What metrics of scikit-learn call the positive class, unless they are told."""


@dataclass(frozen=True, eq=False)
class StackedSurfaces:
    """Surfaces side by side: rows are lifted once for all of them.

    Attributes
    ----------
    terms : array of shape (u,)
        Those of any surface.
    coef : array of shape (u, n_surfaces)
    intercept : array of shape (n_surfaces,)
    """

    terms: IntArray
    coef: FloatArray
    intercept: FloatArray

    @staticmethod
    def of(surfaces: Sequence[PathCell]) -> StackedSurfaces:
        terms = np.unique(np.concatenate([surface.terms for surface in surfaces]))
        coef = np.zeros((len(terms), len(surfaces)))
        for column, surface in zip(coef.T, surfaces, strict=True):
            column[np.searchsorted(terms, surface.terms)] = surface.z
        return StackedSurfaces(terms, coef, np.array([surface.c for surface in surfaces]))

    def __call__(self, X: FloatArray) -> FloatArray:
        """f of each row, in the units of the surfaces, by each surface: (m, n_surfaces)."""
        return lift(X, self.terms) @ self.coef + self.intercept


def decision_values(X: FloatArray, cells: Sequence[PathCell]) -> FloatArray:
    """f of each class, (m,) for two classes and (m, n_classes) otherwise.

    Parameters
    ----------
    X : array of shape (m, n)
        In the units of the surfaces.
    cells : sequence of PathCell
        One surface, or one per class.
    """
    values = StackedSurfaces.of(cells)(X)
    return values[:, 0] if len(cells) == 1 else values


def own_chances(decision: FloatArray) -> FloatArray:
    """Probabilities of all classes where decision values are log-odds."""
    return probabilities(decision, (LOG_ODDS,) * (1 if decision.ndim == 1 else decision.shape[1]))


def sigmoid_chances(decision: FloatArray, samples: Samples) -> Chances:
    """Probabilities of all classes by Platt's sigmoids, fitted to decision values of training samples.

    Parameters
    ----------
    decision : array of shape (m,) or (m, n_classes)
    samples : Samples
    """
    columns = decision.reshape(len(decision), -1).T
    curves = [
        SigmoidCalibration(*platt_scaling(column, samples.codes == positive, samples.sample_weight))
        for column, positive in zip(columns, samples.positives(), strict=True)
    ]
    return lambda values: probabilities(values, curves)


@dataclass(frozen=True)
class Scoring:
    """A scorer that is asked for one number per cell.

    Attributes
    ----------
    scorer : callable
        As scikit-learn makes it.
    classes : array
    """

    scorer: Callable[..., float]
    classes: np.ndarray

    @staticmethod
    def of(scoring: Any, classes: np.ndarray) -> Scoring:
        """What a ``scoring`` parameter asks for; None: accuracy. A scorer that is not made for classes is refused.

        One that calls a class positive that is not there, such as f1 where labels are texts, calls the second one so.
        """
        scorer = check_scoring(_ScoredClassifier(classes), scoring=scoring)
        if (other := scorer_misfit(scorer)) is not None:
            raise ParameterError(
                f"scoring must be a scorer of classes, such as {USUAL}, got {quoted(scoring)}, which is for {other}",
                scoring=None,
            )
        if len(classes) == 2 and USUAL_POSITIVE not in classes.tolist():
            scorer = scorer_towards(scorer, classes[1])
        return Scoring(scorer, classes)

    def score(self, left_out: Samples, decision: FloatArray, chances: Callable[[], Chances], where: str) -> float:
        """The score of one cell.

        Parameters
        ----------
        left_out : Samples
            In the user's units.
        decision : array
            Their decision values.
        chances : callable
            Gives the map to probabilities, for scorers that ask for them.
        where : str
            What an error names, such as "fold 0".
        """
        if scorer_is_accuracy(self.scorer):  # the checks of scikit-learn take longer than many a cell of a cross-validation
            return float(np.average(predicted_codes(decision) == left_out.codes, weights=left_out.sample_weight))
        extra = {"sample_weight": left_out.sample_weight} if scorer_takes_weights(self.scorer) else {}
        stand_in = _ScoredClassifier(self.classes, decision, chances)
        try:
            score = float(self.scorer(stand_in, left_out.X, self.classes[left_out.codes], **extra))
        except Exception as error:
            reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            raise ParameterError(f"the scorer failed in {where}: {reason}; choose another one", scoring=None) from error
        if not np.isfinite(score):
            one_class = len(np.unique(left_out.codes)) < 2
            reason = ", whose samples left out have one class only: use fewer folds, or" if one_class else ":"
            raise ParameterError(f"the scorer returned {score} in {where}{reason} choose another one", scoring=None)
        return score

    @property
    def counts_labels(self) -> bool:
        """Whether ``score_counts`` serves."""
        return scorer_counts_labels(self.scorer)

    def score_counts(self, counts: FloatArray, where: str) -> float:
        """The score of rows that are only counted.

        Parameters
        ----------
        counts : array of shape (n_classes, n_classes)
            Weight of the rows of each class with each label.
        where : str
            What an error names.
        """
        codes, labels = np.nonzero(counts)
        decision = np.array([-1.0, 1.0])[labels] if len(counts) == 2 else np.eye(len(counts))[labels]
        rows = Samples(np.empty((len(codes), 0)), codes, counts[codes, labels], np.ones(len(counts)), self.classes)
        return self.score(rows, decision, lambda: own_chances, where)


class _ScoredClassifier(ClassifierMixin, BaseEstimator):
    """Stands before a scorer in place of a fitted classifier whose decisions are known already."""

    def __init__(
        self, classes: np.ndarray, decision: FloatArray | None = None, chances: Callable[[], Chances] | None = None
    ) -> None:
        self.classes = classes
        self.decision = decision
        self.chances = chances
        self.classes_ = classes

    def fit(self, X: Any, y: Any) -> Self:
        return self

    def decision_function(self, X: Any) -> FloatArray:
        assert self.decision is not None
        return self.decision

    def predict(self, X: Any) -> np.ndarray:
        return predicted(self.decision_function(X), self.classes_)

    def predict_proba(self, X: Any) -> FloatArray:
        assert self.chances is not None
        return self.chances()(self.decision_function(X))
