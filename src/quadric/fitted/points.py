"""Points of a scorecard: the scale, and the line from the decision values of a calibrated model to them.

points = base_score + pdo / log 2 * (log odds - log base_odds), with odds of good to bad: more points mean less risk.
After a sigmoid calibration the log-odds are linear in f, and so are the points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from quadric.errors import quoted
from quadric.estimators.calibration import Calibration, SigmoidCalibration
from quadric.estimators.validation import Rule, check_values, number_above
from quadric.types import FloatArray

FINITE = Rule(number_above(-np.inf).holds, "a finite number")
RULES = {"pdo": number_above(0.0), "base_score": FINITE, "base_odds": number_above(0.0)}


@dataclass(frozen=True)
class ScoreScale:
    """Points from odds of good to bad.

    Attributes
    ----------
    pdo : float
        Points to double the odds.
    base_score : float
        Points at the base odds.
    base_odds : float
        Odds of good to bad that earn the base score.

    Examples
    --------
    >>> from quadric.credit import ScoreScale
    >>> scale = ScoreScale(pdo=20, base_score=600, base_odds=50)
    >>> [round(float(scale.points_from_odds(odds)), 6) for odds in (50, 100, 25)]
    [600.0, 620.0, 580.0]
    """

    pdo: float = 20.0
    base_score: float = 600.0
    base_odds: float = 50.0

    def __post_init__(self) -> None:
        check_values(vars(self), RULES)

    @staticmethod
    def read(text: str) -> ScoreScale:
        """A scale as people write it: "600:20:50" for 600 points at odds of 50 to 1, and 20 points that double the odds.

        Parameters
        ----------
        text : str

        Returns
        -------
        ScoreScale
        """
        try:
            score, pdo, odds = map(float, text.split(":"))
        except ValueError:
            raise ValueError(f"points must be POINTS:DOUBLE:ODDS, such as 600:20:50, got {quoted(text)}") from None
        for value, words in ((pdo, "the points that double the odds"), (odds, "the odds")):
            if not 0.0 < value < np.inf:
                raise ValueError(f"points {quoted(text)}: {words} must be a number above 0")
        return ScoreScale(pdo, score, odds)

    @property
    def written(self) -> str:
        """The scale as :meth:`read` takes it."""
        return f"{float(self.base_score)!r}:{float(self.pdo)!r}:{float(self.base_odds)!r}"

    @property
    def factor(self) -> float:
        """Points per unit of log-odds: pdo / log 2."""
        return float(self.pdo / np.log(2.0))

    @property
    def offset(self) -> float:
        """Points at even odds."""
        return float(self.base_score - self.factor * np.log(self.base_odds))

    def points(self, log_odds: ArrayLike) -> FloatArray:
        """Points from the logarithm of the odds of good to bad.

        Parameters
        ----------
        log_odds : array-like

        Returns
        -------
        array
        """
        return np.asarray(self.offset + self.factor * np.asarray(log_odds, dtype=float))

    def points_from_odds(self, odds: ArrayLike) -> FloatArray:
        """Points from the odds of good to bad.

        Parameters
        ----------
        odds : array-like

        Returns
        -------
        array
        """
        return self.points(np.log(np.asarray(odds, dtype=float)))

    def points_from_probability(self, bad: ArrayLike) -> FloatArray:
        """Points from the probability of bad; infinite at 0 and 1.

        Parameters
        ----------
        bad : array-like

        Returns
        -------
        array
        """
        return self.points(-logit(np.asarray(bad, dtype=float)))

    def log_odds(self, points: ArrayLike) -> FloatArray:
        """The logarithm of the odds of good to bad that earn these points.

        Parameters
        ----------
        points : array-like

        Returns
        -------
        array
        """
        return np.asarray((np.asarray(points, dtype=float) - self.offset) / self.factor)

    def probability(self, points: ArrayLike) -> FloatArray:
        """The probability of bad at these points.

        Parameters
        ----------
        points : array-like

        Returns
        -------
        array
        """
        return np.asarray(expit(-self.log_odds(points)))


@dataclass(frozen=True)
class PointsLine:
    """points = slope * f + constant.

    Attributes
    ----------
    slope, constant : float
    scale : ScoreScale
    good : str
        Name of the class that points speak for.
    """

    slope: float
    constant: float
    scale: ScoreScale
    good: str

    @staticmethod
    def of(
        calibrators: Sequence[Calibration],
        classes: Sequence[Any] | np.ndarray,
        scale: ScoreScale | None = None,
        good: Any = None,
    ) -> PointsLine:
        """Of a calibrated model.

        Parameters
        ----------
        calibrators : sequence of SigmoidCalibration
        classes : sequence of labels, or of their names
            Two, the second of which has positive f.
        scale : ScoreScale, optional
        good : label, optional
            One of the classes; by default the first.
        """
        side, scale = side_of_bad(classes, good), scale or ScoreScale()
        if not calibrators:
            raise ValueError("points need probabilities: calibrate the scores by a sigmoid")
        sigmoid, turn = calibrators[0], side * scale.factor
        if not isinstance(sigmoid, SigmoidCalibration):
            raise ValueError("points are a quadratic in the features only after a calibration with method='sigmoid'")
        return PointsLine(turn * sigmoid.a, scale.offset + turn * sigmoid.b, scale, str(classes[0 if side > 0.0 else 1]))

    @property
    def words(self) -> str:
        """The scale in one clause."""
        scale = self.scale
        return f"{scale.base_score:g} at odds of {scale.base_odds:g} to 1 for {self.good}; {scale.pdo:g} more double the odds"

    def points(self, decision: FloatArray) -> FloatArray:
        """Points of decision values.

        Parameters
        ----------
        decision : array
        """
        return np.asarray(self.constant + self.slope * decision)


def side_of_bad(labels: Any, good: Any) -> float:
    """1 where bad is the second class, which decision values and log-odds are meant for; -1 where it is the first."""
    classes = np.asarray(labels).tolist()
    if len(classes) != 2:
        raise ValueError(f"points need two classes, but the model has {len(classes)}")
    if good is not None and good not in classes:
        raise ValueError(f"good must be one of {classes}, got {quoted(good)}")
    return -1.0 if good is not None and good == classes[1] else 1.0
