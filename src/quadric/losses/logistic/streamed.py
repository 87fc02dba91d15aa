"""The logistic loss over rows that need not fit in memory: Newton's method, one pass per step.

Every row bends the loss, so none can be collapsed. A pass gives value, gradient, curvature and a dual point at once. Exchanges
start from the quadratic around the fit, whose curvature towards all terms takes one pass; many of them share each further pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from quadric.losses.columns import ColumnTableau
from quadric.losses.logistic.newton import FLAT, ON_FEW_TERMS, Factor, LogisticQP, minimise
from quadric.losses.logistic.problem import STEEPNESS, LogisticProblem
from quadric.losses.logistic.sums import CrossAt, CrossSums, FitAt, ManyAt, SideSums, SurfaceSums
from quadric.losses.row_stream import Descent, RowStream, energies
from quadric.losses.streams import DualPoint, StreamedFit, Trial, moved
from quadric.types import FloatArray, IntArray

TOGETHER = 64
"""Exchanges that share a pass."""
QUICK_ROUNDS, ROUNDS = 2, 3
"""Steps of an exchange by the curvature of the fit, and then, from the start again, by that of its own surfaces."""
UNIT = 64.0 * float(np.finfo(float).eps)
"""Error of an entropy, as a share of the largest possible."""


@dataclass(frozen=True)
class _Way:
    """Where an exchange begins, and the curvature that its steps are taken by."""

    start: FloatArray
    curvature: Factor


class LogisticStream(RowStream):
    """Fits and exchanges by Newton's method."""

    loss_name = "logistic"
    problem = LogisticProblem
    steepest = STEEPNESS
    _around: tuple[StreamedFit, SurfaceSums, CrossSums] | None = None

    @property
    def scale(self) -> float:
        """K = 8C."""
        return STEEPNESS * self.C

    def fit(
        self, support: IntArray, start: FloatArray | None = None, ceiling: float = np.inf, *, exact: bool = False
    ) -> StreamedFit:
        w = self._sampled(support) if start is None else start
        return _NewtonDescent(self, support, ceiling, exact).run(w)

    def examine(self, fit: StreamedFit, supports: Sequence[IntArray], ceiling: float) -> list[Trial]:
        ways = [self._predicted(fit, support) for support in supports]
        trials = [Trial(support, way.start, -np.inf, np.inf) for support, way in zip(supports, ways, strict=True)]
        for number in range(QUICK_ROUNDS + ROUNDS):
            unknown = [i for i, trial in enumerate(trials) if trial.bound < ceiling <= trial.value]
            if number == QUICK_ROUNDS:  # where a term leaves that matters, the old curvature may be too small
                for i in unknown:
                    trials[i] = replace(trials[i], w=ways[i].start)
            for first in range(0, len(unknown), TOGETHER):
                if not self.passes.going():
                    return trials
                chosen = unknown[first : first + TOGETHER]
                curvatures = [ways[i].curvature for i in chosen] if number < QUICK_ROUNDS else None
                for i, trial in zip(chosen, self._advanced([trials[i] for i in chosen], curvatures), strict=True):
                    trials[i] = trial
        return trials

    def model(self, fit: StreamedFit) -> ColumnTableau:
        _, at, around = self._curvature_around(fit)
        z, K, G = fit.w[:-1], self.scale, self.G
        # The Schur complement takes out the intercept
        across = around.cross[-1] * np.sqrt(K / at.spread[-1, -1])
        rows = G[fit.support] + K * around.cross[:-1] - np.outer(across[fit.support], across)
        diagonal = np.diag(G) + K * around.squares - across**2
        q = K * (z @ around.cross[:-1] + _signed(at.sides)[0]) - across * float(across[fit.support] @ z)
        return ColumnTableau(lambda _: rows, diagonal, q, 0.0, self.rule.required, fit.support)

    def newton_step(self, support: IntArray, gradient: FloatArray, spread: FloatArray) -> FloatArray:
        """From the gradient and A' diag(o t (1 - t)) A at a surface."""
        return -self._factor(support, spread).solve(gradient)

    def _factor(self, support: IntArray, spread: FloatArray) -> Factor:
        return Factor.of(self.G_on(support), self.scale * spread, self._flattest)

    def gradient(self, support: IntArray, w: FloatArray, pull: FloatArray, imbalance: float) -> FloatArray:
        """Of F, from R'(y t) on the support and the sum of y t."""
        return np.append(self.G_on(support) @ w[:-1], 0.0) - self.scale * np.append(pull, imbalance)

    def dual_on(self, sides: SideSums) -> tuple[float, FloatArray]:
        """A bound's constant, and R'(y alpha) on the terms of the sums."""
        entropy, pull = sides.dual()
        return self.scale * (entropy - UNIT * float(self.survey.side_weights.sum())), self.scale * pull

    @property
    def _flattest(self) -> float:
        return FLAT * self.scale * float(self.survey.side_weights.sum())

    def _sampled(self, support: IntArray) -> FloatArray:
        """The best surface for the random rows."""
        rows, zero = self.survey.sample, np.zeros(len(support) + 1)
        qp = LogisticQP(self.sample_rows(support).T, rows.y, self.scale * rows.weight, self.G_on(support), zero)
        return minimise(qp, zero, ON_FEW_TERMS).w

    def _advanced(self, trials: Sequence[Trial], curvatures: Sequence[Factor] | None) -> list[Trial]:
        """A pass: values and bounds of some trials, and their next surfaces, by given curvatures or their own."""
        union = np.unique(np.concatenate([trial.support for trial in trials]))
        places = tuple(np.searchsorted(union, trial.support) for trial in trials)
        surfaces = np.zeros((len(trials), len(union) + 1))
        for row, mine, trial in zip(surfaces, places, trials, strict=True):
            row[mine], row[-1] = trial.w[:-1], trial.w[-1]
        wanted = places if curvatures is None else ()
        sums = self.passes.total(ManyAt(self.positive, self.middle, self.terms[union], surfaces, wanted))
        if curvatures is None:
            both = zip(trials, sums.spreads, strict=True)
            curvatures = [self._factor(trial.support, spread) for trial, spread in both]
        return [
            self._next(trial, float(sums.losses[i]), sums.sides(i, places[i]), curvatures[i]) for i, trial in enumerate(trials)
        ]

    def _next(self, trial: Trial, loss: float, sides: SideSums, curvature: Factor) -> Trial:
        support, w = trial.support, trial.w
        value = float(energies(self.G_on(support), w[None])[0]) + self.scale * loss
        bound = max(trial.bound, self.bound_on(support, *self.dual_on(sides)))
        gradient = self.gradient(support, w, *_signed(sides))
        return Trial(support, w - curvature.solve(gradient), bound, min(value, trial.value))

    def _predicted(self, fit: StreamedFit, support: IntArray) -> _Way:
        """The minimum on another support of the quadratic around a fit; new terms bend it as if they stood alone."""
        _, at, around = self._curvature_around(fit)
        w = moved(fit.w, fit.support, support)
        _, mine, theirs = np.intersect1d(fit.support, support, return_indices=True)
        new = np.setdiff1d(np.arange(len(support)), theirs)
        H = np.zeros((len(support) + 1,) * 2)
        inner, outer, terms = np.append(theirs, len(support)), np.append(mine, len(fit.support)), support[new]
        H[np.ix_(inner, inner)] = at.spread[np.ix_(outer, outer)]
        H[np.ix_(inner, new)] = around.cross[np.ix_(outer, terms)]
        H[np.ix_(new, inner)] = H[np.ix_(inner, new)].T
        H[new, new] = around.squares[terms]
        pull, imbalance = _signed(at.sides)
        # the gradient at w: that of the loss at the fit, and what its coefficients that leave have bent
        gone = np.setdiff1d(np.arange(len(fit.support)), mine)
        bent = np.empty(len(support) + 1)
        bent[inner] = at.spread[np.ix_(outer, gone)] @ fit.w[gone]
        bent[new] = fit.w[gone] @ around.cross[np.ix_(gone, terms)]
        gradient = self.gradient(support, w, pull[support] + bent[:-1], imbalance + float(bent[-1]))
        curvature = self._factor(support, H)
        return _Way(w - curvature.solve(gradient), curvature)

    def _curvature_around(self, fit: StreamedFit) -> tuple[StreamedFit, SurfaceSums, CrossSums]:
        """By two passes, for all exchanges of a fit."""
        if self._around is not None and self._around[0] is fit:
            return self._around
        terms = self.terms[fit.support]
        at = self.passes.total(FitAt(self.positive, self.middle, terms, fit.w[None])).at
        at = SurfaceSums(at.loss, SideSums(at.sides.pull[:, self.terms], at.sides.scalars), at.spread)
        self._around = (fit, at, self.passes.total(CrossAt(self.positive, self.middle, terms, fit.w, self.terms)))
        return self._around


class _NewtonDescent(Descent[LogisticStream, SurfaceSums]):
    def look(self, trials: FloatArray) -> tuple[FloatArray, SurfaceSums]:
        stream = self.stream
        sums = stream.passes.total(FitAt(stream.positive, stream.middle, self.terms, trials))
        pull = sums.at.sides.pull[:, stream.terms]
        view = SurfaceSums(sums.at.loss, SideSums(pull, sums.at.sides.scalars), sums.at.spread)
        self.offer(DualPoint(*stream.dual_on(view.sides)))
        return stream.scale * np.append(sums.at.loss, sums.losses), view

    def step(self, view: SurfaceSums, w: FloatArray) -> tuple[FloatArray, float]:
        assert self.best is not None
        pull, imbalance = _signed(view.sides)
        gradient = self.stream.gradient(self.support, w, pull[self.support], imbalance)
        step = self.stream.newton_step(self.support, gradient, view.spread)
        return w + step, self.best[0] + 0.5 * float(gradient @ step)


def _signed(sides: SideSums) -> tuple[FloatArray, float]:
    """R'(y t) and the sum of y t."""
    return sides.pull[1] - sides.pull[0], float(sides.scalars[1, 0] - sides.scalars[0, 0])
