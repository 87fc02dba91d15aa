"""Models with the terms of near ties: the best on these terms, under the rules, and complete."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import quadric
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV, TableClassifier, alternatives, certify
from quadric.credit import CalibratedModel
from quadric.explain import contributions
from quadric.fitted import fitted_model


def samples(seed, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 4))
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2 + 0.8 * rng.normal(size=150)
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


def live(model, number=0):
    names = fitted_model(model).term_names
    return {names[t] for t in np.flatnonzero(fitted_model(model).surfaces[number].coordinates())}


@pytest.mark.parametrize("loss", ["least_squares", "hinge", "logistic"])
def test_a_model_for_each_set_of_terms(loss, tmp_path):
    X, y = samples(0)
    model = SparseQuadraticSVC(k=3, C=16.0, loss=loss, hierarchy="weak").fit(X, y)
    ties = alternatives(model, X, y, within=0.15, prove=True)
    assert len(ties.models_) == len(ties.supports) > 2
    for support, other in zip(ties.supports[:4], ties.models_, strict=False):
        assert live(other) == set(support.terms)
        assert fitted_model(other).keeps_rules(other.surfaces_[0])
        (judged,) = certify(other, X, y)
        assert other.certificates_[0].objective == pytest.approx(support.objective, rel=1e-7)
        assert judged.objective == pytest.approx(support.objective, rel=1e-7)
        assert judged.converged
        assert not hasattr(other, "traces_")
        np.testing.assert_allclose(
            other.raw_surfaces_[0](np.clip(X, other.clip_low_, other.clip_high_)), other.decision_function(X)
        )
        quadric.save_model(other, tmp_path / "other.json", force=True)
        np.testing.assert_array_equal(quadric.load_model(tmp_path / "other.json").coef_, other.coef_)
    assert model.certificates_[0].objective < ties.supports[0].objective
    assert live(model) == set(ties[0].terms)


def test_of_several_surfaces_one_is_another():
    X, y = samples(1, n_classes=3)
    search = SparseQuadraticSVCCV(ks=[2], Cs=[16.0], loss="least_squares", cv=3).fit(X, y)
    ties = alternatives(search, X, y, within=0.05)
    assert len({found.number for found in ties.found}) > 1
    for found, support, other in zip(ties.found, ties.supports, ties.models_, strict=True):
        assert not hasattr(other, "cv_scores_")
        for number, certificate in enumerate(other.certificates_):
            its_own = number == found.number
            assert live(other, number) == (set(support.terms) if its_own else live(search, number))
            same = certificate == search.certificates_[number]
            assert same != its_own


def test_a_calibrated_pipeline_stays_one():
    X, y = samples(2)
    model = CalibratedModel(make_pipeline(StandardScaler(), SparseQuadraticSVC(k=3, loss="least_squares")), cutoff=0.3).fit(
        X, y
    )
    ties = alternatives(model, X, y, within=0.1)
    other = ties.models_[0]
    assert other.cutoff_ == 0.3
    np.testing.assert_array_equal(other.predict(X), (other.predict_proba(X)[:, 1] > 0.3).astype(int))
    parts = contributions(other, X)
    np.testing.assert_allclose(parts.values.sum(axis=1) + parts.intercept, other.decision_function(X))


def test_a_table_classifier_stays_one(tmp_path):
    X, y = samples(3)
    table = {"age": X[:, 0], "debt": X[:, 1], "income": X[:, 2], "home": np.where(X[:, 3] > 0.3, "own", "rent")}
    labels = np.where(y == 1, "bad", "good")
    model = TableClassifier(k=2, C=16.0, loss="least_squares", max_features=2).fit(table, labels)
    ties = alternatives(model, table, labels, within=0.1)
    other = ties.models_[0]
    assert set(other.predict(table)) == {"bad", "good"}
    assert other.trained_.accuracy == np.mean(other.predict(table) == labels)
    assert other.equation() != model.equation()
    assert len(other.explain({name: column[:1] for name, column in table.items()})) == 1
    other.save(tmp_path / "other.json")
    rows = other._tabular.inputs(other._table(table))
    np.testing.assert_array_equal(quadric.load_model(tmp_path / "other.json").predict(rows), other.predict(table))
