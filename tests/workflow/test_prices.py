"""Prices of rules: the difference between fits with and without each, on the same folds."""

import json

import numpy as np
import pytest

import quadric
from helpers.small_tables import credit_columns, csv_text
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV, TableClassifier, rule_prices
from quadric.cli import main
from quadric.tables import read_table
from quadric.workflow import RulePrices, TrainingOptions, price_rules, train


def samples(seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 4))
    score = X[:, 0] * X[:, 1] + 0.7 * X[:, 2] + 0.5 * X[:, 3] ** 2 + 0.8 * rng.normal(size=120)
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_prices_are_differences_of_two_fits(n_classes):
    X, y = samples(0, n_classes)
    own = {"k": 3, "C": 16.0, "loss": "least_squares", "hierarchy": "strong", "max_features": 3, "exclude": ["x3^2"]}
    model = SparseQuadraticSVC(**own).fit(X, y)
    prices = rule_prices(model, X, y, cv=4)
    assert [each.rule for each in prices] == ["strong hierarchy", "at most 3 columns", "1 terms out", "all rules"]
    free = {"hierarchy": None, "max_features": None, "exclude": None}
    cell = {"Cs": (16.0,), "ks": (3,), "loss": "least_squares", "terms": "quadratic", "cv": 4}
    parameters = {name: value for name, value in own.items() if name not in ("k", "C")} | cell
    ruled = SparseQuadraticSVCCV(**parameters).fit(X, y).cv_scores_.ravel()
    for each, lifted in zip(prices, [*({name: None} for name in free), free], strict=True):
        other = SparseQuadraticSVC(**{**own, **lifted}).fit(X, y)
        objectives = [sum(c.objective for c in fitted.certificates_) for fitted in (model, other)]
        assert prices.objective == pytest.approx(objectives[0], rel=1e-9)
        assert each.objective == pytest.approx(objectives[1], rel=1e-9)
        assert each.cost == pytest.approx(objectives[0] / objectives[1] - 1.0, abs=1e-9)
        change = SparseQuadraticSVCCV(**parameters | lifted).fit(X, y).cv_scores_.ravel() - ruled
        assert each.change.mean == pytest.approx(float(np.mean(change)), abs=1e-9)
        assert each.change.error == pytest.approx(float(np.std(change, ddof=1) / 2.0), abs=1e-9)
        names = [f"{label}: " if n_classes > 2 else "" for label in model.classes_[-len(model.coef_) :]]
        terms = [
            {
                f"{name}{model.term_names()[t]}"
                for name, coef in zip(names, fitted.coef_, strict=True)
                for t in np.flatnonzero(coef)
            }
            for fitted in (model, other)
        ]
        assert (set(each.gained), set(each.lost)) == (terms[0] - terms[1], terms[1] - terms[0])
    assert prices[-1].cost >= max(each.cost for each in prices[:-1])
    with pytest.raises(ValueError, match="no rules"):
        rule_prices(SparseQuadraticSVC(k=2).fit(X, y), X, y)


def test_the_objective_of_all_classes_together_counts_once():
    X, y = samples(0, 3)
    model = SparseQuadraticSVC(k=3, C=16.0, multiclass="shared", hierarchy="strong").fit(X, y)
    assert rule_prices(model, X, y, cv=3).objective == pytest.approx(model.certificates_[0].objective, rel=1e-9)


def test_rules_of_a_table_are_priced_on_the_folds_of_its_fit(tmp_path):
    (tmp_path / "data.csv").write_text(csv_text(credit_columns()))
    table = read_table(tmp_path / "data.csv")
    rules = {"interaction_cst": "no_interactions", "max_features": 2, "exclude": ("home=rent",)}
    trained = train(table, "risk", TrainingOptions(k=3, C=4.0, loss="least_squares", **rules))
    prices = price_rules(trained)
    assert [each.rule for each in prices] == ["no products of two columns", "at most 2 columns", "home=rent out", "all rules"]
    assert prices.score.mean == pytest.approx(trained.cross_validation.chosen.score.mean, abs=1e-12)
    assert prices.objective == pytest.approx(trained.classifier.certificates_[0].objective, rel=1e-9)
    assert prices[2].cost > 0.0
    for each, name in zip(prices, rules, strict=False):  # a product is a candidate again, a column may be used again
        others = {rule: value for rule, value in rules.items() if rule != name}
        other = train(table, "risk", TrainingOptions(k=3, C=4.0, loss="least_squares", **others))
        assert each.objective == pytest.approx(other.classifier.certificates_[0].objective, rel=1e-9)
        assert each.score.mean == pytest.approx(other.cross_validation.chosen.score.mean, abs=1e-12)
    X = {name: table[name] for name in table.names if name != "risk"}
    model = TableClassifier(k=3, C=4.0, loss="least_squares", interaction_cst="no_interactions").fit(X, table["risk"])
    (price,) = rule_prices(model, X, table["risk"])
    free = TableClassifier(k=3, C=4.0, loss="least_squares").fit(X, table["risk"])
    assert price.objective == pytest.approx(free.certificates_[0].objective, rel=1e-9)
    assert price.cost > 0.0


def test_the_command_tells_and_keeps_the_prices(tmp_path, capsys):
    data, model = tmp_path / "data.csv", tmp_path / "model.json"
    data.write_text(csv_text(credit_columns()))
    fit = ["fit", str(data), "--target", "risk", "--k", "3", "--C", "4", "--loss", "least_squares", "--price-rules"]
    assert main([*fit, "--output", str(model)]) == 2
    assert "--price-rules needs a rule: give --monotone, --bound" in " ".join(capsys.readouterr().err.split())
    assert not model.exists()
    ruled = [*fit, "--hierarchy", "strong", "--max-features", "2", "--monotone", "income:-", "--bound", "age::0"]
    assert main([*ruled, "--output", str(model)]) == 0
    text = capsys.readouterr().out
    assert max(len(line) for line in text.splitlines() if str(tmp_path) not in line) <= 80
    recorded = quadric.export.read_model(model).metadata["rule_prices"]
    assert [each["rule"] for each in recorded["prices"]] == [
        *("strong hierarchy", "at most 2 columns", "never rises with income", "coefficient of age at most 0", "all rules")
    ]
    assert f"{100 * recorded['prices'][0]['cost']:+.2f} %" in text
    page = tmp_path / "page.html"
    drawn = ["--bootstrap", "0", "--ks", "3", "--no-bounds", "--folds", "2"]
    assert main(["report", str(model), str(data), *drawn, "--output", str(page)]) == 0
    assert (
        f'<tr><th scope="row">strong hierarchy</th><td class="num">{100 * recorded["prices"][0]["cost"]:+.2f} %'
        in page.read_text()
    )
    assert RulePrices.of(recorded).recorded() == RulePrices.of(json.loads(json.dumps(recorded))).recorded()
    assert [RulePrices.of(each) for each in (None, [], "x", recorded | {"prices": [{}]}, recorded | {"score": 1})] == [None] * 5
    capsys.readouterr()
    assert main([*ruled, "--json", "--output", str(model), "--force"]) == 0
    assert json.loads(capsys.readouterr().out)["rule_prices"] == recorded


def test_a_path_beside_the_one_without_rules(tmp_path, capsys):
    data = tmp_path / "data.csv"
    data.write_text(csv_text(credit_columns()))
    ask = ["path", str(data), "--target", "risk", "--ks", "1:4", "--C", "4", "--loss", "least_squares", "--folds", "3"]
    rules = ["--hierarchy", "strong", "--exclude", "age", "--monotone", "income:-"]
    answers = []
    for more in ([], [*rules, "--price-rules", "--output", str(tmp_path / "path.csv")]):
        assert main([*ask, *more, "--json"]) == 0
        answers.append(json.loads(capsys.readouterr().out)["path"])
    for free, ruled in zip(*answers, strict=True):
        assert ruled["without_rules"] == {name: free[name] for name in ("objective", "accuracy")}
        assert ruled["objective"] > free["objective"]
    head, *lines = (tmp_path / "path.csv").read_text().splitlines()
    assert head.endswith("objective_without_rules,accuracy_without_rules")
    assert float(lines[0].split(",")[-2]) == answers[0][0]["objective"]
    assert main([*ask, *rules, "--price-rules"]) == 0
    text = capsys.readouterr().out
    assert f"{answers[0][0]['objective']:.5g}" in text
    assert "without: the same k and C without any rule" in text
    assert main([*ask, "--price-rules"]) == 2
    assert "needs a rule" in capsys.readouterr().err
