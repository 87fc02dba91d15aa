"""What a rule on supports has to answer, and the moves between supports: the one contract that all searches ask.

Decomposition, exchanges, path, branch and bound and near ties speak of candidate terms by position, 0 to p - 1; a support is an
increasing array of positions. Rules themselves are in search/rules.py: no loss knows which one it works under.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from quadric.geometry.box import ShapeRules
from quadric.geometry.moments import LiftedMoments
from quadric.geometry.redundancy import redundant_of_moments
from quadric.types import BoolArray, FloatArray, IntArray


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
        # necessary, not sufficient: a rule may leave it to the tree to find that nothing else fits
        return not (self.fixed & ~self.allowed).any()


class SupportRule(ABC):
    """A set of admissible supports among p candidate terms."""

    entails: ClassVar[bool] = True
    """Whether a term inside or outside a support can say anything about others; False spares branch and bound the question."""
    shapes: Mapping[int, ShapeRules] = {}
    """Rules on the coefficients, by surface: they leave all supports admissible, and say what surfaces these may have."""

    @property
    def reach(self) -> int:
        """How much farther than by single exchanges a search leads: so many times fewer perturbations will do."""
        return 2 if self.shapes else 1  # exchanges under rules on coefficients follow

    @property
    @abstractmethod
    def required(self) -> IntArray:
        """The smallest admissible support: terms that every one holds."""

    @abstractmethod
    def admissible(self, support: IntArray) -> bool:
        """Whether a support obeys the rule."""

    @abstractmethod
    def project(self, z: FloatArray, k: int) -> IntArray:
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
class Candidates:
    """The terms that may be chosen, as positions in the full z, and the rule that supports among them obey."""

    terms: IntArray
    rule: SupportRule


class Limits(Protocol):
    """What training data ask: which terms are candidates, by those that are constant or redundant on the data."""

    def candidates(self, constant: BoolArray, redundant: Callable[[], BoolArray]) -> Candidates: ...


def candidates_of(moments: LiftedMoments, limits: Limits) -> Candidates:
    """What limits leave of the terms that vary, by the moments of all samples."""
    return limits.candidates(moments.constant_terms(), lambda: redundant_of_moments(moments))
