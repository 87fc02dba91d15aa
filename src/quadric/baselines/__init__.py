"""The models that the paper compares with, with the face of the main one."""

from quadric.baselines.classifiers import (
    L0LeastSquaresSVC,
    L1LinearSVC,
    L1QuadraticSVC,
    LeastSquaresSVC,
    LinearHingeSVC,
    QuadraticSVC,
)

__all__ = ["L0LeastSquaresSVC", "L1LinearSVC", "L1QuadraticSVC", "LeastSquaresSVC", "LinearHingeSVC", "QuadraticSVC"]
