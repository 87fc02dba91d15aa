"""Exact explanations of fitted surfaces: contributions, effects, Shapley values, reason codes, recourse, stability of terms."""

from quadric.explain._cells import ColumnValues
from quadric.explain.attributions import ShapleyValues, TermContributions, contributions, shapley
from quadric.explain.effects import Band, ColumnEffect, Effects, ProductEffect, effects
from quadric.explain.reasons import ReasonCodes, reason_codes
from quadric.explain.recourse import RecourseAnswers, recourse
from quadric.explain.stability import TermStability, stability

__all__ = [
    "Band",
    "ColumnEffect",
    "ColumnValues",
    "Effects",
    "ProductEffect",
    "ReasonCodes",
    "RecourseAnswers",
    "ShapleyValues",
    "TermContributions",
    "TermStability",
    "contributions",
    "effects",
    "reason_codes",
    "recourse",
    "shapley",
    "stability",
]
