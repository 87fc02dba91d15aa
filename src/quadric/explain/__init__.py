"""Exact explanations of fitted surfaces: contributions, Shapley values, reason codes, recourse, stability of terms."""

from quadric.explain.attributions import ShapleyValues, TermContributions, contributions, shapley
from quadric.explain.reasons import ReasonCodes, reason_codes
from quadric.explain.recourse import RecourseAnswers, recourse
from quadric.explain.stability import TermStability, stability

__all__ = [
    "ReasonCodes",
    "RecourseAnswers",
    "ShapleyValues",
    "TermContributions",
    "TermStability",
    "contributions",
    "reason_codes",
    "recourse",
    "shapley",
    "stability",
]
