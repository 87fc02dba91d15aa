"""What the view says of single steps, and rows as the model takes them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

from helpers import PLAIN, random_samples, random_surface
from helpers.pipelines import FAST, KINDS, labels, loans
from quadric import NearTies, QuadraticSurface, SparseQuadraticSVC, alternatives
from quadric.credit import CalibratedModel
from quadric.export import equation
from quadric.fitted import Variable, fitted_model
from quadric.tables import CodedFeature


def view_of(*steps, columns, missing=(), seed=0):
    frame = loans(seed, missing=missing)
    return fitted_model(make_pipeline(*steps, FAST).fit(frame[columns], labels(frame)))


def test_an_imputer_after_a_scaler_fills_in_raw_units():
    view = view_of(StandardScaler(), SimpleImputer(strategy="median"), columns=["age", "debt"], missing=("age",))
    frame = loans(0, missing=("age",))
    assert view.features[0].missing == pytest.approx(frame["age"].median())
    assert view.accepts_missing
    assert view.names == ["age", "debt"]


def test_levels_and_what_becomes_of_missing_and_unknown_ones():
    encoder = OneHotEncoder(drop="first", handle_unknown="ignore", sparse_output=False)
    view = view_of(SimpleImputer(strategy="most_frequent"), encoder, columns=["home"], missing=("home",))
    assert view.names == ["home=free", "home=own", "home=rent"]
    assert [feature.level for feature in view.features] == ["free", "own", "rent"]
    assert [feature.missing for feature in view.features] == [0.0, 1.0, 0.0]
    assert [feature.unseen for feature in view.features] == [0.0, 0.0, 0.0]
    assert view.inputs[0].categories == ("boat", "free", "own", "rent")
    assert view.inputs[0].type == "category"


def test_infrequent_levels_are_one_feature():
    encoder = OneHotEncoder(max_categories=3, handle_unknown="infrequent_if_exist", sparse_output=False)
    view = view_of(encoder, columns=["home"])
    last = view.features[-1]
    assert last.name == "home=infrequent"
    assert dict(last.codes) == {"boat": 1.0, "free": 1.0, "own": 0.0, "rent": 0.0}
    assert (last.missing, last.unseen) == (1.0, 1.0)


def test_an_equation_says_which_levels_count():
    surface = QuadraticSurface(np.zeros((3, 3)), [1.0, 2.0, 3.0], 0.5)
    for unknown, text in (("infrequent_if_exist", "3*[home none of (own, rent)]"), ("error", "3*[home one of (boat, free)]")):
        encoder = OneHotEncoder(max_categories=3, handle_unknown=unknown, sparse_output=False)
        view = view_of(encoder, columns=["home"])
        assert text in equation(view.with_surfaces([surface]))
        assert "2*[home = rent]" in equation(view.with_surfaces([surface]))


def test_numbers_can_be_levels():
    view = view_of(OneHotEncoder(sparse_output=False), columns=["region"])
    assert view.names == ["region=3", "region=7", "region=11.5"]
    assert view.inputs[0].type == "number"
    assert view.reported(pd.DataFrame({"region": [7.0, 11.5]})).tolist() == [[0, 1, 0], [0, 0, 1]]


def test_ranks_that_are_missing_or_unknown_are_filled_in():
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    view = view_of(encoder, SimpleImputer(add_indicator=True), columns=["home"], missing=("home",))
    rank, flag = view.features
    assert rank.missing == rank.unseen == pytest.approx(view.steps[1][1].statistics_[0])
    assert (flag.kind, flag.missing, flag.unseen, dict(flag.codes)["own"]) == ("missing", 1.0, 1.0, 0.0)


def test_columns_that_no_feature_uses_need_not_be_there():
    steps = ColumnTransformer([("numbers", StandardScaler(), ["age", "debt"])])
    frame = loans(0)
    model = make_pipeline(steps, FAST).fit(frame, labels(frame))
    view = fitted_model(model)
    assert [column.type for column in view.inputs] == ["number", "unused", "unused", "number", "unused", "unused"]
    assert_array_equal(view.decision(view.rows(frame[["debt", "age"]])), model.decision_function(frame))
    with pytest.raises(ValueError, match="the table has no column 'debt', which the model needs"):
        view.rows(frame[["age"]])


def test_a_column_of_several_features_is_not_free_to_change():
    view = fitted_model(KINDS["one column, many features"].fitted(0))
    names = [name for name, free in zip(view.names, view.numeric, strict=True) if free]
    assert names == []
    assert view.names[:2] == ["region", "age"]
    assert view.names[-1] == "age (2)"


def test_limits_of_several_steps_meet_in_raw_units():
    X, y = random_samples(0, m=200, n=3)
    X = 40.0 + 9.0 * X
    wide, narrow = MinMaxScaler((-1.0, 1.0), clip=True), MinMaxScaler((0.0, 2.0), clip=True)
    model = make_pipeline(wide, StandardScaler(), narrow, SparseQuadraticSVC(k=4, clip=0.05)).fit(X, y)
    view = fitted_model(model)
    low, high = np.quantile(X, [0.05, 0.95], axis=0, method="inverted_cdf")
    assert_allclose((view.units.low, view.units.high), (low, high))
    far = 40.0 + 40.0 * np.random.default_rng(1).normal(size=(500, 3))
    assert_allclose(view.units(view.reported(far)), view.fitted(far), atol=1e-12)
    assert_array_equal(view.reported(far), far)
    loose = fitted_model(make_pipeline(wide, SparseQuadraticSVC(k=4, clip=None)).fit(X, y))
    assert_allclose((loose.units.low, loose.units.high), (X.min(axis=0), X.max(axis=0)))
    assert fitted_model(SparseQuadraticSVC(k=4, **PLAIN).fit(X - 40.0, y)).variables[0].is_raw


def test_limits_that_do_not_meet_leave_one_value():
    variable = Variable(CodedFeature("x", 0, "number")).scaled(1.0, 2.0).capped(0.0, 1.0)
    assert (variable.low, variable.high) == (1.0, 3.0)
    above = variable.capped(2.0, 4.0)  # the cap of 3 is below 5, where the second begins
    assert (above.low, above.high) == (5.0, 5.0)


def test_an_inner_calibration_gives_way_to_the_outer_one():
    X, y = random_samples(0, m=60, n=3)
    inner = CalibratedModel(SparseQuadraticSVC(k=3), cv=2).fit(X, y)
    outer = CalibratedModel.around(inner, X, y, method="isotonic", cv=2)
    assert fitted_model(outer).calibration == "isotonic"
    assert fitted_model(inner).calibration == "sigmoid"
    assert fitted_model(fitted_model(inner)).model is inner


def test_a_model_calibrated_around_is_the_model_itself():
    X, y = random_samples(1, m=90, n=3)
    model = SparseQuadraticSVC(k=3).fit(X, y)
    surfaces = model.surfaces_
    for method in ("sigmoid", "isotonic"):
        around = CalibratedModel.around(model, X, y, method=method, cv=3)
        assert around.estimator_ is model
        assert model.surfaces_ is surfaces
        again = CalibratedModel(SparseQuadraticSVC(k=3), method=method, cv=3).fit(X, y)
        assert_allclose(around.predict_proba(X), again.predict_proba(X), rtol=1e-9)
    with pytest.raises(ValueError, match=r"the fitted estimator knows the classes \[-1.0, 1.0\], but y has \[0, 1\]"):
        CalibratedModel.around(model, X, (y > 0).astype(int))


def test_near_ties_are_a_sequence_over_the_surfaces():
    X, y = random_samples(2, m=80, n=3)
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    for target, n_surfaces in ((y, 1), (three, 3)):
        model = SparseQuadraticSVC(k=3, loss="least_squares").fit(X, target)
        ties = alternatives(model, X, target, within=0.5)
        assert isinstance(ties, NearTies)
        assert len(ties) == len(list(ties)) == n_surfaces
        assert ties[-1] is list(ties)[-1]
        assert ties.exchanges == [exchange for entry in ties for exchange in entry.exchanges]
        assert len(ties.supports) == sum(len(entry.supports) for entry in ties) > 0


@pytest.mark.parametrize("seed", range(5))
def test_surfaces_add_up_like_functions(seed):
    rng = np.random.default_rng(seed)
    f, g, X = random_surface(rng, 4), random_surface(rng, 4), rng.normal(size=(20, 4))
    assert_allclose((f - g)(X), f(X) - g(X), atol=1e-12)
    assert_allclose((f + g)(X), f(X) + g(X), atol=1e-12)
    assert_allclose((f + 2.5)(X), f(X) + 2.5)
    assert_allclose((f - 2.5)(X), f(X) - 2.5)
    assert_allclose((-3.0 * f)(X), -3.0 * f(X))
    assert (-f) == f * -1.0
    assert_allclose(abs(f)(np.abs(X)), f.magnitude(X))
    assert (f.magnitude(X) >= np.abs(f(X)) * (1 - 1e-12)).all()
    one = QuadraticSurface(np.diag([0.0, 2.0, 0.0]), [0.0, 0.0, 1.0], 0.0)
    assert one.live_features.tolist() == [False, True, True]
    assert [(p.coefficient, p.factors) for p in one.products] == [(1.0, (1, 1)), (1.0, (2,))]


def test_a_surface_shows_its_equation():
    surface = QuadraticSurface([[2.0, 0.0], [0.0, 0.0]], [0.0, -3.0], 1.0)
    assert repr(surface) == "QuadraticSurface(f = -3*x1 + 1*x0^2 + 1)"
    large = random_surface(np.random.default_rng(0), 12)
    assert "array" not in repr(large)
    assert len(repr(large)) < 100
