"""How far two samples differ: a score, the columns of a table, and what each term of a model adds.

A distribution is counted in the bins of the sample that others are compared with, and distributions with the same bins add up:
tables of any size are compared by one pass, and a model file keeps the bins and counts of its training rows, never a row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2

from quadric._sklearn import check_sample_weight
from quadric.credit.metrics import BinTable
from quadric.defaults import MOST_BINS
from quadric.estimators.validation import check_values, integer_from
from quadric.explain import contributions
from quadric.fitted import Model
from quadric.labels import refuse_masked
from quadric.tables.inputs import missing_cells
from quadric.tables.table import Rows, as_column, as_table, number_text
from quadric.types import FloatArray, IntArray

# Shares of a bin below this count as this much in the stability index, which would be infinite for an empty bin.
SMALLEST_SHARE = 1e-4
# Relative error allowed to sums of weights where they decide on which side of an edge a value lies.
ROUNDING = 1e-12
# Levels of a column that are counted one by one
MOST_COUNTED = 100
BINS = 10
# Share of pairs of samples of one population whose index is not above ``psi_by_chance``
CHANCE = 0.95
# Rows that each sample expects in every bin from which on the distribution for large samples does; otherwise samples are drawn
MANY_ROWS, DRAWS = 10.0, 1000


@dataclass(frozen=True, eq=False)
class StabilityTable(BinTable):
    """Shares of two samples in the same bins; arrays with one entry per bin, from small values to large.

    Attributes
    ----------
    above, upto : the bin holds values x with above < x <= upto
    expected, actual : shares of the two samples
    contribution : (actual - expected) log(actual / expected), shares below 0.0001 counting as that much
    """

    above: FloatArray
    upto: FloatArray
    expected: FloatArray
    actual: FloatArray
    contribution: FloatArray

    @property
    def index(self) -> float:
        """The population stability index."""
        return float(self.contribution.sum())


def stability_table(
    expected: ArrayLike,
    actual: ArrayLike,
    bins: int | ArrayLike = 10,
    *,
    expected_weight: ArrayLike | None = None,
    actual_weight: ArrayLike | None = None,
) -> StabilityTable:
    """Where a sample lies differently from another: the bins behind the population stability index.

    Parameters
    ----------
    expected : array-like of shape (m,)
        Values, of a score or of one feature, in the sample compared with (the development sample).
    actual : array-like of shape (l,)
        Values in the other sample.
    bins : int or increasing sequence of float
        Number of bins, cut at quantiles of ``expected`` (ties may leave fewer), or the inner edges themselves.
    expected_weight, actual_weight : array-likes, optional
        Repetitions.

    Returns
    -------
    StabilityTable
    """
    reference, reference_weight = _checked_values(expected, expected_weight, "expected")
    other, other_weight = _checked_values(actual, actual_weight, "actual")
    edges = _edges(bins, reference, reference_weight)
    shares = [_shares(edges, reference, reference_weight), _shares(edges, other, other_weight)]
    return StabilityTable(
        above=np.concatenate([[-np.inf], edges]),
        upto=np.concatenate([edges, [np.inf]]),
        expected=shares[0],
        actual=shares[1],
        contribution=index_contributions(*shares),
    )


def population_stability_index(
    expected: ArrayLike,
    actual: ArrayLike,
    bins: int | ArrayLike = 10,
    *,
    expected_weight: ArrayLike | None = None,
    actual_weight: ArrayLike | None = None,
) -> float:
    """PSI: the sum over bins of (actual - expected) log(actual / expected), in shares of the two samples.

    By custom less than 0.1 is called stable and more than 0.25 a shift. Shares below 0.0001, empty bins among them, count as
    0.0001.

    Parameters
    ----------
    expected, actual, bins, expected_weight, actual_weight :
        As in :func:`stability_table`.

    Returns
    -------
    float
    """
    return stability_table(expected, actual, bins, expected_weight=expected_weight, actual_weight=actual_weight).index


@dataclass(frozen=True, eq=False)
class Distribution:
    """How many rows have values in each bin; ``+`` adds those of other rows, counted in the same bins.

    Attributes
    ----------
    edges : array of shape (n_edges,)
        Of a column of numbers or dates (days since 1970): the bins hold values up to the first edge, above it up to the second
        and so on, and above the last.
    levels : tuple of str or None
        Of a column of texts, instead of edges: those that are counted one by one. The last bin holds all others.
    counts : array of shape (n_bins,)
        Rows, or their weight, in each bin.
    n_missing : float
        Rows without a value.
    total : float
        Sum of the values; 0 for texts.
    """

    edges: FloatArray
    levels: tuple[str, ...] | None
    counts: FloatArray
    n_missing: float
    total: float = 0.0

    @staticmethod
    def of(
        values: ArrayLike,
        bins: int | ArrayLike = BINS,
        sample_weight: ArrayLike | None = None,
        levels: Sequence[str] | None = None,
    ) -> Distribution:
        """Of the sample that others are compared with.

        Parameters
        ----------
        values : array-like of shape (m,)
            Numbers, dates or texts; NaN, NaT and None are missing.
        bins : int or increasing sequence of float
            For numbers and dates: as in :func:`stability_table`.
        sample_weight : array-like of shape (m,), optional
            Repetitions.
        levels : sequence of str, optional
            For texts: those to count one by one; by default all, or the hundred most frequent ones.

        Returns
        -------
        Distribution
        """
        column, weight, absent = _column(values, sample_weight)
        if column.dtype == object:
            found = _most_frequent(column[~absent], weight[~absent]) if levels is None else tuple(levels)
            return _counted(np.empty(0), found, column, weight, absent)
        present = ~absent
        edges = _edges(bins, column[present], weight[present]) if present.any() or np.ndim(bins) else np.zeros(1)
        return _counted(edges, None, column, weight, absent)

    def like(self, values: ArrayLike, sample_weight: ArrayLike | None = None) -> Distribution:
        """Of other values, in the same bins.

        Parameters
        ----------
        values : array-like of shape (m,)
            Of the same kind; in place of texts, numbers are written out, and a column of numbers takes no texts.
        sample_weight : array-like of shape (m,), optional

        Returns
        -------
        Distribution
        """
        column, weight, absent = _column(values, sample_weight)
        if self.levels is None and column.dtype == object:
            if not absent.all():
                raise ValueError("texts cannot be counted in bins of numbers")
            column = np.full(len(column), np.nan)
        return _counted(self.edges, self.levels, column, weight, absent)

    def __add__(self, other: Distribution) -> Distribution:
        if not self.has_bins_of(other):
            raise ValueError("distributions with different bins do not add up")
        n_missing, total = self.n_missing + other.n_missing, self.total + other.total
        return Distribution(self.edges, self.levels, self.counts + other.counts, n_missing, total)

    def has_bins_of(self, other: Distribution) -> bool:
        """Whether another distribution is counted in the same bins.

        Parameters
        ----------
        other : Distribution

        Returns
        -------
        bool
        """
        return self.levels == other.levels and np.array_equal(self.edges, other.edges)

    @property
    def n_rows(self) -> float:
        """Rows, or their weight, with and without a value."""
        return float(self.counts.sum() + self.n_missing)

    @property
    def shares(self) -> FloatArray:
        """Of the bins, and last of missing values, among all rows."""
        counts = np.append(self.counts, self.n_missing)
        return np.asarray(counts / counts.sum())

    @property
    def missing_share(self) -> float:
        """The share of rows without a value."""
        return float(self.shares[-1])

    @property
    def other_share(self) -> float:
        """The share of rows whose texts are not among the levels; 0 for numbers."""
        return 0.0 if self.levels is None else float(self.shares[-2])

    @property
    def mean(self) -> float:
        """Mean of the values that are there; NaN for texts, and where there are none."""
        present = float(self.counts.sum())
        return self.total / present if self.levels is None and present > 0.0 else np.nan

    def recorded(self) -> dict[str, Any]:
        """As plain values, for JSON.

        Returns
        -------
        dict
        """
        bins = {"edges": self.edges.tolist()} if self.levels is None else {"levels": list(self.levels)}
        return bins | {"counts": self.counts.tolist(), "missing": self.n_missing, "total": self.total}

    @staticmethod
    def from_record(record: Any) -> Distribution | None:
        """What ``recorded`` wrote; None where it is anything else, since anybody can write a file.

        Parameters
        ----------
        record : Any

        Returns
        -------
        Distribution or None
        """
        own: Mapping[Any, Any] = record if isinstance(record, Mapping) else {}
        edges, levels, counts, rest = (
            own.get("edges"),
            own.get("levels"),
            own.get("counts"),
            [own.get("missing"), own.get("total")],
        )
        if not (_are_numbers(counts) and _are_numbers(rest) and min([*counts, rest[0]]) >= 0.0 and sum(counts) + rest[0] > 0.0):
            return None
        if _are_texts(levels) and edges is None and len(counts) == len(levels) + 1:
            return Distribution(np.empty(0), tuple(levels), np.array(counts, dtype=float), *map(float, rest))
        if _are_numbers(edges) and levels is None and len(counts) == len(edges) + 1 and edges == sorted(set(edges)):
            return Distribution(np.array(edges, dtype=float), None, np.array(counts, dtype=float), *map(float, rest))
        return None


@dataclass(frozen=True)
class Drift:
    """How far a sample differs from the one before, in one score, column or term.

    Attributes
    ----------
    name : str
    psi : float
        Population stability index, of which missing values and other levels are bins, too.
    mean_before, mean_now : float
        Of numbers; NaN for texts.
    missing_before, missing_now : float
        Shares of rows without a value.
    new_levels : float
        The share of rows now with texts that are not among the levels before; 0 for numbers.
    psi_by_chance : float
        Of two random samples of these sizes from one population, one pair in twenty has a larger index, approximately.
    """

    name: str
    psi: float
    mean_before: float
    mean_now: float
    missing_before: float
    missing_now: float
    new_levels: float
    psi_by_chance: float

    @staticmethod
    def between(name: str, before: Distribution, now: Distribution) -> Drift:
        """Of two distributions with the same bins.

        Parameters
        ----------
        name : str
        before, now : Distribution

        Returns
        -------
        Drift
        """
        if not before.has_bins_of(now):
            raise ValueError(f"the distributions of {name} have different bins")
        psi, chance = float(index_contributions(before.shares, now.shares).sum()), _by_chance(before, now)
        return Drift(name, psi, before.mean, now.mean, before.missing_share, now.missing_share, now.other_share, chance)


def column_drifts(
    before: Rows,
    now: Rows,
    columns: Sequence[str] | None = None,
    bins: int = BINS,
    *,
    before_weight: ArrayLike | None = None,
    now_weight: ArrayLike | None = None,
) -> tuple[Drift, ...]:
    """How far each column of a table differs from that of another.

    Parameters
    ----------
    before, now : Table, frame, Arrow table or mapping of columns
        The sample that is compared with, and the other one.
    columns : sequence of str, optional
        By default all columns of ``before``.
    bins : int
        For numbers and dates: bins with equal shares of the values before.
    before_weight, now_weight : array-likes, optional
        Repetitions.

    Returns
    -------
    tuple of Drift
        In the order of the columns.
    """
    first, second = as_table(before), as_table(now)
    pairs = ((name, first[name], second[name]) for name in (first.names if columns is None else columns))
    return _drifts(pairs, bins, (before_weight, now_weight))


def contribution_drifts(
    model: Model,
    before: Rows,
    now: Rows,
    *,
    target: Hashable | None = None,
    bins: int = BINS,
    before_weight: ArrayLike | None = None,
    now_weight: ArrayLike | None = None,
) -> tuple[Drift, ...]:
    """How far what each term adds to the score differs between two samples.

    Parameters
    ----------
    model : fitted model
        As in :func:`quadric.explain.contributions`.
    before, now : rows as the model takes them
    target : class label, optional
        As there.
    bins : int
        Bins with equal shares of the contributions before.
    before_weight, now_weight : array-likes, optional
        Repetitions.

    Returns
    -------
    tuple of Drift
        ``mean_now - mean_before`` is what the term moved the mean score by; these sum to the change of the mean score.
    """
    first, second = contributions(model, before, target=target), contributions(model, now, target=target)
    pairs = zip(first.names, first.values.T, second.values.T, strict=True)
    return _drifts(pairs, bins, (before_weight, now_weight))


def _drifts(pairs: Iterable[tuple[str, Any, Any]], bins: int, weights: tuple[Any, Any]) -> tuple[Drift, ...]:
    """From names, values before and values now."""
    found = []
    for name, before, now in pairs:
        distribution = Distribution.of(before, bins, weights[0])
        found.append(Drift.between(name, distribution, distribution.like(now, weights[1])))
    return tuple(found)


def _are_numbers(values: Any) -> TypeGuard[list[float]]:
    return isinstance(values, list) and all(
        isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) for value in values
    )


def _are_texts(values: Any) -> TypeGuard[list[str]]:
    return isinstance(values, list) and all(isinstance(value, str) for value in values) and len(set(values)) == len(values)


def _column(values: Any, sample_weight: Any) -> tuple[np.ndarray, FloatArray, np.ndarray]:
    """Numbers or texts, weights, and where no value is; rows without weight are gone."""
    refuse_masked(values=values)
    column = as_column("values", values)
    if column.dtype.kind == "M":
        days = column.astype("datetime64[us]")
        column = np.where(np.isnat(days), np.nan, days.astype(np.int64) / 86_400e6)
    if len(column) == 0:
        raise ValueError("there are no values")
    weight = check_sample_weight(sample_weight, column)
    column, weight = column[weight > 0.0], weight[weight > 0.0]
    return column, weight, missing_cells(column)


def _counted(
    edges: FloatArray, levels: tuple[str, ...] | None, column: np.ndarray, weight: FloatArray, absent: np.ndarray
) -> Distribution:
    present, weights, n_missing = column[~absent], weight[~absent], float(weight[absent].sum())
    if levels is None:
        where: IntArray = np.searchsorted(edges, present.astype(float))
        return Distribution(
            edges, None, _sums(where, weights, len(edges) + 1), n_missing, float(weights @ present.astype(float))
        )
    texts = _texts(present)
    position = {level: place for place, level in enumerate(levels)}
    where = np.array([position.get(text, len(levels)) for text in texts], dtype=np.intp)
    return Distribution(edges, levels, _sums(where, weights, len(levels) + 1), n_missing)


def _sums(where: IntArray, weight: FloatArray, n_bins: int) -> FloatArray:
    return np.bincount(where, weights=weight, minlength=n_bins).astype(float)


def _texts(column: np.ndarray) -> list[str]:
    if column.dtype == object:
        return [str(value) for value in column.tolist()]
    return [number_text(value) for value in column.tolist()]


def _most_frequent(column: np.ndarray, weight: FloatArray) -> tuple[str, ...]:
    totals: Counter[str] = Counter()
    for text, share in zip(_texts(column), weight.tolist(), strict=True):
        totals[text] += share
    kept = sorted(totals, key=lambda text: (-totals[text], text))[:MOST_COUNTED]
    return tuple(sorted(kept))


def index_contributions(expected: FloatArray, actual: FloatArray) -> FloatArray:
    """What each bin adds to the population stability index.

    Parameters
    ----------
    expected, actual : arrays
        Shares of both samples.

    Returns
    -------
    array
    """
    before, after = np.maximum(expected, SMALLEST_SHARE), np.maximum(actual, SMALLEST_SHARE)
    return np.asarray((after - before) * np.log(after / before))


def _by_chance(before: Distribution, now: Distribution) -> float:
    """Of two samples of a population, the index is about (1/m + 1/l) times a chi-squared variable (Yurdakul, 2018).

    That is far too small where bins can be empty in one of them: there, pairs of samples of both samples together are drawn.
    """
    both = np.append(before.counts + now.counts, before.n_missing + now.n_missing)
    shares, sizes = both[both > 0.0] / both.sum(), (before.n_rows, now.n_rows)
    if min(sizes) * shares.min() >= MANY_ROWS:
        quantile = float(chi2.ppf(CHANCE, len(shares) - 1)) if len(shares) > 1 else 0.0
        return quantile * (1.0 / sizes[0] + 1.0 / sizes[1])
    rng, whole = np.random.default_rng(0), [max(round(size), 1) for size in sizes]
    first, second = (rng.multinomial(size, shares, DRAWS) / size for size in whole)
    return float(np.quantile(index_contributions(first, second).sum(axis=1), CHANCE))


def _checked_values(values: Any, sample_weight: Any, name: str) -> tuple[FloatArray, FloatArray]:
    refuse_masked(**{name: values})
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or len(values) == 0 or np.isnan(values).any():
        raise ValueError(f"{name} must have one dimension, at least one value and no NaN")
    weight = check_sample_weight(sample_weight, values)
    present = weight > 0.0
    if not present.any():
        raise ValueError(f"the weights of {name} are zero for every sample")
    return values[present], np.asarray(weight[present])


def _edges(bins: Any, values: FloatArray, weight: FloatArray) -> FloatArray:
    """Inner edges: given, or the smallest values up to which lie 1/n, 2/n, ... of the weight.

    The largest value is no edge, as nothing lies above it: where it holds more than 1/n of the weight, the edge is the next
    smaller value, and for a sample of one value there is an edge on both sides of it.
    """
    if np.ndim(bins) == 1:
        edges = np.asarray(bins, dtype=float)
        if len(edges) == 0 or not (np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
            raise ValueError("bins must be a number of bins or an increasing sequence of finite inner edges")
        return edges
    check_values({"bins": bins}, {"bins": integer_from(2, MOST_BINS)})
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    targets = np.arange(1, bins) * reached[-1] / bins
    edges = np.unique(values[order][np.searchsorted(reached, targets * (1.0 - ROUNDING))])
    largest = values.max()
    if edges[-1] < largest:
        return edges
    smaller = values[values < largest]
    if len(smaller) == 0:
        return np.array([np.nextafter(largest, -np.inf), largest])
    return np.union1d(edges[:-1], smaller.max())


def _shares(edges: FloatArray, values: FloatArray, weight: FloatArray) -> FloatArray:
    totals = _sums(np.searchsorted(edges, values), weight, len(edges) + 1)
    return np.asarray(totals / totals.sum())
