"""The wanted side of a decision, as surfaces and as the model itself judges it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from quadric.explain._model import Explainable, multiplied
from quadric.geometry.surface import QuadraticSurface
from quadric.types import BoolArray, FloatArray

ROUNDING = 4 * float(np.finfo(float).eps)
"""Decisions closer to the cut-off than this fraction of their absolute terms may depend on how they are evaluated."""


@dataclass(frozen=True)
class WantedDecision:
    """The wanted decision: every surface above ``margin``, judged by the model's own decision function."""

    known: Explainable
    code: int
    surfaces: list[QuadraticSurface]
    cutoff: float
    margin: float

    def excess(self, V: FloatArray) -> FloatArray:
        """How far the model's decision is on the wanted side; with several classes, ahead of the strongest rival."""
        scores = self.known.scores(V)
        if scores.ndim == 1:
            return scores - self.cutoff if self.code == 1 else self.cutoff - scores
        scores = self.known.compared(scores)
        return np.asarray(scores[:, self.code] - np.delete(scores, self.code, axis=1).max(axis=1))

    def reached(self, V: FloatArray) -> BoolArray:
        excess = self.excess(V)
        ties_win = self.code == 0  # f = 0 is the first class, and so is a tie
        return np.asarray(((excess > 0.0) | ((excess == 0.0) & ties_win)) & (excess >= self.margin))

    def rounding(self, U: FloatArray) -> FloatArray:
        """What an answer must be beyond the cut-off, so that it stays an answer however it is evaluated; never zero."""
        sizes = [np.maximum(magnitude(surface, U), np.abs(surface.coordinates()).max()) for surface in self.surfaces]
        return np.maximum(ROUNDING * np.max(sizes, axis=0), np.finfo(float).tiny)


def wanted_decision(known: Explainable, target: Any, cutoff: float | None, margin: float = 0.0) -> WantedDecision:
    """Read what the user wrote."""
    if not (np.isfinite(margin) and margin >= 0.0):
        raise ValueError(f"margin must be a finite number of at least 0, got {margin}")
    code = known.class_code(target)
    turn = known.cutoff(cutoff)
    if len(known.surfaces) == 1:
        surface = known.surfaces[0]
        above = QuadraticSurface(surface.W, surface.b, surface.c - turn)
        return WantedDecision(known, code, [above if code == 1 else multiplied(above, -1.0)], turn, margin)
    others = list(known.rivals())
    own = others.pop(code)
    return WantedDecision(known, code, [_difference(own, other) for other in others], turn, margin)


def _difference(first: QuadraticSurface, second: QuadraticSurface) -> QuadraticSurface:
    return QuadraticSurface(first.W - second.W, first.b - second.b, first.c - second.c)


def magnitude(surface: QuadraticSurface, U: FloatArray) -> FloatArray:
    """Sum of the absolute terms of f: rounding of f is this times a few units in the last place."""
    U = np.abs(U)
    return np.asarray(np.sum(U * (0.5 * (U @ np.abs(surface.W)) + np.abs(surface.b)), axis=1) + abs(surface.c))
