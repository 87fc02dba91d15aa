"""From a table to a model: coding, labels, limits, choices, calibration."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import f1_score, log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from helpers.small_tables import credit_columns, credit_table
from quadric import ScaleWarning, SparseQuadraticSVC, SparseQuadraticSVCCV, resources
from quadric.credit import CalibratedModel
from quadric.errors import ParameterError
from quadric.estimators.calibration import METHODS as CALIBRATIONS
from quadric.estimators.calibration import probabilities
from quadric.estimators.choosing import Margin
from quadric.export import read_model, save_model
from quadric.geometry.terms import term_count, term_names
from quadric.losses import LOSS_NAMES
from quadric.search.methods import METHODS as SEARCH_METHODS
from quadric.tables import Table, TableEncoder, TableStream, as_table, structural_exclusions
from quadric.tables.table import text_column
from quadric.workflow import OptionError, TrainingOptions, prepare, train
from quadric.workflow.options import choices

FAST = {"loss": "least_squares", "k": 3, "C": 1.0, "calibrate": None}
"""Nothing to choose and nothing to calibrate: one fit."""


def options(**given):
    return TrainingOptions(**{**FAST, **({"C": None} if "Cs" in given else {}), **given})


def live_terms(trained):
    names = np.array(term_names(trained.data.feature_names))
    return set(names[np.flatnonzero(trained.classifier.coef_.any(axis=0))])


def test_the_model_is_the_pipeline_that_one_would_write_by_hand():
    table = credit_table()
    trained = train(table, "risk", options(C=2.0))
    inputs = table.drop(["risk"])
    encoder = TableEncoder().fit(inputs)
    X = encoder.transform(inputs)
    given = {"loss": "least_squares", "standardize": True, "exclude": structural_exclusions(encoder, X)}
    y = table["risk"] == "bad"
    by_hand = SparseQuadraticSVC(3, 2.0, **given).fit(X, y)
    assert_array_equal(trained.model.decision_function(table), by_hand.decision_function(X))
    assert trained.accuracy == by_hand.score(X, y)
    assert [name for name, _ in trained.model.steps] == ["coding", "classifier"]


def test_standardisation_is_an_option():
    trained = train(credit_table(), "risk", options(standardize=False))
    assert trained.classifier.scale_.tolist() == [1.0] * 5
    assert train(credit_table(), "risk", options()).classifier.scale_[0] == pytest.approx(np.std(credit_table()["age"]))


def test_scales_are_remarked_upon_once_and_with_the_names_of_the_table():
    columns = credit_columns()
    columns["income"] = columns["income"] * 1e5
    table = Table(tuple(columns), tuple(columns.values()))
    with pytest.warns(ScaleWarning) as caught:
        train(table, "risk", options(standardize=False, cross_validate=True, C=1.0, folds=2, calibrate="sigmoid"))
    assert len(caught) == 1
    assert re.fullmatch(r".*: 'income' has .*, 'home=free' has .*; standardise them", str(caught[0].message))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"cross_validate": True}, r"class 'bad' has 3 rows, fewer than the 5 folds: choose 3 or fewer"),
        ({"calibrate": "sigmoid", "folds": 4}, "fewer than the 4 folds"),
    ],
)
def test_a_class_with_fewer_rows_than_folds_is_refused(given, says):
    columns = {**credit_columns(), "risk": text_column(["bad"] * 3 + ["good"] * 117)}
    table = Table(tuple(columns), tuple(columns.values()))
    with pytest.raises(OptionError, match=says):
        train(table, "risk", options(**given))
    train(table, "risk", options(**given | {"folds": 3}, C=1.0))


@pytest.mark.parametrize(("positive", "names"), [(None, ("good", "bad")), ("good", ("bad", "good")), ("bad", ("good", "bad"))])
def test_a_positive_score_means_the_positive_class(positive, names, tmp_path):
    table = credit_table()
    trained = train(table, "risk", options(positive=positive))
    assert trained.data.class_names == names
    decided = np.array(names)[(trained.model.decision_function(table) > 0).astype(int)]
    assert np.mean(decided == table["risk"]) == trained.accuracy > 0.7
    save_model(trained.saved(), tmp_path / "m.json")
    saved = read_model(tmp_path / "m.json")
    assert (saved.class_names, saved.target) == (names, "risk")
    assert_array_equal(saved.model.decision_function(table), trained.model.decision_function(table))


def test_labels_are_the_names_where_these_sort_as_wanted_and_positions_elsewhere():
    columns = credit_columns()
    assert train(credit_table(), "risk", options(positive="good")).classifier.classes_.tolist() == ["bad", "good"]
    assert train(credit_table(), "risk", options(positive="bad")).classifier.classes_.tolist() == [0, 1]
    columns["risk"] = np.where(columns["risk"] == "good", 2.0, 10.0)
    numbers = train(Table(tuple(columns), tuple(columns.values())), "risk", options())
    assert numbers.data.class_names == ("2", "10")  # as numbers; as texts "10" would be the first
    assert numbers.classifier.classes_.tolist() == [2, 10]


def test_long_names_of_classes_are_not_repeated_in_every_row(tmp_path):
    columns = credit_columns()
    long = "n" * 900
    columns["risk"] = text_column([long if label == "good" else label for label in columns["risk"].tolist()])
    trained = train(Table(tuple(columns), tuple(columns.values())), "risk", options())
    assert trained.data.y.itemsize <= 8
    assert trained.data.class_names == ("bad", long)
    save_model(trained.saved(), tmp_path / "m.json")
    assert read_model(tmp_path / "m.json").class_names == ("bad", long)


@pytest.mark.filterwarnings("ignore:.*say the same")
@pytest.mark.parametrize(
    ("columns", "says", "remedies"),
    [
        (
            {f"x{i}": np.arange(4.0) for i in range(2_001)},
            "2,001 columns to learn from, and a model has at most 2,000",
            {"ignore"},
        ),
        (
            {f"x{i}": text_column([f"{i}{j}" for j in range(4)]) for i in range(700)},
            "700 columns become 2,100 features, and a model of 2 classes has at most 2,000",
            {"ignore", "coding"},
        ),
        ({"n" * 1001: np.arange(4.0)}, "the table has a column whose name has 1,001 characters", set()),
        ({"a": text_column(["n" * 1001, "b", "c", "d"])}, "column 'a' has a level whose name has 1,001 characters", {"ignore"}),
    ],
    ids=["columns", "features", "column name", "level name"],
)
def test_what_no_model_file_can_hold_is_refused_before_the_fit(columns, says, remedies):
    columns = {**columns, "risk": text_column(["a", "b", "a", "b"])}
    with pytest.raises(ValueError, match=says) as refused:
        prepare(Table(tuple(columns), tuple(columns.values())), "risk", options(rare="keep"))
    assert set(refused.value.remedies) == remedies


def test_coded_rows_that_do_not_fit_into_memory_are_refused_before_they_are_made(monkeypatch):
    monkeypatch.setattr(resources, "_physical", lambda: iter([resources.Room(1_000, "this machine has")]))
    monkeypatch.setattr(TableEncoder, "transform", lambda self, X: pytest.fail("rows were coded"))
    with pytest.raises(MemoryError, match=r"rows of 5 features need about 0\.0 GB of memory as numbers, and this machine has"):
        prepare(credit_table(), "risk", options())


def test_terms_that_say_nothing_new_are_excluded_and_counted():
    data = prepare(credit_table(), "risk", options())
    names = term_names(data.feature_names)
    assert {names[t] for t in data.limits.exclude} == {"phone^2", "home=free^2", "home=rent^2", "home=free*home=rent"}
    assert (data.limits.n_squares, data.limits.n_products) == (3, 1)
    assert data.n_candidates == term_count(5) - 4


def copied_table(m=300, seed=3):
    """Sex twice, as text and as number; a number twice, in other units; and two columns with the same gaps."""
    rng = np.random.default_rng(seed)
    sex, age, gaps = rng.choice(["female", "male"], m), rng.integers(20, 70, m), rng.random(m) < 0.3
    columns = {
        "sex": sex,
        "code": (sex == "female").astype(float),
        "age": age.astype(float),
        "months": 12.0 * age + 3.0,
        "weekends": np.where(gaps, np.nan, rng.normal(size=m)),
        "weekdays": np.where(gaps, np.nan, rng.normal(size=m)),
    }
    y = (sex == "female") + (age > 45) + gaps + rng.normal(size=m) > 1.5
    return Table((*columns, "risk"), (*columns.values(), np.where(y, "bad", "good").astype(object)))


def test_features_that_say_the_same_as_earlier_ones_are_no_candidates():
    with pytest.warns(UserWarning, match="columns say the same: 'sex' and 'code', 'age' and 'months'"):
        trained = train(copied_table(), "risk", options(k=5, C=64.0, calibrate=None, exclude=("weekends",)))
    used = " ".join(live_terms(trained))
    assert "sex=male" in used
    assert "age" in used
    assert not any(name in used for name in ("code", "months", "weekdays_missing", "weekdays is missing"))
    assert re.search(r"weekends\W?(is )?missing", used), used
    assert trained.data.limits.n_copies > 0
    assert sum(trained.data.limits.counts.values()) + 1 == len(trained.data.limits.left_out)
    with pytest.warns(UserWarning, match="say the same"):
        asked = train(copied_table(), "risk", options(k=5, C=64.0, calibrate=None, include=("months",)))
    assert "months" in live_terms(asked)
    assert not any("age" in term for term in live_terms(asked))


@pytest.mark.filterwarnings("ignore:.*say the same")
@pytest.mark.parametrize(
    "rules",
    [
        {"exclude": ("age", "age*", "age^2")},
        {"feature_cost": {"age": 10.0}, "max_cost": 5.0},
        {"interaction_cst": (("age",), ("sex", "code", "months", "weekends", "weekdays"))},
        {"monotonic_cst": {"months": 1}},
    ],
    ids=lambda rules: next(iter(rules)),
)
def test_a_copy_stays_where_rules_tell_it_from_what_it_copies(rules):
    data = prepare(copied_table(), "risk", options(k=5, C=64.0, calibrate=None, **rules))
    names = np.array(term_names(data.feature_names))
    allowed = set(np.delete(names, data.limits.left_out))
    wanted = {"sex=male*months"} if "interaction_cst" in rules else {"months", "months^2"}
    assert wanted <= allowed


def test_included_terms_are_used_even_where_they_say_nothing_new():
    trained = train(credit_table(), "risk", options(include=("phone^2", "income")))
    assert {"phone^2", "income"} <= live_terms(trained)
    assert trained.data.limits.n_squares == 2


def test_a_column_of_categories_stands_for_all_of_its_features():
    given = ("home", "income*home", "age*")
    data = prepare(credit_table(), "risk", options(exclude=given))
    names = term_names(data.feature_names)
    asked = {"home=free", "home=rent", "income*home=free", "income*home=rent"}
    asked |= {"age*home=free", "age*home=rent", "age*income", "age*phone"}
    assert asked <= {names[t] for t in data.limits.exclude}
    assert len(data.limits.exclude) == 4 + len(asked)
    used = live_terms(train(credit_table(), "risk", options(exclude=given)))
    assert not used & asked


def test_an_unknown_term_is_refused():
    with pytest.raises(ValueError, match="there is no term 'shoe'"):
        train(credit_table(), "risk", options(include=("shoe",)))


def test_missing_values_are_refused_by_column_and_count():
    with pytest.raises(ValueError, match=r"'age' \(4\), 'home' \(4\): fill them in, drop the rows, or impute them"):
        train(credit_table(gaps=4), "risk", options(missing="refuse"))


def test_dropping_rows_is_training_on_the_complete_ones():
    table = credit_table(gaps=4)
    complete = np.array([a == a and h is not None for a, h in zip(table["age"], table["home"], strict=True)])
    dropped, direct = train(table, "risk", options(missing="drop")), train(table[complete], "risk", options())
    assert dropped.data.n_dropped == 8
    assert_array_equal(dropped.classifier.coef_, direct.classifier.coef_)
    assert dropped.data.missing == {"age": 4, "home": 4}


def test_missing_values_are_filled_in_and_marked():
    table = credit_table(gaps=14)
    trained = train(table, "risk", options())
    assert {"age is missing", "home is missing"} <= set(trained.data.feature_names)
    age = trained.data.X[:, trained.data.feature_names.index("age")]
    assert age[0] == pytest.approx(np.nanmean(table["age"]))
    assert trained.saved().metadata["training"]["missing"] == {"age": 14, "home": 14}
    assert trained.saved().metadata["training"]["options"]["missing"] == "indicator"


def test_a_class_that_only_has_incomplete_rows_is_missed():
    columns = credit_columns(gaps=1)
    columns["risk"][:] = "good"
    columns["risk"][:2] = "bad"
    with pytest.raises(ValueError, match="no row of class 'bad' is left"):
        train(Table(tuple(columns), tuple(columns.values())), "risk", options(missing="drop"))


@pytest.mark.parametrize("given", [{"k": None}, {"k": None, "C": 4.0}, {"k": 3, "cross_validate": True}])
def test_choices_are_those_of_the_cross_validated_estimator(given):
    table = credit_table()
    chosen = options(ks=(1, 2, 3, 5), Cs=(1.0, 16.0), folds=4, seed=3, scoring="accuracy", **given)
    trained = train(table, "risk", chosen)
    data = trained.data
    direct = SparseQuadraticSVCCV(
        ks=(1, 2, 3, 5) if given["k"] is None else (3,),
        Cs=(1.0, 16.0) if "C" not in given else (4.0,),
        cv=StratifiedKFold(4, shuffle=True, random_state=3),
        loss="least_squares",
        exclude=data.limits.exclude,
        scoring="accuracy",
        random_state=3,
    ).fit(data.X, data.y)
    assert_array_equal(trained.search.cv_scores_, direct.cv_scores_)
    assert (trained.classifier.k, trained.classifier.C) == (direct.best_k_, direct.best_C_)
    cell = direct.Cs_.tolist().index(direct.best_C_), direct.ks_.tolist().index(direct.best_k_)
    told = trained.cross_validation
    assert told.accuracy.mean == pytest.approx(direct.cv_scores_.mean(axis=0)[cell])
    assert told.accuracy.error == pytest.approx(direct.cv_scores_[(slice(None), *cell)].std(ddof=1) / 2)
    assert told.folds == 4
    assert told.chosen.terms == trained.classifier.terms == direct.best_terms_
    assert told.log_loss is None  # it gives no probabilities


@pytest.mark.parametrize("given", [{}, {"class_weight": "balanced", "scoring": "roc_auc"}])
def test_the_log_loss_is_that_of_the_probabilities_that_the_model_gives(given):
    trained = train(credit_table(), "risk", TrainingOptions(k=2, C=1024.0, loss="least_squares", **given))
    told, search, codes = trained.cross_validation, trained.search, trained.data.codes
    chances = probabilities(search.oof_decision_, trained.model.calibrators_)
    by_fold = [log_loss(codes[rows], chances[rows]) for rows in (search.oof_folds_ == fold for fold in range(5))]
    assert told.log_loss.mean == pytest.approx(np.mean(by_fold))
    assert told.log_loss != told.chosen.score  # whose probabilities come from the sigmoids of other folds


def test_by_default_the_choice_goes_by_log_loss():
    trained = train(credit_table(), "risk", TrainingOptions(ks=(1, 2, 3), Cs=(1.0, 16.0)))
    told, search = trained.cross_validation, trained.search
    assert (told.scoring, told.rule) == ("log_loss", "best")
    assert told.chosen.score.mean == pytest.approx(-np.nanmax([np.nanmax(t.mean(axis=0)) for t in search.cv_scores_.values()]))
    sign = 1.0 if told.chosen.terms == "linear" else -1.0
    assert told.products.mean == pytest.approx(sign * search.terms_margin_.mean)
    linear = train(credit_table(), "risk", TrainingOptions(ks=(1, 2, 3), Cs=(16.0,), terms="linear"))
    assert linear.cross_validation.products is None
    assert not linear.classifier.surfaces_[0].W.any()
    alone = train(credit_table(), "risk", TrainingOptions(k=3, C=16.0, loss="logistic", cross_validate=False, calibrate=None))
    assert alone.classifier.terms == "quadratic"


@pytest.mark.parametrize("given", [{}, {"calibrate": "sigmoid"}, {"method": "exact", "k": 2, "cross_validate": True}])
def test_what_cross_validation_fitted_is_the_model(given, monkeypatch):
    searched = []
    original = SparseQuadraticSVCCV._fit_surveyed
    monkeypatch.setattr(
        SparseQuadraticSVCCV, "_fit_surveyed", lambda self, *a, **b: searched.append(self) or original(self, *a, **b)
    )
    monkeypatch.setattr(SparseQuadraticSVC, "fit", None)  # calibration uses what cross-validation knows
    table = credit_table()
    trained = train(table, "risk", options(**{"k": None, "ks": (1, 3), "Cs": (1.0, 16.0), "folds": 3, **given}))
    (search,) = searched
    assert trained.classifier is search.best_estimator_
    assert trained.classifier.certificates_[0].status == ("optimal" if given.get("method") == "exact" else "local")
    assert_array_equal(trained.model.decision_function(table), search.decision_function(trained.data.X))


def test_what_a_time_limit_left_of_one_fold_can_be_saved(monkeypatch, tmp_path):
    monkeypatch.setattr("quadric.estimators.crossvalidation.margin", lambda scores: Margin("linear", 0.1, np.nan))
    trained = train(credit_table(), "risk", TrainingOptions(ks=(2,), Cs=(1.0,), loss="least_squares"))
    save_model(trained.saved(), tmp_path / "m.json")
    assert read_model(tmp_path / "m.json").metadata["training"]["cross_validation"]["products"] == {"mean": -0.1, "error": None}


def test_the_grid_of_k_is_cut_to_what_there_is_and_to_what_must_be_used():
    table = credit_table().drop(["home", "phone"])
    trained = train(table, "risk", TrainingOptions(loss="least_squares", Cs=(1.0,), folds=2, include=("age", "income")))
    assert trained.search.ks_.tolist() == [2, 3, 4, 5]
    few = train(table, "risk", TrainingOptions(loss="least_squares", ks=(50,), Cs=(1.0,), folds=2))
    assert few.classifier.k == term_count(2)


def test_class_weights_go_by_names():
    table = credit_table()
    weighted = train(table, "risk", options(positive="bad", class_weight={"bad": 5.0}))
    assert weighted.classifier.class_weight == {0: 1.0, 1: 5.0}
    assert (
        weighted.model.decision_function(table).mean()
        > train(table, "risk", options(positive="bad")).model.decision_function(table).mean()
    )
    with pytest.raises(ValueError, match="the target has no class 'ugly'"):
        train(table, "risk", options(class_weight={"ugly": 2.0}))


def test_calibration_is_fitted_to_rows_left_out():
    table = credit_table()
    trained = train(table, "risk", options(calibrate="sigmoid", cross_validate=False))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    direct = CalibratedModel(trained.classifier, cv=folds).fit(trained.data.X, trained.data.y)
    assert trained.model.calibrators_ == direct.calibrators_
    assert_array_equal(trained.model.predict_proba(table), direct.predict_proba(trained.data.X))


def test_calibration_and_weights_by_name_go_together():
    trained = train(credit_table(), "risk", options(calibrate="sigmoid", class_weight={"good": 3.0}))
    assert trained.data.class_names == ("good", "bad")
    assert trained.model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"k": 0}, "k must be an integer from 1 to 1,000,000,000, got 0"),
        ({"k": 10**20}, "k must be an integer from 1 to 1,000,000,000, got 100000000000000000000"),
        ({"folds": 10**20}, "folds must be an integer from 2 to 1,000,000,000"),
        ({"max_levels": 2001}, "max_levels must be an integer from 2 to 2,000"),
        ({"seed": 2**32}, "seed must be an integer from 0 to 4,294,967,295"),
        ({"n_jobs": 100_000}, "n_jobs must be None or an integer from -1,000 to 1,000, not 0"),
        ({"time_limit": float("nan")}, "time_limit must be a finite number"),
        ({"C": float("inf")}, "C must be a finite number from 1e-60"),
        ({"Cs": tuple([1.0] * 10_001)}, "Cs has 10,001 values, more than 10,000"),
        ({"C": 0.0}, "C must be"),
        ({"loss": "log"}, "loss must be"),
        ({"k": None, "cross_validate": False}, "without cross-validation k and C must be given"),
        ({"C": None, "cross_validate": False}, "without cross-validation k and C must be given"),
        ({"clip": 0.5}, "clip must be a number from 0 to less than 0.5, got 0.5"),
        ({"clip": -0.1}, "clip must be a number from 0"),
        ({"rule": -0.1}, "rule must be 'best', '1se' or a finite number of at least 0, got -0.1"),
        ({"rule": "2se"}, "rule must be 'best', '1se' or"),
        ({"fit_time_limit": -1.0}, "fit_time_limit must be"),
        ({"scoring": "acuracy"}, r"scoring must be one of log_loss, accuracy, .* got 'acuracy' \(did you mean 'accuracy'\?\)"),
        ({"cutoff": "cost:-1:1", "calibrate": "sigmoid"}, "must not be negative"),
        ({"cutoff": 1.5, "calibrate": "sigmoid"}, "cutoff must be a number between 0 and 1"),
        ({"cutoff": 0.3, "calibrate": None}, "a cut-off is one on probabilities: calibrate the scores"),
        ({"ks": (3, 1)}, "increasing"),
        ({"ks": ()}, "increasing"),
        ({"Cs": (0.0,)}, "values of C"),
        ({"folds": 1}, "folds must be"),
        ({"calibrate": "platt"}, "calibrate must be"),
        ({"coding": "ordinal", "unseen": "guess"}, "unseen must be"),
    ],
)
def test_options_that_make_no_sense_are_refused(given, says):
    with pytest.raises(ValueError, match=says):
        TrainingOptions(**given)


@pytest.mark.parametrize(
    ("target", "ignore", "says"),
    [
        ("riks", (), "no column 'riks' .did you mean 'risk'"),
        ("risk", ("idd",), "no column 'idd'"),
        ("risk", ("risk",), "cannot be ignored"),
        ("risk", ("age", "income", "home", "phone"), "no column besides the target"),
    ],
)
def test_columns_that_are_not_there_are_named(target, ignore, says):
    with pytest.raises(ValueError, match=says):
        train(credit_table(), target, options(ignore=ignore))


def test_ignored_columns_are_not_part_of_the_model():
    trained = train(credit_table(), "risk", options(ignore=("phone", "home")))
    assert trained.data.encoder.input_names_ == ("age", "income")


def test_ordinal_coding_is_one_rank_a_column():
    data = prepare(credit_table(), "risk", options(coding="ordinal"))
    assert data.feature_names == ["age", "income", "home", "phone"]
    assert set(data.X[:, 2]) == {0.0, 1.0, 2.0}


def test_choices_are_those_of_the_library():
    assert set(choices()["method"]) == set(SEARCH_METHODS)
    assert choices()["calibrate"] == ("auto", *CALIBRATIONS)
    assert choices()["loss"] == ("auto", *LOSS_NAMES)


def rare_table(m=600, seed=0):
    """One row in ten is bad; groups of five rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3))
    bad = X[:, 0] + X[:, 1] * X[:, 2] + 0.7 * rng.normal(size=m) > 2.0
    customer = text_column([f"c{i // 5}" for i in range(m)])
    columns = {
        "a": X[:, 0],
        "b": X[:, 1],
        "c": X[:, 2],
        "customer": customer,
        "risk": np.where(bad, "yes", "no").astype(object),
    }
    return Table(tuple(columns), tuple(columns.values()))


def test_k_alone_leaves_C_to_cross_validation():
    trained = train(rare_table().drop(["customer"]), "risk", TrainingOptions(k=2, loss="least_squares", scoring="roc_auc"))
    assert trained.search is not None
    assert trained.classifier.k == 2
    assert len(trained.search.Cs_) > 1
    assert trained.classifier.C == trained.search.best_C_ != 1.0


def test_figures_are_those_of_the_model_s_own_labels_on_rows_left_out():
    table = rare_table().drop(["customer"])
    trained = train(table, "risk", TrainingOptions(k=3, Cs=(8.0,), loss="least_squares", cutoff="balanced"))
    y, search = trained.data.y, trained.search
    labels = trained.model.calibrators_[0](search.oof_decision_) > trained.model.cutoff_
    tests = [test for _, test in StratifiedKFold(5, shuffle=True, random_state=0).split(trained.data.X, y)]
    right = [np.mean(labels[test] == (y[test] == "yes")) for test in tests]
    areas = [roc_auc_score(y[test], search.oof_decision_[test]) for test in tests]
    found = trained.cross_validation
    assert (found.accuracy.mean, found.auc.mean) == pytest.approx((np.mean(right), np.mean(areas)))
    assert (found.accuracy.error, found.auc.error) == pytest.approx(
        (np.std(right, ddof=1) / 5**0.5, np.std(areas, ddof=1) / 5**0.5)
    )
    assert trained.cutoff == trained.model.cutoff_ < 0.5
    assert trained.base_rates == pytest.approx((np.mean(y == "no"), np.mean(y == "yes")))


def test_the_runner_up_is_the_best_cell_of_another_loss_or_else_another_cell():
    table = rare_table().drop(["customer"])
    two = train(table, "risk", TrainingOptions(ks=(1, 2, 3), Cs=(1.0, 8.0))).cross_validation
    assert two.runner_up.loss != two.chosen.loss
    one = train(table, "risk", TrainingOptions(ks=(1, 2, 3), Cs=(1.0, 8.0), loss="least_squares", rule="best")).cross_validation
    assert one.runner_up != one.chosen
    assert one.runner_up.score.mean >= one.chosen.score.mean  # of log-loss


@pytest.mark.parametrize(
    "scoring", ["log_loss", "brier", "ks", "average_precision", "roc_auc", "balanced_accuracy", "f1", "neg_log_loss"]
)
def test_every_measure_chooses_among_labels_of_any_type(scoring):
    trained = train(
        rare_table().drop(["customer"]), "risk", TrainingOptions(ks=(1, 3), Cs=(8.0,), loss="least_squares", scoring=scoring)
    )
    found = trained.cross_validation
    assert 0.0 < found.chosen.score.mean < 1.0  # losses with their own sign
    if scoring == "f1":  # of the positive class, which is a text
        labels = np.where(trained.search.oof_decision_ > 0, "yes", "no")
        assert found.chosen.score.mean == pytest.approx(f1_score(trained.data.y, labels, pos_label="yes"), abs=0.05)


def test_groups_stay_together_and_are_no_feature():
    table = rare_table()
    trained = train(table, "risk", TrainingOptions(ks=(2,), Cs=(8.0,), loss="least_squares", groups="customer", folds=4))
    assert trained.data.feature_names == ["a", "b", "c"]
    customers = table["customer"]
    for learned, left in trained.search.cv.split(trained.data.X, trained.data.y, trained.data.groups):
        assert not set(customers[learned]) & set(customers[left])
    assert not np.isnan(trained.search.oof_decision_).any()
    alone = train(
        table, "risk", TrainingOptions(k=2, C=8.0, loss="least_squares", groups="customer", folds=4, cross_validate=False)
    )
    assert alone.model.calibrators_[0].a == pytest.approx(trained.model.calibrators_[0].a, rel=0.2)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"groups": "Customer"}, r"the table has no column 'Customer' \(did you mean 'customer'\?\)"),
        ({"groups": "risk"}, "the column 'risk' is the target: it cannot hold the groups"),
        ({"groups": "few"}, "the column 'few' has 3 groups, fewer than the 5 folds"),
        ({"groups": "gaps"}, "the column 'gaps' of groups has no value in row 1"),
        ({"groups": "lumps"}, "all rows of class 'yes' are in groups of fold ., which leaves none to learn from"),
    ],
)
def test_groups_that_make_no_folds_are_refused(given, says):
    table = rare_table()
    columns = dict(zip(table.names, table.columns, strict=True))
    columns["few"] = np.arange(600.0) % 3
    columns["gaps"] = np.where(np.arange(600) == 0, np.nan, np.arange(600) % 50)
    columns["lumps"] = np.where(columns["risk"] == "yes", 0.0, np.arange(600) % 50 + 1)
    others = [name for name in ("customer", "few", "gaps", "lumps") if name != given["groups"]]
    with pytest.raises(ParameterError, match=says):
        train(Table(tuple(columns), tuple(columns.values())), "risk", options(Cs=(1.0,), ignore=tuple(others), **given))


def test_a_cut_off_and_measures_of_two_classes_are_refused_for_three():
    columns = credit_columns()
    columns["risk"] = np.array(["a", "b", "c"], dtype=object)[np.arange(120) % 3]
    table = Table(tuple(columns), tuple(columns.values()))
    with pytest.raises(OptionError, match="a cut-off needs two classes, and the target has 3"):
        train(table, "risk", options(cutoff="balanced", calibrate="sigmoid"))
    with pytest.raises(OptionError, match="scoring 'roc_auc' needs two classes, and the target has 3"):
        train(table, "risk", options(scoring="roc_auc", cross_validate=True))


def test_coefficients_that_are_only_rounding_are_refused_unless_asked_for():
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(30, 2)), 2, axis=0)  # every point once in each class
    columns = {"a": x[:, 0], "b": x[:, 1], "risk": np.tile(np.array(["no", "yes"], dtype=object), 30)}
    table = Table(tuple(columns), tuple(columns.values()))
    with pytest.raises(OptionError, match="the coefficients are only rounding: no term tells the classes apart") as caught:
        train(table, "risk", options())
    assert "allow_degenerate" in caught.value.remedies
    allowed = train(table, "risk", options(allow_degenerate=True))
    assert np.ptp(allowed.model.decision_function(table)) < 1e-9


def test_texts_of_frames_mean_missing_values_as_in_csv_files():
    columns = credit_columns()
    columns["home"][[2, 5, 7, 9]] = ["NA", " null ", "?", "n/a"]
    table = Table(tuple(columns), tuple(columns.values()))
    trained = train(table, "risk", options(missing="impute", rare="keep"))
    assert trained.data.missing == {"home": 3}
    assert "n/a" in trained.data.encoder.inputs_[2].categories
    others = train(table, "risk", options(missing="impute", rare="keep", missing_texts=("n/a",)))
    assert {"NA", "null", "?"} <= set(others.data.encoder.inputs_[2].categories)


@pytest.mark.parametrize("given", [{}, {"missing": "drop"}, {"C": None, "k": None, "ks": (1, 2), "Cs": (1.0,)}])
@pytest.mark.parametrize("cut", [120, 7], ids=["whole", "parts"])
def test_rows_without_a_label_count_for_nothing(given, cut):
    columns = credit_columns(gaps=5)
    columns["risk"][[0, 3, *range(14, 21)]] = None  # all rows of a part
    table, has_label = as_table(columns), np.array([label is not None for label in columns["risk"]])
    with pytest.warns(UserWarning, match="^the target 'risk' is missing in 9 rows, which are left out$"):
        trained = train(TableStream([table[start : start + cut] for start in range(0, 120, cut)]), "risk", options(**given))
    expected = train(table[has_label], "risk", options(**given))
    assert_allclose(trained.data.X, expected.data.X)
    assert trained.data.missing == expected.data.missing
    assert_allclose(trained.classifier.coef_, expected.classifier.coef_, atol=1e-9)


def test_missing_labels_are_refused_with_missing_values():
    columns = credit_columns()
    columns["risk"][3] = None
    with pytest.raises(ValueError, match=r"the target is missing in 1 row\(s\), the first is row 4"):
        train(as_table(columns), "risk", options(missing="refuse"))
