"""What advice may change, and which way."""

from pathlib import Path

import numpy as np
import pytest

from quadric.explain._request import average_directions
from quadric.review.explaining import ExplainingOptions, explain_rows
from quadric.tables import Table, read_table
from quadric.workflow import TableModel, TrainingOptions, train
from quadric.workflow.advice import Moves, allowed_moves, read_moves

NAMES = ["amount", "a:b", "a", "months", "up"]


@pytest.mark.parametrize(
    ("text", "name", "moves"),
    [
        ("amount:down", "amount", Moves(down=True)),
        ("amount:up", "amount", Moves(up=True)),
        ("amount", "amount", Moves(up=True, down=True)),
        ("amount:step", "amount", Moves(up=True, down=True, whole=True)),
        ("amount:up:step", "amount", Moves(up=True, whole=True)),
        ("amount:step:up", "amount", Moves(up=True, whole=True)),
        ("a:b:down", "a:b", Moves(down=True)),
        ("a:b", "a:b", Moves(up=True, down=True)),
        ("up:up", "up", Moves(up=True)),
    ],
)
def test_columns_and_directions_as_people_write_them(text, name, moves):
    assert read_moves([text], NAMES) == {name: moves}


@pytest.mark.parametrize(
    ("text", "words"),
    [("amont:down", "'amount'"), ("amount:dwn", "up, down or step after it, such as amount:down"), (":down", "no column")],
)
def test_what_cannot_be_read_is_refused_with_what_to_write(text, words):
    with pytest.raises(ValueError, match=words):
        read_moves([text], NAMES)


@pytest.fixture(scope="module")
def loans():
    return read_table(Path(__file__).parents[2] / "data" / "loans.csv")


def model_of(table, **options):
    own = {"loss": "least_squares", "k": 8, "C": 64.0, "calibrate": None, "favourable": "good"}
    return TableModel(train(table, "risk", TrainingOptions(**{**own, **options})).saved())


@pytest.fixture(scope="module")
def model(loans):
    return model_of(loans)


def moved(answers):
    return {(change.feature, change.after > change.before) for answer in answers for change in answer.changes}


def explained(model, table, n_rows=60, **options):
    return explain_rows(model, table, range(n_rows), table, ExplainingOptions(**options))


def with_values(table, values):
    return Table(table.names, tuple(np.full(len(table), values[n]) if n in values else table[n] for n in table.names))


def test_by_default_a_column_moves_only_in_the_direction_in_which_it_helps_on_average(loans, model):
    helpful = average_directions(model.view, 0, loans)
    assert {name: helpful[name] for name in ("income", "amount", "months")} == {"income": 1, "amount": -1, "months": -1}
    assert helpful["age"] == 0  # its average effect has a peak
    for name in ("income", "amount", "months"):
        low, high = (model.scores(with_values(loans, {name: v})).decision.mean() for v in np.quantile(loans[name], [0.1, 0.9]))
        assert np.sign(low - high) == helpful[name]  # the score is that of "bad"
    assert moved(explained(model, loans, 120)) == {("income", True), ("amount", False), ("months", False)}
    assert moved(explained(model, loans, 120, actionable=["amount:up", "months:down"])) == {("amount", True), ("months", False)}


def test_only_actionable_columns_move_and_the_model_file_keeps_them(loans, model):
    own = model_of(loans, actionable=("months:down:step",))
    assert own.actionable == ("months:down:step",)
    assert allowed_moves(own, (), ()) == {"months": Moves(down=True, whole=True)}
    assert moved(explained(own, loans)) == {("months", False)}
    assert allowed_moves(own, (), ["income"]) == {"income": Moves(up=True, down=True)}
    assert allowed_moves(own, ["months"], ()) == {}
    assert list(allowed_moves(model, (), ())) == ["income", "amount", "months"]  # not age, not housing
    with pytest.raises(ValueError, match="no column 'shoe'"):
        model_of(loans, actionable=("shoe:up",))


def test_whole_steps_end_at_whole_numbers(loans):
    columns = [loans[name] / 7.0 if name == "amount" else loans[name] for name in loans.names]
    table = Table(loans.names, tuple(columns))
    model = model_of(table)
    free, whole = (explained(model, table, actionable=[each]) for each in ("amount:down", "amount:down:step"))
    assert any(change.after != np.rint(change.after) for answer in free for change in answer.changes)
    changes = [change for answer in whole for change in answer.changes]
    assert changes
    assert all(change.after == np.rint(change.after) for change in changes)


def test_other_ways_reach_the_target_without_the_column_that_moved_farthest(loans, model):
    answers = [answer for answer in explained(model, loans, 120) if answer.others]
    assert answers
    for answer in answers:
        ways = [(answer.changes, answer.distance), *((way.changes, way.cost) for way in answer.others)]
        assert len(ways) <= 3
        for number, (changes, cost) in enumerate(ways):
            after = with_values(loans[[answer.row]], {change.feature: change.after for change in changes})
            assert model.class_names[model.scores(after).codes[0]] == "good"
            features = {change.feature for change in changes}
            assert not any({change.feature for change in earlier} <= features for earlier, _ in ways[:number])
            assert all(cost >= (1.0 - 1e-6) * earlier for _, earlier in ways[:number])  # fewer columns to choose from
    assert not any(answer.others for answer in explained(model, loans, 120, ways=1))
    assert any(answer.lines()[-1].startswith("  or: ") for answer in answers)


def test_a_column_is_named_once():
    with pytest.raises(ValueError, match="named twice"):
        read_moves([f"{NAMES[0]}:up", f"{NAMES[0]}:down"], NAMES)
