"""``quadric path`` and ``quadric compare``."""

import csv
import json

import numpy as np
import pytest

from helpers.small_tables import credit_columns
from quadric.baselines import rivals
from quadric.cli.path import _gap_words as gap_words

FAST = ["--target", "risk", "--loss", "least_squares", "--folds", 3]


@pytest.fixture(autouse=True)
def _few_rivals(monkeypatch):
    monkeypatch.setattr(rivals, "find_spec", lambda name: None)
    monkeypatch.setattr(rivals, "RIVALS", rivals.RIVALS[:2])


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


@pytest.mark.parametrize("data", ["data_csv", "three_csv"])
def test_bounds_are_told_where_asked_for(made, run, data, tmp_path):
    pytest.importorskip("matplotlib")
    words = ["path", getattr(made, data), *FAST, "--ks", "1:4", "--Cs", "4,256"]
    plain, facts = (json.loads(run(*words, *more, "--json").out) for more in ((), ("--certify",)))
    for before, row in zip(plain["path"], facts["path"], strict=True):
        assert before == row | {"lower_bound": None, "gap": None, "proved": False}
        assert 0 < row["lower_bound"] <= row["objective"]
        assert row["gap"] == pytest.approx(1 - row["lower_bound"] / row["objective"], abs=1e-12)
        assert row["gap"] < 0.5  # bounds of all classes are added up
        assert row["proved"] == (row["gap"] <= 1e-6)
    result = run(*words, "--certify", "--output", tmp_path / "p.csv")
    lines = result.out.splitlines()
    assert max(len(line) for line in lines if "p.csv" not in line) <= 80
    assert lines[0].split()[:4] == ["k", "objective", "gap", "accuracy"]
    shown = [line.split()[2] for line in lines[1:] if line[:1].isdigit()]
    assert [word == "proved" for word in shown] == [row["proved"] for row in facts["path"]]
    assert any(line.startswith("gap: no other k terms") for line in lines)
    with open(tmp_path / "p.csv", newline="", encoding="utf-8") as file:
        assert [float(row["lower_bound"]) for row in csv.DictReader(file)] == [row["lower_bound"] for row in facts["path"]]
    assert run(*words, "--certify", "--output", tmp_path / "p.svg").code == 0
    assert "down to the proved bound" in (tmp_path / "p.svg").read_text(encoding="utf-8")
    assert "gap" not in run(*words).out


@pytest.mark.parametrize(
    ("gap", "proved", "words"), [(None, False, ""), (0.0, True, "proved"), (1e-5, False, "< 0.1 %"), (0.1234, False, "12.3 %")]
)
def test_gaps_are_not_rounded_to_nothing(gap, proved, words):
    assert gap_words({"gap": gap, "proved": proved}) == words


def test_three_classes_have_their_terms_named(made, run):
    facts = json.loads(run("path", made.three_csv, *FAST, "--ks", "1,2", "--Cs", "1,4", "--json").out)
    assert {term.split(":")[0] for term in facts["path"][0]["gained"]} == {"a", "b", "c"}
    assert facts["C"] in (1.0, 4.0)


def test_the_comparison_is_a_table(made, run):
    result = run("compare", made.data_csv, *FAST, "--k", 3, "--C", 4)
    lines = result.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == ["accuracy", "AUC", "log-loss", "size", "time,", "s"]
    assert [line[:19].strip() for line in lines[1:4]] == ["sparse quadratic", "logistic regression", "l1 on products"]
    text = " ".join(result.out.split())
    assert "sparse quadratic: least_squares k=3 C=4; least_squares k=3 C=4; least_squares k=3 C=4" in text
    assert "logistic regression: accuracy" in text.split("clearly different")[1]
    assert "not installed: EBM (pip install interpret)" in text


def test_the_comparison_as_json(made, run):
    facts = json.loads(run("compare", made.data_csv, *FAST, "--ks", "1,3", "--Cs", "4", "--json").out)
    ours, logistic, _ = facts["models"]
    assert {chosen["k"] for chosen in ours["chosen"]} <= {1, 3}
    assert [len(ours["chosen"]), ours["size_of"]] == [3, "terms"]
    assert [logistic["size"]["folds"], logistic["size_of"]] == [[5.0, 5.0, 5.0], "coefficients"]
    assert np.mean(logistic["accuracy"]["folds"]) == pytest.approx(logistic["accuracy"]["mean"])
    assert 0.5 < ours["auc"]["mean"] <= 1.0
    for each in facts["differences"]:
        assert each["clear"] == (abs(each["mean"]) > 2 * each["standard_error"])
    assert len(facts["differences"]) == 6


def test_folds_of_a_comparison_keep_groups_together(made, run, csv_file):
    given = csv_file({**credit_columns(), "customer": np.arange(120) % 12})
    facts = json.loads(run("compare", given, *FAST, "--k", 2, "--C", 4, "--groups", "customer", "--json").out)
    assert facts["features"] == 5
    result = run("compare", made.data_csv, *FAST, "--groups", "home", "--folds", 3)
    assert result.code == 2
    assert result.errors == [
        "quadric: without the rows of fold 1, the column 'home' has 2 groups, fewer than the 3 folds (--groups, --folds)"
    ]


def test_a_comparison_says_where_there_is_no_auc(run, csv_file):
    risk = ["bad"] * 30 + ["good"] * 60
    numbers = np.random.default_rng(0).normal(size=90).round(3) + (np.array(risk) == "bad")
    given = csv_file({"x": numbers, "risk": risk, "customer": [i % 3 for i in range(30)] + [3 + i % 12 for i in range(60)]})
    result = run("compare", given, "--target", "risk", "--k", 1, "--C", 1, "--folds", 4, "--groups", "customer")
    assert "AUC: not defined, as a fold has rows of one class only\n" in result.out
    assert not [line for line in result.errors if line.startswith("quadric:")]  # of an undefined measure


def test_three_classes_are_compared_without_an_auc(made, run):
    result = run("compare", made.three_csv, *FAST, "--k", 2, "--C", 4)
    assert result.out.splitlines()[0].split() == ["accuracy", "log-loss", "size", "time,", "s"]


def test_missing_values_go_through_both(run, csv_file):
    data = csv_file(credit_columns(gaps=4))
    assert run("path", data, *FAST, "--ks", "1,2", "--C", 1, "--missing", "impute").code == 0
    assert run("compare", data, *FAST, "--k", 2, "--C", 1, "--missing", "indicator").code == 0
