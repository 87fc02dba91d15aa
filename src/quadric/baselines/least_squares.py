"""Linear least-squares fits, dense and with hard thresholds, from the spectrum of the centred samples.

Symbols: X the centred samples, o the loss weights, q = X' diag(o) y, and V, e with X' diag(o) X = V diag(e) V'.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import svd

from quadric.baselines.linear_data import LinearData
from quadric.types import BoolArray, FloatArray, IntArray


class Spectrum:
    """What all C, penalties and classes share.

    Parameters
    ----------
    data : LinearData
    """

    def __init__(self, data: LinearData) -> None:
        # From R of QR instead of X'X, which would square the condition number
        R = np.linalg.qr(np.sqrt(data.weight)[:, None] * data.X, mode="r")
        _, sizes, self.Vt = svd(R, full_matrices=False)
        self.e = sizes**2

    @cached_property
    def gram(self) -> FloatArray:
        """X' diag(o) X."""
        return (self.Vt.T * self.e) @ self.Vt

    def ridge(self, q: FloatArray, C: float) -> FloatArray:
        """argmin of 1/2 w'w + C/2 sum_i o_i (y_i - w'x_i)^2."""
        return self.Vt.T @ ((self.Vt @ q) / (self.e + 1.0 / C))

    def shifted_solve(self, rhs: FloatArray, shift: FloatArray, C: FloatArray) -> FloatArray:
        """(shift I + C X' diag(o) X)^-1 rhs, for many rows of rhs, each with its own shift and C.

        Each row is a separate product, so its bits do not depend on the other rows.
        """
        inside = (self.Vt @ rhs[:, :, None])[:, :, 0]
        scaled = C[:, None] * self.e
        inside *= scaled / (shift[:, None] + scaled)
        return (rhs - (self.Vt.T @ inside[:, :, None])[:, :, 0]) / shift[:, None]


def moments(data: LinearData, positive: int) -> FloatArray:
    """X' diag(o) y of one class against the rest."""
    return (data.weight * data.samples.signs(positive)) @ data.X


@dataclass(frozen=True)
class ThresholdProblems:
    """Many problems min 1/2 w'w + C/2 sum_i o_i (y_i - w'x_i - b)^2 + lam ||v||_0 with w = v, one per row.

    Attributes
    ----------
    q : array of shape (rows, n)
    C, gamma, lam : arrays of shape (rows,)
        gamma is the penalty of the augmented Lagrangian.
    """

    q: FloatArray
    C: FloatArray
    gamma: FloatArray
    lam: FloatArray

    @property
    def threshold(self) -> FloatArray:
        """Entries of v are zero or larger than this."""
        return np.sqrt(2.0 * self.lam / self.gamma)

    def at(self, rows: IntArray) -> ThresholdProblems:
        return ThresholdProblems(self.q[rows], self.C[rows], self.gamma[rows], self.lam[rows])


@dataclass(frozen=True)
class ThresholdFits:
    """v of each row, its number of iterations, and their last step in units of the threshold."""

    v: FloatArray
    n_iter: IntArray
    residual: FloatArray


def hard_threshold_admm(spectrum: Spectrum, problems: ThresholdProblems, *, max_iter: int, tol: float) -> ThresholdFits:
    """Alternate w = argmin of the augmented Lagrangian, v = hard(w + u, threshold), u = u + w - v, from v = u = 0.

    A row is done when its step is below ``tol`` and the fit on its support, which needs no iterations, is a fixed point. The
    problem is not convex. With a gamma that is small compared with the curvature, rows may cycle: max_iter then stops them at a
    random place, so such a row gets the fit with the lowest objective among the supports that it visited.
    """
    v, n_iter, residual = np.zeros_like(problems.q), np.full(len(problems.q), max_iter), np.zeros(len(problems.q))
    visited = [{support.tobytes(): support} for support in v != 0.0]
    live = np.arange(len(problems.q))
    present, u = problems, np.zeros_like(problems.q)
    for iteration in range(1, max_iter + 1):
        gamma, threshold, before = present.gamma[:, None], present.threshold, v[live]
        w = spectrum.shifted_solve(present.C[:, None] * present.q + gamma * (before - u), 1.0 + present.gamma, present.C)
        free = w + u
        support = np.abs(free) > threshold[:, None]
        after = np.where(support, free, 0.0)
        u = free - after
        step = np.maximum(np.abs(w - after), np.abs(after - before)).max(axis=1) / threshold
        v[live], residual[live] = after, step
        for row in np.flatnonzero((support != (before != 0.0)).any(axis=1)):
            visited[live[row]].setdefault(support[row].tobytes(), support[row])
        done = np.zeros(len(live), dtype=bool)
        for row in np.flatnonzero(step <= tol):
            fixed = _fixed_point(spectrum, present.at(np.array([row])), support[row])
            if fixed is not None:
                v[live[row]], n_iter[live[row]], done[row] = fixed, iteration, True
        if done.any():
            live, u, present = live[~done], u[~done], present.at(np.flatnonzero(~done))
        if len(live) == 0:
            break
    for row in live:
        v[row] = _lowest_fit(spectrum, problems.at(np.array([row])), visited[row].values())
    return ThresholdFits(v, n_iter, residual)


def _lowest_fit(spectrum: Spectrum, problem: ThresholdProblems, supports: Iterable[BoolArray]) -> FloatArray:
    """The fit with the lowest objective among several supports."""
    M = _hessian(spectrum, problem)
    fits = [_fit_on(M, problem, support) for support in supports]
    # At the minimum on a support the quadratic part of the objective is -C/2 q'v, up to a constant
    objectives = [problem.lam[0] * np.count_nonzero(v) - 0.5 * problem.C[0] * (problem.q[0] @ v) for v in fits]
    return fits[int(np.argmin(objectives))]


def _fixed_point(spectrum: Spectrum, problem: ThresholdProblems, support: BoolArray) -> FloatArray | None:
    """The fit on a support if it is a fixed point: no entry below the threshold, no gradient too large outside."""
    gamma, threshold = problem.gamma[0], problem.threshold[0]
    M = _hessian(spectrum, problem)
    v = _fit_on(M, problem, support)
    gradient = problem.C[0] * problem.q[0] - M @ v
    stays = (np.abs(v[support]) >= threshold).all() and (np.abs(gradient[~support]) <= gamma * threshold).all()
    return v if stays else None


def _hessian(spectrum: Spectrum, problem: ThresholdProblems) -> FloatArray:
    """I + C X' diag(o) X of a problem of one row."""
    M = problem.C[0] * spectrum.gram
    M[np.diag_indices_from(M)] += 1.0
    return M


def _fit_on(M: FloatArray, problem: ThresholdProblems, support: BoolArray) -> FloatArray:
    """The minimum with all entries outside a support at zero."""
    v = np.zeros(len(support))
    v[support] = np.linalg.solve(M[np.ix_(support, support)], problem.C[0] * problem.q[0, support])
    return v
