"""Models as equations in the units of the data, and surfaces in their own."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import quadric
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV
from quadric.export import equation


@pytest.mark.parametrize("form", ["centred", "expanded"])
def test_a_model_prints_its_equation_in_the_users_units(form):
    X, y = load_iris(return_X_y=True, as_frame=True)
    models = [
        SparseQuadraticSVC(k=3).fit(X, y),
        SparseQuadraticSVC(k=2).fit(X.to_numpy(), y == 1),
        SparseQuadraticSVC(k=2, standardize=False).fit(X, y == 1),
        SparseQuadraticSVCCV([2], [16.0], cv=2).fit(X, y == 1),
    ]
    for model in models:
        assert model.equation(form=form, precision=5) == equation(model, form=form, precision=5)
    with pytest.raises(ValueError, match="form must be"):
        models[0].equation(form="raw")
    with pytest.raises(NotFittedError):
        SparseQuadraticSVC().equation()


def test_the_equation_holds():
    X, y = load_iris(return_X_y=True)
    model = SparseQuadraticSVC(k=3).fit(X[:, 2:], y == 1)
    text = model.equation(precision=17)
    formula, caps = text.splitlines()
    assert caps == "Capped: x0 at 1.1 and 6.7; x1 at 0.1 and 2.5"
    values = dict(zip(("x0", "x1"), np.clip(X[:, 2:], [1.1, 0.1], [6.7, 2.5]).T, strict=True))
    assert_allclose(eval(formula.removeprefix("f = ").replace("^", "**"), values), model.decision_function(X[:, 2:]))


def test_standardised_features_have_a_prime(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    names, raw = ["a", "b", "c", "d"], SparseQuadraticSVC(k=2, standardize=False, clip=None).fit(X, y == 1)
    (surface,) = SparseQuadraticSVC(k=2).fit(X, y == 1).surfaces_
    assert "'" not in raw.surfaces_[0].equation(names)
    for marked in (surface, -surface, 2.0 * surface + 1.0, abs(surface)):
        assert re.fullmatch(r"f = -?[\d.e-]+\*([abcd]'|\*|\^2)+ .*", marked.equation(names))
        assert marked.standardized
    assert not surface.unscale(np.zeros(4), np.ones(4)).standardized
    quadric.save_model(model := SparseQuadraticSVC(k=2).fit(X, y == 1), tmp_path / "model.json")
    assert quadric.load_model(tmp_path / "model.json").surfaces_[0].equation() == model.surfaces_[0].equation()


def test_the_defaults():
    model = SparseQuadraticSVC()
    assert (model.k, model.C, model.loss) == (10, 64.0, "least_squares")
    X, y = load_iris(return_X_y=True)
    assert SparseQuadraticSVC().fit(X, y == 1).score(X, y == 1) > 0.95
