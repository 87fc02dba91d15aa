"""What every z-step solver offers to the decomposition."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from quadric.problem import SparseProblem
from quadric.types import FloatArray, IntArray


@dataclass(frozen=True)
class StepSolution:
    """Minimiser of one convex subproblem.

    Attributes
    ----------
    z, c : array of shape (p,), float
    value : float
        Minimum reached: F plus the penalty, if there is one.
    residual : float
        Largest violation of the subproblem's optimality conditions that the solver allowed.
    """

    z: FloatArray
    c: float
    value: float
    residual: float


class Step(ABC):
    """Exact solver of the convex subproblems of one problem; warm starts are its own affair, k is none of its business."""

    @classmethod
    @abstractmethod
    def of(cls, problem: SparseProblem) -> Step:
        """Set the solver up for a problem."""

    @abstractmethod
    def sweep(self, u: FloatArray, rho: float) -> StepSolution:
        """argmin over (z, c) of F(z, c) + rho/2 ||z - u||^2."""

    @abstractmethod
    def fixed_point(self, support: IntArray, rho: float) -> StepSolution:
        """argmin over (z, c) of F(z, c) + rho/2 ||z_N||^2 with N the complement of ``support``.

        Where sweeps end that keep choosing ``support``: u = z on it, u = 0 off it (docs/mathematics.md, section 4).
        """

    @abstractmethod
    def refit(self, support: IntArray) -> StepSolution:
        """argmin of F over (z, c) with z = 0 off ``support``."""
