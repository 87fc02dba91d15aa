"""``quadric path`` and ``quadric compare``."""

import csv
import json

import numpy as np
import pytest

from helpers.small_tables import credit_columns
from quadric.workflow import comparison

FAST = ["--target", "risk", "--loss", "least_squares", "--folds", 3]


@pytest.fixture(autouse=True)
def _without_extras(monkeypatch):
    monkeypatch.setattr(comparison, "find_spec", lambda name: None)


def test_the_path_names_the_terms_that_come_and_go(made, run):
    facts = json.loads(run("path", made.data_csv, *FAST, "--ks", "1:5", "--C", 4, "--json").out)
    terms = set()
    for row in facts["path"]:
        assert not terms & set(row["gained"])
        assert terms >= set(row["lost"])
        terms = (terms | set(row["gained"])) - set(row["lost"])
        assert len(terms) == row["k"]
    objectives = [row["objective"] for row in facts["path"]]
    assert objectives == sorted(objectives, reverse=True)


def test_the_marks_are_the_best_and_the_smallest_within_one_error(made, run):
    facts = json.loads(run("path", made.data_csv, *FAST, "--ks", "1:5", "--C", 4, "--json").out)
    accuracy, error = (np.array([row[name] for row in facts["path"]]) for name in ("accuracy", "error"))
    best = accuracy.argmax()
    within = np.flatnonzero(accuracy >= accuracy[best] - error[best])[0]
    assert ["best" in row["marks"] for row in facts["path"]].index(True) == best
    assert ["1se" in row["marks"] for row in facts["path"]].index(True) == within
    assert facts["1se"]["k"] == within + 1


def test_the_table_can_be_read_and_written(made, run, tmp_path):
    result = run("path", made.data_csv, *FAST, "--ks", "1,2,4", "--C", 4, "--output", tmp_path / "p.csv")
    assert max(len(line) for line in result.out.splitlines() if "p.csv" not in line) <= 80  # a path is as long as it is
    assert result.out.splitlines()[0].split() == ["k", "objective", "accuracy", "terms", "gained", "(+)", "and", "lost", "(-)"]
    assert "best" in result.out
    with open(tmp_path / "p.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["k"] for row in rows] == ["1", "2", "4"]
    assert sum(int(row["best"]) for row in rows) == sum(int(row["1se"]) for row in rows) == 1
    assert len(rows[0]["gained"].split("; ")) == 1


def test_the_picture_repeats(made, run, tmp_path):
    pytest.importorskip("matplotlib")
    for name in ("a.svg", "b.svg"):
        assert run("path", made.data_csv, *FAST, "--ks", "1,2", "--C", 4, "--output", tmp_path / name).code == 0
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert b"number of terms" in (tmp_path / "a.svg").read_bytes()


def test_three_classes_have_their_terms_named(made, run):
    facts = json.loads(run("path", made.three_csv, *FAST, "--ks", "1,2", "--Cs", "1,4", "--json").out)
    assert {term.split(":")[0] for term in facts["path"][0]["gained"]} == {"a", "b", "c"}
    assert facts["C"] in (1.0, 4.0)


def test_the_comparison_is_a_table(made, run, monkeypatch):
    monkeypatch.setattr(comparison, "COMPETITORS", comparison.COMPETITORS[:2])
    result = run("compare", made.data_csv, *FAST, "--k", 3, "--C", 4)
    lines = result.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line[:19].strip() for line in lines[1:4]] == ["sparse quadratic", "logistic regression", "SVC, rbf kernel"]
    text = " ".join(result.out.split())
    assert "k = 3 and C = 4 as given" in text
    assert "not installed: EBM (pip install interpret)" in text


def test_the_comparison_as_json(made, run, monkeypatch):
    monkeypatch.setattr(comparison, "COMPETITORS", comparison.COMPETITORS[:1])
    facts = json.loads(run("compare", made.data_csv, *FAST, "--ks", "1,3", "--Cs", "4", "--json").out)
    ours, best, logistic = facts["models"]
    assert [ours["name"], best["name"]] == ["sparse quadratic, 1se", "sparse quadratic, best"]
    assert facts["chosen_inside_folds"]
    assert len(ours["chosen"]) == 3
    assert ours["size"]["of"] == "terms"
    assert logistic["size"] == {"mean": 5.0, "of": "coefficients"}
    assert np.mean(logistic["accuracy"]["folds"]) == pytest.approx(logistic["accuracy"]["mean"])
    assert 0.5 < ours["auc"]["mean"] <= 1.0


def test_choices_inside_the_folds_are_told(made, run, monkeypatch):
    monkeypatch.setattr(comparison, "COMPETITORS", ())
    text = " ".join(run("compare", made.three_csv, *FAST, "--k", 2, "--Cs", "1,4").out.split())
    assert "C chosen inside each fold by 3 inner folds" in text
    assert "AUC" not in text
    both = run("compare", made.data_csv, *FAST, "--ks", "1,3", "--Cs", "4").out
    assert max(map(len, both.splitlines())) <= 80
    assert "k/C with the best mean (best): " in " ".join(both.split())


def test_missing_values_go_through_both(run, csv_file, monkeypatch):
    monkeypatch.setattr(comparison, "COMPETITORS", ())
    data = csv_file(credit_columns(gaps=4))
    assert run("path", data, *FAST, "--ks", "1,2", "--C", 1, "--missing", "impute").code == 0
    assert run("compare", data, *FAST, "--k", 2, "--C", 1, "--missing", "indicator").code == 0
