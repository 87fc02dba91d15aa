"""The scikit-learn face: validation, labels, one-vs-rest, cross-validation; no mathematics."""

from quadric.estimators._validation import ScaleWarning
from quadric.estimators.alternatives import Alternatives, alternatives
from quadric.estimators.certification import certify
from quadric.estimators.classifier import SparseQuadraticSVC
from quadric.estimators.crossvalidation import SparseQuadraticSVCCV
from quadric.estimators.path import sparse_quadratic_path

__all__ = [
    "Alternatives",
    "ScaleWarning",
    "SparseQuadraticSVC",
    "SparseQuadraticSVCCV",
    "alternatives",
    "certify",
    "sparse_quadratic_path",
]
