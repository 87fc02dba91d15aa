"""Terms that could stand in for those of a fit, by their positions in z."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quadric.near_ties import alternatives
from quadric.workflow.preparation import PreparedData
from quadric.workflow.training import Trained

# Near ties: their number, and the largest relative price of one
MOST_TIES, WITHIN = 8, 0.1
# Seconds of branch and bound for the list of sets
TIES_SECONDS = 30.0


@dataclass(frozen=True)
class Tie:
    """One term for another at a small price.

    Attributes
    ----------
    out, into : int
        The terms.
    cost : float
        Relative change of the objective, the refit included.
    """

    out: int
    into: int
    cost: float


@dataclass(frozen=True)
class OtherSet:
    """A set of terms in the place of those of the fit.

    Attributes
    ----------
    terms : tuple of int
    cost : float
        Relative to the objective of the fit.
    """

    terms: tuple[int, ...]
    cost: float


@dataclass(frozen=True)
class OtherSets:
    """Sets of terms that cost little, the cheapest first.

    Attributes
    ----------
    sets : tuple of OtherSet
    completeness : str
        How far these are known to be all.
    """

    sets: tuple[OtherSet, ...]
    completeness: str


def near_ties_of(trained: Trained, data: PreparedData) -> list[Tie]:
    """Exchanges of one term that cost little, the cheapest first.

    Parameters
    ----------
    trained : Trained
    data : PreparedData
        Its rows, under its rules.
    """
    ties, places = _found(trained, data)
    return [Tie(places[each.out], places[each.into], each.cost) for each in ties.exchanges[:MOST_TIES]]


def proved_sets_of(trained: Trained, data: PreparedData) -> OtherSets:
    """Sets of terms that cost little, and how far branch and bound knows that these are all.

    Parameters
    ----------
    trained : Trained
    data : PreparedData
        Its rows, under its rules.
    """
    ties, places = _found(trained, data, prove=True, time_limit=TIES_SECONDS)
    sets = (OtherSet(tuple(places[name] for name in each.terms), each.cost) for each in ties.supports)
    return OtherSets(tuple(sets), ties.completeness())


def _found(trained: Trained, data: PreparedData, **how: Any) -> Any:
    """Near ties of a fit, and the position of each term: the classifier knows its features by number, so names are unique."""
    classifier = trained.classifier
    (ties,) = alternatives(classifier, data.X, data.y, within=WITHIN, **how)
    return ties, {name: term for term, name in enumerate(classifier.term_names())}
