"""The hinge loss over rows that need not fit in memory, exactly: a small problem per pass (losses/hinge/split.py).

From a surface, a pass keeps the rows near their margin and collapses the others. The small problem of these bounds F from
below and touches it at the surface; its minimum is the next surface. Both agree as long as no collapsed row crosses its margin,
so the step to the new surface leads downhill at first. A pass that finds it too long has tried shorter steps, too.

Small problems bound F on any terms. Exchanges of a term are therefore solved on the rows of one pass; only those whose bound
does not rule them out are looked at with all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quadric.geometry.lifting import lift
from quadric.losses.hinge.interior_point import InteriorPoint
from quadric.losses.hinge.problem import HingeProblem
from quadric.losses.hinge.qp import HingeQP, HingeSolution
from quadric.losses.hinge.small import SmallProblem
from quadric.losses.hinge.split import LossesAt, Split, SplitAt
from quadric.losses.hinge.step import solve_hinge
from quadric.losses.streams import GAP, DualPoint, StreamedFit, StreamedProblem, Trial, moved
from quadric.types import FloatArray, IntArray

NEAR_SHARE = 0.05
"""Share of the rows that the first pass keeps, or as many as the random sample has."""
NEAR_ROWS = 400_000
"""Rows that a pass keeps, at most."""
FEW_ROWS = (2_000, 8_000)
"""Rows nearest to their margin on which exchanges are solved first."""
GAPS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
"""Relative gaps at which the solution of an exchange is asked for its bound."""
WARM_SPREAD = 0.05
SHORTER = np.array([0.5, 0.25, 0.0625])
"""Shorter steps, tried in the same pass."""
WIDER = 2.0
"""Factor on the reach after a step that was too long: more rows crossed their margin than it foresaw."""
MOST_PASSES = 30
ROUNDING = 1e-13
"""Share of F that is not worth another pass, where rounding keeps the bound from it."""
TOGETHER = 32
"""Surfaces whose values one pass computes."""


class HingeStream(StreamedProblem):
    """Fits by passes, exchanges on the rows of one pass."""

    loss_name = "hinge"
    steepest = 1.0
    _neighbourhood: _Neighbourhood | None = None

    def fit(self, support: IntArray, start: FloatArray | None = None, ceiling: float = np.inf) -> StreamedFit:
        return _Descent(self, support, start, ceiling).run()

    def examine(self, fit: StreamedFit, supports: Sequence[IntArray], ceiling: float) -> list[Trial]:
        if self._neighbourhood is None or self._neighbourhood.fit is not fit:
            self._neighbourhood = None  # its rows need not stay while others are kept
            self._neighbourhood = _Neighbourhood(self, fit)
        trials = [self._neighbourhood.trial(support, ceiling) for support in supports]
        doubtful = [i for i, trial in enumerate(trials) if trial.bound < ceiling]
        for first in range(0, len(doubtful), TOGETHER):
            chosen = doubtful[first : first + TOGETHER]
            for i, value in zip(chosen, self._values([trials[i] for i in chosen]), strict=True):
                trials[i] = Trial(trials[i].support, trials[i].w, trials[i].bound, float(value))
        return trials

    def sample_problem(self) -> HingeProblem:
        rows, everything = self.survey.sample, np.arange(len(self.terms))
        return HingeProblem(
            C=self.C,
            k=self.k,
            n_features=len(self.middle),
            terms=self.terms,
            G=self.G,
            scatter_trace=float(np.trace(self.survey.labelled.loss.scatter[np.ix_(self.terms, self.terms)])),
            rule=self.rule,
            A=self.sample_rows(everything),
            center=lift(self.middle[None], self.terms)[0],
            y=rows.y,
            loss_weight=rows.weight,
        )

    def split(self, support: IntArray, surfaces: FloatArray, reach: float) -> Split:
        """A pass."""
        return self.passes.total(SplitAt(self.positive, self.middle, self.terms[support], surfaces, reach, NEAR_ROWS))

    def reach(self, support: IntArray, w: FloatArray) -> float:
        """Distance from the margin within which a share of the rows is, by the random ones."""
        rows = self.survey.sample
        distance = np.abs(1.0 - rows.y * (self.sample_rows(support) @ w))
        order = np.argsort(distance, kind="stable")
        upto = np.cumsum(rows.weight[order])
        share = max(NEAR_SHARE, len(rows) / self.survey.n_rows)
        return float(distance[order[min(np.searchsorted(upto, share * upto[-1]), len(order) - 1)]])

    def dual_of(self, small: SmallProblem, alpha: FloatArray) -> DualPoint:
        """Multipliers of a small problem as those of all rows, on the candidates."""
        constant, pull = small.dual(alpha)
        return DualPoint(constant, pull[self.terms])

    def _values(self, trials: Sequence[Trial]) -> FloatArray:
        """F at several surfaces, by one pass."""
        union = np.unique(np.concatenate([trial.support for trial in trials]))
        surfaces = np.array([moved(trial.w, trial.support, union) for trial in trials])
        losses = self.passes.total(LossesAt(self.positive, self.middle, self.terms[union], surfaces)).losses
        return energies(self.G_on(union), surfaces) + self.C * losses


def energies(G: FloatArray, surfaces: FloatArray) -> FloatArray:
    """1/2 z'Gz of several surfaces."""
    Z = surfaces[:, :-1]
    return np.asarray(0.5 * np.einsum("ij,ij->i", Z @ G, Z))


class _Neighbourhood:
    """The small problem around a fit, and the same with fewer rows, on which other supports are solved."""

    def __init__(self, stream: HingeStream, fit: StreamedFit) -> None:
        self.stream, self.fit = stream, fit
        split = stream.split(fit.support, fit.w[None], stream.reach(fit.support, fit.w))
        sizes = [size for size in FEW_ROWS if size < len(split.near)]
        splits = [split.narrowed(split.near.reach_of(size)) for size in sizes] + [split]
        self._levels = [_Level(stream, fit, SmallProblem(part, stream.C)) for part in splits]

    def trial(self, support: IntArray, ceiling: float) -> Trial:
        """A support on few rows and, where that leaves it open, on more."""
        start = moved(self.fit.w, self.fit.support, support)
        for level in self._levels:
            trial = level.trial(support, start, ceiling, last=level is self._levels[-1])
            if trial.bound >= ceiling:
                break
            start = trial.w
        return trial


class _Level:
    """A small problem with its rows on the support of a fit."""

    def __init__(self, stream: HingeStream, fit: StreamedFit, small: SmallProblem) -> None:
        self.stream, self.small, self.support = stream, small, fit.support
        self.A = small.rows(stream.terms[fit.support])

    def trial(self, support: IntArray, start: FloatArray, ceiling: float, *, last: bool) -> Trial:
        """An interior point, as far as is needed to put the bound above the ceiling; or, unless this is the last level, to see
        that these rows will not.
        """
        interior = InteriorPoint(self._qp(support), start, WARM_SPREAD)
        bound = -np.inf
        for gap in GAPS:
            advancing = interior.advance(gap)
            constant, pull = self.small.dual_on(interior.qp.A[:, :-1], interior.alpha)
            bound = max(bound, self.stream.bound_on(support, constant, pull))
            hopeless = not last and interior.qp.value(interior.w, interior.margins) < ceiling
            if bound >= ceiling or hopeless or not advancing:
                break
        return Trial(support, interior.w, bound, np.inf)

    def _qp(self, support: IntArray) -> HingeQP:
        stream, small = self.stream, self.small
        _, mine, theirs = np.intersect1d(self.support, support, return_indices=True)
        new = np.setdiff1d(np.arange(len(support)), theirs)
        A = np.empty((len(self.A), len(support) + 1))
        A[:, theirs], A[:, -1] = self.A[:, mine], 1.0
        A[:, new] = small.rows(stream.terms[support[new]])[:, :-1]
        return small.qp(A, stream.G_on(support))


@dataclass
class _Descent:
    """One fit."""

    stream: HingeStream
    support: IntArray
    start: FloatArray | None
    ceiling: float

    def __post_init__(self) -> None:
        self.terms = self.stream.terms[self.support]
        self.G = self.stream.G_on(self.support)
        self.best: tuple[float, FloatArray] | None = None
        self.bound, self.dual = -np.inf, DualPoint(0.0, np.zeros(len(self.stream.terms)))

    def run(self) -> StreamedFit:
        stream = self.stream
        w = self._sampled() if self.start is None else self.start
        reach = widest = stream.reach(self.support, w)
        for _ in range(MOST_PASSES):
            trials = self._trials(w)
            split = stream.split(self.support, trials, reach)
            values = energies(self.G, trials) + stream.C * split.losses
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
        assert self.best is not None
        return self.bound >= self.ceiling or self.best[0] - self.bound <= GAP * abs(self.best[0])

    def _solve(self, split: Split, w: FloatArray) -> tuple[HingeSolution, float]:
        """The minimum of the small problem, which is no more than that of F."""
        small = SmallProblem(split, self.stream.C)
        qp = small.qp(small.rows(self.terms), self.G)
        solution = solve_hinge(qp, w, small.guess(qp.margins(w)))
        dual = self.stream.dual_of(small, solution.alpha)
        bound = self.stream.bound(dual, self.support)
        if bound > self.bound:
            self.bound, self.dual = bound, dual
        return solution, qp.value(solution.w, qp.margins(solution.w))

    def _trials(self, w: FloatArray) -> FloatArray:
        if self.best is None:
            return w[None]
        center = self.best[1]
        return np.vstack([w, center + SHORTER[:, None] * (w - center)])

    def _sampled(self) -> FloatArray:
        """The best surface for the random rows."""
        rows, A = self.stream.survey.sample, self._sample_rows
        qp = HingeQP(A, rows.y, self.stream.C * rows.weight, self.G, np.zeros(len(self.terms) + 1))
        return solve_hinge(qp, np.zeros(len(self.terms) + 1), None).w

    @cached_property
    def _sample_rows(self) -> FloatArray:
        return self.stream.sample_rows(self.support)

    def _movement(self, step: FloatArray) -> float:
        return 2.0 * float(np.quantile(np.abs(self._sample_rows @ step), 0.99))
