"""Residuals of the first-order conditions, in units in which they can be compared (docs/mathematics.md, eq. 5.1 and 5.4).

For multipliers v the gradient of the Lagrangian is Gz - R'v for the terms and -sum v for c. Term j is divided by its scale
C sum_i o_i |r_ij|, c by C sum_i o_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quadric.geometry.energy import Energy
from quadric.geometry.lifting import lift_adjoint
from quadric.types import FloatArray


@dataclass(frozen=True)
class Residuals:
    """The first-order conditions at one surface.

    Attributes
    ----------
    X : array of shape (m, n)
    energy : Energy
        The regulariser.
    z, c : array of shape (p,), float
        The surface.
    scale : array of shape (p,)
        Infinite for terms that are constant: those are not judged.
    total_scale : float
    """

    X: FloatArray
    energy: Energy
    z: FloatArray
    c: float
    scale: FloatArray
    total_scale: float

    @cached_property
    def energy_gradient(self) -> FloatArray:
        """Gz."""
        return self.energy.gradient(self.z)

    def gradient(self, v: FloatArray) -> FloatArray:
        """[Gz - R'v] divided by the scales."""
        return (self.energy_gradient - lift_adjoint(self.X, v)) / self.scale

    def largest(self, gradient: FloatArray, v: FloatArray) -> float:
        """The largest entry of a scaled gradient and of the equation of c."""
        return max(float(np.max(np.abs(gradient), initial=0.0)), abs(float(v.sum())) / self.total_scale)
