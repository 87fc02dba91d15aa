"""Every private name of scikit-learn that the library uses: what a release may move is mended here."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight, _get_feature_names

from quadric.types import FloatArray


def check_sample_weight(sample_weight: npt.ArrayLike | None, X: Any, *, non_negative: bool = True) -> FloatArray:
    """One finite weight per row of X, 1 where there are none."""
    return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=non_negative)


def feature_names(X: Any) -> Sequence[str] | None:
    """The columns of a frame whose names are all texts, otherwise None."""
    return _get_feature_names(X)


def rows_of(X: Any, positions: list[int]) -> Any:
    """Some rows of an array or a frame, of the same kind."""
    return _safe_indexing(X, positions)


def scorer_takes_weights(scorer: Any) -> bool:
    """Whether a scorer's metric has sample weights; the default one, an estimator's score, has."""
    metric = getattr(scorer, "_score_func", None)
    if metric is None:
        return type(scorer).__name__ == "_PassthroughScorer"
    return "sample_weight" in inspect.signature(metric).parameters


def count_leaves(boosting: Any) -> int:
    """Leaves of all trees of a HistGradientBoostingClassifier."""
    return sum(tree.get_n_leaf_nodes() for stage in boosting._predictors for tree in stage)
