"""The one place where a status becomes a warning."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning

from quadric.search.decomposition import Decomposition, Schedule, Status

SOLVER_TOLERANCE = 1e-6
"""Violation of the refit's optimality conditions that is worth a warning."""
REMEDIES = {Status.ITERATION_LIMIT: "max_iter", Status.TIME_LIMIT: "time_limit"}


def warn_unless_converged(result: Decomposition, schedule: Schedule, subject: str) -> None:
    """Say which residual is too large, its value, its tolerance and the parameter to change."""
    if result.status is not Status.CONVERGED:
        parameter = REMEDIES[result.status]
        _warn(
            f"{subject}: the decomposition stopped at its {result.status} ({parameter}={getattr(schedule, parameter)}) with "
            f"max|z - u| = {result.distance:.2g} above outer_tol = {schedule.outer_tol:g}; raise {parameter}"
        )
    elif result.residual > SOLVER_TOLERANCE:
        _warn(
            f"{subject}: the refit violates its optimality conditions by {result.residual:.2g}, above {SOLVER_TOLERANCE:g}; "
            "standardise X or lower C"
        )


def _warn(message: str) -> None:
    warnings.warn(message, ConvergenceWarning, stacklevel=5)
