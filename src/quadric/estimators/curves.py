"""From decision values to probabilities: curves of a few numbers that can be written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import numpy as np
from scipy.special import expit

from quadric.types import FloatArray, IntArray


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
LOG_ODDS = SigmoidCalibration(-1.0, 0.0)
"""The curve of decision values that are log-odds as they are."""


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
