"""``quadric fit`` as a scikit-learn classifier."""

import inspect
import json
import re
from dataclasses import fields

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import quadric
from helpers.small_tables import credit_columns, csv_text
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV, TableClassifier, sparse_quadratic_path
from quadric.cli import main
from quadric.errors import ParameterError
from quadric.export import equation, read_model
from quadric.table_classifier import default_of
from quadric.tables import Table
from quadric.workflow import OptionError, TrainingOptions

pd = pytest.importorskip("pandas")

QUICK = {"k": 3, "C": 16.0, "loss": "least_squares"}


def credit(**how):
    frame = pd.DataFrame(credit_columns(**how))
    return frame.drop(columns="risk"), frame["risk"]


@pytest.fixture(scope="module")
def fitted():
    return TableClassifier(**QUICK).fit(*credit())


def test_the_parameters_are_the_options_of_a_training_run():
    assert TableClassifier().get_params() == {each.name: default_of(each) for each in fields(TrainingOptions)}
    assert TableClassifier()._options() == TrainingOptions()
    assert list(inspect.signature(TableClassifier).parameters) == [each.name for each in fields(TrainingOptions)]
    assert repr(TableClassifier(k=4)) == "TableClassifier(k=4)"
    assert "unseen : " in TableClassifier.__doc__
    with pytest.raises(TypeError, match="unexpected keyword argument 'terms_of'"):
        TableClassifier(terms_of=3)


def test_clones_have_the_same_parameters_and_no_fit(fitted):
    copy = clone(fitted).set_params(k=2)
    assert copy.get_params() == fitted.get_params() | {"k": 2}
    with pytest.raises(NotFittedError):
        copy.predict(credit()[0])


@pytest.mark.parametrize(
    ("options", "flags"), [({}, ()), ({"positive": "bad", "folds": 4}, ("--positive", "bad", "--folds", "4"))]
)
def test_the_command_line_gives_the_same_model(tmp_path, options, flags):
    columns = credit_columns()
    (tmp_path / "credit.csv").write_text(csv_text(columns))
    command = ["fit", tmp_path / "credit.csv", "--target", "risk", "--output", tmp_path / "theirs.json", *flags]
    assert main([str(word) for word in command]) == 0
    X, y = credit()
    ours = TableClassifier(**options).fit(X, y)
    ours.save(tmp_path / "ours.json")
    theirs = read_model(tmp_path / "theirs.json")
    mine = read_model(tmp_path / "ours.json")
    assert theirs.class_names == mine.class_names == ours.model_.class_names
    assert theirs.target == mine.target == "risk"
    view, own = (quadric.fitted.fitted_model(model.model) for model in (theirs, mine))
    assert_array_equal(view.surfaces[0].coordinates() != 0.0, own.surfaces[0].coordinates() != 0.0)
    assert view.classifier.certificates_[0].objective == pytest.approx(ours.certificates_[0].objective, rel=1e-9)
    table = Table(tuple(columns), tuple(columns.values()))
    sign = 1.0 if ours.classes_[1] == ours.model_.class_names[1] else -1.0
    assert_allclose(sign * ours.decision_function(X), view.decision(table), rtol=1e-7, atol=1e-9)
    recorded = [model.metadata["training"]["options"] for model in (theirs, mine)]
    assert recorded[0] == recorded[1]


@pytest.mark.parametrize(
    "labels", [("good", "bad"), (1, 0), (True, False), (2.0, 1.0), ("1", "0")], ids=["text", "int", "bool", "float", "digits"]
)
def test_labels_keep_their_type(labels):
    X, y = credit()
    own = np.array([labels[0] if label == "good" else labels[1] for label in y])
    model = TableClassifier(**QUICK).fit(X, own)
    assert_array_equal(model.classes_, np.unique(own))
    assert model.classes_.dtype == own.dtype
    assert model.predict(X).dtype == own.dtype
    assert model.score(X, own) == pytest.approx(TableClassifier(**QUICK).fit(X, y).score(X, y))


def test_scores_and_probabilities_follow_the_sorted_classes():
    X, y = credit()
    models = [TableClassifier(positive=positive, **QUICK).fit(X, y) for positive in ("good", "bad")]
    assert [model.model_.class_names for model in models] == [("bad", "good"), ("good", "bad")]
    for model in models:
        assert model.classes_.tolist() == ["bad", "good"]
        chance = model.predict_proba(X)
        assert_allclose(chance.sum(axis=1), 1.0)
        assert roc_auc_score(y == "good", chance[:, 1]) > 0.8
        assert roc_auc_score(y == "good", model.decision_function(X)) > 0.8
        assert_array_equal(model.predict(X), model.classes_[chance.argmax(axis=1)])
    assert_allclose(models[0].decision_function(X), models[1].decision_function(X), rtol=1e-6, atol=1e-9)


def test_three_classes():
    X, y = credit(classes=("low", "middle", "high"))
    model = TableClassifier(**QUICK).fit(X, y)
    assert model.classes_.tolist() == ["high", "low", "middle"]
    assert model.decision_function(X).shape == model.predict_proba(X).shape == (len(X), 3)
    assert_array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])
    assert model.equation().startswith("f[high] = ")


def test_numbers_in_the_order_of_numbers():
    X, y = credit(classes=("low", "middle", "high"))
    own = y.map({"low": 2, "middle": 10, "high": 100}).to_numpy()
    model = TableClassifier(**QUICK).fit(X, own)
    assert model.classes_.tolist() == [2, 10, 100]
    assert model.score(X, own) > 0.5


def test_probabilities_are_there_only_if_they_are():
    X, y = credit()
    bare = TableClassifier(calibrate=None, **QUICK)
    assert not hasattr(bare, "predict_proba")
    assert not hasattr(bare.fit(X, y), "predict_proba")
    logistic = TableClassifier(**QUICK | {"loss": "logistic"}, calibrate=None)
    assert hasattr(logistic, "predict_proba")
    assert logistic.fit(X, y).predict_proba(X).shape == (len(X), 2)


def polars_frame(frame):
    return pytest.importorskip("polars").DataFrame({name: frame[name].tolist() for name in frame})


def arrow_table(frame):
    return pytest.importorskip("pyarrow").table({name: frame[name].tolist() for name in frame})


@pytest.mark.parametrize("form", [polars_frame, arrow_table, lambda frame: {name: frame[name] for name in frame}])
def test_every_form_of_a_table_gives_the_same_model(fitted, form):
    X, y = credit()
    model = TableClassifier(**QUICK).fit(form(X), y.tolist())
    assert model.trained_.target == "target"
    assert model.feature_names_in_.tolist() == ["age", "income", "home", "phone"]
    assert_allclose(model.decision_function(form(X)), fitted.decision_function(X), rtol=1e-9)


def test_texts_gaps_and_dates():
    X, y = credit(gaps=4)
    X["since"] = pd.date_range("2020-01-31", periods=len(X), freq="7D")
    model = TableClassifier(missing="impute", dates=["since"], **QUICK).fit(X, y)
    assert model.score(X, y) > 0.6
    assert model.predict(X.head(2)).shape == (2,)
    with pytest.raises(ValueError, match="missing"):
        TableClassifier(missing="refuse", dates="since", **QUICK).fit(X, y)


def test_scikit_learns_tools():
    X, y = credit()
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    plain = TableClassifier(**QUICK, cross_validate=False, calibrate=None)
    assert cross_val_score(plain, X, y, cv=folds, error_score="raise").min() > 0.5
    assert cross_val_score(clone(plain).set_params(calibrate="sigmoid"), X, y, cv=folds, scoring="roc_auc").min() > 0.6
    grid = GridSearchCV(plain, {"k": [1, 3]}, cv=folds, error_score="raise").fit(X, y)
    assert grid.best_estimator_.equation().startswith("f = ")
    pipe = make_pipeline(FunctionTransformer(lambda frame: frame.assign(per=frame.income / frame.age)), plain).fit(X, y)
    assert pipe[-1].n_features_in_ == 5
    assert pipe.score(X, y) > 0.6


def test_what_it_says_and_writes(fitted, tmp_path):
    X, _ = credit()
    assert fitted.equation(precision=3) == equation(fitted.model_, precision=3)
    (answer,) = fitted.explain(X.iloc[[7]], reasons=2, target="good")
    assert answer.target == "good"
    assert str(answer).startswith("row 0: score ")
    assert "against good" in str(answer)
    fitted.export("sql", tmp_path / "model.sql", table="people")
    assert "people" in (tmp_path / "model.sql").read_text()
    fitted.report(tmp_path / "report.html", n_boot=0, ks=(1, 3))
    assert "risk" in (tmp_path / "report.html").read_text()
    with pytest.raises(TypeError, match="'reason'"):
        fitted.explain(X, reason=2)


def test_a_saved_model_explains_as_the_classifier_does(fitted, tmp_path, capsys):
    columns = credit_columns()
    (tmp_path / "credit.csv").write_text(csv_text(columns))
    fitted.save(tmp_path / "model.json")
    assert main(["explain", str(tmp_path / "model.json"), str(tmp_path / "credit.csv"), "--rows", "0,5", "--json"]) == 0
    ours = fitted.explain(credit()[0].iloc[[0, 5]])
    theirs = json.loads(capsys.readouterr().out)["rows"]
    assert [one.label for one in ours] == [one["label"] for one in theirs]
    assert_allclose([one.score for one in ours], [one["score"] for one in theirs], rtol=1e-9)


@pytest.mark.parametrize(
    "call", ["predict", "decision_function", "predict_proba", "explain", "equation", "report", "save", "export"]
)
def test_nothing_without_a_fit(call, tmp_path):
    arguments = {"equation": (), "report": (tmp_path,), "save": (tmp_path,), "export": ("sql", tmp_path)}
    with pytest.raises(NotFittedError):
        getattr(TableClassifier(), call)(*arguments.get(call, (credit()[0],)))


def test_bad_input(fitted):
    X, y = credit()
    with pytest.raises(ValueError, match="X has 120 rows, but y has 119 labels"):
        TableClassifier(**QUICK).fit(X, y[1:])
    with pytest.raises(ValueError, match="'income'"):
        fitted.predict(X.drop(columns="income"))
    with pytest.raises(ValueError, match="target is missing"):
        TableClassifier(missing="refuse", **QUICK).fit(X, y.where(y.index != 3))
    with pytest.raises(OptionError, match="k must be"):
        TableClassifier(k=0).fit(X, y)
    with pytest.raises(TypeError, match="sample_weight"):
        TableClassifier(**QUICK).fit(X, y, sample_weight=np.ones(len(y)))


def test_a_fit_that_fails_leaves_nothing_behind():
    X, y = credit()
    model = TableClassifier(**QUICK).fit(X, y)
    with pytest.raises(ValueError, match="labels"):
        model.fit(X, y[1:])
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_a_target_with_the_name_of_a_column():
    X, y = credit()
    model = TableClassifier(**QUICK).fit(X, y.rename("age"))
    assert model.trained_.target == "age_"


def numeric_faces(X, y):
    yield lambda: SparseQuadraticSVC(k=1).fit(X, y)
    yield lambda: SparseQuadraticSVCCV([1], [1.0], cv=2).fit(X, y)
    yield lambda: sparse_quadratic_path(X, y)


def test_numeric_estimators_name_it():
    X, y = credit(gaps=2)
    dated = X.assign(home=pd.Timestamp("2024-02-29"), age=1.0)
    cases = {
        "column 'home' holds texts; use quadric.TableClassifier for tables with texts, or encode it first": X,
        "column 'x2' holds texts; use quadric.TableClassifier": X.to_numpy(),
        "column 'home' holds dates; use quadric.TableClassifier": dated,
        "NaN: column 'age' holds missing values; use quadric.TableClassifier": X.drop(columns="home"),
    }
    for message, rows in cases.items():
        for face in numeric_faces(rows, y):
            with pytest.raises((TypeError, ValueError), match=message):
                face()


OTHERWISE = {
    "check_estimators_nan_inf": "missing values are told by column, without the word NaN",
    "check_fit2d_1sample": "the message speaks of the classes of the target",
}


@pytest.mark.filterwarnings(
    "ignore::quadric.workflow.checking.TableWarning"
)  # of targets that a column of the check gives away
@parametrize_with_checks(
    [TableClassifier(k=2, C=16.0, loss="least_squares", cross_validate=False, calibrate=None)],
    expected_failed_checks=lambda _: OTHERWISE,
)
def test_estimator_check(estimator, check):
    check(estimator)


FORMS = {"year first": "%Y/%m/%d", "day first": "%d.%m.%Y", "month first": "%m/%d/%Y"}


@pytest.mark.filterwarnings("ignore:column 'since' holds dates, which count as days")  # beside the one that is tested
@pytest.mark.parametrize("form", FORMS)
def test_dates_are_read_as_in_files(form, tmp_path):
    X, y = credit()
    days = np.random.default_rng(0).integers(0, 900, len(y)) + np.where(y == "bad", 300, 0)
    X["since"] = (pd.Timestamp("2010-01-03") + pd.to_timedelta(days, "D")).strftime(FORMS[form])
    path, model = tmp_path / "data.csv", tmp_path / "model.json"
    X.assign(risk=y).to_csv(path, index=False)
    flags = ["--k", "3", "--C", "16", "--loss", "least_squares"]
    assert main(["fit", str(path), "--target", "risk", *flags, "--output", str(model)]) == 0
    frame = pd.read_csv(path)
    with pytest.warns(UserWarning, match=f"column 'since' holds dates, read as {form}"):
        fitted = TableClassifier(**QUICK).fit(frame.drop(columns="risk"), frame["risk"])
    assert fitted.equation() == equation(read_model(model))
    assert "since" in fitted.equation()
    assert fitted.trained_.options.forms == {"since": form}
    few = frame.drop(columns="risk")[frame["since"].str.contains("0[1-9][./]0[1-9]")].head(3)  # ambiguous on their own
    assert_allclose(fitted.decision_function(few), fitted.decision_function(frame.drop(columns="risk"))[few.index])
    dated = few.assign(since=pd.to_datetime(few["since"], format=FORMS[form]))
    assert_allclose(fitted.decision_function(dated), fitted.decision_function(few))
    assert len(fitted.explain(few)) == len(few) > 0


def test_the_report_is_that_of_the_command(tmp_path):
    path, model = tmp_path / "credit.csv", tmp_path / "model.json"
    X, y = credit()
    X["id"] = np.random.default_rng(0).permutation(len(y)) + 1
    X.assign(risk=y).to_csv(path, index=False)
    flags = ["--k", "3", "--C", "16", "--loss", "least_squares"]
    assert main(["fit", str(path), "--target", "risk", *flags, "--output", str(model)]) == 0
    drawn = ["--bootstrap", "0", "--ks", "3", "--output", str(tmp_path / "theirs.html")]
    assert main(["report", str(model), str(path), *drawn]) == 0
    with pytest.warns(UserWarning, match="left out: column 'id'"):
        TableClassifier(**QUICK).fit(X, y).report(tmp_path / "ours.html", n_boot=0, ks=(3,))
    ours, theirs = ((tmp_path / f"{name}.html").read_text() for name in ("ours", "theirs"))
    measured = re.compile(r'<tr><th scope="row">(?:Accuracy|AUC|Log-loss)<.*?</tr>', re.DOTALL)
    assert len(measured.findall(ours)) == 3
    assert measured.findall(ours) == measured.findall(theirs)
    finding = "<li>Column &#39;id&#39; has a different value in every row"
    assert finding in ours
    assert finding in theirs


def test_certify_and_alternatives_take_it_with_its_own_labels():
    X, y = credit(gaps=4)
    y = y.map({"good": 0, "bad": 7})
    model = TableClassifier(**QUICK).fit(X, y)
    (certificate,) = quadric.certify(model, X, y)
    assert certificate.objective == pytest.approx(model.certificates_[0].objective, rel=1e-9)
    assert certificate.lower_bound <= certificate.objective
    (ties,) = quadric.alternatives(model, X, y, within=0.05)
    assert ties.objective == pytest.approx(certificate.objective, rel=1e-6)
    with pytest.raises(ValueError, match="has 120 rows, but y has 119 labels"):
        quadric.certify(model, X, y[1:])
    with pytest.raises(NotFittedError):
        quadric.certify(TableClassifier(), X, y)


@pytest.mark.parametrize("value", [1.0, "x"])
@pytest.mark.parametrize("gaps", [12, 100, 188])
def test_where_a_value_is_missing_is_a_feature_though_it_is_the_only_one(value, gaps):
    rng = np.random.default_rng(0)
    flag = rng.permutation(200) < gaps
    y = np.where(flag ^ (rng.random(200) < 0.2), "yes", "no")
    model = TableClassifier(**QUICK).fit({"a": [None if gap else value for gap in flag]}, y)
    assert "[a is missing]" in model.equation()


def test_too_few_missing_values_for_a_flag_are_told_with_the_option():
    with pytest.raises(ParameterError, match=r"all columns are constant: .* too few rows for a flag") as caught:
        TableClassifier(**QUICK).fit({"a": [np.nan] * 5 + [1.0] * 95}, ["yes", "no"] * 50)
    assert caught.value.remedies == {"rare": "keep"}


def test_files_are_replaced(fitted, tmp_path):
    for write in (fitted.save, lambda path: fitted.export("sql", path)):
        path = tmp_path / "file"
        path.write_text("old")
        write(path)
        assert path.read_text() != "old"
