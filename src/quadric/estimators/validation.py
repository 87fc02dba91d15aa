"""Checks of parameters, grids and data, with messages that say what was wrong and what to do."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from quadric._sklearn import check_sample_weight, feature_names
from quadric.defaults import (
    DEFAULT_CS,
    DEFAULT_KS,
    LARGEST_COUNT,
    LARGEST_WEIGHT,
    LONGEST_GRID,
    MOST_PROCESSES,
    SMALLEST_WEIGHT,
)
from quadric.errors import quoted, warn_user
from quadric.geometry.lifting import column_ends
from quadric.geometry.moments import CONSTANT_TOLERANCE
from quadric.labels import positions_in
from quadric.samples.labelled import LARGEST, LabelledSamples
from quadric.samples.target import Target
from quadric.types import FloatArray, IntArray

# Ratio of two columns' standard deviations, and of a column's mean to its own, above which a ScaleWarning is due.
SPREAD_RATIO, LEVEL_RATIO = 1e3, 1e2
# Distance from its column's median, in units that three quarters of the values keep to, above which a value is outlying.
OUTLYING = 1e3
# Rows that medians are taken of.
SAMPLED = 5_000
# Further powers of 4 are larger than any C may be.
MOST_POWERS = 100


class ScaleWarning(UserWarning):
    """Columns of X differ so much in origin or spread, or some rows lie so far out, that one C cannot suit them all."""


@dataclass(frozen=True)
class Rule:
    """What a parameter must be."""

    holds: Callable[[Any], bool]
    words: str


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    return bool(abs(value) <= sys.float_info.max)  # type: ignore[operator]  # also of integers that are no float; nan is not


def integer_from(low: int, high: int | None = None) -> Rule:
    """Whole numbers, both ends included."""
    words = f"an integer of at least {low}" if high is None else f"an integer from {low} to {high:,}"
    return Rule(lambda value: _is_integer(value) and low <= value and (high is None or value <= high), words)


def number_above(low: float) -> Rule:
    """Finite numbers without the end."""
    return Rule(lambda value: _is_finite(value) and low < value, f"a finite number above {low:g}")


def number_from(low: float, below: float | None = None) -> Rule:
    """Finite numbers with the lower end and without the upper one."""
    words = f"a finite number of at least {low:g}" + (f" and below {below:g}" if below is not None else "")
    return Rule(lambda value: _is_finite(value) and low <= value and (below is None or value < below), words)


def one_of(*options: str) -> Rule:
    """Some texts."""
    words = " or ".join(repr(option) for option in options)
    return Rule(lambda value: isinstance(value, str) and value in options, words)


def none_or(rule: Rule) -> Rule:
    """What a rule allows, or None."""
    return Rule(lambda value: value is None or rule.holds(value), f"None or {rule.words}")


N_JOBS = none_or(
    Rule(
        lambda n: _is_integer(n) and 0 < abs(n) <= MOST_PROCESSES,
        f"an integer from -{MOST_PROCESSES:,} to {MOST_PROCESSES:,}, not 0",
    )
)
N_TERMS = integer_from(1, LARGEST_COUNT)
# C.
LOSS_WEIGHT = Rule(
    lambda C: _is_finite(C) and SMALLEST_WEIGHT <= C <= LARGEST_WEIGHT,
    f"a finite number from {SMALLEST_WEIGHT:g} to {LARGEST_WEIGHT:g}",
)
# Whether surfaces of several classes have terms of their own, or one list for all.
OVR, SHARED = "ovr", "shared"
MULTICLASS = one_of(OVR, SHARED)
TRUE_OR_FALSE = Rule(lambda value: isinstance(value, bool | np.bool_), "True or False")
# The quantile at which columns are capped.
CLIP = none_or(number_from(0.0, below=0.5))
# Relative gap at which a proof may stop.
GAP_LIMIT = number_from(0.0, below=1.0)
VERBOSE = Rule(lambda v: isinstance(v, bool) or (_is_integer(v) and v >= 0), "an integer of at least 0")


def check_parameters(estimator: Any, rules: Mapping[str, Rule]) -> None:
    """Raise a ValueError that names the first parameter of an estimator which breaks its rule."""
    check_values({name: getattr(estimator, name) for name in rules}, rules)
    try:
        check_random_state(random_state := getattr(estimator, "random_state", None))
    except ValueError:
        raise ValueError(f"random_state must be None, an integer from 0 or a RandomState, got {quoted(random_state)}") from None


def check_values(values: Mapping[str, Any], rules: Mapping[str, Rule]) -> None:
    """Raise a ValueError that names the first value which breaks its rule."""
    for name, rule in rules.items():
        if not rule.holds(values[name]):
            raise ValueError(f"{name} must be {rule.words}, got {quoted(values[name])}")


def named_losses(loss: str | Sequence[str]) -> list[str]:
    """The losses that a parameter names."""
    return [loss] if isinstance(loss, str) else list(loss)


def k_grid(ks: Any, n_terms: int, n_required: int = 0, default: Sequence[int] = DEFAULT_KS) -> IntArray:
    """ks as an increasing array.

    Parameters
    ----------
    ks : increasing sequence of int or None
        None means the default, as far as the data have that many terms, and all terms if these are fewer than its last.
    n_terms : int
        Terms that may be used.
    n_required : int
        Terms that must be used: the smallest k allows them all.
    default : sequence of int
    """
    if ks is None:
        low, high = max(n_required, 1), min(n_terms, default[-1])
        return np.array(sorted({k for k in (*default, high) if low <= k <= high}) or [low], dtype=np.intp)
    values = _listed("ks", ks)
    for value in values:
        if not N_TERMS.holds(value):
            raise ValueError(f"ks must hold integers from 1 to {LARGEST_COUNT:,}, got {quoted(value)}")
    grid = np.array([int(value) for value in values], dtype=np.intp)
    if (np.diff(grid) <= 0).any():
        raise ValueError(f"ks must be strictly increasing, got {grid.tolist()}")
    if grid[0] < n_required:
        raise ValueError(f"include holds {n_required} terms, more than the smallest of ks, {grid[0]}")
    return grid


def C_grid(Cs: Any) -> FloatArray:
    """Cs as an array in the given order; None means DEFAULT_CS, a number n the n values 4^-1, 4^0, 4^1, ..."""
    if Cs is None:
        return np.array(DEFAULT_CS)
    if isinstance(Cs, Integral):
        check_values({"Cs": Cs}, {"Cs": integer_from(1, MOST_POWERS)})
        return np.array([4.0**power for power in range(-1, int(Cs) - 1)])
    values = _listed("Cs", Cs)
    for value in values:
        if not LOSS_WEIGHT.holds(value):
            raise ValueError(f"Cs must hold finite numbers from {SMALLEST_WEIGHT:g} to {LARGEST_WEIGHT:g}, got {quoted(value)}")
    return np.array([float(value) for value in values])


def _listed(name: str, values: Any) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray) or getattr(values, "ndim", 1) != 1:
        raise ValueError(f"{name} must be a sequence of numbers, got {quoted(values)}")
    if not len(values[:1]):
        raise ValueError(f"{name} is empty: give at least one value")
    if len(values[: LONGEST_GRID + 1]) > LONGEST_GRID:  # a range can be longer than len() can say
        raise ValueError(f"{name} has more than {LONGEST_GRID:,} values: give fewer")
    return list(values)


def validate_samples(
    X: FloatArray, y: np.ndarray, sample_weight: Any, class_weight: Any, classes: np.ndarray | None = None
) -> LabelledSamples:
    """Check labels and weights of an X that has been validated; ``classes`` where they are known already."""
    check_classification_targets(y)
    weight = check_sample_weight(sample_weight, X)
    present = weight > 0.0
    if not present.any():
        raise ValueError("sample_weight is zero for every sample")
    if not 1.0 / LARGEST < weight.sum() < LARGEST:
        raise ValueError(f"sample_weight sums to {weight.sum():g}, beyond what floating point can serve: rescale it")
    if not present.all():
        X, y, weight = X[present], y[present], weight[present]
    found, codes = np.unique(y, return_inverse=True)
    if classes is not None:
        codes = _codes_in(classes, found)[codes]
    elif len(found) < 2:
        raise ValueError(f"y must have samples of at least two classes, but has one class only: {quoted(found.tolist()[0])}")
    else:
        classes = found
    target = Target(codes, np.ones(len(classes)), classes).weighted(class_weight, weight)
    return LabelledSamples(X, target, weight)


def _codes_in(classes: np.ndarray, labels: np.ndarray) -> IntArray:
    unknown = [label for label in labels.tolist() if label not in classes.tolist()]
    if unknown:
        raise ValueError(f"y has labels that the model does not know: {unknown}")
    return positions_in(classes, labels)


def warn_of_spread(X: FloatArray, names: Sequence[str] | None, remedy: str) -> None:
    """Issue a ScaleWarning where columns are far from standardised, with words on what to do."""
    trouble = spread_trouble(X, names)
    if trouble is not None:
        warn_user(f"{trouble}; {remedy}", ScaleWarning)


def spread_trouble(X: FloatArray, names: Sequence[str] | None) -> str | None:
    """How far from standardised the columns are, in words; None where they are near enough."""
    mean, (lowest, highest) = np.asarray(X.mean(axis=0)), column_ends(X)
    spread, level = np.sqrt((X * X).mean(axis=0) - mean**2) if issparse(X) else X.std(axis=0), np.abs(mean)
    varying = np.flatnonzero(spread > CONSTANT_TOLERANCE * np.maximum(highest, -lowest))
    if len(varying) == 0:
        return None
    labels = [repr(str(names[i])) if names is not None else f"'x{i}'" for i in range(X.shape[1])]
    low, high = varying[np.argmin(spread[varying])], varying[np.argmax(spread[varying])]
    far = varying[np.argmax(level[varying] / spread[varying])]
    if spread[high] > SPREAD_RATIO * spread[low]:
        trouble = f"{labels[high]} has standard deviation {spread[high]:.2g}, {labels[low]} has {spread[low]:.2g}"
    elif level[far] > LEVEL_RATIO * spread[far]:
        trouble = f"{labels[far]} has mean {mean[far]:.2g} and standard deviation {spread[far]:.2g}"
    elif issparse(X):
        return None
    else:
        return _outlying_rows(X, spread, (lowest, highest), labels)
    return f"the columns of X are far from standardised: {trouble}"


def _outlying_rows(X: FloatArray, spread: FloatArray, ends: tuple[FloatArray, FloatArray], labels: Sequence[str]) -> str | None:
    """Rows far outside their columns, in words: such a row enters with its squares and can outweigh all others."""
    some = X[:: 1 + len(X) // SAMPLED]
    center = np.median(some, axis=0)
    place = math.ceil(0.75 * (len(some) - 1))
    usual = np.partition(np.abs(some - center), place, axis=0)[place]
    usual = np.where(usual > 0.0, usual, np.where(spread > 0.0, spread, np.inf))  # mostly equal: the others are rare, not far
    if not (np.maximum(center - ends[0], ends[1] - center) > OUTLYING * usual).any():
        return None
    far = np.abs(X - center) / usual
    rows = np.flatnonzero(far.max(axis=1) > OUTLYING)
    worst, column = (int(i) for i in np.unravel_index(int(np.argmax(far)), far.shape))
    which = ", ".join(str(row) for row in rows[:5]) + (", ..." if len(rows) > 5 else "")
    return (
        f"X has outlying rows, counted from 0: {which}; row {worst} has {labels[column]} = {X[worst, column]:.3g}, "
        f"{far[worst, column]:.2g} times as far from the median as most: check them"
    )


@contextmanager
def numbers_only(X: Any) -> Iterator[None]:
    """A check of samples, whose error says which column holds texts, dates or gaps, and what takes such tables."""
    try:
        yield
    except (TypeError, ValueError) as error:
        trouble = _table_trouble(X)
        if trouble is None:
            raise
        raise (ValueError if isinstance(error, ValueError) else TypeError)(trouble) from None


def _table_trouble(X: Any) -> str | None:
    cells, names = np.asarray(X, dtype=object), feature_names(X)
    if issparse(X) or cells.ndim != 2:
        return None
    for kind, head in {"texts": "", "dates": "", "missing values": "Input X contains NaN: "}.items():
        for position, column in enumerate(cells.T.tolist()):
            if any(_kind(value) == kind for value in column):
                name = f"column {f'x{position}' if names is None else names[position]!r}"
                remedy = "impute them first" if kind == "missing values" else "encode it first"
                return f"{head}{name} holds {kind}; use quadric.TableClassifier for tables with {kind}, or {remedy}"
    return None


def _kind(value: Any) -> str:
    if isinstance(value, str):
        try:
            return "numbers" if math.isfinite(float(value)) else "texts"
        except ValueError:
            return "texts"
    if isinstance(value, date) and value == value:
        return "dates"
    is_gap = value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, Real) and value != value)
    return "missing values" if is_gap else "numbers"
