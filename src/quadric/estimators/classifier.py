"""The scikit-learn face of the l0 models."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.parallel import delayed

from quadric.blas import one_blas_thread
from quadric.certificate import Judge, Question, SumFacts, SumsJudge, certificate_of
from quadric.defaults import LARGEST_COUNT
from quadric.errors import ParameterError, quoted
from quadric.estimators.base import (
    ClassWeight,
    RandomState,
    SparseSurfaceClassifier,
    SurfaceFit,
    Terms,
    seed_of,
    warn_unless_converged,
)
from quadric.estimators.constraints import LINEAR, QUADRATIC, support_limits
from quadric.estimators.feature_rules import CHECKS, FeatureSets, rules_of
from quadric.estimators.shape_rules import Limits, ShapeDemands, Signs
from quadric.estimators.validation import (
    CLIP,
    GAP_LIMIT,
    LOSS_WEIGHT,
    MULTICLASS,
    N_JOBS,
    N_TERMS,
    SHARED,
    TRUE_OR_FALSE,
    VERBOSE,
    check_parameters,
    integer_from,
    none_or,
    number_above,
    number_from,
    one_of,
    validate_samples,
)
from quadric.losses import LOSS_NAMES, loss_named
from quadric.losses.base import SparseProblem, TrainingData
from quadric.losses.footprint import check_memory
from quadric.losses.shared import problem_of
from quadric.progress import writer_for
from quadric.resources import processes_of
from quadric.samples.capped import CappedStream
from quadric.samples.extent import Extent
from quadric.samples.labelled import LabelledSamples
from quadric.samples.moments import Moments
from quadric.samples.sums import SummedSamples
from quadric.samples.target import groups_of
from quadric.search.decomposition import Schedule, SearchResult, Status
from quadric.search.methods import METHODS, MOST_EXAMINED, SearchOptions, search
from quadric.search.rules import SupportLimits
from quadric.search.shapes import solver_of
from quadric.search.streamed import fit_streamed
from quadric.types import FloatArray, IntArray
from quadric.workers import workers

# Parameters of penalty decomposition.
DECOMPOSITION = {
    "rho": none_or(number_above(0.0)),
    "growth": number_above(1.0),
    "inner_tol": number_above(0.0),
    "outer_tol": number_above(0.0),
    "max_iter": integer_from(1, LARGEST_COUNT),
}
# Rows that are looked at in all, about, to examine exchanges of one support by passes at the end of a cross-validation: a proof
# for many rows takes its time, which ``certify`` has.
EXAMINED_ROWS = 20_000_000


class SparseQuadraticSVC(SparseSurfaceClassifier):
    r"""Quadratic-surface support vector classifier with at most k terms.

    Finds f(x) = 1/2 x'Wx + b'x + c with at most ``k`` non-zero coefficients among the upper triangle of W and b, minimising

    .. math::
        \sum_i \|W x_i + b\|^2 + C \sum_i H(1 - y_i f(x_i))

    with the squared loss H(t) = t^2 (LS-l0-QSVM), the hinge loss H(t) = max(t, 0) (l0-QSVM), or the logistic loss: the sum
    is then that of 8 log(1 + exp(-y_i f(x_i))), and the model has probabilities. The intercept c is neither penalised nor
    counted. What counts as one term depends on the origin and scale of the features, which are therefore capped (``clip``) and
    standardised (``standardize``) by default; ``equation()`` prints the model in the units of X. Products that are redundant on
    the training rows, such as the square of a two-valued feature or the product of two levels of one category, are then no
    candidates. With ``standardize=False, clip=None`` all terms are, and X may be sparse (scipy's CSR and others), and stays
    sparse. For tables with texts, dates or missing values there is :class:`quadric.TableClassifier`.

    Parameters
    ----------
    k : int
        Largest number of terms: 5 to 10 make an equation that people can read. SparseQuadraticSVCCV chooses it. More than
        there are means no limit.
    C : float
        Weight of the loss against the regulariser. Larger values follow the rows more closely; 64 suits most standardised
        tables, and powers of 4 from 1 to 1024 are worth trying.
    loss : {"least_squares", "hinge", "logistic"}
        "least_squares" is the fastest and has the strongest proofs; "hinge" minds rows far on the right side of the border
        least; "logistic" gives probabilities.
    terms : {"quadratic", "linear"}
        Terms to choose from: linear ones only, or squares and products, too. With many text columns linear terms often
        predict better.
    method : {"pd", "best", "exact"}
        How the terms are searched. "pd": penalty decomposition followed by an exact refit on the terms it chose. "best":
        that and forward selection, then exchanges of terms and seeded perturbations; never worse than "pd". "exact": branch
        and bound from there, which proves the terms best or, within ``time_limit``, bounds how much better others could be.
        With more than 1,000 terms "best" leaves out the decomposition on all of them, and "exact" needs memory for all pairs.
    multiclass : {"ovr", "shared"}
        With more than two classes each has a surface against the rest. "ovr": each surface has up to k terms of its own.
        "shared": all have one list of at most k terms, which minimises the sum of their objectives; certificates are of this
        sum.
    standardize : bool
        Subtract the (weighted) mean of each feature and divide by its standard deviation, after capping. ``surfaces_``,
        ``coef_`` and ``certificates_`` are then in standardised units, in which k is counted; ``raw_surfaces_`` take raw
        features. ``standardize=False, clip=None`` is the paper's problem on the data as they are.
    clip : float or None
        Cap each feature at its quantiles ``clip`` and 1 - ``clip`` (weighted, observed values) in the training rows, so that
        outlying values do not outweigh all others; 0 caps at the smallest and the largest value seen. Features with five or
        fewer distinct values, and those that would become constant, are not capped. From 0 to below 0.5; None: no caps.
    class_weight : dict, "balanced" or None
        Factors on the loss of the classes; they do not touch the regulariser.
    include : sequence or None
        Terms that must be in the support; they count towards k, also where the best coefficient of one is 0, which
        ``n_terms`` of the certificate does not count. An item is a name ("age*income" in either order, "age^2",
        "age"), "age*" for every product of age with another feature, a position in ``coef_`` or a pair of features. A
        redundant term that is named here is kept.
    exclude : sequence or None
        Terms that must not be in the support, written likewise.
    interaction_cst : {"no_interactions", "pairwise"}, sequence of sets, or None
        Which features may be multiplied with each other, as in scikit-learn's HistGradientBoostingClassifier: those that are in
        a set together, by name or number. Features in no set are one more set. "no_interactions": none; "pairwise" and None:
        all. Squares stay.
    hierarchy : {"weak", "strong"} or None
        "weak": a product only with one of its linear terms at least; "strong": only with both. A square needs its linear term.
    max_features : int or None
        Largest number of features in the terms of one surface.
    feature_cost : mapping or None
        Price of each feature, by name or number; features that are not named are free. Needs ``max_cost``.
    max_cost : float or None
        Largest sum of the prices of the features in the terms of one surface, each paid once.
    feature_groups : sequence of sets or None
        Features that count as one for ``max_features``, and cost as much as the most expensive of them, such as the levels of
        one column.
    monotonic_cst : mapping, sequence or None
        Features along which the score f must never fall (1 or "increasing") or never rise (-1 or "decreasing"), by name or
        number, or one sign for each feature, 0 for no rule, as in scikit-learn's HistGradientBoostingClassifier. f is the score
        of ``classes_[1]``; with more than two classes rules are by class: {"bad": {"income": -1}}. They hold for every row,
        since all features are then capped, if need be at the smallest and largest training value (with ``clip=None`` they hold
        in the range of the training rows); the certificates prove it (``monotone``). Levels in ``feature_groups`` exclude each
        other. Of a feature with two values, the rule is about its step.
    coef_bounds : mapping or None
        Smallest and largest coefficient of terms, (low, high) with None for no limit, in the units of ``coef_``; by class with
        more than two: {"age*debt": (0, None)}. Limits must allow 0, unless ``include`` names the term.
    rho : float or None
        First penalty of the decomposition. None: a thousandth of the mean curvature of the problem. Leave this, ``growth``,
        the tolerances and ``max_iter`` as they are unless you study the decomposition itself.
    growth : float
        Factor from one penalty to the next.
    inner_tol : float
        Relative change at which the sweeps of one penalty stop.
    outer_tol : float
        Difference between the two copies of the coefficients at which the decomposition stops.
    max_iter : int
        Largest number of convex subproblems (z-steps) per surface.
    time_limit : float or None
        Seconds per surface. "pd" and "best" stop where they are, with a ConvergenceWarning; "exact" stops proving and reports
        the gap that is left (at 0.0, that of the first bound). A fit stopped by its time limit may not be reproducible.
    gap_limit : float
        Relative gap at which "exact" may stop proving, once it has taken the nodes that are cheap (4,000 with the squared loss,
        else 500); 0.0 goes on to the end, which can take very long: give a ``time_limit`` or a gap.
    n_jobs : int or None
        Surfaces fitted at the same time where there are more than two classes; the result does not depend on it.
    random_state : int, RandomState or None
        Seed of the perturbations of "best" and "exact"; None draws a new one for each fit.
    verbose : int
        1 writes progress to standard error now and then, 2 at every penalty.

    Attributes
    ----------
    surfaces_ : list of QuadraticSurface
        One for two classes, positive for ``classes_[1]``; otherwise one per class, against the rest. They take standardised
        features, which their equations mark with a prime; ``equation()`` has the units of X.
    coef_ : array of shape (n_surfaces, p)
        z = [hvec(W); b] of each surface. It holds W_aa for "a^2"; ``surfaces_[i].terms()`` has polynomial coefficients.
    intercept_ : array of shape (n_surfaces,)
        c of each surface.
    certificates_ : list of Certificate
        Objective and optimality conditions of each surface, recomputed from the data; with ``multiclass="shared"`` those of all
        surfaces together, once for each.
    status_ : list of str
        How each search ended: "converged", "optimal", "iteration limit", "time limit" or "precision limit".
    traces_ : list of tuples of TraceRow
        What each decomposition did, one row per penalty.
    n_iter_ : array of shape (n_surfaces,)
        Convex subproblems (z-steps) of each decomposition.
    clip_low_, clip_high_ : arrays of shape (n,)
        Limits of each feature; -inf and inf where it is not capped.
    box_ : Box
        Values that rows can take, in fitted units, of which the proofs of rules on slopes speak; where there are such rules.
    center_, scale_ : arrays of shape (n,)
        What ``standardize`` subtracts and divides by; zeros and ones without it.
    raw_surfaces_ : list of QuadraticSurface
        The same functions of features that are capped but not standardised: of ``np.clip(X, clip_low_, clip_high_)``. Centring
        spreads products over linear terms, so they may have more than k terms.
    calibrators_ : tuple of SigmoidCalibration
        From decision values to probabilities, one per surface: 1 / (1 + exp(-f)) where the loss makes f a log-odds, else none.
    classes_ : array
        Labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array
        Names of the features, where X brought them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from quadric import SparseQuadraticSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SparseQuadraticSVC(k=3).fit(X, y)
    >>> [surface.n_terms for surface in model.surfaces_]
    [3, 3, 3]
    """

    _rules = {
        "k": N_TERMS,
        "C": LOSS_WEIGHT,
        "loss": one_of(*LOSS_NAMES),
        "terms": one_of(QUADRATIC, LINEAR),
        "method": one_of(*METHODS),
        "multiclass": MULTICLASS,
        "standardize": TRUE_OR_FALSE,
        "clip": CLIP,
        **CHECKS,
        **DECOMPOSITION,
        "time_limit": none_or(number_from(0.0)),
        "gap_limit": GAP_LIMIT,
        "n_jobs": N_JOBS,
        "verbose": VERBOSE,
    }

    def __init__(
        self,
        k: int = 10,
        C: float = 64.0,
        *,
        loss: str = "least_squares",
        terms: Literal["quadratic", "linear"] = "quadratic",
        method: Literal["best", "pd", "exact"] = "best",
        multiclass: Literal["ovr", "shared"] = "ovr",
        standardize: bool = True,
        clip: float | None = 0.01,
        class_weight: ClassWeight = None,
        include: Terms = None,
        exclude: Terms = None,
        interaction_cst: Literal["no_interactions", "pairwise"] | FeatureSets | None = None,
        hierarchy: Literal["weak", "strong"] | None = None,
        max_features: int | None = None,
        feature_cost: Mapping[str | int, float] | None = None,
        max_cost: float | None = None,
        feature_groups: FeatureSets | None = None,
        monotonic_cst: Signs | None = None,
        coef_bounds: Limits | None = None,
        rho: float | None = None,
        growth: float = 10**0.5,
        inner_tol: float = 1e-4,
        outer_tol: float = 1e-4,
        max_iter: int = 10_000,
        time_limit: float | None = None,
        gap_limit: float = 0.0,
        n_jobs: int | None = None,
        random_state: RandomState = 0,
        verbose: int = 0,
    ) -> None:
        self.k = k
        self.C = C
        self.loss = loss
        self.terms = terms
        self.method = method
        self.multiclass = multiclass
        self.standardize = standardize
        self.clip = clip
        self.class_weight = class_weight
        self.include = include
        self.exclude = exclude
        self.interaction_cst = interaction_cst
        self.hierarchy = hierarchy
        self.max_features = max_features
        self.feature_cost = feature_cost
        self.max_cost = max_cost
        self.feature_groups = feature_groups
        self.monotonic_cst = monotonic_cst
        self.coef_bounds = coef_bounds
        self.rho = rho
        self.growth = growth
        self.inner_tol = inner_tol
        self.outer_tol = outer_tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.gap_limit = gap_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        check_parameters(self, self._rules)
        X, y = self._validated(X, y, ensure_min_samples=2)
        self._fit_samples(validate_samples(X, y, sample_weight, self.class_weight))

    def _fit_samples(self, samples: LabelledSamples) -> None:
        samples, units = self._in_units(samples)
        names = getattr(self, "feature_names_in_", None)
        limits = self._limits(names, samples.X.shape[1])
        processes = processes_of(self.n_jobs, len(self._groups(samples.surfaces)))
        needs = {"proves": self.method == "exact", "by_passes": self.method == "best", "k": int(self.k)}
        check_memory(self.loss, samples.extent(len(limits.exclude), **needs), processes)
        if (demands := self._demands(names, samples.target.classes, limits)) is not None:
            limits = replace(limits, shapes=demands.on(samples))
        data = loss_named(self.loss).data(samples, limits)
        groups = list(self._fit_surfaces(data, samples, processes))
        self._warn_of(groups, samples.target.classes)
        self._set_fits(groups, samples.target.classes, units)

    def fit_moments(self, moments: Moments) -> Self:
        """Fit to sums over any number of rows; for losses that need no more of them ("least_squares").

        Parameters
        ----------
        moments : Moments
            From ``quadric.moments``, of one place or merged with ``+``. Features are standardised by the sums themselves, if
            the estimator standardises; limits are those of the moments, and ``clip`` is not used.

        Returns
        -------
        self
        """
        with self._or_forget():
            self._fit_moments(moments)
        return self

    def _fit_moments(self, moments: Moments, deadline: float | None = None) -> None:
        check_parameters(self, self._rules)
        check_needs_only_sums(self.loss)
        check_sums(moments)
        limits = self._limits(moments.columns, len(moments.columns))
        demands = self._demands(moments.columns, np.array(moments.classes), limits)
        own: dict[str, Any] = {"standardize": bool(self.standardize), "class_weight": self.class_weight}
        sums, data = digested(moments, self.loss, limits, demands, **own)
        facts, seed, fits = SumFacts.of(sums), seed_of(self.random_state), list[list[SurfaceFit]]()
        for group in self._groups(sums.surfaces):
            problem = problem_of(data, group, float(self.C), int(self.k))
            how = int(self.k), self.method, self._search_options(seed, group), deadline
            judges = [SumsJudge(part, facts) for part in problem.parts]
            fits.append(fit_group(problem, judges, [np.empty(0)] * len(group), *how))
        self._warn_of(fits, np.array(moments.classes), deadline)
        self._set_columns(moments.columns)
        self._set_fits(fits, np.array(moments.classes), sums.units)

    def _fit_surveyed(self, surveyed: CappedStream) -> Self:
        check_parameters(self, self._rules)
        if surveyed.is_gathered:
            with self._or_forget():
                self._set_columns(surveyed.stream.columns)
                self._fit_samples(surveyed.samples(self.class_weight))
            return self
        if not loss_named(self.loss).keeps_rows:
            return self.fit_moments(surveyed.moments(by_class=self.class_weight is not None))
        self._check_passes(len(surveyed.stream.classes))
        with self._or_forget():
            self._fit_by_passes(surveyed, surveyed.moments(by_class=self.class_weight is not None))
        return self

    def _fit_by_passes(
        self,
        surveyed: CappedStream,
        moments: Moments,
        deadline: float | None = None,
        starts: Sequence[IntArray] = (),
        most_examined: int | None = None,
    ) -> None:
        """Fit by passes over rows whose sums are known; after the deadline of a cross-validation, on the terms it found."""
        columns, classes = surveyed.stream.columns, surveyed.stream.classes
        self._refuse_ruled_passes()
        limits = self._limits(columns, len(columns))
        rows = surveyed.in_units(moments, standardize=bool(self.standardize), class_weight=self.class_weight)
        fits, seed = [], seed_of(self.random_state)
        for number, surface in enumerate(rows.sums.surfaces):
            options = self._search_options(seed, [surface], most_examined=most_examined)
            options = replace(options, schedule=options.schedule.until(deadline))
            is_late = bool(starts) and options.schedule.time_limit == 0.0
            how: dict[str, Any] = {"method": self.method, "options": options, "terms": starts[number] if is_late else None}
            found = fit_streamed(rows, self.loss, surface, float(self.C), int(self.k), limits, **how)
            fits.append([SurfaceFit.of_passes(found, len(columns))])
        self._warn_of(fits, classes, deadline)
        self._set_columns(columns)
        self._set_fits(fits, classes, rows.sums.units)

    def _fit_surfaces(
        self,
        data: TrainingData,
        samples: LabelledSamples,
        processes: int,
        starts: Sequence[IntArray] = (),
        deadline: float | None = None,
    ) -> Iterable[list[SurfaceFit]]:
        """The surfaces of each group; with ``starts``, the terms that a cross-validation found, never worse than on these."""
        judge, seed = Judge.of(samples), seed_of(self.random_state)
        most = most_examined(len(samples.target)) if starts else None
        jobs = (
            delayed(fit_group)(
                problem_of(data, group, float(self.C), int(self.k)),
                [judge] * len(group),
                [samples.target.y(surface) for surface in group],
                int(self.k),
                self.method,
                self._search_options(seed, group, tuple(starts[number : number + 1]), most),
                deadline,
            )
            for number, group in enumerate(self._groups(samples.surfaces))
        )
        return workers(processes, return_as="generator")(jobs)

    def _groups(self, surfaces: Sequence[int]) -> list[list[int]]:
        """Surfaces that share their terms."""
        return groups_of(surfaces, is_shared=self.multiclass == SHARED)

    def _limits(self, names: Sequence[str] | None, n_features: int) -> SupportLimits:
        own: dict[str, Any] = {"lean": self._is_lean, "rules": rules_of(self)}
        return support_limits(self.include, self.exclude, names, n_features, int(self.k), self.terms, **own)

    def _search_options(
        self, seed: int, group: Sequence[int], starts: tuple[IntArray, ...] = (), most_examined: int | None = None
    ) -> SearchOptions:
        report = writer_for(int(self.verbose))
        return SearchOptions(self._schedule(), (seed, *group), report, starts, self.gap_limit, most_examined)

    def _schedule(self) -> Schedule:
        return Schedule(
            rho=self.rho,
            growth=self.growth,
            inner_tol=self.inner_tol,
            outer_tol=self.outer_tol,
            max_iter=self.max_iter,
            time_limit=self.time_limit,
        )

    def _warn_of(self, fits: Sequence[Sequence[SurfaceFit]], classes: np.ndarray, deadline: float | None = None) -> None:
        """Warn of searches that did not end well; a deadline that has passed is for the cross-validation to tell."""
        if deadline is not None and time.monotonic() >= deadline:
            return
        name = type(self).__name__
        ovr = [f"{name}, class {quoted(label)} against the rest" for label in classes.tolist()]
        for group, label in zip(fits, [name] if len(fits) == 1 else ovr, strict=True):
            warn_unless_converged(group[0], self._schedule(), label)


def most_examined(n_rows: int) -> int:
    """Exchanges of one support that the final fit of a cross-validation examines by passes over ``n_rows`` rows."""
    return min(EXAMINED_ROWS // n_rows, MOST_EXAMINED)


def fit_group(
    problem: SparseProblem,
    judges: Sequence[Judge | SumsJudge],
    ys: Sequence[FloatArray],
    k: int,
    method: str,
    options: SearchOptions,
    deadline: float | None = None,
) -> list[SurfaceFit]:
    """Search for the surface of one problem, or for all that share its terms, and judge them; each has a judge and a y.

    Where ``options.starts`` has terms that are known to be good, as positions in the full z, the surface is never worse than
    the best one on these; after the deadline, by time.monotonic(), it is that one.
    """
    known = [np.flatnonzero(np.isin(problem.terms, terms)) for terms in options.starts]
    options = replace(options, schedule=options.schedule.until(deadline), starts=tuple(known))
    if known and deadline is not None and options.schedule.time_limit == 0.0:
        found = _on_terms(problem, known[0])
    else:
        found = search(problem, method, options)
        # a time limit, or a search that takes no starts: what is known stays where it is better
        may_be_worse = found.status is Status.TIME_LIMIT or method != "best"
        if known and may_be_worse and not np.array_equal(known[0], found.support):
            other = _on_terms(problem, known[0])
            found = found if found.objective <= other.objective else replace(other, trace=found.trace, n_iter=found.n_iter)
    surfaces, shape = problem.surfaces(found.z, found.c), problem.shape
    questions = [Question(problem.loss.name, problem.C, k, y, problem.terms, shape) for y in ys]
    certificate = certificate_of(judges, surfaces, questions, problem.terms[found.support])
    certificate = replace(certificate, swap_optimal=found.swap_optimal).bounded(found.lower_bound)
    return [SurfaceFit(surface, found, certificate, shape) for surface in surfaces]


@one_blas_thread()
def _on_terms(problem: SparseProblem, support: IntArray) -> SearchResult:
    """The best surface on given terms; that of a path may be of some rows only."""
    refit = solver_of(problem).refit(support)
    return SearchResult(refit.z, refit.c, support, refit.value, 0, Status.TIME_LIMIT, 0.0, ())


@one_blas_thread()
def digested(
    moments: Moments,
    loss: str,
    limits: SupportLimits,
    demands: ShapeDemands | None = None,
    *,
    standardize: bool,
    class_weight: Any,
) -> tuple[SummedSamples, TrainingData]:
    """Sums in the units of a fit, and what the problems of a loss are made of.

    Parameters
    ----------
    moments : Moments
    loss : str
        One that needs sums only.
    limits : SupportLimits
    demands : ShapeDemands or None
        Rules on coefficients that ``limits`` do not have yet.
    standardize : bool
    class_weight : mapping, "balanced" or None
    """
    # all pairs of terms are there, however many these are
    size = (min(moments.n_rows, 1), len(moments.columns)), len(moments.classes), len(limits.exclude)
    check_memory(loss, Extent(*size, proves=True))
    sums = SummedSamples.of(moments, class_weight, standardize=standardize)
    if demands is not None:
        limits = replace(limits, shapes=demands.on(sums))
    return sums, loss_named(loss).data(sums, limits)


def check_sums(moments: Moments) -> None:
    """Refuse moments that no classifier can be fitted to."""
    present = [label for label, weight in zip(moments.classes, moments.class_weights, strict=True) if weight > 0.0]
    if len(present) < 2:
        what = f"one class only: {quoted(present[0])}" if present else "no class"
        raise ValueError(f"moments must have rows of at least two classes, but have {what}")
    absent = [label for label in moments.classes if label not in present]
    if absent:
        raise ValueError(f"moments have no rows of class {quoted(absent[0])}")


def check_needs_only_sums(loss: str) -> None:
    """Refuse a loss that needs rows."""
    able = [name for name in LOSS_NAMES if not loss_named(name).keeps_rows]
    if loss not in able:
        raise ParameterError(f"the loss {loss} needs all rows: moments serve {', '.join(able)}", loss=able[0])
