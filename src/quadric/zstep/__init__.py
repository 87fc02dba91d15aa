"""min over (z, c) with u fixed: one exact solver a loss."""

from __future__ import annotations

from quadric.problem import SparseProblem
from quadric.zstep.hinge import HingeStep
from quadric.zstep.least_squares import LeastSquaresStep
from quadric.zstep.step import Step, StepSolution

STEPS: dict[str, type[Step]] = {"hinge": HingeStep, "least_squares": LeastSquaresStep}


def step_for(problem: SparseProblem) -> Step:
    """The z-step solver of a problem's loss."""
    return STEPS[problem.loss].of(problem)


__all__ = ["STEPS", "HingeStep", "LeastSquaresStep", "Step", "StepSolution", "step_for"]
