"""Decisions of a model: which class its decision values lead to, and with which probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quadric.errors import quoted
from quadric.estimators.calibration import METHODS, Calibration, SigmoidCalibration, decided, probabilities
from quadric.geometry.surface import QuadraticSurface
from quadric.labels import class_texts
from quadric.samples.target import codes_of_scores
from quadric.types import FloatArray, IntArray

# No decision value is farther from zero
FAR = 1e100
# Decision values below, with margins of 1, are zero to people
ZERO_SCORE = 1e-12


@dataclass(frozen=True)
class ScoreColumns:
    """Names of the columns that hold what a model makes of rows, the same wherever they are written.

    Attributes
    ----------
    scores : tuple of str
        "score" for two classes; otherwise "score_CLASS" for each class.
    probabilities : tuple of str
        The same with "probability", that of the second of two classes; none where the model is not calibrated.
    label : str
    """

    scores: tuple[str, ...]
    probabilities: tuple[str, ...]
    label: str

    @staticmethod
    def of(class_names: Sequence[str], has_probabilities: bool, prefix: str = "") -> ScoreColumns:
        """For a model with these classes.

        Parameters
        ----------
        class_names : sequence of str
        has_probabilities : bool
        prefix : str
            What all names begin with.

        Returns
        -------
        ScoreColumns
        """
        ends = [""] if len(class_names) == 2 else [f"_{name}" for name in class_names]
        scores, chances = (tuple(f"{prefix}{kind}{end}" for end in ends) for kind in ("score", "probability"))
        return ScoreColumns(scores, chances if has_probabilities else (), f"{prefix}label")

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, in order."""
        return (*self.scores, *self.probabilities, self.label)


@dataclass(frozen=True, eq=False)
class Decisions:
    """From decision values to classes.

    Attributes
    ----------
    surfaces : list of QuadraticSurface
        In fitted units: one for two classes, positive for the second; otherwise one per class.
    classes : array
    calibrators : tuple of SigmoidCalibration or IsotonicCalibration
        One per surface, or none.
    threshold : float
        The score or, where the model is calibrated, the probability above which the second of two classes is decided.
    """

    surfaces: list[QuadraticSurface]
    classes: np.ndarray
    calibrators: tuple[Calibration, ...]
    threshold: float

    @property
    def class_texts(self) -> tuple[str, ...]:
        """The labels as texts."""
        return class_texts(self.classes)

    def decided(self, decision: FloatArray) -> tuple[IntArray, FloatArray | None]:
        """Positions of the predicted classes, and probabilities where the model is calibrated.

        Parameters
        ----------
        decision : array of shape (m,) for two classes, (m, n_classes) otherwise

        Returns
        -------
        tuple of two arrays
            Of shapes (m,) and (m, n_classes); the second is None without a calibration.
        """
        if not self.calibrators:
            return codes_of_scores(decision), None
        chances = probabilities(decision, self.calibrators)
        return decided(chances, self.threshold), chances

    @property
    def calibration(self) -> str | None:
        """The method, "sigmoid" or "isotonic", where the model is calibrated."""
        return next((name for name, kind in METHODS.items() for curve in self.calibrators if isinstance(curve, kind)), None)

    @property
    def probability(self) -> Calibration | None:
        """Probability of the second of two classes by decision value, where the model is calibrated: it then decides."""
        return self.calibrators[0] if len(self.calibrators) == 1 else None

    @property
    def _log_odds(self) -> list[SigmoidCalibration]:
        """Of several classes, where log-odds, which are quadratic too, tell which is the likeliest; else none."""
        sigmoids = [calibrator for calibrator in self.calibrators if isinstance(calibrator, SigmoidCalibration)]
        return sigmoids if len(sigmoids) == len(self.calibrators) > 1 else []

    def rivals(self) -> list[QuadraticSurface]:
        """One surface per class, in fitted units; the largest wins: the decision values, or their log-odds.

        Returns
        -------
        list of QuadraticSurface
        """
        if not self._log_odds:
            return self.surfaces
        return [surface * -sigmoid.a - sigmoid.b for surface, sigmoid in zip(self.surfaces, self._log_odds, strict=True)]

    def compared(self, scores: FloatArray) -> FloatArray:
        """What the classes are compared by, from decision values of shape (m, n_classes).

        Parameters
        ----------
        scores : array of shape (m, n_classes)
            Decision values.

        Returns
        -------
        array of shape (m, n_classes)
        """
        if not self._log_odds:
            return scores
        return np.column_stack([sigmoid.log_odds(column) for sigmoid, column in zip(self._log_odds, scores.T, strict=True)])

    def class_code(self, label: Any, what: str = "target") -> int:
        """Position of a class.

        Parameters
        ----------
        label : class label
        what : str
            Name of the parameter, for the message.

        Returns
        -------
        int
        """
        found = [code for code, own in enumerate(self.classes.tolist()) if own == label]
        if len(found) != 1:
            raise ValueError(f"{what} must be one of the classes {self.classes.tolist()}, got {quoted(label)}")
        return found[0]

    def surface_towards(self, target: Any) -> QuadraticSurface:
        """The surface that grows towards a class; None is the positive one of two.

        Parameters
        ----------
        target : class label or None
            Required for more than two classes.

        Returns
        -------
        QuadraticSurface
        """
        if len(self.surfaces) == 1:
            surface = self.surfaces[0]
            return surface if target is None or self.class_code(target) == 1 else -surface
        if target is None:
            raise ValueError(f"target must name the class to explain: one of {self.classes.tolist()}")
        return self.surfaces[self.class_code(target)]

    def cutoff(self, value: float | None) -> float:
        """The decision value above which the second of two classes is decided: the user's, or the model's own.

        Parameters
        ----------
        value : float or None
            The user's; None: the model's own.

        Returns
        -------
        float
        """
        if value is None:
            return self.threshold if self.probability is None else self._crossing(self.probability)
        if len(self.surfaces) > 1:
            raise ValueError("cutoff needs a model of two classes: with more, the largest decision value wins")
        if not np.isfinite(value):
            raise ValueError(f"cutoff must be finite, got {value}")
        return float(value)

    @property
    def border(self) -> float | None:
        """The decision value above which people say that the second of two classes is decided.

        None where a calibration always decides the same class; 0 where the exact value is that but for its last bits.
        """
        try:
            exact = self.cutoff(None)
        except ValueError:
            return None
        return 0.0 if abs(exact) < ZERO_SCORE else exact

    def _crossing(self, probability: Calibration) -> float:
        """The largest decision value whose probability is not above the threshold, to the last bit."""

        def is_above(value: float) -> bool:
            return bool(probability(np.array([value]))[0] > self.threshold)

        low, high = -FAR, FAR
        if is_above(low) or not is_above(high):
            only = f"the model gives every row the class {quoted(self.classes.tolist()[int(is_above(low))])}"
            words = only if is_above(high) == is_above(low) else "the sigmoid falls"
            raise ValueError(
                f"{words}: the calibrated probability does not rise through {self.threshold:g}: "
                "give a cutoff on the decision function"
            )
        while low < (middle := 0.5 * (low + high)) < high:
            low, high = (low, middle) if is_above(middle) else (middle, high)
        return low
