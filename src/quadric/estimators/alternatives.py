"""Other surfaces that are almost as good as a fitted one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from quadric.estimators._models import Examined, examine, support_within
from quadric.estimators._validation import check_values, number_from
from quadric.geometry.surface import QuadraticSurface
from quadric.search.ties import near_ties
from quadric.types import IntArray


@dataclass(frozen=True)
class Exchange:
    """One term for another.

    Attributes
    ----------
    out, into : str
        Names of the terms.
    cost : float
        Relative change of the objective, the refit included; negative where the exchange would improve the model.
    """

    out: str
    into: str
    cost: float


@dataclass(frozen=True)
class OtherSupport:
    """A set of terms.

    Attributes
    ----------
    terms : tuple of str
    objective : float
    cost : float
        Relative to the model's objective.
    """

    terms: tuple[str, ...]
    objective: float
    cost: float


@dataclass(frozen=True)
class Alternatives:
    """What could stand in for a surface; each list begins with the cheapest.

    Attributes
    ----------
    terms : tuple of str
        Of the surface itself.
    objective : float
        Of the best surface with those terms.
    exchanges : list of Exchange
        Single terms that can be exchanged, and for which.
    supports : list of OtherSupport
        Sets of terms found within the tolerance.
    """

    terms: tuple[str, ...]
    objective: float
    exchanges: list[Exchange]
    supports: list[OtherSupport]


def alternatives(model: Any, X: Any, y: Any, *, within: float = 0.01, sample_weight: Any = None) -> list[Alternatives]:
    """Near ties of a fitted model: other terms that cost little.

    Parameters
    ----------
    model : fitted estimator or Pipeline ending in one
    X : array-like of shape (m, n)
        The samples that it was fitted to.
    y : array-like of shape (m,)
        Their labels.
    within : float
        Relative increase of the objective up to which a support counts.
    sample_weight : array-like of shape (m,), optional
        Repetitions, as in ``fit``.

    Returns
    -------
    list of Alternatives
        One a surface. For least squares all single exchanges are examined, for hinge the most promising 200 that the dual
        bound does not rule out.
    """
    check_values({"within": within}, {"within": number_from(0.0)})
    if isinstance(model, QuadraticSurface):
        raise TypeError("alternatives needs a fitted estimator or a Pipeline ending in one, not a bare surface")
    question = {"loss": None, "C": None, "k": None, "sample_weight": sample_weight, "class_weight": None}
    return [_alternatives(case, within) for case in examine(model, X, y, question)]


def _alternatives(case: Examined, within: float) -> Alternatives:
    support = support_within(case)
    live = np.flatnonzero(case.surface.coordinates())
    if support is None:
        raise ValueError("the model has terms that its problem does not allow on these data")
    ties = near_ties(case.problem, support, within)
    objective = ties.found.value
    names = [case.terms[t] for t in case.problem.terms]

    def terms(positions: IntArray) -> tuple[str, ...]:
        return tuple(names[t] for t in positions)

    return Alternatives(
        terms=tuple(case.terms[t] for t in live),
        objective=objective,
        exchanges=[Exchange(names[swap.out], names[swap.into], swap.change / objective) for swap in ties.swaps],
        supports=[OtherSupport(terms(found.support), found.value, found.value / objective - 1.0) for found in ties.supports],
    )
