"""Which supports are admissible: the one contract that decomposition, exchanges, path, branch and bound and near ties ask.

A rule speaks of candidate terms by position, 0 to p - 1; a support is an increasing array of positions. ``RequiredTerms`` is
today's rule: some terms are always in. Others, such as a hierarchy (a product only with its factors) or a budget of features,
are further subclasses of ``SupportRule`` that a ``SupportLimits`` hands out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from quadric.geometry.terms import LINEAR, term_count, term_factors
from quadric.losses.base import Completion, Move, Moves, Projection
from quadric.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from quadric.search.structured import Structure


def _no_terms() -> IntArray:
    return np.empty(0, dtype=np.intp)


class SupportRule(ABC):
    """A set of admissible supports among p candidate terms."""

    entails: ClassVar[bool] = True
    """Whether a term inside or outside a support can say anything about others; False spares branch and bound the question."""

    @property
    @abstractmethod
    def required(self) -> IntArray:
        """The smallest admissible support: terms that every one holds."""

    @abstractmethod
    def admissible(self, support: IntArray) -> bool:
        """Whether a support obeys the rule."""

    @abstractmethod
    def project(self, z: FloatArray, k: int) -> Projection:
        """The support of the nearest admissible vector to z with at most k terms: the u-step (docs/mathematics.md, eq. 4.1)."""

    @abstractmethod
    def moves(self, support: IntArray) -> Moves:
        """Exchanges of one term that lead to admissible supports."""

    @abstractmethod
    def completions(self, fixed: BoolArray, allowed: BoolArray) -> Completion:
        """What a node of branch and bound, which fixes some terms and allows others, implies."""

    @abstractmethod
    def repaired(self, support: IntArray) -> IntArray:
        """An admissible support near a given one, with no more terms; the very argument if it is admissible."""

    def among(self, candidates: IntArray) -> SupportRule | None:
        """The same rule where only some candidates are left, numbered anew, all required ones among them; None: needs all."""
        return None

    def addable(self, inside: BoolArray) -> BoolArray | None:
        """Terms outside an admissible support that may enter it alone; None: all of them."""
        return None

    def droppable(self, inside: BoolArray) -> BoolArray | None:
        """Terms of an admissible support that may leave it alone; None: all but the required ones."""
        return None

    def compounds(self, support: IntArray, worth: FloatArray) -> Sequence[Move]:
        """Exchanges of several terms for as many where no single one helps, such as a product with the factors that it lacks.

        ``worth``: about how much each term inside lowers the objective, and each term outside would. The best moves come first.
        """
        return ()

    def closed(self, terms: IntArray) -> IntArray:
        """Terms together with those that they may need."""
        return terms


@dataclass(frozen=True)
class RequiredTerms(SupportRule):
    """Every support that holds certain terms is admissible.

    Attributes
    ----------
    n_terms : int
    terms : array
        The terms it must hold.
    """

    entails: ClassVar[bool] = False
    n_terms: int
    terms: IntArray = field(default_factory=_no_terms)

    @property
    def required(self) -> IntArray:
        return self.terms

    @cached_property
    def _movable(self) -> BoolArray:
        movable = np.ones(self.n_terms, dtype=bool)
        movable[self.terms] = False
        return movable

    def admissible(self, support: IntArray) -> bool:
        return len(self.terms) == 0 or bool(np.isin(self.terms, support).all())

    def project(self, z: FloatArray, k: int) -> Projection:
        """The k largest |z_j|, required terms first; ties go to the lower position, so that runs repeat."""
        size = np.abs(z)
        size[self.terms] = np.inf
        return Projection(np.sort(np.argsort(-size, kind="stable")[:k]), exact=True)

    def moves(self, support: IntArray) -> Moves:
        inside = np.zeros(self.n_terms, dtype=bool)
        inside[support] = True
        return Moves(np.flatnonzero(inside & self._movable), np.flatnonzero(~inside))

    def completions(self, fixed: BoolArray, allowed: BoolArray) -> Completion:
        return Completion(fixed | ~self._movable, allowed)

    def repaired(self, support: IntArray) -> IntArray:
        if self.admissible(support):
            return support
        others = np.setdiff1d(support, self.terms)[: max(len(support) - len(self.terms), 0)]
        return np.union1d(others, self.terms)

    def among(self, candidates: IntArray) -> RequiredTerms:
        return RequiredTerms(len(candidates), np.searchsorted(candidates, self.terms))


@dataclass(frozen=True)
class SupportLimits:
    """Terms that must be in every support and terms that must not, as positions in the full z.

    Attributes
    ----------
    include, exclude : arrays
    lean : bool
        Whether redundant products, which are affine functions of their own factors on the data, are left out, too.
    structure : Structure or None
        Rules on terms and features together.
    """

    include: IntArray = field(default_factory=_no_terms)
    exclude: IntArray = field(default_factory=_no_terms)
    lean: bool = False
    structure: Structure | None = None

    def demanded_features(self, n_features: int) -> IntArray:
        both = np.concatenate([factor[self.include] for factor in term_factors(n_features)])
        return np.unique(both[both != LINEAR])

    def linear(self, n_features: int) -> SupportLimits:
        return replace(self, exclude=np.union1d(self.exclude, np.arange(term_count(n_features) - n_features)), lean=False)

    def only(self, terms: IntArray, n_terms: int) -> SupportLimits:
        """Some of all ``n_terms`` terms as the only candidates, for refits."""
        return SupportLimits(self.include, np.setdiff1d(np.arange(n_terms), terms))

    def without(self, redundant: Callable[[], BoolArray]) -> SupportLimits:
        """The same limits, with terms that the data make redundant among the excluded ones if that is asked for."""
        if not self.lean:
            return self
        left_out = np.setdiff1d(np.flatnonzero(redundant()), self.include)
        return replace(self, exclude=np.union1d(self.exclude, left_out), lean=False)

    def candidates(self, constant: BoolArray, redundant: Callable[[], BoolArray]) -> IntArray:
        """Terms that vary and are not excluded; redundant ones only if they are included, where that is asked for."""
        if constant.all():
            raise ValueError("all columns of X are constant: there is nothing to learn from")
        allowed = ~constant
        allowed[self.without(redundant).exclude] = False
        if self.structure is not None:  # a product whose linear terms are constant cannot be in a support either
            allowed = self.structure.possible(allowed)
        if not allowed.any():
            rules = "exclude" if self.structure is None else "exclude, with the rules on supports,"
            raise ValueError(f"{rules} leaves no term that varies on the data")
        return np.flatnonzero(allowed)

    def rule(self, candidates: IntArray) -> SupportRule:
        """The rule that supports among these candidates obey."""
        missing = np.setdiff1d(self.include, candidates)
        if len(missing):
            raise ValueError(f"include names terms that do not vary on the data: coef_ indices {missing.tolist()}")
        required = np.searchsorted(candidates, np.unique(self.include))
        return RequiredTerms(len(candidates), required) if self.structure is None else self.structure.rule(candidates, required)


NO_LIMITS = SupportLimits()


def keep(z: FloatArray, support: IntArray) -> FloatArray:
    """z on ``support`` and zero elsewhere."""
    u = np.zeros_like(z)
    u[support] = z[support]
    return u
