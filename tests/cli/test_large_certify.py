"""``quadric certify`` on tables that are read in one pass: the certificate of all rows in memory."""

import json

import numpy as np
import pytest

from helpers.large_tables import table_files
from helpers.small_tables import credit_columns, csv_text
from quadric.resources import Room
from quadric.review import certify_stream
from quadric.tables import TableStream
from quadric.workflow import limits
from quadric.workflow.scoring import TableModel

GIVEN = ["--target", "risk", "--no-cv", "--k", "3", "--C", "1", "--no-calibrate"]
N_ROWS = 400
CASES = {
    "two classes": (credit_columns(N_ROWS), []),
    "class weights": (credit_columns(N_ROWS), ["--class-weight", "balanced"]),
    "not standardised": (credit_columns(N_ROWS), ["--no-standardize"]),
    "three classes": (credit_columns(N_ROWS, classes=("a", "b", "c")), ["--class-weight", "balanced"]),
    "dropped": (credit_columns(N_ROWS, gaps=40), ["--missing", "drop"]),
    "flagged": (credit_columns(N_ROWS, gaps=40), ["--missing", "indicator"]),
}


def certified(run, *arguments):
    result = run("certify", *arguments, "--json")
    assert result.code == 0, result.errors
    return json.loads(result.out)


def assert_same(found, whole):
    assert {**found, "certificates": None} == {**whole, "certificates": None}
    for one, two in zip(found["certificates"], whole["certificates"], strict=True):
        exact = {name for name in two if not isinstance(two[name], float)}
        assert {name: one[name] for name in exact} == {name: two[name] for name in exact}
        for name in ("objective", "lower_bound", "gap"):
            assert one[name] == pytest.approx(two[name], rel=1e-6, abs=1e-6)
        assert one["decrease"] == pytest.approx(two["decrease"], rel=1e-6, abs=1e-6)
        assert 0.5 * two["stationarity"] - 1e-6 < one["stationarity"] < 1.01 * two["stationarity"] + 1e-6  # in other units


@pytest.mark.parametrize("form", ["csv", "folder"])
@pytest.mark.parametrize("case", CASES)
def test_one_pass_finds_the_certificate_of_all_rows(case, form, run, streamed, tmp_path):
    columns, options = CASES[case]
    data, model = table_files(tmp_path, columns)[form], tmp_path / "model.json"
    fit = ["fit", data, *GIVEN, *options, "--loss", "least_squares", "--output", model]
    assert run(*fit).code == 0
    whole = certified(run, model, data)
    streamed()
    found = certified(run, model, data)
    assert_same(found, whole)
    assert found["same_file"]
    lines = run("certify", model, data)
    assert (lines.code, lines.errors) == (0, [])
    assert "surface of " in lines.out


def test_other_rows_are_judged_too(made, run, streamed, csv_file):
    others = csv_file(credit_columns(N_ROWS, seed=3))
    whole = certified(run, made.model, others)
    streamed()
    found = certified(run, made.model, others)
    assert_same(found, whole)
    assert whole["certificates"][0]["stationarity"] > 1e-3  # and of the intercept: neither is best for these rows
    assert not found["same_file"]


def test_terms_that_do_not_vary_cannot_be_judged_by_sums(made, refused, streamed, csv_file):
    streamed()
    level = {name: np.ones(120) for name in ("age", "income", "phone")}
    line = refused("certify", made.model, csv_file({**credit_columns(), **level}), code=1)
    assert "terms of the model do not vary on these rows" in line


def test_a_class_may_be_missing_from_the_rows(made, run, streamed, csv_file):
    data = csv_file({**credit_columns(classes=("a", "b", "c")), "risk": ["a", "c"] * 60})
    whole = certified(run, made.three, data)
    streamed()
    assert_same(certified(run, made.three, data), whole)


def test_targets_that_do_not_suit_the_model_are_refused(made, refused, streamed, csv_file):
    columns = credit_columns()
    columns["risk"][119] = "ugly"
    streamed()
    assert "no class 'ugly'" in refused("certify", made.model, csv_file(columns), code=1)


def test_rows_without_a_label_are_left_out(made, run, streamed, csv_file):
    columns = credit_columns()
    columns["risk"][100] = None
    data = csv_file(columns)
    whole = certified(run, made.model, data)
    streamed()
    assert_same(certified(run, made.model, data), whole)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_losses_of_rows_are_judged_by_passes_where_the_rows_do_not_fit(loss, run, streamed, tmp_path, monkeypatch):
    data, model = tmp_path / "data.csv", tmp_path / "model.json"
    data.write_text(csv_text(credit_columns(N_ROWS)))
    assert run("fit", data, *GIVEN, "--loss", loss, "--output", model).code == 0
    whole = certified(run, model, data)
    streamed()
    assert certified(run, model, data) == whole
    monkeypatch.setattr(limits, "memory", lambda: Room(10_000, "this machine has"))
    for one, other in zip(certified(run, model, data)["certificates"], whole["certificates"], strict=True):
        for name in ("objective", "decrease"):
            assert one[name] == pytest.approx(other[name], rel=1e-9, abs=1e-8)
        for name in ("n_terms", "k", "basic_feasible", "local_minimum"):
            assert one[name] == other[name]
        assert one["swap_optimal"] in (other["swap_optimal"], None)
        assert one["lower_bound"] is None
    assert "no bound for other terms, which needs all rows in memory" in " ".join(run("certify", model, data).out.split())


def test_a_stream_is_certified_in_python(made):
    from quadric.export import read_model

    model = TableModel(read_model(made.model))
    judged = certify_stream(model, TableStream(credit_columns(), text=["risk"]), time_limit=0.0)
    assert (judged.n_rows, judged.is_constant, judged.sha256) == (120, [False], None)
    assert judged.certificates[0].converged
