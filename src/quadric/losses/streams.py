"""What a loss has to offer for samples that need not fit in memory: everything by passes (losses/passes.py).

Supports are positions among the candidate terms, as everywhere. A first pass, the survey, digests the problem of one class
against the rest; a surface on a support, with a proof of how good it is, takes a few more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quadric.geometry.energy_norm import EnergyNorm, rounding_of_sum
from quadric.geometry.lifting import lift
from quadric.geometry.terms import term_factors
from quadric.losses.base import Found
from quadric.losses.kept import Rows
from quadric.losses.passes import SampleBatch, SampleSource, State
from quadric.losses.survey import Survey
from quadric.types import FloatArray, IntArray

GAP = 1e-9
"""Relative duality gap at which a surface counts as the best on its terms."""


@dataclass(frozen=True)
class DualPoint:
    """Multipliers of all rows that balance, by what they do to every support: F is at least constant - 1/2 q'G^-1 q.

    Attributes
    ----------
    constant : float
    pull : array of shape (p,)
        q = R'(y alpha) on all candidates.
    """

    constant: float
    pull: FloatArray


@dataclass(frozen=True)
class StreamedFit:
    """The best surface on a support, and how good it is.

    Attributes
    ----------
    support : array
    w : array of shape (k + 1,)
        Coefficients, then c + center'z.
    value, bound : float
        F at the surface, and what no surface on these terms is below.
    dual : DualPoint
        The proof of the bound.
    """

    support: IntArray
    w: FloatArray
    value: float
    bound: float
    dual: DualPoint

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return (self.value - self.bound) / self.value if self.value > 0.0 else 0.0

    @property
    def found(self) -> Found:
        return Found(self.support, self.value)


class Passes:
    """A source that counts what is asked of it."""

    def __init__(self, source: SampleSource) -> None:
        self.source = source
        self.count = 0

    def total(self, of: Callable[[SampleBatch], State]) -> State:
        """One pass."""
        self.count += 1
        return self.source.total(of)


class StreamedProblem(ABC):
    """One class against the rest."""

    def __init__(self, passes: Passes, survey: Survey, positive: int, terms: IntArray, C: float) -> None:
        self.passes, self.survey, self.positive, self.terms, self.C = passes, survey, positive, terms, C

    @abstractmethod
    def fit(self, support: IntArray, start: FloatArray | None = None) -> StreamedFit:
        """The minimum of F on a support to a relative gap of GAP, from a surface on it."""

    @cached_property
    def G(self) -> FloatArray:
        """The regulariser on the candidates."""
        return self.survey.energy.gram()[np.ix_(self.terms, self.terms)]

    @property
    def middle(self) -> FloatArray:
        return self.survey.middle

    @property
    def sample(self) -> Rows:
        return self.survey.sample

    def energy_of(self, support: IntArray, z: FloatArray) -> float:
        """1/2 z'Gz."""
        return 0.5 * float(z @ self.G[np.ix_(support, support)] @ z)

    def bound(self, dual: DualPoint, support: IntArray) -> float:
        """What F on a support is not below, by multipliers; safe against rounding; -inf where nothing is left of it."""
        norm = EnergyNorm.of(self.survey.energy, self.terms[support], self._length)
        if norm is None:
            return -np.inf
        unit = rounding_of_sum(self._length)
        return dual.constant * (1.0 - unit) - norm.halved_square(dual.pull[support], unit * self._sizes[support])

    def intercept(self, support: IntArray, w: FloatArray) -> float:
        """c for c + center'z."""
        center = lift(self.middle[None], self.terms[support])[0]
        return float(w[-1] - center @ w[:-1])

    @property
    @abstractmethod
    def steepest(self) -> float:
        """How steep the loss of a row of weight one can be."""

    @property
    def _length(self) -> int:
        return self.survey.length_of_sums + len(self.sample)

    @cached_property
    def _sizes(self) -> FloatArray:
        """No smaller than the sums that pulls are made of, taken without signs: by Cauchy's inequality."""
        energy, m = self.survey.energy, np.abs(self.middle)
        weight = energy.weight
        spread = np.sqrt(np.diag(energy.S) + 2.0 * m * np.abs(energy.s) + m**2 * weight)
        root = np.sqrt(weight)
        left, right = (factors[self.terms] for factors in term_factors(len(m)))
        spread, m = np.append(spread, root), np.append(m, 0.0)  # LINEAR is -1
        sizes = spread[left] * spread[right] + root * (m[left] * spread[right] + m[right] * spread[left])
        return np.asarray(self.steepest * self.C * self.survey.heaviest * sizes)
