"""What a change costs, in words: the same words and the same figures wherever the page speaks of prices."""

from __future__ import annotations

from quadric.report.numbers import MINUS
from quadric.workflow.scorers import measure_named

# Relative change of an objective that counts as none
NO_CHANGE = 5e-6


def objective_price(change: float, decimals: int, *, is_estimate: bool = False) -> str:
    """A relative change of the objective; nothing where there is hardly any.

    Parameters
    ----------
    change : float
    decimals : int
    is_estimate : bool
        Whether it is that of drafts.
    """
    if abs(change) <= NO_CHANGE:
        return ""
    return f"objective {signed(100 * change, decimals)} %{' (estimate)' if is_estimate else ''}"


def score_price(scoring: str, change: float) -> str:
    """A change of the mean out-of-fold score, where each fold chooses its terms under the same rules.

    Parameters
    ----------
    scoring : str
    change : float
        In the sign of the measure.
    """
    measure = measure_named(scoring)
    factor, unit = (100, " percentage points") if measure.is_share else (1, "")
    return f"{measure.words} {signed(factor * change, 4)}{unit} out of fold"


def signed(value: float, decimals: int) -> str:
    """With its sign, as it is typeset.

    Parameters
    ----------
    value : float
    decimals : int
    """
    return f"{value:+.{decimals}f}".replace("-", MINUS)
