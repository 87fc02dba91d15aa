"""How good a model is on rows whose outcome is known, by one pass over them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan

import numpy as np

from quadric.credit.intervals import AreaEstimate
from quadric.review.alarms import Check, Limits
from quadric.samples.random_rows import RandomRows, SampledRows
from quadric.samples.source import SampleBatch
from quadric.samples.target import Target
from quadric.types import IntArray
from quadric.workflow.scoring import Scores

# Rows with an outcome of which the AUC is computed; of more, of so many random ones
MOST_RANKED = 2_000_000
# A normal variable is beyond this once in twenty times on one side, and on either side
ONE_SIDED, TWO_SIDED = 1.6448536269514722, 1.959963984540054


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What became of rows of a model of two classes; ``+`` adds others.

    Attributes
    ----------
    n_known, n_unknown : int
        Rows with and without an outcome.
    n_events : int
    expected, variance : float
        Of the number of events, by the probabilities of the rows with an outcome; NaN without probabilities.
    ranked : SampledRows
        Scores and outcomes, of a random sample where there are many.
    """

    n_known: int
    n_unknown: int
    n_events: int
    expected: float
    variance: float
    ranked: SampledRows

    @staticmethod
    def of(scores: Scores, codes: IntArray, first_row: int) -> Outcomes:
        """Of some rows.

        Parameters
        ----------
        scores : Scores
        codes : array of shape (m,)
            1 for events, 0 for others, -1 where nobody knows.
        first_row : int
        """
        known = np.flatnonzero(codes >= 0)
        chances = np.full(len(codes), np.nan) if scores.probabilities is None else scores.probabilities[:, 1]
        p, target = chances[known], Target(codes[known], np.ones(2))
        batch = SampleBatch(scores.decision[known, None], target, np.ones(len(known)), known + first_row)
        n_events, ranked = int(codes[known].sum()), RandomRows(MOST_RANKED)(batch)
        return Outcomes(len(known), len(codes) - len(known), n_events, float(p.sum()), float(p @ (1.0 - p)), ranked)

    def __add__(self, other: Outcomes) -> Outcomes:
        return Outcomes(*(one + two for one, two in zip(vars(self).values(), vars(other).values(), strict=True)))


@dataclass(frozen=True)
class Outcome:
    """How good a model is on rows whose outcome is known.

    Attributes
    ----------
    n_known, n_unknown : int
        Rows with and without an outcome.
    n_events : int
        Rows of the positive class.
    expected : float or None
        The sum of their probabilities of it; None without probabilities.
    by_chance : float or None
        The number of events differs from that by no more in 19 of 20 samples, if the probabilities are right.
    auc, auc_error : float or None
        With its standard error (DeLong); None where only one class has come out.
    auc_before : float or None
        Out of fold at the fit; None where the model file does not say.
    """

    n_known: int
    n_unknown: int
    n_events: int
    expected: float | None
    by_chance: float | None
    auc: float | None
    auc_error: float | None
    auc_before: float | None

    @staticmethod
    def of(outcomes: Outcomes, before: float | None) -> Outcome:
        """The figures of all rows.

        Parameters
        ----------
        outcomes : Outcomes
        before : float or None
            AUC at the fit.
        """
        has_chances = outcomes.n_known > 0 and np.isfinite(outcomes.expected)
        area = None
        if 0 < outcomes.n_events < outcomes.n_known:
            rows = outcomes.ranked.batch
            area = AreaEstimate.of(rows.target.codes == 1, rows.X[:, 0], rows.sample_weight)
        return Outcome(
            n_known=outcomes.n_known,
            n_unknown=outcomes.n_unknown,
            n_events=outcomes.n_events,
            expected=outcomes.expected if has_chances else None,
            by_chance=TWO_SIDED * outcomes.variance**0.5 if has_chances else None,
            auc=None if area is None else area.value,
            auc_error=None if area is None or isnan(area.variance) else area.variance**0.5,
            auc_before=before,
        )

    def words(self) -> dict[str, str]:
        """Facts for people, by what they are about."""
        facts = {"outcomes": f"{self.n_known:,} rows with one, {self.n_unknown:,} without"}
        if self.auc is not None:
            error = "" if self.auc_error is None else f" \N{PLUS-MINUS SIGN} {self.auc_error:.3f}"
            before = "" if self.auc_before is None else f"; {self.auc_before:.3f} out of fold at the fit"
            facts["AUC"] = f"{self.auc:.3f}{error}{before}"
        if self.expected is not None and self.by_chance is not None:
            spread = f"{self.expected:.1f} expected, \N{PLUS-MINUS SIGN} {self.by_chance:.1f} by chance"
            facts["calibration"] = f"{self.n_events:,} events; {spread}"
        return facts

    def checks(self, limits: Limits) -> Iterator[Check]:
        """Its figures beside their limits, as far as there are both.

        Parameters
        ----------
        limits : Limits
        """
        if self.auc is not None and self.auc_error is not None and self.auc_before is not None:
            yield Check("auc_drop", "", self.auc_before - self.auc, limits.auc_drop, ONE_SIDED * self.auc_error)
        if self.expected and self.by_chance is not None:
            difference = abs(self.n_events - self.expected) / self.expected
            yield Check("calibration", "", difference, limits.calibration, self.by_chance / self.expected)
