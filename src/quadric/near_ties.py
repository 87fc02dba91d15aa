"""Near ties of a fitted model: other terms that are almost as good, and the models with these terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from numpy.typing import ArrayLike

from quadric.errors import printable
from quadric.estimators.validation import TRUE_OR_FALSE, check_values, number_from
from quadric.examine import Judged, check_limits, judged_surfaces
from quadric.fitted import FittedModel, Model, as_judged
from quadric.geometry.surface import QuadraticSurface
from quadric.notebook import Html, paragraph, table, view
from quadric.search.shapes import solver_of
from quadric.search.ties import TiedSupports, near_ties, proved_ties
from quadric.types import IntArray

# Exchanges that are printed.
MOST_SHOWN = 5


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
class SurfaceTies:
    """What could replace one surface; each list begins with the cheapest.

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
    complete_within : float or None
        Cost below which no other set of terms exists, at most the tolerance; negative where even better sets may exist. None:
        nothing was proved.
    """

    terms: tuple[str, ...]
    objective: float
    exchanges: list[Exchange]
    supports: list[OtherSupport]
    complete_within: float | None = None

    def completeness(self) -> str:
        """How far the list of supports is known to be complete, in words.

        Returns
        -------
        str
        """
        if self.complete_within is None:
            return "others may exist"
        if self.complete_within < 0.0:
            return f"better ones may exist, by at most {-100 * self.complete_within:.2f} %"
        return f"all that cost at most {100 * self.complete_within:.2f} %"


@dataclass(frozen=True, eq=False, repr=False)
class FoundSupport:
    """A set of terms in the place of those of one surface, or of all that share them.

    Attributes
    ----------
    original : fitted model
        As it came.
    view : FittedModel
        The same, taken apart.
    number : int
        Of the first surface.
    case : Judged
        These surfaces and their problem.
    support : array
        The terms, as positions among the candidates of the problem.
    """

    original: Any
    view: FittedModel
    number: int
    case: Judged
    support: IntArray

    def model(self) -> Any:
        """The model with the best surfaces on these terms.

        Returns
        -------
        fitted model
            Of the kind of the original.
        """
        problem, surfaces = self.case.problem, list(self.view.surfaces)
        refit = solver_of(problem).refit(self.support)
        found = problem.surfaces(refit.z, refit.c)
        certificate = self.case.certificate(found, problem.terms[self.support])
        places = range(self.number, self.number + len(found))
        surfaces[places.start : places.stop] = found
        model = self.view.with_calibration(self.view.with_surfaces(surfaces, dict.fromkeys(places, certificate)))
        return self.original._with_model(model) if hasattr(self.original, "_with_model") else model


@dataclass(frozen=True, repr=False)
class NearTies(Sequence[SurfaceTies]):
    """Near ties of a model: a sequence with one entry per surface.

    Attributes
    ----------
    surfaces : tuple of SurfaceTies
        One for two classes, and where classes share their terms; otherwise one per class.
    found : tuple of FoundSupport
        What the models with other terms are made from, in the order of ``supports``.
    """

    surfaces: tuple[SurfaceTies, ...]
    found: tuple[FoundSupport, ...] = ()

    @property
    def exchanges(self) -> list[Exchange]:
        """Of all surfaces."""
        return [exchange for surface in self.surfaces for exchange in surface.exchanges]

    @property
    def supports(self) -> list[OtherSupport]:
        """Of all surfaces."""
        return [support for surface in self.surfaces for support in surface.supports]

    @cached_property
    def models_(self) -> list[Any]:
        """A fitted model for each of ``supports``: it predicts, explains and exports like the model itself.

        The surface in question is the best one with these terms, with a certificate of its own; the others, of more than two
        classes, stay. A calibrated model keeps its curves and its cut-off: where probabilities matter, calibrate the one that
        you take with ``CalibratedModel.around``.
        """
        return [found.model() for found in self.found]

    def __repr__(self) -> str:
        lines = [f"NearTies of {len(self)} surface{'s' * (len(self) > 1)}:"]
        for surface in self.surfaces:
            lines.append(
                f"  objective {surface.objective:.6g}: {len(surface.supports)} other sets of terms "
                f"({surface.completeness()}), {len(surface.exchanges)} exchanges of one term"
            )
            lines += [
                f"    {printable(e.out)} -> {printable(e.into)}: {100 * e.cost:+.2f} %" for e in surface.exchanges[:MOST_SHOWN]
            ]
            lines += ["    ..."] * (len(surface.exchanges) > MOST_SHOWN)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        parts = []
        for surface in self.surfaces:
            sets = [(", ".join(one.terms), f"{one.cost:+.2%}") for one in surface.supports[:MOST_SHOWN]]
            swaps = [(f"{one.out} by {one.into}", f"{one.cost:+.2%}") for one in surface.exchanges[:MOST_SHOWN]]
            parts += [
                paragraph(f"objective {surface.objective:.6g} with {', '.join(surface.terms)}"),
                _listed(f"{len(surface.supports)} other sets of terms ({surface.completeness()})", "terms", sets),
                _listed(f"{len(surface.exchanges)} exchanges of one term", "exchange", swaps),
            ]
        return view("NearTies", parts)

    def __len__(self) -> int:
        return len(self.surfaces)

    def __getitem__(self, index: Any) -> Any:
        return self.surfaces[index]


def _listed(caption: str, what: str, costs: Sequence[tuple[str, str]]) -> Html:
    return table(caption, (what, "objective"), costs) if costs else paragraph(caption)


def alternatives(
    model: Model,
    X: ArrayLike,
    y: ArrayLike,
    *,
    within: float = 0.01,
    prove: bool = False,
    time_limit: float | None = 60.0,
    node_limit: int | None = None,
    sample_weight: ArrayLike | None = None,
) -> NearTies:
    """Near ties of a fitted model: other terms that cost little.

    Parameters
    ----------
    model : fitted model
        Estimator, CalibratedModel, Pipeline that ends in one, or TableClassifier.
    X : array-like of shape (m, n)
        The samples that it was fitted to.
    y : array-like of shape (m,)
        Their labels.
    within : float
        Relative increase of the objective up to which a support counts.
    prove : bool
        List all supports that count, by branch and bound, or say how far the list is complete.
    time_limit, node_limit : float, int or None
        Seconds and nodes per surface for that; None: no limit.
    sample_weight : array-like of shape (m,), optional
        Repetitions, as in ``fit``.

    Returns
    -------
    NearTies
        One entry per surface. All single exchanges are examined where the loss has a closed form for them, otherwise the most
        promising 200 that the dual bound does not rule out.
    """
    limits = {"time_limit": time_limit, "node_limit": node_limit}
    check_values({"within": within, "prove": prove}, {"within": number_from(0.0), "prove": TRUE_OR_FALSE})
    check_limits(limits)
    if isinstance(model, QuadraticSurface):
        raise TypeError("alternatives needs a fitted estimator or a Pipeline ending in one, not a bare surface")
    view, X, y = as_judged(model, X, y)
    surfaces, found = list[SurfaceTies](), list[FoundSupport]()
    for number, case in enumerate(judged_surfaces(view, X, y, sample_weight, {}, proves=prove)):
        ties = _tied(case, within, limits if prove else None)
        surfaces.append(_named(case, ties))
        found += [FoundSupport(model, view, number, case, other.support) for other in ties.supports]
    return NearTies(tuple(surfaces), tuple(found))


def _tied(case: Judged, within: float, limits: Mapping[str, Any] | None) -> TiedSupports:
    support = case.support()
    if support is None:
        raise ValueError("the model has terms that its problem does not allow on these data")
    problem = case.problem
    return near_ties(problem, support, within) if limits is None else proved_ties(problem, support, within, **limits)


def _named(case: Judged, ties: TiedSupports) -> SurfaceTies:
    objective = ties.found.value
    names = [case.terms[t] for t in case.problem.terms]
    sets = [(tuple(names[t] for t in found.support), found.value) for found in ties.supports]
    return SurfaceTies(
        terms=tuple(case.terms[t] for t in case.live),
        objective=objective,
        exchanges=[Exchange(names[swap.out], names[swap.into], swap.change / objective) for swap in ties.swaps],
        supports=[OtherSupport(terms, value, value / objective - 1.0) for terms, value in sets],
        complete_within=ties.complete_within,
    )
