"""Lower bounds of F from multipliers, safe against rounding (docs/mathematics.md, eq. 6.5 with section 7)."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import suppress
from dataclasses import replace
from typing import cast

import numpy as np

from quadric.geometry.compensated import balanced
from quadric.geometry.cuts import Cuts, WeighedCuts
from quadric.geometry.energy import EnergyNorm, rounding_of_sum
from quadric.losses.base import Bounded, Bounds, NoBound, Relaxation, RuledSolution, SparseProblem, Step, StepSolution
from quadric.losses.perspective import CHILD_STEPS, LEAST_SHARE, Linear, PerspectiveRelaxation, Split
from quadric.losses.relaxation import DenseRelaxation, inverse_of, safe_margin
from quadric.losses.rows import RowsProblem
from quadric.types import BoolArray, FloatArray, IntArray

ROOT_FITS = 5  # fits at the root, each with the shares that the last one led to


class DualStep(Step):
    """A solver whose answers come with multipliers, one per sample: ``multipliers`` are those of the last."""

    problem: RowsProblem
    multipliers: FloatArray
    _free: tuple[IntArray, StepSolution, FloatArray] | None = None

    @abstractmethod
    def penalised(self, penalty: FloatArray, u: FloatArray) -> StepSolution:
        """argmin over (z, c) of F(z, c) + 1/2 sum of penalty_j (z_j - u_j)^2."""

    def sweep(self, u: FloatArray, rho: float) -> StepSolution:
        return self.penalised(np.full(self.problem.n_terms, rho), u)

    def fixed_point(self, support: IntArray, rho: float) -> StepSolution:
        penalty = np.full(self.problem.n_terms, rho)
        penalty[support] = 0.0
        return self.penalised(penalty, np.zeros(self.problem.n_terms))

    def refit_under(self, support: IntArray, cuts: Cuts) -> RuledSolution:
        # cuts come one after another, on the same support
        if self._free is None or not np.array_equal(self._free[0], support):
            self._free = support, self.refit(support), self.multipliers
        _, free, self.multipliers = self._free
        met = cuts.are_met(free.z[support])
        solution = RuledSolution.without(free, len(cuts)) if met else self.confined(support, cuts, free)
        return replace(solution, alpha=self.multipliers)

    @abstractmethod
    def confined(self, support: IntArray, cuts: Cuts, free: StepSolution) -> RuledSolution:
        """The refit under cuts that the one without them misses; ``multipliers`` are those of the latter."""

    def bracket(self, support: IntArray) -> tuple[float, float]:
        value = self.refit(support).value
        return value, safe_dual(self.problem, feasible(self.problem, self.multipliers), support)

    def bracket_under(self, support: IntArray, cuts: Cuts) -> tuple[float, float]:
        solution = self.refit_under(support, cuts)
        held = WeighedCuts(cuts, solution.multipliers)
        bound = safe_dual(self.problem, feasible(self.problem, self.multipliers), support, held)
        return solution.value, min(solution.value, bound)  # a cut that is missed by rounding has let the value sink


def feasible(problem: RowsProblem, alpha: FloatArray) -> FloatArray:
    """Multipliers inside their boxes that balance to the last digit."""
    return balanced(np.clip(alpha, 0.0, problem.upper), problem.y)


def rows_problems(problem: SparseProblem) -> tuple[RowsProblem, ...]:
    """The problem of each class where several share their terms; else the problem itself."""
    return cast("tuple[RowsProblem, ...]", problem.parts)


def safe_dual(problem: RowsProblem, alpha: FloatArray, support: IntArray, held: WeighedCuts | None = None) -> float:
    """What F on a support, under cuts on it, is not below, by feasible multipliers: their constant less 1/2 h'G^-1 h, rounded
    down.
    """
    if problem.rows.energy is None:
        raise NoBound("there are no samples to be asked")
    norm = EnergyNorm.of(problem.rows.energy, problem.terms[support], len(alpha))
    if norm is None:
        raise NoBound("the regulariser is singular up to rounding")
    h = (problem.y * alpha) @ problem.A[:, support]
    doubt = rounding_of_sum(len(alpha)) * (alpha @ problem.rows.sizes(support))
    constant = problem.dual_constant(alpha)
    if held is not None:  # (12.3)
        h, doubt, constant = h + held.pull, doubt + held.pull_error, constant + held.constant
    return constant - norm.halved_square(h, doubt)


class DualBounds(Bounds):
    """The quadratic is the dual at multipliers of a fit on the node's terms; its matrix is G."""

    tolerance = 1e-7
    cheap_nodes = 500

    def __init__(self, problem: SparseProblem, step: Step) -> None:
        self.problem = problem
        self.step = step
        self._last: tuple[bytes, tuple[float, float]] = b"", (0.0, 0.0)

    def relaxations(self) -> list[Relaxation]:
        if rows_problems(self.problem)[0].rows.energy is None:
            return []
        found: list[Relaxation] = []
        for relaxation in (DualPerspective, DualDense):
            with suppress(NoBound):
                found.append(relaxation(self.problem))
        return found

    def minimum(self, support: IntArray) -> tuple[float, float]:
        key = support.astype(np.intp).tobytes() + b"|"
        if self._last[0] != key:
            self._last = key, self.step.bracket(support)
        return self._last[1]


class _Tangents:
    """Linear parts of lower bounds of F, from the multipliers of fits; one for each class where several share their terms."""

    def __init__(self, problem: SparseProblem) -> None:
        self._problems, self.n_classes = rows_problems(problem), len(problem.parts)
        self.G, self.unit = self._problems[0].G, rounding_of_sum(len(self._problems[0].y))
        self._sizes = self._problems[0].rows.sizes(np.arange(problem.n_terms))
        # not the search's: an answer on few terms is no place to start from
        self._steps = cast("tuple[DualStep, ...]", problem.step().parts)

    def at_refit(self, terms: IntArray) -> Linear:
        """By the multipliers of the fits on some terms."""
        for step in self._steps:
            step.refit(terms)
        return self._last()

    def at_penalised(self, penalty: FloatArray) -> tuple[FloatArray, Linear]:
        """By the multipliers of fits whose terms are penalised, and their z, a row for each class."""
        z = np.array([step.penalised(penalty, np.zeros(len(penalty))).z for step in self._steps])
        return z, self._last()

    def _last(self) -> Linear:
        """One row, by the multipliers of the last fits."""
        fits = zip(self._problems, self._steps, strict=True)
        points = [(problem, feasible(problem, step.multipliers)) for problem, step in fits]
        q = np.array([(problem.y * alpha) @ problem.A[:, :-1] for problem, alpha in points])
        doubt = self.unit * np.array([alpha @ self._sizes for _, alpha in points])
        return Linear(q[None], doubt[None], np.array([sum(problem.dual_constant(alpha) for problem, alpha in points)]))


class DualDense(DenseRelaxation):
    """The dual at the multipliers of the best fit on the allowed terms.

    ``rounding`` covers the errors of G and its inverses; those of the dual's linear part are different at each node, whose f
    is lower by them.
    """

    batch = 4

    def __init__(self, problem: SparseProblem) -> None:
        self._tangents = _Tangents(problem)
        margin = safe_margin(self._tangents.G, np.ones(problem.n_terms), problem.k, self._tangents.unit)
        super().__init__(self._tangents.G, problem.k, margin * problem.at_zero())

    def solved(self, allowed: BoolArray) -> tuple[FloatArray, FloatArray]:
        rows = [self._solved(np.flatnonzero(row)) for row in allowed]
        return np.array([f for f, _ in rows]), np.array([costs for _, costs in rows])

    def _solved(self, terms: IntArray) -> tuple[float, FloatArray]:
        linear = self._tangents.at_refit(terms)
        q, doubt, B = linear.q[0][:, terms], linear.doubt[0][:, terms], inverse_of(self.matrix[terms[:, None], terms])
        z = q @ B
        value, blurred = 0.5 * float(np.sum(q * z)), 0.5 * float(np.sum((doubt @ np.abs(B)) * doubt))
        costs, squares = np.zeros((2, len(self.matrix))), np.sum(z**2, axis=0)
        costs[:, terms] = 0.5 * squares / np.diag(B), 0.5 * self.diagonal[terms] * squares
        # 1/2 (q + d)'B(q + d) <= (sqrt(value) + sqrt(blurred))^2 for every error d of q, and for every smaller support
        return float(linear.constant[0]) - (value**0.5 + blurred**0.5) ** 2, costs.ravel()


class DualPerspective(PerspectiveRelaxation):
    """The dual at the multipliers of a fit in which each term is penalised by its share: G0 + D/s in place of G."""

    batch = 4

    def __init__(self, problem: SparseProblem) -> None:
        self._tangents = _Tangents(problem)
        G = self._tangents.G
        split = Split.of_matrix(G)
        super().__init__(split, problem.k, self._tangents.unit * np.diag(G), problem.at_zero())
        self.rounding = self._tangents.unit * problem.at_zero()
        self._diagonal = split.diagonal

    def root(self, fixed: BoolArray, allowed: BoolArray, cutoff: float) -> Bounded:
        anywhere = np.ones((len(allowed), self._tangents.n_classes, 1)) / self.relaxed.root
        state = self.relaxed.start(anywhere, fixed, allowed)
        for _ in range(ROOT_FITS):
            found = self.children(fixed, allowed, state, cutoff)
            state = found.state
        return found

    def children(self, fixed: BoolArray, allowed: BoolArray, state: FloatArray, cutoff: float) -> Bounded:
        """Rows with multipliers that suit their shares; the fits, not ADMM at given multipliers, lead to the next shares."""
        fits = [self.fit(row) for row in self.relaxed.shares(fixed, allowed, state)]
        state = self.relaxed.start(np.array([z for z, _ in fits]), fixed, allowed)
        linear = Linear.stacked([linear for _, linear in fits])
        return replace(self.bounded(fixed, allowed, state, linear, CHILD_STEPS, cutoff), state=state)

    def fit(self, shares: FloatArray) -> tuple[FloatArray, Linear]:
        """z for given shares, and the linear part at its multipliers."""
        return self._tangents.at_penalised(self._diagonal * (1.0 / np.maximum(shares, LEAST_SHARE) - 1.0))
