"""Parameters of the library and the flags that set them: errors of the library name parameters, the command line flags."""

from __future__ import annotations

import shlex

OTHER_NAMES = {"cross_validate": "--cv", "n_jobs": "--jobs", "folder": "--output"}


def flag(parameter: str) -> str:
    """The flag that sets a parameter."""
    return OTHER_NAMES.get(parameter) or f"--{parameter.replace('_', '-')}"


def with_flags(problem: BaseException) -> str:
    """What an error or a warning says, followed by the flags that would help."""
    remedies = getattr(problem, "remedies", {})
    flags = ", ".join(f"{flag(name)} {shlex.quote(value)}" if value else flag(name) for name, value in remedies.items())
    return f"{problem} ({flags})" if flags else str(problem)
