"""What a loss has to offer for samples that need not fit in memory: everything by passes (samples/source.py).

Supports are positions among the candidate terms, as everywhere. A first pass, the survey, digests the problem of one class
against the rest; a surface on a support, with a proof of how good it is, takes a few more. Multipliers of one support bound F
on all others, which spares most exchanges a look at the samples.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from quadric.geometry.energy import Energy, EnergyNorm, rounding_of_sum
from quadric.geometry.lifting import lift, lift_about
from quadric.geometry.terms import term_factors
from quadric.losses.base import SparseProblem
from quadric.losses.columns import ColumnTableau
from quadric.losses.least_squares.data import LeastSquaresData
from quadric.losses.lifted_rows import LiftedRows
from quadric.losses.supports import Candidates
from quadric.losses.survey import Survey
from quadric.samples.source import SampleBatch, SampleSource, State
from quadric.types import FloatArray, IntArray

if TYPE_CHECKING:
    from quadric.losses.rows import RowsProblem

GAP = 1e-9  # relative duality gap at which a surface counts as the best on its terms


@dataclass(frozen=True)
class StreamedFit:
    """A surface on a support, and how good it is.

    Attributes
    ----------
    support : array
    w : array of shape (k + 1,)
        Coefficients, then the level: c + center'z.
    value, bound : float
        F at the surface, and what no surface on these terms is below.
    constant, pull : float, array of shape (p,)
        The proof of the bound, by multipliers alpha of all rows that balance: on every support F is at least
        constant - 1/2 q'G^-1 q with q = pull = R'(y alpha).
    began : float
        F at the surface that the fit began with.
    """

    support: IntArray
    w: FloatArray
    value: float
    bound: float
    constant: float
    pull: FloatArray
    began: float

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return (self.value - self.bound) / self.value if self.value > 0.0 else 0.0


@dataclass(frozen=True)
class Trial:
    """Another support, looked at from a fit.

    Attributes
    ----------
    support : array
    w : array of shape (k + 1,)
        A surface on it.
    bound : float
        What F on it is not below.
    value : float
        F at the surface; infinite where the bound made it uninteresting.
    """

    support: IntArray
    w: FloatArray
    bound: float
    value: float


class Passes(SampleSource):
    """A source that counts what is asked of it, and knows whether there is time for more.

    Parameters
    ----------
    source : SampleSource
    going : callable
        Whether there is time left; without time, fits end after one pass.
    """

    def __init__(self, source: SampleSource, going: Callable[[], bool] = lambda: True) -> None:
        self.source, self.going = source, going
        self.n_features, self.n_classes, self.class_rows = source.n_features, source.n_classes, source.class_rows
        self.count = 0

    def total(self, of: Callable[[SampleBatch], State]) -> State:
        """One pass."""
        self.count += 1
        return self.source.total(of)


class StreamedProblem(ABC):
    """The problem of one surface.

    Parameters
    ----------
    problem : class of RowsProblem
        What the problem is in memory.
    passes : Passes
    survey : Survey
        With moments, unless the terms are given.
    candidates : Candidates
    C : float
    k : int
    energy : Energy, optional
        Of all samples, where it is known more accurately than by the survey.
    """

    steepest: float  # how steep the loss of a row of weight one can be, in units of C
    shared = 1  # exchanges share work if they bring in the same term (1), or if they drop the same (0)

    def __init__(
        self,
        problem: type[RowsProblem],
        passes: Passes,
        survey: Survey,
        candidates: Candidates,
        C: float,
        k: int,
        energy: Energy | None = None,
    ) -> None:
        self.problem, self.passes, self.survey, self.C = problem, passes, survey, C
        self.terms, self.rule, self.energy = candidates.terms, candidates.rule, energy or survey.energy
        self.k, self.middle = min(k, len(self.terms)), survey.middle  # where liftings are centred

    @abstractmethod
    def fit(
        self, support: IntArray, start: FloatArray | None = None, ceiling: float = np.inf, *, exact: bool = False
    ) -> StreamedFit:
        """The minimum of F on a support to a relative gap of GAP, or as well as it goes, from a surface on it; it ends early
        above a ceiling, and when time is up.
        """

    def exact(self, fit: StreamedFit) -> StreamedFit:
        """A fit whose coefficients do not depend on where it came from, except for rounding."""
        return self.fit(fit.support, fit.w, exact=True)

    @abstractmethod
    def examine(self, fit: StreamedFit, supports: Sequence[IntArray], ceiling: float) -> list[Trial]:
        """Supports near that of a fit; those that are not proved to be above the ceiling with a value, while there
        is time.
        """

    def sample_problem(self) -> RowsProblem:
        """The same problem on the random rows, whose weights stand for all of them."""
        sample, scatter = self.survey.sample, np.diag(self.survey.labelled.loss.scatter)
        return self.problem(
            C=self.C,
            k=self.k,
            n_features=len(self.middle),
            terms=self.terms,
            scatter_trace=float(scatter[self.terms].sum()),
            rule=self.rule,
            G=self.G,
            rows=LiftedRows(sample.X, self.middle, self.terms, sample.weight, self.problem.order),
            y=sample.y,
        )

    def model(self, fit: StreamedFit) -> ColumnTableau | None:
        """F around a fit as a quadratic, from all rows, that ranks exchanges; None: ask one from the sample."""
        return None

    def screen(self) -> SparseProblem:
        """The same problem with the squared loss, on all rows."""
        data = LeastSquaresData(self.survey.labelled, Candidates(self.terms, self.rule))
        return data.problem_for(self.survey.surface, self.C, self.k)

    def dual_tableau(self, fit: StreamedFit) -> ColumnTableau:
        """A quadratic that bounds F on every support from below, and touches it at this one (6.5)."""
        return ColumnTableau(self.G.__getitem__, np.diag(self.G), fit.pull, fit.constant, self.rule.required, fit.support)

    @cached_property
    def G(self) -> FloatArray:
        """The regulariser on the candidates."""
        return self.energy.gram()[np.ix_(self.terms, self.terms)]

    def G_on(self, support: IntArray) -> FloatArray:
        """The regulariser on a support."""
        return self.G[np.ix_(support, support)]

    def sample_rows(self, support: IntArray) -> FloatArray:
        """The random rows, lifted, with a last column of ones."""
        R = lift_about(self.survey.sample.X, self.middle, self.terms[support])
        return np.column_stack([R, np.ones(len(R))])

    def bound_on(self, support: IntArray, constant: float, pull: FloatArray) -> float:
        """What F on a support is not below, by R'(y alpha) of multipliers on it; -inf where rounding leaves nothing."""
        samples = self.survey.samples
        length = samples.longest + samples.n_batches + len(self.survey.sample)  # numbers added one after another, at most
        norm = EnergyNorm.of(self.energy, self.terms[support], length)
        if norm is None:
            return -np.inf
        unit = rounding_of_sum(length)
        # (6.5), rounded down: constant and pull are sums over all rows, wrong by that share of what was added up
        return constant * (1.0 - unit) - norm.halved_square(pull, unit * self._sizes[support])

    def residual(self, fit: StreamedFit, terms: IntArray) -> float:
        """The largest gradient of the Lagrangian of a fit on some terms, in units of what multipliers could pull."""
        pull = self.G[np.ix_(terms, fit.support)] @ fit.w[:-1] - fit.pull[terms]
        return float(np.max(np.abs(pull) / self._sizes[terms], initial=0.0))

    def surface(self, support: IntArray, z: FloatArray, c: float) -> FloatArray:
        """Coefficients and intercept as a surface with its level."""
        return np.append(z, c + float(lift(self.middle[None], self.terms[support])[0] @ z))

    def intercept(self, support: IntArray, w: FloatArray) -> float:
        """c for a surface with its level."""
        return float(w[-1] - lift(self.middle[None], self.terms[support])[0] @ w[:-1])

    @cached_property
    def _sizes(self) -> FloatArray:
        """No smaller than the sums that pulls are made of, taken without signs: by Cauchy's inequality."""
        energy, m = self.energy, np.abs(self.middle)
        weight = energy.weight
        # |x - middle| in the norm of the weights, then sum |d_a d_b| <= |d_a| |d_b|
        spread = np.sqrt(np.diag(energy.S) + 2.0 * m * np.abs(energy.s) + m**2 * weight)
        root = np.sqrt(weight)
        left, right = (factors[self.terms] for factors in term_factors(len(m)))
        spread, m = np.append(spread, root), np.append(m, 0.0)  # LINEAR is -1
        sizes = spread[left] * spread[right] + root * (m[left] * spread[right] + m[right] * spread[left])
        return np.asarray(self.steepest * self.C * float(self.survey.class_weight.max()) * sizes)


def moved(w: FloatArray, support: IntArray, target: IntArray) -> FloatArray:
    """A surface on a support as one on another: terms that are new begin at zero."""
    out = np.zeros(len(target) + 1)
    _, mine, theirs = np.intersect1d(support, target, return_indices=True)
    out[theirs] = w[mine]
    out[-1] = w[-1]
    return out
