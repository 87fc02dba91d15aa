"""The hinge loss over rows that need not fit in memory, exactly: a small problem per pass (losses/hinge/split.py).

From a surface, a pass keeps the rows near their margin and collapses the others. The small problem of these bounds F from
below and touches it at the surface; its minimum is the next surface. Both agree as long as no collapsed row crosses its margin,
so the step to the new surface leads downhill at first. A pass that finds it too long has tried shorter steps, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quadric.geometry.lifting import adjoint_about, lift_about, lift_adjoint
from quadric.losses.hinge.qp import HingeQP, HingeSolution
from quadric.losses.hinge.split import GROUPS, Split, SplitAt
from quadric.losses.hinge.step import solve_hinge
from quadric.losses.streams import GAP, DualPoint, StreamedFit, StreamedProblem
from quadric.types import FloatArray, IntArray

NEAR_SHARE = 0.05
"""Share of the rows that the first pass keeps, or as many as the random sample has."""
NEAR_ROWS = 400_000
"""Rows that a pass keeps, at most."""
SHORTER = np.array([0.5, 0.25, 0.0625])
"""Shorter steps, tried in the same pass."""
WIDER = 2.0
"""Factor on the reach after a step that was too long: more rows crossed their margin than it foresaw."""
MOST_PASSES = 30
ROUNDING = 1e-13
"""Share of F that is not worth another pass, where rounding keeps the bound from it."""


class SmallProblem:
    """Near rows and collapsed rows, on any terms.

    Parameters
    ----------
    split : Split
    C : float
    """

    def __init__(self, split: Split, C: float) -> None:
        rows = split.near.rows() if len(split.near) else None
        self._X = rows.X if rows is not None else np.empty((0, len(split.middle)))
        self._middle = split.middle
        live = split.far.weight > 0.0
        self._far_weight = split.far.weight[live]
        self._far = adjoint_about(split.far.sums[live], split.middle) / self._far_weight[:, None]
        near_y = rows.y if rows is not None else np.empty(0)
        near_weight = np.abs(rows.weight) if rows is not None else np.empty(0)
        self.y = np.concatenate([near_y, np.array([label for label, _ in GROUPS])[live]])
        self.upper = C * np.concatenate([near_weight, self._far_weight])

    def rows(self, terms: IntArray) -> FloatArray:
        """[r(x) - r(middle), 1] on some terms."""
        n_near = len(self._X)
        A = np.empty((len(self.y), len(terms) + 1))
        A[:n_near, :-1] = lift_about(self._X, self._middle, terms)
        A[n_near:, :-1] = self._far[:, terms]
        A[:, -1] = 1.0
        return A

    def qp(self, terms: IntArray, G: FloatArray) -> HingeQP:
        return HingeQP(self.rows(terms), self.y, self.upper, G, np.zeros(len(terms) + 1))

    def guess(self, margins: FloatArray) -> FloatArray:
        """Multipliers by the sides of the rows."""
        return np.where(margins < 1.0, self.upper, 0.0)

    def dual(self, alpha: FloatArray) -> DualPoint:
        """Multipliers as a bound on all terms; the heavier label gives way until both balance."""
        alpha = np.clip(alpha, 0.0, self.upper)
        pulls, totals = [], []
        n_near = len(self._X)
        for label in (-1.0, 1.0):
            mine = np.where(self.y == label, alpha, 0.0)
            near, far = mine[:n_near], mine[n_near:]
            used = np.flatnonzero(near)
            pull = adjoint_about(lift_adjoint(self._X[used] - self._middle, near[used]), self._middle) + far @ self._far
            pulls.append(label * pull)
            totals.append(float(mine.sum()))
        balanced = min(totals)
        factors = [balanced / total if total else 0.0 for total in totals]
        return DualPoint(2.0 * balanced, factors[0] * pulls[0] + factors[1] * pulls[1])


class HingeStream(StreamedProblem):
    """Fits by passes."""

    steepest = 1.0

    def fit(self, support: IntArray, start: FloatArray | None = None) -> StreamedFit:
        return _Descent(self, support, start).run()

    def split(self, support: IntArray, surfaces: FloatArray, reach: float) -> Split:
        """A pass."""
        at = SplitAt(self.positive, self.middle, self.terms[support], surfaces, reach, NEAR_ROWS)
        return self.passes.total(at)

    def small_dual(self, small: SmallProblem, alpha: FloatArray) -> DualPoint:
        dual = small.dual(alpha)
        return DualPoint(dual.constant, dual.pull[self.terms])

    def sample_rows(self, support: IntArray) -> FloatArray:
        """The random rows, lifted."""
        R = lift_about(self.sample.X, self.middle, self.terms[support])
        return np.column_stack([R, np.ones(len(R))])


@dataclass
class _Descent:
    """One fit."""

    stream: HingeStream
    support: IntArray
    start: FloatArray | None

    def __post_init__(self) -> None:
        self.terms = self.stream.terms[self.support]
        self.G = self.stream.G[np.ix_(self.support, self.support)]
        self.best: tuple[float, FloatArray] | None = None
        self.bound, self.dual = -np.inf, DualPoint(0.0, np.zeros(len(self.stream.terms)))

    def run(self) -> StreamedFit:
        stream = self.stream
        w = self._sampled() if self.start is None else self.start
        reach = widest = self._reach(w)
        for _ in range(MOST_PASSES):
            trials = self._trials(w)
            split = stream.split(self.support, trials, reach)
            values = self._energies(trials) + stream.C * split.losses
            if self.best is not None and values[0] > self.best[0]:
                widest *= WIDER
                w, reach = trials[1 + int(np.argmin(values[1:]))], widest
                continue
            self.best = float(values[0]), w
            if self._settled():
                break
            solution, least = self._solve(split, w)
            if self._settled() or self.best[0] - least <= ROUNDING * abs(least):
                break
            reach, w = min(widest, self._movement(solution.w - w)), solution.w
        assert self.best is not None
        value, w = self.best
        return StreamedFit(self.support, w, value, self.bound, self.dual)

    def _settled(self) -> bool:
        return self.best is not None and self.best[0] - self.bound <= GAP * abs(self.best[0])

    def _solve(self, split: Split, w: FloatArray) -> tuple[HingeSolution, float]:
        """The minimum of the small problem, which is no more than that of F."""
        small = SmallProblem(split, self.stream.C)
        qp = small.qp(self.terms, self.G)
        solution = solve_hinge(qp, w, small.guess(qp.margins(w)))
        dual = self.stream.small_dual(small, solution.alpha)
        bound = self.stream.bound(dual, self.support)
        if bound > self.bound:
            self.bound, self.dual = bound, dual
        return solution, qp.value(solution.w, qp.margins(solution.w))

    def _trials(self, w: FloatArray) -> FloatArray:
        if self.best is None:
            return w[None]
        center = self.best[1]
        return np.vstack([w, center + SHORTER[:, None] * (w - center)])

    def _energies(self, surfaces: FloatArray) -> FloatArray:
        Z = surfaces[:, :-1]
        return 0.5 * np.einsum("ij,jk,ik->i", Z, self.G, Z)

    def _sampled(self) -> FloatArray:
        """The best surface for the random rows."""
        rows, A = self.stream.sample, self._sample_rows
        qp = HingeQP(A, rows.y, self.stream.C * rows.weight, self.G, np.zeros(len(self.terms) + 1))
        return solve_hinge(qp, np.zeros(len(self.terms) + 1), None).w

    @cached_property
    def _sample_rows(self) -> FloatArray:
        return self.stream.sample_rows(self.support)

    def _reach(self, w: FloatArray) -> float:
        rows = self.stream.sample
        distance = np.abs(1.0 - rows.y * (self._sample_rows @ w))
        share = max(NEAR_SHARE, len(rows) / self.stream.survey.n_rows)
        return _quantile(distance, rows.weight, share)

    def _movement(self, step: FloatArray) -> float:
        return 2.0 * float(np.quantile(np.abs(self._sample_rows @ step), 0.99))


def _quantile(values: FloatArray, weight: FloatArray, share: float) -> float:
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(weight[order])
    return float(values[order[np.searchsorted(upto, share * upto[-1])]])
