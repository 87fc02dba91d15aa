"""Which supports are admissible: the rules behind the contract of losses/supports.py.

``RequiredTerms``: some terms are always in. search/structured.py has the rules on terms and features together, such as a
hierarchy (a product only with its factors) or a budget of features. ``SupportLimits`` hands out the one that a fit works under.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from quadric.geometry.box import ShapeRules
from quadric.geometry.terms import LINEAR, term_count, term_factors
from quadric.losses.supports import Candidates, Completion, Moves, SupportRule
from quadric.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from quadric.search.structured import Structure


def _no_terms() -> IntArray:
    return np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class RequiredTerms(SupportRule):
    """Every support that holds certain terms is admissible.

    Attributes
    ----------
    n_terms : int
    terms : array
        The terms it must hold.
    shapes : mapping of int to ShapeRules
    """

    entails: ClassVar[bool] = False
    n_terms: int
    terms: IntArray = field(default_factory=_no_terms)
    shapes: Mapping[int, ShapeRules] = field(default_factory=dict)

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

    def project(self, z: FloatArray, k: int) -> IntArray:
        """The k largest |z_j|, required terms first; ties go to the lower position, so that runs repeat."""
        size = np.abs(z)
        size[self.terms] = np.inf  # (4.1) among the supports that hold them
        return np.sort(np.argsort(-size, kind="stable")[:k])

    def moves(self, support: IntArray) -> Moves:
        inside = np.zeros(self.n_terms, dtype=bool)
        inside[support] = True
        # every pair is admissible: no table of p k flags, which searches would have to mask (6.3)
        return Moves(np.flatnonzero(inside & self._movable), np.flatnonzero(~inside))

    def completions(self, fixed: BoolArray, allowed: BoolArray) -> Completion:
        # nothing follows from other terms, so that ``entails`` is False and a tree asks once, at its root
        return Completion(fixed | ~self._movable, allowed)

    def repaired(self, support: IntArray) -> IntArray:
        if self.admissible(support):
            return support
        others = np.setdiff1d(support, self.terms)[: max(len(support) - len(self.terms), 0)]
        return np.union1d(others, self.terms)

    def among(self, candidates: IntArray) -> RequiredTerms:
        return RequiredTerms(len(candidates), np.searchsorted(candidates, self.terms), self.shapes)


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
    shapes : mapping of int to ShapeRules
        Rules on the coefficients, by surface.
    """

    include: IntArray = field(default_factory=_no_terms)
    exclude: IntArray = field(default_factory=_no_terms)
    lean: bool = False
    structure: Structure | None = None
    shapes: Mapping[int, ShapeRules] = field(default_factory=dict)

    def demanded_features(self, n_features: int) -> IntArray:
        both = np.concatenate([factor[self.include] for factor in term_factors(n_features)])
        return np.unique(both[both != LINEAR])

    def linear(self, n_features: int) -> SupportLimits:
        return replace(self, exclude=np.union1d(self.exclude, np.arange(term_count(n_features) - n_features)), lean=False)

    def only(self, terms: IntArray, n_terms: int) -> SupportLimits:
        """Some of all ``n_terms`` terms as the only candidates, for refits."""
        return SupportLimits(self.include, np.setdiff1d(np.arange(n_terms), terms), shapes=self.shapes)

    def without(self, redundant: Callable[[], BoolArray]) -> SupportLimits:
        """The same limits, with terms that the data make redundant among the excluded ones if that is asked for."""
        if not self.lean:
            return self
        left_out = np.setdiff1d(np.flatnonzero(redundant()), self.include)
        return replace(self, exclude=np.union1d(self.exclude, left_out), lean=False)

    def candidates(self, constant: BoolArray, redundant: Callable[[], BoolArray]) -> Candidates:
        """Terms that vary and are not excluded; redundant ones only if they are included, where that is asked for."""
        if constant.all():
            raise ValueError("all columns of X are constant: there is nothing to learn from")
        allowed = ~constant
        # finding redundant terms takes a pass over the data: only asked for where it matters
        allowed[self.without(redundant).exclude] = False
        if self.structure is not None:  # a product whose linear terms are constant cannot be in a support either
            allowed = self.structure.possible(allowed)
        if not allowed.any():
            rules = "exclude leaves" if self.structure is None else "exclude and the rules on supports leave"
            raise ValueError(f"{rules} no term that varies on the data")
        terms = np.flatnonzero(allowed)
        missing = np.setdiff1d(self.include, terms)
        if len(missing):
            raise ValueError(f"include names terms that do not vary on the data: coef_ indices {missing.tolist()}")
        required = np.searchsorted(terms, np.unique(self.include))
        if self.structure is None:
            return Candidates(terms, RequiredTerms(len(terms), required, self.shapes))
        return Candidates(terms, replace(self.structure.rule(terms, required), shapes=self.shapes))


NO_LIMITS = SupportLimits()


def keep(z: FloatArray, support: IntArray) -> FloatArray:
    """z on ``support`` and zero elsewhere."""
    u = np.zeros_like(z)
    u[support] = z[support]
    return u
