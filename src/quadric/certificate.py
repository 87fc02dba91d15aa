"""How good a surface is: conditions recomputed from X and y, by code that shares nothing with the solvers.

Lu-Zhang stationarity (docs/mathematics.md, section 5): for some set L of k terms that holds the support, the gradient of the
Lagrangian vanishes on L: [Gz - sum_i v_i r_i]_L = 0 and sum_i v_i = 0. The loss's judge (losses/*/judge.py) knows the
multipliers v; geometry/duality.py has the scale of each equation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from quadric.blas import one_blas_thread
from quadric.errors import warn_of_contradiction
from quadric.geometry.box import ShapeRules
from quadric.geometry.cuts import WeighedCuts
from quadric.geometry.duality import LossJudge, Residuals
from quadric.geometry.energy import Energy
from quadric.geometry.moments import TermStatistics
from quadric.geometry.surface import QuadraticSurface
from quadric.losses import loss_named
from quadric.losses.base import NoBound, SparseProblem
from quadric.notebook import Html, facts, view
from quadric.samples.labelled import LabelledSamples
from quadric.samples.sums import SummedSamples
from quadric.slope_proofs import SlopeProof, binding_rules
from quadric.types import FloatArray, IntArray

# Scaled gradient up to which no free term would help, for ``basic_feasible``.
STATIONARY = 1e-8
# Change of scores, whose margins are 1, that counts as zero: solvers leave up to 5e-12 where a coefficient should be zero.
NEGLIGIBLE = 1e-10
# Standard deviations that samples are away from the mean, at most, for that question.
FARTHEST = 30.0
# Share of the objective that "local minimum" and "optimal" may leave, and that rounding may put a bound above an objective
# (docs/mathematics.md, eq. 5.6). Proofs themselves are tighter.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Certificate:
    """What is known about a surface as an answer to: the best with at most k terms.

    Attributes
    ----------
    objective : float
        F, the ridge included.
    n_terms, k : int
        Non-zero coefficients, and how many were allowed.
    stationarity : float
        Largest scaled residual of the Lu-Zhang conditions; under rules on slopes or coefficients, on the terms of the surface.
    decrease : float
        How much lower the objective could be with the same terms, as a share of it: an upper estimate that is safe against
        rounding, 1.0 where nothing can be told.
    basic_feasible : bool
        ``decrease`` within the tolerance, each term moves some score by more than rounding, and with fewer than k terms the
        gradient vanishes for every term that varies, which is not examined under rules on slopes or coefficients.
    local_minimum : bool
        Exactly k terms, each of which moves some score by more than rounding, and ``decrease`` within the tolerance of 1e-6: no
        better surface nearby.
    ridge : float
        Fraction of diag(G) added to a singular G; 0.0 otherwise.
    swap_optimal : bool or None
        Whether no exchange of one term helps; None: not examined.
    lower_bound, gap : float or None
        Bound on the optimum and (objective - lower_bound) / objective; None: not computed, or rounding leaves no safe bound.
    status : "local", "gap" or "optimal"
        "local" as long as there is no bound; "optimal": gap and ``decrease`` are within the tolerance of 1e-6.
    n_surfaces : int
        Surfaces that share one list of terms: all numbers and statements are of the sum of their objectives, and ``n_terms``
        and ``k`` count the terms of the list once. 1: the surface has terms of its own.
    monotone : tuple of SlopeProof
        One for each rule on a slope.
    """

    objective: float
    n_terms: int
    k: int
    stationarity: float
    decrease: float
    basic_feasible: bool
    local_minimum: bool
    ridge: float
    swap_optimal: bool | None = None
    lower_bound: float | None = None
    gap: float | None = None
    status: str = "local"
    n_surfaces: int = 1
    monotone: tuple[SlopeProof, ...] = ()

    @property
    def converged(self) -> bool:
        """Whether the coefficients are the best for their terms: ``decrease`` is within the tolerance (5.6)."""
        return self.decrease <= TOLERANCE

    def view(self) -> Html:
        """What notebooks show of it.

        Returns
        -------
        Html
        """
        swaps = {True: "no exchange of one term helps", False: "some exchange of one term helps", None: None}
        known = {
            "terms": f"{self.n_terms} of {self.k} allowed",
            "objective": self.objective,
            "lower bound": self.lower_bound,
            "gap": None if self.gap is None else f"{self.gap:.2%}",
            "optimality conditions": f"met to within {self.stationarity:.1e}",
            "exchanges": swaps[self.swap_optimal],
            "rules on slopes": "; ".join(proof.words() for proof in self.monotone) or None,
        }
        return facts({"optimal": "Certificate: proved best"}.get(self.status, "Certificate"), known)

    def _repr_html_(self) -> str:
        return view("", [self.view()])

    def bounded(self, lower_bound: float | None) -> Certificate:
        """The same with a proved bound and what follows from it.

        Parameters
        ----------
        lower_bound : float or None
            On the objective of every surface with at most k terms.

        Returns
        -------
        Certificate
        """
        if lower_bound is None or (self.n_terms <= self.k and self._contradicts(lower_bound)):
            return replace(self, lower_bound=None, gap=None, status="local")
        if self.n_terms <= self.k:
            lower_bound = min(lower_bound, self.objective)  # above it by rounding only
        gap = (self.objective - lower_bound) / self.objective if self.objective else 0.0
        optimal = gap <= TOLERANCE and self.converged and self.n_terms <= self.k
        return replace(
            self,
            lower_bound=float(lower_bound),
            gap=float(gap),
            status="optimal" if optimal else "gap",
            swap_optimal=True if optimal else self.swap_optimal,
        )

    def _contradicts(self, lower_bound: float) -> bool:
        """Whether a bound is above the objective by more than rounding, which must not be hidden."""
        wrong = lower_bound > self.objective * (1.0 + TOLERANCE)
        if wrong:
            warn_of_contradiction(lower_bound, self.objective, depth=2)
        return wrong


@dataclass(frozen=True)
class Question:
    """What a surface is judged as an answer to.

    Attributes
    ----------
    loss : str
    C, k : float, int
    y : array of shape (m,)
        -1 or 1.
    allowed : array or None
        Terms that the surface could have used; None: all that vary on the data.
    shape : ShapeRules or None
        Rules on its coefficients, under which it should be the best.
    """

    loss: str
    C: float
    k: int
    y: FloatArray
    allowed: IntArray | None = None
    shape: ShapeRules | None = None


@dataclass(frozen=True)
class SumFacts:
    """What sums over rows tell of them.

    Attributes
    ----------
    n_rows : int
    variance : array of shape (p,)
        Of each term, over all rows.
    ridge : float
        Of the regulariser.
    """

    n_rows: int
    variance: FloatArray
    ridge: float

    @staticmethod
    def of(sums: SummedSamples) -> SumFacts:
        loss = sums.moments.loss
        return SumFacts(sums.n_rows, np.diag(loss.scatter) / loss.weight, sums.moments.energy().ridge)

    def certificate(
        self,
        z: FloatArray,
        k: int,
        *,
        objective: float,
        decrease: float,
        stationarity: float,
        steepest: Callable[[], float],
    ) -> Certificate:
        """What measurements say of a surface; all ways to fit ask here.

        Parameters
        ----------
        z : array of shape (p,)
            Coefficients of the terms that ``variance`` is about.
        k : int
        objective, decrease, stationarity : float
            F, how much lower it could be with the same terms, and the largest residual on k of them.
        steepest : callable
            Gives the largest scaled gradient of all candidates.
        """
        live = np.flatnonzero(z)
        share = 1.0
        if len(live) <= k:
            share = min(max(decrease, 0.0) / objective, 1.0) if objective > 0.0 else 0.0  # (5.6)
        # a coefficient that is zero up to rounding moves the score of no sample
        farthest = min(self.n_rows**0.5, FARTHEST) * np.sqrt(self.variance[live])
        settled = share <= TOLERANCE and bool(np.all(np.abs(z[live]) * farthest > NEGLIGIBLE))
        full = len(live) == k
        return Certificate(
            objective=objective,
            n_terms=len(live),
            k=k,
            stationarity=stationarity,
            decrease=share,
            basic_feasible=settled and (full or bool(steepest() <= STATIONARY)),
            local_minimum=settled and full,
            ridge=self.ridge,
        )


@dataclass(frozen=True)
class Measured:
    """What a judge measures of a surface, or of several that share their terms.

    Attributes
    ----------
    facts : SumFacts
    z : array of shape (p,)
        Coefficients of the terms that the facts are about; of several surfaces the largest in size.
    k : int
    objective, decrease, stationarity, steepest :
        As in ``SumFacts.certificate``.
    n_surfaces : int
    """

    facts: SumFacts
    z: FloatArray
    k: int
    objective: float
    decrease: float
    stationarity: float
    steepest: Callable[[], float]
    n_surfaces: int = 1

    @staticmethod
    def together(parts: Sequence[Measured]) -> Measured:
        """Of surfaces with one list of terms: objectives add up, and so does what they could fall by."""
        first, z = parts[0], np.array([part.z for part in parts])
        return Measured(
            facts=first.facts,
            z=z[np.abs(z).argmax(axis=0), np.arange(z.shape[1])],
            k=first.k,
            objective=sum(part.objective for part in parts),
            decrease=sum(max(part.decrease, 0.0) for part in parts),
            stationarity=max(part.stationarity for part in parts),
            steepest=lambda: max(part.steepest() for part in parts),
            n_surfaces=len(parts),
        )

    def certificate(self) -> Certificate:
        numbers = {name: getattr(self, name) for name in ("objective", "decrease", "stationarity", "steepest")}
        return replace(self.facts.certificate(self.z, self.k, **numbers), n_surfaces=self.n_surfaces)


def certificate_of(
    judges: Sequence[Judge | SumsJudge],
    surfaces: Sequence[QuadraticSurface],
    questions: Sequence[Question],
    support: IntArray | None = None,
) -> Certificate:
    """Examine a surface, or several that share their terms, each by its own judge."""
    cases = zip(judges, surfaces, questions, strict=True)
    parts = [judge.measured(surface, question, support) for judge, surface, question in cases]
    return (parts[0] if len(parts) == 1 else Measured.together(parts)).certificate()


class Judge:
    """Samples digested once, to judge any number of surfaces, classes, C and k.

    Parameters
    ----------
    X : array of shape (m, n)
    sample_weight, loss_weight : arrays of shape (m,)
        w and o, both positive.
    """

    @one_blas_thread()
    def __init__(self, X: FloatArray, sample_weight: FloatArray, loss_weight: FloatArray) -> None:
        self._X, self._loss_weight = X, loss_weight
        self._energy = Energy.of_samples(X, sample_weight)
        self._statistics = TermStatistics.of(X, loss_weight)
        self._constant = self._statistics.constant_terms()
        variance = self._statistics.scatter / self._statistics.weight
        self._facts = SumFacts(X.shape[0], variance, self._energy.ridge)

    @classmethod
    def of(cls, samples: LabelledSamples) -> Judge:
        return cls(samples.X, samples.sample_weight, samples.loss_weight)

    def certificate(self, surface: QuadraticSurface, question: Question, support: IntArray | None = None) -> Certificate:
        """Examine one surface.

        Parameters
        ----------
        surface : QuadraticSurface
        question : Question
        support : array, optional
            Terms to prefer when L is padded to k, where some of them may have come out as zero.
        """
        return self.measured(surface, question, support).certificate()

    @one_blas_thread()
    def measured(self, surface: QuadraticSurface, question: Question, support: IntArray | None = None) -> Measured:
        """What ``certificate`` rests on."""
        z, varying = surface.coordinates(), np.flatnonzero(~self._constant)
        candidates = varying if question.allowed is None else np.intersect1d(varying, question.allowed)
        k, live = min(question.k, len(candidates)), np.flatnonzero(z)
        judge = self._loss_judge(surface, question)
        cuts = binding_rules(surface, live, question.shape)
        # what rules on slopes can pull on terms that are zero is not examined
        padded = live if cuts is not None else _padded(live, k, judge.gradient, candidates, support)
        return Measured(
            self._facts,
            z,
            k,
            objective=self._energy.value(z) + judge.loss_value(),
            decrease=judge.decrease(live, cuts) if len(live) <= k else np.inf,
            stationarity=judge.residual(padded, cuts),
            steepest=lambda: judge.residual(candidates) if cuts is None else np.inf,
        )

    def _loss_judge(self, surface: QuadraticSurface, question: Question) -> LossJudge:
        statistics, C = self._statistics, question.C
        scale = np.where(self._constant, np.inf, C * statistics.absolute)
        residuals = Residuals(self._X, self._energy, surface.coordinates(), surface.c, scale, C * statistics.weight)
        return loss_named(question.loss).judge(residuals, surface(self._X), question.y, self._loss_weight, C)


@dataclass(frozen=True)
class SumsJudge:
    """Sums over rows in the place of a Judge, where the rows are not in memory.

    Attributes
    ----------
    problem : SparseProblem
    facts : SumFacts
    """

    problem: SparseProblem
    facts: SumFacts

    def certificate(self, surface: QuadraticSurface, question: Question, support: IntArray | None = None) -> Certificate:
        """Examine one surface.

        Parameters
        ----------
        surface : QuadraticSurface
        question : Question
        support : array, optional
            Terms to prefer when L is padded to k, where some of them may have come out as zero.
        """
        return self.measured(surface, question, support).certificate()

    def measured(self, surface: QuadraticSurface, question: Question, support: IntArray | None = None) -> Measured:
        """What ``certificate`` rests on."""
        problem = self.problem.with_k(question.k)
        z, c = surface.coordinates()[problem.terms], surface.c
        live, n_terms = np.flatnonzero(z), surface.n_terms
        if len(live) < n_terms:
            raise ValueError(
                f"{n_terms - len(live)} of {n_terms} terms of the model do not vary on these rows, or are excluded: "
                "sums over the rows cannot judge it"
            )
        objective = problem.objective(z, c)
        step, pull, cuts = problem.step(), None, binding_rules(surface, problem.terms[live], question.shape)
        try:
            value, least = step.bracket(live) if cuts is None else step.bracket_under(live, cuts)
            decrease = max(objective, value) - least
        except NoBound:
            decrease = np.inf
        if cuts is not None:
            pull = np.zeros_like(z)
            pull[live] = WeighedCuts(cuts, step.refit_under(live, cuts).multipliers).pull
        slopes = np.abs(problem.slopes(z, c, pull))
        preferred = None if support is None else np.flatnonzero(np.isin(problem.terms, support))
        padded = live
        if cuts is None:
            padded = _padded(live, problem.k, lambda terms: slopes, np.arange(problem.n_terms), preferred)
        return Measured(
            replace(self.facts, variance=self.facts.variance[problem.terms]),
            z,
            problem.k,
            objective=objective,
            decrease=decrease,
            stationarity=float(max(slopes[-1], np.max(slopes[padded], initial=0.0))),
            steepest=lambda: float(np.max(slopes)) if cuts is None else np.inf,
        )


def _padded(
    live: IntArray,
    k: int,
    gradient: Callable[[IntArray], FloatArray],
    candidates: IntArray,
    preferred: IntArray | None,
) -> IntArray:
    """The support, filled up to k terms: first with the preferred ones, then with the smallest scaled gradients."""
    missing = k - len(live)
    if missing <= 0:
        return live
    order = candidates[np.argsort(np.abs(gradient(live)[candidates]), kind="stable")]
    if preferred is not None:
        order = np.concatenate([preferred, order])
    order = order[~np.isin(order, live)]
    _, first = np.unique(order, return_index=True)
    return np.sort(np.concatenate([live, order[np.sort(first)][:missing]]))
