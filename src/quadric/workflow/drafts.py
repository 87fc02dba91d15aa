"""An equation on the bench, and what it makes of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from quadric.credit.metrics import area_and_distance
from quadric.fitted import FittedModel, fitted_model
from quadric.geometry.surface import QuadraticSurface
from quadric.types import FloatArray, IntArray
from quadric.workflow.cv_summary import Figure
from quadric.workflow.options import TrainingOptions


@dataclass(frozen=True, eq=False)
class Draft:
    """An equation, and what it makes of the rows.

    Attributes
    ----------
    options : TrainingOptions
        Which it is an answer to.
    model : Pipeline of coding and classifier, or CalibratedModel of it
    decision : array of shape (m,)
        f of the rows in memory.
    left_out : array of shape (m,) or None
        f of the same rows by folds that leave them out; None: not known yet.
    folds : array of shape (m,) or None
        The fold of each of them.
    """

    options: TrainingOptions
    model: Any
    decision: FloatArray
    left_out: FloatArray | None = None
    folds: IntArray | None = None

    @cached_property
    def view(self) -> FittedModel:
        """The model, taken apart."""
        return fitted_model(self.model)

    @property
    def surface(self) -> QuadraticSurface:
        """In fitted units."""
        return self.view.surfaces[0]

    def measures(self, codes: IntArray) -> dict[str, tuple[Figure, Figure | None]]:
        """Measures by name, on the rows of the fit and out of fold.

        Parameters
        ----------
        codes : array of shape (m,)
            Positions of the rows' classes.

        Returns
        -------
        dict
        """
        fitted = self._measured(codes, self.decision, [np.arange(len(codes))])
        if self.left_out is None or self.folds is None:
            return {name: (figure, None) for name, figure in fitted.items()}
        own = [np.flatnonzero(self.folds == fold) for fold in np.unique(self.folds)]
        beyond = self._measured(codes, self.left_out, [rows for rows in own if len(np.unique(codes[rows])) == 2])
        return {name: (figure, beyond[name]) for name, figure in fitted.items()}

    def _measured(self, codes: IntArray, decision: FloatArray, parts: Sequence[IntArray]) -> dict[str, Figure]:
        labels, chances = self.view.decided(decision)
        curves = [area_and_distance(codes[rows] == 1, decision[rows], np.ones(len(rows))) for rows in parts]
        found = {
            "accuracy": [float(np.mean(labels[rows] == codes[rows])) for rows in parts],
            "roc_auc": [area for area, _ in curves],
            "ks": [distance for _, distance in curves],
        }
        if chances is not None:
            own = -np.log(np.maximum(chances[np.arange(len(codes)), codes], np.finfo(float).eps))
            found["log_loss"] = [float(own[rows].mean()) for rows in parts]
        return {name: Figure.of(np.array(values)) for name, values in found.items()}

    def confusion(self, codes: IntArray) -> IntArray:
        """Rows by class and by label, (2, 2): out of fold where that is known.

        Parameters
        ----------
        codes : array of shape (m,)

        Returns
        -------
        array of shape (2, 2)
        """
        labels, _ = self.view.decided(self.decision if self.left_out is None else self.left_out)
        return np.bincount(2 * codes + labels, minlength=4).reshape(2, 2)
