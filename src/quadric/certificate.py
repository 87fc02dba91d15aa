"""How good a surface is: conditions recomputed from X and y, by code that shares nothing with the solvers.

Lu-Zhang stationarity (docs/mathematics.md, section 5): for some set L of k terms that holds the support, the gradient of the
Lagrangian vanishes on L. Least squares: [Gz - sum_i v_i r_i]_L = 0 and sum_i v_i = 0 with v_i = 2C o_i (y_i - f_i). Hinge: the
same with v_i = lambda_i y_i for some 0 <= lambda_i <= C o_i that is C o_i below the margin and 0 above it. Every equation is
divided by its scale: C sum_i o_i |r_ij| for term j, C sum_i o_i for the last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import lsq_linear

from quadric.blas import one_blas_thread
from quadric.geometry.energy import Energy
from quadric.geometry.lifting import lift, lift_adjoint
from quadric.geometry.moments import TermStatistics
from quadric.geometry.surface import QuadraticSurface
from quadric.types import FloatArray, IntArray

STATIONARY = 1e-8
"""Residual up to which a point counts as stationary for ``basic_feasible`` and ``local_minimum``."""
OPTIMAL_GAP = 1e-6
"""Relative gap up to which a proved bound makes a surface optimal; the proofs themselves are tighter."""
MARGIN_BANDS = (1e-9, 1e-6)
"""|1 - y f| up to which a sample's multiplier may lie between its bounds; the band with the smaller residual counts."""


@dataclass(frozen=True)
class Certificate:
    """What is known about a surface as an answer to: the best with at most k terms.

    Attributes
    ----------
    objective : float
        F, the ridge included.
    n_terms, k : int
        Non-zero coefficients, and how many were allowed.
    stationarity : float
        Largest scaled residual of the Lu-Zhang conditions.
    basic_feasible : bool
        Stationary, and with fewer than k terms the gradient vanishes for every term that varies on the data.
    local_minimum : bool
        Exactly k terms and stationary: no better surface nearby.
    ridge : float
        Fraction of diag(G) added to a singular G; 0.0 otherwise.
    swap_optimal : bool or None
        Whether no exchange of one term helps; None: not examined.
    lower_bound, gap : float or None
        Bound on the optimum and (objective - lower_bound) / objective; None: not computed.
    status : "local", "gap" or "optimal"
        "local" as long as no bound has been computed.
    """

    objective: float
    n_terms: int
    k: int
    stationarity: float
    basic_feasible: bool
    local_minimum: bool
    ridge: float
    swap_optimal: bool | None = None
    lower_bound: float | None = None
    gap: float | None = None
    status: str = "local"

    def bounded(self, lower_bound: float) -> Certificate:
        """The same with a proved bound and what follows from it."""
        lower_bound = min(lower_bound, self.objective)
        gap = (self.objective - lower_bound) / self.objective if self.objective else 0.0
        optimal = gap <= OPTIMAL_GAP and self.n_terms <= self.k
        return replace(
            self,
            lower_bound=lower_bound,
            gap=gap,
            status="optimal" if optimal else "gap",
            swap_optimal=True if optimal else self.swap_optimal,
        )


@dataclass(frozen=True)
class JudgedSamples:
    """Samples of a two-class problem with everything that weighs them.

    Attributes
    ----------
    X : array of shape (m, n)
    y : array of shape (m,)
        -1 or 1.
    sample_weight, loss_weight : arrays of shape (m,)
        w and o, both positive.
    """

    X: FloatArray
    y: FloatArray
    sample_weight: FloatArray
    loss_weight: FloatArray


@one_blas_thread()
def judge(
    surface: QuadraticSurface,
    samples: JudgedSamples,
    *,
    loss: str,
    C: float,
    k: int,
    support: IntArray | None = None,
    allowed: IntArray | None = None,
) -> Certificate:
    """Examine one surface.

    Parameters
    ----------
    surface : QuadraticSurface
    samples : JudgedSamples
    loss : "hinge" or "least_squares"
    C, k : float, int
    support : array, optional
        Terms to prefer when L is padded to k, where some of them may have come out as zero.
    allowed : array, optional
        Terms that the surface could have used; by default all that vary on the data.
    """
    return _Judgement(surface, samples, loss, C, k, allowed).certificate(support)


class _Judgement:
    def __init__(
        self, surface: QuadraticSurface, samples: JudgedSamples, loss: str, C: float, k: int, allowed: IntArray | None
    ) -> None:
        self.samples = samples
        self.C = C
        self.energy = Energy.of_samples(samples.X, samples.sample_weight)
        statistics = TermStatistics.of(samples.X, samples.loss_weight)
        constant = statistics.constant_terms()
        varying = np.flatnonzero(~constant)
        self.candidates = varying if allowed is None else np.intersect1d(varying, allowed)
        self.scale = np.where(constant, np.inf, C * statistics.absolute)  # constant terms are not judged
        self.total_scale = C * statistics.weight
        self.z = surface.coordinates()
        self.k = min(k, len(self.candidates))
        self.scores = surface(samples.X)
        self.energy_gradient = self.energy.gradient(self.z)
        self.loss: _LeastSquaresJudge | _HingeJudge = LOSSES[loss](self)

    def certificate(self, preferred: IntArray | None) -> Certificate:
        live = np.flatnonzero(self.z)
        L = self._padded(live, preferred)
        stationarity = self.loss.residual(L)
        stationary = stationarity <= STATIONARY and len(live) <= self.k
        full = len(live) == self.k
        everywhere = stationary if full else self.loss.residual(self.candidates) <= STATIONARY
        return Certificate(
            objective=float(0.5 * self.z @ self.energy_gradient + self.loss.loss_value()),
            n_terms=len(live),
            k=self.k,
            stationarity=stationarity,
            basic_feasible=bool(stationary and everywhere),
            local_minimum=bool(stationary and full),
            ridge=self.energy.ridge,
        )

    def _padded(self, live: IntArray, preferred: IntArray | None) -> IntArray:
        """The support, filled up to k terms: first with the preferred ones, then with the smallest scaled gradients."""
        missing = self.k - len(live)
        if missing <= 0:
            return live
        gradient = self.loss.gradient(live)
        order = self.candidates[np.argsort(np.abs(gradient[self.candidates]), kind="stable")]
        if preferred is not None:
            order = np.concatenate([preferred, order])
        order = order[~np.isin(order, live)]
        _, first = np.unique(order, return_index=True)
        return np.sort(np.concatenate([live, order[np.sort(first)][:missing]]))

    def scaled_gradient(self, v: FloatArray) -> FloatArray:
        """[Gz - R'v] divided by the scales."""
        return (self.energy_gradient - lift_adjoint(self.samples.X, v)) / self.scale

    def largest_residual(self, gradient: FloatArray, v: FloatArray) -> float:
        """Of the scaled gradient given and of the equation of c."""
        return max(float(np.max(np.abs(gradient), initial=0.0)), abs(float(v.sum())) / self.total_scale)


class _LeastSquaresJudge:
    def __init__(self, case: _Judgement) -> None:
        self.case = case
        samples = case.samples
        self.misfit = samples.y - case.scores
        self.v = 2.0 * case.C * samples.loss_weight * self.misfit
        self.all = case.scaled_gradient(self.v)

    def loss_value(self) -> float:
        return float(self.case.C * self.case.samples.loss_weight @ self.misfit**2)

    def gradient(self, terms: IntArray) -> FloatArray:
        return self.all

    def residual(self, terms: IntArray) -> float:
        return self.case.largest_residual(self.all[terms], self.v)


class _HingeJudge:
    def __init__(self, case: _Judgement) -> None:
        self.case = case
        self.shortfall = 1.0 - case.samples.y * case.scores
        self.upper = case.C * case.samples.loss_weight

    def loss_value(self) -> float:
        return float(self.upper @ np.maximum(self.shortfall, 0.0))

    def gradient(self, terms: IntArray) -> FloatArray:
        """Scaled gradient with the multipliers that suit ``terms`` best."""
        return self.case.scaled_gradient(self._multipliers(terms, MARGIN_BANDS[-1]) * self.case.samples.y)

    def residual(self, terms: IntArray) -> float:
        return min(self._residual_in_band(terms, band) for band in MARGIN_BANDS)

    def _residual_in_band(self, terms: IntArray, band: float) -> float:
        multipliers = self._multipliers(terms, band)
        v = multipliers * self.case.samples.y
        between = (multipliers > 0.0) & (multipliers < self.upper)
        off_margin = float(np.max(np.abs(self.shortfall[between]), initial=0.0))
        return max(self.case.largest_residual(self.case.scaled_gradient(v)[terms], v), off_margin)

    def _multipliers(self, terms: IntArray, band: float) -> FloatArray:
        """lambda: at its bound where the margin decides, by bounded least squares on the equations of ``terms`` elsewhere."""
        multipliers = np.where(self.shortfall > 0.0, self.upper, 0.0)
        near = np.flatnonzero(np.abs(self.shortfall) <= band)
        if len(near) == 0:
            return multipliers
        case, y = self.case, self.case.samples.y
        multipliers[near] = 0.0
        v = multipliers * y
        # Unknowns lambda / upper in [0, 1]; equal samples make equal columns and are taken together
        rows, group = np.unique(np.column_stack([case.samples.X[near], y[near]]), axis=0, return_inverse=True)
        group = group.ravel()
        weight = np.bincount(group, weights=self.upper[near])
        equations = np.empty((len(terms) + 1, len(rows)))
        equations[:-1] = lift(rows[:, :-1], terms).T / case.scale[terms, None]
        equations[-1] = 1.0 / case.total_scale
        equations *= rows[:, -1] * weight
        target = np.append(case.scaled_gradient(v)[terms], -v.sum() / case.total_scale)
        multipliers[near] = _bounded_least_squares(equations, target)[group] * self.upper[near]
        return multipliers


def _bounded_least_squares(A: FloatArray, target: FloatArray) -> FloatArray:
    """argmin ||A s - target|| over 0 <= s <= 1, where bounds that are met are met exactly; A is scaled in place."""
    scale = np.abs(A).max(initial=0.0) or 1.0
    A /= scale
    result = lsq_linear(A, target / scale, bounds=(0.0, 1.0), method="bvls", tol=1e-15, max_iter=10 * A.shape[1] + 100)
    return np.clip(result.x, 0.0, 1.0)


LOSSES: dict[str, type[_LeastSquaresJudge] | type[_HingeJudge]] = {
    "hinge": _HingeJudge,
    "least_squares": _LeastSquaresJudge,
}
