"""scikit-learn's own checks for every baseline, all of them, with no expected failure."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from quadric.baselines import (
    L0LeastSquaresSVC,
    L1LinearSVC,
    L1QuadraticSVC,
    LeastSquaresSVC,
    LinearHingeSVC,
    QuadraticSVC,
)


@pytest.mark.filterwarnings("ignore::quadric.estimators.ScaleWarning")  # some checks have columns with a mean of 100
@parametrize_with_checks(
    [LinearHingeSVC(), QuadraticSVC(), L1QuadraticSVC(), LeastSquaresSVC(), L1LinearSVC(), L0LeastSquaresSVC()]
)
def test_estimator_check(estimator, check):
    check(estimator)
