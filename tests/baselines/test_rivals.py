"""The rivals: choices by cross-validation, sizes, probabilities."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

from quadric._sklearn import L1_PENALTY
from quadric.baselines import rivals

FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


def samples(n_classes=2):
    X = np.random.default_rng(1).normal(size=(90, 3))
    return X, np.digitize(X[:, 0] * X[:, 1] + 0.3 * X[:, 2], [-0.3, 0.3] if n_classes == 3 else [0.0])


def named(name):
    (rival,) = (each for each in rivals.RIVALS if each.name == name)
    return rival


def test_an_svm_is_the_one_of_a_grid_search_with_probabilities():
    X, y = samples()
    rival = named("SVC, rbf kernel")
    tuned = rival.fit(X, y, 3, 0)
    grid = {f"svc__{name}": values for name, values in rival.grid.items()}
    reference = GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=FOLDS).fit(X, y)
    assert {f"svc__{name}": value for name, value in tuned.chosen.items()} == reference.best_params_
    np.testing.assert_allclose(tuned.model.decision_function(X), reference.decision_function(X))
    assert tuned.size == len(reference.best_estimator_[-1].support_)
    chances = tuned.likely.predict_proba(X)[:, 1]
    order = np.argsort(tuned.model.decision_function(X))
    assert (np.diff(chances[order]) >= 0).all()


def test_products_have_an_l1_penalty_on_one_scale():
    X, y = samples()
    tuned = named("l1 on products").fit(X, y, 3, 0)
    lifted = make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False), StandardScaler())
    model = LogisticRegression(solver="liblinear", C=tuned.chosen["estimator__C"], random_state=0, **L1_PENALTY)
    Z = lifted.fit_transform(X)
    assert Z.shape[1] == 9
    np.testing.assert_allclose(tuned.model.predict_proba(X), model.fit(Z, y).predict_proba(Z))
    assert tuned.size == np.count_nonzero(model.coef_) < 9


def test_the_size_of_boosting_is_its_leaves():
    X, y = samples()
    tuned = named("gradient boosting").fit(X, y, 3, 0)
    trees = HistGradientBoostingClassifier(random_state=0, **tuned.chosen).fit(StandardScaler().fit_transform(X), y)
    assert tuned.size == sum(int(node["is_leaf"]) for stage in trees._predictors for tree in stage for node in tree.nodes)


@pytest.mark.parametrize("name", [rival.name for rival in rivals.RIVALS])
def test_three_classes(name):
    X, y = samples(3)
    chances = named(name).fit(X, y, 3, 0).likely.predict_proba(X)
    assert chances.shape == (90, 3)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)


def test_many_rows_are_tuned_on_a_part_and_fitted_whole(monkeypatch):
    X, y = samples()
    monkeypatch.setattr(rivals, "TUNING_ROWS", 60)
    seen = []
    original = rivals.cross_val_score
    monkeypatch.setattr(
        rivals, "cross_val_score", lambda model, X, y, **how: seen.append(len(y)) or original(model, X, y, **how)
    )
    tuned = named("logistic regression").fit(X, y, 3, 0)
    assert set(seen) == {60}
    assert tuned.model["scale"].n_samples_seen_ == 90


def test_a_boosting_machine_takes_part_where_it_is_installed(monkeypatch):
    monkeypatch.setattr(rivals, "find_spec", lambda name: object())
    listed, absent = rivals.installed_rivals()
    assert (listed[-1].name, absent) == ("EBM", [])
    monkeypatch.setattr(rivals, "find_spec", lambda name: None)
    assert rivals.installed_rivals() == (list(rivals.RIVALS), ["EBM (pip install interpret)"])
