"""Fitted models and data as problems that can be examined: what certify and alternatives share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, check_X_y, validate_data

from quadric.certificate import Judge, Question
from quadric.estimators._constraints import support_limits
from quadric.estimators._validation import Rule, check_values, integer_from, number_above, one_of, validate_samples
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import default_names, term_names
from quadric.losses import LOSS_NAMES, loss_named
from quadric.losses.base import SparseProblem
from quadric.types import FloatArray, IntArray

RULES: dict[str, Rule] = {"loss": one_of(*LOSS_NAMES), "C": number_above(0.0), "k": integer_from(1)}


@dataclass(frozen=True)
class Examined:
    """A surface, the samples it is judged on, and the problem it is an answer to."""

    surface: QuadraticSurface
    judge: Judge
    question: Question
    problem: SparseProblem
    terms: list[str]
    """Names of all terms, in the order of z."""


def examine(model: Any, X: Any, y: Any, question: Mapping[str, Any]) -> list[Examined]:
    """The surfaces of a model with their problems on the given data.

    Parameters
    ----------
    model : fitted estimator, Pipeline ending in one, or QuadraticSurface
    X, y : array-likes
    question : mapping
        loss, C, k, class_weight and sample_weight; None stands for the estimator's own parameter.
    """
    shown = None
    if isinstance(model, Pipeline):
        shown = _names_after(model[:-1]) if len(model) > 1 else None
        X = model[:-1].transform(X) if len(model) > 1 else X
        model = model[-1]
    surfaces, classes = _surfaces_of(model)
    asked = {name: _given(question[name], model, name) for name in ("loss", "C", "k", "class_weight")}
    check_values(asked, RULES)
    X, y = _checked_data(model, X, y)
    samples = validate_samples(X, y, question["sample_weight"], asked["class_weight"], classes)
    if len(surfaces) != len(samples.positives()):
        raise ValueError(f"{len(surfaces)} surface(s) cannot tell {len(samples.classes)} classes apart")
    names = [str(name) for name in getattr(model, "feature_names_in_", default_names(X.shape[1]))]
    limits = support_limits(_given(None, model, "include"), _given(None, model, "exclude"), names, X.shape[1], asked["k"])
    loss, C, k = str(asked["loss"]), float(asked["C"]), int(asked["k"])
    data, judge = loss_named(loss).data.from_samples(samples, limits), samples.judge()
    problems = [data.one_against_rest(positive, C, k) for positive in samples.positives()]
    return [
        Examined(
            surface,
            judge,
            Question(loss, C, k, samples.signs(positive), problem.terms),
            problem,
            term_names(names if shown is None else shown),
        )
        for surface, positive, problem in zip(surfaces, samples.positives(), problems, strict=True)
    ]


def _names_after(steps: Pipeline) -> list[str] | None:
    """What the transformers call their features: they often hand on arrays, without the names."""
    try:
        return [str(name) for name in steps.get_feature_names_out()]
    except (AttributeError, ValueError):
        return None


def _checked_data(model: Any, X: Any, y: Any) -> tuple[FloatArray, np.ndarray]:
    if not isinstance(model, QuadraticSurface):
        X, y = validate_data(model, X, y, dtype=np.float64, order="C", reset=False)
        return model._prepared(X), y
    X, y = check_X_y(X, y, dtype=np.float64, order="C")
    if X.shape[1] != model.n_features:
        raise ValueError(f"X has {X.shape[1]} features, but the surface has {model.n_features}")
    return X, y


def _surfaces_of(model: Any) -> tuple[list[QuadraticSurface], np.ndarray | None]:
    if isinstance(model, QuadraticSurface):
        return [model], None
    if hasattr(model, "fit"):
        check_is_fitted(model)
    if not hasattr(model, "surfaces_"):
        raise TypeError(f"need a fitted quadric model, a Pipeline or a QuadraticSurface, not {type(model).__name__}")
    return model.surfaces_, model.classes_


def _given(value: Any, model: Any, name: str) -> Any:
    """The value asked for; else what the model was fitted with (best_C_, best_k_) or is set to."""
    if value is not None:
        return value
    return getattr(model, f"best_{name}_", getattr(model, name, None))


def support_within(case: Examined) -> IntArray | None:
    """The support of the surface as positions among the candidates, filled up to k; None where it does not fit."""
    problem = case.problem
    live = np.flatnonzero(case.surface.coordinates())
    if len(live) > problem.k or len(np.setdiff1d(live, problem.terms)):
        return None
    inside = np.union1d(np.searchsorted(problem.terms, live), problem.rule.required).astype(np.intp)
    if len(inside) > problem.k:
        return None
    spare = np.setdiff1d(np.arange(problem.n_terms), inside)[: problem.k - len(inside)]
    return np.sort(np.concatenate([inside, spare]))
