"""Optional dependencies: asked for where they are used, and named with the line that installs them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


class MissingExtraError(ImportError):
    """An optional dependency is not installed."""


def require(module: str, extra: str) -> ModuleType:
    """Import an optional dependency.

    Parameters
    ----------
    module : str
        What to import.
    extra : str
        The extra of this package that brings it.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        name = module.partition(".")[0]
        raise MissingExtraError(f"{name} is not installed; install it with: pip install 'quadric[{extra}]'") from error
