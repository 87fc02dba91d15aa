"""Tests that validators run on grades, as in the ECB's template: calibration, discrimination, concentration, migration.

The formulas are those of the European Central Bank's instructions for reporting the validation results of internal models
(2019), section 2.5; N, D, p stand for rows, events and probability of a grade.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta, binom, chi2, norm

from quadric.credit.intervals import AreaEstimate
from quadric.credit.metrics import BinTable, labelled_scores
from quadric.types import FloatArray, IntArray


@dataclass(frozen=True)
class SignificanceTest:
    """A statistic and how often chance alone gives one as large; NaN where it does not exist.

    Attributes
    ----------
    statistic, p_value : float
    """

    statistic: float
    p_value: float


def auc_drop_test(y: ArrayLike, score: ArrayLike, development: float, *, event: Hashable | None = None) -> SignificanceTest:
    """Whether the area under the ROC curve is now below that at development, which is taken as fixed.

    Parameters
    ----------
    y, score : array-likes of shape (m,)
        Of the rows now, as in :func:`auc`.
    development : float
        The area then.
    event : label, optional
        The class called event; by default the second in sorted order.

    Returns
    -------
    SignificanceTest
        (development - now) / DeLong's standard error, and its one-sided p-value.
    """
    area = AreaEstimate.of(*labelled_scores(y, score, None, event))
    error = area.variance**0.5
    statistic = (development - area.value) / error if error > 0.0 else np.nan
    return SignificanceTest(float(statistic), float(norm.sf(statistic)))


def jeffreys_test(events: ArrayLike, counts: ArrayLike, probabilities: ArrayLike) -> FloatArray:
    """Whether probabilities are too low: the posterior chance that the true one is not above it, for a Jeffreys prior.

    Parameters
    ----------
    events, counts : array-likes of whole numbers
        Events and rows of each grade.
    probabilities : array-like
        What was said of each grade.

    Returns
    -------
    array
        p-values, I_p(D + 1/2, N - D + 1/2); NaN for a grade without rows.
    """
    D, N, p = _checked_grades(events, counts, probabilities)
    return np.asarray(np.where(N > 0.0, beta.cdf(p, D + 0.5, N - D + 0.5), np.nan))


def binomial_test(events: ArrayLike, counts: ArrayLike, probabilities: ArrayLike) -> FloatArray:
    """Whether probabilities are too low: the chance of as many events or more.

    Parameters
    ----------
    events, counts, probabilities : array-likes
        As in :func:`jeffreys_test`.

    Returns
    -------
    array
        p-values; NaN for a grade without rows.
    """
    D, N, p = _checked_grades(events, counts, probabilities)
    return np.asarray(np.where(N > 0.0, binom.sf(D - 1.0, N, p), np.nan))


def hosmer_lemeshow_test(events: ArrayLike, counts: ArrayLike, probabilities: ArrayLike) -> SignificanceTest:
    """Whether the probabilities of all grades together are right.

    Parameters
    ----------
    events, counts, probabilities : array-likes
        As in :func:`jeffreys_test`; grades without rows do not count.

    Returns
    -------
    SignificanceTest
        The sum of (D - N p)^2 / (N p (1 - p)), chi-squared with one degree of freedom per grade: the probabilities were not
        fitted to these rows.
    """
    D, N, p = (values[np.asarray(counts) > 0] for values in _checked_grades(events, counts, probabilities))
    variance = N * p * (1.0 - p)
    statistic = float(np.sum((D - N * p) ** 2 / variance)) if len(N) and (variance > 0.0).all() else np.nan
    return SignificanceTest(statistic, float(chi2.sf(statistic, len(N))))


def _checked_grades(events: Any, counts: Any, probabilities: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    D, N, p = (np.atleast_1d(np.asarray(values, dtype=float)) for values in (events, counts, probabilities))
    if not (D.shape == N.shape == p.shape):
        raise ValueError("events, counts and probabilities must have the same length")
    if not all(np.array_equal(values, np.rint(values)) for values in (D, N)) or not ((D >= 0.0) & (D <= N)).all():
        raise ValueError("events and counts must be whole numbers, with no more events than rows: these tests take no weights")
    if not ((p >= 0.0) & (p <= 1.0))[N > 0.0].all():
        raise ValueError("probabilities must be from 0 to 1")
    return D, N, p


@dataclass(frozen=True, eq=False)
class GradeTable(BinTable):
    """Calibration by grade, from low risk to high; arrays with one entry per grade.

    Attributes
    ----------
    above, upto : the grade holds probabilities, or scores, x with above < x <= upto
    count, events : rows and events
    probability, event_rate : mean of the rows' probabilities, and what came
    jeffreys, binomial : p-values; small: the probability was too low
    """

    above: FloatArray
    upto: FloatArray
    count: IntArray
    events: IntArray
    probability: FloatArray
    event_rate: FloatArray
    jeffreys: FloatArray
    binomial: FloatArray

    @staticmethod
    def of(is_event: ArrayLike, probability: ArrayLike, edges: ArrayLike, by: ArrayLike | None = None) -> GradeTable:
        """Of rows with a known outcome.

        Parameters
        ----------
        is_event, probability : array-likes of shape (m,)
        edges : increasing sequence of float
            Between the grades.
        by : array-like of shape (m,), optional
            What these are edges of; by default the probability.

        Returns
        -------
        GradeTable
        """
        p, event, edges = (
            np.asarray(probability, dtype=float),
            np.asarray(is_event, dtype=float),
            np.asarray(edges, dtype=float),
        )
        grade = grades_of(p if by is None else by, edges)
        count, events, total = (
            np.bincount(grade, weights=each, minlength=len(edges) + 1) for each in (np.ones_like(p), event, p)
        )
        with np.errstate(invalid="ignore"):
            mean, rate = total / count, events / count
        return GradeTable(
            above=np.concatenate([[-np.inf], edges]),
            upto=np.concatenate([edges, [np.inf]]),
            count=count.astype(np.intp),
            events=events.astype(np.intp),
            probability=mean,
            event_rate=rate,
            jeffreys=jeffreys_test(events, count, mean),
            binomial=binomial_test(events, count, mean),
        )


def grades_of(values: ArrayLike, edges: ArrayLike) -> IntArray:
    """The grade of each row, from 0: how many edges its value is above.

    Parameters
    ----------
    values : array-like of shape (m,)
    edges : increasing sequence of float

    Returns
    -------
    array of shape (m,)
    """
    return np.asarray(np.searchsorted(np.asarray(edges, dtype=float), np.asarray(values, dtype=float)), dtype=np.intp)


@dataclass(frozen=True)
class Concentration:
    """How much the rows crowd into few of K grades.

    Attributes
    ----------
    variation : float
        Coefficient of variation of the shares R: the root of K times the sum of (R - 1/K)^2.
    herfindahl : float
        1 + log((variation^2 + 1) / K) / log K: 0 where all grades have as many rows, 1 where one has all.
    """

    variation: float
    herfindahl: float

    @staticmethod
    def of(counts: ArrayLike) -> Concentration:
        """Of the rows in each grade.

        Parameters
        ----------
        counts : array-like of shape (K,)
            Of two grades or more, some of which may be empty.

        Returns
        -------
        Concentration
        """
        rows = np.asarray(counts, dtype=float)
        if rows.ndim != 1 or len(rows) < 2 or not rows.sum() > 0.0:
            raise ValueError("concentration needs the rows of two grades or more, and at least one row")
        K = len(rows)
        squared = K * float(np.sum((rows / rows.sum() - 1.0 / K) ** 2))
        return Concentration(squared**0.5, float(np.log1p(squared) / np.log(K)))


def concentration_test(before: ArrayLike, now: ArrayLike) -> SignificanceTest:
    """Whether the rows crowd into fewer grades than before, whose concentration is taken as fixed.

    Parameters
    ----------
    before, now : array-likes of shape (K,)
        Rows in each grade.

    Returns
    -------
    SignificanceTest
        root(K - 1) (CV now - CV before) / root(CV now^2 (1/2 + CV now^2)), with its one-sided p-value.
    """
    first, second = Concentration.of(before).variation, Concentration.of(now).variation
    if np.shape(before) != np.shape(now):
        raise ValueError("before and now must have the same grades")
    error = (second**2 * (0.5 + second**2)) ** 0.5
    statistic = (np.size(now) - 1) ** 0.5 * (second - first) / error if error > 0.0 else np.nan
    return SignificanceTest(float(statistic), float(norm.sf(statistic)))


@dataclass(frozen=True, eq=False)
class Migrations:
    """Who is in which grade now, of those in each grade before.

    Attributes
    ----------
    counts : array of shape (K, K)
        Rows by grade before, columns by grade now.
    gone : array of shape (K,)
        Of each grade before, those that have no grade now; they count among its customers.
    n_new : int
        Those with a grade now only.
    """

    counts: IntArray
    gone: IntArray
    n_new: int

    @staticmethod
    def of(before: dict[Any, int], now: dict[Any, int], n_grades: int) -> Migrations:
        """From the grades of customers at two dates.

        Parameters
        ----------
        before, now : mappings from customers to grades, from 0
        n_grades : int

        Returns
        -------
        Migrations
        """
        counts, gone = np.zeros((n_grades, n_grades), dtype=np.intp), np.zeros(n_grades, dtype=np.intp)
        for customer, grade in before.items():
            if customer in now:
                counts[grade, now[customer]] += 1
            else:
                gone[grade] += 1
        return Migrations(counts, gone, len(now.keys() - before.keys()))

    @property
    def shares(self) -> FloatArray:
        """Of the customers of each grade before; NaN where there were none."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.counts / (self.counts.sum(axis=1) + self.gone)[:, None])

    @property
    def bandwidths(self) -> tuple[float, float]:
        """How far customers moved to grades of higher risk, and to lower ones: 0 for not at all, 1 for as far as possible."""
        i, j = np.indices(self.counts.shape)
        farthest, moved = np.maximum(i, len(self.counts) - 1 - i), self.counts * np.abs(i - j)
        both = []
        for side in (j > i, j < i):
            most = float((self.counts * farthest)[side].sum())
            both.append(float(moved[side].sum()) / most if most > 0.0 else 0.0)
        return both[0], both[1]

    @property
    def z_statistics(self) -> FloatArray:
        """Whether moves become rarer with their distance: each share against the next one towards the diagonal.

        Small ones are suspicious; the standard normal distribution function turns them into p-values. NaN on the diagonal, and
        where both shares are zero.
        """
        p, customers = self.shares, self.counts.sum(axis=1) + self.gone
        i, j = np.indices(p.shape)
        nearer = np.take_along_axis(p, np.clip(j + np.sign(i - j), 0, len(p) - 1), axis=1)
        variance = (p * (1.0 - p) + nearer * (1.0 - nearer) + 2.0 * p * nearer) / np.maximum(customers, 1)[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where((i != j) & (variance > 0.0), (nearer - p) / np.sqrt(variance), np.nan))
