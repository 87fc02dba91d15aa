"""What notebooks show of models and results: known numbers, escaped names, and scikit-learn's diagrams as before."""

import re
from html import unescape

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers.small_models import loans
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV, TableClassifier, alternatives, sparse_quadratic_path
from quadric.baselines import LeastSquaresSVC
from quadric.credit import CalibratedModel
from quadric.explain import stability

ATTACK = "<img src=x onerror=alert(1)>&\"'"


@pytest.fixture(scope="module")
def data():
    table, y = loans(0, m=80)
    return pd.DataFrame({name: table[name] for name in table.names}), np.where(y == 1, "lost", "paid")


def words(model):
    """Its HTML without tags; in numbers the sign as in Python."""
    bundle = model._repr_mimebundle_() if hasattr(model, "_repr_mimebundle_") else {"text/html": model._repr_html_()}
    page = bundle["text/html"].split("<details>")[0]
    return " ".join(unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL)).replace("−", "-").split())


def test_a_fitted_model_shows_equation_terms_and_certificate(data):
    X, y = data[0][["age", "income", "debt"]], data[1]
    model = SparseQuadraticSVC(k=4, loss="logistic").fit(X, y)
    shown, certificate = words(model), model.certificates_[0]
    for name, value in model.surfaces_[0].terms(X.columns):
        assert f"{name} {value:.4g}" in shown
    assert f"4 of 4 allowed objective {certificate.objective:.6g}" in shown
    assert "f = " in shown
    assert "bootstrap" not in shown
    for name, center, scale, live in zip(X, model.center_, model.scale_, model.surfaces_[0].live_features, strict=True):
        assert (f"{name} - {center:.4g} {scale:.4g}" in shown) == live
    found = stability(model, X, y, n_boot=3)
    with_ranges = words(model)
    for name, value in model.surfaces_[0].terms(X.columns):
        term, half = found.names.index(name), 0.5 if "^2" in name else 1.0
        low, high = half * found.deciles[0, [0, -1], term]
        assert f"{name} {value:.4g} {found.inclusion[0, term]:.0%} {low:.4g} to {high:.4g}" in with_ranges
    assert "bootstrap" not in words(model.fit(X, y == "lost"))


def test_more_classes_and_other_kinds_of_models(data):
    X, y = data[0][["age", "income", "debt"]], data[1]
    three = np.array(["a", "b", "c"])[np.digitize(X["debt"], [2.0, 4.0])]
    shown = words(SparseQuadraticSVC(k=2).fit(X, three))
    assert all(f"f[{name}] =" in shown and f"Terms of {name}" in shown for name in "abc")
    chosen = SparseQuadraticSVCCV(ks=[1, 2], Cs=[1.0, 4.0], cv=2, loss="logistic").fit(X, y)
    assert f"terms allowed {chosen.best_k_} C {chosen.best_C_:.6g} loss logistic" in words(chosen)
    row, column = list(chosen.Cs_).index(chosen.best_C_), list(chosen.ks_).index(chosen.best_k_)
    assert f"score of 2 folds {chosen.cv_scores_[:, row, column].mean():.4g}" in words(chosen)
    calibrated = CalibratedModel(SparseQuadraticSVC(k=2)).fit(X, y)
    assert words(calibrated).removeprefix("CalibratedModel") == words(calibrated.estimator_).removeprefix("SparseQuadraticSVC")
    assert "f =" in words(LeastSquaresSVC().fit(X, y))
    table = TableClassifier(k=3, C=16.0, loss="least_squares").fit(data[0], y)
    figures = table.model_.metadata["training"]["cross_validation"]
    assert f"accuracy {figures['accuracy']:.1%} AUC {figures['auc']['mean']:.6g}" in words(table)


def test_results_show_what_they_hold(data):
    X, y = data[0][["age", "income", "debt"]], data[1]
    model = SparseQuadraticSVC(k=3).fit(X, y)
    surface = model.raw_surfaces_[0]
    assert all(
        f"{abs(value):.4g} · {name.replace('^', ' ').replace('*', ' · ')}" in words(surface) for name, value in surface.terms()
    )
    assert f"{abs(surface.c):.4g}" in words(surface)
    path = sparse_quadratic_path(X, y, ks=[1, 2], Cs=(1.0, 4.0), certify=True)
    for i, C in enumerate(path.Cs):
        assert f"objective, C = {C:g}" in words(path)
        for j in range(2):
            assert f"{path.objective[i, j]:.6g}" in words(path)
    ties = alternatives(model, X, y, within=0.5)
    assert ties.exchanges
    first = ties.exchanges[0]
    assert f"{first.out} by {first.into} {first.cost:+.2%}" in words(ties)
    exact = SparseQuadraticSVC(k=1, method="exact").fit(X, y).certificates_[0]
    assert "Certificate: proved best" in words(exact)


def test_names_are_inert(data):
    X = data[0][["age", "income", "debt"]].rename(columns={"income": ATTACK, "debt": "a\u202eb"})
    model = SparseQuadraticSVC(k=4).fit(X, np.where(data[1] == "lost", ATTACK, "<b>"))
    three = np.array([ATTACK, "b", "</style><script>"])[np.digitize(X["age"], [35, 50])]
    table = X.assign(home=[f"{ATTACK}{i % 3}" for i in range(len(X))])
    shown = [
        model,
        SparseQuadraticSVC(k=2).fit(X, three),
        TableClassifier(k=4, C=16.0, loss="least_squares").fit(table, data[1]),
        alternatives(model, X, np.where(data[1] == "lost", ATTACK, "<b>"), within=0.5),
    ]
    for one in shown:
        page = one._repr_mimebundle_()["text/html"] if hasattr(one, "_repr_mimebundle_") else one._repr_html_()
        page = page.split("<summary>Parameters")[0]
        assert "<img" not in page
        assert "<script" not in page
        assert "\u202e" not in page
        assert "&lt;img" in page


def test_diagrams_of_scikit_learn_work_as_before(data):
    X, y = data[0][["age", "income", "debt"]], data[1]
    model = SparseQuadraticSVC(k=2)
    assert "quadric-view" not in model._repr_html_()
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    page = pipeline._repr_html_()
    assert "sk-top-container" in page
    assert page.count("SparseQuadraticSVC") >= 1
    fitted = pipeline[-1]._repr_html_()
    assert "sk-top-container" in fitted
    assert fitted.index("quadric-view") < fitted.index("sk-top-container")
    with config_context(display="text"):
        assert list(model._repr_mimebundle_()) == ["text/plain"]
        assert not hasattr(pipeline[-1], "_repr_html_")


def test_showing_computes_nothing(data, monkeypatch):
    """Neither a fit nor a score nor linear algebra, and nothing about the object changes."""
    X, y = data[0][["age", "income", "debt"]], data[1]
    model = SparseQuadraticSVC(k=2, loss="least_squares").fit(X, y)
    path = sparse_quadratic_path(X, y, ks=[1, 2], Cs=(1.0,), certify=True)
    things = [model, model.surfaces_[0], model.certificates_[0], path, alternatives(model, X, y)]
    cached = {"products"}  # a surface's list of its own terms
    before = [set(vars(thing)) - cached for thing in things]

    def forbidden(*_, **__):
        raise AssertionError("something was computed")

    for name in ("solve", "svd", "eigh", "lstsq", "cholesky"):
        monkeypatch.setattr(np.linalg, name, forbidden)
    for name in ("fit", "predict", "decision_function"):
        monkeypatch.setattr(SparseQuadraticSVC, name, forbidden)
    assert all(len(words(thing)) > 20 for thing in things)
    assert [set(vars(thing)) - cached for thing in things] == before
