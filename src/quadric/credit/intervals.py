"""How far a measure of one sample may be off: DeLong's variance of areas, Jeffreys intervals of rates, bootstrap samples."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta, norm

from quadric.credit.metrics import labelled_scores
from quadric.estimators.validation import check_values, number_from
from quadric.types import BoolArray, FloatArray, IntArray

LEVEL = 0.95
BOOTSTRAPS = 300


@dataclass(frozen=True)
class Estimate:
    """A measure of a sample, and an interval for that of its population.

    Attributes
    ----------
    value : float
    low, high : float
        Ends of the interval; NaN where there is none.
    """

    value: float
    low: float = np.nan
    high: float = np.nan


@dataclass(frozen=True)
class AreaEstimate:
    """Area under the ROC curve, with its variance.

    Attributes
    ----------
    value, variance : float
        The variance is NaN with a single event, or a single other row.
    """

    value: float
    variance: float

    @staticmethod
    def of(is_event: BoolArray, score: FloatArray, weight: FloatArray) -> AreaEstimate:
        """After DeLong, DeLong and Clarke-Pearson (1988); weights are repetitions.

        Parameters
        ----------
        is_event, score, weight : arrays of shape (m,)
            With rows of both kinds.
        """
        sides = [(score[mine], weight[mine]) for mine in (is_event, ~is_event)]
        beaten = _share_below(*sides[0], *sides[1]), 1.0 - _share_below(*sides[1], *sides[0])
        value = float(np.average(beaten[0], weights=sides[0][1]))
        variance = 0.0
        for shares, (_, own) in zip(beaten, sides, strict=True):
            total = float(own.sum())
            variance += float(own @ (shares - value) ** 2) / (total * (total - 1.0)) if total > 1.0 else np.nan
        return AreaEstimate(value, variance)

    @staticmethod
    def mean(parts: Sequence[AreaEstimate]) -> AreaEstimate:
        """Of independent parts, such as folds: the mean of their areas.

        Parameters
        ----------
        parts : sequence of AreaEstimate
        """
        values, variances = np.array([[part.value, part.variance] for part in parts]).T
        return AreaEstimate(float(values.mean()), float(variances.sum()) / len(parts) ** 2)

    def interval(self, level: float = LEVEL) -> Estimate:
        """The normal interval, cut at 0 and 1.

        Parameters
        ----------
        level : float
        """
        width = float(norm.ppf(0.5 + level / 2.0)) * self.variance**0.5
        return Estimate(self.value, *np.clip([self.value - width, self.value + width], 0.0, 1.0).tolist())


def _share_below(score: FloatArray, weight: FloatArray, others: FloatArray, other_weight: FloatArray) -> FloatArray:
    """Of each score, the share of the others below it, ties counting half."""
    order = np.argsort(others, kind="stable")
    reached = np.concatenate([[0.0], np.cumsum(other_weight[order])])
    below, upto = (reached[np.searchsorted(others[order], score, side=side)] for side in ("left", "right"))
    return np.asarray((below + upto) / (2.0 * reached[-1]))


def auc_interval(
    y: ArrayLike,
    score: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    event: Hashable | None = None,
    level: float = LEVEL,
) -> Estimate:
    """Area under the ROC curve with DeLong's confidence interval.

    Parameters
    ----------
    y, score, sample_weight, event :
        As in :func:`auc`; weights are repetitions.
    level : float
        Confidence, 0.95 for a 95 % interval.

    Returns
    -------
    Estimate
    """
    check_values({"level": level}, {"level": number_from(0.0)})
    if level >= 1.0:
        raise ValueError(f"level must be below 1, got {level}")
    return AreaEstimate.of(*labelled_scores(y, score, sample_weight, event)).interval(level)


def jeffreys_interval(events: int, count: int, *, level: float = LEVEL) -> Estimate:
    """A rate with the equal-tailed interval of its posterior for a Jeffreys prior, which holds also for few events.

    Parameters
    ----------
    events, count : int
        Whole numbers, as the tests of calibration take them.
    level : float
        As in :func:`auc_interval`.

    Returns
    -------
    Estimate
        After Brown, Cai and DasGupta (2001): the low end is 0 without events, the high end 1 without others. NaN without rows.

    Examples
    --------
    >>> from quadric.credit import jeffreys_interval
    >>> rate = jeffreys_interval(3, 20)
    >>> [round(value, 3) for value in (rate.value, rate.low, rate.high)]
    [0.15, 0.044, 0.349]
    """
    check_values({"level": level}, {"level": number_from(0.0)})
    if level >= 1.0:
        raise ValueError(f"level must be below 1, got {level}")
    if events != int(events) or count != int(count) or not 0 <= events <= count:
        raise ValueError(f"events and count must be whole numbers, with no more events than rows; got {events} of {count}")
    if count == 0:
        return Estimate(np.nan)
    low, high = beta.ppf([0.5 - level / 2.0, 0.5 + level / 2.0], events + 0.5, count - events + 0.5).tolist()
    return Estimate(events / count, low if events else 0.0, high if events < count else 1.0)


def bootstrap_counts(
    n_rows: int, folds: IntArray | None = None, n_boot: int = BOOTSTRAPS, seed: int = 0
) -> Iterator[FloatArray]:
    """How often each row is in each bootstrap sample, which has as many rows of each fold.

    Parameters
    ----------
    n_rows : int
    folds : array of shape (m,), optional
    n_boot, seed : int

    Yields
    ------
    array of shape (m,)
    """
    rng, folds = np.random.default_rng(seed), np.zeros(n_rows, dtype=np.intp) if folds is None else folds
    strata = [np.flatnonzero(folds == fold) for fold in np.unique(folds)]
    for _ in range(n_boot):
        drawn = [rows[rng.integers(len(rows), size=len(rows))] for rows in strata]
        yield np.bincount(np.concatenate(drawn), minlength=n_rows).astype(float)


def bootstrap_intervals(
    measures: Callable[[FloatArray], FloatArray], counts: Iterator[FloatArray], level: float = LEVEL
) -> FloatArray:
    """Percentile intervals of several measures; NaN where a measure does not exist on most bootstrap samples.

    Parameters
    ----------
    measures : function of an array of shape (m,)
        From repetitions of the rows to the measures.
    counts : iterator of arrays of shape (m,)
    level : float

    Returns
    -------
    array of shape (n_measures, 2)
    """
    found = np.array([measures(each) for each in counts])
    exists = np.isfinite(found)
    tails = [0.5 - level / 2.0, 0.5 + level / 2.0]
    out = np.full((found.shape[1], 2), np.nan)
    for number in np.flatnonzero(exists.mean(axis=0) > 0.5):
        out[number] = np.quantile(found[exists[:, number], number], tails)
    return out
