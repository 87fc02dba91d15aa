"""scikit-learn's own checks of the calibrated model; the one expected failure has its reason."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from quadric import SparseQuadraticSVC
from quadric.credit import CalibratedModel

SIGN = "predict follows the probabilities, decision_function is the classifier's own: their signs may differ, as documented"


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")  # scikit-learn's, of labels that are NaN
@parametrize_with_checks(
    [CalibratedModel(SparseQuadraticSVC(k=2, method="pd", loss="least_squares"), method="isotonic", cv=2)],
    expected_failed_checks=lambda estimator: {"check_classifiers_train": SIGN},
)
def test_estimator_check(estimator, check):
    check(estimator)
