"""Points in databases and on paper are those of the model, and the terms' points sum to them."""

import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from helpers.databases import in_duckdb, in_sqlite, table_sql
from helpers.scorecards import SCALE, loans_with_gaps, points_model
from quadric.cli import main
from quadric.credit import ScoreScale, score_points
from quadric.export import save_model, scoring_model, to_sql
from quadric.report.scorecard import render_card
from quadric.review.scorecard import MISSING, scorecard
from quadric.tables import Table
from quadric.tables.table import text_column
from quadric.workflow import TableModel, TrainingOptions, train
from quadric.workflow.cutoff_words import cutoff_facts

ROWS = [0, 3, 17, 104, 300]


@pytest.fixture(scope="module")
def loans():
    return loans_with_gaps()


@pytest.fixture(scope="module")
def model():
    return points_model()


@pytest.fixture(scope="module")
def points(model, loans):
    return score_points(model.saved.model, model.inputs(loans), ScoreScale(20.0, 600.0, 50.0))


def test_the_model_file_keeps_the_scale(model, loans, points):
    assert model.outputs().names == ("score", "probability", "points", "label")
    np.testing.assert_allclose(model.scores(loans).points, points, rtol=1e-12)
    good = np.array(model.class_names)[model.scores(loans).codes] == "good"
    assert points[good].min() > points[~good].max()


@pytest.mark.parametrize("run", [in_sqlite, in_duckdb])
def test_databases_give_the_points_of_rows_and_of_terms(run, model, loans, points):
    rows = loans.drop(["risk"])[np.array(ROWS)]
    sql = to_sql(model.saved)
    found = run(table_sql(rows), sql)
    constant = float(re.search(r"quadric_points = (\S+) \+", sql)[1])
    n_terms = len(model.view.surfaces[0].products)
    for row, place in zip(sorted(found, key=lambda row: row["row_number"]), ROWS, strict=True):
        assert row["quadric_points"] == pytest.approx(points[place], abs=1e-10)
        own = [row[f"quadric_points_{number}"] for number in range(1, n_terms + 1)]
        assert constant + sum(own) == pytest.approx(points[place], abs=1e-10)
    assert "-- quadric_points_1: " in sql
    assert "points" not in to_sql(model.saved.model)
    assert "quadric_points" in to_sql(model.saved.model, points="0:1:1")


def test_a_score_reads_each_column_once(model):
    """However many of its terms the column is in, with its caps and imputed values."""
    sql = to_sql(model.saved.model)
    n_reads = {column.name: sql.count(f'TRIM(CAST(d."{column.name}"') for column in scoring_model(model.saved).inputs}
    assert n_reads == {"age": 1, "income": 1, "amount": 1, "housing": 1}


def test_names_in_comments_stay_comments():
    table = Table(("a\nDROP TABLE data; --", "risk"), (np.arange(40.0), text_column(["good\n;", "bad"] * 20)))
    options = TrainingOptions(k=1, C=1.0, loss="least_squares", points=SCALE, positive="bad", keep=(table.names[0],))
    model = TableModel(train(table, "risk", options).saved())
    rows = table.drop(["risk"])
    found = in_sqlite(table_sql(rows), to_sql(model.saved))
    assert [row["quadric_points"] for row in found] == pytest.approx(model.scores(rows).points.tolist(), abs=1e-10)


def test_the_tables_of_a_card_sum_to_the_points(model, points):
    card = scorecard(model, model.points_line)
    assert {len(table.columns) for table in card.tables} == {1, 2}
    inputs = {column.name: column for column in model.view.inputs}
    listed = {name: values for table in card.tables for name, values in zip(table.columns, table.values, strict=True)}
    rng = np.random.default_rng(0)
    for _ in range(30):
        chosen = {name: int(rng.integers(len(values))) for name, values in listed.items()}
        total = card.constant
        for table in card.tables:
            total += table.points[tuple(chosen[name] for name in table.columns)]
        row = {name: _cell(values[chosen[name]], inputs[name]) for name, values in listed.items()}
        columns = [np.array([row[name]], dtype=object if isinstance(row[name], str | None) else float) for name in row]
        found = model.scores(Table(tuple(row), tuple(columns))).points[0]
        assert total == pytest.approx(found, abs=1e-10)


def _cell(text, column):
    if text == MISSING:
        return None if column.type == "category" else np.nan
    return text if column.type == "category" else float(text.lstrip("\N{LESS-THAN OR EQUAL TO}\N{GREATER-THAN OR EQUAL TO} "))


def test_the_page_is_inert_and_says_where_the_decision_changes(model):
    card = scorecard(model, model.points_line)
    page = render_card(card, "<script>alert(1)</script>")
    assert "<script" not in page
    assert f"<strong>{card.cutoff:.0f}</strong>" in page
    assert model.view.border is not None
    for table, values in product(card.tables, [None]):
        assert all(name in page for name in table.columns), values


def test_another_scale_is_the_same_points_moved_and_stretched(model, loans, points):
    other = model.with_points("0:40:1").scores(loans).points
    np.testing.assert_allclose(other, 2.0 * (points - ScoreScale(20.0, 600.0, 50.0).offset), atol=1e-10)
    assert model.points_line.scale.base_score == 600.0


def test_commands_take_a_scale(model, tmp_path, capsys):
    save_model(replace(model.saved, metadata={}), tmp_path / "model.json")
    export = ["export", str(tmp_path / "model.json")]
    assert main([*export, "--points", "600:20:50"]) == 0
    assert "quadric_points_1" in capsys.readouterr().out
    assert main([*export, "--output", str(tmp_path / "card.html")]) == 2
    assert "give --points" in capsys.readouterr().err
    assert main([*export, "--output", str(tmp_path / "card.html"), "--points", "600:20:50"]) == 0
    assert main([*export, "--points", "600:0:50"]) == 2
    assert "must be a number above 0" in capsys.readouterr().err
    assert main([*export, "--format", "python", "--points", "600:20:50"]) == 2
    assert "--points is not for the format python" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "model.json"), "data.csv", "--points", "600:0:50"]) == 2


def test_fit_says_what_follows_from_a_cut_off(loans):
    options = TrainingOptions(k=4, C=16.0, loss="least_squares", positive="bad", cutoff="cost:5:1", points=SCALE)
    trained = train(loans, "risk", options)
    words = cutoff_facts(trained)
    probability = trained.view.calibrators[0](trained.search.oof_decision_)
    approved, bad = probability <= trained.cutoff, np.asarray(loans["risk"]) == "bad"
    shares = [float(share) / 100 for share in re.findall(r"([\d.]+) %", words["at the cut-off"])]
    assert shares == pytest.approx([approved.mean(), bad[approved].mean()], abs=6e-4)
    cost, for_all = (float(text) for text in re.findall(r"([\d.]+) (?:per row|if all)", words["at the cut-off"]))
    assert cost == pytest.approx((5 * (approved & bad).sum() + (~approved & ~bad).sum()) / 800, abs=6e-4)
    assert for_all == pytest.approx(5 * bad.mean(), abs=6e-4)
    assert words["points"].startswith("600 at odds of 50 to 1 for good; 20 more double the odds; good from ")


@pytest.mark.parametrize("text", ["600", "600:0:50", "600:-20:50", "600:20:0", "600:nan:50", "a:b:c", "600:20:50:1"])
def test_scales_that_make_no_sense_are_refused_in_one_sentence(text):
    with pytest.raises(ValueError, match=r"points must be|points '") as caught:
        TrainingOptions(points=text)
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore:.*is missing almost only")
def test_points_need_two_classes_and_a_sigmoid(loans):
    with pytest.raises(ValueError, match="the target has 4"):
        train(
            Table((*loans.names, "group"), (*loans.columns, text_column(["a", "b", "c", "d"] * 200))),
            "group",
            TrainingOptions(points=SCALE),
        )
    for calibrate in (None, "isotonic"):
        with pytest.raises(ValueError, match="sigmoid"):
            TrainingOptions(points=SCALE, calibrate=calibrate)
