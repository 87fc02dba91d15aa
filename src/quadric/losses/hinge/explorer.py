"""Exchanges for the hinge loss: a smoothed model ranks them, the dual of the present fit bounds them."""

from __future__ import annotations

import numpy as np

from quadric.losses.exploring import RankedExplorer
from quadric.losses.hinge.problem import HingeProblem
from quadric.losses.hinge.step import HingeStep
from quadric.losses.tableau import Tableau
from quadric.types import FloatArray, IntArray

BAND = 0.25
"""Share of the samples, those nearest to their margin, whose loss the model takes as curved."""


class HingeExplorer(RankedExplorer):
    """Model and bound from the multipliers of a refit."""

    def __init__(self, problem: HingeProblem, step: HingeStep) -> None:
        super().__init__(problem, step)
        self.problem = problem
        self._hinge_step = step
        self._last: tuple[IntArray, FloatArray, FloatArray] | None = None

    def dual_tableau(self, support: IntArray) -> Tableau:
        problem, alpha = self.problem, self._refit(support)[1]
        q = (problem.y * alpha) @ problem.A[:, :-1]  # (6.5): valid for every support, since alpha is feasible for all
        tableau = Tableau(problem.G, q, float(alpha.sum()), problem.rule.required)
        tableau.go_to(support)
        return tableau

    def model(self, support: IntArray) -> Tableau:
        """F around the surface of a support as a quadratic: the loss counts as curved near the margin."""
        problem = self.problem
        z, alpha = self._refit(support)
        shortfall = np.abs(1.0 - problem.y * (problem.A @ np.append(z, problem.level(z))))
        width = max(_quantile(shortfall, problem.loss_weight, BAND), 1e-8)
        near = shortfall <= width
        # The hinge has no curvature; a parabola of this width around the kink stands in for it
        theta = problem.C * problem.loss_weight[near] / (2.0 * width)
        A = problem.A[near] * np.sqrt(theta)[:, None]
        curvature = A.T @ A
        # The Schur complement takes out the intercept, as (2.1) does for the squared loss
        R = curvature[:-1, :-1] - np.outer(curvature[-1, :-1], curvature[-1, :-1]) / curvature[-1, -1]
        Q = problem.G + R
        gradient = problem.G @ z - (problem.y * alpha) @ problem.A[:, :-1]
        tableau = Tableau(Q, Q @ z - gradient, 0.0, problem.rule.required)
        tableau.go_to(support)
        return tableau

    def _refit(self, support: IntArray) -> tuple[FloatArray, FloatArray]:
        """z and the multipliers of a support; the last one asked for is kept, since model and bound both need it."""
        if self._last is None or not np.array_equal(self._last[0], support):
            solution = self.step.refit(support)
            self.n_refits += 1
            self._last = (support, solution.z, self._hinge_step.multipliers)
        return self._last[1], self._last[2]


def _quantile(values: FloatArray, weight: FloatArray, share: float) -> float:
    """The quantile of values repeated as often as their weights say, linear between neighbours as in numpy."""
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(weight[order])
    place = share * max(upto[-1] - 1.0, 0.0)
    low, high = (
        values[order[min(np.searchsorted(upto, at, side="right"), len(order) - 1)]]
        for at in (np.floor(place), np.floor(place) + 1.0)
    )
    return float(low + (high - low) * (place - np.floor(place)))
