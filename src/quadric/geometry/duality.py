"""What judges share: residuals, margins with a bound on their errors, and the regulariser's part of a duality gap.

Residuals of the first-order conditions come in units in which they can be compared (docs/mathematics.md, eq. 5.1 and 5.4). For
multipliers v the gradient of the Lagrangian is Gz - R'v for the terms and -sum v for c. Term j is divided by its scale
C sum_i o_i |r_ij|, c by C sum_i o_i.

For multipliers that balance exactly, and e = R'(y lambda) - Gz on some terms, F is above the dual bound by 1/2 e'G^-1 e and by
a sum over the samples that depends on the loss (docs/mathematics.md, eq. 5.8 and 10.6). Nothing cancels between them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quadric.geometry.compensated import balanced, misfits
from quadric.geometry.cuts import Cuts, WeighedCuts
from quadric.geometry.energy import EPS, Energy, EnergyNorm, rounding_of_sum
from quadric.geometry.lifting import lift, lift_about, lift_adjoint, middle_of, sizes_about
from quadric.types import FloatArray, IntArray

# |1 - y f| up to which rounding could decide on which side of its margin a sample is.
CLOSE = 1e-6
# Error of a margin that changes nothing.
SURE = 1e-11
# A margin counts as met where what is missing is at most this many times its rounding error.
NOISE = 16.0


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
        return self.energy.gradient(self.z)

    def gradient(self, v: FloatArray) -> FloatArray:
        """[Gz - R'v] divided by the scales."""
        return (self.energy_gradient - lift_adjoint(self.X, v)) / self.scale

    def largest(self, gradient: FloatArray, terms: IntArray, v: FloatArray, cuts: Cuts | None = None) -> float:
        """The largest entry of a scaled gradient on some terms, less what cuts on these can pull, and of the equation of c."""
        gradient = gradient[terms]
        if cuts is not None and len(cuts):
            scale = self.scale[terms]
            gradient = gradient - WeighedCuts.fitting(cuts, gradient * scale, np.diag(1.0 / scale)).pull / scale
        return max(float(np.max(np.abs(gradient), initial=0.0)), abs(float(v.sum())) / self.total_scale)


class LossJudge(ABC):
    """A loss's part of the certificate of one surface; judges import geometry only, so that they share nothing with solvers.

    By default all multipliers v are known (``_v``), and one gradient serves every set of terms.
    """

    _residuals: Residuals
    _v: FloatArray

    @abstractmethod
    def loss_value(self) -> float:
        """C sum_i o_i H(1 - y_i f(x_i))."""

    @abstractmethod
    def decrease(self, terms: IntArray, cuts: Cuts | None = None) -> float:
        """Upper bound, safe against rounding, on F at the surface minus the minimum of F on ``terms``; inf: cannot be told.

        ``cuts``: conditions on these terms that the surface just meets, under which the minimum is.
        """

    @cached_property
    def _gradient(self) -> FloatArray:
        return self._residuals.gradient(self._v)

    def gradient(self, terms: IntArray) -> FloatArray:
        """Scaled gradient of the Lagrangian for all terms, with the multipliers that suit ``terms`` best."""
        return self._gradient

    def residual(self, terms: IntArray, cuts: Cuts | None = None) -> float:
        """Largest scaled residual of the optimality conditions of ``terms``, under cuts on these, and of c."""
        return self._residuals.largest(self._gradient, terms, self._v, cuts)


class Margins:
    """1 - y f of a surface with a bound on the error of each: with twice the digits where rounding could decide.

    ``noise`` is what the rounding of the coefficients alone may have done.
    """

    def __init__(self, residuals: Residuals, scores: FloatArray, y: FloatArray) -> None:
        live = np.flatnonzero(residuals.z)
        x = np.append(residuals.z[live], residuals.c)
        swollen = np.abs(lift(residuals.X, live)) @ np.abs(x[:-1]) + abs(residuals.c) + 1.0
        unit = EPS * (len(live) + residuals.X.shape[1] + 4.0)
        self.shortfall = 1.0 - y * scores
        self.doubt = unit * swollen
        self.noise = NOISE * self.doubt
        unsure = np.flatnonzero((np.abs(self.shortfall) <= self.noise + CLOSE) | (self.doubt > SURE))
        self.shortfall[unsure] = y[unsure] * misfits(residuals.X[unsure], live, x, y[unsure])
        self.doubt[unsure] = EPS * (1.0 + np.abs(self.shortfall[unsure])) + unit * self.doubt[unsure]


class EnergyGap:
    """1/2 e'G^-1 e on some terms, for the e of any multipliers that balance.

    Parameters
    ----------
    residuals : Residuals
    terms : array
    y : array of shape (m,)
    norm : EnergyNorm
    cuts : Cuts or None
        Conditions on the terms; their multipliers pull as those of the samples do (12.4).
    """

    def __init__(
        self, residuals: Residuals, terms: IntArray, y: FloatArray, norm: EnergyNorm, cuts: Cuts | None = None
    ) -> None:
        self._z, self._cuts = residuals.z[terms], cuts
        z, middle = residuals.z[terms], middle_of(residuals.X)
        # Multipliers that balance do not see where the samples are lifted about, so where least cancels
        self.R, self._y, self.norm = lift_about(residuals.X, middle, terms), y, norm
        self._sizes = sizes_about(residuals.X, middle, terms)
        self._pull = residuals.energy_gradient[terms]
        # Gz comes from sums over all samples; in units of the columns of H each error is a share of all of |H z|
        self._pull_doubt = 2.0 * rounding_of_sum(len(y)) * norm.lengths * float(norm.lengths @ np.abs(z))

    @cached_property
    def _reach(self) -> float:
        """How long the equations of a typical sample are in the norm of the gap."""
        return float(np.median(np.linalg.norm(self.norm.coordinates(self.R), axis=1))) or 1.0

    def weighed(self, equations: FloatArray) -> FloatArray:
        """Equations of the terms, in the norm of the gap, and of c, in rows."""
        return np.column_stack([self.norm.coordinates(equations[:, :-1]), self._reach * equations[:, -1]])

    def missing(self, multipliers: FloatArray) -> FloatArray:
        """e: what the multipliers pull beyond Gz."""
        return (self._y * multipliers) @ self.R - self._pull

    def at(self, multipliers: FloatArray, samples: float) -> float:
        """The gap at multipliers that balance, given the sum over the samples; rounded up."""
        doubt = rounding_of_sum(len(self._y)) * (multipliers @ self._sizes) + self._pull_doubt
        missing = self.missing(multipliers)
        if self._cuts is not None and len(self._cuts):
            held = WeighedCuts.fitting(self._cuts, -missing, self.norm.inverse / self.norm.lengths[:, None])
            missing, doubt, samples = missing + held.pull, doubt + held.pull_error, samples + abs(held.idle(self._z))
        return (samples + self.norm.halved_square(missing, doubt)) * (1.0 + rounding_of_sum(len(self._y)))


def smallest_gap(
    residuals: Residuals,
    terms: IntArray,
    y: FloatArray,
    attempts: Callable[[EnergyGap], Iterable[FloatArray]],
    samples: Callable[[FloatArray], float],
    settled: float,
    cuts: Cuts | None = None,
) -> float:
    """The smallest duality gap on some terms that attempts at the multipliers reach (5.8 and 10.6).

    Parameters
    ----------
    residuals : Residuals
    terms : array
    y : array of shape (m,)
    attempts : function of an EnergyGap
        Gives arrays of shape (m,): multipliers, which are balanced here.
    samples : function of multipliers that balance
        The sum over the samples.
    settled : float
        Below it, no other multipliers are tried.
    cuts : Cuts or None
        Conditions on the terms.

    Returns
    -------
    float
        Infinite where rounding leaves nothing of the norm on these terms.
    """
    norm, best = EnergyNorm.of(residuals.energy, terms, len(y)), np.inf
    if norm is None:
        return best
    gap = EnergyGap(residuals, terms, y, norm, cuts)
    # every attempt is a proof, good or bad: the smallest gap holds
    for attempt in attempts(gap):
        multipliers = balanced(attempt, y)
        best = min(best, gap.at(multipliers, samples(multipliers)))
        if best <= settled:
            break
    return best
