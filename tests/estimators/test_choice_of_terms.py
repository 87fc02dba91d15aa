"""Linear terms against quadratic ones, and losses without probabilities against those with: log-loss on rows left out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import KFold, StratifiedKFold

from helpers import random_samples
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV, certify, sparse_quadratic_path
from quadric._sklearn import platt_scaling
from quadric.estimators._scoring import log_losses
from quadric.estimators._sigmoids import BinnedDecisions, Sigmoids


def planted(kind, m=500, n=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    f = {"linear": X[:, 0] - 0.7 * X[:, 1] + 0.5 * X[:, 2], "quadratic": X[:, 0] * X[:, 1] + 0.7 * X[:, 2] ** 2 + X[:, -1]}[
        kind
    ]
    return X, (f - f.mean() + 0.4 * rng.logistic(size=m) > 0.0).astype(int)


def folds_of(X, y, cv, fit, weight):
    """By hand: the decision values of each row by the fold that left it out, and probabilities by the sigmoids of the others."""
    splits = list(cv.split(X, y))
    decision = {fold: fit(train).decision_function(X[test]) for fold, (train, test) in enumerate(splits)}
    chances = {}
    for fold in range(len(splits)):
        others = [other for other in range(len(splits)) if other != fold]
        rows = np.concatenate([splits[other][1] for other in others])
        known = np.concatenate([decision[other] for other in others])
        columns = [known] if known.ndim == 1 else list(known.T)
        mine = [decision[fold]] if known.ndim == 1 else list(decision[fold].T)
        curves = [platt_scaling(f, y[rows] == (1 if known.ndim == 1 else code), weight[rows]) for code, f in enumerate(columns)]
        p = np.column_stack([expit(-(a * f + b)) for (a, b), f in zip(curves, mine, strict=True)])
        chances[fold] = np.column_stack([1.0 - p, p]) if known.ndim == 1 else p / p.sum(axis=1, keepdims=True)
    return splits, chances


@pytest.mark.parametrize("loss", ["least_squares", "hinge"])
def test_sigmoids_are_fitted_on_the_rows_that_other_folds_leave_out(loss):
    X, y = planted("quadratic", m=200)
    cv = KFold(4, shuffle=True, random_state=0)
    how = {"loss": loss, "method": "pd"}
    search = SparseQuadraticSVCCV([4], [8.0], terms="quadratic", cv=cv, **how).fit(X, y)
    splits, chances = folds_of(X, y, cv, lambda train: SparseQuadraticSVC(4, 8.0, **how).fit(X[train], y[train]), np.ones(200))
    for fold, (_, test) in enumerate(splits):
        assert search.cv_scores_[fold, 0, 0] == pytest.approx(-log_loss(y[test], chances[fold]), abs=1e-4)
        assert_allclose(search.oof_proba_[test], chances[fold], atol=1e-3)
    brier = clone(search).set_params(scoring="neg_brier_score").fit(X, y)
    for fold, (_, test) in enumerate(splits):
        assert brier.cv_scores_[fold, 0, 0] == pytest.approx(-brier_score_loss(y[test], chances[fold][:, 1]), abs=1e-4)


def test_three_classes_are_scored_by_normalised_probabilities():
    X, y = load_iris(return_X_y=True)
    cv = StratifiedKFold(3)
    fit = SparseQuadraticSVC(3, 8.0, loss="least_squares", method="pd")
    search = SparseQuadraticSVCCV([3], [8.0], loss="least_squares", method="pd", terms="quadratic", cv=cv).fit(X, y)
    splits, chances = folds_of(X, y, cv, lambda train: clone(fit).fit(X[train], y[train]), np.ones(150))
    for fold, (_, test) in enumerate(splits):
        assert search.cv_scores_[fold, 0, 0] == pytest.approx(-log_loss(y[test], chances[fold]), abs=1e-4)
    own = SparseQuadraticSVCCV([3], [8.0], loss="logistic", method="pd", terms="quadratic", cv=cv).fit(X, y)
    for fold, (train, test) in enumerate(splits):
        model = SparseQuadraticSVC(3, 8.0, loss="logistic", method="pd").fit(X[train], y[train])
        assert own.cv_scores_[fold, 0, 0] == pytest.approx(-log_loss(y[test], model.predict_proba(X[test])), rel=1e-6)


@pytest.mark.parametrize("loss", ["least_squares", "logistic"])
def test_log_loss_is_weighted_as_the_loss_is(loss):
    X, y = planted("quadratic", m=240)
    w = np.random.default_rng(0).uniform(0.5, 3.0, size=240)
    classes = {0: 1.0, 1: 4.0}
    cv = KFold(3)
    how = {"loss": loss, "method": "pd", "class_weight": classes}
    search = SparseQuadraticSVCCV([4], [8.0], terms="quadratic", cv=cv, **how).fit(X, y, sample_weight=w)
    in_loss = w * np.where(y == 1, 4.0, 1.0)
    fit = SparseQuadraticSVC(4, 8.0, **how)
    splits, chances = folds_of(X, y, cv, lambda train: clone(fit).fit(X[train], y[train], w[train]), in_loss)
    for fold, (train, test) in enumerate(splits):
        own = clone(fit).fit(X[train], y[train], w[train])
        p = own.predict_proba(X[test]) if loss == "logistic" else chances[fold]
        expected = -log_loss(y[test], p, sample_weight=in_loss[test])
        assert search.cv_scores_[fold, 0, 0] == pytest.approx(expected, abs=2e-5)


def test_the_sigmoids_of_one_fold_alone_are_fitted_on_its_training_part():
    X, y = planted("quadratic", m=200)
    train, test = np.arange(150), np.arange(150, 200)
    search = SparseQuadraticSVCCV([3], [8.0], terms="quadratic", loss="least_squares", method="pd", cv=[(train, test)]).fit(
        X, y
    )
    model = SparseQuadraticSVC(3, 8.0, loss="least_squares", method="pd").fit(X[train], y[train])
    a, b = platt_scaling(model.decision_function(X[train]), y[train] == 1, np.ones(150))
    p = expit(-(a * model.decision_function(X[test]) + b))
    assert search.cv_scores_[0, 0, 0] == pytest.approx(-log_loss(y[test], p), abs=1e-4)
    assert np.isnan(search.oof_proba_[train]).all()


def test_sigmoids_do_not_fall_and_stand_constant_decisions():
    rng = np.random.default_rng(0)
    f = np.column_stack([rng.normal(size=400), np.zeros(400), 1e-9 * rng.normal(size=400)])
    y = rng.random(400) < expit(-2.0 * f[:, 0])  # the first score is upside down
    found = Sigmoids.fitted(BinnedDecisions.of(f, np.repeat(y[:, None], 3, axis=1), np.ones(400)))
    assert found.slope[0] == 0.0
    assert np.isfinite(found.slope).all()
    assert_allclose(expit(found.log_odds(f))[:, :2], y.mean(), atol=0.01)


def test_log_losses_are_bounded_and_normalised():
    sure = log_losses(np.array([[1000.0, -1000.0]]), np.array([0]), 1)
    assert_allclose(sure, [[-np.log(np.finfo(float).eps), 0.0]])
    three = log_losses(np.array([[0.0, 0.0, 0.0, -900.0, -900.0, -900.0]]), np.array([2]), 3)
    assert_allclose(three, np.log(3.0))


def test_linear_terms_are_chosen_where_products_do_not_help_and_quadratic_ones_where_they_do():
    for kind in ("linear", "quadratic"):
        X, y = planted(kind)
        search = SparseQuadraticSVCCV().fit(X, y)
        assert search.best_terms_ == search.best_estimator_.terms == kind
        assert set(search.terms_scores_) == {"linear", "quadratic"}
        assert search.cv_scores_ is search.terms_scores_[kind]
        assert search.terms_margin_.other != kind
        assert search.terms_margin_.mean >= 0.0
        assert search.terms_margin_.error >= 0.0
        assert search.ks_[-1] == (6 if kind == "linear" else 20)
        alone = SparseQuadraticSVCCV(terms=kind).fit(X, y)
        assert (alone.best_loss_, alone.best_k_, alone.best_C_) == (search.best_loss_, search.best_k_, search.best_C_)
        assert_allclose(alone.coef_, search.coef_, atol=1e-6)
        assert alone.terms_margin_ is None


@pytest.mark.parametrize("loss", ["least_squares", "hinge", "logistic"])
def test_linear_terms_have_no_products(loss):
    X, y = planted("quadratic", m=120)
    n_products = 21
    for model in (
        SparseQuadraticSVC(3, 8.0, loss=loss, terms="linear"),
        SparseQuadraticSVC(3, 8.0, loss=loss, terms="linear", method="pd"),
        SparseQuadraticSVCCV([2, 4], [1.0, 8.0], loss=loss, terms="linear", cv=3),
    ):
        model.fit(X, y)
        assert not model.coef_[:, :n_products].any()
        assert model.coef_[:, n_products:].any()
        assert certify(model, X, y)[0].objective == pytest.approx(model.certificates_[0].objective, rel=1e-8)
    path = sparse_quadratic_path(X, y, loss=loss, terms="linear")
    assert not path.support[:, :, :n_products].any()
    assert path.ks.tolist() == [1, 2, 3, 4, 5, 6]


def test_shared_sums_are_those_of_linear_terms_alone():
    X, y = random_samples(3, m=100, n=7)
    both, alone = (SparseQuadraticSVCCV(loss="least_squares", terms=terms, cv=3).fit(X, y) for terms in ("auto", "linear"))
    scores = both.terms_scores_["linear"]
    common = np.isfinite(scores) & np.isfinite(alone.cv_scores_[:, : scores.shape[1]])
    assert common.any()
    assert_allclose(scores[common], alone.cv_scores_[:, : scores.shape[1]][common], rtol=1e-6)


@pytest.mark.parametrize(
    ("n", "linear", "quadratic"),
    [
        (7, [1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20]),
        (4, [1, 2, 3, 4], [1, 2, 3, 4, 5, 6, 8, 10, 12, 14]),
        (18, [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18], [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20]),
        (45, [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40], [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20]),
    ],
)
def test_grids_hold_all_terms_where_these_are_fewer_than_their_end(n, linear, quadratic):
    for terms, ks in {"linear": linear, "quadratic": quadratic}.items():
        search = SparseQuadraticSVCCV(terms="auto")
        search.n_features_in_ = n
        task = search._task(n, np.array([0, 1]))
        assert task.dictionaries[terms].ks.tolist() == ks


def test_dictionaries_that_constraints_leave():
    X, y = planted("quadratic", m=100, n=3)
    products = ["x0^2", "x1^2", "x2^2", "x0*x1", "x0*x2", "x1*x2"]
    how = {"loss": "least_squares", "Cs": [8.0], "cv": 2}
    assert set(SparseQuadraticSVCCV(include=["x0*x1"], **how).fit(X, y).terms_scores_) == {"quadratic"}
    assert set(SparseQuadraticSVCCV(exclude=products, **how).fit(X, y).terms_scores_) == {"linear"}
    assert set(SparseQuadraticSVCCV(exclude=["x0", "x1", "x2"], **how).fit(X, y).terms_scores_) == {"quadratic"}
    with pytest.raises(ValueError, match=r"terms='linear' leaves out x0\*x1, which include names: take 'quadratic'"):
        SparseQuadraticSVCCV(include=["x0*x1"], terms="linear", **how).fit(X, y)
    with pytest.raises(ValueError, match="terms must be"):
        SparseQuadraticSVC(terms="auto").fit(X, y)


def test_numbers_of_terms_that_linear_ones_do_not_have_mean_all_of_them():
    X, y = planted("linear", m=500)
    search = SparseQuadraticSVCCV([2, 9, 12], [8.0], loss="logistic", cv=3).fit(X, y)
    assert search.terms_scores_["linear"].shape == (3, 1, 2)  # 2 and 6
    assert search.terms_scores_["quadratic"].shape == (3, 1, 3)


def test_many_rows_fit_their_sigmoids_on_the_random_sample(monkeypatch):
    X, y = planted("quadratic", m=600)
    how = {"ks": [4], "Cs": [8.0], "loss": "least_squares", "terms": "quadratic", "cv": 3}
    whole = SparseQuadraticSVCCV(**how).fit(X, y)
    monkeypatch.setattr("quadric.samples.random_rows.SAMPLE_ROWS", 150)
    drawn = SparseQuadraticSVCCV(**how).fit(X, y)
    assert_array_equal(np.isfinite(drawn.oof_proba_), True)
    assert_allclose(drawn.oof_decision_, whole.oof_decision_, atol=1e-6)  # sums are of all rows
    assert 1e-9 < np.abs(drawn.oof_proba_ - whole.oof_proba_).max() < 0.2
    assert_allclose(drawn.cv_scores_, whole.cv_scores_, atol=0.05)


def test_n_jobs_does_not_matter():
    X, y = planted("linear", m=150)
    one, two = (SparseQuadraticSVCCV([1, 3], cv=3, n_jobs=n).fit(X, y) for n in (1, 2))
    assert one.oof_proba_.tobytes() == two.oof_proba_.tobytes()
    assert one.coef_.tobytes() == two.coef_.tobytes()
