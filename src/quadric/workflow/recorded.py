"""Figures of a model on rows left out, as its file has them: computed once, when it was fitted, and repeated everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any


@dataclass(frozen=True)
class RecordedFigures:
    """Means over folds.

    Attributes
    ----------
    folds : int
    accuracy, error : float
        Of the model's own labels, with its standard error.
    auc, log_loss : float or None
        None where the file has none: of more than two classes, or of an older fit.
    """

    folds: int
    accuracy: float
    error: float
    auc: float | None
    log_loss: float | None

    @staticmethod
    def of(history: Any) -> RecordedFigures | None:
        """From the history of a model; None where it has no such figures, or none that make sense.

        Parameters
        ----------
        history : Any
            What the file says of the training, with what ``CrossValidated.recorded`` wrote; anybody can write a file.

        Returns
        -------
        RecordedFigures or None
        """
        record = history.get("cross_validation") if isinstance(history, Mapping) else None
        if not isinstance(record, Mapping):
            return None
        folds, accuracy, error = (_number(record.get(name)) for name in ("folds", "accuracy", "standard_error"))
        if folds is None or accuracy is None or error is None or not (folds >= 1 and 0.0 <= accuracy <= 1.0 and error >= 0.0):
            return None
        means = [own.get("mean") if isinstance(own := record.get(name), Mapping) else None for name in ("auc", "log_loss")]
        return RecordedFigures(int(folds), accuracy, error, *map(_number, means))

    @property
    def measures(self) -> dict[str, float]:
        """By the names that a report has for them."""
        gini = None if self.auc is None else 2.0 * self.auc - 1.0
        found = {"Accuracy": self.accuracy, "AUC": self.auc, "Log-loss": self.log_loss, "Gini": gini}
        return {name: value for name, value in found.items() if value is not None}


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    return float(value) if is_number else None
