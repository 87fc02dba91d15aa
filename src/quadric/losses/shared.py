"""One list of terms for all classes: minimise the sum of F over classes with one support (docs/mathematics.md, section 13).

A ``SharedProblem`` stands in for the problem of one surface, so that searches need not know of it. z then has a column for each
class, and c an entry. All classes have the same samples and weights, hence the same regulariser and, for the squared loss, the
same matrix; what is known of exchanges and bounds adds up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from quadric.errors import ParameterError
from quadric.geometry.cuts import Cuts
from quadric.geometry.energy import Energy
from quadric.geometry.surface import QuadraticSurface
from quadric.losses.base import Loss, RuledSolution, SparseProblem, Step, StepSolution, TrainingData
from quadric.losses.dual import DualStep
from quadric.losses.least_squares.problem import LeastSquaresProblem, promising_terms, summed_quadratic
from quadric.types import FloatArray, IntArray


def problem_of(data: TrainingData, surfaces: Sequence[int], C: float, k: int) -> SparseProblem:
    """The problem of one surface or, with one list of terms for all of them, of several."""
    problems = tuple(data.problem_for(surface, C, k) for surface in surfaces)
    return problems[0] if len(problems) == 1 else SharedProblem.of(problems)


@dataclass(frozen=True, kw_only=True)
class SharedProblem(SparseProblem):
    """The sum of the problems of several classes.

    Attributes
    ----------
    classes : tuple of SparseProblem
        On the same samples, with the same candidates and the same C.
    """

    classes: tuple[SparseProblem, ...]

    @staticmethod
    def of(classes: tuple[SparseProblem, ...]) -> SharedProblem:
        first = classes[0]
        if first.is_wide:
            raise ParameterError(
                f'with {first.n_terms} terms to choose from, each class needs a list of its own: set multiclass="ovr", or '
                "leave columns out",
                multiclass="ovr",
            )
        own = {name: getattr(first, name) for name in ("C", "k", "n_features", "terms", "scatter_trace", "rule")}
        return SharedProblem(classes=classes, **own)

    @property
    def loss(self) -> Loss:
        return self.classes[0].loss

    @property
    def parts(self) -> tuple[SparseProblem, ...]:
        return self.classes

    @property
    def z_shape(self) -> tuple[int, ...]:
        return self.n_terms, len(self.classes)

    @property
    def regulariser(self) -> Energy | None:
        return self.classes[0].regulariser

    @property
    def energy_trace(self) -> float:
        return self.classes[0].energy_trace

    def objective(self, z: FloatArray, c: Any) -> float:
        return sum(part.objective(*own) for part, *own in zip(self.classes, z.T, c, strict=True))

    def intercept(self, z: FloatArray) -> Any:
        return np.array([part.intercept(own) for part, own in zip(self.classes, z.T, strict=True)])

    def screen(self) -> SparseProblem | None:
        screens = [screen for part in self.classes if (screen := part.screen()) is not None]
        return SharedProblem.of(tuple(screens)) if screens else None

    def promising(self, n_terms: int, support: IntArray | None = None) -> SparseProblem:
        first = self.classes[0]
        if not isinstance(first, LeastSquaresProblem) or n_terms >= self.n_terms:
            return self
        q = summed_quadratic(self)[1]
        chosen = promising_terms(first.curvature.row, first.curvature.diagonal, q, self.k, self.rule, n_terms)
        candidates = self.rule.closed(chosen if support is None else np.union1d(chosen, support))
        parts = (part.among(candidates) for part in self.classes if isinstance(part, LeastSquaresProblem))
        few = tuple(part for part in parts if part is not None)
        return SharedProblem.of(few) if few else self  # a rule that needs all candidates leaves none

    def with_k(self, k: int) -> Self:
        return replace(self, k=min(k, self.n_terms), classes=tuple(part.with_k(k) for part in self.classes))

    def step(self) -> Step:
        return SharedStep([part.step() for part in self.classes])

    def surfaces(self, z: FloatArray, c: Any) -> list[QuadraticSurface]:
        return [surface for part, *own in zip(self.classes, z.T, c, strict=True) for surface in part.surfaces(*own)]


class SharedStep(Step):
    """The solvers of all classes, one after the other: without the support, their problems have nothing in common.

    Parameters
    ----------
    steps : sequence of Step
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = tuple(steps)

    @property
    def parts(self) -> tuple[Step, ...]:
        return self._steps

    def sweep(self, u: FloatArray, rho: float) -> StepSolution:
        return _joined([step.sweep(np.ascontiguousarray(own), rho) for step, own in zip(self._steps, u.T, strict=True)])

    def fixed_point(self, support: IntArray, rho: float) -> StepSolution:
        return _joined([step.fixed_point(support, rho) for step in self._steps])

    def refit(self, support: IntArray) -> StepSolution:
        return _joined([step.refit(support) for step in self._steps])

    def refit_under(self, support: IntArray, cuts: Cuts) -> RuledSolution:
        raise NotImplementedError("a cut is one on the coefficients of a single class")

    def bracket(self, support: IntArray) -> tuple[float, float]:
        return self.bracket_below(support, np.inf, np.zeros(len(self._steps)))

    def bracket_below(self, support: IntArray, ceiling: float, least: FloatArray) -> tuple[float, float]:
        """The same until the bound reaches a ceiling of the sum; the value is then infinite.

        Parameters
        ----------
        support : array
        ceiling : float
        least : array of shape (n_classes,)
            What each class is known not to be below on the support.
        """
        least, value = least.copy(), 0.0
        for i, step in enumerate(self._steps):
            others = float(least.sum() - least[i])
            if isinstance(step, DualStep) and step.exceeds(support, ceiling - others):
                return np.inf, ceiling
            own, least[i] = step.bracket(support)
            value += own
            if least.sum() >= ceiling:
                return np.inf, float(least.sum())
        return value, float(least.sum())


def _joined(solutions: Sequence[StepSolution]) -> StepSolution:
    c: Any = np.array([solution.c for solution in solutions])
    z, value = np.column_stack([solution.z for solution in solutions]), sum(solution.value for solution in solutions)
    return StepSolution(z, c, value, max(solution.residual for solution in solutions))
