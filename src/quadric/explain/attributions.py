"""The decision taken apart: by terms, and by columns with Shapley values in closed form.

Players of the Shapley values are features; a coalition S is worth v(S) = E f(x_S, X_rest), the expectation over a background
whose features may depend on each other (the interventional value function). Of the background only the mean mu and the
covariance matter:

    phi_j = (x_j - mu_j) (W (x + mu) / 2 + b)_j - 1/2 sum_l W_jl Cov_jl.

Why: to coalitions without both, with a, with b and with both, a product W_ab x_a x_b is worth W_ab times E[X_a X_b], x_a
mu_b, mu_a x_b and x_a x_b; the mean of a's two marginal gains is 1/2 [(x_a - mu_a)(x_b + mu_b) - Cov_ab]. A square and a
linear term belong to one player alone. As no term has more than two players, the value of features that act as one player,
such as the coded levels of a category, is the sum of their values.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from quadric.fitted import FittedModel, Model, fitted_model
from quadric.geometry.surface import QuadraticSurface
from quadric.tables.table import Rows
from quadric.types import FloatArray


@dataclass(frozen=True, eq=False)
class TermContributions:
    """What each live term adds: ``intercept + values.sum(axis=1)`` is ``decision`` to rounding.

    Attributes
    ----------
    values : array of shape (m, n_terms)
        Coefficient times product of features, in fitted units.
    names : list of str
        "age^2", "age*income", "age", in the order of ``coef_``.
    intercept : float
    decision : array of shape (m,)
        f(x).
    """

    values: FloatArray
    names: list[str]
    intercept: float
    decision: FloatArray


def contributions(model: Model, X: Rows, *, target: Hashable | None = None) -> TermContributions:
    """Split each decision into its terms.

    Parameters
    ----------
    model : fitted model, or QuadraticSurface
        What :func:`quadric.fitted.fitted_model` takes.
    X : array-like of shape (m, n)
        Rows as the model takes them.
    target : class label, optional
        The class towards which the decision counts. Two classes: the positive one, ``classes_[1]``, unless named; for the
        other one all signs turn. More classes: required, as each has a surface of its own.

    Returns
    -------
    TermContributions
    """
    view = fitted_model(model)
    surface = view.surface_towards(target)
    U = view.fitted(X)
    names = view.term_names
    live = [names[t] for t in np.flatnonzero(surface.coordinates())]
    return TermContributions(surface.term_values(U), live, surface.c, surface(U))


@dataclass(frozen=True, eq=False)
class ShapleyValues:
    """Exact Shapley values: ``base_value + values.sum(axis=1)`` is ``decision`` to rounding.

    Attributes
    ----------
    values : array of shape (m, n_columns)
        One value per input column; the features that code a category are summed, which is exact.
    names : list of str
        The input columns.
    base_value : float
        Expected decision over the background.
    decision : array of shape (m,)
        f(x).
    """

    values: FloatArray
    names: list[str]
    base_value: float
    decision: FloatArray


def shapley(model: Model, X: Rows, *, background: Rows, target: Hashable | None = None) -> ShapleyValues:
    """Exact interventional Shapley values, at the cost of a few predictions.

    Parameters
    ----------
    model : fitted model, or QuadraticSurface
        What :func:`quadric.fitted.fitted_model` takes.
    X : array-like of shape (m, n)
        Rows as the model takes them.
    background : array-like of shape (m', n), or pair (mean, second)
        Rows as the model takes them, or their mean and second moments E[v v'] in reported units (numbers as in the data, but
        capped where the model caps them, and codes).
    target : class label, optional
        The class towards which the decision counts; required for more than two classes. See :func:`contributions`.

    Returns
    -------
    ShapleyValues
    """
    view = fitted_model(model)
    surface = view.surface_towards(target)
    mean, spread = mean_and_spread(view, surface, background)
    U = view.fitted(X)
    values = against_point(surface, U, mean) - spread
    base = float(surface(mean[None])[0] + spread.sum())
    return ShapleyValues(view.by_column(values), view.input_names, base, surface(U))


def against_point(surface: QuadraticSurface, U: FloatArray, reference: FloatArray) -> FloatArray:
    """Shapley values against one point, or one point per row: they sum to f(u) - f(reference).

    (u - r)_j times the gradient at the midpoint: a quadratic's difference is exact there, and each interaction is halved.
    """
    return (U - reference) * (_times(surface, 0.5 * (U + reference)) + surface.b)


def mean_and_spread(view: FittedModel, surface: QuadraticSurface, background: Any) -> tuple[FloatArray, FloatArray]:
    """The background's mean in fitted units, and 1/2 sum_l W_jl Cov_jl for each feature j: of rows, or of a pair of moments."""
    if not (isinstance(background, tuple) and len(background) == 2):
        U = view.fitted(background)
        mean = U.mean(axis=0)
        return mean, spread_of(surface, U - mean)
    mean, second = (np.asarray(moment, dtype=float) for moment in background)
    n, units = view.n_features, view.units
    if mean.shape != (n,) or second.shape != (n, n):
        raise ValueError(f"background: moments of shapes {mean.shape} and {second.shape} need to be ({n},) and ({n}, {n})")
    covariance = (second - np.outer(mean, mean)) / np.outer(units.scale, units.scale)
    return (mean - units.center) / units.scale, 0.5 * (surface.W * covariance).sum(axis=1)


def spread_of(surface: QuadraticSurface, deviations: FloatArray) -> FloatArray:
    """1/2 sum_l W_jl Cov_jl for each feature j, from the deviations of the rows from their mean."""
    return np.asarray(0.5 * np.mean(deviations * _times(surface, deviations), axis=0))


def _times(surface: QuadraticSurface, U: FloatArray) -> FloatArray:
    """W u of each row: live terms only, and no BLAS whose threads could change bits."""
    return np.asarray((csr_array(surface.W) @ U.T).T)
