"""Figures out of fold are those of the fit: the file has them, and the report repeats them for the same data."""

import pytest

from quadric.report.performance import with_figures
from quadric.report.values import CrossValidation
from quadric.workflow.scoring import RecordedFigures

RECORD = {"folds": 5, "accuracy": 0.75, "standard_error": 0.01, "auc": {"mean": 0.8, "error": 0.02}, "log_loss": {"mean": 0.5}}


def test_figures_are_read_from_a_history():
    found = RecordedFigures.of({"cross_validation": RECORD})
    assert found == RecordedFigures(5, 0.75, 0.01, 0.8, 0.5)
    assert found.measures == {"Accuracy": 0.75, "AUC": 0.8, "Log-loss": 0.5, "Gini": pytest.approx(0.6)}
    old = {name: value for name, value in RECORD.items() if name != "log_loss"} | {"auc": None}
    assert RecordedFigures.of({"cross_validation": old}).measures == {"Accuracy": 0.75}


def test_figures_of_one_fold_have_no_standard_error():
    alone = RECORD | {"folds": 1, "standard_error": None, "auc": {"mean": 0.8, "error": None}}
    assert RecordedFigures.of({"cross_validation": alone}) == RecordedFigures(1, 0.75, 0.0, 0.8, 0.5)
    assert RecordedFigures.of({"cross_validation": RECORD | {"standard_error": None}}) is None


@pytest.mark.parametrize(
    "history",
    [
        None,
        [],
        {},
        {"cross_validation": 1},
        {"cross_validation": RECORD | {"accuracy": "high"}},
        {"cross_validation": RECORD | {"accuracy": 1.5}},
        {"cross_validation": RECORD | {"standard_error": float("nan")}},
        {"cross_validation": RECORD | {"folds": True}},
    ],
)
def test_other_histories_have_none(history):
    assert RecordedFigures.of(history) is None


def test_the_curve_takes_the_accuracy_of_the_fit():
    curve = CrossValidation((1, 2, 3), (0.6, 0.7, 0.72), (0.01, 0.01, 0.01), 4, 3, 3, 0.71)
    found = with_figures(curve, 2, RecordedFigures(5, 0.75, 0.02, None, None))
    assert found == CrossValidation((1, 2, 3), (0.6, 0.75, 0.72), (0.01, 0.02, 0.01), 5, 2, 2, 0.73)
