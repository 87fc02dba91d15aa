"""z-steps of the squared loss: one eigendecomposition serves every rho, every u and every k.

F(z) = 1/2 z'Mz - q'z + constant with c eliminated (docs/mathematics.md, eq. 2.2). With M = V diag(e) V':
    sweep        z = V ((V'q + rho V'u) / (e + rho))                                                                  (2.6)
    fixed point  (4.5): its u solves  [V diag(e/(e+rho)) V']_SS u_S = [V (V'q / (e+rho))]_S, and z is the sweep from that u

With very many terms no matrix of M + rho I can be formed. Mz is then a product XW and a product X' diag(.) X, and steps are
conjugate gradients, preconditioned by the exact inverse of G + rho D, where D counts products twice: in the entries of the
symmetric matrix W that is a Lyapunov equation (8.4),

    W K + K W + rho W = Gamma - (g s' + s g') / (2 w + rho),   K = S - s s' / (w + rho/2),   b = (g - 2 W s) / (2 w + rho)

for a right-hand side with the matrix Gamma (products halved) and the linear part g; w, s, S are the moments of x.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, lru_cache

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf, dpotrs

from quadric.geometry.cuts import Cuts, WeighedCuts
from quadric.geometry.energy import Energy
from quadric.geometry.terms import to_matrix, to_vector
from quadric.losses.base import NoBound, RuledSolution, Step, StepSolution
from quadric.losses.cuts import inverse_root, newton_step, without_noise
from quadric.losses.least_squares.curvature import WideCurvature
from quadric.losses.least_squares.problem import LeastSquaresProblem
from quadric.types import FloatArray, IntArray

MOST_WORK = 2e10  # operations that a bound from the rows may take: some seconds
ACCURATE = 1e-8  # share of the minimum that rounding in M and q may change before a refit goes back to the rows
SETTLED = 1e-8  # residual of conjugate gradients, in the norm of the preconditioner and relative to the right-hand side
MOST_ITERATIONS = 500
POLISHING = 2  # steps of a refit under cuts: the second mends the rounding of the first
# Steps with gradients from the rows: in plain doubles, and in all
PLAIN_STEPS, ROW_STEPS = 3, 8
SINGULAR_LIFT = 1e-10  # curvature, beside a unit diagonal, that steps under cuts find where the matrix has none
SURELY_REGULAR = 1e-2  # relative error of the inverse of M_SS up to which (7.8) holds


class RefittingStep(Step):
    """Refits on few terms, by M where its digits are enough, else by the rows."""

    def __init__(self, problem: LeastSquaresProblem) -> None:
        self.problem = problem

    def refit(self, support: IntArray) -> StepSolution:
        problem, z = self.problem, np.zeros(self.problem.n_terms)
        if len(support) == 0:
            return self._solution(z, problem.constant)
        factor = UnitFactor(problem.curvature.block(support))
        z[support] = factor.solve(problem.q[support])
        value = problem.objective(z, problem.intercept(z))
        error = self._rounding(support, z[support], factor)
        if error <= ACCURATE * value:
            return self._solution(z, value)
        if problem.samples is None:
            return replace(self._solution(z, value), residual=error)
        x, (value, bound) = problem.stacked(support).refitted_near(self._with_intercept(support, z[support]), ACCURATE / 10.0)
        z[support] = x[:-1]
        return StepSolution(z, float(x[-1]), value, value - bound)

    def refit_under(self, support: IntArray, cuts: Cuts) -> RuledSolution:
        free = self.refit(support)
        if cuts.are_met(free.z[support]):
            return RuledSolution.without(free, len(cuts))
        problem, z = self.problem, free.z.copy()
        M, q = problem.curvature.block(support), problem.q[support]
        factor = UnitFactor(M)
        root, multipliers, size = factor.root, np.zeros(len(cuts)), np.abs(z[support])
        for _ in range(POLISHING):
            slope, likely = M @ z[support] - q, np.flatnonzero(multipliers)
            move, multipliers = newton_step(root, slope, cuts, z[support], likely, size)
            z[support] += move
        z[support] = without_noise(root, z[support], float(np.sqrt(q @ free.z[support])))
        value = problem.objective(z, problem.intercept(z))
        error = self._rounding(support, z[support], factor)
        if error <= ACCURATE * value:
            return RuledSolution(z, problem.intercept(z), value, 0.0, multipliers)
        if problem.samples is None:
            return RuledSolution(z, problem.intercept(z), value, error, multipliers)
        return self._from_rows(support, cuts, z, multipliers)

    def _from_rows(self, support: IntArray, cuts: Cuts, z: FloatArray, multipliers: FloatArray) -> RuledSolution:
        """The same with gradients from the rows, from where the sums have led; their factor only says how long steps are."""
        stacked = self.problem.stacked(support)
        x, with_level = self._with_intercept(support, z[support]), cuts.with_level()
        best, width, size = (x, np.inf, multipliers), np.inf, np.abs(x)
        for attempt in range(ROW_STEPS):
            reached = stacked.roughly(x) if attempt < PLAIN_STEPS else stacked.at(x)
            value, bound = stacked.bracket_under(reached, x, WeighedCuts(with_level, multipliers))
            if value - bound < width:
                best, width = (x, value, multipliers), value - bound
            if width <= ACCURATE / 10.0 * value:
                break
            # F is ||A x - t||^2, whose curvature is twice that of the factor
            root, slope = stacked.root / np.sqrt(2.0), -2.0 * reached.gradient * stacked.lengths
            move, multipliers = newton_step(root, slope, with_level, x, np.flatnonzero(multipliers), size)
            x = x + move
        x, value, multipliers = best
        z[support] = x[:-1]
        return RuledSolution(z, float(x[-1]), value, width, multipliers)

    def _rounding(self, support: IntArray, z: FloatArray, factor: UnitFactor) -> float:
        """What rounding in M and q does to the minimum on a support (7.8); inf where M_SS may be singular."""
        problem, swelling = self.problem, self.problem.swelling[support]
        gamma = problem.unit_roundoff
        if not gamma * float(swelling.sum()) * factor.amplification <= SURELY_REGULAR:
            return np.inf
        reach = float(np.sqrt(swelling) @ np.abs(z / factor.scale)) + np.sqrt(8.0 * problem.C * problem.total_weight)
        return gamma * float(reach**2)

    def bracket(self, support: IntArray) -> tuple[float, float]:
        problem, z = self.problem, np.zeros(self.problem.n_terms)
        self._refuse_many_rows(support)
        factor = UnitFactor(problem.curvature.block(support))
        z[support] = factor.solve(problem.q[support])
        if problem.samples is not None:
            return problem.stacked(support).refitted_near(self._with_intercept(support, z[support]))[1]
        return self._by_sums(support, z, factor)

    def bracket_under(self, support: IntArray, cuts: Cuts) -> tuple[float, float]:
        problem = self.problem
        self._refuse_many_rows(support)
        solution = self.refit_under(support, cuts)
        if problem.samples is None:
            return self._by_sums(support, solution.z, UnitFactor(problem.curvature.block(support)))
        stacked, x = problem.stacked(support), np.append(solution.z[support], solution.c)
        value, bound = stacked.bracket_under(stacked.at(x), x, WeighedCuts(cuts.with_level(), solution.multipliers))
        return value, min(value, bound)  # a cut that is missed by rounding has let the value sink

    def _refuse_many_rows(self, support: IntArray) -> None:
        samples = self.problem.samples
        if samples is not None and len(samples.target) * len(support) ** 2 > MOST_WORK:
            raise NoBound("there are too many rows to be asked")

    def _by_sums(self, support: IntArray, z: FloatArray, factor: UnitFactor) -> tuple[float, float]:
        """The minimum, reached at z, as the sums have it, with room for their rounding on both sides."""
        value, error = self.problem.objective(z, self.problem.intercept(z)), self._rounding(support, z[support], factor)
        if not np.isfinite(error):
            raise NoBound("the sums have lost the digits that a bound would need")
        return value, value - 2.0 * error

    def _with_intercept(self, support: IntArray, z: FloatArray) -> FloatArray:
        return np.append(z, self.problem.mean_y - self.problem.mean[support] @ z)

    def _solution(self, z: FloatArray, value: float) -> StepSolution:
        return StepSolution(z, self.problem.intercept(z), value, 0.0)


class LeastSquaresStep(RefittingStep):
    """Closed-form z-steps in the eigenbasis of M; O(p^2) each."""

    @cached_property
    def _Vq(self) -> FloatArray:
        return self.problem.q @ self.problem.pairs.spectrum[1]

    def sweep(self, u: FloatArray, rho: float) -> StepSolution:
        e, V = self.problem.pairs.spectrum
        support = np.flatnonzero(u)
        # (2.6) in the eigenbasis; u has few entries, so V'u needs only the rows of V on its support
        coordinates = (self._Vq + rho * (u[support] @ V[support])) / (e + rho)
        z = V @ coordinates
        fit = 0.5 * coordinates @ (e * coordinates) - self._Vq @ coordinates + self.problem.constant
        return self._solution(z, float(fit + 0.5 * rho * np.sum((z - u) ** 2)))

    def fixed_point(self, support: IntArray, rho: float) -> StepSolution:
        e, V = self.problem.pairs.spectrum
        rows = V[support]
        N = (rows * (e / (e + rho))) @ rows.T  # (4.5): the limit of all sweeps that keep choosing this support
        u = np.zeros(self.problem.n_terms)
        u[support] = UnitFactor(N).solve(rows @ (self._Vq / (e + rho)))
        return self.sweep(u, rho)


class UnitFactor:
    """Solves with a positive semidefinite matrix, scaled to a unit diagonal, with one step of refinement.

    Where the matrix is singular to working precision (a huge C on dependent columns), the solution of least norm.
    """

    _least_norm: tuple[FloatArray, FloatArray] | None = None

    def __init__(self, matrix: FloatArray) -> None:
        self.scale = 1.0 / np.sqrt(np.diag(matrix))
        self._matrix = matrix * np.outer(self.scale, self.scale)
        self._factor, failed = dpotrf(self._matrix, lower=1, clean=0)
        if failed:
            self.amplification = np.inf
            e, V = eigh(self._matrix, driver="evd", check_finite=False)
            usable = e > len(e) * np.finfo(float).eps * e[-1]
            self._least_norm = e[usable], V[:, usable]

    @property
    def root(self) -> FloatArray:
        """T with T T' the inverse, or near it where the matrix is singular to working precision."""
        if self._least_norm is not None:
            e, V = eigh(self._matrix, driver="evd", check_finite=False)
            return self.scale[:, None] * (V / np.sqrt(np.maximum(e, SINGULAR_LIFT)))
        return inverse_root(self._factor, self.scale)

    @cached_property
    def amplification(self) -> float:
        """Largest eigenvalue of the inverse, or a little more."""
        return float(np.trace(dpotrs(self._factor, np.eye(len(self._matrix)), lower=1)[0]))

    def _solve(self, rhs: FloatArray) -> FloatArray:
        if self._least_norm is None:
            return dpotrs(self._factor, rhs, lower=1)[0]
        e, V = self._least_norm
        return V @ ((rhs @ V) / e)

    def solve(self, rhs: FloatArray) -> FloatArray:
        if len(rhs) == 0:
            return rhs
        target = rhs * self.scale
        solution = self._solve(target)
        solution += self._solve(target - self._matrix @ solution)
        return solution * self.scale


class Lyapunov:
    """The inverse of G + rho D, the ridge left out.

    Parameters
    ----------
    energy : Energy
    rho : float
    """

    def __init__(self, energy: Energy, rho: float) -> None:
        self._s, self._denominator = energy.s, 2.0 * energy.weight + rho
        e, self._Q = eigh(energy.S - (2.0 / self._denominator) * np.outer(energy.s, energy.s), driver="evd", check_finite=False)
        e = np.maximum(e, 0.0)
        self._sums = e[:, None] + e + rho

    def solve(self, v: FloatArray) -> FloatArray:
        """(G + rho D)^-1 v, all terms."""
        Gamma, g = to_matrix(v)
        squares = np.diag(Gamma).copy()
        Gamma *= 0.5
        Gamma[np.diag_indices_from(Gamma)] = squares
        across = np.outer(g, self._s) / self._denominator
        Gamma -= across
        Gamma -= across.T
        W = self._Q @ ((self._Q.T @ Gamma @ self._Q) / self._sums) @ self._Q.T
        return to_vector(W, (g - 2.0 * (W @ self._s)) / self._denominator)


class WideStep(RefittingStep):
    """Remembers its last answer and starts from there."""

    def __init__(self, problem: LeastSquaresProblem) -> None:
        super().__init__(problem)
        assert isinstance(problem.curvature, WideCurvature)
        self._curvature, self._last = problem.curvature, np.zeros(problem.n_terms)
        self._inverse = lru_cache(1)(lambda rho: Lyapunov(self._curvature.rows.energy, rho))

    def sweep(self, u: FloatArray, rho: float) -> StepSolution:
        return self._solved(np.full(self.problem.n_terms, rho), u, self._preconditioner(rho))

    def fixed_point(self, support: IntArray, rho: float) -> StepSolution:
        penalty = np.full(self.problem.n_terms, rho)
        penalty[support] = 0.0
        inside, elsewhere = UnitFactor(self._curvature.block(support)), self._preconditioner(rho)

        def preconditioned(r: FloatArray) -> FloatArray:
            z = elsewhere(r)
            z[support] += inside.solve(r[support])  # rho is no part of the curvature there
            return z

        return self._solved(penalty, np.zeros(self.problem.n_terms), preconditioned)

    def _preconditioner(self, rho: float) -> Callable[[FloatArray], FloatArray]:
        inverse, problem = self._inverse(rho), self.problem
        return lambda r: inverse.solve(problem.embed(r))[problem.terms]

    def _solved(self, penalty: FloatArray, u: FloatArray, preconditioned: Callable[[FloatArray], FloatArray]) -> StepSolution:
        """argmin of F + 1/2 sum penalty_j (z_j - u_j)^2."""
        problem, target = self.problem, self.problem.q + penalty * u

        def times(z: FloatArray) -> FloatArray:
            return self._curvature.times(problem.embed(z)) + penalty * z

        z = self._last
        r = target - times(z) if z.any() else target.copy()
        enough = SETTLED**2 * float(target @ preconditioned(target))
        direction, before = np.zeros_like(z), 1.0
        for _ in range(MOST_ITERATIONS):
            y = preconditioned(r)
            length = float(r @ y)
            if length <= enough:
                break
            direction = y + (length / before) * direction
            curved = times(direction)
            share = length / float(direction @ curved)
            z = z + share * direction
            r -= share * curved
            before = length
        self._last = z
        # z'(M + P)z = z'(target - r), so that the value needs no further product
        fit = 0.5 * float(z @ (target - r)) - float(problem.q @ z) - float((penalty * u) @ z)
        value = fit + 0.5 * float(penalty @ u**2) + problem.constant
        return StepSolution(z, problem.intercept(z), value, float(np.sqrt(max(float(r @ preconditioned(r)), 0.0))))
