"""Groups by counting, terms that stand for them by scikit-learn, and the model without the column by a fit of one's own."""

import json

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from helpers.scorecards import loans_with_gaps, points_model
from quadric.cli import main
from quadric.explain import contributions
from quadric.export import save_model
from quadric.review.fairness import MISSING, _proxy, fairness
from quadric.tables import Table
from quadric.workflow import TableModel, TrainingOptions, train


def test_groups_and_errors_are_what_counting_says():
    model, table = points_model(), loans_with_gaps()
    found = fairness(model, table, "housing")
    approved = np.array(model.class_names)[model.scores(table).codes] == "good"
    bad = np.asarray(table["risk"]) == "bad"
    housing = np.array([MISSING if text is None else text for text in np.asarray(table["housing"]).tolist()])
    assert {group.name for group in found.groups} == set(housing)
    assert (found.good, found.bad, found.is_used) == ("good", "bad", True)
    best = max(approved[housing == name].mean() for name in set(housing))
    for group in found.groups:
        rows = housing == group.name
        assert (group.n_rows, group.n_good, group.n_bad) == (rows.sum(), (rows & ~bad).sum(), (rows & bad).sum())
        assert group.approved == pytest.approx(approved[rows].mean(), abs=1e-12)
        assert group.ratio == pytest.approx(approved[rows].mean() / best, abs=1e-12)
        assert group.bad_approved == pytest.approx(approved[rows & bad].mean(), abs=1e-12)
        assert group.good_declined == pytest.approx((~approved)[rows & ~bad].mean(), abs=1e-12)


def test_terms_that_stand_for_a_group_are_found():
    model, table = points_model(), loans_with_gaps()
    found = fairness(model, table, "housing")
    terms = contributions(model.view, model.inputs(table))
    values = dict(zip(terms.names, terms.values.T, strict=True))
    housing = np.array([MISSING if text is None else text for text in np.asarray(table["housing"]).tolist()])
    assert {proxy.term for proxy in found.proxies} == set(terms.names)
    assert (found.proxies[0].term, found.proxies[0].group) == ("housing=rent", "rent")
    assert found.proxies[0].separation == 1.0
    for proxy in found.proxies:
        mine = housing == proxy.group
        area = roc_auc_score(mine, values[proxy.term])
        assert proxy.separation == pytest.approx(abs(2 * area - 1), abs=1e-12)
        assert proxy.gap == pytest.approx(values[proxy.term][mine].mean() - values[proxy.term][~mine].mean(), abs=1e-12)


def test_a_term_may_stand_for_a_group_by_low_values():
    labels = np.array(["a", "b", "c"] * 20)
    values = np.where(labels == "a", -1.0, 1.0) + np.where(labels == "c", 1e-3, 0.0) * np.tile([1.0, -1.0], 30)
    proxy = _proxy("t", values, labels)
    assert (proxy.group, proxy.separation) == ("a", 1.0)
    assert proxy.gap < 0.0


@pytest.mark.parametrize(("n_groups", "repeats"), [(2, 500), (8, 200)])
def test_terms_that_say_nothing_are_beyond_chance_once_in_twenty(n_groups, repeats):
    rng = np.random.default_rng(0)
    found = [_proxy("t", rng.integers(0, 9, 300), rng.integers(0, n_groups, 300).astype(str)) for _ in range(repeats)]
    assert 0.015 < np.mean([proxy.separation > proxy.by_chance for proxy in found]) < 0.085


def test_the_model_without_the_column_approves_as_many():
    table = loans_with_gaps()
    found = fairness(points_model(), table, "age", refit=True)
    options = points_model().training_options
    terms = tuple(term for term in options.include if "age" not in term)
    again = train(table.drop(["age"]), "risk", TrainingOptions(**{**vars(options), "include": terms}))
    assert found.auc_without == pytest.approx(again.cross_validation.auc.mean, abs=1e-12)
    before, after = (
        sum(group.n_rows * getattr(group, name) for group in found.groups) for name in ("approved", "approved_without")
    )
    assert before == pytest.approx(after, abs=1.5)


def test_rules_of_the_column_are_left_out_with_it():
    rules = {
        "interaction_cst": [["age", "income"], ["age"]],
        "feature_cost": {"age": 1.0},
        "max_cost": 5.0,
        "monotonic_cst": {"income": -1, "age": 1},
        "coef_bounds": {"age^2": (0, None)},
    }
    options = TrainingOptions(k=3, C=1.0, loss="least_squares", cross_validate=False, **rules)
    model = TableModel(train(loans_with_gaps(), "risk", options).saved())
    found = fairness(model, loans_with_gaps(), "age", refit=True)
    assert all(group.approved_without is not None for group in found.groups)


def test_numbers_are_cut_at_their_quartiles():
    table = loans_with_gaps()
    found = fairness(points_model(), table, "age")
    assert len(found.groups) == 4
    age = np.asarray(table["age"])
    for group in found.groups:
        ends = [float(word) for word in group.name.split() if word.isdigit()]
        rows = age <= ends[-1] if group.name.startswith("up to") else age > ends[0]
        rows = rows & (age <= ends[-1]) if len(ends) == 2 else rows
        assert group.n_rows == rows.sum()
        assert 100 < group.n_rows < 300


def test_columns_that_are_no_groups_are_refused():
    model, table = points_model(), loans_with_gaps()
    names = np.array([f"person {i}" for i in range(800)], dtype=object)
    with pytest.raises(ValueError, match="800 values"):
        fairness(model, Table((*table.names, "name"), (*table.columns, names)), "name")
    with pytest.raises(ValueError, match="is the target"):
        fairness(model, table, "risk")
    with pytest.raises(ValueError, match="no column 'hosing'"):
        fairness(model, table, "hosing")


def test_the_command(tmp_path, capsys):
    save_model(points_model().saved, tmp_path / "model.json")
    table = loans_with_gaps()
    rows = zip(*(np.asarray(table[name]).tolist() for name in table.names), strict=True)
    lines = [",".join(table.names), *(",".join("" if v is None or v != v else str(v) for v in row) for row in rows)]
    strange = ['"in two\nlines"', *(f'"{"long " * 20}\n{i % 2}"' for i in range(len(lines) - 1))]
    (tmp_path / "data.csv").write_text("\n".join(map(",".join, zip(lines, strange, strict=True))))
    arguments = ["fairness", str(tmp_path / "model.json"), str(tmp_path / "data.csv"), "--group", "housing"]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "some term uses it" in printed
    assert max(map(len, printed.splitlines())) <= 80
    assert main([*arguments[:-1], "in two\nlines"]) == 0
    heads = [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()]
    assert heads[:4] == ["in two lines", *["long long long long lon..."] * 2, ""]
    assert main([*arguments, "--json"]) == 0
    assert {group["name"] for group in json.loads(capsys.readouterr().out)["groups"]} == {"own", "rent", "free", MISSING}
