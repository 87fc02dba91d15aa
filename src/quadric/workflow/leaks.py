"""How well one column alone tells the classes apart."""

from __future__ import annotations

import numpy as np

from quadric.types import FloatArray, IntArray
from quadric.workflow.profiles import ColumnProfile

# Numbers are put into so many bins where not their order but their classes are looked at
MOST_BINS = 64
# Rows of each class without which one column proves nothing
FEWEST_OF_CLASS = 5
# Share of rows with a value without which a column does not tell the class of most rows
SMALLEST_SHARE = 0.2
# Logarithm of a likelihood ratio that is no chance
EVIDENCE = 12.0


def column_auc(column: ColumnProfile, y: IntArray, n_classes: int) -> float:
    """The AUC of the best score that is made of one column; of more than two classes, that of the class told worst.

    By the order of numbers and dates; and by the class shares of values, estimated on one half of the rows and judged on the
    other, so that many levels with few rows each prove nothing.

    Parameters
    ----------
    column : ColumnProfile
    y : array of shape (m,)
        Codes of classes.
    n_classes : int

    Returns
    -------
    float
        0.5 where too few rows have a value.
    """
    present = ~column.absent
    in_class = np.bincount(y[present], minlength=n_classes)
    if in_class.min() < FEWEST_OF_CLASS or column.n_present < SMALLEST_SHARE * len(y):
        return 0.5
    codes, labels = column.codes[present], y[present]
    best = 0.5
    if n_classes == 2 and column.kind != "text":
        by_value = _counts(codes, labels, column.n_values, 2).astype(float)
        ordered = _area(by_value[:, 1], by_value[:, 0])
        best = max(ordered, 1.0 - ordered)
    levels, n_levels = codes, column.n_values
    if column.kind != "text" and n_levels > MOST_BINS:
        below = np.cumsum(column.counts) - column.counts
        levels, n_levels = (below * MOST_BINS // column.n_present)[codes], MOST_BINS
    return max(best, _by_shares(levels, labels, n_levels, n_classes))


def _by_shares(levels: IntArray, labels: IntArray, n_levels: int, n_classes: int) -> float:
    """The mean of both halves' AUC, of the class told worst."""
    half = np.random.default_rng(0).permutation(len(levels)) % 2 == 0
    counts = [_counts(levels[rows], labels[rows], n_levels, n_classes).astype(float) for rows in (half, ~half)]
    if min(count.sum(axis=0).min() for count in counts) == 0:
        return 0.5
    return float(np.mean([_areas(*counts), _areas(*counts[::-1])], axis=0).min())


def _areas(learned: FloatArray, judged: FloatArray) -> list[float]:
    """One AUC per class, of the shares that other rows have."""
    base = learned.sum(axis=0) / learned.sum()
    shares = (learned + base) / (learned.sum(axis=1, keepdims=True) + 1.0)
    total, areas = judged.sum(axis=1), []
    for positives, share in zip(judged.T, shares.T, strict=True):
        values, places = np.unique(share, return_inverse=True)
        inside, every = (np.bincount(places, weights=each, minlength=len(values)).astype(float) for each in (positives, total))
        areas.append(_area(inside, every - inside))
    return areas


def _counts(codes: IntArray, labels: IntArray, n_codes: int, n_classes: int) -> IntArray:
    cells: IntArray = np.bincount(codes * n_classes + labels, minlength=n_codes * n_classes)
    return cells.reshape(n_codes, n_classes)


def _area(positives: FloatArray, negatives: FloatArray) -> float:
    """Chance that a positive row has the larger value, from counts by rising values; ties count half."""
    below = np.cumsum(negatives) - negatives
    return float(positives @ (below + negatives / 2.0) / (positives.sum() * negatives.sum()))


def is_disguise(column: ColumnProfile, y: IntArray, n_classes: int) -> bool:
    """Whether each value of a column stands for one class, and each class for one value.

    Parameters
    ----------
    column : ColumnProfile
    y : array of shape (m,)
    n_classes : int

    Returns
    -------
    bool
    """
    if column.n_values != n_classes or column.n_missing > len(y) // 20:
        return False
    present = ~column.absent
    return int(np.count_nonzero(_counts(column.codes[present], y[present], n_classes, n_classes))) == n_classes


def telling_gap(column: ColumnProfile, y: IntArray, n_classes: int) -> tuple[bool, int] | None:
    """What the gaps of a column say of the class.

    Parameters
    ----------
    column : ColumnProfile
    y : array of shape (m,)
    n_classes : int

    Returns
    -------
    tuple (is_missing, class) or None
        Almost all rows in which the value is missing, or in which it is there, are of one class.
    """
    base = np.bincount(y, minlength=n_classes) / len(y)
    for is_missing, rows in ((True, column.absent), (False, ~column.absent)):
        counts = np.bincount(y[rows], minlength=n_classes)
        label, n = int(counts.argmax()), int(counts.sum())
        if n in (0, len(y)):
            continue
        share = counts[label] / n
        if 1.0 - share <= (1.0 - base[label]) / 10.0 and n * np.log(share / base[label]) >= EVIDENCE:
            return is_missing, label
    return None
