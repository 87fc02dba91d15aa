"""Complexity justified: AUC by number of terms, and other classifiers on the same folds, computed again by scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from helpers.small_models import loans
from quadric import SparseQuadraticSVC, sparse_quadratic_path
from quadric.geometry.lifting import lift
from quadric.report import render, summarise
from quadric.report.story import last_terms, rival_words
from quadric.report.values import Complexity, RivalFigures
from quadric.workflow.cv_summary import Figure

KS = (1, 2, 4)


@pytest.fixture(scope="module")
def case():
    table, y = loans(0, m=160)
    X = np.column_stack([table[name] for name in ("age", "income", "debt")])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = SparseQuadraticSVC(k=2, C=16.0, loss="least_squares", method="pd", standardize=False, clip=None).fit(X, y)
    cv = StratifiedKFold(4, shuffle=True, random_state=1)
    rivals = {"bayes": GaussianNB(), "<b>tree": DecisionTreeClassifier(max_depth=2, random_state=0)}
    summary = summarise(model, X, y, ks=KS, cv=cv, n_boot=0, bounds=False, rivals=rivals)
    return model, X, y, cv, rivals, summary


def test_areas_and_paired_differences_are_those_of_scikit_learn(case):
    model, X, y, cv, rivals, summary = case
    found, areas, others = summary.complexity, [], {name: [] for name in rivals}
    for train, test in cv.split(X, y):
        path = sparse_quadratic_path(X[train], y[train], ks=KS, Cs=(16.0,), loss="least_squares", method="pd")
        scores = path.coef[0] @ lift(X[test]).T + path.intercept[0][:, None]
        scores[1] = clone(model).fit(X[train], y[train]).decision_function(X[test])
        areas.append([roc_auc_score(y[test], row) for row in scores])
        for name, rival in rivals.items():
            others[name].append(roc_auc_score(y[test], clone(rival).fit(X[train], y[train]).predict_proba(X[test])[:, 1]))
    areas = np.array(areas)

    def close(figure, values):
        assert_allclose([figure.mean, figure.error], [np.mean(values), np.std(values, ddof=1) / 2.0], rtol=1e-10, atol=1e-14)

    assert found.ks == KS
    for figure, values in zip(found.areas, areas.T, strict=True):
        close(figure, values)
    assert found.before == 1
    close(found.last, areas[:, 1] - areas[:, 0])
    for rival in found.rivals:
        close(rival.area, others[rival.name])
        close(rival.difference, np.array(others[rival.name]) - areas[:, 1])


def test_the_page_says_what_the_last_term_buys(case):
    page = render(case[-1])
    assert last_terms(case[-1].complexity, 2) in page
    assert "&lt;b&gt;tree" in page
    assert "<b>tree" not in page


def test_sentences():
    noise, gain, loss = Figure(0.001, 0.002), Figure(0.02, 0.002), Figure(-0.02, 0.002)
    area = Figure(0.8, 0.01)

    def words(last, before, k):
        return last_terms(Complexity(5, (1, 2), (area, area), before, last, ()), k)

    assert (
        words(gain, 3, 4)
        == "The last term, from 3 to 4, adds 0.0200 ± 0.0020 to the AUC out of fold: more than chance explains."
    )
    assert words(noise, 3, 6).startswith(
        "The terms from 3 to 6 together add 0.00100 ± 0.0020 to the AUC out of fold, which is within"
    )
    assert "within the noise" in words(Figure(0.02, None), 3, 4)
    assert words(None, None, 1) == "The model has the smallest number of terms that was tried."
    assert rival_words(RivalFigures("boosting", area, loss)) == "Boosting has an AUC that is 0.0200 ± 0.0020 lower."
    assert rival_words(RivalFigures("boosting", area, gain)).endswith("higher.")
    assert "more than the noise" in rival_words(RivalFigures("boosting", area, noise))


def test_folds_of_one_class_have_no_area():
    table, y = loans(0, m=60)
    X = np.column_stack([table["age"], table["debt"]])
    order = np.argsort(y, kind="stable")
    model = SparseQuadraticSVC(k=2).fit(X[order], y[order])
    folds = [(np.arange(10, 60), np.arange(10)), (np.r_[0:50], np.arange(50, 60))]
    summary = summarise(model, X[order], y[order], ks=(2,), cv=folds, n_boot=0, bounds=False)
    assert summary.complexity is None
    assert "a fold has rows of one class only" in render(summary)
