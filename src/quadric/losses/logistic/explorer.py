"""Exchanges for the logistic loss: ranked by the quadratic of iteratively reweighted least squares."""

from __future__ import annotations

from quadric.losses.ranked import RankedExplorer
from quadric.types import FloatArray


class LogisticExplorer(RankedExplorer):
    """The loss is as curved as it is at the fit."""

    def curvature(self, z: FloatArray, alpha: FloatArray) -> FloatArray:
        return alpha * (1.0 - alpha / self.problem.upper)
