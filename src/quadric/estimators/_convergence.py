"""The one place where a status becomes a warning."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning

from quadric.certificate import TOLERANCE
from quadric.errors import warn_user
from quadric.estimators._base import SurfaceFit
from quadric.search.decomposition import Schedule, Status

REMEDIES = {Status.ITERATION_LIMIT: "max_iter", Status.TIME_LIMIT: "time_limit"}


def warn_unless_converged(fit: SurfaceFit, schedule: Schedule, subject: str) -> None:
    """Say which residual is too large, its value, its tolerance and the parameter to change."""
    proving = fit.certificate.lower_bound is not None  # a proof that ran out of time reports its gap instead
    if fit.search.status in REMEDIES and not proving:
        parameter = REMEDIES[fit.search.status]
        warn_user(
            f"{subject}: the search stopped at its {fit.search.status} ({parameter}={getattr(schedule, parameter)}) with "
            f"max|z - u| = {fit.search.distance:.2g}, outer_tol = {schedule.outer_tol:g}; raise {parameter}",
            ConvergenceWarning,
        )
    elif fit.search.status == Status.PRECISION_LIMIT:
        warn_user(
            f"{subject}: the search stopped where penalties leave the range of floating point, with max|z - u| = "
            f"{fit.search.distance:.2g}, outer_tol = {schedule.outer_tol:g}; standardise X",
            ConvergenceWarning,
        )
    if not fit.certificate.converged and fit.search.status is not Status.TIME_LIMIT:
        decrease = fit.certificate.decrease
        warn_user(
            f"{subject}: for all that is known, the same terms could lower the objective by decrease = {decrease:.2g} of it, "
            f"above {TOLERANCE:g}; standardise X or lower C",
            ConvergenceWarning,
        )
