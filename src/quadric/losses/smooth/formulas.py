"""What a smooth loss is made of: a convex function H of the margin m = y f(x), its derivatives and its conjugate.

With K_i = scale C o_i, the loss of sample i is K_i H(m_i) (docs/mathematics.md, section 10, where H is logistic).
Multipliers are a_i = K_i t_i, with t = -H'(m) >= 0; h(t) = min over m of H(m) + t m is the loss's part of a dual bound.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from quadric.types import FloatArray


class SmoothLoss(ABC):
    """The formulas of one loss; each takes and returns arrays of one shape.

    Attributes
    ----------
    scale : float
        Factor on C, with which the losses share one grid of C.
    steepest : float
        Least upper bound of t. Proofs by passes need a finite one: where t has none, as that of the squared hinge, a bound that
        it does not reach on the data will do.
    most_bent : float
        Largest second derivative.
    """

    scale: ClassVar[float]
    steepest: ClassVar[float]
    most_bent: ClassVar[float]

    @abstractmethod
    def value(self, m: FloatArray) -> FloatArray:
        """H(m), without overflow for any m."""

    @abstractmethod
    def slope(self, m: FloatArray) -> FloatArray:
        """t = -H'(m)."""

    @abstractmethod
    def bend(self, t: FloatArray) -> FloatArray:
        """H'' where the slope is t: a concave function of t, which passes rely on (sums.py)."""

    @abstractmethod
    def conjugate(self, t: FloatArray) -> FloatArray:
        """h(t), concave with h(0) = 0."""

    @abstractmethod
    def constant_score(self, share: float) -> float:
        """The best score that is the same for all samples, where the positive class has this share of the weight."""

    def at(self, m: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """t, H, h and t^2 / bend(t) at margins, as passes ask for them; a loss that can compute them together should."""
        t = self.slope(m)
        bend = self.bend(t)
        # where nothing bends, t is zero, or the row so far below its margin that the second inequality of (8.6) serves it
        return t, self.value(m), self.conjugate(t), np.divide(t * t, bend, out=np.zeros_like(t), where=bend > 0.0)
