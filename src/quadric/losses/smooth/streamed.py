"""A smooth loss over rows that need not fit in memory: Newton's method, one pass per step.

Every row bends the loss, so none can be collapsed. A pass gives value, gradient, curvature and a dual point at once. Exchanges
start from the quadratic around the fit, whose curvature towards all terms takes one pass; many of them share each further pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from quadric.losses.columns import ColumnTableau
from quadric.losses.descent import Descent, energies
from quadric.losses.pass_problem import StreamedFit, StreamedProblem, Trial, moved
from quadric.losses.smooth.newton import FLAT, ON_FEW_TERMS, Factor, Newton, SmoothQP
from quadric.losses.smooth.problem import SmoothProblem
from quadric.losses.smooth.sums import CrossAt, FitAt, SurfacesAt, SurfaceSums
from quadric.types import FloatArray, IntArray

TOGETHER = 64  # exchanges that share a pass
# Steps of an exchange by the curvature of the fit, and then, from the start again, by that of its own surfaces
QUICK_ROUNDS, ROUNDS = 2, 3
UNIT = 64.0 * float(np.finfo(float).eps)  # error of a conjugate, as a share of the largest possible


class SmoothStream(StreamedProblem):
    """Fits and exchanges by Newton's method."""

    problem: type[SmoothProblem]
    _around: tuple[StreamedFit, SurfaceSums, FloatArray] | None = None

    @property
    def steepest(self) -> float:  # type: ignore[override]
        return self.problem.formulas.scale * self.problem.formulas.steepest

    @property
    def scale(self) -> float:
        """The unit of all sums: C times the scale of the formulas."""
        return self.problem.formulas.scale * self.C

    def fit(
        self, support: IntArray, start: FloatArray | None = None, ceiling: float = np.inf, *, exact: bool = False
    ) -> StreamedFit:
        w = self._sampled(support) if start is None else start
        return _NewtonDescent(self, support, ceiling, exact).run(w)

    def examine(self, fit: StreamedFit, supports: Sequence[IntArray], ceiling: float) -> list[Trial]:
        ways = [self._predicted(fit, support) for support in supports]
        trials = [Trial(support, start, -np.inf, np.inf) for support, (start, _) in zip(supports, ways, strict=True)]
        for number in range(QUICK_ROUNDS + ROUNDS):
            unknown = [i for i, trial in enumerate(trials) if trial.bound < ceiling <= trial.value]
            if number == QUICK_ROUNDS:  # where a term leaves that matters, the old curvature may be too small
                for i in unknown:
                    trials[i] = replace(trials[i], w=ways[i][0])
            for first in range(0, len(unknown), TOGETHER):
                if not self.passes.going():
                    return trials
                chosen = unknown[first : first + TOGETHER]
                curvatures = [ways[i][1] for i in chosen] if number < QUICK_ROUNDS else None
                for i, trial in zip(chosen, self._advanced([trials[i] for i in chosen], curvatures), strict=True):
                    trials[i] = trial
        return trials

    def model(self, fit: StreamedFit) -> ColumnTableau:
        _, at, around = self._curvature_around(fit)
        z, K, G, cross, squares = fit.w[:-1], self.scale, self.G, around[:-2], around[-1]
        # The Schur complement takes out the intercept, whose row of the curvature is the last but one
        across = around[-2] * np.sqrt(K / at.spreads[0][-1, -1])
        rows = G[fit.support] + K * cross - np.outer(across[fit.support], across)
        diagonal = np.diag(G) + K * squares - across**2
        q = K * (z @ cross + at.signed()[0]) - across * float(across[fit.support] @ z)
        return ColumnTableau(lambda _: rows, diagonal, q, 0.0, self.rule.required, fit.support)

    def factor(self, support: IntArray, spread: FloatArray) -> Factor:
        """The curvature of F on a support, from A' diag(o bend) A."""
        return Factor.of(self.G_on(support), self.scale * spread, FLAT * self.scale * sum(self.survey.side_weights))

    def gradient(self, support: IntArray, w: FloatArray, pull: FloatArray, imbalance: float) -> FloatArray:
        """Of F, from R'(y t) on the support and the sum of y t."""
        return np.append(self.G_on(support) @ w[:-1], 0.0) - self.scale * np.append(pull, imbalance)

    def dual_on(self, sums: SurfaceSums) -> tuple[float, FloatArray]:
        """A bound's constant, and R'(y alpha) on the terms of the sums."""
        conjugate, pull = sums.dual()
        return self.scale * (conjugate - UNIT * sum(self.survey.side_weights)), self.scale * pull

    def at(self, support: IntArray, surfaces: FloatArray) -> SurfaceSums:
        """A pass: the first surface with its pull on all candidates, and the losses of all."""
        sums = self.passes.total(FitAt(self.problem.formulas, self.survey.surface, self.middle, self.terms[support], surfaces))
        return replace(sums, pull=sums.pull[:, :, self.terms])

    def _sampled(self, support: IntArray) -> FloatArray:
        """The best surface for the random rows."""
        rows, zero = self.survey.sample, np.zeros(len(support) + 1)
        A, weight = self.sample_rows(support).T, self.scale * rows.weight
        qp = SmoothQP(self.problem.formulas, A, rows.y, weight, self.G_on(support), zero)
        return Newton(qp, zero).run(ON_FEW_TERMS).w

    def _advanced(self, trials: Sequence[Trial], curvatures: Sequence[Factor] | None) -> list[Trial]:
        """A pass: values and bounds of some trials, and their next surfaces, by given curvatures or their own."""
        union = np.unique(np.concatenate([trial.support for trial in trials]))
        places = tuple(np.searchsorted(union, trial.support) for trial in trials)
        surfaces = np.array([moved(trial.w, trial.support, union) for trial in trials])
        wanted = places if curvatures is None else ()
        sums = self.passes.total(
            SurfacesAt(self.problem.formulas, self.survey.surface, self.middle, self.terms[union], surfaces, wanted)
        )
        if curvatures is None:
            both = zip(trials, sums.spreads, strict=True)
            curvatures = [self.factor(trial.support, spread) for trial, spread in both]
        return [self._next(trial, sums.on(places[i], i), curvatures[i]) for i, trial in enumerate(trials)]

    def _next(self, trial: Trial, sums: SurfaceSums, curvature: Factor) -> Trial:
        support, w = trial.support, trial.w
        value = float(energies(self.G_on(support), w[None])[0]) + self.scale * float(sums.losses[0])
        bound = max(trial.bound, self.bound_on(support, *self.dual_on(sums)))
        gradient = self.gradient(support, w, *sums.signed())
        return Trial(support, w - curvature.solve(gradient), bound, min(value, trial.value))

    def _predicted(self, fit: StreamedFit, support: IntArray) -> tuple[FloatArray, Factor]:
        """The minimum on another support of the quadratic around a fit, and its curvature; new terms bend as if alone."""
        _, at, around = self._curvature_around(fit)
        cross, squares, spread = around[:-1], around[-1], at.spreads[0]
        w = moved(fit.w, fit.support, support)
        _, mine, theirs = np.intersect1d(fit.support, support, return_indices=True)
        new = np.setdiff1d(np.arange(len(support)), theirs)
        H = np.zeros((len(support) + 1,) * 2)
        inner, outer, terms = np.append(theirs, len(support)), np.append(mine, len(fit.support)), support[new]
        H[np.ix_(inner, inner)] = spread[np.ix_(outer, outer)]
        H[np.ix_(inner, new)] = cross[np.ix_(outer, terms)]
        H[np.ix_(new, inner)] = H[np.ix_(inner, new)].T
        H[new, new] = squares[terms]
        pull, imbalance = at.signed()
        # the gradient at w: that of the loss at the fit, and what its coefficients that leave have bent
        gone = np.setdiff1d(np.arange(len(fit.support)), mine)
        bent = np.empty(len(support) + 1)
        bent[inner] = spread[np.ix_(outer, gone)] @ fit.w[gone]
        bent[new] = fit.w[gone] @ cross[np.ix_(gone, terms)]
        gradient = self.gradient(support, w, pull[support] + bent[:-1], imbalance + float(bent[-1]))
        curvature = self.factor(support, H)
        return w - curvature.solve(gradient), curvature

    def _curvature_around(self, fit: StreamedFit) -> tuple[StreamedFit, SurfaceSums, FloatArray]:
        """By two passes, for all exchanges of a fit."""
        if self._around is None or self._around[0] is not fit:
            at, terms = self.at(fit.support, fit.w[None]), self.terms[fit.support]
            cross = CrossAt(self.problem.formulas, self.survey.surface, self.middle, terms, fit.w[None], (self.terms,))
            self._around = fit, at, self.passes.total(cross)
        return self._around


class _NewtonDescent(Descent[SmoothStream, SurfaceSums]):
    def look(self, trials: FloatArray) -> tuple[FloatArray, SurfaceSums]:
        sums = self.stream.at(self.support, trials)
        self.offer(*self.stream.dual_on(sums))
        return self.stream.scale * sums.losses, sums

    def step(self, view: SurfaceSums, w: FloatArray) -> tuple[FloatArray, float]:
        assert self.best is not None
        pull, imbalance = view.signed()
        gradient = self.stream.gradient(self.support, w, pull[self.support], imbalance)
        step = -self.stream.factor(self.support, view.spreads[0]).solve(gradient)
        return w + step, self.best[0] + 0.5 * float(gradient @ step)
