"""Saved models and the tables that they judge."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers.small_tables import credit_columns, credit_table
from quadric import SparseQuadraticSVC
from quadric.export import SavedModel
from quadric.tables import Table
from quadric.tables.table import text_column
from quadric.workflow import TableModel, TrainingOptions, train

FAST = {"loss": "least_squares", "k": 3, "C": 1.0, "calibrate": None}


def model_of(table, **given):
    return TableModel(train(table, "risk", TrainingOptions(**{**FAST, **given})).saved())


def test_scores_are_those_of_the_model():
    table = credit_table()
    model = model_of(table, positive="bad")
    scores = model.scores(table)
    assert_array_equal(scores.decision, model.saved.model.decision_function(table))
    assert_array_equal(scores.codes, model.saved.model.predict(table))
    assert scores.probabilities is None
    assert model.class_names == ("good", "bad")


def test_calibrated_labels_follow_the_probabilities():
    table = credit_table(n_rows=200)
    model = model_of(table, calibrate="isotonic", class_weight={"bad": 20.0})
    scores = model.scores(table)
    assert_array_equal(scores.probabilities, model.saved.model.predict_proba(table))
    assert_array_equal(scores.codes, scores.probabilities.argmax(axis=1))
    assert (scores.codes != (scores.decision > 0)).any()


def test_three_classes_have_three_scores():
    table = credit_table(classes=("a", "b", "c"))
    model = model_of(table)
    scores = model.scores(table)
    assert scores.decision.shape == (120, 3)
    assert_array_equal(np.array(model.class_names)[scores.codes], model.saved.model.predict(table))


def test_columns_are_found_by_name():
    table = credit_table()
    model = model_of(table)
    order = ["more", "risk", "phone", "home", "income", "age"]
    shuffled = Table(tuple(order), tuple(np.zeros(120) if name == "more" else table[name] for name in order))
    assert_array_equal(model.scores(shuffled).decision, model.scores(table).decision)
    with pytest.raises(ValueError, match=r"no columns 'age', 'home'"):
        model.inputs(table.drop(["age", "home"]))


@pytest.mark.parametrize(
    "how", [{}, {"missing": "indicator"}, {"coding": "ordinal"}, {"missing_texts": ("0",), "ignore": ("phone",)}]
)
def test_only_the_columns_of_the_equation_are_needed(how):
    table = credit_table()
    model = TableModel(train(table, "risk", TrainingOptions(k=1, loss="least_squares", include=("income",), **how)).saved())
    expected = model.scores(table)
    few = Table(("income",), (table["income"],))
    assert_array_equal(model.scores(few).decision, expected.decision)
    wrong = Table(table.names, tuple(table[name] if name == "income" else text_column(["?!"] * 120) for name in table))
    assert_array_equal(model.scores(wrong).decision, expected.decision)
    with pytest.raises(ValueError, match="no column 'income'"):
        model.scores(table.drop(["income"]))
    with pytest.raises(ValueError, match="which the model needs"):
        model.inputs(few)  # for proofs and reports, which look at all terms


def test_a_model_without_coding_takes_the_columns_that_it_was_fitted_to():
    pd = pytest.importorskip("pandas")
    columns = credit_columns()
    frame = pd.DataFrame({name: columns[name] for name in ("age", "income")})
    fitted = make_pipeline(StandardScaler(), SparseQuadraticSVC(3, loss="least_squares")).fit(
        frame, columns["risk"].astype(str)
    )
    model = TableModel(SavedModel(fitted, (), "risk", {}, None, None))
    assert model.input_names == ("age", "income")
    assert_array_equal(model.scores(credit_table()).decision, fitted.decision_function(frame))
    assert model.view.native(credit_table()).shape == (120, 2)


def test_labels_come_from_the_target_column():
    table = credit_table()
    model = model_of(table, positive="bad")
    rows, y = model.labelled(table)
    assert rows is table
    assert_array_equal(y, (table["risk"] == "bad").astype(int))


def test_rows_that_training_dropped_are_dropped_again():
    table = credit_table(gaps=5)
    trained = train(table, "risk", TrainingOptions(**FAST, missing="drop"))
    rows, y = TableModel(trained.saved()).labelled(table)
    assert len(rows) == len(trained.data.y) == 110
    assert_array_equal(y, trained.data.y)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda c: c.pop("risk"), "no column 'risk', which is the target"),
        (lambda c: c["risk"].__setitem__(4, "ugly"), "no class 'ugly'"),
    ],
)
def test_targets_that_do_not_fit_are_refused(change, says):
    model = model_of(credit_table())
    columns = credit_columns()
    change(columns)
    with pytest.raises(ValueError, match=says):
        model.labelled(Table(tuple(columns), tuple(columns.values())))


def test_rows_without_a_label_are_left_out_unless_training_refused_them():
    columns = credit_columns()
    columns["risk"][4] = None
    table = Table(tuple(columns), tuple(columns.values()))
    rows, y = model_of(credit_table()).labelled(table)
    assert (len(rows), len(y)) == (119, 119)
    assert rows["age"].tolist() == np.delete(columns["age"], 4).tolist()
    strict = TableModel(train(credit_table(), "risk", TrainingOptions(**FAST, missing="refuse")).saved())
    with pytest.raises(ValueError, match=r"missing in 1 row\(s\), the first is row 5: drop"):
        strict.labelled(table)


def test_a_model_without_a_target_says_so():
    model = model_of(credit_table())
    with pytest.raises(ValueError, match="does not say which column"):
        TableModel(replace(model.saved, target=None)).labelled(credit_table())


@pytest.mark.parametrize("metadata", [{}, {"training": 3}, {"training": {"options": "drop"}}, {"training": {"options": {}}}])
def test_histories_that_say_nothing_do_no_harm(metadata):
    model = model_of(credit_table())
    rows, _ = TableModel(replace(model.saved, metadata=metadata)).labelled(credit_table())
    assert len(rows) == 120


def test_a_score_that_overflows_is_refused_with_its_row():
    model, columns = model_of(credit_table(), clip=None), credit_columns()
    columns["age"][2] = columns["income"][2] = 1e200
    with pytest.raises(ValueError, match="row 103 has no finite score: its values are too large for the model"):
        model.scores(Table(tuple(columns), tuple(columns.values()), first_row=101))
