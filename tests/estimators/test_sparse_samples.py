"""Sparse X: the same models as for the same numbers in a dense array, and clear words where it cannot be taken."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.utils.estimator_checks import estimator_checks_generator

from helpers import LOSSES, PLAIN
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV, alternatives, certify
from quadric.geometry import products

CONTAINERS = (sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix, sparse.lil_array)


def samples(seed=0, m=150, n=7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.4)
    score = X[:, 0] * X[:, 1] + X[:, 2] - X[:, 3] ** 2 + 0.2 * rng.normal(size=m)
    return X, np.where(score > np.median(score), "yes", "no"), rng.integers(0, 3, m).astype(float)


@pytest.mark.parametrize("container", CONTAINERS)
def test_sparse_containers_give_the_model_of_the_dense_array(container, monkeypatch):
    monkeypatch.setattr(products, "MANY_TERMS", 0)
    X, y, weight = samples()
    parameters = {"k": 3, "loss": "least_squares", "class_weight": "balanced", **PLAIN}
    dense, model = (SparseQuadraticSVC(**parameters).fit(A, y, weight) for A in (X, container(X)))
    assert_allclose(model.coef_, dense.coef_, atol=1e-12)
    assert model.certificates_[0].objective == pytest.approx(dense.certificates_[0].objective, rel=1e-12)
    assert model.certificates_[0].swap_optimal is True
    assert_array_equal(model.decision_function(container(X)), model.decision_function(X))
    assert_array_equal(model.predict(container(X)), dense.predict(X))
    assert model.score(container(X), y) == dense.score(X, y)


@pytest.mark.parametrize("method", ["pd", "best", "exact"])
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_and_method_takes_sparse_rows(loss, method):
    X, y, _ = samples(1, m=80, n=4)
    parameters = {"k": 3, "loss": loss, "method": method, "C": 2.0, **PLAIN}
    dense, model = (SparseQuadraticSVC(**parameters).fit(A, y) for A in (X, sparse.csr_array(X)))
    assert model.certificates_[0].objective == pytest.approx(dense.certificates_[0].objective, rel=1e-6)
    assert model.certificates_[0].local_minimum
    assert model.certificates_[0].swap_optimal == dense.certificates_[0].swap_optimal is not None


def test_cross_validation_certificates_and_near_ties():
    X, y, _ = samples(2)
    rows = sparse.csr_array(X)
    parameters = {"ks": [1, 2, 3], "Cs": [1.0, 8.0], "cv": 3, **PLAIN}
    dense, model = (SparseQuadraticSVCCV(**parameters).fit(A, y) for A in (X, rows))
    assert (model.best_loss_, model.best_k_, model.best_C_) == (dense.best_loss_, dense.best_k_, dense.best_C_)
    assert_allclose(model.oof_decision_, dense.oof_decision_, atol=1e-6)
    one, other = certify(model, rows, y)[0], certify(dense, X, y)[0]
    assert one.objective == pytest.approx(other.objective, rel=1e-6)
    assert one.lower_bound == pytest.approx(other.lower_bound, rel=1e-5)
    ties = alternatives(model, rows, y, within=0.02), alternatives(dense, X, y, within=0.02)
    assert [e.into for e in ties[0].exchanges[:3]] == [e.into for e in ties[1].exchanges[:3]]


@pytest.mark.parametrize("parameters", [{}, {"standardize": False}, {"clip": None}])
def test_what_would_fill_it_up_is_refused_in_one_line(parameters):
    X, y, _ = samples(3)
    with pytest.raises(TypeError, match=r"^sparse X is not centred or capped, .*standardize=False, clip=None.*$"):
        SparseQuadraticSVC(**parameters).fit(sparse.csr_array(X), y)
    model = SparseQuadraticSVC(k=2, loss="least_squares").fit(X, y)
    with pytest.raises(TypeError, match=r"^sparse X is not centred or capped"):
        model.predict(sparse.csr_array(X))


def test_bad_sparse_samples():
    X, y, _ = samples(4)
    model = SparseQuadraticSVC(k=2, loss="least_squares", **PLAIN)
    broken = sparse.csr_array(X)
    broken.data[3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(broken, y)
    with pytest.raises(ValueError, match="all columns of X are constant"):
        model.fit(sparse.csr_array(X.shape), y)
    with pytest.raises(ValueError, match="features"):
        model.fit(sparse.csr_array(X), y).predict(sparse.csr_array(X[:, :-1]))


@pytest.mark.slow
def test_scikit_learns_checks_of_sparse_rows():
    model = SparseQuadraticSVC(k=2, loss="least_squares", **PLAIN)
    checks = [(estimator, check) for estimator, check in estimator_checks_generator(model) if "sparse" in str(check)]
    assert len(checks) >= 3
    for estimator, check in checks:
        check(estimator)
