"""From decision values to probabilities: curves of a few numbers that can be written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

from quadric._sklearn import platt_scaling
from quadric.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class SigmoidCalibration:
    """p = 1 / (1 + exp(a f + b)): Platt's scaling.

    Attributes
    ----------
    a, b : float
        Negative ``a`` lets the probability grow with the decision value.
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", float(self.a))
        object.__setattr__(self, "b", float(self.b))
        if not (np.isfinite(self.a) and np.isfinite(self.b)):
            raise ValueError(f"a and b of a sigmoid must be finite, got {self.a} and {self.b}")

    def log_odds(self, f: FloatArray) -> FloatArray:
        """log(p / (1 - p)) = -(a f + b).

        Parameters
        ----------
        f : array
            Decision values.

        Returns
        -------
        array of the same shape
        """
        return np.asarray(-(self.a * np.asarray(f) + self.b))

    def __call__(self, f: FloatArray) -> FloatArray:
        """The probability at each decision value."""
        return np.asarray(expit(self.log_odds(f)))


@dataclass(frozen=True, eq=False)
class IsotonicCalibration:
    """p is piecewise linear and non-decreasing between (x[0], y[0]) and (x[-1], y[-1]), and constant beyond them.

    Attributes
    ----------
    x : array of shape (t,)
        Decision values, increasing.
    y : array of shape (t,)
        Their probabilities.
    """

    x: FloatArray
    y: FloatArray

    def __post_init__(self) -> None:
        x, y = np.array(self.x, dtype=float), np.array(self.y, dtype=float)
        if x.ndim != 1 or x.shape != y.shape or len(x) == 0:
            raise ValueError(f"x of shape {x.shape} and y of shape {y.shape} do not make a curve: need two equal lengths")
        if not (np.isfinite(x).all() and (np.diff(x) > 0).all()):
            raise ValueError("x of an isotonic calibration must be finite and increasing")
        if not ((y >= 0).all() and (y <= 1).all() and (np.diff(y) >= 0).all()):
            raise ValueError("y of an isotonic calibration must be non-decreasing probabilities")
        x.setflags(write=False)
        y.setflags(write=False)
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "y", y)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IsotonicCalibration):
            return NotImplemented
        return np.array_equal(self.x, other.x) and np.array_equal(self.y, other.y)

    def __hash__(self) -> int:
        return hash((self.x.tobytes(), self.y.tobytes()))

    def __call__(self, f: FloatArray) -> FloatArray:
        """The probability at each decision value."""
        return np.asarray(np.interp(f, self.x, self.y))


Calibration: TypeAlias = SigmoidCalibration | IsotonicCalibration
METHODS: dict[str, type[Calibration]] = {"sigmoid": SigmoidCalibration, "isotonic": IsotonicCalibration}
# The curve of decision values that are log-odds as they are.
LOG_ODDS = SigmoidCalibration(-1.0, 0.0)
# Twice the logarithm of a likelihood ratio that one needless parameter exceeds in 5 % of samples.
LIKELIHOOD_RATIO = 3.84


def fitted_curves(method: str, scores: FloatArray, codes: IntArray, weight: FloatArray) -> list[Calibration]:
    """One curve for two classes, else one per class, by the methods of CalibratedModel.

    Parameters
    ----------
    method : {"auto", "sigmoid", "isotonic"}
    scores : array of shape (m, n_surfaces)
        Decision values.
    codes : array of shape (m,)
        Positions of the classes.
    weight : array of shape (m,)

    Returns
    -------
    list of SigmoidCalibration or of IsotonicCalibration
    """
    columns = scores.T
    positives = [1] if len(columns) == 1 else range(len(columns))
    fitted = {"auto": _plain_sigmoid, "sigmoid": _rising_sigmoid, "isotonic": _isotonic}[method]
    return [fitted(column, codes == code, weight) for column, code in zip(columns, positives, strict=True)]


def _isotonic(scores: FloatArray, positive: BoolArray, weight: FloatArray) -> Calibration:
    curve = IsotonicRegression(out_of_bounds="clip").fit(scores, positive, weight)
    return IsotonicCalibration(curve.X_thresholds_, curve.y_thresholds_)


def _rising_sigmoid(scores: FloatArray, positive: BoolArray, weight: FloatArray) -> SigmoidCalibration:
    """A falling sigmoid would turn the meaning of f around: the best one that does not fall is constant."""
    curve = SigmoidCalibration(*platt_scaling(scores, positive, weight))
    if curve.a <= 0.0:
        return curve
    return SigmoidCalibration(0.0, float(-logit(np.average(_targets(positive, weight), weights=weight))))


def _plain_sigmoid(scores: FloatArray, positive: BoolArray, weight: FloatArray) -> SigmoidCalibration:
    """One half at zero unless that is clearly too simple: an offset that is noise would move labels for nothing."""
    targets = _targets(positive, weight)
    plain, full = SigmoidCalibration(-_slope(scores, targets, weight), 0.0), _rising_sigmoid(scores, positive, weight)
    if plain.a == 0.0:  # the scores tell nothing, and the share of the class is a better guess than one half
        return full

    def misfit(curve: SigmoidCalibration) -> float:
        log_odds = curve.log_odds(scores)
        return float(weight @ (np.logaddexp(0.0, log_odds) - targets * log_odds))

    return full if 2.0 * (misfit(plain) - misfit(full)) > LIKELIHOOD_RATIO else plain


def _targets(positive: BoolArray, weight: FloatArray) -> FloatArray:
    """Platt's: (events + 1) / (events + 2) for an event, 1 / (others + 2) for another row."""
    events, others = (float(weight[rows].sum()) for rows in (positive, ~positive))
    return np.where(positive, (events + 1.0) / (events + 2.0), 1.0 / (others + 2.0))


def _slope(scores: FloatArray, targets: FloatArray, weight: FloatArray) -> float:
    """s >= 0 of the likeliest 1 / (1 + exp(-s f)), at the zero of the likelihood's slope."""
    largest = float(np.abs(scores).max())
    if largest == 0.0:
        return 0.0
    scaled = scores / largest

    def rising(s: float) -> float:
        return float(weight @ (scaled * (expit(s * scaled) - targets)))

    if rising(0.0) >= 0.0:  # the best one falls
        return 0.0
    upper = 1.0
    while rising(upper) < 0.0:  # ends, since no target is 0 or 1
        upper *= 2.0
    return float(brentq(rising, 0.0, upper)) / largest


def probabilities(decision: FloatArray, calibrators: Sequence[Calibration]) -> FloatArray:
    """Probabilities of all classes from decision values of shape (m,) or (m, n_classes)."""
    if len(calibrators) == 1:
        positive = calibrators[0](decision)
        return np.column_stack([1.0 - positive, positive])
    columns = [calibrator(column) for calibrator, column in zip(calibrators, decision.T, strict=True)]
    values, total = np.column_stack(columns), reduce(np.add, columns)[:, None]  # in this order for any number of rows
    return np.divide(values, total, out=np.full_like(values, 1.0 / len(calibrators)), where=total != 0.0)


def decided(chances: FloatArray, cutoff: float) -> IntArray:
    """Positions of the predicted classes, from probabilities of shape (m, n_classes): of two, the second above the cut-off."""
    return (chances[:, 1] > cutoff).astype(np.intp) if chances.shape[1] == 2 else chances.argmax(axis=1)
