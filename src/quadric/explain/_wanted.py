"""The wanted side of a decision, as surfaces and as the model itself judges it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from quadric.fitted import FittedModel
from quadric.geometry.surface import QuadraticSurface
from quadric.types import BoolArray, FloatArray

ROUNDING = 4 * float(np.finfo(float).eps)
"""Decisions closer to the cut-off than this fraction of their absolute terms may depend on how they are evaluated."""


@dataclass(frozen=True)
class WantedDecision:
    """The wanted decision: every surface above ``margin``, judged by the model's own decision function."""

    view: FittedModel
    code: int
    surfaces: list[QuadraticSurface]
    cutoff: float
    margin: float

    def excess(self, rows: Any) -> FloatArray:
        """How far the model's decision is on the wanted side; with several classes, ahead of the strongest rival."""
        scores = self.view.decision(rows)
        if scores.ndim == 1:
            return scores - self.cutoff if self.code == 1 else self.cutoff - scores
        scores = self.view.compared(scores)
        return np.asarray(scores[:, self.code] - np.delete(scores, self.code, axis=1).max(axis=1))

    def reached(self, rows: Any) -> BoolArray:
        excess = self.excess(rows)
        ties_win = self.code == 0  # f = 0 is the first class, and so is a tie
        return np.asarray(((excess > 0.0) | ((excess == 0.0) & ties_win)) & (excess >= self.margin))

    def rounding(self, U: FloatArray) -> FloatArray:
        """What an answer must be beyond the cut-off, so that it stays an answer however it is evaluated; never zero."""
        sizes = [np.maximum(surface.magnitude(U), np.abs(surface.coordinates()).max()) for surface in self.surfaces]
        return np.maximum(ROUNDING * np.max(sizes, axis=0), np.finfo(float).tiny)


def wanted_decision(view: FittedModel, target: Any, cutoff: float | None, margin: float = 0.0) -> WantedDecision:
    """Read what the user wrote."""
    if not (np.isfinite(margin) and margin >= 0.0):
        raise ValueError(f"margin must be a finite number of at least 0, got {margin}")
    code = view.class_code(target)
    turn = view.cutoff(cutoff)
    if len(view.surfaces) == 1:
        surface = view.surfaces[0]
        above = surface - turn
        return WantedDecision(view, code, [above if code == 1 else -above], turn, margin)
    others = list(view.rivals())
    own = others.pop(code)
    return WantedDecision(view, code, [own - other for other in others], turn, margin)
