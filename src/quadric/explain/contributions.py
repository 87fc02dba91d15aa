"""The decision taken apart term by term."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from quadric.explain._model import explainable
from quadric.geometry.lifting import lift
from quadric.geometry.terms import term_names
from quadric.types import FloatArray


@dataclass(frozen=True, eq=False)
class Contributions:
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


def contributions(model: Any, X: Any, *, target: Any = None) -> Contributions:
    """Split each decision into its terms.

    Parameters
    ----------
    model : fitted quadric estimator, Pipeline ending in one, or QuadraticSurface
    X : array-like of shape (m, n)
        Rows as the model takes them.
    target : class label, optional
        The class towards which the decision counts. Two classes: the positive one, ``classes_[1]``, unless named; for the
        other one all signs turn. More classes: required, as each has a surface of its own.

    Returns
    -------
    Contributions
    """
    known = explainable(model)
    surface = known.surface_towards(target)
    U = known.fitted(known.reported(X))
    z = surface.coordinates()
    live = np.flatnonzero(z)
    all_names = term_names(known.names)
    return Contributions(lift(U, live) * z[live], [all_names[t] for t in live], surface.c, surface(U))
