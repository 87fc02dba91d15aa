"""Every private name of scikit-learn that the library uses: what a release may move is mended here."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.calibration import _sigmoid_calibration
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from sklearn.utils.validation import _check_sample_weight, _get_feature_names

from quadric.labels import refuse_masked
from quadric.types import FloatArray

GROUPING = ("_infrequent_enabled", "_infrequent_indices", "_default_to_infrequent_mappings")
# What transformers need to know of their fit beside their public attributes; not every release has all of it.
PRIVATE_STATE = {
    "SimpleImputer": ("_fit_dtype", "_fill_dtype"),
    "MissingIndicator": ("_n_features", "_precomputed"),
    "OneHotEncoder": ("_drop_idx_after_grouping", "_n_features_outs", *GROUPING),
    "OrdinalEncoder": ("_missing_indices", *GROUPING),
}
# Attributes of fitted transformers that are numbers of features.
FEATURE_COUNTS = {"n_features_in_", "_n_features"}
# What the metrics of some modules of scikit-learn are made for.
OTHER_SUBJECTS = {"_regression": "numbers", "cluster": "clusters, whose names do not matter"}
# How to ask LogisticRegression for it: releases from 1.8 on no longer want the name of the penalty.
L1_PENALTY: dict[str, Any] = {"l1_ratio": 1.0} if LogisticRegression().penalty == "deprecated" else {"penalty": "l1"}


def check_sample_weight(sample_weight: npt.ArrayLike | None, X: Any, *, non_negative: bool = True) -> FloatArray:
    """One finite weight per row of X, 1 where there are none."""
    refuse_masked(sample_weight=sample_weight)
    return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=non_negative)


def feature_names(X: Any) -> Sequence[str] | None:
    """The columns of a frame whose names are all texts, otherwise None."""
    return _get_feature_names(X)


def scorer_takes_weights(scorer: Any) -> bool:
    """Whether a scorer's metric has sample weights; the default one, an estimator's score, has."""
    metric = getattr(scorer, "_score_func", None)
    if metric is None:
        return type(scorer).__name__ == "_PassthroughScorer"
    return "sample_weight" in inspect.signature(metric).parameters


def scorer_is_accuracy(scorer: Any) -> bool:
    """Whether a scorer gives the share of labels that are right, as an estimator's score does by default."""
    is_plain = getattr(scorer, "_sign", None) == 1 and not getattr(scorer, "_kwargs", None)
    is_accuracy = getattr(scorer, "_score_func", None) is accuracy_score and is_plain
    return type(scorer).__name__ == "_PassthroughScorer" or is_accuracy


def scorer_is_log_loss(scorer: Any) -> bool:
    """Whether a scorer gives the mean log-loss, with its sign turned."""
    is_plain = getattr(scorer, "_sign", None) == -1 and not getattr(scorer, "_kwargs", None)
    return getattr(scorer, "_score_func", None) is log_loss and is_plain


def scorer_counts_labels(scorer: Any) -> bool:
    """Whether a score follows from how much weight each class has among the rows with each predicted label."""
    labels = getattr(scorer, "_response_method", None) == "predict" and scorer_takes_weights(scorer)
    return labels or scorer_is_accuracy(scorer)


def scorer_misfit(scorer: Any) -> str | None:
    """What a scorer is made for, where that is not predicted classes; None where it is, or where nobody knows."""
    module = getattr(getattr(scorer, "_score_func", None), "__module__", "")
    if getattr(scorer, "_kwargs", {}).get("average") == "samples":
        return "several labels per row"
    return next((words for part, words in OTHER_SUBJECTS.items() if part in module.split(".")), None)


def scorer_towards(scorer: Any, positive: Any) -> Any:
    """A scorer of two classes whose metric calls this label the positive one, where nobody has said otherwise."""
    metric, settings = getattr(scorer, "_score_func", None), getattr(scorer, "_kwargs", {})
    names = () if metric is None else inspect.signature(metric).parameters
    if "pos_label" not in names or "pos_label" in settings or settings.get("average", "binary") != "binary":
        return scorer
    towards = copy(scorer)
    towards._kwargs = {**settings, "pos_label": positive}
    return towards


def platt_scaling(decision: FloatArray, positive: npt.NDArray[np.bool_], weight: FloatArray) -> tuple[float, float]:
    """a and b of Platt's 1 / (1 + exp(a f + b)), fitted to decision values."""
    a, b = _sigmoid_calibration(decision, positive.astype(float), weight)
    return float(a), float(b)


def input_positions(transformer: ColumnTransformer) -> dict[str, list[int]]:
    """Positions of the columns that each part of a fitted ColumnTransformer takes."""
    return {name: [int(i) for i in where] for name, where in transformer._transformer_to_input_indices.items()}


def set_parts(transformer: ColumnTransformer, parts: Sequence[tuple[str, Any, list[int]]]) -> None:
    """Make a ColumnTransformer one that was fitted with these parts: names, fitted steps, and positions of their columns."""
    transformer.transformers_ = list(parts)
    transformer._transformer_to_input_indices = {name: where for name, _, where in parts}
    transformer.transformers = [part for part in parts if part[0] != "remainder"]
    transformer._columns = [where for _, _, where in transformer.transformers]
    (transformer._remainder,) = [part for part in parts if part[0] == "remainder"] or [("remainder", "drop", [])]
    transformer.remainder = transformer._remainder[1]


def output_kind(transformer: Any) -> str | None:
    """The kind of frame that set_output asked a transformer for."""
    return getattr(transformer, "_sklearn_output_config", {}).get("transform")


def count_leaves(boosting: Any) -> int:
    """Leaves of all trees of a HistGradientBoostingClassifier."""
    return sum(tree.get_n_leaf_nodes() for stage in boosting._predictors for tree in stage)
