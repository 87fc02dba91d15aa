"""scikit-learn's own checks of the encoder, all of them, with no expected failure."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from quadric.tables import TableEncoder


@parametrize_with_checks(
    [TableEncoder(), TableEncoder(missing="indicator", unseen="other"), TableEncoder(coding="ordinal", missing="impute")]
)
def test_estimator_check(estimator, check):
    check(estimator)
