"""scikit-learn's own checks, all of them, with no expected failure."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV


@parametrize_with_checks(
    [
        SparseQuadraticSVC(),
        SparseQuadraticSVC(k=3, C=16.0, loss="least_squares", method="pd"),
        SparseQuadraticSVC(k=2, class_weight="balanced", n_jobs=2),
        SparseQuadraticSVC(k=3, C=16.0, loss="logistic"),
        SparseQuadraticSVCCV([1, 3], [1.0, 16.0], cv=2, loss="logistic"),
    ]
)
def test_estimator_check(estimator, check):
    check(estimator)
