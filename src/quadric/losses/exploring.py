"""How supports grow and shrink: what explorers of exchanges share."""

from __future__ import annotations

import numpy as np

from quadric.losses.base import Rule
from quadric.losses.columns import ColumnTableau
from quadric.losses.tableau import Tableau
from quadric.types import IntArray

MAX_KICK = 20
"""Largest number of terms that a perturbation drops."""


def resized_tableau(tableau: Tableau | ColumnTableau, k: int, rule: Rule) -> IntArray:
    """Add the best or drop the least useful terms of a tableau, one at a time, as the rule admits, until there are k.

    Parameters
    ----------
    tableau : Tableau or ColumnTableau
        Left at the support that is returned, unless only linear combinations of it could be added.
    k : int
    rule : Rule
    """
    size = int(tableau.inside.sum())
    for _ in range(size, k):
        gains, addable = tableau.gains(), rule.addable(tableau.inside)
        if addable is not None:
            gains[~addable] = -np.inf
        best = int(np.argmax(gains))
        if gains[best] == -np.inf:  # all that is left are combinations of the support: any of them will do
            others = ~tableau.inside if addable is None else addable
            return np.sort(np.append(tableau.support, np.flatnonzero(others)[: k - int(tableau.inside.sum())]))
        tableau.add(best)
    for _ in range(k, size):
        costs, droppable = tableau.costs(), rule.droppable(tableau.inside)
        if droppable is not None:
            costs[~droppable] = np.inf
        tableau.drop(int(np.argmin(costs)))
    return tableau.support
