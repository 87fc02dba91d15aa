"""When a level, a flag or a product has too few rows to learn from."""

from __future__ import annotations

from typing import Any

FEWEST_ROWS = 10
"""A feature or a product that is not zero in fewer rows is left out."""
FEW_ROWS, FEW_SHARE = 100, 0.01
"""So is a level or a flag with fewer rows that are also a smaller share."""


def is_rare(count: Any, n_rows: float) -> Any:
    """Whether a level, or the missing values of a column, have too few rows to be a feature.

    Parameters
    ----------
    count : int or array
        Rows of it.
    n_rows : int or float
        All rows.

    Returns
    -------
    bool, or array of bool
    """
    return (count < FEWEST_ROWS) | ((count < FEW_ROWS) & (count < FEW_SHARE * n_rows))
