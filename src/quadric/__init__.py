"""Sparse quadratic-surface classifiers with an exact budget of terms."""

from quadric.certificate import Certificate
from quadric.estimators import (
    ScaleWarning,
    SparseQuadraticSVC,
    SparseQuadraticSVCCV,
    sparse_quadratic_path,
)
from quadric.examine import NearTies, alternatives, certify
from quadric.export import load_model, save_model
from quadric.geometry.surface import QuadraticSurface
from quadric.search.path import QuadraticPath

__version__ = "0.1.0.dev0"
__all__ = [
    "Certificate",
    "NearTies",
    "QuadraticPath",
    "QuadraticSurface",
    "ScaleWarning",
    "SparseQuadraticSVC",
    "SparseQuadraticSVCCV",
    "alternatives",
    "certify",
    "load_model",
    "save_model",
    "sparse_quadratic_path",
]
