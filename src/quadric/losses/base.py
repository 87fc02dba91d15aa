"""What a loss has to offer, so that nobody else needs to know which one it is.

The problem of one surface is: minimise F(z, c) over ||z||_0 <= k (docs/mathematics.md, section 1), with

    F(z, c) = 1/2 z'Gz + C sum_i o_i H(1 - y_i (r_i'z + c)).

A folder here gives H: training data that hold what depends neither on C nor on k nor on the surface, problems that share
those arrays, exact solvers of the convex subproblems, an explorer of exchanges of terms, bounds for branch and bound, and a
judge that shares nothing with them. Vectors z run over the candidate terms only: those that vary on the data and are allowed.
``embed`` puts them back in their places.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy.linalg import LinAlgError

from quadric.geometry.box import ShapeRules
from quadric.geometry.cuts import Cuts
from quadric.geometry.duality import LossJudge, Residuals
from quadric.geometry.energy import Energy
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import term_count
from quadric.losses import loss_named
from quadric.losses.supports import Limits, Move, Moves, SupportRule
from quadric.samples.labelled import LabelledSamples
from quadric.samples.random_rows import SIDE_ROWS
from quadric.samples.sums import SummedSamples
from quadric.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from quadric.losses.pass_problem import StreamedProblem

SAMPLE_ROWS = 2 * SIDE_ROWS  # samples of the random sample that searches by passes begin with
IMPROVEMENT = 1e-10  # relative decrease of the objective that counts as one
WORKING_TERMS = 400  # candidates that searches begin with where there are too many for a matrix of all pairs
PRICED_TERMS = 1 << 16  # terms whose exchanges are then priced together
KEPT_BYTES = 128 << 20  # vectors of all terms that are then kept, or those of two supports: making them is expensive

NO_TABLES = "exchanges under rules on very many terms: take those among the likeliest ones"
NO_Z_STEPS = "z-steps on very many terms: decompose the problem on the likeliest ones"


class NoBound(LinAlgError):  # noqa: N818 - an answer, not a fault
    """Rounding leaves no lower bound that could be relied on."""


@dataclass(frozen=True, kw_only=True)
class SparseProblem(ABC):
    """The problem of one surface.

    Attributes
    ----------
    C, k : float, int
        Weight of the loss and largest number of terms, k at most the number of candidates.
    n_features : int
    terms : array
        Candidate terms, as positions in the full z.
    scatter_trace : float
        Trace of the loss-weighted scatter of the lifted samples.
    rule : SupportRule
        Which supports are admissible.
    surface : int
        Which one of the target.
    """

    loss_name: ClassVar[str]
    C: float
    k: int
    n_features: int
    terms: IntArray
    scatter_trace: float
    rule: SupportRule
    surface: int = 1

    @property
    def shape(self) -> ShapeRules | None:
        """Rules on the coefficients; None: there are none."""
        return self.rule.shapes.get(self.surface)

    @property
    def loss(self) -> Loss:
        return loss_named(self.loss_name)

    @property
    def n_terms(self) -> int:
        """Number of candidate terms, p."""
        return len(self.terms)

    @property
    def parts(self) -> tuple[SparseProblem, ...]:
        """The problems of the classes that share their terms (losses/shared.py); the problem itself where it is alone."""
        return (self,)

    @property
    def z_shape(self) -> tuple[int, ...]:
        """Of z."""
        return (self.n_terms,)

    @property
    def mean_curvature(self) -> float:
        """trace(G + 2C R~'R~)/p: the scale on which penalties are chosen, for every loss."""
        # (4.7): the first penalty must be small beside every curvature, so it goes by their mean
        return float(self.energy_trace + 2.0 * self.C * self.scatter_trace) / max(self.n_terms, 1)

    @property
    def is_wide(self) -> bool:
        """Whether there are too many candidates for a matrix of all pairs: solvers are slow, explorers keep working sets."""
        return False

    @property
    def regulariser(self) -> Energy | None:
        """The energy of all terms, as accurate as it is known; None: it is not known."""
        return None

    @property
    @abstractmethod
    def energy_trace(self) -> float:
        """Trace of the regulariser G on the candidates, the ridge included."""

    @abstractmethod
    def objective(self, z: FloatArray, c: float) -> float:
        """F(z, c)."""

    @abstractmethod
    def intercept(self, z: FloatArray) -> float:
        """The c that minimises F(z, .)."""

    def slopes(self, z: FloatArray, c: float, pull: FloatArray | None = None) -> FloatArray:
        """Scaled gradient of F in (z, c), less what rules pull on z, where sums over the samples tell it; upper estimates."""
        raise NotImplementedError

    def screen(self) -> SparseProblem | None:
        """The same problem with a cheaper loss whose supports are good places to start from; None: no other loss is."""
        return None

    def promising(self, n_terms: int, support: IntArray | None = None) -> SparseProblem:
        """The same problem on about ``n_terms`` candidates and a support, the likeliest to be chosen, where that saves work."""
        return self

    @cached_property
    def nucleus(self) -> SparseProblem:
        """The problem on the terms that searches begin with, where these are many."""
        return self.promising(WORKING_TERMS)

    def decomposable(self) -> SparseProblem:
        """The same problem, on the likeliest candidates where z-steps on all of them are not affordable."""
        return self

    def paired(self) -> SparseProblem:
        """The same problem with matrices of all pairs of candidates, which proofs need, however large they are."""
        return self

    @property
    def by_passes(self) -> bool:
        """Whether a search by passes is quicker, as it is for many samples."""
        return False

    def streamed(self, *, searched: bool) -> StreamedProblem | None:
        """The same problem by passes over its samples, which can tell of all exchanges; None: there is no such way.

        ``searched``: supports are to be searched for, too, and not only judged.
        """
        return None

    def at_zero(self) -> float:
        """F at z = 0 with its best intercept."""
        z = np.zeros(self.z_shape)
        return self.objective(z, self.intercept(z))

    def embed(self, z: FloatArray) -> FloatArray:
        """z over the candidates as a vector over all terms."""
        full = np.zeros(term_count(self.n_features))
        full[self.terms] = z
        return full

    def with_k(self, k: int) -> Self:
        """The same problem with another budget; shares every array."""
        return replace(self, k=min(k, self.n_terms))

    def step(self) -> Step:
        """The solver of the convex subproblems."""
        return self.loss.step(self)

    def explorer(self, step: Step | None = None) -> Explorer:
        """The explorer of exchanges; it may share the solver of whoever asks."""
        return self.loss.explorer(self, step or self.step())

    def surfaces(self, z: FloatArray, c: float) -> list[QuadraticSurface]:
        """The surface of a solution, or that of each class."""
        return [QuadraticSurface.from_coordinates(self.embed(z), c)]


class TrainingData(ABC):
    """Samples, digested once; every surface is a problem on the same arrays."""

    def limited(self, limits: Limits) -> TrainingData | None:
        """The same samples with fewer candidates, where that spares digesting them again; None: it does not."""
        return None

    @abstractmethod
    def problem_for(self, surface: int, C: float, k: int) -> SparseProblem:
        """The problem of one surface, one of ``Target.surfaces``."""


@dataclass(frozen=True)
class StepSolution:
    """Minimiser of one convex subproblem.

    Attributes
    ----------
    z, c : array of shape (p,), float
    value : float
        Minimum reached: F plus the penalty, if there is one.
    residual : float
        Largest violation of the subproblem's optimality conditions that the solver allowed.
    """

    z: FloatArray
    c: float
    value: float
    residual: float


@dataclass(frozen=True)
class RuledSolution(StepSolution):
    """Minimiser on a support under cuts.

    Attributes
    ----------
    multipliers : array of shape (n_cuts,)
        Of the cuts, none negative: F - multipliers'(A z - b) has its minimum on the support at (z, c) (docs/mathematics.md,
        eq. 12.1).
    alpha : array of shape (m,) or None
        Multipliers of the samples, where the loss has such.
    """

    multipliers: FloatArray
    alpha: FloatArray | None = None

    @staticmethod
    def of(solution: StepSolution, multipliers: FloatArray) -> RuledSolution:
        return RuledSolution(solution.z, solution.c, solution.value, solution.residual, multipliers)

    @staticmethod
    def without(solution: StepSolution, n_cuts: int) -> RuledSolution:
        """Where no cut binds."""
        return RuledSolution.of(solution, np.zeros(n_cuts))


@dataclass(frozen=True)
class Pulls:
    """What rules say of F on every support: F(z) >= F(z) - p'z + constant where they hold (docs/mathematics.md, eq. 12.6).

    Attributes
    ----------
    low, high : arrays of shape (p,)
        p_j is any number between these; they are equal on the support of the fit whose multipliers they come from.
    constant : float
    """

    low: FloatArray
    high: FloatArray
    constant: float

    def nearest(self, gradient: FloatArray) -> FloatArray:
        """The pulls that cancel as much of the gradient of F as they can: no entrant helps more than it has to."""
        return np.clip(gradient, self.low, self.high)


@dataclass(frozen=True)
class Outlook:
    """Objectives under rules after exchanges: a row for each term that leaves, a column for each that enters.

    Attributes
    ----------
    here : float
        The bound at the support itself.
    least : array
        None is lower than this (12.6).
    likely : array
        About what they are.
    """

    here: float
    least: FloatArray
    likely: FloatArray


class Step(ABC):
    """Exact solver of the convex subproblems of one problem; it handles warm starts itself and ignores k."""

    @property
    def parts(self) -> tuple[Step, ...]:
        """The solvers of ``SparseProblem.parts``."""
        return (self,)

    def sweep(self, u: FloatArray, rho: float) -> StepSolution:
        """argmin over (z, c) of F(z, c) + rho/2 ||z - u||^2."""
        raise NotImplementedError(NO_Z_STEPS)

    def fixed_point(self, support: IntArray, rho: float) -> StepSolution:
        """argmin over (z, c) of F(z, c) + rho/2 ||z_N||^2 with N the complement of ``support``.

        Where sweeps end that keep choosing ``support``: u = z on it, u = 0 off it (docs/mathematics.md, eq. 4.4).
        """
        raise NotImplementedError(NO_Z_STEPS)

    @abstractmethod
    def refit(self, support: IntArray) -> StepSolution:
        """argmin of F over (z, c) with z = 0 off ``support``."""

    @abstractmethod
    def refit_under(self, support: IntArray, cuts: Cuts) -> RuledSolution:
        """The same over A z >= b of ``cuts`` on the support; raises Infeasible where no coefficients meet them."""

    def exceeds(self, support: IntArray, ceiling: float) -> bool:
        """Whether the minimum of F on a support is at least a ceiling, where that can be told for less than a refit."""
        return False

    def bracket(self, support: IntArray) -> tuple[float, float]:
        """F as reached on a support, and a lower bound of its minimum there that is safe on any scale; slower than a refit."""
        raise NoBound("the loss cannot tell")

    def bracket_under(self, support: IntArray, cuts: Cuts) -> tuple[float, float]:
        """The same over A z >= b of ``cuts`` on the support."""
        raise NoBound("the loss cannot tell")


@dataclass(frozen=True)
class Found:
    """A support and the minimum of F on it."""

    support: IntArray
    value: float

    def beats(self, other: Found) -> bool:
        """Whether the value is lower by more than rounding."""
        return self.value < other.value - IMPROVEMENT * abs(other.value)

    def better_of(self, other: Found) -> Found:
        """The other unless this one beats it."""
        return self if self.beats(other) else other


class Explorer(ABC):
    """Moves among the admissible supports of one problem; remembers how many refits it took (``n_refits``)."""

    rule: SupportRule
    n_terms: int
    n_refits: int

    @abstractmethod
    def resized(self, support: IntArray, k: int) -> IntArray:
        """The support with terms added or dropped one at a time, the most useful first, until there are k."""

    @abstractmethod
    def descend(self, support: IntArray, seen: set[bytes] | None = None) -> Found:
        """The end of the best moves from a support; may end at one in ``seen``, where another has been, and adds to these."""

    @abstractmethod
    def descend_from(self, starts: Sequence[IntArray]) -> Found:
        """The end of a descent from the best of several supports, or the best end, whichever is affordable."""

    @abstractmethod
    def refined(self, found: Found, rng: np.random.Generator, kicks: int, going: Callable[[], bool]) -> Found:
        """The best of ``kicks`` perturbations of a found support, each followed by a descent, while ``going()``."""

    def restarted(self, k: int, rng: np.random.Generator, n_starts: int, going: Callable[[], bool]) -> Found:
        """The best end of descents from forward selection and from random halves of a support, completed greedily."""
        seen: set[bytes] = set()  # a descent that comes to where another has been would end where that has ended
        best = self.descend(self.resized(self.rule.required, k), seen)
        for _ in range(n_starts):
            if not going():
                break
            half = rng.choice(self.n_terms, max(1, k // 2), replace=False)
            start = self.rule.repaired(np.union1d(half, self.rule.required)[:k])
            best = self.descend(self.resized(start, k), seen).better_of(best)
        return best

    @abstractmethod
    def exchanges(self, found: Found, ceiling: float) -> tuple[Moves, FloatArray]:
        """The moves from a support and the change of the objective by each exchange of one term, refits included.

        Infinite where the exchange is not admissible or, unless it stays below a ceiling of the objective, not examined.
        """

    def under(self, fit: RuledSolution, support: IntArray, moves: Moves, pulls: Pulls) -> Outlook:
        """What each exchange of one term can come to under rules, from the best surface on a support under them."""
        raise NotImplementedError(NO_TABLES)

    def compounds(self, support: IntArray, rule: SupportRule) -> Sequence[Move]:
        """Moves of several terms that a rule offers, the most promising without rules on coefficients first."""
        raise NotImplementedError(NO_TABLES)


@dataclass(frozen=True)
class Bounded:
    """Nodes of branch and bound, one per row, with what a relaxation knows about them.

    Attributes
    ----------
    lower : array of shape (n,)
        No support of the node has a smaller objective; rounding is taken off.
    fixed, allowed : boolean arrays of shape (n, p)
        Terms that every support below the cut-off must hold, and those that it may hold.
    rank : array of shape (n, p)
        The free term with the largest entry is the one to branch on.
    state : array of shape (n, width)
        What children start from; only the relaxation reads it.
    """

    lower: FloatArray
    fixed: BoolArray
    allowed: BoolArray
    rank: FloatArray
    state: FloatArray


class Relaxation(ABC):
    """A way to bound nodes, many at a time."""

    batch: int  # nodes that are branched on together
    rounding: float  # about how much lower bounds are for the sake of rounding

    @abstractmethod
    def root(self, fixed: BoolArray, allowed: BoolArray, cutoff: float) -> Bounded:
        """The node (one row) with these fixed and allowed terms; supports from the cut-off on do not matter."""

    @abstractmethod
    def children(self, fixed: BoolArray, allowed: BoolArray, state: FloatArray, cutoff: float) -> Bounded:
        """Nodes (rows) with the state of a parent, of which each fixes or excludes one term more."""


class Bounds(ABC):
    """What branch and bound asks of a loss."""

    tolerance: float  # relative difference of objectives that a proof may leave
    cheap_nodes: int  # nodes that are worth a proof to the end where a small gap would do

    @abstractmethod
    def relaxations(self) -> list[Relaxation]:
        """Those that rounding leaves; a later one is preferred where an earlier one is not clearly better."""

    @abstractmethod
    def minimum(self, support: IntArray) -> tuple[float, float]:
        """F on a support as found, and a safe lower bound of its true minimum there: never the value itself."""

    def examined(self, support: IntArray) -> tuple[float, float]:
        """The same as accurately as can be, for the few supports where it matters."""
        return self.minimum(support)


@dataclass(frozen=True)
class Loss:
    """A loss: its parts, and what a search should know of it.

    Attributes
    ----------
    name, title : str
        As parameters and as people call it.
    keeps_rows : bool
        Whether training data keep all lifted rows in memory; otherwise only sums over them.
    cheap_exchanges : bool
        Whether all exchanges of one term are known in closed form. Searches then afford many more of them, and can tell
        whether a support is swap-optimal.
    has_probabilities : bool
        Whether 1 / (1 + exp(-f)) is the probability of the positive class.
    kicks, restarts : int
        Perturbations and fresh starts of method "best".
    default_Cs : tuple of float
        Values of C that cross-validation begins with, in equal ratios.
    screen : str or None
        Cheaper loss whose supports stand in for this one's in cross-validation, where only refits are its own.
    data : function that digests samples; from their sums where these are there and enough, otherwise from rows
    step, explorer, bounds : functions of a problem, the last two also of its solver
    judge : function of residuals, scores, y, loss weights and C
    streamed : function that makes a problem that is solved by passes (losses/pass_problem.py), or None
    passes_from : int
        Samples from which on a search by passes is quicker.
    """

    name: str
    title: str
    keeps_rows: bool
    cheap_exchanges: bool
    has_probabilities: bool
    kicks: int
    restarts: int
    default_Cs: tuple[float, ...]  # noqa: N815 - as the parameter is called
    screen: str | None
    data: Callable[[LabelledSamples | SummedSamples, Limits], TrainingData]
    step: Callable[[Any], Step]
    explorer: Callable[[Any, Any], Explorer]
    bounds: Callable[[Any, Any], Bounds]
    judge: Callable[[Residuals, FloatArray, FloatArray, FloatArray, float], LossJudge]
    streamed: Callable[..., StreamedProblem] | None = None
    passes_from: int = 0

    def searches_by_passes(self, n_rows: int) -> bool:
        """Whether a search among ``n_rows`` samples goes by passes."""
        return self.streamed is not None and n_rows >= self.passes_from
