"""Scores of surfaces on samples left out, by any scorer of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring

from quadric._sklearn import (
    scorer_counts_labels,
    scorer_is_accuracy,
    scorer_is_log_loss,
    scorer_misfit,
    scorer_takes_weights,
    scorer_towards,
)
from quadric.errors import ParameterError, quoted
from quadric.estimators._sigmoids import Sigmoids
from quadric.estimators.curves import LOG_ODDS, probabilities
from quadric.geometry.lifting import lift
from quadric.samples.labelled import LabelledSamples
from quadric.samples.target import Target, codes_of_scores
from quadric.search.path import PathCell
from quadric.types import FloatArray, IntArray

# Scorers of classes, for people who chose another one.
USUAL = "accuracy, balanced_accuracy, roc_auc, average_precision, neg_log_loss, neg_brier_score"
# What metrics of scikit-learn call the positive class, unless they are told.
USUAL_POSITIVE = 1
# The scorer that is meant where none is named.
LOG_LOSS = "neg_log_loss"
# Of one row: no probability is taken to be smaller than the rounding of 1, as in scikit-learn.
LARGEST_LOSS = -float(np.log(np.finfo(float).eps))


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
    def of(cells: Sequence[tuple[PathCell, ...]]) -> StackedSurfaces:
        """The surfaces of one cell after the other."""
        surfaces = [surface for cell in cells for surface in cell]
        terms = np.unique(np.concatenate([surface.terms for surface in surfaces]))
        coef = np.zeros((len(terms), len(surfaces)))
        for column, surface in zip(coef.T, surfaces, strict=True):
            column[np.searchsorted(terms, surface.terms)] = surface.z
        return StackedSurfaces(terms, coef, np.array([surface.c for surface in surfaces]))

    def __call__(self, X: FloatArray) -> FloatArray:
        """f of each row, in the units of the surfaces, by each surface: (m, n_surfaces)."""
        return lift(X, self.terms) @ self.coef + self.intercept


def chances(log_odds: FloatArray) -> FloatArray:
    """Probabilities of all classes, by the log-odds of the second of two, or of each against the rest: (m, n_classes)."""
    n_surfaces = log_odds.shape[1]
    return probabilities(log_odds[:, 0] if n_surfaces == 1 else log_odds, (LOG_ODDS,) * n_surfaces)


def log_losses(log_odds: FloatArray, codes: IntArray, n_surfaces: int) -> FloatArray:
    """-log of the probability of each row's class, by each cell.

    Parameters
    ----------
    log_odds : array of shape (m, n_cells * n_surfaces)
        The surfaces of one cell after the other.
    codes : array of shape (m,)
    n_surfaces : int
        Per cell: one for two classes, otherwise one for each class, whose probabilities are divided by their sum.

    Returns
    -------
    array of shape (m, n_cells)
    """
    if n_surfaces == 1:
        against = np.where(codes == 1, -1.0, 1.0)[:, None] * log_odds
        loss = np.exp(-np.abs(against))  # logaddexp(0, .), which takes twice as long
        np.log1p(loss, out=loss)
        loss += np.maximum(against, 0.0, out=against)
        return np.minimum(loss, LARGEST_LOSS, out=loss)
    p = expit(log_odds).reshape(len(codes), -1, n_surfaces)
    own, total = p[np.arange(len(codes)), :, codes], p.sum(axis=2)
    share = np.divide(own, total, out=np.full_like(own, 1.0 / n_surfaces), where=total > 0.0)
    out: FloatArray = -np.log(np.maximum(share, np.finfo(float).eps))
    return out


def tally(decision: FloatArray, sigmoids: Sigmoids, rows: LabelledSamples, *, log_loss: bool) -> FloatArray:
    """What some rows add to the scores of several cells.

    Parameters
    ----------
    decision : array of shape (m, n_cells * n_surfaces)
        The surfaces of one cell after the other.
    sigmoids : Sigmoids
        Of the same surfaces.
    rows : LabelledSamples
    log_loss : bool
        Whether the log-loss is wanted, otherwise counts of labels.

    Returns
    -------
    array of shape (n_cells, 1, 2) or (n_cells, n_classes, n_classes)
        The sum of weighted log-losses and that of the weights, which are those of the loss; or the weight of the rows of each
        class with each label.
    """
    n_surfaces, n_classes = len(rows.surfaces), rows.target.n_classes
    if log_loss:
        sums = rows.loss_weight @ log_losses(sigmoids.log_odds(decision), rows.target.codes, n_surfaces)
        return np.stack([sums, np.full_like(sums, rows.loss_weight.sum())], axis=1)[:, None]
    labels = decision > 0.0 if n_surfaces == 1 else decision.reshape(len(decision), -1, n_surfaces).argmax(axis=2)
    weight = np.where(rows.target.codes == np.arange(n_classes)[:, None], rows.sample_weight, 0.0)
    return np.stack([(weight @ (labels == label)).T for label in range(n_classes)], axis=2)


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
        """What a ``scoring`` parameter asks for; None: log-loss. A scorer that is not made for classes is refused.

        One that calls a class positive that is not there, such as f1 where labels are texts, calls the second one so.
        """
        scorer = check_scoring(_ScoredClassifier(classes), scoring=LOG_LOSS if scoring is None else scoring)
        if (other := scorer_misfit(scorer)) is not None:
            raise ParameterError(
                f"scoring must be a scorer of classes, such as {USUAL}, got {quoted(scoring)}, which is for {other}",
                scoring=None,
            )
        if len(classes) == 2 and USUAL_POSITIVE not in classes.tolist():
            scorer = scorer_towards(scorer, classes[1])
        return Scoring(scorer, classes)

    def score(self, left_out: LabelledSamples, decision: FloatArray, sigmoids: Sigmoids, where: str) -> float:
        """The score of one cell.

        Parameters
        ----------
        left_out : LabelledSamples
            In the user's units.
        decision : array of shape (m, n_surfaces)
            Their decision values.
        sigmoids : Sigmoids
            To log-odds, for scorers that ask for probabilities.
        where : str
            What an error names, such as "fold 0".
        """
        extra = {"sample_weight": left_out.sample_weight} if scorer_takes_weights(self.scorer) else {}
        stand_in = _ScoredClassifier(self.classes, decision, sigmoids)
        try:
            score = float(self.scorer(stand_in, left_out.X, self.classes[left_out.target.codes], **extra))
        except Exception as error:
            reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            raise ParameterError(f"the scorer failed in {where}: {reason}; choose another one", scoring=None) from error
        if not np.isfinite(score):
            one_class = len(np.unique(left_out.target.codes)) < 2
            reason = ", whose samples left out have one class only: use fewer folds, or" if one_class else ":"
            raise ParameterError(f"the scorer returned {score} in {where}{reason} choose another one", scoring=None)
        return score

    @property
    def is_log_loss(self) -> bool:
        """Whether the score is the mean log-loss, with its sign turned, by the weights of the loss."""
        return scorer_is_log_loss(self.scorer)

    @property
    def is_additive(self) -> bool:
        """Whether sums over rows, as ``tally`` has them, tell the score."""
        return self.is_log_loss or scorer_counts_labels(self.scorer)

    def of_tally(self, tally: FloatArray, where: str) -> float:
        """The score that the sums over all rows of one cell tell.

        Parameters
        ----------
        tally : array
        where : str
            What an error names.
        """
        if self.is_log_loss:
            return float(-tally[0, 0] / tally[0, 1])
        if scorer_is_accuracy(self.scorer):  # the checks of scikit-learn take longer than many a cell of a cross-validation
            return float(np.trace(tally) / tally.sum())
        codes, labels = np.nonzero(tally)
        decision = np.array([[-1.0], [1.0]])[labels] if len(tally) == 2 else np.eye(len(tally))[labels]
        target = Target(codes, np.ones(len(tally)), self.classes)
        rows = LabelledSamples(np.empty((len(codes), 0)), target, tally[codes, labels])
        return self.score(rows, decision, Sigmoids.none(decision.shape[1]), where)


class _ScoredClassifier(ClassifierMixin, BaseEstimator):
    """Stands before a scorer in place of a fitted classifier whose decisions are known already."""

    def __init__(self, classes: np.ndarray, decision: FloatArray | None = None, sigmoids: Sigmoids | None = None) -> None:
        self.classes = classes
        self.decision = decision
        self.sigmoids = sigmoids
        self.classes_ = classes

    def fit(self, X: Any, y: Any) -> Self:
        return self

    def decision_function(self, X: Any) -> FloatArray:
        assert self.decision is not None
        return self.decision[:, 0] if self.decision.shape[1] == 1 else self.decision

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self.classes_[codes_of_scores(self.decision_function(X))])

    def predict_proba(self, X: Any) -> FloatArray:
        assert self.decision is not None
        assert self.sigmoids is not None
        return chances(self.sigmoids.log_odds(self.decision))
