"""The one place where a status becomes a warning."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning

from quadric.certificate import Certificate
from quadric.search.decomposition import Decomposition, Schedule, Status

STATIONARITY_TOLERANCE = 1e-6
"""Residual of the certificate that is worth a warning."""
REMEDIES = {Status.ITERATION_LIMIT: "max_iter", Status.TIME_LIMIT: "time_limit"}


def warn_unless_converged(result: Decomposition, certificate: Certificate, schedule: Schedule, subject: str) -> None:
    """Say which residual is too large, its value, its tolerance and the parameter to change."""
    if result.status in REMEDIES:
        parameter = REMEDIES[result.status]
        _warn(
            f"{subject}: the decomposition stopped at its {result.status} ({parameter}={getattr(schedule, parameter)}) with "
            f"max|z - u| = {result.distance:.2g} above outer_tol = {schedule.outer_tol:g}; raise {parameter}"
        )
    if not certificate.stationarity <= STATIONARITY_TOLERANCE:
        _warn(
            f"{subject}: the optimality conditions hold only to stationarity = {certificate.stationarity:.2g}, above "
            f"{STATIONARITY_TOLERANCE:g}; standardise X or lower C"
        )


def _warn(message: str) -> None:
    warnings.warn(message, ConvergenceWarning, stacklevel=5)
