"""Probabilities of losses that give them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.datasets import load_iris
from sklearn.multiclass import OneVsRestClassifier

from helpers import LOSSES, random_samples
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV
from quadric.export import load_model, save_model
from quadric.fitted import fitted_model
from quadric.losses import loss_named


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("model", [SparseQuadraticSVC(2), SparseQuadraticSVCCV([2], [1.0], cv=2)], ids=["one", "chosen"])
def test_only_losses_that_have_probabilities_give_them(loss, model):
    X, y = random_samples(0)
    model.set_params(loss=loss).fit(X, y)
    assert hasattr(model, "predict_proba") == loss_named(loss).has_probabilities == bool(model.calibrators_)
    if not hasattr(model, "predict_proba"):
        with pytest.raises(AttributeError, match="predict_proba") as refused:
            model.predict_proba(X)
        assert str(refused.value.__cause__) == f"loss={loss!r} gives no probabilities: calibrate the model (CalibratedModel)"


def test_two_classes():
    X, y = random_samples(1)
    model = SparseQuadraticSVC(3, 16.0, loss="logistic").fit(X, y)
    chances = model.predict_proba(X)
    assert_allclose(chances[:, 1], expit(model.decision_function(X)), rtol=1e-15)
    assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-15)
    assert_array_equal(model.classes_[chances.argmax(axis=1)], model.predict(X))
    # c is free, so that the expected number of positives is the observed one
    assert chances[:, 1].sum() == pytest.approx((y > 0).sum(), rel=1e-9)


def test_several_classes_are_shares_as_in_scikit_learn():
    X, y = load_iris(return_X_y=True)
    own, theirs = (
        model.fit(X, y)
        for model in (
            SparseQuadraticSVC(3, loss="logistic"),
            OneVsRestClassifier(SparseQuadraticSVC(3, loss="logistic")),
        )
    )
    assert_allclose(own.predict_proba(X), theirs.predict_proba(X), rtol=1e-6)
    assert_array_equal(own.predict(X), own.classes_[own.predict_proba(X).argmax(axis=1)])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_view_and_the_file_know_the_probabilities(n_classes, tmp_path):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    model = SparseQuadraticSVC(3, 4.0, loss="logistic", standardize=True).fit(X, y)
    codes, chances = fitted_model(model).decided(model.decision_function(X))
    assert_array_equal(chances, model.predict_proba(X))
    assert_array_equal(model.classes_[codes], model.predict(X))
    save_model(model, tmp_path / "m.json")
    loaded = load_model(tmp_path / "m.json")
    assert type(loaded) is SparseQuadraticSVC
    assert_array_equal(loaded.predict_proba(X), chances)


def test_labels_follow_probabilities_that_rounding_has_made_equal():
    X, y = random_samples(4)
    model = SparseQuadraticSVC(1, loss="logistic").fit(X, y)
    model.surfaces_ = [0.0 * model.surfaces_[0] + 1e-20]
    assert (model.decision_function(X) > 0).all()
    assert_array_equal(model.predict_proba(X), 0.5)
    assert_array_equal(model.predict(X), -1.0)
    assert_array_equal(fitted_model(model).decided(model.decision_function(X))[0], 0)


def test_weights_are_repetitions():
    X, y = random_samples(2, m=30)
    weight = np.random.default_rng(0).integers(1, 4, size=30)
    weighted = SparseQuadraticSVC(3, 4.0, loss="logistic").fit(X, y, sample_weight=weight)
    repeated = SparseQuadraticSVC(3, 4.0, loss="logistic").fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-7, atol=1e-10)
    assert weighted.certificates_[0].objective == pytest.approx(repeated.certificates_[0].objective, rel=1e-10)


def test_class_weights_move_the_surface():
    X, y = random_samples(3, m=80, noise=2.0)
    plain, towards = (
        SparseQuadraticSVC(3, loss="logistic", class_weight=weight).fit(X, y).predict_proba(X)[:, 1].mean()
        for weight in (None, {-1.0: 1.0, 1.0: 5.0})
    )
    assert towards > plain + 0.1
