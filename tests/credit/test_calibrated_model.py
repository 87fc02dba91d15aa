"""The calibrated model is scikit-learn's, taken apart: same probabilities, predictions that agree, parts that can be stored."""

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_backend
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import random_samples
from quadric import SparseQuadraticSVC
from quadric.credit import CalibratedModel, IsotonicCalibration, SigmoidCalibration
from quadric.tables import TableEncoder

METHODS = ("sigmoid", "isotonic")
FAST = SparseQuadraticSVC(k=3, loss="least_squares", method="pd")


def two_classes(seed=0, m=120):
    X, y = random_samples(seed, m=m, n=3, noise=1.5)
    return X, np.where(y > 0, "bad", "a good one")


def three_classes():
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X) + np.random.default_rng(0).normal(scale=0.8, size=X.shape)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


DATA = {"two": two_classes, "three": three_classes}


def reference(estimator, X, y, method, sample_weight=None, **parameters):
    model = CalibratedClassifierCV(estimator, method=method, cv=5, ensemble=False)
    return model.fit(X, y, sample_weight=sample_weight, **parameters)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("weighted", [False, True])
def test_probabilities_are_those_of_scikit_learn(method, data, weighted):
    X, y = DATA[data]()
    weight = np.random.default_rng(1).uniform(0.2, 3.0, size=len(y)) if weighted else None
    model = CalibratedModel(FAST, method=method).fit(X, y, sample_weight=weight)
    theirs = reference(FAST, X, y, method, weight)
    far = np.vstack([X, 20.0 * X])  # beyond what the calibration saw
    assert_allclose(model.predict_proba(far), theirs.predict_proba(far), rtol=1e-12, atol=1e-15)
    assert_array_equal(model.predict(far), theirs.predict(far))
    assert_array_equal(model.classes_, theirs.classes_)


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e4])
def test_large_and_small_decision_values_keep_the_meaning_of_a_and_b(factor):
    class Scaled(RidgeClassifier):
        def decision_function(self, X):
            return factor * super().decision_function(X)

    X, y = two_classes()
    model = CalibratedModel(Scaled()).fit(X, y)
    (sigmoid,) = model.calibrators_
    f = model.decision_function(X)
    assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(sigmoid.a * f + sigmoid.b)), rtol=1e-12)
    assert_allclose(sigmoid.a * factor, CalibratedModel(RidgeClassifier()).fit(X, y).calibrators_[0].a, rtol=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_the_sigmoid_maximises_the_likelihood_of_values_left_out(seed):
    X, y = two_classes(seed)
    model = CalibratedModel(FAST).fit(X, y)
    f = cross_val_predict(FAST, X, y, cv=5, method="decision_function")
    bad = y == "bad"
    target = np.where(bad, (bad.sum() + 1) / (bad.sum() + 2), 1 / ((~bad).sum() + 2))  # Platt's

    def loss(a, b):
        t = a * f + b
        return np.sum(target * np.logaddexp(0, t) + (1 - target) * np.logaddexp(0, -t))

    (sigmoid,) = model.calibrators_
    here = loss(sigmoid.a, sigmoid.b)
    assert all(loss(sigmoid.a + da, sigmoid.b + db) > here for da, db in [(0.01, 0), (-0.01, 0), (0, 0.01), (0, -0.01)])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("data", DATA)
def test_predictions_agree_with_probabilities(method, data):
    X, y = DATA[data]()
    model = CalibratedModel(FAST, method=method).fit(X, y)
    probability = model.predict_proba(X)
    assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)
    chosen = probability[np.arange(len(X)), np.searchsorted(model.classes_, model.predict(X))]
    assert_array_equal(chosen, probability.max(axis=1))


def test_predictions_follow_the_probabilities_against_the_sign_of_the_decision_value():
    X, y = random_samples(3, m=200, n=2)
    lopsided = SparseQuadraticSVC(k=3, loss="least_squares", class_weight={1.0: 50.0})
    model = CalibratedModel(lopsided).fit(X, y)
    by_sign = np.where(model.decision_function(X) > 0, 1.0, -1.0)
    assert np.mean(by_sign != model.predict(X)) > 0.1
    assert model.score(X, y) > np.mean(by_sign == y)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(np.mean(y > 0), abs=0.05)


def test_of_two_classes_the_second_is_predicted_above_the_cut_off():
    X, y = two_classes()
    model = CalibratedModel(FAST, cutoff=0.3).fit(X, y)
    assert_array_equal(model.predict(X) == "bad", model.predict_proba(X)[:, 1] > 0.3)
    assert (model.predict(X) != CalibratedModel(FAST).fit(X, y).predict(X)).any()


@pytest.mark.parametrize("method", METHODS)
def test_rules_cut_where_out_of_fold_probabilities_keep_them(method):
    X, y = two_classes(m=300)
    scores = cross_val_predict(FAST, X, y, cv=5, method="decision_function")
    weight = np.random.default_rng(0).integers(1, 3, size=len(y)).astype(float)
    for sample_weight in (None, weight):
        model = CalibratedModel(FAST, method=method, cutoff="cost:4:1").fit(X, y, sample_weight=sample_weight)
        if sample_weight is not None:
            scores = cross_val_predict(FAST, X, y, cv=5, method="decision_function", params={"sample_weight": weight})
        chances, w = model.calibrators_[0](scores), np.ones(len(y)) if sample_weight is None else weight
        costs = [np.sum(w * np.where(y == "bad", 4.0 * (chances <= c), chances > c)) for c in np.linspace(0.001, 0.999, 999)]
        assert np.sum(w * np.where(y == "bad", 4.0 * (chances <= model.cutoff_), chances > model.cutoff_)) <= min(costs)
        assert 0.0 < model.cutoff_ < 0.5


def test_known_out_of_fold_scores_make_the_same_model_without_a_fit(monkeypatch):
    for data in (two_classes, three_classes):
        X, y = data()
        fitted = clone(FAST).fit(X, y)
        expected = CalibratedModel(FAST).fit(X, y)
        scores = cross_val_predict(FAST, X, y, cv=5, method="decision_function")
        with monkeypatch.context() as patch:
            patch.setattr(SparseQuadraticSVC, "fit", None)
            model = CalibratedModel.around(fitted, X, y, out_of_fold=scores)
        assert model.calibrators_ == expected.calibrators_
        half = np.arange(len(y)) % 2 == 0
        part = np.where(half.reshape([-1] + [1] * (scores.ndim - 1)), scores, np.nan)
        with_gaps = CalibratedModel.around(fitted, X, y, out_of_fold=part)
        alone = CalibratedModel.around(fitted, X[half], y[half], out_of_fold=scores[half])
        assert with_gaps.calibrators_ == alone.calibrators_


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sigmoid_never_falls(weighted):
    X, y = two_classes()
    fitted = clone(FAST).fit(X, y)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y)) if weighted else None
    model = CalibratedModel.around(fitted, X, y, sample_weight=weight, out_of_fold=-fitted.decision_function(X))
    assert model.calibrators_[0].a == 0.0
    chances = model.predict_proba(X)[:, 1]
    assert np.ptp(chances) == 0.0
    assert chances[0] == pytest.approx(np.average(y == "bad", weights=weight), abs=0.02)


@pytest.mark.parametrize("data", DATA)
def test_weights_by_label_reach_the_folds(data):
    X, y = DATA[data]()
    label, position = np.unique(y)[0], {name: code for code, name in enumerate(np.unique(y).tolist())}
    named = CalibratedModel(clone(FAST).set_params(class_weight={label: 5.0})).fit(X, y)
    coded = CalibratedModel(clone(FAST).set_params(class_weight={0: 5.0})).fit(X, [position[each] for each in y.tolist()])
    assert named.calibrators_ == coded.calibrators_
    assert_array_equal(named.decision_function(X), coded.decision_function(X))


def test_equal_probabilities_go_to_the_first_class():
    X, y = two_classes()
    even = CalibratedModel.from_parts(clone(FAST).fit(X, y), [SigmoidCalibration(0.0, 0.0)])
    assert_array_equal(even.predict_proba(X), np.full((len(X), 2), 0.5))
    assert set(even.predict(X)) == {"a good one"}


def test_several_calibrations_that_all_say_zero_make_equal_probabilities():
    X, y = three_classes()
    nothing = [IsotonicCalibration([0.0], [0.0])] * 3
    model = CalibratedModel.from_parts(clone(FAST).fit(X, y), nothing)
    assert_array_equal(model.predict_proba(X), np.full((len(X), 3), 1 / 3))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("data", DATA)
def test_parts_make_the_same_model_again(method, data):
    X, y = DATA[data]()
    model = CalibratedModel(make_pipeline(StandardScaler(), FAST), method=method).fit(X, y)
    again = CalibratedModel.from_parts(model.estimator_, model.calibrators_)
    assert again.method == again.method_ == model.method_ == method
    assert len(model.calibrators_) == {"two": 1, "three": 3}[data]
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert_array_equal(again.decision_function(X), model.estimator_.decision_function(X))


def test_the_model_inside_is_fitted_to_all_samples():
    X, y = two_classes()
    model = CalibratedModel(FAST).fit(X, y)
    assert model.estimator_.surfaces_ == clone(FAST).fit(X, y).surfaces_
    assert not hasattr(model.estimator, "surfaces_")


def test_weights_of_a_pipeline_reach_its_last_step_and_the_calibration_only():
    X, y = two_classes()
    weight = np.random.default_rng(0).integers(1, 6, size=len(y)).astype(float)
    pipeline = make_pipeline(StandardScaler(), FAST)
    model = CalibratedModel(pipeline).fit(X, y, sample_weight=weight)
    by_hand = clone(pipeline).fit(X, y, sparsequadraticsvc__sample_weight=weight)
    assert model.estimator_[-1].surfaces_ == by_hand[-1].surfaces_
    assert_allclose(model.estimator_[0].mean_, X.mean(axis=0), rtol=1e-12)
    with pytest.warns(UserWarning, match="Pipeline does not appear to accept sample_weight"):
        theirs = reference(pipeline, X, y, "sigmoid", weight, sparsequadraticsvc__sample_weight=weight)
    assert_allclose(model.predict_proba(X), theirs.predict_proba(X), rtol=1e-12, atol=1e-15)
    unweighted = CalibratedModel(pipeline).fit(X, y)
    assert np.abs(model.predict_proba(X) - unweighted.predict_proba(X)).max() > 1e-3


def test_pipelines_inside_pipelines_pass_weights_on():
    X, y = two_classes()
    weight = np.random.default_rng(0).integers(1, 6, size=len(y)).astype(float)
    nested = Pipeline([("scale", StandardScaler()), ("rest", Pipeline([("model", FAST)]))])
    model = CalibratedModel(nested).fit(X, y, sample_weight=weight)
    flat = CalibratedModel(make_pipeline(StandardScaler(), FAST)).fit(X, y, sample_weight=weight)
    assert_array_equal(model.predict_proba(X), flat.predict_proba(X))


def test_metadata_routing_changes_nothing():
    X, y = two_classes()
    weight = np.linspace(0.5, 2.0, len(y))
    pipeline = make_pipeline(StandardScaler(), FAST)
    expected = CalibratedModel(pipeline).fit(X, y, sample_weight=weight).predict_proba(X)
    with config_context(enable_metadata_routing=True):
        assert_array_equal(CalibratedModel(pipeline).fit(X, y, sample_weight=weight).predict_proba(X), expected)


def test_whole_weights_are_repetitions():
    X, y = two_classes(m=60)
    repeats = np.random.default_rng(2).integers(0, 4, size=60)
    folds = np.arange(60) % 3
    rows = np.repeat(np.arange(60), repeats)

    def splits(fold):
        return [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(3)]

    for method in METHODS:
        weighted = CalibratedModel(FAST, method=method, cv=splits(folds)).fit(X, y, sample_weight=repeats)
        repeated = CalibratedModel(FAST, method=method, cv=splits(folds[rows])).fit(X[rows], y[rows])
        assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-6, atol=1e-8)


def test_a_frozen_model_is_calibrated_as_it_is():
    X, y = two_classes(0)
    recent, labels = two_classes(1)
    fitted = clone(FAST).fit(X, y)
    weight = np.linspace(0.5, 2.0, len(labels))
    model = CalibratedModel(FrozenEstimator(fitted)).fit(recent, labels, sample_weight=weight)
    assert model.estimator_ is fitted
    with pytest.warns(UserWarning, match="does not appear to accept"):
        theirs = reference(FrozenEstimator(fitted), recent, labels, "sigmoid", weight)
    assert_allclose(model.predict_proba(recent), theirs.predict_proba(recent), rtol=1e-12, atol=1e-15)
    with pytest.raises(ValueError, match=r"knows the classes \['a good one', 'bad'\], but y has \[0, 1\]"):
        CalibratedModel(FrozenEstimator(fitted)).fit(recent, (labels == "bad").astype(int))
    with pytest.raises(NotFittedError):
        CalibratedModel(FrozenEstimator(clone(FAST))).fit(recent, labels)


def table_of(X):
    frame = pd.DataFrame(X, columns=["age", "income", "debt"])
    frame["town"] = np.where(X[:, 0] > 0, "north", "south")
    return frame


@pytest.mark.parametrize("form", ["pandas", "polars", "Table"])
def test_tables_with_texts_go_through_a_pipeline_that_codes_them(form):
    X, y = two_classes()
    frame = table_of(X)
    if form == "polars":
        frame = pytest.importorskip("polars").DataFrame(frame.to_dict(orient="list"))
    if form == "Table":
        from quadric.tables.table import as_table

        frame = as_table(frame)
    pipeline = make_pipeline(TableEncoder(), StandardScaler(), FAST)
    model = CalibratedModel(pipeline).fit(frame, y, sample_weight=np.linspace(1, 2, len(y)))
    coded = CalibratedModel(make_pipeline(StandardScaler(), FAST)).fit(
        TableEncoder().fit_transform(frame), y, sample_weight=np.linspace(1, 2, len(y))
    )
    expected = coded.predict_proba(TableEncoder().fit(frame).transform(frame))
    assert_allclose(model.predict_proba(frame), expected, rtol=1e-10)


def test_names_and_numbers_of_features_are_those_of_the_model_inside():
    X, y = two_classes()
    model = CalibratedModel(FAST)
    assert not any(hasattr(model, name) for name in ("classes_", "n_features_in_", "feature_names_in_", "method_"))
    model.fit(pd.DataFrame(X, columns=["age", "income", "debt"]), y)
    assert model.feature_names_in_.tolist() == ["age", "income", "debt"]
    assert model.n_features_in_ == 3
    assert not hasattr(model.fit(X, y), "feature_names_in_")


def test_folds_may_be_drawn_only_once():
    X, y = two_classes()
    folds = list(StratifiedKFold(4).split(X, y))
    drawn = CalibratedModel(FAST, cv=iter(folds)).fit(X, y)
    assert_array_equal(drawn.predict_proba(X), CalibratedModel(FAST, cv=4).fit(X, y).predict_proba(X))


def test_the_number_of_jobs_does_not_matter():
    X, y = three_classes()
    with parallel_backend("threading"):
        parallel = CalibratedModel(FAST, n_jobs=2).fit(X, y)
    assert_array_equal(parallel.predict_proba(X), CalibratedModel(FAST).fit(X, y).predict_proba(X))


def test_without_an_estimator_it_is_the_library_s_own():
    X, y = two_classes(m=60)
    model = CalibratedModel().fit(X, y)
    assert model.estimator_.surfaces_ == SparseQuadraticSVC().fit(X, y).surfaces_


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"method": "platt"}, ValueError, "method must be 'auto' or 'sigmoid' or 'isotonic', got 'platt'"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be"),
        ({"cutoff": 1.5}, ValueError, "cutoff must be a number between 0 and 1, or one of"),
        ({"cutoff": "cost:-1:1"}, ValueError, "must not be negative"),
        ({"cutoff": 0.3, "y": ["a", "b", "c", "c"] * 10}, ValueError, "a cutoff needs two classes: of 3 the most probable"),
        ({"estimator": RandomForestClassifier()}, TypeError, "decision_function, and RandomForestClassifier has none"),
        ({"cv": ShuffleSplit(3)}, ValueError, "partitions"),
        ({"cv": KFold(2)}, ValueError, "fold 0 has no training sample of class 'bad'; use fewer folds"),
        ({"y": None}, ValueError, "requires y to be passed"),
        ({"y": ["bad"] * 40}, ValueError, r"has 1 class: \['bad'\]"),
        ({"y": ["bad"] * 20 + ["good"] * 19}, ValueError, "inconsistent numbers of samples"),
        ({"sample_weight": np.ones(39)}, ValueError, "sample_weight.shape"),
        ({"sample_weight": -np.ones(40)}, ValueError, "[Nn]egative"),
        ({"sample_weight": np.repeat([0.0, 1.0], 20)}, ValueError, "zero for every sample of class 'bad'"),
        ({"sample_weight": np.r_[1.0, np.zeros(19), np.ones(20)]}, ValueError, "no training sample of class 'bad'"),
    ],
)
def test_mistakes_are_named_in_one_line(change, error, message):
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.repeat(["bad", "a good one"], 20)
    data = {"X": X, "y": change.get("y", y), "sample_weight": change.get("sample_weight")}
    parameters = {key: value for key, value in change.items() if key not in data}
    with pytest.raises(error, match=message) as caught:
        CalibratedModel(**{"estimator": FAST, **parameters}).fit(**data)
    assert "\n" not in str(caught.value)


def test_weights_that_would_be_lost_are_refused():
    X, y = two_classes()
    pipeline = make_pipeline(StandardScaler(), LinearDiscriminantAnalysis())
    with pytest.raises(TypeError, match="LinearDiscriminantAnalysis takes no sample_weight"):
        CalibratedModel(pipeline).fit(X, y, sample_weight=np.ones(len(y)))


def test_a_model_that_is_not_fitted_says_so():
    with pytest.raises(NotFittedError):
        CalibratedModel(FAST).predict_proba([[1.0, 2.0]])


@pytest.mark.parametrize(
    ("calibrators", "error", "message"),
    [
        ([], TypeError, "at least one"),
        ([SigmoidCalibration(-1, 0), IsotonicCalibration([0], [1])], TypeError, "SigmoidCalibration objects, or"),
        ([SigmoidCalibration(-1, 0)] * 2, ValueError, r"2 classes need 1 calibration\(s\), got 2"),
    ],
)
def test_parts_that_do_not_fit_are_refused(calibrators, error, message):
    X, y = two_classes()
    with pytest.raises(error, match=message):
        CalibratedModel.from_parts(clone(FAST).fit(X, y), calibrators)
    with pytest.raises(NotFittedError):
        CalibratedModel.from_parts(clone(FAST), [SigmoidCalibration(-1, 0)])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SigmoidCalibration(np.nan, 0.0), "must be finite"),
        (lambda: SigmoidCalibration(-1.0, np.inf), "must be finite"),
        (lambda: IsotonicCalibration([], []), "two equal lengths"),
        (lambda: IsotonicCalibration([0, 1], [0.5]), "two equal lengths"),
        (lambda: IsotonicCalibration([0, 0], [0.1, 0.2]), "increasing"),
        (lambda: IsotonicCalibration([0, np.nan], [0.1, 0.2]), "finite and increasing"),
        (lambda: IsotonicCalibration([0, 1], [0.2, 0.1]), "non-decreasing probabilities"),
        (lambda: IsotonicCalibration([0, 1], [0.2, 1.1]), "non-decreasing probabilities"),
        (lambda: IsotonicCalibration([0, 1], [-0.2, np.nan]), "non-decreasing probabilities"),
    ],
)
def test_calibrations_that_are_no_curves_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_calibrations_are_values():
    assert SigmoidCalibration(-1, 2) == SigmoidCalibration(-1.0, 2.0) != SigmoidCalibration(-1, 3)
    one, same, other = (
        IsotonicCalibration([0, 1], [0, 1]),
        IsotonicCalibration([0, 1], [0, 1]),
        IsotonicCalibration([0, 1], [0, 0.5]),
    )
    assert one == same != other
    assert hash(one) == hash(same)
    assert one != "a curve"
    assert_allclose(IsotonicCalibration([0, 1], [0.2, 0.8])(np.array([-5.0, 0.25, 7.0])), [0.2, 0.35, 0.8])
    with pytest.raises(ValueError, match="read-only"):
        one.x[0] = 5.0


@pytest.mark.parametrize("offset", [0.0, 2.0])
@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150])
def test_auto_leaves_out_an_offset_that_is_noise(offset, scale):
    rng = np.random.default_rng(0)
    f = rng.normal(size=400)
    y = (rng.random(400) < expit(1.5 * f - offset)).astype(int)
    (curve,) = CalibratedModel.around(
        RidgeClassifier().fit(f[:, None], y), f[:, None], y, method="auto", out_of_fold=scale * f
    ).calibrators_
    (platt,) = CalibratedModel.around(RidgeClassifier().fit(f[:, None], y), f[:, None], y, out_of_fold=scale * f).calibrators_
    if offset:
        assert curve == platt
    else:
        assert curve.b == 0.0 != platt.b
        slopes = np.array([0.999, 1.0, 1.001]) * curve.a * scale
        targets = np.where(y, (y.sum() + 1) / (y.sum() + 2), 1 / (len(y) - y.sum() + 2))
        misfits = [np.sum(np.logaddexp(0, -a * f) + targets * a * f) for a in slopes]
        assert misfits[1] == min(misfits)


@pytest.mark.parametrize("f", [np.zeros(40), -np.linspace(-1, 1, 40)], ids=["constant", "falling"])
@pytest.mark.parametrize("events", [10, 19])
def test_auto_without_a_slope_is_the_share_of_the_class(f, events):
    others = 40 - events
    y = np.repeat([0, 1], [others, events])
    (curve,) = CalibratedModel.around(
        RidgeClassifier().fit(f[:, None], y), f[:, None], y, method="auto", out_of_fold=f
    ).calibrators_
    assert curve.a == pytest.approx(0.0, abs=1e-12)
    assert curve(np.zeros(1))[0] == pytest.approx((events * (events + 1) / (events + 2) + others / (others + 2)) / 40)


def test_infinite_scores_are_refused():
    f, y = np.r_[np.inf, np.zeros(9)], np.arange(10) % 2
    with pytest.raises(ValueError, match="out_of_fold must hold finite decision values"):
        CalibratedModel.around(RidgeClassifier().fit(np.eye(10), y), np.eye(10), y, out_of_fold=f)


def test_auto_keeps_the_labels_of_the_surface():
    X, y = make_classification(80, 5, flip_y=0.2, random_state=3)
    classifier = SparseQuadraticSVC(k=3, C=1.0, loss="logistic").fit(X, y)
    model = CalibratedModel.around(classifier, X, y, method="auto")
    assert model.method_ == "sigmoid"
    assert_array_equal(model.predict(X), classifier.predict(X))
    assert (CalibratedModel.around(classifier, X, y).predict(X) != classifier.predict(X)).any()
