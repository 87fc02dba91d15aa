"""Errors and warnings that more than one room raises; errors name the parameters that would help, for the command line too."""

from __future__ import annotations


class ParameterError(ValueError):
    """Something was refused that another value of a parameter would allow.

    Parameters
    ----------
    message : str
        What is wrong and what to do, in the words of the library.
    **remedies : str or None
        Parameters to change, each with a value to try where there is one.
    """

    def __init__(self, message: str, **remedies: str | None) -> None:
        super().__init__(message)
        self.remedies = remedies


class BoundWarning(UserWarning):
    """A lower bound came out above an objective that was reached: one of the two is wrong, and the bound was dropped."""
