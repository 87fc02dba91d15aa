"""The other models of the paper, with the same interface as the main one."""

from quadric.baselines.classifiers import (
    L0LeastSquaresSVC,
    L1LinearSVC,
    L1QuadraticSVC,
    LeastSquaresSVC,
    LinearHingeSVC,
    QuadraticSVC,
)

__all__ = ["L0LeastSquaresSVC", "L1LinearSVC", "L1QuadraticSVC", "LeastSquaresSVC", "LinearHingeSVC", "QuadraticSVC"]
