"""How well scores tell two classes apart, and whether probabilities are right."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import RocCurveDisplay
from sklearn.utils import column_or_1d

from quadric.credit import ks_statistic
from quadric.plot.axes import AGAINST, TOWARDS, axes_or_new, plain
from quadric.tables.table import Rows
from quadric.types import BoolArray, FloatArray


def roc(model: Any, X: Rows, y: ArrayLike, *, name: str | None = None, ax: Any = None) -> Any:
    """The ROC curve with its area, by scikit-learn's RocCurveDisplay.

    Parameters
    ----------
    model : fitted classifier of two classes
        With ``decision_function``.
    X, y : array-likes
        Rows that the model was not fitted to, for an honest picture.
    name : str, optional
        In the legend.
    ax : matplotlib Axes, optional
        Draw several models into one.

    Returns
    -------
    matplotlib Axes
    """
    event, ax = _events(model, y), axes_or_new(ax, (5.0, 5.0))
    score = np.asarray(model.decision_function(X))
    return RocCurveDisplay.from_predictions(event, score, name=name, ax=ax, plot_chance_level=not ax.lines).ax_


def calibration(model: Any, X: Rows, y: ArrayLike, *, n_bins: int = 10, name: str | None = None, ax: Any = None) -> Any:
    """Observed shares against predicted probabilities, in groups of equal size, by scikit-learn's CalibrationDisplay.

    Parameters
    ----------
    model : fitted classifier of two classes
        With ``predict_proba``: CalibratedModel, TableClassifier, or a loss that has probabilities.
    X, y : array-likes
        Rows that the model was not fitted to, for an honest picture.
    n_bins : int
    name : str, optional
        In the legend.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    event, ax = _events(model, y), axes_or_new(ax, (5.0, 5.0))
    if not hasattr(model, "predict_proba"):
        raise TypeError("calibration needs probabilities: calibrate the model, with quadric.credit.CalibratedModel")
    probability = np.asarray(model.predict_proba(X))[:, 1]
    return CalibrationDisplay.from_predictions(event, probability, n_bins=n_bins, strategy="quantile", name=name, ax=ax).ax_


def ks(model: Any, X: Rows, y: ArrayLike, *, ax: Any = None) -> Any:
    """The distributions of the scores of both classes, and where they are farthest apart: the KS statistic.

    Parameters
    ----------
    model : fitted classifier of two classes
    X, y : array-likes
        Rows that the model was not fitted to, for an honest picture.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    event, ax = _events(model, y), axes_or_new(ax)
    score = np.asarray(model.decision_function(X))
    levels = np.unique(score)
    for members, label, color in ((event, model.classes_[1], TOWARDS), (~event, model.classes_[0], AGAINST)):
        ax.step(levels, _share_up_to(levels, score[members]), where="post", color=color, label=plain(label))
    gaps = np.abs(_share_up_to(levels, score[event]) - _share_up_to(levels, score[~event]))
    at = levels[np.argmax(gaps)]
    ends = [float(_share_up_to(np.array([at]), score[members])[0]) for members in (event, ~event)]
    ax.plot([at, at], ends, color="black", linestyle="--", label=f"KS {ks_statistic(event, score):.3f} at {at:.3g}")
    ax.set(xlabel="score", ylabel="share of the class up to the score", ylim=(0, 1))
    ax.legend(fontsize="small")
    return ax


def _share_up_to(levels: FloatArray, scores: FloatArray) -> FloatArray:
    return np.asarray(np.searchsorted(np.sort(scores), levels, side="right") / len(scores))


def _events(model: Any, y: ArrayLike) -> BoolArray:
    """Rows of the positive class."""
    classes = np.asarray(model.classes_)
    if len(classes) != 2:
        raise ValueError(f"this picture needs a model of two classes, and this one has {len(classes)}")
    labels = column_or_1d(y)
    strange = sorted({str(label) for label in labels.tolist()} - {str(label) for label in classes.tolist()})
    if strange:
        raise ValueError(f"y has labels that the model does not know: {strange[:5]}; it knows {classes.tolist()}")
    return np.asarray(labels == classes[1])
