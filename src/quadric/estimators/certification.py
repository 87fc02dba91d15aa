"""Certificates of models that are already fitted, by us or by others."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, check_X_y, validate_data

from quadric.certificate import LOSSES, Certificate, judge
from quadric.estimators._validation import Rule, check_values, integer_from, number_above, one_of, validate_samples
from quadric.geometry.surface import QuadraticSurface

RULES: dict[str, Rule] = {"loss": one_of(*sorted(LOSSES)), "C": number_above(0.0), "k": integer_from(1)}


def certify(
    model: Any,
    X: Any,
    y: Any,
    *,
    loss: str | None = None,
    C: float | None = None,
    k: int | None = None,
    sample_weight: Any = None,
    class_weight: Any = None,
) -> list[Certificate]:
    """Judge a model as an answer to: the best surface with at most k terms.

    Parameters
    ----------
    model : fitted estimator, Pipeline ending in one, or QuadraticSurface
        The transformers of a pipeline are applied to X first.
    X : array-like of shape (m, n)
        The samples that the model was fitted to; others can be judged too.
    y : array-like of shape (m,)
        Their labels. A bare surface is judged as positive for the second of two labels in sorted order.
    loss, C, k : optional
        The problem; by default that of the estimator's parameters. A bare surface needs all three.
    sample_weight : array-like of shape (m,), optional
        Repetitions, as in ``fit``.
    class_weight : dict or "balanced", optional
        By default the estimator's.

    Returns
    -------
    list of Certificate
        One a surface.
    """
    if isinstance(model, Pipeline):
        X = model[:-1].transform(X) if len(model) > 1 else X
        model = model[-1]
    surfaces, classes = _surfaces_of(model)
    question = {"loss": loss, "C": C, "k": k, "class_weight": class_weight}
    question = {name: _given(value, model, name) for name, value in question.items()}
    check_values(question, RULES)
    if isinstance(model, QuadraticSurface):
        X, y = check_X_y(X, y, dtype=np.float64, order="C")
        if X.shape[1] != model.n_features:
            raise ValueError(f"X has {X.shape[1]} features, but the surface has {model.n_features}")
    else:
        X, y = validate_data(model, X, y, dtype=np.float64, order="C", reset=False)
    samples = validate_samples(X, y, sample_weight, question.pop("class_weight"), classes)
    if len(surfaces) != len(samples.positives()):
        raise ValueError(f"{len(surfaces)} surface(s) cannot tell {len(samples.classes)} classes apart")
    return [
        judge(surface, samples.against_rest(positive), **question)
        for surface, positive in zip(surfaces, samples.positives(), strict=True)
    ]


def _surfaces_of(model: Any) -> tuple[list[QuadraticSurface], np.ndarray | None]:
    if isinstance(model, QuadraticSurface):
        return [model], None
    if hasattr(model, "fit"):
        check_is_fitted(model)
    if not hasattr(model, "surfaces_"):
        raise TypeError(
            f"certify needs a fitted quadric estimator, a Pipeline or a QuadraticSurface, not {type(model).__name__}"
        )
    return model.surfaces_, model.classes_


def _given(value: Any, model: Any, name: str) -> Any:
    return getattr(model, name, None) if value is None else value
