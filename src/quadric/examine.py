"""Models that are already fitted, judged as answers to a problem: certificates, and other terms that are almost as good."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_X_y

from quadric.certificate import Certificate, Judge, Question, SumFacts, SumsJudge
from quadric.defaults import DEFAULT_GAP, LARGEST_COUNT
from quadric.estimators.base import ClassWeight
from quadric.estimators.classifier import digested
from quadric.estimators.validation import (
    GAP_LIMIT,
    LOSS_WEIGHT,
    N_TERMS,
    TRUE_OR_FALSE,
    Rule,
    check_values,
    integer_from,
    none_or,
    number_from,
    one_of,
    validate_samples,
)
from quadric.fitted import FittedModel, Model, fitted_model
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.writing import printable
from quadric.labels import class_weights, refuse_masked
from quadric.losses import LOSS_NAMES, loss_named
from quadric.losses.base import Found, SparseProblem
from quadric.losses.footprint import check_memory, fits
from quadric.progress import parts, writer_for
from quadric.samples.moments import Moments
from quadric.samples.source import SampleSource
from quadric.samples.sums import InUnits
from quadric.samples.target import surfaces_of
from quadric.samples.units import Units
from quadric.search.exact import prove
from quadric.search.methods import MOST_CERTIFIED, is_swap_optimal, promising_support
from quadric.search.streamed import judge_streamed
from quadric.search.ties import near_ties, proved_ties
from quadric.types import FloatArray, IntArray

# Exchanges that are printed.
MOST_SHOWN = 5
LIMITS: dict[str, Rule] = {
    "time_limit": Rule(lambda v: v is None or number_from(0.0).holds(v), f"{number_from(0.0).words}, or None"),
    "gap_limit": GAP_LIMIT,
    "node_limit": none_or(integer_from(0, LARGEST_COUNT)),
}
RULES: dict[str, Rule] = {"loss": one_of(*LOSS_NAMES), "C": LOSS_WEIGHT, "k": N_TERMS}


def certify(
    model: Model,
    X: ArrayLike,
    y: ArrayLike,
    *,
    loss: str | None = None,
    C: float | None = None,
    k: int | None = None,
    sample_weight: ArrayLike | None = None,
    class_weight: ClassWeight = None,
    time_limit: float | None = 0.0,
    gap_limit: float = DEFAULT_GAP,
    node_limit: int | None = None,
    verbose: int = 0,
) -> list[Certificate]:
    """Judge a model as an answer to: the best surface with at most k terms.

    Parameters
    ----------
    model : fitted model, or QuadraticSurface
        Estimator, CalibratedModel, or Pipeline that ends in one, whose transformers are applied to X first; or TableClassifier.
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
    time_limit : float or None
        Seconds per surface for branch and bound; at 0.0 only its first bound is computed, and none where memory cannot hold a
        matrix of all pairs of terms. None: no limit.
    gap_limit : float
        Relative gap at which branch and bound may stop, once it has taken the nodes that are cheap (4,000 with the squared
        loss, else 500): small problems are proved to the end. 0 always goes on to the end.
    node_limit : int or None
        Nodes of branch and bound per surface. Unlike seconds, they give the same bound each time: ``time_limit=None,
        node_limit=10_000``.
    verbose : int
        1 or 2 writes the progress of branch and bound to standard error.

    Returns
    -------
    list of Certificate
        One per surface.
    """
    limits = {"time_limit": time_limit, "gap_limit": gap_limit, "node_limit": node_limit}
    check_limits(limits)
    question = {"loss": loss, "C": C, "k": k, "class_weight": class_weight}
    return _certificates(_cases(model, X, y, sample_weight, question), verbose, **limits)


def check_limits(limits: Mapping[str, Any]) -> None:
    """Raise a ValueError that names the limit of a proof which makes no sense.

    Parameters
    ----------
    limits : mapping
        ``time_limit``, ``gap_limit`` and ``node_limit``, or some of them.
    """
    check_values(limits, {name: LIMITS[name] for name in limits})


def certify_sums(model: Model, moments: Moments, *, verbose: int = 0, **limits: Any) -> list[Certificate]:
    """Judge a model by sums over rows in its own units, where the rows themselves are not in memory.

    Parameters
    ----------
    model : fitted model
        With a loss that needs no more of its samples.
    moments : Moments
        Of rows in fitted units; classes as the model has them.
    verbose : int
        As in :func:`certify`.
    **limits : Any
        Of branch and bound, as in :func:`certify`.

    Returns
    -------
    list of Certificate
        One per surface.
    """
    return _certificates(_cases_of_sums(fitted_model(model), moments), verbose, **limits)


def certify_passes(model: Model, source: SampleSource, class_totals: FloatArray) -> list[Certificate]:
    """Judge a model by passes over rows in its own units, where there are too many for memory; other terms get no bound.

    Parameters
    ----------
    model : fitted model
        With a loss that fits by passes.
    source : SampleSource
        Rows in fitted units; classes as the model has them.
    class_totals : array of shape (n_classes,)
        Weights of the rows of each class.

    Returns
    -------
    list of Certificate
        One per surface.
    """
    view = fitted_model(model)
    (loss, C, k, class_weight), classes = _question(view, {}), view.classes
    weight = class_weights(class_weight, classes, np.arange(len(classes)), class_totals)
    rows = InUnits(source, Units.plain(view.n_features), weight)
    numbers, found = surfaces_of(len(classes)), []
    for own_part, surface, number in zip(parts(*[1.0] * len(numbers)), view.surfaces, numbers, strict=True):
        with own_part:
            judged = judge_streamed(rows, loss, number, C, k, view.limits(k), surface.coordinates(), float(surface.c))
        found.append(judged.certificate)
    return found


def certify_by_nodes(model: Model, X: ArrayLike, y: ArrayLike, *, k: int, node_limit: int | None) -> list[Certificate]:
    """Judge a model with a proof that ends after a number of nodes: unlike seconds, that gives the same bound everywhere.

    Parameters
    ----------
    model, X, y, k :
        As in :func:`certify`.
    node_limit : int or None
        Nodes of branch and bound per surface; None: no bound.

    Returns
    -------
    list of Certificate
        One per surface.
    """
    cases = _cases(model, X, y, None, {"k": k})
    return _certificates([_without_bound(case, node_limit) for case in cases], node_limit=node_limit)


def _without_bound(case: _Judged, node_limit: int | None) -> _Judged:
    return replace(case, provable=case.provable and node_limit is not None)


def certified_surfaces(
    model: Model, X: ArrayLike, y: ArrayLike, surfaces: Sequence[QuadraticSurface], ks: Sequence[int], node_limit: int | None
) -> Iterator[Certificate]:
    """Judge other surfaces in the place of a two-class model's own; the data are digested once.

    Parameters
    ----------
    model : fitted model of two classes
    X, y : array-likes
        Samples and their labels.
    surfaces : sequence of QuadraticSurface
        In the units of the model's surface.
    ks : sequence of int
        Number of terms that each was allowed.
    node_limit : int or None
        As in :func:`certify_by_nodes`.

    Yields
    ------
    Certificate
    """
    if not ks:
        return
    (case,) = (_without_bound(case, node_limit) for case in _cases(model, X, y, None, {"k": max(ks)}))
    for surface, k in zip(surfaces, ks, strict=True):
        question, problem = replace(case.question, k=int(k)), case.problem.with_k(int(k))
        yield _certificate(replace(case, surface=surface, question=question, problem=problem), node_limit=node_limit)


def _certificates(cases: Sequence[_Judged], verbose: int = 0, **limits: Any) -> list[Certificate]:
    out = []
    for case, own_part in zip(cases, parts(*[1.0] * len(cases)), strict=True):
        with own_part:
            out.append(_certificate(case, verbose, **limits))
    return out


def _certificate(case: _Judged, verbose: int = 0, **limits: Any) -> Certificate:
    """A certificate with what branch and bound proves within limits: those of ``prove``."""
    problem = case.problem
    certificate = case.judge.certificate(case.surface, case.question)
    support, step = case.support(), problem.step()
    if support is not None:
        found = Found(support, step.refit(support).value)
        # of the terms, and only where the coefficients are the best for them
        best = certificate.objective <= found.value * (1.0 + 1e-9)
        certificate = replace(certificate, swap_optimal=is_swap_optimal(problem, found, MOST_CERTIFIED) if best else False)
    else:  # terms that the problem does not allow, or too many: bound it all the same, from another start
        start = promising_support(problem, problem.explorer(step), np.random.default_rng(0))
        found = Found(start, step.refit(start).value)
    if not case.provable:
        return certificate.bounded(None)
    proof = prove(problem, found, report=writer_for(verbose), step=step, **limits)
    return certificate.bounded(proof.lower_bound)


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


@dataclass(frozen=True, repr=False)
class NearTies(Sequence[SurfaceTies]):
    """Near ties of a model: a sequence with one entry per surface.

    Attributes
    ----------
    surfaces : tuple of SurfaceTies
        One for two classes, otherwise one per class.
    """

    surfaces: tuple[SurfaceTies, ...]

    @property
    def exchanges(self) -> list[Exchange]:
        """Of all surfaces."""
        return [exchange for surface in self.surfaces for exchange in surface.exchanges]

    @property
    def supports(self) -> list[OtherSupport]:
        """Of all surfaces."""
        return [support for surface in self.surfaces for support in surface.supports]

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

    def __len__(self) -> int:
        return len(self.surfaces)

    def __getitem__(self, index: Any) -> Any:
        return self.surfaces[index]


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
    cases = _cases(model, X, y, sample_weight, {}, proves=prove)
    return NearTies(tuple(_ties(case, within, limits if prove else None) for case in cases))


def _ties(case: _Judged, within: float, limits: Mapping[str, Any] | None) -> SurfaceTies:
    support = case.support()
    if support is None:
        raise ValueError("the model has terms that its problem does not allow on these data")
    problem = case.problem
    ties = near_ties(problem, support, within) if limits is None else proved_ties(problem, support, within, **limits)
    objective = ties.found.value
    names = [case.terms[t] for t in case.problem.terms]
    sets = [(tuple(names[t] for t in found.support), found.value) for found in ties.supports]
    return SurfaceTies(
        terms=tuple(case.terms[t] for t in np.flatnonzero(case.surface.coordinates())),
        objective=objective,
        exchanges=[Exchange(names[swap.out], names[swap.into], swap.change / objective) for swap in ties.swaps],
        supports=[OtherSupport(terms, value, value / objective - 1.0) for terms, value in sets],
        complete_within=ties.complete_within,
    )


@dataclass(frozen=True)
class _Judged:
    """A surface, the samples it is judged on, and the problem it is an answer to; ``terms`` names all terms, as in z.

    ``provable`` says whether there is memory for a bound.
    """

    surface: QuadraticSurface
    judge: Judge | SumsJudge
    question: Question
    problem: SparseProblem
    terms: list[str]
    provable: bool = True

    def support(self) -> IntArray | None:
        """The support of the surface as positions among the candidates, filled up to k; None where it does not fit."""
        problem = self.problem
        live = np.flatnonzero(self.surface.coordinates())
        if len(live) > problem.k or len(np.setdiff1d(live, problem.terms)):
            return None
        inside = np.union1d(np.searchsorted(problem.terms, live), problem.rule.required).astype(np.intp)
        if len(inside) > problem.k:
            return None
        spare = np.setdiff1d(np.arange(problem.n_terms), inside)[: problem.k - len(inside)]
        return np.sort(np.concatenate([inside, spare]))


def _cases(
    model: Any, X: Any, y: Any, sample_weight: Any, question: Mapping[str, Any], *, proves: bool = False
) -> list[_Judged]:
    """The surfaces of a model with their problems on the data; what the question leaves open is the estimator's own.

    Where there is no memory for proofs they are left out, or refused if there is no point without them.
    """
    if hasattr(model, "_as_judged"):  # a TableClassifier: its rows are a raw table, and its labels those of y
        model, X, y = model._as_judged(X, y)
    view = fitted_model(model)
    loss, C, k, class_weight = _question(view, question)
    refuse_masked(X=X, y=y)
    Z, y = check_X_y(view.fitted(X), y, dtype=np.float64, order="C", accept_sparse="csr")
    samples = validate_samples(Z, y, sample_weight, class_weight, None if view.is_surface else view.classes)
    if len(view.surfaces) != len(samples.surfaces):
        raise ValueError(f"{len(view.surfaces)} surface(s) cannot tell {samples.target.n_classes} classes apart")
    limits = view.limits(k)
    extent = samples.extent(len(limits.exclude), k=k)
    provable = proves or not extent.is_wide or fits(loss, replace(extent, proves=True))
    check_memory(loss, replace(extent, proves=provable))
    data, judge = loss_named(loss).data(samples, limits), Judge.of(samples)
    judged = []
    for surface, number in zip(view.surfaces, samples.surfaces, strict=True):
        problem = data.problem_for(number, C, k)
        of_surface = Question(loss, C, k, samples.target.y(number), problem.terms)
        judged.append(_Judged(surface, judge, of_surface, problem, view.term_names, provable))
    return judged


def _question(view: FittedModel, question: Mapping[str, Any]) -> tuple[str, float, int, Any]:
    """The loss, C, k and class weights that a model is an answer to."""
    own = {name: view.question(name) if question.get(name) is None else question[name] for name in ("class_weight", *RULES)}
    check_values(own, RULES)
    return str(own["loss"]), float(own["C"]), int(own["k"]), own["class_weight"]


def _cases_of_sums(view: FittedModel, moments: Moments) -> list[_Judged]:
    loss, C, k, class_weight = _question(view, {})
    sums, data = digested(moments, loss, view.limits(k), standardize=False, class_weight=class_weight)
    facts, problems = SumFacts.of(sums), [data.problem_for(surface, C, k) for surface in sums.surfaces]
    return [
        _Judged(surface, SumsJudge(problem, facts), Question(loss, C, k, np.empty(0), problem.terms), problem, view.term_names)
        for surface, problem in zip(view.surfaces, problems, strict=True)
    ]
