"""The decision taken apart term by term."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from quadric.fitted import fitted_model
from quadric.geometry.lifting import lift
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


def contributions(model: Any, X: Any, *, target: Any = None) -> TermContributions:
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
    z = surface.coordinates()
    live = np.flatnonzero(z)
    names = view.term_names
    return TermContributions(lift(U, live) * z[live], [names[t] for t in live], surface.c, surface(U))
