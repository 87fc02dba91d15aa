"""What a loss has to offer, so that nobody else needs to know which one it is.

The problem of one surface is: minimise F(z, c) over ||z||_0 <= k (docs/mathematics.md, section 1), with

    F(z, c) = 1/2 z'Gz + C sum_i o_i H(1 - y_i (r_i'z + c)).

A folder here gives H: training data that hold what depends neither on C nor on k nor on the positive class, problems that share
those arrays, exact solvers of the convex subproblems, an explorer of exchanges of terms, bounds for branch and bound, and a
judge that shares nothing with them. Vectors z run over the candidate terms only: those that vary on the data and are allowed.
``embed`` puts them back in their places.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from scipy.linalg import LinAlgError

from quadric.blas import one_blas_thread
from quadric.geometry.duality import Residuals
from quadric.geometry.energy import Energy
from quadric.geometry.moments import LabelledMoments
from quadric.geometry.terms import term_count
from quadric.losses import loss_named
from quadric.samples.extent import Extent
from quadric.samples.labelled import LabelledSamples
from quadric.samples.random_rows import SIDE_ROWS
from quadric.samples.sums import SummedSamples
from quadric.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from quadric.losses.pass_problem import StreamedProblem

SAMPLE_ROWS = 2 * SIDE_ROWS  # samples of the random sample that searches by passes begin with
MOST_LIFTED = 100  # doubles per sample that the certificate of what they find needs for its terms, unless these are very many
IMPROVEMENT = 1e-10  # relative decrease of the objective that counts as one
WORKING_TERMS = 400  # candidates that searches begin with where there are too many for a matrix of all pairs
PRICED_TERMS = 1 << 16  # terms whose exchanges are then priced together
KEPT_BYTES = 128 << 20  # vectors of all terms that are then kept, or those of two supports: making them is expensive


class NoBound(LinAlgError):  # noqa: N818 - an answer, not a fault
    """Rounding leaves no lower bound that could be relied on."""


@dataclass(frozen=True)
class Move:
    """Terms that leave a support and terms that enter it, together."""

    out: Sequence[int] | IntArray
    into: Sequence[int] | IntArray

    def applied(self, support: IntArray) -> IntArray:
        """The support after the move."""
        kept = set(support.tolist()).difference(map(int, self.out))  # a few terms: sets are quicker than arrays
        return np.array(sorted(kept.union(map(int, self.into))), dtype=np.intp)


@dataclass(frozen=True)
class Moves:
    """The neighbours of a support that a rule admits.

    Attributes
    ----------
    out, into : arrays
        Terms that can leave and terms that can enter, one for another.
    single : boolean array of shape (len(out), len(into)) or None
        Which of these exchanges are admissible; None: all of them.
    """

    out: IntArray
    into: IntArray
    single: BoolArray | None = None


@dataclass(frozen=True)
class Projection:
    """The support of the nearest admissible vector.

    Attributes
    ----------
    support : array
        At most k terms.
    exact : bool
        Whether no admissible support with at most k terms is nearer; False: found by a heuristic.
    """

    support: IntArray
    exact: bool


@dataclass(frozen=True)
class Completion:
    """What follows for the supports S with fixed <= S <= allowed.

    Attributes
    ----------
    fixed : boolean array of shape (p,)
        Terms that all admissible ones hold.
    allowed : boolean array of shape (p,)
        Terms that some admissible one may hold.
    """

    fixed: BoolArray
    allowed: BoolArray

    @property
    def possible(self) -> bool:
        """Whether any admissible support is left, as far as the rule can tell."""
        return not (self.fixed & ~self.allowed).any()


class Rule(Protocol):
    """The rule on supports as a problem carries it; search/rules.py has the contract in words, and the rules."""

    @property
    def entails(self) -> bool: ...

    @property
    def required(self) -> IntArray: ...

    def admissible(self, support: IntArray) -> bool: ...

    def project(self, z: FloatArray, k: int) -> Projection: ...

    def completions(self, fixed: BoolArray, allowed: BoolArray) -> Completion: ...

    def moves(self, support: IntArray) -> Moves: ...

    def repaired(self, support: IntArray) -> IntArray: ...

    def addable(self, inside: BoolArray) -> BoolArray | None: ...

    def droppable(self, inside: BoolArray) -> BoolArray | None: ...

    def among(self, candidates: IntArray) -> Rule | None: ...

    def compounds(self, support: IntArray, worth: FloatArray) -> Sequence[Move]: ...

    def closed(self, terms: IntArray) -> IntArray: ...


class Limits(Protocol):
    """What training data ask: which terms are candidates, and the rule that supports among them obey."""

    def candidates(self, constant: BoolArray, redundant: Callable[[], BoolArray]) -> IntArray: ...

    def rule(self, candidates: IntArray) -> Rule: ...


@dataclass(frozen=True, kw_only=True)
class SparseProblem(ABC):
    """The problem of one class against the rest.

    Attributes
    ----------
    C, k : float, int
        Weight of the loss and largest number of terms, k at most the number of candidates.
    n_features : int
    terms : array
        Candidate terms, as positions in the full z.
    scatter_trace : float
        Trace of the loss-weighted scatter of the lifted samples.
    rule : Rule
        Which supports are admissible.
    """

    loss_name: ClassVar[str]
    C: float
    k: int
    n_features: int
    terms: IntArray
    scatter_trace: float
    rule: Rule

    @property
    def loss(self) -> Loss:
        return loss_named(self.loss_name)

    @property
    def n_terms(self) -> int:
        """Number of candidate terms, p."""
        return len(self.terms)

    @property
    def mean_curvature(self) -> float:
        """trace(G + 2C R~'R~)/p: the scale on which penalties are chosen, for every loss."""
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

    def slopes(self, z: FloatArray, c: float) -> FloatArray:
        """Scaled gradient of F in (z, c), where sums over the samples tell it; upper estimates."""
        raise NotImplementedError

    def screen(self) -> SparseProblem | None:
        """The same problem with a cheaper loss whose supports are good places to start from; None: no other loss is."""
        return None

    def promising(self, n_terms: int, support: IntArray | None = None) -> SparseProblem:
        """The same problem on about ``n_terms`` candidates and a support, the likeliest to be chosen, where that saves work."""
        return self

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
        z = np.zeros(self.n_terms)
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


class TrainingData(ABC):
    """Samples of two or more classes, digested once; every class against the rest is a problem on the same arrays."""

    @classmethod
    @abstractmethod
    def from_samples(cls, samples: LabelledSamples, limits: Limits) -> TrainingData:
        """Digest samples."""

    @classmethod
    def from_moments(cls, moments: LabelledMoments, n_samples: int, class_weight: FloatArray, limits: Limits) -> Self:
        """Digest sums over samples, where the loss needs nothing else (``Loss.keeps_rows`` is False)."""
        raise NotImplementedError

    def limited(self, limits: Limits) -> TrainingData | None:
        """The same samples with fewer candidates, where that spares digesting them again; None: it does not."""
        return None

    @abstractmethod
    def one_against_rest(self, positive: int, C: float, k: int) -> SparseProblem:
        """The problem whose positive class is ``positive``."""


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


class Step(ABC):
    """Exact solver of the convex subproblems of one problem; it handles warm starts itself and ignores k."""

    @abstractmethod
    def sweep(self, u: FloatArray, rho: float) -> StepSolution:
        """argmin over (z, c) of F(z, c) + rho/2 ||z - u||^2."""

    @abstractmethod
    def fixed_point(self, support: IntArray, rho: float) -> StepSolution:
        """argmin over (z, c) of F(z, c) + rho/2 ||z_N||^2 with N the complement of ``support``.

        Where sweeps end that keep choosing ``support``: u = z on it, u = 0 off it (docs/mathematics.md, eq. 4.4).
        """

    @abstractmethod
    def refit(self, support: IntArray) -> StepSolution:
        """argmin of F over (z, c) with z = 0 off ``support``."""

    def bracket(self, support: IntArray) -> tuple[float, float]:
        """F as reached on a support, and a lower bound of its minimum there that is safe on any scale; slower than a refit."""
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


@dataclass(frozen=True)
class Exchanges:
    """Change of the objective by each exchange of one term, refits included.

    Attributes
    ----------
    out, into : arrays
        Terms that can leave, and terms that can enter.
    change : array of shape (len(out), len(into))
        Infinite where the exchange is not admissible or not examined.
    """

    out: IntArray
    into: IntArray
    change: FloatArray


class Explorer(ABC):
    """Moves among the admissible supports of one problem; remembers how many refits it took (``n_refits``)."""

    rule: Rule
    n_terms: int
    n_refits: int

    @abstractmethod
    def resized(self, support: IntArray, k: int) -> IntArray:
        """The support with terms added or dropped one at a time, the most useful first, until there are k."""

    @abstractmethod
    def descend(self, support: IntArray) -> Found:
        """The end of the best moves from a support."""

    @abstractmethod
    def descend_from(self, starts: Sequence[IntArray]) -> Found:
        """The end of a descent from the best of several supports, or the best end, whichever is affordable."""

    @abstractmethod
    def refined(self, found: Found, rng: np.random.Generator, kicks: int, going: Callable[[], bool]) -> Found:
        """The best of ``kicks`` perturbations of a found support, each followed by a descent, while ``going()``."""

    def restarted(self, k: int, rng: np.random.Generator, n_starts: int, going: Callable[[], bool]) -> Found:
        """The best end of descents from forward selection and from random halves of a support, completed greedily."""
        best = self.descend(self.resized(self.rule.required, k))
        for _ in range(n_starts):
            if not going():
                break
            half = rng.choice(self.n_terms, max(1, k // 2), replace=False)
            start = self.rule.repaired(np.union1d(half, self.rule.required)[:k])
            best = self.descend(self.resized(start, k)).better_of(best)
        return best

    @abstractmethod
    def exchanges(self, found: Found, ceiling: float) -> Exchanges:
        """The exchanges of a support that stay below a ceiling of the objective; others may be left unexamined."""


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


class LossJudge(Protocol):
    """A loss's part of the certificate of one surface; lives in judge.py, which imports geometry only."""

    def loss_value(self) -> float:
        """C sum_i o_i H(1 - y_i f(x_i))."""

    def gradient(self, terms: IntArray) -> FloatArray:
        """Scaled gradient of the Lagrangian for all terms, with the multipliers that suit ``terms`` best."""

    def residual(self, terms: IntArray) -> float:
        """Largest scaled residual of the optimality conditions of ``terms`` and of c."""

    def decrease(self, terms: IntArray) -> float:
        """Upper bound, safe against rounding, on F at the surface minus the minimum of F on ``terms``; inf: cannot be told."""


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
    data : class of training data
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
    data: type[TrainingData]
    step: Callable[[Any], Step]
    explorer: Callable[[Any, Any], Explorer]
    bounds: Callable[[Any, Any], Bounds]
    judge: Callable[[Residuals, FloatArray, FloatArray, FloatArray, float], LossJudge]
    streamed: Callable[..., StreamedProblem] | None = None
    passes_from: int = 0

    def searches_by_passes(self, n_rows: int) -> bool:
        """Whether a search among ``n_rows`` samples goes by passes."""
        return self.streamed is not None and n_rows >= self.passes_from

    def bytes_needed(self, extent: Extent) -> int:
        """Memory of a fit: what is alive at its peak, to be estimated rather too high than too low."""
        m, p, every = extent.n_rows, extent.n_candidates, extent.n_terms
        if extent.is_wide:
            # vectors of all terms: statistics, matrices of features, rows of supports; a block of prices; the working set
            working = 2 * WORKING_TERMS
            rows = 3.6 * m * working if self.keeps_rows else 0.0
            vectors = (60 + 5 * extent.k) * every + 8 * extent.k * min(every, PRICED_TERMS)
            matrices = 12.0 * working**2 + vectors + KEPT_BYTES // 8
        elif extent.by_passes and self.searches_by_passes(m):
            # what the certificate lifts, with working copies; the lifted sample with its matrices
            rows = (20 + min(p, MOST_LIFTED)) * m + 2.2 * SAMPLE_ROWS * (p + 1)
            matrices = 4 * every**2 + 8.5 * p**2
        elif self.keeps_rows:
            # the centred rows with working copies; G, then the model of exchanges, the bound and their tableaus
            rows = (3.6 if extent.proves else 2.2) * m * (p + 1)
            matrices = max(every**2 + p**2, (10.5 if extent.proves else 8.5) * p**2)
        else:
            # moments of all classes together while they are summed; then G, scatter and, for each C, a matrix with its tableaus
            rows = 0.0
            matrices = max(4 * every**2, (6 + 3 * extent.grid[0] + 2 * extent.proves) * p**2)
        return int(8 * (rows + matrices + extent.shared_doubles))


@one_blas_thread()
def training_data(samples: LabelledSamples | SummedSamples, loss: str, limits: Limits) -> TrainingData:
    """Samples as training data of a loss: from their sums where these are there and enough, otherwise from rows.

    Parameters
    ----------
    samples : LabelledSamples or SummedSamples
    loss : str
    limits : Limits

    Returns
    -------
    TrainingData
    """
    kind = loss_named(loss)
    if not isinstance(samples, SummedSamples):
        return kind.data.from_samples(samples, limits)
    if kind.keeps_rows:
        assert samples.sample is not None
        return kind.data.from_samples(samples.sample, limits)
    return kind.data.from_moments(samples.moments, samples.n_rows, samples.class_weight, limits)
