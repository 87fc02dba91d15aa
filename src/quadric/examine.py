"""Models that are already fitted, judged as answers to a problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_X_y

from quadric.certificate import Certificate, Judge, Question, SumFacts, SumsJudge, certificate_of
from quadric.defaults import DEFAULT_GAP, LARGEST_COUNT
from quadric.estimators.base import ClassWeight
from quadric.estimators.classifier import digested
from quadric.estimators.shape_rules import RULED, Signs, shape_demands
from quadric.estimators.validation import (
    GAP_LIMIT,
    LOSS_WEIGHT,
    N_TERMS,
    Rule,
    check_values,
    integer_from,
    none_or,
    number_from,
    one_of,
    validate_samples,
)
from quadric.fitted import FittedModel, Model, as_judged, fitted_model
from quadric.geometry.box import Box, ShapeRules
from quadric.geometry.surface import QuadraticSurface
from quadric.labels import class_weights, refuse_masked
from quadric.losses import LOSS_NAMES, loss_named
from quadric.losses.base import Found, SparseProblem
from quadric.losses.footprint import check_memory, fits
from quadric.losses.shared import problem_of
from quadric.progress import parts, writer_for
from quadric.samples.moments import Moments
from quadric.samples.source import SampleSource
from quadric.samples.sums import InUnits
from quadric.samples.target import groups_of, surfaces_of
from quadric.samples.units import Units
from quadric.search.exact import prove
from quadric.search.methods import MOST_CERTIFIED, is_swap_optimal, promising_support
from quadric.search.rules import SupportLimits
from quadric.search.shapes import solver_of
from quadric.search.streamed import judge_streamed
from quadric.slope_proofs import TRAINING_ROWS, SlopeProof
from quadric.types import FloatArray, IntArray

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
    monotonic_cst: Signs | None = None,
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
    monotonic_cst : mapping or sequence, optional
        Slopes to test, as in SparseQuadraticSVC: ``Certificate.monotone`` then says of each whether it is proved, or where it
        fails. By default those that the model was fitted under; others say nothing of how good the surface is.
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
        One per surface; where classes share their terms, the same for each: it speaks of all surfaces together.
    """
    limits = {"time_limit": time_limit, "gap_limit": gap_limit, "node_limit": node_limit}
    check_limits(limits)
    question = {"loss": loss, "C": C, "k": k, "class_weight": class_weight, "monotonic_cst": monotonic_cst}
    return _certificates(judged_surfaces(model, X, y, sample_weight, question), verbose, **limits)


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
    return _certificates(_judged_sums(fitted_model(model), moments), verbose, **limits)


def certify_passes(model: Model, source: SampleSource, class_totals: FloatArray) -> list[Certificate]:
    """Judge a model by passes over rows in its own units, where there are too many for memory; other terms get no bound.

    Parameters
    ----------
    model : fitted model
        With a loss that fits by passes, and terms of its own for each class.
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
    if view.shapes:
        raise ValueError(f"a model under {RULED} is certified on rows in memory: give fewer rows")
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
    cases = judged_surfaces(model, X, y, None, {"k": k})
    return _certificates([_without_bound(case, node_limit) for case in cases], node_limit=node_limit)


def _without_bound(case: Judged, node_limit: int | None) -> Judged:
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
    (case,) = (_without_bound(case, node_limit) for case in judged_surfaces(model, X, y, None, {"k": max(ks)}))
    for surface, k in zip(surfaces, ks, strict=True):
        questions, problem = [replace(case.questions[0], k=int(k))], case.problem.with_k(int(k))
        yield _certificate(replace(case, surfaces=[surface], questions=questions, problem=problem), node_limit=node_limit)


def _certificates(cases: Sequence[Judged], verbose: int = 0, **limits: Any) -> list[Certificate]:
    out = list[Certificate]()
    for case, own_part in zip(cases, parts(*[1.0] * len(cases)), strict=True):
        with own_part:
            out += [_certificate(case, verbose, **limits)] * len(case.surfaces)
    return out


def _certificate(case: Judged, verbose: int = 0, **limits: Any) -> Certificate:
    """A certificate with what branch and bound proves within limits: those of ``prove``."""
    problem = case.problem
    certificate = case.certificate(case.surfaces)
    support, step = case.support(), problem.step()
    if support is not None:
        found = Found(support, solver_of(problem, step).refit(support).value)
        # of the terms, and only where the coefficients are the best for them
        best = certificate.objective <= found.value * (1.0 + 1e-9)
        certificate = replace(certificate, swap_optimal=is_swap_optimal(problem, found, MOST_CERTIFIED) if best else False)
    else:  # terms that the problem does not allow, or too many: bound it all the same, from another start
        start = promising_support(problem, problem.explorer(step), np.random.default_rng(0))
        found = Found(start, solver_of(problem, step).refit(start).value)
    if not case.provable:
        return certificate.bounded(None)
    proof = prove(problem, found, report=writer_for(verbose), step=step, **limits)
    return certificate.bounded(proof.lower_bound)


@dataclass(frozen=True)
class Judged:
    """A surface, the samples it is judged on, and the problem it is an answer to; ``terms`` names all terms, as in z.

    Of surfaces that share their terms all of these together, each with its judge and its question. ``provable`` says whether
    there is memory for a bound; ``slopes`` gives what is true of surfaces for each rule on a slope.
    """

    surfaces: Sequence[QuadraticSurface]
    judges: Sequence[Judge | SumsJudge]
    questions: Sequence[Question]
    problem: SparseProblem
    terms: list[str]
    provable: bool = True
    slopes: Callable[[Sequence[QuadraticSurface]], tuple[SlopeProof, ...]] = lambda surfaces: ()

    @property
    def live(self) -> IntArray:
        """Terms that some of the surfaces have, as positions in the full z."""
        return np.flatnonzero(np.any([surface.coordinates() for surface in self.surfaces], axis=0))

    def certificate(self, surfaces: Sequence[QuadraticSurface], support: IntArray | None = None) -> Certificate:
        """Of these or other surfaces."""
        certificate = certificate_of(self.judges, surfaces, self.questions, support)
        return replace(certificate, monotone=self.slopes(surfaces))

    def support(self) -> IntArray | None:
        """The support of the surfaces as positions among the candidates, filled up to k; None where it does not fit."""
        problem, live = self.problem, self.live
        if len(live) > problem.k or len(np.setdiff1d(live, problem.terms)):
            return None
        rule, everything = problem.rule, np.ones(problem.n_terms, dtype=bool)
        inside = rule.completions(np.isin(problem.terms, live), everything).fixed
        support = np.flatnonzero(inside)
        inside[support if rule.admissible(support) else rule.closed(support)] = True  # parents may have come out as zero
        while inside.sum() < problem.k:
            addable = rule.addable(inside)
            free = np.flatnonzero(~inside if addable is None else addable)
            if len(free) == 0:
                break
            inside[free[0]] = True
        support = np.flatnonzero(inside)
        return support if len(support) <= problem.k and rule.admissible(support) else None


def judged_surfaces(
    model: Any, X: Any, y: Any, sample_weight: Any, question: Mapping[str, Any], *, proves: bool = False
) -> list[Judged]:
    """The surfaces of a model with their problems on the data; what the question leaves open is the estimator's own.

    Where there is no memory for proofs they are left out, or refused if there is no point without them.
    """
    view, X, y = as_judged(model, X, y)
    loss, C, k, class_weight = _question(view, question)
    refuse_masked(X=X, y=y)
    Z, y = check_X_y(view.fitted(X), y, dtype=np.float64, order="C", accept_sparse="csr")
    samples = validate_samples(Z, y, sample_weight, class_weight, None if view.is_surface else view.classes)
    if len(view.surfaces) != len(samples.surfaces):
        raise ValueError(f"{len(view.surfaces)} surface(s) cannot tell {samples.target.n_classes} classes apart")
    limits = _limits(view, k)
    signs = question.get("monotonic_cst")
    shapes = limits.shapes if signs is None else _tested(view, signs, samples.X)
    extent = samples.extent(len(limits.exclude), k=k)
    provable = proves or not extent.is_wide or fits(loss, replace(extent, proves=True))
    check_memory(loss, replace(extent, proves=provable))
    data, judge = loss_named(loss).data(samples, limits), Judge.of(samples)
    judged = []
    for group, surfaces in _grouped(view, samples.surfaces):
        problem = problem_of(data, group, C, k)
        questions = [Question(loss, C, k, samples.target.y(number), problem.terms, problem.shape) for number in group]
        slopes = partial(_slopes, view, group, shapes)
        judged.append(Judged(surfaces, [judge] * len(group), questions, problem, view.term_names, provable, slopes))
    return judged


def _grouped(view: FittedModel, numbers: Sequence[int]) -> Iterator[tuple[list[int], list[QuadraticSurface]]]:
    """The numbers of surfaces that share their terms, and these surfaces."""
    left = iter(view.surfaces)
    for group in groups_of(numbers, is_shared=view.shares_terms):
        yield group, list(islice(left, len(group)))


def _limits(view: FittedModel, k: int) -> SupportLimits:
    """Those on terms, with the rules on coefficients by surface."""
    numbers = surfaces_of(len(view.classes))
    return replace(view.limits(k), shapes={numbers[place]: shape for place, shape in view.shapes.items()})


def tested_slopes(view: FittedModel, signs: Any, X: FloatArray) -> dict[int, tuple[SlopeProof, ...]]:
    """What is true of slopes along features, whatever the model was fitted under; by what its surfaces are known by.

    Parameters
    ----------
    view : FittedModel
    signs : mapping or sequence
        As ``monotonic_cst`` of ``certify``.
    X : array of shape (m, n)
        In fitted units.
    """
    shapes, pairs = _tested(view, signs, X), zip(surfaces_of(len(view.classes)), view.surfaces, strict=True)
    return {number: _slopes(view, [number], shapes, [own]) for number, own in pairs}


def _tested(view: FittedModel, signs: Any, X: FloatArray) -> dict[int, ShapeRules]:
    """Rules on slopes that a model need not have been fitted under."""
    columns = [np.flatnonzero(view.blocks == block) for block in np.unique(view.blocks)]
    groups = view.question("feature_groups") or [members.tolist() for members in columns if len(members) > 1]
    rules = SimpleNamespace(monotonic_cst=signs, feature_groups=groups)
    demands = shape_demands(rules, view.names, view.n_features, view.classes, SupportLimits())
    if demands is None:
        return {}
    shapes, box = demands.on_rows(X, _units(view)), _fitted_box(view)
    if box is not None:
        return {number: replace(shape, box=box) for number, shape in shapes.items()}
    # a few rows may show two values of a column that has more
    steps = np.array([feature.kind in ("level", "missing") for feature in view.features])
    steps[list(chain.from_iterable(demands.groups if view.question("feature_groups") else ()))] = True
    return {number: replace(shape, box=shape.box.with_steps(steps)) for number, shape in shapes.items()}


def _fitted_box(view: FittedModel) -> Box | None:
    """What the rows of the fit said, where the model has rules on slopes or coefficients."""
    return getattr(view.classifier, "box_", None)


def _slopes(
    view: FittedModel, numbers: Sequence[int], shapes: Mapping[int, ShapeRules], surfaces: Sequence[QuadraticSurface]
) -> tuple[SlopeProof, ...]:
    """What is true of surfaces for each rule on a slope, in reported units."""
    pairs, rows = zip(numbers, surfaces, strict=True), "these rows" if _fitted_box(view) is None else TRAINING_ROWS
    return tuple(
        replace(proof, rows=rows)
        for number, surface in pairs
        for proof in SlopeProof.all_of(surface, shapes.get(number), view.names, view.units)
    )


def _units(view: FittedModel) -> Units:
    return getattr(view.classifier, "_units", None) or Units.plain(view.n_features)


def _question(view: FittedModel, question: Mapping[str, Any]) -> tuple[str, float, int, Any]:
    """The loss, C, k and class weights that a model is an answer to."""
    own = {name: view.question(name) if question.get(name) is None else question[name] for name in ("class_weight", *RULES)}
    check_values(own, RULES)
    return str(own["loss"]), float(own["C"]), int(own["k"]), own["class_weight"]


def _judged_sums(view: FittedModel, moments: Moments) -> list[Judged]:
    loss, C, k, class_weight = _question(view, {})
    sums, data = digested(moments, loss, _limits(view, k), standardize=False, class_weight=class_weight)
    facts, judged = SumFacts.of(sums), []
    for group, surfaces in _grouped(view, sums.surfaces):
        problem = problem_of(data, group, C, k)
        judges = [SumsJudge(part, facts) for part in problem.parts]
        question = Question(loss, C, k, np.empty(0), problem.terms, problem.shape)
        slopes = partial(_slopes, view, group, problem.rule.shapes)
        judged.append(Judged(surfaces, judges, [question] * len(group), problem, view.term_names, slopes=slopes))
    return judged
