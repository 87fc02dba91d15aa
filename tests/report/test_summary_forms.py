"""Models and data in all the forms that a summary takes, and what it refuses."""

from dataclasses import fields, is_dataclass, replace
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from helpers.small_models import calibrated_pipeline, loans, scored_pipeline
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV, certify
from quadric.credit import CalibratedModel, SigmoidCalibration
from quadric.export import SavedModel, equation, load_model, save_model
from quadric.geometry.surface import QuadraticSurface
from quadric.report import Coefficient, Feature, render, summarise, summarising, surfaces
from quadric.report.numbers import short
from quadric.report.slices import level_line
from quadric.report.story import SHAPES, definition, term_words
from quadric.report.subject import Subject
from quadric.report.surfaces import stops
from quadric.review.explaining import ExplainingOptions, explain_rows
from quadric.tables import TableEncoder
from quadric.workflow import TableModel

QUICK = {"ks": (2, 5), "cv": 2, "n_boot": 0}


def texts_in(value):
    if isinstance(value, str):
        yield value
    elif is_dataclass(value):
        for field in fields(value):
            yield from texts_in(getattr(value, field.name))
    elif isinstance(value, tuple):
        for item in value:
            yield from texts_in(item)


def quick_pipeline(table, y, **parameters):
    return scored_pipeline(table, y, **{"method": "pd", **parameters})


def without_time(summary):
    facts = tuple(pair for pair in summary.facts if pair[0] not in ("Data", "Time"))
    return replace(summary, facts=facts, created="")


def facts_on(summary, title):
    return dict(dict(summary.facts)[title])


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(1)
    X = rng.normal([40.0, 2.0, -1.0], [10.0, 1.0, 0.5], size=(100, 3))
    y = np.where(X[:, 0] / 10 + X[:, 1] * X[:, 2] + rng.normal(0.0, 0.5, 100) > 2.0, "yes", "no")
    return X, y


def test_frames_and_arrays_give_one_summary(numbers):
    X, y = numbers
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    named = make_pipeline(StandardScaler(), SparseQuadraticSVC(3, method="pd")).fit(frame, y)
    nameless = make_pipeline(StandardScaler(), SparseQuadraticSVC(3, method="pd")).fit(X, y)
    summary = without_time(summarise(named, frame, y, **QUICK))
    assert summary == without_time(summarise(named, pl.from_pandas(frame), y, **QUICK))
    other = summarise(nameless, X, y, **QUICK)
    assert summary.classes == other.classes == ("no", "yes")
    assert [view.equation for view in summary.views] == [view.equation for view in other.views]


def test_labels_can_be_any_objects(numbers):
    X, y = numbers
    model = make_pipeline(StandardScaler(), SparseQuadraticSVC(3, method="pd"))
    texts, objects = (summarise(model.fit(X, labels), X, labels, **QUICK) for labels in (y, y.astype(object)))
    assert texts.cases
    assert texts.cases == objects.cases


def test_a_frame_of_texts_gives_the_summary_of_its_table():
    table, y = loans()
    frame = pd.DataFrame({name: table[name] for name in table.names})
    model = quick_pipeline(table, y)
    assert without_time(summarise(model, frame, y, **QUICK)) == without_time(summarise(model, table, y, **QUICK))


@pytest.fixture(scope="module")
def mixed():
    """A frame of numbers and texts with missing values, text labels, and a pipeline that codes, fills in and scales by column."""
    table, y = loans()
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({name: table[name] for name in table.names})
    X, labels = frame.mask(rng.random(frame.shape) < 0.05), np.where(y == 1, "lost", "paid")
    texts = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(sparse_output=False))
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = ColumnTransformer([("texts", texts, ["home"]), ("numbers", numbers, ["age", "income", "debt"])])
    return make_pipeline(columns, SparseQuadraticSVC(5, 16.0, method="pd")).fit(X, labels), X, labels


def test_columns_that_are_scaled_by_a_column_transformer_are_so_in_every_fold(mixed):
    model, X, labels = mixed
    summary = summarise(model, X, labels, **QUICK)
    left_out = cross_val_predict(model[-1], model[:-1].transform(X), labels, cv=2, method="decision_function")
    values = {measure["name"]: measure["out_of_fold"] for measure in summary.measures}
    assert_allclose(values["AUC"], roc_auc_score(labels == "paid", left_out), rtol=1e-12)
    assert_allclose(values["Accuracy"], np.mean((left_out > 0) == (labels == "paid")), rtol=1e-14)
    assert summary.classes == ("lost", "paid")
    assert "home = rent" in [feature.name for feature in summary.features]


def test_what_a_slice_holds_is_what_it_says_where_values_are_missing(mixed):
    model, X, labels = mixed
    summary = summarise(model, X, labels, **QUICK)
    assert summary.slices
    for picture in summary.slices:
        held, names = dict(picture["held"]), [summary.features[j].column for j in (picture["first"], picture["second"])]
        row = {name: float(text) if name != "home" else text for name, text in held.items()}
        row |= {names[0]: picture["x"][3], names[1]: picture["y"][7]}
        frame = pd.DataFrame({name: [row.get(name, X[name].dropna().iloc[0])] for name in X})
        assert_allclose(picture["values"][7][3], model.decision_function(frame)[0], rtol=1e-4, atol=1e-4)


def test_columns_of_an_array_that_a_model_drops_are_not_missed(numbers):
    X, y = numbers
    columns = ColumnTransformer([("scaled", StandardScaler(), [0, 2])])
    model = make_pipeline(columns, SparseQuadraticSVC(2, method="pd")).fit(X, y)
    summary = summarise(model, X, y, rows=(1,), **QUICK)
    assert ([feature.name for feature in summary.features], summary.n_columns) == (["x0", "x2"], 2)
    assert {part.column for part in summary.cases[0].contributions} == {"x0", "x2"}


def test_a_cross_validated_model_is_shown_with_what_it_chose(numbers):
    X, y = numbers
    model = SparseQuadraticSVCCV(ks=(2, 3), Cs=(1.0, 4.0), cv=2, standardize=True, method="pd", terms="quadratic").fit(X, y)
    summary = summarise(model, X, y, **QUICK)
    assert summary.k == model.best_k_
    assert [view.k for view in summary.views] == sorted({2, 5, model.best_k_})
    assert facts_on(summary, "Model")["C"] == f"{model.best_C_:g}"
    assert_allclose(summary.features[0].center, model.center_[0])
    own = next(view for view in summary.views if view.k == summary.k)
    assert {c.term: c.value for c in own.coefficients} == {t: v for t, v in enumerate(model.coef_[0]) if v != 0}
    assert facts_on(summary, "Model")["loss"] == model.best_loss_
    ks = [view.k for view in summary.views]
    same = {"loss": model.best_loss_, "terms": model.best_terms_, "scoring": "accuracy", "method": "pd"}
    scores = SparseQuadraticSVCCV(ks, (model.best_C_,), cv=2, **same)
    assert_allclose(summary.cross_validation.mean, scores.fit(X, y).cv_scores_[:, 0].mean(axis=0), rtol=1e-14)


def test_a_model_from_a_file_gives_the_summary_of_the_one_that_was_saved(tmp_path):
    table, y = loans()
    model = calibrated_pipeline(table, y, method="pd")
    save_model(model, tmp_path / "model.json")
    saved, fresh = (summarise(one, table, y, **QUICK) for one in (load_model(tmp_path / "model.json"), model))
    assert without_time(saved) == without_time(fresh)


def test_a_model_that_the_path_beats_is_shown_all_the_same():
    table, y = loans()
    model = quick_pipeline(table, y)
    best = model[-1].surfaces_[0]
    model[-1]._set_surfaces([QuadraticSurface(0.9 * best.W, 0.8 * best.b, best.c + 0.1)])
    summary = summarise(model, table, y, **QUICK)
    own = next(view for view in summary.views if view.k == summary.k)
    assert own == summary.surfaces[0].view
    assert {c.term: c.value for c in own.coefficients} == {t: v for t, v in enumerate(model[-1].coef_[0]) if v != 0}
    assert own.equation == equation(model)
    assert summary.path_objective < own.certificate.objective


def test_what_an_exact_fit_has_proved_is_kept_and_holds_for_fewer_terms():
    table, y = loans()
    model = scored_pipeline(table, y, k=3, method="exact", loss="least_squares")
    two, three, four = summarise(model, table, y, ks=(2, 3, 4), cv=2, n_boot=0).views
    assert (three.certificate.status, three.certificate.swap_optimal) == ("optimal", True)
    assert two.certificate.lower_bound >= three.certificate.lower_bound == model[-1].certificates_[0].lower_bound
    assert four.certificate.lower_bound < three.certificate.lower_bound
    elsewhere = summarise(model, table[:100], y[:100], ks=(3,), cv=2, n_boot=0).views[0].certificate
    (first,), (proof,) = (certify(model, table[:100], y[:100], time_limit=seconds) for seconds in (0.0, 60.0))
    assert first.lower_bound < elsewhere.lower_bound <= proof.lower_bound * (1 + 1e-9)


def test_what_is_proved_of_more_terms_holds_for_fewer(monkeypatch):
    """Bounds of larger k are lent to smaller ones, to the model's own, too; the page says the same of it everywhere."""
    table, y = loans()
    model = scored_pipeline(table, y, k=3, loss="least_squares")
    judged, own = surfaces.certified_surfaces, summarising.own_certificates
    reached = certify(model, table, y, k=4)[0].objective  # by three terms: more than four can be proved to need

    def loosely(subject, **how):
        return [certificate.bounded(1.0) for certificate in own(subject, **how)]

    def tightly(*arguments):
        bounds = {2: None, 4: 0.9 * reached}
        return (certificate.bounded(bounds[certificate.k]) for certificate in judged(*arguments))

    monkeypatch.setattr(summarising, "own_certificates", loosely)
    monkeypatch.setattr(surfaces, "certified_surfaces", tightly)
    summary = summarise(model, table, y, ks=(2, 3, 4), cv=2, n_boot=0)
    assert [view.certificate.lower_bound for view in summary.views] == [0.9 * reached] * 3
    assert summary.surfaces[0].view.certificate.lower_bound == 0.9 * reached


def test_more_classes_have_an_equation_each_and_say_what_is_absent():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler(), SparseQuadraticSVC(3, method="pd")).fit(X, y)
    names = ("setosa", "versicolor", "virginica")
    summary = summarise(model, X, y, class_names=names, cv=3, n_boot=2)
    assert [surface.label for surface in summary.surfaces] == list(names)
    assert summary.surfaces[1].sides == ("towards versicolor", "against versicolor")
    assert [surface.view.equation for surface in summary.surfaces] == equation(model).split("\n")[:3]
    for i, surface in enumerate(summary.surfaces):
        coef = {c.term: c.value for c in surface.view.coefficients}
        assert coef == {t: v for t, v in enumerate(model[-1].coef_[i]) if v != 0}
        assert surface.view.certificate.objective == pytest.approx(model[-1].certificates_[i].objective, rel=1e-9)
        assert all(row.inclusion is not None for row in surface.terms)
    assert {chapter for chapter, _ in summary.absent} == {"path", "performance", "complexity", "slices", "cases"}
    assert all("has 3" in reason for _, reason in summary.absent)
    assert summary.measures[0]["fitted"] == model.score(X, y)
    assert np.sum(summary.confusion) == len(y)
    assert_allclose(summary.measures[0]["out_of_fold"], np.trace(summary.confusion) / len(y))
    assert summary.views == ()
    assert summary.performance is None


def test_the_number_of_processes_does_not_matter():
    table, y = loans()
    model = quick_pipeline(table, y)
    with parallel_config(backend="threading"):
        together = summarise(model, table, y, ks=(2, 5), cv=2, n_boot=2, n_jobs=2)
    assert without_time(together) == without_time(summarise(model, table, y, ks=(2, 5), cv=2, n_boot=2))


def test_other_data_than_those_of_the_fit_are_remarked_on():
    table, y = loans()
    model = quick_pipeline(table, y)
    assert summarise(model, table, y, **QUICK).same_data is True
    assert summarise(model, *loans(9), **QUICK).same_data is False


def test_the_origin_of_the_data_and_hashes_of_what_was_seen_are_kept():
    table, y = loans()
    model = quick_pipeline(table, y)
    summary = summarise(model, table, y, origin=("loans.csv", "ab" * 32), **QUICK)
    assert facts_on(summary, "Data") == {
        "File": "loans.csv",
        "SHA-256 of the file": "ab" * 32,
        "Rows": "150",
        "Columns used for fitting": "4",
    }
    changed = (table.columns[0] + (np.arange(150) == 7), *table.columns[1:])
    others = [summarise(model, replace(table, columns=changed), y, **QUICK), summarise(model, table, 1 - y, **QUICK)]
    hashes = [facts_on(one, "Hashes (SHA-256)") for one in (summary, *others)]
    assert len({one["Features and labels"] for one in hashes}) == 3
    assert len({one["Coefficients"] for one in hashes}) == 1
    assert {"quadric", "Python", "numpy", "scipy", "scikit-learn"} <= set(facts_on(summary, "Versions"))


def test_a_date_that_the_environment_sets_is_the_date(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    table, y = loans()
    assert summarise(quick_pipeline(table, y), table, y, **QUICK).created == "1970-01-02 00:00 UTC"


def test_texts_from_data_are_printable_whatever_they_hold():
    columns = ("a\nb", "\x1b[31mred", "right\u202eleft", "lone \ud800 one")
    table, y = loans(columns=columns, levels=("x\x00y", "\u2028", "plain"))
    summary = summarise(
        quick_pipeline(table, y), table, y, class_names=("no\n", "\u2066yes"), name="\x07", target="\r", **QUICK
    )
    texts = list(texts_in(summary))
    assert len(texts) > 150
    assert [text for text in texts if not text.isprintable()] == []
    assert summary.features[0].name == "a\\nb"
    assert summary.classes == ("no\\n", "\\u2066yes")


def test_rows_asked_for_are_explained_and_frozen_features_left_alone():
    table, y = loans()
    model = quick_pipeline(table, y)
    declined = np.flatnonzero(model.predict(table) == 1)[:4].tolist()
    free = summarise(model, table, y, rows=declined, favourable="0", **QUICK)
    fixed = summarise(model, table, y, rows=declined, frozen=["debt"], favourable="0", **QUICK)
    assert [explained.row for explained in fixed.cases] == declined
    moved = [{c.feature for c in explained.changes} for explained in free.cases]
    assert any("debt" in names for names in moved)
    assert not any(c.feature == "debt" for explained in fixed.cases for c in explained.changes)
    whole = [c.after for one in free.cases for c in one.changes if c.feature == "age"]
    assert all(value == round(value) for value in whole)


def test_rows_are_explained_as_the_command_line_explains_them():
    table, y = loans()
    model = calibrated_pipeline(table, y, method="pd")
    rows = np.flatnonzero(model.predict(table) == 1)[:3].tolist()
    cases = summarise(model, table, y, rows=rows, favourable="0", **QUICK).cases
    saved = TableModel(SavedModel(model, (), None, {}, None, None))
    answers = explain_rows(saved, table, rows, table, ExplainingOptions(target="0"))
    assert [replace(one, actual=None) for one in cases] == answers
    assert [one.actual for one in cases] == [str(label) for label in y[rows]]


def test_only_actionable_columns_change_and_bounds_can_be_left_out():
    table, y = loans()
    model = quick_pipeline(table, y)
    declined = np.flatnonzero(model.predict(table) == 1).tolist()
    own = {**QUICK, "bounds": False}
    summary = summarise(model, table, y, rows=declined, actionable=["income:up"], favourable="0", **own)
    changes = [change for explained in summary.cases for change in explained.changes]
    assert {(change.feature, change.after > change.before) for change in changes} == {("income", True)}
    assert [view.certificate.lower_bound for view in summary.views] == [None] * len(summary.views)
    assert summarise(model, table, y, **QUICK).views[0].certificate.lower_bound is not None


def test_changes_stay_within_the_range_of_the_data():
    table, y = loans()
    model = quick_pipeline(table, y)
    declined = np.flatnonzero(model.predict(table) == 1).tolist()
    found = summarise(model, table, y, rows=declined, frozen=["debt"], favourable="0", **QUICK).cases
    changes = [change for explained in found for change in explained.changes]
    assert {change.feature for change in changes} == {"income"}
    assert table["income"].min() <= min(change.after for change in changes)
    assert max(change.after for change in changes) <= table["income"].max()
    hopeless = [explained for explained in found if not explained.changes]
    assert all(explained.distance is None and "no allowed change" in explained.message for explained in hopeless)
    assert hopeless


def test_rows_are_explained_towards_the_favourable_class():
    table, y = loans()
    model = quick_pipeline(table, y)
    decision = model.decision_function(table)
    for favourable, sign in (("0", 1.0), ("1", -1.0)):
        cases = summarise(model, table, y, favourable=favourable, **QUICK).cases
        assert {case.target for case in cases} == {favourable}
        away = [sign * decision[case.row] for case in cases]
        assert away == sorted(away, reverse=True)  # the worst first
        assert len(away) == 3
        assert min(away) > 0.0
    with pytest.raises(ValueError, match="the model has no class 'yes'"):
        summarise(model, table, y, favourable="yes", **QUICK)


def test_where_nobody_is_declined_the_chapter_says_so():
    table, y = loans()
    model = quick_pipeline(table, y, C=1e-3)
    assert not model.predict(table).any()
    summary = summarise(model, table, y, **QUICK)
    assert summary.cases == ()
    assert "for any row" in dict(summary.absent)["cases"]


def test_a_calibration_without_a_cutoff_leaves_out_what_needs_one():
    table, y = loans()
    model = CalibratedModel.from_parts(quick_pipeline(table, y), [SigmoidCalibration(1e-9, 3.0)])
    summary = summarise(model, table, y, rows=(1,), **QUICK)
    assert summary.performance["cutoff"] is None
    assert summary.confusion[0][1] == summary.confusion[1][1] == 0
    assert summary.cases[0].changes == ()
    assert "never crosses the cut-off" in dict(summary.absent)["slices"]


def test_one_half_at_zero_is_a_cutoff_of_zero():
    table, y = loans()
    model = CalibratedModel.from_parts(quick_pipeline(table, y), [SigmoidCalibration(-0.7, 0.0)])
    assert summarise(model, table, y, **QUICK).performance["cutoff"] == 0.0


def test_stops_reach_twice_k_and_hold_the_models_own():
    table, y = loans()
    subject = Subject.of(quick_pipeline(table, y, k=3), table, y, None)
    assert stops(subject, None) == tuple(range(1, 16))
    assert stops(subject, [1, 7]) == (1, 3, 7)
    subject = Subject.of(quick_pipeline(table, y, k=10), table, y, None)
    assert stops(subject, None) == tuple(range(1, 21))
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(60, 9)), rng.integers(0, 2, 60)
    wide = Subject.of(SparseQuadraticSVC(40, method="pd", loss="least_squares", include=[0, 1]).fit(X, labels), X, labels, None)
    shown = stops(wide, None)
    assert (shown[0], shown[-1]) == (2, 54)
    assert 40 in shown
    assert len(shown) <= 26
    assert stops(Subject.of(SparseQuadraticSVC(99, method="pd").fit(X[:, :2], labels), X[:, :2], labels, None), None) == (
        1, 2, 3, 4, 5,
    )  # fmt: skip


def test_a_model_that_depends_on_nothing_has_a_summary():
    X, y = np.tile([[0.0, 1.0], [1.0, 0.0]], (20, 1)), np.tile([0, 0, 0, 1], 10)
    model = SparseQuadraticSVC(1, 1e-6, loss="hinge", exclude=[0, 1, 2, 3]).fit(X, y)
    assert len(set(model.decision_function(X).tolist())) == 1
    summary = summarise(model, X, y, ks=(1,), cv=2, n_boot=0)
    assert (summary.slices, summary.cases) == ((), ())
    assert summary.surfaces[0].importances == ()
    assert {measure["name"]: measure["fitted"] for measure in summary.measures}["AUC"] == 0.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.arange(150)}, "labels that the model does not know"),
        ({"y": np.zeros(150, dtype=int)}, "no row of class 1"),
        ({"y": np.ones(3)}, "one label per row"),
        ({"n_boot": -1}, "n_boot"),
        ({"rows": (150,)}, "from 0 to 149"),
        ({"class_names": ("a",)}, "class_names"),
        ({"ks": (3, 2)}, "increasing"),
        (
            {"cv": [(np.flatnonzero(loans()[1] == 0), np.flatnonzero(loans()[1] == 1))]},
            "fold 0 has no training row of class '1'",
        ),
    ],
)
def test_what_cannot_be_summarised_is_refused_with_a_reason(change, message):
    table, y = loans()
    arguments = {"y": y, **QUICK, **change}
    with pytest.raises(ValueError, match=message):
        summarise(quick_pipeline(table, y), table, arguments.pop("y"), **arguments)


def test_models_that_were_not_searched_for_are_refused(numbers):
    X, y = numbers
    model = SparseQuadraticSVC(2, method="pd").fit(StandardScaler().fit_transform(X), y)
    with pytest.raises(TypeError, match="needs a fitted SparseQuadraticSVC or SparseQuadraticSVCCV, not QuadraticSurface"):
        summarise(model.surfaces_[0], X, y)


def test_models_without_a_formula_are_refused(numbers):
    X, y = numbers
    with pytest.raises(TypeError, match="is not understood"):
        summarise(Pipeline([("pca", PCA(2)), ("model", SparseQuadraticSVC(2))]).fit(X, y), X, y)


@pytest.mark.parametrize("radius", [0.4, 1.3])
def test_the_level_line_of_a_circle_is_the_circle(radius):
    x, y = np.linspace(-2, 2, 81), np.linspace(-2, 2, 61)
    values = x[None, :] ** 2 + y[:, None] ** 2 - radius**2
    pieces = np.array(level_line(x, y, values))
    ends = np.hypot(pieces[:, [0, 2]], pieces[:, [1, 3]])
    assert_allclose(ends, radius, atol=3e-3)
    assert_allclose(np.hypot(pieces[:, 2] - pieces[:, 0], pieces[:, 3] - pieces[:, 1]).sum(), 2 * np.pi * radius, rtol=5e-3)


def test_the_report_says_what_is_capped():
    table, y = loans()
    model = make_pipeline(TableEncoder(), SparseQuadraticSVC(3, 16.0, method="pd", loss="least_squares", clip=0.05)).fit(
        table, y
    )
    summary = summarise(model, table, y, ks=[3], n_boot=2, cv=2)
    low, high = model[-1].clip_low_, model[-1].clip_high_
    assert summary.features[0].caps == (low[0], high[0])
    assert definition(summary.features[0]).endswith(f", capped at {short(low[0])} and {short(high[0])}")
    assert summary.features[-1].caps == ()  # a level of a category


def test_words_name_the_side_that_the_sign_speaks_for():
    age, debt = (Feature(name, name, "number", 40.0, 2.0, 20.0, 60.0) for name in ("age", "debt"))
    rent = Feature("home = rent", "home", "level", 0.3, 0.5, 0.0, 1.0)
    features, sides = (age, debt, rent), ("towards lost", "towards paid")

    def words(first, second, weight):
        return term_words(Coefficient(0, first, second, weight, weight), features, sides)

    assert words(0, None, 1.0) == "Higher age counts towards lost."
    assert words(0, None, -1.0) == "Higher age counts towards paid."
    product, other = Coefficient(1, 1, 0, 0.5, 0.5), Coefficient(2, 1, 2, 0.5, 0.5)
    beside = term_words(Coefficient(0, 0, None, 1.0, 1.0), features, sides, (product, other))
    assert beside == words(0, None, 1.0)[:-1] + " where all columns are at their centres; its other terms can reverse that."
    assert term_words(Coefficient(0, 0, None, 1.0, 1.0), features, sides, (other,)) == words(0, None, 1.0)
    assert words(2, None, 1.0) == "home = rent counts towards lost."
    assert words(0, 0, -1.0) == "Values of age far from 40, on either side, count towards paid."
    assert words(0, 2, 1.0) == words(2, 0, 1.0) == "If home = rent, higher age counts more towards lost."
    assert words(2, 2, 1.0).endswith("count towards lost.")
    both = words(0, 1, -1.0)
    assert both.startswith("age and debt on the same side of 40 and 40 (both above or both below) count towards paid;")
    assert both.endswith("towards lost.")


def test_every_kind_of_surface_has_words():
    kinds = set()
    for n in (1, 2, 3, 4):
        for diagonal in product((-1.0, 0.0, 1.0), repeat=n):
            for slope, c in product((0.0, 1.0), (-1.0, 0.0, 1.0)):
                kinds.add(QuadraticSurface(np.diag(diagonal), np.append(np.zeros(n - 1), slope), c).kind())
    assert len(kinds) > 15
    assert kinds <= set(SHAPES)


def test_proofs_of_a_ruled_model_speak_of_equations_that_keep_the_rules():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    pages = {}
    for hierarchy in (None, "strong"):
        model = SparseQuadraticSVC(k=3, hierarchy=hierarchy).fit(X, y)
        page = render(summarise(model, X, y, n_boot=0, cv=2))
        words = "that keeps the rules", "another within the rules", "best equation found under the rules for each number"
        pages[hierarchy] = *(each in page for each in words), page.count("found under the rules")
        pages[hierarchy] += "Number of terms under the rules <output" in page, 'id="rules"' in page, "Strong hierarchy." in page
    assert pages == {None: (False, False, False, 0, False, False, False), "strong": (True, True, True, 4, True, True, True)}
