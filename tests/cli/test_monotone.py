"""Rules on slopes and coefficients from the command line: fits, files, exports, tests of other models, and bad input."""

import json

import numpy as np
import pytest

import quadric
from helpers.small_tables import credit_columns, csv_text
from quadric.export import read_model

FIT = ["--target", "risk", "--positive", "bad", "--k", 4, "--C", 4, "--loss", "least_squares", "--no-cv", "--no-calibrate"]

GAPS = "(a step between missing and present is not covered)"


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    (folder / "gaps.csv").write_text(csv_text(credit_columns(gaps=30)))
    (folder / "three.csv").write_text(csv_text(credit_columns(n_rows=200, classes=("a", "b", "c"))))
    return folder


def pairs(model, column, seed=0, n=10_000):
    """Differences of the score over random pairs of rows that differ in one column only, raw values far beyond the caps."""
    rng, inputs = np.random.default_rng(seed), {}
    for name in ("age", "income", "phone"):
        inputs[name] = rng.normal(40.0, 200.0, n) if name != "phone" else rng.integers(0, 2, n).astype(float)
    inputs["home"] = rng.choice(["own", "rent", "free"], n)
    for name in ("age", "income"):
        if name != column:
            inputs[name][rng.random(n) < 0.1] = np.nan
    low, high = (inputs | {column: values} for values in np.sort(rng.normal(40.0, 200.0, (2, n)), axis=0))
    score = model.decision_function
    return score(high) - score(low), np.abs(score(low))


def test_a_fit_keeps_its_rules_for_every_row_and_says_so(run, tables, tmp_path):
    file = tmp_path / "m.json"
    rules = ["--monotone", "age:-", "--monotone", "income:+", "--bound", "age*income:-inf:0.5"]
    result = run("fit", tables / "gaps.csv", *FIT, *rules, "--output", file)
    assert result.code == 0
    text = " ".join(result.out.split())
    assert f"slopes: proved: never rises with age, for any row {GAPS}; proved: never falls with income, for any row" in text
    assert "coefficient of age*income at most 0.5" in text
    saved = read_model(file)
    assert run("fit", tables / "gaps.csv", *FIT, "--output", tmp_path / "free.json").code == 0
    free = read_model(tmp_path / "free.json")
    for column, sign in (("age", -1), ("income", 1)):
        rise, size = pairs(saved.model, column)
        assert (sign * rise >= -1e-9 * np.maximum(1.0, size)).all()
        assert (sign * pairs(free.model, column)[0] < -1e-3).any()
    assert saved.metadata["training"]["options"]["coef_bounds"] == {"age*income": [None, 0.5]}
    assert list(saved.metadata["training"]["slopes"]) == ["bad"]
    assert [each["words"] for each in saved.metadata["training"]["slopes"]["bad"]] == [
        f"proved: never rises with age, for any row {GAPS}",
        "proved: never falls with income, for any row",
    ]
    answer = json.loads(run("fit", tables / "gaps.csv", *FIT, *rules, "--output", file, "--force", "--json").out)
    assert [each["proved"] for each in answer["certificates"][0]["monotone"]] == [True, True]
    sql = run("export", file, "--format", "sql").out
    assert f"-- Rule, proved: never rises with age, for any row {GAPS} (age from" in sql


def test_cross_validation_calibration_and_raw_frames_keep_the_rules(run, tables, tmp_path):
    fit = [*FIT[:4], "--C", 4, "--folds", 3, "--monotone", "age:-", "--output", tmp_path / "m.json"]
    result = run("fit", tables / "gaps.csv", *fit)
    assert result.code == 0
    assert "slopes: proved: never rises with age, for any row" in " ".join(result.out.split())
    model = read_model(tmp_path / "m.json").model
    rise, size = pairs(model, "age")
    assert (-rise >= -1e-9 * np.maximum(1.0, size)).all()
    columns = {name: column for name, column in credit_columns(gaps=30).items() if name != "risk"}
    own = quadric.TableClassifier(positive="bad", C=4.0, folds=3, monotonic_cst={"bad": {"age": "decreasing"}})
    own.fit(columns, credit_columns(gaps=30)["risk"])
    np.testing.assert_array_equal(own.trained_.classifier.coef_, model.estimator_[-1].coef_)


@pytest.mark.parametrize("rule", [{"monotonic_cst": {0: 1}}, {"coef_bounds": {("age", "income"): (0, None)}}])
def test_rules_of_tables_go_by_names(rule):
    columns = credit_columns()
    with pytest.raises(ValueError, match="goes by the names of columns, got"):
        quadric.TableClassifier(k=2, C=4.0, **rule).fit({"age": columns["age"], "income": columns["income"]}, columns["risk"])


def test_the_rule_of_the_other_class_is_the_opposite(run, tables, tmp_path):
    for name, rule in (("a", "age:-"), ("b", "good:age:+"), ("c", "bad:age:-")):
        assert run("fit", tables / "gaps.csv", *FIT, "--monotone", rule, "--output", tmp_path / f"{name}.json").code == 0
    a, b, c = (quadric.load_model(tmp_path / f"{name}.json")[-1] for name in "abc")
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_array_equal(a.coef_, c.coef_)


def test_of_three_classes_one_is_named(run, tables, tmp_path):
    fit = ["fit", tables / "three.csv", *FIT[:2], *FIT[4:], "--output", tmp_path / "m.json"]
    result = run(*fit, "--monotone", "income:-")
    assert result.code == 2
    assert "name the class" in " ".join(result.errors)
    result = run(*fit, "--monotone", "b:income:-")
    assert result.code == 0
    assert "slopes, b: proved: never rises with income, for any row" in result.out
    loaded = quadric.load_model(tmp_path / "m.json")[-1]
    assert [len(each.monotone) for each in loaded.certificates_] == [0, 1, 0]
    sql = run("export", tmp_path / "m.json", "--format", "sql").out
    assert "-- Rule, score of b, proved: never rises with income" in sql


def test_certify_tests_slopes_of_any_model(run, made):
    certify = ["certify", made.model, made.data_csv, "--time-limit", 0]
    text = run(*certify, "--monotone", "home=rent", "--monotone", "age", "--monotone", "income:-").out
    assert "slope of the score of bad: proved: never" in text
    found = json.loads(run(*certify, "--json", "--monotone", "age").out)["certificates"][0]["slopes"]
    assert [each["sign"] for each in found] == [1, -1]
    model = quadric.load_model(made.model)
    for each in found:  # the counterexample is one
        row = {"age": 45.0, "income": 30.0, "home": "own", "phone": 0.0} | each["row"]
        step = 1e-4 if row["age"] < 45.0 else -1e-4
        rows = [row, row | {"age": row["age"] + step}]
        low, high = model.decision_function({name: [one[name] for one in rows] for name in row})
        assert (high - low) / step == pytest.approx(each["sign"] * each["slope"], abs=1e-3)
        assert each["slope"] < 0.0
        assert not each["proved"]
    both = json.loads(run(*certify, "--json", "--monotone", "age:-", "--monotone", "age:+").out)["certificates"][0]["slopes"]
    assert both == found
    (other,) = json.loads(run(*certify, "--json", "--monotone", "good:age:-").out)["certificates"][0]["slopes"]
    assert other == found[0]  # of two classes the score of one is minus that of the other
    assert run(*certify, "--monotone", "ag").errors == ["quadric: the model has no column or level 'ag' (did you mean 'age'?)"]


def test_a_constant_column_does_not_prevent_rules(run, tables, tmp_path):
    """It is capped at its only value."""
    (tmp_path / "t.csv").write_text(csv_text(credit_columns() | {"branch": np.full(len(credit_columns()["risk"]), 5)}))
    result = run("fit", tmp_path / "t.csv", *FIT, "--monotone", "age:-", "--output", tmp_path / "m.json")
    assert result.code == 0
    assert "proved: never rises with age, for any row" in " ".join(result.out.split())
    assert run("export", tmp_path / "m.json", "--format", "sql").code == 0


def test_certify_tests_slopes_on_rows_without_gaps(run, tables, tmp_path):
    """A flag that no row raises says nothing of what is imputed."""
    (tmp_path / "whole.csv").write_text(csv_text(credit_columns()))
    assert run("fit", tables / "gaps.csv", *FIT, "--monotone", "income:+", "--output", tmp_path / "m.json").code == 0
    result = run("certify", tmp_path / "m.json", tmp_path / "whole.csv", "--time-limit", 0, "--monotone", "age")
    assert result.code == 0
    assert "slope of the score of bad: " in result.out


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--monotone", "incme:-"], "no column or level 'incme' (did you mean 'income'?) (--monotone)"),
        (["--monotone", "income:2"], "--monotone: cannot read 'income:2'; write COLUMN:+"),
        (["--monotone", "income:-", "--monotone", "income:+"], "--monotone: two rules on 'income' contradict each other"),
        (["--monotone", "home:+"], "'home' holds texts, which have no order: name a level of it, such as 'home="),
        (["--monotone", "income:-", "--ignore", "income"], "'income' is left out, and cannot have a rule"),
        (["--monotone", "bad:age:+", "--monotone", "good:age:+"], "with two classes there is one score"),
        (["--monotone", "age:+", "--monotone", "good:age:+"], "with two classes there is one score"),
        (["--bound", "age:2:1"], "the lower limit 2 is above the upper one, 1 (--bound)"),
        (["--bound", "age:x:1"], "--bound: cannot read 'age:x:1'; write TERM:LOW:HIGH"),
        (["--bound", "agee:0:"], "no term 'agee' (did you mean 'age'?) (--bound)"),
        (["--bound", "age:0:", "--bound", "age::0"], "--bound: two rules on 'age' contradict each other"),
        (["--bound", "age:1:2"], "coef_bounds of 'age' must allow 0, unless include names it, too (--bound)"),
        (
            ["--interactions", "none", "--interactions", "age,income"],
            "--interactions none allows no product of two columns, and",
        ),
        (["--monotone", "age:+", "--bound", "age::0"], "monotonic_cst and coef_bounds contradict each other on 'age'"),
        (["--monotone", "age:+", "--exclude", "age", "--exclude", "age^2", "--exclude", "age*"], "leave out every term of it"),
    ],
)
def test_bad_rules_are_one_sentence_and_nothing_is_written(run, made, tmp_path, flags, says):
    result = run("fit", made.data_csv, *FIT, *flags, "--output", tmp_path / "m.json")
    assert result.code in (1, 2)
    assert len(result.errors) == 1
    assert says in result.errors[0]
    assert not (tmp_path / "m.json").exists()
