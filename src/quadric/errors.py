"""Errors that say which parameters would help, so that the command line can name its own options."""

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


class MemoryLimitError(ParameterError, MemoryError):
    """A fit was refused before it began: it would need more memory than there is."""
