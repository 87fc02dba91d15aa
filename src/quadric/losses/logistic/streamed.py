"""The logistic loss over rows that need not fit in memory: Newton's method, one pass per step.

Every row bends the loss, so none can be collapsed. A pass gives value, gradient, curvature and a dual point at once. Exchanges
start from the quadratic around the fit, whose curvature towards all terms takes one pass; many of them share each further pass.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quadric.losses.columns import ColumnTableau
from quadric.losses.logistic.newton import FLAT, ON_FEW_TERMS, Factor, LogisticQP, minimise
from quadric.losses.logistic.problem import STEEPNESS, LogisticProblem
from quadric.losses.logistic.sums import CrossAt, CrossSums, FitAt, ManyAt, SideSums, SurfaceSums
from quadric.losses.row_stream import Descent, RowStream, energies
from quadric.losses.streams import DualPoint, StreamedFit, Trial, moved
from quadric.types import FloatArray, IntArray

TOGETHER = 16
"""Exchanges that share a pass."""
ROUNDS = 3
"""Newton steps of an exchange."""
UNIT = 64.0 * float(np.finfo(float).eps)
"""Error of an entropy, as a share of the largest possible."""


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
        trials = [Trial(support, self._predicted(fit, support), -np.inf, np.inf) for support in supports]
        for _ in range(ROUNDS):
            unknown = [i for i, trial in enumerate(trials) if trial.bound < ceiling <= trial.value]
            for first in range(0, len(unknown), TOGETHER):
                if not self.passes.going():
                    return trials
                chosen = unknown[first : first + TOGETHER]
                for i, trial in zip(chosen, self._advanced([trials[i] for i in chosen]), strict=True):
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
        return -Factor.of(self.G_on(support), self.scale * spread, self._flattest).solve(gradient)

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

    def _advanced(self, trials: Sequence[Trial]) -> list[Trial]:
        """A pass: values and bounds at the surfaces of some trials, whose next surfaces it gives them where they stay open."""
        union = np.unique(np.concatenate([trial.support for trial in trials]))
        places = tuple(np.searchsorted(union, trial.support) for trial in trials)
        surfaces = tuple(trial.w for trial in trials)
        sums = self.passes.total(ManyAt(self.positive, self.middle, self.terms[union], places, surfaces)).each
        return [self._next(trial, at) for trial, at in zip(trials, sums, strict=True)]

    def _next(self, trial: Trial, at: SurfaceSums) -> Trial:
        support, w = trial.support, trial.w
        value = float(energies(self.G_on(support), w[None])[0]) + self.scale * at.loss
        bound = max(trial.bound, self.bound_on(support, *self.dual_on(at.sides)))
        step = self.newton_step(support, self.gradient(support, w, *_signed(at.sides)), at.spread)
        return Trial(support, w + step, bound, min(value, trial.value))

    def _predicted(self, fit: StreamedFit, support: IntArray) -> FloatArray:
        """The minimum on another support of the quadratic around a fit; where it has no curvature, the fit itself."""
        _, at, around = self._curvature_around(fit)
        w = moved(fit.w, fit.support, support)
        _, mine, theirs = np.intersect1d(fit.support, support, return_indices=True)
        new = np.setdiff1d(np.arange(len(support)), theirs)
        if len(new) != 1:
            return w
        H = np.empty((len(support) + 1,) * 2)
        inner, outer = np.append(theirs, len(support)), np.append(mine, len(fit.support))
        j, term = int(new[0]), int(support[new[0]])
        H[np.ix_(inner, inner)] = at.spread[np.ix_(outer, outer)]
        H[inner, j] = H[j, inner] = around.cross[outer, term]
        H[j, j] = around.squares[term]
        pull, imbalance = _signed(at.sides)
        # the gradient at w: that of the loss at the fit, and what its coefficients that leave have bent
        gone = np.setdiff1d(np.arange(len(fit.support)), mine)
        bent = np.empty(len(support) + 1)
        bent[inner] = at.spread[np.ix_(outer, gone)] @ fit.w[gone]
        bent[j] = float(around.cross[gone, term] @ fit.w[gone])
        gradient = self.gradient(support, w, pull[support] + bent[:-1], imbalance + float(bent[-1]))
        return w + self.newton_step(support, gradient, H)

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
