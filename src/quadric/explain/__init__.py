"""Exact explanations of fitted surfaces: contributions, Shapley values, reason codes, recourse, stability of terms."""

from quadric.explain.contributions import Contributions, contributions
from quadric.explain.reasons import ReasonCodes, reason_codes
from quadric.explain.recourse import Recourse, recourse
from quadric.explain.shapley import ShapleyValues, shapley
from quadric.explain.stability import Stability, stability

__all__ = [
    "Contributions",
    "ReasonCodes",
    "Recourse",
    "ShapleyValues",
    "Stability",
    "contributions",
    "reason_codes",
    "recourse",
    "shapley",
    "stability",
]
