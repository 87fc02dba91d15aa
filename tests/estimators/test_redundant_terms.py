"""Products that the data make redundant are no candidates, at any door, and certificates ask the same question."""

import numpy as np
import pandas as pd
import pytest

import quadric
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV, alternatives, certify
from quadric.estimators.validation import validate_samples
from quadric.geometry.terms import term_names
from quadric.losses import loss_named
from quadric.report import summarise
from quadric.samples import extent
from quadric.search.rules import SupportLimits

LOSSES = ["least_squares", "hinge", "logistic"]
REDUNDANT = {"male^2", "rent^2", "own^2", "rent*own"}


def people(m=240, seed=0):
    """Two numbers, a flag and two levels of a category; the flag tells most of the class."""
    rng = np.random.default_rng(seed)
    home = rng.integers(0, 3, m)
    X = pd.DataFrame({"age": rng.normal(40, 9, m), "size": rng.normal(size=m), "male": 1.0 * (rng.random(m) < 0.4)})
    X["rent"], X["own"] = 1.0 * (home == 1), 1.0 * (home == 2)
    score = 2.0 * X["male"] - X["rent"] + 0.5 * X["size"] ** 2 + rng.normal(size=m)
    return X, np.where(score > score.median(), "yes", "no")


def candidates(model, X, y):
    """Names of the terms that a proof about the model chooses from: with k = 1 all but its own are exchanges for it."""
    ties = alternatives(model, X, y, within=1e9)
    return {name for surface in ties for name in (*surface.terms, *(exchange.into for exchange in surface.exchanges))}


@pytest.mark.parametrize("loss", LOSSES)
def test_redundant_products_are_no_candidates(loss):
    X, y = people()
    model = SparseQuadraticSVC(k=1, loss=loss).fit(X, y)
    names = set(model.term_names())
    assert candidates(model, X, y) == names - REDUNDANT
    asked = SparseQuadraticSVC(k=1, loss=loss, include=["rent*own"]).fit(X, y)
    assert asked.coef_[0, asked.term_names().index("rent*own")] != 0.0
    assert certify(asked, X, y)[0].objective == pytest.approx(asked.certificates_[0].objective)


def test_the_papers_problem_is_left_alone():
    X, y = people()
    Z = (X - X.mean()) / X.std(ddof=0)
    plain = SparseQuadraticSVC(k=1, standardize=False, clip=None).fit(Z, y)
    assert candidates(plain, Z, y) == set(plain.term_names())
    capped = SparseQuadraticSVC(k=1, standardize=False).fit(Z, y)
    assert candidates(capped, Z, y) == set(plain.term_names()) - REDUNDANT


@pytest.mark.parametrize("loss", LOSSES)
def test_k_is_not_spent_on_them(loss):
    """With all terms allowed, every one that is left is used, and none that is redundant."""
    X, y = people()
    model = SparseQuadraticSVC(k=20, loss=loss, time_limit=5.0, method="pd").fit(X, y)
    used = {name for name, value in zip(model.term_names(), model.coef_[0], strict=True) if value != 0.0}
    assert len(used) >= 10
    assert not used & REDUNDANT
    (judged,) = certify(model, X, y)
    assert judged.objective == pytest.approx(model.certificates_[0].objective)


@pytest.mark.parametrize("loss", LOSSES)
def test_cross_validation_leaves_them_out(loss):
    X, y = people()
    chosen = SparseQuadraticSVCCV([1, 16], [16.0], loss=loss, cv=2).fit(X, y)
    for path in chosen.paths_:
        used = {name for name, is_used in zip(chosen.term_names(), path.support.any(axis=(0, 1)), strict=True) if is_used}
        assert not used & REDUNDANT
        assert len(used) == 16


@pytest.mark.parametrize("loss", LOSSES)
def test_passes_leave_them_out(loss, monkeypatch):
    monkeypatch.setattr(extent, "PASSES_FROM", 0)
    X, y = people()
    model = quadric.fit_batches(SparseQuadraticSVC(k=16, loss=loss), {**X, "class": y}, target="class")
    used = {name for name, value in zip(model.term_names(), model.coef_[0], strict=True) if value != 0.0}
    assert len(used) == 16
    assert not used & REDUNDANT


def test_sums_leave_them_out():
    X, y = people()
    model = SparseQuadraticSVC(k=16).fit_moments(quadric.moments({**X, "class": y}, target="class"))
    used = {name for name, value in zip(model.term_names(), model.coef_[0], strict=True) if value != 0.0}
    assert len(used) == 16
    assert not used & REDUNDANT


@pytest.mark.parametrize("loss", LOSSES)
def test_wide_tables_leave_them_out(loss):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 50))
    X[:, :4] = rng.random((80, 4)) < 0.4
    X[X[:, 0] == 1.0, 1] = 0.0
    samples = validate_samples(X, X[:, 0] + 0.3 * rng.normal(size=80) > 0.5, None, None)
    data = loss_named(loss).data(samples, SupportLimits(lean=True))
    names = term_names([f"x{i}" for i in range(50)])
    left_out = set(names) - {names[term] for term in data.problem_for(1, 1.0, 1).terms}
    assert left_out == {"x0^2", "x1^2", "x2^2", "x3^2", "x0*x1"}


def test_reports_ask_the_same_question():
    X, y = people()
    model = SparseQuadraticSVC(k=16, C=16.0).fit(X, y)
    summary = summarise(model, X, y, n_boot=0, cv=2, ks=(15, 16))
    assert [view.k for view in summary.views] == [15, 16]
    for view in summary.views:
        assert not {coefficient.term for coefficient in view.coefficients} & REDUNDANT
    assert view.certificate.objective == pytest.approx(model.certificates_[0].objective)
