"""SparseQuadraticSVC among scikit-learn's tools, its weights and its classes."""

import copy
import os
import pickle
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import LOSSES, PLAIN, random_samples, slow_objective
from quadric import ScaleWarning, SparseQuadraticSVC, certify
from quadric.search.decomposition import Status


@pytest.fixture(params=LOSSES)
def loss(request):
    return request.param


def two_classes(seed=0, m=80, n=3):
    X, y = random_samples(seed, m=m, n=n)
    return X, np.where(y > 0, "good", "bad")


def test_budget_and_attributes(loss):
    X, y = two_classes(n=4)
    for k in (1, 3, 7):
        model = SparseQuadraticSVC(k=k, C=4.0, loss=loss, **PLAIN).fit(X, y)
        assert np.count_nonzero(model.coef_) <= k
        assert model.coef_.shape == (1, 14)
        assert model.intercept_.shape == model.n_iter_.shape == (1,)
        assert model.status_ == [Status.CONVERGED]
        assert model.n_iter_[0] >= model.traces_[0][-1].n_steps > 0
        (surface,) = model.surfaces_
        assert_array_equal(model.coef_[0], surface.coordinates())
        assert_allclose(model.decision_function(X), surface(X))
        assert_array_equal(model.predict(X), np.where(surface(X) > 0, "good", "bad"))


def test_objective_is_the_models(loss):
    X, y = two_classes()
    model = SparseQuadraticSVC(k=3, C=4.0, loss=loss, **PLAIN).fit(X, y)
    expected = slow_objective(model.surfaces_[0], X, np.where(y == "good", 1.0, -1.0), loss, 4.0)
    assert model.certificates_[0].objective == pytest.approx(expected, rel=1e-10)


def test_it_learns(loss):
    X, y = two_classes(m=200)
    assert cross_val_score(SparseQuadraticSVC(k=3, C=16.0, loss=loss), X, y).mean() > 0.75


def test_more_terms_than_there_are_means_no_limit(loss):
    X, y = two_classes()
    free, exact = (SparseQuadraticSVC(k=k, C=4.0, loss=loss).fit(X, y) for k in (1000, 9))
    assert_array_equal(free.coef_, exact.coef_)
    assert free.certificates_[0].basic_feasible


def test_sample_weight_is_repetition(loss):
    X, y = two_classes()
    counts = np.random.default_rng(0).integers(0, 4, size=len(y))
    weighted = SparseQuadraticSVC(k=3, C=2.0, loss=loss).fit(X, y, sample_weight=counts)
    repeated = SparseQuadraticSVC(k=3, C=2.0, loss=loss).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert_array_equal(np.flatnonzero(weighted.coef_), np.flatnonzero(repeated.coef_))
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-7, atol=1e-10)
    assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-7)
    assert weighted.certificates_[0].objective == pytest.approx(repeated.certificates_[0].objective, rel=1e-9)


def test_class_weight_touches_the_loss_only(loss):
    """Weights 3 on the loss of both classes are three times C."""
    X, y = two_classes()
    weighted = SparseQuadraticSVC(k=3, C=2.0, loss=loss, class_weight={"good": 3.0, "bad": 3.0}).fit(X, y)
    plain = SparseQuadraticSVC(k=3, C=6.0, loss=loss).fit(X, y)
    assert_allclose(weighted.coef_, plain.coef_, rtol=1e-7, atol=1e-10)


def test_balanced_counts_with_the_sample_weights(loss):
    X, y = two_classes()
    w = np.where(y == "good", 3.0, 1.0)
    share = w[y == "good"].sum() / w.sum()
    by_hand = {"good": 1 / (2 * share), "bad": 1 / (2 * (1 - share))}
    balanced = SparseQuadraticSVC(k=3, loss=loss, class_weight="balanced").fit(X, y, sample_weight=w)
    explicit = SparseQuadraticSVC(k=3, loss=loss, class_weight=by_hand).fit(X, y, sample_weight=w)
    assert_allclose(balanced.coef_, explicit.coef_, rtol=1e-9)


def test_one_class_against_the_rest(loss):
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = SparseQuadraticSVC(k=3, C=16.0, loss=loss, class_weight={"virginica": 2.0}, **PLAIN).fit(X, names)
    scores = model.decision_function(X)
    assert scores.shape == (150, 3)
    assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    assert model.score(X, names) > 0.9
    # class weights belong to the original classes: two of the rest's samples in three keep their own weight
    o = np.where(names == "virginica", 2.0, 1.0)
    for surface, certificate, label in zip(model.surfaces_, model.certificates_, model.classes_, strict=True):
        signs = np.where(names == label, 1.0, -1.0)
        expected = slow_objective(surface, X, signs, loss, 16.0, np.ones(150), o)
        assert certificate.objective == pytest.approx(expected, rel=1e-10)


def test_results_do_not_depend_on_n_jobs(loss):
    X, y = load_iris(return_X_y=True)
    one, two = (SparseQuadraticSVC(k=3, C=16.0, loss=loss, n_jobs=n).fit(X, y) for n in (1, 2))
    assert one.coef_.tobytes() == two.coef_.tobytes()
    assert one.intercept_.tobytes() == two.intercept_.tobytes()
    assert one.certificates_ == two.certificates_


BITS = """
import hashlib, numpy as np
from quadric import SparseQuadraticSVC
rng = np.random.default_rng(0)
X = rng.normal(size=(600, 14))
y = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=600) > 0
for loss in ("hinge", "least_squares", "logistic"):
    model = SparseQuadraticSVC(k=9, C=64.0, loss=loss).fit(X, y)
    print(hashlib.sha256(model.coef_.tobytes() + model.intercept_.tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_blas_threads():
    runs = [
        subprocess.run(
            [sys.executable, "-c", BITS],
            env={**os.environ, "OPENBLAS_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2", "2")
    ]
    assert runs[0] == runs[1] == runs[2]
    assert len(runs[0].split()) == 3


def test_pipeline_clone_and_grid_search(loss):
    X, y = two_classes(m=60)
    pipeline = make_pipeline(StandardScaler(), SparseQuadraticSVC(loss=loss))
    grid = GridSearchCV(pipeline, {"sparsequadraticsvc__k": [1, 2], "sparsequadraticsvc__C": [0.5, 4.0]}, cv=3).fit(X, y)
    assert grid.best_estimator_[-1].coef_.shape == (1, 9)
    assert clone(grid.best_estimator_[-1]).get_params() == grid.best_estimator_[-1].get_params()


def test_metadata_routing_of_sample_weight():
    X, y = two_classes(m=60)
    w = np.random.default_rng(0).uniform(0.5, 2.0, size=60)
    with sklearn.config_context(enable_metadata_routing=True):
        svc = SparseQuadraticSVC(k=2).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = make_pipeline(scaler, svc).fit(X, y, sample_weight=w)
    direct = SparseQuadraticSVC(k=2).fit(StandardScaler().fit_transform(X), y, sample_weight=w)
    assert_array_equal(routed[-1].coef_, direct.coef_)


def skip_where_scikit_learn_does_not_know_polars():
    if not hasattr(pl.DataFrame, "__dataframe__") and tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9):
        pytest.skip("this scikit-learn reads polars frames by a protocol that this polars no longer speaks")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_bring_names(frame):
    if frame is pl.DataFrame:
        skip_where_scikit_learn_does_not_know_polars()
    X, y = two_classes(n=2)
    table = frame({"age": X[:, 0], "income": X[:, 1]})
    model = SparseQuadraticSVC(k=2).fit(table, y)
    assert list(model.feature_names_in_) == ["age", "income"]
    assert model.term_names() == ["age^2", "age*income", "income^2", "age", "income"]
    assert_array_equal(model.predict(table), SparseQuadraticSVC(k=2).fit(X, y).predict(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(table)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame({"income": X[:, 1], "age": X[:, 0]}))


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_set_output_of_a_scaler_before_it(container):
    if container == "polars":
        skip_where_scikit_learn_does_not_know_polars()
    X, y = two_classes(n=2)
    table = pd.DataFrame(X, columns=["age", "income"]) if container == "pandas" else pl.DataFrame(X, schema=["age", "income"])
    pipeline = make_pipeline(StandardScaler(), SparseQuadraticSVC(k=2)).set_output(transform=container).fit(table, y)
    assert pipeline[-1].term_names()[1] == "age*income"


def test_term_names_without_a_frame():
    X, y = two_classes(n=2)
    assert SparseQuadraticSVC(k=1).fit(X, y).term_names() == ["x0^2", "x0*x1", "x1^2", "x0", "x1"]


def test_pickle_and_deep_copy(loss):
    X, y = two_classes()
    model = SparseQuadraticSVC(k=3, loss=loss).fit(X, y)
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_array_equal(twin.decision_function(X), model.decision_function(X))
        assert twin.certificates_ == model.certificates_


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, bool, object])
def test_any_numbers(dtype):
    X, y = two_classes()
    rounded = np.round(3 * X).astype(dtype)
    as_floats = rounded.astype(float)
    assert_array_equal(SparseQuadraticSVC(k=2).fit(rounded, y).coef_, SparseQuadraticSVC(k=2).fit(as_floats, y).coef_)


@pytest.mark.parametrize(
    "labels", [np.array([0, 1]), np.array([True, False]), np.array(["b", "a"], dtype=object), np.array([-1.0, 1.0])], ids=str
)
def test_any_labels(labels):
    X, y = two_classes()
    renamed = labels[(y == "good").astype(int)]
    model = SparseQuadraticSVC(k=3).fit(X, renamed)
    assert_array_equal(model.classes_, np.unique(labels))
    assert set(model.predict(X)) <= set(labels.tolist())
    positive = model.decision_function(X) > 0
    assert_array_equal(model.predict(X)[positive], model.classes_[1])


@pytest.mark.parametrize(
    "make",
    [
        lambda X: np.column_stack([X, np.full(len(X), 7.0)]),
        lambda X: np.column_stack([X, X[:, 0]]),
        lambda X: np.column_stack([X, np.eye(3)[np.arange(len(X)) % 3]]),
    ],
    ids=["constant", "duplicate", "one-hot"],
)
def test_dependent_columns_report_their_ridge(make, loss):
    X, y = two_classes()
    model = SparseQuadraticSVC(k=3, loss=loss).fit(make(X), y)
    assert model.certificates_[0].ridge == 1e-8
    assert model.certificates_[0].stationarity < 1e-8
    assert SparseQuadraticSVC(k=3, loss=loss).fit(X, y).certificates_[0].ridge == 0.0


def test_a_constant_column_is_never_chosen(loss):
    X, y = two_classes()
    model = SparseQuadraticSVC(k=100, loss=loss).fit(np.column_stack([X, np.full(len(X), 7.0)]), y)
    assert model.surfaces_[0].b[3] == 0.0
    assert model.surfaces_[0].W[3, 3] == 0.0


def test_fewer_samples_than_terms(loss):
    X, y = two_classes(m=12, n=6)
    model = SparseQuadraticSVC(k=5, C=256.0, loss=loss).fit(X, y)
    assert model.certificates_[0].stationarity < 1e-8
    assert model.surfaces_[0].n_terms <= 5


def test_a_single_feature(loss):
    X, y = two_classes(n=1)
    model = SparseQuadraticSVC(k=1, loss=loss).fit(X, y)
    assert model.term_names() == ["x0^2", "x0"]
    assert model.surfaces_[0].n_terms == 1


def test_separable_data_and_a_huge_C(loss):
    X, y = random_samples(0, m=60, n=2, noise=0.0)
    model = SparseQuadraticSVC(k=5, C=1e9, loss=loss).fit(X, y)
    assert model.certificates_[0].stationarity < 1e-8
    assert np.isfinite(model.coef_).all()
    if loss == "hinge":
        assert model.score(X, y) == 1.0


def shifted_classes():
    """Two classes whose means differ, so that even a surface near zero tells them apart."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = rng.normal(size=(200, 3))
    X[y == 1, 0] += 2.0
    return X, y


@pytest.mark.parametrize(("scale", "C"), [(1.0, 1e-9), (1e-6, 1.0), (1e-8, 1.0)])
def test_small_surfaces_are_not_taken_for_noise(loss, scale, C):
    X, y = shifted_classes()
    model = SparseQuadraticSVC(k=2, C=C, loss=loss).fit(scale * X, y)
    assert model.surfaces_[0].n_terms == 2
    assert model.certificates_[0].stationarity < 1e-10


@pytest.mark.parametrize(
    ("X", "y", "C"),
    [
        (np.hstack([shifted_classes()[0]] * 2), shifted_classes()[1], 1e7),
        (np.array([[0.0, 1.0, 2.0], [1.0, 3.0, -1.0]]), np.array([0, 1]), 1e9),
        (1e-8 * shifted_classes()[0], shifted_classes()[1], 1.0),
    ],
    ids=["duplicate columns", "two samples", "tiny values"],
)
def test_matrices_singular_to_working_precision(loss, X, y, C):
    model = SparseQuadraticSVC(k=1000, C=C, loss=loss).fit(X, y)
    assert model.certificates_[0].stationarity < 1e-8


@pytest.mark.parametrize("seed", range(4))
def test_binary_features_and_a_small_C(seed):
    """Hundreds of equal samples on the margin: multipliers are far from unique."""
    rng = np.random.default_rng(seed)
    X = (rng.random((1500, 6)) > 0.5) * 1.0
    y = (X[:, 0] != X[:, 1]) ^ (rng.random(1500) < 0.1)
    for k in (5, 27):
        assert SparseQuadraticSVC(k=k, C=0.01, method="pd").fit(X, y).certificates_[0].stationarity < 1e-8


def test_two_points_many_times():
    X, y = np.repeat([[0.0, 1.0], [1.0, 0.0]], [30, 31], axis=0), np.repeat([0, 1], [30, 31])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert SparseQuadraticSVC(k=2, C=1e6).fit(X, y).score(X, y) == 1.0


# bad input


def good_arguments():
    X, y = two_classes()
    return {"X": X, "y": y}


BAD_PARAMETERS = [
    ({"k": 0}, "k must be an integer from 1 to 1,000,000,000, got 0"),
    ({"k": 10**20}, "k must be an integer from 1 to 1,000,000,000, got 100000000000000000000"),
    ({"k": -3}, "k must be an integer"),
    ({"k": 2.5}, "k must be an integer"),
    ({"k": True}, "k must be an integer"),
    ({"k": "5"}, "k must be an integer"),
    ({"C": 0.0}, r"C must be a finite number from 1e-60 to 1e\+60, got 0.0"),
    ({"C": -1}, "C must be a finite number"),
    ({"C": np.inf}, "C must be a finite number"),
    ({"C": np.nan}, "C must be a finite number"),
    ({"C": "1"}, "C must be a finite number"),
    ({"C": 1e-300}, "C must be a finite number from 1e-60"),
    ({"loss": "log"}, "loss must be 'hinge' or 'least_squares' or 'logistic', got 'log'"),
    ({"method": "magic"}, "method must be"),
    ({"include": ["y0"]}, "include: there is no term 'y0'; the features are x0, x1, x2"),
    ({"exclude": ["y0*"]}, "exclude: there is no term 'y0\\*'"),
    ({"include": 5}, "include must be None or a sequence of terms, got 5"),
    ({"include": [99]}, "include: there is no term 99; coef_ has positions 0 to 8"),
    ({"include": [("x0", "y0")]}, "include: there is no feature 'y0'"),
    ({"include": [1.5]}, "include: cannot read 1.5 as a term"),
    ({"include": ["x0", "x1*x2"], "exclude": ["x2*"]}, "contradict each other on x1\\*x2"),
    ({"k": 2, "include": ["x0*", "x1"]}, "include holds 3 terms, more than k = 2: x0\\*x1, x0\\*x2, x1"),
    ({"exclude": list(range(9))}, "exclude leaves no term"),
    ({"rho": 0.0}, "rho must be None or a finite number above 0"),
    ({"growth": 1.0}, "growth must be a finite number above 1"),
    ({"inner_tol": 0}, "inner_tol"),
    ({"outer_tol": -1e-4}, "outer_tol"),
    ({"max_iter": 0}, "max_iter must be an integer from 1 to"),
    ({"time_limit": -1}, "time_limit must be None or a finite number of at least 0"),
    ({"n_jobs": 0}, "n_jobs must be None or an integer from -1,000 to 1,000, not 0"),
    ({"verbose": -1}, "verbose"),
    ({"class_weight": "equal"}, "class_weight must be a dict, 'balanced' or None"),
    ({"class_weight": {"good": -1.0}}, "numbers from 1e-60"),
    ({"class_weight": {"ugly": 1.0}}, r"y has no class 'ugly'"),
    ({"class_weight": [1.0, 2.0]}, "class_weight must be a dict"),
    ({"random_state": "seed"}, "random_state must be None, an integer from 0 or a RandomState, got 'seed'"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS, ids=lambda value: str(value)[:40])
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        SparseQuadraticSVC(**parameters).fit(**good_arguments())


def with_value(value):
    X = good_arguments()["X"].copy()
    X[3, 1] = value
    return X


BAD_DATA = [
    ({"X": with_value(np.nan)}, "NaN"),
    ({"X": with_value(np.inf)}, "infinity"),
    ({"y": np.full(80, "good")}, "at least two classes, but has one class only: 'good'"),
    ({"y": np.linspace(0, 1, 80)}, "continuous"),
    ({"sample_weight": -np.ones(80)}, "Negative values"),
    ({"sample_weight": np.zeros(80)}, "zero"),
    ({"sample_weight": np.ones(7)}, "sample_weight"),
    ({"sample_weight": np.full(80, np.nan)}, "NaN"),
    ({"sample_weight": np.where(good_arguments()["y"] == "good", 1.0, 0.0)}, "one class only"),
    ({"X": np.ones((80, 3))}, "all columns of X are constant"),
    ({"X": 1.0 + 1e-11 * good_arguments()["X"]}, "all columns of X are constant"),
    ({"X": 1e80 * good_arguments()["X"]}, "beyond 1e.60, whose products overflow"),
    ({"X": 1e-160 * good_arguments()["X"]}, "without values beyond 1e-60, whose products vanish"),
    ({"X": good_arguments()["X"] * [1.0, 1e-160, 1.0]}, "without values beyond 1e-60, whose products vanish"),
    ({"sample_weight": np.full(80, 1e300)}, "sample_weight sums to"),
    ({"X": np.zeros((80, 0))}, "0 feature"),
    ({"y": np.array(["good", "bad"])}, "inconsistent"),
]


@pytest.mark.parametrize(("data", "message"), BAD_DATA, ids=[case[1] for case in BAD_DATA])
def test_bad_data(data, message):
    with pytest.raises(ValueError, match=message):
        SparseQuadraticSVC(**PLAIN).fit(**{**good_arguments(), **data})


def test_sparse_matrices_are_refused():
    from scipy.sparse import csr_array

    X, y = two_classes()
    with pytest.raises(TypeError, match="dense data is required"):
        SparseQuadraticSVC().fit(csr_array(X), y)


def test_different_scales_are_warned_of(loss):
    X, y = two_classes(n=2)
    table = pd.DataFrame({"age": X[:, 0], "income": 1e5 * X[:, 1]})
    with pytest.warns(ScaleWarning, match="'income' has standard deviation .*'age'.*standardize=True and clip=0.01") as caught:
        SparseQuadraticSVC(k=2, loss=loss, standardize=False).fit(table, y)
    assert caught[0].filename == __file__
    with pytest.warns(ScaleWarning, match="'x1' has mean 2e.03 and standard deviation"):
        SparseQuadraticSVC(k=2, loss=loss, standardize=False).fit(X + np.array([0.0, 2000.0]), y)


def test_caps_leave_nothing_to_warn_of():
    X, y = two_classes()
    X[3, 1] = 1e6
    with pytest.warns(ScaleWarning, match="'x1' has standard deviation 1.1e.05"):
        SparseQuadraticSVC(k=2, **PLAIN).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ScaleWarning)
        SparseQuadraticSVC(k=2, standardize=False, clip=0.02).fit(X, y)
        SparseQuadraticSVC(k=2, clip=0.02).fit(X, y)


def test_caps_are_clipped_columns(loss):
    X, y = two_classes(m=300)
    X = X**3
    model = SparseQuadraticSVC(k=3, C=4.0, loss=loss, clip=0.05).fit(X, y)
    inside = np.clip(X, *np.quantile(X, [0.05, 0.95], axis=0, method="inverted_cdf"))
    assert_array_equal(model.clip_low_, inside.min(axis=0))
    assert_array_equal(model.clip_high_, inside.max(axis=0))
    by_hand = make_pipeline(StandardScaler(), SparseQuadraticSVC(k=3, C=4.0, loss=loss, **PLAIN)).fit(inside, y)
    assert_allclose(model.decision_function(X), by_hand.decision_function(inside), rtol=1e-9, atol=1e-12)
    assert_array_equal(
        model.decision_function(100.0 * X), model.decision_function(np.clip(100.0 * X, model.clip_low_, model.clip_high_))
    )
    assert_allclose(model.raw_surfaces_[0](inside), model.decision_function(X), rtol=1e-7, atol=1e-9)
    assert without_bound(certify(model, X, y)[0]) == without_bound(model.certificates_[0])


def test_caps_of_quantile_zero_are_the_extremes():
    X, y = two_classes()
    model = SparseQuadraticSVC(k=2, clip=0).fit(X, y)
    assert_array_equal(model.clip_low_, X.min(axis=0))
    assert_array_equal(model.clip_high_, X.max(axis=0))
    free = SparseQuadraticSVC(k=2, clip=None).fit(X, y)
    assert_array_equal(free.clip_high_, np.full(3, np.inf))
    assert_array_equal(model.coef_, free.coef_)


def test_unmet_conditions_are_warned_of():
    X, y = shifted_classes()
    expected = "the same terms could lower the objective by decrease = .* of it, above 1e-06; standardise X or lower C"
    with pytest.warns(ScaleWarning), pytest.warns(ConvergenceWarning, match=expected):
        SparseQuadraticSVC(k=9, C=1e6, loss="least_squares", **PLAIN).fit(X + 1e6, y)


def test_iteration_limit_warns(loss):
    X, y = two_classes()
    expected = r"max_iter=3\) with max\|z - u\| = .*, outer_tol = 0.0001; raise max_iter"
    with pytest.warns(ConvergenceWarning, match=expected) as caught:
        model = SparseQuadraticSVC(k=2, loss=loss, max_iter=3).fit(X, y)
    assert caught[0].filename == __file__
    assert model.status_ == ["iteration limit"]
    assert model.certificates_[0].stationarity < 1e-8


def test_time_limit_warns():
    X, y = two_classes()
    with pytest.warns(ConvergenceWarning, match="raise time_limit"):
        assert SparseQuadraticSVC(k=2, time_limit=1e-9).fit(X, y).status_ == ["time limit"]


def test_convergence_warning_names_the_class():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning) as caught:
        SparseQuadraticSVC(max_iter=1).fit(X, y)
    assert [f"class {label} against the rest" in str(w.message) for label, w in enumerate(caught)] == [True] * 3


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_fit_leaves_nothing_behind(monkeypatch, error):
    X, y = two_classes()
    model = SparseQuadraticSVC(k=2, loss="hinge").fit(X, y)
    monkeypatch.setattr("quadric.losses.hinge.step.solve_hinge", lambda *args: (_ for _ in ()).throw(error))
    with pytest.raises(error):
        model.fit(X[:, :2], y)
    assert [name for name in vars(model) if name.endswith("_")] == []
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert model.k == 2


def test_fit_does_not_touch_parameters_or_data(loss):
    X, y = two_classes()
    model, before, X_before = SparseQuadraticSVC(k=2, loss=loss), SparseQuadraticSVC(k=2, loss=loss).get_params(), X.copy()
    X.setflags(write=False)
    model.fit(X, y)
    assert model.get_params() == before
    assert_array_equal(X, X_before)


def test_verbose_writes_to_standard_error(capsys, loss):
    X, y = two_classes()
    SparseQuadraticSVC(k=2, loss=loss, verbose=2).fit(X, y)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("penalty") > 1
    assert "local search: objective" in captured.err
    SparseQuadraticSVC(k=2, loss=loss).fit(X, y)
    assert capsys.readouterr().err == ""


# certify


def without_bound(certificate):
    """Without what a proof adds."""
    return replace(certificate, lower_bound=None, gap=None, status="local", swap_optimal=None)


def test_certify_repeats_the_certificates(loss):
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), SparseQuadraticSVC(k=3, C=16.0, loss=loss, class_weight={0: 2.0})).fit(X, y)
    for again in (certify(pipeline, X, y), certify(pipeline[-1], pipeline[0].transform(X), y)):
        assert [without_bound(c) for c in again] == [without_bound(c) for c in pipeline[-1].certificates_]
        assert all(certificate.lower_bound <= certificate.objective for certificate in again)


def test_certify_a_bare_surface(loss):
    X, y = two_classes()
    model = SparseQuadraticSVC(k=3, C=4.0, loss=loss, **PLAIN).fit(X, y)
    (again,) = certify(model.surfaces_[0], X, y, loss=loss, C=4.0, k=3)
    assert without_bound(again) == without_bound(model.certificates_[0])
    (other,) = certify(model, X, y, C=5.0)
    assert not other.local_minimum


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"C": None}, ValueError, r"C must be a finite number from 1e-60 to 1e\+60, got None"),
        ({"loss": "log"}, ValueError, "loss must be"),
        ({"k": 0}, ValueError, "k must be"),
        ({"X": np.ones((80, 2))}, ValueError, "X has 2 features, but the surface has 3"),
        ({"y": np.arange(80) % 3}, ValueError, "1 surface.s. cannot tell 3 classes apart"),
        ({"model": "model"}, TypeError, "not str"),
        ({"model": SparseQuadraticSVC()}, NotFittedError, "not fitted"),
        ({"model": StandardScaler().fit(np.eye(3))}, TypeError, "not StandardScaler"),
    ],
    ids=["no C", "loss", "k", "features", "classes", "type", "unfitted", "another model"],
)
def test_certify_bad_input(change, error, message):
    X, y = two_classes()
    surface = SparseQuadraticSVC(k=3).fit(X, y).surfaces_[0]
    arguments = {"model": surface, "X": X, "y": y, "loss": "hinge", "C": 1.0, "k": 3}
    with pytest.raises(error, match=message):
        certify(**{**arguments, **change})


def test_certify_looks_at_the_names():
    X, y = two_classes()
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    model = SparseQuadraticSVC(k=3).fit(table, y)
    with pytest.raises(ValueError, match="feature names"):
        certify(model, table[["c", "b", "a"]], y)


def test_certify_on_samples_of_one_class():
    X, y = two_classes()
    model = SparseQuadraticSVC(k=3, class_weight="balanced").fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(certify(model, X[y == "good"], y[y == "good"])) == 1


def test_certify_unknown_labels():
    X, y = two_classes()
    model = SparseQuadraticSVC(k=3).fit(X, y)
    with pytest.raises(ValueError, match=r"does not know: \['ugly'\]"):
        certify(model, X, np.where(np.arange(80) < 2, "ugly", y))


def test_coefficients_of_zero_are_no_terms_though_they_are_required():
    """Few positive samples and a small C: the constant is best, whatever the terms."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(200, 3)), np.where(rng.random(200) < 0.1, "b", "a")
        model = SparseQuadraticSVC(k=2, C=0.01, loss="hinge", include=["x0"]).fit(X, y)
        (certificate,) = model.certificates_
        assert np.abs(model.coef_).max() < 1e-9
        assert certificate.n_terms == np.count_nonzero(model.coef_) == model.surfaces_[0].n_terms
        assert not certificate.local_minimum
