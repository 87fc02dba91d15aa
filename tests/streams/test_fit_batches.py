"""Fits to batches are fits to all rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score, make_scorer, roc_auc_score

import quadric
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV
from quadric.errors import MemoryLimitError
from quadric.resources import Room
from quadric.samples.folds import folds_by_key
from quadric.samples.source import SampleBatch
from quadric.samples.target import Target
from streams.test_moments import features, part, parts, relative, table

# Fits to tables have the names of their columns, and arrays are compared with them
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")

COLUMNS = ["x0", "x1", "x2", "x3"]


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("clip", [0.02, None])
def test_batches_and_rows_give_the_same_surface(class_weight, clip):
    whole = table(m=900)
    how = {"k": 4, "C": 2.0, "loss": "least_squares", "clip": clip, "class_weight": class_weight}
    batches = parts(whole, (300, 500, 100))
    streamed = quadric.fit_batches(
        SparseQuadraticSVC(**how), lambda: map(as_batch, batches), target="y", sample_weight="weight"
    )
    rows = SparseQuadraticSVC(**how).fit(features(whole), whole["y"], whole["weight"])
    assert relative(streamed.coef_, rows.coef_) < 1e-10
    assert relative(streamed.intercept_, rows.intercept_) < 1e-10
    np.testing.assert_array_equal(streamed.clip_low_, rows.clip_low_)
    X = features(table(seed=5))
    assert relative(streamed.decision_function(X), rows.decision_function(X)) < 1e-9


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("classes", [("no", "yes"), ("a", "b", "c")])
def test_losses_that_need_rows_pass_over_the_batches(loss, classes):
    whole = table(m=900, classes=classes)
    how = {"k": 4, "C": 2.0, "loss": loss, "class_weight": {classes[0]: 2.0}}
    batches = [as_batch(each) for each in parts(whole, (300, 500, 100))]
    streamed = quadric.fit_batches(SparseQuadraticSVC(**how), batches, target="y", sample_weight="weight")
    rows = SparseQuadraticSVC(**how).fit(features(whole), whole["y"], whole["weight"])
    for one, two in zip(streamed.certificates_, rows.certificates_, strict=True):
        assert one.objective <= two.objective * (1.0 + 1e-6)
        assert one.local_minimum == two.local_minimum  # one class has no surface but a constant
        assert one.decrease < 1e-8
        assert one.stationarity < 1e-6
    if (streamed.coef_ != 0.0).tolist() == (rows.coef_ != 0.0).tolist():
        assert relative(streamed.coef_, rows.coef_) < 1e-9


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("class_weight", [None, {"a": 3.0}])
def test_coefficients_of_rounding_are_no_local_minimum(seed, class_weight):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(1000, 3)), np.where(rng.random(1000) < 0.1, "b", "a")
    how = {"k": 3, "loss": "hinge", "C": 1.0, "class_weight": class_weight}
    columns = {**{f"x{j}": column for j, column in enumerate(X.T)}, "t": y}
    by_passes = quadric.fit_batches(SparseQuadraticSVC(**how), columns, target="t").certificates_[0]
    in_memory = SparseQuadraticSVC(**how).fit(X, y).certificates_[0]
    for certificate in (by_passes, in_memory):
        assert certificate.converged
        assert not certificate.local_minimum


def test_terms_and_the_squared_loss_go_by_sums_beside_other_losses(monkeypatch):
    monkeypatch.setattr("quadric.samples.random_rows.SAMPLE_ROWS", 300)
    whole = table(m=1500)
    batches = [as_batch(each) for each in parts(whole, (700, 800))]
    search = SparseQuadraticSVCCV([2, 4], [1.0, 16.0], loss=("least_squares", "logistic"))
    quadric.fit_batches(search, batches, target="y", columns=COLUMNS)
    sums = quadric.fit_batches(clone(search).set_params(loss="least_squares"), batches, target="y", columns=COLUMNS)
    np.testing.assert_array_equal(search.cv_scores_["least_squares"], sums.cv_scores_)
    chosen = SparseQuadraticSVC(search.best_k_, search.best_C_, loss=search.best_loss_, terms=search.best_terms_)
    alone = quadric.fit_batches(chosen, batches, target="y", columns=COLUMNS)
    assert relative(search.coef_, alone.coef_) < 1e-9
    assert sorted(set(search.oof_folds_)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_losses_that_need_rows_keep_to_named_terms(loss):
    batches = [as_batch(each) for each in parts(table(m=900), (400, 500))]
    search = SparseQuadraticSVCCV([2], [1.0, 16.0], loss=loss, include=["x0*x2"], exclude=["x1"])
    quadric.fit_batches(search, batches, target="y", columns=COLUMNS)
    assert search.coef_[0][search.term_names().index("x0*x2")] != 0.0
    assert search.paths_[0].support[:, :, search.term_names().index("x1")].sum() == 0


@pytest.mark.parametrize("loss", ["least_squares", "logistic"])
def test_columns_in_another_order_than_in_the_table(loss):
    whole, chosen = table(m=300), ["x2", "x0", "x3"]
    X = np.column_stack([whole[name] for name in chosen])
    streamed = quadric.fit_batches(SparseQuadraticSVC(3, loss=loss), whole, target="y", columns=chosen)
    rows = SparseQuadraticSVC(3, loss=loss).fit(X, whole["y"])
    assert relative(streamed.coef_, rows.coef_) < 1e-9
    np.testing.assert_array_equal(streamed.predict(X), rows.predict(X))
    with pytest.raises(ValueError, match="'x2' appears 2 times"):
        quadric.fit_batches(SparseQuadraticSVC(3, loss=loss), whole, target="y", columns=["x2", "x2"])


def as_batch(columns):
    pa = pytest.importorskip("pyarrow")
    return pa.record_batch({name: pa.array(values.tolist()) for name, values in columns.items()})


@pytest.mark.parametrize("sample_rows", [50_000, 250])
@pytest.mark.parametrize("scoring", [None, "accuracy", "balanced_accuracy"])
@pytest.mark.parametrize("classes", [("no", "yes"), ("a", "b", "c")])
def test_cross_validation_by_sums_is_that_by_rows(classes, scoring, sample_rows, monkeypatch):
    """All rows are scored; log-loss by sigmoids that are fitted on the same random rows of other folds."""
    monkeypatch.setattr("quadric.samples.random_rows.SAMPLE_ROWS", sample_rows)
    whole = table(m=700, classes=classes)
    batches = [as_batch(each) for each in parts(whole, (200, 500))]
    how = {"ks": [1, 3, 5], "Cs": [1.0, 64.0], "loss": "least_squares", "clip": None, "rule": "best", "scoring": scoring}
    streamed = quadric.fit_batches(
        SparseQuadraticSVCCV(**how, cv=4), batches, target="y", columns=COLUMNS, sample_weight="weight"
    )
    X = features(whole)
    ids = np.arange(1, 701)
    fold = folds_by_key(SampleBatch(X, Target(ids, np.ones(2)), np.ones(700), ids), 4, 0)
    splits = [(np.flatnonzero(fold != number), np.flatnonzero(fold == number)) for number in range(4)]
    rows = SparseQuadraticSVCCV(**how, cv=splits).fit(X, whole["y"], whole["weight"])
    atol = 1e-12 if scoring else 1e-6  # rounding may move a row from one bin of decision values to the next
    np.testing.assert_allclose(streamed.cv_scores_, rows.cv_scores_, atol=atol)
    np.testing.assert_allclose(streamed.oof_proba_, rows.oof_proba_[streamed.oof_rows_ - 1], atol=1e-4)
    assert streamed.all_rows_scored_
    assert streamed.best_terms_ == rows.best_terms_
    assert (streamed.best_k_, streamed.best_C_) == (rows.best_k_, rows.best_C_)
    assert relative(streamed.coef_, rows.coef_) < 1e-9
    assert len(streamed.oof_rows_) == min(sample_rows, 700)
    np.testing.assert_allclose(streamed.oof_decision_, rows.oof_decision_[streamed.oof_rows_ - 1], atol=1e-8)
    np.testing.assert_allclose(streamed.paths_[0].objective, rows.paths_[0].objective, rtol=1e-9)
    assert streamed.predict(X).tolist() == streamed.best_estimator_.predict(X).tolist()


def test_log_loss_of_all_rows_is_weighted_as_the_loss_is(monkeypatch):
    monkeypatch.setattr("quadric.samples.random_rows.SAMPLE_ROWS", 250)
    whole = table(m=700)
    how = {"ks": [3], "Cs": [1.0], "loss": "logistic", "clip": None, "terms": "quadratic", "class_weight": {"yes": 5.0}}
    streamed = quadric.fit_batches(SparseQuadraticSVCCV(**how, cv=4), [as_batch(whole)], target="y", columns=COLUMNS)
    fold = folds_by_key(SampleBatch(features(whole), Target(ids := np.arange(1, 701), np.ones(2)), np.ones(700), ids), 4, 0)
    (cell,) = streamed.cv_scores_[0, 0]
    sample = streamed.oof_rows_[streamed.oof_folds_ == 0] - 1
    loss = -np.log(streamed.oof_proba_[streamed.oof_folds_ == 0, (whole["y"][sample] == "yes").astype(int)])
    weight = np.where(whole["y"][sample] == "yes", 5.0, 1.0)
    assert len(sample) < (fold == 0).sum()  # scores are of all rows, of which the sample is a part
    assert -cell == pytest.approx(np.average(loss, weights=weight), rel=0.2)
    assert abs(-cell / loss.mean() - 1.0) > 0.25


def test_decision_values_are_of_a_random_sample_where_there_are_many_rows(monkeypatch):
    monkeypatch.setattr("quadric.samples.random_rows.SAMPLE_ROWS", 200)
    whole = table(m=2000)
    batches = [as_batch(each) for each in parts(whole, (500, 1500))]
    model = SparseQuadraticSVCCV([2, 4], [1.0, 64.0], loss="least_squares", scoring="roc_auc")
    streamed = quadric.fit_batches(model, batches, target="y", columns=COLUMNS)
    test, at = (
        streamed.oof_folds_ == 0,
        (list(streamed.Cs_).index(streamed.best_C_), list(streamed.ks_).index(streamed.best_k_)),
    )
    area = roc_auc_score(whole["y"][streamed.oof_rows_[test] - 1], streamed.oof_decision_[test])
    assert streamed.cv_scores_[0][at] == pytest.approx(area, abs=1e-12)
    assert len(streamed.oof_rows_) == len(streamed.oof_decision_) == len(streamed.oof_folds_) == 200
    assert streamed.oof_rows_.min() >= 1
    assert streamed.oof_rows_.max() <= 2000
    assert streamed.score(features(whole), whole["y"]) > 0.7


def test_groups_stay_in_one_fold():
    whole = {**table(m=600), "customer": np.repeat(np.arange(60), 10).astype(str).astype(object)}
    batches = [as_batch(each) for each in parts(whole, (250, 350))]
    model = SparseQuadraticSVCCV([2], [1.0, 2.0], loss="least_squares")
    streamed = quadric.fit_batches(model, batches, target="y", columns=COLUMNS, groups="customer")
    for customer in range(60):
        assert len(set(streamed.oof_folds_[10 * customer : 10 * customer + 10])) == 1
    assert len(set(streamed.oof_folds_)) == 5


def test_what_can_be_read_once_only_is_refused():
    whole = table()
    batches = iter([as_batch(whole)])
    with pytest.raises(ValueError, match="an iterator, which can be read only once"):
        quadric.fit_batches(SparseQuadraticSVC(loss="least_squares"), batches, target="y")


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"x3": None}, "different columns: only some of them have 'x3'"),
        ({"x0": ["a"] * 300}, "column 'x0' holds numbers in one part of the table and texts or dates in another"),
        ({"x0": [np.nan] * 300}, "column 'x0' is missing in 300 row"),
        ({"y": ["yes"] * 299 + [""]}, r"^the target is missing in 1 row\(s\), the first is row 600: drop them or fill them in"),
    ],
)
def test_parts_that_do_not_fit_together_give_no_model(second, message):
    whole = table()
    one, two = part(whole, slice(0, 300)), {**part(whole, slice(300, 600)), **second}
    two = {name: np.asarray(values, dtype=object) for name, values in two.items() if values is not None}
    model = SparseQuadraticSVC(loss="least_squares").fit(features(whole), whole["y"])
    with pytest.raises(ValueError, match=message):
        quadric.fit_batches(model, [as_batch(one), as_batch(two)], target="y", columns=COLUMNS if "x3" not in second else None)


def test_a_fold_without_a_class_is_refused():
    whole = table(m=40)
    whole["y"] = np.array(["no"] * 39 + ["yes"], dtype=object)
    for loss in ("least_squares", "logistic"):
        with pytest.raises(ValueError, match=r"^fold . has no training sample of class 'yes'; use fewer folds"):
            quadric.fit_batches(
                SparseQuadraticSVCCV([2], [1.0, 2.0], loss=loss), [as_batch(whole)], target="y", columns=COLUMNS
            )


def test_a_class_that_the_random_sample_hardly_has(monkeypatch):
    monkeypatch.setattr("quadric.samples.random_rows.SAMPLE_ROWS", 60)
    whole = table(m=3000)
    whole["y"] = np.where(np.arange(3000) % 300 == 7, "yes", "no").astype(object)
    batches = [as_batch(each) for each in parts(whole, (1000, 2000))]
    search = SparseQuadraticSVCCV([2], [1.0, 2.0], loss="least_squares", cv=3)
    assert quadric.fit_batches(search, batches, target="y", columns=COLUMNS).all_rows_scored_
    message = "of 60 random rows, fold . has no training sample of class 'yes'; use fewer folds, or a loss that needs sums only"
    with pytest.raises(ValueError, match=message):
        quadric.fit_batches(search.set_params(loss="logistic"), batches, target="y", columns=COLUMNS)


@pytest.mark.parametrize("n_features", [4, 45])
def test_labels_that_are_numbers_keep_their_rows(n_features):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, n_features))
    y = np.digitize(X[:, 0] * X[:, 1] - X[:, 2], [-0.5, 0.5])
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(n_features)]).assign(y=np.array([5, 10, 60])[y])
    how = {"loss": "least_squares", "class_weight": {"5": 1.0, "10": 2.0, "60": 1.0}}
    for model in (SparseQuadraticSVC(3, C=16.0, **how), SparseQuadraticSVCCV([3], [1.0, 16.0], **how)):
        streamed = quadric.fit_batches(model, frame, target="y")
        assert streamed.classes_.tolist() == ["5", "10", "60"]
        assert np.mean(streamed.predict(frame.drop(columns="y")) == frame["y"].astype(str)) > 0.7


def test_groups_are_the_same_whatever_holds_them(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({name: values for name, values in table(m=300).items() if name != "weight"})
    frame = frame.assign(customer=np.repeat(np.arange(60), 5))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    days = frame.assign(customer=np.datetime64("2026-01-01") + frame["customer"].to_numpy())
    for data in (frame, tmp_path / "rows.csv", tmp_path / "rows.parquet", days):
        model = SparseQuadraticSVCCV([2], [1.0, 2.0], loss="least_squares", cv=3)
        found = quadric.fit_batches(model, data, target="y", columns=COLUMNS, groups="customer").oof_folds_
        if data is frame:
            expected = found
        elif data is not days:
            assert found.tolist() == expected.tolist()
    assert len(set(found)) == 3


def test_scores_of_the_positive_class_take_the_second_label():
    whole = table(m=500)
    model = SparseQuadraticSVCCV([2, 3], [1.0, 16.0], loss="least_squares", scoring="f1", clip=None, cv=3)
    streamed = quadric.fit_batches(model, [as_batch(whole)], target="y", columns=COLUMNS)
    positive = make_scorer(f1_score, pos_label="yes")
    again = quadric.fit_batches(clone(model).set_params(scoring=positive), [as_batch(whole)], target="y", columns=COLUMNS)
    assert streamed.cv_scores_.tolist() == again.cv_scores_.tolist()


def test_a_time_limit_that_ran_out_is_told():
    with pytest.warns(ConvergenceWarning, match="fit_time_limit=1e-06 ran out") as told:
        quadric.fit_batches(SparseQuadraticSVCCV([2, 3], fit_time_limit=1e-6), table(m=300), target="y", columns=COLUMNS)
    assert told[0].filename == __file__


@pytest.mark.parametrize("loss", ["hinge", "logistic", "least_squares"])
def test_a_final_fit_by_passes_that_has_no_time_takes_the_terms_that_were_chosen(loss):
    passes, rows = [], as_batch(table(m=1500))
    model = SparseQuadraticSVCCV([2, 3], loss=loss, cv=3, fit_time_limit=1e-6)
    with pytest.warns(ConvergenceWarning) as told:
        quadric.fit_batches(model, lambda: passes.append(1) or iter([rows]), target="y", columns=COLUMNS)
    assert ["ran out" in str(each.message) for each in told] == [True]
    assert model.status_ == ["time limit"]
    assert np.flatnonzero(model.coef_[0]).tolist() == np.flatnonzero(model.paths_[0].support[0, 0]).tolist()
    assert len(passes) <= 8
    assert model.best_estimator_.time_limit is None


def test_rows_of_many_features_without_a_class_are_refused(wide):
    wide["w"] = (wide["y"] == "no").astype(float)
    with pytest.raises(ValueError, match="there are no rows of class 'yes'"):
        quadric.fit_batches(SparseQuadraticSVC(1), [as_batch(wide)], target="y", sample_weight="w")


@pytest.mark.parametrize("seed", [12, 25])
def test_a_flat_hinge_intercept_is_the_one_in_memory(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(300, 6000))
    X = rng.normal(size=(m, 4))
    X = np.round(X, 1) if seed % 3 == 0 else X
    f = X[:, 0] * X[:, 1] + X[:, 2] - 0.3 + (0.5 * rng.normal(size=m) if seed % 4 else 0)
    weight = np.ones(m) if seed % 2 else rng.integers(1, 3, m).astype(float)
    model = SparseQuadraticSVC(3, C=[1.0, 0.01][seed % 3], loss="hinge")
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(y=np.where(f > 0, "yes", "no"), w=weight)
    whole = clone(model).fit(X, frame["y"].to_numpy(), weight)
    pieces = [frame.iloc[first : first + 500] for first in range(0, m, 500)]
    streamed = quadric.fit_batches(clone(model), pieces, target="y", sample_weight="w")
    assert streamed.intercept_ == pytest.approx(whole.intercept_, abs=1e-12)
    assert streamed.coef_ == pytest.approx(whole.coef_, abs=1e-12)


WIDE = [f"x{j}" for j in range(45)]
"""Names of so many features that their terms are not paired."""


@pytest.fixture
def wide():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, len(WIDE)))
    f = X[:, 0] * X[:, 7] + X[:, 44] - 0.2 + 0.3 * rng.normal(size=400)
    return {**dict(zip(WIDE, X.T, strict=True)), "y": np.where(f > 0, "yes", "no").astype(object)}


@pytest.mark.parametrize("loss", ["least_squares", "logistic"])
def test_tables_with_many_features_are_fitted_in_memory(loss, wide):
    batches = [as_batch(each) for each in parts(wide, (150, 250))]
    model = SparseQuadraticSVC(2, C=16.0, loss=loss, class_weight="balanced", include=["x44"])
    streamed = quadric.fit_batches(clone(model), batches, target="y")
    rows = clone(model).fit(pd.DataFrame({name: wide[name] for name in WIDE}), wide["y"].astype(str))
    assert relative(streamed.coef_, rows.coef_) < 1e-10
    assert streamed.feature_names_in_.tolist() == WIDE
    search = quadric.fit_batches(SparseQuadraticSVCCV([1, 2], [1.0, 16.0], loss=loss), batches, target="y")
    assert [search.term_names()[j] for j in np.flatnonzero(search.coef_[0])] == ["x0*x7", "x44"]
    assert len(search.oof_decision_) == 400


def test_more_terms_than_memory_allows_are_refused_before_any_sum(wide, monkeypatch):
    monkeypatch.setattr("quadric.estimators.base.fits", lambda *_: False)
    monkeypatch.setattr("quadric.samples.extent.memory", lambda: Room(100 << 20, "this machine has"))
    batches = [as_batch(wide)]
    with pytest.raises(MemoryLimitError, match=r"45 features \(1,080 terms\) need about 0.1 GB .* at most about 40 features"):
        quadric.fit_batches(SparseQuadraticSVCCV([1], [1.0], loss="least_squares"), batches, target="y")
    monkeypatch.setattr("quadric.samples.extent.memory", lambda: Room(20 << 20, "this machine has"))
    with pytest.raises(MemoryLimitError, match=r"45 features .* and this machine has 0.0 GB: .* at most about 36 features"):
        quadric.fit_batches(SparseQuadraticSVC(1, loss="hinge"), batches, target="y")
