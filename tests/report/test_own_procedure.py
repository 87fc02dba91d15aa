"""The report repeats the procedure that made the model, with all its parameters."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import PLAIN, random_samples
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV, load_model, save_model
from quadric.explain import stability
from quadric.fitted import fitted_model
from quadric.report import summarise

OTHERS = {
    "k": 4,
    "C": 3.0,
    "loss": "logistic",
    "terms": "linear",
    "method": "pd",
    "standardize": False,
    "clip": 0.05,
    "class_weight": {0: 1.0, 1: 2.0},
    "include": [10],
    "exclude": [11],
    "interaction_cst": [[0, 1]],
    "hierarchy": "weak",
    "max_features": 3,
    "feature_cost": {0: 1.0},
    "max_cost": 2.0,
    "feature_groups": [[2, 3]],
    "monotonic_cst": {1: {0: 1}},  # per class, as a report writes them
    "coef_bounds": {1: {10: (-9.0, 9.0)}},
    "multiclass": "shared",
    "rho": 0.37,
    "growth": 7.0,
    "inner_tol": 1e-2,
    "outer_tol": 1e-3,
    "max_iter": 17,
    "time_limit": 1000.0,
    "gap_limit": 0.2,
    "n_jobs": 1,
    "random_state": 5,
    "verbose": 0,
}
"""A value of every parameter that is not its default, where there is another one without side effects."""


@pytest.fixture(scope="module")
def data():
    X, y = random_samples(3, m=60, n=4)
    return X, (y > 0).astype(int)


def test_every_parameter_has_another_value_here():
    assert OTHERS.keys() == SparseQuadraticSVC().get_params().keys()
    same = {name for name, value in SparseQuadraticSVC().get_params().items() if OTHERS[name] == value}
    assert same == {"verbose"}


@pytest.fixture
def repeated(monkeypatch):
    """Parameters of all estimators that are fitted while a test runs, and of all paths."""
    fits, paths = [], []
    fit = SparseQuadraticSVC._fit

    def recorded(self, *arguments):
        fits.append(self.get_params())
        return fit(self, *arguments)

    import quadric.report.subject as subject

    path = subject.sparse_quadratic_path

    def traced(X, y, **parameters):
        paths.append(parameters)
        return path(X, y, **parameters)

    traced.__signature__ = __import__("inspect").signature(path)
    monkeypatch.setattr(SparseQuadraticSVC, "_fit", recorded)
    monkeypatch.setattr(subject, "sparse_quadratic_path", traced)
    return fits, paths


@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("piped", [False, True])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_parameter_reaches_the_folds_and_the_bootstrap(data, repeated, tmp_path, loaded, piped):
    X, y = data
    model = SparseQuadraticSVC(**OTHERS)
    model = (make_pipeline(StandardScaler(), model) if piped else model).fit(X, y)
    if loaded:
        save_model(model, tmp_path / "model.json")
        model = load_model(tmp_path / "model.json")
    fits, paths = repeated
    fits.clear()
    summarise(model, X, y, ks=[3, 4, 5], n_boot=2, cv=2)
    folds, bootstrap = fits[:2], fits[2:]
    assert len(bootstrap) == 2
    assert folds == [OTHERS] * 2
    assert bootstrap == [{**OTHERS, **PLAIN}] * 2
    assert len(paths) == 3  # two folds, and all rows
    for parameters in paths:
        del parameters["ks"]
        assert parameters.pop("Cs") == (OTHERS["C"],)
        assert parameters == {name: OTHERS[name] for name in parameters}
        assert {"rho", "growth", "inner_tol", "outer_tol", "max_iter", "class_weight", "random_state"} <= parameters.keys()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_out_of_fold_accuracy_is_that_of_the_models_own_fits(n_classes):
    X, _ = random_samples(4, m=90, n=4)
    score = X[:, 0] * X[:, 3] + X[:, 1]
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    model = SparseQuadraticSVC(3, C=2.0, method="best", loss="least_squares", standardize=True, max_iter=1).fit(X, y)
    summary = summarise(model, X, y, ks=[3] if n_classes == 2 else None, n_boot=0, cv=3)
    folds = StratifiedKFold(3).split(X, y)
    by_hand = [np.mean(SparseQuadraticSVC(**model.get_params()).fit(X[a], y[a]).predict(X[b]) == y[b]) for a, b in folds]
    assert_allclose(summary.cross_validation.mean, [np.mean(by_hand)])


def test_a_cross_validated_model_is_repeated_with_what_it_chose(data):
    X, y = data
    parameters = {"class_weight": "balanced", "exclude": [2], "time_limit": 60.0, "random_state": 3, "loss": "least_squares"}
    search = SparseQuadraticSVCCV([2, 3], Cs=[1.0, 4.0], standardize=True, method="exact", **parameters).fit(X, y)
    own = fitted_model(search).procedure()
    assert own.get_params() == search.best_estimator_.get_params() | {"include": [], "n_jobs": None}
    assert stability(search, X, y, n_boot=2).coef.shape == (2, 1, 14)
