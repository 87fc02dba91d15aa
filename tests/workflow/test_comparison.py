"""The comparison: same folds, same columns, honest sizes."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from helpers.small_tables import credit_table
from quadric import SparseQuadraticSVCCV
from quadric.tables import TableEncoder
from quadric.workflow import TrainingOptions, compare, comparison
from quadric.workflow.preparation import prepare

SMALL = {"loss": "least_squares", "folds": 3}


@pytest.fixture
def _one_rival(monkeypatch):
    """Logistic regression stands for all of them where they do not matter."""
    monkeypatch.setattr(comparison, "find_spec", lambda name: None)
    monkeypatch.setattr(comparison, "COMPETITORS", comparison.COMPETITORS[:1])


@pytest.fixture(scope="module")
def compared():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparison, "find_spec", lambda name: None)
        return compare(credit_table(), "risk", TrainingOptions(k=3, C=4.0, **SMALL))


def coded():
    table = credit_table()
    inputs = table.drop(["risk"])
    return TableEncoder().fit_transform(inputs), table["risk"].astype(str)


def test_the_others_see_the_same_folds_and_columns(compared):
    X, y = coded()
    splits = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    for result, classifier in zip(compared.results[1:3], (LogisticRegression(max_iter=1000), SVC(random_state=0)), strict=True):
        for fold, (train, test) in enumerate(splits):
            model = make_pipeline(StandardScaler(), classifier).fit(X[train], y[train])
            assert result.accuracy[fold] == model.score(X[test], y[test])
            assert result.auc[fold] == pytest.approx(roc_auc_score(y[test], model.decision_function(X[test])))


def test_sizes_count_what_decisions_depend_on(compared):
    X, y = coded()
    train, _ = next(iter(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)))
    Z = StandardScaler().fit_transform(X[train])
    surface, logistic, svm, boosting = compared.results
    assert (surface.size <= 3).all()
    assert logistic.size.tolist() == [5, 5, 5]
    assert svm.size[0] == len(SVC(random_state=0).fit(Z, y[train]).support_)
    with threadpool_limits(1):
        trees = HistGradientBoostingClassifier(random_state=0).fit(Z, y[train])
    assert boosting.size[0] == sum(int(node["is_leaf"]) for stage in trees._predictors for tree in stage for node in tree.nodes)
    assert [result.unit for result in compared.results] == ["terms", "coefficients", "support vectors", "leaves"]


def test_given_parameters_are_used(compared):
    assert compared.results[0].chosen == [(3, 4.0)] * 3
    assert compared.absent == ["EBM (pip install interpret)"]


@pytest.mark.usefixtures("_one_rival")
def test_parameters_that_are_not_given_are_chosen_inside_each_fold(monkeypatch):
    inner, seen = comparison.choose, []

    def spy(part, options, **more):
        seen.append((len(part.y), options.folds))
        return inner(part, options, **more)

    monkeypatch.setattr(comparison, "choose", spy)
    asked = TrainingOptions(loss="least_squares", folds=4, ks=(1, 3), Cs=(1.0, 16.0))
    chosen = compare(credit_table(), "risk", asked)
    assert seen == [(90, 3)] * 4  # training rows only, three inner folds
    fewest, best = chosen.results[:2]
    assert [fewest.name, best.name] == ["sparse quadratic, 1se", "sparse quadratic, best"]
    assert {k for k, _ in fewest.chosen + best.chosen} <= {1, 3}
    assert all(few <= many for (few, _), (many, _) in zip(fewest.chosen, best.chosen, strict=True))
    only_C = compare(credit_table(), "risk", TrainingOptions(k=2, Cs=(1.0, 16.0), **SMALL))
    assert {k for k, _ in only_C.results[0].chosen} == {2}
    assert [result.name for result in only_C.results] == ["sparse quadratic", "logistic regression"]


@pytest.mark.usefixtures("_one_rival")
def test_each_rule_gets_the_surface_that_it_chose():
    X, y = coded()
    table = credit_table()
    asked = TrainingOptions(ks=(1, 3), Cs=(1.0, 16.0), **SMALL)
    ours = compare(table, "risk", asked).results[:2]
    splits = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    limits = prepare(table, "risk", asked).limits
    for rule, result in zip(("1se", "best"), ours, strict=True):
        for fold, (train, test) in enumerate(splits):
            model = SparseQuadraticSVCCV(
                (1, 3),
                (1.0, 16.0),
                cv=StratifiedKFold(3, shuffle=True, random_state=0),
                rule=rule,
                standardize=True,
                loss="least_squares",
                exclude=limits.exclude,
                random_state=0,
            ).fit(X[train], y[train])
            assert result.chosen[fold] == (model.best_k_, model.best_C_)
            assert result.accuracy[fold] == model.score(X[test], y[test])


@pytest.mark.usefixtures("_one_rival")
def test_missing_values_are_filled_in_from_the_training_rows():
    table = credit_table(gaps=20)
    seen = []
    original = comparison._folds

    def spy(data, options):
        for part, X, y in original(data, options):
            seen.append((part, X))
            yield part, X, y

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparison, "_folds", spy)
        compare(table, "risk", TrainingOptions(k=2, C=1.0, missing="impute", **SMALL))
    inputs = table.drop(["risk"])
    splits = list(StratifiedKFold(3, shuffle=True, random_state=0).split(inputs["age"], table["risk"].astype(str)))
    for (part, X), (train, test) in zip(seen[:3], splits, strict=True):
        mean = np.nanmean(inputs["age"][train])
        absent = np.isnan(inputs["age"])
        np.testing.assert_allclose(part.X[absent[train], 0], mean)
        np.testing.assert_allclose(X[absent[test], 0], mean)


@pytest.mark.usefixtures("_one_rival")
def test_rows_with_missing_values_can_be_left_out():
    result = compare(credit_table(gaps=5), "risk", TrainingOptions(k=2, C=1.0, missing="drop", **SMALL))
    assert len(result.data.y) == 110


@pytest.mark.usefixtures("_one_rival")
def test_three_classes_have_no_auc():
    result = compare(credit_table(classes=("a", "b", "c")), "risk", TrainingOptions(k=2, C=1.0, **SMALL))
    assert all(np.isnan(each.auc).all() for each in result.results)
    assert result.data.class_names == ("a", "b", "c")


def test_an_installed_boosting_machine_takes_part(monkeypatch):
    monkeypatch.setattr(comparison, "find_spec", lambda name: object())
    competitors, absent = comparison.available_competitors()
    assert competitors[-1].name == "EBM"
    assert absent == []
