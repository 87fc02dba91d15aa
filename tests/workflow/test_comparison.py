"""The comparison: same folds, same columns, everybody tuned, honest sizes."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers.small_tables import credit_columns, credit_table
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV
from quadric.baselines import rivals
from quadric.credit import CalibratedModel
from quadric.progress import listening
from quadric.tables import Table, TableEncoder
from quadric.workflow import TrainingOptions, compare, comparison
from quadric.workflow.comparison import Difference
from quadric.workflow.options import OptionError
from quadric.workflow.preparation import prepare

SMALL = {"loss": "least_squares", "folds": 3}
ALL_RIVALS = rivals.RIVALS
LOGISTIC = ALL_RIVALS[0]


@pytest.fixture(autouse=True)
def _one_rival(monkeypatch):
    """Logistic regression stands for all of them."""
    monkeypatch.setattr(rivals, "find_spec", lambda name: None)
    monkeypatch.setattr(rivals, "RIVALS", (LOGISTIC,))


def folds_of_credit():
    """Rows and labels, and the three folds."""
    table = credit_table()
    X, y = TableEncoder().fit_transform(table.drop(["risk"])), table["risk"].astype(str)
    return X, y, StratifiedKFold(3, shuffle=True, random_state=0)


def test_the_surface_is_what_training_makes_of_the_training_rows():
    asked = TrainingOptions(ks=(1, 3), Cs=(1.0, 16.0), rule="best", rare="keep", **SMALL)
    surface = compare(credit_table(), "risk", asked).results[0]
    X, y, folds = folds_of_credit()
    exclude = prepare(credit_table(), "risk", asked).limits.exclude
    for fold, (train, test) in enumerate(folds.split(X, y)):
        search = SparseQuadraticSVCCV((1, 3), (1.0, 16.0), loss="least_squares", cv=folds, rule="best", exclude=exclude)
        best = search.fit(X[train], y[train]).best_estimator_
        model = CalibratedModel.around(best, X[train], y[train], method="auto", out_of_fold=search.oof_decision_)
        assert surface.chosen[fold] == {"loss": "least_squares", "k": search.best_k_, "C": search.best_C_}
        assert surface.accuracy[fold] == np.mean(model.predict(X[test]) == y[test])
        assert surface.log_loss[fold] == pytest.approx(log_loss(y[test], model.predict_proba(X[test])))
        assert surface.size[fold] == best.surfaces_[0].n_terms


def test_the_others_are_tuned_inside_the_same_folds():
    result = compare(credit_table(), "risk", TrainingOptions(k=2, C=4.0, **SMALL)).results[1]
    X, y, folds = folds_of_credit()
    for fold, (train, test) in enumerate(folds.split(X, y)):
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        tuned = GridSearchCV(model, {"logisticregression__C": LOGISTIC.grid["C"]}, cv=folds).fit(X[train], y[train])
        chances = tuned.predict_proba(X[test])
        assert result.chosen[fold] == {"C": tuned.best_params_["logisticregression__C"]}
        assert result.accuracy[fold] == tuned.score(X[test], y[test])
        assert result.auc[fold] == pytest.approx(roc_auc_score(y[test] == tuned.classes_[1], chances[:, 1]))
        assert result.log_loss[fold] == pytest.approx(log_loss(y[test], chances))


def test_differences_are_paired_and_clear_from_two_standard_errors():
    compared = compare(credit_table(), "risk", TrainingOptions(k=2, C=4.0, **SMALL))
    surface, logistic = compared.results
    by_measure = {each.measure: each for each in compared.differences}
    assert list(by_measure) == ["accuracy", "auc", "log_loss"]
    pairs = logistic.auc - surface.auc
    assert by_measure["auc"].mean == pytest.approx(pairs.mean())
    assert by_measure["auc"].standard_error == pytest.approx(pairs.std(ddof=1) / np.sqrt(3))
    assert Difference("EBM", "auc", -0.021, 0.01).is_clear
    assert not Difference("EBM", "auc", 0.019, 0.01).is_clear


def test_missing_values_are_filled_in_from_the_training_rows(monkeypatch):
    table = credit_table(gaps=20)
    seen = []
    original = comparison._folds

    def spy(data, options):
        for part, X, y in original(data, options):
            seen.append((part, X))
            yield part, X, y

    monkeypatch.setattr(comparison, "_folds", spy)
    compare(table, "risk", TrainingOptions(k=2, C=1.0, missing="impute", **SMALL))
    inputs = table.drop(["risk"])
    splits = list(StratifiedKFold(3, shuffle=True, random_state=0).split(inputs["age"], table["risk"].astype(str)))
    for (part, X), (train, test) in zip(seen, splits, strict=True):
        mean = np.nanmean(inputs["age"][train])
        absent = np.isnan(inputs["age"])
        np.testing.assert_allclose(part.X[absent[train], 0], mean)
        np.testing.assert_allclose(X[absent[test], 0], mean)


def test_rows_with_missing_values_can_be_left_out():
    result = compare(credit_table(gaps=5), "risk", TrainingOptions(k=2, C=1.0, missing="drop", **SMALL))
    assert len(result.data.y) == 110


def test_three_classes_have_no_auc():
    result = compare(credit_table(classes=("a", "b", "c")), "risk", TrainingOptions(k=2, C=1.0, **SMALL))
    assert all(np.isnan(each.auc).all() for each in result.results)
    assert {each.measure for each in result.differences} == {"accuracy", "log_loss"}
    assert result.data.class_names == ("a", "b", "c")


def test_the_share_done_grows_to_the_last_step():
    told = []
    with listening(lambda share, what: told.append((share, what))):
        compare(credit_table(), "risk", TrainingOptions(k=2, C=1.0, **SMALL))
    begun = [(round(share, 6), what) for share, what in told if "fold" in what and "of 3" in what]
    assert begun[0] == (0.0, "sparse quadratic, fold 1 of 3")
    assert begun[-1] == (round(5 / 6, 6), "logistic regression, fold 3 of 3")
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)


def test_probabilities_come_from_the_cross_validation_without_further_fits(monkeypatch):
    monkeypatch.setattr(SparseQuadraticSVC, "fit", None)
    assert compare(credit_table(), "risk", TrainingOptions(ks=(1, 3), Cs=(4.0,), **SMALL)).results[0].name == "sparse quadratic"


def table_of(**columns):
    return Table(tuple(columns), tuple(columns.values()))


def grouped_table(n_groups=12):
    return table_of(**credit_columns(), customer=np.arange(120.0) % n_groups)


@pytest.mark.parametrize(
    "rival", [LOGISTIC, next(each for each in ALL_RIVALS if each.calibrated)], ids=lambda rival: rival.name
)
def test_groups_stay_together_in_all_folds(monkeypatch, rival):
    monkeypatch.setattr(rivals, "RIVALS", (replace(rival, grid={"C": (1.0, 2.0)}),))
    split, calibrated = StratifiedGroupKFold.split, CalibratedModel.around
    seen, given = [], []

    def spied_split(self, X, y=None, groups=None):
        for train, test in split(self, X, y, groups):
            seen.append(set(groups[train]) & set(groups[test]))
            yield train, test

    def spied_around(model, X, y, **how):
        given.append(how["cv"])
        return calibrated(model, X, y, **how)

    monkeypatch.setattr(StratifiedGroupKFold, "split", spied_split)
    monkeypatch.setattr(StratifiedKFold, "split", None)  # nobody splits by rows
    monkeypatch.setattr(CalibratedModel, "around", spied_around)
    result = compare(grouped_table(), "risk", TrainingOptions(k=2, C=4.0, groups="customer", **SMALL))
    assert "customer" not in result.data.feature_names
    assert seen == [set()] * len(seen)
    assert len(seen) > 3 * 3 * 2
    assert len(given) == 3 * (1 + rival.calibrated)
    assert all(isinstance(folds, list) for folds in given)


def test_each_fold_must_leave_enough_groups():
    options = TrainingOptions(k=2, C=4.0, groups="customer", **SMALL)
    with pytest.raises(OptionError, match=r"^the column 'customer' has 2 groups, fewer than the 3 folds$"):
        compare(grouped_table(2), "risk", options)
    says = "^without the rows of fold 1, the column 'customer' has 2 groups, fewer than the 3 folds$"
    with pytest.raises(OptionError, match=says) as refused:
        compare(grouped_table(3), "risk", options)
    assert set(refused.value.remedies) == {"groups", "folds"}


def test_a_fold_of_one_class_has_no_auc():
    risk = np.repeat(["bad", "good"], [30, 60])
    customer = np.r_[np.arange(30.0) % 3, 3 + np.arange(60.0) % 12]
    x = np.random.default_rng(0).normal(size=90) + (risk == "bad")
    options = TrainingOptions(k=1, C=1.0, loss="least_squares", folds=4, groups="customer")
    result = compare(table_of(x=x, risk=risk.astype(object), customer=customer), "risk", options)
    folds = StratifiedGroupKFold(4, shuffle=True, random_state=0).split(risk, risk, customer)
    one_class = [len(set(risk[test])) == 1 for _, test in folds]
    assert any(one_class)
    assert [np.isnan(each.auc).tolist() for each in result.results] == [one_class, one_class]
