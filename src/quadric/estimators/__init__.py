"""The scikit-learn face: validation, labels, one-vs-rest, cross-validation, calibration; no mathematics."""

from quadric.estimators.classifier import SparseQuadraticSVC
from quadric.estimators.crossvalidation import SparseQuadraticSVCCV
from quadric.estimators.path import sparse_quadratic_path
from quadric.estimators.validation import ScaleWarning

__all__ = [
    "ScaleWarning",
    "SparseQuadraticSVC",
    "SparseQuadraticSVCCV",
    "sparse_quadratic_path",
]
