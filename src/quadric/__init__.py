"""Sparse quadratic-surface classifiers with an exact budget of terms."""

from quadric.certificate import Certificate
from quadric.estimators import ScaleWarning, SparseQuadraticSVC, certify
from quadric.geometry.surface import QuadraticSurface

__version__ = "0.1.0.dev0"
__all__ = ["Certificate", "QuadraticSurface", "ScaleWarning", "SparseQuadraticSVC", "certify"]
