"""The scikit-learn face: validation, labels, one-vs-rest; no mathematics."""

from quadric.estimators._validation import ScaleWarning
from quadric.estimators.certification import certify
from quadric.estimators.classifier import SparseQuadraticSVC

__all__ = ["ScaleWarning", "SparseQuadraticSVC", "certify"]
