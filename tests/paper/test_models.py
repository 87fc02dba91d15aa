"""The grids are appendix A's, and a cell of a grid is a fit of the model it names."""

import numpy as np
import pytest
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from helpers import PLAIN
from quadric import SparseQuadraticSVC
from quadric.baselines import (
    L0LeastSquaresSVC,
    L1LinearSVC,
    L1QuadraticSVC,
    LeastSquaresSVC,
    LinearHingeSVC,
    QuadraticSVC,
)
from quadric.datasets import load
from quadric.paper.models import MODELS, PUBLISHED_MODELS, budgets
from quadric.paper.protocol import Split
from quadric.samples.labelled import LabelledSamples
from quadric.samples.target import Target
from quadric.samples.units import Units

ESTIMATORS = {
    "lsvm": LinearHingeSVC,
    "ls-svm": LeastSquaresSVC,
    "svm-rbf": lambda C: OneVsRestClassifier(SVC(C=C)),
    "svm-q2": lambda C: OneVsRestClassifier(SVC(C=C, kernel="poly", degree=2, coef0=1.0)),
    "l1-svm": L1LinearSVC,
    "ls-l0-svm": L0LeastSquaresSVC,
    "qsvm": QuadraticSVC,
    "l1-qsvm": L1QuadraticSVC,
    "l0-qsvm": lambda k, C: SparseQuadraticSVC(k, C, loss="hinge", method="pd", **PLAIN),
    "ls-l0-qsvm": lambda k, C: SparseQuadraticSVC(k, C, loss="least_squares", method="pd", **PLAIN),
}


@pytest.mark.parametrize(
    ("key", "n_features", "size"),
    [
        ("lsvm", 4, 13),
        ("ls-svm", 4, 13),
        ("svm-rbf", 4, 13),
        ("svm-q2", 4, 13),
        ("l1-svm", 4, 13),
        ("ls-l0-svm", 4, 117),
        ("qsvm", 4, 13),
        ("l1-qsvm", 4, 52),
        ("l0-qsvm", 4, 70),
        ("ls-l0-qsvm", 20, 460),
    ],
)
def test_grids_have_the_papers_size(key, n_features, size):
    cells = MODELS[key].grid("german", n_features)
    assert len(cells) == size
    assert set(cells[0]) == set(MODELS[key].parameters)


def test_k_goes_in_steps_of_two_up_to_sixty_terms_and_five_above():
    assert budgets(9) == list(range(2, 55, 2))
    assert budgets(10)[:3] == [2, 7, 12]
    assert max(budgets(20)) == 227
    assert max(cell["k"] for cell in MODELS["l0-qsvm-best"].grid("ctg", 22)) == 62


def test_ties_go_to_the_smaller_k_then_to_the_smaller_C():
    cells = [(cell["k"], cell["C"]) for cell in MODELS["l0-qsvm"].grid("iris", 4)]
    assert cells == sorted(cells)


@pytest.fixture(scope="module")
def parts():
    data = load("iris")
    train, test = Split(0).parts(len(data.y), 0)
    standardise = Units.of(data.X[train], np.ones(len(train)), standardize=True, clip=None)
    X, y = standardise(data.X[train]), data.y[train]
    return LabelledSamples(X, Target(y, np.ones(3)), np.ones(len(y))), standardise(data.X[test])


@pytest.mark.parametrize("key", PUBLISHED_MODELS)
def test_a_cell_is_a_fit_of_its_model(key, parts):
    samples, X = parts
    model = MODELS[key]
    cells = model.grid("iris", 4)
    decisions = model.decide(samples, X, cells)
    assert decisions.shape == (len(cells), 3, len(X))
    for cell in (0, len(cells) // 2, len(cells) - 1):
        parameters = {name: int(value) if name == "k" else value for name, value in cells[cell].items()}
        fitted = ESTIMATORS[key](**parameters).fit(samples.X, samples.target.codes)
        scale = 1.0 + np.abs(decisions[cell]).max()
        assert np.abs(decisions[cell].T - fitted.decision_function(X)).max() < 1e-4 * scale
