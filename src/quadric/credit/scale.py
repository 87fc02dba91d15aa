"""Points instead of log-odds: the scale of scorecards, exact or in integers with the loss stated.

points = base_score + pdo / log 2 * (log odds - log base_odds), with odds of good to bad: more points mean less risk.
After a sigmoid calibration the log-odds are linear in f, so the points are themselves a quadratic surface.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logit
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from quadric._sklearn import check_sample_weight
from quadric.credit.metrics import auc, ks_statistic
from quadric.estimators.calibration import CalibratedModel, SigmoidCalibration
from quadric.estimators.validation import check_values, none_or
from quadric.fitted import FittedModel, check_fitted, fitted_model
from quadric.fitted.points import FINITE, PointsLine, ScoreScale, side_of_bad
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import LINEAR, term_factors
from quadric.tables.table import Rows
from quadric.types import FloatArray


def score_points(
    model: BaseEstimator, X: Rows, scale: ScoreScale | None = None, *, good: Hashable | None = None, integer: bool = False
) -> FloatArray:
    """Points of samples; more points mean less risk.

    Parameters
    ----------
    model : fitted two-class model with probabilities
        A CalibratedModel, a Pipeline with one, or any classifier with ``predict_proba``.
    X : array-like or frame of shape (m, n)
        Samples.
    scale : ScoreScale, optional
        By default 20 points double the odds and 600 points stand for 50 to 1.
    good : label, optional
        The class called good; by default ``classes_[0]``, so that ``classes_[1]`` is the event, or bad.
    integer : bool
        Use the rounded points of :func:`term_points`.

    Returns
    -------
    array of shape (m,)
        Infinite where a probability is 0 or 1, which an isotonic calibration may say.
    """
    check_fitted(model)
    if integer:
        return scaled_surface(model, scale, good=good, integer=True)(_scorecard(model).fitted(X))
    return (scale or ScoreScale()).points(-side_of_bad(model.classes_, good) * _log_odds(model, X))


def scaled_surface(
    model: BaseEstimator, scale: ScoreScale | None = None, *, good: Hashable | None = None, integer: bool = False
) -> QuadraticSurface:
    """The surface whose values are points.

    Parameters
    ----------
    model : CalibratedModel with method "sigmoid", or Pipeline with one
        Its classifier is a quadric one for two classes.
    scale, good :
        As in :func:`score_points`.
    integer : bool
        Round the constant and the polynomial coefficients of all terms (W_aa / 2 for "a^2"), so that the surface can be worked
        out by hand; :func:`rounding_loss` states what that costs.

    Returns
    -------
    QuadraticSurface
        Of the classifier's own features: after the transformers of a pipeline, and standardised where the classifier does that.
    """
    view = _scorecard(model)
    line = PointsLine.of(view.calibrators, view.classes, scale, good)
    points = view.surfaces[0] * line.slope + line.constant
    return _rounded(points) if integer else points


def _scorecard(model: BaseEstimator) -> FittedModel:
    """A model whose log-odds are a quadratic surface: two classes, calibrated by a sigmoid."""
    view = fitted_model(model)
    if not view.calibrators:
        raise TypeError(f"need a CalibratedModel of a quadric classifier, got {type(model).__name__}")
    PointsLine.of(view.calibrators, view.classes)  # refuses others
    return view


@dataclass(frozen=True, eq=False)
class TermPoints:
    """Points as a sum over terms: constant + sum of points[t] * (value of term t).

    Attributes
    ----------
    terms : tuple of str
        "age*income", "age^2", "age"; the one with most points per unit first.
    points : array
        Points per unit of the term.
    constant : float
    scale : ScoreScale
    """

    terms: tuple[str, ...]
    points: FloatArray
    constant: float
    scale: ScoreScale

    def rows(self) -> list[tuple[str, float]]:
        """The constant, then each term with its points.

        Returns
        -------
        list of (str, float)
        """
        return [("constant", self.constant), *zip(self.terms, self.points.tolist(), strict=True)]


def term_points(
    model: BaseEstimator, scale: ScoreScale | None = None, *, good: Hashable | None = None, integer: bool = False
) -> TermPoints:
    """The scorecard: points of each term.

    Parameters
    ----------
    model, scale, good, integer :
        As in :func:`scaled_surface`. Terms whose points round to zero stay in the table.

    Returns
    -------
    TermPoints
    """
    exact = scaled_surface(model, scale, good=good)
    terms = exact.terms(_scorecard(model).names)
    points = np.array([value for _, value in terms])
    constant = float(np.rint(exact.c)) if integer else exact.c
    return TermPoints(tuple(name for name, _ in terms), np.rint(points) if integer else points, constant, scale or ScoreScale())


@dataclass(frozen=True)
class RoundingLoss:
    """What integer points cost, in points and in decisions.

    Attributes
    ----------
    n_samples : int
    largest, mean : float
        Of the differences between rounded and exact points on the samples, without their signs.
    bound : float
        No sample whose features lie within the ranges seen can differ by more; so two of them that are more than twice this
        apart keep their order.
    auc, integer_auc, ks, integer_ks : float or None
        Of the exact and of the rounded points; None without labels.
    cutoff : float or None
    flips : int or None
        Samples that pass the cut-off (points of at least that many) with one kind of points and fail with the other.
    """

    n_samples: int
    largest: float
    mean: float
    bound: float
    auc: float | None = None
    integer_auc: float | None = None
    ks: float | None = None
    integer_ks: float | None = None
    cutoff: float | None = None
    flips: int | None = None

    def statement(self) -> str:
        """The loss in one sentence.

        Returns
        -------
        str
        """
        parts = [
            f"integer points differ from exact ones by at most {self.largest:.3g} and by {self.mean:.3g} on average on "
            f"{self.n_samples} samples, never by more than {self.bound:.3g} within their ranges"
        ]
        if self.auc is not None:
            parts.append(f"AUC {self.auc:.4f} becomes {self.integer_auc:.4f}, KS {self.ks:.4f} becomes {self.integer_ks:.4f}")
        if self.cutoff is not None:
            parts.append(f"{self.flips} decisions change at the cut-off of {self.cutoff:g}")
        return "; ".join(parts)


def rounding_loss(
    model: BaseEstimator,
    X: Rows,
    y: ArrayLike | None = None,
    *,
    scale: ScoreScale | None = None,
    good: Hashable | None = None,
    cutoff: float | None = None,
    sample_weight: ArrayLike | None = None,
) -> RoundingLoss:
    """What rounding the points of all terms to integers costs on given samples.

    Parameters
    ----------
    model : as in :func:`scaled_surface`
    X : array-like or frame of shape (m, n)
        Samples.
    y : array-like of shape (m,), optional
        Their labels, for AUC and KS.
    scale, good :
        As in :func:`score_points`.
    cutoff : float, optional
        Points from which an applicant is accepted.
    sample_weight : array-like of shape (m,), optional
        Repetitions, in the mean, AUC and KS.

    Returns
    -------
    RoundingLoss
    """
    check_values({"cutoff": cutoff}, {"cutoff": none_or(FINITE)})
    exact, view = scaled_surface(model, scale, good=good), _scorecard(model)
    rounded, x = _rounded(exact), view.fitted(X)
    change = rounded - exact
    difference, before, after = np.abs(change(x)), exact(x), rounded(x)
    measures: dict[str, Any] = {}
    if y is not None:
        labels = {"sample_weight": sample_weight, "event": view.classes[int(side_of_bad(view.classes, good) > 0)]}
        measures = {"auc": auc(y, -before, **labels), "integer_auc": auc(y, -after, **labels)}
        measures |= {"ks": ks_statistic(y, -before, **labels), "integer_ks": ks_statistic(y, -after, **labels)}
    if cutoff is not None:
        measures |= {"cutoff": float(cutoff), "flips": int(np.sum((before >= cutoff) != (after >= cutoff)))}
    return RoundingLoss(
        n_samples=len(x),
        largest=float(difference.max()),
        mean=float(np.average(difference, weights=check_sample_weight(sample_weight, x))),
        bound=_largest_within(change, x.min(axis=0), x.max(axis=0)),
        **measures,
    )


def _log_odds(model: BaseEstimator, X: Rows) -> FloatArray:
    """Of the second class: straight from the sigmoid where there is one, as probabilities near 1 have few digits left."""
    inner = model
    while isinstance(inner, Pipeline):
        inner = inner[-1]
    sigmoid = inner.calibrators_[0] if isinstance(inner, CalibratedModel) and len(inner.classes_) == 2 else None
    if isinstance(sigmoid, SigmoidCalibration):
        return sigmoid.log_odds(model.decision_function(X))
    if not hasattr(model, "predict_proba"):
        raise TypeError(f"{type(model).__name__} has no probabilities: wrap it in a CalibratedModel")
    return np.asarray(logit(model.predict_proba(X)[:, 1]))


def _rounded(surface: QuadraticSurface) -> QuadraticSurface:
    left, right = term_factors(surface.n_features)
    z = np.rint(surface.polynomial()) * np.where(left == right, 2.0, 1.0)
    return QuadraticSurface.from_coordinates(z, float(np.rint(surface.c)))


def _largest_within(surface: QuadraticSurface, low: FloatArray, high: FloatArray) -> float:
    """A bound on |f| over a box: every term at its own extremes."""
    left, right = term_factors(surface.n_features)
    second_low, second_high = (np.where(right == LINEAR, 1.0, end[right]) for end in (low, high))
    corners = np.array([first * second for first in (low[left], high[left]) for second in (second_low, second_high)])
    largest, smallest = corners.max(axis=0), corners.min(axis=0)
    smallest = np.where(left == right, np.maximum(smallest, 0.0), smallest)  # no square is below zero
    weights = surface.polynomial()
    ends = np.array([weights * smallest, weights * largest])
    return float(max(abs(surface.c + ends.max(axis=0).sum()), abs(surface.c + ends.min(axis=0).sum())))
