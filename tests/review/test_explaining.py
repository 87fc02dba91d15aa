"""Rows explained: the stated change reaches the stated class."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.scorecards import loans_with_gaps, points_model
from helpers.small_tables import credit_columns, credit_table
from quadric.credit import CalibratedModel, IsotonicCalibration
from quadric.report.summarising import summarise_table
from quadric.review.explaining import ExplainingOptions, explain_rows
from quadric.tables import Table
from quadric.workflow import TableModel, TrainingOptions, train
from quadric.workflow.advice import ages, allowed_moves


def model_of(table, **given):
    return TableModel(
        train(table, "risk", TrainingOptions(**{"loss": "least_squares", "k": 4, "C": 1.0, "calibrate": None, **given})).saved()
    )


def changed(table, answer):
    """The row after the change, as a table of one row."""
    columns = {name: table[name][[answer.row]].copy() for name in table.names}
    for change in answer.changes:
        assert columns[change.feature][0] == change.before
        columns[change.feature][0] = change.after
    return Table(tuple(columns), tuple(columns.values()))


@pytest.mark.parametrize("classes", [("good", "bad"), ("a", "b", "c")])
@pytest.mark.parametrize("given", [{}, {"calibrate": "sigmoid"}])
def test_the_change_gives_the_row_the_wanted_label(classes, given):
    table = credit_table(classes=classes)
    model = model_of(table, **given)
    options = ExplainingOptions(target=classes[0], actionable=("age", "income", "phone"))
    answers = explain_rows(model, table, range(16), table, options)
    scores = model.scores(table)
    assert [answer.label for answer in answers] == [model.class_names[code] for code in scores.codes[:16]]
    reached = [answer for answer in answers if answer.changes]
    by_probability = len(classes) > 2 and bool(given)  # then the largest score need not be the label
    assert len(reached) >= (0 if by_probability else 3)
    assert all(answer.message for answer in answers)
    for answer in reached:
        assert answer.target != answer.label
        after = changed(table, answer)
        assert model.class_names[model.scores(after).codes[0]] == answer.target
        assert all(change.after == np.rint(change.after) for change in answer.changes if change.feature == "age")
        assert all(table[c.feature].min() <= c.after <= table[c.feature].max() for c in answer.changes)


@pytest.mark.parametrize("missing", ["impute", "indicator"])
def test_missing_values_are_left_alone_and_the_others_stay_whole(missing):
    table = credit_table(gaps=20)
    model = model_of(table, missing=missing, favourable="bad")
    gaps = np.flatnonzero(np.isnan(table["age"]))
    rows = [*gaps[:8], *np.flatnonzero(~np.isnan(table["age"]))[:16]]
    moved = set()
    for answer in explain_rows(model, table, rows, table, ExplainingOptions(actionable=("age:down", "income", "phone"))):
        if answer.reached:
            assert model.class_names[model.scores(changed(table, answer)).codes[0]] == answer.target
            moved |= {(answer.row in gaps, change.feature) for change in answer.changes}
            assert all(change.after == np.rint(change.after) for change in answer.changes if change.feature == "age")
    assert (False, "age") in moved
    assert (True, "income") in moved
    assert (True, "age") not in moved


def test_changes_stay_within_the_range_of_the_background():
    table = credit_table()
    model = model_of(table, favourable="good")
    narrow = table[np.flatnonzero((table["income"] > 27) & (table["income"] < 33))]
    wide, bound = (explain_rows(model, table, range(16), each, ExplainingOptions()) for each in (table, narrow))
    for answer in bound:
        own = table["income"][answer.row]
        limits = min(own, narrow["income"].min()), max(own, narrow["income"].max())
        assert all(limits[0] <= c.after <= limits[1] for c in answer.changes if c.feature == "income")
    assert [answer.changes for answer in wide] != [answer.changes for answer in bound]


def test_only_declined_rows_get_advice_and_it_leaves_age_alone():
    table = credit_table()
    model = model_of(table, favourable="good")
    answers = explain_rows(model, table, range(40), table, ExplainingOptions())
    assert {answer.target for answer in answers} == {"good"}
    assert {answer.label for answer in answers} == {"good", "bad"}
    for answer in answers:
        assert bool(answer.changes) <= (answer.label == "bad")
        assert answer.verdict == "already good" or answer.label == "bad"
        assert "age" not in {change.feature for change in answer.changes}
    named = explain_rows(model, table, range(40), table, ExplainingOptions(actionable=("age:up",)))
    assert "age" in {change.feature for answer in named for change in answer.changes}


def test_the_favourable_class_is_the_one_that_was_named():
    table = credit_table()
    assert model_of(table, favourable="good").favourable == "good"
    assert model_of(table, favourable="bad", positive="bad").favourable == "bad"
    assert model_of(table, positive="bad").favourable is None
    with pytest.raises(ValueError, match="no class 'ugly'"):
        model_of(table, favourable="ugly")
    damaged = replace(model_of(table).saved, metadata={"training": {"options": {"favourable": 7}}})
    assert TableModel(damaged).favourable is None


def test_without_a_favourable_class_reasons_speak_for_the_positive_one_and_nothing_is_advised():
    table = credit_table()
    model = model_of(table)
    speaking = explain_rows(model, table, range(8), table, ExplainingOptions())
    against = explain_rows(model, table, range(8), table, ExplainingOptions(target="good"))
    for neutral, named in zip(speaking, against, strict=True):
        assert neutral.heading == f"{'what' if neutral.reasons else 'nothing'} speaks for bad"
        assert named.heading == f"{'reasons' if named.reasons else 'no reason'} against good"
        assert [reason.points for reason in neutral.reasons] == [reason.points for reason in named.reasons]
        assert not any("lost" in reason.text for reason in neutral.reasons)
        assert (neutral.wanted, neutral.changes, neutral.speaks_for) == (False, (), "bad")
        assert (named.wanted, named.speaks_for) == (True, None)
        assert "name the class that people want" in neutral.verdict


def test_the_model_file_lists_columns_that_changes_leave_alone():
    table = credit_table()
    free, frozen = (model_of(table, positive="bad", frozen=names) for names in ((), ("income",)))
    assert (free.frozen, frozen.frozen) == ((), ("income",))
    answers = explain_rows(frozen, table, range(40), table, ExplainingOptions())
    assert "income" not in {change.feature for answer in answers for change in answer.changes}
    assert "income" in allowed_moves(free, (), ())
    assert "income" not in allowed_moves(frozen, (), ())
    damaged = TableModel(replace(frozen.saved, metadata={"training": {"options": {"frozen": "income"}}}))
    assert damaged.frozen == ()


@pytest.mark.parametrize(
    ("name", "alone"),
    [("age", True), ("Age", True), ("age_years", True), ("account_age", True), ("agent", False), ("mileage", False)],
)
def test_what_counts_as_an_age(name, alone):
    columns = {name if own == "age" else own: values for own, values in credit_columns().items()}
    table = Table(tuple(columns), tuple(columns.values()))
    assert ages(model_of(table), (), ()) == [name] * alone


def test_a_wanted_class_and_rules_are_kept():
    table = credit_table()
    model = model_of(table)
    asked = ExplainingOptions(target="good", frozen=("income",), actionable=("age:up", "phone"), reasons=1)
    for answer in explain_rows(model, table, range(20), table, asked):
        assert answer.target == "good"
        assert len(answer.reasons) <= 1
        assert {change.feature for change in answer.changes} <= {"age", "phone"}
        assert all(change.after > change.before for change in answer.changes if change.feature == "age")
        if answer.label == "good":
            assert answer.reached
            assert not answer.changes


def test_reasons_are_sorted_and_name_the_value():
    table = credit_table()
    for answer in explain_rows(model_of(table), table, range(10), table, ExplainingOptions()):
        points = [reason.points for reason in answer.reasons]
        assert points == sorted(points, reverse=True)
        assert all(point > 0 for point in points)
        for reason in answer.reasons:
            value = table[reason.column][answer.row]
            assert f"{reason.column} is {value if isinstance(value, str) else f'{value:.6g}'}" in reason.text


@pytest.mark.parametrize("classes", [("good", "bad"), ("a", "b", "c")])
def test_contributions_name_every_column_that_matters_and_begin_with_the_reasons(classes):
    table = credit_table(classes=classes)
    for answer in explain_rows(model_of(table), table, range(6), table, ExplainingOptions(reasons=2)):
        sign = 1.0 if answer.speaks_for else -1.0  # reasons speak for the target, or against it
        assert answer.speaks_for in (None, answer.target)
        points = [sign * part.points for part in answer.contributions]
        assert points == sorted(points)[::-1]
        assert 0.0 not in points
        worst = [(part.column, sign * part.points) for part in answer.contributions[: len(answer.reasons)]]
        assert worst == [(reason.column, reason.points) for reason in answer.reasons]
        for part in answer.contributions:
            value = table[part.column][answer.row]
            assert part.value == value if isinstance(value, str) else float(part.value) == pytest.approx(value, rel=1e-5)


def test_the_verdict_says_what_came_of_the_search():
    table = credit_table()
    answers = explain_rows(model_of(table), table, range(20), table, ExplainingOptions(target="good"))
    changed_, there = (
        next(one for one in answers if (one.label == "bad") == wanted and one.reached) for wanted in (True, False)
    )
    assert (changed_.verdict, there.verdict) == ("smallest change to good", "already good")
    assert replace(changed_, proved=False).verdict == "change to good"
    frozen = ExplainingOptions(target="good", frozen=("age", "income", "phone"))
    (stuck,) = explain_rows(model_of(table), table, [changed_.row], table, frozen)
    assert stuck.verdict == f"no change to good: {stuck.message}"
    assert (stuck.changes, stuck.distance) == ((), None)


def test_a_calibration_that_never_decides_for_a_class_leaves_no_way():
    table = credit_table()
    fitted = model_of(table)
    never = CalibratedModel.from_parts(fitted.saved.model, [IsotonicCalibration([0.0, 1.0], [0.1, 0.4])])
    asked = ExplainingOptions(target="bad")
    answer, *_ = explain_rows(TableModel(replace(fitted.saved, model=never)), table, [0], table, asked)
    assert (answer.label, answer.target, answer.reached, answer.changes) == ("good", "bad", False, ())
    assert "always predicts the same class" in answer.message
    assert answer.reasons


def test_three_classes_turn_to_the_second_best():
    table = credit_table(classes=("a", "b", "c"))
    model = model_of(table)
    scores = model.scores(table).decision
    second = np.argsort(-scores, axis=1)[:, 1]
    answers = explain_rows(model, table, range(10), table, ExplainingOptions())
    assert [answer.target for answer in answers] == [model.class_names[code] for code in second[:10]]


def test_rows_with_missing_values_that_the_model_refuses_are_named():
    gaps = credit_table(gaps=2)
    model = model_of(credit_table(), missing="refuse")
    with pytest.raises(ValueError, match="row 3 has missing values"):
        explain_rows(model, gaps, [2, 3], gaps, ExplainingOptions())
    assert len(explain_rows(model, gaps, [2], gaps, ExplainingOptions())) == 1  # others stay out of the background


def test_rows_with_missing_values_that_the_model_fills_in_are_explained():
    gaps = credit_table(gaps=2)
    assert len(explain_rows(model_of(gaps, missing="impute"), gaps, [0, 3], gaps, ExplainingOptions())) == 2


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (ExplainingOptions(target="ugly"), "no class 'ugly'"),
        (ExplainingOptions(frozen=("shoe",)), "no column 'shoe'"),
        (ExplainingOptions(actionable=("shoe:up",)), "no column 'shoe'"),
    ],
)
def test_names_that_do_not_exist_are_refused(asked, says):
    columns = credit_columns()
    table = Table(tuple(columns), tuple(columns.values()))
    with pytest.raises(ValueError, match=says):
        explain_rows(model_of(table), table, [0], table, asked)


def test_where_there_is_a_scorecard_reasons_are_its_points():
    """They sum to the points of the row, less those of the mean of the data."""
    model, table = points_model(), loans_with_gaps()
    own, of_mean = model.scores(table).points, float(model.points_line.points(np.array(model.view.surfaces[0].c)))
    for answer in explain_rows(model, table, [0, 17, 104], table, ExplainingOptions(reasons=9)):
        assert sum(part.points for part in answer.contributions) == pytest.approx(own[answer.row] - of_mean, abs=1e-10)
        for reason in answer.reasons:
            assert reason.text.endswith(f": {reason.points:.3g} points lost")


def test_the_report_counts_in_the_same_points():
    model, table = points_model(), loans_with_gaps()
    y = model.saved.model.classes_[model.outcomes(table)]
    how = {"folds": 2, "seed": 0, "ks": [7], "n_boot": 0, "bounds": False, "rivals": {}}
    (found,) = summarise_table(model, table, y, rows=[104], **how).cases
    (expected,) = explain_rows(model, table, [104], table, ExplainingOptions())
    assert (found.reasons, found.contributions) == (expected.reasons, expected.contributions)


def test_where_no_change_helps_what_stays_as_it_is_is_named():
    """Here all columns but income, which may only fall."""
    model, table = points_model(), loans_with_gaps()
    declined = np.flatnonzero(model.scores(table).codes != model.code_of("good"))[:5].tolist()
    options = ExplainingOptions(target="good", actionable=["income:down"])
    words = "no change to good: no allowed change reaches the wanted side while age, amount, housing stay as they are"
    assert [answer.verdict for answer in explain_rows(model, table, declined, table, options)] == [words] * 5
