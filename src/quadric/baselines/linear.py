"""The linear models: centred features that vary, least-squares fits from their spectrum, and surfaces with W = 0.

Symbols: X the centred samples, o the loss weights, q = X' diag(o) y, and V, e with X' diag(o) X = V diag(e) V'.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import svd
from scipy.optimize import linprog

from quadric.geometry.moments import CONSTANT_TOLERANCE
from quadric.geometry.terms import term_count
from quadric.losses.hinge.problem import HingeProblem
from quadric.losses.lifted_rows import LiftedRows
from quadric.samples.labelled import LabelledSamples
from quadric.search.rules import RequiredTerms
from quadric.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class LinearData:
    """Centred samples; the intercept b of w'x + b becomes the level b + mean'w.

    Attributes
    ----------
    X : array of shape (m, number of features that vary)
        x - mean.
    mean : array
        Loss-weighted mean of those features.
    features : array
        Their positions among all features.
    weight : array of shape (m,)
        o, the loss weights.
    samples : LabelledSamples
        All features, and the classes.
    """

    X: FloatArray
    mean: FloatArray
    features: IntArray
    weight: FloatArray
    samples: LabelledSamples

    @staticmethod
    def of(samples: LabelledSamples) -> LinearData:
        weight = samples.loss_weight
        share = weight / weight.sum()
        mean = share @ samples.X
        centred = samples.X - mean
        variance = share @ centred**2
        features = np.flatnonzero(variance > CONSTANT_TOLERANCE**2 * (variance + mean**2))
        if len(features) == 0:
            raise ValueError("all columns of X are constant: there is nothing to learn from")
        return LinearData(np.ascontiguousarray(centred[:, features]), mean[features], features, weight, samples)

    @property
    def terms(self) -> IntArray:
        n_features = self.samples.X.shape[1]
        return term_count(n_features) - n_features + self.features

    def hinge_problem(self, surface: int, C: float) -> HingeProblem:
        """1/2 w'w + C sum_i o_i max(0, 1 - y_i (w'x_i + b)), as a problem of the engine: G = I on the linear terms."""
        n_terms, middle = len(self.features), np.zeros(self.samples.X.shape[1])
        middle[self.features] = self.mean
        return HingeProblem(
            C=C,
            rule=RequiredTerms(n_terms),
            k=n_terms,
            n_features=self.samples.X.shape[1],
            terms=self.terms,
            G=np.eye(n_terms),
            scatter_trace=float(self.weight @ np.sum(self.X**2, axis=1)),
            rows=LiftedRows(self.samples.X, middle, self.terms, self.weight),
            y=self.samples.target.y(surface),
        )

    def l1_fit(self, surface: int, C: float) -> FloatArray:
        """The w of a vertex of min ||w||_1 + C sum_i o_i max(0, 1 - y_i (w'x_i + b)); entries at zero are exactly zero.

        Solved through its dual, which has only n + 1 rows: maximise sum_i alpha_i over 0 <= alpha_i <= C o_i with y'alpha = 0
        and X'(y alpha) = s, -1 <= s <= 1. The prices of the last equations are w.
        """
        X, y = self.X, self.samples.target.y(surface)
        n_samples, n_features = X.shape
        cost = np.append(-np.ones(n_samples), np.zeros(n_features))
        equations = np.block([[(X * y[:, None]).T, -np.eye(n_features)], [y, np.zeros(n_features)]])
        bounds = [*((0.0, upper) for upper in C * self.weight), *([(-1.0, 1.0)] * n_features)]
        result = linprog(
            cost,
            A_eq=equations,
            b_eq=np.zeros(n_features + 1),
            bounds=bounds,
            method="highs",
            options={"presolve": False},  # it removes nothing from a dense program with few rows, and takes half of the time
        )
        if result.status != 0:
            raise RuntimeError(f"HiGHS did not solve the linear program: {result.message} Standardise X or lower C.")
        return np.asarray(-result.eqlin.marginals[:-1])

    def mean_label(self, surface: int) -> float:
        """Loss-weighted mean of the labels: the level of every least-squares fit."""
        return float(self.weight @ self.samples.target.y(surface) / self.weight.sum())

    def surface(self, w: FloatArray, level: float) -> tuple[FloatArray, float]:
        """The full z and the intercept of a surface with b = w and W = 0."""
        z = np.zeros(term_count(self.samples.X.shape[1]))
        z[self.terms] = w
        return z, level - float(self.mean @ w)


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


def moments(data: LinearData, surface: int) -> FloatArray:
    """X' diag(o) y for one of ``Target.surfaces``."""
    return (data.weight * data.samples.target.y(surface)) @ data.X


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


def hard_threshold_admm(
    spectrum: Spectrum, problems: ThresholdProblems, *, max_iter: int, tol: float
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Alternate w = argmin of the augmented Lagrangian, v = hard(w + u, threshold), u = u + w - v, from v = u = 0.

    A row is done when its step is below ``tol`` and the fit on its support, which needs no iterations, is a fixed point. The
    problem is not convex. With a gamma that is small compared with the curvature, rows may cycle: max_iter then stops them at a
    random place, so such a row gets the fit with the lowest objective among the supports that it visited.

    Returns
    -------
    three arrays
        v of each row, its number of iterations, and their last step in units of the threshold.
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
    return v, n_iter, residual


def _lowest_fit(spectrum: Spectrum, problem: ThresholdProblems, supports: Iterable[BoolArray]) -> FloatArray:
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
    v = np.zeros(len(support))
    v[support] = np.linalg.solve(M[np.ix_(support, support)], problem.C[0] * problem.q[0, support])
    return v
