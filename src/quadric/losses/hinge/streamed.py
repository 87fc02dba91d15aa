"""The hinge loss over rows that need not fit in memory, exactly: a small problem per pass (losses/hinge/split.py).

From a surface, a pass keeps the rows near their margin and collapses the others. The small problem of these bounds F from
below and touches it at the surface; its minimum is the next surface. Both agree as long as no collapsed row crosses its margin,
so the step to the new surface leads downhill at first. A pass that finds it too long has tried shorter steps, too.

Small problems bound F on any terms. Exchanges of a term are therefore solved on the rows of one pass; only those whose bound
does not rule them out are looked at with all rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quadric.losses.descent import Descent, energies
from quadric.losses.hinge.entrants import Entrants
from quadric.losses.hinge.interior_point import InteriorPoint
from quadric.losses.hinge.near_problem import NearProblem
from quadric.losses.hinge.qp import HingeQP
from quadric.losses.hinge.split import LossesAt, Split, SplitAt
from quadric.losses.hinge.step import solve_hinge
from quadric.losses.pass_problem import StreamedFit, StreamedProblem, Trial, moved
from quadric.types import BoolArray, FloatArray, IntArray

NEAR_SHARE = 0.05  # share of the rows that the first pass keeps, or as many as the random sample has
NEAR_ROWS = 400_000  # rows that a pass keeps, at most
FEW_ROWS = (2_000, 8_000)  # rows nearest to their margin on which exchanges are solved first
GAPS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)  # relative gaps at which the solution of an exchange is asked for its bound
WARM_SPREAD = 0.05
WIDER = 2.0  # factor on the reach after a step that was too long: more rows crossed their margin than it foresaw
LOOKS, FARTHER = 4, 8.0  # how often rows are looked for at which the loss is no longer flat, and factor on the distance
TOGETHER = 32  # surfaces whose values one pass computes


class HingeStream(StreamedProblem):
    """Fits by passes, exchanges on the rows of one pass."""

    steepest = 1.0
    shared = 0
    _neighbourhood: _Neighbourhood | None = None

    def fit(
        self, support: IntArray, start: FloatArray | None = None, ceiling: float = np.inf, *, exact: bool = False
    ) -> StreamedFit:
        descent = _HingeDescent(self, support, start, ceiling, exact)
        return descent.run(descent.start)

    def examine(self, fit: StreamedFit, supports: Sequence[IntArray], ceiling: float) -> list[Trial]:
        if self._neighbourhood is None or self._neighbourhood.fit is not fit:
            self._neighbourhood = None  # its rows need not stay while others are kept
            self._neighbourhood = _Neighbourhood(self, fit)
        trials = self._neighbourhood.trials(supports, ceiling)
        doubtful = [i for i, trial in enumerate(trials) if trial.bound < ceiling]
        for first in range(0, len(doubtful) if self.passes.going() else 0, TOGETHER):
            chosen = doubtful[first : first + TOGETHER]
            for i, value in zip(chosen, self._values([trials[i] for i in chosen]), strict=True):
                trials[i] = Trial(trials[i].support, trials[i].w, trials[i].bound, float(value))
        return trials

    def split(self, support: IntArray, surfaces: FloatArray, reach: float) -> Split:
        """A pass."""
        return self.passes.total(SplitAt(self.survey.surface, self.middle, self.terms[support], surfaces, reach, NEAR_ROWS))

    def reach(self, support: IntArray, w: FloatArray) -> float:
        """Distance from the margin within which a share of the rows is, by the random ones."""
        rows = self.survey.sample
        distance = np.abs(1.0 - rows.y * (self.sample_rows(support) @ w))
        order = np.argsort(distance, kind="stable")
        upto = np.cumsum(rows.weight[order])
        share = max(NEAR_SHARE, len(rows) / self.survey.n_rows)
        return float(distance[order[min(np.searchsorted(upto, share * upto[-1]), len(order) - 1)]])

    def _values(self, trials: Sequence[Trial]) -> FloatArray:
        """F at several surfaces, by one pass."""
        union = np.unique(np.concatenate([trial.support for trial in trials]))
        surfaces = np.array([moved(trial.w, trial.support, union) for trial in trials])
        losses = self.passes.total(LossesAt(self.survey.surface, self.middle, self.terms[union], surfaces))
        return energies(self.G_on(union), surfaces) + self.C * losses


class _Neighbourhood:
    """The small problem around a fit, and the same with fewer rows, on which other supports are solved."""

    def __init__(self, stream: HingeStream, fit: StreamedFit) -> None:
        self.stream, self.fit = stream, fit
        split = stream.split(fit.support, fit.w[None], stream.reach(fit.support, fit.w))
        sizes = [size for size in FEW_ROWS if size < len(split.near)]
        smalls = [NearProblem(split.narrowed(split.near.reach_of(size)), stream.C) for size in sizes]
        smalls.append(NearProblem(split, stream.C))
        self._levels = [(small, small.rows(stream.terms[fit.support])) for small in smalls]

    def trials(self, supports: Sequence[IntArray], ceiling: float) -> list[Trial]:
        """Those that drop the same term are bounded together first; what that leaves open is solved."""
        above = self._above(supports, ceiling) if ceiling < np.inf else np.zeros(len(supports), dtype=bool)
        start, own = self.fit.w, self.fit.support
        return [
            Trial(support, moved(start, own, support), ceiling, np.inf) if is_above else self._trial(support, ceiling)
            for support, is_above in zip(supports, above, strict=True)
        ]

    def _above(self, supports: Sequence[IntArray], ceiling: float) -> BoolArray:
        """Which supports are proved not to be below a ceiling, by the fewest rows."""
        groups: dict[bytes, list[tuple[int, int]]] = {}  # by the terms that they share: which ones, and what they have besides
        for i, support in enumerate(supports):
            new = np.setdiff1d(support, self.fit.support)
            if len(new):
                groups.setdefault(np.setdiff1d(support, new[-1:]).tobytes(), []).append((i, int(new[-1])))
        above, (small, A), stream = np.zeros(len(supports), dtype=bool), self._levels[0], self.stream
        for key, members in groups.items():
            shared, (places, new) = np.frombuffer(key, dtype=np.intp), np.array(members).T
            qp = small.qp(self._rows(small, A, shared), stream.G_on(shared))
            columns = small.rows(stream.terms[new])[:, :-1]
            entrants = Entrants(qp, columns, stream.G[np.ix_(shared, new)], np.diag(stream.G)[new])
            above[places] = entrants.above(moved(self.fit.w, self.fit.support, shared), ceiling)
        return above

    def _trial(self, support: IntArray, ceiling: float) -> Trial:
        """A support on few rows and, where that leaves it open, on more."""
        w, bound = moved(self.fit.w, self.fit.support, support), -np.inf
        for number, (small, A) in enumerate(self._levels, 1):
            if bound >= ceiling or not self.stream.passes.going():
                break
            interior = InteriorPoint(small.qp(self._rows(small, A, support), self.stream.G_on(support)), w, WARM_SPREAD)
            bound = self._bound(small, interior, support, ceiling, is_last=number == len(self._levels))
            w = interior.w
        return Trial(support, w, bound, np.inf)

    def _bound(self, small: NearProblem, interior: InteriorPoint, support: IntArray, ceiling: float, *, is_last: bool) -> float:
        """By as many steps as put it above the ceiling; or, unless these rows are the last, show that they will not."""
        bound, qp = -np.inf, interior.qp
        for gap in GAPS:
            advancing, alpha = interior.advance(gap), small.balanced(interior.alpha)
            bound = max(bound, self.stream.bound_on(support, float(alpha.sum()), (small.y * alpha) @ qp.A[:, :-1]))
            hopeless = not is_last and qp.value(interior.w, interior.margins) < ceiling
            if bound >= ceiling or hopeless or not advancing:
                break
        return bound

    def _rows(self, small: NearProblem, old: FloatArray, support: IntArray) -> FloatArray:
        """Lifted on a support: only the terms that the fit does not have are lifted anew."""
        _, mine, theirs = np.intersect1d(self.fit.support, support, return_indices=True)
        new = np.setdiff1d(np.arange(len(support)), theirs)
        A = np.empty((len(old), len(support) + 1))
        A[:, theirs], A[:, -1] = old[:, mine], 1.0
        A[:, new] = small.rows(self.stream.terms[support[new]])[:, :-1]
        return A


class _HingeDescent(Descent["HingeStream", Split]):
    """The minimum of the small problem of each pass is the next surface."""

    def __init__(self, stream: HingeStream, support: IntArray, start: FloatArray | None, ceiling: float, exact: bool) -> None:
        super().__init__(stream, support, ceiling, exact)
        self.start = self._sampled() if start is None else start
        self._reach = self._widest = stream.reach(support, self.start)

    def look(self, trials: FloatArray) -> tuple[FloatArray, Split]:
        split = self.stream.split(self.support, trials, self._reach)
        return self.stream.C * split.losses, split

    def step(self, view: Split, w: FloatArray) -> tuple[FloatArray, float]:
        small = NearProblem(view, self.stream.C)
        qp = small.qp(small.rows(self.terms), self.G)
        # the sides of the rows suggest their multipliers
        solution = solve_hinge(qp, w, np.where(qp.margins(w) < 1.0, small.upper, 0.0))
        constant, pull = small.dual(solution.alpha)
        self.offer(constant, pull[self.stream.terms])
        # rows that the next step does not move beyond their margin need not be kept
        movements = np.abs(self.sample_rows @ (solution.w - w))
        movement = 4.0 * movements.max() if self.exact else 2.0 * np.quantile(movements, 0.99)
        self._reach = min(self._widest, float(movement))
        return solution.w, qp.value(solution.w, qp.margins(solution.w))

    def shorten(self) -> None:
        self._widest *= WIDER
        self._reach = self._widest

    def settled(self, w: FloatArray) -> FloatArray:
        """The middle of the levels with the lowest loss, as in memory; where it is flat, the next rows are looked for."""
        view, reach = self.view, self.stream.reach(self.support, w)
        assert view is not None
        for _ in range(LOOKS):
            low, high = view.lowest_levels()
            if np.isfinite(low) and np.isfinite(high):
                return np.append(w[:-1], w[-1] + 0.5 * (low + high))
            view, reach = self.stream.split(self.support, w[None], reach), FARTHER * reach
        return w

    def _sampled(self) -> FloatArray:
        """The best surface for the random rows."""
        rows, zero = self.stream.survey.sample, np.zeros(len(self.terms) + 1)
        return solve_hinge(HingeQP(self.sample_rows, rows.y, self.stream.C * rows.weight, self.G, zero), zero, None).w
