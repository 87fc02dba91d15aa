"""Where to cut a probability: rules that turn scores and labels into a number.

A row is labelled positive where its score is above the cut-off. Cut-offs lie half-way between neighbouring scores, so that they
keep clear of both; among equally good ones the largest is chosen, which labels the fewest rows positive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from quadric.errors import ParameterError, quoted
from quadric.estimators.validation import number_from
from quadric.types import BoolArray, FloatArray

# A number between 0 and 1, or the text of a rule.
Cutoff: TypeAlias = float | str
# Rules by name, with the numbers that they take.
RULES = {
    "accuracy": (),
    "balanced": (),
    "ks": (),
    "cost": ("FN", "FP"),
    "approval": ("SHARE",),
    "badrate": ("SHARE",),
}
FORMS = ", ".join(":".join([name, *numbers]) for name, numbers in RULES.items())
# The cut-off that labels a row with its likelier class.
EVEN = 0.5


@dataclass(frozen=True)
class CutoffRule:
    """A rule that chooses a cut-off.

    "accuracy" labels most rows correctly. "balanced" has the best mean of both classes' accuracies; "ks", where the score's
    distributions of the two classes are farthest apart, is the same point. "cost" weighs misses and false alarms. With the
    positive class as the bad one, "approval" leaves a share of the rows below the cut-off, and "badrate" as many as
    possible while no more than a share of them is bad.

    Attributes
    ----------
    name : str
    numbers : tuple of float
    """

    name: str
    numbers: tuple[float, ...] = ()

    def cutoff(self, positive: BoolArray, probability: FloatArray, weight: FloatArray) -> float:
        """The best cut-off between 0 and 1 on a sample.

        Parameters
        ----------
        positive : boolean array of shape (m,)
        probability : array of shape (m,)
            Of the positive class.
        weight : array of shape (m,)
            Repetitions.

        Returns
        -------
        float
        """
        curve = CutoffCurve.of(positive, probability, weight)
        ends = [0.5 * (1.0 + probability.max()), 0.5 * probability.min()]  # all rows below, and all above
        cutoffs = np.concatenate([ends[:1], curve.cutoffs[1:-1], ends[1:]])
        inside = np.flatnonzero((cutoffs > 0.0) & (cutoffs < 1.0))
        if len(inside) == 0:
            return EVEN  # every probability is 0 or 1: all cut-offs are the same
        return float(cutoffs[inside[self._best(curve.taken(inside))]])

    def _best(self, curve: CutoffCurve) -> int:
        if self.name == "approval":
            return int(np.argmin(np.abs(curve.approved / curve.weight - self.numbers[0])))
        if self.name == "badrate":
            return self._most_approved(curve)
        # exact for whole weights: rates would tie or not by their last digit
        costs = {"accuracy": (1.0, 1.0), "cost": self.numbers}.get(self.name, (curve.negatives, curve.positives))
        return int(np.argmin(curve.costs(*costs)))

    def _most_approved(self, curve: CutoffCurve) -> int:
        rate = np.divide(curve.missed, curve.approved, out=np.full_like(curve.missed, np.inf), where=curve.approved > 0.0)
        low_enough = np.flatnonzero(rate <= self.numbers[0])
        if len(low_enough) == 0:
            raise ParameterError(
                f"no cut-off has a bad rate of at most {self.numbers[0]:g} out of fold: the lowest is {rate.min():.2g}, "
                f"with {100 * curve.approved[np.argmin(rate)] / curve.weight:.2g} % approved",
                cutoff=None,
            )
        return int(low_enough[0])


def read_cutoff(value: Cutoff) -> float | CutoffRule:
    """A number between 0 and 1, or a rule from its text.

    Parameters
    ----------
    value : float or str

    Returns
    -------
    float or CutoffRule
    """
    if not isinstance(value, str):
        if not (number_from(0.0).holds(value) and 0.0 < float(value) < 1.0):
            raise ValueError(f"cutoff must be a number between 0 and 1, or one of {FORMS}, got {quoted(value)}")
        return float(value)
    name, *texts = value.split(":")
    try:
        numbers = tuple(float(text) for text in texts)
    except ValueError:
        numbers = (np.nan,)
    if name not in RULES or len(numbers) != len(RULES[name]) or not np.isfinite(numbers).all():
        raise ValueError(f"cutoff must be a number between 0 and 1, or one of {FORMS}, got {quoted(value)}")
    if name == "cost" and (min(numbers) < 0.0 or max(numbers) == 0.0):
        raise ValueError(f"the costs of a cutoff must not be negative, nor both zero, got {quoted(value)}")
    if name in ("approval", "badrate") and not 0.0 < numbers[0] < 1.0:
        raise ValueError(f"the share of a cutoff must be between 0 and 1, got {quoted(value)}")
    return CutoffRule(name, numbers)


@dataclass(frozen=True, eq=False)
class CutoffCurve:
    """What each cut-off does to a sample; arrays with one entry per cut-off, the largest first.

    Attributes
    ----------
    cutoffs : array
        From infinity, which leaves all rows below, over all middles between neighbouring scores, to minus infinity.
    alarms : array
        Weight of the other rows above each.
    missed, spared : arrays
        Weight of the positive and of the other rows that are not above.
    positives, negatives : float
        Weight of all of them.
    """

    cutoffs: FloatArray
    alarms: FloatArray
    missed: FloatArray
    spared: FloatArray
    positives: float
    negatives: float

    @staticmethod
    def of(positive: BoolArray, score: FloatArray, weight: FloatArray) -> CutoffCurve:
        scores, *weights = by_score(positive, score, weight)
        caught, alarms = (np.concatenate([[0.0], np.cumsum(values)]) for values in weights)
        # summed from the other end: differences from the total would leave a rounded rest where there are no rows
        missed, spared = (np.concatenate([np.cumsum(values[::-1])[::-1], [0.0]]) for values in weights)
        low, high = scores[1:], scores[:-1]
        middle = low + 0.5 * (high - low)  # but in any case below high: only what is above the cut-off counts as above
        cutoffs = np.concatenate([[np.inf], np.where(middle < high, middle, low), [-np.inf]])
        return CutoffCurve(cutoffs, alarms, missed, spared, float(caught[-1]), float(alarms[-1]))

    def taken(self, positions: np.ndarray) -> CutoffCurve:
        cutoffs, alarms = self.cutoffs[positions], self.alarms[positions]
        return CutoffCurve(cutoffs, alarms, self.missed[positions], self.spared[positions], self.positives, self.negatives)

    @property
    def weight(self) -> float:
        return self.positives + self.negatives

    @property
    def approved(self) -> FloatArray:
        """Weight of all rows that are not above."""
        return self.missed + self.spared

    def costs(self, miss: float, alarm: float) -> FloatArray:
        """Total cost, from that of one miss and of one false alarm."""
        return miss * self.missed + alarm * self.alarms


def by_score(positive: BoolArray, score: FloatArray, weight: FloatArray) -> FloatArray:
    """The distinct scores, the largest first, and the weights of positive and of other rows at each: three rows."""
    negated, codes = np.unique(-score, return_inverse=True)
    weights = [np.where(chosen, weight, 0.0) for chosen in (positive, ~positive)]
    return np.vstack([-negated, *(np.bincount(codes, values, len(negated)) for values in weights)])
